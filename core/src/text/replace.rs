//! Planning the replacement of a text: what `edit` and `str_replace` do to a file.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use super::decode::Text;
use super::diagnose::{Diagnosis, diagnose};
use super::lines::{LineEnding, LineRange};
use super::matcher::Pattern;
use super::splice::{Splice, Splices};

/// How many matches an ambiguity names by line.
const NAMED_LINES: usize = 50;

/// A replacement ready to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// What changes; applied to the bytes it was planned for.
    pub splices: Splices,
    /// How many matches are replaced; 0 when the file would stay byte for byte the same.
    pub count: usize,
    /// The lines each replaced match occupies in the new text.
    pub ranges: Vec<LineRange>,
    /// Whether a match differs from the text asked for in its line endings.
    pub tolerant: bool,
}

/// Why a replacement cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceError {
    /// The text to replace is empty.
    EmptyOld,
    /// The text to replace and the new text are the same.
    SameStrings,
    /// The text to replace does not occur; the diagnosis says what is there instead.
    NotFound(Diagnosis),
    /// The text to replace occurs more than once, overlaps counted.
    Ambiguous {
        /// How many times.
        count: u64,
        /// The lines the first 50 matches begin on.
        lines: Vec<u64>,
    },
}

/// Plans the replacement of `old` by `new`: of its only match, or with `all` of every
/// match that does not overlap the one before it.
///
/// Both texts are literal. Line endings inserted take the ending of the lines they
/// replace, or else of those beside them.
pub fn plan_replace(
    text: &Text<'_>,
    old: &str,
    new: &str,
    all: bool,
) -> Result<Replacement, ReplaceError> {
    if old.is_empty() {
        return Err(ReplaceError::EmptyOld);
    }
    if old == new {
        return Err(ReplaceError::SameStrings);
    }
    let pattern = Pattern::new(old);
    let matches = if all {
        pattern.find_non_overlapping(text)
    } else {
        vec![only_match(&pattern, text, old, new)?]
    };
    if matches.is_empty() {
        return Err(ReplaceError::NotFound(diagnose(text, old, new)));
    }
    let tolerant = matches.iter().any(|range| pattern.is_tolerant(range));
    let adapt = Adapter::new(text, old, new);
    let splices = matches
        .into_iter()
        .map(|range| Splice {
            replacement: adapt.replacement(&range),
            range,
        })
        .collect();
    Ok(plan(text, splices, tolerant))
}

fn only_match(
    pattern: &Pattern<'_>,
    text: &Text<'_>,
    old: &str,
    new: &str,
) -> Result<Range<usize>, ReplaceError> {
    pattern
        .find_unique(text, NAMED_LINES)
        .map_err(|found| match found.count {
            0 => ReplaceError::NotFound(diagnose(text, old, new)),
            count => ReplaceError::Ambiguous {
                count,
                lines: found.lines,
            },
        })
}

fn plan(text: &Text<'_>, splices: Vec<Splice>, tolerant: bool) -> Replacement {
    let splices = Splices::new(splices, text.bytes().len())
        .expect("matches are in order, apart and inside the file");
    let count = if splices.is_identity(text.bytes()) {
        0
    } else {
        splices.as_slice().len()
    };
    Replacement {
        ranges: splices.new_lines(text.bytes()),
        splices,
        count,
        tolerant,
    }
}

/// Fits the new text to the line endings of the place it goes to.
///
/// What old and new text have in common at their start and end keeps the file's bytes.
/// In between, the n-th line ending of the new text takes that of the n-th line ending
/// of the match, further ones that of the last, and where the match has none that of the
/// line it stands on, else of the line before.
struct Adapter<'a> {
    text: &'a Text<'a>,
    old: &'a str,
    new: &'a str,
    /// Bytes at the start and end that old and new text share.
    shared: (usize, usize),
    verbatim: bool,
}

/// A line ending of the old text and the file's bytes that matched it.
struct MatchedEnd<'a> {
    old: Range<usize>,
    /// Where the file's bytes end, relative to the match.
    end: usize,
    text: &'a str,
}

impl MatchedEnd<'_> {
    fn is_explicit(&self) -> bool {
        self.old.len() == 2
    }

    fn ending(&self) -> LineEnding {
        LineEnding::at(self.text.as_bytes(), self.text.len() - 1)
    }
}

impl<'a> Adapter<'a> {
    fn new(text: &'a Text<'a>, old: &'a str, new: &'a str) -> Self {
        let has_line_end = memchr(b'\n', new.as_bytes()).is_some();
        let verbatim = !has_line_end || memchr(b'\r', text.bytes()).is_none();
        Self {
            text,
            old,
            new,
            shared: shared_ends(old, new),
            verbatim,
        }
    }

