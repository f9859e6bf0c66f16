//! Lines: their endings, rows, numbers, and the window of lines that `read` shows.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use memchr::{memchr, memchr_iter};
use serde::{Deserialize, Serialize};

use super::decode::BOM;
use super::quote::counted;

/// How a line of a text file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineEnding {
    /// A line feed alone.
    Lf,
    /// A carriage return and a line feed, one character to every reader.
    CrLf,
}

impl LineEnding {
    /// Returns the ending's characters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }

    /// Tells the ending of the line feed at `line_feed`.
    pub(crate) fn at(bytes: &[u8], line_feed: usize) -> Self {
        match bytes[..line_feed].last() {
            Some(b'\r') => Self::CrLf,
            _ => Self::Lf,
        }
    }
}

/// A census of a text's line endings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Endings {
    /// Lines that end in a line feed alone.
    pub lf: u64,
    /// Lines that end in a carriage return and a line feed.
    pub crlf: u64,
    /// Carriage returns that no line feed follows.
    pub lone_cr: u64,
    /// Whether the text ends in a line ending.
    pub final_newline: bool,
}

impl Endings {
    /// Counts the endings of a text.
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let line_feeds = memchr_iter(b'\n', bytes).count() as u64;
        let mut endings = Self {
            final_newline: bytes.last() == Some(&b'\n'),
            ..Self::default()
        };
        for carriage_return in memchr_iter(b'\r', bytes) {
            match bytes.get(carriage_return + 1) {
                Some(b'\n') => endings.crlf += 1,
                _ => endings.lone_cr += 1,
            }
        }
        endings.lf = line_feeds - endings.crlf;
        endings
    }

    /// Returns the more frequent ending, LF on a tie, or nothing for a text of one line.
    pub fn dominant(&self) -> Option<LineEnding> {
        match (self.lf, self.crlf) {
            (0, 0) => None,
            (lf, crlf) if crlf > lf => Some(LineEnding::CrLf),
            _ => Some(LineEnding::Lf),
        }
    }
}

/// A range of lines, 1-based, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineRange {
    /// The first line.
    pub start: u64,
    /// The last line.
    pub end: u64,
}

impl fmt::Display for LineRange {
    /// Writes `line 3` or `lines 3-5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.start == self.end {
            true => write!(f, "line {}", self.start),
            false => write!(f, "lines {}-{}", self.start, self.end),
        }
    }
}

/// Splits a text into the rows `view` shows.
///
/// Rows are split on LF, a final newline shows a last empty row, and one trailing
/// carriage return of a row is not shown: `"a\r\nb\n"` has the rows `a`, `b` and the
/// empty one, and an empty text has one.
pub fn rows(body: &str) -> impl DoubleEndedIterator<Item = &str> {
    body.split('\n').map(without_one_cr)
}

/// Returns a line without the one trailing carriage return that is not shown.
pub(crate) fn without_one_cr(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// Numbers the lines of ascending byte offsets in one pass over the bytes.
#[derive(Debug, Clone)]
pub struct LineCursor<'a> {
    bytes: &'a [u8],
    offset: usize,
    line: u64,
}

impl<'a> LineCursor<'a> {
    /// Starts at the first byte, on line 1.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            offset: 0,
            line: 1,
        }
    }

    /// Returns the 1-based line of the byte at `offset`, in time linear in the distance
    /// from the last one asked for; an offset before that starts over.
    pub fn line_of(&mut self, offset: usize) -> u64 {
        if offset < self.offset {
            *self = Self::new(self.bytes);
        }
        let offset = offset.min(self.bytes.len());
        self.line += memchr_iter(b'\n', &self.bytes[self.offset..offset]).count() as u64;
        self.offset = offset;
        self.line
    }
}

/// Which lines of a file to show, and how much of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSpec {
    /// The 1-based number of the first line; 0 means 1.
    pub offset: u64,
    /// The most lines to show.
    pub max_lines: u64,
    /// The most bytes of rows as rendered: number, `": "`, text, cut marker, newline.
    pub max_bytes: usize,
    /// The most Unicode scalars of one line to show.
    pub max_line_chars: usize,
}

impl Default for WindowSpec {
    /// Returns the first 2000 lines, at most 50 KiB, 2000 characters a line.
    fn default() -> Self {
        Self {
            offset: 1,
            max_lines: 2000,
            max_bytes: 50 * 1024,
            max_line_chars: 2000,
        }
    }
}

