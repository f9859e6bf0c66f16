//! Failures that people met with comparable software, each as a test by its id.

mod editing;
mod reading;
mod seeing;
mod table;
mod writing;

use crate::support::{Claim, Fault};

/// The doubles that break cases.
pub(crate) const FAULTS: &[&[Fault]] = &[
    editing::FAULTS,
    reading::FAULTS,
    seeing::FAULTS,
    writing::FAULTS,
];

/// The cases that hold on every backend.
pub(crate) const EVERYWHERE: &[&[Claim]] = &[
    editing::EVERYWHERE,
    reading::EVERYWHERE,
    seeing::EVERYWHERE,
    writing::EVERYWHERE,
];
