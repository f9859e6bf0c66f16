//! A layer whose calls a test may bend: what hooks leave alone is forwarded.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use seamfs::core::{
    Cancellation, Capabilities, CreateDirOptions, EditOptions, EditOutcome, ListOptions, Listing,
    Metadata, ReadOptions, ReadOutcome, RemoveOptions, ResolveOptions, StatOptions,
    TransferOptions, TransferOutcome, Transform, WriteOptions, WriteOutcome,
};
use seamfs::{Expected, FileSystem, FileSystemExt, Result, Target};

/// The calls that a double bends; each goes straight through unless overridden.
#[async_trait]
pub(crate) trait Hooks: fmt::Debug + Send + Sync + 'static {
    async fn resolve(
        &self,
        fs: &dyn FileSystem,
        path: &str,
        cwd: &str,
        options: ResolveOptions,
    ) -> Result<Target> {
        fs.resolve(path, cwd, options).await
    }

    async fn stat(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: StatOptions,
    ) -> Result<Option<Metadata>> {
        fs.stat(target, options).await
    }

    async fn read(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: ReadOptions,
    ) -> Result<ReadOutcome> {
        fs.read(target, options).await
    }

    async fn list(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: ListOptions,
    ) -> Result<Listing> {
        fs.list(target, options).await
    }

    async fn write(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        fs.write(target, bytes, options).await
    }

    async fn edit(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        fs.edit(target, transform, options).await
    }

    async fn remove(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: RemoveOptions,
    ) -> Result<()> {
        fs.remove(target, options).await
    }

    async fn rename(
        &self,
        fs: &dyn FileSystem,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        fs.rename(from, to, options).await
    }

    async fn copy(
        &self,
        fs: &dyn FileSystem,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        fs.copy(from, to, options).await
    }
}

/// A file system beneath hooks.
#[derive(Debug)]
pub(crate) struct Double<H> {
    inner: Arc<dyn FileSystem>,
    hooks: H,
}

impl<H: Hooks> Double<H> {
    pub(crate) fn over(inner: Arc<dyn FileSystem>, hooks: H) -> Arc<dyn FileSystem> {
        Arc::new(Self { inner, hooks })
    }
}

impl<H> fmt::Display for Double<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a double of {}", self.inner)
    }
}

#[async_trait]
impl<H: Hooks> FileSystem for Double<H> {
    fn capabilities(&self, target: Option<&Target>) -> Capabilities {
        self.inner.capabilities(target)
    }

    async fn resolve(&self, path: &str, cwd: &str, options: ResolveOptions) -> Result<Target> {
        self.hooks.resolve(&*self.inner, path, cwd, options).await
    }

    async fn stat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.hooks.stat(&*self.inner, target, options).await
    }

    async fn lstat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.inner.lstat(target, options).await
    }

    async fn read(&self, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        self.hooks.read(&*self.inner, target, options).await
    }

    async fn list(&self, target: &Target, options: ListOptions) -> Result<Listing> {
        self.hooks.list(&*self.inner, target, options).await
    }

    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        self.hooks.write(&*self.inner, target, bytes, options).await
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        self.hooks
            .edit(&*self.inner, target, transform, options)
            .await
    }

    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()> {
        self.hooks.remove(&*self.inner, target, options).await
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.hooks.rename(&*self.inner, from, to, options).await
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.hooks.copy(&*self.inner, from, to, options).await
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        self.inner.create_dir(target, options).await
    }
}

/// When somebody else acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the storage is asked to change anything.
    BeforeMutation,
    /// After a mutation was published, before its caller hears of it.
    AfterMutation,
    /// After a look at the file and before whatever follows.
    AfterStat,
}

/// Somebody else who writes to, or removes, the very file of a call in the midst of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meddler(Arc<Mutex<Option<Plan>>>);

type Plan = (Moment, Deed);

/// What somebody else does.
#[derive(Clone, Debug)]
enum Deed {
    Write(Bytes),
    Remove,
    Withdraw(Cancellation),
}

impl Meddler {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Puts the meddler between the tools and a file system.
    pub(crate) fn over(self, fs: Arc<dyn FileSystem>) -> Arc<dyn FileSystem> {
        Double::over(fs, self)
    }

    /// Plans one write of these bytes.
    pub(crate) fn at(&self, moment: Moment, bytes: &str) {
        self.plan(
            moment,
            Deed::Write(Bytes::copy_from_slice(bytes.as_bytes())),
        );
    }

    /// Plans one removal.
    pub(crate) fn remove_at(&self, moment: Moment) {
        self.plan(moment, Deed::Remove);
    }

    /// Plans the withdrawal of a call whose mutation is about to begin.
    pub(crate) fn withdraw(&self, call: Cancellation) {
        self.plan(Moment::BeforeMutation, Deed::Withdraw(call));
    }

    fn plan(&self, moment: Moment, deed: Deed) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((moment, deed));
    }

    async fn act(&self, now: Moment, fs: &dyn FileSystem, target: &Target) {
        let planned = {
            let mut plan = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            plan.take_if(|(moment, _)| *moment == now)
        };
        match planned {
            None => {}
            Some((_, Deed::Write(bytes))) => {
                let written = fs.write_all(target, bytes, Expected::Any).await;
                written.expect("the meddler can write");
            }
            Some((_, Deed::Withdraw(call))) => call.cancel(),
            Some((_, Deed::Remove)) => {
                let removed = fs.remove(target, RemoveOptions::default()).await;
                removed.expect("the meddler can remove");
            }
        }
    }
}

#[async_trait]
impl Hooks for Meddler {
    async fn stat(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: StatOptions,
    ) -> Result<Option<Metadata>> {
        let outcome = fs.stat(target, options).await;
        self.act(Moment::AfterStat, fs, target).await;
        outcome
    }

    async fn write(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        self.act(Moment::BeforeMutation, fs, target).await;
        let outcome = fs.write(target, bytes, options).await;
        self.act(Moment::AfterMutation, fs, target).await;
        outcome
    }

    async fn edit(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        self.act(Moment::BeforeMutation, fs, target).await;
        let outcome = fs.edit(target, transform, options).await;
        self.act(Moment::AfterMutation, fs, target).await;
        outcome
    }
}