/// One line as a window shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The 1-based number of the line.
    pub number: u64,
    /// The text shown: no ending, no byte order mark, and no cut marker.
    pub text: String,
    /// How many bytes of the line were left out, when it was too long.
    pub cut: Option<u64>,
}

impl Line {
    /// Appends the row `N: text`, with the cut marker and without a newline.
    pub fn render(&self, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = write!(out, "{}: {}", self.number, self.text);
        if let Some(omitted) = self.cut {
            out.push_str(&cut_marker(omitted));
        }
    }

    /// Returns the bytes of the row [`render`](Self::render) writes, and its newline.
    pub fn rendered_len(&self) -> usize {
        let digits = self.number.checked_ilog10().unwrap_or(0) as usize + 1;
        let marker = self.cut.map_or(0, |omitted| cut_marker(omitted).len());
        digits + ": ".len() + self.text.len() + marker + "\n".len()
    }
}

/// Returns the marker that follows a line of which `omitted_bytes` are not shown.
pub fn cut_marker(omitted_bytes: u64) -> String {
    let omitted = counted(omitted_bytes, "byte");
    format!(" … [{omitted} of this line not shown]")
}

/// The lines a [`WindowScanner`] found, and what it learned of the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The lines shown, consecutive.
    pub lines: Vec<Line>,
    /// The lines of the whole file; a final newline adds none.
    pub total_lines: u64,
    /// The line to continue at, when lines follow the window.
    pub next_offset: Option<u64>,
    /// Whether anything of the file is not shown: lines before, lines after, or a cut.
    pub partial: bool,
    /// Whether the file ends in a newline.
    pub final_newline: bool,
    /// Whether the file starts with a byte order mark.
    pub bom: bool,
}

impl Window {
    /// Scans bytes that are all at hand.
    pub fn of(bytes: &[u8], spec: WindowSpec) -> Self {
        let mut scanner = WindowScanner::new(spec);
        scanner.push(bytes);
        scanner.finish()
    }

    /// Returns the range of lines shown, or nothing when none are.
    pub fn shown(&self) -> Option<LineRange> {
        let (first, last) = (self.lines.first()?, self.lines.last()?);
        Some(LineRange {
            start: first.number,
            end: last.number,
        })
    }
}

/// Finds a window of lines in a stream of chunks, in memory bounded by the window.
///
/// It does not judge the encoding: a [`StreamDecoder`](super::StreamDecoder) beside it
/// does. Bytes that are not UTF-8 are shown with replacement characters.
#[derive(Debug)]
pub struct WindowScanner {
    spec: WindowSpec,
    lines: Vec<Line>,
    budget: usize,
    open: bool,
    /// The line the scanner is in.
    number: u64,
    line: PartialLine,
    mark: Mark,
}

/// The part of the current line seen so far.
#[derive(Debug, Default)]
struct PartialLine {
    /// Its first bytes, kept only inside the window and only as far as they can be shown.
    kept: Vec<u8>,
    len: u64,
    last: Option<u8>,
}

/// How much of a byte order mark the file has started with.
#[derive(Debug)]
enum Mark {
    Matched(usize),
    Present,
    Absent,
}

impl WindowScanner {
    /// Creates a scanner that has seen nothing.
    pub fn new(spec: WindowSpec) -> Self {
        let spec = WindowSpec {
            offset: spec.offset.max(1),
            ..spec
        };
        Self {
            spec,
            lines: Vec::new(),
            budget: spec.max_bytes,
            open: spec.max_lines > 0,
            number: 1,
            line: PartialLine::default(),
            mark: Mark::Matched(0),
        }
    }

    /// Creates a scanner that begins at the first byte of a line, the ones before it unseen.
    pub(super) fn starting_at(spec: WindowSpec, line: u64) -> Self {
        let mut scanner = Self::new(spec);
        if line > 1 {
            scanner.number = line;
            scanner.mark = Mark::Absent;
        }
        scanner
    }

    /// Returns whether the window holds all that it will, whatever follows.
    pub fn is_full(&self) -> bool {
        !self.open
    }

    /// Scans the next chunk.
    pub fn push(&mut self, mut chunk: &[u8]) {
        while let (Mark::Matched(matched), Some((&first, rest))) = (&self.mark, chunk.split_first())
        {
            let matched = *matched;
            if first != BOM[matched] {
                self.mark = Mark::Absent;
                self.scan(&BOM[..matched]);
                break;
            }
            chunk = rest;
            self.mark = if matched + 1 == BOM.len() {
                Mark::Present
            } else {
                Mark::Matched(matched + 1)
            };
        }
        self.scan(chunk);
    }

