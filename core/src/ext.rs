//! Conveniences over any file system.

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;

use crate::error::{FsError, Result, Snapshot};
use crate::fs::FileSystem;
use crate::metadata::Entry;
use crate::options::{EditOptions, ListOptions, ReadOptions, ResolveOptions, WriteOptions};
use crate::target::Target;
use crate::transform::{EditOutcome, WriteOutcome};
use crate::version::Expected;

/// What callers do often, written once over the primitives; paths are relative to the root.
#[async_trait]
pub trait FileSystemExt: FileSystem {
    /// Resolves a path against the root.
    ///
    /// # Errors
    /// As [`FileSystem::resolve`].
    async fn target(&self, path: &str) -> Result<Target> {
        self.resolve(path, "", ResolveOptions::default()).await
    }

    /// Reads a whole file into memory.
    ///
    /// # Errors
    /// As [`FileSystem::read`].
    async fn read_all(&self, target: &Target) -> Result<Snapshot> {
        let outcome = self.read(target, ReadOptions::default()).await?;
        outcome.body.collect().await
    }

    /// Writes a whole file under a guard.
    ///
    /// # Errors
    /// As [`FileSystem::write`].
    async fn write_all(
        &self,
        target: &Target,
        bytes: Bytes,
        expected: Expected,
    ) -> Result<WriteOutcome> {
        self.write(target, bytes, WriteOptions::expecting(expected))
            .await
    }

    /// Replaces the only occurrence of `old` under a guard.
    ///
    /// # Errors
    /// As [`FileSystem::edit`], with `FS_EDIT_NOT_FOUND` and `FS_AMBIGUOUS_EDIT`.
    async fn replace(
        &self,
        target: &Target,
        old: &str,
        new: &str,
        expected: Expected,
    ) -> Result<EditOutcome> {
        let transform = crate::replace::Replace::once(old, new)?;
        self.edit(
            target,
            std::sync::Arc::new(transform),
            EditOptions::expecting(expected),
        )
        .await
    }

    /// Collects a listing.
    ///
    /// # Errors
    /// As [`FileSystem::list`].
    async fn list_all(&self, target: &Target) -> Result<Vec<Entry>, FsError> {
        self.list(target, ListOptions::default())
            .await?
            .try_collect()
            .await
    }
}

impl<T: FileSystem + ?Sized> FileSystemExt for T {}
