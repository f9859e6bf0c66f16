//! Line diffs: what changed between two texts, in hunks, rendered within bounds.

use std::fmt::Write as _;
use std::ops::Range;

use imara_diff::{Algorithm, InternedInput};
use memchr::{memchr_iter, memrchr_iter};

use super::lines::{LineEnding, LineRange, cut_marker};
use super::quote::truncate;

/// Above this size on both sides, after what they share is set aside, a change is shown
/// as one replaced block: comparing so much line by line would cost too much.
const COMPARED_BYTES: usize = 4 << 20;

/// Up to this many lines the comparison that reads best is used; its cost grows with
/// lines times changes, so beyond it the one that is fast.
const READABLE_LINES: usize = 20_000;

/// Where so many lines repeat each distinct one, comparing them is quadratic whatever is
/// used: beyond [`READABLE_LINES`] such a change is one block, too.
pub(super) const REPEATED: usize = 16;

/// How many shared lines around the changes are compared all the same, so that the
/// bounds of a change can settle where a reader expects them.
const SETTLING_LINES: usize = 64;

/// The most bytes of one line that a rendered diff shows.
const RENDERED_LINE: usize = 2000;

/// The changes from one text to another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// The changes with their context, in order.
    pub hunks: Vec<Hunk>,
    changed: Vec<LineRange>,
}

/// Changes close to each other, and the unchanged lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The 1-based first line in the old text; with no old lines, the line before.
    pub old_start: u64,
    /// How many lines of the old text it spans.
    pub old_lines: u64,
    /// The 1-based first line in the new text; with no new lines, the line before.
    pub new_start: u64,
    /// How many lines of the new text it spans.
    pub new_lines: u64,
    /// The lines; where lines are replaced the removed ones come first.
    pub lines: Vec<DiffLine>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// Which of the texts the line is in.
    pub kind: DiffLineKind,
    /// The line without its ending.
    pub text: String,
    /// How the line ends; nothing for a last line without a newline.
    pub ending: Option<LineEnding>,
}

/// Which of the two texts a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiffLineKind {
    /// In both.
    Context,
    /// Only in the old text.
    Removed,
    /// Only in the new text.
    Added,
}

/// A diff as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The unified diff, without file names.
    pub text: String,
    /// Whether every change is shown whole.
    pub complete: bool,
}

impl Diff {
    /// Compares two texts line by line, with up to `context` unchanged lines around.
    pub fn between(old: &str, new: &str, context: usize) -> Self {
        let Some(shared) = Shared::between(old, new, context.max(SETTLING_LINES)) else {
            return Self::default();
        };
        let (old, new) = (
            split_lines(shared.middle(old)),
            split_lines(shared.middle(new)),
        );
        let changes = changes(&old, &new);
        let mut changed: Vec<_> = changes
            .iter()
            .map(|change| lines_of(change, new.len()))
            .collect();
        let mut hunks: Vec<_> = grouped(&changes, context)
            .map(|group| hunk(&old, &new, group, context))
            .collect();
        for range in &mut changed {
            range.start += shared.lines;
            range.end += shared.lines;
        }
        for hunk in &mut hunks {
            hunk.old_start += shared.lines;
            hunk.new_start += shared.lines;
        }
        Self { hunks, changed }
    }

    /// Returns whether the texts are the same, byte for byte.
    pub fn is_empty(&self) -> bool {
        self.hunks.is_empty()
    }

    /// Returns the changed lines as ranges of the new text; where lines were only
    /// removed, the line that now stands in their place.
    pub fn changed_lines(&self) -> &[LineRange] {
        &self.changed
    }

    /// Renders a unified diff of at most `max_bytes`, whole lines only.
    ///
    /// Differences that are not seen in plain text are marked: `␍` where endings differ,
    /// `[BOM]` for a byte order mark, and a note where there is no newline at the end.
    pub fn render(&self, max_bytes: usize) -> Rendered {
        let mut out = Rendered {
            text: String::new(),
            complete: true,
        };
        let mark_endings = self.endings_differ();
        for hunk in &self.hunks {
            let mut row = hunk.header();
            for line in &hunk.lines {
                let whole = line.render(&mut row, mark_endings);
                if out.text.len() + row.len() > max_bytes {
                    out.complete = false;
                    return out;
                }
                out.text.push_str(&row);
                out.complete &= whole;
                row.clear();
            }
        }
        out
    }

