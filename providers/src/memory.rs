//! Memory: a whole file system in this process, and the semantics that others are measured by.
//!
//! It is the embedded default. Folders are real, names are bytes-exact and case-sensitive, there
//! are no links and no permission bits, and everything is gone when the last handle is.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use seamfs_core::cas::{self, Swap, Swapped};
use seamfs_core::locks::Turns;
use seamfs_core::{
    Atomicity, Body, CallContext, Capabilities, CreateDirOptions, EditOptions, EditOutcome, Entry,
    EntryName, ErrorCode, Expected, FileKind, FileSystem, FsError, Guarding, ListOptions, Listing,
    Metadata, Namespace, Operation, Purpose, ReadOptions, ReadOutcome, RemoveOptions,
    ResolveOptions, Result, RootPath, Snapshot, StatOptions, Target, TargetKey, TransferOptions,
    TransferOutcome, Transform, Version, WriteOptions, WriteOutcome,
};

/// How many bytes a [`Memory`] holds at the most unless told otherwise: 1 GiB.
pub const DEFAULT_QUOTA: u64 = 1 << 30;

/// What an entry costs against the quota beside its name and content, in bytes.
const ENTRY_COST: u64 = 256;

/// A file system in memory; clones share it.
#[derive(Clone)]
pub struct Memory {
    namespace: Namespace,
    tree: Arc<Mutex<Tree>>,
    turns: Turns<TargetKey>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::with_quota(DEFAULT_QUOTA)
    }
}

impl Memory {
    /// Creates an empty file system bounded by [`DEFAULT_QUOTA`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty file system that holds at the most `bytes`.
    ///
    /// Contents, names and 256 bytes an entry count; more is `FS_NO_SPACE`.
    pub fn with_quota(bytes: u64) -> Self {
        Self {
            namespace: Namespace::virtual_root().with_url("memory", "", "/"),
            tree: Arc::new(Mutex::new(Tree {
                root: Node::Folder(Folder::default()),
                used: 0,
                quota: bytes,
            })),
            turns: Turns::new(),
        }
    }

    /// Returns how many bytes count against the quota now.
    pub fn used(&self) -> u64 {
        self.tree().used
    }

    /// A panic while holding this lock leaves the tree whole: it is changed by single calls.
    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn target_of(&self, path: &RootPath) -> Target {
        Target::new(path.to_key(), self.namespace.display(path))
    }

    fn load(&self, target: &Target) -> Result<Option<Snapshot>> {
        match self.tree().node(&path_of(target))? {
            None => Ok(None),
            Some(Node::File(file)) => Ok(Some(file.snapshot.clone())),
            Some(Node::Folder(_)) => Err(not_regular()),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory:")
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for Memory {
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
            links: false,
            modes: false,
            case_sensitive: true,
            cheap_versions: true,
            max_file_bytes: Some(self.tree().quota),
        }
    }

    async fn resolve(&self, path: &str, cwd: &str, options: ResolveOptions) -> Result<Target> {
        let parsed = self
            .namespace
            .parse(path, cwd)
            .map_err(|error| error.into_error(path))?;
        let target = self.target_of(&parsed.path);
        let place = |error: FsError| error.at(target.display()).during(Operation::Resolve);
        options.context.check().map_err(place)?;
        let tree = self.tree();
        let node = tree.node(&parsed.path).map_err(place)?;
        let is_folder = matches!(node, Some(Node::Folder(_)));
        if parsed.folder && options.purpose != Purpose::Folder && !is_folder {
            return Err(place(FsError::new(
                ErrorCode::InvalidPath,
                "a trailing slash names a folder, and there is none",
            )));
        }
        drop(tree);
        Ok(target)
    }

    async fn stat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.lstat(target, options).await
    }

