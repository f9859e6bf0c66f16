//! Storms: a store that throttles, resets and tears for a while, or without an end.
//!
//! A short storm is survived by every operation; one that does not end costs no more requests and
//! time than the options allow, is told as what it is, and leaves nothing by halves.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures::future::join_all;
use seamfs::core::{CreateDirOptions, ReadOptions, RemoveOptions, TransferOptions};
use seamfs::{ErrorCode, Expected, FileSystemExt, FsError, Target, Version};

use super::{Place, Protocol, ROOT};
use crate::servers::Fault;

type Running<'a> = Pin<Box<dyn Future<Output = Result<(), FsError>> + Send + 'a>>;

/// An operation on the file `a`, which holds `one`, or beside it.
struct Operation {
    name: &'static str,
    /// Whether it only looks.
    looks: bool,
    run: for<'a> fn(&'a Place, &'a Ground) -> Running<'a>,
}

/// What an operation works on.
struct Ground {
    file: Target,
    version: Version,
    new: Target,
    folder: Target,
    empty: Target,
    large: Target,
}

macro_rules! operations {
    ($($name:literal $looks:literal: |$place:ident, $ground:ident| $run:expr;)+) => {
        const OPERATIONS: &[Operation] = &[$(Operation {
            name: $name,
            looks: $looks,
            run: |$place, $ground| Box::pin(async move { $run.await.map(drop) }),
        },)+];
    };
}

operations! {
    "read" true: |place, ground| place.fs.read_all(&ground.file);
    "read a part" true: |place, ground| part(place, ground);
    "read a large one" true: |place, ground| place.fs.read_all(&ground.large);
    "stat" true: |place, ground| place.fs.stat(&ground.file, Default::default());
    "list" true: |place, ground| place.fs.list_all(&ground.folder);
    "create" false: |place, ground| place.fs.write_all(&ground.new, "one".into(), Expected::Absent);
    "write" false: |place, ground| place.fs.write_all(&ground.file, "two".into(), Expected::Any);
    "write under a version" false: |place, ground| {
        let guard = Expected::Version(ground.version.clone());
        place.fs.write_all(&ground.file, "two".into(), guard)
    };
    "edit" false: |place, ground| place.fs.replace(&ground.file, "one", "two", Expected::Any);
    "edit under a version" false: |place, ground| {
        let guard = Expected::Version(ground.version.clone());
        place.fs.replace(&ground.file, "one", "two", guard)
    };
    "remove" false: |place, ground| place.fs.remove(&ground.file, RemoveOptions::default());
    "rename" false: |place, ground| {
        place.fs.rename(&ground.file, &ground.new, TransferOptions::default())
    };
    "copy" false: |place, ground| {
        place.fs.copy(&ground.file, &ground.new, TransferOptions::default())
    };
    "move a folder" false: |place, ground| {
        place.fs.rename(&ground.folder, &ground.new, TransferOptions::default())
    };
    "make a folder" false: |place, ground| {
        place.fs.create_dir(&ground.new, CreateDirOptions::default())
    };
    "remove a folder" false: |place, ground| {
        place.fs.remove(&ground.empty, RemoveOptions::default())
    };
}

async fn part(place: &Place, ground: &Ground) -> Result<(), FsError> {
    let options = ReadOptions {
        range: Some(100..70_000),
        ..ReadOptions::default()
    };
    let body = place.fs.read(&ground.large, options).await?.body;
    let bytes = body.collect().await?.bytes;
    assert_eq!(bytes.len(), 70_000 - 100);
    Ok(())
}

/// Lays out what an operation needs; nothing of it is in the cache.
async fn ground(place: &Place, operation: &Operation) -> Ground {
    place.put("a", "one");
    place.put("d/b", "in a folder");
    place.put("empty/.seamfs-folder", "");
    if operation.name.starts_with("read a") {
        // Without a cache, larger than what is read into memory at once.
        place.put("large", &"0123456789abcde\n".repeat((9 << 17) / 16));
    }
    let target = async |path: &str| place.fs.target(path).await.unwrap();
    Ground {
        file: target("a").await,
        version: Version::of(b"one"),
        new: target("new").await,
        folder: target("d").await,
        empty: target("empty").await,
        large: target("large").await,
    }
}

const FAULTS: [Fault; 5] = [
    Fault::Refuse(503),
    Fault::Refuse(429),
    Fault::Reset,
    Fault::Drop,
    Fault::Truncate,
];

/// Lets each request of an operation in turn meet twice with each fault; returns how many did.
async fn weather(protocol: Protocol, operation: &Operation) -> usize {
    // Nothing is kept, so that each run begins as the first did.
    let place = Place::untried(protocol, &[("conditions", "trust"), ("cache", "0")]);
    let (desk, name) = (&place.server.desk, operation.name);
    let on = ground(&place, operation).await;
    (operation.run)(&place, &on).await.unwrap();
    let requests = desk.requests().len();
    let done = place.server.store.keys();
    for fault in FAULTS {
        for before in 0..requests {
            place.server.store.clear();
            let on = ground(&place, operation).await;
            desk.script_after(before, [fault; 2]);
            let answer = (operation.run)(&place, &on).await;
            if let Err(error) = answer {
                panic!("{protocol:?}: {name}, {fault:?} after {before}: {error}");
            }
            let keys = place.server.store.keys();
            assert_eq!(keys, done, "{name}, {fault:?} after {before}");
            desk.clear_script();
        }
    }
    desk.injected().0
}

