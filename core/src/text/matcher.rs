//! Literal matching in which a CRLF is one character, in time linear in text and pattern.
//!
//! (A pattern that itself mixes endings pays, besides, for its changes of ending at every
//! place of a text of mixed endings where all but the endings matches.)
//!
//! A line feed in the pattern matches a line feed or a CRLF. A CRLF in the pattern
//! matches a CRLF, or a carriage return before a CRLF: `read` does not show the last
//! carriage return of a line, so it shows the line `a␍␍␊` as `a␍`, and what it shows
//! must match. Any other carriage return matches one that no line feed follows. All
//! else matches itself. No match begins or ends inside a CRLF.
//!
//! Two readings of one place are one match: a match that begins with a line ending
//! begins as late as it can.

mod starts;

use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};

use super::decode::Text;
use super::lines::LineCursor;
use starts::Starts;

/// How many places of a pattern's longest line are looked at to narrow the search.
const ANCHORS: usize = 64;

/// A text to look for, prepared once.
#[derive(Debug)]
pub struct Pattern<'p> {
    old: &'p str,
    form: Form,
}

/// Where a pattern occurs in a text, overlaps counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occurrences {
    /// The exact number of matches, overlapping ones included.
    pub count: u64,
    /// The first matches, as byte ranges of the whole file.
    pub first: Vec<Range<usize>>,
    /// The 1-based line each of those begins on.
    pub lines: Vec<u64>,
}

impl Occurrences {
    /// Works out on which line each of the first matches begins.
    fn name_lines(&mut self, text: &Text<'_>) {
        let mut cursor = LineCursor::new(text.bytes());
        let lines = self.first.iter().map(|range| cursor.line_of(range.start));
        self.lines = lines.collect();
    }
}

impl<'p> Pattern<'p> {
    /// Prepares a pattern. An empty one matches nowhere.
    pub fn new(old: &'p str) -> Self {
        Self {
            old,
            form: Form::of(old),
        }
    }

    /// Counts the matches in a text, overlaps included, and keeps the first `limit`.
    pub fn find_all_overlapping(&self, text: &Text<'_>, limit: usize) -> Occurrences {
        let mut found = self.find_overlapping(text, limit);
        found.name_lines(text);
        found
    }

    /// Counts the matches, overlaps included, and keeps the first `limit` without their lines.
    fn find_overlapping(&self, text: &Text<'_>, limit: usize) -> Occurrences {
        let mut found = Occurrences::default();
        self.visit(text.body().as_bytes(), Overlaps::Counted, |range| {
            found.count += 1;
            if found.first.len() < limit {
                found.first.push(shift(range, text.body_start()));
            }
        });
        found
    }

    /// Finds the matches that do not overlap, left to right, as ranges of the whole file.
    pub fn find_non_overlapping(&self, text: &Text<'_>) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        self.visit(text.body().as_bytes(), Overlaps::Skipped, |range| {
            found.push(shift(range, text.body_start()));
        });
        found
    }

    /// Finds the one match, or the occurrences (`limit` of them kept) when there are
    /// none or several.
    pub fn find_unique(&self, text: &Text<'_>, limit: usize) -> Result<Range<usize>, Occurrences> {
        let mut found = self.find_overlapping(text, limit.max(1));
        match (found.count, found.first.pop()) {
            // Nobody asks on which line it is: counting to it would be a pass over the text.
            (1, Some(range)) => Ok(range),
            (_, popped) => {
                found.first.extend(popped);
                found.name_lines(text);
                Err(found)
            }
        }
    }

    /// Returns whether a match of this pattern used the tolerance for line endings, that
    /// is, whether its bytes differ from the pattern's.
    pub fn is_tolerant(&self, range: &Range<usize>) -> bool {
        // Each tolerance adds exactly one byte, and nothing ever takes one away.
        range.len() != self.old.len()
    }

    fn visit(&self, body: &[u8], overlaps: Overlaps, mut visit: impl FnMut(Range<usize>)) {
        match &self.form {
            Form::Empty => {}
            Form::Returns(count) => visit_returns(body, *count, overlaps, &mut visit),
            Form::Plain => visit_plain(body, self.old.as_bytes(), overlaps, visit),
            Form::Lines(lines) => match memchr(b'\r', body) {
                Some(_) => {
                    let Some(part) = lines.neighbourhood(body) else {
                        return;
                    };
                    Folded::new(&body[part.clone()], lines)
                        .visit(lines, overlaps, |range| visit(shift(range, part.start)));
                }
                None if lines.has_returns => {}
                None => visit_plain(body, self.old.as_bytes(), overlaps, visit),
            },
        }
    }
}

