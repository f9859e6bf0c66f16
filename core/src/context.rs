//! The call context: who acts, until when, and whether the call still stands.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, FsError, Result};

/// Who acts: a session's name, opaque to everything but policy.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Actor(Arc<str>);

impl Actor {
    /// Names an actor.
    pub fn new(name: impl AsRef<str>) -> Self {
        Self(Arc::from(name.as_ref()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Actor({:?})", &*self.0)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a session may do, as its operator decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// No mutation.
    ReadOnly,
    /// Mutations in the workspace's own root and configured extra roots.
    WorkspaceWrite,
    /// Mutations in every mount.
    FullAccess,
}

/// What every primitive is told about the call it serves.
///
/// Sandbox, quota, journal and attribution read it; no signature changes for them. The default is
/// a call by nobody in particular, without a deadline, that cannot be withdrawn.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// Who acts.
    pub actor: Option<Actor>,
    /// The host's name for this call, for logs and journals.
    pub call_id: Option<Arc<str>>,
    /// A mode granted to this one call, wider than its session's.
    pub grant: Option<SandboxMode>,
    /// When the call must have ended.
    pub deadline: Option<Instant>,
    /// Whether the call still stands.
    pub cancellation: Cancellation,
}

impl CallContext {
    /// Creates the context of a call by `actor`.
    pub fn of(actor: Actor) -> Self {
        Self {
            actor: Some(actor),
            ..Self::default()
        }
    }

    /// Sets the deadline to `limit` from now.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.deadline = Some(Instant::now() + limit);
        self
    }

    /// Returns whether the deadline has passed.
    pub fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Checks that the call still stands.
    ///
    /// # Errors
    /// `FS_ABORTED` when it was withdrawn, `FS_TIMEOUT` when its deadline has passed.
    pub fn check(&self) -> Result<()> {
        if self.cancellation.is_cancelled() {
            return Err(aborted());
        }
        if self.is_late() {
            return Err(FsError::new(
                ErrorCode::Timeout,
                "the deadline passed before anything was changed",
            ));
        }
        Ok(())
    }
}

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

fn aborted() -> FsError {
    FsError::new(
        ErrorCode::Aborted,
        "the call was withdrawn before anything was changed",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_withdrawal_before_publication_wins() {
        let flag = Cancellation::new();
        flag.cancel();
        assert_eq!(
            flag.begin_publication().unwrap_err().code(),
            ErrorCode::Aborted
        );
    }

    #[test]
    fn a_withdrawal_after_publication_leaves_it_standing_but_stops_the_next() {
        let flag = Cancellation::new();
        let claim = flag.begin_publication().unwrap();
        flag.cancel();
        drop(claim);
        assert!(flag.begin_publication().is_err());
    }
}
