//! The conformance kit: the contract of [`FileSystem`] as executable claims.
//!
//! A [`Claim`] is one sentence of the contract, made into a function of a file system and a
//! [`Scratch`] folder of its own. It never panics: it says that it held, why it was skipped, or how
//! it failed. [`claims`] is the one list of them; the [`conformance!`](crate::conformance!) macro
//! makes a test of each, `seamfs doctor` runs them on a user's own store, and the broken doubles in
//! [`doubles`] prove that each can fail.
//!
//! In the tests of a provider this makes one test for every claim, each on a store of its own
//! (`examples/from_scratch.rs` is a provider that passes them):
//!
//! ```text
//! seamfs_core::conformance!(async || MyStore::new());
//! ```

mod capabilities;
mod check;
mod concurrency;
mod contexts;
mod cut;
pub mod doubles;
mod edits;
mod errors;
pub mod faults;
mod folders;
pub mod linear;
mod links;
mod list;
mod listings;
#[cfg(feature = "conformance-model")]
pub mod model;
mod outside;
mod paths;
mod random;
mod ranges;
mod reads;
mod removals;
mod run;
mod scratch;
mod subject;
mod transfers;
mod versions;
mod writes;

pub use cut::cut;
pub use list::{Claim, Need, claims};
pub use outside::{Deed, Outside, Unable};
pub use run::{Report, run, test};
pub use scratch::Scratch;
pub use subject::Subject;

use std::fmt;

use crate::error::FsError;
#[cfg(doc)]
use crate::fs::FileSystem;

/// What a claim came to when it did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Held,
    /// It does not apply, and this is why.
    Skipped(String),
}

/// How a claim failed: what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// Creates a failure from a sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<FsError> for Failure {
    fn from(error: FsError) -> Self {
        Self(format!("a call failed that should succeed: {error}"))
    }
}

/// The answer of a claim.
pub type ClaimResult = Result<Verdict, Failure>;
