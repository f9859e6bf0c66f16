//! What was last known of each target, the least recently used dropped first.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::target::TargetKey;

/// What an entry costs beside its value, in bytes.
pub(super) const ENTRY_COST: usize = 512;

/// One value a target, bounded by what they cost together.
pub struct Recent<V> {
    capacity: usize,
    state: Mutex<State<V>>,
}

struct State<V> {
    entries: HashMap<TargetKey, Entry<V>>,
    /// Targets by when they were last used.
    order: BTreeMap<u64, TargetKey>,
    clock: u64,
    used: usize,
}

struct Entry<V> {
    value: V,
    cost: usize,
    used_at: u64,
}

impl<V: Clone> Recent<V> {
    /// Creates an empty one that holds at the most `capacity` bytes; zero holds nothing.
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

    /// Returns what was last known of a target.
    pub fn get(&self, key: &TargetKey) -> Option<V> {
        self.state().touch(key)
    }

    /// Keeps a value of `bytes` bytes in place of the target's last one; one larger than the
    /// capacity is not kept at all.
    pub fn put(&self, key: TargetKey, value: V, bytes: usize) {
        let mut state = self.state();
        state.remove(&key);
        let cost = bytes.saturating_add(ENTRY_COST);
        if cost > self.capacity {
            return;
        }
        state.insert(key, value, cost);
        while state.used > self.capacity {
            state.drop_oldest();
        }
    }

    /// Forgets a target.
    pub fn forget(&self, key: &TargetKey) {
        self.state().remove(key);
    }

    /// Returns how many bytes are held, what entries cost beside their values included.
    pub fn used(&self) -> usize {
        self.state().used
    }

    /// Returns how many bytes may be held.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// A panic while holding this lock loses at the most an entry: nothing here is the authority.
    fn state(&self) -> MutexGuard<'_, State<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> fmt::Debug for Recent<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

impl<V: Clone> State<V> {
    fn touch(&mut self, key: &TargetKey) -> Option<V> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        self.order.remove(&entry.used_at);
        entry.used_at = self.clock;
        self.order.insert(self.clock, key.clone());
        Some(entry.value.clone())
    }

    fn insert(&mut self, key: TargetKey, value: V, cost: usize) {
        self.clock += 1;
        self.used += cost;
        self.order.insert(self.clock, key.clone());
        let used_at = self.clock;
        let entry = Entry {
            value,
            cost,
            used_at,
        };
        self.entries.insert(key, entry);
    }

    fn remove(&mut self, key: &TargetKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used_at);
            self.used -= entry.cost;
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, key)) = self.order.pop_first()
            && let Some(entry) = self.entries.remove(&key)
        {
            self.used -= entry.cost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(name: &str) -> TargetKey {
        TargetKey::new(name)
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let recent = Recent::new(4 * (1000 + ENTRY_COST));
        for name in ["a", "b", "c", "d"] {
            recent.put(key(name), (), 1000);
        }
        assert!(recent.get(&key("a")).is_some());
        recent.put(key("e"), (), 1000);
        assert!(recent.get(&key("b")).is_none());
        assert!(recent.get(&key("a")).is_some() && recent.get(&key("e")).is_some());
    }

    #[test]
    fn a_value_too_large_to_keep_also_ends_the_one_before() {
        let recent = Recent::new(8192);
        recent.put(key("a"), 1, 10);
        recent.put(key("a"), 2, usize::MAX);
        assert_eq!(recent.get(&key("a")), None);
        assert_eq!(recent.used(), 0);
    }

    proptest! {
        #[test]
        fn what_is_held_never_exceeds_the_capacity(steps in proptest::collection::vec((0u8..8, 0usize..3000), 0..60)) {
            let recent = Recent::new(8192);
            for (name, len) in steps {
                let name = key(&format!("k{name}"));
                match len % 5 {
                    0 => recent.forget(&name),
                    _ => recent.put(name, (), len),
                }
                prop_assert!(recent.used() <= 8192);
            }
            for name in 0..8 {
                recent.forget(&key(&format!("k{name}")));
            }
            prop_assert_eq!(recent.used(), 0);
        }
    }
}
