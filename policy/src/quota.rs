//! Quotas: how much may be written, counted by tickets.
//!
//! A mutation first takes a ticket for what it is going to write, and the ticket is settled once
//! the outcome is known: what landed stays counted, what did not is given back. Taking a ticket
//! checks and counts in one step, so that sessions at the edge cannot both pass.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use seamfs_core::text::counted;
use seamfs_core::{Actor, ErrorCode, FsError, Result};

/// How much may be written; nothing is bounded unless it is named.
///
/// Bytes are counted as they are put into files: the whole content of a `write`, the new text of
/// an `edit`, the content of a `copy`. Removing gives nothing back: a quota bounds how much is
/// written, not how much is stored. Counting begins when the workspace is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// The largest file that a mutation may leave, in bytes; one that is larger already may shrink.
    pub file_bytes: Option<u64>,
    /// How many bytes one session may write, its forks included.
    pub session_bytes: Option<u64>,
    /// How many bytes all sessions together may write.
    pub workspace_bytes: Option<u64>,
    /// How many mutations one session may make, its forks included.
    pub session_mutations: Option<u64>,
}

impl Quotas {
    /// Returns whether nothing is bounded.
    pub fn is_unbounded(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether any number of bytes is bounded.
    pub(crate) fn bounds_bytes(&self) -> bool {
        self.file_bytes
            .or(self.session_bytes)
            .or(self.workspace_bytes)
            .is_some()
    }

    /// Checks the size that a file is going to have.
    ///
    /// # Errors
    /// `FS_QUOTA_EXCEEDED` with the size and the limit.
    pub(crate) fn check_file(&self, size: u64) -> Result<()> {
        match self.file_bytes {
            Some(limit) if size > limit => {
                let size_text = counted(size, "byte");
                let message = format!("the file would have {size_text}; the most here is {limit}");
                Err(exceeded(message, size, limit))
            }
            _ => Ok(()),
        }
    }
}

/// What was written and what is about to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes put into files.
    pub bytes: u64,
    /// Mutations made.
    pub mutations: u64,
}

/// The count of one workspace; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    quotas: Quotas,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    workspace: Usage,
    sessions: HashMap<Option<Actor>, Arc<Mutex<Usage>>>,
}

/// A count taken in advance; dropped without being settled, it is given back.
#[derive(Debug)]
#[must_use = "dropping a ticket gives it back"]
pub(crate) struct Ticket {
    meter: Meter,
    session: Arc<Mutex<Usage>>,
    bytes: u64,
    landed: bool,
}

impl Meter {
    pub(crate) fn new(quotas: Quotas) -> Self {
        Self {
            quotas,
            counts: Arc::default(),
        }
    }

    pub(crate) fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Counts one mutation of an actor that writes this many bytes.
    ///
    /// # Errors
    /// `FS_QUOTA_EXCEEDED` with what is used and the limit; nothing is then counted.
    pub(crate) fn take(&self, actor: Option<&Actor>, bytes: u64) -> Result<Ticket> {
        let mut counts = self.counts();
        let session = Arc::clone(counts.sessions.entry(actor.cloned()).or_default());
        let mut used = lock(&session);
        self.check(counts.workspace, *used, bytes)?;
        for usage in [&mut counts.workspace, &mut *used] {
            usage.bytes += bytes;
            usage.mutations += 1;
        }
        drop((counts, used));
        Ok(Ticket {
            meter: self.clone(),
            session,
            bytes,
            landed: false,
        })
    }

    fn check(&self, workspace: Usage, session: Usage, bytes: u64) -> Result<()> {
        let quotas = &self.quotas;
        let bounds = [
            (quotas.session_bytes, session.bytes, "session"),
            (quotas.workspace_bytes, workspace.bytes, "workspace"),
        ];
        for (limit, used, whose) in bounds {
            if let Some(limit) = limit
                && used.saturating_add(bytes) > limit
            {
                let message = format!(
                    "this would write {}; the {whose} has written {used} of the {} that it may",
                    counted(bytes, "byte"),
                    counted(limit, "byte")
                );
                return Err(exceeded(message, used, limit));
            }
        }
        match quotas.session_mutations {
            Some(limit) if session.mutations >= limit => {
                let used = session.mutations;
                let message = format!(
                    "the session has made {used} of the {} that it may",
                    counted(limit, "mutation")
                );
                Err(exceeded(message, used, limit))
            }
            _ => Ok(()),
        }
    }

    /// Lets a session that begins count with another one: what either writes counts for both.
    pub(crate) fn share(&self, from: &Actor, to: &Actor) {
        let mut counts = self.counts();
        let session = counts.sessions.entry(Some(from.clone())).or_default();
        let shared = Arc::clone(session);
        counts.sessions.insert(Some(to.clone()), shared);
    }

    /// Forgets a session that is over; tickets of it that are out still count for the workspace.
    pub(crate) fn forget(&self, actor: &Actor) {
        self.counts().sessions.remove(&Some(actor.clone()));
    }

    /// Returns what all sessions together have counted, tickets that are out included.
    pub(crate) fn workspace(&self) -> Usage {
        self.counts().workspace
    }

    /// Returns what one session has counted.
    pub(crate) fn session(&self, actor: &Actor) -> Usage {
        let counts = self.counts();
        let session = counts.sessions.get(&Some(actor.clone()));
        session.map(|used| *lock(used)).unwrap_or_default()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        lock(&self.counts)
    }
}

