//! The gate: an intent is decided before a mutation, an observation is recorded after a call.
//!
//! Tools dispatch, rules decide, the file system enforces.

use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::context::{Actor, CallContext, SandboxMode};
use crate::error::{FsError, Operation, Result, Snapshot};
use crate::escalation::Approver;
use crate::rebase::Base;
use crate::target::{Target, TargetKey};
use crate::text::{Outline, Outliner, Text};
use crate::transform::{TextEdit, Transform};
use crate::version::{Expected, Version};

/// A mutation that an actor is about to make.
#[derive(Clone, Debug)]
pub struct Intent<'a> {
    /// Who acts.
    pub actor: &'a Actor,
    /// What is to be done.
    pub operation: Operation,
    /// To what.
    pub target: &'a Target,
    /// The other end of a rename or copy.
    pub destination: Option<&'a Target>,
    /// The call.
    pub context: &'a CallContext,
}

/// What one rule says of an intent.
#[derive(Clone, Debug)]
pub enum Ruling {
    /// Nothing; the other rules decide.
    Pass,
    /// The mutation may happen under this guard.
    Guard(Expected, Reason),
    /// An edit may happen if this says so once it is planned.
    Inspect(Arc<dyn Inspector>),
    /// A stale edit may be tried again on other bytes, beside what the actor saw.
    Rebase(Base),
}

/// Judges a planned edit inside its critical section, on the very bytes that it would change.
pub trait Inspector: fmt::Debug + Send + Sync {
    /// Checks an edit of this text; it may run again on fresh bytes.
    ///
    /// # Errors
    /// An error is a veto; nothing is then changed.
    fn inspect(&self, text: &Text<'_>, version: &Version, edit: &TextEdit) -> Result<()>;
}

/// Why a decision has the guard it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// No rule supplied a guard.
    NoRule,
    /// The actor has seen neither the file nor its absence.
    Unseen,
    /// The actor confirmed that nothing was there.
    SeenAbsent,
    /// The actor saw the file at the version of the guard.
    SeenPresent,
}

/// The gate's answer to an intent.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The guard to mutate under.
    pub expected: Expected,
    /// Why.
    pub reason: Reason,
    /// Who must agree to a planned edit.
    pub inspectors: Vec<Arc<dyn Inspector>>,
    /// What the actor saw, where a stale edit may be tried again beside it.
    pub base: Option<Base>,
}

impl Decision {
    /// Makes a transform ask the inspectors about what it plans.
    pub fn inspected(&self, transform: Arc<dyn Transform>) -> Arc<dyn Transform> {
        match self.inspectors.is_empty() {
            true => transform,
            false => Arc::new(Inspected {
                transform,
                inspectors: self.inspectors.clone(),
            }),
        }
    }
}

/// A transform whose plans are inspected; an edit that changes nothing needs no leave.
struct Inspected {
    transform: Arc<dyn Transform>,
    inspectors: Vec<Arc<dyn Inspector>>,
}

impl Transform for Inspected {
    fn plan(&self, text: &Text<'_>, version: &Version) -> Result<TextEdit> {
        let edit = self.transform.plan(text, version)?;
        if edit.replacements > 0 {
            for inspector in &self.inspectors {
                inspector.inspect(text, version, &edit)?;
            }
        }
        Ok(edit)
    }
}

/// What an actor knows of a target after a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// The file was there, at this version, and this much of it was shown.
    Present {
        /// The version of the bytes that were seen.
        version: Version,
        /// Which of its lines were shown.
        shown: Shown,
    },
    /// Lines of the file were shown in passing, as search does: that alone authorises nothing.
    Glimpsed {
        /// The version of the bytes that were seen.
        version: Version,
        /// Which of its lines were shown.
        shown: Shown,
    },
    /// Nothing was there.
    Absent,
}

/// The largest content, in bytes, that callers hand to [`Observed`] and that rules keep: 256 KiB.
///
/// A stale error can show the change of a file up to this size.
pub const SNAPSHOT_LIMIT: usize = 256 << 10;

/// The largest content, in bytes, of which callers hand an outline to [`Observed`]: 64 MiB.
///
/// A stale error can name the changed lines of a file up to this size.
pub const OUTLINE_LIMIT: usize = 64 << 20;

