//! Where the lines of one text stand in another, as far as they are unchanged.

use super::diff::{Diff, DiffLineKind};
use super::line_set::LineSet;
use super::lines::LineRange;

/// The lines that two texts share, in blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMap {
    /// In order; no two touch in both texts.
    blocks: Vec<Block>,
}

/// Consecutive lines that are the same in both texts, endings included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    old: u64,
    new: u64,
    lines: u64,
}

impl LineMap {
    /// Compares two texts.
    pub fn between(old: &str, new: &str) -> Self {
        Self::of(&Diff::between(old, new, 0), count_lines(old.as_bytes()))
    }

    /// Reads the map off a diff, whatever its context, from a text of `old_lines` lines.
    pub fn of(diff: &Diff, old_lines: u64) -> Self {
        let mut map = Self { blocks: Vec::new() };
        let (mut old, mut new) = (1, 1);
        for hunk in &diff.hunks {
            let first = hunk.old_start + u64::from(hunk.old_lines == 0);
            map.push(old, new, first - old);
            new += first - old;
            old = first;
            for line in &hunk.lines {
                match line.kind {
                    DiffLineKind::Context => map.push(old, new, 1),
                    DiffLineKind::Removed | DiffLineKind::Added => {}
                }
                old += u64::from(line.kind != DiffLineKind::Added);
                new += u64::from(line.kind != DiffLineKind::Removed);
            }
        }
        map.push(old, new, (old_lines + 1).saturating_sub(old));
        map
    }

    fn push(&mut self, old: u64, new: u64, lines: u64) {
        if lines == 0 {
            return;
        }
        match self.blocks.last_mut() {
            Some(last) if last.old + last.lines == old && last.new + last.lines == new => {
                last.lines += lines;
            }
            _ => self.blocks.push(Block { old, new, lines }),
        }
    }

    /// Returns where lines of the old text stand in the new one; nothing unless all of them are
    /// in one block.
    pub fn map(&self, lines: LineRange) -> Option<LineRange> {
        let at = self
            .blocks
            .partition_point(|block| block.old + block.lines <= lines.start);
        let block = self.blocks.get(at)?;
        let inside = block.old <= lines.start && lines.end < block.old + block.lines;
        inside.then(|| LineRange {
            start: lines.start - block.old + block.new,
            end: lines.end - block.old + block.new,
        })
    }

    /// Returns the unchanged lines of the new text.
    pub fn unchanged(&self) -> LineSet {
        let ranges = self
            .blocks
            .iter()
            .map(|block| block.new..=block.new + block.lines - 1);
        ranges.collect()
    }

    /// Returns where those lines of a set that are unchanged stand in the new text.
    pub fn carry(&self, set: &LineSet) -> LineSet {
        let mut carried = LineSet::new();
        for block in &self.blocks {
            let end = block.old + block.lines - 1;
            let from = set.ranges().partition_point(|range| range.end < block.old);
            for range in &set.ranges()[from..] {
                if range.start > end {
                    break;
                }
                let (start, end) = (range.start.max(block.old), range.end.min(end));
                carried.insert(start - block.old + block.new, end - block.old + block.new);
            }
        }
        carried
    }
}

/// Counts the lines of a text as `read` does: a final newline adds none.
pub fn count_lines(bytes: &[u8]) -> u64 {
    let bytes = bytes.strip_prefix(super::decode::BOM).unwrap_or(bytes);
    let ends = memchr::memchr_iter(b'\n', bytes).count() as u64;
    ends + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::text;

    #[test]
    fn lines_move_with_what_is_put_above_them() {
        let map = LineMap::between("a\nb\nc\nd\n", "x\ny\na\nb\nC\nd\n");
        let range = |start, end| LineRange { start, end };
        assert_eq!(map.map(range(1, 2)), Some(range(3, 4)));
        assert_eq!(map.map(range(2, 3)), None);
        assert_eq!(map.map(range(4, 4)), Some(range(6, 6)));
        assert_eq!(map.map(range(4, 5)), None);
        let seen: LineSet = std::iter::once(2..=4).collect();
        assert_eq!(map.carry(&seen).ranges(), [range(4, 4), range(6, 6)]);
    }

    proptest! {
        #[test]
        fn mapped_lines_are_the_same_lines(old in text(24), new in text(24), context in 0usize..4) {
            let diff = Diff::between(&old, &new, context);
            let map = LineMap::of(&diff, old.split_inclusive('\n').count() as u64);
            let (old, new): (Vec<_>, Vec<_>) =
                (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
            let mut last = 0;
            for number in 1..=old.len() as u64 {
                if let Some(there) = map.map(LineRange { start: number, end: number }) {
                    prop_assert_eq!(old[number as usize - 1], new[there.start as usize - 1]);
                    prop_assert!(there.start > last);
                    prop_assert!(map.unchanged().contains(there.start));
                    last = there.start;
                }
            }
        }
    }
}
