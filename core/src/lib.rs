//! The seam of seamfs: what a file system is, the data that crosses it, and pure text logic.
//!
//! This crate does no IO. [`FileSystem`] is the one trait between model-facing tools and storage;
//! [`Version`]s are minted by backends and guard every mutation through [`Expected`]; a
//! [`Transform`] is what an edit applies inside its critical section; the [`gate`] is where
//! policies decide before a mutation and record after a call; [`text`] holds decoding, matching,
//! splicing and diffing as plain functions from bytes to values.
//!
//! ```
//! use seamfs_core::text::{Text, plan_replace};
//!
//! // A line feed in the text to replace matches a CRLF, and the CRLF stays.
//! let text = Text::decode(b"one\r\ntwo\r\n")?;
//! let plan = plan_replace(&text, "one\ntwo", "one\n2", false).unwrap();
//! assert_eq!(plan.splices.apply(text.bytes()), b"one\r\n2\r\n");
//! # Ok::<(), seamfs_core::text::NotText>(())
//! ```

pub mod body;
pub mod cache;
pub mod capabilities;
pub mod cas;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod context;
pub mod error;
pub mod escalation;
mod ext;
mod fs;
pub mod gate;
pub mod hashed;
pub mod in_place;
pub mod locks;
pub mod metadata;
mod note;
pub mod options;
pub mod path;
pub mod rebase;
pub mod replace;
mod sync;
mod target;
pub mod text;
mod transform;
mod version;

pub use body::{Body, ByteStream, ReadOutcome};
pub use capabilities::{Atomicity, Capabilities, Guarding};
pub use context::{Actor, CallContext, Cancellation, Publication, SandboxMode};
pub use error::{Details, ErrorCode, Excerpt, FsError, Operation, Result, Retry, Snapshot};
pub use ext::FileSystemExt;
pub use fs::{FileSystem, Listing};
pub use gate::{Gate, Rule};
pub use metadata::{Entry, FileKind, Metadata};
pub use note::Note;
pub use options::{
    CreateDirOptions, EditOptions, ListOptions, Purpose, ReadOptions, RemoveOptions,
    ResolveOptions, StatOptions, TransferOptions, WriteOptions,
};
pub use path::{EntryName, Namespace, RootPath};
pub use target::{Target, TargetKey};
pub use transform::{EditOutcome, TextEdit, TransferOutcome, Transform, WriteOutcome};
pub use version::{ContentHash, ContentHasher, Expected, NotAVersion, Version};
