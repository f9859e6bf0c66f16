//! What the tests share: workspaces on every backend, calls with their outcome checked, and
//! doubles that break the contract in one way each.

mod backend;
mod batch;
mod claims;
mod double;
mod faults;
mod schema;
mod snapshot;
mod verdict;

pub(crate) use backend::{Backend, Hand, Scene, Stage};
pub(crate) use batch::{Batch, peak_memory};
pub(crate) use claims::{Claim, check, check_broken, claims};
pub(crate) use double::{Double, Hooks, Meddler, Moment};
pub(crate) use faults::Fault;
pub(crate) use schema::conforms;
pub(crate) use snapshot::check_snapshot;
pub(crate) use verdict::{Checked, Verdict, ensure, ensure_eq};
