//! Claims on listings (R5): direct children, all of them, in byte order.

use futures::stream::{self, StreamExt};

use super::check::{ensure, equal, refused};
use super::outside::Deed;
use super::scratch::{Scratch, for_folder};
use super::{ClaimResult, Verdict};
use crate::error::ErrorCode;
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::metadata::FileKind;
use crate::options::{CreateDirOptions, ListOptions, RemoveOptions};

pub(super) async fn r5_children_come_in_byte_order_of_their_names(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    // A folder `a` comes before `a-b` and `a.txt`, although `a/` would not.
    let files = [
        "a-b", "a.txt", "10", "9", "_", "b", "z", "é", "~", "a/x", "b0", "Z",
    ];
    for file in files {
        scratch.put(fs, file, "x\n").await?;
    }
    let mut expected: Vec<_> = files
        .iter()
        .filter_map(|file| file.split('/').next())
        .map(str::to_owned)
        .collect();
    expected.sort_unstable();
    equal("the names", scratch.names(fs, "").await?, expected)?;
    Ok(Verdict::Held)
}

pub(super) async fn r5_only_direct_children_are_listed_and_each_once(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for file in ["a/1", "a/2", "a/b/3", "c", "ab"] {
        scratch.put(fs, file, "x\n").await?;
    }
    equal(
        "the names",
        scratch.names(fs, "").await?,
        vec!["a".into(), "ab".into(), "c".to_owned()],
    )?;
    equal(
        "beneath",
        scratch.names(fs, "a").await?,
        vec!["1".into(), "2".into(), "b".to_owned()],
    )?;
    Ok(Verdict::Held)
}

/// More children than a page of any object store holds.
const MANY: usize = 1040;

pub(super) async fn r5_a_listing_of_many_children_is_complete(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let expected: Vec<_> = (0..MANY).map(|number| format!("{number:04}")).collect();
    let put = |number| async move { scratch.put(fs, &format!("{number:04}"), "").await };
    let puts = stream::iter(0..MANY).map(put).buffer_unordered(16);
    let done: Vec<_> = puts.collect().await;
    done.into_iter().try_for_each(|put| put.map(drop))?;
    let names = scratch.names(fs, "").await?;
    equal("how many", names.len(), MANY)?;
    ensure!(
        names == expected,
        "names are missing, doubled or out of order"
    );
    Ok(Verdict::Held)
}

pub(super) async fn r5_entries_say_kind_and_size(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "file", "12345").await?;
    scratch.put(fs, "folder/file", "x").await?;
    let folder = scratch.folder(fs).await?;
    let mut found = Vec::new();
    for entry in fs.list_all(&folder).await? {
        let size = entry
            .metadata
            .as_ref()
            .ok()
            .and_then(|metadata| metadata.size);
        ensure!(
            entry.name.is_addressable(),
            "{} is marked as not addressable",
            entry.name
        );
        found.push((entry.name.to_string(), entry.kind(), size));
    }
    let expected = vec![
        ("file".to_owned(), FileKind::File, Some(5)),
        ("folder".to_owned(), FileKind::Directory, None),
    ];
    equal("the entries", found, expected)?;
    Ok(Verdict::Held)
}

pub(super) async fn r5_an_empty_folder_lists_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let folder = scratch.target(fs, "folder").await?;
    fs.create_dir(&folder, CreateDirOptions::default()).await?;
    equal("the names", scratch.names(fs, "folder").await?, vec![])?;
    let (file, _) = scratch.put(fs, "folder/file", "x").await?;
    fs.remove(&file, RemoveOptions::default()).await?;
    equal(
        "after its only file went",
        scratch.names(fs, "folder").await?,
        vec![],
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn r5_a_missing_folder_is_not_found(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "missing-not", "x").await?;
    let missing = fs
        .resolve(&scratch.path("missing"), "", for_folder())
        .await?;
    let answer = fs.list(&missing, ListOptions::default()).await.map(drop);
    refused("list", answer, ErrorCode::NotFound)?;
    Ok(Verdict::Held)
}

pub(super) async fn r5_a_file_is_not_directory(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "x").await?;
    let answer = fs.list(&file, ListOptions::default()).await.map(drop);
    refused("list", answer, ErrorCode::NotDirectory)?;
    Ok(Verdict::Held)
}

pub(super) async fn r5_a_child_that_vanishes_does_not_lose_the_rest(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for name in ["a", "b", "c", "d"] {
        scratch.put(fs, name, "x").await?;
    }
    let folder = scratch.folder(fs).await?;
    let mut listing = fs.list(&folder, ListOptions::default()).await?;
    let gone = scratch.target(fs, "b").await?;
    fs.remove(&gone, RemoveOptions::default()).await?;
    let mut names = Vec::new();
    while let Some(entry) = listing.next().await {
        names.push(entry?.name.to_string());
    }
    for survivor in ["a", "c", "d"] {
        ensure!(
            names.iter().any(|name| name == survivor),
            "{survivor} is missing in {names:?}"
        );
    }
    Ok(Verdict::Held)
}

pub(super) async fn p2c_names_that_no_path_can_spell_are_listed_escaped(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "plain", "x").await?;
    let outside = scratch.outside().expect("the claim needs somebody outside");
    for name in [&b"bad\xff"[..], b"new\nline", b"back\\slash"] {
        let folder = scratch.root();
        if let Err(unable) = outside.act(Deed::PutRaw { folder, name }).await {
            return Ok(Verdict::Skipped(unable.to_string()));
        }
    }
    let folder = scratch.folder(fs).await?;
    let entries: Vec<_> = fs
        .list_all(&folder)
        .await?
        .into_iter()
        .map(|entry| (entry.name.to_string(), entry.name.is_addressable()))
        .collect();
    let expected = [
        ("back\\x5Cslash", false),
        ("bad\\xFF", false),
        ("new\\x0Aline", false),
        ("plain", true),
    ];
    let expected: Vec<_> = expected
        .map(|(name, plain)| (name.to_owned(), plain))
        .into();
    let lower = |entries: Vec<(String, bool)>| -> Vec<_> {
        entries
            .into_iter()
            .map(|(name, plain)| (name.to_lowercase(), plain))
            .collect()
    };
    equal("the entries", lower(entries), lower(expected))?;
    Ok(Verdict::Held)
}
