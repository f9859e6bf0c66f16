//! The content cache: whole bytes and their version, bounded, one entry a target.
//!
//! A provider whose reads are dear keeps what it has seen here, so that an edit of known content
//! is a single guarded write. The cache is never the authority: what it holds may be outdated, so
//! a success is proved by the guard of the write, and a miss in cached content is looked at again
//! before it is reported.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Snapshot;
use crate::target::TargetKey;
use crate::version::Version;

/// How many bytes of content a cache holds unless told otherwise: 64 MiB.
pub const DEFAULT_CAPACITY: usize = 64 << 20;

/// The largest share of the capacity that one content may take: a quarter.
const LARGEST_SHARE: usize = 4;

/// What an entry costs beside its bytes.
const ENTRY_COST: usize = 512;

/// Whole contents by target, the least recently used dropped first.
///
/// `X` is what the owner remembers beside the bytes, such as an object's attributes.
pub struct ContentCache<X = ()> {
    capacity: usize,
    state: Mutex<State<X>>,
}

/// A content as the cache last saw it.
#[derive(Clone, Debug)]
pub struct Cached<X = ()> {
    /// The bytes and their version.
    pub snapshot: Snapshot,
    /// What the owner remembers beside them.
    pub extra: X,
}

struct State<X> {
    entries: HashMap<TargetKey, (u64, Cached<X>)>,
    /// Targets by when they were last used.
    order: BTreeMap<u64, TargetKey>,
    clock: u64,
    used: usize,
}

impl<X: Clone> Default for ContentCache<X> {
    fn default() -> Self {
        Self::new(DEFAULT_CAPACITY)
    }
}

impl<X: Clone> ContentCache<X> {
    /// Creates an empty cache that holds at the most `capacity` bytes; zero holds nothing.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            state: Mutex::new(State {
                entries: HashMap::new(),
                order: BTreeMap::new(),
                clock: 0,
                used: 0,
            }),
        }
    }

    /// Returns the largest content, in bytes, that is kept.
    pub fn largest(&self) -> usize {
        (self.capacity / LARGEST_SHARE).saturating_sub(ENTRY_COST)
    }

    /// Returns the content last seen at a target.
    pub fn get(&self, key: &TargetKey) -> Option<Cached<X>> {
        self.state().touch(key)
    }

    /// Returns the content last seen at a target when it is the one that a version names.
    pub fn get_version(&self, key: &TargetKey, version: &Version) -> Option<Cached<X>> {
        self.get(key)
            .filter(|cached| cached.snapshot.version.certifies(version))
    }

    /// Keeps a content in place of the target's last one; one too large is not kept at all.
    pub fn put(&self, key: TargetKey, snapshot: Snapshot, extra: X) {
        let mut state = self.state();
        state.remove(&key);
        if snapshot.bytes.len() > self.largest() {
            return;
        }
        state.insert(key, Cached { snapshot, extra });
        while state.used > self.capacity {
            state.drop_oldest();
        }
    }

    /// Forgets a target's content.
    pub fn forget(&self, key: &TargetKey) {
        self.state().remove(key);
    }

    /// Returns how many bytes are held, what entries cost beside their content included.
    pub fn used(&self) -> usize {
        self.state().used
    }

    /// A panic while holding this lock loses at the most an entry: nothing here is the authority.
    fn state(&self) -> MutexGuard<'_, State<X>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<X> fmt::Debug for ContentCache<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentCache")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

impl<X: Clone> State<X> {
    fn touch(&mut self, key: &TargetKey) -> Option<Cached<X>> {
        self.clock += 1;
        let (used_at, cached) = self.entries.get_mut(key)?;
        self.order.remove(used_at);
        *used_at = self.clock;
        self.order.insert(self.clock, key.clone());
        Some(cached.clone())
    }

    fn insert(&mut self, key: TargetKey, cached: Cached<X>) {
        self.clock += 1;
        self.used += cost(&cached);
        self.order.insert(self.clock, key.clone());
        self.entries.insert(key, (self.clock, cached));
    }

    fn remove(&mut self, key: &TargetKey) {
        if let Some((used_at, cached)) = self.entries.remove(key) {
            self.order.remove(&used_at);
            self.used -= cost(&cached);
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, key)) = self.order.pop_first()
            && let Some((_, cached)) = self.entries.remove(&key)
        {
            self.used -= cost(&cached);
        }
    }
}

fn cost<X>(cached: &Cached<X>) -> usize {
    cached.snapshot.bytes.len() + ENTRY_COST
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn key(name: &str) -> TargetKey {
        TargetKey::new(name)
    }

    fn snapshot(len: usize) -> Snapshot {
        let bytes = Bytes::from(vec![b'x'; len]);
        let version = Version::of(&bytes);
        Snapshot { bytes, version }
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = ContentCache::new(4 * (1000 + ENTRY_COST));
        for name in ["a", "b", "c", "d"] {
            cache.put(key(name), snapshot(1000), ());
        }
        assert!(cache.get(&key("a")).is_some());
        cache.put(key("e"), snapshot(1000), ());
        assert!(cache.get(&key("b")).is_none());
        assert!(cache.get(&key("a")).is_some() && cache.get(&key("e")).is_some());
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

    proptest! {
        #[test]
        fn what_is_held_never_exceeds_the_capacity(steps in proptest::collection::vec((0u8..8, 0usize..3000), 0..60)) {
            let cache = ContentCache::new(8192);
            for (name, len) in steps {
                let name = key(&format!("k{name}"));
                match len % 5 {
                    0 => cache.forget(&name),
                    _ => cache.put(name, snapshot(len), ()),
                }
                prop_assert!(cache.used() <= 8192);
            }
            for name in 0..8 {
                cache.forget(&key(&format!("k{name}")));
            }
            prop_assert_eq!(cache.used(), 0);
        }
    }
}
