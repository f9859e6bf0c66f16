//! Running histories: each step on the file system and on the reference, then compared.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::reference::{Guarded, Offer, Reference, Refused};
use super::script::script;
use super::step::{CONTENTS, Guard, NAMES, NEW, Name, OLD, Step, history};
use crate::capabilities::Guarding;
use crate::conformance::{Deed, Failure, Outside, Subject};
use crate::error::{ErrorCode, Result as FsResult};
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::metadata::FileKind;
use crate::options::{
    CreateDirOptions, EditOptions, Purpose, ReadOptions, RemoveOptions, ResolveOptions,
    StatOptions, TransferOptions,
};
use crate::replace::Replace;
use crate::target::Target;
use crate::version::{Expected, Version};

/// The folder of a history: hands outside need one above each file.
const ROOT: &str = "model";

/// How often each kind of step was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// How many histories were run.
    pub histories: usize,
    /// The steps by their kind.
    pub steps: BTreeMap<&'static str, usize>,
}

impl Histogram {
    /// Returns how many steps were taken.
    pub fn total(&self) -> usize {
        self.steps.values().sum()
    }

    /// Returns the share of steps in which something touched a file between a look and a change.
    pub fn between(&self) -> f64 {
        let touched = self.steps.get("touch between a look and a change").copied();
        touched.unwrap_or_default() as f64 / self.total().max(1) as f64
    }
}

impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} steps in {} histories", self.total(), self.histories)?;
        for (kind, count) in &self.steps {
            writeln!(f, "{count:>9} {kind}")?;
        }
        Ok(())
    }
}

/// Compares random histories over a file system with the reference model.
///
/// `PROPTEST_CASES` says how many histories; each has a file system of its own. It must offer the
/// guards; folders may be real or prefixes, and what goes away may be guarded or not.
///
/// # Panics
/// When a history fails, with the shortest that was found and its script for `seamfs batch`.
pub fn check(make: impl Fn() -> Subject) -> Histogram {
    check_cases(Config::default().cases, make)
}

