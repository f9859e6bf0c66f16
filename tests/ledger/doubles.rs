//! Rules and logs that break one promise each: a script that does not notice says nothing.

use std::sync::Arc;

use async_trait::async_trait;
use seamfs::Result;
use seamfs::core::gate::{
    self, Explanation, GateFacts, Intent, Observed, Reason, Refusal, Ruling, Shown,
};
use seamfs::core::{Actor, Operation, Rule, TargetKey};
use seamfs::policy::Log;
use seamfs::{ErrorCode, Expected};

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
struct Lost;

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
