//! Cards: what a host may show to people beside the text for the model.

use bytes::Bytes;
use seamfs_core::TextEdit;
use seamfs_core::text::{Diff, LineCursor, Text};
use serde::Serialize;

/// Lines of context around each change in a diff card.
const CONTEXT: usize = 3;

/// The most cards of one call, and the most bytes of text that cards are made from.
const MOST_CARDS: usize = 100;
const MOST_BYTES: usize = 1 << 20;

/// What a host may show to people.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Presentation {
    /// The call in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallCard>,
    /// What changed, one card a hunk, three lines of context in each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<DiffCard>,
}

/// A call in a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallCard {
    /// What is done, for people.
    pub title: String,
    /// What kind of call it is.
    pub kind: CallKind,
    /// Where it acts.
    pub locations: Vec<Location>,
}

/// What kind a call is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// It looks.
    Read,
    /// It changes.
    Edit,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The display path.
    pub path: String,
    /// The 1-based line.
    pub line: Option<u64>,
}

/// One hunk of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffCard {
    /// The display path.
    pub path: String,
    /// The 1-based line of the new text where the hunk begins.
    pub line: u64,
    /// The lines before; null for an insertion into nothing.
    pub old_text: Option<String>,
    /// The lines after.
    pub new_text: String,
}

impl Presentation {
    /// Creates a presentation with a call card alone.
    pub(crate) fn call(verb: &str, kind: CallKind, path: &str, line: Option<u64>) -> Self {
        Self {
            call: Some(CallCard {
                title: format!("{verb} {path}"),
                kind,
                locations: vec![Location {
                    path: path.to_owned(),
                    line,
                }],
            }),
            diffs: Vec::new(),
        }
    }

    /// Adds the cards of a whole-file change; none when either side is no text or too large.
    pub(crate) fn with_change(mut self, path: &str, before: Option<&Bytes>, after: &[u8]) -> Self {
        self.diffs = match before {
            None => created(path, after),
            Some(before) => changed(path, before, after, 0),
        };
        self
    }

    /// Adds the cards of an edit, looking only at the lines around its splices.
    pub(crate) fn with_edit(mut self, path: &str, before: &Bytes, edit: &TextEdit) -> Self {
        let splices = edit.splices.as_slice();
        let (Some(first), Some(last)) = (splices.first(), splices.last()) else {
            return self;
        };
        let start = lines_back(before, first.range.start);
        let end = lines_on(before, last.range.end);
        let new_bytes: usize = splices.iter().map(|splice| splice.replacement.len()).sum();
        if end - start + new_bytes > MOST_BYTES {
            return self;
        }
        let mut after = Vec::with_capacity(end - start + new_bytes);
        let mut at = start;
        for splice in splices {
            after.extend_from_slice(&before[at..splice.range.start]);
            after.extend_from_slice(splice.replacement.as_bytes());
            at = splice.range.end;
        }
        after.extend_from_slice(&before[at..end]);
        let Some(line) = edit.first_line(before) else {
            return self;
        };
        let lines_above =
            line - LineCursor::new(&before[start..]).line_of(first.range.start - start);
        self.diffs = changed(path, &before[start..end], &after, lines_above);
        self
    }
}

fn created(path: &str, after: &[u8]) -> Vec<DiffCard> {
    match Text::decode(after) {
        Ok(text) if after.len() <= MOST_BYTES => vec![DiffCard {
            path: path.to_owned(),
            line: 1,
            old_text: None,
            new_text: text.body().to_owned(),
        }],
        _ => Vec::new(),
    }
}

fn changed(path: &str, before: &[u8], after: &[u8], lines_above: u64) -> Vec<DiffCard> {
    if before.len() + after.len() > 2 * MOST_BYTES {
        return Vec::new();
    }
    let (Ok(old), Ok(new)) = (Text::decode(before), Text::decode(after)) else {
        return Vec::new();
    };
    let diff = Diff::between(old.whole(), new.whole(), CONTEXT);
    let cards = diff.hunks.iter().take(MOST_CARDS).map(|hunk| {
        let (old_text, new_text) = hunk.texts();
        DiffCard {
            path: path.to_owned(),
            line: lines_above + hunk.new_start,
            old_text: (!old_text.is_empty()).then_some(old_text),
            new_text,
        }
    });
    cards.collect()
}

/// Returns where the line begins that is `CONTEXT` lines above the one at `offset`.
fn lines_back(bytes: &[u8], offset: usize) -> usize {
    let mut ends = memchr::memrchr_iter(b'\n', &bytes[..offset]);
    ends.nth(CONTEXT).map_or(0, |at| at + 1)
}

/// Returns where the line ends that is `CONTEXT` lines below the one at `offset`.
fn lines_on(bytes: &[u8], offset: usize) -> usize {
    let mut ends = memchr::memchr_iter(b'\n', &bytes[offset..]);
    ends.nth(CONTEXT).map_or(bytes.len(), |at| offset + at + 1)
}
