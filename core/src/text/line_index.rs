//! The sparse line index: where some lines of a large text begin, so that a window deep inside it
//! is found without what lies before.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::lines::{Window, WindowScanner, WindowSpec};

/// How far apart the known lines are at the least, in bytes: 16 KiB.
const STRIDE: u64 = 16 << 10;

/// How many lines are known at the most: 64 KiB of index, whatever the size of the text.
const MOST_POINTS: usize = 4096;

/// A line whose first byte is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    /// The 1-based number.
    line: u64,
    offset: u64,
}

/// Where some lines of a text begin, and what is known of it as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineIndex {
    /// In ascending order; the first is the start of the text.
    points: Vec<Point>,
    bytes: u64,
    total_lines: u64,
    final_newline: bool,
    bom: bool,
}

/// Which bytes hold a window's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineSpan {
    /// The 1-based line that starts with the first byte.
    line: u64,
    /// The bytes that are certain to hold every line of the window; empty when it has none.
    pub bytes: Range<u64>,
    /// Where the window has ended, unless lines in it are longer than is shown of them.
    pub likely_end: u64,
}

impl LineIndex {
    /// Returns how many bytes the text has.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns how many bytes of memory the index takes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.points.capacity() * size_of::<Point>()
    }

    /// Returns which bytes to read for a window.
    pub fn span(&self, spec: &WindowSpec) -> LineSpan {
        let first = spec.offset.max(1);
        if first > self.total_lines || spec.max_lines == 0 {
            return LineSpan {
                line: first,
                bytes: self.bytes..self.bytes,
                likely_end: self.bytes,
            };
        }
        let next = self.points.partition_point(|point| point.line <= first);
        let start = self.points[next - 1];
        let last = first.saturating_add(spec.max_lines - 1);
        let after = self.points.partition_point(|point| point.line <= last);
        let offset_of = |at: usize| self.points.get(at).map_or(self.bytes, |point| point.offset);
        let end = offset_of(after);
        // The first line begins before the next point; the rows are at the least as long as their
        // lines, and one line that no longer fits is looked at, too.
        let rows = spec.max_bytes as u64;
        let line = (spec.max_line_chars as u64).saturating_mul(4);
        let likely = offset_of(next).saturating_add(rows).saturating_add(line);
        LineSpan {
            line: start.line,
            bytes: start.offset..end,
            likely_end: likely.min(end),
        }
    }

    /// Starts to scan a span of this text; its bytes are to be pushed from the first on, until
    /// the scanner [is full](WindowScanner::is_full) or they end.
    pub fn scanner(&self, spec: WindowSpec, span: &LineSpan) -> WindowScanner {
        WindowScanner::starting_at(spec, span.line)
    }

    /// Ends a scan and returns the window, as a scan of the whole text would.
    ///
    /// `at_end` says that the last byte of the text was pushed.
    pub fn window(&self, scanner: WindowScanner, at_end: bool) -> Window {
        let whole = Window {
            lines: Vec::new(),
            total_lines: self.total_lines,
            next_offset: None,
            partial: false,
            final_newline: self.final_newline,
            bom: self.bom,
        };
        scanner.finish_within(whole, at_end)
    }
}

/// Makes the index of a text that arrives in pieces.
#[derive(Debug, Clone)]
pub struct LineIndexer {
    points: Vec<Point>,
    most: usize,
    stride: u64,
    /// The line that the next byte is in.
    line: u64,
    offset: u64,
}

impl Default for LineIndexer {
    fn default() -> Self {
        Self::with_limits(STRIDE, MOST_POINTS)
    }
}

impl LineIndexer {
    /// Creates an indexer that has seen nothing; `stride` in bytes.
    fn with_limits(stride: u64, most: usize) -> Self {
        Self {
            points: vec![Point { line: 1, offset: 0 }],
            most,
            stride,
            line: 1,
            offset: 0,
        }
    }