fn shift(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overlaps {
    Counted,
    Skipped,
}

/// What a pattern asks of the search.
#[derive(Debug)]
enum Form {
    Empty,
    /// No line feed, and no carriage return at the end: the bytes match themselves.
    Plain,
    /// This many carriage returns and nothing else.
    Returns(usize),
    Lines(LinePattern),
}

/// A pattern with line ends, folded: each line end is a bare line feed in `needle`, and
/// how many carriage returns stood before it is noted beside.
///
/// With r carriage returns before a line feed in the pattern and f in the file, the
/// rules above come to one: f is r or r + 1. (r = 0: the line feed matches LF or CRLF.
/// r > 0: r - 1 lone ones and a CRLF match themselves, or r lone ones and a CRLF.)
#[derive(Debug)]
struct LinePattern {
    needle: Vec<u8>,
    /// Carriage returns before a line feed that begins the pattern. The file may have
    /// more there: the match begins after them.
    leading: Option<usize>,
    /// Inner line ends: runs of them that have the same number of carriage returns.
    demands: Vec<Demand>,
    /// Carriage returns at the end of the pattern, not part of the needle.
    trailing: usize,
    has_returns: bool,
}

/// The line ends within `span` of the needle have `returns` carriage returns each.
#[derive(Debug)]
struct Demand {
    returns: usize,
    span: Range<usize>,
}

impl Form {
    fn of(old: &str) -> Self {
        let bytes = old.as_bytes();
        let trailing = returns_before(bytes, bytes.len(), 0);
        if bytes.is_empty() {
            Self::Empty
        } else if trailing == bytes.len() {
            Self::Returns(trailing)
        } else if trailing == 0 && memchr(b'\n', bytes).is_none() {
            Self::Plain
        } else {
            Self::Lines(LinePattern::of(&bytes[..bytes.len() - trailing], trailing))
        }
    }
}

impl LinePattern {
    fn of(bytes: &[u8], trailing: usize) -> Self {
        let mut pattern = Self {
            needle: Vec::with_capacity(bytes.len()),
            leading: None,
            demands: Vec::new(),
            trailing,
            has_returns: trailing > 0 || memchr(b'\r', bytes).is_some(),
        };
        for end in LineEnds::new(bytes) {
            pattern
                .needle
                .extend_from_slice(&bytes[end.line_start..end.text_end()]);
            if end.text_end() == 0 {
                pattern.leading = Some(end.returns);
            } else {
                pattern.demand(end.returns);
            }
            pattern.needle.push(b'\n');
        }
        let rest = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
        pattern.needle.extend_from_slice(&bytes[rest..]);
        pattern
    }

    /// Returns the part of a text that holds every match, whole lines of it, so that the
    /// rest need not be folded; nothing when there can be no match.
    fn neighbourhood(&self, body: &[u8]) -> Option<Range<usize>> {
        let (before, anchor, after) = self.anchor();
        let finder = memmem::Finder::new(anchor);
        let first = finder.find(body)?;
        let start = lines_back(body, first, before);
        let mut last = first;
        // Many anchors are near everything: not worth the search.
        for _ in 0..ANCHORS {
            match body.get(last + 1..).and_then(|rest| finder.find(rest)) {
                Some(next) => last += 1 + next,
                None => return Some(start..lines_on(body, last, after)),
            }
        }
        Some(start..body.len())
    }

    /// Returns the longest piece of the needle that holds no line end and no carriage
    /// return, and how many line ends precede and follow it.
    fn anchor(&self) -> (usize, &[u8], usize) {
        let lines = self.needle.split(|byte| *byte == b'\n').enumerate();
        let pieces = lines.flat_map(|(line, text)| {
            text.split(|byte| *byte == b'\r')
                .map(move |piece| (line, piece))
        });
        let (line, piece) = pieces
            .max_by_key(|(_, piece)| piece.len())
            .unwrap_or((0, b""));
        let line_ends = memchr_iter(b'\n', &self.needle).count();
        (line, piece, line_ends - line)
    }

    fn demand(&mut self, returns: usize) {
        let at = self.needle.len();
        match self.demands.last_mut() {
            Some(last) if last.returns == returns => last.span.end = at + 1,
            _ => self.demands.push(Demand {
                returns,
                span: at..at + 1,
            }),
        }
    }
}

/// Returns where the line begins that is `lines` lines before that of `at`, and one more
/// for the carriage returns of a match that begins with a line end.
fn lines_back(body: &[u8], at: usize, lines: usize) -> usize {
    let mut feeds = memchr::memrchr_iter(b'\n', &body[..at]);
    feeds
        .nth(lines.saturating_add(1))
        .map_or(0, |feed| feed + 1)
}

/// Returns where the line ends that is `lines` lines after that of `at`.
fn lines_on(body: &[u8], at: usize, lines: usize) -> usize {
    let mut feeds = memchr_iter(b'\n', &body[at..]);
    feeds.nth(lines).map_or(body.len(), |feed| at + feed + 1)
}

/// A line feed and the carriage returns directly before it.
#[derive(Debug, Clone, Copy)]
struct LineEnd {
    line_start: usize,
    line_feed: usize,
    returns: usize,
}

impl LineEnd {
    fn text_end(self) -> usize {
        self.line_feed - self.returns
    }
}

/// Iterates over the line ends of a text.
struct LineEnds<'a> {
    bytes: &'a [u8],
    feeds: memchr::Memchr<'a>,
    line_start: usize,
}

