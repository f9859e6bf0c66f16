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

#[cfg(test)]
mod tests {
    use seamfs_core::gate::{Observation, Part, Shown};
    use seamfs_core::replace::{Insert, Replace};
    use seamfs_core::{CallContext, Target, TargetKey, Transform};

    use super::*;
    use crate::Detail;

    /// A file of which an actor was shown some lines, and parts of some.
    struct Scene {
        rule: Coverage,
        actor: Actor,
        target: Target,
        content: String,
    }

    impl Scene {
        fn of(content: &str, shown: &[(u64, u64)], parts: &[(u64, std::ops::Range<u64>)]) -> Self {
            let ledger = Arc::new(Ledger::keeping(Detail::Lines));
            let scene = Self {
                rule: Coverage::over(Arc::clone(&ledger)),
                actor: Actor::new("one"),
                target: Target::new(TargetKey::new("/a"), "/a"),
                content: content.to_owned(),
            };
            let bytes = Bytes::copy_from_slice(content.as_bytes());
            let shown = Shown::Lines {
                lines: shown.iter().map(|(start, end)| *start..=*end).collect(),
                parts: parts
                    .iter()
                    .cloned()
                    .map(|(line, bytes)| Part { line, bytes })
                    .collect(),
                total: seamfs_core::text::count_lines(&bytes),
            };
            let version = Version::of(&bytes);
            ledger.observed(&Observed {
                actor: &scene.actor,
                target: &scene.target,
                observation: Observation::Present { version, shown },
                before: None,
                after: Some(&bytes),
                outline: None,
                own: false,
                edit: None,
            });
            scene
        }

        async fn decide(&self, operation: Operation) -> Result<Ruling> {
            let context = CallContext::default();
            let intent = Intent {
                actor: &self.actor,
                operation,
                target: &self.target,
                destination: None,
                context: &context,
            };
            self.rule.decide(&intent).await
        }

        async fn change(&self, transform: impl Transform) -> Result<()> {
            let text = Text::decode(self.content.as_bytes()).unwrap();
            let version = Version::of(self.content.as_bytes());
            let edit = transform.plan(&text, &version)?;
            match self.decide(Operation::Edit).await? {
                Ruling::Inspect(inspector) => inspector.inspect(&text, &version, &edit),
                ruling => {
                    assert!(matches!(ruling, Ruling::Pass));
                    Ok(())
                }
            }
        }

        async fn replace(&self, old: &str, new: &str) -> Result<()> {
            self.change(Replace::all(old, new).unwrap()).await
        }
    }

    /// Returns the lines that a refusal names; none when there was none.
    fn unseen(outcome: Result<impl Sized>) -> Option<Vec<(u64, u64)>> {
        let error = outcome.err()?;
        assert_eq!(error.code(), ErrorCode::NotObserved);
        error.details().unseen_lines.clone()
    }

    /// Returns where the excerpt of a refusal begins, and its text.
    fn excerpt(outcome: Result<()>) -> (u64, u64, String) {
        let error = outcome.unwrap_err();
        let excerpt = error.details().excerpt.clone().unwrap();
        (excerpt.line, excerpt.start, excerpt.text)
    }

