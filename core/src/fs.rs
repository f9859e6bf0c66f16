//! The seam: the one trait between tools and storage.

use std::fmt::{Debug, Display};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::body::ReadOutcome;
use crate::capabilities::Capabilities;
use crate::error::Result;
use crate::metadata::{Entry, Metadata};
use crate::options::{
    CreateDirOptions, EditOptions, ListOptions, ReadOptions, RemoveOptions, ResolveOptions,
    StatOptions, TransferOptions, WriteOptions,
};
use crate::target::Target;
use crate::transform::{EditOutcome, TransferOutcome, Transform, WriteOutcome};

/// The children of a folder, in byte order of their names.
pub type Listing = BoxStream<'static, Result<Entry>>;

/// A file system: storage that mints versions, guards every mutation with them, and serialises
/// its writers.
///
/// The first poll of a tool's call is made where the call begins; a method that would block that
/// thread, or work on it for long, awaits [`crate::in_place::step_aside`] before it does.
///
/// Every method is required, so that a layer which forgets one does not compile. Callers use
/// [`crate::FileSystemExt`] for conveniences. `Debug` and `Display` name the file system without
/// credentials and without host paths above the display root.
///
/// # What holds for every method
/// - A target comes from this file system's own `resolve`. It is opened without following a link
///   in any component: a link swapped in since is an error, never another file.
/// - A call that the capabilities rule out fails `FS_UNSUPPORTED` before any side effect.
/// - A guard is checked before anything else is said about the content. A version whose bytes are
///   still there is never stale, however often timestamps, inodes or tokens moved; different
///   bytes always are.
/// - Mutations of one target are serialised in this process, in order of arrival. Between
///   processes the storage decides, as [`Capabilities::compare_and_swap`] says.
/// - A failure before publication leaves the old bytes and no litter that `list` shows. A call
///   whose context was withdrawn ends with `FS_ABORTED` unless its publication had begun.
/// - Waiting ends at the context's deadline: `FS_BUSY` when others held the target, else
///   `FS_TIMEOUT`.
#[async_trait]
pub trait FileSystem: Debug + Display + Send + Sync + 'static {
    /// Returns what this file system can do at a target; at the root for none.
    fn capabilities(&self, target: Option<&Target>) -> Capabilities;

    /// Turns text into a target.
    ///
    /// Relative text starts at `cwd` (empty: the root); absolute text and this workspace's URLs
    /// must lie under the display root. Links within the root are followed, except in the last
    /// component for [`crate::Purpose::Entry`]. A missing file resolves through its nearest existing
    /// ancestor, so that its key is the same before and after creation. A link that leads nowhere
    /// within the root resolves to itself.
    ///
    /// # Errors
    /// `FS_INVALID_PATH` for text that no backend addresses, and for a trailing slash on
    /// anything but a folder where a file is wanted; `FS_SANDBOX_DENIED` for anything outside;
    /// `FS_NOT_DIRECTORY` for a path through a file, where there is a hierarchy.
    async fn resolve(&self, path: &str, cwd: &str, options: ResolveOptions) -> Result<Target>;

    /// Returns what a target is, following no link; none when nothing is there.
    ///
    /// Nothing is opened or read: a version is included only when it is known already. A link
    /// that leads nowhere counts as nothing.
    async fn stat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>>;

    /// Returns what the entry itself is, a link being a link; none when nothing is there.
    async fn lstat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>>;

    /// Reads a file's bytes, or a range of them, with the version of exactly those bytes.
    ///
    /// A read that overlaps writes of ours, or of any writer that renames, delivers the old or
    /// the new file.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` for nothing or a link that leads nowhere; `FS_NOT_REGULAR_FILE` for a
    /// folder or special file, decided without opening it; `FS_TOO_LARGE` beyond
    /// [`ReadOptions::max_bytes`], before buffering and also when the file grows meanwhile.
    async fn read(&self, target: &Target, options: ReadOptions) -> Result<ReadOutcome>;

    /// Lists a folder's direct children in byte order of their names.
    ///
    /// A child that vanishes meanwhile is skipped; one whose metadata cannot be had is listed
    /// with the error. Staging files of ours are not listed. A link is a link when it leads to
    /// something within the root, else [`crate::FileKind::Other`].
    ///
    /// # Errors
    /// `FS_NOT_FOUND` for nothing, `FS_NOT_DIRECTORY` for a file.
    async fn list(&self, target: &Target, options: ListOptions) -> Result<Listing>;

    /// Replaces or creates a whole file, atomically and verbatim, creating missing folders.
    ///
    /// Readers see the old bytes or the new ones. Permission bits of an existing file are kept.
    ///
    /// # Errors
    /// `FS_NOT_REGULAR_FILE` for a folder, link or special file, whatever the guard;
    /// `FS_READ_ONLY` for a file without any write bit; `FS_ALREADY_EXISTS` when
    /// `Expected::Absent` met a file; `FS_STALE_VERSION` when `Expected::Version` met other bytes
    /// or nothing, with those bytes attached where they were read.
    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome>;

    /// Checks the guard, then plans, splices and publishes as one step.
    ///
    /// With `Expected::Any` a lost race runs the transform again on the fresh bytes, until the
    /// deadline. An edit that changes no byte writes nothing.
    ///
    /// # Errors
    /// As [`FileSystem::write`], and: `FS_NOT_FOUND` for nothing without a guard,
    /// `FS_STALE_VERSION` with one; `FS_INVALID_ARGUMENT` for `Expected::Absent`, which no edit
    /// can meet; `FS_NOT_TEXT`; `FS_TOO_LARGE` beyond [`EditOptions::max_bytes`]; `FS_BUSY` when
    /// races were lost until the deadline; and whatever the transform says.
    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome>;

    /// Removes a file, a link itself, or an empty folder.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` for nothing without a guard, `FS_STALE_VERSION` with one, and for other
    /// bytes; `FS_NOT_EMPTY` for a folder with children; `FS_INVALID_ARGUMENT` for the root or
    /// for `Expected::Absent`; `FS_READ_ONLY` for a file without any write bit.
    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()>;

    /// Moves a file or folder, creating missing folders.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS` when the destination exists and was not asked to be replaced;
    /// `FS_STALE_VERSION` when either guard does not hold; `FS_NOT_FOUND` without a source;
    /// `FS_INVALID_ARGUMENT` for the root, or a folder moved into itself.
    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome>;

    /// Copies a file's bytes and permission bits, creating missing folders.
    ///
    /// # Errors
    /// As [`FileSystem::rename`]; a folder is `FS_NOT_REGULAR_FILE`.
    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome>;

    /// Creates a folder and the missing ones above it; an existing folder is a success.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS` when a file is there.
    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()>;
}

