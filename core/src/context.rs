//! The call context: who acts, until when, and whether the call still stands.

mod cancellation;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, FsError, Result};

use cancellation::aborted;
pub use cancellation::{Cancellation, Publication};

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

impl SandboxMode {
    /// Returns the mode's name, for example `read-only`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::FullAccess => "full-access",
        }
    }
}

impl fmt::Display for SandboxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
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

    #[test]
    fn a_call_stands_until_it_is_withdrawn_or_late() {
        let code = |context: &CallContext| context.check().map_err(|error| error.code());
        let context = CallContext::of(Actor::new("one"));
        assert_eq!(context.actor.as_ref().map(Actor::as_str), Some("one"));
        assert_eq!(code(&context), Ok(()));
        let soon = context.clone().within(Duration::from_secs(3600));
        assert_eq!((soon.is_late(), code(&soon)), (false, Ok(())));
        assert!(soon.deadline > context.deadline && soon.actor == context.actor);
        let late = context.clone().within(Duration::ZERO);
        assert_eq!(
            (late.is_late(), code(&late)),
            (true, Err(ErrorCode::Timeout))
        );
        context.cancellation.cancel();
        assert_eq!(code(&context), Err(ErrorCode::Aborted));
    }

    #[test]
    fn a_mode_is_spelled_as_it_is_configured() {
        for mode in [
            SandboxMode::ReadOnly,
            SandboxMode::WorkspaceWrite,
            SandboxMode::FullAccess,
        ] {
            let spelled = serde_json::to_value(mode).unwrap();
            assert_eq!(spelled, mode.as_str());
            assert_eq!(spelled, mode.to_string());
        }
    }
}
