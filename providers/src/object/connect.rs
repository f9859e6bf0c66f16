//! Connecting: from a URL and options to a store that is spoken to over HTTP.

use std::sync::Arc;

use object_store::list::PaginatedListStore;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use seamfs_core::{ErrorCode, FsError, Result};

use super::budget::Budget;
use super::connector::Connector;
use super::location::{Cloud, Location, is_beneath};
use super::probe::Conditions;
use super::remote::TokenKind;
use super::settings::{self, Settings};
use super::{Object, ObjectBuilder};

impl Object {
    /// Opens what a URL such as `s3://bucket/prefix` names; no request is sent.
    ///
    /// Options are the store's own (`region`, `endpoint`, `access_key_id`, …) and ours:
    /// `conditions` (`probe`, `trust`, `refuse`), `attempts` and `patience` (seconds) of a write,
    /// and `cache` (bytes). What no option says is taken from the environment variables that the
    /// cloud's own tools read.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for a URL or an option that cannot be, suggesting what could;
    /// `FS_UNSUPPORTED` for a cloud that this build leaves out.
    pub fn connect(url: &str, options: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let location = Location::parse(url)?;
        let settings = Settings::read(options)?;
        let builder = match location.cloud {
            Cloud::S3 => s3(&location, &settings)?,
            Cloud::Gcs => gcs(&location, &settings)?,
            Cloud::Azure => azure(&location, &settings)?,
        };
        let mut builder = builder
            .prefix(location.prefix())?
            .budget(settings.budget)
            .spelled_as(&location);
        if let Some(conditions) = settings.conditions {
            builder = builder.conditions(conditions);
        }
        if let Some(capacity) = settings.cache {
            builder = builder.cache(capacity);
        }
        Ok(builder.open())
    }
}

impl ObjectBuilder {
    fn spelled_as(self, location: &Location) -> Self {
        let root = match location.path.is_empty() {
            true => "/".to_owned(),
            false => format!("/{}", location.path),
        };
        let kind = match location.cloud {
            Cloud::S3 => "s3",
            Cloud::Gcs => "gcs",
            Cloud::Azure => "azure",
        };
        self.spelled(kind, &location.scheme, &location.authority, &root)
    }
}

/// The same store twice, on one pool of connections: for reads, and for writes without retries.
struct Pair<S> {
    reads: S,
    writes: S,
    own_host: bool,
}

impl<S: ObjectStore + PaginatedListStore> Pair<S> {
    fn into_builder(self, tokens: TokenKind) -> ObjectBuilder {
        let reads = Arc::new(self.reads);
        let conditions = match self.own_host {
            true => Conditions::Trust,
            false => Conditions::Probe,
        };
        Object::builder(Arc::clone(&reads) as Arc<dyn ObjectStore>)
            .writes(Arc::new(self.writes))
            .pages(reads)
            .tokens(tokens)
            .conditions(conditions)
    }
}

/// Reads are tried again inside the client, as often and as long as a write is by us.
fn patient(budget: &Budget) -> RetryConfig {
    RetryConfig {
        max_retries: budget.attempts.saturating_sub(1) as usize,
        retry_timeout: budget.span,
        backoff: BackoffConfig {
            init_backoff: budget.first_wait,
            max_backoff: budget.longest_wait,
            base: 2.0,
        },
    }
}

fn once(budget: &Budget) -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        ..patient(budget)
    }
}

macro_rules! cloud {
    (
        $name:ident, $feature:literal, $builder:path, $key:path, $cloud:expr, $tokens:expr,
        $own:expr, $defaults:expr
    ) => {
        #[cfg(feature = $feature)]
        fn $name(location: &Location, settings: &Settings) -> Result<ObjectBuilder> {
            use $builder as Builder;
            type Key = $key;

            let mut builder = Builder::from_env().with_url(location.bucket_url());
            let defaults: &[(&str, &str)] = &$defaults;
            for (key, value) in defaults {
                let known: Key = key.parse().expect("the store knows its own options");
                builder = builder.with_config(known, *value);
            }
            for (key, value) in &settings.rest {
                let known: Key = key.parse().map_err(|_| settings::unknown($cloud, key))?;
                if is_bucket(key) {
                    return Err(settings::unknown($cloud, key));
                }
                builder = builder.with_config(known, value);
            }
            let own_host = $own(&builder)?;
            let connector = Connector::default();
            let secrets = Secrets::of(settings);
            let reads = builder
                .clone()
                .with_retry(patient(&settings.budget))
                .with_http_connector(connector.clone())
                .build()
                .map_err(|error| secrets.refused(&error))?;
            let writes = builder
                .with_retry(once(&settings.budget))
                .with_credentials(Arc::clone(reads.credentials()))
                .with_http_connector(connector.reuse())
                .build()
                .map_err(|error| secrets.refused(&error))?;
            let pair = Pair {
                reads,
                writes,
                own_host,
            };
            Ok(pair.into_builder($tokens))
        }

        #[cfg(not(feature = $feature))]
        fn $name(location: &Location, _: &Settings) -> Result<ObjectBuilder> {
            let message = format!("this build leaves `{}:` out", location.scheme);
            Err(FsError::new(ErrorCode::Unsupported, message))
        }
    };
}

