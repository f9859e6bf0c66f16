//! The registry: which storage a URL opens, and with which options.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use futures::future::BoxFuture;
use percent_encoding::percent_decode_str;
use seamfs_core::{ErrorCode, FileSystem, FsError, Operation, Result};
use seamfs_providers::local::{DisplayRoot, Durability, Mounts};
use seamfs_providers::{Local, LocalOptions, Memory};

/// Options of a storage, as `key=value` text.
///
/// An opener takes the ones it knows; what is left is an error that names them all.
#[derive(Clone, Default)]
pub struct Options {
    values: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

impl Options {
    /// Sets an option.
    pub fn set(&mut self, key: &str, value: &str) {
        self.values.insert(key.to_owned(), value.to_owned());
    }

    /// Takes an option out, and remembers that it exists.
    pub fn take(&mut self, key: &'static str) -> Option<String> {
        self.known.push(key);
        self.values.remove(key)
    }

    /// Takes every option that is left, for a storage that checks them itself.
    pub fn into_pairs(self) -> impl Iterator<Item = (String, String)> {
        self.values.into_iter()
    }

    /// Checks that every option was taken.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` naming what is unknown and what exists.
    pub fn finish(self, scheme: &str) -> Result<()> {
        let Some(unknown) = self.values.keys().next() else {
            return Ok(());
        };
        Err(invalid(match self.known.is_empty() {
            true => format!("`{scheme}:` has no options, so no `{unknown}`"),
            false => format!(
                "`{scheme}:` has no option `{unknown}`; it has {}",
                self.known.join(", ")
            ),
        }))
    }
}

/// Values may be secrets: only the keys are shown.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

/// Opens one kind of storage.
pub type Opener =
    Arc<dyn Fn(String, Options) -> BoxFuture<'static, Result<Arc<dyn FileSystem>>> + Send + Sync>;

/// Which storage a URL opens.
#[derive(Clone)]
pub struct Registry {
    openers: BTreeMap<String, Opener>,
}

impl Default for Registry {
    /// Returns the built-in schemes: `file`, `memory`, and those of the object stores this build
    /// has. A plain path is `file`.
    fn default() -> Self {
        let mut registry = Self {
            openers: BTreeMap::new(),
        };
        registry.register("memory", |location, options| {
            Box::pin(async move { open_memory(&location, options) })
        });
        registry.register("file", |location, options| {
            Box::pin(async move { open_local(&location, options) })
        });
        #[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
        for scheme in seamfs_providers::object::SCHEMES {
            registry.register(scheme, |location, options| {
                Box::pin(async move { open_object(&location, options) })
            });
        }
        registry
    }
}

impl Registry {
    /// Adds a scheme, or replaces what it opens; the opener is given the whole URL.
    pub fn register<F>(&mut self, scheme: &str, opener: F)
    where
        F: Fn(String, Options) -> BoxFuture<'static, Result<Arc<dyn FileSystem>>>
            + Send
            + Sync
            + 'static,
    {
        self.openers.insert(scheme.to_owned(), Arc::new(opener));
    }

    /// Opens the storage that a URL or a plain path names.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for an unknown scheme or option, naming those that exist; otherwise
    /// what kept the storage from being opened.
    pub async fn open(&self, location: &str, options: Options) -> Result<Arc<dyn FileSystem>> {
        let scheme = scheme_of(location).unwrap_or("file");
        let opener = self
            .openers
            .get(&scheme.to_ascii_lowercase())
            .ok_or_else(|| {
                let known: Vec<_> = self
                    .openers
                    .keys()
                    .map(|known| format!("{known}:"))
                    .collect();
                invalid(format!(
                    "no storage is known for `{scheme}:`; known are {} and plain paths",
                    known.join(", ")
                ))
            })?;
        opener(location.to_owned(), options)
            .await
            .map_err(|error| error.during(Operation::Open))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.openers.keys()).finish()
    }
}

/// Returns the scheme of text that is a URL: at least two letters, so that no path is mistaken.
pub(crate) fn scheme_of(location: &str) -> Option<&str> {
    let (scheme, _) = location.split_once(':')?;
    let valid = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    valid.then_some(scheme)
}

