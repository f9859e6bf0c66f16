//! Policies for seamfs: rules over the one gate, above every backend alike.
//!
//! A rule decides before a mutation and records after a call; it never touches a file itself.
//! [`Observation`] is the default: an actor changes only what it has seen. [`Sandbox`] and
//! [`Sandboxed`] confine mutations to a mode.

mod ledger;
mod observation;
mod sandbox;

pub use ledger::{Ledger, Seen};
pub use observation::Observation;
pub use sandbox::{Sandbox, Sandboxed};
