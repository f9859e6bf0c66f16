//! Claims on writes (W): guards, bytes as they are, and what comes back.

use std::sync::Arc;

use bytes::Bytes;

use super::check::{ensure, equal, refused, refused_as, same_bytes};
use super::concurrency::at_once;
use super::scratch::Scratch;
use super::{ClaimResult, Failure, Verdict};
use crate::error::{ErrorCode, FsError, Result};
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::options::{CreateDirOptions, EditOptions, StatOptions, WriteOptions};
use crate::target::Target;
use crate::text::{Splice, Text};
use crate::transform::{TextEdit, WriteOutcome};
use crate::version::{Expected, Version};

async fn write(
    fs: &dyn FileSystem,
    target: &Target,
    bytes: impl AsRef<[u8]> + Send,
    expected: Expected,
) -> Result<WriteOutcome> {
    fs.write_all(target, Bytes::copy_from_slice(bytes.as_ref()), expected)
        .await
}

pub(super) async fn w1_absent_refuses_an_existing_file(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "there\n").await?;
    for bytes in ["new\n", "there\n"] {
        let answer = write(fs, &target, bytes, Expected::Absent).await;
        refused("write", answer, ErrorCode::AlreadyExists)?;
    }
    scratch.holds(fs, "file", Some(b"there\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w1_absent_creates_what_is_missing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let target = scratch.target(fs, "file").await?;
    let outcome = write(fs, &target, "new\n", Expected::Absent).await?;
    equal(
        "created, with nothing before",
        (outcome.created, outcome.before),
        (true, None),
    )?;
    scratch.holds(fs, "file", Some(b"new\n")).await?;
    fs.remove(&target, Default::default()).await?;
    write(fs, &target, "anew\n", Expected::Absent).await?;
    scratch.holds(fs, "file", Some(b"anew\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w1_of_racing_creators_exactly_one_wins(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for round in 0..4 {
        let name = format!("folder/file-{round}");
        let target = scratch.target(fs, &name).await?;
        let target = &target;
        let answers = at_once(16, |number| async move {
            write(fs, target, format!("creator {number}\n"), Expected::Absent).await
        })
        .await;
        let winners: Vec<_> = (0..16).filter(|number| answers[*number].is_ok()).collect();
        equal("how many creators won", winners.len(), 1)?;
        for answer in answers.into_iter().filter(Result::is_err) {
            refused("a loser", answer, ErrorCode::AlreadyExists)?;
        }
        let expected = format!("creator {}\n", winners[0]);
        scratch.holds(fs, &name, Some(expected.as_bytes())).await?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn w2_any_creates_and_replaces(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let target = scratch.target(fs, "file").await?;
    equal(
        "created",
        write(fs, &target, "one\n", Expected::Any).await?.created,
        true,
    )?;
    equal(
        "created",
        write(fs, &target, "two\n", Expected::Any).await?.created,
        false,
    )?;
    scratch.holds(fs, "file", Some(b"two\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w2_a_version_replaces_only_its_own_bytes(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, first) = scratch.put(fs, "file", "one\n").await?;
    let second = write(fs, &target, "two\n", Expected::Version(first.clone())).await?;
    equal("created", second.created, false)?;
    let answer = write(fs, &target, "three\n", Expected::Version(first)).await;
    refused("an older version", answer, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "file", Some(b"two\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w2_a_version_on_a_missing_file_is_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (other, version) = scratch.put(fs, "other", "one\n").await?;
    let missing = scratch.target(fs, "missing").await?;
    let answer = write(fs, &missing, "two\n", Expected::Version(version.clone())).await;
    refused("never there", answer, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "missing", None).await?;
    fs.remove(&other, Default::default()).await?;
    let answer = write(fs, &other, "one\n", Expected::Version(version)).await;
    refused("there no more", answer, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "other", None).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w2_a_version_of_other_bytes_is_stale_whoever_minted_it(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "one\n").await?;
    let (_, of_another) = scratch.put(fs, "another", "two\n").await?;
    for version in [
        of_another,
        Version::of(b"three\n"),
        Version::from_token("foreign \"token\""),
    ] {
        let what = version.to_string();
        let answer = write(fs, &target, "four\n", Expected::Version(version)).await;
        refused(&what, answer, ErrorCode::StaleVersion)?;
    }
    scratch.holds(fs, "file", Some(b"one\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w2_bytes_attached_to_a_stale_error_are_the_ones_there(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, old) = scratch.put(fs, "file", "one\n").await?;
    scratch.put(fs, "file", "two\n").await?;
    let expected = Expected::Version(old);
    let of_write = write(fs, &target, "x\n", expected.clone()).await;
    let of_edit = fs.replace(&target, "two", "x", expected).await;
    let errors = [
        refused("write", of_write, ErrorCode::StaleVersion)?,
        refused("edit", of_edit, ErrorCode::StaleVersion)?,
    ];
    for error in errors {
        if let Some(current) = error.current() {
            same_bytes("the bytes attached", &current.bytes, b"two\n")?;
        }
        if let Some(version) = &error.details().current_version {
            let read = fs.read_all(&target).await?.version;
            ensure!(
                version.certifies(&read),
                "the error names {version}, a read {read}"
            );
        }
    }
    Ok(Verdict::Held)
}

/// Contents that something on the way likes to change.
const CONTENTS: &[&[u8]] = &[
    b"",
    b"\n",
    b"no final newline",
    b"lf\nlf\n",
    b"crlf\r\ncrlf\r\n",
    b"mixed\r\nlf\nlone\rcr\n\r",
    b"\xef\xbb\xbfbom\n",
    b"\xef\xbb\xbf",
    b"trailing blanks  \t \n\n\n",
    b"$& $1 \\1 \\n %s {} <&>\n",
    b"nul\0and\xff\xfeno text\n",
    b"\xff\xfeu\0t\0f\0",
    "caf\u{e9} cafe\u{301} \u{2028}\u{1f980}\n".as_bytes(),
];

pub(super) async fn w3_content_is_stored_verbatim(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for (number, content) in CONTENTS.iter().enumerate() {
        let name = format!("new-{number}");
        scratch.put(fs, &name, content).await?;
        scratch.holds(fs, &name, Some(content)).await?;
        scratch.put(fs, "replaced", content).await?;
        scratch.holds(fs, "replaced", Some(content)).await?;
    }
    let big: Vec<u8> = (0..1_500_000_u32).map(|at| (at % 253) as u8).collect();
    scratch.put(fs, "big", &big).await?;
    scratch.holds(fs, "big", Some(&big)).await?;
    scratch.put(fs, "big", "small").await?;
    scratch.holds(fs, "big", Some(b"small")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w3_missing_folders_are_created(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let target = scratch.target(fs, "one/two/three/file").await?;
    write(fs, &target, "x\n", Expected::Absent).await?;
    scratch
        .holds(fs, "one/two/three/file", Some(b"x\n"))
        .await?;
    equal(
        "above",
        scratch.names(fs, "one").await?,
        vec!["two".to_owned()],
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn w4_a_folder_is_no_regular_file_whatever_the_guard(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (_, version) = scratch.put(fs, "full/file", "x\n").await?;
    let empty = scratch.target(fs, "empty").await?;
    fs.create_dir(&empty, CreateDirOptions::default()).await?;
    let full = scratch.target(fs, "full").await?;
    for folder in [empty, full] {
        for expected in [
            Expected::Any,
            Expected::Absent,
            Expected::Version(version.clone()),
        ] {
            let what = format!("write under {expected:?}");
            let answer = write(fs, &folder, "x\n", expected.clone()).await;
            refused(&what, answer, ErrorCode::NotRegularFile)?;
        }
        let edit = fs.replace(&folder, "x", "y", Expected::Any).await;
        refused("edit", edit, ErrorCode::NotRegularFile)?;
    }
    scratch.holds(fs, "full/file", Some(b"x\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w6_nothing_of_ours_is_listed_beside_the_file(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, old) = scratch.put(fs, "file", "one\n").await?;
    scratch.put(fs, "file", "two\n").await?;
    refused(
        "a stale write",
        write(fs, &target, "x", Expected::Version(old)).await,
        ErrorCode::StaleVersion,
    )?;
    refused(
        "a create",
        write(fs, &target, "x", Expected::Absent).await,
        ErrorCode::AlreadyExists,
    )?;
    let missed = fs.replace(&target, "not there", "x", Expected::Any).await;
    refused("an edit", missed, ErrorCode::EditNotFound)?;
    fs.replace(&target, "two", "three", Expected::Any).await?;
    equal(
        "the names",
        scratch.names(fs, "").await?,
        vec!["file".to_owned()],
    )?;
    scratch.holds(fs, "file", Some(b"three\n")).await?;
    Ok(Verdict::Held)
}

async fn before(
    fs: &dyn FileSystem,
    target: &Target,
    bytes: &'static [u8],
    before_limit: u64,
) -> Result<Option<Bytes>, FsError> {
    let options = WriteOptions {
        before_limit,
        ..WriteOptions::default()
    };
    Ok(fs
        .write(target, Bytes::from_static(bytes), options)
        .await?
        .before)
}

pub(super) async fn w7_the_bytes_before_come_back_for_text(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "one\r\n").await?;
    let found = before(fs, &target, b"two\n", 1 << 20).await?;
    equal("before", found.as_deref(), Some(&b"one\r\n"[..]))?;
    let found = before(fs, &target, b"two\n", 1 << 20).await?;
    equal(
        "before the same again",
        found.as_deref(),
        Some(&b"two\n"[..]),
    )?;
    let found = before(fs, &target, b"", 4).await?;
    equal(
        "before, at the limit",
        found.as_deref(),
        Some(&b"two\n"[..]),
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn w7_no_bytes_before_where_a_side_is_no_text_or_over_the_limit(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "12345").await?;
    equal(
        "over the limit before",
        before(fs, &target, b"1", 4).await?,
        None,
    )?;
    equal(
        "over the limit after",
        before(fs, &target, b"12345", 4).await?,
        None,
    )?;
    equal(
        "binary after",
        before(fs, &target, b"\0", 1 << 20).await?,
        None,
    )?;
    equal(
        "binary before",
        before(fs, &target, b"text", 1 << 20).await?,
        None,
    )?;
    scratch.holds(fs, "file", Some(b"text")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w8_of_mutations_with_one_version_exactly_one_wins(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for round in 0..6 {
        let name = format!("file-{round}");
        let (target, version) = scratch.put(fs, &name, "start\n").await?;
        let (target, expected) = (&target, &Expected::Version(version));
        let answers = at_once(8, |number| async move {
            let text = format!("winner {number}\n");
            // Writes among themselves in one round, against edits in the next.
            match number % 2 * (round % 2) {
                0 => write(fs, target, &text, expected.clone()).await.map(drop),
                _ => fs
                    .replace(target, "start\n", &text, expected.clone())
                    .await
                    .map(drop),
            }
        })
        .await;
        let winners: Vec<_> = (0..8).filter(|number| answers[*number].is_ok()).collect();
        equal("how many won", winners.len(), 1)?;
        for answer in answers.into_iter().filter(Result::is_err) {
            refused("a loser", answer, ErrorCode::StaleVersion)?;
        }
        let expected = format!("winner {}\n", winners[0]);
        scratch.holds(fs, &name, Some(expected.as_bytes())).await?;
    }
    Ok(Verdict::Held)
}

/// How many count at once, and how often each.
const COUNTERS: usize = 16;
const COUNTS: usize = 5;

pub(super) async fn w8_counting_through_version_guards_loses_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "counter", "0").await?;
    let target = &target;
    let done: Vec<Result<(), Failure>> = at_once(COUNTERS, |_| async move {
        for _ in 0..COUNTS {
            count_once(fs, target).await?;
        }
        Ok(())
    })
    .await;
    done.into_iter().collect::<Result<(), Failure>>()?;
    let total = (COUNTERS * COUNTS).to_string();
    scratch.holds(fs, "counter", Some(total.as_bytes())).await?;
    Ok(Verdict::Held)
}

/// Reads, adds one and writes under the version read, until nobody came in between.
async fn count_once(fs: &dyn FileSystem, target: &Target) -> Result<(), Failure> {
    // Of as many tries as there are counts altogether one must win: each loss is another's count.
    for _ in 0..=COUNTERS * COUNTS {
        let read = fs.read_all(target).await?;
        let next = number_in(&read.bytes)? + 1;
        let expected = Expected::Version(read.version);
        // Whoever takes turns with us gets one between the read and the write.
        tokio::task::yield_now().await;
        match write(fs, target, next.to_string(), expected).await {
            Ok(_) => return Ok(()),
            Err(error) if error.code() == ErrorCode::StaleVersion => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::new(
        "a guarded write was stale although nobody else wrote",
    ))
}

fn number_in(bytes: &[u8]) -> Result<usize, Failure> {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Failure::new(format!("a count reads {bytes:?}")))
}

pub(super) async fn w8_unguarded_edits_at_once_lose_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "counter", "0").await?;
    let target = &target;
    let done = at_once(COUNTERS, |_| async move {
        for _ in 0..COUNTS {
            fs.edit(target, Arc::new(increment), EditOptions::default())
                .await?;
        }
        Ok::<(), FsError>(())
    })
    .await;
    done.into_iter().collect::<Result<()>>()?;
    let total = (COUNTERS * COUNTS).to_string();
    scratch.holds(fs, "counter", Some(total.as_bytes())).await?;
    Ok(Verdict::Held)
}

fn increment(text: &Text<'_>, _: &Version) -> Result<TextEdit> {
    let count = number_in(text.bytes())
        .map_err(|failure| FsError::new(ErrorCode::IoError, failure.to_string()))?;
    let len = text.bytes().len();
    let splice = Splice {
        range: 0..len,
        replacement: (count + 1).to_string(),
    };
    Ok(super::concurrency::planned(vec![splice], len))
}

pub(super) async fn w9_more_than_fits_is_refused_and_the_old_bytes_stay(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "file", "old\n").await?;
    let most = fs
        .capabilities(Some(&target))
        .max_file_bytes
        .unwrap_or_default();
    let codes = [
        ErrorCode::NoSpace,
        ErrorCode::QuotaExceeded,
        ErrorCode::TooLarge,
    ];
    let big = Bytes::from(vec![b'x'; usize::try_from(most).unwrap_or_default() + 1]);
    let replaced = fs
        .write_all(&target, big.clone(), Expected::Version(version))
        .await;
    refused_as("a replacement", replaced, &codes)?;
    let new = scratch.target(fs, "folder/new").await?;
    refused_as(
        "a new file",
        fs.write_all(&new, big, Expected::Absent).await,
        &codes,
    )?;
    equal(
        "the names",
        scratch.names(fs, "").await?,
        vec!["file".to_owned()],
    )?;
    scratch.holds(fs, "file", Some(b"old\n")).await?;
    let there = fs.stat(&target, StatOptions::default()).await?;
    equal("the size", there.and_then(|found| found.size), Some(4))?;
    fs.replace(&target, "old", "new", Expected::Any).await?;
    Ok(Verdict::Held)
}