cloud!(
    s3,
    "s3",
    object_store::aws::AmazonS3Builder,
    object_store::aws::AmazonS3ConfigKey,
    Cloud::S3,
    TokenKind::ETag,
    s3_own_host,
    // One object at a time is removed here: what every S3 knows, and what it answers plainly.
    [("disable_bulk_delete", "true")]
);
cloud!(
    gcs,
    "gcs",
    object_store::gcp::GoogleCloudStorageBuilder,
    object_store::gcp::GoogleConfigKey,
    Cloud::Gcs,
    TokenKind::Generation,
    gcs_own_host,
    []
);
cloud!(
    azure,
    "azure",
    object_store::azure::MicrosoftAzureBuilder,
    object_store::azure::AzureConfigKey,
    Cloud::Azure,
    TokenKind::ETag,
    azure_own_host,
    []
);

/// Returns whether the store is the cloud itself, whose conditions are known to hold.
#[cfg(feature = "s3")]
fn s3_own_host(builder: &object_store::aws::AmazonS3Builder) -> Result<bool> {
    use object_store::ClientConfigKey::AllowHttp;
    use object_store::aws::AmazonS3ConfigKey as Key;

    let endpoint = builder
        .get_config_value(&Key::S3Endpoint)
        .or_else(|| builder.get_config_value(&Key::Endpoint));
    let plain = builder.get_config_value(&Key::Client(AllowHttp));
    check_plain_http(endpoint.as_deref(), plain.as_deref())?;
    Ok(endpoint.is_none_or(|endpoint| {
        let host = host_of(&endpoint);
        is_beneath(host, "amazonaws.com") || is_beneath(host, "r2.cloudflarestorage.com")
    }))
}

#[cfg(feature = "gcs")]
fn gcs_own_host(builder: &object_store::gcp::GoogleCloudStorageBuilder) -> Result<bool> {
    use object_store::gcp::GoogleConfigKey as Key;

    let base = builder.get_config_value(&Key::BaseUrl);
    Ok(base.is_none_or(|base| host_of(&base) == "storage.googleapis.com"))
}

#[cfg(feature = "azure")]
fn azure_own_host(builder: &object_store::azure::MicrosoftAzureBuilder) -> Result<bool> {
    use object_store::ClientConfigKey::AllowHttp;
    use object_store::azure::AzureConfigKey as Key;

    let emulated = builder.get_config_value(&Key::UseEmulator);
    if emulated.is_some_and(|emulated| emulated == "true") {
        return Ok(false);
    }
    let endpoint = builder.get_config_value(&Key::Endpoint);
    let plain = builder.get_config_value(&Key::Client(AllowHttp));
    check_plain_http(endpoint.as_deref(), plain.as_deref())?;
    Ok(endpoint.is_none_or(|endpoint| {
        let host = host_of(&endpoint);
        is_beneath(host, "core.windows.net") || is_beneath(host, "fabric.microsoft.com")
    }))
}

/// Checks that a store without TLS was asked for twice, and says how where it was not.
#[cfg(any(feature = "s3", feature = "azure"))]
fn check_plain_http(endpoint: Option<&str>, allowed: Option<&str>) -> Result<()> {
    let plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
    match plain && allowed != Some("true") {
        false => Ok(()),
        true => Err(FsError::new(
            ErrorCode::InvalidArgument,
            "the endpoint speaks plain HTTP; if that is meant, set the option `allow_http=true`",
        )),
    }
}

fn host_of(endpoint: &str) -> &str {
    let rest = endpoint
        .split_once("://")
        .map_or(endpoint, |(_, rest)| rest);
    rest.split(['/', ':']).next().unwrap_or_default()
}

fn is_bucket(key: &str) -> bool {
    key.ends_with("bucket") || key.ends_with("bucket_name") || key.ends_with("container_name")
}

/// What no message may repeat: every value that was given, and what the environment holds.
struct Secrets(Vec<String>);

