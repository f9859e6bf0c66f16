//! The lines that a byte range of a text stands on.

use std::ops::Range;

use memchr::memrchr;

use super::decode::Text;
use super::lines::{LineCursor, LineRange};

/// The lines of a byte range, and where in its first line it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first line; for a place between two lines, the one after it.
    pub first: u64,
    /// The last line; for a place between two lines, the one before it.
    pub last: u64,
    /// The bytes of the first line before the range; a byte order mark is none of them.
    pub column: usize,
    /// How many bytes the range has.
    pub len: usize,
}

impl Span {
    /// Finds the lines of a range; `cursor` is over the same text.
    pub fn of(text: &Text<'_>, range: &Range<usize>, cursor: &mut LineCursor<'_>) -> Self {
        let bytes = text.bytes();
        let line_start = memrchr(b'\n', &bytes[..range.start])
            .map_or(text.body_start(), |feed| feed + 1)
            .min(range.start);
        let (column, first) = (range.start - line_start, cursor.line_of(range.start));
        let last = match range.is_empty() {
            // Between two lines, or in the middle of one.
            true => first - u64::from(column == 0),
            false => cursor.line_of(range.end - 1),
        };
        Self {
            first,
            last,
            column,
            len: range.len(),
        }
    }

    /// Returns whether the range is a place between two lines.
    pub fn is_between_lines(&self) -> bool {
        self.last < self.first
    }

    /// Returns the lines of the range and one on either side, in a text of `total` lines.
    ///
    /// Nothing in a text without lines.
    pub fn surroundings(&self, total: u64) -> Option<LineRange> {
        let (start, end) = ((self.first - 1).max(1), (self.last + 1).min(total));
        (start <= end).then_some(LineRange { start, end })
    }

    /// Returns the lines whose text a change of the range touches: its own, or for a place
    /// between two lines both of these.
    pub fn touched(&self, total: u64) -> Option<LineRange> {
        match self.is_between_lines() {
            true => self.surroundings(total),
            false => Some(LineRange {
                start: self.first,
                end: self.last,
            }),
        }
    }

    /// Returns whether nothing stands above the range, and whether nothing stands below it.
    pub fn ends(&self, total: u64) -> (bool, bool) {
        (self.first == 1, self.last >= total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str, range: Range<usize>) -> Span {
        let text = Text::decode(text.as_bytes()).unwrap();
        Span::of(&text, &range, &mut LineCursor::new(text.bytes()))
    }

    fn touched(text: &str, range: Range<usize>, total: u64) -> Option<(u64, u64)> {
        let touched = span(text, range).touched(total);
        touched.map(|range| (range.start, range.end))
    }

    #[test]
    fn a_range_touches_its_own_lines_and_a_place_its_neighbours() {
        assert_eq!(touched("a\nb\nc\n", 2..3, 3), Some((2, 2)));
        assert_eq!(touched("a\nb\nc\n", 2..4, 3), Some((2, 2)));
        assert_eq!(touched("a\nb\nc\n", 1..3, 3), Some((1, 2)));
        assert_eq!(touched("a\nb\nc\n", 2..2, 3), Some((1, 2)));
        assert_eq!(touched("a\nb\nc\n", 0..0, 3), Some((1, 1)));
        assert_eq!(touched("a\nb\nc\n", 6..6, 3), Some((3, 3)));
        assert_eq!(touched("a\nbcd", 5..5, 2), Some((2, 2)));
        assert_eq!(touched("a\nbcd", 3..3, 2), Some((2, 2)));
        assert_eq!(touched("", 0..0, 0), None);
        assert_eq!(touched("\u{feff}a\n", 3..3, 1), Some((1, 1)));
    }

    #[test]
    fn a_column_counts_from_the_start_of_the_line_without_a_mark() {
        assert_eq!(span("a\nbcd\n", 4..5).column, 2);
        assert_eq!(span("\u{feff}abc\n", 4..5).column, 1);
        assert_eq!(span("\u{feff}abc\n", 3..3).column, 0);
    }
}
