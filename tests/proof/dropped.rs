//! Dropped futures at the seam: every operation, given up after every number of polls.
//!
//! Afterwards the bytes are the old ones or the new ones, no litter is anywhere, and the next call
//! works.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::StreamExt;
use seamfs::core::conformance::cut;
use seamfs::core::conformance::doubles::Strict;
use seamfs::core::text::Text;
use seamfs::core::{
    Atomicity, EditOptions, RemoveOptions, TextEdit, TransferOptions, WriteOptions,
};
use seamfs::{
    CallContext, ErrorCode, Expected, FileSystem, FileSystemExt, Result, Target, Version,
};

use super::places::{Place, Provider};

/// When a future that was polled so many times is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// As soon as it says that it waits.
    AtOnce,
    /// When what it waits for has come.
    OnceWoken,
}

async fn give_up<F: Future>(future: F, polls: usize, when: When) -> Option<F::Output> {
    if when == When::AtOnce {
        return cut(future, polls).await;
    }
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

/// What is done to `a`, which holds `OLD`, beside `b`, which holds `OTHER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Resolve,
    Stat,
    Read,
    List,
    Write,
    GuardedWrite,
    Create,
    Edit,
    GuardedEdit,
    Remove,
    Rename,
    RenameOver,
    Copy,
    CreateDir,
}

const DEEDS: [Deed; 14] = [
    Deed::Resolve,
    Deed::Stat,
    Deed::Read,
    Deed::List,
    Deed::Write,
    Deed::GuardedWrite,
    Deed::Create,
    Deed::Edit,
    Deed::GuardedEdit,
    Deed::Remove,
    Deed::Rename,
    Deed::RenameOver,
    Deed::Copy,
    Deed::CreateDir,
];

const OLD: &str = "old\n";
const NEW: &str = "new\n";
const OTHER: &str = "other\n";

/// What `a`, `b` and `c` hold.
type Bytes = [Option<&'static str>; 3];

const BEFORE: Bytes = [Some(OLD), Some(OTHER), None];

impl Deed {
    /// Returns whether a file system offers it.
    fn is_offered(self, fs: &dyn FileSystem) -> bool {
        let can = fs.capabilities(None);
        match self {
            Self::Rename | Self::RenameOver => can.rename != Atomicity::Unsupported,
            Self::Copy => can.copy != Atomicity::Unsupported,
            Self::CreateDir => can.hierarchy,
            _ => true,
        }
    }

    /// Returns what the files may hold when it was given up: what they held, what it makes of
    /// them, and what may be between where it takes two steps.
    fn outcomes(self, fs: &dyn FileSystem) -> Vec<Bytes> {
        let after = match self {
            Self::Write | Self::GuardedWrite | Self::Edit | Self::GuardedEdit => {
                [Some(NEW), Some(OTHER), None]
            }
            Self::Create => [Some(OLD), Some(OTHER), Some(NEW)],
            Self::Remove => [None, Some(OTHER), None],
            Self::Rename => [None, Some(OTHER), Some(OLD)],
            Self::RenameOver => [None, Some(OLD), None],
            Self::Copy => [Some(OLD), Some(OTHER), Some(OLD)],
            Self::Resolve | Self::Stat | Self::Read | Self::List | Self::CreateDir => BEFORE,
        };
        let mut outcomes = vec![BEFORE, after];
        if fs.capabilities(None).rename == Atomicity::Stepwise {
            match self {
                Self::Rename => outcomes.push([Some(OLD), Some(OTHER), Some(OLD)]),
                Self::RenameOver => outcomes.push([Some(OLD), Some(OLD), None]),
                _ => {}
            }
        }
        outcomes
    }

    async fn run(self, scene: &Scene<'_>, version: Version) -> Result<()> {
        let (fs, a, c) = (scene.fs, &scene.a, &scene.c);
        let guard = Expected::Version(version);
        match self {
            Self::Resolve => fs.target(&scene.path("a")).await.map(drop),
            Self::Stat => fs.stat(a, Default::default()).await.map(drop),
            Self::Read => fs.read_all(a).await.map(drop),
            Self::List => {
                let listing = fs.list(&scene.folder, Default::default()).await?;
                listing.collect::<Vec<_>>().await;
                Ok(())
            }
            Self::Write => fs.write_all(a, NEW.into(), Expected::Any).await.map(drop),
            Self::GuardedWrite => fs.write_all(a, NEW.into(), guard).await.map(drop),
            Self::Create => fs
                .write_all(c, NEW.into(), Expected::Absent)
                .await
                .map(drop),
            Self::Edit => fs.replace(a, "old", "new", Expected::Any).await.map(drop),
            Self::GuardedEdit => fs.replace(a, "old", "new", guard).await.map(drop),
            Self::Remove => fs.remove(a, RemoveOptions::default()).await,
            Self::Rename => fs.rename(a, c, TransferOptions::default()).await.map(drop),
            Self::RenameOver => {
                let over = TransferOptions {
                    destination: Expected::Any,
                    ..TransferOptions::default()
                };
                fs.rename(a, &scene.b, over).await.map(drop)
            }
            Self::Copy => fs.copy(a, c, TransferOptions::default()).await.map(drop),
            Self::CreateDir => fs.create_dir(&scene.made, Default::default()).await,
        }
    }
}

/// A folder with its files, and the names that are not there yet.
struct Scene<'a> {
    fs: &'a dyn FileSystem,
    name: String,
    folder: Target,
    a: Target,
    b: Target,
    c: Target,
    made: Target,
}

