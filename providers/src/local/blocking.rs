//! The one door from async to blocking: every primitive goes through it once.

use std::panic::resume_unwind;

use seamfs_core::{ErrorCode, FsError, Result};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{block_in_place, spawn_blocking};

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
        Ok(_) => match spawn_blocking(work).await {
            Ok(result) => result,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => Err(shut_down()),
            },
        },
    }
}

/// Runs work that only looks at names: a few microseconds on any local disk.
///
/// On a current-thread runtime it runs at once, so that a tool's call, which resolves its path
/// first, takes one trip to another thread in all.
///
/// # Errors
/// The work's own.
pub(super) fn look<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

fn shut_down() -> FsError {
    FsError::new(
        ErrorCode::Aborted,
        "the runtime shut down before the call began",
    )
}
