//! The observation rule: an actor changes only what it has seen, as it has seen it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use seamfs_core::gate::{
    Change, Current, Explanation, GateFacts, Intent, OUTLINE_LIMIT, Observed, Reason, Refusal,
    Rule, Ruling, SNAPSHOT_LIMIT,
};
use seamfs_core::text::{Diff, Outline, Text};
use seamfs_core::{Actor, ErrorCode, Expected, FsError, Operation, Result, Snapshot, TargetKey};

use crate::coverage::bounded;
use crate::ledger::{Ledger, Seen};

/// The longest diff that a stale error carries, in bytes.
const DIFF_LIMIT: usize = 8 << 10;

/// Lines of context around each change in such a diff.
const DIFF_CONTEXT: usize = 3;

/// Read before write, and refuse what changed since.
///
/// | the actor's knowledge | `write`, `create` | `edit` |
/// |---|---|---|
/// | nothing | guard `Absent` | `FS_NOT_OBSERVED` |
/// | confirmed absence | guard `Absent` | `FS_NOT_FOUND` |
/// | present at `v` | guard `Version(v)` | guard `Version(v)` |
///
/// Any read of a file counts, a windowed one too, and so do the actor's own writes and edits. A
/// refused guard is explained by the difference between what the actor saw and what is there; when
/// that shows the whole change, the present version counts as seen.
#[derive(Debug, Default)]
pub struct Observation {
    ledger: Arc<Ledger>,
}

impl Observation {
    /// Creates the rule with an empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the rule over a ledger, which other rules may go by.
    pub fn over(ledger: Arc<Ledger>) -> Self {
        Self { ledger }
    }

    /// Returns what an actor knows of a target.
    pub fn seen(&self, actor: &Actor, target: &TargetKey) -> Option<Seen> {
        self.ledger.seen(actor, target)
    }
}

#[async_trait]
impl Rule for Observation {
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling> {
        let seen = self.ledger.seen(intent.actor, intent.target.key());
        match (intent.operation, seen) {
            (
                Operation::Write | Operation::Create | Operation::Edit,
                Some(Seen::Present { version, .. }),
            ) => Ok(Ruling::Guard(
                Expected::Version(version),
                Reason::SeenPresent,
            )),
            (Operation::Write | Operation::Create, Some(Seen::Absent)) => {
                Ok(Ruling::Guard(Expected::Absent, Reason::SeenAbsent))
            }
            (Operation::Write | Operation::Create, None) => {
                Ok(Ruling::Guard(Expected::Absent, Reason::Unseen))
            }
            (Operation::Edit, Some(Seen::Absent)) => Err(FsError::new(
                ErrorCode::NotFound,
                "no such file when this session last looked",
            )),
            (Operation::Edit, None) => Err(FsError::new(
                ErrorCode::NotObserved,
                "this session has not read the file",
            )),
            _ => Ok(Ruling::Pass),
        }
    }

    fn observed(&self, event: &Observed<'_>) {
        self.ledger.observed(event);
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Option<Explanation> {
        let current = refusal.current?;
        let explanation = Explanation {
            change: self.change(refusal),
            writer: self.ledger.writer(refusal.target.key(), current.version()),
        };
        (explanation != Explanation::default()).then_some(explanation)
    }

    fn forget(&self, actor: &Actor) {
        self.ledger.forget(actor);
    }

    fn fork(&self, from: &Actor, to: &Actor) {
        self.ledger.fork(from, to);
    }

    fn evicted(&self, actor: &Actor, target: Option<&TargetKey>) {
        self.ledger.evicted(actor, target);
    }

    fn describe(&self, facts: &mut GateFacts) {
        facts.observation = true;
    }
}

impl Observation {
    /// Compares what an actor saw with what is there; a change shown whole counts as seen.
    fn change(&self, refusal: &Refusal<'_>) -> Option<Change> {
        let seen = self.ledger.seen(refusal.actor, refusal.target.key())?;
        let before = match &seen {
            Seen::Present { version, .. } => self.ledger.content(version),
            Seen::Absent => Some(Bytes::new()),
        };
        match (before, refusal.current?) {
            (Some(before), Current::Whole(current)) if current.bytes.len() <= SNAPSHOT_LIMIT => {
                self.shown_change(refusal, &before, current)
            }
            (_, current) => self.outlined_change(&seen, current),
        }
    }