    async fn lstat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        let place = |error: FsError| error.at(target.display()).during(Operation::Stat);
        options.context.check().map_err(place)?;
        let tree = self.tree();
        match tree.node(&path_of(target)) {
            Ok(node) => Ok(node.map(Node::metadata)),
            Err(_) => Ok(None),
        }
    }

    async fn read(&self, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        let place = |error: FsError| error.at(target.display()).during(Operation::Read);
        options.context.check().map_err(place)?;
        let tree = self.tree();
        let file = match tree.node(&path_of(target)).map_err(place)? {
            None => return Err(place(cas::not_found())),
            Some(Node::Folder(_)) => return Err(place(not_regular())),
            Some(Node::File(file)) => file.clone(),
        };
        drop(tree);
        let all = &file.snapshot.bytes;
        let bytes = match options.range {
            None => all.clone(),
            Some(range) => {
                let clamp = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(all.len());
                let (start, end) = (clamp(range.start), clamp(range.end));
                all.slice(start..end.max(start))
            }
        };
        if let Some(limit) = options
            .max_bytes
            .filter(|limit| bytes.len() as u64 > *limit)
        {
            return Err(place(cas::too_large(bytes.len() as u64, limit)));
        }
        Ok(ReadOutcome {
            metadata: file.metadata(),
            body: Body::Whole {
                bytes,
                version: Some(file.snapshot.version),
            },
        })
    }

    async fn list(&self, target: &Target, options: ListOptions) -> Result<Listing> {
        let place = |error: FsError| error.at(target.display()).during(Operation::List);
        options.context.check().map_err(place)?;
        let tree = self.tree();
        let folder = match tree.node(&path_of(target)).map_err(place)? {
            None => return Err(place(no_folder())),
            Some(Node::File(_)) => return Err(place(cas::through_no_folder())),
            Some(Node::Folder(folder)) => folder,
        };
        let entries: Vec<_> = folder
            .children
            .iter()
            .map(|(name, node)| {
                Ok(Entry {
                    name: EntryName::from_storage(name.as_bytes()),
                    metadata: Ok(node.metadata()),
                })
            })
            .collect();
        Ok(stream::iter(entries).boxed())
    }

    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let place = |error: FsError| error.at(target.display()).during(Operation::Write);
        let context = &options.context;
        let _turn = self.turn(target, context).await.map_err(place)?;
        let snapshot = snapshot_of(bytes);
        let version = snapshot.version.clone();
        context.check().map_err(place)?;
        let mut tree = self.tree();
        let before = match tree.node(&path_of(target)).map_err(place)? {
            Some(Node::Folder(_)) => return Err(place(not_regular())),
            Some(Node::File(file)) => Some(file.snapshot.clone()),
            None => None,
        };
        cas::check_guard(before.as_ref(), &options.expected).map_err(place)?;
        let claim = context.cancellation.begin_publication().map_err(place)?;
        let after = snapshot.bytes.clone();
        tree.put(&path_of(target), snapshot).map_err(place)?;
        drop((tree, claim));
        Ok(WriteOutcome {
            created: before.is_none(),
            version,
            before: before
                .and_then(|old| cas::bytes_before(&old.bytes, &after, options.before_limit)),
            notes: Vec::new(),
        })
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let _turn = self
            .turn(target, &options.context)
            .await
            .map_err(|error| error.at(target.display()).during(Operation::Edit))?;
        let slot = Slot {
            memory: self,
            target,
            options: &options,
        };
        let (expected, context) = (&options.expected, &options.context);
        cas::edit(target, &slot, transform.as_ref(), expected, context).await
    }

    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()> {
        let place = |error: FsError| error.at(target.display()).during(Operation::Remove);
        let path = path_of(target);
        if path.is_root() {
            return Err(place(no_root(Operation::Remove)));
        }
        let context = &options.context;
        let _turn = self.turn(target, context).await.map_err(place)?;
        context.check().map_err(place)?;
        let mut tree = self.tree();
        tree.check_source(&path, &options.expected).map_err(place)?;
        if matches!(tree.node(&path), Ok(Some(Node::Folder(folder))) if !folder.children.is_empty())
        {
            return Err(place(FsError::new(
                ErrorCode::NotEmpty,
                "the folder is not empty",
            )));
        }
        let _claim = context.cancellation.begin_publication().map_err(place)?;
        tree.take(&path);
        Ok(())
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let place = |error: FsError| error.at(from.display()).during(Operation::Rename);
        let (source, destination) = (path_of(from), path_of(to));
        if source.is_root() || destination.is_root() {
            return Err(place(no_root(Operation::Rename)));
        }
        if destination != source && destination.starts_with(&source) {
            return Err(place(FsError::new(
                ErrorCode::InvalidArgument,
                "a folder cannot be moved into itself",
            )));
        }
        let _turns = self
            .both_turns(from, to, &options.context)
            .await
            .map_err(place)?;
        options.context.check().map_err(place)?;
        let mut tree = self.tree();
        tree.check_source(&source, &options.source).map_err(place)?;
        if source == destination {
            return Ok(tree.transferred(&source, false));
        }
        let is_file = matches!(tree.node(&source), Ok(Some(Node::File(_))));
        let replaced = tree
            .check_destination(&destination, &options.destination, is_file)
            .map_err(|error| error.at(to.display()).during(Operation::Rename))?;
        let _claim = options
            .context
            .cancellation
            .begin_publication()
            .map_err(place)?;
        tree.move_node(&source, &destination).map_err(place)?;
        Ok(tree.transferred(&destination, !replaced))
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let place = |error: FsError| error.at(from.display()).during(Operation::Copy);
        let (source, destination) = (path_of(from), path_of(to));
        let _turns = self
            .both_turns(from, to, &options.context)
            .await
            .map_err(place)?;
        options.context.check().map_err(place)?;
        let mut tree = self.tree();
        tree.check_source(&source, &options.source).map_err(place)?;
        let snapshot = match tree.node(&source).map_err(place)? {
            Some(Node::File(file)) => file.snapshot.clone(),
            _ => return Err(place(not_regular())),
        };
        if source == destination {
            return Ok(tree.transferred(&source, false));
        }
        let at_destination = |error: FsError| error.at(to.display()).during(Operation::Copy);
        let replaced = tree
            .check_destination(&destination, &options.destination, true)
            .map_err(at_destination)?;
        let _claim = options
            .context
            .cancellation
            .begin_publication()
            .map_err(place)?;
        tree.put(&destination, snapshot).map_err(at_destination)?;
        Ok(tree.transferred(&destination, !replaced))
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        let place = |error: FsError| error.at(target.display()).during(Operation::CreateDir);
        let context = &options.context;
        let _turn = self.turn(target, context).await.map_err(place)?;
        context.check().map_err(place)?;
        let path = path_of(target);
        let mut tree = self.tree();
        match tree.node(&path).map_err(place)? {
            Some(Node::Folder(_)) => return Ok(()),
            Some(Node::File(_)) => return Err(place(cas::already_exists())),
            None => {}
        }
        let _claim = context.cancellation.begin_publication().map_err(place)?;
        tree.insert(&path, Node::Folder(Folder::default()))
            .map_err(place)
    }
}