/// Returns the folder of the host's that a location names, if it names one.
pub(crate) fn folder_of(location: &str) -> Result<Option<String>> {
    match scheme_of(location) {
        None => Ok(Some(location.to_owned())),
        Some(scheme) if scheme.eq_ignore_ascii_case("file") => path_of_file_url(location).map(Some),
        Some(_) => Ok(None),
    }
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
fn open_object(location: &str, options: Options) -> Result<Arc<dyn FileSystem>> {
    let object = seamfs_providers::Object::connect(location, options.into_pairs())?;
    Ok(Arc::new(object))
}

fn open_memory(location: &str, mut options: Options) -> Result<Arc<dyn FileSystem>> {
    let rest = &location["memory:".len()..];
    if !matches!(rest, "" | "/" | "//" | "///") {
        return Err(invalid(
            "a memory workspace starts empty and has no path; write `memory:`",
        ));
    }
    let quota = options.take("quota");
    options.finish("memory")?;
    let memory = match quota {
        None => Memory::new(),
        Some(text) => Memory::with_quota(parse_size("quota", &text)?),
    };
    Ok(Arc::new(memory))
}

fn open_local(location: &str, mut options: Options) -> Result<Arc<dyn FileSystem>> {
    let path = folder_of(location)?.unwrap_or_else(|| location.to_owned());
    let local = LocalOptions::default()
        .durability(choice::<Durability>(&mut options, "durability")?)
        .display(choice::<DisplayRoot>(&mut options, "display")?)
        .mounts(choice::<Mounts>(&mut options, "mounts")?);
    options.finish("file")?;
    Ok(Arc::new(Local::open_with(path, local)?))
}

/// Returns the host path of `file:///path`, `file://localhost/path` or `file:/path`.
fn path_of_file_url(url: &str) -> Result<String> {
    let rest = url.split_once(':').map_or("", |(_, rest)| rest);
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
    };
    if !path.starts_with('/') || path.contains(['?', '#']) {
        return Err(invalid(
            "a file URL is file:///path, percent-encoded; a relative folder is written as a path",
        ));
    }
    percent_decode_str(path)
        .decode_utf8()
        .map(|path| path.into_owned())
        .map_err(|_| invalid("the file URL does not decode to UTF-8"))
}

/// Takes an option that is one of a few words, or its default.
fn choice<T>(options: &mut Options, key: &'static str) -> Result<T>
where
    T: FromStr<Err: fmt::Display> + Default,
{
    match options.take(key) {
        None => Ok(T::default()),
        Some(word) => word
            .parse()
            .map_err(|error| invalid(format!("the option `{key}`: {error}"))),
    }
}

/// What a number of bytes looks like.
pub(crate) const SIZES: &str = "a number of bytes, such as 1048576, 1MB (1,000,000) or 1MiB \
                                (1,048,576); the units are B, KB, MB, GB, TB, KiB, MiB, GiB and TiB";

/// Parses a number of bytes: a whole number, with a unit behind it if wanted, whatever the case.
pub(crate) fn parse_size(key: &str, text: &str) -> Result<u64> {
    let text = text.trim();
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at(end);
    let unit: Option<u64> = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "kb" => Some(1000),
        "mb" => Some(1000_u64.pow(2)),
        "gb" => Some(1000_u64.pow(3)),
        "tb" => Some(1000_u64.pow(4)),
        "kib" => Some(1 << 10),
        "mib" => Some(1 << 20),
        "gib" => Some(1 << 30),
        "tib" => Some(1 << 40),
        _ => None,
    };
    let number = digits.parse::<u64>().ok();
    unit.and_then(|unit| number?.checked_mul(unit))
        .ok_or_else(|| invalid(format!("the option `{key}` takes {SIZES}")))
}

fn invalid(message: impl Into<String>) -> FsError {
    FsError::new(ErrorCode::InvalidArgument, message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_usual_units() {
        for (text, bytes) in [
            ("0", 0),
            ("1048576", 1 << 20),
            ("12 B", 12),
            ("1MB", 1_000_000),
            ("1 MB", 1_000_000),
            ("2kb", 2000),
            ("1MiB", 1 << 20),
            (" 3 gib ", 3 << 30),
            ("16TiB", 16 << 40),
        ] {
            assert_eq!(parse_size("quota", text).unwrap(), bytes, "{text}");
        }
        for text in [
            "",
            "MB",
            "1M",
            "1.5MB",
            "-1",
            "1 cow",
            "99999999999TiB",
            "１MB",
        ] {
            let error = parse_size("quota", text).unwrap_err();
            let message = error.message();
            assert!(
                message.contains("`quota`") && message.contains("KiB, MiB"),
                "{message}"
            );
        }
    }
}
