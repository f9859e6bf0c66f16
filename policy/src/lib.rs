//! Policies for seamfs: rules over the one gate, above every backend alike.
//!
//! A rule decides before a mutation and records after a call; it never touches a file itself.
//! [`Observation`] is the default: an actor changes only what it has seen. What was seen is in a
//! [`Ledger`], which [`Coverage`] and [`Rebase`] go by too, and which a [`Log`] makes last.
//! [`Sandbox`] and [`Sandboxed`] confine mutations to a mode; [`Ruled`] keeps [`PathRules`],
//! [`Metered`] keeps [`Quotas`], and [`Screened`] keeps tools' own text out of files.

mod access;
mod coverage;
mod ledger;
mod lines;
mod log;
mod metered;
mod observation;
mod quota;
mod rebase;
mod ruled;
mod sandbox;
mod screened;

pub use access::{Access, PathRules, PathRulesBuilder};
pub use coverage::Coverage;
pub use ledger::{Detail, Ledger, Seen};
pub use lines::{Lines, SomeLines};
pub use log::{Log, Past};
pub use metered::{Metered, MeteredSessions};
pub use observation::Observation;
pub use quota::{Quotas, Usage};
pub use rebase::Rebase;
pub use ruled::{Ruled, RuledPaths};
pub use sandbox::{Sandbox, Sandboxed};
pub use screened::{Screen, Screened};