impl Ticket {
    /// Keeps the count if the mutation landed, or may have; gives it back otherwise.
    pub(crate) fn settle(mut self, landed: bool) {
        self.landed = landed;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // After a panic below nobody knows what landed; then it counts.
        if self.landed || std::thread::panicking() {
            return;
        }
        let mut counts = self.meter.counts();
        let mut session = lock(&self.session);
        for usage in [&mut counts.workspace, &mut *session] {
            usage.bytes -= self.bytes;
            usage.mutations -= 1;
        }
    }
}

/// The counts are whole whatever panicked while they were locked: nothing does between two steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn exceeded(message: String, used: u64, limit: u64) -> FsError {
    FsError::new(ErrorCode::QuotaExceeded, message).with_details(|details| {
        details.used = Some(used);
        details.limit = Some(limit);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Usage = Usage {
        bytes: 6,
        mutations: 1,
    };

    fn meter() -> Meter {
        Meter::new(Quotas {
            session_bytes: Some(10),
            workspace_bytes: Some(15),
            session_mutations: Some(3),
            ..Quotas::default()
        })
    }

    #[test]
    fn a_ticket_counts_until_it_is_given_back_and_for_good_once_it_landed() {
        let (meter, actor) = (meter(), Actor::new("a"));
        let ticket = meter.take(Some(&actor), 6).unwrap();
        assert_eq!((meter.session(&actor), meter.workspace()), (ONE, ONE));
        ticket.settle(false);
        assert_eq!(meter.session(&actor), Usage::default());
        meter.take(Some(&actor), 6).unwrap().settle(true);
        assert_eq!((meter.session(&actor), meter.workspace()), (ONE, ONE));
    }

    #[test]
    fn what_is_over_is_refused_with_what_is_used_and_the_limit() {
        let (meter, one, two) = (meter(), Actor::new("1"), Actor::new("2"));
        meter.take(Some(&one), 8).unwrap().settle(true);
        let refused = |actor: &Actor, bytes| {
            let error = meter.take(Some(actor), bytes).unwrap_err();
            assert_eq!(error.code(), ErrorCode::QuotaExceeded);
            (
                error.details().used.unwrap(),
                error.details().limit.unwrap(),
            )
        };
        assert_eq!(refused(&one, 3), (8, 10));
        assert_eq!(refused(&two, 8), (8, 15));
        for _ in 0..2 {
            meter.take(Some(&one), 1).unwrap().settle(true);
        }
        assert_eq!(refused(&one, 0), (3, 3));
        assert_eq!(refused(&two, u64::MAX), (0, 10));
    }

    #[test]
    fn a_fork_counts_with_the_session_that_it_came_from() {
        let (meter, parent, fork) = (meter(), Actor::new("parent"), Actor::new("fork"));
        meter.take(Some(&fork), 4).unwrap().settle(true);
        meter.share(&parent, &fork);
        assert_eq!(meter.session(&fork), Usage::default());
        meter.take(Some(&parent), 6).unwrap().settle(true);
        assert_eq!((meter.session(&parent), meter.session(&fork)), (ONE, ONE));
        let error = meter.take(Some(&fork), 5).unwrap_err();
        assert_eq!(error.details().used, Some(6));
        // What one gives back, both have again; and one that ends frees nothing for the other.
        meter.take(Some(&fork), 4).unwrap().settle(false);
        meter.forget(&parent);
        assert_eq!(meter.session(&fork), ONE);
    }

    #[test]
    fn bytes_are_bounded_where_one_of_their_quotas_is_named() {
        let bytes = |set: fn(&mut Quotas)| {
            let mut quotas = Quotas::default();
            set(&mut quotas);
            (quotas.is_unbounded(), quotas.bounds_bytes())
        };
        assert_eq!(bytes(|_| {}), (true, false));
        let mutations = bytes(|quotas| quotas.session_mutations = Some(1));
        assert_eq!(mutations, (false, false));
        assert_eq!(bytes(|quotas| quotas.file_bytes = Some(1)), (false, true));
        assert_eq!(
            bytes(|quotas| quotas.session_bytes = Some(1)),
            (false, true)
        );
        assert_eq!(
            bytes(|quotas| quotas.workspace_bytes = Some(1)),
            (false, true)
        );
        let file = Quotas {
            file_bytes: Some(10),
            ..Quotas::default()
        };
        assert!(file.check_file(10).is_ok() && file.check_file(11).is_err());
    }

    #[test]
    fn a_message_counts_one_in_the_singular() {
        let quotas = Quotas {
            session_bytes: Some(1),
            session_mutations: Some(1),
            file_bytes: Some(0),
            ..Quotas::default()
        };
        let (meter, actor) = (Meter::new(quotas), Actor::new("a"));
        let message = quotas.check_file(1).unwrap_err().message().to_owned();
        assert_eq!(message, "the file would have 1 byte; the most here is 0");
        meter.take(Some(&actor), 1).unwrap().settle(true);
        let message = |bytes| {
            let error = meter.take(Some(&actor), bytes).unwrap_err();
            error.message().to_owned()
        };
        assert_eq!(
            message(1),
            "this would write 1 byte; the session has written 1 of the 1 byte that it may"
        );
        assert_eq!(
            message(0),
            "the session has made 1 of the 1 mutation that it may"
        );
    }

    #[test]
    fn a_session_that_is_over_frees_its_own_count_and_not_the_workspaces() {
        let (meter, actor) = (meter(), Actor::new("a"));
        let out = meter.take(Some(&actor), 6).unwrap();
        meter.forget(&actor);
        assert_eq!(
            (meter.session(&actor), meter.workspace()),
            (Usage::default(), ONE)
        );
        meter.take(Some(&actor), 6).unwrap().settle(true);
        // The ticket of the session before takes nothing from the one that bears its name.
        drop(out);
        assert_eq!((meter.session(&actor), meter.workspace()), (ONE, ONE));
    }
}
