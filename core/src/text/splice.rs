//! Splices: byte ranges of a file and what replaces them; all else stays as it is.

use std::fmt;
use std::ops::Range;

use memchr::memchr_iter;

use super::lines::LineRange;

/// One change: a byte range of the whole file and the text that replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes replaced; empty for an insertion.
    pub range: Range<usize>,
    /// The text put there; empty for a deletion.
    pub replacement: String,
}

/// Splices in order that do not overlap, planned for one file's bytes.
///
/// The default has none and changes nothing, whatever the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Splices {
    splices: Vec<Splice>,
    /// The length of the file they were planned for; none when there are no splices.
    source_len: Option<usize>,
}

/// A piece of the new bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Bytes of the file that stay.
    Kept(&'a [u8]),
    /// Bytes that replace a range.
    New(&'a [u8]),
}

impl<'a> Segment<'a> {
    /// Returns the bytes of the piece.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Kept(bytes) | Self::New(bytes) => bytes,
        }
    }
}

/// Why splices cannot be applied together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadSplices {
    /// This splice begins before the one ahead of it ends.
    Overlap {
        /// The index of the splice.
        index: usize,
    },
    /// This splice ends before it begins, or after the file does.
    OutOfBounds {
        /// The index of the splice.
        index: usize,
    },
}

impl fmt::Display for BadSplices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap { index } => {
                write!(f, "splice {index} overlaps or precedes the one before it")
            }
            Self::OutOfBounds { index } => write!(f, "splice {index} lies outside the file"),
        }
    }
}

impl std::error::Error for BadSplices {}

impl Splices {
    /// Checks splices, in order, against a file of `source_len` bytes.
    pub fn new(splices: Vec<Splice>, source_len: usize) -> Result<Self, BadSplices> {
        let mut free_from = 0;
        for (index, Splice { range, .. }) in splices.iter().enumerate() {
            if range.start > range.end || range.end > source_len {
                return Err(BadSplices::OutOfBounds { index });
            }
            if range.start < free_from {
                return Err(BadSplices::Overlap { index });
            }
            free_from = range.end;
        }
        let source_len = (!splices.is_empty()).then_some(source_len);
        Ok(Self {
            splices,
            source_len,
        })
    }

    /// Plans one insertion of `text` at a byte offset.
    pub fn insertion(offset: usize, text: String, source_len: usize) -> Result<Self, BadSplices> {
        Self::new(
            vec![Splice {
                range: offset..offset,
                replacement: text,
            }],
            source_len,
        )
    }

    /// Returns the splices in order.
    pub fn as_slice(&self) -> &[Splice] {
        &self.splices
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.splices.is_empty()
    }

    /// Returns how many bytes a file of `source_len` bytes has after them.
    pub fn new_len(&self, source_len: usize) -> usize {
        let removed: usize = self.splices.iter().map(|splice| splice.range.len()).sum();
        let added: usize = self
            .splices
            .iter()
            .map(|splice| splice.replacement.len())
            .sum();
        (source_len + added).saturating_sub(removed)
    }

    /// Returns the new bytes, allocated once.
    ///
    /// # Panics
    /// When `source` has another length than the file the splices were planned for.
    pub fn apply(&self, source: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.new_len(source.len()));
        for segment in self.segments(source) {
            out.extend_from_slice(segment.bytes());
        }
        out
    }

    /// Returns the new bytes piece by piece, for writing without a copy. No piece is empty.
    ///
    /// # Panics
    /// When `source` has another length than the file the splices were planned for.
    pub fn segments<'a>(&'a self, source: &'a [u8]) -> impl Iterator<Item = Segment<'a>> {
        self.check(source);
        let mut kept_from = 0;
        let pieces = self.splices.iter().flat_map(move |splice| {
            let kept = &source[kept_from..splice.range.start];
            kept_from = splice.range.end;
            [
                Segment::Kept(kept),
                Segment::New(splice.replacement.as_bytes()),
            ]
        });
        let tail = self.splices.last().map_or(0, |splice| splice.range.end);
        pieces
            .chain(std::iter::once(Segment::Kept(&source[tail..])))
            .filter(|segment| !segment.bytes().is_empty())
    }

    /// Returns whether applying them changes nothing.
    ///
    /// # Panics
    /// When `source` has another length than the file the splices were planned for.
    pub fn is_identity(&self, source: &[u8]) -> bool {
        self.check(source);
        if self.new_len(source.len()) != source.len() {
            return false;
        }
        let (Some(first), Some(last)) = (self.splices.first(), self.splices.last()) else {
            return true;
        };
        // What lies before the first and after the last splice stays where it is.
        let mut rest = &source[first.range.start..last.range.end];
        let mut kept_from = first.range.start;
        self.splices.iter().all(|Splice { range, replacement }| {
            let kept = &source[kept_from..range.start];
            kept_from = range.end;
            takes(&mut rest, kept) && takes(&mut rest, replacement.as_bytes())
        })
    }

    /// Splicing other bytes than those seen must never pass for an edit.
    fn check(&self, source: &[u8]) {
        let planned = self.source_len.unwrap_or(source.len());
        assert_eq!(
            source.len(),
            planned,
            "splices apply to the bytes they were planned for"
        );
    }

    /// Returns the lines each splice occupies in the new text.
    ///
    /// A deletion occupies the line it joins; the newline that ends a replacement
    /// belongs to its last line.
    ///
    /// # Panics
    /// When `source` has another length than the file the splices were planned for.
    pub fn new_lines(&self, source: &[u8]) -> Vec<LineRange> {
        self.check(source);
        let mut line = 1;
        let mut kept_from = 0;
        let ends_with_splice =
            (self.splices.last()).is_some_and(|last| last.range.end == source.len());
        let mut ranges = Vec::with_capacity(self.splices.len());
        let mut last_byte = None;
        for Splice { range, replacement } in &self.splices {
            let (kept, new) = (&source[kept_from..range.start], replacement.as_bytes());
            kept_from = range.end;
            let start = line + feeds(kept);
            line = start + feeds(new);
            ranges.push(LineRange {
                start,
                end: line - u64::from(new.last() == Some(&b'\n')),
            });
            last_byte = new.last().or(kept.last()).copied().or(last_byte);
        }
        if !ends_with_splice {
            // Bytes follow, and so does a line that holds them: nothing is left to count.
            return ranges;
        }
        let total = line - u64::from(last_byte.is_none_or(|byte| byte == b'\n'));
        for range in &mut ranges {
            // Only a deletion at the very end can stand after the last line.
            range.start = range.start.min(total.max(1));
            range.end = range.end.min(total.max(1));
        }
        ranges
    }
}

