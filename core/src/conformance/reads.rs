//! Claims on reads (R): what is delivered, under which version, and what is refused.

use bytes::Bytes;

use super::check::{ensure, equal, refused, same_bytes};
use super::concurrency::at_once;
use super::scratch::{Scratch, for_folder};
use super::{ClaimResult, Verdict};
use crate::error::{ErrorCode, Result};
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::metadata::FileKind;
use crate::options::{ReadOptions, RemoveOptions, StatOptions, TransferOptions, WriteOptions};
use crate::version::{ContentHash, Expected};

pub(super) async fn r1_a_missing_file_is_not_found(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "other", "x\n").await?;
    for path in ["missing", "missing/folder/file"] {
        let target = scratch.target(fs, path).await?;
        refused(
            path,
            fs.read(&target, ReadOptions::default()).await,
            ErrorCode::NotFound,
        )?;
        equal(
            "stat",
            fs.stat(&target, StatOptions::default()).await?,
            None,
        )?;
        equal(
            "lstat",
            fs.lstat(&target, StatOptions::default()).await?,
            None,
        )?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn r1_a_folder_is_no_regular_file(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "folder/file", "x\n").await?;
    let folder = scratch.target(fs, "folder").await?;
    let read = fs.read(&folder, ReadOptions::default()).await;
    refused("read", read, ErrorCode::NotRegularFile)?;
    let range = ReadOptions {
        range: Some(0..1),
        max_bytes: Some(0),
        ..ReadOptions::default()
    };
    refused(
        "a range",
        fs.read(&folder, range).await,
        ErrorCode::NotRegularFile,
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn r1_metadata_says_kind_and_size(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for (name, bytes) in [("empty", &b""[..]), ("five", b"12345")] {
        let (target, _) = scratch.put(fs, name, bytes).await?;
        for metadata in [
            fs.stat(&target, StatOptions::default()).await?,
            fs.lstat(&target, StatOptions::default()).await?,
            Some(fs.read(&target, ReadOptions::default()).await?.metadata),
        ] {
            let found = metadata.map(|metadata| (metadata.kind, metadata.size));
            equal(
                name,
                found,
                Some((FileKind::File, Some(bytes.len() as u64))),
            )?;
        }
    }
    scratch.put(fs, "folder/file", "x").await?;
    let folder = scratch.target(fs, "folder").await?;
    let found = fs.stat(&folder, StatOptions::default()).await?;
    equal(
        "folder",
        found.map(|found| found.kind),
        Some(FileKind::Directory),
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn r1_the_root_is_a_folder(fs: &dyn FileSystem, scratch: &Scratch) -> ClaimResult {
    scratch.put(fs, "file", "x\n").await?;
    let root = fs.resolve(".", "", for_folder()).await?;
    let kind = fs
        .stat(&root, StatOptions::default())
        .await?
        .map(|found| found.kind);
    equal("stat", kind, Some(FileKind::Directory))?;
    let first = scratch.root().split('/').next().unwrap_or_default();
    let names: Vec<_> = fs.list_all(&root).await?;
    ensure!(
        names.iter().any(|entry| entry.name.as_str() == first),
        "the listing of the root lacks {first}"
    );
    refused(
        "read",
        fs.read(&root, ReadOptions::default()).await,
        ErrorCode::NotRegularFile,
    )?;
    fs.create_dir(&root, Default::default()).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w4_the_root_is_never_changed(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "x\n").await?;
    let root = fs.resolve(".", "", for_folder()).await?;
    let bytes = Bytes::from_static(b"x\n");
    let write = fs.write(&root, bytes, WriteOptions::default()).await;
    refused("write", write, ErrorCode::NotRegularFile)?;
    let edit = fs.replace(&root, "a", "b", Expected::Any).await;
    refused("edit", edit, ErrorCode::NotRegularFile)?;
    let remove = fs.remove(&root, RemoveOptions::default()).await;
    refused("remove", remove, ErrorCode::InvalidArgument)?;
    let can = fs.capabilities(None);
    if can.rename != crate::Atomicity::Unsupported {
        let to = scratch.target(fs, "new").await?;
        let away = fs.rename(&root, &to, TransferOptions::default()).await;
        refused("rename away", away, ErrorCode::InvalidArgument)?;
        let onto = fs.rename(&file, &root, TransferOptions::default()).await;
        refused("rename onto", onto, ErrorCode::InvalidArgument)?;
    }
    scratch.holds(fs, "file", Some(b"x\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn r3_the_cap_on_a_read_is_inclusive(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "12345").await?;
    let capped = |max_bytes, range| ReadOptions {
        max_bytes: Some(max_bytes),
        range,
        ..ReadOptions::default()
    };
    let all = fs
        .read(&target, capped(5, None))
        .await?
        .body
        .collect()
        .await?;
    equal("a file of the cap's size", &all.bytes[..], &b"12345"[..])?;
    let over = match fs.read(&target, capped(4, None)).await {
        Ok(outcome) => outcome.body.collect().await.map(drop),
        Err(error) => Err(error),
    };
    refused("one byte more", over, ErrorCode::TooLarge)?;
    let mut part = fs.read(&target, capped(2, Some(1..3))).await?.body;
    equal(
        "a range of the cap's size",
        part.next().await?.as_deref(),
        Some(&b"23"[..]),
    )?;
    let over = match fs.read(&target, capped(2, Some(1..4))).await {
        Ok(mut outcome) => outcome.body.next().await.map(drop),
        Err(error) => Err(error),
    };
    refused("a longer range", over, ErrorCode::TooLarge)?;
    let (empty, _) = scratch.put(fs, "empty", "").await?;
    fs.read(&empty, capped(0, None)).await?;
    Ok(Verdict::Held)
}

pub(super) async fn r4_a_body_arrives_whole_and_in_pieces_that_are_not_empty(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let big: Vec<u8> = (0..300_001_u32).map(|at| (at % 251) as u8).collect();
    for bytes in [&b""[..], b"x", &big] {
        let (target, _) = scratch.put(fs, "file", bytes).await?;
        let mut body = fs.read(&target, ReadOptions::default()).await?.body;
        let mut all = Vec::new();
        while let Some(piece) = body.next().await? {
            ensure!(!piece.is_empty(), "a piece is empty");
            all.extend_from_slice(&piece);
        }
        same_bytes("the pieces together", &all, bytes)?;
        ensure!(body.version().is_some(), "a whole read has no version");
        equal("a piece after the end", body.next().await?, None)?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn r4_the_version_of_a_read_is_of_the_bytes_delivered(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for text in ["", "one\n", "two\n"] {
        let (target, _) = scratch.put(fs, "file", text).await?;
        let read = fs.read_all(&target).await?;
        same_bytes("the bytes", &read.bytes, text.as_bytes())?;
        if let Some(hash) = read.version.hash() {
            equal("the hash", hash, ContentHash::of(text.as_bytes()))?;
        }
        let again = fs.read_all(&target).await?;
        ensure!(
            again.version.certifies(&read.version),
            "the same bytes read twice differ"
        );
    }
    Ok(Verdict::Held)
}

/// A content that tells by itself whether it is whole.
fn uniform(number: usize) -> Bytes {
    let letter = b'a' + u8::try_from(number % 26).unwrap_or_default();
    Bytes::from(vec![letter; 20_000 + 997 * (number % 26)])
}

fn is_uniform(bytes: &[u8]) -> bool {
    bytes
        .first()
        .is_some_and(|first| uniform(usize::from(first - b'a')) == bytes)
}

pub(super) async fn r4_a_read_that_overlaps_writes_delivers_one_of_the_files(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", uniform(0)).await?;
    let target = &target;
    let work = |caller: usize| async move {
        for round in 0..12 {
            tokio::task::yield_now().await;
            if caller < 2 {
                let bytes = uniform(caller * 13 + round);
                fs.write(target, bytes, WriteOptions::default()).await?;
                continue;
            }
            let read = fs.read_all(target).await?;
            if !is_uniform(&read.bytes) {
                return Ok(Some(format!("a torn read of {} bytes", read.bytes.len())));
            }
            if read
                .version
                .hash()
                .is_some_and(|hash| hash != ContentHash::of(&read.bytes))
            {
                return Ok(Some("a version of other bytes".to_owned()));
            }
        }
        Ok(None)
    };
    let answers: Vec<Result<Option<String>>> = at_once(6, work).await;
    for answer in answers {
        equal("what a reader saw", answer?, None)?;
    }
    Ok(Verdict::Held)
}
