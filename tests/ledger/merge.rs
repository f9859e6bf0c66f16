//! A three-way merge by longest common subsequences, to judge the rebase by: no line of it is
//! shared with what it judges.

use std::ops::Range;

/// Merges what two sides made of a base, line by line; none when they conflict.
///
/// `mine` is one change of consecutive lines. Changes that touch or adjoin conflict. Where texts
/// can be aligned in several equally good ways, there is a merge for each that has no conflict:
/// where a line is like the one beside it, nobody can say which of them was removed.
pub(super) fn merges(base: &str, mine: &str, theirs: &str) -> Vec<String> {
    let [base, mine, theirs] = [base, mine, theirs].map(lines);
    let (first, end) = changed(&base, &mine);
    let removed = end - first;
    let put = mine.len() + removed - base.len();
    let slides = (0..=base.len() - removed).filter(|start| {
        base[..*start] == mine[..*start] && base[start + removed..] == mine[start + put..]
    });
    let merged = slides.filter_map(|start| {
        let put = &mine[start..start + put];
        let (start, end) = standing(&base, (start, start + removed), &theirs)?;
        Some([&theirs[..start], put, &theirs[end..]].concat().concat())
    });
    merged.collect()
}

/// Returns whether the lines that bytes of the base are in, and those around them, stand on the
/// other side.
///
/// This is more than a merge needs where an edit leaves lines of its span as they were.
pub(super) fn stands(base: &str, span: Range<usize>, theirs: &str) -> bool {
    let start = base[..span.start].matches('\n').count();
    let end = start + lines(&format!("{}{}", column(base, span.start), &base[span])).len();
    standing(&lines(base), (start, end), &lines(theirs)).is_some()
}

/// Returns what of a line is before a byte.
fn column(text: &str, at: usize) -> &str {
    text[..at].rsplit('\n').next().unwrap_or_default()
}

/// Returns where lines of the base stand on the other side, if those around them do too.
fn standing(
    base: &[&str],
    (start, end): (usize, usize),
    theirs: &[&str],
) -> Option<(usize, usize)> {
    // The lines around the change must be the same on their side: the ends of the file are.
    let (before, after) = (start.saturating_sub(1), (end + 1).min(base.len()));
    let kept = &base[before..after];
    let whole = common(base, theirs);
    let places = 0..=theirs.len().checked_sub(kept.len())?;
    let at = places
        .filter(|at| &theirs[*at..at + kept.len()] == kept)
        .filter(|at| start > 0 || *at == 0)
        .filter(|at| end < base.len() || at + kept.len() == theirs.len())
        .find(|at| {
            let above = common(&base[..before], &theirs[..*at]);
            let below = common(&base[after..], &theirs[at + kept.len()..]);
            above + kept.len() + below == whole
        })?;
    Some((at + (start - before), at + (end - before)))
}

/// Returns whether no line is like another, so that texts can be aligned in one way only.
pub(super) fn is_distinct(text: &str) -> bool {
    let mut lines = lines(text);
    let count = lines.len();
    lines.sort_unstable();
    lines.dedup();
    lines.len() == count
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns which lines of the base a change replaces.
fn changed(base: &[&str], mine: &[&str]) -> (usize, usize) {
    let start = base
        .iter()
        .zip(mine)
        .take_while(|(one, other)| one == other)
        .count();
    let rest = base.len().min(mine.len()) - start;
    let same = base.iter().rev().zip(mine.iter().rev()).take(rest);
    let same = same.take_while(|(one, other)| one == other).count();
    (start, base.len() - same)
}

/// Returns the length of a longest common subsequence.
fn common(one: &[&str], other: &[&str]) -> usize {
    let mut above = vec![0; other.len() + 1];
    for line in one {
        let mut row = vec![0; other.len() + 1];
        for (at, candidate) in other.iter().enumerate() {
            row[at + 1] = match line == candidate {
                true => above[at] + 1,
                false => row[at].max(above[at + 1]),
            };
        }
        above = row;
    }
    above[other.len()]
}

#[test]
fn the_oracle_knows_a_conflict_from_none() {
    let base = "a\nb\nc\nd\ne\n";
    let mine = "a\nB\nc\nd\ne\n";
    assert_eq!(merges(base, mine, "a\nb\nc\nd\nE\n"), ["a\nB\nc\nd\nE\n"]);
    assert_eq!(
        merges(base, mine, "x\na\nb\nc\nd\ne\n"),
        ["x\na\nB\nc\nd\ne\n"]
    );
    for theirs in [
        "A\nb\nc\nd\ne\n",
        "a\nb\nC\nd\ne\n",
        "a\nb\nx\nc\nd\ne\n",
        "b\nc\nd\ne\n",
    ] {
        assert_eq!(merges(base, mine, theirs), [""; 0], "{theirs}");
    }
    assert_eq!(merges("a\nb\n", "A\nb\n", "x\na\nb\n"), [""; 0]);
    assert_eq!(merges("a\nb\n", "a\nB\n", "a\nb\nx\n"), [""; 0]);
    // Which of two lines that are alike was removed is anybody's guess.
    let (base, mine) = ("a\n\nb\n\nc\n", "a\n\nc\n");
    assert_eq!(merges(base, mine, "a\n\nb\n\n"), ["a\n\n"]);
}