/// Takes bytes off the front of others, if they begin with them.
fn takes(rest: &mut &[u8], bytes: &[u8]) -> bool {
    match rest.strip_prefix(bytes) {
        Some(after) => {
            *rest = after;
            true
        }
        None => false,
    }
}

fn feeds(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::text;

    fn splice(range: Range<usize>, replacement: &str) -> Splice {
        Splice {
            range,
            replacement: replacement.to_owned(),
        }
    }

    #[test]
    fn splices_must_be_in_order_and_inside() {
        let new = |splices| Splices::new(splices, 4).map(drop);
        assert_eq!(
            new(vec![splice(0..2, ""), splice(1..3, "")]),
            Err(BadSplices::Overlap { index: 1 })
        );
        assert_eq!(
            new(vec![splice(2..5, "")]),
            Err(BadSplices::OutOfBounds { index: 0 })
        );
        assert_eq!(new(vec![splice(1..1, "x"), splice(1..4, "y")]), Ok(()));
    }

    #[test]
    fn lines_are_those_of_the_new_text() {
        let lines = |source: &[u8], splices| {
            Splices::new(splices, source.len())
                .unwrap()
                .new_lines(source)
        };
        let range = |start, end| LineRange { start, end };
        assert_eq!(
            lines(
                b"a\nb\nc\n",
                vec![splice(0..1, "x\ny"), splice(4..5, "z\n")]
            ),
            [range(1, 2), range(4, 4)]
        );
        assert_eq!(lines(b"a\nb\n", vec![splice(2..4, "")]), [range(1, 1)]);
        assert_eq!(lines(b"a", vec![splice(0..1, "")]), [range(1, 1)]);
        assert_eq!(lines(b"a\nb", vec![splice(2..3, "")]), [range(1, 1)]);
    }

    #[test]
    fn no_splices_change_nothing_whatever_the_file() {
        let none = Splices::default();
        assert!(none.is_empty() && none.is_identity(b"abc"));
        assert_eq!(none.apply(b"abc"), b"abc");
    }

    #[test]
    fn an_identity_may_be_spread_over_splices() {
        let identity = |splices| Splices::new(splices, 3).unwrap().is_identity(b"aab");
        assert!(identity(vec![splice(0..1, "a")]));
        assert!(identity(vec![splice(0..1, ""), splice(2..2, "a")]));
        assert!(!identity(vec![splice(0..1, "c")]));
    }

    fn plan() -> impl Strategy<Value = (String, Vec<Splice>)> {
        (
            text(20),
            proptest::collection::vec((any::<prop::sample::Index>(), text(3)), 0..4),
        )
            .prop_map(|(source, pieces)| {
                let mut cuts: Vec<usize> = pieces
                    .iter()
                    .map(|(at, _)| at.index(source.len() + 1))
                    .collect();
                cuts.sort_unstable();
                let splices = cuts
                    .chunks_exact(2)
                    .zip(pieces)
                    .map(|(cut, (_, replacement))| Splice {
                        range: cut[0]..cut[1],
                        replacement,
                    })
                    .collect();
                (source, splices)
            })
    }

    proptest! {
        #[test]
        fn e5_bytes_outside_the_spans_are_identical((source, list) in plan()) {
            let source = source.as_bytes();
            let splices = Splices::new(list.clone(), source.len()).unwrap();
            let out = splices.apply(source);
            prop_assert_eq!(out.len(), splices.new_len(source.len()));
            prop_assert_eq!(splices.is_identity(source), out == source);
            let (mut from, mut at) = (0, 0);
            for Splice { range, replacement } in &list {
                let kept = range.start - from;
                prop_assert_eq!(&out[at..at + kept], &source[from..range.start]);
                at += kept;
                prop_assert_eq!(&out[at..at + replacement.len()], replacement.as_bytes());
                at += replacement.len();
                from = range.end;
            }
            prop_assert_eq!(&out[at..], &source[from..]);
        }
    }
}