/// Compares this many histories, each over a file system of its own, as [`check`] does.
///
/// # Panics
/// As [`check`].
pub fn check_cases(cases: u32, make: impl Fn() -> Subject) -> Histogram {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime starts");
    let histogram = Mutex::new(Histogram::default());
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(&history(), |steps| {
        count(&histogram, &steps);
        runtime
            .block_on(replay(&make(), &steps))
            .map_err(|failure| {
                let script = script(&steps);
                TestCaseError::fail(format!("{failure}\nfor seamfs batch:\n{script}\n"))
            })
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    histogram
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
}

fn count(histogram: &Mutex<Histogram>, steps: &[Step]) {
    let mut histogram = histogram.lock().unwrap_or_else(PoisonError::into_inner);
    histogram.histories += 1;
    for step in steps {
        *histogram.steps.entry(step.kind()).or_default() += 1;
    }
}

async fn replay(subject: &Subject, steps: &[Step]) -> Result<(), Failure> {
    let can = subject.fs().capabilities(None);
    let mut world = World {
        fs: Arc::clone(subject.fs()),
        outside: subject.outside().cloned(),
        reference: Reference::new(Offer {
            hierarchy: can.hierarchy,
            guarded_remove: can.guarded_remove != Guarding::None,
        }),
        seen: BTreeMap::new(),
    };
    for (number, step) in steps.iter().enumerate() {
        let place = |failure| Failure::new(format!("step {number}, {step:?}: {failure}"));
        world.take(step).await.map_err(place)?;
        world.reference.check();
        world.compare(None).await.map_err(place)?;
    }
    Ok(())
}

/// A version, and the bytes that it was seen with.
type Sighting = (Version, Vec<u8>);

/// A file system, its reference, and what each actor saw of each path, oldest first.
struct World {
    fs: Arc<dyn FileSystem>,
    outside: Option<Arc<dyn Outside>>,
    reference: Reference,
    seen: BTreeMap<(usize, Name), Vec<Sighting>>,
}

macro_rules! fail {
    ($($sentence:tt)+) => {
        return Err(Failure::new(format!($($sentence)+)))
    };
}

impl World {
    async fn take(&mut self, step: &Step) -> Result<(), Failure> {
        match step {
            Step::Look { actor, name } => self.look(*actor, *name).await,
            Step::Part {
                name,
                start,
                end,
                cap,
            } => self.part(*name, *start..*end, *cap).await,
            Step::List { name } => self.list(*name).await,
            Step::Write {
                actor,
                name,
                content,
                guard,
            } => self.write(*actor, *name, CONTENTS[*content], *guard).await,
            Step::Edit {
                actor,
                name,
                old,
                new,
                all,
                guard,
            } => {
                self.edit(*actor, *name, (OLD[*old], NEW[*new], *all), *guard)
                    .await
            }
            Step::Remove { actor, name, guard } => self.remove(*actor, *name, *guard).await,
            Step::Rename {
                actor,
                from,
                to,
                source,
                destination,
            } => {
                self.transfer(false, *actor, (*from, *to), (*source, *destination))
                    .await
            }
            Step::Copy {
                actor,
                from,
                to,
                source,
                destination,
            } => {
                self.transfer(true, *actor, (*from, *to), (*source, *destination))
                    .await
            }
            Step::CreateDir { name } => self.create_dir(*name).await,
            Step::Put { name, content } => self.put(*name, CONTENTS[*content]).await,
            Step::Touch { name } => self.touch(*name).await,
            Step::Vanish { name } => self.vanish(*name).await,
            Step::Reopen => self.reopen().await,
            Step::Between {
                actor,
                name,
                between,
                then,
            } => {
                self.look(*actor, *name).await?;
                Box::pin(self.take(between)).await?;
                Box::pin(self.take(then)).await
            }
        }
    }

    /// Resolves a path; none when both sides agree that it leads through a file.
    async fn target(&self, name: Name) -> Result<Option<Target>, Failure> {
        let answer = self.fs.target(&format!("{ROOT}/{}", NAMES[name])).await;
        match (answer, self.reference.leads_through_a_file(NAMES[name])) {
            (Ok(target), false) => Ok(Some(target)),
            (Err(error), true) if error.code() == ErrorCode::NotDirectory => Ok(None),
            (answer, through) => fail!("resolve said {answer:?}; through a file: {through}"),
        }
    }

    /// Turns an actor's guard into one of each side.
    fn guard(&self, actor: usize, name: Name, guard: Guard) -> (Expected, Guarded) {
        let seen = self.seen.get(&(actor, name));
        let version = match guard {
            Guard::Any => return (Expected::Any, Guarded::Any),
            Guard::Absent => return (Expected::Absent, Guarded::Absent),
            Guard::Foreign => Some((Version::of(b"foreign"), b"foreign".to_vec())),
            Guard::Seen => seen.and_then(|seen| seen.last()).cloned(),
            Guard::Older => seen.and_then(|seen| seen.first()).cloned(),
        };
        match version {
            None => (Expected::Any, Guarded::Any),
            Some((version, bytes)) => (Expected::Version(version), Guarded::Bytes(bytes)),
        }
    }

    fn saw(&mut self, actor: usize, name: Name, version: Version, bytes: &[u8]) {
        let seen = self.seen.entry((actor, name)).or_default();
        seen.push((version, bytes.to_vec()));
    }

    async fn look(&mut self, actor: usize, name: Name) -> Result<(), Failure> {
        let Some(target) = self.target(name).await? else {
            return Ok(());
        };
        let found = self.fs.read_all(&target).await;
        let expected = self.reference.read(NAMES[name]).map(<[u8]>::to_vec);
        if let Some((found, expected)) = agree("read", found, expected)? {
            same(&found.bytes, &expected)?;
            self.saw(actor, name, found.version, &expected);
        }
        Ok(())
    }

    async fn part(
        &mut self,
        name: Name,
        range: std::ops::Range<u64>,
        cap: u64,
    ) -> Result<(), Failure> {
        let Some(target) = self.target(name).await? else {
            return Ok(());
        };
        let options = ReadOptions {
            range: Some(range.clone()),
            max_bytes: Some(cap),
            ..ReadOptions::default()
        };
        let found = read_part(&*self.fs, &target, options).await;
        let cut = |bytes: &[u8]| {
            let clamp = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
            bytes[clamp(range.start)..clamp(range.end)].to_vec()
        };
        let expected = match self.reference.read(NAMES[name]).map(cut) {
            Ok(part) if part.len() as u64 > cap => Err(vec![ErrorCode::TooLarge]),
            other => other,
        };
        if let Some((found, expected)) = agree("read a part", found, expected)? {
            same(&found, &expected)?;
        }
        Ok(())
    }

    async fn list(&mut self, name: Name) -> Result<(), Failure> {
        let Some(target) = self.target(name).await? else {
            return Ok(());
        };
        let found = entries(&*self.fs, &target).await;
        let expected = self.reference.list(NAMES[name]);
        if let Some((found, expected)) = agree("list", found, expected)?
            && found != expected
        {
            fail!("list gave {found:?}, expected {expected:?}");
        }
        Ok(())
    }

    async fn write(
        &mut self,
        actor: usize,
        name: Name,
        bytes: &'static [u8],
        guard: Guard,
    ) -> Result<(), Failure> {
        let Some(target) = self.target(name).await? else {
            return Ok(());
        };
        let (expected, guarded) = self.guard(actor, name, guard);
        let found = self
            .fs
            .write_all(&target, Bytes::from_static(bytes), expected)
            .await;
        let expected = self.reference.write(NAMES[name], bytes, &guarded);
        if let Some((found, expected)) = agree("write", found, expected)? {
            let told = (found.created, found.before.map(|before| before.to_vec()));
            if told != expected {
                fail!("write told {told:?}, expected {expected:?}");
            }
            self.saw(actor, name, found.version, bytes);
        }
        Ok(())
    }

    async fn edit(
        &mut self,
        actor: usize,
        name: Name,
        (old, new, all): (&str, &str, bool),
        guard: Guard,
    ) -> Result<(), Failure> {
        let Some(target) = self.target(name).await? else {
            return Ok(());
        };
        let (expected, guarded) = self.guard(actor, name, guard);
        let replace = match all {
            true => Replace::all(old, new),
            false => Replace::once(old, new),
        };
        let options = EditOptions::expecting(expected);
        let before = self.reference.file(NAMES[name]).map(<[u8]>::to_vec);
        let found = self.fs.edit(&target, Arc::new(replace?), options).await;
        let expected = self.reference.edit(NAMES[name], old, new, all, &guarded);
        if let Some((found, expected)) = agree("edit", found, expected)? {
            same(&found.before, &before.unwrap_or_default())?;
            same(&found.after(), &expected)?;
            self.saw(actor, name, found.version, &expected);
        }
        Ok(())
    }

    async fn remove(&mut self, actor: usize, name: Name, guard: Guard) -> Result<(), Failure> {
        let Some(target) = self.target(name).await? else {
            return Ok(());
        };
        let (expected, guarded) = self.guard(actor, name, guard);
        let options = RemoveOptions {
            expected,
            ..RemoveOptions::default()
        };
        let found = self.fs.remove(&target, options).await;
        let expected = self.reference.remove(NAMES[name], &guarded);
        agree("remove", found, expected).map(drop)
    }

    async fn transfer(
        &mut self,
        copy: bool,
        actor: usize,
        (from, to): (Name, Name),
        (source, destination): (Guard, Guard),
    ) -> Result<(), Failure> {
        let (Some(one), Some(two)) = (self.target(from).await?, self.target(to).await?) else {
            return Ok(());
        };
        let (source, of_source) = self.guard(actor, from, source);
        let (destination, of_destination) = self.guard(actor, to, destination);
        let options = TransferOptions {
            source,
            destination,
            ..TransferOptions::default()
        };
        let (ends, guards) = ((NAMES[from], NAMES[to]), (&of_source, &of_destination));
        let (found, expected) = match copy {
            true => (
                self.fs.copy(&one, &two, options).await,
                self.reference.copy(ends.0, ends.1, guards.0, guards.1),
            ),
            false => (
                self.fs.rename(&one, &two, options).await,
                self.reference.rename(ends.0, ends.1, guards.0, guards.1),
            ),
        };
        let Some((found, created)) = agree("transfer", found, expected)? else {
            return Ok(());
        };
        let bytes = self.reference.file(NAMES[to]).map(<[u8]>::to_vec);
        if found.created != created || found.version.is_some() != bytes.is_some() {
            fail!(
                "the transfer told {found:?}; created: {created}, a file: {}",
                bytes.is_some()
            );
        }
        if let (Some(version), Some(bytes)) = (found.version, bytes) {
            self.saw(actor, to, version, &bytes);
        }
        Ok(())
    }

    async fn create_dir(&mut self, name: Name) -> Result<(), Failure> {
        let Some(target) = self.target(name).await? else {
            return Ok(());
        };
        let found = self
            .fs
            .create_dir(&target, CreateDirOptions::default())
            .await;
        let expected = self.reference.create_dir(NAMES[name]);
        agree("create_dir", found, expected).map(drop)
    }

    async fn act(&self, deed: Deed<'_>) -> Result<(), Failure> {
        let outside = self
            .outside
            .as_ref()
            .ok_or_else(|| Failure::new("nobody is outside"))?;
        let done = outside.act(deed).await;
        done.map_err(|unable| Failure::new(unable.to_string()))
    }

    async fn put(&mut self, name: Name, bytes: &'static [u8]) -> Result<(), Failure> {
        if !self.reference.put(NAMES[name], bytes) {
            return Ok(());
        }
        let path = &*format!("{ROOT}/{}", NAMES[name]);
        self.act(Deed::Put { path, bytes }).await
    }

    async fn touch(&mut self, name: Name) -> Result<(), Failure> {
        if self.reference.file(NAMES[name]).is_none() {
            return Ok(());
        }
        let path = &*format!("{ROOT}/{}", NAMES[name]);
        self.act(Deed::Touch { path }).await
    }

    async fn vanish(&mut self, name: Name) -> Result<(), Failure> {
        if !self.reference.vanish(NAMES[name]) {
            return Ok(());
        }
        let path = &*format!("{ROOT}/{}", NAMES[name]);
        self.act(Deed::Remove { path }).await
    }

    async fn reopen(&mut self) -> Result<(), Failure> {
        let outside = self.outside.as_ref();
        if let Some(again) = match outside {
            Some(outside) => outside.reopen().await,
            None => None,
        } {
            self.fs = again;
        }
        Ok(())
    }

    /// Compares a folder, and everything beneath it, with the reference.
    async fn compare(&self, folder: Option<&str>) -> Result<(), Failure> {
        let path = |path: &str| match path {
            "" => ROOT.to_owned(),
            path => format!("{ROOT}/{path}"),
        };
        let options = ResolveOptions {
            purpose: Purpose::Folder,
            ..ResolveOptions::default()
        };
        let target = self
            .fs
            .resolve(&path(folder.unwrap_or_default()), "", options)
            .await?;
        let expected = self.reference.children(folder);
        let found = match entries(&*self.fs, &target).await {
            // The folder of the history is made by its first file.
            Err(error) if folder.is_none() && error.code() == ErrorCode::NotFound => Vec::new(),
            found => found?,
        };
        if found != expected {
            fail!("{folder:?} holds {found:?}, expected {expected:?}");
        }
        for (name, kind, _) in expected {
            let child = folder.map_or(name.clone(), |folder| format!("{folder}/{name}"));
            match kind {
                FileKind::Directory => Box::pin(self.compare(Some(&child))).await?,
                _ => self.compare_file(&path(&child), &child).await?,
            }
        }
        Ok(())
    }

    async fn compare_file(&self, path: &str, name: &str) -> Result<(), Failure> {
        let target = self.fs.target(path).await?;
        let read = self.fs.read_all(&target).await?;
        let expected = self.reference.file(name).unwrap_or_default();
        same(&read.bytes, expected)?;
        let stat = self.fs.stat(&target, StatOptions::default()).await?;
        let cheap = stat.and_then(|found| found.version);
        for version in [Some(&read.version), cheap.as_ref()].into_iter().flatten() {
            if !version
                .certifies(&Version::of(expected).with_token(version.token().unwrap_or_default()))
            {
                fail!("{name} has the version {version}, which is of other bytes");
            }
        }
        self.compare_versions(name, &read.version, expected)
    }

    /// Of all versions ever handed out, those of these bytes certify them, and no others.
    fn compare_versions(&self, name: &str, now: &Version, bytes: &[u8]) -> Result<(), Failure> {
        for ((_, seen), history) in &self.seen {
            for (version, of) in history.iter().filter(|_| NAMES[*seen] == name) {
                let same = version.certifies(now);
                if version.hash().is_some() && same != (of == bytes) {
                    fail!("{name}: {version} was of {of:?} and is taken for {bytes:?}: {same}");
                }
            }
        }
        Ok(())
    }
}

async fn read_part(
    fs: &dyn FileSystem,
    target: &Target,
    options: ReadOptions,
) -> FsResult<Vec<u8>> {
    let mut body = fs.read(target, options).await?.body;
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

async fn entries(
    fs: &dyn FileSystem,
    target: &Target,
) -> FsResult<Vec<(String, FileKind, Option<u64>)>> {
    let entries = fs.list_all(target).await?;
    Ok(entries
        .into_iter()
        .map(|entry| {
            let size = entry
                .metadata
                .as_ref()
                .ok()
                .and_then(|metadata| metadata.size);
            (entry.name.to_string(), entry.kind(), size)
        })
        .collect())
}

/// Checks that both sides succeeded, or refused with a code that was to be expected.
fn agree<T: fmt::Debug, U: fmt::Debug>(
    what: &str,
    found: FsResult<T>,
    expected: Result<U, Refused>,
) -> Result<Option<(T, U)>, Failure> {
    match (found, expected) {
        (Ok(found), Ok(expected)) => Ok(Some((found, expected))),
        (Err(error), Err(codes)) if codes.contains(&error.code()) => Ok(None),
        (found, expected) => fail!("{what} gave {found:?}, expected {expected:?}"),
    }
}

fn same(found: &[u8], expected: &[u8]) -> Result<(), Failure> {
    if found != expected {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        fail!(
            "the bytes are {:?}, expected {:?}",
            text(found),
            text(expected)
        );
    }
    Ok(())
}
