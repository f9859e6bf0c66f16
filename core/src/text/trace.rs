//! Traces: text that a tool adds around a file's own, and that a model may paste into one.
//!
//! The envelope and footer of a `read`, a clipping notice and a gutter of line numbers are no
//! content; nor is a line that stands for lines which its author did not want to repeat. A write
//! that carries one of them for the first time is nearly always a mistake, and what it stood for
//! is lost.

use std::collections::HashMap;
use std::fmt;

use memchr::{memchr_iter, memchr2_iter};

/// What kind of text is no content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trace {
    /// The first or the last line around what `read` shows.
    Envelope,
    /// The line beneath it, which says how the file goes on.
    Footer,
    /// A notice that an output or a line was clipped.
    Clipping,
    /// Numbered rows, as `read` or `view` shows them.
    Gutter,
    /// A line that stands for lines left out, such as `// ... existing code ...`.
    Elision,
}

impl Trace {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Envelope,
        Self::Footer,
        Self::Clipping,
        Self::Gutter,
        Self::Elision,
    ];

    /// Returns the kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Footer => "footer",
            Self::Clipping => "clipping",
            Self::Gutter => "gutter",
            Self::Elision => "elision",
        }
    }

    /// Says what such text is.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Envelope => "the envelope that `read` puts around a file",
            Self::Footer => "the footer that `read` puts beneath a file",
            Self::Clipping => "a notice that output was clipped",
            Self::Gutter => "line numbers as `read` and `view` show them",
            Self::Elision => "a line that stands for lines left out",
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A trace, and the 1-based line of the text that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundTrace {
    /// The line.
    pub line: u64,
    /// The kind.
    pub trace: Trace,
}

impl FoundTrace {
    fn at(index: usize, trace: Trace) -> Self {
        let line = index as u64 + 1;
        Self { line, trace }
    }
}

/// Returns every trace in a text, in the order of its lines; at most one a line.
pub fn traces(text: &str) -> Vec<FoundTrace> {
    new_traces("", text)
}

/// Returns whether any line of a text may be a trace, whatever text was there before it.
///
/// Nearly every text has no such line, and then the one before it need not be looked at.
pub fn may_carry(text: &str) -> bool {
    let dotted = is_dotted(text);
    lines(text)
        .filter(|line| stands_out(line, dotted))
        .any(|line| trace_of(line).is_some() || Row::parse(0, line).is_some())
}

/// Returns whether a line may be a trace by its first and last letters, and by three dots where its
/// text has any.
fn stands_out(line: &str, dotted: bool) -> bool {
    let trimmed = line.trim_ascii().as_bytes();
    let (Some(first), Some(last)) = (trimmed.first(), trimmed.last()) else {
        return false;
    };
    // What is no plain letter may be a blank that is trimmed elsewhere.
    let plain = |byte: &u8| byte.is_ascii_graphic();
    let begins = b"<([/#-;%{123456789".contains(first) || !plain(first);
    begins || *last == b']' || !plain(last) || dotted && is_dotted(line)
}

/// Returns the traces in a text that were not in the one before it, in the order of its lines.
///
/// A line counts as often as it occurs: a second copy of a trace that the file has is new, and
/// whatever was there before, wherever it moved, is not.
pub fn new_traces(before: &str, after: &str) -> Vec<FoundTrace> {
    new_traces_of(before, after, &[])
}

/// Returns the same, where rows may have been copied from these other texts too.
pub fn new_traces_of(before: &str, after: &str, others: &[&str]) -> Vec<FoundTrace> {
    if !may_carry(after) {
        return Vec::new();
    }
    let mut known = HashMap::<&str, usize>::new();
    for line in lines(before) {
        *known.entry(line).or_default() += 1;
    }
    let mut is_new = |line: &str| match known.get_mut(line) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    let (mut found, mut rows) = (Vec::new(), Vec::new());
    for (index, line) in lines(after).enumerate() {
        match (trace_of(line), Row::parse(index, line)) {
            (None, None) => {}
            _ if !is_new(line) => {}
            (Some(trace), _) => found.push(FoundTrace::at(index, trace)),
            (None, Some(row)) => rows.push(row),
        }
    }
    found.extend(gutter(&rows, before, others));
    found.sort_by_key(|found| found.line);
    found
}

