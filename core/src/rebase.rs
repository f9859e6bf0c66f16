//! Rebase: a stale edit lands on other bytes where the lines around it are still as they were seen.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{ErrorCode, FsError, Result};
use crate::note::Note;
use crate::text::{LineCursor, LineMap, LineRange, LineSet, Span, Splice, Text, count_lines};
use crate::transform::{TextEdit, Transform};
use crate::version::Version;

/// What an actor saw of a file, to plan an edit beside the present bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The bytes that it saw.
    pub content: Bytes,
    /// Their version.
    pub version: Version,
    /// The lines of them that were shown; none means all.
    pub shown: Option<LineSet>,
}

/// A transform that plans on the present bytes what another plans on the bytes that were seen.
///
/// The other must change exactly one place of both texts; that place with one line on either side
/// (the ends of the file count as lines) must have been shown, lie in a block of lines that both
/// texts share, and stand in one as it stands in the other. The result is then what a three-way
/// merge without a conflict gives: nothing of what others changed is touched, and what the actor
/// wanted to change is what it saw. Anything else is `FS_STALE_VERSION`.
pub struct Rebase {
    transform: Arc<dyn Transform>,
    base: Base,
}

impl Rebase {
    /// Wraps a transform whose edit was refused as stale.
    pub fn new(transform: Arc<dyn Transform>, base: Base) -> Self {
        Self { transform, base }
    }
}

impl fmt::Debug for Rebase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rebase")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl Transform for Rebase {
    fn plan(&self, text: &Text<'_>, version: &Version) -> Result<TextEdit> {
        let base = Text::decode(&self.base.content).map_err(|_| refused())?;
        let planned = self.transform.plan(&base, &self.base.version);
        let planned = planned.map_err(|_| refused())?;
        let mut edit = self.transform.plan(text, version).map_err(|_| refused())?;
        let (seen, now) = (Place::of(&base, &planned)?, Place::of(text, &edit)?);
        let shown = self.base.shown.as_ref();
        if !(seen.is_shown(shown) && seen.changes_as(&now) && seen.stands_as(&now, &base, text)) {
            return Err(refused());
        }
        let note = Note::Rebased {
            seen: seen.lines(),
            now: now.lines(),
        };
        edit.notes.push(note);
        Ok(edit)
    }
}

/// The one place that an edit changes.
struct Place<'e> {
    splice: &'e Splice,
    span: Span,
    total: u64,
}

impl<'e> Place<'e> {
    fn of(text: &Text<'_>, edit: &'e TextEdit) -> Result<Self> {
        let [splice] = edit.splices.as_slice() else {
            return Err(refused());
        };
        if edit.replacements != 1 {
            return Err(refused());
        }
        Ok(Self {
            splice,
            span: Span::of(text, &splice.range, &mut LineCursor::new(text.bytes())),
            total: count_lines(text.bytes()),
        })
    }

    fn lines(&self) -> LineRange {
        LineRange {
            start: self.span.first,
            end: self.span.last.max(self.span.first),
        }
    }

    fn is_shown(&self, shown: Option<&LineSet>) -> bool {
        match (shown, self.span.surroundings(self.total)) {
            (Some(shown), Some(lines)) => shown.covers(lines.start, lines.end),
            _ => true,
        }
    }

    /// Returns whether both replace the same part of their first line by the same text.
    fn changes_as(&self, other: &Self) -> bool {
        (self.span.column, self.span.len) == (other.span.column, other.span.len)
            && self.splice.replacement == other.splice.replacement
    }

    /// Returns whether both have the same unchanged lines around them, in one block.
    fn stands_as(&self, now: &Self, base: &Text<'_>, text: &Text<'_>) -> bool {
        let (seen, there) = (
            self.span.surroundings(self.total),
            now.span.surroundings(now.total),
        );
        let (Some(seen), Some(there)) = (seen, there) else {
            return false;
        };
        self.span.ends(self.total) == now.span.ends(now.total)
            && LineMap::between(base.whole(), text.whole()).map(seen) == Some(there)
    }
}

