//! Write ids: who wrote an object last, and who before, kept in its metadata.
//!
//! An acknowledgement can be lost after the write was applied. Every write therefore carries an
//! id, and hands on the recent ids of the content that it replaced. Reading the object back then
//! tells three cases apart: our id is there, so our write landed, even if others wrote since; our
//! id is missing and the id we meant to follow is there, so others followed it and we did not; or
//! neither is there, and nothing is known.

use object_store::{Attribute, Attributes};

use super::chance;

/// The metadata key; letters only, because Azure allows no hyphen and some proxies drop others.
pub(super) const KEY: &str = "seamfswrites";

/// How many ids are handed on: half a kilobyte of the two that the stores allow.
const KEPT: usize = 32;

/// How many digits an id has.
const ID: usize = 16;

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

    fn text(self) -> String {
        format!("{:0ID$x}", self.0)
    }
}

/// The recent write ids of a content, newest first, as they stand in the metadata: sixteen lower-case
/// hexadecimal digits each, with dots between them. They are handed on as text, for nearly every
/// write reads none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct History(String);

impl History {
    /// Reads the ids from an object's metadata; none when a store or a writer kept none.
    pub(super) fn of(attributes: &Attributes) -> Self {
        let text = attributes.get(&Attribute::Metadata(KEY.into()));
        let text = text.map_or("", |text| text.as_ref());
        let whole = |id: &&[u8]| is_id(id) || id.strip_suffix(b".").is_some_and(is_id);
        let count = text.as_bytes().chunks(STRIDE).take_while(whole).count();
        Self(newest_of(text, count.min(KEPT)).to_owned())
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        let starts = (0..self.0.len()).step_by(STRIDE);
        starts.map(|start| &self.0[start..start + ID])
    }

    /// Returns whether a write is among the recent ones.
    pub(super) fn contains(&self, id: WriteId) -> bool {
        let id = id.text();
        self.ids().any(|there| there == id)
    }

    /// Returns the write that made the content.
    pub(super) fn newest(&self) -> Option<WriteId> {
        let first = self.ids().next()?;
        u64::from_str_radix(first, 16).ok().map(WriteId)
    }

    /// Returns whether nothing is known of the content's writers.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the history of the content that a write makes out of this one.
    pub(super) fn followed_by(&self, id: WriteId) -> Self {
        let id = id.text();
        if self.is_empty() {
            return Self(id);
        }
        if !self.ids().any(|there| there == id) {
            return Self([id.as_str(), newest_of(&self.0, KEPT - 1)].join("."));
        }
        let others = self.ids().filter(|there| *there != id);
        let ids: Vec<&str> = std::iter::once(id.as_str()).chain(others).collect();
        Self(ids.join("."))
    }

    /// Writes the ids into an object's metadata.
    pub(super) fn record(self, attributes: &mut Attributes) {
        attributes.insert(Attribute::Metadata(KEY.into()), self.0.into());
    }
}

/// How far apart two ids begin.
const STRIDE: usize = ID + 1;

/// Returns the first so many ids of a text.
fn newest_of(text: &str, count: usize) -> &str {
    let end = (count * STRIDE).saturating_sub(1);
    &text[..end.min(text.len())]
}

fn is_id(text: &[u8]) -> bool {
    let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == ID && text.iter().all(digit)
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
        history.clone().record(&mut attributes);
        let back = History::of(&attributes);
        assert_eq!(back, history);
        assert_eq!(back.newest(), ids.last().copied());
        assert!(back.contains(ids[39]) && back.contains(ids[8]) && !back.contains(ids[7]));
        let value = attributes.iter().next().unwrap().1.len();
        assert!(value < 1024, "{value}");
    }

    #[test]
    fn foreign_metadata_is_no_history() {
        let history = |text: &str| {
            let attributes = [(Attribute::Metadata(KEY.into()), text.to_owned())];
            History::of(&Attributes::from_iter(attributes))
        };
        for text in [
            "not an id",
            "",
            ".",
            "12",
            "0123456789ABCDEF",
            "+123456789abcdef",
            "0123456789abcdef0",
        ] {
            assert!(history(text).is_empty(), "{text}");
        }
        assert!(History::of(&Attributes::new()).is_empty());
        let cut = history("0123456789abcdef.fedcba98");
        assert_eq!(cut.newest(), Some(WriteId(0x0123_4567_89ab_cdef)));
        assert_eq!(cut.ids().count(), 1);
    }

    #[test]
    fn a_write_that_is_tried_again_stands_once() {
        let (one, two) = (WriteId(1), WriteId(2));
        let history = History::default().followed_by(one).followed_by(two);
        assert_eq!(history.followed_by(one).newest(), Some(one));
        assert_eq!(history.followed_by(one).ids().count(), 2);
    }

    #[test]
    fn a_repeatable_id_is_told_by_its_parts() {
        assert_eq!(WriteId::of(&["a", "b"]), WriteId::of(&["a", "b"]));
        assert_ne!(WriteId::of(&["a", "b"]), WriteId::of(&["ab"]));
    }
}