type Turn = seamfs_core::locks::Turn<TargetKey>;

impl Memory {
    async fn turn(&self, target: &Target, context: &CallContext) -> Result<Turn> {
        self.turns
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
        let (low, high) = if one.key() <= two.key() {
            (one, two)
        } else {
            (two, one)
        };
        let first = self.turn(low, context).await?;
        let second = match low.key() == high.key() {
            true => None,
            false => Some(self.turn(high, context).await?),
        };
        Ok((first, second))
    }
}

/// One file as the edit loop sees it.
struct Slot<'a> {
    memory: &'a Memory,
    target: &'a Target,
    options: &'a EditOptions,
}

#[async_trait]
impl Swap for Slot<'_> {
    async fn load(&self) -> Result<Option<Snapshot>> {
        let seen = self.memory.load(self.target)?;
        let size = seen.as_ref().map_or(0, |seen| seen.bytes.len() as u64);
        if size > self.options.max_bytes {
            return Err(cas::too_large(size, self.options.max_bytes));
        }
        Ok(seen)
    }

    async fn swap(&self, seen: &Snapshot, after: Bytes) -> Result<Swapped> {
        let snapshot = snapshot_of(after);
        let version = snapshot.version.clone();
        let mut tree = self.memory.tree();
        let path = path_of(self.target);
        match tree.node(&path)? {
            Some(Node::File(file)) if file.snapshot.version.certifies(&seen.version) => {}
            _ => return Ok(Swapped::Lost),
        }
        let _claim = self.options.context.cancellation.begin_publication()?;
        tree.put(&path, snapshot)?;
        Ok(Swapped::Published {
            version,
            notes: Vec::new(),
        })
    }
}

/// The ordered namespace, with the account of what it holds.
struct Tree {
    root: Node,
    used: u64,
    quota: u64,
}

#[derive(Clone)]
enum Node {
    File(File),
    Folder(Folder),
}

#[derive(Clone)]
struct File {
    snapshot: Snapshot,
    modified: SystemTime,
}

#[derive(Clone, Default)]
struct Folder {
    children: BTreeMap<String, Node>,
}

impl File {
    fn metadata(&self) -> Metadata {
        Metadata {
            size: Some(self.snapshot.bytes.len() as u64),
            modified: Some(self.modified),
            version: Some(self.snapshot.version.clone()),
            ..Metadata::of(FileKind::File)
        }
    }
}

impl Node {
    fn as_folder(&mut self) -> Result<&mut Folder> {
        match self {
            Self::Folder(folder) => Ok(folder),
            Self::File(_) => Err(cas::through_no_folder()),
        }
    }

    fn metadata(&self) -> Metadata {
        match self {
            Self::File(file) => file.metadata(),
            Self::Folder(_) => Metadata::of(FileKind::Directory),
        }
    }
}

