//! Servers of other projects, where they are installed: SeaweedFS and Azurite.

use std::sync::Arc;

use seamfs::core::conformance::{self, Scratch, Verdict};
use seamfs::core::{CreateDirOptions, FileKind, RemoveOptions, TransferOptions};
use seamfs::{ErrorCode, Expected, FileSystem, FileSystemExt};

use super::lost_updates;
use crate::servers::{Installed, Kind};

fn open(prefix: &str, server: &Installed) -> Arc<dyn FileSystem> {
    Arc::new(server.connect(prefix, &[]))
}

/// What must hold on every server: guards, names, folders, listings, moves.
async fn exercise(fs: &Arc<dyn FileSystem>) {
    let target = fs.target("a b/é~[x]%20#?.txt").await.unwrap();
    let first = fs
        .write_all(&target, "one two\n".into(), Expected::Absent)
        .await
        .unwrap();
    let again = fs
        .write_all(&target, "x".into(), Expected::Absent)
        .await
        .unwrap_err();
    assert_eq!(again.code(), ErrorCode::AlreadyExists);
    let guard = Expected::Version(first.version.clone());
    let second = fs
        .replace(&target, "one", "1", guard.clone())
        .await
        .unwrap();
    let stale = fs.write_all(&target, "x".into(), guard).await.unwrap_err();
    assert_eq!(stale.code(), ErrorCode::StaleVersion);
    assert_eq!(stale.current().unwrap().bytes, "1 two\n");
    let guard = Expected::Version(second.version);
    let third = fs.write_all(&target, "1 2\n".into(), guard).await.unwrap();
    assert_eq!(third.before.unwrap(), "1 two\n");
    let listed = fs.list_all(&fs.target("a b").await.unwrap()).await.unwrap();
    assert_eq!(listed[0].name.as_str(), "é~[x]%20#?.txt");
    if let Some(version) = listed[0].metadata.as_ref().unwrap().version.clone() {
        fs.write_all(&target, "1 2 3\n".into(), Expected::Version(version))
            .await
            .unwrap();
    }
    let moved = fs.target("moved/to").await.unwrap();
    fs.rename(&target, &moved, TransferOptions::default())
        .await
        .unwrap();
    assert_eq!(
        fs.read_all(&target).await.unwrap_err().code(),
        ErrorCode::NotFound
    );
    let folder = fs.target("moved").await.unwrap();
    assert_eq!(
        fs.read_all(&folder).await.unwrap_err().code(),
        ErrorCode::NotRegularFile
    );
    assert_eq!(
        fs.remove(&folder, RemoveOptions::default())
            .await
            .unwrap_err()
            .code(),
        ErrorCode::NotEmpty
    );
    let empty = fs.target("empty").await.unwrap();
    fs.create_dir(&empty, CreateDirOptions::default())
        .await
        .unwrap();
    assert!(fs.list_all(&empty).await.unwrap().is_empty());
    fs.remove(&empty, RemoveOptions::default()).await.unwrap();
    let gone = fs.read_all(&moved).await.unwrap();
    fs.remove(&moved, RemoveOptions::default()).await.unwrap();
    let guard = Expected::Version(gone.version);
    let stale = fs.write_all(&moved, "x".into(), guard).await.unwrap_err();
    assert_eq!(stale.code(), ErrorCode::StaleVersion);
    // SeaweedFS has real folders underneath and shows them for a while after they were emptied.
    let left = fs.list_all(&fs.target("/").await.unwrap()).await.unwrap();
    assert!(left.iter().all(|entry| entry.kind() == FileKind::Directory));
}

/// Runs every claim of the conformance kit, each beneath a prefix of its own.
async fn keep_the_contract(fs: &Arc<dyn FileSystem>, what: &str) {
    let mut counts = [0; 3];
    let mut failures = Vec::new();
    conformance::run(&**fs, &Scratch::new("claims"), |report| {
        match &report.answer {
            Ok(Verdict::Held) => counts[0] += 1,
            Ok(Verdict::Skipped(_)) => counts[1] += 1,
            Err(failure) => {
                counts[2] += 1;
                failures.push(format!("{}: {failure}", report.claim.name));
            }
        }
    })
    .await;
    let [held, skipped, failed] = counts;
    eprintln!("{what}: {held} claims held, {failed} failed, {skipped} do not apply");
    assert!(failures.is_empty(), "{what}: {failures:#?}");
    assert!(held > 90, "{what}: {held} claims applied");
}

#[tokio::test(flavor = "multi_thread")]
async fn seaweedfs_keeps_every_guard_and_every_byte_over_a_crash() {
    let Some(mut server) = Kind::SeaweedFs.start().await else {
        return;
    };
    let fs = open("one", &server);
    exercise(&fs).await;
    keep_the_contract(&open("kit", &server), "SeaweedFS").await;
    let kept = fs.target("kept").await.unwrap();
    let written = fs
        .write_all(&kept, "kept\n".into(), Expected::Absent)
        .await
        .unwrap();
    let fs = open("two", &server);
    let edited = lost_updates::on_installed(&fs, &server.url("two"), &server.options()).await;
    server.crash_and_restart().await;
    let fs = open("one", &server);
    let guard = Expected::Version(written.version);
    fs.replace(&kept, "kept", "still kept", guard)
        .await
        .unwrap();
    let fs = open("two", &server);
    let shared = fs.target("shared.txt").await.unwrap();
    let found = fs.read_all(&shared).await.unwrap();
    assert_eq!(found.bytes, edited.bytes, "an edit was lost in the crash");
    let guard = Expected::Version(edited.version);
    fs.replace(&shared, "end\n", "END\n", guard).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn azurite_keeps_every_guard() {
    let Some(server) = Kind::Azurite.start().await else {
        return;
    };
    let fs = open("one", &server);
    exercise(&fs).await;
    keep_the_contract(&open("kit", &server), "Azurite").await;
    let fs = open("two", &server);
    lost_updates::on_installed(&fs, &server.url("two"), &server.options()).await;
}
