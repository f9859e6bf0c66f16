//! The remote: single requests to the store, with faults instead of foreign errors.

use std::future::Future;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use futures::StreamExt;
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{
    Attributes, GetOptions, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode,
    PutOptions, PutPayload, PutResult, UpdateVersion,
};
use seamfs_core::{CallContext, ContentHash, Snapshot, Version};

use super::budget::Budget;
use super::fault::{Fault, Kind};

/// How often a read whose body broke off is begun anew.
pub(super) const BEGUN_ANEW: usize = 2;

/// What names a content on a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// The ETag, its quotes taken off: S3, Azure, and `object_store`'s own stores.
    ETag,
    /// The generation: Google Cloud Storage, whose writes ignore the ETag.
    Generation,
}

/// The store, and how it is spoken to.
pub(super) struct Remote {
    /// For reads, where a retry inside the client does no harm.
    pub(super) reads: Arc<dyn ObjectStore>,
    /// For writes; what a first attempt is told must be what the store said.
    pub(super) writes: Arc<dyn ObjectStore>,
    /// Whether `writes` may try again by itself, so that a refusal may be of our own bytes.
    pub(super) retries_inside: bool,
    /// For listings page by page, where the store has pages.
    pub(super) pages: Option<Arc<dyn PaginatedListStore>>,
    pub(super) tokens: TokenKind,
}

/// What is remembered of an object beside its bytes.
#[derive(Clone, Debug)]
pub(super) struct Extra {
    /// The ETag as the store spelled it, for reads that ask for something newer.
    pub(super) e_tag: Option<String>,
    pub(super) attributes: Attributes,
    pub(super) modified: Option<SystemTime>,
}

/// A whole object as one request saw it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) snapshot: Snapshot,
    pub(super) extra: Extra,
}

/// What a read of a whole object came to.
#[derive(Debug)]
pub(super) enum Got {
    Absent,
    /// It is what the caller knows already.
    Unchanged,
    /// It has more bytes than the caller wants, and they were not transferred.
    TooLarge(ObjectMeta),
    Seen(Seen),
}

/// The condition of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// Nothing is there.
    Absent,
    /// The content that a token names is there.
    Token(String),
    /// None: whatever is there is replaced.
    None,
}

impl Remote {
    /// Reads a whole object of at the most `limit` bytes, unless it still has the known ETag.
    pub(super) async fn get(
        &self,
        key: &Path,
        known: Option<&str>,
        limit: u64,
    ) -> Result<Got, Fault> {
        let options = GetOptions {
            if_none_match: known.map(str::to_owned),
            ..GetOptions::default()
        };
        let result = match self.reads.get_opts(key, options).await.map_err(Fault::from) {
            Ok(result) => result,
            Err(fault) if fault.kind == Kind::NotFound => return Ok(Got::Absent),
            Err(fault) if fault.kind == Kind::NotModified && known.is_some() => {
                return Ok(Got::Unchanged);
            }
            Err(fault) => return Err(fault),
        };
        if result.meta.size > limit {
            return Ok(Got::TooLarge(result.meta));
        }
        Ok(Got::Seen(self.collect(result).await?))
    }

    /// Reads a whole object as [`get`](Self::get) does, and begins anew when its body breaks off:
    /// the client cannot take up a body whose object was replaced meanwhile.
    pub(super) async fn get_anew(
        &self,
        key: &Path,
        known: Option<&str>,
        limit: u64,
        budget: &Budget,
        context: &CallContext,
    ) -> Result<Got, Fault> {
        let mut spending = budget.begin(context);
        for _ in 0..BEGUN_ANEW {
            match in_time(context, self.get(key, known, limit)).await {
                Err(fault) if fault.kind == Kind::Torn && spending.wait().await => {}
                got => return got,
            }
        }
        in_time(context, self.get(key, known, limit)).await
    }

    /// Collects the body of a whole read.
    pub(super) async fn collect(&self, result: GetResult) -> Result<Seen, Fault> {
        let (meta, attributes) = (result.meta.clone(), result.attributes.clone());
        let bytes = result
            .bytes()
            .await
            .map_err(|error| Fault::from(error).in_body())?;
        if bytes.len() as u64 != meta.size {
            return Err(Fault::torn());
        }
        let version = self.version_of(&bytes, meta.e_tag.as_deref(), meta.version.as_deref());
        Ok(Seen {
            snapshot: Snapshot { bytes, version },
            extra: Extra {
                e_tag: meta.e_tag,
                attributes,
                modified: Some(meta.last_modified.into()),
            },
        })
    }