/// How much of a file was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Every line.
    All,
    /// Some of the lines.
    Lines {
        /// These 1-based lines, whole; lines that were cut are not among them.
        lines: Vec<RangeInclusive<u64>>,
        /// The parts of lines that were cut.
        parts: Vec<Part>,
        /// How many lines the file has; a final newline adds none.
        total: u64,
    },
    /// A part of one line, of a file of which more was shown before.
    Part(Part),
    /// What had been shown of the bytes before, and what the actor put in their place: the guard
    /// held, and [`Observed::edit`] says where.
    Edited,
    /// The same where the bytes before need not be those that the actor had seen.
    Rebased,
}

/// A part of a line too long to be shown whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The 1-based line.
    pub line: u64,
    /// Which of its bytes; a byte order mark is none of them.
    pub bytes: Range<u64>,
}

/// A record of what an actor now knows.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// Who.
    pub actor: &'a Actor,
    /// Of what.
    pub target: &'a Target,
    /// What.
    pub observation: Observation,
    /// The bytes before a mutation, where they are known.
    pub before: Option<&'a Bytes>,
    /// The bytes now, where they are at hand and within [`SNAPSHOT_LIMIT`]; after an edit they are
    /// had from [`Observed::edited_bytes`] instead.
    pub after: Option<&'a Bytes>,
    /// The outline of the bytes now, where they are over that limit and within [`OUTLINE_LIMIT`];
    /// after an edit it is had from [`Observed::edited_outline`] instead.
    pub outline: Option<&'a Arc<Outline>>,
    /// The call was a mutation of the actor's own.
    pub own: bool,
    /// What an edit did to the bytes before.
    pub edit: Option<&'a TextEdit>,
}

impl Observed<'_> {
    /// Makes the bytes after an edit, where they are within [`SNAPSHOT_LIMIT`].
    pub fn edited_bytes(&self) -> Option<Bytes> {
        let (before, edit) = (self.before?, self.edit?);
        let few = edit.splices.new_len(before.len()) <= SNAPSHOT_LIMIT;
        few.then(|| Bytes::from(edit.splices.apply(before)))
    }

    /// Makes the outline of the bytes after an edit, where it should have one: from that of the
    /// bytes before, which takes next to no time, or else from the bytes.
    pub fn edited_outline(&self, known: Option<&Outline>) -> Option<Outline> {
        let (before, edit) = (self.before?, self.edit?);
        let len = edit.splices.new_len(before.len());
        if len <= SNAPSHOT_LIMIT || len > OUTLINE_LIMIT {
            return None;
        }
        if let (Some(known), Some(line)) = (known, edit.first_line(before)) {
            return Some(known.spliced(before, &edit.splices, line));
        }
        let mut outliner = Outliner::default();
        for segment in edit.splices.segments(before) {
            outliner.push(segment.bytes());
        }
        Some(outliner.finish())
    }
}

/// A guard that did not hold, and what is there instead.
#[derive(Clone, Debug)]
pub struct Refusal<'a> {
    /// Who was refused.
    pub actor: &'a Actor,
    /// At what.
    pub target: &'a Target,
    /// What is there now; none when nothing is, or it could not be had.
    pub current: Option<&'a Current>,
}

/// What is there when a guard did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Current {
    /// The bytes.
    Whole(Snapshot),
    /// The outline of bytes that are too many to hold.
    Outlined {
        /// Their version.
        version: Version,
        /// Their outline.
        outline: Arc<Outline>,
    },
}

impl Current {
    /// Returns the version of the bytes that are there.
    pub fn version(&self) -> &Version {
        match self {
            Self::Whole(snapshot) => &snapshot.version,
            Self::Outlined { version, .. } => version,
        }
    }
}

/// What a rule can tell about a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// What changed since the actor looked.
    pub change: Option<Change>,
    /// The session that wrote the present bytes, when it was one of ours.
    pub writer: Option<Actor>,
}

/// What changed since an actor looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The change as a bounded unified diff, with the line numbers of the present file; none where
    /// a text is too large to compare more than outlines.
    pub diff: Option<String>,
    /// The 1-based line ranges that changed, counted in the present file; bounded, the last one
    /// then reaching over what is left.
    pub lines: Vec<(u64, u64)>,
    /// Whether the diff shows the whole change, so that the actor now knows the present bytes.
    pub complete: bool,
}

/// Facts about the rules, for the texts that tools show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateFacts {
    /// Files must be seen before they are changed.
    pub observation: bool,
    /// The very lines must be seen before they are changed.
    pub coverage: bool,
    /// The mode that confines mutations, if one does.
    pub confined: Option<SandboxMode>,
    /// Some paths are hidden, denied or read-only.
    pub restricted: bool,
}

