//! Keyed locks: fair turns, one queue a key.
//!
//! The way they are made is explored in `core/tests/locks.rs`, in every order in which threads can
//! meet; what they promise is here.

mod turns;

pub use turns::{Key, Ticket, Turn, Turns};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[tokio::test]
    async fn turns_come_in_the_order_of_the_tickets() {
        let turns = Turns::new();
        let holder = turns.enqueue("k").turn(None).await.unwrap();
        let tickets: Vec<_> = (0..10).map(|n| (n, turns.enqueue("k"))).collect();
        let order = Arc::new(Mutex::new(Vec::new()));
        // Spawned backwards, so that poll order and ticket order differ.
        let tasks: Vec<_> = tickets
            .into_iter()
            .rev()
            .map(|(n, ticket)| {
                let order = Arc::clone(&order);
                tokio::spawn(async move {
                    let _turn = ticket.turn(None).await.unwrap();
                    lock(&order).push(n);
                })
            })
            .collect();
        drop(holder);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*lock(&order), (0..10).collect::<Vec<_>>());
        assert_eq!(turns.held(), 0);
    }

    #[tokio::test]
    async fn waiters_that_give_up_are_passed_over_and_keys_are_independent() {
        let turns = Turns::new();
        let holder = turns.turn("k", None).await.unwrap();
        let given_up = turns.enqueue("k");
        let next = turns.enqueue("k");
        drop(given_up);
        let _other = turns.turn("other", None).await.unwrap();
        drop(holder);
        let turn = next.turn(None).await.unwrap();
        drop(turn);
        assert_eq!(turns.held(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn b207_a_wait_past_its_deadline_is_busy_and_frees_its_place() {
        let turns = Turns::new();
        let holder = turns.turn("k", None).await.unwrap();
        let deadline = tokio::time::Instant::now() + Duration::from_secs(1);
        let error = turns
            .turn("k", Some(deadline.into_std()))
            .await
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::Busy);
        drop(holder);
        assert_eq!(turns.held(), 0);
        let _again = turns.turn("k", None).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_two_hold_one_key_at_once() {
        let turns = Turns::new();
        let inside = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..64)
            .map(|n| {
                let (turns, inside) = (turns.clone(), Arc::clone(&inside));
                tokio::spawn(async move {
                    for _ in 0..50 {
                        let _turn = turns.turn(n % 4, None).await.unwrap();
                        if n % 4 == 0 {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            tokio::task::yield_now().await;
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(turns.held(), 0);
    }
}
