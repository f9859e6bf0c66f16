//! The door from async to blocking: every primitive goes through it once.

use std::cell::Cell;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll};

use seamfs_core::in_place::{is_in_place, step_aside};
use seamfs_core::{ErrorCode, FsError, Result};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{JoinError, JoinHandle, block_in_place, spawn_blocking};

use super::pace::{Call, Pace, apart};

/// Runs blocking work where it starves no other task.
///
/// On a multi-thread runtime it runs at once, on this thread, which costs a fifth of a trip to
/// another one; on a current-thread runtime it takes that trip; without a runtime there is nobody
/// to starve. What the work owns, its turn above all, lives until the work ends, even when the
/// caller's future is dropped meanwhile.
///
/// # Errors
/// The work's own; `FS_ABORTED` when the runtime shuts down before the work began.
pub(super) async fn run<T, W>(work: W) -> Result<T>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T> + Send + 'static,
{
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Err(_) => work(),
        Ok(RuntimeFlavor::MultiThread) => {
            step_aside().await;
            block_in_place(work)
        }
        Ok(_) => ended(spawn_blocking(work).await),
    }
}

/// Work that is done on another thread before anybody waits for it; a future of its result.
///
/// Dropped, it is not waited for.
pub(super) enum Ahead<T> {
    Elsewhere(JoinHandle<Result<T>>),
    /// Without a runtime there is nowhere else.
    Done(Option<Result<T>>),
}

impl<T: Send + 'static> Ahead<T> {
    /// Begins the work.
    pub(super) fn of(work: impl FnOnce() -> Result<T> + Send + 'static) -> Self {
        match Handle::try_current() {
            Ok(runtime) => Self::Elsewhere(runtime.spawn_blocking(work)),
            Err(_) => Self::Done(Some(work())),
        }
    }
}

impl<T: Unpin> Future for Ahead<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        match &mut *self {
            Self::Elsewhere(work) => Pin::new(work).poll(context).map(ended),
            Self::Done(result) => {
                Poll::Ready(result.take().expect("work is not waited for after its end"))
            }
        }
    }
}

fn ended<T>(work: Result<Result<T>, JoinError>) -> Result<T> {
    match work {
        Ok(result) => result,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(shut_down()),
        },
    }
}

/// Runs work that is small, or that calls [`slow`] where it turns out not to be.
///
/// On a multi-thread runtime it runs in place while the host keeps its pace, and otherwise as
/// [`run`] has it. Where a call begins, the work is only tried: it may run twice, because it gives
/// up at [`no_trial`] and then begins again in a task.
///
/// # Errors
/// As [`run`].
pub(super) async fn run_small<T, W>(pace: &Pace, work: W) -> Result<T>
where
    T: Send + 'static,
    W: Fn() -> Result<T> + Send + 'static,
{
    let Some(workers) = workers() else {
        return run(work).await;
    };
    let mut call = begin(pace, workers).await;
    if is_in_place() {
        if let Some(result) = tried(&work) {
            return result;
        }
        drop(call);
        step_aside().await;
        call = pace.begin(workers);
    }
    match call.in_place() {
        true => work(),
        false => block_in_place(work),
    }
}

/// Runs work that only looks at names: a few microseconds on any local disk.
///
/// On a current-thread runtime it runs at once, so that a tool's call, which resolves its path
/// first, takes one trip to another thread in all.
///
/// # Errors
/// The work's own.
pub(super) async fn look<T>(pace: &Pace, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(workers) = workers() else {
        return work();
    };
    let call = begin(pace, workers).await;
    match call.in_place() {
        true => work(),
        false => block_in_place(work),
    }
}

/// Begins a call of the host, in a task unless it may run where its caller began.
async fn begin(pace: &Pace, workers: usize) -> Call<'_> {
    let call = pace.begin(workers);
    if !is_in_place() || (call.in_place() && pace.is_of_this_machine()) {
        return call;
    }
    let careful = !call.in_place();
    drop(call);
    step_aside().await;
    match careful {
        true => pace.begin_with_care(),
        false => pace.begin(workers),
    }
}

/// Runs the part of work that takes long or waits; the runtime's other tasks go elsewhere first.
pub(super) fn slow<T>(work: impl FnOnce() -> T) -> T {
    match workers() {
        // The caller's own thread need not be a worker's, and there is no way back.
        Some(_) if TRIAL.get() != Trial::None => apart(work),
        Some(_) => block_in_place(|| apart(work)),
        None => apart(work),
    }
}

/// How work runs that may be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trial {
    None,
    Running,
    GivenUp,
}

thread_local! {
    static TRIAL: Cell<Trial> = const { Cell::new(Trial::None) };
}

/// Runs work where its caller began; returns none when it was given up.
fn tried<T>(work: impl Fn() -> Result<T>) -> Option<Result<T>> {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            TRIAL.set(Trial::None);
        }
    }
    let _end = End;
    TRIAL.set(Trial::Running);
    let result = work();
    let given_up = result.is_err() && TRIAL.get() == Trial::GivenUp;
    (!given_up).then_some(result)
}

