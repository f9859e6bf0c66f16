//! The rebase rule: a stale edit may land where what was seen around it still stands.

use std::sync::Arc;

use async_trait::async_trait;
use seamfs_core::gate::{Explanation, GateFacts, Intent, Observed, Refusal, Rule, Ruling};
use seamfs_core::rebase::Base;
use seamfs_core::{Actor, ErrorCode, FsError, Operation, Result};

use crate::coverage::bounded;
use crate::ledger::{Detail, Ledger, Seen};
use crate::lines::Lines;

/// Let a stale edit land where a merge has no conflict.
///
/// It supplies what the actor saw; the check itself is [`seamfs_core::rebase::Rebase`]. What others
/// changed elsewhere was then not shown, so an overwrite after it needs a read first.
///
/// It goes by a ledger that keeps merges or lines, which an [`Observation`](crate::Observation)
/// fills.
#[derive(Debug)]
pub struct Rebase {
    ledger: Arc<Ledger>,
}

impl Rebase {
    /// Creates the rule over a ledger that keeps at least
    /// [`Detail::Merges`](crate::Detail::Merges).
    pub fn over(ledger: Arc<Ledger>) -> Self {
        Self { ledger }
    }
}

#[async_trait]
impl Rule for Rebase {
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling> {
        let seen = self.ledger.seen(intent.actor, intent.target.key());
        let Some(Seen::Present { version, lines }) = seen else {
            return Ok(Ruling::Pass);
        };
        match (intent.operation, lines) {
            (Operation::Edit, lines) => Ok(match self.ledger.content(&version) {
                None => Ruling::Pass,
                Some(content) => Ruling::Rebase(Base {
                    content,
                    version,
                    shown: match lines {
                        Lines::All => None,
                        Lines::Some(some) => Some(some.whole),
                    },
                }),
            }),
            (Operation::Write, Lines::Some(some)) if self.ledger.detail() == Detail::Merges => {
                let unseen = some.whole.missing(1, some.total);
                let message = "this overwrite replaces lines that others changed and that this \
                               session has not been shown";
                Err(FsError::new(ErrorCode::NotObserved, message)
                    .with_details(|details| details.unseen_lines = Some(bounded(&unseen))))
            }
            _ => Ok(Ruling::Pass),
        }
    }

    fn observed(&self, _: &Observed<'_>) {}

    fn explain(&self, _: &Refusal<'_>) -> Option<Explanation> {
        None
    }

    fn forget(&self, _: &Actor) {}

    fn describe(&self, _: &mut GateFacts) {}
}
