//! A provider from scratch: a flat store in memory that passes the whole conformance kit.
//!
//! It is what an object store looks like from here: names with slashes, no folders, one put at a
//! time. `cargo run --example from_scratch` runs every claim over it and prints what came of it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use seamfs::core::cas::{self, Swap, Swapped};
use seamfs::core::conformance::{self, Scratch, Verdict};
use seamfs::core::locks::Turns;
use seamfs::core::{
    Atomicity, Body, Capabilities, CreateDirOptions, EditOptions, EditOutcome, Entry, EntryName,
    FileKind, Guarding, ListOptions, Listing, Metadata, Namespace, Operation, Purpose, ReadOptions,
    ReadOutcome, RemoveOptions, ResolveOptions, RootPath, Snapshot, StatOptions, TargetKey,
    TransferOptions, TransferOutcome, Transform, WriteOptions, WriteOutcome,
};
use seamfs::{ErrorCode, Expected, FileSystem, FsError, Result, Target, Version};

/// Names and contents; a lock for the map, and a turn for each name.
#[derive(Debug, Default)]
pub(crate) struct Flat {
    files: Mutex<BTreeMap<String, Snapshot>>,
    turns: Turns<TargetKey>,
}

impl Flat {
    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Snapshot>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file, a prefix that has files, or nothing; a file wins over what lies beneath it.
    fn look(&self, target: &Target) -> Option<Metadata> {
        let files = self.files();
        let name = name(target);
        if let Some(file) = files.get(&name) {
            return Some(metadata(file));
        }
        let beneath = files.keys().any(|key| beneath(key, &name).is_some());
        (beneath || name.is_empty()).then(|| Metadata::of(FileKind::Directory))
    }
}

impl fmt::Display for Flat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("flat:")
    }
}

fn name(target: &Target) -> String {
    RootPath::from_key(target.key()).as_str().to_owned()
}

/// Returns the part of a name that lies beneath a folder.
fn beneath<'a>(name: &'a str, folder: &str) -> Option<&'a str> {
    match folder {
        "" => Some(name),
        folder => name.strip_prefix(folder)?.strip_prefix('/'),
    }
}

fn metadata(file: &Snapshot) -> Metadata {
    Metadata {
        size: Some(file.bytes.len() as u64),
        version: Some(file.version.clone()),
        ..Metadata::of(FileKind::File)
    }
}

fn snapshot(bytes: Bytes) -> Snapshot {
    let version = Version::of(&bytes);
    Snapshot { bytes, version }
}

#[async_trait]
impl FileSystem for Flat {
    fn capabilities(&self, _: Option<&Target>) -> Capabilities {
        Capabilities {
            hierarchy: false,
            writable: true,
            create: Guarding::Atomic,
            compare_and_swap: Guarding::Atomic,
            edit: true,
            guarded_remove: Guarding::Atomic,
            rename: Atomicity::Unsupported,
            copy: Atomicity::Unsupported,
            links: false,
            modes: false,
            case_sensitive: true,
            cheap_versions: true,
            max_file_bytes: None,
        }
    }

    async fn resolve(&self, path: &str, cwd: &str, options: ResolveOptions) -> Result<Target> {
        let namespace = Namespace::virtual_root().with_url("flat", "", "/");
        let parsed = namespace
            .parse(path, cwd)
            .map_err(|error| error.into_error(path))?;
        let target = Target::new(parsed.path.to_key(), namespace.display(&parsed.path));
        let place = |error: FsError| error.at(target.display()).during(Operation::Resolve);
        options.context.check().map_err(place)?;
        let folder = || self.look(&target).is_some_and(|found| found.is_directory());
        if parsed.folder && options.purpose != Purpose::Folder && !folder() {
            let message = "a trailing slash names a folder, and there is none";
            return Err(place(FsError::new(ErrorCode::InvalidPath, message)));
        }
        Ok(target)
    }

