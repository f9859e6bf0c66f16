//! Explaining why a text was not found: what stands there instead. Nothing is applied.

use std::collections::HashMap;

use memchr::{memchr, memchr_iter, memmem, memrchr};

use super::decode::Text;
use super::lines::{LineCursor, LineRange, rows, without_one_cr};
use super::matcher::Pattern;
use super::quote::{quote, truncate, visible};

mod lookalike;
mod nearest;
mod without_blanks;

/// How much of a file is searched for texts that match only after a transformation.
const SCANNED: usize = 4 << 20;
/// The most characters of a line that a message quotes.
const QUOTED: usize = 160;
/// The most bytes of a message.
const MESSAGE: usize = 2048;
/// The most rows of the given text that are compared with the file's.
const COMPARED_ROWS: usize = 400;

/// Why a text was not found, in one message that states facts and advises nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The kind of the miss.
    pub kind: DiagnosisKind,
    /// What is there instead; at most 2 KiB.
    pub message: String,
    /// The lines the message speaks of.
    pub lines: Option<LineRange>,
}

/// The kinds of a miss, in the order they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiagnosisKind {
    /// The given text carries the line numbers that a listing shows.
    LineNumbers,
    /// The new text is already in the file.
    AlreadyThere,
    /// Only blanks and line ends differ.
    Whitespace,
    /// Characters differ that look alike.
    LookAlikes,
    /// Only upper and lower case differ.
    LetterCase,
    /// One side is escaped where the other is not.
    Escaping,
    /// Some lines are close.
    Nearest,
    /// Nothing is close.
    NothingSimilar,
}

/// Explains why `old` does not occur in a text that was to get `new` in its place.
pub fn diagnose(text: &Text<'_>, old: &str, new: &str) -> Diagnosis {
    let case = Case {
        text,
        body: text.body(),
        scanned: truncate(text.body(), SCANNED),
        old,
        new,
    };
    let mut found = case
        .line_numbers()
        .or_else(|| case.already_there())
        .or_else(|| case.whitespace())
        .or_else(|| case.look_alikes())
        .or_else(|| case.letter_case())
        .or_else(|| case.escaping())
        .or_else(|| case.nearest())
        .unwrap_or_else(|| case.nothing_similar());
    if found.message.len() > MESSAGE {
        found.message = truncate(&found.message, MESSAGE).to_owned();
    }
    found
}

struct Case<'a> {
    text: &'a Text<'a>,
    body: &'a str,
    scanned: &'a str,
    old: &'a str,
    new: &'a str,
}

/// A row of the given text and the line of the file it differs from.
struct Difference<'a> {
    line: u64,
    file: &'a str,
    given: &'a str,
}

impl<'a> Case<'a> {
    fn line_numbers(&self) -> Option<Diagnosis> {
        let (stripped, sample) = without_line_numbers(self.old)?;
        let lines = self
            .lines_of(&stripped)
            .or_else(|| self.lines_of(stripped.strip_suffix('\n')?))?;
        let message = format!(
            "the given text carries line numbers, such as {}, that are not in the file; without them it is {}",
            quote(sample, 20),
            at(lines)
        );
        Some(Diagnosis {
            kind: DiagnosisKind::LineNumbers,
            message,
            lines: Some(lines),
        })
    }

    fn already_there(&self) -> Option<Diagnosis> {
        if self.old.contains(self.new) {
            // An edit that only takes away always leaves something that was there.
            return None;
        }
        let lines = self.lines_of(self.new)?;
        // A short text may stand anywhere by chance, unless it makes up whole lines.
        let telling = self.new.trim().chars().count() >= 8
            || !self.new.trim().is_empty()
                && self
                    .differences(lines.start, self.new, true)
                    .next()
                    .is_none();
        telling.then(|| Diagnosis {
            kind: DiagnosisKind::AlreadyThere,
            message: format!(
                "the given text is not in the file; the new text is already there, {}",
                at(lines)
            ),
            lines: Some(lines),
        })
    }

