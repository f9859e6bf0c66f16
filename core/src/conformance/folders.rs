//! Claims on `create_dir`: it makes what is missing, and says success to what is there.

use super::check::{equal, refused};
use super::concurrency::at_once;
use super::scratch::Scratch;
use super::{ClaimResult, Verdict};
use crate::error::{ErrorCode, Result};
use crate::fs::FileSystem;
use crate::metadata::FileKind;
use crate::options::{CreateDirOptions, StatOptions};

pub(super) async fn trait_create_dir_makes_the_missing_folders_above(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let deep = scratch.target(fs, "one/two/three").await?;
    fs.create_dir(&deep, CreateDirOptions::default()).await?;
    let kind = fs
        .stat(&deep, StatOptions::default())
        .await?
        .map(|found| found.kind);
    equal("stat", kind, Some(FileKind::Directory))?;
    equal(
        "above",
        scratch.names(fs, "one").await?,
        vec!["two".to_owned()],
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_create_dir_of_an_existing_folder_is_a_success(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "folder/file", "x").await?;
    let folder = scratch.target(fs, "folder").await?;
    fs.create_dir(&folder, CreateDirOptions::default()).await?;
    fs.create_dir(&folder, CreateDirOptions::default()).await?;
    scratch.holds(fs, "folder/file", Some(b"x")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_create_dir_refuses_a_file(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "x").await?;
    let answer = fs.create_dir(&file, CreateDirOptions::default()).await;
    refused("create_dir", answer, ErrorCode::AlreadyExists)?;
    scratch.holds(fs, "file", Some(b"x")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_racing_creators_of_a_folder_all_succeed(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for round in 0..4 {
        let folder = scratch.target(fs, &format!("{round}/deep/folder")).await?;
        let folder = &folder;
        let done = at_once(8, |_| async move {
            fs.create_dir(folder, CreateDirOptions::default()).await
        })
        .await;
        done.into_iter().collect::<Result<()>>()?;
    }
    Ok(Verdict::Held)
}
