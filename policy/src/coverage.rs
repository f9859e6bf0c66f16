//! The coverage rule: an actor changes only the lines that it was shown.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use memchr::memchr_iter;
use seamfs_core::gate::{
    Explanation, GateFacts, Inspector, Intent, Observed, Refusal, Rule, Ruling,
};
use seamfs_core::text::{LineCursor, LineRange, LineSet, Span, Text};
use seamfs_core::{Actor, ErrorCode, Excerpt, FsError, Operation, Result, TextEdit, Version};

use crate::ledger::{Ledger, Seen};
use crate::lines::{Lines, SomeLines};

/// How much of a line too long to be shown whole a refusal shows, in bytes.
const EXCERPT_LIMIT: usize = 8 << 10;

/// How much of such a line is shown on either side of what is to be changed, in bytes.
const EXCERPT_CONTEXT: usize = 80;

/// The most ranges of unseen lines that an error names.
const MOST_RANGES: usize = 50;

/// See every line before it is replaced.
///
/// An overwrite needs all lines of the file to have been shown, an edit those that it touches (an
/// insertion between two lines: these two). A line that was cut was not shown. Refusals are
/// `FS_NOT_OBSERVED` and name the unseen lines; where such a line was cut before, the refusal
/// shows the part of it that is to be changed, and that part then counts as seen, so that no file
/// is ever out of reach.
///
/// It goes by a ledger that keeps lines, which an [`Observation`](crate::Observation) fills.
#[derive(Debug)]
pub struct Coverage {
    ledger: Arc<Ledger>,
}

impl Coverage {
    /// Creates the rule over a ledger that keeps [`Detail::Lines`](crate::Detail::Lines).
    pub fn over(ledger: Arc<Ledger>) -> Self {
        Self { ledger }
    }
}

#[async_trait]
impl Rule for Coverage {
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling> {
        let seen = self.ledger.seen(intent.actor, intent.target.key());
        let Some(Seen::Present {
            version,
            lines: Lines::Some(lines),
        }) = seen
        else {
            return Ok(Ruling::Pass);
        };
        match intent.operation {
            Operation::Edit => Ok(Ruling::Inspect(Arc::new(Covered { lines }))),
            Operation::Write => {
                let content = self.ledger.content(&version);
                overwrite(&lines, &version, content.as_ref()).map(|()| Ruling::Pass)
            }
            _ => Ok(Ruling::Pass),
        }
    }

    fn observed(&self, _: &Observed<'_>) {}

    fn explain(&self, _: &Refusal<'_>) -> Option<Explanation> {
        None
    }

    fn forget(&self, _: &Actor) {}

    fn describe(&self, facts: &mut GateFacts) {
        facts.coverage = true;
    }
}

/// Lets an edit pass whose lines were shown.
#[derive(Debug)]
struct Covered {
    lines: SomeLines,
}

impl Inspector for Covered {
    fn inspect(&self, text: &Text<'_>, version: &Version, edit: &TextEdit) -> Result<()> {
        let mut cursor = LineCursor::new(text.bytes());
        let (mut unseen, mut excerpt) = (LineSet::new(), None);
        for splice in edit.splices.as_slice() {
            let span = Span::of(text, &splice.range, &mut cursor);
            let Some(touched) = span.touched(self.lines.total()) else {
                continue;
            };
            for lines in self.lines.whole().missing(touched.start, touched.end) {
                for line in lines.start..=lines.end {
                    let Some(part) = self.part_touched(text, &span, line) else {
                        unseen.insert(line, line);
                        continue;
                    };
                    if let Some(from) = self.lines.unseen_from(line, &part.bytes) {
                        unseen.insert(line, line);
                        excerpt.get_or_insert_with(|| part.excerpt(from, version));
                    }
                }
            }
        }
        match unseen.is_empty() {
            true => Ok(()),
            false => Err(refusal(unseen.ranges(), "this edit touches", excerpt)),
        }
    }
}

impl Covered {
    /// Returns which part of a line an edit touches, where the line was shown in part.
    fn part_touched<'t>(&self, text: &Text<'t>, span: &Span, line: u64) -> Option<Touched<'t>> {
        if self.lines.parts_of(line).is_empty() {
            return None;
        }
        let whole = line_text(text.body(), line)?;
        let bytes = match span.is_between_lines() {
            // Beside an insertion; that the line begins as it was shown is all there is to see.
            true => 0..0,
            false => {
                let start = if line == span.first { span.column } else { 0 };
                let end = match span.first == span.last {
                    true => start + span.len,
                    false => whole.len(),
                };
                start as u64..end.min(whole.len()).max(start) as u64
            }
        };
        Some(Touched { line, whole, bytes })
    }
}