    /// Ends the file and returns the window.
    pub fn finish(mut self) -> Window {
        self.end_mark();
        let final_newline = self.line.len == 0 && self.number > 1;
        let whole = Window {
            lines: Vec::new(),
            total_lines: self.number - u64::from(self.line.len == 0),
            next_offset: None,
            partial: false,
            final_newline,
            bom: matches!(self.mark, Mark::Present),
        };
        self.finish_within(whole, true)
    }

    /// Returns the window of a file of which everything but the lines is known.
    pub(super) fn finish_within(mut self, whole: Window, at_end: bool) -> Window {
        self.end_mark();
        if at_end && self.line.len > 0 {
            self.end_line();
        }
        let total_lines = whole.total_lines;
        let shown_to = self
            .lines
            .last()
            .map_or(self.spec.offset - 1, |line| line.number);
        let all = self.lines.len() as u64 == total_lines
            && self.lines.iter().all(|line| line.cut.is_none());
        Window {
            next_offset: (shown_to < total_lines).then_some(shown_to + 1),
            partial: !all,
            lines: self.lines,
            ..whole
        }
    }

    /// Takes what looked like the start of a byte order mark for text.
    fn end_mark(&mut self) {
        if let Mark::Matched(matched) = self.mark {
            self.mark = Mark::Absent;
            self.scan(&BOM[..matched]);
        }
    }

    fn scan(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if !self.in_window() {
                bytes = self.skip(bytes);
                continue;
            }
            let Some(end) = memchr(b'\n', bytes) else {
                self.keep(bytes);
                return;
            };
            self.keep(&bytes[..end]);
            self.end_line();
            bytes = &bytes[end + 1..];
        }
    }

    fn in_window(&self) -> bool {
        self.open && self.number >= self.spec.offset
    }

    /// Counts lines outside the window and returns the bytes from its first line on.
    fn skip<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let feeds = memchr_iter(b'\n', bytes).count() as u64;
        let wanted = self.spec.offset.saturating_sub(self.number);
        if self.open && feeds >= wanted {
            let end = memchr_iter(b'\n', bytes)
                .nth(wanted as usize - 1)
                .map_or(bytes.len(), |end| end + 1);
            self.number += wanted;
            self.line = PartialLine::default();
            return &bytes[end..];
        }
        self.number += feeds;
        let tail = memchr::memrchr(b'\n', bytes).map_or(bytes, |end| &bytes[end + 1..]);
        let before = if feeds == 0 { self.line.len } else { 0 };
        self.line.len = before + tail.len() as u64;
        &[]
    }

    fn keep(&mut self, bytes: &[u8]) {
        let line = &mut self.line;
        // One scalar more than is shown, for a carriage return that is not.
        let room = self
            .spec
            .max_line_chars
            .saturating_add(1)
            .saturating_mul(4)
            .saturating_sub(line.kept.len());
        line.kept.extend_from_slice(&bytes[..room.min(bytes.len())]);
        line.len += bytes.len() as u64;
        line.last = bytes.last().copied().or(line.last);
    }

    fn end_line(&mut self) {
        if self.in_window() {
            let line = self.line.show(self.number, self.spec.max_line_chars);
            self.admit(line);
        }
        self.number += 1;
        self.line.kept.clear();
        self.line.len = 0;
        self.line.last = None;
    }

    fn admit(&mut self, line: Line) {
        let cost = line.rendered_len();
        if cost > self.budget && !self.lines.is_empty() {
            self.open = false;
            return;
        }
        self.budget = self.budget.saturating_sub(cost);
        self.lines.push(line);
        self.open = (self.lines.len() as u64) < self.spec.max_lines && self.budget > 0;
    }
}

impl PartialLine {
    fn show(&self, number: u64, max_chars: usize) -> Line {
        let len = self.len - u64::from(self.last == Some(b'\r'));
        let kept = &self.kept[..self
            .kept
            .len()
            .min(usize::try_from(len).unwrap_or(usize::MAX))];
        let shown = &kept[..end_of_chars(kept, max_chars)];
        let omitted = len - shown.len() as u64;
        Line {
            number,
            text: match String::from_utf8_lossy(shown) {
                Cow::Borrowed(text) => text.to_owned(),
                Cow::Owned(text) => text,
            },
            cut: (omitted > 0).then_some(omitted),
        }
    }
}