    fn endings_differ(&self) -> bool {
        let mut changed = self
            .hunks
            .iter()
            .flat_map(|hunk| &hunk.lines)
            .filter(|line| line.kind != DiffLineKind::Context)
            .map(|line| line.ending == Some(LineEnding::CrLf));
        changed
            .next()
            .is_some_and(|first| changed.any(|other| other != first))
    }
}

impl Hunk {
    /// Returns the old and the new text of the hunk, context included, as for a diff card.
    pub fn texts(&self) -> (String, String) {
        (
            self.side(DiffLineKind::Removed),
            self.side(DiffLineKind::Added),
        )
    }

    fn side(&self, kind: DiffLineKind) -> String {
        let mut text = String::new();
        for line in self
            .lines
            .iter()
            .filter(|line| line.kind == kind || line.kind == DiffLineKind::Context)
        {
            text.push_str(&line.text);
            text.push_str(line.ending.map_or("", LineEnding::as_str));
        }
        text
    }

    fn header(&self) -> String {
        let Self {
            old_start,
            old_lines,
            new_start,
            new_lines,
            ..
        } = self;
        format!("@@ -{old_start},{old_lines} +{new_start},{new_lines} @@\n")
    }
}

impl DiffLine {
    fn new(kind: DiffLineKind, line: &str) -> Self {
        let (text, ending) = match line.strip_suffix('\n') {
            None => (line, None),
            Some(text) => match text.strip_suffix('\r') {
                None => (text, Some(LineEnding::Lf)),
                Some(text) => (text, Some(LineEnding::CrLf)),
            },
        };
        Self {
            kind,
            text: text.to_owned(),
            ending,
        }
    }

    /// Appends the line's row and returns whether it shows the whole line.
    fn render(&self, out: &mut String, mark_endings: bool) -> bool {
        let changed = self.kind != DiffLineKind::Context;
        out.push(match self.kind {
            DiffLineKind::Context => ' ',
            DiffLineKind::Removed => '-',
            DiffLineKind::Added => '+',
        });
        let text = match self.text.strip_prefix('\u{feff}') {
            Some(text) if changed => {
                out.push_str("[BOM]");
                text
            }
            Some(text) => text,
            None => &self.text,
        };
        let shown = truncate(text, RENDERED_LINE);
        out.push_str(shown);
        if shown.len() < text.len() {
            out.push_str(&cut_marker((text.len() - shown.len()) as u64));
        }
        if changed && mark_endings && self.ending == Some(LineEnding::CrLf) {
            out.push('␍');
        }
        out.push('\n');
        if self.ending.is_none() {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "\\ No newline at end of file");
        }
        shown.len() == text.len()
    }
}

/// Whole lines that two texts share at their start and end, set aside byte by byte: a
/// small change in a large file is not split into lines.
struct Shared {
    start: usize,
    end: usize,
    /// How many lines are set aside at the start.
    lines: u64,
}

impl Shared {
    /// Leaves at least `margin` shared lines around what differs; returns nothing when
    /// nothing differs.
    fn between(old: &str, new: &str, margin: usize) -> Option<Self> {
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let same = shared_start(old, new);
        if same == old.len() && same == new.len() {
            return None;
        }
        let before = &old[..same];
        let start = memrchr_iter(b'\n', before)
            .nth(margin)
            .map_or(0, |feed| feed + 1);
        let same = shared_end(&old[same..], &new[same..]);
        let after = &old[old.len() - same..];
        let end = memchr_iter(b'\n', after)
            .nth(margin)
            .map_or(0, |feed| after.len() - feed - 1);
        let lines = memchr_iter(b'\n', &old[..start]).count() as u64;
        Some(Self { start, end, lines })
    }

    fn middle<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..text.len() - self.end]
    }
}

/// How many bytes are compared at once before looking for the one that differs.
const BLOCK: usize = 4096;

fn shared_start(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let same = blocks.take_while(|(a, b)| a == b).count() * BLOCK;
    same + a[same..]
        .iter()
        .zip(&b[same..])
        .take_while(|(a, b)| a == b)
        .count()
}

fn shared_end(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK));
    let same = blocks.take_while(|(a, b)| a == b).count() * BLOCK;
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    same + a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count()
}

/// Lines replaced by lines; indexes into both texts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

fn split_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let prefix = old.iter().zip(new).take_while(same).count();
    if prefix == old.len() && prefix == new.len() {
        return Vec::new();
    }
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(same)
        .count();
    let whole = Change {
        old: prefix..old.len() - suffix,
        new: prefix..new.len() - suffix,
    };
    let (removed, added) = (&old[whole.old.clone()], &new[whole.new.clone()]);
    if too_much(removed, added) || all_differ(removed, added) {
        return vec![whole];
    }
    let (skipped, left) = (
        prefix.saturating_sub(SETTLING_LINES),
        suffix.saturating_sub(SETTLING_LINES),
    );
    compared(old, new, skipped, left).unwrap_or_else(|| vec![whole])
}

