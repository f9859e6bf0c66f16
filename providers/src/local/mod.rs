//! Local: a folder of the host, sandboxed, with guarded atomic mutations between processes.
//!
//! Every path is walked by handles, a component at a time; see `docs/local.md` for what exactly
//! holds, against whom, and what no program can detect.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this is the one place where host files are touched; the files here were opened by \
              handle and one name"
)]

mod at;
mod at_once;
mod attributes;
mod blocking;
mod error;
mod folder;
mod held;
mod known;
mod list;
mod lock;
mod look;
mod moment;
mod options;
mod pace;
mod patience;
mod platform;
mod publish;
mod read;
mod reap;
mod remove;
mod root;
mod stage;
mod staging;
mod stamp;
mod stranded;
mod transfer;
mod walk;
mod write;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use cap_std::fs::Dir;
use seamfs_core::locks::{Turn, Turns};
use seamfs_core::{
    Atomicity, CallContext, Cancellation, Capabilities, CreateDirOptions, EditOptions, EditOutcome,
    FileSystem, FsError, Guarding, ListOptions, Listing, Metadata, Operation, ReadOptions,
    ReadOutcome, RemoveOptions, ResolveOptions, Result, RootPath, StatOptions, Target, TargetKey,
    TransferOptions, TransferOutcome, Transform, WriteOptions, WriteOutcome,
};

pub use options::{DisplayRoot, Durability, LocalOptions, Mounts, UnknownChoice};

use known::Known;
use lock::FolderLock;
use pace::Pace;
use patience::Patience;
use reap::Swept;
use root::Root;
use stage::Nameless;

/// A folder of the host; clones share it.
///
/// On a multi-thread runtime its calls run in place, with [`tokio::task::block_in_place`] unless
/// they are small and the host answers at once; that must not be called from within a `LocalSet`,
/// where the calls of tools may be.
#[derive(Clone)]
pub struct Local {
    inner: Arc<Inner>,
}

struct Inner {
    root: Root,
    options: LocalOptions,
    turns: Turns<TargetKey>,
    nameless: Nameless,
    swept: Swept,
    known: Arc<Known>,
    pace: Pace,
}

impl Local {
    /// Opens an existing folder with the default options.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NOT_DIRECTORY` or `FS_PERMISSION_DENIED` for a root that is not a
    /// readable folder, `FS_INVALID_PATH` for one whose name is empty or not UTF-8.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, LocalOptions::default())
    }

    /// Opens an existing folder.
    ///
    /// # Errors
    /// As [`Local::open`].
    pub fn open_with(path: impl AsRef<Path>, options: LocalOptions) -> Result<Self> {
        let root = Root::open(path.as_ref(), &options)?;
        Ok(Self {
            inner: Arc::new(Inner {
                pace: Pace::of(platform::storage_of(&*root.folder)),
                root,
                options,
                turns: Turns::new(),
                nameless: Nameless::default(),
                swept: Swept::default(),
                known: Arc::default(),
            }),
        })
    }

    /// Returns the root as paths show it.
    pub fn display_root(&self) -> String {
        self.inner.root.namespace.display_root()
    }

    /// Runs a mutation's blocking work; dropping the future withdraws the call.
    async fn mutate<T, W>(
        &self,
        operation: Operation,
        target: &Target,
        context: &CallContext,
        work: W,
    ) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&Arc<Inner>, &RootPath) -> Result<T> + Send + 'static,
    {
        let withdrawal = WithdrawOnDrop(Some(context.cancellation.clone()));
        let result = self.hop(operation, target, work).await;
        withdrawal.defuse();
        result
    }

    /// Runs one primitive's blocking work, with the path of its target.
    async fn hop<T, W>(&self, operation: Operation, target: &Target, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&Arc<Inner>, &RootPath) -> Result<T> + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        let path = RootPath::from_key(target.key());
        let work = move || work(&inner, &path);
        let result = match operation {
            // They call what takes long by itself slow, and give up a trial before it.
            Operation::Read | Operation::Write | Operation::Edit => {
                blocking::run_small(&self.inner.pace, work).await
            }
            _ => blocking::run(work).await,
        };
        result.map_err(|error| beside(error, target).at(target.display()).during(operation))
    }

    async fn look<T>(
        &self,
        target: &Target,
        options: &StatOptions,
        work: impl FnOnce(&Root, &RootPath) -> Result<T>,
    ) -> Result<T> {
        blocking::look(&self.inner.pace, || {
            options.context.check()?;
            work(&self.inner.root, &RootPath::from_key(target.key()))
        })
        .await
        .map_err(|error| error.at(target.display()).during(Operation::Stat))
    }

    async fn turn(
        &self,
        operation: Operation,
        target: &Target,
        context: &CallContext,
    ) -> Result<Turn<TargetKey>> {
        self.inner
            .turns
            .turn(target.key().clone(), context.deadline)
            .await
            .map_err(|error| error.at(target.display()).during(operation))
    }

    /// Takes the turns of two targets, in the order of their keys so that nobody waits in a ring.
    async fn both_turns(
        &self,
        operation: Operation,
        one: &Target,
        two: &Target,
        context: &CallContext,
    ) -> Result<(Turn<TargetKey>, Option<Turn<TargetKey>>)> {
        let (low, high) = if one.key() <= two.key() {
            (one, two)
        } else {
            (two, one)
        };
        let first = self.turn(operation, low, context).await?;
        if low.key() == high.key() {
            return Ok((first, None));
        }
        let second = self.turn(operation, high, context).await?;
        Ok((first, Some(second)))
    }
}

