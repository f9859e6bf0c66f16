//! The ledger: what each actor has seen, and the contents that a stale error can compare with.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use dashmap::DashMap;
use seamfs_core::gate::SNAPSHOT_LIMIT;
use seamfs_core::{Actor, ContentHash, TargetKey, Version};

/// How many bytes of contents a ledger keeps for all actors together: 64 MiB.
const SNAPSHOT_BUDGET: usize = 64 << 20;

/// What an actor knows of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The file was there at this version.
    Present(Version),
    /// Nothing was there.
    Absent,
}

/// What each actor has seen; per actor, never shared, gone with [`Ledger::forget`].
///
/// Contents are kept once for all actors, by hash, up to 256 KiB each and 64 MiB in all; the
/// oldest go first. Losing one loses a diff, never an observation.
#[derive(Debug, Default)]
pub struct Ledger {
    seen: DashMap<Actor, HashMap<TargetKey, Seen>>,
    snapshots: Mutex<Snapshots>,
}

#[derive(Debug, Default)]
struct Snapshots {
    contents: HashMap<ContentHash, Bytes>,
    order: VecDeque<ContentHash>,
    bytes: usize,
}

impl Ledger {
    /// Creates an empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what an actor knows of a target; none when it has seen nothing of it.
    pub fn seen(&self, actor: &Actor, target: &TargetKey) -> Option<Seen> {
        self.seen.get(actor)?.get(target).cloned()
    }

    /// Records what an actor now knows, with the content where it is at hand.
    pub fn record(&self, actor: &Actor, target: &TargetKey, seen: Seen, content: Option<&Bytes>) {
        if let (Seen::Present(version), Some(content)) = (&seen, content)
            && let Some(hash) = version.hash()
        {
            self.keep(hash, content);
        }
        // Looked up before it is inserted: the actor's name is cloned once a session.
        match self.seen.get_mut(actor) {
            Some(mut of_actor) => {
                of_actor.insert(target.clone(), seen);
            }
            None => {
                self.seen
                    .entry(actor.clone())
                    .or_default()
                    .insert(target.clone(), seen);
            }
        }
    }

    /// Returns the content that a version names, where it is kept.
    pub fn content(&self, version: &Version) -> Option<Bytes> {
        let snapshots = self.snapshots();
        snapshots.contents.get(&version.hash()?).cloned()
    }

    /// Forgets everything an actor has seen.
    pub fn forget(&self, actor: &Actor) {
        self.seen.remove(actor);
    }

    fn keep(&self, hash: ContentHash, content: &Bytes) {
        if content.len() > SNAPSHOT_LIMIT {
            return;
        }
        let mut snapshots = self.snapshots();
        if snapshots.contents.contains_key(&hash) {
            return;
        }
        // Copied: a slice would keep the whole buffer that it was cut from.
        snapshots
            .contents
            .insert(hash, Bytes::copy_from_slice(content));
        snapshots.order.push_back(hash);
        snapshots.bytes += content.len();
        while snapshots.bytes > SNAPSHOT_BUDGET {
            let Some(oldest) = snapshots.order.pop_front() else {
                break;
            };
            let dropped = snapshots.contents.remove(&oldest);
            snapshots.bytes -= dropped.map_or(0, |content| content.len());
        }
    }

    /// A panic while holding this lock at worst loses a content.
    fn snapshots(&self) -> std::sync::MutexGuard<'_, Snapshots> {
        self.snapshots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_kept_once_and_the_oldest_go_first() {
        let ledger = Ledger::new();
        let actor = Actor::new("one");
        let content =
            |n: usize| Bytes::from(n.to_le_bytes().repeat(SNAPSHOT_LIMIT / size_of::<usize>()));
        let fits = SNAPSHOT_BUDGET / SNAPSHOT_LIMIT;
        for n in 0..=fits {
            let bytes = content(n);
            let seen = Seen::Present(Version::of(&bytes));
            let key = TargetKey::new(format!("/{n}"));
            ledger.record(&actor, &key, seen.clone(), Some(&bytes));
            ledger.record(&actor, &key, seen, Some(&bytes));
        }
        assert_eq!(ledger.snapshots().bytes, SNAPSHOT_BUDGET);
        assert!(ledger.content(&Version::of(&content(0))).is_none());
        assert!(ledger.content(&Version::of(&content(fits))).is_some());
        assert!(ledger.seen(&actor, &TargetKey::new("/0")).is_some());
    }

    #[test]
    fn o4_one_actor_knows_nothing_of_another_and_is_forgotten_alone() {
        let ledger = Ledger::new();
        let (one, two) = (Actor::new("one"), Actor::new("two"));
        let key = TargetKey::new("/a");
        ledger.record(&one, &key, Seen::Absent, None);
        assert_eq!(ledger.seen(&two, &key), None);
        ledger.record(&two, &key, Seen::Absent, None);
        ledger.forget(&one);
        assert_eq!(ledger.seen(&one, &key), None);
        assert_eq!(ledger.seen(&two, &key), Some(Seen::Absent));
    }
}
