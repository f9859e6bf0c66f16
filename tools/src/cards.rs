//! Cards: what a host may show to people beside the text for the model.

use bytes::Bytes;
use seamfs_core::TextEdit;
use seamfs_core::text::{Diff, LineCursor, Text};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// Lines of context around each change in a diff card.
const CONTEXT: usize = 3;

/// The most cards of one call, and the most bytes of text that cards are made from.
const MOST_CARDS: usize = 100;
const MOST_BYTES: usize = 1 << 20;

/// What a host may show to people.
///
/// It serialises as `call` and, where something changed, `diffs`. The cards of a change are made
/// when they are asked for, so that a host which shows none does not pay for them; until then the
/// lines that they are made of are held, 2 MiB at the most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Presentation {
    /// The call in a line.
    pub call: Option<CallCard>,
    change: Option<Change>,
}

/// The lines around a change.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    path: String,
    /// None where there was no file.
    before: Option<Bytes>,
    after: Bytes,
    /// How many lines of the file stand above these.
    lines_above: u64,
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
            change: None,
        }
    }

    /// Returns what changed, one card a hunk, three lines of context in each, a hundred cards at
    /// the most; none where either side is no text or longer than 1 MiB.
    pub fn diffs(&self) -> Vec<DiffCard> {
        self.change.as_ref().map(Change::cards).unwrap_or_default()
    }

    /// Tells of the change of a whole file.
    pub(crate) fn with_change(mut self, path: &str, before: Option<&Bytes>, after: &Bytes) -> Self {
        let sides = [before.map_or(0, Bytes::len), after.len()];
        if sides.into_iter().all(|len| len <= MOST_BYTES) {
            self.change = Some(Change {
                path: path.to_owned(),
                before: before.cloned(),
                after: after.clone(),
                lines_above: 0,
            });
        }
        self
    }

    /// Tells of an edit by the lines around its splices, of which it keeps a copy.
    pub(crate) fn with_edit(mut self, path: &str, before: &Bytes, edit: &TextEdit) -> Self {
        self.change = around(before, edit).map(|(lines_above, [before, after])| Change {
            path: path.to_owned(),
            before: Some(before),
            after,
            lines_above,
        });
        self
    }
}

impl Serialize for Presentation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let diffs = self.diffs();
        let fields = usize::from(self.call.is_some()) + usize::from(!diffs.is_empty());
        let mut cards = serializer.serialize_struct("Presentation", fields)?;
        if let Some(call) = &self.call {
            cards.serialize_field("call", call)?;
        }
        if !diffs.is_empty() {
            cards.serialize_field("diffs", &diffs)?;
        }
        cards.end()
    }
}

impl Change {
    fn cards(&self) -> Vec<DiffCard> {
        let Ok(new) = Text::decode(&self.after) else {
            return Vec::new();
        };
        match self.before.as_deref().map(Text::decode) {
            None => vec![self.card(1, String::new(), new.body().to_owned())],
            Some(Err(_)) => Vec::new(),
            Some(Ok(old)) => {
                let diff = Diff::between(old.whole(), new.whole(), CONTEXT);
                let hunks = diff.hunks.iter().take(MOST_CARDS);
                let card = hunks.map(|hunk| {
                    let (old_text, new_text) = hunk.texts();
                    self.card(self.lines_above + hunk.new_start, old_text, new_text)
                });
                card.collect()
            }
        }
    }

    fn card(&self, line: u64, old_text: String, new_text: String) -> DiffCard {
        DiffCard {
            path: self.path.clone(),
            line,
            old_text: (!old_text.is_empty()).then_some(old_text),
            new_text,
        }
    }
}

/// Returns how many lines stand above those around an edit, and these lines before and after it;
/// none where nothing changed or they are too many.
fn around(before: &Bytes, edit: &TextEdit) -> Option<(u64, [Bytes; 2])> {
    let splices = edit.splices.as_slice();
    let (first, last) = (splices.first()?, splices.last()?);
    let start = lines_back(before, first.range.start);
    let end = lines_on(before, last.range.end);
    let new_bytes: usize = splices.iter().map(|splice| splice.replacement.len()).sum();
    if end - start + new_bytes > MOST_BYTES {
        return None;
    }
    let mut after = Vec::with_capacity(end - start + new_bytes);
    let mut at = start;
    for splice in splices {
        after.extend_from_slice(&before[at..splice.range.start]);
        after.extend_from_slice(splice.replacement.as_bytes());
        at = splice.range.end;
    }
    after.extend_from_slice(&before[at..end]);
    let line = edit.first_line(before)?;
    let lines_above = line - LineCursor::new(&before[start..]).line_of(first.range.start - start);
    let lines = Bytes::copy_from_slice(&before[start..end]);
    Some((lines_above, [lines, Bytes::from(after)]))
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
