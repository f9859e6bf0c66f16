//! The probe: whether a store keeps the conditions of a write.
//!
//! Stores exist that ignore them and store the bytes all the same. One is found out with a
//! scratch object before the first guarded write, so that no guard is ever an illusion.

use bytes::Bytes;
use object_store::Attributes;
use object_store::path::Path;
use seamfs_core::{CallContext, ErrorCode, Expected, FsError, Guarding, Operation, Result};

use super::Object;
use super::chance;
use super::fault::{Fault, Kind};
use super::remote::{Condition, TokenKind, in_time};

/// What the operator says of a store's conditional writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// They are tried out before the first guarded write.
    #[default]
    Probe,
    /// They are taken to hold. On a store that ignores them the last writer wins.
    Trust,
    /// Guarded writes are refused.
    Refuse,
}

/// Which conditions a store was found to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// Whether a write that must create is refused when something is there.
    pub create: bool,
    /// Whether a write that must replace one content is refused by any other, and by no other.
    /// Every edit is such a write, guarded or not.
    pub update: bool,
}

impl Support {
    const ALL: Self = Self {
        create: true,
        update: true,
    };
    const NONE: Self = Self {
        create: false,
        update: false,
    };

    pub(super) fn create(self) -> Guarding {
        guarding(self.create)
    }

    pub(super) fn update(self) -> Guarding {
        guarding(self.update)
    }

    /// Returns whether edits are offered.
    pub const fn edit(self) -> bool {
        self.update
    }

    const fn keeps(self, expected: &Expected) -> bool {
        match expected {
            Expected::Any => true,
            Expected::Absent => self.create,
            Expected::Version(_) => self.update,
        }
    }
}

fn guarding(kept: bool) -> Guarding {
    match kept {
        true => Guarding::Atomic,
        false => Guarding::None,
    }
}

impl Object {
    /// Returns what the operator, or the store's own host name, says of its conditional writes.
    pub fn conditions(&self) -> Conditions {
        self.0.conditions
    }

    /// Returns which conditions the store keeps; the first call may try them out.
    ///
    /// The trial writes one scratch object beneath the root and removes it.
    ///
    /// # Errors
    /// What kept the store from being tried, such as missing rights.
    pub async fn support(&self, context: &CallContext) -> Result<Support> {
        match self.0.conditions {
            Conditions::Trust => Ok(Support::ALL),
            Conditions::Refuse => Ok(Support::NONE),
            Conditions::Probe => {
                let probe = || self.probe(context);
                self.0.found.get_or_try_init(probe).await.copied()
            }
        }
    }

    /// Checks that a guard on what is written can hold; none needs no condition.
    ///
    /// # Errors
    /// `FS_UNSUPPORTED` naming the operation and why; what kept the store from being tried.
    pub(super) async fn offers_guard(
        &self,
        expected: &Expected,
        operation: Operation,
        context: &CallContext,
    ) -> Result<()> {
        if *expected == Expected::Any || self.support(context).await?.keeps(expected) {
            return Ok(());
        }
        let guard = match expected {
            Expected::Absent => "for absence",
            _ => "for a version",
        };
        Err(self.not_offered(operation, &format!("{operation} under a guard {guard}")))
    }

    /// Checks that edits are offered, trying the store out if it was not yet.
    ///
    /// # Errors
    /// As [`offers_guard`](Self::offers_guard).
    pub(super) async fn offers_edits(&self, context: &CallContext) -> Result<()> {
        self.check_edits(self.support(context).await?)
    }

    /// Checks that edits are offered, as far as is known without asking the store.
    pub(super) fn check_edits(&self, support: Support) -> Result<()> {
        match support.edit() {
            true => Ok(()),
            false => Err(self.not_offered(Operation::Edit, "edit, guarded or not,")),
        }
    }

    /// Makes the error of a call that needs a condition which the store does not keep.
    fn not_offered(&self, operation: Operation, what: &str) -> FsError {
        let kind = self.0.kind;
        let why = match self.0.conditions {
            Conditions::Refuse => "its operator lets no conditions be used",
            _ => {
                "this store does not keep the conditions of a write; its operator may accept that \
                 the last writer wins, or choose another store"
            }
        };
        let message = format!("{kind}: {what} is not offered, because {why}");
        FsError::unsupported(operation, kind).recast(ErrorCode::Unsupported, message)
    }

    /// Returns which conditions the store keeps, as far as is known without asking it.
    pub(super) fn support_known(&self) -> Support {
        match self.0.conditions {
            Conditions::Trust => Support::ALL,
            Conditions::Refuse => Support::NONE,
            Conditions::Probe => self.0.found.get().copied().unwrap_or(Support::ALL),
        }
    }

    /// Tries again with a new scratch object whenever an answer leaves doubt.
    async fn probe(&self, context: &CallContext) -> Result<Support> {
        let mut spending = self.0.budget.begin(context);
        loop {
            let key = self.0.keys.scratch(chance::number());
            let found = in_time(context, self.try_conditions(&key)).await;
            // Left behind, it is hidden from listings and harmless.
            let _ = in_time(context, self.0.remote.delete(&key)).await;
            match found {
                Ok(support) => return Ok(support),
                Err(fault) if fault.may_pass() && spending.wait().await => {}
                Err(fault) => return Err(fault.into_error()),
            }
        }
    }

    async fn try_conditions(&self, key: &Path) -> Result<Support, Fault> {
        let remote = &self.0.remote;
        let put = async |condition: Condition| {
            let bytes = Bytes::from_static(b"seamfs tries whether conditions are kept\n");
            remote.put(key, bytes, &condition, Attributes::new()).await
        };
        let first = match put(Condition::Absent).await {
            Ok(result) => result,
            Err(fault) if matches!(fault.kind, Kind::Unsupported | Kind::Refused) => {
                return Ok(Support::NONE);
            }
            Err(fault) => return Err(fault),
        };
        let create = is_refused(put(Condition::Absent).await)?;
        let wrong = match remote.tokens {
            TokenKind::ETag => "00000000000000000000000000000000",
            TokenKind::Generation => "1",
        };
        let other_refused = is_refused(put(Condition::Token(wrong.to_owned())).await)?;
        let token = remote.token(first.e_tag.as_deref(), first.version.as_deref());
        let own_accepted = match token {
            // After an ignored condition the token is outdated; it proves nothing then.
            Some(token) if create && other_refused => {
                !is_refused(put(Condition::Token(token)).await)?
            }
            _ => false,
        };
        Ok(Support {
            create,
            update: other_refused && own_accepted,
        })
    }
}

/// Returns whether a condition kept a write from happening; not offered counts as not kept.
fn is_refused<T>(result: Result<T, Fault>) -> Result<bool, Fault> {
    match result {
        Ok(_) => Ok(false),
        Err(fault) => match fault.kind {
            Kind::Refused | Kind::NotFound => Ok(true),
            Kind::Unsupported => Ok(false),
            _ => Err(fault),
        },
    }
}

/// Makes the error of a store that refuses conditions which hold.
pub(super) fn refuses_all() -> FsError {
    FsError::new(
        ErrorCode::Unsupported,
        "this store refuses every condition, also one that holds: it named the version that is \
         there and then refused it; no guarded write can succeed on it",
    )
}
