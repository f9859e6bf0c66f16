//! The preset for secrets: names under which tools keep what nobody should read to a model.
//!
//! A name is here when the tool that owns it documents that it holds a secret. Names that are
//! secrets only sometimes are left out, such as `config.json`.

/// What editors and people put behind the name of a copy.
const COPIES: &str = "{~,.bak,.backup,.old,.orig,.save,.sw?}";

/// Patterns, and the examples among what they match that hold no secret.
const PATTERNS: &[&str] = &[
    // dotenv, direnv
    "*.env",
    ".env.*",
    ".envrc",
    ".envrc.*",
    "!.env.{example,sample,template,dist,tpl,tmpl}",
    "!.env.*.{example,sample,template,dist,tpl,tmpl}",
    "!.envrc.{example,sample,template,dist,tpl,tmpl}",
    "!{,*.,*-,*_}{example,sample,template}.env",
    // private keys and key stores
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.p8",
    "*.jks",
    "*.jceks",
    "*.keystore",
    "*.keytab",
    "*.kdb",
    "*.kdbx",
    "*.ppk",
    "*.ovpn",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "!id_*.pub",
    ".ssh",
    ".gnupg",
    ".password-store",
    ".age-key.txt",
    // clouds
    ".aws",
    ".azure",
    ".oci",
    ".boto",
    ".s3cfg",
    ".databrickscfg",
    "rclone.conf",
    ".rclone.conf",
    ".databricks.cfg",
    ".dev.vars",
    "**/.config/gcloud",
    "**/.config/doctl",
    "*service-account*.json",
    "*service_account*.json",
    "*serviceaccount*.json",
    "client_secret*.json",
    "application_default_credentials.json",
    "credentials.json",
    // containers and infrastructure
    "**/.docker/config.json",
    ".dockercfg",
    "**/.kube/config",
    "kubeconfig",
    "kubeconfig.{yml,yaml,json}",
    "*.kubeconfig",
    ".vault-token",
    ".vault_pass",
    ".vault_pass.txt",
    ".terraformrc",
    "**/.terraform.d/credentials.tfrc.json",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "*.tfvars.json",
    "!{,*.,*-,*_}{example,sample,template}.tfvars{,.json}",
    // package registries and forges
    ".npmrc",
    ".pypirc",
    "**/.cargo/credentials",
    "**/.cargo/credentials.toml",
    "**/.gem/credentials",
    "**/.m2/settings.xml",
    "**/.m2/settings-security.xml",
    "**/.composer/auth.json",
    "**/.nuget/NuGet.Config",
    ".git-credentials",
    "**/.config/gh/hosts.yml",
    // networks and databases
    ".netrc",
    "_netrc",
    ".pgpass",
    "pgpass.conf",
    ".my.cnf",
    ".mylogin.cnf",
    ".htpasswd",
    // frameworks
    "secrets.{yml,yaml,json,toml}",
    "**/config/master.key",
];

/// Returns every pattern, and for each that closes a name those of its copies.
pub(super) fn patterns() -> Vec<String> {
    let mut patterns = Vec::new();
    for pattern in PATTERNS {
        patterns.push((*pattern).to_owned());
        if pattern.starts_with('!') {
            continue;
        }
        patterns.push(format!("{pattern}{COPIES}"));
        // An editor's open file: `.NAME.swp`, the next ones `.swo` and so on, and `#NAME#`.
        if !pattern.contains('/') {
            patterns.push(format!(".{pattern}.sw?"));
            patterns.push(format!("[#]{pattern}[#]"));
        }
    }
    patterns
}
