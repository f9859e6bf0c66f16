//! Outside hands: somebody who changes the storage behind the file system's back.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;

use crate::fs::FileSystem;

/// Something done to the storage without the file system knowing; paths are relative to its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deed<'a> {
    /// Creates a file or replaces its bytes, making missing folders.
    Put {
        /// Where.
        path: &'a str,
        /// What.
        bytes: &'a [u8],
    },
    /// Replaces a file's bytes by as many others and restores every time that can be restored.
    PutKeepingTimes {
        /// Where.
        path: &'a str,
        /// What.
        bytes: &'a [u8],
    },
    /// Moves timestamps, inodes or tokens, whatever the storage has, and leaves the bytes.
    Touch {
        /// Where.
        path: &'a str,
    },
    /// Removes a file.
    Remove {
        /// Where.
        path: &'a str,
    },
    /// Makes a symbolic link, replacing what is there.
    Link {
        /// Where.
        path: &'a str,
        /// The text of the link.
        to: &'a str,
    },
    /// Sets permission bits.
    Mode {
        /// Of what.
        path: &'a str,
        /// The bits.
        mode: u32,
    },
    /// Makes a FIFO.
    Fifo {
        /// Where.
        path: &'a str,
    },
    /// Creates a file under a name that no path can spell.
    PutRaw {
        /// The folder, which exists.
        folder: &'a str,
        /// The name, any bytes.
        name: &'a [u8],
    },
}

/// A deed that these hands cannot do; the claims that need it are skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the outside hands cannot do this: {0}")]
pub struct Unable(pub String);

/// The hands of somebody outside.
///
/// They must not go through the file system under test, nor wait for its locks: claims use them
/// while one of its calls stands inside its critical section.
#[async_trait]
pub trait Outside: Debug + Send + Sync + 'static {
    /// Does something to the storage.
    ///
    /// # Errors
    /// [`Unable`] for a deed that the storage or these hands do not know.
    async fn act(&self, deed: Deed<'_>) -> Result<(), Unable>;

    /// Opens the storage anew, as another process would; none where it cannot be.
    async fn reopen(&self) -> Option<Arc<dyn FileSystem>>;
}