async fn short_storms_are_survived(protocol: Protocol) {
    let runs = OPERATIONS
        .iter()
        .map(|operation| weather(protocol, operation));
    let injected = join_all(runs).await;
    for (operation, injected) in OPERATIONS.iter().zip(&injected) {
        assert!(
            *injected >= FAULTS.len(),
            "{}: {injected} faults",
            operation.name
        );
    }
    let all: usize = injected.iter().sum();
    eprintln!(
        "{protocol:?}: {} operations survived {all} faults",
        OPERATIONS.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn short_storms_are_survived_by_every_operation_on_s3() {
    short_storms_are_survived(Protocol::S3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn short_storms_are_survived_by_every_operation_on_gcs() {
    short_storms_are_survived(Protocol::Gcs).await;
}

/// Returns the most requests of an operation in a storm without end, of so many attempts.
///
/// A body that breaks off is taken up by the client and begun anew by us; a write that may have
/// landed is looked back at.
fn most(operation: &Operation, fault: Fault, attempts: usize) -> usize {
    let a_read = match fault {
        Fault::Truncate => attempts * 4,
        _ => attempts,
    };
    match operation.looks {
        true => a_read,
        false => attempts + 2 * a_read,
    }
}

/// Runs an operation in storms that do not end, and once more after each.
async fn hurricanes(protocol: Protocol, operation: &Operation) {
    const ATTEMPTS: usize = 3;
    let options = [("conditions", "trust"), ("cache", "0"), ("attempts", "3")];
    let place = Place::untried(protocol, &options);
    let (desk, name) = (&place.server.desk, operation.name);
    for fault in FAULTS {
        place.server.store.clear();
        let on = ground(&place, operation).await;
        let before = place.server.store.keys();
        desk.storm(Some(fault));
        let answer = (operation.run)(&place, &on).await;
        desk.storm(None);
        let requests = desk.requests();
        let most = most(operation, fault, ATTEMPTS);
        assert!(requests.len() <= most, "{name}, {fault:?}: {requests:?}");
        let Err(error) = answer else {
            // What has no body cannot break off in it.
            assert_eq!(fault, Fault::Truncate, "{name}");
            continue;
        };
        let told = match operation.looks {
            true => error.code() == ErrorCode::IoError,
            false => [ErrorCode::IoError, ErrorCode::OutcomeUnknown].contains(&error.code()),
        };
        assert!(told, "{name}, {fault:?}: {error}");
        if matches!(fault, Fault::Refuse(_) | Fault::Reset) {
            assert_eq!(place.server.store.keys(), before, "{name}, {fault:?}");
            assert_eq!(place.text("a").as_deref(), Some("one"), "{name}, {fault:?}");
            let again = (operation.run)(&place, &on).await;
            again.unwrap_or_else(|error| panic!("{name}, after {fault:?}: {error}"));
            desk.requests();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_without_end_costs_no_more_requests_than_the_budget() {
    for protocol in Protocol::ALL {
        let runs = OPERATIONS
            .iter()
            .map(|operation| hurricanes(protocol, operation));
        join_all(runs).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_without_end_takes_no_longer_than_the_patience() {
    let options = [
        ("conditions", "trust"),
        ("attempts", "100000"),
        ("patience", "1"),
    ];
    let runs = OPERATIONS.iter().map(|operation| async move {
        let place = Place::untried(Protocol::S3, &options);
        let on = ground(&place, operation).await;
        place.server.desk.storm(Some(Fault::Refuse(503)));
        let begun = Instant::now();
        let answer = (operation.run)(&place, &on).await;
        let (name, took) = (operation.name, begun.elapsed());
        assert!(answer.is_err(), "{name}");
        // A write is tried for a second and looked back at for another; waits come on top.
        assert!(took < Duration::from_secs(10), "{name} took {took:?}");
        took
    });
    let longest = join_all(runs).await.into_iter().max();
    eprintln!("a second's patience: the longest took {longest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_never_ready_for_its_trial_costs_the_budget_too() {
    let options = [("attempts", "3"), ("patience", "5")];
    let place = Place::untried(Protocol::S3, &options);
    let target = place.fs.target("a").await.unwrap();
    place.server.desk.storm(Some(Fault::Refuse(503)));
    let answer = place
        .fs
        .write_all(&target, "1".into(), Expected::Absent)
        .await;
    assert_eq!(answer.unwrap_err().code(), ErrorCode::IoError);
    let requests = place.server.desk.requests();
    assert!(requests.len() <= 6, "{requests:?}");
    place.server.desk.storm(None);
    place
        .fs
        .write_all(&target, "1".into(), Expected::Absent)
        .await
        .unwrap();
    assert_eq!(place.server.store.keys(), [format!("{ROOT}/a")]);
}