/// Returns where the first `count` scalars of a UTF-8 text end.
fn end_of_chars(bytes: &[u8], count: usize) -> usize {
    if bytes.len() <= count {
        return bytes.len();
    }
    let starts = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| !matches!(byte, 0x80..=0xBF));
    starts.map(|(at, _)| at).nth(count).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::{chunks, text};

    fn shown(file: &str, spec: WindowSpec) -> Vec<(u64, String)> {
        Window::of(file.as_bytes(), spec)
            .lines
            .into_iter()
            .map(|line| (line.number, line.text))
            .collect()
    }

    fn spec(offset: u64, max_lines: u64) -> WindowSpec {
        WindowSpec {
            offset,
            max_lines,
            ..WindowSpec::default()
        }
    }

    #[test]
    fn t3_lines_split_on_lf_and_a_final_newline_adds_none() {
        let lines = |file| {
            shown(file, WindowSpec::default())
                .into_iter()
                .map(|line| line.1)
                .collect::<Vec<_>>()
        };
        assert_eq!(lines("a\r\nb\r\r\nc\rd\n"), ["a", "b\r", "c\rd"]);
        assert_eq!(lines("p\nq\nr"), ["p", "q", "r"]);
        assert_eq!(lines("\n\n"), ["", ""]);
        assert_eq!(lines("x\r"), ["x"]);
        let empty = Window::of(b"", WindowSpec::default());
        assert_eq!(
            (empty.total_lines, empty.lines.len(), empty.partial),
            (0, 0, false)
        );
    }

    #[test]
    fn t4_an_offset_past_the_end_shows_nothing_and_knows_the_total() {
        let window = Window::of(b"1\n2\n3\n", spec(50, 10));
        assert_eq!(
            (window.lines.len(), window.total_lines, window.next_offset),
            (0, 3, None)
        );
        let after_last = Window::of(b"1\n2\n3\n", spec(4, 10));
        assert_eq!((after_last.lines.len(), after_last.total_lines), (0, 3));
    }

    #[test]
    fn t5_a_long_line_shows_exactly_its_first_scalars() {
        for tail in ["", "\n", "\r\n"] {
            let fits = format!("{}{tail}", "한".repeat(2000));
            let line = &Window::of(fits.as_bytes(), WindowSpec::default()).lines[0];
            assert_eq!(
                (line.text.chars().count(), line.cut),
                (2000, None),
                "{tail:?}"
            );
            let long = format!("{}bc{tail}", "한".repeat(2000));
            let line = &Window::of(long.as_bytes(), WindowSpec::default()).lines[0];
            assert_eq!(
                (line.text.chars().count(), line.cut),
                (2000, Some(2)),
                "{tail:?}"
            );
        }
    }

    #[test]
    fn t5_the_budget_counts_rows_as_rendered() {
        let window = Window::of(
            b"aa\nbb\ncc\n",
            WindowSpec {
                max_bytes: 12,
                ..WindowSpec::default()
            },
        );
        assert_eq!((window.lines.len(), window.next_offset), (2, Some(3)));
        let one_less = Window::of(
            b"aa\nbb\ncc\n",
            WindowSpec {
                max_bytes: 11,
                ..WindowSpec::default()
            },
        );
        assert_eq!(one_less.lines.len(), 1);
        let tiny = Window::of(
            b"aa\nbb\n",
            WindowSpec {
                max_bytes: 0,
                ..WindowSpec::default()
            },
        );
        assert_eq!((tiny.lines.len(), tiny.next_offset), (1, Some(2)));
    }

    #[test]
    fn t6_one_huge_line_is_not_kept() {
        let mut scanner = WindowScanner::new(WindowSpec::default());
        for _ in 0..160 {
            scanner.push(&[b'x'; 65536]);
            assert!(scanner.line.kept.capacity() < 64 * 1024);
        }
        let window = scanner.finish();
        assert_eq!(window.lines[0].cut, Some(160 * 65536 - 2000));
        assert_eq!((window.total_lines, window.final_newline), (1, false));
    }

    #[test]
    fn e6_a_byte_order_mark_is_not_shown() {
        let window = Window::of("\u{feff}a\n".as_bytes(), WindowSpec::default());
        assert_eq!((window.lines[0].text.as_str(), window.bom), ("a", true));
        let only = Window::of(BOM, WindowSpec::default());
        assert_eq!((only.total_lines, only.bom), (0, true));
        let partial = Window::of(&BOM[..2], WindowSpec::default());
        assert_eq!((partial.total_lines, partial.bom), (1, false));
    }

    #[test]
    fn s3_rows_show_a_last_empty_row() {
        let of = |body| rows(body).collect::<Vec<_>>();
        assert_eq!(of("a\nb\n"), ["a", "b", ""]);
        assert_eq!(of(""), [""]);
        assert_eq!(of("a\r\nb\r\r\n"), ["a", "b\r", ""]);
    }

    #[test]
    fn endings_are_counted_and_the_dominant_one_found() {
        let mixed = Endings::of("10%\r50%\r100%\nok\r\nend\n");
        assert_eq!(
            mixed,
            Endings {
                lf: 2,
                crlf: 1,
                lone_cr: 2,
                final_newline: true
            }
        );
        assert_eq!(mixed.dominant(), Some(LineEnding::Lf));
        assert_eq!(Endings::of("a\r").dominant(), None);
        assert_eq!(Endings::of("a\r\nb").dominant(), Some(LineEnding::CrLf));
    }

    #[test]
    fn a_cursor_numbers_offsets_in_one_pass() {
        let mut cursor = LineCursor::new(b"a\nb\n\nc");
        let lines: Vec<u64> = [0, 1, 2, 4, 5, 99, 2]
            .map(|offset| cursor.line_of(offset))
            .into();
        assert_eq!(lines, [1, 1, 2, 3, 4, 4, 2]);
    }

    /// The lines of a file as the contract words them.
    fn reference_lines(file: &str) -> Vec<String> {
        let body = file.strip_prefix('\u{feff}').unwrap_or(file);
        let mut lines: Vec<&str> = body.split('\n').collect();
        if lines.last() == Some(&"") {
            lines.pop();
        }
        lines
            .into_iter()
            .map(|line| without_one_cr(line).to_owned())
            .collect()
    }

    proptest! {
        #[test]
        fn t5_windows_concatenate_to_the_file(
            file in text(40), max_lines in 1u64..5, max_bytes in 0usize..30, max_line_chars in 3usize..50,
        ) {
            let expected = reference_lines(&file);
            let mut lines = Vec::new();
            let mut offset = 1;
            loop {
                let window = Window::of(file.as_bytes(), WindowSpec { offset, max_lines, max_bytes, max_line_chars });
                prop_assert_eq!(window.total_lines, expected.len() as u64);
                prop_assert_eq!(window.final_newline, file.ends_with('\n'));
                let size: usize = window.lines.iter().map(Line::rendered_len).sum();
                prop_assert!(size <= max_bytes || window.lines.len() == 1);
                for line in &window.lines {
                    let mut row = String::new();
                    line.render(&mut row);
                    prop_assert_eq!(row.len() + 1, line.rendered_len());
                    let whole = &expected[line.number as usize - 1];
                    let wanted: String = whole.chars().take(max_line_chars).collect();
                    prop_assert_eq!(line.cut.unwrap_or(0) as usize, whole.len() - wanted.len());
                    prop_assert_eq!(&line.text, &wanted);
                    lines.push(line.number);
                }
                match window.next_offset {
                    Some(next) => { prop_assert!(next > offset); offset = next; }
                    None => break,
                }
            }
            prop_assert_eq!(lines, (1..=expected.len() as u64).collect::<Vec<_>>());
        }

        #[test]
        fn windows_do_not_depend_on_chunking(
            file in text(40), bom in any::<bool>(), offset in 1u64..6, max_lines in 1u64..5,
            max_bytes in 0usize..40, max_line_chars in 1usize..6,
            cuts in proptest::collection::vec(0usize..9, 0..12),
        ) {
            let file = if bom { format!("\u{feff}{file}") } else { file };
            let spec = WindowSpec { offset, max_lines, max_bytes, max_line_chars };
            let mut scanner = WindowScanner::new(spec);
            for chunk in chunks(file.as_bytes(), &cuts) {
                scanner.push(chunk);
            }
            prop_assert_eq!(scanner.finish(), Window::of(file.as_bytes(), spec));
        }

        #[test]
        fn bytes_that_are_no_text_do_not_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..60), max_line_chars in 0usize..5,
        ) {
            Window::of(&bytes, WindowSpec { max_line_chars, ..WindowSpec::default() });
        }
    }
}