/// The caller tells the refusal that came first; this one is never shown.
fn refused() -> FsError {
    FsError::new(
        ErrorCode::StaleVersion,
        "the lines around the place of this edit are not as they were seen",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replace::{Insert, Replace};

    fn rebased(base: &str, now: &str, transform: impl Transform + 'static) -> Option<String> {
        within(base, now, None, transform)
    }

    fn within(
        base: &str,
        now: &str,
        shown: Option<LineSet>,
        transform: impl Transform + 'static,
    ) -> Option<String> {
        let content = Bytes::copy_from_slice(base.as_bytes());
        let version = Version::of(&content);
        let base = Base {
            content,
            version,
            shown,
        };
        let text = Text::decode(now.as_bytes()).unwrap();
        let edit = Rebase::new(Arc::new(transform), base).plan(&text, &Version::of(now.as_bytes()));
        let after = edit.ok()?.splices.apply(now.as_bytes());
        Some(String::from_utf8(after).unwrap())
    }

    fn replace(old: &str, new: &str) -> Replace {
        Replace::once(old, new).unwrap()
    }

    #[test]
    fn an_edit_follows_its_lines() {
        let out = rebased("a\nb\nc\nd\n", "x\na\nb\nc\nd\ny\n", replace("b", "B"));
        assert_eq!(out.as_deref(), Some("x\na\nB\nc\nd\ny\n"));
    }

    #[test]
    fn a_line_beside_the_edit_that_changed_keeps_it_stale() {
        for now in [
            "A\nb\nc\nd\n",
            "a\nb\nC\nd\n",
            "a\nx\nb\nc\nd\n",
            "a\nb\nd\n",
        ] {
            assert_eq!(
                rebased("a\nb\nc\nd\n", now, replace("b", "B")),
                None,
                "{now}"
            );
        }
        assert!(rebased("a\nb\nc\nd\n", "a\nb\nc\nD\n", replace("b", "B")).is_some());
    }

    #[test]
    fn the_ends_of_the_file_count_as_lines() {
        assert_eq!(
            rebased("a\nb\nc\n", "x\na\nb\nc\n", replace("a", "A")),
            None
        );
        assert_eq!(
            rebased("a\nb\nc\n", "a\nb\nc\nx\n", replace("c", "C")),
            None
        );
        assert_eq!(rebased("a\nb\nc\n", "a\nb\nc", replace("c", "C")), None);
        assert!(rebased("a\nb\nc\n", "x\na\nb\nc\n", replace("c", "C")).is_some());
    }

    #[test]
    fn a_match_that_is_no_longer_the_only_one_stays_stale() {
        let now = "b\nx\na\nb\nc\n";
        assert_eq!(rebased("a\nb\nc\n", now, replace("b", "B")), None);
        // Moved elsewhere, it is not the place that was seen.
        assert_eq!(
            rebased("a\nb\nc\nd\n", "d\nb\na\nc\n", replace("b", "B")),
            None
        );
        let all = Replace::all("b", "B").unwrap();
        assert_eq!(rebased("a\nb\nb\nc\nd\n", "a\nb\nb\nc\nD\n", all), None);
    }

    #[test]
    fn an_insertion_lands_where_its_row_still_is_its_row() {
        let insert = |row| Insert::after(row, "new\n");
        let out = rebased("a\nb\nc\n", "a\nb\nC\n", insert(1));
        assert_eq!(out.as_deref(), Some("a\nnew\nb\nC\n"));
        assert_eq!(rebased("a\nb\nc\n", "x\na\nb\nc\n", insert(1)), None);
    }

    #[test]
    fn lines_that_were_never_shown_are_not_rebased() {
        let shown = |lines: std::ops::RangeInclusive<u64>| Some(std::iter::once(lines).collect());
        let (base, now) = ("a\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n");
        assert!(within(base, now, shown(1..=3), replace("b", "B")).is_some());
        assert_eq!(within(base, now, shown(1..=2), replace("b", "B")), None);
        assert_eq!(within(base, now, shown(4..=5), replace("b", "B")), None);
    }
}