impl<'a> LineEnds<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            feeds: memchr_iter(b'\n', bytes),
            line_start: 0,
        }
    }
}

impl Iterator for LineEnds<'_> {
    type Item = LineEnd;

    fn next(&mut self) -> Option<LineEnd> {
        let line_feed = self.feeds.next()?;
        let line_start = std::mem::replace(&mut self.line_start, line_feed + 1);
        let returns = returns_before(self.bytes, line_feed, line_start);
        Some(LineEnd {
            line_start,
            line_feed,
            returns,
        })
    }
}

fn returns_before(bytes: &[u8], end: usize, start: usize) -> usize {
    bytes[start..end]
        .iter()
        .rev()
        .take_while(|&&byte| byte == b'\r')
        .count()
}

/// Visits runs of carriage returns; the one of a CRLF does not count.
fn visit_returns(
    body: &[u8],
    count: usize,
    overlaps: Overlaps,
    visit: &mut impl FnMut(Range<usize>),
) {
    let step = if overlaps == Overlaps::Counted {
        1
    } else {
        count
    };
    let mut position = 0;
    while let Some(found) = memchr(b'\r', &body[position..]) {
        let start = position + found;
        let end = start + lone_returns(&body[start..]);
        let mut at = start;
        while at + count <= end {
            visit(at..at + count);
            at += step;
        }
        // Past the carriage return of a CRLF, too.
        position = end.max(start + 1);
    }
}

/// Counts the carriage returns a text starts with, without that of a CRLF.
fn lone_returns(bytes: &[u8]) -> usize {
    let run = bytes.iter().take_while(|&&byte| byte == b'\r').count();
    run - usize::from(run > 0 && bytes.get(run) == Some(&b'\n'))
}

fn visit_plain(
    body: &[u8],
    needle: &[u8],
    overlaps: Overlaps,
    mut visit: impl FnMut(Range<usize>),
) {
    let mut starts = Starts::new(body, needle);
    while let Some(start) = starts.next() {
        visit(start..start + needle.len());
        if overlaps == Overlaps::Skipped {
            starts.skip_match();
        }
    }
}

/// A file's text with the carriage returns before line feeds folded away.
struct Folded<'t> {
    raw: &'t [u8],
    bytes: Vec<u8>,
    /// For each number of carriage returns a demand names: the line feeds in `bytes`
    /// that do not meet it, ascending.
    misfits: Vec<(usize, Vec<usize>)>,
}

impl<'t> Folded<'t> {
    fn new(raw: &'t [u8], pattern: &LinePattern) -> Self {
        let mut demanded: Vec<usize> = pattern
            .demands
            .iter()
            .map(|demand| demand.returns)
            .collect();
        demanded.sort_unstable();
        demanded.dedup();
        let mut misfits: Vec<_> = demanded
            .into_iter()
            .map(|returns| (returns, Vec::new()))
            .collect();
        let mut bytes = Vec::with_capacity(raw.len());
        let mut rest = 0;
        for end in LineEnds::new(raw) {
            bytes.extend_from_slice(&raw[end.line_start..end.text_end()]);
            for (returns, misfits) in &mut misfits {
                if end.returns != *returns && end.returns != *returns + 1 {
                    misfits.push(bytes.len());
                }
            }
            bytes.push(b'\n');
            rest = end.line_feed + 1;
        }
        bytes.extend_from_slice(&raw[rest..]);
        Self {
            raw,
            bytes,
            misfits,
        }
    }

