//! Linearizability: whether what many clients were told at once can be told in one order.
//!
//! A [`History`] is what clients asked of a few files and what they were told, with the moments
//! at which each call began and ended. [`check`] looks for an order of the calls that keeps those
//! moments and in which every answer is what a single client would have got. [`Load`] makes random
//! histories over any file system; [`samples`] are histories that the check must accept and refuse.
//!
//! A call whose outcome is unknown, or whose future was dropped, may have had its effect at any
//! time after it began, once, or never. One that failed otherwise must have had none.

mod check;
mod history;
mod load;
pub mod samples;

pub use check::{Violation, check};
pub use history::{Answer, Asked, Call, Guard, History, MOST_CALLS, Text};
pub use load::{Clock, Load, counting};
