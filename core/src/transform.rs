//! Transforms: pure, re-runnable functions from text to splices.

use bytes::Bytes;

use crate::error::Result;
use crate::note::Note;
use crate::text::{LineCursor, LineRange, Splices, Text};
use crate::version::Version;

/// A pure function from a text and its version to splices.
///
/// `edit` runs it inside its critical section, and again on fresh bytes when a race was lost, so
/// it must give the same answer for the same text and touch nothing else.
pub trait Transform: Send + Sync {
    /// Plans the splices for this text.
    ///
    /// # Errors
    /// Whatever makes the edit impossible on this text; nothing is then changed.
    fn plan(&self, text: &Text<'_>, version: &Version) -> Result<TextEdit>;
}

impl<F> Transform for F
where
    F: Fn(&Text<'_>, &Version) -> Result<TextEdit> + Send + Sync,
{
    fn plan(&self, text: &Text<'_>, version: &Version) -> Result<TextEdit> {
        self(text, version)
    }
}

/// What a transform planned: splices, and the facts that a confirmation states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextEdit {
    /// The splices, by byte offset in the whole file.
    pub splices: Splices,
    /// How many places are changed; 0 when the edit changes no byte.
    pub replacements: usize,
    /// The 1-based line ranges of the new text that the replacements occupy.
    pub ranges: Vec<LineRange>,
    /// Facts to state beside the result.
    pub notes: Vec<Note>,
}

impl TextEdit {
    /// Returns the 1-based line of the bytes before on which the first splice begins; none without
    /// splices.
    ///
    /// It is that of the first range, for nothing changed above it. Only a deletion that reaches to
    /// the end may have left no such line; then the lines are counted.
    pub fn first_line(&self, before: &[u8]) -> Option<u64> {
        let splices = self.splices.as_slice();
        let (first, last) = (splices.first()?, splices.last()?);
        match self.ranges.first() {
            Some(range) if last.range.end < before.len() => Some(range.start),
            _ => Some(LineCursor::new(before).line_of(first.range.start)),
        }
    }
}

/// The answer of `write`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOutcome {
    /// Whether the file was created; otherwise it was replaced.
    pub created: bool,
    /// The version of the bytes written.
    pub version: Version,
    /// The bytes before, when they and the new ones are text within the limit.
    pub before: Option<Bytes>,
    /// Facts to state beside the result.
    pub notes: Vec<Note>,
}

/// The answer of `edit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditOutcome {
    /// The version of the bytes now stored.
    pub version: Version,
    /// The bytes before.
    pub before: Bytes,
    /// What was applied to them.
    pub edit: TextEdit,
    /// Facts to state beside the result, the transform's included.
    pub notes: Vec<Note>,
}

impl EditOutcome {
    /// Returns whether any byte changed; otherwise nothing was written.
    pub fn changed(&self) -> bool {
        self.edit.replacements > 0
    }

    /// Builds the bytes after.
    pub fn after(&self) -> Bytes {
        if self.changed() {
            Bytes::from(self.edit.splices.apply(&self.before))
        } else {
            self.before.clone()
        }
    }
}

/// The answer of `rename` and `copy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferOutcome {
    /// Whether the destination was created; otherwise it was replaced.
    pub created: bool,
    /// The version of the bytes at the destination; none for a folder.
    pub version: Option<Version>,
    /// Facts to state beside the result.
    pub notes: Vec<Note>,
}