    fn whitespace(&self) -> Option<Diagnosis> {
        if self.old.trim().is_empty() {
            return None;
        }
        let range = without_blanks::find(self.scanned.as_bytes(), self.old.as_bytes())?;
        let mut cursor = LineCursor::new(self.scanned.as_bytes());
        let lines = LineRange {
            start: cursor.line_of(range.start),
            end: cursor.line_of(range.end - 1),
        };
        let leading = self
            .old
            .split(|character: char| !character.is_ascii_whitespace())
            .next()
            .unwrap_or("");
        let blank_rows = leading.matches('\n').count() as u64;
        let difference = self
            .differences(
                lines.start.saturating_sub(blank_rows).max(1),
                self.old,
                false,
            )
            .next();
        let detail = match difference {
            Some(difference) => format!(
                "line {} of the file is {} where the given text has {} (· space, → tab, ␍ carriage return)",
                difference.line,
                visible(difference.file, QUOTED),
                visible(difference.given, QUOTED),
            ),
            None if self.old.ends_with('\r') && self.scanned.contains("\r\n") => {
                "the given text ends within a line ending, between its carriage return (␍) and its \
                 line feed; end it before the one or after the other"
                    .to_owned()
            }
            None if self.old.contains('\r') => {
                "the given text has carriage returns (␍) where the file has none".to_owned()
            }
            None => "their line ends differ".to_owned(),
        };
        let message = format!(
            "the given text is in the file {} except for whitespace: {detail}",
            at(lines)
        );
        Some(Diagnosis {
            kind: DiagnosisKind::Whitespace,
            message,
            lines: Some(lines),
        })
    }

    fn look_alikes(&self) -> Option<Diagnosis> {
        if self.scanned.is_ascii() && self.old.is_ascii() {
            return None;
        }
        let lines = locate(&lookalike::fold(self.scanned), &lookalike::fold(self.old))?;
        let names = lookalike::differing(self.block(lines), self.old);
        let message = format!(
            "the given text is in the file {} except for characters that look alike: {names}",
            at(lines)
        );
        Some(Diagnosis {
            kind: DiagnosisKind::LookAlikes,
            message,
            lines: Some(lines),
        })
    }

    fn letter_case(&self) -> Option<Diagnosis> {
        let lines = locate(&lowered(self.scanned), &lowered(self.old))?;
        let message = format!(
            "the given text is in the file {} except for upper and lower case{}",
            at(lines),
            self.shown_difference(lines.start, "; ")
        );
        Some(Diagnosis {
            kind: DiagnosisKind::LetterCase,
            message,
            lines: Some(lines),
        })
    }

    fn escaping(&self) -> Option<Diagnosis> {
        for (rewritten, what) in escapings(self.old) {
            if let Some(lines) = self.lines_of(&rewritten) {
                let message = format!("{what}; apart from that it is {}", at(lines));
                return Some(Diagnosis {
                    kind: DiagnosisKind::Escaping,
                    message,
                    lines: Some(lines),
                });
            }
        }
        None
    }

    fn nearest(&self) -> Option<Diagnosis> {
        let given: Vec<&str> = given_rows(self.old).take(COMPARED_ROWS).collect();
        let total = memchr_iter(b'\n', self.body.as_bytes()).count() as u64
            + u64::from(!self.body.is_empty() && !self.body.ends_with('\n'));
        let start =
            nearest::block(self.scanned, &given).or_else(|| nearest::line(self.body, &given))?;
        let count = given_rows(self.old).count() as u64;
        let lines = LineRange {
            start,
            end: (start + count.max(1) - 1).min(total).max(start),
        };
        let message = format!(
            "the given text is not in the file; the nearest text is {}{}",
            at(lines),
            self.shown_difference(lines.start, ", where ")
        );
        Some(Diagnosis {
            kind: DiagnosisKind::Nearest,
            message,
            lines: Some(lines),
        })
    }