impl Tree {
    /// Finds what is at a path; a file on the way is `FS_NOT_DIRECTORY`.
    fn node(&self, path: &RootPath) -> Result<Option<&Node>> {
        let mut node = &self.root;
        for (depth, component) in path.components().enumerate() {
            match node {
                Node::File(_) => return Err(cas::through_no_folder().at(display_of(path, depth))),
                Node::Folder(folder) => match folder.children.get(component) {
                    Some(child) => node = child,
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(node))
    }

    /// Finds the folder that holds a path, making it and those above it where they are missing.
    fn folder_of(&mut self, path: &RootPath) -> Result<&mut Folder> {
        let mut components = path.components();
        components.next_back();
        let mut node = &mut self.root;
        for component in components {
            node = node
                .as_folder()?
                .children
                .entry(component.to_owned())
                .or_insert_with(|| Node::Folder(Folder::default()));
        }
        node.as_folder()
    }

    fn put(&mut self, path: &RootPath, snapshot: Snapshot) -> Result<()> {
        let modified = SystemTime::now();
        self.insert(path, Node::File(File { snapshot, modified }))
    }

    /// Puts a node in place, making the folders above it; all or nothing.
    fn insert(&mut self, path: &RootPath, node: Node) -> Result<()> {
        let name = path.name().ok_or_else(not_regular)?;
        let freed = match self.node(path)? {
            Some(old) => cost(name, old),
            None => 0,
        };
        let folders = self.missing_folders(path);
        let added = cost(name, &node) + folders.iter().map(|name| cost_of_entry(name)).sum::<u64>();
        let used = self.used - freed + added;
        if used > self.quota {
            return Err(FsError::new(
                ErrorCode::NoSpace,
                format!(
                    "the memory of this workspace is full: {} bytes at the most",
                    self.quota
                ),
            )
            .with_details(|details| {
                details.limit = Some(self.quota);
                details.used = Some(self.used);
            }));
        }
        self.folder_of(path)?.children.insert(name.to_owned(), node);
        self.used = used;
        Ok(())
    }

    /// Returns the names of the folders above a path that do not exist.
    fn missing_folders<'a>(&self, path: &'a RootPath) -> Vec<&'a str> {
        let mut node = Some(&self.root);
        let mut components = path.components();
        components.next_back();
        let mut missing = Vec::new();
        for component in components {
            node = match node {
                Some(Node::Folder(folder)) => folder.children.get(component),
                _ => None,
            };
            if node.is_none() {
                missing.push(component);
            }
        }
        missing
    }

    fn take(&mut self, path: &RootPath) -> Option<Node> {
        let name = path.name()?;
        let node = self.folder_of(path).ok()?.children.remove(name)?;
        self.used -= cost(name, &node);
        Some(node)
    }

    /// Moves a node; when there is no room at the destination it is put back.
    fn move_node(&mut self, source: &RootPath, destination: &RootPath) -> Result<()> {
        let node = self.take(source).ok_or_else(cas::not_found)?;
        self.insert(destination, node.clone()).inspect_err(|_| {
            self.insert(source, node)
                .expect("the place it left has room for it");
        })
    }

    fn check_source(&self, path: &RootPath, expected: &Expected) -> Result<()> {
        let node = self.node(path)?;
        match (expected, node) {
            (Expected::Absent, _) => Err(FsError::new(
                ErrorCode::InvalidArgument,
                "the guard `absent` can never hold for what is to be moved, copied or removed",
            )),
            (Expected::Any, None) => Err(cas::not_found()),
            (Expected::Any, Some(_)) => Ok(()),
            (Expected::Version(_), Some(Node::Folder(_))) => Err(cas::stale()),
            (_, Some(Node::File(file))) => cas::check_guard(Some(&file.snapshot), expected),
            (_, None) => cas::check_guard(None, expected),
        }
    }

    /// Checks what is to be replaced; says whether anything is.
    fn check_destination(&self, path: &RootPath, expected: &Expected, file: bool) -> Result<bool> {
        match self.node(path)? {
            None => cas::check_guard(None, expected).map(|()| false),
            Some(_) if *expected == Expected::Absent => Err(cas::already_exists()),
            Some(Node::File(old)) if file => {
                cas::check_guard(Some(&old.snapshot), expected).map(|()| true)
            }
            Some(Node::File(_)) => Err(cas::through_no_folder()),
            Some(Node::Folder(_)) if file => Err(not_regular()),
            Some(Node::Folder(_)) => Err(cas::already_exists()),
        }
    }

