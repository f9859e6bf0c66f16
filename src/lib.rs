//! Guarded file tools for AI agents, over local folders, memory and object stores.
//!
//! An edit lands on exactly the bytes that the agent saw and touches nothing else, or it fails and
//! says why; on every backend, with any number of writers.
//!
//! ```
//! use seamfs::Workspace;
//! use serde_json::json;
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let workspace = Workspace::open("memory:").await?;
//! let session = workspace.session("agent-1");
//! session.call("write", json!({"file_path": "notes.txt", "content": "one\n"})).await;
//! let edited = session
//!     .call("edit", json!({"file_path": "notes.txt", "old_string": "one", "new_string": "two"}))
//!     .await;
//! assert_eq!(edited.text, "Edited /notes.txt, line 1.");
//! # Ok::<(), seamfs::FsError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Workspace`] puts a file system (the [`FileSystem`] seam, from [`providers`]), a [`Gate`]
//! (rules from [`policy`]) and [`tools`] together; a [`Session`] is one actor in it. Hosts that
//! want only a part use the crates directly; nothing here is needed to.

pub mod config;
pub mod mcp;
mod registry;
mod session_file;
mod workspace;

pub use config::Config;
pub use registry::{Opener, Options, Registry};
pub use seamfs_core as core;
pub use seamfs_core::{
    Actor, CallContext, ErrorCode, Expected, FileSystem, FileSystemExt, FsError, Gate, Result,
    SandboxMode, Target, Version,
};
pub use seamfs_policy as policy;
pub use seamfs_providers as providers;
pub use seamfs_tools as tools;
pub use seamfs_tools::{Call, ToolResult, ToolSpec};
pub use session_file::SessionFile;
pub use workspace::{Session, Workspace, WorkspaceBuilder};