fn too_much(old: &[&str], new: &[&str]) -> bool {
    let bytes = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    bytes(old) > COMPARED_BYTES && bytes(new) > COMPARED_BYTES
}

/// Returns whether a few lines were replaced by a few of which none is among them: then there is
/// nothing to compare.
fn all_differ(removed: &[&str], added: &[&str]) -> bool {
    let pairs = removed.len() * added.len();
    (1..=64).contains(&pairs) && removed.iter().all(|line| !added.contains(line))
}

/// Compares lines, save the `skipped` first and the `left` last, which are the same;
/// returns nothing when that would take too long.
fn compared(old: &[&str], new: &[&str], skipped: usize, left: usize) -> Option<Vec<Change>> {
    let mut input = InternedInput::default();
    input.update_before(old[skipped..old.len() - left].iter().copied());
    input.update_after(new[skipped..new.len() - left].iter().copied());
    let lines = input.before.len() + input.after.len();
    let algorithm = if lines <= READABLE_LINES {
        Algorithm::Histogram
    } else {
        Algorithm::Myers
    };
    let distinct = input.interner.num_tokens() as usize;
    if lines > READABLE_LINES && distinct * REPEATED < lines {
        return None;
    }
    let mut diff = imara_diff::Diff::compute(algorithm, &input);
    diff.postprocess_lines(&input);
    let shift = |range: Range<u32>| range.start as usize + skipped..range.end as usize + skipped;
    let change = |hunk: imara_diff::Hunk| Change {
        old: shift(hunk.before),
        new: shift(hunk.after),
    };
    Some(diff.hunks().map(change).collect())
}

fn lines_of(change: &Change, new_lines: usize) -> LineRange {
    let start = (change.new.start + 1).min(new_lines.max(1));
    LineRange {
        start: start as u64,
        end: change.new.end.max(start) as u64,
    }
}

/// Groups changes whose contexts touch.
fn grouped(changes: &[Change], context: usize) -> impl Iterator<Item = &[Change]> {
    changes.chunk_by(move |a, b| b.old.start - a.old.end <= context.saturating_mul(2))
}

fn hunk(old: &[&str], new: &[&str], changes: &[Change], context: usize) -> Hunk {
    // A group holds at least one change.
    let (first, last) = (&changes[0], &changes[changes.len() - 1]);
    let before = context.min(first.old.start);
    let after = context.min(old.len() - last.old.end);
    let old_range = first.old.start - before..last.old.end + after;
    let new_range = first.new.start - before..last.new.end + after;
    let mut lines = Vec::new();
    let mut push =
        |kind, texts: &[&str]| lines.extend(texts.iter().map(|line| DiffLine::new(kind, line)));
    let mut at = old_range.start;
    for change in changes {
        push(DiffLineKind::Context, &old[at..change.old.start]);
        push(DiffLineKind::Removed, &old[change.old.clone()]);
        push(DiffLineKind::Added, &new[change.new.clone()]);
        at = change.old.end;
    }
    push(DiffLineKind::Context, &old[at..old_range.end]);
    Hunk {
        old_start: start_of(&old_range),
        old_lines: old_range.len() as u64,
        new_start: start_of(&new_range),
        new_lines: new_range.len() as u64,
        lines,
    }
}

