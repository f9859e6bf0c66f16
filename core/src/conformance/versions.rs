//! Claims on versions (V): what they name, what they guard, and how long.

use bytes::Bytes;

use super::check::{ensure, equal, refused, require};
use super::concurrency::{Append, at_once};
use super::outside::Deed;
use super::scratch::Scratch;
use super::{ClaimResult, Failure, Verdict};
use crate::error::{ErrorCode, Result};
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::metadata::Metadata;
use crate::options::{EditOptions, ListOptions, StatOptions, TransferOptions};
use crate::target::Target;
use crate::version::{ContentHash, Expected, Version};
use futures::TryStreamExt;
use std::sync::Arc;

/// Writes under a version.
async fn guarded(
    fs: &dyn FileSystem,
    target: &Target,
    bytes: &'static str,
    version: &Version,
) -> Result<Version> {
    let expected = Expected::Version(version.clone());
    let outcome = fs
        .write_all(target, Bytes::from_static(bytes.as_bytes()), expected)
        .await?;
    Ok(outcome.version)
}

/// Appends under a version.
async fn edited(
    fs: &dyn FileSystem,
    target: &Target,
    text: &'static str,
    version: &Version,
) -> Result<Version> {
    let options = EditOptions::expecting(Expected::Version(version.clone()));
    Ok(fs
        .edit(target, Arc::new(Append(text)), options)
        .await?
        .version)
}

macro_rules! act {
    ($scratch:expr, $deed:expr) => {{
        let outside = $scratch
            .outside()
            .expect("the claim needs somebody outside");
        if let Err(unable) = outside.act($deed).await {
            return Ok(Verdict::Skipped(unable.to_string()));
        }
    }};
}

