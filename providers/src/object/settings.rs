//! Settings: options as text, ours and the store's own, none of them ignored.

use std::time::Duration;

use seamfs_core::{ErrorCode, FsError, Result};

use super::budget::Budget;
use super::location::Cloud;
use super::probe::Conditions;

/// The options of ours, on every store.
const OURS: [&str; 4] = ["conditions", "attempts", "patience", "cache"];

/// The options of every HTTP client.
const CLIENT: [&str; 20] = [
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "default_content_type",
    "disable_system_certificates",
    "http1_only",
    "http2_keep_alive_interval",
    "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle",
    "http2_max_frame_size",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_ca_certificate",
    "proxy_excludes",
    "proxy_url",
    "randomize_addresses",
    "read_timeout",
    "timeout",
    "user_agent",
];

const S3: [&str; 30] = [
    "access_key_id",
    "secret_access_key",
    "session_token",
    "region",
    "default_region",
    "endpoint",
    "endpoint_url",
    "virtual_hosted_style_request",
    "s3_express",
    "imdsv1_fallback",
    "metadata_endpoint",
    "unsigned_payload",
    "checksum_algorithm",
    "container_credentials_relative_uri",
    "container_credentials_full_uri",
    "container_authorization_token_file",
    "web_identity_token_file",
    "role_arn",
    "role_session_name",
    "endpoint_url_sts",
    "skip_signature",
    "copy_if_not_exists",
    "conditional_put",
    "disable_tagging",
    "disable_bulk_delete",
    "request_payer",
    "server_side_encryption",
    "sse_kms_key_id",
    "sse_bucket_key_enabled",
    "sse_customer_key_base64",
];

const GCS: [&str; 7] = [
    "service_account",
    "service_account_path",
    "service_account_key",
    "base_url",
    "application_credentials",
    "bearer_token",
    "skip_signature",
];

const AZURE: [&str; 24] = [
    "account_name",
    "account_key",
    "access_key",
    "client_id",
    "client_secret",
    "tenant_id",
    "authority_host",
    "sas_key",
    "sas_token",
    "bearer_token",
    "use_emulator",
    "endpoint",
    "msi_endpoint",
    "object_id",
    "msi_resource_id",
    "federated_token_file",
    "use_fabric_endpoint",
    "use_azure_cli",
    "skip_signature",
    "disable_tagging",
    "fabric_token_service_url",
    "fabric_workload_host",
    "credential_type",
    "encryption_key",
];

/// The settings of ours, and what is left for the store.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) conditions: Option<Conditions>,
    pub(super) budget: Budget,
    pub(super) cache: Option<usize>,
    pub(super) rest: Vec<(String, String)>,
}

impl Settings {
    /// Takes our options out of a list.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for a value that cannot be, naming those that can.
    pub(super) fn read(options: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let mut settings = Self::default();
        for (key, value) in options {
            let key = key.to_ascii_lowercase();
            match key.as_str() {
                "conditions" => settings.conditions = Some(conditions(&value)?),
                "attempts" => settings.budget.attempts = number(&key, &value)?.max(1),
                "patience" => {
                    settings.budget.span = Duration::from_secs(number(&key, &value)?.into());
                }
                "cache" => settings.cache = Some(size(&key, &value)?),
                _ => settings.rest.push((key, value)),
            }
        }
        Ok(settings)
    }
}

fn conditions(value: &str) -> Result<Conditions> {
    match value {
        "probe" => Ok(Conditions::Probe),
        "trust" => Ok(Conditions::Trust),
        "refuse" => Ok(Conditions::Refuse),
        _ => Err(invalid(
            "the option `conditions` is `probe`, `trust` or `refuse`".to_owned(),
        )),
    }
}

fn number(key: &str, value: &str) -> Result<u32> {
    value
        .parse()
        .map_err(|_| invalid(format!("the option `{key}` takes a whole number")))
}

