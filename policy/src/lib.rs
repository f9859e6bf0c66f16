//! Policies for seamfs: rules over the one gate, above every backend alike.
//!
//! A rule decides before a mutation and records after a call; it never touches a file itself.
//! [`Observation`] is the default: an actor changes only what it has seen. What was seen is in a
//! [`Ledger`], which [`Coverage`] and [`Rebase`] go by too, and which a [`Log`] makes last.
//! [`Sandbox`] and [`Sandboxed`] confine mutations to a mode.

mod coverage;
mod ledger;
mod lines;
mod log;
mod observation;
mod rebase;
mod sandbox;

pub use coverage::Coverage;
pub use ledger::{Detail, Ledger, Seen};
pub use lines::{Lines, SomeLines};
pub use log::{Log, Past};
pub use observation::Observation;
pub use rebase::Rebase;
pub use sandbox::{Sandbox, Sandboxed};