    fn nothing_similar(&self) -> Diagnosis {
        let message = if self.body.is_empty() {
            "the given text is not in the file; the file is empty".to_owned()
        } else {
            "the given text is not in the file, and no line of the file is similar".to_owned()
        };
        Diagnosis {
            kind: DiagnosisKind::NothingSimilar,
            message,
            lines: None,
        }
    }

    fn lines_of(&self, wanted: &str) -> Option<LineRange> {
        let found = Pattern::new(wanted).find_all_overlapping(self.text, 1);
        let (range, &start) = (found.first.first()?, found.lines.first()?);
        let last = range.end.checked_sub(1)?.max(range.start);
        let inside = &self.text.bytes()[range.start..last];
        Some(LineRange {
            start,
            end: start + memchr_iter(b'\n', inside).count() as u64,
        })
    }

    fn shown_difference(&self, start: u64, lead: &str) -> String {
        self.differences(start, self.old, false)
            .next()
            .map_or_else(String::new, |difference| {
                let (line, file, given) = (difference.line, difference.file, difference.given);
                let (file, given) = around_difference(file, given);
                format!("{lead}line {line} of the file is {file} and the given text has {given}")
            })
    }

    /// Compares the rows of a given text with the file's lines from `start` on. Its first
    /// and last row may be parts of a line, unless `whole`.
    fn differences<'t>(
        &self,
        start: u64,
        given: &'t str,
        whole: bool,
    ) -> impl Iterator<Item = Difference<'t>>
    where
        'a: 't,
    {
        let count = given_rows(given).count();
        let from = line_start(self.body, start);
        let mut file = self.body[from..].split('\n').map(without_one_cr);
        given_rows(given)
            .take(COMPARED_ROWS)
            .enumerate()
            .filter_map(move |(row, given)| {
                let file = file.next().unwrap_or("");
                let same = match (row == 0, row + 1 == count) {
                    _ if whole => file == given,
                    (true, true) => file.contains(given),
                    (true, false) => file.ends_with(given),
                    (false, true) => file.starts_with(given),
                    (false, false) => file == given,
                };
                (!same).then_some(Difference {
                    line: start + row as u64,
                    file,
                    given,
                })
            })
    }

    fn block(&self, lines: LineRange) -> &'a str {
        let from = line_start(self.body, lines.start);
        let to = line_start(self.body, lines.end + 1);
        &self.body[from..to.max(from)]
    }
}

fn at(lines: LineRange) -> String {
    match lines {
        LineRange { start, end } if start == end => format!("at line {start}"),
        LineRange { start, end } => format!("at lines {start}–{end}"),
    }
}

/// Returns the rows of a given text; one final newline ends the last instead of adding one.
fn given_rows(text: &str) -> impl Iterator<Item = &str> {
    rows(text.strip_suffix('\n').unwrap_or(text))
}

fn line_start(body: &str, line: u64) -> usize {
    match usize::try_from(line).unwrap_or(usize::MAX).checked_sub(2) {
        None => 0,
        Some(before) => memchr_iter(b'\n', body.as_bytes())
            .nth(before)
            .map_or(body.len(), |feed| feed + 1),
    }
}

/// Lowers the case of a text and its CRLFs to line feeds; no line is moved.
fn lowered(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for_each_run(text, |run| match run {
        Run::Ascii(run) => {
            let start = out.len();
            push_unified(&mut out, run);
            out[start..].make_ascii_lowercase();
        }
        Run::Wide(character) => out.extend(character.to_lowercase()),
    });
    out
}

/// A part of a text: most of most texts is ASCII, and that is handled in one go.
enum Run<'a> {
    Ascii(&'a str),
    Wide(char),
}

fn for_each_run<'a>(text: &'a str, mut visit: impl FnMut(Run<'a>)) {
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest
            .bytes()
            .position(|byte| !byte.is_ascii())
            .unwrap_or(rest.len());
        if ascii > 0 {
            visit(Run::Ascii(&rest[..ascii]));
        }
        let mut characters = rest[ascii..].chars();
        if let Some(character) = characters.next() {
            visit(Run::Wide(character));
        }
        rest = characters.as_str();
    }
}