fn start_of(range: &Range<usize>) -> u64 {
    range.start as u64 + u64::from(!range.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::text;

    fn rendered(old: &str, new: &str) -> String {
        let rendered = Diff::between(old, new, 1).render(10_000);
        assert!(rendered.complete);
        rendered.text
    }

    #[test]
    fn a_change_is_shown_with_its_context() {
        assert_eq!(
            rendered("a\nb\nc\nd\n", "a\nb\nX\nd\n"),
            "@@ -2,3 +2,3 @@\n b\n-c\n+X\n d\n"
        );
        assert_eq!(rendered("", "x\n"), "@@ -0,0 +1,1 @@\n+x\n");
        assert!(Diff::between("a\r\n", "a\r\n", 3).is_empty());
    }

    #[test]
    fn changes_of_endings_newline_and_mark_are_visible() {
        assert_eq!(rendered("a\r\n", "a\n"), "@@ -1,1 +1,1 @@\n-a␍\n+a\n");
        assert_eq!(
            rendered("a", "a\n"),
            "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"
        );
        assert_eq!(
            rendered("\u{feff}a\n", "a\n"),
            "@@ -1,1 +1,1 @@\n-[BOM]a\n+a\n"
        );
        assert_eq!(
            rendered("a\r\nb\r\n", "a\r\nc\r\n"),
            "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        );
    }

    #[test]
    fn a_bound_cuts_between_lines_and_says_so() {
        let diff = Diff::between("a\nb\n", "c\nd\n", 3);
        let whole = diff.render(usize::MAX);
        for bound in 0..whole.text.len() {
            let cut = diff.render(bound);
            assert!(!cut.complete && cut.text.len() <= bound && whole.text.starts_with(&cut.text));
        }
        assert_eq!(diff.render(whole.text.len()), whole);
    }

    #[test]
    fn changed_lines_are_those_of_the_new_text() {
        let changed = |old, new| Diff::between(old, new, 3).changed_lines().to_vec();
        let range = |start, end| LineRange { start, end };
        assert_eq!(changed("a\nb\nc\n", "a\nx\ny\nc\n"), [range(2, 3)]);
        assert_eq!(changed("a\nb\nc\n", "a\nc\n"), [range(2, 2)]);
        assert_eq!(changed("a\nb\n", "a\n"), [range(1, 1)]);
        assert_eq!(changed("a\n", ""), [range(1, 1)]);
    }

    #[test]
    fn a_change_far_into_a_text_has_its_numbers() {
        let line = |number: usize| format!("line {number}\r\n");
        let old: String = (1..=5000).map(line).collect();
        let new = old
            .replace("line 3000\r\n", "x\r\ny\r\n")
            .replace("line 4000\r\n", "");
        let diff = Diff::between(&old, &new, 3);
        assert_eq!(applied(&old, &diff), new);
        let range = |start, end| LineRange { start, end };
        assert_eq!(diff.changed_lines(), [range(3000, 3001), range(4001, 4001)]);
        let starts: Vec<_> = diff
            .hunks
            .iter()
            .map(|hunk| (hunk.old_start, hunk.new_start))
            .collect();
        assert_eq!(starts, [(2997, 2997), (3997, 3998)]);
    }

    #[test]
    fn huge_changes_become_one_block() {
        let old: String = (0..700_000).map(|line| format!("old {line}\n")).collect();
        let new: String = (0..700_000).map(|line| format!("new {line}\n")).collect();
        assert_eq!(
            Diff::between(&format!("h\n{old}t\n"), &format!("h\n{new}t\n"), 1)
                .hunks
                .len(),
            1
        );
    }

    #[test]
    fn many_lines_of_few_kinds_do_not_take_quadratic_time() {
        let lines = |step: usize, kinds: usize| -> String {
            (0..100_000)
                .map(|line| format!("{}\n", line * step % kinds))
                .collect()
        };
        assert_eq!(
            Diff::between(&lines(7919, 13), &lines(7907, 17), 0)
                .hunks
                .len(),
            1
        );
    }

    fn applied(old: &str, diff: &Diff) -> String {
        let old = split_lines(old);
        let mut new = String::new();
        let mut at = 0;
        for hunk in &diff.hunks {
            let start = hunk.old_start as usize - usize::from(hunk.old_lines > 0);
            new.push_str(&old[at..start].concat());
            let (before, after) = hunk.texts();
            at = start + hunk.old_lines as usize;
            assert_eq!(before, old[start..at].concat());
            assert_eq!(
                split_lines(&new).len() + usize::from(hunk.new_lines > 0),
                hunk.new_start as usize
            );
            new.push_str(&after);
        }
        new.push_str(&old[at..].concat());
        new
    }

    proptest! {
        #[test]
        fn applying_works_between_long_shared_ends(
            head in 0usize..100, old in text(6), new in text(6), tail in 0usize..100, context in 0usize..90,
        ) {
            let around = |middle: &str| format!("{}{middle}{}", "h\n".repeat(head), "t\n".repeat(tail));
            let (old, new) = (around(&old), around(&new));
            prop_assert_eq!(applied(&old, &Diff::between(&old, &new, context)), new);
        }

        #[test]
        fn applying_the_hunks_yields_the_new_text(old in text(30), new in text(30), context in 0usize..4) {
            let diff = Diff::between(&old, &new, context);
            prop_assert_eq!(applied(&old, &diff), new.clone());
            prop_assert_eq!(diff.is_empty(), old == new);
            prop_assert_eq!(diff.render(usize::MAX).text.is_empty(), old == new);
        }
    }
}