    fn shown_change(
        &self,
        refusal: &Refusal<'_>,
        before: &Bytes,
        current: &Snapshot,
    ) -> Option<Change> {
        let (old, new) = (
            Text::decode(before).ok()?,
            Text::decode(&current.bytes).ok()?,
        );
        let diff = Diff::between(old.whole(), new.whole(), DIFF_CONTEXT);
        let rendered = diff.render(DIFF_LIMIT);
        if rendered.complete {
            self.ledger
                .informed(refusal.actor, refusal.target.key(), current, &diff);
        }
        Some(Change {
            diff: Some(rendered.text),
            lines: bounded(diff.changed_lines()),
            complete: rendered.complete,
        })
    }

    /// Compares texts of which one at least is too large to keep: says where they differ, no more.
    fn outlined_change(&self, seen: &Seen, current: &Current) -> Option<Change> {
        let before = match seen {
            Seen::Present { version, .. } => self.ledger.outline(version)?,
            Seen::Absent => Arc::default(),
        };
        let lines = match current {
            Current::Outlined { outline, .. } => outline.changed_since(&before),
            Current::Whole(current) if current.bytes.len() > OUTLINE_LIMIT => return None,
            Current::Whole(current) => {
                Text::decode(&current.bytes).ok()?;
                Outline::of(&current.bytes).changed_since(&before)
            }
        };
        (!lines.is_empty()).then(|| Change {
            diff: None,
            lines: bounded(&lines),
            complete: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seamfs_core::gate;
    use seamfs_core::{CallContext, Target, Version};

    fn guard_version(ruling: Ruling) -> Option<Version> {
        match ruling {
            Ruling::Guard(Expected::Version(version), _) => Some(version),
            _ => None,
        }
    }

    struct Scene {
        rule: Observation,
        actor: Actor,
        target: Target,
    }

    impl Scene {
        fn new() -> Self {
            Self {
                rule: Observation::new(),
                actor: Actor::new("one"),
                target: Target::new(TargetKey::new("/a"), "/a"),
            }
        }

        async fn decide(&self, operation: Operation) -> Result<Ruling> {
            let context = CallContext::default();
            self.rule
                .decide(&Intent {
                    actor: &self.actor,
                    operation,
                    target: &self.target,
                    destination: None,
                    context: &context,
                })
                .await
        }

        fn see(&self, text: &'static str) -> Version {
            let bytes = Bytes::from_static(text.as_bytes());
            let version = Version::of(&bytes);
            self.record(
                gate::Observation::Present {
                    version: version.clone(),
                    shown: gate::Shown::All,
                },
                Some(&bytes),
            );
            version
        }

        fn record(&self, observation: gate::Observation, after: Option<&Bytes>) {
            self.rule.observed(&Observed {
                actor: &self.actor,
                target: &self.target,
                observation,
                before: None,
                after,
                outline: None,
                own: false,
                edit: None,
            });
        }

        fn refuse(&self, text: &str) -> Option<Change> {
            let bytes = Bytes::copy_from_slice(text.as_bytes());
            let current = Current::Whole(Snapshot {
                version: Version::of(&bytes),
                bytes,
            });
            let explained = self.rule.explain(&Refusal {
                actor: &self.actor,
                target: &self.target,
                current: Some(&current),
            });
            explained?.change
        }
    }

    #[tokio::test]
    async fn o1_guards_follow_what_was_seen() {
        let scene = Scene::new();
        let write = scene.decide(Operation::Write).await.unwrap();
        assert!(matches!(
            write,
            Ruling::Guard(Expected::Absent, Reason::Unseen)
        ));
        let edit = scene.decide(Operation::Edit).await.unwrap_err();
        assert_eq!(edit.code(), ErrorCode::NotObserved);

        scene.record(gate::Observation::Absent, None);
        let write = scene.decide(Operation::Write).await.unwrap();
        assert!(matches!(
            write,
            Ruling::Guard(Expected::Absent, Reason::SeenAbsent)
        ));
        let edit = scene.decide(Operation::Edit).await.unwrap_err();
        assert_eq!(edit.code(), ErrorCode::NotFound);

        let version = scene.see("one\n");
        for operation in [Operation::Write, Operation::Edit] {
            let ruling = scene.decide(operation).await.unwrap();
            assert_eq!(guard_version(ruling), Some(version.clone()));
        }
    }

    #[tokio::test]
    async fn o10_a_change_shown_whole_counts_as_seen() {
        let scene = Scene::new();
        scene.see("one\ntwo\n");
        let explanation = scene.refuse("one\n2\n").unwrap();
        assert!(explanation.complete);
        let diff = explanation.diff.unwrap();
        assert!(diff.contains("-two") && diff.contains("+2"));
        let ruling = scene.decide(Operation::Edit).await.unwrap();
        assert_eq!(guard_version(ruling), Some(Version::of(b"one\n2\n")));
    }

    #[tokio::test]
    async fn o10_a_change_too_long_to_show_does_not_count_as_seen() {
        let scene = Scene::new();
        let version = scene.see("one\n");
        let explanation = scene
            .refuse(&"a line that was not there\n".repeat(2000))
            .unwrap();
        assert!(!explanation.complete);
        assert!(explanation.diff.unwrap().len() <= DIFF_LIMIT + 200);
        let ruling = scene.decide(Operation::Edit).await.unwrap();
        assert_eq!(guard_version(ruling), Some(version));
    }

    #[tokio::test]
    async fn a_change_of_a_text_too_large_to_keep_is_told_by_its_lines() {
        let scene = Scene::new();
        let large = "a line of a large file\n".repeat(1 + SNAPSHOT_LIMIT / 23);
        let bytes = Bytes::from(large.clone());
        let version = Version::of(&bytes);
        let shown = gate::Shown::All;
        let present = gate::Observation::Present {
            version: version.clone(),
            shown,
        };
        scene.rule.observed(&Observed {
            actor: &scene.actor,
            target: &scene.target,
            observation: present,
            before: None,
            after: None,
            outline: Some(&Arc::new(Outline::of(&bytes))),
            own: false,
            edit: None,
        });
        for now in [format!("{large}more\n"), "small\n".to_owned()] {
            let change = scene.refuse(&now).unwrap();
            assert_eq!((change.diff, change.complete), (None, false));
            assert!(!change.lines.is_empty());
        }
        assert_eq!(scene.refuse(&large), None);
        let ruling = scene.decide(Operation::Edit).await.unwrap();
        assert_eq!(guard_version(ruling), Some(version));
    }

    #[tokio::test]
    async fn what_one_knows_a_fork_knows_until_it_is_evicted_or_forgotten() {
        let mut scene = Scene::new();
        let (one, two) = (Actor::new("one"), Actor::new("two"));
        let version = scene.see("one\n");
        scene.rule.fork(&one, &two);
        scene.actor = two.clone();
        let ruling = scene.decide(Operation::Edit).await.unwrap();
        assert_eq!(guard_version(ruling), Some(version));
        let key = scene.target.key().clone();
        scene.rule.evicted(&two, Some(&key));
        assert_eq!(scene.rule.seen(&two, &key), None);
        assert!(scene.rule.seen(&one, &key).is_some());
        scene.rule.forget(&one);
        assert_eq!(scene.rule.seen(&one, &key), None);
    }
}