/// Appends ASCII text with its CRLFs as line feeds.
fn push_unified(out: &mut String, ascii: &str) {
    let mut pieces = ascii.split("\r\n");
    out.push_str(pieces.next().unwrap_or(""));
    for piece in pieces {
        out.push('\n');
        out.push_str(piece);
    }
}

/// Finds a needle in a text that was folded without moving a line, and tells its lines.
fn locate(folded: &str, needle: &str) -> Option<LineRange> {
    if needle.trim().is_empty() {
        return None;
    }
    let found = memmem::find(folded.as_bytes(), needle.as_bytes())?;
    let mut cursor = LineCursor::new(folded.as_bytes());
    Some(LineRange {
        start: cursor.line_of(found),
        end: cursor.line_of(found + needle.len() - 1),
    })
}

/// Quotes two lines from shortly before the first character in which they differ.
fn around_difference(file: &str, given: &str) -> (String, String) {
    let shared = file
        .chars()
        .zip(given.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let skipped = if shared > QUOTED / 2 {
        shared - QUOTED / 4
    } else {
        0
    };
    let from = |text: &str| {
        let at = text
            .char_indices()
            .nth(skipped)
            .map_or(text.len(), |(at, _)| at);
        let lead = if skipped > 0 { "…" } else { "" };
        format!("{lead}{}", quote(&text[at..], QUOTED))
    };
    (from(file), from(given))
}

/// Removes the line numbers of a listing, when every row has one; returns a sample, too.
fn without_line_numbers(old: &str) -> Option<(String, &str)> {
    let mut sample = None;
    let mut expected = None;
    let mut stripped = Vec::new();
    let mut all = old.split('\n').peekable();
    while let Some(row) = all.next() {
        if row.is_empty() && all.peek().is_none() && sample.is_some() {
            stripped.push("");
            break;
        }
        let (number, prefix) = line_number(row)?;
        if expected.is_some_and(|expected| expected != number) {
            return None;
        }
        expected = number.checked_add(1);
        sample.get_or_insert(&row[..prefix]);
        stripped.push(&row[prefix..]);
    }
    Some((stripped.join("\n"), sample?))
}

/// Returns the line number a row starts with and the length of that prefix.
fn line_number(row: &str) -> Option<(u64, usize)> {
    let indent = row.len() - row.trim_start_matches(' ').len();
    let digits = row[indent..].bytes().take_while(u8::is_ascii_digit).count();
    let number = row[indent..indent + digits].parse().ok()?;
    let rest = &row[indent + digits..];
    let separator = [": ", "  ", "\t", "→", "| ", ":"]
        .into_iter()
        .find(|separator| rest.starts_with(separator) && (*separator != ":" || rest.len() == 1))?;
    Some((number, indent + digits + separator.len()))
}

/// Rewrites of a given text that undo or add escapes, with what each would mean.
fn escapings(old: &str) -> impl Iterator<Item = (String, &'static str)> {
    let rewrites: [(String, &'static str); 7] = [
        (
            unescaped(old, true),
            "the given text is escaped (such as \\n, \\t, \\\" or \\\\) where the file has the characters themselves",
        ),
        (
            unescaped(old, false),
            "the given text has a backslash before quotes (\\\" or \\') where the file has none",
        ),
        (
            old.replace("\\\\", "\\"),
            "the given text has two backslashes where the file has one",
        ),
        (
            old.replace('\\', "\\\\"),
            "the file has two backslashes where the given text has one",
        ),
        (
            old.replace('"', "\\\""),
            "the file has a backslash before double quotes where the given text has none",
        ),
        (
            old.replace('\n', "\\n").replace('\t', "\\t"),
            "the file has \\n or \\t as two characters where the given text has the character itself",
        ),
        (
            without_entities(old),
            "the given text has character entities (such as &lt; or &amp;) where the file has the characters themselves",
        ),
    ];
    rewrites
        .into_iter()
        .filter(move |(rewritten, _)| rewritten != old)
}

fn unescaped(text: &str, controls: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let meant = match (character, characters.peek()) {
            ('\\', Some('n')) if controls => '\n',
            ('\\', Some('t')) if controls => '\t',
            ('\\', Some('r')) if controls => '\r',
            ('\\', Some('\\')) if controls => '\\',
            ('\\', Some('/')) if controls => '/',
            ('\\', Some('"')) => '"',
            ('\\', Some('\'')) => '\'',
            _ => {
                out.push(character);
                continue;
            }
        };
        characters.next();
        out.push(meant);
    }
    out
}

fn without_entities(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(text.to_owned(), |text, (entity, character)| {
            text.replace(entity, character)
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::text;

    fn check(file: &str, old: &str, new: &str) -> (DiagnosisKind, Option<(u64, u64)>, String) {
        let text = Text::decode(file.as_bytes()).unwrap();
        assert_eq!(
            Pattern::new(old).find_all_overlapping(&text, 1).count,
            0,
            "must be a miss"
        );
        let found = diagnose(&text, old, new);
        (
            found.kind,
            found.lines.map(|lines| (lines.start, lines.end)),
            found.message,
        )
    }

    #[test]
    fn pasted_line_numbers() {
        let file = "fn a() {\n    b();\n}\n";
        for old in [
            "1: fn a() {\n2:     b();",
            "     1  fn a() {\n     2      b();",
            "1\tfn a() {\n2\t    b();\n",
            "     1→fn a() {\n     2→    b();",
        ] {
            let (kind, lines, message) = check(file, old, "");
            assert_eq!(
                (kind, lines),
                (DiagnosisKind::LineNumbers, Some((1, 2))),
                "{old:?}: {message}"
            );
        }
        assert_ne!(
            check(file, "1: fn a() {\n3:     b();", "").0,
            DiagnosisKind::LineNumbers
        );
    }

    #[test]
    fn the_new_text_is_already_there() {
        let (kind, lines, message) = check("one\nlet q = 21;\n", "let q = 20;", "let q = 21;");
        assert_eq!((kind, lines), (DiagnosisKind::AlreadyThere, Some((2, 2))));
        assert!(message.contains("at line 2"), "{message}");
        assert_eq!(check("a\nx\n", "zz", "x").0, DiagnosisKind::AlreadyThere);
        assert_ne!(check("a\nxy\n", "zz", "x").0, DiagnosisKind::AlreadyThere);
        let (kind, ..) = check(
            "let a = 1;\n\tdrop(a);\n",
            "let a = 1;\n    drop(a);",
            "let a = 1;",
        );
        assert_eq!(kind, DiagnosisKind::Whitespace);
    }

    #[test]
    fn whitespace_is_made_visible() {
        let (kind, lines, message) = check("a {\n\tlet x;\n}\n", "a {\n    let x;\n}", "n");
        assert_eq!((kind, lines), (DiagnosisKind::Whitespace, Some((1, 3))));
        assert!(
            message.contains("→let·x;") && message.contains("····let·x;"),
            "{message}"
        );
        let (kind, _, message) = check("a\nb\n", "a  \nb", "n");
        assert_eq!(kind, DiagnosisKind::Whitespace);
        assert!(message.contains("a··"), "{message}");
        let (kind, _, message) = check("a\nb\n", "a\r\nb", "n");
        assert_eq!(kind, DiagnosisKind::Whitespace);
        assert!(message.contains("carriage returns"), "{message}");
        let (kind, _, message) = check("a\r\nb\r\n", "a\r\nb\r", "n");
        assert_eq!(kind, DiagnosisKind::Whitespace);
        assert!(message.contains("ends within a line ending"), "{message}");
        assert_ne!(check("210\n", "1 0", "n").0, DiagnosisKind::Whitespace);
    }

    #[test]
    fn b077_look_alikes_are_named() {
        let (kind, lines, message) = check("It’s “fine”\n", "It's \"fine\"", "It is");
        assert_eq!((kind, lines), (DiagnosisKind::LookAlikes, Some((1, 1))));
        assert!(
            message.contains("U+2019") && message.contains("U+0027"),
            "{message}"
        );
        assert_eq!(
            check("a\u{a0}b c\n", "a b c", "n").0,
            DiagnosisKind::LookAlikes
        );
        assert_eq!(
            check("caf\u{e9} au\n", "cafe\u{301} au", "n").0,
            DiagnosisKind::LookAlikes
        );
        assert_eq!(
            check("wait… – ok\n", "wait... - ok", "n").0,
            DiagnosisKind::LookAlikes
        );
        assert_eq!(
            check(
                "한글\n",
                "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}",
                "n"
            )
            .0,
            DiagnosisKind::LookAlikes
        );
    }

    #[test]
    fn letter_case() {
        let (kind, lines, message) = check("a\r\nFooBar = 1\r\n", "a\nfoobar = 1", "n");
        assert_eq!((kind, lines), (DiagnosisKind::LetterCase, Some((1, 2))));
        assert!(message.contains("\"FooBar = 1\""), "{message}");
    }

    #[test]
    fn escaping() {
        let kind = |file, old| check(file, old, "n").0;
        assert_eq!(
            kind("say(\"a\")\nb\n", "say(\\\"a\\\")"),
            DiagnosisKind::Escaping
        );
        assert_eq!(
            kind("one = 1\ntwo = 2\n", "one = 1\\ntwo = 2"),
            DiagnosisKind::Escaping
        );
        assert_eq!(kind("p(\"x\\n\")", "p(\"x\n\")"), DiagnosisKind::Escaping);
        assert_eq!(
            kind("a < b && c\n", "a &lt; b &amp;&amp; c"),
            DiagnosisKind::Escaping
        );
    }

    #[test]
    fn b071_the_differing_line_is_pointed_at() {
        let file = "fn f() {\n\tlet p = 10;\n\tlet q = 20;\n\tlet r = 30;\n\tg();\n}\n";
        let (kind, lines, message) =
            check(file, &file.replace("20", "21"), "fn f() {\n\tg();\n}\n");
        assert_eq!((kind, lines), (DiagnosisKind::Nearest, Some((1, 6))));
        assert!(
            message.contains("line 3")
                && message.contains("q = 20;")
                && message.contains("q = 21;"),
            "{message}"
        );
    }

    #[test]
    fn a_single_line_finds_its_nearest() {
        let (kind, lines, _) = check(
            "use a;\nlet total = compute(items);\n",
            "let total = compute(item, 3);",
            "n",
        );
        assert_eq!((kind, lines), (DiagnosisKind::Nearest, Some((2, 2))));
        assert_eq!(
            check("a\n", "completely different", "n").0,
            DiagnosisKind::NothingSimilar
        );
        assert_eq!(check("", "x", "y").0, DiagnosisKind::NothingSimilar);
    }

    #[test]
    fn a_message_is_bounded() {
        let file = format!("{}x{}\n", "한".repeat(5000), "\u{1}".repeat(5000));
        let (_, _, message) = check(&file, &file.replace('x', "y"), "n");
        assert!(message.len() <= MESSAGE, "{}", message.len());
    }

    proptest! {
        #[test]
        fn any_miss_is_explained(file in text(30), old in text(8), new in text(8)) {
            let text = Text::decode(file.as_bytes()).unwrap();
            let found = diagnose(&text, &old, &new);
            prop_assert!(found.message.len() <= MESSAGE);
            if let Some(lines) = found.lines {
                let rows = rows(text.body()).count() as u64;
                prop_assert!(1 <= lines.start && lines.start <= lines.end && lines.end <= rows, "{:?}", found);
            }
        }
    }
}
