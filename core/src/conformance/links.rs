//! Claims on links, permission bits and special files, made from outside.

use bytes::Bytes;

use super::check::{ensure, equal, refused, refused_as};
use super::outside::{Deed, Unable};
use super::scratch::Scratch;
use super::{ClaimResult, Verdict};
use crate::error::ErrorCode;
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::metadata::FileKind;
use crate::options::{
    Purpose, ReadOptions, RemoveOptions, ResolveOptions, StatOptions, TransferOptions,
};
use crate::version::Expected;

async fn act(scratch: &Scratch, deed: Deed<'_>) -> Result<(), Unable> {
    let outside = scratch.outside().expect("the claim needs somebody outside");
    outside.act(deed).await
}

macro_rules! act {
    ($scratch:expr, $($kind:ident { $path:expr $(, $field:ident: $value:expr)* });+) => {$(
        let deed = Deed::$kind { path: &$scratch.path($path) $(, $field: $value)* };
        if let Err(unable) = act($scratch, deed).await {
            return Ok(Verdict::Skipped(unable.to_string()));
        }
    )+};
}

/// Where a link within the scratch folder escapes to.
const ELSEWHERE: &str = "/etc/hostname";

pub(super) async fn p5_a_link_shares_the_key_of_its_file(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "folder/file", "x\n").await?;
    act!(scratch, Link { "link", to: "folder/file" }; Link { "linked", to: "folder" });
    let file = scratch.target(fs, "folder/file").await?;
    for path in ["link", "linked/file"] {
        let found = scratch.target(fs, path).await?;
        equal(path, &found, &file)?;
        equal(
            "its bytes",
            &fs.read_all(&found).await?.bytes[..],
            &b"x\n"[..],
        )?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn p3_a_missing_target_beneath_a_link_keeps_its_key(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "folder/file", "x\n").await?;
    act!(scratch, Link { "linked", to: "folder" });
    let before = scratch.target(fs, "linked/new").await?;
    let direct = scratch.target(fs, "folder/new").await?;
    equal("the target", &before, &direct)?;
    fs.write_all(&before, Bytes::from_static(b"n\n"), Expected::Absent)
        .await?;
    equal(
        "afterwards",
        &scratch.target(fs, "linked/new").await?,
        &before,
    )?;
    scratch.holds(fs, "folder/new", Some(b"n\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn r1_a_link_that_leads_outside_is_denied(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "file", "x\n").await?;
    let up = format!("{}etc/hostname", "../".repeat(48));
    act!(scratch,
        Link { "absolute", to: ELSEWHERE };
        Link { "climbing", to: &up };
        Link { "dangling", to: "/no-such-folder/no-such-file" };
        Link { "folder", to: "/etc" });
    for path in [
        "absolute",
        "climbing",
        "dangling",
        "folder/hostname",
        "folder/new",
    ] {
        let answer = match scratch.target(fs, path).await {
            Ok(target) => fs.read_all(&target).await.map(drop),
            Err(error) => Err(error),
        };
        let error = refused(path, answer, ErrorCode::SandboxDenied)?;
        ensure!(
            !error.to_string().contains("/etc"),
            "the message shows the outside: {error}"
        );
    }
    Ok(Verdict::Held)
}

pub(super) async fn r1_a_dangling_link_within_is_not_found(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "file", "x\n").await?;
    act!(scratch, Link { "dangling", to: "nowhere" });
    let target = scratch.target(fs, "dangling").await?;
    let read = fs.read(&target, ReadOptions::default()).await;
    refused("read", read, ErrorCode::NotFound)?;
    equal(
        "stat",
        fs.stat(&target, StatOptions::default()).await?,
        None,
    )?;
    for expected in [Expected::Any, Expected::Absent] {
        let write = fs
            .write_all(&target, Bytes::from_static(b"y"), expected)
            .await;
        refused("write", write, ErrorCode::NotRegularFile)?;
    }
    scratch.holds(fs, "nowhere", None).await?;
    Ok(Verdict::Held)
}

pub(super) async fn r1_a_special_file_is_never_opened(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "file", "x\n").await?;
    act!(scratch, Fifo { "fifo" });
    let fifo = scratch.target(fs, "fifo").await?;
    let kind = fs
        .stat(&fifo, StatOptions::default())
        .await?
        .map(|found| found.kind);
    equal("stat", kind, Some(FileKind::Other))?;
    let read = fs.read(&fifo, ReadOptions::default()).await;
    refused("read", read, ErrorCode::NotRegularFile)?;
    let write = fs
        .write_all(&fifo, Bytes::from_static(b"y"), Expected::Any)
        .await;
    refused("write", write, ErrorCode::NotRegularFile)?;
    let edit = fs.replace(&fifo, "a", "b", Expected::Any).await;
    refused("edit", edit, ErrorCode::NotRegularFile)?;
    Ok(Verdict::Held)
}

