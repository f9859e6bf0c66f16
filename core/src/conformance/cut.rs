//! A future that is given up: polled so many times, then dropped.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Polls a future at the most so many times, each after its wake, and then drops it.
///
/// Returns none when it was dropped before it was ready.
pub async fn cut<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn it_is_dropped_after_its_polls_and_not_before() {
        let work = || async {
            yield_now().await;
            yield_now().await;
            7
        };
        assert_eq!(cut(work(), 0).await, None);
        assert_eq!(cut(work(), 2).await, None);
        assert_eq!(cut(work(), 3).await, Some(7));
    }
}
