//! Object: a workspace on S3, Google Cloud Storage, Azure, or any other `object_store`.
//!
//! There are no folders, only keys that share a beginning, so that `x` and `x/y` may both exist;
//! where they do, `x` is the file and a listing shows both. Every guard is a condition that the
//! store itself checks, so that any number of machines may edit one workspace with no coordinator
//! but the store. What a store cannot do in one step, the capabilities say.
//!
//! - A read is one request, an edit of content in the cache one, of other content two, a creation
//!   one, and a listing one a page.
//! - A write without a guard reads the object first when it is not in the cache, because its
//!   caller is told whether it was created and what was there before.
//! - A guarded `remove`, and a `rename` with a guarded source, are `FS_UNSUPPORTED`: no store
//!   removes under a condition through `object_store`.

mod budget;
mod chance;
mod conditional;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod connect;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod connector;
mod edit;
mod fault;
mod folder;
mod foreign;
mod history;
mod keys;
mod list;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod location;
mod order;
mod probe;
mod read;
mod remote;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod settings;
mod transfer;
mod write;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use object_store::ObjectStore;
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use seamfs_core::cache::{Cached, ContentCache, DEFAULT_CAPACITY};
use seamfs_core::locks::Turns;
use seamfs_core::{
    Atomicity, CallContext, Capabilities, CreateDirOptions, EditOptions, EditOutcome, ErrorCode,
    FileKind, FileSystem, FsError, Guarding, ListOptions, Listing, Metadata, Namespace, Operation,
    Purpose, ReadOptions, ReadOutcome, RemoveOptions, ResolveOptions, Result, RootPath, Snapshot,
    StatOptions, Target, TargetKey, TransferOptions, TransferOutcome, Transform, WriteOptions,
    WriteOutcome,
};
use tokio::sync::OnceCell;

pub use budget::Budget;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
pub use location::{Cloud, SCHEMES};
pub use probe::{Conditions, Support};
pub use remote::TokenKind;

use keys::Keys;
use remote::{Extra, Remote, Seen, in_time};

/// The largest object, in bytes, that one request may write: 5 GiB on every cloud.
const LARGEST_PUT: u64 = 5 << 30;

/// A file system on an object store; clones share it.
///
/// ```
/// # use std::sync::Arc;
/// # use seamfs_core::{Expected, FileSystemExt};
/// # use seamfs_providers::Object;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let fs = Object::new(Arc::new(object_store::memory::InMemory::new()));
/// let notes = fs.target("notes.md").await?;
/// fs.write_all(&notes, "- tea\n".into(), Expected::Absent).await?;
/// fs.replace(&notes, "tea", "coffee", Expected::Any).await?;
/// # Ok::<(), seamfs_core::FsError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Object(Arc<Inner>);

struct Inner {
    remote: Remote,
    keys: Keys,
    namespace: Namespace,
    kind: &'static str,
    budget: Budget,
    conditions: Conditions,
    found: OnceCell<Support>,
    cache: ContentCache<Extra>,
    turns: Turns<TargetKey>,
}

impl Object {
    /// Opens a whole store, with everything else as the builder has it.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        ObjectBuilder::over(store).open()
    }

    /// Starts to open a store.
    pub fn builder(store: Arc<dyn ObjectStore>) -> ObjectBuilder {
        ObjectBuilder::over(store)
    }
}

/// Opens an [`Object`] with settings of its own.
pub struct ObjectBuilder {
    remote: Remote,
    keys: Keys,
    url: Option<(String, String, String)>,
    kind: &'static str,
    budget: Budget,
    conditions: Conditions,
    capacity: usize,
}

impl ObjectBuilder {
    fn over(store: Arc<dyn ObjectStore>) -> Self {
        Self {
            remote: Remote {
                reads: Arc::clone(&store),
                writes: store,
                retries_inside: true,
                pages: None,
                tokens: TokenKind::ETag,
            },
            keys: Keys::beneath("").expect("a whole store is a root"),
            url: None,
            kind: "object store",
            budget: Budget::default(),
            conditions: Conditions::default(),
            capacity: DEFAULT_CAPACITY,
        }
    }

    /// Makes what lies beneath a prefix the workspace; nothing else can be reached.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for a prefix with an empty name or one that no path here may have.
    pub fn prefix(mut self, prefix: &str) -> Result<Self> {
        self.keys = Keys::beneath(prefix)?;
        Ok(self)
    }