pub(super) async fn v1_a_touched_file_is_not_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "file", "same\n").await?;
    let path = scratch.path("file");
    act!(scratch, Deed::Touch { path: &path });
    let version = edited(fs, &target, "edited\n", &version).await?;
    act!(scratch, Deed::Touch { path: &path });
    guarded(fs, &target, "written\n", &version).await?;
    scratch.holds(fs, "file", Some(b"written\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn v1_an_identical_rewrite_is_not_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, first) = scratch.put(fs, "file", "same\n").await?;
    scratch.put(fs, "file", "same\n").await?;
    let second = edited(fs, &target, "edited\n", &first).await?;
    scratch.put(fs, "file", "same\nedited\n").await?;
    guarded(fs, &target, "written\n", &second).await?;
    scratch.holds(fs, "file", Some(b"written\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn v1_bytes_that_came_back_are_not_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "file", "first\n").await?;
    scratch.put(fs, "file", "second\n").await?;
    scratch.put(fs, "file", "first\n").await?;
    edited(fs, &target, "edited\n", &version).await?;
    scratch.holds(fs, "file", Some(b"first\nedited\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn v1_a_file_made_anew_with_the_same_bytes_is_not_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "file", "same\n").await?;
    fs.remove(&target, Default::default()).await?;
    scratch.put(fs, "file", "same\n").await?;
    guarded(fs, &target, "written\n", &version).await?;
    Ok(Verdict::Held)
}

pub(super) async fn v2_other_bytes_of_the_same_size_are_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "file", "aaaa\n").await?;
    scratch.put(fs, "file", "bbbb\n").await?;
    let write = guarded(fs, &target, "cccc\n", &version).await;
    refused("write", write, ErrorCode::StaleVersion)?;
    let edit = edited(fs, &target, "cccc\n", &version).await;
    refused("edit", edit, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "file", Some(b"bbbb\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn v2_a_change_with_restored_times_is_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "aaaa\n").await?;
    let read = fs.read_all(&target).await?.version;
    let path = &*scratch.path("file");
    act!(
        scratch,
        Deed::PutKeepingTimes {
            path,
            bytes: b"bbbb\n"
        }
    );
    let write = guarded(fs, &target, "cccc\n", &read).await;
    refused("write", write, ErrorCode::StaleVersion)?;
    let edit = edited(fs, &target, "cccc\n", &read).await;
    refused("edit", edit, ErrorCode::StaleVersion)?;
    let found = fs.read_all(&target).await?;
    equal("the bytes read", &found.bytes[..], &b"bbbb\n"[..])?;
    ensure!(
        !found.version.certifies(&read),
        "other bytes have the version of the former"
    );
    Ok(Verdict::Held)
}

pub(super) async fn v2_a_change_from_outside_is_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "file", "aaaa\n").await?;
    let path = &*scratch.path("file");
    act!(
        scratch,
        Deed::Put {
            path,
            bytes: b"bbbb\n"
        }
    );
    let edit = edited(fs, &target, "cccc\n", &version).await;
    refused("edit", edit, ErrorCode::StaleVersion)?;
    act!(scratch, Deed::Remove { path });
    let write = guarded(fs, &target, "cccc\n", &version).await;
    refused("write", write, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "file", None).await?;
    Ok(Verdict::Held)
}

pub(super) async fn v3_the_version_of_a_mutation_guards_the_next(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "file", "a\n").await?;
    let version = guarded(fs, &target, "b\n", &version).await?;
    let version = edited(fs, &target, "c\n", &version).await?;
    let version = edited(fs, &target, "d\n", &version).await?;
    guarded(fs, &target, "e\n", &version).await?;
    scratch.holds(fs, "file", Some(b"e\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn v3_the_version_of_a_mutation_names_what_the_next_read_delivers(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, written) = scratch.put(fs, "file", "a\n").await?;
    let read = fs.read_all(&target).await?.version;
    ensure!(
        written.certifies(&read),
        "written as {written}, read as {read}"
    );
    let options = EditOptions::default();
    let edited = fs
        .edit(&target, Arc::new(Append("b\n")), options)
        .await?
        .version;
    let read = fs.read_all(&target).await?.version;
    ensure!(
        edited.certifies(&read),
        "edited to {edited}, read as {read}"
    );
    Ok(Verdict::Held)
}

pub(super) async fn v3_the_version_of_a_rename_guards_its_destination(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (from, _) = scratch.put(fs, "from", "a\n").await?;
    let to = scratch.target(fs, "to").await?;
    let moved = fs.rename(&from, &to, TransferOptions::default()).await?;
    let version = moved
        .version
        .ok_or_else(|| Failure::new("no version came back"))?;
    edited(fs, &to, "b\n", &version).await?;
    scratch.holds(fs, "to", Some(b"a\nb\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn v3_the_version_of_a_copy_guards_its_destination(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (from, _) = scratch.put(fs, "from", "a\n").await?;
    let to = scratch.target(fs, "to").await?;
    let copied = fs.copy(&from, &to, TransferOptions::default()).await?;
    let version = copied
        .version
        .ok_or_else(|| Failure::new("no version came back"))?;
    edited(fs, &to, "b\n", &version).await?;
    scratch.holds(fs, "to", Some(b"a\nb\n")).await?;
    Ok(Verdict::Held)
}

/// Returns the metadata of a file as its folder lists it.
async fn listed(fs: &dyn FileSystem, scratch: &Scratch, name: &str) -> Result<Option<Metadata>> {
    let folder = scratch.folder(fs).await?;
    let entries: Vec<_> = fs
        .list(&folder, ListOptions::default())
        .await?
        .try_collect()
        .await?;
    entries
        .into_iter()
        .find(|entry| entry.name.as_str() == name)
        .map(|entry| entry.metadata)
        .transpose()
}

pub(super) async fn v4_versions_from_every_source_guard(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "a\n").await?;
    let read = fs.read_all(&target).await?.version;
    edited(fs, &target, "b\n", &read).await?;
    let cheap = fs.capabilities(Some(&target)).cheap_versions;
    let stat = fs
        .stat(&target, StatOptions::default())
        .await?
        .and_then(|found| found.version);
    ensure!(
        stat.is_some() || !cheap,
        "stat gives no version although they are cheap"
    );
    if let Some(version) = stat {
        edited(fs, &target, "c\n", &version).await?;
    }
    let lstat = fs
        .lstat(&target, StatOptions::default())
        .await?
        .and_then(|found| found.version);
    if let Some(version) = lstat {
        edited(fs, &target, "d\n", &version).await?;
    }
    let listed = listed(fs, scratch, "file")
        .await?
        .and_then(|found| found.version);
    if let Some(version) = listed {
        edited(fs, &target, "e\n", &version).await?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn v4_old_versions_from_stat_and_list_are_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "a\n").await?;
    let stat = fs
        .stat(&target, StatOptions::default())
        .await?
        .and_then(|found| found.version);
    let listed = listed(fs, scratch, "file")
        .await?
        .and_then(|found| found.version);
    let versions: Vec<_> = stat.into_iter().chain(listed).collect();
    require!(!versions.is_empty(), "neither stat nor list gives versions");
    scratch.put(fs, "file", "b\n").await?;
    for version in versions {
        refused(
            "edit",
            edited(fs, &target, "c\n", &version).await,
            ErrorCode::StaleVersion,
        )?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn v4_versions_survive_being_written_down(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "file", "a\n").await?;
    let json = serde_json::to_string(&version).unwrap_or_default();
    let back: Version = serde_json::from_str(&json)
        .map_err(|error| Failure::new(format!("{json} is no version: {error}")))?;
    equal("a version that was written down", &back, &version)?;
    edited(fs, &target, "b\n", &back).await?;
    refused(
        "edit",
        edited(fs, &target, "c\n", &back).await,
        ErrorCode::StaleVersion,
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn v4_versions_survive_a_reopening(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "file", "a\n").await?;
    let outside = scratch.outside().expect("the claim needs somebody outside");
    let again = outside.reopen().await;
    require!(again.is_some(), "the storage cannot be opened anew");
    let again = again.expect("it was just looked at");
    let same = scratch.target(&*again, "file").await?;
    equal("the target", &same, &target)?;
    edited(&*again, &same, "b\n", &version).await?;
    let stale = edited(fs, &target, "c\n", &version).await;
    refused("edit", stale, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "file", Some(b"a\nb\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn v5_the_version_of_a_racing_write_names_its_own_bytes(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "start\n").await?;
    for round in 0..4 {
        let text = |writer: usize| format!("round {round} writer {writer}\n");
        let versions = at_once(8, |writer| {
            let bytes = Bytes::from(text(writer));
            let target = &target;
            async move {
                fs.write_all(target, bytes, Expected::Any)
                    .await
                    .map(|done| done.version)
            }
        })
        .await;
        let last = fs.read_all(&target).await?;
        for (writer, version) in versions.into_iter().enumerate() {
            let (version, mine) = (version?, text(writer));
            if let Some(hash) = version.hash() {
                equal(
                    "the hash in a version",
                    hash,
                    ContentHash::of(mine.as_bytes()),
                )?;
            }
            equal(
                "a version certifies the last bytes",
                version.certifies(&last.version),
                last.bytes == mine.as_bytes(),
            )?;
        }
    }
    Ok(Verdict::Held)
}

pub(super) async fn p6_equal_versions_mean_equal_bytes(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let mut seen: Vec<(Version, &str)> = Vec::new();
    for file in ["one", "two"] {
        for text in ["", "a\n", "b\n", "a\n\n", "a\r\n", "a"] {
            let (target, written) = scratch.put(fs, file, text).await?;
            seen.push((written, text));
            seen.push((fs.read_all(&target).await?.version, text));
            let stat = fs.stat(&target, StatOptions::default()).await?;
            seen.extend(
                stat.and_then(|found| found.version)
                    .map(|version| (version, text)),
            );
        }
    }
    for (one, of_one) in &seen {
        for (two, of_two) in &seen {
            let same = one == two || one.certifies(two);
            ensure!(
                !same || of_one == of_two,
                "{of_one:?} and {of_two:?} share {one}"
            );
        }
    }
    Ok(Verdict::Held)
}
