//! Two pieces of work at once, where they take long enough to be worth a thread.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does one thing on a thread of its own beside another, or both in turn.
///
/// `worth_it` says whether the first takes longer than the making of a thread, which is some tens
/// of microseconds.
pub(super) fn at_once<A: Send, B>(
    worth_it: bool,
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B,
) -> (A, B) {
    if !worth_it {
        return (one(), other());
    }
    let one = Mutex::new(Some(one));
    let do_one = || {
        let one = one.lock().unwrap_or_else(PoisonError::into_inner).take();
        one.map(|one| one())
    };
    thread::scope(|scope| {
        let beside = thread::Builder::new().spawn_scoped(scope, do_one);
        let other = other();
        let one = match beside.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => resume_unwind(panic),
            // The host gives no more threads.
            Err(_) => do_one(),
        };
        (one.expect("it is done once, here or there"), other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_done_here_or_on_two_threads() {
        let here = thread::current().id();
        for worth_it in [false, true] {
            let (one, other) = at_once(
                worth_it,
                || thread::current().id(),
                || thread::current().id(),
            );
            assert_eq!((one == here, other == here), (!worth_it, true));
        }
    }
}