/// Splits on LF; a CR before it is no part of the line.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    ends.scan(0, |start, end| {
        let line = &text[*start..end];
        *start = end + 1;
        Some(line.strip_suffix('\r').unwrap_or(line))
    })
}

fn trace_of(line: &str) -> Option<Trace> {
    let trimmed = line.trim();
    match trimmed.chars().next()? {
        '<' if is_envelope(trimmed) => return Some(Trace::Envelope),
        '(' if is_footer(trimmed) => return Some(Trace::Footer),
        '[' if is_clipping(trimmed) => return Some(Trace::Clipping),
        _ => {}
    }
    if ends_cut(trimmed) {
        return Some(Trace::Clipping);
    }
    is_elision(trimmed).then_some(Trace::Elision)
}

fn is_envelope(line: &str) -> bool {
    let marked = |rest: &str| {
        rest.strip_suffix("\">").is_some_and(|mark| {
            mark.len() == 16 && mark.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    match line.strip_prefix("</file mark=\"") {
        Some(rest) => marked(rest),
        None => line
            .strip_prefix("<file path=\"")
            .and_then(|rest| rest.rsplit_once("\" mark=\""))
            .is_some_and(|(_, rest)| marked(rest)),
    }
}

fn is_footer(line: &str) -> bool {
    let Some(inner) = line
        .strip_prefix('(')
        .and_then(|line| line.strip_suffix(')'))
    else {
        return false;
    };
    // Numbers differ and words do not.
    matches!(
        without_digits(inner).as_str(),
        "empty file: # bytes, # lines"
            | "end of file: no text, # lines"
            | "end of file: no text, # line"
            | "end of file: # lines"
            | "end of file: # line"
            | "lines #-# of #; continue with offset #"
            | "lines #-# of #; end of file: # lines"
            | "lines #-# of #; end of file: # line"
    )
}

fn is_clipping(line: &str) -> bool {
    matches!(
        without_digits(line).as_str(),
        "[clipped at # characters; use view_range to see the rest]"
            | "[clipped: # of # characters shown]"
    )
}

/// Returns whether a line ends as [`super::cut_marker`] ends one that is too long to be shown.
fn ends_cut(line: &str) -> bool {
    line.strip_suffix(" of this line not shown]")
        .and_then(|rest| rest.strip_suffix(" bytes").or(rest.strip_suffix(" byte")))
        .and_then(|rest| rest.rsplit_once(" … ["))
        .is_some_and(|(_, number)| is_number(number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Puts `#` in the place of each number.
fn without_digits(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_ascii_digit() {
            false => plain.push(character),
            true if !plain.ends_with('#') => plain.push('#'),
            true => {}
        }
    }
    plain
}

/// Returns whether a line does nothing but stand for lines that are left out.
fn is_elision(line: &str) -> bool {
    const MOST_BYTES: usize = 120;
    if line.len() > MOST_BYTES {
        return false;
    }
    let is_mark = |c: char| "/#*-;%!<>{}()[]\"'`.…_=~: \t".contains(c);
    let dotted = is_dotted(line);
    if !dotted && !is_comment(line) {
        return false;
    }
    let phrase = line.trim_matches(is_mark).to_lowercase();
    let is_any = |phrases: &[&str]| phrases.contains(&phrase.as_str());
    let bare = dotted
        && is_any(&[
            "existing code",
            "existing code here",
            "unchanged",
            "unchanged code",
            "no changes",
            "no change",
            "same as before",
            "omitted",
            "code omitted",
            "omitted for brevity",
            "snip",
            "truncated",
        ]);
    bare || is_rest(&phrase, dotted)
}

/// Returns whether there are three dots in a line, or the character that is three; every line of
/// every text written is asked.
fn is_dotted(line: &str) -> bool {
    let bytes = line.as_bytes();
    let ellipsis = "…".as_bytes();
    let mut starts = memchr2_iter(b'.', ellipsis[0], bytes);
    starts.any(|at| bytes[at..].starts_with(b"...") || bytes[at..].starts_with(ellipsis))
}

/// Returns whether a line begins as a comment: prose may say that something is unchanged, and in a
/// comment it is a placeholder.
fn is_comment(line: &str) -> bool {
    const MARKS: [&str; 9] = ["//", "#", "--", "/*", "<!--", ";", "%", "{/*", "(*"];
    let first = line.as_bytes().first();
    first.is_some_and(|byte| b"/#-<;%{(".contains(byte))
        && MARKS.iter().any(|mark| line.starts_with(mark))
}

/// Returns whether a phrase says that the rest of something is as it was.
fn is_rest(phrase: &str, dotted: bool) -> bool {
    let words: Vec<&str> = phrase
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let starts = matches!(
        words[..],
        ["rest", ..] | ["the", "rest", ..] | ["remaining", ..] | ["remainder", ..]
    ) || dotted && matches!(words[..], ["other" | "previous" | "existing", ..]);
    let ends = matches!(
        words[..],
        [.., "unchanged"]
            | [.., "same"]
            | [.., "as", "before"]
            | [.., "omitted"]
            | [.., "for", "brevity"]
    );
    let named = matches!(
        words[..],
        ["rest", "of", "file"]
            | ["rest", "of", "the", "file"]
            | ["rest", "of", "code"]
            | ["rest", "of", "the", "code"]
            | ["rest", "of", "your", "code"]
            | ["rest", "of", "your", "code", "here"]
            | ["rest", "of", "the", "code", "here"]
            | ["rest", "of", "code", "here"]
            | ["keep", "existing", "code"]
    );
    dotted && named || starts && ends && words.len() <= 10
}

/// How a row begins with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbered {
    /// `12: text`, as `read` shows it.
    Read,
    /// `    12  text`, as `view` shows it.
    View,
}

/// A line that begins with a number as rows of tools do.
#[derive(Clone, Copy, Debug)]
struct Row<'a> {
    /// Which line of the text it is, from 0.
    index: usize,
    number: u64,
    form: Numbered,
    text: &'a str,
    /// Where the text begins in the line; none where a bare `12:` has none.
    start: Option<usize>,
}

/// Finds the rows of a gutter among new lines that begin with a number.
///
/// Such a line may well be content: a list, or keys that are numbers. It is of a gutter when its
/// text is what the file before, or another that was shown, has at the line of that number. Where
/// that does not tell, a run of rows that count up by one is a gutter when it has a form that
/// content has not.
fn gutter(rows: &[Row<'_>], before: &str, others: &[&str]) -> Vec<FoundTrace> {
    if rows.is_empty() {
        return Vec::new();
    }
    let texts = [before].into_iter().chain(others.iter().copied());
    // Rows do not show a byte order mark.
    let texts = texts.map(|text| text.strip_prefix('\u{feff}').unwrap_or(text));
    let texts: Vec<Vec<&str>> = texts.map(|text| lines(text).collect()).collect();
    let mut found = Vec::new();
    for run in rows.chunk_by(Row::is_before) {
        let formatted = is_formatted(run);
        let is_copy = |row: &&Row<'_>| texts.iter().any(|lines| row.is_of(lines));
        let of = run.iter().filter(|row| formatted || is_copy(row));
        found.extend(of.map(|row| FoundTrace::at(row.index, Trace::Gutter)));
    }
    found
}

/// Returns whether rows in a run are formatted as tools do and authors do not.
///
/// The columns of `view` are such a form. Rows of `read` look like keys and values, but then all
/// values begin in one column, or all right behind their keys: a text that is indented here and
/// there does neither. Nor does an author leave a blank behind a key without a value.
fn is_formatted(run: &[Row<'_>]) -> bool {
    if run.iter().all(|row| row.form == Numbered::View) {
        // From six digits on there is no padding, and a table of long numbers looks the same.
        return run.len() >= 2 && run.iter().all(|row| row.number < 100_000);
    }
    if run.len() < 3 {
        return false;
    }
    let is_bare = |row: &Row<'_>| row.text.is_empty() && row.start.is_some();
    let differ = |place: fn(&Row<'_>) -> Option<usize>| {
        let mut places = run.iter().filter_map(place);
        let first = places.next();
        places.any(|place| Some(place) != first)
    };
    run.iter().any(is_bare) || differ(|row| row.indent()) && differ(|row| row.column())
}

impl<'a> Row<'a> {
    fn parse(index: usize, line: &'a str) -> Option<Self> {
        if !matches!(line.as_bytes().first(), Some(b' ' | b'0'..=b'9')) {
            return None;
        }
        let digits = line.trim_start_matches(' ');
        let padding = line.len() - digits.len();
        let end = digits.bytes().take_while(u8::is_ascii_digit).count();
        // No row begins with a zero: neither the first line nor any padding is one.
        if digits.starts_with('0') {
            return None;
        }
        let number = digits[..end].parse().ok()?;
        let rest = &digits[end..];
        let row = |form, text: &'a str, start| Self {
            index,
            number,
            form,
            text,
            start,
        };
        let start = line.len() - rest.len() + 2;
        if padding == 0
            && let Some(text) = rest.strip_prefix(": ")
        {
            return Some(row(Numbered::Read, text, Some(start)));
        }
        if padding == 0 && rest == ":" {
            return Some(row(Numbered::Read, "", None));
        }
        let wide = padding + end == 6 || padding == 0 && end > 6;
        let text = rest.strip_prefix("  ")?;
        wide.then(|| row(Numbered::View, text, Some(start)))
    }

    /// Returns whether another row goes on where this one ends.
    fn is_before(&self, next: &Self) -> bool {
        self.index + 1 == next.index
            && self.number.checked_add(1) == Some(next.number)
            && self.form == next.form
    }

    /// Returns whether this is what the row of that number shows of a text.
    fn is_of(&self, lines: &[&str]) -> bool {
        let index = usize::try_from(self.number - 1).ok();
        let line = index.and_then(|index| lines.get(index));
        !self.text.trim().is_empty() && line == Some(&self.text)
    }

    /// Returns how far the text is indented, unless there is none.
    fn indent(&self) -> Option<usize> {
        let text = self.text.trim_start();
        (!text.is_empty()).then(|| self.text.len() - text.len())
    }

    /// Returns where in the line the text begins, unless there is none.
    fn column(&self) -> Option<usize> {
        Some(self.start? + self.indent()?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(text: &str) -> Vec<Trace> {
        traces(text).into_iter().map(|found| found.trace).collect()
    }

    #[test]
    fn each_kind_is_told() {
        let cases = [
            (
                "<file path=\"/a \\\"b\\\".rs\" mark=\"0123456789abcdef\">",
                Trace::Envelope,
            ),
            ("  </file mark=\"0123456789abcdef\">\r", Trace::Envelope),
            ("(end of file: 12 lines)", Trace::Footer),
            (
                "(lines 1-2000 of 3000; continue with offset 2001)",
                Trace::Footer,
            ),
            ("(empty file: 0 bytes, 0 lines)", Trace::Footer),
            (
                "[clipped at 16000 characters; use view_range to see the rest]",
                Trace::Clipping,
            ),
            ("[clipped: 10 of 20 characters shown]", Trace::Clipping),
            ("abc … [17 bytes of this line not shown]", Trace::Clipping),
            ("// ... existing code ...", Trace::Elision),
            ("    # … existing code", Trace::Elision),
            ("<!-- rest of the file unchanged -->", Trace::Elision),
            ("/* ... */ // rest unchanged", Trace::Elision),
            ("-- remaining columns unchanged", Trace::Elision),
            ("// The rest of the function stays the same", Trace::Elision),
            ("...unchanged...", Trace::Elision),
            ("// ... other methods unchanged", Trace::Elision),
        ];
        for (line, trace) in cases {
            assert_eq!(kinds(&format!("a\n{line}\nb\n")), [trace], "{line}");
        }
    }

    #[test]
    fn content_that_only_resembles_a_trace_is_none() {
        for line in [
            "<file path=\"a\">",
            "</file>",
            "</file mark=\"short\">",
            "(end of file)",
            "(see lines 1-2 of 3)",
            "...",
            "// ...",
            "pass  # ...",
            "let x = existing_code();",
            "The rest is unchanged.",
            "// existing code is slow, so this caches it",
            "# keep the same",
            "# Rest of the file",
            "- the rest is unchanged",
            "// existing behaviour unchanged",
            "other => unchanged()",
            "- [ ] keep the API the same across versions of every client that anybody has ever written",
            "1: one",
            "2026: a year",
            "     7 seven",
        ] {
            assert_eq!(kinds(line), [], "{line}");
        }
    }

    #[test]
    fn a_column_of_padded_numbers_is_no_gutter() {
        assert!(kinds("00000001  one\n00000002  two\n00000003  three\n").is_empty());
        assert!(kinds("01: one\n02: two\n03: three\n04: four\n").is_empty());
    }

    #[test]
    fn a_gutter_is_several_rows_or_one_that_the_file_had() {
        assert_eq!(kinds("7: a\n8:   b\n9: c\n"), [Trace::Gutter; 3]);
        assert_eq!(kinds("7: a\n8: \n9: c\n"), [Trace::Gutter; 3]);
        assert_eq!(kinds("7: a\n8:   b\n"), []);
        assert_eq!(kinds("     7  a\n     8  b\n"), [Trace::Gutter; 2]);
        assert_eq!(kinds("1: a\n3: b\n5: c\n"), []);
        let found = new_traces("one\ntwo\n", "one\n2: two\n");
        let expected = FoundTrace {
            line: 2,
            trace: Trace::Gutter,
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn keys_that_are_numbers_are_content() {
        for text in [
            "7: a\n8: b\n9: c\n",
            "200: OK\n201: Created\n202: Accepted\n",
            "8: August\n9: September\n10: October\n11: November\n",
            "8:  August\n9:  September\n10: October\n",
            "1:\n2:\n3:\n",
            "1:\n  a: b\n2:\n  a: c\n3:\n  a: d\n",
            "  1: {},\n  2: {},\n  3: {}\n",
            "1000001  Alice\n1000002  Bob\n",
            "1700000000  start\n1700000001  ok\n",
            "100001  x\n100002  y\n",
        ] {
            assert_eq!(kinds(text), [], "{text}");
            let before = "months:\n  - a\n  - b\n\nzero: 0\n";
            assert_eq!(new_traces(before, &format!("{before}{text}")), [], "{text}");
        }
    }

    #[test]
    fn a_row_of_another_text_is_told_beside_that_text() {
        let rows = "1: one\n2: two\n";
        assert_eq!(new_traces("", rows), []);
        assert_eq!(
            new_traces_of("", rows, &["two\none\n", "x\ntwo\n"]).len(),
            1
        );
        assert_eq!(new_traces_of("", rows, &["one\ntwo\n"]).len(), 2);
    }

    #[test]
    fn a_row_of_a_first_line_behind_a_byte_order_mark_is_told() {
        let before = "\u{feff}one two\nb\n";
        for row in ["1: one two", "     1  one two"] {
            let after = format!("\u{feff}x\n{row}\nb\n");
            assert_eq!(new_traces(before, &after).len(), 1, "{row}");
        }
    }

    #[test]
    fn rows_that_were_there_make_no_gutter_of_the_next_one() {
        let before = "1: a\n2: \n3:   b\n";
        assert_eq!(new_traces(before, &format!("{before}4: c\n")), []);
    }

    #[test]
    fn what_was_there_is_not_new_and_a_second_copy_is() {
        let line = "// ... existing code ...\n";
        let before = format!("a\n{line}b\n");
        assert_eq!(new_traces(&before, &format!("{line}c\n")), []);
        assert_eq!(new_traces(&before, &format!("{line}{line}")).len(), 1);
    }

    /// Lines of which many carry a trace.
    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-c: ]{0,6}",
            "[1-9]: [a-c]",
            "     [1-9]  [a-c]",
            Just("// ... existing code ...".to_owned()),
            Just("(end of file: 3 lines)".to_owned()),
            Just("</file mark=\"0123456789abcdef\">".to_owned()),
            Just("[clipped: 1 of 2 characters shown]".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn what_does_not_stand_out_is_no_trace(
            before in "[ \t\u{b}\u{a0}\u{85}]{0,3}",
            line in prop_oneof![line(), "\\PC{0,12}", "(#|--|/\\*|;|\\(\\*)? ?(\\.\\.\\.|…)? ?rest of code"],
            after in "[ \r\t\u{b}\u{a0}]{0,3}",
        ) {
            let line = format!("{before}{line}{after}");
            let found = trace_of(&line).is_some() || Row::parse(0, &line).is_some();
            prop_assert!(stands_out(&line, true) || !found, "{line:?}");
            let text = format!("x\n{line}\r\ny");
            let told = lines(&text).any(|line| trace_of(line).is_some() || Row::parse(0, line).is_some());
            prop_assert_eq!(may_carry(&text), told);
            let same: Vec<_> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
            prop_assert_eq!(lines(&text).collect::<Vec<_>>(), same);
        }

        #[test]
        fn lines_that_were_there_never_count(
            mut lines in prop::collection::vec(line(), 0..12),
            keep in prop::collection::vec(any::<bool>(), 12),
            plain in prop::collection::vec("[x-z]{1,4}", 0..4),
            turn in 0usize..12,
        ) {
            let before = lines.join("\n");
            // Lines go, move and mix with plain ones.
            let mut kept = keep.iter();
            lines.retain(|_| *kept.next().unwrap());
            if !lines.is_empty() {
                let by = turn % lines.len();
                lines.rotate_left(by);
            }
            lines.extend(plain);
            prop_assert_eq!(new_traces(&before, &lines.join("\n")), vec![]);
        }

        #[test]
        fn a_trace_that_is_added_is_found_at_its_line(
            lines in prop::collection::vec("[x-z]{0,4}", 0..8),
            at in 0usize..8,
        ) {
            let before = lines.join("\n");
            let at = at.min(lines.len());
            let mut after = lines;
            after.insert(at, "# ... rest of file unchanged ...".to_owned());
            let found = new_traces(&before, &after.join("\n"));
            prop_assert_eq!(found, vec![FoundTrace { line: at as u64 + 1, trace: Trace::Elision }]);
        }

        #[test]
        fn numbers_that_no_tool_put_there_are_content(
            before in prop::collection::vec("[x-z ]{0,6}", 0..12),
            first in 1u64..2000,
            values in prop::collection::vec("[a-w][a-w ]{0,5}", 0..12),
            blanks in 0usize..4,
            in_one_column in any::<bool>(),
            view in any::<bool>(),
        ) {
            let width = (first + 12).to_string().len() + 1 + blanks;
            let rows = values.iter().zip(first..).map(|(value, number)| {
                let blanks = " ".repeat(blanks);
                match (view, in_one_column) {
                    // One column short of, or one beyond, that of `view`.
                    (true, narrow) => format!("{number:>0$}  {value}", if narrow { 5 } else { 7 }),
                    (false, true) => format!("{:<width$} {value}", format!("{number}:")),
                    (false, false) => format!("{number}: {blanks}{value}"),
                }
            });
            let rows: Vec<String> = rows.collect();
            let after = [before.clone(), rows].concat().join("\n");
            prop_assert_eq!(new_traces(&before.join("\n"), &after), vec![]);
            prop_assert_eq!(traces(&after), vec![]);
        }

        #[test]
        fn any_window_that_is_pasted_is_found(
            lines in prop::collection::vec("[ a-c{}:0-9]{0,8}", 1..30),
            from in any::<prop::sample::Index>(),
            length in 1usize..30,
            at in any::<prop::sample::Index>(),
            replacing in any::<bool>(),
            view in any::<bool>(),
        ) {
            let from = from.index(lines.len());
            let to = (from + length).min(lines.len());
            let window: Vec<String> = (from..to)
                .map(|index| match view {
                    true => format!("{:>6}  {}", index + 1, lines[index]),
                    false => format!("{}: {}", index + 1, lines[index]),
                })
                .collect();
            // Blank rows alone say nothing, and a row that the file has is no new one.
            let tells = |index: usize| !lines[index].trim().is_empty();
            prop_assume!((from..to).any(tells));
            prop_assume!(!window.iter().any(|row| lines.contains(row)));
            let at = at.index(lines.len());
            let mut after = lines.clone();
            after.splice(at..at + usize::from(replacing), window);
            let found = new_traces(&lines.join("\n"), &after.join("\n"));
            prop_assert!(!found.is_empty());
            prop_assert!(found.iter().all(|found| found.trace == Trace::Gutter));
            prop_assert!(may_carry(&after.join("\n")));
        }

        #[test]
        fn any_text_can_be_judged(before in ".{0,200}", after in "(.|\n){0,200}") {
            let _ = new_traces(&before, &after);
        }
    }
}