/// One policy.
#[async_trait]
pub trait Rule: fmt::Debug + Send + Sync + 'static {
    /// Decides on an intent before the mutation. It may be asked twice of one call: before somebody
    /// is asked to widen the mode, and after.
    ///
    /// # Errors
    /// An error is a veto; it reaches the caller as it is.
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling>;

    /// Records what an actor now knows; it cannot fail a call that already succeeded.
    fn observed(&self, event: &Observed<'_>);

    /// Explains a refused guard from what the actor knew; a rule that knows nothing says none.
    ///
    /// When the explanation is complete, the rule has recorded the present bytes as seen.
    fn explain(&self, refusal: &Refusal<'_>) -> Option<Explanation>;

    /// Forgets an actor whose session ended.
    fn forget(&self, actor: &Actor);

    /// Lets an actor that begins know what another one knows; most rules know nothing.
    fn fork(&self, _from: &Actor, _to: &Actor) {}

    /// Notes that an actor no longer has in mind what it saw of a target, or of every one.
    fn evicted(&self, _actor: &Actor, _target: Option<&TargetKey>) {}

    /// Adds what tools should say about this rule.
    fn describe(&self, facts: &mut GateFacts);
}

/// The rules of one workspace, in order.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    rules: Arc<[Arc<dyn Rule>]>,
    approver: Option<Arc<dyn Approver>>,
}

impl Gate {
    /// Creates a gate; the first rule that supplies a guard wins.
    pub fn new(rules: impl IntoIterator<Item = Arc<dyn Rule>>) -> Self {
        Self {
            rules: rules.into_iter().collect(),
            approver: None,
        }
    }

    /// Lets somebody widen the mode of single calls.
    #[must_use]
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Returns who may widen the mode of a call.
    pub fn approver(&self) -> Option<&dyn Approver> {
        self.approver.as_deref()
    }

    /// Asks every rule; any may veto, and the first guard stands.
    ///
    /// # Errors
    /// The first veto.
    pub async fn decide(&self, intent: &Intent<'_>) -> Result<Decision> {
        let (mut guard, mut inspectors, mut base) = (None, Vec::new(), None);
        for rule in self.rules.iter() {
            let ruling = rule
                .decide(intent)
                .await
                .map_err(|veto| veto.at(intent.target.display()).during(intent.operation))?;
            match ruling {
                Ruling::Pass => {}
                Ruling::Guard(expected, reason) => {
                    guard.get_or_insert((expected, reason));
                }
                Ruling::Inspect(inspector) => inspectors.push(inspector),
                Ruling::Rebase(seen) => {
                    base.get_or_insert(seen);
                }
            }
        }
        let (expected, reason) = guard.unwrap_or((Expected::Any, Reason::NoRule));
        Ok(Decision {
            expected,
            reason,
            inspectors,
            base,
        })
    }

    /// Tells every rule; one that panics is logged and changes nothing for the caller.
    pub fn observed(&self, event: &Observed<'_>) {
        for rule in self.rules.iter() {
            if catch_unwind(AssertUnwindSafe(|| rule.observed(event))).is_err() {
                tracing::error!(?rule, target = %event.target, "a rule panicked while recording");
            }
        }
    }

    /// Returns the first explanation of a refusal.
    pub fn explain(&self, refusal: &Refusal<'_>) -> Option<Explanation> {
        self.rules.iter().find_map(|rule| {
            catch_unwind(AssertUnwindSafe(|| rule.explain(refusal))).unwrap_or_else(|_| {
                tracing::error!(?rule, target = %refusal.target, "a rule panicked while explaining");
                None
            })
        })
    }

    /// Tells every rule that an actor's session ended.
    pub fn forget(&self, actor: &Actor) {
        for rule in self.rules.iter() {
            rule.forget(actor);
        }
    }

    /// Tells every rule that an actor begins with what another one knows.
    pub fn fork(&self, from: &Actor, to: &Actor) {
        for rule in self.rules.iter() {
            rule.fork(from, to);
        }
    }

    /// Tells every rule what an actor no longer has in mind.
    pub fn evicted(&self, actor: &Actor, target: Option<&TargetKey>) {
        for rule in self.rules.iter() {
            rule.evicted(actor, target);
        }
    }

    /// Collects what tools should say about the rules.
    pub fn facts(&self) -> GateFacts {
        let mut facts = GateFacts::default();
        for rule in self.rules.iter() {
            rule.describe(&mut facts);
        }
        facts
    }
}