pub(super) async fn r5_links_and_special_files_are_listed_as_what_they_are(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "file", "x\n").await?;
    act!(scratch,
        Link { "dangling", to: "nowhere" };
        Link { "link", to: "file" };
        Link { "outside", to: ELSEWHERE });
    let folder = scratch.folder(fs).await?;
    let mut found = Vec::new();
    for entry in fs.list_all(&folder).await? {
        found.push((entry.name.to_string(), entry.kind()));
    }
    let expected = [
        ("dangling", FileKind::Other),
        ("file", FileKind::File),
        ("link", FileKind::Symlink),
        ("outside", FileKind::Other),
    ];
    let expected: Vec<_> = expected.map(|(name, kind)| (name.to_owned(), kind)).into();
    equal("the entries", found, expected)?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_lstat_follows_no_link(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "file", "x\n").await?;
    act!(scratch, Link { "link", to: "file" });
    let options = ResolveOptions {
        purpose: Purpose::Entry,
        ..ResolveOptions::default()
    };
    let link = fs.resolve(&scratch.path("link"), "", options).await?;
    let kind = fs
        .lstat(&link, StatOptions::default())
        .await?
        .map(|found| found.kind);
    equal("lstat", kind, Some(FileKind::Symlink))?;
    fs.remove(&link, RemoveOptions::default()).await?;
    scratch.holds(fs, "file", Some(b"x\n")).await?;
    equal(
        "the names",
        scratch.names(fs, "").await?,
        vec!["file".to_owned()],
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_a_link_swapped_in_is_an_error_and_never_another_file(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "secret/file", "secret\n").await?;
    let (file, _) = scratch.put(fs, "file", "mine\n").await?;
    let (child, _) = scratch.put(fs, "folder/file", "mine\n").await?;
    let folder = scratch.target(fs, "folder").await?;
    fs.remove(&child, RemoveOptions::default()).await?;
    fs.remove(&folder, RemoveOptions::default()).await?;
    act!(scratch, Link { "file", to: "secret/file" }; Link { "folder", to: "secret" });
    for target in [&file, &child] {
        let read = fs.read_all(target).await;
        ensure!(read.is_err(), "{target} was read through a link: {read:?}");
        let write = fs
            .write_all(target, Bytes::from_static(b"mine\n"), Expected::Any)
            .await;
        ensure!(write.is_err(), "{target} was written through a link");
        let edit = fs.replace(target, "secret", "mine", Expected::Any).await;
        ensure!(edit.is_err(), "{target} was edited through a link");
    }
    scratch.holds(fs, "secret/file", Some(b"secret\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w5_a_link_is_written_through_and_stays_a_link(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "folder/file", "x\n").await?;
    act!(scratch, Link { "link", to: "folder/file" });
    let target = scratch.target(fs, "link").await?;
    fs.write_all(&target, Bytes::from_static(b"written\n"), Expected::Any)
        .await?;
    fs.replace(&target, "written", "edited", Expected::Any)
        .await?;
    scratch.holds(fs, "folder/file", Some(b"edited\n")).await?;
    let folder = scratch.folder(fs).await?;
    let entries = fs.list_all(&folder).await?;
    let kind = entries
        .iter()
        .find(|entry| entry.name.as_str() == "link")
        .map(|entry| entry.kind());
    equal("the link", kind, Some(FileKind::Symlink))?;
    Ok(Verdict::Held)
}

pub(super) async fn w5_permission_bits_of_a_file_are_kept(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for mode in [0o755, 0o600, 0o640] {
        let (file, _) = scratch.put(fs, "file", "x\n").await?;
        act!(scratch, Mode { "file", mode: mode });
        fs.write_all(&file, Bytes::from_static(b"written\n"), Expected::Any)
            .await?;
        fs.replace(&file, "written", "edited", Expected::Any)
            .await?;
        let copy = scratch.target(fs, "copy").await?;
        let any = TransferOptions {
            destination: Expected::Any,
            ..TransferOptions::default()
        };
        fs.copy(&file, &copy, any).await?;
        for target in [&file, &copy] {
            let found = fs.stat(target, StatOptions::default()).await?;
            let found = found.and_then(|found| found.mode).map(|mode| mode & 0o7777);
            equal(target.display(), found, Some(mode))?;
        }
    }
    Ok(Verdict::Held)
}

pub(super) async fn w5_a_file_without_a_write_bit_is_read_only(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "x\n").await?;
    act!(scratch, Mode { "file", mode: 0o444 });
    let write = fs
        .write_all(&file, Bytes::from_static(b"y\n"), Expected::Any)
        .await;
    refused("write", write, ErrorCode::ReadOnly)?;
    let edit = fs.replace(&file, "x", "y", Expected::Any).await;
    refused("edit", edit, ErrorCode::ReadOnly)?;
    let remove = fs.remove(&file, RemoveOptions::default()).await;
    refused("remove", remove, ErrorCode::ReadOnly)?;
    let absent = fs
        .write_all(&file, Bytes::from_static(b"y\n"), Expected::Absent)
        .await;
    refused_as(
        "create",
        absent,
        &[ErrorCode::ReadOnly, ErrorCode::AlreadyExists],
    )?;
    scratch.holds(fs, "file", Some(b"x\n")).await?;
    act!(scratch, Mode { "file", mode: 0o644 });
    Ok(Verdict::Held)
}
