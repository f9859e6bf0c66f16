//! The pace of a folder's host: whether small work may run in place on the runtime's own thread.
//!
//! To hand the runtime's other tasks to another thread first costs more than a small edit does.
//! A host that answers at once needs no such care; one that once took its time gets it, for a
//! while. Where the storage can stop answering, a worker is always left that does not wait for it,
//! and where it is another machine's, nobody waits for it who did not become a task first: so a
//! mount that stops answering stops neither the runtime nor whoever gives up on a call.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::platform::Storage;

/// Work that takes longer than this held the runtime's thread for too long.
const AT_ONCE: Duration = Duration::from_millis(1);

/// How many calls take care after one that was slow, at the most: one at first, for a thread that
/// only had to wait for its core looks slow too, and twice as many each time that one is slow again.
const MOST_CAREFUL: u32 = 64;

/// How a folder's host has answered so far.
#[derive(Debug)]
pub(super) struct Pace {
    storage: Storage,
    /// How many calls still take care.
    careful: AtomicU32,
    /// How many took care after the last slow call; none once a call in place was not slow.
    cared: AtomicU32,
    /// How many calls run in place now.
    in_place: AtomicUsize,
}

impl Pace {
    /// Nothing is known of the host yet: the first call takes care.
    pub(super) fn of(storage: Storage) -> Self {
        Self {
            storage,
            careful: AtomicU32::new(1),
            cared: AtomicU32::new(0),
            in_place: AtomicUsize::new(0),
        }
    }

    /// Returns whether the storage is this machine's own, so that a call may wait for it where its
    /// caller began it.
    pub(super) fn is_of_this_machine(&self) -> bool {
        self.storage != Storage::Elsewhere
    }

    /// Begins a call on a runtime with so many workers.
    pub(super) fn begin(&self, workers: usize) -> Call<'_> {
        let most = match self.storage {
            Storage::Memory => workers,
            Storage::Disk | Storage::Elsewhere => workers.saturating_sub(1),
        };
        let careful = self
            .careful
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        let in_place = careful.is_err() && self.in_place.fetch_add(1, Ordering::Relaxed) < most;
        if careful.is_err() && !in_place {
            self.in_place.fetch_sub(1, Ordering::Relaxed);
        }
        self.call(in_place)
    }

    /// Begins a call that takes care.
    pub(super) fn begin_with_care(&self) -> Call<'_> {
        self.call(false)
    }

    fn call(&self, in_place: bool) -> Call<'_> {
        Call {
            pace: self,
            in_place,
            start: Instant::now(),
            apart: APART.get(),
        }
    }
}

/// A call under way.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pace: &'a Pace,
    in_place: bool,
    start: Instant,
    apart: Duration,
}

thread_local! {
    /// How long this thread spent in what was known to take long.
    static APART: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Does work that is known to take long: its time says nothing of the host's pace.
pub(super) fn apart<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let before = APART.get();
    let done = work();
    // Whatever it did apart within is part of it.
    APART.set(before + start.elapsed());
    done
}

impl Call<'_> {
    /// Returns whether it may run in place.
    pub(super) fn in_place(&self) -> bool {
        self.in_place
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.in_place {
            self.pace.in_place.fetch_sub(1, Ordering::Relaxed);
        }
        let apart = APART.get().saturating_sub(self.apart);
        if self.start.elapsed().saturating_sub(apart) > AT_ONCE {
            let cared = self.pace.cared.load(Ordering::Relaxed);
            let care = (2 * cared).clamp(1, MOST_CAREFUL);
            self.pace.cared.store(care, Ordering::Relaxed);
            self.pace.careful.store(care, Ordering::Relaxed);
        } else if self.in_place && self.pace.cared.load(Ordering::Relaxed) > 0 {
            self.pace.cared.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Pace {
        let pace = Pace::of(Storage::Disk);
        assert!(!pace.begin(4).in_place(), "nothing is known yet");
        pace
    }

    #[test]
    fn a_host_that_answers_at_once_is_asked_in_place() {
        let pace = known();
        assert!(pace.begin(4).in_place());
        assert!(pace.begin(4).in_place());
    }

    #[test]
    fn a_worker_is_left_that_does_not_wait_for_the_host() {
        let pace = known();
        let calls = [pace.begin(3), pace.begin(3), pace.begin(3)];
        assert_eq!(calls.each_ref().map(Call::in_place), [true, true, false]);
        drop(calls);
        assert!(pace.begin(3).in_place());
        assert!(!pace.begin(1).in_place());
    }

    #[test]
    fn memory_is_waited_for_by_every_worker_and_another_machine_by_no_caller() {
        let memory = Pace::of(Storage::Memory);
        assert!(!memory.begin(1).in_place(), "nothing is known yet");
        assert!(memory.begin(1).in_place() && memory.is_of_this_machine());
        assert!(!Pace::of(Storage::Elsewhere).is_of_this_machine());
    }

    #[test]
    fn time_in_what_is_known_to_take_long_does_not_count() {
        let pace = known();
        let mut call = pace.begin(4);
        call.start = call.start.checked_sub(2 * AT_ONCE).expect("a while ago");
        apart(|| APART.set(APART.get() + 2 * AT_ONCE));
        assert!(
            APART.get() < 2 * AT_ONCE,
            "the outer work's time holds the inner's"
        );
        APART.set(APART.get() + 2 * AT_ONCE);
        drop(call);
        assert!(pace.begin(4).in_place());
    }

    #[test]
    fn calls_take_care_for_a_while_after_a_slow_one() {
        let pace = known();
        let slow = || {
            let mut slow = pace.begin(4);
            assert!(slow.in_place());
            slow.start = slow.start.checked_sub(2 * AT_ONCE).expect("a while ago");
        };
        let careful = || (0..).find(|_| pace.begin(4).in_place());
        // The call that finds that the host is at once again ends the count.
        slow();
        assert_eq!(careful(), Some(1));
        for expected in [1, 2, 4, 8, 16, 32, 64, 64] {
            slow();
            for _ in 0..expected {
                assert!(!pace.begin(4).in_place(), "{expected}");
            }
        }
        assert!(pace.begin(4).in_place());
        slow();
        assert_eq!(careful(), Some(1));
    }
}
