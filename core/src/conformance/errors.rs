//! Claims on errors: they name the operation and the path, and nothing above the root.

use bytes::Bytes;

use super::check::{ensure, equal};
use super::scratch::{Scratch, for_folder};
use super::{ClaimResult, Failure, Verdict};
use crate::capabilities::{Atomicity, Guarding};
use crate::error::{ErrorCode, FsError, Operation};
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::options::{CreateDirOptions, ListOptions, ReadOptions, RemoveOptions, TransferOptions};
use crate::target::Target;
use crate::version::Expected;

/// Collects one error of every operation that can be made to fail here.
async fn failures(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> Result<Vec<(Operation, Target, FsError)>, Failure> {
    let (file, _) = scratch.put(fs, "file", "x\n").await?;
    let missing = scratch.target(fs, "missing").await?;
    let can = fs.capabilities(Some(&file));
    let mut failed = Vec::new();
    let mut note = |operation, target: &Target, answer: Result<(), FsError>| match answer {
        Err(error) => {
            failed.push((operation, target.clone(), error));
            Ok(())
        }
        Ok(()) => Err(Failure::new(format!(
            "{operation} succeeded where it cannot"
        ))),
    };
    let read = fs.read(&missing, ReadOptions::default()).await;
    note(Operation::Read, &missing, read.map(drop))?;
    let list = fs.list(&file, ListOptions::default()).await;
    note(Operation::List, &file, list.map(drop))?;
    let write = fs.write_all(&file, Bytes::new(), Expected::Absent).await;
    note(Operation::Write, &file, write.map(drop))?;
    // What is not offered fails as well, and names as much.
    let edit = fs.replace(&missing, "a", "b", Expected::Any).await;
    note(Operation::Edit, &missing, edit.map(drop))?;
    let remove = fs.remove(&missing, RemoveOptions::default()).await;
    note(Operation::Remove, &missing, remove)?;
    if can.hierarchy {
        let made = fs.create_dir(&file, CreateDirOptions::default()).await;
        note(Operation::CreateDir, &file, made)?;
    }
    if can.rename != Atomicity::Unsupported {
        let moved = fs.rename(&missing, &file, TransferOptions::default()).await;
        note(Operation::Rename, &missing, moved.map(drop))?;
    }
    if can.copy != Atomicity::Unsupported {
        let copied = fs.copy(&missing, &file, TransferOptions::default()).await;
        note(Operation::Copy, &missing, copied.map(drop))?;
    }
    Ok(failed)
}

pub(super) async fn trait_errors_name_the_operation_and_the_path(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for (operation, target, error) in failures(fs, scratch).await? {
        equal("the operation", error.operation(), Some(operation))?;
        equal(operation.as_str(), error.path(), Some(target.display()))?;
        ensure!(
            !error.message().trim().is_empty(),
            "the error of {operation} says nothing"
        );
    }
    let answer = scratch.target(fs, "bad\\name").await;
    let error = answer
        .err()
        .ok_or_else(|| Failure::new("a backslash was accepted"))?;
    equal("the operation", error.operation(), Some(Operation::Resolve))?;
    Ok(Verdict::Held)
}

pub(super) async fn p2_no_message_shows_more_than_the_display_root(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let root = fs.resolve(".", "", for_folder()).await?;
    let ours = scratch.folder(fs).await?;
    for (operation, target, error) in failures(fs, scratch).await? {
        let said = error.to_string().replace(target.display(), "");
        for word in said.split([' ', '\'', '"', '`', ',', ':', '(', ')']) {
            // Nothing beyond the root, and nothing beside what was asked for.
            let absolute = word.len() > 1 && word.starts_with('/');
            let fine = word == root.display() || word.starts_with(ours.display());
            ensure!(!absolute || fine, "{operation} says {word:?}");
        }
    }
    for name in [fs.to_string(), format!("{fs:?}")] {
        ensure!(
            !name.trim().is_empty() && !name.contains('\n'),
            "it names itself {name:?}"
        );
    }
    Ok(Verdict::Held)
}

pub(super) async fn trait_what_is_not_offered_is_unsupported_before_any_effect(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (from, version) = scratch.put(fs, "from", "x\n").await?;
    let to = scratch.target(fs, "to").await?;
    let can = fs.capabilities(Some(&from));
    let mut answers: Vec<(Operation, Result<(), FsError>)> = Vec::new();
    if can.rename == Atomicity::Unsupported {
        let answer = fs.rename(&from, &to, TransferOptions::default()).await;
        answers.push((Operation::Rename, answer.map(drop)));
    }
    if can.copy == Atomicity::Unsupported {
        let answer = fs.copy(&from, &to, TransferOptions::default()).await;
        answers.push((Operation::Copy, answer.map(drop)));
    }
    let guard = Expected::Version(version);
    let bytes = || Bytes::from_static(b"y\n");
    if can.create == Guarding::None {
        let answer = fs.write_all(&to, bytes(), Expected::Absent).await;
        answers.push((Operation::Write, answer.map(drop)));
    }
    if can.compare_and_swap == Guarding::None {
        let answer = fs.write_all(&from, bytes(), guard.clone()).await;
        answers.push((Operation::Write, answer.map(drop)));
    }
    if !can.edit {
        for expected in [Expected::Any, guard.clone()] {
            let answer = fs.replace(&from, "x", "y", expected).await;
            answers.push((Operation::Edit, answer.map(drop)));
        }
    }
    if can.guarded_remove == Guarding::None {
        let options = RemoveOptions {
            expected: guard,
            ..RemoveOptions::default()
        };
        answers.push((Operation::Remove, fs.remove(&from, options).await));
    }
    super::check::require!(!answers.is_empty(), "everything is offered");
    for (operation, answer) in answers {
        let error = super::check::refused(operation.as_str(), answer, ErrorCode::Unsupported)?;
        equal("the operation", error.operation(), Some(operation))?;
        ensure!(
            error.message().contains(operation.as_str()),
            "{error} does not name {operation}"
        );
    }
    scratch.holds(fs, "from", Some(b"x\n")).await?;
    scratch.holds(fs, "to", None).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w9_a_read_only_file_system_refuses_every_mutation(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, version) = scratch.put(fs, "file", "x\n").await?;
    let new = scratch.target(fs, "new").await?;
    let codes = [
        ErrorCode::Unsupported,
        ErrorCode::ReadOnly,
        ErrorCode::SandboxDenied,
    ];
    let bytes = Bytes::from_static(b"y\n");
    let answers = [
        fs.write_all(&file, bytes.clone(), Expected::Version(version))
            .await
            .map(drop),
        fs.write_all(&new, bytes, Expected::Absent).await.map(drop),
        fs.replace(&file, "x", "y", Expected::Any).await.map(drop),
        fs.remove(&file, RemoveOptions::default()).await,
        fs.rename(&file, &new, TransferOptions::default())
            .await
            .map(drop),
        fs.copy(&file, &new, TransferOptions::default())
            .await
            .map(drop),
        fs.create_dir(&new, CreateDirOptions::default()).await,
    ];
    for answer in answers {
        super::check::refused_as("a mutation", answer, &codes)?;
    }
    equal(
        "the names",
        scratch.names(fs, "").await?,
        vec!["file".to_owned()],
    )?;
    scratch.holds(fs, "file", Some(b"x\n")).await?;
    Ok(Verdict::Held)
}