/// Spells the name of kept bytes as a path beside the target, which `resolve` accepts.
fn beside(error: FsError, target: &Target) -> FsError {
    let Some(names) = error.details().kept_at.clone() else {
        return error;
    };
    let folder = target
        .display()
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder);
    let paths: Vec<_> = names
        .split(", ")
        .map(|name| format!("{folder}/{name}"))
        .collect();
    error.with_details(|details| details.kept_at = Some(paths.join(", ")))
}

/// Withdraws a call whose future is dropped while its work runs on another thread.
struct WithdrawOnDrop(Option<Cancellation>);

impl WithdrawOnDrop {
    fn defuse(mut self) {
        self.0 = None;
    }
}

impl Drop for WithdrawOnDrop {
    fn drop(&mut self) {
        if let Some(cancellation) = &self.0 {
            cancellation.cancel();
        }
    }
}

impl Inner {
    fn lock(&self, folder: &Dir, context: &CallContext) -> Result<FolderLock> {
        FolderLock::take(folder, context, self.options.lock_wait)
    }

    /// Gives up a trial of what will wait for the disk.
    fn check_trial(&self) -> Result<()> {
        match self.options.durability {
            Durability::None => Ok(()),
            Durability::Data | Durability::Full => blocking::no_trial(),
        }
    }

    fn patience<'a>(&self, context: &'a CallContext) -> Patience<'a> {
        Patience::new(context, self.options.lock_wait)
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("root", &self.display_root())
            .field("options", &self.inner.options)
            .finish()
    }
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display_root())
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for Local {
    fn capabilities(&self, _: Option<&Target>) -> Capabilities {
        Capabilities {
            hierarchy: true,
            writable: true,
            create: Guarding::Atomic,
            compare_and_swap: Guarding::Atomic,
            edit: true,
            guarded_remove: Guarding::Atomic,
            rename: Atomicity::Atomic,
            copy: Atomicity::Atomic,
            links: true,
            modes: true,
            case_sensitive: cfg!(not(target_vendor = "apple")),
            cheap_versions: false,
            max_file_bytes: None,
        }
    }

    async fn resolve(&self, path: &str, cwd: &str, options: ResolveOptions) -> Result<Target> {
        blocking::look(&self.inner.pace, || {
            options.context.check()?;
            self.inner.root.resolve(path, cwd, options.purpose)
        })
        .await
        .map_err(|error| error.during(Operation::Resolve))
    }

    async fn stat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.look(target, &options, look::stat).await
    }

    async fn lstat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.look(target, &options, look::lstat).await
    }

    async fn read(&self, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        self.hop(Operation::Read, target, move |local, path| {
            read::read(&local.root, &local.known, path, &options)
        })
        .await
    }

    async fn list(&self, target: &Target, options: ListOptions) -> Result<Listing> {
        let context = options.context.clone();
        let names = self
            .hop(Operation::List, target, move |local, path| {
                list::open(local, path, &options.context)
            })
            .await?;
        Ok(list::stream(Arc::clone(&self.inner), names, context))
    }

    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let turn = self
            .turn(Operation::Write, target, &options.context)
            .await?;
        let context = options.context.clone();
        self.mutate(Operation::Write, target, &context, move |local, path| {
            let _held = &turn;
            write::write(local, path, &bytes, &options)
        })
        .await
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let turn = self.turn(Operation::Edit, target, &options.context).await?;
        let context = options.context.clone();
        self.mutate(Operation::Edit, target, &context, move |local, path| {
            let _held = &turn;
            write::edit(local, path, &*transform, &options)
        })
        .await
    }

    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()> {
        let turn = self
            .turn(Operation::Remove, target, &options.context)
            .await?;
        let context = options.context.clone();
        self.mutate(Operation::Remove, target, &context, move |local, path| {
            let _held = &turn;
            remove::remove(local, path, &options)
        })
        .await
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let turns = self
            .both_turns(Operation::Rename, from, to, &options.context)
            .await?;
        let destination = RootPath::from_key(to.key());
        let context = options.context.clone();
        self.mutate(Operation::Rename, from, &context, move |local, path| {
            let _held = &turns;
            transfer::rename(local, path, &destination, &options)
        })
        .await
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let turns = self
            .both_turns(Operation::Copy, from, to, &options.context)
            .await?;
        let destination = RootPath::from_key(to.key());
        let context = options.context.clone();
        self.mutate(Operation::Copy, from, &context, move |local, path| {
            let _held = &turns;
            transfer::copy(local, path, &destination, &options)
        })
        .await
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        let turn = self
            .turn(Operation::CreateDir, target, &options.context)
            .await?;
        let context = options.context.clone();
        self.mutate(
            Operation::CreateDir,
            target,
            &context,
            move |local, path| {
                let _held = &turn;
                folder::create(local, path, &options.context)
            },
        )
        .await
    }
}
