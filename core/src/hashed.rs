//! Hashes that go on from a mark: what an edit leaves alone at the front is not hashed twice.

use crate::text::Splices;
use crate::version::{ContentHash, ContentHasher};

/// The most marks of one content; a mark takes about 2 KiB.
const MOST_MARKS: usize = 64;

/// The hash of a whole content, and its hasher as it stood at a few places within.
#[derive(Clone, Debug)]
pub struct Hashed {
    hash: ContentHash,
    marks: Vec<Mark>,
}

/// A hasher that has seen so many bytes.
#[derive(Clone, Debug)]
struct Mark {
    len: usize,
    hasher: ContentHasher,
}

impl Hashed {
    /// Returns the hash of the whole content.
    pub const fn hash(&self) -> ContentHash {
        self.hash
    }

    /// Hashes what splices make of the content, from the last mark before the first of them on.
    ///
    /// # Panics
    /// When the splices were planned for a content of another length.
    pub fn spliced(&self, content: &[u8], splices: &Splices) -> ContentHash {
        let same = splices
            .as_slice()
            .first()
            .map_or(0, |first| first.range.start);
        let marks = self.marks.partition_point(|mark| mark.len <= same);
        let (mut hasher, mut known) = match self.marks[..marks].last() {
            Some(mark) => (mark.hasher.clone(), mark.len),
            None => (ContentHasher::new(), 0),
        };
        for segment in splices.segments(content) {
            // The first piece is what stays before the first splice, and holds the mark.
            hasher.update(&segment.bytes()[std::mem::take(&mut known)..]);
        }
        hasher.finish()
    }
}

/// Hashes a content that arrives in pieces, and marks where they end.
#[derive(Clone, Debug, Default)]
pub struct MarkingHasher {
    hasher: ContentHasher,
    len: usize,
    marks: Vec<Mark>,
    /// How many bytes lie between marks at the least.
    apart: usize,
}

impl MarkingHasher {
    /// Creates a hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        let last = self.marks.last().map_or(0, |mark| mark.len);
        if self.len > 0 && self.len - last >= self.apart {
            self.mark();
        }
        self.hasher.update(piece);
        self.len += piece.len();
    }

    /// Returns the hash of everything added so far, with the marks.
    pub fn finish(self) -> Hashed {
        Hashed {
            hash: self.hasher.finish(),
            marks: self.marks,
        }
    }

    fn mark(&mut self) {
        if self.marks.len() == MOST_MARKS {
            let mut keep = false;
            self.marks.retain(|_| {
                keep = !keep;
                keep
            });
            self.apart = 2 * self.len / MOST_MARKS;
        }
        self.marks.push(Mark {
            len: self.len,
            hasher: self.hasher.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Splice;

    proptest! {
        #[test]
        fn going_on_from_a_mark_gives_the_hash_of_the_new_bytes(
            content in proptest::collection::vec(any::<u8>(), 0..6000),
            piece in 1usize..2000,
            (from, to) in (0usize..6000, 0usize..6000),
            new in "[a-z]{0,5}",
        ) {
            let mut hasher = MarkingHasher::new();
            content.chunks(piece).for_each(|piece| hasher.update(piece));
            let hashed = hasher.finish();
            prop_assert_eq!(hashed.hash(), ContentHash::of(&content));
            prop_assert!(hashed.marks.len() <= MOST_MARKS);
            let (from, to) = (from.min(content.len()), to.min(content.len()));
            let range = from.min(to)..from.max(to);
            let splice = Splice { range, replacement: new };
            let splices = Splices::new(vec![splice], content.len()).unwrap();
            let after = splices.apply(&content);
            prop_assert_eq!(hashed.spliced(&content, &splices), ContentHash::of(&after));
        }
    }

    #[test]
    fn marks_of_a_long_content_stay_few_and_spread() {
        let mut hasher = MarkingHasher::new();
        for _ in 0..10 * MOST_MARKS {
            hasher.update(&[7; 100]);
        }
        let hashed = hasher.finish();
        let most = MOST_MARKS / 4..=MOST_MARKS;
        assert!(most.contains(&hashed.marks.len()), "{}", hashed.marks.len());
        let apart = hashed
            .marks
            .windows(2)
            .map(|pair| pair[1].len - pair[0].len);
        assert!(apart.max() <= Some(100 * 10 * MOST_MARKS / 8));
    }
}
