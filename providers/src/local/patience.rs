//! How long a mutation goes on after losing to others, and how it lets them by.

use std::thread;
use std::time::{Duration, Instant};

use seamfs_core::{CallContext, Result, cas};

use super::blocking::{no_trial, slow};

/// How often a mutation tries again at once before each wait: whoever was first needs microseconds,
/// and a race that is lost nearly always is won by many tries and not by long waits.
const EAGER_TRIES: u32 = 100;

/// How long the first wait between two tries is; it doubles up to [`LONGEST_NAP`].
const FIRST_NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// A mutation's tries until the context's deadline.
///
/// Neither another process's lock nor a folder that somebody removes gives a sign to wait for.
/// The growing waits also end a lockstep, in which two that race meet in the same order for ever.
pub(super) struct Patience<'a> {
    context: &'a CallContext,
    until: Instant,
    tries: u32,
    nap: Duration,
}

impl<'a> Patience<'a> {
    /// Starts now; lasts for `wait` where the context has no deadline.
    pub(super) fn new(context: &'a CallContext, wait: Duration) -> Self {
        Self {
            context,
            until: context.deadline.unwrap_or_else(|| Instant::now() + wait),
            tries: 0,
            nap: FIRST_NAP,
        }
    }

    /// Returns when the next try is due.
    ///
    /// # Errors
    /// `FS_BUSY` when the time is over; `FS_ABORTED`; in a trial, when it would wait.
    pub(super) fn again(&mut self) -> Result<()> {
        if self.context.cancellation.is_cancelled() {
            self.context.check()?;
        }
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(cas::busy());
        }
        self.tries += 1;
        if !self.tries.is_multiple_of(EAGER_TRIES) {
            thread::yield_now();
        } else {
            no_trial()?;
            slow(|| thread::sleep(self.nap.min(left)));
            self.nap = (self.nap * 2).min(LONGEST_NAP);
        }
        Ok(())
    }
}
