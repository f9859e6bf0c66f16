//! Claims on edits (E): guard first, then the transform, and no byte outside its splices.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::check::{ensure, equal, refused, same_bytes};
use super::concurrency::{planned, while_edited};
use super::outside::Deed;
use super::scratch::Scratch;
use super::{ClaimResult, Failure, Verdict};
use crate::error::{ErrorCode, FsError, Result};
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::metadata::Metadata;
use crate::note::Note;
use crate::options::{EditOptions, StatOptions};
use crate::replace::Replace;
use crate::target::Target;
use crate::text::{LineRange, Splice, Text};
use crate::transform::{EditOutcome, TextEdit};
use crate::version::{Expected, Version};

async fn edit<T: crate::Transform + 'static>(
    fs: &dyn FileSystem,
    target: &Target,
    transform: T,
    expected: Expected,
) -> Result<EditOutcome> {
    fs.edit(
        target,
        Arc::new(transform),
        EditOptions::expecting(expected),
    )
    .await
}

pub(super) async fn e1_the_guard_is_checked_before_matching(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, old) = scratch.put(fs, "file", "old\n").await?;
    scratch.put(fs, "file", "twice twice\n").await?;
    for text in ["old", "twice", "never there"] {
        let answer = fs
            .replace(&target, text, "new", Expected::Version(old.clone()))
            .await;
        refused(
            &format!("replacing {text:?}"),
            answer,
            ErrorCode::StaleVersion,
        )?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn e1_the_guard_is_checked_before_decoding(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, old) = scratch.put(fs, "file", "old\n").await?;
    scratch.put(fs, "file", b"no text \0\xff").await?;
    let answer = fs
        .replace(&target, "old", "new", Expected::Version(old))
        .await;
    refused(
        "the edit of what is no text any more",
        answer,
        ErrorCode::StaleVersion,
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn e1_an_edit_under_the_version_seen_lands(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "one two\n").await?;
    let seen = fs.read_all(&target).await?.version;
    let outcome = fs
        .replace(&target, "two", "2", Expected::Version(seen))
        .await?;
    same_bytes("before", &outcome.before, b"one two\n")?;
    same_bytes("after", &outcome.after(), b"one 2\n")?;
    scratch.holds(fs, "file", Some(b"one 2\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn e2_a_missing_target_is_not_found_or_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let missing = scratch.target(fs, "folder/missing").await?;
    let unguarded = fs.replace(&missing, "a", "b", Expected::Any).await;
    refused("without a guard", unguarded, ErrorCode::NotFound)?;
    let expected = Expected::Version(Version::of(b"a\n"));
    let guarded = fs.replace(&missing, "a", "b", expected).await;
    refused("with a guard", guarded, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "folder/missing", None).await?;
    equal(
        "the folder",
        fs.stat(&scratch.target(fs, "folder").await?, StatOptions::default())
            .await?,
        None,
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn e2_no_edit_can_meet_the_guard_for_absence(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (there, _) = scratch.put(fs, "there", "a\n").await?;
    let missing = scratch.target(fs, "missing").await?;
    for target in [there, missing] {
        let answer = fs.replace(&target, "a", "b", Expected::Absent).await;
        refused(target.display(), answer, ErrorCode::InvalidArgument)?;
    }
    scratch.holds(fs, "there", Some(b"a\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn e3_a_miss_and_an_ambiguity_have_their_codes_and_change_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "aaa\nb\naa\n").await?;
    let miss = fs.replace(&target, "never there", "x", Expected::Any).await;
    refused("a miss", miss, ErrorCode::EditNotFound)?;
    let many = fs.replace(&target, "aa", "x", Expected::Any).await;
    let error = refused("an ambiguity", many, ErrorCode::AmbiguousEdit)?;
    equal("how often", error.details().count, Some(3))?;
    equal("where", error.details().lines.clone(), Some(vec![1, 1, 3]))?;
    scratch.holds(fs, "file", Some(b"aaa\nb\naa\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn e3_what_a_transform_says_reaches_the_caller(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "a\n").await?;
    let refusing = |_: &Text<'_>, _: &Version| -> Result<TextEdit> {
        Err(
            FsError::new(ErrorCode::QuotaExceeded, "the transform's own words")
                .with_details(|details| details.used = Some(7)),
        )
    };
    let error = refused(
        "edit",
        edit(fs, &target, refusing, Expected::Any).await,
        ErrorCode::QuotaExceeded,
    )?;
    equal("the message", error.message(), "the transform's own words")?;
    equal("the details", error.details().used, Some(7))?;
    let planning = |text: &Text<'_>, _: &Version| -> Result<TextEdit> {
        let splice = Splice {
            range: 0..1,
            replacement: "b".to_owned(),
        };
        Ok(TextEdit {
            ranges: vec![LineRange { start: 1, end: 1 }],
            notes: vec![Note::fact("a fact")],
            ..planned(vec![splice], text.bytes().len())
        })
    };
    let outcome = edit(fs, &target, planning, Expected::Any).await?;
    equal("the replacements", outcome.edit.replacements, 1)?;
    equal(
        "the ranges",
        outcome.edit.ranges,
        vec![LineRange { start: 1, end: 1 }],
    )?;
    ensure!(
        outcome.notes.contains(&Note::fact("a fact")),
        "the transform's note is lost"
    );
    scratch.holds(fs, "file", Some(b"b\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn e4_arguments_mean_themselves(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let odd = "$& $1 \\1 \\n %s {0} .* (x) <&>";
    let (target, _) = scratch.put(fs, "file", format!("a\nb {odd} b\n")).await?;
    fs.replace(&target, odd, "plain", Expected::Any).await?;
    scratch.holds(fs, "file", Some(b"a\nb plain b\n")).await?;
    fs.replace(&target, "plain", odd, Expected::Any).await?;
    scratch
        .holds(fs, "file", Some(format!("a\nb {odd} b\n").as_bytes()))
        .await?;
    Ok(Verdict::Held)
}

pub(super) async fn e4_replacements_go_left_to_right_without_overlap(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "aaaaa\n").await?;
    let outcome = edit(fs, &target, Replace::all("aa", "b")?, Expected::Any).await?;
    equal("how many", outcome.edit.replacements, 2)?;
    scratch.holds(fs, "file", Some(b"bba\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn e5_line_feeds_match_crlf_which_stays(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch
        .put(fs, "file", "one\r\ntwo\r\nthree\nfour\r\n")
        .await?;
    fs.replace(&target, "one\ntwo", "1\n1b\n2", Expected::Any)
        .await?;
    scratch
        .holds(fs, "file", Some(b"1\r\n1b\r\n2\r\nthree\nfour\r\n"))
        .await?;
    Ok(Verdict::Held)
}

pub(super) async fn e5_a_crlf_is_never_split(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "a\r\nb\r\n").await?;
    let answer = fs.replace(&target, "a\r", "x", Expected::Any).await;
    refused("a match of half a CRLF", answer, ErrorCode::EditNotFound)?;
    scratch.holds(fs, "file", Some(b"a\r\nb\r\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn e5_every_byte_outside_the_splices_is_identical(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let content = "\u{feff}one\r\ntwo\nthree\rfour  \t\r\n\u{e9}\u{1f980}\nend";
    let ends: Vec<_> = content.char_indices().map(|(at, _)| at).collect();
    for (first, second) in [(0, 1), (1, 4), (4, 6), (5, 9), (9, 20), (3, ends.len() - 1)] {
        let (start, end) = (ends[first], ends[second]);
        let (target, _) = scratch.put(fs, "file", content).await?;
        let splice = move |text: &Text<'_>, _: &Version| -> Result<TextEdit> {
            let new = |range| Splice {
                range,
                replacement: "X\nY".to_owned(),
            };
            let len = text.bytes().len();
            Ok(planned(vec![new(start..end), new(len..len)], len))
        };
        edit(fs, &target, splice, Expected::Any).await?;
        let expected = format!("{}X\nY{}X\nY", &content[..start], &content[end..]);
        scratch.holds(fs, "file", Some(expected.as_bytes())).await?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn e6_bom_endings_and_a_missing_final_newline_survive(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for (before, after) in [
        ("\u{feff}old\nrest", "\u{feff}new\nrest"),
        ("a\rold\rb\r", "a\rnew\rb\r"),
        ("a\r\nold\nb\r\n", "a\r\nnew\nb\r\n"),
        ("old  \t\n\n\n", "new  \t\n\n\n"),
        ("old", "new"),
    ] {
        let (target, _) = scratch.put(fs, "file", before).await?;
        fs.replace(&target, "old", "new", Expected::Any).await?;
        scratch.holds(fs, "file", Some(after.as_bytes())).await?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn e7_an_edit_that_changes_no_byte_writes_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, written) = scratch.put(fs, "file", "a\r\nb\r\n").await?;
    let before = fs.stat(&target, StatOptions::default()).await?;
    let outcome = fs.replace(&target, "a\nb", "a\r\nb", Expected::Any).await?;
    equal("replacements", outcome.edit.replacements, 0)?;
    equal("changed", outcome.changed(), false)?;
    ensure!(
        outcome.version.certifies(&written),
        "the version is of other bytes"
    );
    same_bytes("before", &outcome.before, b"a\r\nb\r\n")?;
    let identity = |text: &Text<'_>, _: &Version| -> Result<TextEdit> {
        let splice = Splice {
            range: 0..1,
            replacement: "a".to_owned(),
        };
        Ok(planned(vec![splice], text.bytes().len()))
    };
    let outcome = edit(fs, &target, identity, Expected::Version(written)).await?;
    equal("changed by the same bytes", outcome.changed(), false)?;
    let after = fs.stat(&target, StatOptions::default()).await?;
    let when = |found: Option<Metadata>| found.map(|found| (found.size, found.modified));
    equal("size and time", when(after), when(before))?;
    scratch.holds(fs, "file", Some(b"a\r\nb\r\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn r2_an_edit_of_what_is_no_text_is_refused(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let mut late = vec![b'a'; 200_000];
    late.push(0);
    for bytes in [&b"old \0"[..], b"old \xff", b"old \xe2\x82", &late] {
        let (target, _) = scratch.put(fs, "file", bytes).await?;
        let answer = edit(fs, &target, Replace::all("old", "new")?, Expected::Any).await;
        refused("edit", answer, ErrorCode::NotText)?;
        scratch.holds(fs, "file", Some(bytes)).await?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn r2_characters_that_fall_between_pieces_are_edited(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let half = format!("x{}", "\u{1f980}".repeat(60_000));
    let (target, _) = scratch.put(fs, "file", format!("{half}old{half}")).await?;
    fs.replace(&target, "old", "new", Expected::Any).await?;
    scratch
        .holds(fs, "file", Some(format!("{half}new{half}").as_bytes()))
        .await?;
    Ok(Verdict::Held)
}

pub(super) async fn r3_the_cap_on_an_edit_is_inclusive(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "12345").await?;
    let capped = |max_bytes| EditOptions {
        max_bytes,
        ..EditOptions::default()
    };
    let transform: Arc<dyn crate::Transform> = Arc::new(Replace::once("5", "6")?);
    let over = fs.edit(&target, Arc::clone(&transform), capped(4)).await;
    refused("one byte more than the cap", over, ErrorCode::TooLarge)?;
    scratch.holds(fs, "file", Some(b"12345")).await?;
    fs.edit(&target, transform, capped(5)).await?;
    scratch.holds(fs, "file", Some(b"12346")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn e1_the_transform_sees_the_present_bytes_and_their_version(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "first\n").await?;
    scratch.put(fs, "file", "second\n").await?;
    let seen: Arc<Mutex<Option<(Bytes, Version)>>> = Arc::default();
    let noting = {
        let seen = Arc::clone(&seen);
        move |text: &Text<'_>, version: &Version| -> Result<TextEdit> {
            if let Ok(mut seen) = seen.lock() {
                *seen = Some((Bytes::copy_from_slice(text.bytes()), version.clone()));
            }
            Ok(TextEdit::default())
        }
    };
    edit(fs, &target, noting, Expected::Any).await?;
    let seen = seen.lock().ok().and_then(|mut seen| seen.take());
    let (bytes, version) = seen.ok_or_else(|| Failure::new("the transform never ran"))?;
    same_bytes("what the transform saw", &bytes, b"second\n")?;
    let read = fs.read_all(&target).await?.version;
    ensure!(
        version.certifies(&read),
        "the transform was told {version}, a read {read}"
    );
    Ok(Verdict::Held)
}

pub(super) async fn e1_a_stale_edit_never_runs_its_transform(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, old) = scratch.put(fs, "file", "first\n").await?;
    scratch.put(fs, "file", "second\n").await?;
    let runs = Arc::new(AtomicUsize::new(0));
    let counting = {
        let runs = Arc::clone(&runs);
        move |_: &Text<'_>, _: &Version| -> Result<TextEdit> {
            runs.fetch_add(1, Ordering::SeqCst);
            Ok(TextEdit::default())
        }
    };
    let answer = edit(fs, &target, counting, Expected::Version(old)).await;
    refused("edit", answer, ErrorCode::StaleVersion)?;
    equal("how often it ran", runs.load(Ordering::SeqCst), 0)?;
    Ok(Verdict::Held)
}

/// Runs an edit during which somebody outside does something.
async fn interrupted(
    fs: &dyn FileSystem,
    scratch: &Scratch,
    target: &Target,
    expected: Expected,
    deed: Deed<'_>,
) -> Result<Result<Result<EditOutcome>, Verdict>, Failure> {
    let outside = scratch.outside().expect("the claim needs somebody outside");
    let (edit, done) = while_edited(fs, target, expected, |release| async move {
        let done = outside.act(deed).await;
        release.now();
        done
    })
    .await?;
    Ok(match done {
        Ok(()) => Ok(edit),
        Err(unable) => Err(Verdict::Skipped(unable.to_string())),
    })
}

macro_rules! or_skip {
    ($answer:expr) => {
        match $answer {
            Ok(answer) => answer,
            Err(skipped) => return Ok(skipped),
        }
    };
}

pub(super) async fn w2_an_unguarded_edit_that_lost_its_race_runs_again(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "folder/file", "first").await?;
    let path = &*scratch.path("folder/file");
    let deed = Deed::Put {
        path,
        bytes: b"second",
    };
    let outcome = or_skip!(interrupted(fs, scratch, &target, Expected::Any, deed).await?)?;
    same_bytes("before", &outcome.before, b"second")?;
    scratch.holds(fs, "folder/file", Some(b"second>")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w2_a_guarded_edit_that_lost_its_race_is_stale(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "folder/file", "first").await?;
    let path = &*scratch.path("folder/file");
    let deed = Deed::Put {
        path,
        bytes: b"second",
    };
    let expected = Expected::Version(version);
    let answer = or_skip!(interrupted(fs, scratch, &target, expected, deed).await?);
    refused("edit", answer, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "folder/file", Some(b"second")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn v1_a_guarded_edit_of_a_file_touched_meanwhile_lands(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "folder/file", "same").await?;
    let path = &*scratch.path("folder/file");
    let expected = Expected::Version(version);
    or_skip!(interrupted(fs, scratch, &target, expected, Deed::Touch { path }).await?)?;
    scratch.holds(fs, "folder/file", Some(b"same>")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn e2_an_edit_of_a_file_removed_meanwhile_creates_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, version) = scratch.put(fs, "folder/file", "first").await?;
    let path = &*scratch.path("folder/file");
    let expected = Expected::Version(version);
    let answer =
        or_skip!(interrupted(fs, scratch, &target, expected, Deed::Remove { path }).await?);
    refused("a guarded edit", answer, ErrorCode::StaleVersion)?;
    scratch.holds(fs, "folder/file", None).await?;
    scratch.put(fs, "folder/file", "first").await?;
    let deed = Deed::Remove { path };
    let answer = or_skip!(interrupted(fs, scratch, &target, Expected::Any, deed).await?);
    refused("an unguarded edit", answer, ErrorCode::NotFound)?;
    scratch.holds(fs, "folder/file", None).await?;
    Ok(Verdict::Held)
}
