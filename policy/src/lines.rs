//! What of a file was shown: whole lines, and parts of lines too long to be shown whole.

use std::ops::Range;

use memchr::{memchr_iter, memrchr};
use seamfs_core::TextEdit;
use seamfs_core::gate::{Part, Shown};
use seamfs_core::text::decode::BOM;
use seamfs_core::text::{LineMap, LineRange, LineSet, count_lines};

/// The most ranges of lines, and the most parts of lines, that are kept of one file.
const MOST_RANGES: usize = 256;
const MOST_PARTS: usize = 64;

/// What of a file an actor was shown, at one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Every line.
    All,
    /// Some lines.
    Some(SomeLines),
}

/// Some lines of a file: 256 ranges and 64 parts at the most, beyond which the shortest are
/// dropped and count as not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SomeLines {
    pub(crate) whole: LineSet,
    /// In order of lines, then of bytes; those of one line are apart.
    pub(crate) parts: Vec<Part>,
    pub(crate) total: u64,
}

impl Lines {
    /// Returns that nothing was shown of a file of `total` lines.
    pub(crate) fn none(total: u64) -> Self {
        Self::some(LineSet::new(), Vec::new(), total)
    }

    /// Returns that some lines were shown, or all of them where that is what they come to.
    pub(crate) fn some(mut whole: LineSet, parts: Vec<Part>, total: u64) -> Self {
        if whole.covers(1, total) {
            return Self::All;
        }
        whole.bound(MOST_RANGES);
        let mut lines = SomeLines {
            whole,
            parts: Vec::new(),
            total,
        };
        for part in parts {
            lines.add_part(part);
        }
        Self::Some(lines)
    }

    /// Returns what a call showed by itself.
    pub(crate) fn of(shown: &Shown) -> Option<Self> {
        match shown {
            Shown::All => Some(Self::All),
            Shown::Lines {
                lines,
                parts,
                total,
            } => Some(Self::some(
                lines.iter().cloned().collect(),
                parts.clone(),
                *total,
            )),
            Shown::Part(_) | Shown::Edited | Shown::Rebased => None,
        }
    }

    /// Adds what was shown of the same bytes at another time.
    #[must_use]
    pub(crate) fn and(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Some(mut mine), Self::Some(theirs)) => {
                for range in theirs.whole.ranges() {
                    mine.whole.insert(range.start, range.end);
                }
                mine.parts.extend(theirs.parts.iter().cloned());
                Self::some(mine.whole, mine.parts, mine.total)
            }
            _ => Self::All,
        }
    }

    /// Adds a part of a line.
    #[must_use]
    pub(crate) fn and_part(self, part: &Part) -> Self {
        match self {
            Self::All => Self::All,
            Self::Some(mut some) => {
                some.add_part(part.clone());
                Self::Some(some)
            }
        }
    }

    /// Returns what of it is still there in other bytes of `total` lines.
    pub(crate) fn carried(&self, map: &LineMap, total: u64) -> Self {
        match self {
            Self::All => Self::some(map.unchanged(), Vec::new(), total),
            Self::Some(some) => {
                let parts = some.parts.iter().filter_map(|part| {
                    let line = LineRange {
                        start: part.line,
                        end: part.line,
                    };
                    Some(Part {
                        line: map.map(line)?.start,
                        bytes: part.bytes.clone(),
                    })
                });
                Self::some(map.carry(&some.whole), parts.collect(), total)
            }
        }
    }

    /// Returns what of it stands after an edit of the actor's own, whose new text it knows.
    pub(crate) fn through(&self, before: &[u8], edit: &TextEdit) -> Self {
        match self {
            Self::All => Self::All,
            Self::Some(some) => Walk::new(some).through(before, edit),
        }
    }
}

impl SomeLines {
    /// Returns how many lines the file has.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the lines that were shown whole.
    pub fn whole(&self) -> &LineSet {
        &self.whole
    }

