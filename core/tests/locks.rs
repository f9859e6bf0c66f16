//! Locks and flags in every order in which threads can meet, as far as chance explores them.
//!
//! The sources are those of the crate, compiled here with parts whose every step the explorer may
//! interrupt. Beside each claim stands a lock that breaks it, and that the explorer must find.

mod cas {
    pub(crate) use seamfs_core::cas::busy;
}

mod error {
    pub(crate) use seamfs_core::error::{ErrorCode, FsError, Result};
}

mod sync {
    pub(crate) use shuttle::sync::atomic::{AtomicU8, Ordering};
    pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;

    /// Channels that the explorer may interrupt before each step.
    pub(crate) mod oneshot {
        use std::future::Future;
        use std::pin::Pin;
        use std::task::{Context, Poll};

        use shuttle::thread::yield_now;
        use tokio::sync::oneshot;

        pub(crate) struct Sender<T>(oneshot::Sender<T>);
        pub(crate) struct Receiver<T>(Option<oneshot::Receiver<T>>);

        pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
            let (sender, receiver) = oneshot::channel();
            (Sender(sender), Receiver(Some(receiver)))
        }

        impl<T> Sender<T> {
            pub(crate) fn send(self, value: T) -> Result<(), T> {
                yield_now();
                let sent = self.0.send(value);
                yield_now();
                sent
            }
        }

        impl<T> Receiver<T> {
            pub(crate) fn close(&mut self) {
                yield_now();
                if let Some(receiver) = &mut self.0 {
                    receiver.close();
                }
            }
        }

        impl<T> Future for Receiver<T> {
            type Output = Result<T, oneshot::error::RecvError>;

            fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
                let receiver = self.0.as_mut().expect("it is there until it is dropped");
                Pin::new(receiver).poll(context)
            }
        }

        impl<T> Drop for Receiver<T> {
            fn drop(&mut self) {
                yield_now();
                drop(self.0.take());
            }
        }
    }
}

#[allow(dead_code, unreachable_pub)]
#[path = "../src/context/cancellation.rs"]
mod cancellation;
#[allow(dead_code, unreachable_pub)]
#[path = "../src/locks/turns.rs"]
mod turns;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

use cancellation::Cancellation;
use error::ErrorCode;
use futures::future::{Either, join_all, select};
use shuttle::future::{block_on, spawn, yield_now};
use shuttle::rand::{Rng, thread_rng};
use sync::{Arc, AtomicU8, Mutex, Ordering, oneshot};
use turns::Turns;

/// How many interleavings are tried by chance, and as many again by priority.
const TRIES: usize = 1500;

/// Explores a scene.
fn explore(scene: impl Fn() + Send + Sync + 'static) {
    let scene = Arc::new(scene);
    let same = Arc::clone(&scene);
    shuttle::check_random(move || scene(), TRIES);
    shuttle::check_pct(move || same(), TRIES, 3);
}

/// Checks that exploring a scene finds something wrong with it.
fn finds(scene: impl Fn() + Send + Sync + 'static) {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found = catch_unwind(AssertUnwindSafe(|| explore(scene)));
    std::panic::set_hook(hook);
    assert!(found.is_err(), "the explorer found nothing");
}

/// Waits for a future unless a withdrawal comes first; then the future is dropped.
async fn unless<F: Future>(future: F, withdrawn: oneshot::Receiver<()>) -> Option<F::Output> {
    match select(pin!(future), pin!(withdrawn)).await {
        Either::Left((output, _)) => Some(output),
        // A sender that went away without a word withdraws nothing.
        Either::Right((Err(_), future)) => Some(future.await),
        Either::Right((Ok(()), _)) => None,
    }
}

/// Who came and who was served, in order.
#[derive(Default)]
struct Book {
    came: Mutex<Vec<usize>>,
    served: Mutex<Vec<usize>>,
    inside: AtomicU8,
}

impl Book {
    async fn serve(&self, number: usize) {
        assert_eq!(
            self.inside.fetch_add(1, Ordering::SeqCst),
            0,
            "two are inside"
        );
        yield_now().await;
        self.served.lock().unwrap().push(number);
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }

    /// Those who were served came in the same order.
    fn check(&self) {
        let came = self.came.lock().unwrap();
        let place = |number: &usize| came.iter().position(|other| other == number);
        let served: Vec<_> = self.served.lock().unwrap().iter().map(place).collect();
        assert!(served.is_sorted(), "{came:?} were served as {served:?}");
    }
}

const COMERS: usize = 4;

#[test]
fn turns_come_in_the_order_of_places_whoever_gives_up() {
    explore(|| {
        block_on(async {
            let (turns, book) = (Turns::new(), Arc::new(Book::default()));
            let comers = (0..COMERS).map(|number| {
                let (turns, book) = (turns.clone(), Arc::clone(&book));
                spawn(async move {
                    let ticket = {
                        let mut came = book.came.lock().unwrap();
                        came.push(number);
                        turns.enqueue("file")
                    };
                    if number == 1 {
                        yield_now().await;
                        return drop(ticket);
                    }
                    let _turn = ticket.turn(None).await.expect("there is no deadline");
                    book.serve(number).await;
                })
            });
            for ended in join_all(comers).await {
                ended.expect("no comer panics");
            }
            book.check();
            assert_eq!(book.served.lock().unwrap().len(), COMERS - 1);
            assert_eq!(turns.held(), 0, "a key is held by nobody");
        });
    });
}

