//! The conformance kit over everything that there is.

mod doctor;
mod doubles;
mod hands;
mod installed;
mod model;
pub(crate) mod subjects;
mod table;
mod tools_model;

// The example is a program; here only its provider is wanted.
#[allow(dead_code)]
#[path = "../../examples/from_scratch.rs"]
mod from_scratch;
