//! Caches: what is remembered of targets, bounded, and never the authority.
//!
//! [`ContentCache`] keeps whole bytes, [`LineIndexes`] where the lines of large files begin. Both
//! say of which version they speak; whoever uses them proves that version before it relies on them.

mod content;
mod lines;
mod recent;

pub use content::{Cached, ContentCache, DEFAULT_CAPACITY};
pub use lines::{Indexed, LineIndexes};
pub use recent::Recent;