fn size(key: &str, value: &str) -> Result<usize> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (digits, shift) = units
        .iter()
        .find_map(|(unit, shift)| value.strip_suffix(unit).map(|digits| (digits, *shift)))
        .unwrap_or((value, 0));
    digits
        .trim()
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| {
            invalid(format!(
                "the option `{key}` takes a number of bytes, such as 1048576 or 1MiB"
            ))
        })
}

/// Makes the error of an option that does not exist, suggesting the nearest that does.
pub(super) fn unknown(cloud: Cloud, key: &str) -> FsError {
    if matches!(key, "bucket" | "bucket_name" | "container_name") {
        return invalid(format!(
            "the bucket is named by the URL, so there is no option `{key}`"
        ));
    }
    let nearest = nearest(cloud, key);
    invalid(format!(
        "there is no option `{key}`; did you mean `{nearest}`?"
    ))
}

fn nearest(cloud: Cloud, key: &str) -> &'static str {
    let bare = ["aws_", "google_", "azure_storage_", "azure_"]
        .iter()
        .find_map(|prefix| key.strip_prefix(prefix))
        .unwrap_or(key);
    known(cloud)
        .max_by(|one, two| {
            let likeness = |name: &str| strsim::jaro_winkler(bare, name);
            likeness(one).total_cmp(&likeness(two))
        })
        .expect("there are options of ours")
}

/// Returns the names of the options of a cloud, without its prefix.
fn known(cloud: Cloud) -> impl Iterator<Item = &'static str> {
    let own: &[&'static str] = match cloud {
        Cloud::S3 => &S3,
        Cloud::Gcs => &GCS,
        Cloud::Azure => &AZURE,
    };
    OURS.iter().chain(own).chain(&CLIENT).copied()
}

fn invalid(message: String) -> FsError {
    FsError::new(ErrorCode::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_suggests_the_nearest() {
        for (cloud, key, nearest) in [
            (Cloud::S3, "regoin", "region"),
            (Cloud::S3, "aws_acess_key_id", "access_key_id"),
            (Cloud::S3, "endpont", "endpoint"),
            (Cloud::Gcs, "bearer", "bearer_token"),
            (Cloud::Azure, "azure_storage_acount_name", "account_name"),
            (Cloud::Azure, "condition", "conditions"),
        ] {
            let message = unknown(cloud, key).to_string();
            assert!(message.contains(&format!("`{nearest}`?")), "{message}");
        }
        assert!(unknown(Cloud::S3, "bucket").to_string().contains("URL"));
    }

    #[test]
    fn every_option_that_is_suggested_exists() {
        #[cfg(feature = "s3")]
        for name in S3.iter().chain(&CLIENT) {
            name.parse::<object_store::aws::AmazonS3ConfigKey>()
                .unwrap();
        }
        #[cfg(feature = "gcs")]
        for name in GCS.iter().chain(&CLIENT) {
            name.parse::<object_store::gcp::GoogleConfigKey>().unwrap();
        }
        #[cfg(feature = "azure")]
        for name in AZURE.iter().chain(&CLIENT) {
            name.parse::<object_store::azure::AzureConfigKey>().unwrap();
        }
    }

    #[test]
    fn our_own_options_are_read_and_bad_values_named() {
        let read = |key: &str, value: &str| Settings::read([(key.to_owned(), value.to_owned())]);
        assert_eq!(read("attempts", "3").unwrap().budget.attempts, 3);
        assert_eq!(read("patience", "5").unwrap().budget.span.as_secs(), 5);
        assert_eq!(read("cache", "1MiB").unwrap().cache, Some(1 << 20));
        assert_eq!(
            read("conditions", "trust").unwrap().conditions,
            Some(Conditions::Trust)
        );
        for (key, value) in [("attempts", "many"), ("conditions", "yes"), ("cache", "-1")] {
            let error = read(key, value).err().unwrap();
            assert!(error.to_string().contains(key), "{error}");
        }
    }
}
