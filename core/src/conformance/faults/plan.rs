//! The plan: which call meets with what, and what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::conformance::random::scrambled;
use crate::error::{ErrorCode, FsError, Operation};

/// What every error says that the layer makes.
pub const INJECTED: &str = "injected by the fault layer";

/// What a call meets with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mishap {
    /// It fails with `FS_IO_ERROR` before anything is done.
    Fails,
    /// It fails with `FS_BUSY` before anything is done.
    Busy,
    /// It is withdrawn as it begins.
    Withdrawn,
    /// It is held up before and after, and what it delivers comes a few bytes at a time.
    Slow,
    /// What it delivers ends early, in an error; a mutation loses its answer.
    Torn,
    /// It is done, and its answer is lost: `FS_OUTCOME_UNKNOWN` for a mutation.
    Lost,
    /// Its future is dropped after so many polls; a mutation's outcome is then unknown.
    Dropped(usize),
}

impl Mishap {
    /// One of each kind.
    pub const ALL: &'static [Self] = &[
        Self::Fails,
        Self::Busy,
        Self::Withdrawn,
        Self::Slow,
        Self::Torn,
        Self::Lost,
        Self::Dropped(1),
        Self::Dropped(2),
    ];

    /// Returns whether the call says that something went wrong; otherwise it only takes longer.
    pub const fn is_reported(self) -> bool {
        !matches!(self, Self::Slow)
    }
}

/// Decides which calls meet with a mishap, and counts them; clones share the count.
#[derive(Clone, Debug)]
pub struct Plan(Arc<State>);

#[derive(Debug)]
struct State {
    when: When,
    calls: AtomicU64,
    injected: AtomicUsize,
    guarded: AtomicUsize,
    reported: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
enum When {
    At { call: u64, mishap: Mishap },
    Often { percent: u64, seed: u64 },
}

impl Plan {
    fn new(when: When) -> Self {
        Self(Arc::new(State {
            when,
            calls: AtomicU64::new(0),
            injected: AtomicUsize::new(0),
            guarded: AtomicUsize::new(0),
            reported: AtomicUsize::new(0),
        }))
    }

    /// Lets one call meet with a mishap, counted from zero.
    pub fn at(call: u64, mishap: Mishap) -> Self {
        Self::new(When::At { call, mishap })
    }

    /// Lets so many of a hundred calls meet with a mishap of any kind.
    pub fn often(percent: u32, seed: u64) -> Self {
        Self::new(When::Often {
            percent: u64::from(percent),
            seed,
        })
    }

    /// Returns how many calls there were.
    pub fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// Returns how many of them met with a mishap.
    pub fn injected(&self) -> usize {
        self.0.injected.load(Ordering::Relaxed)
    }

    /// Returns how many of those were mutations under a guard, or edits, which guard themselves.
    pub fn guarded(&self) -> usize {
        self.0.guarded.load(Ordering::Relaxed)
    }

    /// Returns how many errors told of a mishap.
    pub fn reported(&self) -> usize {
        self.0.reported.load(Ordering::Relaxed)
    }

    /// Makes the error that tells of a mishap.
    pub(super) fn report(&self, code: ErrorCode) -> FsError {
        self.0.reported.fetch_add(1, Ordering::Relaxed);
        FsError::new(code, INJECTED)
    }

    /// Counts a call; says what it meets with.
    pub(super) fn next(&self, operation: Operation, guarded: bool) -> Option<Mishap> {
        let number = self.0.calls.fetch_add(1, Ordering::Relaxed);
        let mishap = match self.0.when {
            When::At { call, mishap } => (number == call).then_some(mishap),
            When::Often { percent, seed } => {
                let chance = scrambled(seed.wrapping_add(number));
                let of = Mishap::ALL.len() as u64;
                let kind = usize::try_from((chance >> 32) % of).unwrap_or_default();
                (chance % 100 < percent).then_some(Mishap::ALL[kind])
            }
        }?;
        self.0.injected.fetch_add(1, Ordering::Relaxed);
        if guarded || operation == Operation::Edit {
            self.0.guarded.fetch_add(1, Ordering::Relaxed);
        }
        Some(mishap)
    }
}
