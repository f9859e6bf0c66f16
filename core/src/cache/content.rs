//! The content cache: whole bytes and their version, bounded, one entry a target.
//!
//! A provider whose reads are dear keeps what it has seen here, so that an edit of known content
//! is a single guarded write. The cache is never the authority: what it holds may be outdated, so
//! a success is proved by the guard of the write, and a miss in cached content is looked at again
//! before it is reported.

use std::fmt;

use super::recent::{ENTRY_COST, Recent};
use crate::error::Snapshot;
use crate::target::TargetKey;
use crate::version::Version;

/// How many bytes of content a cache holds unless told otherwise: 64 MiB.
pub const DEFAULT_CAPACITY: usize = 64 << 20;

/// The largest share of the capacity that one content may take: a quarter.
const LARGEST_SHARE: usize = 4;

/// Whole contents by target, the least recently used dropped first.
///
/// `X` is what the owner remembers beside the bytes, such as an object's attributes.
pub struct ContentCache<X = ()>(Recent<Cached<X>>);

/// A content as the cache last saw it.
#[derive(Clone, Debug)]
pub struct Cached<X = ()> {
    /// The bytes and their version.
    pub snapshot: Snapshot,
    /// What the owner remembers beside them.
    pub extra: X,
}

impl<X: Clone> Default for ContentCache<X> {
    fn default() -> Self {
        Self::new(DEFAULT_CAPACITY)
    }
}

impl<X: Clone> ContentCache<X> {
    /// Creates an empty cache that holds at the most `capacity` bytes; zero holds nothing.
    pub fn new(capacity: usize) -> Self {
        Self(Recent::new(capacity))
    }

    /// Returns the largest content, in bytes, that is kept.
    pub fn largest(&self) -> usize {
        (self.0.capacity() / LARGEST_SHARE).saturating_sub(ENTRY_COST)
    }

    /// Returns the content last seen at a target.
    pub fn get(&self, key: &TargetKey) -> Option<Cached<X>> {
        self.0.get(key)
    }

    /// Returns the content last seen at a target when it is the one that a version names.
    pub fn get_version(&self, key: &TargetKey, version: &Version) -> Option<Cached<X>> {
        self.get(key)
            .filter(|cached| cached.snapshot.version.certifies(version))
    }

    /// Keeps a content in place of the target's last one; one too large is not kept at all.
    pub fn put(&self, key: TargetKey, snapshot: Snapshot, extra: X) {
        let bytes = snapshot.bytes.len();
        match bytes > self.largest() {
            true => self.0.forget(&key),
            false => self.0.put(key, Cached { snapshot, extra }, bytes),
        }
    }

    /// Forgets a target's content.
    pub fn forget(&self, key: &TargetKey) {
        self.0.forget(key);
    }

    /// Returns how many bytes are held, what entries cost beside their content included.
    pub fn used(&self) -> usize {
        self.0.used()
    }
}

impl<X> fmt::Debug for ContentCache<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ContentCache").field(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn key(name: &str) -> TargetKey {
        TargetKey::new(name)
    }

    fn snapshot(len: usize) -> Snapshot {
        let bytes = Bytes::from(vec![b'x'; len]);
        let version = Version::of(&bytes);
        Snapshot { bytes, version }
    }

    #[test]
    fn a_content_too_large_to_keep_also_ends_the_one_before() {
        let cache = ContentCache::new(8192);
        cache.put(key("a"), snapshot(10), ());
        cache.put(key("a"), snapshot(8000), ());
        assert!(cache.get(&key("a")).is_none());
        assert_eq!(cache.used(), 0);
    }

    #[test]
    fn a_version_finds_only_its_own_content() {
        let cache = ContentCache::default();
        cache.put(key("a"), snapshot(3), ());
        assert!(cache.get_version(&key("a"), &Version::of(b"xxx")).is_some());
        assert!(cache.get_version(&key("a"), &Version::of(b"yyy")).is_none());
    }
}
