//! Outlines: what is kept of a text too large to keep, to tell later which of its lines changed.

mod spliced;

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use foldhash::quality::FixedState;
use imara_diff::{Algorithm, Diff, InternedInput};
use memchr::memchr;

use super::diff::REPEATED;
use super::lines::LineRange;

/// The most pieces of an outline; with 16 bytes each it takes 256 KiB at the most.
const MOST_PIECES: usize = 16 << 10;

/// A line longer than this, in bytes, is hashed in blocks of it, so that little of it is kept.
const BLOCK: usize = 4096;

/// What sums of lines are multiplied by for each line that follows.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A text as hashes of runs of its lines: one line each up to 16,384 lines, then longer ones.
///
/// Runs end where the hash of a line says so, whatever stands before, so that they are found again
/// in a changed text. The hashes are for speed and can be forged: an outline says where to look, and
/// never that a text is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pieces: Vec<Piece>,
    /// Runs end after lines whose hash ends in as many zero bits.
    level: u32,
}

/// A run of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    sum: u64,
    lines: u32,
    /// How many zero bits the hash of its last line ends in.
    level: u32,
}

impl Piece {
    fn and(self, next: Self) -> Self {
        let moved = self.sum.wrapping_mul(FACTOR.wrapping_pow(next.lines));
        Self {
            sum: moved.wrapping_add(next.sum),
            lines: self.lines.saturating_add(next.lines),
            level: next.level,
        }
    }
}

impl Outline {
    /// Makes the outline of a whole text.
    pub fn of(bytes: &[u8]) -> Self {
        let mut outliner = Outliner::default();
        outliner.push(bytes);
        outliner.finish()
    }

    /// Returns how many bytes of memory it takes.
    pub fn size(&self) -> usize {
        self.pieces.capacity() * size_of::<Piece>()
    }

    /// Returns the ranges of lines of this text in which all is that differs from another one; each
    /// is as long as the run that it is in. Where lines were only removed it names the line that now
    /// stands in their place.
    pub fn changed_since(&self, other: &Self) -> Vec<LineRange> {
        let level = self.level.max(other.level);
        let (old, new) = (other.at(level), self.at(level));
        let mut ends = Vec::with_capacity(new.len() + 1);
        ends.push(0);
        for piece in new.iter() {
            ends.push(ends[ends.len() - 1] + u64::from(piece.lines));
        }
        let total = ends[new.len()].max(1);
        let mut ranges: Vec<LineRange> = Vec::new();
        for change in changes(&old, &new) {
            let start = (ends[change.start] + 1).min(total);
            let end = ends[change.end].max(start);
            match ranges.last_mut() {
                Some(last) if start <= last.end + 1 => last.end = end.max(last.end),
                _ => ranges.push(LineRange { start, end }),
            }
        }
        ranges
    }

    /// Returns the pieces as they are at this level or a higher one.
    fn at(&self, level: u32) -> Cow<'_, [Piece]> {
        match level > self.level {
            true => Cow::Owned(joined(&self.pieces, level)),
            false => Cow::Borrowed(&self.pieces),
        }
    }

    fn push(&mut self, line: Piece) {
        match self.pieces.last_mut() {
            Some(last) if last.level < self.level => *last = last.and(line),
            _ => self.pieces.push(line),
        }
        while self.pieces.len() > MOST_PIECES {
            self.level += 1;
            self.pieces = joined(&self.pieces, self.level);
        }
    }
}

/// Joins pieces to those after them, but for those that end at this level.
fn joined(pieces: &[Piece], level: u32) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if last.level < level => *last = last.and(*piece),
            _ => joined.push(*piece),
        }
    }
    joined
}

/// Returns which pieces of the new text are others than those of the old one.
fn changes(old: &[Piece], new: &[Piece]) -> Vec<Range<usize>> {
    let same = |(one, other): &(&Piece, &Piece)| (one.sum, one.lines) == (other.sum, other.lines);
    let start = old.iter().zip(new).take_while(same).count();
    let (old, rest) = (&old[start..], &new[start..]);
    let backwards = old.iter().rev().zip(rest.iter().rev());
    let end = backwards.take_while(same).count();
    let (old, rest) = (&old[..old.len() - end], &rest[..rest.len() - end]);
    if old.is_empty() && rest.is_empty() {
        return Vec::new();
    }
    let mut input = InternedInput::default();
    input.update_before(old.iter().map(|piece| (piece.sum, piece.lines)));
    input.update_after(rest.iter().map(|piece| (piece.sum, piece.lines)));
    let pieces = input.before.len() + input.after.len();
    if input.interner.num_tokens() as usize * REPEATED < pieces {
        return std::iter::once(start..start + rest.len()).collect();
    }
    let diff = Diff::compute(Algorithm::Myers, &input);
    let shift = |at: u32| at as usize + start;
    diff.hunks()
        .map(|hunk| shift(hunk.after.start)..shift(hunk.after.end))
        .collect()
}

/// Makes an outline of a text that comes in parts.
#[derive(Clone, Debug, Default)]
pub struct Outliner {
    outline: Outline,
    /// The last bytes of a line that has not ended, fewer than a block.
    open: Vec<u8>,
    /// The sum of its blocks before them; none when there are none.
    blocks: Option<u64>,
}

