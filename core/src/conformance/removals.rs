//! Claims on `remove`: guarded, of one thing, and of nothing else.

use super::check::{equal, refused};
use super::scratch::Scratch;
use super::{ClaimResult, Verdict};
use crate::error::{ErrorCode, Result};
use crate::fs::FileSystem;
use crate::options::{CreateDirOptions, RemoveOptions, StatOptions};
use crate::target::Target;
use crate::version::{Expected, Version};

async fn remove(fs: &dyn FileSystem, target: &Target, expected: Expected) -> Result<()> {
    let options = RemoveOptions {
        expected,
        ..RemoveOptions::default()
    };
    fs.remove(target, options).await
}

pub(super) async fn trait_remove_takes_one_file_and_nothing_else(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "folder/file", "x").await?;
    scratch.put(fs, "folder/file2", "y").await?;
    scratch.put(fs, "folder/fil", "z").await?;
    remove(fs, &target, Expected::Any).await?;
    equal(
        "stat",
        fs.stat(&target, StatOptions::default()).await?,
        None,
    )?;
    equal(
        "what stays",
        scratch.names(fs, "folder").await?,
        vec!["fil".into(), "file2".to_owned()],
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_remove_of_nothing_is_not_found(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "x").await?;
    remove(fs, &target, Expected::Any).await?;
    refused(
        "again",
        remove(fs, &target, Expected::Any).await,
        ErrorCode::NotFound,
    )?;
    let missing = scratch.target(fs, "folder/missing").await?;
    refused(
        "never there",
        remove(fs, &missing, Expected::Any).await,
        ErrorCode::NotFound,
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_remove_takes_only_the_bytes_of_its_guard(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, old) = scratch.put(fs, "file", "aaaa").await?;
    let (_, new) = scratch.put(fs, "file", "bbbb").await?;
    let stale = remove(fs, &target, Expected::Version(old)).await;
    refused("an older version", stale, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "file", Some(b"bbbb")).await?;
    remove(fs, &target, Expected::Version(new.clone())).await?;
    scratch.holds(fs, "file", None).await?;
    let gone = remove(fs, &target, Expected::Version(new)).await;
    refused("when it is gone", gone, ErrorCode::StaleVersion)?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_remove_refuses_the_guard_for_absence(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "x").await?;
    let answer = remove(fs, &target, Expected::Absent).await;
    refused("remove", answer, ErrorCode::InvalidArgument)?;
    scratch.holds(fs, "file", Some(b"x")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_remove_takes_an_empty_folder_and_no_other(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "folder/file", "x").await?;
    let folder = scratch.target(fs, "folder").await?;
    refused(
        "a full one",
        remove(fs, &folder, Expected::Any).await,
        ErrorCode::NotEmpty,
    )?;
    scratch.holds(fs, "folder/file", Some(b"x")).await?;
    remove(fs, &file, Expected::Any).await?;
    let there = fs.stat(&folder, StatOptions::default()).await?;
    equal("the folder stays", there.is_some(), true)?;
    remove(fs, &folder, Expected::Any).await?;
    equal(
        "stat",
        fs.stat(&folder, StatOptions::default()).await?,
        None,
    )?;
    fs.create_dir(&folder, CreateDirOptions::default()).await?;
    let guarded = remove(fs, &folder, Expected::Version(Version::of(b""))).await;
    refused(
        "under a version, which no folder has",
        guarded,
        ErrorCode::StaleVersion,
    )?;
    Ok(Verdict::Held)
}