    /// Sends writes through a client that never tries again by itself.
    ///
    /// Without one a refusal is looked into, since the client may have been refused its own bytes.
    #[must_use]
    pub fn writes(mut self, store: Arc<dyn ObjectStore>) -> Self {
        self.remote.writes = store;
        self.remote.retries_inside = false;
        self
    }

    /// Lists page by page through the store's own pages.
    #[must_use]
    pub fn pages(mut self, pages: Arc<dyn PaginatedListStore>) -> Self {
        self.remote.pages = Some(pages);
        self
    }

    /// Says what names a content on this store. Default the ETag.
    #[must_use]
    pub fn tokens(mut self, tokens: TokenKind) -> Self {
        self.remote.tokens = tokens;
        self
    }

    /// Says what is known of the store's conditional writes. Default they are tried out.
    #[must_use]
    pub fn conditions(mut self, conditions: Conditions) -> Self {
        self.conditions = conditions;
        self
    }

    /// Bounds how often and how long a write is tried.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Bounds the content cache, in bytes; zero keeps nothing. Default 64 MiB.
    #[must_use]
    pub fn cache(mut self, capacity: usize) -> Self {
        self.capacity = capacity;
        self
    }

    /// Names the kind of store in messages, and the URL that paths may be spelled with.
    #[must_use]
    pub fn spelled(
        mut self,
        kind: &'static str,
        scheme: &str,
        authority: &str,
        root: &str,
    ) -> Self {
        self.kind = kind;
        self.url = Some((scheme.to_owned(), authority.to_owned(), root.to_owned()));
        self
    }

    /// Opens the store; no request is sent.
    pub fn open(self) -> Object {
        let mut namespace = Namespace::virtual_root().with_prefix_bytes(self.keys.prefix_bytes());
        if let Some((scheme, authority, root)) = &self.url {
            namespace = namespace.with_url(scheme, authority, root);
        }
        Object(Arc::new(Inner {
            remote: self.remote,
            keys: self.keys,
            namespace,
            kind: self.kind,
            budget: self.budget,
            conditions: self.conditions,
            found: OnceCell::new(),
            cache: ContentCache::new(self.capacity),
            turns: Turns::new(),
        }))
    }
}

impl fmt::Debug for ObjectBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectBuilder")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Bucket, prefix, endpoint and credentials are the operator's, and not shown.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("kind", &self.0.kind)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.kind)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for Object {
    fn capabilities(&self, _: Option<&Target>) -> Capabilities {
        let support = self.support_known();
        Capabilities {
            hierarchy: false,
            writable: true,
            create: support.create(),
            compare_and_swap: support.update(),
            edit: support.edit(),
            guarded_remove: Guarding::None,
            rename: Atomicity::Stepwise,
            copy: Atomicity::Stepwise,
            links: false,
            modes: false,
            case_sensitive: true,
            cheap_versions: self.0.remote.tokens == TokenKind::ETag,
            max_file_bytes: Some(LARGEST_PUT),
        }
    }

    async fn resolve(&self, path: &str, cwd: &str, options: ResolveOptions) -> Result<Target> {
        let parsed = self
            .0
            .namespace
            .parse(path, cwd)
            .map_err(|error| error.into_error(path))?;
        let target = self.target_of(&parsed.path);
        let place = |error: FsError| error.at(target.display()).during(Operation::Resolve);
        options.context.check().map_err(place)?;
        if parsed.path.components().any(keys::is_reserved) {
            return Err(place(FsError::new(
                ErrorCode::InvalidPath,
                "the path holds a name that is reserved on object stores",
            )));
        }
        if parsed.folder && options.purpose != Purpose::Folder {
            self.check_folder(&parsed.path, options.purpose, &options.context)
                .await
                .map_err(place)?;
        }
        Ok(target)
    }

    async fn stat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.lstat(target, options).await
    }

    async fn lstat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.look(&path_of(target), &options.context)
            .await
            .map_err(|error| error.at(target.display()).during(Operation::Stat))
    }

    async fn read(&self, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        self.read_object(target, &options)
            .await
            .map_err(|error| error.at(target.display()).during(Operation::Read))
    }

    async fn list(&self, target: &Target, options: ListOptions) -> Result<Listing> {
        self.list_folder(target, &options)
            .await
            .map_err(|error| error.at(target.display()).during(Operation::List))
    }

    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        self.write_object(target, bytes, &options)
            .await
            .map_err(|error| error.at(target.display()).during(Operation::Write))
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        self.edit_object(target, transform.as_ref(), &options)
            .await
            .map_err(|error| error.at(target.display()).during(Operation::Edit))
    }

    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()> {
        self.remove_entry(target, &options)
            .await
            .map_err(|error| error.at(target.display()).during(Operation::Remove))
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.rename_entry(from, to, &options)
            .await
            .map_err(|error| error.at(from.display()).during(Operation::Rename))
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.copy_object(from, to, &options)
            .await
            .map_err(|error| error.at(from.display()).during(Operation::Copy))
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        self.create_folder(target, &options)
            .await
            .map_err(|error| error.at(target.display()).during(Operation::CreateDir))
    }
}