impl Outliner {
    /// Adds the next part.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(feed) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(feed + 1);
            match self.open.is_empty() && self.blocks.is_none() && line.len() < BLOCK {
                true => self.add(hash_of(line)),
                false => {
                    self.extend(line);
                    self.end_line();
                }
            }
            bytes = rest;
        }
        self.extend(bytes);
    }

    /// Returns the outline.
    pub fn finish(mut self) -> Outline {
        if !self.open.is_empty() || self.blocks.is_some() {
            self.end_line();
        }
        self.outline.pieces.shrink_to_fit();
        self.outline
    }

    /// Adds to the line that has not ended.
    fn extend(&mut self, mut bytes: &[u8]) {
        while self.open.len() + bytes.len() >= BLOCK {
            let (part, rest) = bytes.split_at(BLOCK - self.open.len());
            self.open.extend_from_slice(part);
            self.end_block();
            bytes = rest;
        }
        self.open.extend_from_slice(bytes);
    }

    fn end_block(&mut self) {
        let before = self.blocks.unwrap_or_default().wrapping_mul(FACTOR);
        self.blocks = Some(before.wrapping_add(hash_of(&self.open)));
        self.open.clear();
    }

    fn end_line(&mut self) {
        if !self.open.is_empty() {
            self.end_block();
        }
        let blocks = self.blocks.take().unwrap_or_default();
        self.add(blocks);
    }

    fn add(&mut self, hash: u64) {
        self.outline.push(Piece {
            sum: hash,
            lines: 1,
            level: hash.trailing_zeros(),
        });
    }
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::text;

    fn changed(old: &str, new: &str) -> Vec<LineRange> {
        Outline::of(new.as_bytes()).changed_since(&Outline::of(old.as_bytes()))
    }

    fn numbered(lines: Range<u64>) -> String {
        lines.map(|line| format!("line {line}\n")).collect()
    }

    fn range(start: u64, end: u64) -> LineRange {
        LineRange { start, end }
    }

    #[test]
    fn changed_lines_are_those_of_the_new_text() {
        assert_eq!(changed("a\nb\nc\n", "a\nx\ny\nc\n"), [range(2, 3)]);
        assert_eq!(changed("a\nb\nc\n", "a\nc\n"), [range(2, 2)]);
        assert_eq!(changed("a\nb\n", "a\n"), [range(1, 1)]);
        assert_eq!(changed("a\n", ""), [range(1, 1)]);
        assert_eq!(changed("", "a"), [range(1, 1)]);
        assert_eq!(changed("a\nb", "a\nb"), []);
        assert_eq!(changed("a\nb", "a\nb\n"), [range(2, 2)]);
    }

    #[test]
    fn a_change_in_many_lines_is_found_within_its_run() {
        let old = numbered(0..400_000);
        let new = old
            .replace("line 100000\n", "one\ntwo\n")
            .replace("line 300000\n", "");
        let outline = Outline::of(old.as_bytes());
        assert!(outline.pieces.len() > MOST_PIECES / 4 && outline.size() <= 256 << 10);
        let changed = changed(&old, &new);
        let [first, second] = changed.as_slice() else {
            panic!("{changed:?}")
        };
        for (range, line) in [(first, 100_001), (second, 300_002)] {
            assert!(range.start <= line && line <= range.end, "{changed:?}");
            assert!(range.end - range.start < 1000, "{changed:?}");
        }
    }

    #[test]
    fn a_text_that_grows_over_the_bound_is_compared_with_what_it_was() {
        let old = numbered(0..16_000);
        let new = format!("{old}{}", numbered(16_000..40_000));
        let [last] = changed(&old, &new)[..] else {
            panic!("one range")
        };
        assert!(last.start <= 16_001 && last.start > 15_000 && last.end == 40_000);
    }

    #[test]
    fn texts_of_few_kinds_of_lines_stay_bounded() {
        let old = "}\n".repeat(100_000);
        let outline = Outline::of(old.as_bytes());
        assert!(outline.pieces.len() <= MOST_PIECES);
        assert!(!changed(&old, &format!("{old}x\n")).is_empty());
    }

    #[test]
    fn a_long_line_takes_a_block() {
        let long = "x".repeat(10 * BLOCK);
        let mut outliner = Outliner::default();
        for part in long.as_bytes().chunks(1000) {
            outliner.push(part);
            assert!(outliner.open.len() < BLOCK && outliner.open.capacity() <= 2 * BLOCK);
        }
        assert_eq!(outliner.finish(), Outline::of(long.as_bytes()));
        assert_eq!(changed(&long, &format!("{long}y")), [range(1, 1)]);
    }

    proptest! {
        #[test]
        fn parts_make_the_outline_of_the_whole(whole in text(40), at in 1usize..9, long in 0usize..3) {
            let whole = whole.replace('a', &"a".repeat(long * BLOCK));
            let mut outliner = Outliner::default();
            for part in whole.as_bytes().chunks(at) {
                outliner.push(part);
            }
            prop_assert_eq!(outliner.finish(), Outline::of(whole.as_bytes()));
        }

        #[test]
        fn what_is_in_no_range_is_as_it_was(old in text(30), new in text(30)) {
            let changed = changed(&old, &new);
            prop_assert_eq!(changed.is_empty(), old == new);
            // Lines out of every range stand in the old text in the same order.
            let mut old = old.split_inclusive('\n');
            for (number, line) in (1..).zip(new.split_inclusive('\n')) {
                let out = changed.iter().all(|range| number < range.start || range.end < number);
                prop_assert!(!out || old.any(|other| other == line), "{changed:?}");
            }
        }

        #[test]
        fn coarser_pieces_are_the_same_from_either_side(lines in 1usize..200, level in 0u32..6) {
            let whole = numbered(0..lines as u64);
            let fine = Outline::of(whole.as_bytes());
            let mut coarse = Outline { pieces: Vec::new(), level };
            for piece in &fine.pieces {
                coarse.push(*piece);
            }
            prop_assert_eq!(fine.at(level), &coarse.pieces[..]);
            let counted: u64 = coarse.pieces.iter().map(|piece| u64::from(piece.lines)).sum();
            prop_assert_eq!(counted, lines as u64);
        }
    }
}
