//! Texts that were read lately: where a row that is pasted into another file was copied from.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use seamfs_core::gate::SNAPSHOT_LIMIT;
use seamfs_core::{Actor, Target, TargetKey};

/// The most texts that are kept, each of at most [`SNAPSHOT_LIMIT`] bytes: 8 MiB together.
const MOST: usize = 32;

/// The last texts that were read whole, the newest last.
#[derive(Debug, Default)]
pub(super) struct Recent {
    texts: Mutex<VecDeque<Read>>,
}

#[derive(Debug)]
struct Read {
    actor: Option<Actor>,
    target: TargetKey,
    bytes: Bytes,
}

impl Recent {
    /// Notes what an actor has read; a text that is too large is not kept.
    pub(super) fn note(&self, actor: Option<&Actor>, target: &Target, bytes: &Bytes) {
        if bytes.len() > SNAPSHOT_LIMIT {
            return;
        }
        let mut texts = self.texts();
        let known = |read: &Read| read.target == *target.key() && read.actor.as_ref() == actor;
        let known = texts.iter().rposition(known);
        let taken = known.and_then(|known| texts.remove(known));
        if taken.is_none() && texts.len() == MOST {
            texts.pop_front();
        }
        texts.push_back(Read {
            actor: actor.cloned(),
            target: target.key().clone(),
            bytes: bytes.clone(),
        });
    }

    /// Returns what an actor has read lately: what another one read is none of its business.
    pub(super) fn of(&self, actor: Option<&Actor>) -> Vec<Bytes> {
        let texts = self.texts();
        let read = texts.iter().filter(|read| read.actor.as_ref() == actor);
        read.map(|read| read.bytes.clone()).collect()
    }

    fn texts(&self) -> MutexGuard<'_, VecDeque<Read>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_texts_of_an_actor_are_kept_and_no_more() {
        let (recent, one, two) = (Recent::default(), Actor::new("1"), Actor::new("2"));
        let target = |number: usize| Target::new(TargetKey::new(format!("/{number}")), "/");
        recent.note(Some(&two), &target(0), &Bytes::from("theirs"));
        recent.note(Some(&one), &target(0), &Bytes::from("old"));
        recent.note(Some(&one), &target(0), &Bytes::from("new"));
        recent.note(
            Some(&one),
            &target(1),
            &Bytes::from(vec![b'x'; SNAPSHOT_LIMIT + 1]),
        );
        assert_eq!(recent.of(Some(&one)), ["new"]);
        assert_eq!(recent.of(Some(&two)), ["theirs"]);
        assert!(recent.of(None).is_empty());
        for number in 0..2 * MOST {
            recent.note(
                Some(&one),
                &target(number),
                &Bytes::from(number.to_string()),
            );
        }
        let kept = recent.of(Some(&one));
        assert_eq!(kept.len(), MOST);
        assert_eq!(kept.last().unwrap(), &(2 * MOST - 1).to_string());
        assert!(recent.of(Some(&two)).is_empty());
    }
}
