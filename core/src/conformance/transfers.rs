//! Claims on `rename` and `copy`: guarded at both ends, and no clobber unless asked.

use std::time::Duration;

use bytes::Bytes;

use super::check::{equal, refused, refused_as};
use super::concurrency::at_once;
use super::scratch::Scratch;
use super::{ClaimResult, Verdict};
use crate::capabilities::Guarding;
use crate::context::CallContext;
use crate::error::{ErrorCode, FsError, Result};
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::options::{CreateDirOptions, StatOptions, TransferOptions};
use crate::target::Target;
use crate::transform::TransferOutcome;
use crate::version::{Expected, Version};

/// Which of the two operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Rename,
    Copy,
}

impl Way {
    async fn go(
        self,
        fs: &dyn FileSystem,
        from: &Target,
        to: &Target,
        source: Expected,
        destination: Expected,
    ) -> Result<TransferOutcome> {
        let options = TransferOptions {
            source,
            destination,
            ..TransferOptions::default()
        };
        match self {
            Self::Rename => fs.rename(from, to, options).await,
            Self::Copy => fs.copy(from, to, options).await,
        }
    }

    /// Returns whether its source can be guarded: a rename removes it.
    fn guards_source(self, fs: &dyn FileSystem) -> bool {
        self == Self::Copy || fs.capabilities(None).guarded_remove != Guarding::None
    }

