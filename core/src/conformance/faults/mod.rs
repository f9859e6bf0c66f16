//! Faults: things that go wrong in a sound file system, at chosen calls.
//!
//! The [broken doubles](super::doubles::broken) break the contract, and claims must catch them.
//! [`Faulty`] keeps it: what it does wrong it also says, as storage does that fails, stalls, tears
//! its answers or loses them. A claim over it holds, or fails because a call reported the fault.

mod layer;
mod plan;

pub use layer::Faulty;
pub use plan::{INJECTED, Mishap, Plan};