    /// Returns the parts of a line that were shown.
    pub(crate) fn parts_of(&self, line: u64) -> &[Part] {
        let start = self.parts.partition_point(|part| part.line < line);
        let end = self.parts.partition_point(|part| part.line <= line);
        &self.parts[start..end]
    }

    /// Returns the first byte of a part of a line that was not shown, if any.
    pub(crate) fn unseen_from(&self, line: u64, bytes: &Range<u64>) -> Option<u64> {
        let mut from = bytes.start;
        for part in self.parts_of(line) {
            if part.bytes.start > from {
                break;
            }
            from = from.max(part.bytes.end);
        }
        // A place without bytes is seen where it is in or at the edge of what was shown.
        let at_edge = |part: &Part| part.bytes.start <= from && from <= part.bytes.end;
        match bytes.is_empty() {
            true => (!self.parts_of(line).iter().any(at_edge)).then_some(from),
            false => (from < bytes.end).then_some(from),
        }
    }

    fn add_part(&mut self, part: Part) {
        if self.whole.contains(part.line) {
            return;
        }
        let mut joined = part;
        self.parts.retain(|other| {
            let touches = other.line == joined.line
                && other.bytes.start <= joined.bytes.end
                && joined.bytes.start <= other.bytes.end;
            if touches {
                joined.bytes.start = joined.bytes.start.min(other.bytes.start);
                joined.bytes.end = joined.bytes.end.max(other.bytes.end);
            }
            !touches
        });
        let key = |part: &Part| (part.line, part.bytes.start);
        let at = self
            .parts
            .partition_point(|other| key(other) < key(&joined));
        self.parts.insert(at, joined);
        if self.parts.len() > MOST_PARTS {
            let length = |part: &Part| part.bytes.end - part.bytes.start;
            let shortest = (0..self.parts.len()).min_by_key(|at| length(&self.parts[*at]));
            self.parts.remove(shortest.unwrap_or_default());
        }
    }
}

/// A walk over the pieces of an edited text, line by new line.
///
/// A new line was seen when each old piece in it is of a line that was.
struct Walk<'a> {
    known: &'a SomeLines,
    whole: LineSet,
    parts: Vec<Part>,
    old_line: u64,
    /// Bytes of the old line before the walk's place.
    old_column: u64,
    line: u64,
    column: u64,
    /// Whether all of the line so far was seen, and which parts of it were.
    seen: bool,
    open: Vec<Range<u64>>,
}

impl<'a> Walk<'a> {
    fn new(known: &'a SomeLines) -> Self {
        Self {
            known,
            whole: LineSet::new(),
            parts: Vec::new(),
            old_line: 1,
            old_column: 0,
            line: 1,
            column: 0,
            seen: true,
            open: Vec::new(),
        }
    }

    fn through(mut self, before: &[u8], edit: &TextEdit) -> Lines {
        let mut at = if before.starts_with(BOM) {
            BOM.len()
        } else {
            0
        };
        for splice in edit.splices.as_slice() {
            self.keep(&before[at.min(splice.range.start)..splice.range.start]);
            self.skip(&before[splice.range.clone()]);
            self.put(splice.replacement.as_bytes());
            at = splice.range.end;
        }
        self.keep(&before[at..]);
        let total = self.line - u64::from(self.column == 0);
        if self.column > 0 {
            self.end_line();
        }
        Lines::some(self.whole, self.parts, total)
    }

    /// Passes old bytes that stay.
    fn keep(&mut self, bytes: &[u8]) {
        let feeds = memchr_iter(b'\n', bytes).count() as u64;
        let Some(last) = memrchr(b'\n', bytes) else {
            self.keep_piece(bytes.len() as u64);
            return;
        };
        let first = memchr_iter(b'\n', bytes).next().unwrap_or(last);
        self.keep_piece(first as u64);
        // The feed itself, of a line that may hold nothing else.
        self.column += 1;
        self.seen &= self.known.whole.contains(self.old_line);
        self.end_line();
        self.carry(self.old_line + 1, self.old_line + feeds - 1);
        self.old_line += feeds;
        self.old_column = 0;
        self.line += feeds - 1;
        self.keep_piece((bytes.len() - last - 1) as u64);
    }