    fn visit(
        &self,
        pattern: &LinePattern,
        overlaps: Overlaps,
        mut visit: impl FnMut(Range<usize>),
    ) {
        let mut starts = Starts::new(&self.bytes, &pattern.needle);
        let (mut first, mut last) = (Unfold::new(self.raw), Unfold::new(self.raw));
        let demands = self.open_demands(pattern);
        let mut free_from = 0;
        while let Some(at) = starts.next() {
            if !demands
                .iter()
                .all(|(span, misfits)| is_met(span, misfits, at))
            {
                continue;
            }
            let start = match pattern.leading {
                Some(returns) => first.line_end(at, returns),
                None => Some(first.byte(at)),
            };
            let end = last.byte(at + pattern.needle.len() - 1) + 1;
            let (Some(start), true) = (start, lone_returns_reach(self.raw, end, pattern.trailing))
            else {
                continue;
            };
            if overlaps == Overlaps::Counted {
                visit(start..end + pattern.trailing);
            } else if start >= free_from {
                free_from = end + pattern.trailing;
                visit(start..free_from);
                starts.skip_match();
            }
        }
    }

    /// Returns the demands that some line end of the text does not meet, with those ends.
    fn open_demands<'f>(&'f self, pattern: &LinePattern) -> Vec<(Range<usize>, &'f [usize])> {
        let misfits = |demand: &Demand| {
            let mut lists = self.misfits.iter();
            let (_, misfits) = lists.find(|(returns, _)| *returns == demand.returns)?;
            (!misfits.is_empty()).then_some((demand.span.clone(), misfits.as_slice()))
        };
        pattern.demands.iter().filter_map(misfits).collect()
    }
}

/// Whether no misfit lies in a demand's span of a match that starts at `at`.
fn is_met(span: &Range<usize>, misfits: &[usize], at: usize) -> bool {
    let next = misfits.partition_point(|&misfit| misfit < at + span.start);
    misfits
        .get(next)
        .is_none_or(|&misfit| misfit >= at + span.end)
}

fn lone_returns_reach(raw: &[u8], end: usize, wanted: usize) -> bool {
    wanted == 0 || lone_returns(&raw[end..]) >= wanted
}

/// Maps ascending positions in a folded text back to the file, in one pass over it.
struct Unfold<'t> {
    raw: &'t [u8],
    ends: LineEnds<'t>,
    /// The line the last position was on, and where it starts in both texts.
    end: Option<LineEnd>,
    raw_start: usize,
    folded_start: usize,
}

impl<'t> Unfold<'t> {
    fn new(raw: &'t [u8]) -> Self {
        let mut ends = LineEnds::new(raw);
        let end = ends.next();
        Self {
            raw,
            ends,
            end,
            raw_start: 0,
            folded_start: 0,
        }
    }

    /// Returns where the byte at `folded` is in the file; a line feed is itself, not the
    /// carriage returns before it.
    fn byte(&mut self, folded: usize) -> usize {
        self.advance(folded);
        match self.end {
            Some(end) if folded == self.folded_end(end) => end.line_feed,
            _ => self.raw_start + (folded - self.folded_start),
        }
    }

    /// Returns where a match that begins with the line feed at `folded`, after `returns`
    /// carriage returns, begins in the file.
    fn line_end(&mut self, folded: usize, returns: usize) -> Option<usize> {
        let line_feed = self.byte(folded);
        let found = self.end.map_or(0, |end| end.returns);
        match returns {
            0 => Some(line_feed - found.min(1)),
            _ => (found >= returns).then(|| line_feed - returns),
        }
    }

    fn advance(&mut self, folded: usize) {
        while let Some(end) = self.end {
            let folded_end = self.folded_end(end);
            if folded <= folded_end {
                break;
            }
            self.folded_start = folded_end + 1;
            self.raw_start = end.line_feed + 1;
            self.end = self.ends.next();
        }
        debug_assert!(self.raw_start <= self.raw.len());
    }