/// Forwards without a future of its own: the inner one is handed on.
macro_rules! forward {
    ($pointer:ident: $($method:ident($($given:ident: &$kind:ty),+ $(; $more:ident: $owned:ty)*) -> $output:ty;)+) => {
        #[deny(clippy::missing_trait_methods)]
        impl FileSystem for $pointer<dyn FileSystem> {
            fn capabilities(&self, target: Option<&Target>) -> Capabilities {
                (**self).capabilities(target)
            }

            $(forward!{@method $method($($given: &$kind),+ $(; $more: $owned)*) -> $output})+
        }
    };
    (@method $method:ident($one:ident: &$first:ty $(; $more:ident: $owned:ty)*) -> $output:ty) => {
        fn $method<'me, 'one, 'all>(
            &'me self,
            $one: &'one $first,
            $($more: $owned),*
        ) -> BoxFuture<'all, Result<$output>>
        where
            'me: 'all,
            'one: 'all,
            Self: 'all,
        {
            (**self).$method($one, $($more),*)
        }
    };
    (@method $method:ident($one:ident: &$first:ty, $two:ident: &$second:ty $(; $more:ident: $owned:ty)*) -> $output:ty) => {
        fn $method<'me, 'one, 'two, 'all>(
            &'me self,
            $one: &'one $first,
            $two: &'two $second,
            $($more: $owned),*
        ) -> BoxFuture<'all, Result<$output>>
        where
            'me: 'all,
            'one: 'all,
            'two: 'all,
            Self: 'all,
        {
            (**self).$method($one, $two, $($more),*)
        }
    };
    ($($pointer:ident),+) => {
        $(forward!{$pointer:
            resolve(path: &str, cwd: &str; options: ResolveOptions) -> Target;
            stat(target: &Target; options: StatOptions) -> Option<Metadata>;
            lstat(target: &Target; options: StatOptions) -> Option<Metadata>;
            read(target: &Target; options: ReadOptions) -> ReadOutcome;
            list(target: &Target; options: ListOptions) -> Listing;
            write(target: &Target; bytes: Bytes; options: WriteOptions) -> WriteOutcome;
            edit(target: &Target; transform: Arc<dyn Transform>; options: EditOptions) -> EditOutcome;
            remove(target: &Target; options: RemoveOptions) -> ();
            rename(from: &Target, to: &Target; options: TransferOptions) -> TransferOutcome;
            copy(from: &Target, to: &Target; options: TransferOptions) -> TransferOutcome;
            create_dir(target: &Target; options: CreateDirOptions) -> ();
        })+
    };
}

forward!(Arc, Box);