    /// Passes old bytes within a line.
    fn keep_piece(&mut self, len: u64) {
        if len == 0 {
            return;
        }
        let old = self.old_column..self.old_column + len;
        if self.known.whole.contains(self.old_line) {
            self.open.push(self.column..self.column + len);
        } else {
            self.seen = false;
            for part in self.known.parts_of(self.old_line) {
                let (start, end) = (part.bytes.start.max(old.start), part.bytes.end.min(old.end));
                if start < end {
                    let shift = |at: u64| at - old.start + self.column;
                    self.open.push(shift(start)..shift(end));
                }
            }
        }
        self.old_column = old.end;
        self.column += len;
    }

    /// Moves whole old lines to where the walk is.
    fn carry(&mut self, first: u64, last: u64) {
        if last < first {
            return;
        }
        let shift = |line: u64| line - first + self.line;
        let known = self.known;
        let from = known
            .whole
            .ranges()
            .partition_point(|range| range.end < first);
        for range in &known.whole.ranges()[from..] {
            if range.start > last {
                break;
            }
            let (start, end) = (range.start.max(first), range.end.min(last));
            self.whole.insert(shift(start), shift(end));
        }
        let parts = known.parts.iter();
        let moved = parts.filter(|part| (first..=last).contains(&part.line));
        self.parts.extend(moved.map(|part| Part {
            line: shift(part.line),
            bytes: part.bytes.clone(),
        }));
    }

    /// Passes old bytes that go.
    fn skip(&mut self, bytes: &[u8]) {
        self.old_line += memchr_iter(b'\n', bytes).count() as u64;
        self.old_column = match memrchr(b'\n', bytes) {
            Some(last) => (bytes.len() - last - 1) as u64,
            None => self.old_column + bytes.len() as u64,
        };
    }

    /// Passes new bytes.
    fn put(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let len = piece.len() as u64;
            self.open.push(self.column..self.column + len);
            self.column += len;
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        match self.seen {
            true => self.whole.insert(self.line, self.line),
            false => {
                let line = self.line;
                let open = self.open.drain(..);
                self.parts.extend(open.map(|bytes| Part { line, bytes }));
            }
        }
        self.open.clear();
        self.seen = true;
        self.column = 0;
        self.line += 1;
    }
}