    /// Looks at the next piece.
    pub fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let known = self.points.last().map_or(0, |point| point.offset);
            // A line that begins before this one is too near to the last known.
            let wanted = known + self.stride;
            let near = wanted.saturating_sub(self.offset + 1);
            let near = usize::try_from(near).unwrap_or(usize::MAX);
            let near = near.min(piece.len());
            self.pass(&piece[..near]);
            piece = &piece[near..];
            let Some(feed) = memchr(b'\n', piece) else {
                self.pass(piece);
                return;
            };
            self.pass(&piece[..=feed]);
            piece = &piece[feed + 1..];
            self.note();
        }
    }

    /// Ends the text; `window` is any window of it.
    pub fn finish(self, window: &Window) -> LineIndex {
        LineIndex {
            points: self.points,
            bytes: self.offset,
            total_lines: window.total_lines,
            final_newline: window.final_newline,
            bom: window.bom,
        }
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.line += memchr_iter(b'\n', bytes).count() as u64;
        self.offset += bytes.len() as u64;
    }

    /// Notes the line that begins here; where there is no room, every second one is given up.
    fn note(&mut self) {
        if self.points.len() == self.most {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride *= 2;
        }
        self.points.push(Point {
            line: self.line,
            offset: self.offset,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::{chunks, text};

    fn index(text: &[u8], cuts: &[usize], limits: (u64, usize)) -> LineIndex {
        let mut indexer = LineIndexer::with_limits(limits.0, limits.1);
        for chunk in chunks(text, cuts) {
            indexer.push(chunk);
        }
        indexer.finish(&Window::of(text, WindowSpec::default()))
    }

    /// Returns the window by the index, and how many bytes that took.
    fn by_index(index: &LineIndex, text: &[u8], spec: WindowSpec) -> (Window, u64) {
        let span = index.span(&spec);
        let mut scanner = index.scanner(spec, &span);
        let (start, end) = (span.bytes.start as usize, span.bytes.end as usize);
        let likely = span.likely_end as usize;
        scanner.push(&text[start..likely]);
        let reached = match scanner.is_full() {
            true => likely,
            false => {
                scanner.push(&text[likely..end]);
                end
            }
        };
        let window = index.window(scanner, reached == text.len());
        (window, (reached - start) as u64)
    }

    #[test]
    fn t6_a_window_deep_inside_costs_the_window() {
        let text: String = (1..=200_000)
            .map(|n| format!("this is line {n}\n"))
            .collect();
        let index = index(text.as_bytes(), &[], (STRIDE, MOST_POINTS));
        for offset in [1, 77_777, 150_000, 199_990] {
            let spec = WindowSpec {
                offset,
                ..WindowSpec::default()
            };
            let (window, bytes) = by_index(&index, text.as_bytes(), spec);
            assert_eq!(window, Window::of(text.as_bytes(), spec));
            assert!(bytes <= 2 * STRIDE + 50 * 1024 + 8000, "{bytes}");
        }
        let few = WindowSpec {
            offset: 100_000,
            max_lines: 3,
            ..WindowSpec::default()
        };
        let (_, bytes) = by_index(&index, text.as_bytes(), few);
        assert!(bytes <= 2 * STRIDE, "{bytes}");
    }

    #[test]
    fn t6_an_index_has_a_bounded_size() {
        let text = "x\n".repeat(1 << 20);
        let index = index(text.as_bytes(), &[], (16, 64));
        assert!(index.points.len() <= 64 && index.points.len() > 16);
        assert!(index.size() <= 2048, "{}", index.size());
    }

    proptest! {
        #[test]
        fn t5_a_window_by_index_is_the_window_of_the_whole(
            file in text(60), bom in any::<bool>(), offset in 0u64..70, max_lines in 0u64..6,
            max_bytes in 0usize..60, max_line_chars in 1usize..50,
            cuts in proptest::collection::vec(0usize..9, 0..12), stride in 1u64..40, most in 2usize..9,
        ) {
            let file = if bom { format!("\u{feff}{file}") } else { file };
            let index = index(file.as_bytes(), &cuts, (stride, most));
            let spec = WindowSpec { offset, max_lines, max_bytes, max_line_chars };
            let (found, _) = by_index(&index, file.as_bytes(), spec);
            prop_assert_eq!(found, Window::of(file.as_bytes(), spec));
        }

        #[test]
        fn an_index_does_not_depend_on_chunking(
            file in text(60), cuts in proptest::collection::vec(0usize..9, 0..12),
            stride in 1u64..40, most in 2usize..9,
        ) {
            let limits = (stride, most);
            prop_assert_eq!(index(file.as_bytes(), &cuts, limits), index(file.as_bytes(), &[], limits));
        }
    }
}