    /// Returns what the source holds afterwards.
    fn leaves(self, bytes: &'static [u8]) -> Option<&'static [u8]> {
        match self {
            Self::Rename => None,
            Self::Copy => Some(bytes),
        }
    }
}

macro_rules! both_ways {
    ($($check:ident: $rename:ident, $copy:ident;)+) => {$(
        pub(super) async fn $rename(fs: &dyn FileSystem, scratch: &Scratch) -> ClaimResult {
            $check(fs, scratch, Way::Rename).await
        }

        pub(super) async fn $copy(fs: &dyn FileSystem, scratch: &Scratch) -> ClaimResult {
            $check(fs, scratch, Way::Copy).await
        }
    )+};
}

both_ways! {
    arrives: trait_rename_moves_the_bytes, trait_copy_copies_the_bytes;
    clobbers_nothing: trait_rename_replaces_nothing_unless_asked,
        trait_copy_replaces_nothing_unless_asked;
    replaces: trait_rename_replaces_what_it_was_asked_to, trait_copy_replaces_what_it_was_asked_to;
    guards_the_destination: trait_rename_guards_its_destination, trait_copy_guards_its_destination;
    guards_the_source: trait_rename_guards_its_source, trait_copy_guards_its_source;
    needs_a_source: trait_rename_without_a_source_is_not_found,
        trait_copy_without_a_source_is_not_found;
    keeps_itself: trait_rename_onto_itself_changes_nothing, trait_copy_onto_itself_changes_nothing;
    spares_folders: trait_rename_of_a_file_never_replaces_a_folder,
        trait_copy_of_a_file_never_replaces_a_folder;
    races: trait_of_racing_renames_to_one_name_exactly_one_wins,
        trait_of_racing_copies_to_one_name_exactly_one_wins;
}

async fn arrives(fs: &dyn FileSystem, scratch: &Scratch, way: Way) -> ClaimResult {
    let content = b"a\r\n\xef\xbb\xbf\0\xff";
    let (from, _) = scratch.put(fs, "from", content).await?;
    let to = scratch.target(fs, "new/folder/to").await?;
    let outcome = way
        .go(fs, &from, &to, Expected::Any, Expected::Absent)
        .await?;
    equal("created", outcome.created, true)?;
    scratch.holds(fs, "new/folder/to", Some(content)).await?;
    scratch.holds(fs, "from", way.leaves(content)).await?;
    fs.write_all(&to, Bytes::from_static(b"changed"), Expected::Any)
        .await?;
    scratch.holds(fs, "from", way.leaves(content)).await?;
    Ok(Verdict::Held)
}

async fn clobbers_nothing(fs: &dyn FileSystem, scratch: &Scratch, way: Way) -> ClaimResult {
    let (from, _) = scratch.put(fs, "from", "source").await?;
    let (to, _) = scratch.put(fs, "to", "destination").await?;
    let answer = way
        .go(fs, &from, &to, Expected::Any, Expected::Absent)
        .await;
    refused("onto a file", answer, ErrorCode::AlreadyExists)?;
    scratch.holds(fs, "from", Some(b"source")).await?;
    scratch.holds(fs, "to", Some(b"destination")).await?;
    Ok(Verdict::Held)
}

async fn replaces(fs: &dyn FileSystem, scratch: &Scratch, way: Way) -> ClaimResult {
    let (from, _) = scratch.put(fs, "from", "source").await?;
    let (to, _) = scratch.put(fs, "to", "destination").await?;
    let outcome = way.go(fs, &from, &to, Expected::Any, Expected::Any).await?;
    equal("created", outcome.created, false)?;
    scratch.holds(fs, "to", Some(b"source")).await?;
    scratch.holds(fs, "from", way.leaves(b"source")).await?;
    Ok(Verdict::Held)
}

async fn guards_the_destination(fs: &dyn FileSystem, scratch: &Scratch, way: Way) -> ClaimResult {
    let (from, _) = scratch.put(fs, "from", "source").await?;
    let (to, old) = scratch.put(fs, "to", "aaaa").await?;
    let (_, new) = scratch.put(fs, "to", "bbbb").await?;
    let expected = Expected::Version(old.clone());
    let answer = way.go(fs, &from, &to, Expected::Any, expected).await;
    refused("an older version", answer, ErrorCode::StaleVersion)?;
    let missing = scratch.target(fs, "missing").await?;
    let answer = way
        .go(fs, &from, &missing, Expected::Any, Expected::Version(old))
        .await;
    refused("a version of nothing", answer, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "from", Some(b"source")).await?;
    scratch.holds(fs, "to", Some(b"bbbb")).await?;
    scratch.holds(fs, "missing", None).await?;
    way.go(fs, &from, &to, Expected::Any, Expected::Version(new))
        .await?;
    scratch.holds(fs, "to", Some(b"source")).await?;
    Ok(Verdict::Held)
}

async fn guards_the_source(fs: &dyn FileSystem, scratch: &Scratch, way: Way) -> ClaimResult {
    let (from, old) = scratch.put(fs, "from", "aaaa").await?;
    let (_, new) = scratch.put(fs, "from", "bbbb").await?;
    let to = scratch.target(fs, "to").await?;
    let answer = way
        .go(fs, &from, &to, Expected::Version(old), Expected::Absent)
        .await;
    refused("an older version", answer, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "from", Some(b"bbbb")).await?;
    scratch.holds(fs, "to", None).await?;
    way.go(fs, &from, &to, Expected::Version(new), Expected::Absent)
        .await?;
    scratch.holds(fs, "to", Some(b"bbbb")).await?;
    Ok(Verdict::Held)
}

async fn needs_a_source(fs: &dyn FileSystem, scratch: &Scratch, way: Way) -> ClaimResult {
    let (to, _) = scratch.put(fs, "to", "destination").await?;
    let from = scratch.target(fs, "from").await?;
    let unguarded = way.go(fs, &from, &to, Expected::Any, Expected::Any).await;
    refused("without a guard", unguarded, ErrorCode::NotFound)?;
    if !way.guards_source(fs) {
        return Ok(Verdict::Held);
    }
    let version = Expected::Version(Version::of(b"x"));
    let guarded = way.go(fs, &from, &to, version, Expected::Any).await;
    refused("with a guard", guarded, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "to", Some(b"destination")).await?;
    Ok(Verdict::Held)
}

async fn keeps_itself(fs: &dyn FileSystem, scratch: &Scratch, way: Way) -> ClaimResult {
    let (file, version) = scratch.put(fs, "file", "x").await?;
    let outcome = way
        .go(fs, &file, &file, Expected::Any, Expected::Any)
        .await?;
    equal("created", outcome.created, false)?;
    scratch.holds(fs, "file", Some(b"x")).await?;
    if !way.guards_source(fs) {
        return Ok(Verdict::Held);
    }
    let guard = Expected::Version(version);
    way.go(fs, &file, &file, guard.clone(), guard).await?;
    scratch.holds(fs, "file", Some(b"x")).await?;
    let stale = Expected::Version(Version::of(b"other"));
    let answer = way.go(fs, &file, &file, stale, Expected::Any).await;
    refused("under a stale guard", answer, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "file", Some(b"x")).await?;
    Ok(Verdict::Held)
}

async fn spares_folders(fs: &dyn FileSystem, scratch: &Scratch, way: Way) -> ClaimResult {
    let (from, _) = scratch.put(fs, "from", "source").await?;
    scratch.put(fs, "full/file", "x").await?;
    let full = scratch.target(fs, "full").await?;
    let empty = scratch.target(fs, "empty").await?;
    fs.create_dir(&empty, CreateDirOptions::default()).await?;
    let codes = [ErrorCode::NotRegularFile, ErrorCode::AlreadyExists];
    for folder in [full, empty] {
        for expected in [Expected::Any, Expected::Absent] {
            let answer = way.go(fs, &from, &folder, Expected::Any, expected).await;
            refused_as("onto a folder", answer, &codes)?;
        }
    }
    scratch.holds(fs, "from", Some(b"source")).await?;
    scratch.holds(fs, "full/file", Some(b"x")).await?;
    Ok(Verdict::Held)
}

async fn races(fs: &dyn FileSystem, scratch: &Scratch, way: Way) -> ClaimResult {
    for round in 0..4 {
        let name = format!("to-{round}");
        let to = scratch.target(fs, &name).await?;
        let mut sources = Vec::new();
        for number in 0..8 {
            let (from, _) = scratch
                .put(fs, &format!("from-{number}"), number.to_string())
                .await?;
            sources.push(from);
        }
        let (to, sources) = (&to, &sources);
        let answers = at_once(8, |number| async move {
            way.go(fs, &sources[number], to, Expected::Any, Expected::Absent)
                .await
        })
        .await;
        let winners: Vec<_> = (0..8).filter(|number| answers[*number].is_ok()).collect();
        equal("how many won", winners.len(), 1)?;
        for answer in answers.into_iter().filter(Result::is_err) {
            refused("a loser", answer, ErrorCode::AlreadyExists)?;
        }
        scratch
            .holds(fs, &name, Some(winners[0].to_string().as_bytes()))
            .await?;
        for loser in (0..8).filter(|number| *number != winners[0]) {
            let text = loser.to_string();
            scratch
                .holds(fs, &format!("from-{loser}"), Some(text.as_bytes()))
                .await?;
        }
    }
    Ok(Verdict::Held)
}

pub(super) async fn trait_rename_moves_a_folder_with_everything_in_it(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "from/a", "a").await?;
    scratch.put(fs, "from/deep/b", "b").await?;
    scratch.put(fs, "from2/c", "c").await?;
    let (from, to) = (
        scratch.target(fs, "from").await?,
        scratch.target(fs, "new/to").await?,
    );
    let outcome = fs.rename(&from, &to, TransferOptions::default()).await?;
    equal("a folder's version", outcome.version, None)?;
    scratch.holds(fs, "new/to/a", Some(b"a")).await?;
    scratch.holds(fs, "new/to/deep/b", Some(b"b")).await?;
    scratch.holds(fs, "from2/c", Some(b"c")).await?;
    equal(
        "the source",
        fs.stat(&from, StatOptions::default()).await?,
        None,
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_rename_refuses_a_folder_moved_into_itself(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "folder/file", "x").await?;
    let folder = scratch.target(fs, "folder").await?;
    for beneath in ["folder/new", "folder/new/deeper"] {
        let to = scratch.target(fs, beneath).await?;
        let answer = fs.rename(&folder, &to, TransferOptions::default()).await;
        refused(beneath, answer, ErrorCode::InvalidArgument)?;
    }
    scratch.holds(fs, "folder/file", Some(b"x")).await?;
    let beside = scratch.target(fs, "folder2").await?;
    fs.rename(&folder, &beside, TransferOptions::default())
        .await?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_copy_refuses_a_folder(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "folder/file", "x").await?;
    let (folder, to) = (
        scratch.target(fs, "folder").await?,
        scratch.target(fs, "to").await?,
    );
    let answer = fs.copy(&folder, &to, TransferOptions::default()).await;
    refused("copy", answer, ErrorCode::NotRegularFile)?;
    equal(
        "the destination",
        fs.stat(&to, StatOptions::default()).await?,
        None,
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_renames_there_and_back_never_wait_in_a_ring(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (one, _) = scratch.put(fs, "one", "1").await?;
    let (two, _) = scratch.put(fs, "two", "2").await?;
    let ends = [&one, &two];
    let done = at_once(8, |number| async move {
        for round in 0..8 {
            let (from, to) = (
                ends[(number / 4 + round) % 2],
                ends[(number / 4 + round + 1) % 2],
            );
            // A ring would wait for ever: the deadline turns that into an error.
            let options = TransferOptions {
                context: CallContext::default().within(Duration::from_secs(5)),
                destination: Expected::Any,
                ..TransferOptions::default()
            };
            match fs.rename(from, to, options).await {
                Ok(_) => {}
                Err(error) if error.code() == ErrorCode::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok::<(), FsError>(())
    })
    .await;
    done.into_iter().collect::<Result<()>>()?;
    let left = scratch.names(fs, "").await?;
    equal("how many are left", left.len(), 1)?;
    Ok(Verdict::Held)
}