    fn folded_end(&self, end: LineEnd) -> usize {
        self.folded_start + (end.text_end() - self.raw_start)
    }
}

#[cfg(test)]
#[expect(
    clippy::single_range_in_vec_init,
    reason = "the matches are lists of ranges"
)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::{text, text_and_piece};
    use crate::text::{Window, WindowSpec};

    fn all(file: &str, old: &str) -> Vec<Range<usize>> {
        let text = Text::decode(file.as_bytes()).unwrap();
        let found = Pattern::new(old).find_all_overlapping(&text, usize::MAX);
        assert_eq!(found.count as usize, found.first.len());
        found.first
    }

    fn apart(file: &str, old: &str) -> Vec<Range<usize>> {
        Pattern::new(old).find_non_overlapping(&Text::decode(file.as_bytes()).unwrap())
    }

    #[test]
    fn b081_overlaps_are_counted() {
        let text = Text::decode(b"abab\nab\n").unwrap();
        let found = Pattern::new("ab").find_all_overlapping(&text, 50);
        assert_eq!((found.count, found.lines), (3, vec![1, 1, 2]));
        assert_eq!(all("aaa\n", "aa"), [0..2, 1..3]);
        assert_eq!(apart("aaaa\n", "aa"), [0..2, 2..4]);
    }

    #[test]
    fn e5_lf_matches_crlf() {
        assert_eq!(all("a\r\nb\r\n", "a\nb\n"), [0..6]);
        assert_eq!(all("a\r\nb\nc", "a\nb\nc"), [0..6]);
        assert_eq!(all("a\r\nb", "\n"), [1..3]);
    }

    #[test]
    fn e5_an_explicit_crlf_matches_no_bare_lf() {
        assert_eq!(all("a\nb", "a\r\nb"), []);
        assert_eq!(all("a\r\nb", "a\r\nb"), [0..4]);
        assert_eq!(all("a\r\nb\nc", "a\r\nb\r\nc"), []);
        assert_eq!(all("a\r\nb\nc", "a\r\nb\nc"), [0..6]);
    }

    #[test]
    fn a_carriage_return_never_matches_half_a_crlf() {
        assert_eq!(all("a\r\nb", "a\r"), []);
        assert_eq!(all("a\r\nb", "\r"), []);
        assert_eq!(all("a\rb\r\r\n", "\r"), [1..2, 3..4]);
        assert_eq!(all("\r\r\r\r\n", "\r\r"), [0..2, 1..3]);
        assert_eq!(apart("\r\r\r\r\r", "\r\r"), [0..2, 2..4]);
        assert_eq!(all("10%\r50%\r100%\nok", "%\r100%\nok"), [6..15]);
    }

    #[test]
    fn what_read_shows_of_a_doubled_return_matches() {
        assert_eq!(all("a\r\r\nb", "a\r\nb"), [0..5]);
        assert_eq!(all("a\r\r\nb", "\r\n"), [2..4]);
        assert_eq!(all("a\r\r\nb", "a\nb"), []);
        assert_eq!(all("a\r\r\nb", "a\r"), [0..2]);
    }

    #[test]
    fn e6_ranges_count_the_byte_order_mark() {
        assert_eq!(all("\u{feff}a\r\nb", "a\nb"), [3..7]);
        assert_eq!(apart("\u{feff}ab", "b"), [4..5]);
    }

    #[test]
    fn tolerance_is_reported() {
        let pattern = Pattern::new("a\nb");
        let tolerant = |file: &[u8]| {
            let range = pattern
                .find_unique(&Text::decode(file).unwrap(), 5)
                .unwrap();
            pattern.is_tolerant(&range)
        };
        assert!(tolerant(b"a\r\nb\r\n"));
        assert!(!tolerant(b"a\nb\r\n"));
    }

    #[test]
    fn pathological_overlaps_take_linear_time() {
        let length = 1 << 20;
        let file = "a".repeat(length);
        assert_eq!(
            count(&file, &"a".repeat(1 << 16)),
            (length - (1 << 16) + 1) as u64
        );
        let crlf = "\r\n".repeat(length / 2);
        for ending in ["\n", "\r\n"] {
            assert_eq!(
                count(&crlf, &ending.repeat(1 << 15)),
                (length / 2 - (1 << 15) + 1) as u64
            );
        }
        let returns = format!("{}\n", "\r".repeat(length));
        assert_eq!(
            count(&returns, &"\r".repeat(1 << 16)),
            (length - 1 - (1 << 16) + 1) as u64
        );
        assert_eq!(count(&returns, &format!("{}\n", "\r".repeat(1 << 16))), 1);
    }

    fn count(file: &str, old: &str) -> u64 {
        Pattern::new(old)
            .find_all_overlapping(&Text::decode(file.as_bytes()).unwrap(), 1)
            .count
    }

    /// The model: a text is a sequence of characters, and a CRLF is one of them.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Token {
        CrLf,
        Char(char),
    }

    fn tokens(text: &str) -> Vec<(usize, Token)> {
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            let token = if text[at..].starts_with("\r\n") {
                Token::CrLf
            } else {
                Token::Char(character)
            };
            tokens.push((at, token));
            at += if token == Token::CrLf {
                2
            } else {
                character.len_utf8()
            };
        }
        tokens
    }

    /// All ends of matches that begin with the file's first token.
    fn ends(file: &[(usize, Token)], old: &[(usize, Token)], end: usize) -> Vec<usize> {
        let Some(((_, wanted), old)) = old.split_first() else {
            return vec![file.first().map_or(end, |token| token.0)];
        };
        let one = match (file.first().map(|token| token.1), wanted) {
            (Some(Token::CrLf), Token::Char('\n')) => true,
            (found, wanted) => found == Some(*wanted),
        };
        let doubled = *wanted == Token::CrLf
            && file.first().map(|token| token.1) == Some(Token::Char('\r'))
            && file.get(1).map(|token| token.1) == Some(Token::CrLf);
        let mut all = Vec::new();
        if one {
            all.extend(ends(&file[1..], old, end));
        }
        if doubled {
            all.extend(ends(&file[2..], old, end));
        }
        all
    }

    fn reference(file: &str, old: &str) -> Vec<Range<usize>> {
        let (tokens, wanted) = (tokens(file), tokens(old));
        let mut all: Vec<Range<usize>> = Vec::new();
        if old.is_empty() {
            return all;
        }
        for at in 0..tokens.len() {
            for end in ends(&tokens[at..], &wanted, file.len()) {
                // Two readings of one place are one match, the shorter.
                all.retain(|range| range.end != end);
                all.push(tokens[at].0..end);
            }
        }
        all
    }

    fn reference_apart(all: Vec<Range<usize>>) -> Vec<Range<usize>> {
        let mut free = 0;
        let mut apart = all;
        apart.retain(|range| {
            let keep = range.start >= free;
            if keep {
                free = range.end;
            }
            keep
        });
        apart
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]
        #[test]
        fn the_matcher_agrees_with_the_model(file in text(24), old in text(4)) {
            let expected = reference(&file, &old);
            prop_assert_eq!(&all(&file, &old), &expected);
            prop_assert_eq!(apart(&file, &old), reference_apart(expected));
        }

        #[test]
        fn the_matcher_agrees_on_pieces_of_the_file((file, old) in text_and_piece(24), crs in "\r{0,2}") {
            for old in [old.replace("\r\n", "\n"), old.replace('\n', "\r\n"), format!("{crs}{old}"), format!("{old}{crs}"), old] {
                let expected = reference(&file, &old);
                prop_assert_eq!(&all(&file, &old), &expected, "{:?}", old);
                prop_assert_eq!(apart(&file, &old), reference_apart(expected), "{:?}", old);
            }
        }

        #[test]
        fn what_read_shows_matches(file in text(24), first in any::<prop::sample::Index>(), length in 1usize..5) {
            let window = Window::of(file.as_bytes(), WindowSpec::default());
            if window.lines.is_empty() {
                return Ok(());
            }
            let first = first.index(window.lines.len());
            let run: Vec<&str> = window.lines[first..].iter().take(length).map(|line| line.text.as_str()).collect();
            let shown = run.join("\n");
            if shown.is_empty() {
                return Ok(());
            }
            let lines = Pattern::new(&shown)
                .find_all_overlapping(&Text::decode(file.as_bytes()).unwrap(), usize::MAX)
                .lines;
            prop_assert!(lines.contains(&(first as u64 + 1)), "{:?} in {:?}: {:?}", shown, file, lines);
        }
    }
}
