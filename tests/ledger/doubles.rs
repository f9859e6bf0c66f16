//! Rules and logs that break one promise each: a script that does not notice says nothing.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use seamfs::core::gate::{
    self, Explanation, GateFacts, Inspector, Intent, Observed, Reason, Refusal, Ruling, Shown,
};
use seamfs::core::text::Text;
use seamfs::core::{Operation, Rule, TargetKey, TextEdit};
use seamfs::policy::{Ledger, Log};
use seamfs::{Actor, ErrorCode, Expected, Result, Target, Version};

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Double {
    /// Nothing: what breaks on this too says nothing about the others.
    Sound,
    /// Whoever saw a line saw all.
    CountsWindows,
    /// Whatever is planned passes.
    InspectsNothing,
    /// A line that was cut counts as never shown at all.
    ForgetsParts,
    /// Edits are guarded by nothing.
    GuardsNothing,
    /// Nothing is ever rebased.
    NeverRebases,
    /// What changed is not explained.
    NeverExplains,
    /// A change that was shown is not recorded.
    ExplainsWithoutRecording,
    /// A fork begins with nothing.
    ForksNothing,
    /// What is over or evicted is still known.
    NeverForgets,
    /// The log holds nothing.
    LosesTheLog,
    /// An edit of the actor's own makes it forget what it saw.
    ForgetsByEditing,
    /// What was rebased counts as seen whole.
    TakesMergesForSeen,
    /// An edit is recorded before it lands.
    RecordsAhead,
}

impl Double {
    pub(super) fn bend(self, sound: impl Rule) -> Arc<dyn Rule> {
        Arc::new(Bent {
            double: self,
            sound,
        })
    }

    pub(super) fn bend_log(self, log: Arc<dyn Log>) -> Arc<dyn Log> {
        match self {
            Self::LosesTheLog => Arc::new(Lost),
            _ => log,
        }
    }
}

#[derive(Debug)]
pub(super) struct Lost;

impl Log for Lost {
    fn load(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn append(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn replace(&self, _: &[String]) -> Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Bent<R> {
    double: Double,
    sound: R,
}

#[async_trait]
impl<R: Rule> Rule for Bent<R> {
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling> {
        let ruling = self.sound.decide(intent).await;
        match (self.double, &ruling) {
            (Double::InspectsNothing, Ok(Ruling::Inspect(_))) => Ok(Ruling::Pass),
            (Double::InspectsNothing, Err(error))
                if error.code() == ErrorCode::NotObserved
                    && intent.operation == Operation::Write =>
            {
                Ok(Ruling::Pass)
            }
            (Double::NeverRebases, Ok(Ruling::Rebase(_))) => Ok(Ruling::Pass),
            (Double::GuardsNothing, Ok(Ruling::Guard(..))) => {
                Ok(Ruling::Guard(Expected::Any, Reason::SeenPresent))
            }
            _ => ruling,
        }
    }

    fn observed(&self, event: &Observed<'_>) {
        let mut event = event.clone();
        if let gate::Observation::Present { shown, .. } = &mut event.observation {
            match (self.double, &mut *shown) {
                (Double::CountsWindows, Shown::Lines { .. }) => *shown = Shown::All,
                (Double::TakesMergesForSeen, Shown::Rebased) => *shown = Shown::All,
                (Double::ForgetsParts, Shown::Lines { parts, .. }) => parts.clear(),
                (Double::ForgetsParts, Shown::Part(_)) => return,
                (Double::ForgetsByEditing, Shown::Edited | Shown::Rebased) => {
                    *shown = Shown::Lines {
                        lines: Vec::new(),
                        parts: Vec::new(),
                        total: 3,
                    };
                }
                _ => {}
            }
        }
        self.sound.observed(&event);
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Option<Explanation> {
        match self.double {
            Double::NeverExplains => None,
            Double::ExplainsWithoutRecording => {
                let explained = self.sound.explain(refusal);
                self.sound.evicted(refusal.actor, None);
                explained
            }
            _ => self.sound.explain(refusal),
        }
    }

    fn forget(&self, actor: &Actor) {
        if self.double != Double::NeverForgets {
            self.sound.forget(actor);
        }
    }

    fn fork(&self, from: &Actor, to: &Actor) {
        if self.double != Double::ForksNothing {
            self.sound.fork(from, to);
        }
    }

    fn evicted(&self, actor: &Actor, target: Option<&TargetKey>) {
        if self.double != Double::NeverForgets {
            self.sound.evicted(actor, target);
        }
    }

    fn describe(&self, facts: &mut GateFacts) {
        self.sound.describe(facts);
    }
}

/// A rule that records an edit once it is planned, before it lands.
#[derive(Debug)]
pub(super) struct Ahead {
    pub(super) ledger: Arc<Ledger>,
}

#[async_trait]
impl Rule for Ahead {
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling> {
        Ok(match intent.operation {
            Operation::Edit => Ruling::Inspect(Arc::new(Planned {
                ledger: Arc::clone(&self.ledger),
                actor: intent.actor.clone(),
                target: intent.target.clone(),
            })),
            _ => Ruling::Pass,
        })
    }

    fn observed(&self, _: &Observed<'_>) {}

    fn explain(&self, _: &Refusal<'_>) -> Option<Explanation> {
        None
    }

    fn forget(&self, _: &Actor) {}

    fn describe(&self, _: &mut GateFacts) {}
}

#[derive(Debug)]
struct Planned {
    ledger: Arc<Ledger>,
    actor: Actor,
    target: Target,
}

impl Inspector for Planned {
    fn inspect(&self, text: &Text<'_>, _: &Version, edit: &TextEdit) -> Result<()> {
        let before = Bytes::copy_from_slice(text.bytes());
        let after = Bytes::from(edit.splices.apply(&before));
        self.ledger.observed(&Observed {
            actor: &self.actor,
            target: &self.target,
            observation: gate::Observation::Present {
                version: Version::of(&after),
                shown: Shown::Edited,
            },
            before: Some(&before),
            after: Some(&after),
            outline: None,
            own: true,
            edit: Some(edit),
        });
        Ok(())
    }
}
