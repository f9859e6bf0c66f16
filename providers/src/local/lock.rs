//! The kernel's lock on a folder, held around the last check and the publication.
//!
//! It is an advisory `flock` on the folder's own inode, so that it leaves nothing in the
//! workspace, every process of ours meets at it, and the kernel frees it when its holder dies.

use std::time::Duration;

use cap_std::fs::Dir;
use rustix::fd::OwnedFd;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use seamfs_core::{CallContext, ErrorCode, FsError, Result};

use super::at;
use super::error::host;
use super::patience::Patience;

/// A held lock; dropping it frees the folder.
#[derive(Debug)]
pub(super) struct FolderLock {
    folder: OwnedFd,
}

impl FolderLock {
    /// Locks a folder, waiting until the context's deadline, or for `wait` where it has none.
    ///
    /// # Errors
    /// `FS_BUSY` when others hold it that long; `FS_ABORTED`; `FS_UNSUPPORTED` where the file
    /// system has no locks.
    pub(super) fn take(folder: &Dir, context: &CallContext, wait: Duration) -> Result<Self> {
        let folder = at::reopen_readable(folder)
            .map_err(|error| host(error, "open its folder to lock it"))?;
        let mut patience = Patience::new(context, wait);
        // Asking the kernel to wait would not end at a deadline.
        while !try_lock(&folder)? {
            patience.again()?;
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
