//! The kernel's lock on a folder, held around the last check and the publication.
//!
//! It is an advisory `flock` on the folder's own inode, so that it leaves nothing in the
//! workspace, every process of ours meets at it, and the kernel frees it when its holder dies.

use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use rustix::fd::OwnedFd;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use seamfs_core::{CallContext, ErrorCode, FsError, Result, cas};

use super::at;
use super::error::host;

/// A held lock; dropping it frees the folder.
#[derive(Debug)]
pub(super) struct FolderLock {
    folder: OwnedFd,
}

/// How long the first wait between two tries is; it doubles up to [`LONGEST_NAP`].
const FIRST_NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_millis(2);

/// How often a try is repeated at once before the first wait: a holder needs microseconds.
const EAGER_TRIES: u32 = 20;

impl FolderLock {
    /// Locks a folder, waiting until the context's deadline, or for `wait` where it has none.
    ///
    /// # Errors
    /// `FS_BUSY` when others hold it that long; `FS_ABORTED`; `FS_UNSUPPORTED` where the file
    /// system has no locks.
    pub(super) fn take(folder: &Dir, context: &CallContext, wait: Duration) -> Result<Self> {
        let folder = at::reopen_readable(folder)
            .map_err(|error| host(error, "open its folder to lock it"))?;
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + wait);
        let mut tries = 0;
        let mut nap = FIRST_NAP;
        while !try_lock(&folder)? {
            if context.cancellation.is_cancelled() {
                context.check()?;
            }
            if Instant::now() >= deadline {
                return Err(cas::busy());
            }
            tries += 1;
            if tries < EAGER_TRIES {
                thread::yield_now();
            } else {
                // Another process's lock gives no sign when it is free; asking the kernel to wait
                // for it would not end at a deadline.
                thread::sleep(nap.min(deadline.saturating_duration_since(Instant::now())));
                nap = (nap * 2).min(LONGEST_NAP);
            }
        }
        Ok(Self { folder })
    }

    /// Locks a folder if nobody holds it.
    pub(super) fn try_take(folder: &Dir) -> Option<Self> {
        let folder = at::reopen_readable(folder).ok()?;
        matches!(try_lock(&folder), Ok(true)).then_some(Self { folder })
    }

    /// Frees the folder and returns its readable handle.
    pub(super) fn unlock(self) -> OwnedFd {
        // An error would leave it locked until the handle is closed, which is soon.
        let _ = rustix::fs::flock(&self.folder, FlockOperation::Unlock);
        self.folder
    }

    /// Returns the folder's readable handle.
    pub(super) fn folder(&self) -> &OwnedFd {
        &self.folder
    }
}

fn try_lock(folder: &OwnedFd) -> Result<bool> {
    loop {
        match rustix::fs::flock(folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                return Err(FsError::new(
                    ErrorCode::Unsupported,
                    "the host's file system has no locks, without which other processes could \
                     not be kept from writing at the same time",
                ));
            }
            Err(error) => return Err(host(error, "lock its folder")),
        }
    }
}