#[test]
fn a_waiter_withdrawn_at_any_moment_hands_its_turn_on() {
    explore(|| {
        block_on(async {
            let turns = Turns::new();
            let (withdraw, withdrawn) = oneshot::channel();
            let work = |turns: Turns<&'static str>| async move {
                let _turn = turns
                    .turn("file", None)
                    .await
                    .expect("there is no deadline");
                yield_now().await;
            };
            let first = spawn(work(turns.clone()));
            let second = spawn(unless(work(turns.clone()), withdrawn));
            let third = spawn(work(turns.clone()));
            withdraw.send(()).ok();
            first.await.expect("it ends");
            second.await.expect("it ends");
            third.await.expect("it ends");
            assert_eq!(turns.held(), 0, "a key is held by nobody");
        });
    });
}

#[test]
fn a_lock_that_lets_newcomers_pass_is_found() {
    finds(|| {
        block_on(async {
            let (busy, book) = (Arc::new(Mutex::new(false)), Arc::new(Book::default()));
            let comers = (0..COMERS).map(|number| {
                let (busy, book) = (Arc::clone(&busy), Arc::clone(&book));
                spawn(async move {
                    book.came.lock().unwrap().push(number);
                    while std::mem::replace(&mut *busy.lock().unwrap(), true) {
                        yield_now().await;
                    }
                    book.serve(number).await;
                    *busy.lock().unwrap() = false;
                })
            });
            join_all(comers).await;
            book.check();
        });
    });
}

/// In which order a call takes the turns of two targets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pair {
    /// In the order of their keys, as the providers do.
    ByKey,
    /// The source first.
    SourceFirst,
}

/// Edits, writes and renames of two targets there and back, any of them withdrawn at any moment.
async fn mixed_calls(pair: Pair) {
    let turns: Turns<usize> = Turns::new();
    let calls: [&[usize]; 5] = [&[0], &[1], &[0, 1], &[1, 0], &[0]];
    let mut withdrawals = Vec::new();
    let mut running = Vec::new();
    for targets in calls {
        let turns = turns.clone();
        let (withdraw, withdrawn) = oneshot::channel();
        withdrawals.push(withdraw);
        running.push(spawn(async move {
            let call = async {
                let mut order = targets.to_vec();
                if pair == Pair::ByKey {
                    order.sort_unstable();
                }
                let mut held = Vec::new();
                for target in order {
                    held.push(
                        turns
                            .turn(target, None)
                            .await
                            .expect("there is no deadline"),
                    );
                    yield_now().await;
                }
            };
            unless(call, withdrawn).await;
        }));
    }
    for withdraw in withdrawals {
        yield_now().await;
        if thread_rng().gen_bool(0.3) {
            let _ = withdraw.send(());
        }
    }
    for call in running {
        call.await.expect("no call panics");
    }
    assert_eq!(turns.held(), 0, "a key is held by nobody");
}

#[test]
fn edits_writes_renames_and_withdrawals_never_wait_in_a_ring() {
    explore(|| block_on(mixed_calls(Pair::ByKey)));
}

#[test]
fn renames_that_take_their_source_first_are_found() {
    finds(|| block_on(mixed_calls(Pair::SourceFirst)));
}

/// Whether a call keeps its place among its actor's until it has one at its target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    Kept,
    GivenUpEarly,
}

/// One actor's calls on one target: each resolves, which takes any time, and then waits its turn.
async fn calls_of_one_actor(arrival: Arrival) {
    let (arrivals, targets) = (Turns::new(), Turns::new());
    let book = Arc::new(Book::default());
    let mut calls = Vec::new();
    for number in 0..3 {
        let (targets, book) = (targets.clone(), Arc::clone(&book));
        book.came.lock().unwrap().push(number);
        let place = arrivals.enqueue("actor");
        calls.push(spawn(async move {
            let mut place = Some(place.turn(None).await.expect("there is no deadline"));
            if arrival == Arrival::GivenUpEarly {
                place = None;
            }
            yield_now().await;
            let ticket = targets.enqueue(("actor", "file"));
            drop(place);
            let _turn = ticket.turn(None).await.expect("there is no deadline");
            book.serve(number).await;
        }));
    }
    for call in calls {
        call.await.expect("no call panics");
    }
    book.check();
}

#[test]
fn calls_of_an_actor_on_a_target_run_in_the_order_in_which_they_came() {
    explore(|| block_on(calls_of_one_actor(Arrival::Kept)));
}

#[test]
fn calls_that_give_up_their_arrival_early_are_found() {
    finds(|| block_on(calls_of_one_actor(Arrival::GivenUpEarly)));
}

#[test]
fn a_withdrawal_and_a_publication_never_both_win() {
    explore(|| {
        let flag = Cancellation::new();
        let withdrawn = Arc::new(AtomicU8::new(0));
        let other = {
            let (flag, withdrawn) = (flag.clone(), Arc::clone(&withdrawn));
            shuttle::thread::spawn(move || {
                flag.cancel();
                withdrawn.store(1, Ordering::SeqCst);
            })
        };
        for _ in 0..3 {
            let before = withdrawn.load(Ordering::SeqCst) == 1;
            match flag.begin_publication() {
                Ok(_claim) => assert!(!before, "it was published after its withdrawal"),
                Err(error) => {
                    assert_eq!(error.code(), ErrorCode::Aborted);
                    assert!(flag.is_cancelled(), "it was refused without a withdrawal");
                }
            }
        }
        other.join().expect("it ends");
        assert!(
            flag.begin_publication().is_err(),
            "a withdrawal was forgotten"
        );
    });
}