    fn transferred(&self, path: &RootPath, created: bool) -> TransferOutcome {
        let version = match self.node(path) {
            Ok(Some(Node::File(file))) => Some(file.snapshot.version.clone()),
            _ => None,
        };
        TransferOutcome {
            created,
            version,
            notes: Vec::new(),
        }
    }
}

fn cost(name: &str, node: &Node) -> u64 {
    cost_of_entry(name)
        + match node {
            Node::File(file) => file.snapshot.bytes.len() as u64,
            Node::Folder(folder) => folder
                .children
                .iter()
                .map(|(name, node)| cost(name, node))
                .sum(),
        }
}

fn cost_of_entry(name: &str) -> u64 {
    ENTRY_COST + name.len() as u64
}

fn snapshot_of(bytes: Bytes) -> Snapshot {
    let version = Version::of(&bytes);
    Snapshot { bytes, version }
}

fn path_of(target: &Target) -> RootPath {
    RootPath::from_key(target.key())
}

/// Returns the path to show for the first names of a path.
fn display_of(path: &RootPath, depth: usize) -> String {
    path.components()
        .take(depth)
        .fold(String::new(), |shown, name| shown + "/" + name)
}

fn not_regular() -> FsError {
    FsError::new(ErrorCode::NotRegularFile, "this is a folder, not a file")
}

fn no_folder() -> FsError {
    FsError::new(ErrorCode::NotFound, "no such folder")
}

fn no_root(operation: Operation) -> FsError {
    FsError::new(
        ErrorCode::InvalidArgument,
        format!("the root itself has no {operation}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use seamfs_core::FileSystemExt;

    async fn put(memory: &Memory, path: &str, text: &str) -> Result<WriteOutcome> {
        let target = memory.target(path).await?;
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        memory.write_all(&target, bytes, Expected::Any).await
    }

    #[tokio::test]
    async fn b217_the_quota_is_exact_and_freed_room_is_usable_again() {
        let memory = Memory::with_quota(1 << 20);
        put(&memory, "a", "keep\n").await.unwrap();
        assert_eq!(memory.used(), ENTRY_COST + 1 + 5);
        let big = "x".repeat(2 << 20);
        for path in ["b", "a", "deep/er/b"] {
            assert_eq!(
                put(&memory, path, &big).await.unwrap_err().code(),
                ErrorCode::NoSpace
            );
        }
        assert_eq!(
            memory
                .list_all(&memory.target("/").await.unwrap())
                .await
                .unwrap()
                .len(),
            1
        );
        let used = memory.used();
        let mut created = 0;
        while put(&memory, &format!("n{created}"), "1").await.is_ok() {
            created += 1;
        }
        assert!((3000..4096).contains(&created), "{created}");
        for n in 0..created {
            let target = memory.target(&format!("n{n}")).await.unwrap();
            memory
                .remove(&target, RemoveOptions::default())
                .await
                .unwrap();
        }
        assert_eq!(memory.used(), used);
        put(&memory, "b", &"y".repeat(1 << 19)).await.unwrap();
        let kept = memory
            .read_all(&memory.target("a").await.unwrap())
            .await
            .unwrap();
        assert_eq!(&kept.bytes[..], b"keep\n");
    }

    #[tokio::test]
    async fn metadata_says_how_large_a_file_is_and_when_it_was_written() {
        let (memory, before) = (Memory::new(), SystemTime::now());
        put(&memory, "a", "text").await.unwrap();
        let target = memory.target("a").await.unwrap();
        let stat = memory.stat(&target, StatOptions::default()).await;
        let metadata = stat.unwrap().unwrap();
        assert_eq!((metadata.kind, metadata.size), (FileKind::File, Some(4)));
        assert_eq!(metadata.version, Some(Version::of(b"text")));
        let written = metadata.modified.unwrap();
        assert!((before..=SystemTime::now()).contains(&written));
    }

    #[tokio::test]
    async fn a_move_that_finds_no_room_leaves_the_source() {
        let memory = Memory::with_quota(500);
        put(&memory, "a", "text").await.unwrap();
        let (from, to) = (
            memory.target("a").await.unwrap(),
            memory.target("folder/b").await.unwrap(),
        );
        let moved = memory.rename(&from, &to, TransferOptions::default()).await;
        assert_eq!(moved.unwrap_err().code(), ErrorCode::NoSpace);
        assert_eq!(&memory.read_all(&from).await.unwrap().bytes[..], b"text");
        assert!(
            memory
                .stat(&to, StatOptions::default())
                .await
                .unwrap()
                .is_none()
        );
    }
}
