//! The preset for secrets: names under which tools keep what nobody should read to a model.
//!
//! A name is here when the tool that owns it documents that it holds a secret. Names that are
//! secrets only sometimes are left out, such as `config.json`.

/// Patterns, and the examples among what they match that hold no secret.
pub(super) const PATTERNS: &[&str] = &[
    // dotenv, direnv
    ".env",
    ".env.*",
    "!.env.example",
    "!.env.sample",
    "!.env.template",
    "!.env.dist",
    ".envrc",
    // private keys and key stores
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.p8",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    ".ssh",
    ".gnupg",
    ".age-key.txt",
    // clouds
    ".aws",
    ".azure",
    ".oci",
    "**/.config/gcloud",
    "**/.config/doctl",
    "service-account*.json",
    "client_secret*.json",
    "application_default_credentials.json",
    "credentials.json",
    // containers and infrastructure
    "**/.docker/config.json",
    ".dockercfg",
    "**/.kube/config",
    "kubeconfig",
    ".vault-token",
    "**/.terraform.d/credentials.tfrc.json",
    "*.tfstate",
    "*.tfstate.*",
    // package registries and forges
    ".npmrc",
    ".pypirc",
    "**/.cargo/credentials",
    "**/.cargo/credentials.toml",
    "**/.gem/credentials",
    "**/.m2/settings.xml",
    ".git-credentials",
    "**/.config/gh/hosts.yml",
    // networks and databases
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".htpasswd",
    // frameworks
    "secrets.{yml,yaml,json,toml}",
    "**/config/master.key",
];