    #[tokio::test]
    async fn an_edit_needs_the_lines_that_it_touches_and_no_other() {
        let scene = Scene::of("a\nb\nc\nd\ne\n", &[(1, 2), (4, 4)], &[]);
        for (old, new) in [("a", "A"), ("a\nb", ""), ("d", "x\ny")] {
            assert_eq!(unseen(scene.replace(old, new).await), None, "{old:?}");
        }
        let named = |ranges: &[(u64, u64)]| Some(ranges.to_vec());
        assert_eq!(unseen(scene.replace("c", "C").await), named(&[(3, 3)]));
        assert_eq!(unseen(scene.replace("b\nc", "x").await), named(&[(3, 3)]));
        assert_eq!(
            unseen(scene.replace("\n", " ").await),
            named(&[(3, 3), (5, 5)])
        );
        let insert = |row| scene.change(Insert::after(row, "new\n"));
        assert_eq!(unseen(insert(1).await), None);
        assert_eq!(unseen(insert(0).await), None);
        assert_eq!(unseen(insert(2).await), named(&[(3, 3)]));
        let message = scene.replace("c", "C").await.unwrap_err();
        assert!(
            message.message().ends_with("not been shown: line 3"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn a_file_that_was_shown_whole_or_not_at_all_is_left_to_other_rules() {
        let whole = Scene::of("a\nb\n", &[(1, 2)], &[]);
        assert_eq!(unseen(whole.replace("a", "A").await), None);
        assert_eq!(unseen(whole.decide(Operation::Write).await), None);
        let refusal = Refusal {
            actor: &whole.actor,
            target: &whole.target,
            current: None,
        };
        assert_eq!(whole.rule.explain(&refusal), None);
        let mut stranger = Scene::of("a\nb\n", &[(1, 1)], &[]);
        assert!(stranger.decide(Operation::Write).await.is_err());
        stranger.actor = Actor::new("two");
        assert_eq!(unseen(stranger.decide(Operation::Write).await), None);
        assert_eq!(unseen(stranger.replace("b", "B").await), None);
    }

    #[tokio::test]
    async fn of_a_line_that_was_cut_the_part_that_was_shown_may_be_changed() {
        let scene = Scene::of("a\nabcdefghij\r\nz\n", &[(1, 1)], &[(2, 0..6)]);
        for old in ["cdef", "abcdef", "b"] {
            assert_eq!(unseen(scene.replace(old, "X").await), None, "{old:?}");
        }
        let line = Some(vec![(2, 2)]);
        for old in ["fg", "j", "ghij"] {
            assert_eq!(unseen(scene.replace(old, "X").await), line, "{old:?}");
        }
        // An edit of several lines needs all of those after its first one.
        assert_eq!(unseen(scene.replace("j\nz", "X").await), Some(vec![(2, 3)]));
        assert_eq!(unseen(scene.replace("a\nab", "X").await), line);
        let row = Insert::after(1, "new\n");
        assert_eq!(unseen(scene.change(row).await), None);
        let shown = (2, 0, "abcdefghij".to_owned());
        assert_eq!(excerpt(scene.replace("fg", "X").await), shown);
    }

    #[tokio::test]
    async fn an_excerpt_shows_what_is_to_be_changed_in_whole_characters() {
        let line = format!("{}needle{}", "é".repeat(100), "é".repeat(100));
        let scene = Scene::of(&format!("{line}\nb\n"), &[], &[(1, 0..2)]);
        let (at, start, text) = excerpt(scene.replace("needle", "pin").await);
        assert_eq!((at, start), (1, 120));
        assert_eq!(text, format!("{}needle{}", "é".repeat(40), "é".repeat(40)));
        // 81 bytes before and after: outwards to the characters that these bytes are part of.
        let (_, start, text) = excerpt(scene.replace("eedl", "pin").await);
        assert_eq!((start, text.len()), (120, 2 * 40 + 6 + 2 * 40));
        let long = format!("b{}e", "x".repeat(2 * EXCERPT_LIMIT));
        let scene = Scene::of(&format!("{long}\nb\n"), &[], &[(1, 0..100)]);
        let (_, start, text) = excerpt(scene.replace(&long, "short").await);
        assert_eq!((start, text.len()), (20, EXCERPT_LIMIT));
    }

    #[tokio::test]
    async fn an_overwrite_needs_every_line_if_need_be_in_parts() {
        let content = "one\ntwo\nthree\r\nfour\nfive\nsix\n";
        let write = |shown: &[(u64, u64)], parts: &[(u64, std::ops::Range<u64>)]| {
            let scene = Scene::of(content, shown, parts);
            async move { scene.decide(Operation::Write).await.map(drop) }
        };
        let named = |ranges: &[(u64, u64)]| Some(ranges.to_vec());
        assert_eq!(unseen(write(&[(1, 5)], &[]).await), named(&[(6, 6)]));
        assert_eq!(unseen(write(&[(1, 5)], &[(6, 0..3)]).await), None);
        let parts = [(3, 0..5), (5, 0..2)];
        assert_eq!(
            unseen(write(&[(1, 2), (4, 4), (6, 6)], &parts).await),
            named(&[(5, 5)])
        );
        assert_eq!(
            unseen(write(&[(1, 1)], &parts).await),
            named(&[(2, 2), (4, 6)])
        );
        let shown = (5, 0, "five".to_owned());
        assert_eq!(excerpt(write(&[(1, 1)], &parts).await), shown);
        let both = [(3, 0..2), (3, 2..5), (5, 0..4)];
        assert_eq!(unseen(write(&[(1, 2), (4, 4), (6, 6)], &both).await), None);
    }

    #[test]
    fn a_bounded_list_of_lines_reaches_over_what_is_left() {
        let range = |n: u64| LineRange {
            start: 10 * n,
            end: 10 * n + 1,
        };
        let ranges: Vec<_> = (1..=60).map(range).collect();
        let pairs = bounded(&ranges);
        assert_eq!((pairs.len(), pairs[0]), (MOST_RANGES, (10, 11)));
        assert_eq!(pairs[MOST_RANGES - 1], (500, 601));
        assert_eq!(bounded(&ranges[..2]), [(10, 11), (20, 21)]);
        assert_eq!(bounded(&[]), []);
        let message = |count: usize| refusal(&ranges[..count], "this", None).message().to_owned();
        assert!(message(5).ends_with("lines 50-51"), "{}", message(5));
        assert!(message(6).ends_with("lines 50-51, …"), "{}", message(6));
    }
}
