//! Write ids: who wrote an object last, and who before, kept in its metadata.
//!
//! An acknowledgement can be lost after the write was applied. Every write therefore carries an
//! id, and hands on the recent ids of the content that it replaced. Reading the object back then
//! tells three cases apart: our id is there, so our write landed, even if others wrote since; our
//! id is missing and the id we meant to follow is there, so others followed it and we did not; or
//! neither is there, and nothing is known.

use std::fmt::Write as _;

use object_store::{Attribute, Attributes};

use super::chance;

/// The metadata key; letters only, because Azure allows no hyphen and some proxies drop others.
pub(super) const KEY: &str = "seamfswrites";

/// How many ids are handed on: half a kilobyte of the two that the stores allow.
const KEPT: usize = 32;

/// The id of one write, the same for every attempt at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriteId(u64);

impl WriteId {
    /// Makes an id that no other write has.
    pub(super) fn new() -> Self {
        Self(chance::number())
    }

    /// Makes the id of a write that is the same whenever it is tried again.
    pub(super) fn of(parts: &[&str]) -> Self {
        let hash = seamfs_core::ContentHash::of(parts.join("\0").as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        Self(u64::from_le_bytes(first))
    }
}

/// The recent write ids of a content, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct History(Vec<WriteId>);

impl History {
    /// Reads the ids from an object's metadata; none when a store or a writer kept none.
    pub(super) fn of(attributes: &Attributes) -> Self {
        let ids = attributes
            .get(&Attribute::Metadata(KEY.into()))
            .map(|value| value.split('.').map_while(parse).take(KEPT).collect());
        Self(ids.unwrap_or_default())
    }

    /// Returns whether a write is among the recent ones.
    pub(super) fn contains(&self, id: WriteId) -> bool {
        self.0.contains(&id)
    }

    /// Returns the write that made the content.
    pub(super) fn newest(&self) -> Option<WriteId> {
        self.0.first().copied()
    }

    /// Returns whether nothing is known of the content's writers.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the history of the content that a write makes out of this one.
    pub(super) fn followed_by(&self, id: WriteId) -> Self {
        let older = self.0.iter().copied().filter(|older| *older != id);
        Self(std::iter::once(id).chain(older).take(KEPT).collect())
    }

    /// Writes the ids into an object's metadata.
    pub(super) fn record(&self, attributes: &mut Attributes) {
        let mut text = String::with_capacity(self.0.len() * 17);
        for (at, WriteId(id)) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            let _ = write!(text, "{dot}{id:016x}");
        }
        attributes.insert(Attribute::Metadata(KEY.into()), text.into());
    }
}

fn parse(text: &str) -> Option<WriteId> {
    u64::from_str_radix(text, 16).ok().map(WriteId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_the_metadata_and_the_oldest_go_first() {
        let mut history = History::default();
        let ids: Vec<_> = (0..40).map(|_| WriteId::new()).collect();
        for id in &ids {
            history = history.followed_by(*id);
        }
        let mut attributes = Attributes::new();
        history.record(&mut attributes);
        let back = History::of(&attributes);
        assert_eq!(back, history);
        assert_eq!(back.newest(), ids.last().copied());
        assert!(back.contains(ids[39]) && back.contains(ids[8]) && !back.contains(ids[7]));
        let value = attributes.iter().next().unwrap().1.len();
        assert!(value < 1024, "{value}");
    }

    #[test]
    fn foreign_metadata_is_no_history() {
        let attributes =
            Attributes::from_iter([(Attribute::Metadata(KEY.into()), "not an id".to_owned())]);
        assert!(History::of(&attributes).is_empty());
        assert!(History::of(&Attributes::new()).is_empty());
    }

    #[test]
    fn a_repeatable_id_is_told_by_its_parts() {
        assert_eq!(WriteId::of(&["a", "b"]), WriteId::of(&["a", "b"]));
        assert_ne!(WriteId::of(&["a", "b"]), WriteId::of(&["ab"]));
    }
}
