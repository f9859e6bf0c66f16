//! Escalation: an actor asks for a wider mode, for one call, and somebody decides.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::context::{Actor, SandboxMode};
use crate::error::Operation;
use crate::target::Target;
use crate::version::ContentHash;

/// What an actor asks for, exactly as it will be carried out if it is granted.
#[derive(Clone, Debug)]
pub struct Escalation<'a> {
    /// Who asks.
    pub actor: &'a Actor,
    /// The tool that is called.
    pub tool: &'a str,
    /// What it is about to do.
    pub operation: Operation,
    /// To what.
    pub target: &'a Target,
    /// The hash of the call's arguments: an approval holds for these and no others.
    pub arguments: ContentHash,
    /// The arguments in a form to read: a few lines, cut where they are long and free of control
    /// characters. Each line of a text stands behind a `|`, so that none can pose as anything else.
    pub shown: &'a str,
    /// The mode asked for, for this call alone.
    pub wanted: SandboxMode,
    /// The mode that confines the call without it.
    pub confined: SandboxMode,
    /// Why, in the actor's words.
    pub justification: &'a str,
}

/// How somebody decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This one call may go on in the mode asked for.
    Approved,
    /// It may not; with a reason, if one was given.
    Rejected(Option<String>),
    /// Nobody decided: the question was withdrawn.
    Cancelled,
    /// The question was put; whoever calls repeats the call with the answer.
    Deferred,
}

/// Somebody who may widen one call: a person at a terminal, a host's own code.
#[async_trait]
pub trait Approver: Debug + Send + Sync + 'static {
    /// Decides on one call; never on the thread that begins it while it is begun.
    async fn decide(&self, escalation: &Escalation<'_>) -> Verdict;
}
