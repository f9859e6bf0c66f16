//! A three-way merge by longest common subsequences, to judge the rebase by: no line of it is
//! shared with what it judges.

/// Merges what two sides made of a base, line by line; nothing when they conflict.
///
/// `mine` is one change of consecutive lines. Changes that touch or adjoin conflict. Where texts
/// can be aligned in several equally good ways, any that has no conflict will do.
pub(super) fn merged(base: &str, mine: &str, theirs: &str) -> Option<String> {
    let [base, mine, theirs] = [base, mine, theirs].map(lines);
    let (start, end) = changed(&base, &mine);
    let put = &mine[start..mine.len() - (base.len() - end)];
    // The lines around the change must be the same on their side: the ends of the file are.
    let (before, after) = (start.saturating_sub(1), (end + 1).min(base.len()));
    let kept = &base[before..after];
    let whole = common(&base, &theirs);
    let places = 0..=theirs.len().checked_sub(kept.len())?;
    let at = places
        .filter(|at| &theirs[*at..at + kept.len()] == kept)
        .filter(|at| (*at == 0) == (before == 0) || start > 0)
        .filter(|at| start > 0 || *at == 0)
        .filter(|at| end < base.len() || at + kept.len() == theirs.len())
        .find(|at| {
            let above = common(&base[..before], &theirs[..*at]);
            let below = common(&base[after..], &theirs[at + kept.len()..]);
            above + kept.len() + below == whole
        })?;
    let start = at + (start - before);
    let end = at + (end - before);
    Some([&theirs[..start], put, &theirs[end..]].concat().concat())
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
    assert_eq!(
        merged(base, mine, "a\nb\nc\nd\nE\n").as_deref(),
        Some("a\nB\nc\nd\nE\n")
    );
    assert_eq!(
        merged(base, mine, "x\na\nb\nc\nd\ne\n").as_deref(),
        Some("x\na\nB\nc\nd\ne\n")
    );
    for theirs in [
        "A\nb\nc\nd\ne\n",
        "a\nb\nC\nd\ne\n",
        "a\nb\nx\nc\nd\ne\n",
        "b\nc\nd\ne\n",
    ] {
        assert_eq!(merged(base, mine, theirs), None, "{theirs}");
    }
    assert_eq!(merged("a\nb\n", "A\nb\n", "x\na\nb\n"), None);
    assert_eq!(merged("a\nb\n", "a\nB\n", "a\nb\nx\n"), None);
}