/// Returns what is known of bytes of which nothing was shown.
pub(crate) fn nothing_of(bytes: &[u8]) -> Lines {
    Lines::none(count_lines(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use seamfs_core::Transform;
    use seamfs_core::Version;
    use seamfs_core::replace::Replace;
    use seamfs_core::text::Text;

    fn lines(ranges: &[(u64, u64)], parts: &[(u64, Range<u64>)], total: u64) -> Lines {
        let parts = parts.iter().map(|(line, bytes)| Part {
            line: *line,
            bytes: bytes.clone(),
        });
        Lines::some(
            ranges.iter().map(|(start, end)| *start..=*end).collect(),
            parts.collect(),
            total,
        )
    }

    fn through(known: &Lines, before: &str, old: &str, new: &str) -> Lines {
        let text = Text::decode(before.as_bytes()).unwrap();
        let edit = Replace::all(old, new).unwrap();
        let edit = edit.plan(&text, &Version::of(before.as_bytes())).unwrap();
        known.through(before.as_bytes(), &edit)
    }

    #[test]
    fn all_lines_together_are_all() {
        assert_eq!(lines(&[(1, 2), (3, 4)], &[], 4), Lines::All);
        assert_eq!(lines(&[], &[], 0), Lines::All);
        assert_eq!(
            lines(&[(1, 2)], &[], 4).and(&lines(&[(3, 4)], &[], 4)),
            Lines::All
        );
    }

    #[test]
    fn lines_follow_the_file_through_an_edit() {
        let known = lines(&[(2, 3), (5, 5)], &[], 6);
        let before = "a\nb\nc\nd\ne\nf\n";
        assert_eq!(
            through(&known, before, "b\n", "B\nx\ny\n"),
            lines(&[(2, 5), (7, 7)], &[], 8)
        );
        assert_eq!(
            through(&known, before, "b\nc\n", ""),
            lines(&[(3, 3)], &[], 4)
        );
        // The new line holds an old one that was not shown.
        assert_eq!(
            through(&known, before, "c\nd", "c, d"),
            lines(&[(2, 2), (4, 4)], &[(3, 0..4)], 5)
        );
        assert_eq!(
            through(&known, before, "c\n", "c "),
            lines(&[(2, 2), (4, 4)], &[(3, 0..2)], 5)
        );
        assert_eq!(
            through(&known, before, "f", "f\ng"),
            lines(&[(2, 3), (5, 6)], &[(7, 0..1)], 7)
        );
    }

    #[test]
    fn a_line_with_an_unseen_end_of_its_own_is_not_seen() {
        // Only the feed is left of the old line, and it was not shown either.
        let known = lines(&[(1, 1)], &[], 3);
        assert_eq!(
            through(&known, "a\nb\nc\n", "b", "x"),
            lines(&[(1, 1)], &[(2, 0..1)], 3)
        );
    }

    #[test]
    fn parts_of_a_line_follow_it() {
        let known = lines(&[(1, 1)], &[(2, 0..6)], 3);
        let before = "a\nabcdefghij\nz\n";
        assert_eq!(
            through(&known, before, "cd", "CCDD"),
            lines(&[(1, 1)], &[(2, 0..8)], 3)
        );
        assert_eq!(
            through(&known, before, "a\na", "x\ny\na"),
            lines(&[(1, 2)], &[(3, 0..6)], 4)
        );
        let Lines::Some(some) = known else {
            panic!("some lines")
        };
        assert_eq!(some.unseen_from(2, &(2..6)), None);
        assert_eq!(some.unseen_from(2, &(4..8)), Some(6));
        assert_eq!(some.unseen_from(2, &(6..6)), None);
        assert_eq!(some.unseen_from(2, &(8..8)), Some(8));
    }

    #[test]
    fn parts_that_touch_are_one_and_the_shortest_go_beyond_a_limit() {
        let joined = lines(&[], &[(2, 0..3), (2, 6..9), (2, 3..6), (1, 4..5)], 3);
        assert_eq!(joined, lines(&[], &[(1, 4..5), (2, 0..9)], 3));
        // A line that was shown whole needs no parts.
        assert_eq!(lines(&[(2, 2)], &[(2, 0..3)], 3), lines(&[(2, 2)], &[], 3));
        let many = |count: u64| {
            let parts: Vec<_> = (1..=count).map(|line| (line, 0..100 - line)).collect();
            let Lines::Some(some) = lines(&[], &parts, 100) else {
                panic!("some lines")
            };
            (some.parts.len(), some.parts.last().unwrap().line)
        };
        let most = MOST_PARTS as u64;
        assert_eq!(many(most), (MOST_PARTS, most));
        assert_eq!(many(most + 1), (MOST_PARTS, most));
    }

    #[test]
    fn what_was_shown_is_carried_where_the_lines_are_the_same() {
        let known = lines(&[(1, 1), (4, 5)], &[(2, 0..3)], 6);
        let map = LineMap::between("a\nbcdef\nc\nd\ne\nf\n", "x\na\nbcdef\nc\nd\nE\nf\n");
        assert_eq!(
            known.carried(&map, 7),
            lines(&[(2, 2), (5, 5)], &[(3, 0..3)], 7)
        );
        let all = lines(&[(2, 5), (7, 7)], &[], 7);
        assert_eq!(Lines::All.carried(&map, 7), all);
    }
}
