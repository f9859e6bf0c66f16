//! A fault: what a broken double does instead, one method at a time.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::body::ReadOutcome;
use crate::capabilities::Capabilities;
use crate::error::Result;
use crate::fs::{FileSystem, Listing};
use crate::metadata::Metadata;
use crate::options::{
    CreateDirOptions, EditOptions, ListOptions, ReadOptions, RemoveOptions, ResolveOptions,
    StatOptions, TransferOptions, WriteOptions,
};
use crate::target::Target;
use crate::transform::{EditOutcome, TransferOutcome, Transform, WriteOutcome};

/// What a fault works on.
pub type Inner = Arc<dyn FileSystem>;

/// A way to break the contract: methods that are not overridden do what they should.
#[allow(missing_docs)]
#[async_trait]
pub trait Fault: fmt::Debug + Send + Sync + 'static {
    fn capabilities(&self, fs: &Inner, target: Option<&Target>) -> Capabilities {
        fs.capabilities(target)
    }

    async fn resolve(
        &self,
        fs: &Inner,
        path: &str,
        cwd: &str,
        options: ResolveOptions,
    ) -> Result<Target> {
        fs.resolve(path, cwd, options).await
    }

    async fn stat(
        &self,
        fs: &Inner,
        target: &Target,
        options: StatOptions,
    ) -> Result<Option<Metadata>> {
        fs.stat(target, options).await
    }

    async fn lstat(
        &self,
        fs: &Inner,
        target: &Target,
        options: StatOptions,
    ) -> Result<Option<Metadata>> {
        fs.lstat(target, options).await
    }

    async fn read(&self, fs: &Inner, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        fs.read(target, options).await
    }

    async fn list(&self, fs: &Inner, target: &Target, options: ListOptions) -> Result<Listing> {
        fs.list(target, options).await
    }

    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        fs.write(target, bytes, options).await
    }

    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        fs.edit(target, transform, options).await
    }

    async fn remove(&self, fs: &Inner, target: &Target, options: RemoveOptions) -> Result<()> {
        fs.remove(target, options).await
    }

    async fn rename(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        fs.rename(from, to, options).await
    }

    async fn copy(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        fs.copy(from, to, options).await
    }

    async fn create_dir(
        &self,
        fs: &Inner,
        target: &Target,
        options: CreateDirOptions,
    ) -> Result<()> {
        fs.create_dir(target, options).await
    }
}

/// A file system with a fault.
#[derive(Debug)]
pub struct Broken {
    inner: Inner,
    fault: Box<dyn Fault>,
}

impl Broken {
    /// Breaks a file system.
    pub fn new(inner: Inner, fault: Box<dyn Fault>) -> Self {
        Self { inner, fault }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.inner)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for Broken {
    fn capabilities(&self, target: Option<&Target>) -> Capabilities {
        self.fault.capabilities(&self.inner, target)
    }

    async fn resolve(&self, path: &str, cwd: &str, options: ResolveOptions) -> Result<Target> {
        self.fault.resolve(&self.inner, path, cwd, options).await
    }

    async fn stat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.fault.stat(&self.inner, target, options).await
    }

    async fn lstat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.fault.lstat(&self.inner, target, options).await
    }

    async fn read(&self, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        self.fault.read(&self.inner, target, options).await
    }

    async fn list(&self, target: &Target, options: ListOptions) -> Result<Listing> {
        self.fault.list(&self.inner, target, options).await
    }

    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        self.fault.write(&self.inner, target, bytes, options).await
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        self.fault
            .edit(&self.inner, target, transform, options)
            .await
    }

    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()> {
        self.fault.remove(&self.inner, target, options).await
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.fault.rename(&self.inner, from, to, options).await
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.fault.copy(&self.inner, from, to, options).await
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        self.fault.create_dir(&self.inner, target, options).await
    }
}

/// The imports that every file of faults needs.
pub(super) mod prelude {
    pub(in super::super) use std::sync::Arc;

    pub(in super::super) use async_trait::async_trait;
    pub(in super::super) use bytes::Bytes;

    pub(in super::super) use super::{Fault, Inner};
    pub(in super::super) use crate::body::{Body, ReadOutcome};
    pub(in super::super) use crate::capabilities::Capabilities;
    pub(in super::super) use crate::cas;
    pub(in super::super) use crate::error::{ErrorCode, FsError, Operation, Result, Snapshot};
    pub(in super::super) use crate::ext::FileSystemExt;
    pub(in super::super) use crate::fs::Listing;
    pub(in super::super) use crate::metadata::{Entry, FileKind, Metadata};
    pub(in super::super) use crate::options::*;
    pub(in super::super) use crate::target::{Target, TargetKey};
    pub(in super::super) use crate::text::Text;
    pub(in super::super) use crate::transform::{
        EditOutcome, TextEdit, TransferOutcome, Transform, WriteOutcome,
    };
    pub(in super::super) use crate::version::{Expected, Version};
}
