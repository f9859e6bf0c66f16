//! The budget of a write: how often and how long it is tried.

use std::time::{Duration, Instant};

use seamfs_core::CallContext;

use super::chance;

/// How often and how long a write is tried when the store is slow, busy or unreliable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The most requests one publication may send.
    pub attempts: u32,
    /// The longest that attempts are begun for; the call's own deadline holds as well.
    pub span: Duration,
    /// The longest first wait; each further one may be twice as long.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            attempts: 8,
            span: Duration::from_secs(30),
            first_wait: Duration::from_millis(50),
            longest_wait: Duration::from_secs(2),
        }
    }
}

/// What is left of a budget.
#[derive(Debug)]
pub(super) struct Spending<'a> {
    budget: &'a Budget,
    context: &'a CallContext,
    ends: Instant,
    spent: u32,
}

impl Budget {
    pub(super) fn begin<'a>(&'a self, context: &'a CallContext) -> Spending<'a> {
        let span = Instant::now() + self.span;
        Spending {
            budget: self,
            context,
            ends: context.deadline.map_or(span, |deadline| deadline.min(span)),
            spent: 0,
        }
    }
}

impl Spending<'_> {
    /// Waits for a while of no fixed length; says whether another attempt may be made.
    pub(super) async fn wait(&mut self) -> bool {
        self.spent += 1;
        let withdrawn = self.context.cancellation.is_cancelled();
        let wait = self.next_wait();
        if withdrawn || self.spent >= self.budget.attempts || Instant::now() + wait >= self.ends {
            return false;
        }
        tokio::time::sleep(wait).await;
        !self.context.cancellation.is_cancelled()
    }

    fn next_wait(&self) -> Duration {
        let doublings = self.spent.saturating_sub(1).min(16);
        let most = self.budget.first_wait * (1 << doublings);
        chance::jitter(most.min(self.budget.longest_wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn attempts_and_time_are_bounded() {
        let budget = Budget {
            attempts: 4,
            ..Budget::default()
        };
        let context = CallContext::default();
        let mut spending = budget.begin(&context);
        let mut attempts = 1;
        while spending.wait().await {
            attempts += 1;
        }
        assert_eq!(attempts, 4);
        let late = CallContext::default().within(Duration::ZERO);
        assert!(!budget.begin(&late).wait().await);
        context.cancellation.cancel();
        assert!(!budget.begin(&context).wait().await);
    }
}