impl Secrets {
    fn of(settings: &Settings) -> Self {
        let given = settings.rest.iter().map(|(_, value)| value.clone());
        let environment = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(key, _)| {
                ["AWS_", "GOOGLE_", "AZURE_"]
                    .iter()
                    .any(|prefix| key.starts_with(prefix))
            })
            .map(|(_, value)| value);
        Self(given.chain(environment).collect())
    }

    /// Makes the error of settings that the store's client refuses.
    fn refused(&self, error: &object_store::Error) -> FsError {
        let text = error.to_string();
        let message = match self.0.iter().any(|secret| shares(&text, secret)) {
            true => "the store's client refuses the settings; one of their values is malformed"
                .to_owned(),
            false => format!("the store's client refuses the settings: {text}"),
        };
        FsError::new(ErrorCode::InvalidArgument, message)
    }
}

/// Returns whether a text holds a part of a secret that is long enough to be of use.
fn shares(text: &str, secret: &str) -> bool {
    const ENOUGH: usize = 8;
    match secret.len() {
        0..4 => false,
        4..ENOUGH => text.contains(secret),
        _ => secret
            .as_bytes()
            .windows(ENOUGH)
            .any(|part| text.as_bytes().windows(ENOUGH).any(|found| found == part)),
    }
}

#[cfg(all(test, feature = "s3", feature = "gcs", feature = "azure"))]
mod tests {
    use super::*;

    fn connect(url: &str, options: &[(&str, &str)]) -> Result<Object> {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Object::connect(url, options.iter().map(own))
    }

    #[tokio::test]
    async fn the_clouds_own_hosts_are_trusted_and_others_are_tried_out() {
        let keys = [("access_key_id", "k"), ("secret_access_key", "s")];
        let with = |more: &[(&'static str, &'static str)]| [&keys[..], more].concat();
        let conditions =
            |options: &[(&str, &str)]| connect("s3://b", options).unwrap().0.conditions;
        assert_eq!(conditions(&keys), Conditions::Trust);
        let own = with(&[("endpoint", "https://s3.eu-west-1.amazonaws.com")]);
        assert_eq!(conditions(&own), Conditions::Trust);
        for endpoint in ["https://minio.example", "https://evilamazonaws.com"] {
            let other = with(&[("endpoint", endpoint)]);
            assert_eq!(conditions(&other), Conditions::Probe);
        }
        let overruled = with(&[
            ("endpoint", "https://minio.example"),
            ("conditions", "refuse"),
        ]);
        assert_eq!(conditions(&overruled), Conditions::Refuse);
        let azure = connect("az://c", &[("account_name", "a"), ("account_key", "a2V5")]).unwrap();
        assert_eq!(azure.0.conditions, Conditions::Trust);
        let emulator = connect("az://c", &[("use_emulator", "true")]).unwrap();
        assert_eq!(emulator.0.conditions, Conditions::Probe);
        let gcs = connect("gs://b", &[("bearer_token", "t")]).unwrap();
        assert_eq!(gcs.0.remote.tokens, TokenKind::Generation);
    }

    #[tokio::test]
    async fn no_option_is_ignored_and_none_is_repeated() {
        let refused = |url: &str, options: &[(&str, &str)]| {
            let error = connect(url, options).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument, "{error}");
            let all = format!("{error} {error:?}");
            assert!(!all.contains("hush-hush"), "{all}");
            error.message().to_owned()
        };
        let message = refused("s3://b", &[("secret_acces_key", "hush-hush")]);
        assert!(message.contains("`secret_access_key`?"), "{message}");
        let message = refused("s3://b", &[("bucket", "hush-hush")]);
        assert!(message.contains("URL"), "{message}");
        let message = refused("s3://b", &[("endpoint", "http://localhost:9000")]);
        assert!(message.contains("allow_http"), "{message}");
        let bad_key = [("account_name", "a"), ("account_key", "hush-hush-%%%")];
        refused("az://c", &bad_key);
        refused("s3://b/a//c", &[]);
        refused(
            "gs://b",
            &[("service_account_key", "{\"private_key\": \"hush-hush\"")],
        );
    }

    #[tokio::test]
    async fn debug_shows_no_credentials() {
        let options = [
            ("access_key_id", "AKIAHUSH"),
            ("secret_access_key", "hush-hush"),
            ("session_token", "hush-hush"),
        ];
        let fs = connect("s3://bucket-7/tenant", &options).unwrap();
        let all = format!(
            "{fs:?} {fs} {:?}",
            Object::builder(Arc::clone(&fs.0.remote.reads))
        );
        for secret in ["hush", "AKIAHUSH", "bucket-7", "tenant"] {
            assert!(!all.contains(secret), "{all}");
        }
    }

    #[test]
    fn parts_of_secrets_are_found() {
        assert!(shares("bad key: 12345678", "0123456789"));
        assert!(shares("bad abcd", "abcd"));
        assert!(!shares("a plain message", "0123456789"));
        assert!(!shares("true is not a number", "tru"));
    }
}
