//! What the tests share: workspaces on every backend, and calls with their outcome checked.

mod backend;
mod batch;

pub(crate) use backend::{Backend, Scene};
pub(crate) use batch::Batch;
