//! The transforms that tools use: replace and insert, as the seam's errors say them.

use crate::Note;
use crate::error::{ErrorCode, FsError, Result};
use crate::text::{self, ReplaceError, Text};
use crate::transform::{TextEdit, Transform};
use crate::version::Version;

/// Replaces literal text: once where it is unique, or everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replace {
    old: String,
    new: String,
    all: bool,
}

impl Replace {
    /// Replaces the only occurrence.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` when `old` is empty or equals `new`.
    pub fn once(old: impl Into<String>, new: impl Into<String>) -> Result<Self> {
        Self::checked(old.into(), new.into(), false)
    }

    /// Replaces every occurrence, left to right.
    ///
    /// # Errors
    /// As [`Replace::once`].
    pub fn all(old: impl Into<String>, new: impl Into<String>) -> Result<Self> {
        Self::checked(old.into(), new.into(), true)
    }

    fn checked(old: String, new: String, all: bool) -> Result<Self> {
        if old.is_empty() {
            return Err(refusal(ReplaceError::EmptyOld));
        }
        if old == new {
            return Err(refusal(ReplaceError::SameStrings));
        }
        Ok(Self { old, new, all })
    }
}

impl Transform for Replace {
    fn plan(&self, text: &Text<'_>, _: &Version) -> Result<TextEdit> {
        let plan = text::plan_replace(text, &self.old, &self.new, self.all).map_err(refusal)?;
        let mut notes = Vec::new();
        if plan.count == 0 {
            notes.push(Note::fact(
                "the new text has the same bytes as the old; nothing was written",
            ));
        }
        if plan.tolerant {
            notes.push(Note::fact(
                "matched modulo line endings: line feeds matched CRLF, which was kept",
            ));
        }
        Ok(TextEdit {
            splices: plan.splices,
            replacements: plan.count,
            ranges: plan.ranges,
            notes,
        })
    }
}

/// Inserts lines after a row; row 0 is before the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    after_row: usize,
    text: String,
}

impl Insert {
    /// Inserts `text` after row `after_row` of the file as `view` shows it.
    pub fn after(after_row: usize, text: impl Into<String>) -> Self {
        Self {
            after_row,
            text: text.into(),
        }
    }
}

impl Transform for Insert {
    fn plan(&self, text: &Text<'_>, _: &Version) -> Result<TextEdit> {
        let plan = text::plan_insert(text, self.after_row, &self.text).map_err(|error| {
            FsError::new(
                ErrorCode::InvalidArgument,
                format!(
                    "insert_line is {}; it must be from 0 to {}",
                    self.after_row, error.rows
                ),
            )
        })?;
        Ok(TextEdit {
            splices: plan.splices,
            replacements: 1,
            ranges: vec![plan.lines],
            notes: Vec::new(),
        })
    }
}

fn refusal(error: ReplaceError) -> FsError {
    match error {
        ReplaceError::EmptyOld => FsError::new(
            ErrorCode::InvalidArgument,
            "the text to replace is empty; it must hold at least one character",
        ),
        ReplaceError::SameStrings => FsError::new(
            ErrorCode::InvalidArgument,
            "the old and the new text are the same; nothing would change",
        ),
        ReplaceError::NotFound(diagnosis) => {
            FsError::new(ErrorCode::EditNotFound, diagnosis.message)
        }
        ReplaceError::Ambiguous { count, lines } => {
            let shown: Vec<_> = lines.iter().take(20).map(u64::to_string).collect();
            let more = if count > shown.len() as u64 {
                ", …"
            } else {
                ""
            };
            FsError::new(
                ErrorCode::AmbiguousEdit,
                format!(
                    "the text occurs {count} times, at lines {}{more}",
                    shown.join(", ")
                ),
            )
            .with_details(|details| {
                details.count = Some(count);
                details.lines = Some(lines);
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(transform: &impl Transform, file: &str) -> Result<TextEdit> {
        let text = Text::decode(file.as_bytes()).unwrap();
        transform.plan(&text, &Version::of(file.as_bytes()))
    }

    #[test]
    fn arguments_that_change_nothing_are_refused_before_any_file() {
        for (old, new) in [("", "x"), ("x", "x")] {
            for made in [Replace::once(old, new), Replace::all(old, new)] {
                assert_eq!(made.unwrap_err().code(), ErrorCode::InvalidArgument);
            }
        }
    }

    #[test]
    fn an_ambiguity_names_every_line_up_to_twenty_and_says_when_there_are_more() {
        let message = |count: usize| {
            let error = plan(&Replace::once("x", "y").unwrap(), &"x\n".repeat(count));
            let error = error.unwrap_err();
            assert_eq!(error.code(), ErrorCode::AmbiguousEdit);
            assert_eq!(error.details().count, Some(count as u64));
            let lines: Vec<u64> = (1..=count as u64).take(50).collect();
            assert_eq!(error.details().lines, Some(lines));
            error.message().to_owned()
        };
        assert_eq!(message(2), "the text occurs 2 times, at lines 1, 2");
        assert!(message(20).ends_with("19, 20"));
        assert!(message(21).ends_with("19, 20, …"));
        assert!(message(60).ends_with("19, 20, …"));
    }

    #[test]
    fn notes_say_what_a_confirmation_alone_would_hide() {
        let notes = |old: &str, new: &str, file: &str| {
            let edit = plan(&Replace::once(old, new).unwrap(), file).unwrap();
            (edit.replacements, edit.notes.len())
        };
        assert_eq!(notes("a", "b", "a\r\n"), (1, 0));
        assert_eq!(notes("a\n", "b\n", "a\r\n"), (1, 1));
        assert_eq!(notes("a\n", "a\r\n", "a\r\n"), (0, 2));
    }

    #[test]
    fn an_insertion_counts_as_one_and_its_rows_are_bounded() {
        let edit = plan(&Insert::after(1, "x\ny\n"), "a\nb\n").unwrap();
        assert_eq!((edit.replacements, edit.ranges.len()), (1, 1));
        let error = plan(&Insert::after(4, "x"), "a\nb\n").unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert_eq!(error.message(), "insert_line is 4; it must be from 0 to 3");
    }
}