    fn replacement(&self, range: &Range<usize>) -> String {
        if self.verbatim {
            return self.new.to_owned();
        }
        let span = &self.text.whole()[range.clone()];
        let ends = matched_ends(self.old, span);
        let (prefix, suffix) = self.shared;
        let new_middle = prefix..self.new.len() - suffix;
        let before = ends.partition_point(|end| end.old.end <= prefix);
        let after = ends.partition_point(|end| end.old.start < self.old.len() - suffix);
        let replaced = after.saturating_sub(before);
        let mut out = span[..in_span(&ends[..before], prefix)].to_owned();
        let last_resort = || match ends.last() {
            Some(end) => end.ending(),
            None => ending_beside(self.text.body().as_bytes(), range, self.text.body_start()),
        };
        push_adapted(
            &mut out,
            &self.new[new_middle],
            &ends[before..],
            replaced,
            last_resort,
        );
        out.push_str(&span[in_span(&ends[..after], self.old.len() - suffix)..]);
        out
    }
}

/// Writes new text whose line endings correspond to `ends`, one by one; the text stands
/// in for the first `replaced` of those.
fn push_adapted(
    out: &mut String,
    new: &str,
    ends: &[MatchedEnd<'_>],
    replaced: usize,
    last_resort: impl Fn() -> LineEnding,
) {
    let mut written = 0;
    for (index, feed) in memchr_iter(b'\n', new.as_bytes()).enumerate() {
        let explicit = new[written..feed].ends_with('\r');
        out.push_str(&new[written..feed - usize::from(explicit)]);
        match ends.get(index) {
            // The file's carriage returns survive where the ending was written alike.
            Some(end) if explicit && end.is_explicit() && index < replaced => {
                out.push_str(end.text);
            }
            _ if explicit => out.push_str("\r\n"),
            Some(end) => out.push_str(end.ending().as_str()),
            None => out.push_str(last_resort().as_str()),
        }
        written = feed + 1;
    }
    out.push_str(&new[written..]);
}

/// Aligns the line endings of the old text with the bytes that matched them.
fn matched_ends<'a>(old: &str, span: &'a str) -> Vec<MatchedEnd<'a>> {
    let mut extra = 0;
    let mut ends = Vec::new();
    for feed in memchr_iter(b'\n', old.as_bytes()) {
        let start = feed - usize::from(old[..feed].ends_with('\r'));
        let from = start + extra;
        let returns = span[from..].bytes().take_while(|&byte| byte == b'\r');
        let len = returns.count() + 1;
        let text = &span[from..from + len];
        extra += len - (feed + 1 - start);
        ends.push(MatchedEnd {
            old: start..feed + 1,
            end: from + len,
            text,
        });
    }
    ends
}

