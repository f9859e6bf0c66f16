//! In place: the first step of a call, made by whoever begins it.
//!
//! A small call is over before a task for it would have been scheduled, and to wake another thread
//! takes longer than a small edit. So a call is polled once where it begins, and becomes a task of
//! its own only when that did not end it. Whoever begins it cannot give up on that one poll, and
//! does nothing else meanwhile; so what waits, or takes long, steps aside in it.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// The most bytes that are gone through in place: 256 KiB, a tenth of a millisecond's work.
pub const MOST_BYTES: usize = 256 << 10;

thread_local! {
    static IN_PLACE: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether what runs now is polled in place.
pub fn is_in_place() -> bool {
    IN_PLACE.get()
}

/// Polls a future once, in place.
///
/// Nobody is woken by it: a future that is pending then goes on when a task polls it.
pub fn begin<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IN_PLACE.set(self.0);
        }
    }
    let _restore = Restore(IN_PLACE.replace(true));
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Ends a poll in place; anywhere else it is over at once.
pub async fn step_aside() {
    poll_fn(|context| match is_in_place() {
        true => {
            // A combinator on the way polls again only whom it was woken for.
            context.waker().wake_by_ref();
            Poll::Pending
        }
        false => Poll::Ready(()),
    })
    .await;
}

/// Steps aside when there are more than [`MOST_BYTES`] to go through.
pub async fn make_way_for(bytes: usize) {
    if bytes > MOST_BYTES {
        step_aside().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;

    #[tokio::test]
    async fn what_steps_aside_goes_on_when_a_task_polls_it() {
        let steps = Cell::new(0);
        let step = || steps.set(steps.get() + 1);
        let mut call = pin!(async {
            step();
            make_way_for(MOST_BYTES).await;
            step();
            make_way_for(MOST_BYTES + 1).await;
            step();
        });
        assert!(begin(call.as_mut()).is_pending());
        assert!(begin(call.as_mut()).is_pending(), "it is still in place");
        assert_eq!(steps.get(), 2);
        call.await;
        assert_eq!(steps.get(), 3);
    }

    #[test]
    fn only_the_poll_itself_is_in_place() {
        let nested = async {
            let inner = begin(pin!(async { is_in_place() }));
            (inner, is_in_place())
        };
        assert_eq!(begin(pin!(nested)), Poll::Ready((Poll::Ready(true), true)));
        assert!(!is_in_place());
        let panic = AssertUnwindSafe(|| begin(pin!(async { panic!("on purpose") })));
        assert!(catch_unwind(panic).is_err());
        assert!(!is_in_place());
    }
}
