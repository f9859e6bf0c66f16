//! Locations: which bucket of which cloud a URL names, and what of it is the root.

use percent_encoding::percent_decode_str;
use seamfs_core::{ErrorCode, FsError, Result};

/// A cloud, or a store that speaks its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cloud {
    /// Amazon S3 and everything that speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage.
    Azure,
}

/// The URL schemes that name an object store.
///
/// `https` is for the clouds' own host names.
pub const SCHEMES: [&str; 10] = [
    "s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "https",
];

/// A parsed URL.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) cloud: Cloud,
    pub(super) scheme: String,
    pub(super) authority: String,
    /// The path of the URL, decoded, without slashes at its ends.
    pub(super) path: String,
    /// How much of the path names the bucket; the rest is the prefix.
    bucket_in_path: bool,
}

impl Location {
    /// Parses `s3://bucket/prefix` and its like, or an `https:` URL of one of the clouds.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT`, without repeating what may hold a secret.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| invalid("an object store is named as in `s3://bucket/prefix`"))?;
        let scheme = scheme.to_ascii_lowercase();
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains(':') && authority.contains('@') {
            return Err(invalid(
                "the URL holds credentials; give them as options or in the environment",
            ));
        }
        if rest.contains(['?', '#']) {
            return Err(invalid(
                "the URL has a query or a fragment; write `?` as %3F and `#` as %23, and give \
                 settings as options",
            ));
        }
        if authority.is_empty() {
            return Err(invalid("the URL names no bucket"));
        }
        let path = percent_decode_str(path)
            .decode_utf8()
            .map_err(|_| invalid("the URL does not decode to UTF-8"))?;
        let (cloud, bucket_in_path) = match scheme.as_str() {
            "s3" | "s3a" => (Cloud::S3, false),
            "gs" | "gcs" => (Cloud::Gcs, false),
            "az" | "azure" | "abfs" | "abfss" | "adl" => (Cloud::Azure, false),
            "https" => of_host(authority)?,
            _ => return Err(invalid("the URL is of no object store")),
        };
        Ok(Self {
            cloud,
            scheme,
            authority: authority.to_owned(),
            path: path.trim_matches('/').to_owned(),
            bucket_in_path,
        })
    }

    /// Returns the prefix that is the root.
    pub(super) fn prefix(&self) -> &str {
        match self.bucket_in_path {
            false => &self.path,
            true => self.path.split_once('/').map_or("", |(_, prefix)| prefix),
        }
    }

    /// Returns the URL that the store's own builder reads: without the prefix.
    pub(super) fn bucket_url(&self) -> String {
        let bucket = match self.bucket_in_path {
            false => "",
            true => self.path.split('/').next().unwrap_or_default(),
        };
        match self.scheme.as_str() {
            "gcs" => format!("gs://{}", self.authority),
            "https" if self.cloud == Cloud::Gcs => format!("gs://{bucket}"),
            scheme => format!("{scheme}://{}/{bucket}", self.authority),
        }
    }
}

/// Tells a cloud by its own host names, by whole labels.
fn of_host(authority: &str) -> Result<(Cloud, bool)> {
    let host = authority.to_ascii_lowercase();
    if is_beneath(&host, "amazonaws.com") {
        let bucket_in_path = host.starts_with("s3.") || host.starts_with("s3-");
        return Ok((Cloud::S3, bucket_in_path));
    }
    if is_beneath(&host, "r2.cloudflarestorage.com") {
        return Ok((Cloud::S3, true));
    }
    if host == "storage.googleapis.com" {
        return Ok((Cloud::Gcs, true));
    }
    let azure = [
        "blob.core.windows.net",
        "dfs.core.windows.net",
        "blob.fabric.microsoft.com",
        "dfs.fabric.microsoft.com",
    ];
    match azure.iter().any(|domain| is_beneath(&host, domain)) {
        true => Ok((Cloud::Azure, true)),
        false => Err(invalid(
            "the host is none of a cloud's own; name the bucket as in `s3://bucket` and the host \
             with the option `endpoint`",
        )),
    }
}

/// Returns whether a host lies beneath a domain.
pub(super) fn is_beneath(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
}

fn invalid(message: &'static str) -> FsError {
    FsError::new(ErrorCode::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, cloud: Cloud, bucket_url: &str, prefix: &str) {
        let location = Location::parse(url).map_err(|error| error.to_string());
        let location = location.unwrap();
        assert_eq!(location.cloud, cloud, "{url}");
        assert_eq!(location.bucket_url(), bucket_url, "{url}");
        assert_eq!(location.prefix(), prefix, "{url}");
    }

    #[test]
    fn the_usual_spellings_are_understood() {
        check("s3://b", Cloud::S3, "s3://b/", "");
        check("s3a://b/", Cloud::S3, "s3a://b/", "");
        check("S3://b/p/q/", Cloud::S3, "s3://b/", "p/q");
        check("s3://b/a%20b%25", Cloud::S3, "s3://b/", "a b%");
        check("gs://b/p", Cloud::Gcs, "gs://b/", "p");
        check("gcs://b/p", Cloud::Gcs, "gs://b", "p");
        check("az://c/p", Cloud::Azure, "az://c/", "p");
        check(
            "abfss://c@acc.dfs.core.windows.net/p",
            Cloud::Azure,
            "abfss://c@acc.dfs.core.windows.net/",
            "p",
        );
        check(
            "https://s3.eu-west-1.amazonaws.com/b/p/q",
            Cloud::S3,
            "https://s3.eu-west-1.amazonaws.com/b",
            "p/q",
        );
        check(
            "https://b.s3.eu-west-1.amazonaws.com/p",
            Cloud::S3,
            "https://b.s3.eu-west-1.amazonaws.com/",
            "p",
        );
        check(
            "https://storage.googleapis.com/b/p",
            Cloud::Gcs,
            "gs://b",
            "p",
        );
        check(
            "https://acc.blob.core.windows.net/c/p",
            Cloud::Azure,
            "https://acc.blob.core.windows.net/c",
            "p",
        );
    }

    #[test]
    fn what_is_no_store_is_refused_without_repeating_it() {
        for url in [
            "s3:b",
            "s3:///p",
            "s3://key:secret@b/p",
            "s3://b/p?versionId=secret",
            "https://evilamazonaws.com/b",
            "https://amazonaws.com.evil.org/secret",
            "https://example.org/b",
        ] {
            let error = Location::parse(url).err().unwrap();
            assert_eq!(error.code(), ErrorCode::InvalidArgument);
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