/// Maps an offset of the old text into the match, given the line endings before it.
fn in_span(ends_before: &[MatchedEnd<'_>], offset: usize) -> usize {
    ends_before
        .last()
        .map_or(offset, |end| end.end + (offset - end.old.end))
}

/// Returns how many bytes two texts share at their start and, apart from those, at
/// their end, no character and no CRLF split.
fn shared_ends(old: &str, new: &str) -> (usize, usize) {
    let same = |(a, b): &(u8, u8)| a == b;
    let mut prefix = old.bytes().zip(new.bytes()).take_while(same).count();
    while !(is_boundary(old, prefix) && is_boundary(new, prefix)) {
        prefix -= 1;
    }
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let mut suffix = old_rest
        .bytes()
        .rev()
        .zip(new_rest.bytes().rev())
        .take_while(same)
        .count();
    while !(is_boundary(old, old.len() - suffix) && is_boundary(new, new.len() - suffix)) {
        suffix -= 1;
    }
    (prefix, suffix)
}

fn is_boundary(text: &str, at: usize) -> bool {
    text.is_char_boundary(at) && !(text[..at].ends_with('\r') && text[at..].starts_with('\n'))
}

/// Returns the ending of the line a match stands on, else of the line before it.
fn ending_beside(body: &[u8], range: &Range<usize>, body_start: usize) -> LineEnding {
    let (start, end) = (range.start - body_start, range.end - body_start);
    memchr(b'\n', &body[end..])
        .map(|found| end + found)
        .or_else(|| memrchr(b'\n', &body[..start]))
        .map_or(LineEnding::Lf, |feed| LineEnding::at(body, feed))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Segment;
    use crate::text::samples::{text, text_and_piece};

    fn replaced(
        file: &str,
        old: &str,
        new: &str,
        all: bool,
    ) -> Result<(String, usize), ReplaceError> {
        let text = Text::decode(file.as_bytes()).unwrap();
        let plan = plan_replace(&text, old, new, all)?;
        Ok((
            String::from_utf8(plan.splices.apply(file.as_bytes())).unwrap(),
            plan.count,
        ))
    }

    fn one(file: &str, old: &str, new: &str) -> String {
        replaced(file, old, new, false).unwrap().0
    }

    #[test]
    fn e3_each_refusal_has_its_kind() {
        assert_eq!(replaced("a", "", "x", false), Err(ReplaceError::EmptyOld));
        assert_eq!(
            replaced("a", "a", "a", false),
            Err(ReplaceError::SameStrings)
        );
        assert!(matches!(
            replaced("a", "z", "x", false),
            Err(ReplaceError::NotFound(_))
        ));
        assert!(matches!(
            replaced("a", "z", "x", true),
            Err(ReplaceError::NotFound(_))
        ));
        assert_eq!(
            replaced("aaa\n", "aa", "b", false),
            Err(ReplaceError::Ambiguous {
                count: 2,
                lines: vec![1, 1]
            })
        );
    }

    #[test]
    fn e4_arguments_are_literal() {
        assert_eq!(one("x", "x", r"$& \1 \n %s \u0041"), r"$& \1 \n %s \u0041");
        assert_eq!(one(r"\title{A}", r"\title{A}", r"\title{B}"), r"\title{B}");
        assert_eq!(one("a.c abc", "a.c", ".*"), ".* abc");
        assert_eq!(
            replaced("abab\nab\n", "ab", "x", true),
            Ok(("xx\nx\n".into(), 3))
        );
        assert_eq!(replaced("aaaaa", "aa", "b", true), Ok(("bba".into(), 2)));
    }

    #[test]
    fn e5_inserted_lines_take_the_matched_ending() {
        assert_eq!(
            one("a\r\nb\r\nc\r\n", "a\nb", "A\nx\nB"),
            "A\r\nx\r\nB\r\nc\r\n"
        );
        assert_eq!(
            one("a\r\nb\nc\n", "a\nb\n", "A\nB\nC\n"),
            "A\r\nB\nC\n".to_owned() + "c\n"
        );
        assert_eq!(one("a\nb\r\nc", "a\nb\nc", "a\nX\nb\nc"), "a\nX\r\nb\r\nc");
    }

    #[test]
    fn e5_else_the_ending_of_the_line_or_the_one_before() {
        assert_eq!(one("a\nb\r\nc\n", "b", "x\ny"), "a\nx\r\ny\r\nc\n");
        assert_eq!(one("a\r\nb", "b", "x\ny"), "a\r\nx\r\ny");
        assert_eq!(one("b\r", "b", "x\ny"), "x\ny\r");
        assert_eq!(one("b", "b", "x\ny"), "x\ny");
        let marked = one("\u{feff}a\r\nb\nc\n", "a", "x\ny");
        assert_eq!(marked, "\u{feff}x\r\ny\r\nb\nc\n");
        let last = one("\u{feff}a\r\nb", "b", "x\ny");
        assert_eq!(last, "\u{feff}a\r\nx\r\ny");
    }

    #[test]
    fn b196_an_explicit_crlf_stays_and_is_never_doubled() {
        assert_eq!(
            one("line1\r\nline2\r\n", "line2", "x\r\ny"),
            "line1\r\nx\r\ny\r\n"
        );
        assert_eq!(one("line1\nline2\n", "line2", "x\r\ny"), "line1\nx\r\ny\n");
        assert_eq!(one("a\r\nb\r\n", "a\nb", "a\r\nc"), "a\r\nc\r\n");
        assert_eq!(one("a\r\nb\nc\n", "b", "x\r\ny"), "a\r\nx\r\ny\nc\n");
        assert_eq!(one("a\r\nb\nc\n", "b\n", "x\r\ny\n"), "a\r\nx\r\ny\nc\n");
    }

    #[test]
    fn e5_a_doubled_return_that_read_half_shows_survives() {
        assert_eq!(one("a\r\r\nz", "a\r\nz", "b\r\nz"), "b\r\r\nz");
        assert_eq!(one("a\r\r\nz", "a\r\nz", "a\r\ny"), "a\r\r\ny");
        // Within what changes too, where the new text has the ending that the old one had.
        assert_eq!(one("a\r\r\nz", "a\r\nz", "b\r\ny"), "b\r\r\ny");
        assert_eq!(one("a\nz\r\n", "a\nz", "b\r\ny"), "b\r\ny\r\n");
    }

    #[test]
    fn e6_mark_lone_returns_and_missing_newline_survive() {
        assert_eq!(
            one("10%\r50%\r100%\nok\r\nend\n", "end", "END"),
            "10%\r50%\r100%\nok\r\nEND\n"
        );
        assert_eq!(
            one("\u{feff}{\n \"a\": 1\n}", "\"a\": 1", "\"a\": 2"),
            "\u{feff}{\n \"a\": 2\n}"
        );
        assert_eq!(one("\u{feff}a\nb", "a", "x"), "\u{feff}x\nb");
    }

    #[test]
    fn e7_a_change_that_normalises_away_counts_nothing() {
        assert_eq!(
            replaced("a\r\nb", "a\r\nb", "a\nb", false),
            Ok(("a\r\nb".into(), 0))
        );
        assert_eq!(
            replaced("a\r\nb", "a\nb", "a\r\nb", false),
            Ok(("a\r\nb".into(), 0))
        );
    }

    #[test]
    fn e5_lines_that_both_texts_share_keep_their_own_endings() {
        let mixed = "a\r\nb\nc\r\nd";
        let inserted = "X\r\na\r\nb\nc\r\nd";
        assert_eq!(one(mixed, "a\nb\nc\nd", "X\na\nb\nc\nd"), inserted);
        let appended = "a\r\nb\nc\r\nd\r\nX";
        assert_eq!(one(mixed, "a\nb\nc\nd", "a\nb\nc\nd\nX"), appended);
        let dropped = "a\r\nc\r\nd";
        assert_eq!(one(mixed, "a\nb\nc\nd", "a\nc\nd"), dropped);
    }

    #[test]
    fn what_both_texts_share_ends_between_characters() {
        // These share their first byte, and those their last.
        assert_eq!(one("é\r\n", "é", "è\nx"), "è\r\nx\r\n");
        assert_eq!(one("é\r\n", "é", "x\nũ"), "x\r\nũ\r\n");
        assert_eq!(one("é é\r\n", "é é", "è\nũ"), "è\r\nũ\r\n");
        // A line feed is shared with no half of a CRLF.
        assert_eq!(one("a\r\nb", "a\r\n", "x\n"), "x\r\nb");
        assert_eq!(one("a\r\nb", "\r\nb", "\nx\nb"), "a\r\nx\r\nb");
    }

    #[test]
    fn b068_trailing_blanks_of_the_new_text_stay() {
        assert_eq!(one("a\nb\n", "a\nb", "a  \nb  "), "a  \nb  \n");
    }

    #[test]
    fn ranges_and_tolerance_are_reported() {
        let text = Text::decode(b"a\r\nb\r\nc\r\n").unwrap();
        let plan = plan_replace(&text, "b\n", "x\ny\n", false).unwrap();
        assert_eq!(plan.ranges, [LineRange { start: 2, end: 3 }]);
        assert!(plan.tolerant);
        assert!(!plan_replace(&text, "b", "x", false).unwrap().tolerant);
    }

    proptest! {
        #[test]
        fn a_unique_match_is_all_that_changes((file, old) in text_and_piece(20), new in text(6)) {
            let text = Text::decode(file.as_bytes()).unwrap();
            let Ok(plan) = plan_replace(&text, &old, &new, false) else { return Ok(()) };
            let range = plan.splices.as_slice()[0].range.clone();
            let out = plan.splices.apply(file.as_bytes());
            prop_assert!(out.starts_with(&file.as_bytes()[..range.start]));
            prop_assert!(out.ends_with(&file.as_bytes()[range.end..]));
            let inserted = &plan.splices.as_slice()[0].replacement;
            // Only the carriage returns of line endings may differ from what was asked for.
            let fold = |text: &str| text.replace("\r\r\n", "\n").replace("\r\n", "\n");
            prop_assert_eq!(fold(inserted), fold(&new), "{:?}", inserted);
        }

        #[test]
        fn e4_replacing_all_leaves_no_match_behind((file, old) in text_and_piece(20), new in "[xy\n]{0,3}") {
            let text = Text::decode(file.as_bytes()).unwrap();
            let old = old.replace("\r\n", "\n");
            let Ok(plan) = plan_replace(&text, &old, &new, true) else { return Ok(()) };
            prop_assert_eq!(plan.ranges.len(), plan.splices.as_slice().len());
            // No part that stays holds a match; the parts are texts of their own.
            for segment in plan.splices.segments(file.as_bytes()) {
                if let Segment::Kept(kept) = segment {
                    let kept = Text::decode(kept).unwrap();
                    let first = Pattern::new(&old).find_all_overlapping(&kept, 1).first;
                    prop_assert!(first.is_empty(), "{:?}", first);
                }
            }
        }

        #[test]
        fn a_crlf_file_stays_one(
            lines in proptest::collection::vec("[ab]{0,3}", 2..6),
            at in any::<prop::sample::Index>(), new in "[xy\n]{0,6}",
        ) {
            let file = lines.join("\r\n");
            let body = lines.join("\n");
            let start = at.index(body.len() + 1);
            let old = &body[start..(start + 3).min(body.len())];
            if let Ok((out, _)) = replaced(&file, old, &new, false) {
                prop_assert_eq!(out.replace("\r\n", "").find(['\r', '\n']), None, "{:?}", out);
                prop_assert_eq!(out.replace("\r\n", "\n"), body.replacen(old, &new, 1));
            }
        }
    }
}