/// Gives up a trial, where what comes next takes long and nothing has been done yet.
///
/// # Errors
/// Only in a trial, which its result ends; nobody sees it.
pub(super) fn no_trial() -> Result<()> {
    if TRIAL.get() == Trial::None {
        return Ok(());
    }
    TRIAL.set(Trial::GivenUp);
    Err(FsError::new(
        ErrorCode::Busy,
        "the call is begun again in a task",
    ))
}

/// Returns how many workers a multi-thread runtime has; none on any other, or on none.
fn workers() -> Option<usize> {
    let handle = Handle::try_current().ok()?;
    let many = handle.runtime_flavor() == RuntimeFlavor::MultiThread;
    many.then(|| handle.metrics().num_workers())
}

fn shut_down() -> FsError {
    FsError::new(
        ErrorCode::Aborted,
        "the runtime shut down before the call began",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use seamfs_core::in_place;

    use crate::local::platform::Storage;

    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).build().unwrap()
    }

    /// How often work was run, and how it ended: in place, or in a task after all.
    fn tried_with(pace: Pace, ends: impl Fn() -> Result<()> + Send + 'static) -> (usize, bool) {
        let (runs, pace) = (Arc::new(AtomicUsize::new(0)), Arc::new(pace));
        let count = Arc::clone(&runs);
        let in_place = runtime().block_on(async move {
            let begun = async move {
                run_small(&pace, move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    ends()
                })
                .await
            };
            let mut call = Box::pin(begun);
            match in_place::begin(call.as_mut()) {
                Poll::Ready(result) => {
                    result.unwrap();
                    true
                }
                Poll::Pending => {
                    tokio::spawn(call).await.unwrap().unwrap();
                    false
                }
            }
        });
        (runs.load(Ordering::Relaxed), in_place)
    }

    /// A pace that has seen its host answer at once.
    fn known(storage: Storage) -> Pace {
        let pace = Pace::of(storage);
        drop(pace.begin(2));
        pace
    }

    #[test]
    fn small_work_is_done_where_its_call_began() {
        assert_eq!(tried_with(known(Storage::Disk), || Ok(())), (1, true));
        assert_eq!(tried_with(known(Storage::Memory), || Ok(())), (1, true));
    }

    #[test]
    fn what_may_keep_its_caller_waiting_becomes_a_task_first() {
        let unknown = Pace::of(Storage::Disk);
        assert_eq!(tried_with(unknown, || Ok(())), (1, false));
        let elsewhere = known(Storage::Elsewhere);
        assert_eq!(tried_with(elsewhere, || Ok(())), (1, false));
    }

    #[test]
    fn work_that_turns_out_to_be_long_is_begun_again_in_a_task() {
        let long = || {
            no_trial()?;
            slow(|| Ok(()))
        };
        assert_eq!(tried_with(known(Storage::Disk), long), (2, false));
        // One that went on regardless and came to an end stands, and is not made twice.
        let regardless = || {
            let _ = no_trial();
            Ok(())
        };
        assert_eq!(tried_with(known(Storage::Disk), regardless), (1, true));
    }

    #[test]
    fn an_error_of_the_works_own_is_no_reason_to_run_it_again() {
        let runtime = runtime();
        let _entered = runtime.enter();
        let pace = known(Storage::Disk);
        let runs = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&runs);
        let mut call = pin!(run_small(&pace, move || {
            count.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(FsError::new(ErrorCode::NotFound, "no such file"))
        }));
        let Poll::Ready(Err(error)) = in_place::begin(call.as_mut()) else {
            panic!("it is over");
        };
        assert_eq!(error.code(), ErrorCode::NotFound);
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        assert_eq!(TRIAL.get(), Trial::None);
    }

    #[test]
    fn a_panic_in_a_trial_ends_it() {
        let runtime = runtime();
        let _entered = runtime.enter();
        let pace = known(Storage::Disk);
        let panic = std::panic::AssertUnwindSafe(|| {
            in_place::begin(pin!(run_small(&pace, || -> Result<()> {
                panic!("on purpose")
            })))
        });
        assert!(std::panic::catch_unwind(panic).is_err());
        assert_eq!(TRIAL.get(), Trial::None);
    }

    #[test]
    fn other_work_becomes_a_task_and_a_look_does_not() {
        runtime().block_on(async {
            assert!(in_place::begin(pin!(run(|| Ok(())))).is_pending());
            let pace = known(Storage::Disk);
            assert!(in_place::begin(pin!(look(&pace, || Ok(())))).is_ready());
            let pace = Pace::of(Storage::Disk);
            let mut first = pin!(look(&pace, || Ok(())));
            assert!(in_place::begin(first.as_mut()).is_pending());
            poll_fn(|context| first.as_mut().poll(context))
                .await
                .unwrap();
        });
    }
}
