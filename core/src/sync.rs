//! What locks and flags are made of.
//!
//! The exploration of interleavings compiles the same sources with other parts under these names.

pub(crate) use std::sync::atomic::{AtomicU8, Ordering};
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use tokio::sync::oneshot;