    async fn stat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        options
            .context
            .check()
            .map_err(at(target, Operation::Stat))?;
        Ok(self.look(target))
    }

    async fn lstat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.stat(target, options).await
    }

    async fn read(&self, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        let place = at(target, Operation::Read);
        options.context.check().map_err(&place)?;
        let found = self.files().get(&name(target)).cloned();
        let Some(file) = found else {
            // A file that was made since the look is not there yet for this read.
            return Err(place(match self.look(target) {
                Some(found) if found.is_directory() => not_regular(),
                _ => cas::not_found(),
            }));
        };
        let size = file.bytes.len();
        let clamp = |at: u64| usize::try_from(at).unwrap_or(size).min(size);
        let range = options.range.clone().unwrap_or(0..u64::MAX);
        let bytes = file
            .bytes
            .slice(clamp(range.start)..clamp(range.end).max(clamp(range.start)));
        too_large(bytes.len(), options.max_bytes).map_err(&place)?;
        Ok(ReadOutcome {
            metadata: metadata(&file),
            body: Body::Whole {
                bytes,
                version: Some(file.version),
            },
        })
    }

    async fn list(&self, target: &Target, options: ListOptions) -> Result<Listing> {
        let place = at(target, Operation::List);
        options.context.check().map_err(&place)?;
        match self.look(target) {
            None => return Err(place(FsError::new(ErrorCode::NotFound, "no such folder"))),
            Some(found) if found.is_file() => {
                return Err(place(FsError::new(
                    ErrorCode::NotDirectory,
                    "this is a file",
                )));
            }
            Some(_) => {}
        }
        let mut children: BTreeMap<String, Metadata> = BTreeMap::new();
        for (key, file) in self.files().iter() {
            match beneath(key, &name(target)).map(|rest| rest.split_once('/').ok_or(rest)) {
                Some(Err(child)) => drop(children.insert(child.to_owned(), metadata(file))),
                Some(Ok((folder, _))) => {
                    let folder = children.entry(folder.to_owned());
                    folder.or_insert_with(|| Metadata::of(FileKind::Directory));
                }
                None => {}
            }
        }
        let entries = children.into_iter().map(|(name, metadata)| {
            let name = EntryName::from_storage(name.as_bytes());
            Ok(Entry {
                name,
                metadata: Ok(metadata),
            })
        });
        Ok(stream::iter(entries.collect::<Vec<_>>()).boxed())
    }

    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let (place, context) = (at(target, Operation::Write), &options.context);
        let _turn = self
            .turns
            .turn(target.key().clone(), context.deadline)
            .await
            .map_err(&place)?;
        context.check().map_err(&place)?;
        if target.key().as_str() == "/" {
            return Err(place(not_regular()));
        }
        let after = snapshot(bytes);
        let mut files = self.files();
        let before = files.get(&name(target)).cloned();
        cas::check_guard(before.as_ref(), &options.expected).map_err(&place)?;
        let _claim = context.cancellation.begin_publication().map_err(&place)?;
        files.insert(name(target), after.clone());
        Ok(WriteOutcome {
            created: before.is_none(),
            before: before
                .and_then(|old| cas::bytes_before(&old.bytes, &after.bytes, options.before_limit)),
            version: after.version,
            notes: Vec::new(),
        })
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let (place, context) = (at(target, Operation::Edit), &options.context);
        let _turn = self
            .turns
            .turn(target.key().clone(), context.deadline)
            .await
            .map_err(place)?;
        let file = File {
            flat: self,
            target,
            options: &options,
        };
        cas::edit(target, &file, &*transform, &options.expected, context).await
    }

    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()> {
        let (place, context) = (at(target, Operation::Remove), &options.context);
        let _turn = self
            .turns
            .turn(target.key().clone(), context.deadline)
            .await
            .map_err(&place)?;
        context.check().map_err(&place)?;
        let mut files = self.files();
        match (files.get(&name(target)), &options.expected) {
            (_, Expected::Absent) => {
                let message = "what is to be removed cannot be absent";
                return Err(place(FsError::new(ErrorCode::InvalidArgument, message)));
            }
            (None, Expected::Any) => return Err(place(cas::not_found())),
            (seen, expected) => cas::check_guard(seen, expected).map_err(&place)?,
        }
        let _claim = context.cancellation.begin_publication().map_err(&place)?;
        files.remove(&name(target));
        Ok(())
    }

    async fn rename(
        &self,
        from: &Target,
        _: &Target,
        _: TransferOptions,
    ) -> Result<TransferOutcome> {
        Err(FsError::unsupported(Operation::Rename, "flat").at(from.display()))
    }

    async fn copy(&self, from: &Target, _: &Target, _: TransferOptions) -> Result<TransferOutcome> {
        Err(FsError::unsupported(Operation::Copy, "flat").at(from.display()))
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        options
            .context
            .check()
            .map_err(at(target, Operation::CreateDir))
    }
}

/// One file as the edit loop of core sees it.
struct File<'a> {
    flat: &'a Flat,
    target: &'a Target,
    options: &'a EditOptions,
}

#[async_trait]
impl Swap for File<'_> {
    async fn load(&self) -> Result<Option<Snapshot>> {
        let seen = self.flat.files().get(&name(self.target)).cloned();
        let size = seen.as_ref().map_or(0, |seen| seen.bytes.len());
        too_large(size, Some(self.options.max_bytes))?;
        Ok(seen)
    }

    async fn swap(&self, seen: &Snapshot, after: Bytes) -> Result<Swapped> {
        let mut files = self.flat.files();
        let there = files.get(&name(self.target));
        if there.is_none_or(|there| !there.version.certifies(&seen.version)) {
            return Ok(Swapped::Lost);
        }
        let _claim = self.options.context.cancellation.begin_publication()?;
        let after = snapshot(after);
        files.insert(name(self.target), after.clone());
        Ok(Swapped::Published {
            version: after.version,
            notes: Vec::new(),
        })
    }
}

fn at(target: &Target, operation: Operation) -> impl Fn(FsError) -> FsError + '_ {
    move |error| error.at(target.display()).during(operation)
}

fn not_regular() -> FsError {
    FsError::new(ErrorCode::NotRegularFile, "this is a folder")
}

fn too_large(size: usize, most: Option<u64>) -> Result<()> {
    match most.is_some_and(|most| size as u64 > most) {
        true => Err(FsError::new(
            ErrorCode::TooLarge,
            "more bytes than the limit",
        )),
        false => Ok(()),
    }
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let reports = runtime.block_on(async {
        let tell = |report: &conformance::Report| {
            let answer = match &report.answer {
                Ok(Verdict::Held) => "held".to_owned(),
                Ok(Verdict::Skipped(why)) => format!("skipped: {why}"),
                Err(failure) => format!("FAILED: {failure}"),
            };
            let _ = writeln!(std::io::stdout(), "{} {answer}", report.claim.name);
        };
        let fs = Flat::default();
        conformance::run(&fs, &Scratch::new("scratch").of_the_whole(), tell).await
    });
    let failed = reports
        .iter()
        .filter(|report| report.answer.is_err())
        .count();
    assert_eq!(failed, 0, "claims failed");
}
