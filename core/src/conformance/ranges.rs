//! Claims on ranges of a read: exactly these bytes, cut at the file's end.

use super::check::{ensure, same_bytes};
use super::outside::Deed;
use super::scratch::Scratch;
use super::{ClaimResult, Verdict};
use crate::error::Result;
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::options::ReadOptions;
use crate::target::Target;
use crate::version::{Expected, Version};
use std::ops::Range;

async fn part(
    fs: &dyn FileSystem,
    target: &Target,
    range: Range<u64>,
) -> Result<(Vec<u8>, Option<Version>)> {
    let options = ReadOptions {
        range: Some(range),
        ..ReadOptions::default()
    };
    let mut body = fs.read(target, options).await?.body;
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok((bytes, body.version()))
}

pub(super) async fn r3_a_range_delivers_exactly_its_bytes(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let content: Vec<u8> = (0..1000_u32).map(|at| (at * 7 % 251) as u8).collect();
    let (target, _) = scratch.put(fs, "file", &content).await?;
    for (start, end) in [(0, 1), (0, 1000), (3, 700), (500, 501), (999, 1000)] {
        let (found, _) = part(fs, &target, start..end).await?;
        let expected = &content[start as usize..end as usize];
        same_bytes(&format!("{start}..{end}"), &found, expected)?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn r3_a_range_is_cut_at_the_end_of_the_file(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "12345").await?;
    let (empty, _) = scratch.put(fs, "empty", "").await?;
    for (range, expected) in [
        (3..6, &b"45"[..]),
        (0..u64::MAX, b"12345"),
        (5..6, b""),
        (5..u64::MAX, b""),
        (6..9, b""),
        (u64::MAX - 1..u64::MAX, b""),
    ] {
        let what = format!("{range:?}");
        same_bytes(&what, &part(fs, &target, range.clone()).await?.0, expected)?;
        same_bytes("of an empty file", &part(fs, &empty, range).await?.0, b"")?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn r3_an_empty_range_delivers_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "12345").await?;
    for at in [0, 2, 5] {
        same_bytes(
            &format!("{at}..{at}"),
            &part(fs, &target, at..at).await?.0,
            b"",
        )?;
    }
    let (empty, _) = scratch.put(fs, "empty", "").await?;
    same_bytes(
        "0..0 of an empty file",
        &part(fs, &empty, 0..0).await?.0,
        b"",
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn r4_a_version_that_comes_with_a_range_is_the_whole_files(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (target, _) = scratch.put(fs, "file", "12345").await?;
    let whole = fs.read_all(&target).await?.version;
    for range in [0..0, 0..2, 1..5, 0..5] {
        let (_, version) = part(fs, &target, range.clone()).await?;
        ensure!(
            version
                .as_ref()
                .is_none_or(|version| version.certifies(&whole)),
            "{range:?} came with {version:?}, the file has {whole}"
        );
    }
    Ok(Verdict::Held)
}

pub(super) async fn r4_a_range_of_changed_bytes_never_comes_with_the_version_before(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    // Large enough to be worth an index, and of one size, so that only the bytes tell.
    let content = |letter: &str| letter.repeat(400_000);
    let (target, mut before) = scratch.put(fs, "file", content("a")).await?;
    for letter in ["b", "c", "d"] {
        fs.read_all(&target).await?;
        part(fs, &target, 10..20).await?;
        match (scratch.outside(), letter) {
            (Some(outside), "c") => {
                let (path, bytes) = (&*scratch.path("file"), content(letter));
                let bytes = bytes.as_bytes();
                // Hands that cannot do it leave the bytes, and then there is nothing to notice.
                if outside
                    .act(Deed::PutKeepingTimes { path, bytes })
                    .await
                    .is_err()
                {
                    continue;
                }
            }
            _ => {
                fs.write_all(&target, content(letter).into(), Expected::Any)
                    .await?;
            }
        }
        let (bytes, version) = part(fs, &target, 399_990..400_000).await?;
        same_bytes(letter, &bytes, &content(letter).as_bytes()[..10])?;
        let after = fs.read_all(&target).await?.version;
        ensure!(
            version
                .as_ref()
                .is_none_or(|version| version.certifies(&after) && !version.certifies(&before)),
            "bytes of {after} came with {version:?}, after {before}"
        );
        before = after;
    }
    Ok(Verdict::Held)
}