/// Attaches an explanation to the error it explains.
#[must_use]
pub fn explained(error: FsError, explanation: Explanation) -> FsError {
    error.with_details(|details| {
        details.writer = explanation.writer.map(|writer| writer.to_string());
        if let Some(change) = explanation.change {
            details.diff = change.diff;
            details.changed_lines = Some(change.lines);
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::error::ErrorCode;
    use crate::replace::Replace;
    use crate::text::Splices;

    /// A rule that answers the same every time, and fails to record.
    #[derive(Debug)]
    struct Fixed(Result<Ruling>);

    #[async_trait]
    impl Rule for Fixed {
        async fn decide(&self, _: &Intent<'_>) -> Result<Ruling> {
            self.0.clone()
        }

        fn observed(&self, _: &Observed<'_>) {
            panic!("a recorder that fails");
        }

        fn explain(&self, _: &Refusal<'_>) -> Option<Explanation> {
            None
        }

        fn forget(&self, _: &Actor) {}

        fn describe(&self, _: &mut GateFacts) {}
    }

    fn gate(rulings: Vec<Result<Ruling>>) -> Gate {
        Gate::new(
            rulings
                .into_iter()
                .map(|ruling| Arc::new(Fixed(ruling)) as Arc<dyn Rule>),
        )
    }

    async fn decide(gate: &Gate) -> Result<Decision> {
        let target = Target::new(TargetKey::new("/a"), "/a");
        let (actor, context) = (Actor::new("one"), CallContext::default());
        gate.decide(&Intent {
            actor: &actor,
            operation: Operation::Write,
            target: &target,
            destination: None,
            context: &context,
        })
        .await
    }

    #[tokio::test]
    async fn the_first_guard_wins_and_none_means_any() {
        let guard = |expected| Ok(Ruling::Guard(expected, Reason::Unseen));
        let two = gate(vec![
            Ok(Ruling::Pass),
            guard(Expected::Absent),
            guard(Expected::Any),
        ]);
        assert_eq!(decide(&two).await.unwrap().expected, Expected::Absent);
        let none = decide(&gate(vec![])).await.unwrap();
        assert_eq!(
            (none.expected, none.reason),
            (Expected::Any, Reason::NoRule)
        );
    }

    #[tokio::test]
    async fn a_veto_wins_over_an_earlier_guard() {
        let veto = FsError::new(ErrorCode::SandboxDenied, "no");
        let gate = gate(vec![
            Ok(Ruling::Guard(Expected::Any, Reason::Unseen)),
            Err(veto),
        ]);
        let error = decide(&gate).await.unwrap_err();
        assert_eq!(
            (error.code(), error.path()),
            (ErrorCode::SandboxDenied, Some("/a"))
        );
    }

    #[test]
    fn o8_a_recorder_that_panics_cannot_fail_the_call() {
        let target = Target::new(TargetKey::new("/a"), "/a");
        gate(vec![Ok(Ruling::Pass)]).observed(&Observed {
            actor: &Actor::new("one"),
            target: &target,
            observation: Observation::Absent,
            before: None,
            after: None,
            outline: None,
            own: false,
            edit: None,
        });
    }

    /// A rule that writes down what it is told, under its name.
    #[derive(Debug)]
    struct Told(&'static str, Arc<Mutex<Vec<String>>>);

    impl Told {
        fn note(&self, what: impl fmt::Display) {
            self.1.lock().unwrap().push(format!("{}: {what}", self.0));
        }
    }

    #[async_trait]
    impl Rule for Told {
        async fn decide(&self, _: &Intent<'_>) -> Result<Ruling> {
            Ok(Ruling::Pass)
        }

        fn observed(&self, event: &Observed<'_>) {
            self.note(event.target);
        }

        fn explain(&self, refusal: &Refusal<'_>) -> Option<Explanation> {
            assert_ne!(self.0, "one", "a rule that fails to explain");
            let writer = Some(refusal.actor.clone());
            Some(Explanation {
                writer,
                ..Explanation::default()
            })
        }

        fn forget(&self, actor: &Actor) {
            self.note(format_args!("forget {actor}"));
        }

        fn fork(&self, from: &Actor, to: &Actor) {
            self.note(format_args!("fork {from} {to}"));
        }

        fn evicted(&self, actor: &Actor, target: Option<&TargetKey>) {
            self.note(format_args!("evicted {actor} {target:?}"));
        }

        fn describe(&self, facts: &mut GateFacts) {
            facts.observation |= self.0 == "one";
            facts.coverage |= self.0 == "two";
        }
    }

    #[test]
    fn every_rule_is_told_and_the_first_explanation_stands() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let rule = |name| Arc::new(Told(name, Arc::clone(&told))) as Arc<dyn Rule>;
        let gate = Gate::new([rule("one"), rule("two")]);
        let (a, b) = (Actor::new("a"), Actor::new("b"));
        gate.forget(&a);
        gate.fork(&a, &b);
        gate.evicted(&b, None);
        let both = |what: &str| [format!("one: {what}"), format!("two: {what}")];
        let expected = ["forget a", "fork a b", "evicted b None"].map(both);
        assert_eq!(*told.lock().unwrap(), expected.concat());
        let facts = gate.facts();
        assert!(facts.observation && facts.coverage && !facts.restricted);
        let target = Target::new(TargetKey::new("/a"), "/a");
        let explained = gate.explain(&Refusal {
            actor: &a,
            target: &target,
            current: None,
        });
        assert_eq!(explained.unwrap().writer, Some(a));
        assert!(gate.approver().is_none());
    }

    #[derive(Debug)]
    struct Veto;

    impl Inspector for Veto {
        fn inspect(&self, _: &Text<'_>, _: &Version, _: &TextEdit) -> Result<()> {
            Err(FsError::new(ErrorCode::NotObserved, "no"))
        }
    }

    #[tokio::test]
    async fn inspectors_are_asked_of_an_edit_that_changes_something() {
        let version = Version::of(b"a\r\n");
        let text = Text::decode(b"a\r\n").unwrap();
        let decided = |rulings| async move { decide(&gate(rulings)).await.unwrap() };
        let vetoed = decided(vec![Ok(Ruling::Inspect(Arc::new(Veto)))]).await;
        let free = decided(vec![Ok(Ruling::Pass)]).await;
        let changes: Arc<dyn Transform> = Arc::new(Replace::once("a", "b").unwrap());
        let planned = free.inspected(Arc::clone(&changes)).plan(&text, &version);
        assert_eq!(planned.unwrap().replacements, 1);
        let planned = vetoed.inspected(changes).plan(&text, &version);
        assert_eq!(planned.unwrap_err().code(), ErrorCode::NotObserved);
        let nothing = Arc::new(Replace::once("a\n", "a\r\n").unwrap());
        let planned = vetoed.inspected(nothing).plan(&text, &version).unwrap();
        assert_eq!((planned.replacements, planned.notes.len()), (0, 2));
    }

    /// Checks what is had of an edit by its size: the bytes, an outline, or neither.
    fn check_edited(len: usize, bytes: bool, outline: bool) {
        let before = Bytes::from(vec![b'a'; len - 1]);
        let splices = Splices::insertion(0, "bb".into(), before.len()).unwrap();
        let edit = TextEdit {
            splices,
            ..TextEdit::default()
        };
        let target = Target::new(TargetKey::new("/a"), "/a");
        let observed = Observed {
            actor: &Actor::new("one"),
            target: &target,
            observation: Observation::Absent,
            before: Some(&before),
            after: None,
            outline: None,
            own: true,
            edit: Some(&edit),
        };
        let after = edit.splices.apply(&before);
        let (had, outlined) = (observed.edited_bytes(), observed.edited_outline(None));
        assert_eq!(had.is_some(), bytes, "{len}");
        assert!(had.is_none_or(|had| had == after));
        assert_eq!(outlined.is_some(), outline, "{len}");
        assert!(outlined.is_none_or(|outlined| outlined == Outline::of(&after)));
    }

    #[test]
    fn bytes_after_an_edit_are_had_up_to_a_limit_and_an_outline_above_it() {
        assert_eq!((SNAPSHOT_LIMIT, OUTLINE_LIMIT), (262_144, 67_108_864));
        check_edited(2, true, false);
        check_edited(SNAPSHOT_LIMIT - 1, true, false);
        check_edited(SNAPSHOT_LIMIT, false, true);
    }

    #[test]
    fn an_error_carries_its_explanation() {
        let stale = FsError::new(ErrorCode::StaleVersion, "stale");
        let change = Change {
            diff: Some("+x".into()),
            lines: vec![(1, 2)],
            complete: true,
        };
        let error = explained(
            stale.clone(),
            Explanation {
                change: Some(change),
                writer: Some(Actor::new("two")),
            },
        );
        let details = error.details();
        assert_eq!(details.writer.as_deref(), Some("two"));
        assert_eq!(details.diff.as_deref(), Some("+x"));
        assert_eq!(details.changed_lines, Some(vec![(1, 2)]));
        let bare = explained(stale, Explanation::default());
        assert_eq!(
            (&bare.details().diff, &bare.details().writer),
            (&None, &None)
        );
    }
}
