//! File systems for seamfs: a sandboxed local folder, memory, object stores, and storage layers.
//!
//! Each provider implements [`seamfs_core::FileSystem`] and knows nothing of policies or tools.

#[cfg(unix)]
pub mod local;
mod memory;
pub mod object;

#[cfg(unix)]
pub use local::{Durability, Local, LocalOptions};
pub use memory::{DEFAULT_QUOTA, Memory};
pub use object::Object;
