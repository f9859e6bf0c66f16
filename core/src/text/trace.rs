//! Traces: text that a tool adds around a file's own, and that a model may paste into one.
//!
//! The envelope and footer of a `read`, a clipping notice and a gutter of line numbers are no
//! content; nor is a line that stands for lines which its author did not want to repeat. A write
//! that carries one of them for the first time is nearly always a mistake, and what it stood for
//! is lost.

use std::collections::HashMap;
use std::fmt;

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

/// Returns every trace in a text, in the order of its lines; at most one a line.
pub fn traces(text: &str) -> Vec<FoundTrace> {
    new_traces("", text)
}

/// Returns the traces in a text that were not in the one before it, in the order of its lines.
///
/// A line counts as often as it occurs: a second copy of a trace that the file has is new, and
/// whatever was there before, wherever it moved, is not.
pub fn new_traces(before: &str, after: &str) -> Vec<FoundTrace> {
    let lines: Vec<&str> = lines(after).collect();
    let gutter = gutter(&lines, before);
    let carrying = lines.iter().enumerate().filter_map(|(index, line)| {
        let trace = trace_of(line).or_else(|| {
            let numbered = gutter.get(index).copied().unwrap_or_default();
            numbered.then_some(Trace::Gutter)
        })?;
        Some((index, *line, trace))
    });
    let mut carrying = carrying.peekable();
    // Nearly every text carries none, and then the one before it need not be looked at.
    if carrying.peek().is_none() {
        return Vec::new();
    }
    let mut known = HashMap::<&str, usize>::new();
    for line in self::lines(before) {
        *known.entry(line).or_default() += 1;
    }
    let mut is_new = |line: &str| match known.get_mut(line) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    carrying
        .filter(|(_, line, _)| is_new(line))
        .map(|(index, _, trace)| FoundTrace {
            line: index as u64 + 1,
            trace,
        })
        .collect()
}

/// Splits on LF; a CR before it is no part of the line.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
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
    line.strip_suffix(" bytes of this line not shown]")
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
    let dotted = line.contains("...") || line.contains('…');
    // Prose may say that something is unchanged; in a comment it is a placeholder.
    let comment = ["//", "#", "--", "/*", "<!--", ";", "%", "{/*", "(*"]
        .iter()
        .any(|mark| line.starts_with(mark));
    if !dotted && !comment {
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
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbered {
    /// `12: text`, as `read` shows it.
    Read,
    /// `    12  text`, as `view` shows it.
    View,
}

/// Tells for each line whether it is of a gutter; nothing when no line begins with a number.
///
/// A row with a number may well be content, such as a list. It is of a gutter when its text is
/// what the file before had at that line, or when it is one of several rows that count up by one:
/// three as `read` shows them, two in the columns of `view`.
fn gutter(lines: &[&str], before: &str) -> Vec<bool> {
    if !lines.iter().any(|line| row(line).is_some()) {
        return Vec::new();
    }
    let numbered: Vec<Option<(u64, Numbered, &str)>> = lines.iter().map(|line| row(line)).collect();
    let mut of = vec![false; lines.len()];
    let old: Vec<&str> = self::lines(before).collect();
    let mut start = 0;
    while start < lines.len() {
        let Some((first, form, _)) = numbered[start] else {
            start += 1;
            continue;
        };
        let length = (0..)
            .take_while(|step| {
                let expected = first.checked_add(*step as u64);
                numbered.get(start + step).is_some_and(|row| {
                    row.is_some_and(|(number, other, _)| Some(number) == expected && other == form)
                })
            })
            .count();
        let several = length >= if form == Numbered::Read { 3 } else { 2 };
        for index in start..start + length {
            let proven = numbered[index].is_some_and(|(number, _, text)| {
                let at = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
                let had = at.and_then(|at| old.get(at));
                !text.trim().is_empty() && had == Some(&text)
            });
            of[index] = several || proven;
        }
        start += length.max(1);
    }
    of
}

fn row(line: &str) -> Option<(u64, Numbered, &str)> {
    let digits = line.trim_start_matches(' ');
    let indent = line.len() - digits.len();
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    // No row begins with a zero: neither the first line nor any padding is one.
    let number = digits[..end]
        .parse()
        .ok()
        .filter(|_| !digits.starts_with('0'))?;
    let rest = &digits[end..];
    if indent == 0
        && let Some(text) = rest.strip_prefix(": ").or((rest == ":").then_some(""))
    {
        return Some((number, Numbered::Read, text));
    }
    let wide = indent + end == 6 || indent == 0 && end > 6;
    let text = rest.strip_prefix("  ")?;
    wide.then_some((number, Numbered::View, text))
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
        assert_eq!(kinds("7: a\n8: b\n9: c\n"), [Trace::Gutter; 3]);
        assert_eq!(kinds("7: a\n8: b\n"), []);
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
        fn any_text_can_be_judged(before in ".{0,200}", after in "(.|\n){0,200}") {
            let _ = new_traces(&before, &after);
        }
    }
}