    /// Looks at an object without reading it.
    pub(super) async fn head(&self, key: &Path) -> Result<Option<ObjectMeta>, Fault> {
        match self.reads.head(key).await.map_err(Fault::from) {
            Ok(meta) => Ok(Some(meta)),
            Err(fault) if fault.kind == Kind::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Writes an object under a condition, in one request.
    pub(super) async fn put(
        &self,
        key: &Path,
        bytes: Bytes,
        condition: &Condition,
        attributes: Attributes,
    ) -> Result<PutResult, Fault> {
        let options = PutOptions {
            mode: self.mode(condition),
            attributes,
            ..PutOptions::default()
        };
        let payload = PutPayload::from_bytes(bytes);
        Ok(self.writes.put_opts(key, payload, options).await?)
    }

    /// Removes an object, whatever it is; one that is not there is a success.
    pub(super) async fn delete(&self, key: &Path) -> Result<(), Fault> {
        match self.writes.delete(key).await.map_err(Fault::from) {
            Err(fault) if fault.kind != Kind::NotFound => Err(fault),
            _ => Ok(()),
        }
    }

    /// Returns whether any key begins with a prefix; empty means the whole bucket.
    pub(super) async fn any_beneath(&self, prefix: &str) -> Result<bool, Fault> {
        if let Some(pages) = &self.pages {
            let options = object_store::list::PaginatedListOptions {
                max_keys: Some(1),
                ..Default::default()
            };
            let wanted = (!prefix.is_empty()).then_some(prefix);
            let page = pages.list_paginated(wanted, options).await?;
            let result = page.result;
            return Ok(!result.objects.is_empty() || !result.common_prefixes.is_empty());
        }
        let folder = folder_path(prefix);
        match self.reads.list(folder.as_ref()).next().await {
            None => Ok(false),
            Some(Ok(_)) => Ok(true),
            Some(Err(error)) => match Fault::from(error) {
                // A key that cannot be addressed is a key.
                fault if fault.kind == Kind::BadKey => Ok(true),
                fault => Err(fault),
            },
        }
    }

    /// Returns the token of a content, where the store gave one.
    pub(super) fn token(&self, e_tag: Option<&str>, version: Option<&str>) -> Option<String> {
        let token = match self.tokens {
            TokenKind::ETag => e_tag.map(bare),
            TokenKind::Generation => version,
        };
        token.filter(|token| !token.is_empty()).map(str::to_owned)
    }

    /// Returns the token to send for a version; none when this store can never have given it.
    ///
    /// Text that is no ETag, or no generation, would be refused as a bad request and not as a
    /// condition that does not hold.
    pub(super) fn token_to_send(&self, version: &Version) -> Option<String> {
        let token = version.token()?;
        let fits = match self.tokens {
            TokenKind::ETag => is_opaque(weak_part(token).unwrap_or(token)),
            TokenKind::Generation => token.bytes().all(|byte| byte.is_ascii_digit()),
        };
        fits.then(|| token.to_owned())
    }

    /// Returns the version of an object that was not read, where the store names its content.
    pub(super) fn version_unread(&self, meta: &ObjectMeta) -> Option<Version> {
        self.token(meta.e_tag.as_deref(), meta.version.as_deref())
            .map(Version::from_token)
    }

    /// Returns the version of bytes in hand.
    pub(super) fn version_of(
        &self,
        bytes: &[u8],
        e_tag: Option<&str>,
        version: Option<&str>,
    ) -> Version {
        self.version_hashed(ContentHash::of(bytes), e_tag, version)
    }

    /// Returns the version of bytes hashed before.
    pub(super) fn version_hashed(
        &self,
        hash: ContentHash,
        e_tag: Option<&str>,
        version: Option<&str>,
    ) -> Version {
        let plain = Version::from_hash(hash);
        match self.token(e_tag, version) {
            Some(token) => plain.with_token(token),
            None => plain,
        }
    }

    fn mode(&self, condition: &Condition) -> PutMode {
        match condition {
            Condition::Absent => PutMode::Create,
            Condition::None => PutMode::Overwrite,
            Condition::Token(token) => PutMode::Update(match self.tokens {
                TokenKind::ETag => UpdateVersion {
                    e_tag: Some(quoted(token)),
                    version: None,
                },
                TokenKind::Generation => UpdateVersion {
                    e_tag: None,
                    version: Some(token.clone()),
                },
            }),
        }
    }
}

/// Takes the quotes off an ETag: listings of Azure have none, everything else does.
fn bare(e_tag: &str) -> &str {
    e_tag
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(e_tag)
}

/// Returns what a weak ETag has between its quotes.
fn weak_part(token: &str) -> Option<&str> {
    token.strip_prefix("W/\"")?.strip_suffix('"')
}

/// Returns whether text may stand between the quotes of an ETag (RFC 9110, section 8.8.3).
fn is_opaque(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte == 0x21 || matches!(byte, 0x23..=0x7E))
}

/// Spells a token as an ETag; a weak one has kept its quotes.
fn quoted(token: &str) -> String {
    match token.contains('"') {
        true => token.to_owned(),
        false => format!("\"{token}\""),
    }
}

/// Returns the prefix as `object_store` wants it: no slash at the end, none for everything.
pub(super) fn folder_path(prefix: &str) -> Option<Path> {
    (!prefix.is_empty())
        .then(|| Path::parse(prefix).expect("a prefix is made of the names of a parsed path"))
}

/// Waits for a request no longer than the call may take.
pub(super) async fn in_time<T>(
    context: &CallContext,
    request: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    until(context.deadline, request).await
}

/// Waits for a request until a deadline.
pub(super) async fn until<T>(
    deadline: Option<Instant>,
    request: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    match deadline {
        None => request.await,
        Some(deadline) => tokio::time::timeout_at(deadline.into(), request)
            .await
            .unwrap_or_else(|_| Err(Fault::late())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_e_tag_is_the_same_with_and_without_quotes() {
        for (given, token, sent) in [
            ("\"abc\"", "abc", "\"abc\""),
            ("abc", "abc", "\"abc\""),
            ("W/\"abc\"", "W/\"abc\"", "W/\"abc\""),
        ] {
            assert_eq!(bare(given), token);
            assert_eq!(quoted(token), sent);
        }
    }
}