/// A part of a long line that is to be changed.
struct Touched<'t> {
    line: u64,
    whole: &'t str,
    bytes: std::ops::Range<u64>,
}

impl Touched<'_> {
    /// Cuts out what is not seen yet, as far as it can be shown at once.
    fn excerpt(&self, from: u64, version: &Version) -> Excerpt {
        let at = |at: u64| {
            usize::try_from(at)
                .unwrap_or(usize::MAX)
                .min(self.whole.len())
        };
        let mut start = at(from).saturating_sub(EXCERPT_CONTEXT);
        let mut end = at(self.bytes.end.saturating_add(EXCERPT_CONTEXT as u64));
        end = end.min(start + EXCERPT_LIMIT);
        // Outwards to whole characters: what is asked for is never cut off.
        while !self.whole.is_char_boundary(start) {
            start -= 1;
        }
        while !self.whole.is_char_boundary(end) {
            end += 1;
        }
        Excerpt {
            line: self.line,
            start: start as u64,
            text: self.whole[start..end].to_owned(),
            version: version.clone(),
        }
    }
}

/// Lets an overwrite pass when every line was shown, if need be in parts.
fn overwrite(lines: &SomeLines, version: &Version, content: Option<&Bytes>) -> Result<()> {
    let missing = lines.whole().missing(1, lines.total());
    let text = content.and_then(|content| Text::decode(content).ok());
    let (mut unseen, mut excerpt) = (LineSet::new(), None);
    for range in missing {
        let mut from = range.start;
        // Parts are few, so that this looks at few lines however many are missing.
        for line in lines.parts.iter().map(|part| part.line) {
            if line < from || line > range.end {
                continue;
            }
            unseen.insert(from, line - 1);
            from = line + 1;
            let Some(whole) = text.as_ref().and_then(|text| line_text(text.body(), line)) else {
                unseen.insert(line, line);
                continue;
            };
            let bytes = 0..whole.len() as u64;
            if let Some(at) = lines.unseen_from(line, &bytes) {
                unseen.insert(line, line);
                excerpt.get_or_insert_with(|| Touched { line, whole, bytes }.excerpt(at, version));
            }
        }
        unseen.insert(from, range.end);
    }
    match unseen.is_empty() {
        true => Ok(()),
        false => Err(refusal(unseen.ranges(), "this overwrite replaces", excerpt)),
    }
}

/// Returns a line without its ending.
fn line_text(body: &str, line: u64) -> Option<&str> {
    let feeds = usize::try_from(line).ok()?.checked_sub(1)?;
    let start = match feeds.checked_sub(1) {
        None => 0,
        Some(before) => memchr_iter(b'\n', body.as_bytes()).nth(before)? + 1,
    };
    let rest = &body[start..];
    let line = rest.split('\n').next()?;
    Some(line.strip_suffix('\r').unwrap_or(line))
}

fn refusal(unseen: &[LineRange], what: &str, excerpt: Option<Excerpt>) -> FsError {
    let named: Vec<String> = unseen.iter().take(5).map(LineRange::to_string).collect();
    let more = if unseen.len() > named.len() {
        ", …"
    } else {
        ""
    };
    let message = format!(
        "{what} lines that this session has not been shown: {}{more}",
        named.join(", ")
    );
    FsError::new(ErrorCode::NotObserved, message).with_details(|details| {
        details.unseen_lines = Some(bounded(unseen));
        details.excerpt = excerpt;
    })
}

/// Returns ranges as an error states them: the last one reaches over what is left.
pub(crate) fn bounded(ranges: &[LineRange]) -> Vec<(u64, u64)> {
    let mut pairs: Vec<(u64, u64)> = ranges
        .iter()
        .take(MOST_RANGES)
        .map(|range| (range.start, range.end))
        .collect();
    if let (Some(last), Some(end)) = (pairs.last_mut(), ranges.last()) {
        last.1 = end.end;
    }
    pairs
}
