//! The flag that decides between a withdrawal and a publication.

use crate::error::{ErrorCode, FsError, Result};
use crate::sync::{Arc, AtomicU8, Ordering};

const CANCELLED: u8 = 0b01;
const PUBLISHING: u8 = 0b10;

/// The flag that decides between a withdrawal and a publication.
///
/// A provider calls [`Cancellation::begin_publication`] as its last step before the bytes become
/// visible. A withdrawal before that wins and nothing changes; after it the change stands.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicU8>);

impl Cancellation {
    /// Creates a flag for a call that stands.
    pub fn new() -> Self {
        Self::default()
    }

    /// Withdraws the call; a publication that has begun still stands.
    pub fn cancel(&self) {
        self.0.fetch_or(CANCELLED, Ordering::AcqRel);
    }

    /// Returns whether the call was withdrawn.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire) & CANCELLED != 0
    }

    /// Claims the right to publish; hold the claim until the outcome is known.
    ///
    /// # Errors
    /// `FS_ABORTED` when the call was withdrawn first.
    pub fn begin_publication(&self) -> Result<Publication<'_>> {
        match self
            .0
            .compare_exchange(0, PUBLISHING, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => Ok(Publication(self)),
            Err(state) if state & CANCELLED != 0 => Err(aborted()),
            // A call that publishes twice (copy, then remove) claims anew while it holds.
            Err(_) => Ok(Publication(self)),
        }
    }
}

/// A claim to publish, given by [`Cancellation::begin_publication`].
///
/// Dropping it ends the claim: an attempt that lost its race may be withdrawn again.
#[derive(Debug)]
#[must_use = "the claim lasts only while it is held"]
pub struct Publication<'a>(&'a Cancellation);

impl Drop for Publication<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_and(!PUBLISHING, Ordering::AcqRel);
    }
}

pub(super) fn aborted() -> FsError {
    FsError::new(
        ErrorCode::Aborted,
        "the call was withdrawn before anything was changed",
    )
}