impl<'a> Scene<'a> {
    async fn set(fs: &'a dyn FileSystem, name: String) -> (Self, Version) {
        let target = async |path: &str| fs.target(&format!("{name}/{path}")).await.unwrap();
        let scene = Self {
            fs,
            a: target("a").await,
            b: target("b").await,
            c: target("c").await,
            made: target("made").await,
            folder: fs.target(&name).await.unwrap(),
            name,
        };
        let written = fs.write_all(&scene.a, OLD.into(), Expected::Any).await;
        fs.write_all(&scene.b, OTHER.into(), Expected::Any)
            .await
            .unwrap();
        (scene, written.unwrap().version)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.name)
    }

    /// Waits behind whatever still goes on: an edit that changes nothing takes its turn.
    async fn settle(&self) {
        let context = CallContext::default().within(Duration::from_secs(60));
        for target in [&self.a, &self.b, &self.c] {
            let nothing = |_: &Text<'_>, _: &Version| Ok(TextEdit::default());
            let options = EditOptions::default().in_context(&context);
            match self.fs.edit(target, Arc::new(nothing), options).await {
                Ok(_) => {}
                Err(error) => assert_eq!(error.code(), ErrorCode::NotFound, "{error}"),
            }
        }
    }

    async fn bytes(&self) -> Vec<Option<String>> {
        let mut all = Vec::new();
        for target in [&self.a, &self.b, &self.c] {
            all.push(match self.fs.read_all(target).await {
                Ok(seen) => Some(String::from_utf8_lossy(&seen.bytes).into_owned()),
                Err(error) => {
                    assert_eq!(error.code(), ErrorCode::NotFound, "{error}");
                    None
                }
            });
        }
        all
    }

    /// Returns the names in the folder that its files do not explain.
    async fn litter(&self, place: Option<&Place>, bytes: &[Option<String>]) -> Vec<String> {
        let listed = self.fs.list_all(&self.folder).await.unwrap();
        let mut names: Vec<_> = listed
            .into_iter()
            .map(|entry| entry.name.to_string())
            .collect();
        if let Some(place) = place {
            names.extend(place.raw_names(&self.name).await.into_iter().flatten());
        }
        let expected = |name: &String| match name.as_str() {
            "a" => bytes[0].is_some(),
            "b" => bytes[1].is_some(),
            "c" => bytes[2].is_some(),
            "made" => true,
            _ => false,
        };
        names.retain(|name| !expected(name));
        names
    }

    /// Checks that the next calls on every file work, under the versions that are read now.
    async fn next_calls(&self) {
        for target in [&self.a, &self.b, &self.c] {
            let guard = match self.fs.read_all(target).await {
                Ok(seen) => Expected::Version(seen.version),
                Err(_) => Expected::Absent,
            };
            let context = CallContext::default().within(Duration::from_secs(60));
            let options = WriteOptions::expecting(guard).in_context(&context);
            self.fs
                .write(target, "next\n".into(), options)
                .await
                .unwrap();
        }
    }
}

/// Gives an operation up after every number of polls, until it completes; returns how many it had.
async fn sweep(fs: &dyn FileSystem, place: Option<&Place>, deed: Deed, when: When) -> usize {
    for polls in 0.. {
        let name = format!("{deed:?}-{when:?}-{polls}");
        let (scene, version) = Scene::set(fs, name.clone()).await;
        let answer = give_up(deed.run(&scene, version), polls, when).await;
        scene.settle().await;
        let bytes = scene.bytes().await;
        let found: Vec<_> = bytes.iter().map(Option::as_deref).collect();
        let outcomes = deed.outcomes(fs);
        assert!(
            outcomes.iter().any(|outcome| found == outcome),
            "{name}: {found:?} is none of {outcomes:?}"
        );
        let litter = scene.litter(place, &bytes).await;
        assert!(litter.is_empty(), "{name}: {litter:?} is left");
        scene.next_calls().await;
        if let Some(answer) = answer {
            answer.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(found, outcomes[1], "{name}");
            return polls;
        }
    }
    unreachable!("every operation completes")
}

async fn sweep_all(name: &str, fs: &dyn FileSystem, place: Option<&Place>) -> usize {
    let mut drops = 0;
    for deed in DEEDS.into_iter().filter(|deed| deed.is_offered(fs)) {
        for when in [When::AtOnce, When::OnceWoken] {
            drops += sweep(fs, place, deed, when).await;
        }
    }
    eprintln!("{name}: {drops} futures dropped before they were done");
    drops
}

async fn sweep_provider(provider: Provider) {
    let place = provider.open();
    sweep_all(provider.name(), &*place.fs, Some(&place)).await;
}

#[tokio::test]
async fn dropped_futures_over_memory_leave_old_bytes_or_new() {
    sweep_provider(Provider::Memory).await;
}

#[tokio::test]
async fn dropped_futures_over_the_strict_double_leave_old_bytes_or_new() {
    let fs = Strict::new(Provider::Memory.open().fs, 11);
    let drops = sweep_all("`Strict<Memory>`", &fs, None).await;
    assert!(drops > 2 * DEEDS.len(), "hardly any call was ever given up");
}

#[tokio::test]
async fn dropped_futures_over_local_leave_old_bytes_or_new() {
    sweep_provider(Provider::Local).await;
}

#[tokio::test]
async fn dropped_futures_over_an_object_store_leave_old_bytes_or_new() {
    sweep_provider(Provider::Object).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_futures_over_s3_leave_old_bytes_or_new() {
    sweep_provider(Provider::S3).await;
}