type Turn = seamfs_core::locks::Turn<TargetKey>;

impl Object {
    fn target_of(&self, path: &RootPath) -> Target {
        Target::new(path.to_key(), self.0.namespace.display(path))
    }

    fn key_of(&self, target: &Target) -> Path {
        self.0.keys.key(&path_of(target))
    }

    async fn turn(&self, target: &Target, context: &CallContext) -> Result<Turn> {
        self.0
            .turns
            .turn(target.key().clone(), context.deadline)
            .await
    }

    /// Takes the turns of two targets, in the order of their keys so that nobody waits in a ring.
    async fn both_turns(
        &self,
        one: &Target,
        two: &Target,
        context: &CallContext,
    ) -> Result<(Turn, Option<Turn>)> {
        let (low, high) = match one.key() <= two.key() {
            true => (one, two),
            false => (two, one),
        };
        let first = self.turn(low, context).await?;
        let second = match low.key() == high.key() {
            true => None,
            false => Some(self.turn(high, context).await?),
        };
        Ok((first, second))
    }

    /// Says what a path is: the file first, then the folder that its children make.
    async fn look(&self, path: &RootPath, context: &CallContext) -> Result<Option<Metadata>> {
        context.check()?;
        if path.is_root() {
            return Ok(Some(Metadata::of(FileKind::Directory)));
        }
        let head = in_time(context, self.0.remote.head(&self.0.keys.key(path))).await;
        if let Some(meta) = head.map_err(fault::Fault::into_error)? {
            return Ok(Some(self.metadata_of(&path.to_key(), &meta)));
        }
        let is_folder = self.is_folder(path, context).await?;
        Ok(is_folder.then(|| Metadata::of(FileKind::Directory)))
    }

    async fn is_folder(&self, path: &RootPath, context: &CallContext) -> Result<bool> {
        if path.is_root() {
            return Ok(true);
        }
        let prefix = self.0.keys.beneath_folder(path);
        in_time(context, self.0.remote.any_beneath(&prefix))
            .await
            .map_err(fault::Fault::into_error)
    }

    /// Checks that a spelling with a trailing slash names a folder, and that one is wanted.
    async fn check_folder(
        &self,
        path: &RootPath,
        purpose: Purpose,
        context: &CallContext,
    ) -> Result<()> {
        match self.is_folder(path, context).await? {
            false => Err(FsError::new(
                ErrorCode::InvalidPath,
                "a trailing slash names a folder, and there is none",
            )),
            // The key alone could not tell this folder from a file of its name.
            true if purpose == Purpose::File => Err(not_regular()),
            true => Ok(()),
        }
    }

    /// Turns a miss into what is there instead of a file: nothing, or a folder.
    async fn missing(&self, target: &Target, error: FsError, context: &CallContext) -> FsError {
        if error.code() != ErrorCode::NotFound {
            return error;
        }
        match self.is_folder(&path_of(target), context).await {
            Ok(true) => not_regular(),
            _ => error,
        }
    }

    fn cached(&self, target: &Target) -> Option<Seen> {
        self.0.cache.get(target.key()).map(seen_of)
    }

    fn remember(&self, target: &Target, snapshot: Snapshot, extra: Extra) {
        self.0.cache.put(target.key().clone(), snapshot, extra);
    }

    fn forget(&self, target: &Target) {
        self.0.cache.forget(target.key());
    }
}

fn seen_of(cached: Cached<Extra>) -> Seen {
    Seen {
        snapshot: cached.snapshot,
        extra: cached.extra,
    }
}

fn path_of(target: &Target) -> RootPath {
    RootPath::from_key(target.key())
}

fn not_regular() -> FsError {
    FsError::new(ErrorCode::NotRegularFile, "this is a folder, not a file")
}

fn no_root(operation: Operation) -> FsError {
    FsError::new(
        ErrorCode::InvalidArgument,
        format!("the root itself has no {operation}"),
    )
}

#[cfg(test)]
mod tests;
