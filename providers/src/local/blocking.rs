//! The door from async to blocking: every primitive goes through it once.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll};

use seamfs_core::{ErrorCode, FsError, Result};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{JoinError, JoinHandle, block_in_place, spawn_blocking};

use super::pace::{Pace, apart};

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
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
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

/// Runs work that is small, or calls [`slow`] where it turns out not to be.
///
/// On a multi-thread runtime it runs in place while the host keeps its pace, and otherwise as
/// [`run`] has it.
///
/// # Errors
/// As [`run`].
pub(super) async fn run_small<T, W>(pace: &Pace, work: W) -> Result<T>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T> + Send + 'static,
{
    match workers() {
        Some(workers) => {
            let call = pace.begin(workers);
            match call.in_place() {
                true => work(),
                false => block_in_place(work),
            }
        }
        None => run(work).await,
    }
}

/// Runs work that only looks at names: a few microseconds on any local disk.
///
/// On a current-thread runtime it runs at once, so that a tool's call, which resolves its path
/// first, takes one trip to another thread in all.
///
/// # Errors
/// The work's own.
pub(super) fn look<T>(pace: &Pace, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(workers) = workers() else {
        return work();
    };
    let call = pace.begin(workers);
    match call.in_place() {
        true => work(),
        false => block_in_place(work),
    }
}

/// Runs the part of work that takes long or waits; the runtime's other tasks go elsewhere first.
pub(super) fn slow<T>(work: impl FnOnce() -> T) -> T {
    match workers() {
        Some(_) => block_in_place(|| apart(work)),
        None => apart(work),
    }
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
