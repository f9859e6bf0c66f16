//! Who wrote what last: the sessions that a stale error can name.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use seamfs_core::{Actor, TargetKey, Version};

/// How many targets are remembered; at that many all are forgotten, which costs names only.
const MOST_TARGETS: usize = 16 << 10;

/// The last writer of each target, and the version that it wrote.
#[derive(Debug, Default)]
pub(super) struct Writers(Mutex<HashMap<TargetKey, (Actor, Version)>>);

impl Writers {
    pub(super) fn wrote(&self, actor: &Actor, target: &TargetKey, version: &Version) {
        let mut writers = self.writers();
        if writers.len() >= MOST_TARGETS && !writers.contains_key(target) {
            writers.clear();
        }
        writers.insert(target.clone(), (actor.clone(), version.clone()));
    }

    /// Returns who wrote exactly these bytes, if that was the last that one of ours wrote there.
    pub(super) fn of(&self, target: &TargetKey, version: &Version) -> Option<Actor> {
        let writers = self.writers();
        let (actor, wrote) = writers.get(target)?;
        wrote.certifies(version).then(|| actor.clone())
    }

    /// Returns every target with its last writer and the version that it wrote.
    pub(super) fn all(&self) -> Vec<(TargetKey, Actor, Version)> {
        let writers = self.writers();
        let all = writers.iter();
        all.map(|(target, (actor, version))| (target.clone(), actor.clone(), version.clone()))
            .collect()
    }

    /// A panic while holding this lock at worst loses a name.
    fn writers(&self) -> MutexGuard<'_, HashMap<TargetKey, (Actor, Version)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_forgotten_when_there_are_too_many_and_not_when_one_writes_again() {
        let writers = Writers::default();
        let (one, version) = (Actor::new("one"), Version::of(b"a"));
        let key = |n: usize| TargetKey::new(format!("/{n}"));
        for n in 0..MOST_TARGETS {
            writers.wrote(&one, &key(n), &version);
        }
        writers.wrote(&one, &key(0), &Version::of(b"b"));
        assert_eq!(writers.all().len(), MOST_TARGETS);
        assert_eq!(writers.of(&key(1), &version), Some(one.clone()));
        assert_eq!(writers.of(&key(0), &version), None);
        writers.wrote(&one, &key(MOST_TARGETS), &version);
        assert_eq!(writers.all().len(), 1);
        assert_eq!(writers.of(&key(MOST_TARGETS), &version), Some(one));
    }
}
