//! Claims on paths and identity (P): what text names which target, and what is refused.

use bytes::Bytes;

use super::check::ensure;
use super::check::{equal, refused, refused_as, require};
use super::scratch::{Scratch, for_folder};
use super::{ClaimResult, Verdict};
use crate::error::ErrorCode;
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::options::{CreateDirOptions, ResolveOptions, StatOptions, WriteOptions};
use crate::path::{MAX_COMPONENT_BYTES, MAX_PATH_BYTES};
use crate::target::TargetKey;
use crate::version::Expected;

pub(super) async fn p1_a_blank_path_is_refused(fs: &dyn FileSystem, _: &Scratch) -> ClaimResult {
    for path in ["", " ", "\t", " \u{a0}\n "] {
        refused(
            &format!("resolve({path:?})"),
            fs.target(path).await,
            ErrorCode::InvalidPath,
        )?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn p1_characters_that_no_backend_keeps_are_refused(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for bad in ['\0', '\n', '\r', '\t', '\u{1b}', '\u{7f}', '\u{85}', '\\'] {
        for path in [
            format!("a{bad}b"),
            format!("a{bad}b/c"),
            format!("{bad}"),
            format!("a/{bad}"),
        ] {
            let path = scratch.path(&path);
            refused(
                &format!("resolve({path:?})"),
                fs.target(&path).await,
                ErrorCode::InvalidPath,
            )?;
        }
    }
    Ok(Verdict::Held)
}

pub(super) async fn p1_a_name_has_at_most_255_bytes(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for name in [
        "n".repeat(MAX_COMPONENT_BYTES),
        format!("x{}", "é".repeat(127)),
    ] {
        scratch.put(fs, &name, "long\n").await?;
        scratch.holds(fs, &name, Some(b"long\n")).await?;
        equal(
            "the listing",
            scratch.names(fs, "").await?.contains(&name),
            true,
        )?;
        let longer = format!("{name}x");
        refused(
            "a longer name",
            scratch.target(fs, &longer).await,
            ErrorCode::InvalidPath,
        )?;
        let beneath = format!("{longer}/child");
        refused(
            "a path through it",
            scratch.target(fs, &beneath).await,
            ErrorCode::InvalidPath,
        )?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn p1_a_path_has_at_most_1024_bytes(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let long = vec!["d".repeat(200); MAX_PATH_BYTES / 200 + 1].join("/");
    refused(
        "a longer path",
        scratch.target(fs, &long).await,
        ErrorCode::InvalidPath,
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn p1_a_deep_path_round_trips(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let deep = format!("{}/leaf", vec!["level"; 24].join("/"));
    scratch.put(fs, &deep, "deep\n").await?;
    scratch.holds(fs, &deep, Some(b"deep\n")).await?;
    let folder = deep.trim_end_matches("/leaf");
    equal(
        "the listing",
        scratch.names(fs, folder).await?,
        vec!["leaf".to_owned()],
    )?;
    Ok(Verdict::Held)
}

/// Names that are legal, and that something on the way to storage likes to change.
const ODD_NAMES: &[&str] = &[
    " leading and trailing ",
    "#hash",
    "%20",
    "%2e%2e",
    "&amp;",
    "(paren)",
    "+plus",
    "-dash",
    "...",
    "..hidden",
    ".hidden",
    "CON",
    "a:b",
    "a;b,c",
    "caf\u{e9}",
    "cafe\u{301}",
    "emoji \u{1f980}",
    "glob*[x]?{y}",
    "it's \"quoted\"",
    "name.",
    "$HOME",
    "`tick`",
    "|pipe<>",
    "~tilde",
    "\u{5d0}\u{5d1}",
    "\u{feff}bom",
];

pub(super) async fn p1_odd_names_round_trip(fs: &dyn FileSystem, scratch: &Scratch) -> ClaimResult {
    for name in ODD_NAMES {
        scratch.put(fs, name, name).await?;
    }
    let mut expected: Vec<_> = ODD_NAMES.iter().map(|name| (*name).to_owned()).collect();
    expected.sort_unstable();
    equal("the names", scratch.names(fs, "").await?, expected)?;
    for name in ODD_NAMES {
        scratch.holds(fs, name, Some(name.as_bytes())).await?;
        let beneath = format!("folders/{name}/child");
        scratch.put(fs, &beneath, "child\n").await?;
        scratch.holds(fs, &beneath, Some(b"child\n")).await?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn p2_relative_paths_start_at_the_working_folder(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "work/file", "here\n").await?;
    let expected = scratch.target(fs, "work/file").await?;
    let folder = fs.resolve(&scratch.path("work"), "", for_folder()).await?;
    for (path, cwd) in [
        ("file", folder.display().to_owned()),
        ("file", scratch.path("work")),
        ("./file", scratch.path("work")),
        ("../work/file", scratch.path("work")),
        ("work/file", scratch.root().to_owned()),
    ] {
        let found = fs.resolve(path, &cwd, ResolveOptions::default()).await?;
        equal(&format!("{path:?} in {cwd:?}"), found.key(), expected.key())?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn p2_a_display_path_leads_back_to_its_target(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for name in ["plain", "%41", "a b", "missing/folder/file"] {
        let target = scratch.target(fs, name).await?;
        ensure!(
            target.display().starts_with('/'),
            "{:?} is not absolute",
            target.display()
        );
        let again = fs.target(target.display()).await?;
        equal(name, &again, &target)?;
        let elsewhere = fs
            .resolve(
                target.display(),
                &scratch.path("other"),
                ResolveOptions::default(),
            )
            .await?;
        equal("with a working folder", &elsewhere, &target)?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn p2_display_paths_lie_under_the_display_root(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let root = fs.resolve(".", "", for_folder()).await?;
    for name in ["a", "a/b/c"] {
        let target = scratch.target(fs, name).await?;
        let under = format!("{}/", root.display().trim_end_matches('/'));
        ensure!(
            target.display().starts_with(&under),
            "{} does not lie under {}",
            target.display(),
            root.display()
        );
        ensure!(
            target.display().ends_with(name),
            "{} does not end with {name}",
            target.display()
        );
    }
    Ok(Verdict::Held)
}

pub(super) async fn p2_paths_that_leave_the_root_are_denied(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let up = "../".repeat(64);
    let outside = [
        format!("{up}secret-folder/name"),
        format!("/{up}secret-folder/name"),
        format!("{}/{up}secret-folder/name", scratch.root()),
        scratch.path(&format!("a/./{up}secret-folder/name")),
        "https://example.com/secret-folder/name".to_owned(),
        "unknown-scheme://secret-folder/name".to_owned(),
    ];
    for path in outside {
        let answer = fs.target(&path).await;
        let error = refused(
            &format!("resolve({path:?})"),
            answer,
            ErrorCode::SandboxDenied,
        )?;
        ensure!(
            !error.to_string().contains("secret-folder"),
            "the message shows what lies outside: {error}"
        );
    }
    Ok(Verdict::Held)
}

pub(super) async fn p2_dots_within_the_root_are_resolved(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "folder/file", "x\n").await?;
    let expected = scratch.target(fs, "folder/file").await?;
    for path in [
        "folder/../folder/file",
        "missing/../folder/file",
        "./folder/./x/../file",
    ] {
        equal(path, scratch.target(fs, path).await?.key(), expected.key())?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn p2b_a_trailing_slash_names_a_folder(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "folder/file", "x\n").await?;
    for path in ["folder/file/", "missing/"] {
        refused(path, scratch.target(fs, path).await, ErrorCode::InvalidPath)?;
    }
    let spelled = fs
        .resolve(&scratch.path("folder"), "", for_folder())
        .await?;
    // An existing folder is refused where a file is wanted, here or by the operation.
    match scratch.target(fs, "folder/").await {
        Err(error) if error.code() == ErrorCode::NotRegularFile => {}
        folder => equal("the key of a folder", folder?.key(), spelled.key())?,
    }
    let missing = fs
        .resolve(&scratch.path("missing/"), "", for_folder())
        .await?;
    equal(
        "a folder to be",
        missing.key(),
        fs.resolve(&scratch.path("missing"), "", for_folder())
            .await?
            .key(),
    )?;
    equal(
        "what is there",
        scratch.names(fs, "").await?,
        vec!["folder".to_owned()],
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn p3_a_missing_target_keeps_its_key_across_creation(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    for path in ["file", "new/folder/file"] {
        let before = scratch.target(fs, path).await?;
        fs.write_all(&before, Bytes::from_static(b"x\n"), Expected::Absent)
            .await?;
        let after = scratch.target(fs, path).await?;
        equal(path, &after, &before)?;
        scratch.holds(fs, path, Some(b"x\n")).await?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn p4_a_path_through_a_file_is_not_directory(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "file", "x\n").await?;
    for path in ["file/child", "file/child/grandchild"] {
        refused(
            path,
            scratch.target(fs, path).await,
            ErrorCode::NotDirectory,
        )?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn p4_a_folder_replaced_by_a_file_is_not_directory(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let child = scratch.target(fs, "file/child").await?;
    let folder = scratch.target(fs, "file/folder").await?;
    scratch.put(fs, "file", "x\n").await?;
    let bytes = Bytes::from_static(b"y\n");
    let codes = [ErrorCode::NotDirectory, ErrorCode::NotFound];
    refused_as("read", fs.read_all(&child).await, &codes)?;
    refused(
        "write",
        fs.write(&child, bytes, WriteOptions::default()).await,
        ErrorCode::NotDirectory,
    )?;
    let made = fs.create_dir(&folder, CreateDirOptions::default()).await;
    refused("create_dir", made, ErrorCode::NotDirectory)?;
    // A look may say that nothing is there, or why nothing can be.
    match fs.stat(&child, StatOptions::default()).await {
        Err(error) if error.code() == ErrorCode::NotDirectory => {}
        found => equal("stat", found?, None)?,
    }
    scratch.holds(fs, "file", Some(b"x\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn p4_a_file_and_files_beneath_it_both_stay_reachable(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "x", "file\n").await?;
    scratch.put(fs, "x/y", "beneath\n").await?;
    scratch.holds(fs, "x", Some(b"file\n")).await?;
    scratch.holds(fs, "x/y", Some(b"beneath\n")).await?;
    scratch.put(fs, "x", "changed\n").await?;
    scratch.holds(fs, "x/y", Some(b"beneath\n")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn p5_spellings_of_one_file_share_their_key(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "folder/file", "x\n").await?;
    let expected = scratch.target(fs, "folder/file").await?;
    for path in [
        "folder//file",
        "folder/./file",
        "./folder/file",
        "folder/a/../file",
    ] {
        let found = scratch.target(fs, path).await?;
        equal(path, &found, &expected)?;
        equal(
            "its bytes",
            &fs.read_all(&found).await?.bytes[..],
            &b"x\n"[..],
        )?;
    }
    Ok(Verdict::Held)
}

pub(super) async fn p6_keys_are_opaque_distinct_and_serialise(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let mut seen = Vec::new();
    for path in ["a", "b", "a.b", "a/b", "a%2Fb", "a b"] {
        let target = scratch.target(fs, path).await?;
        let json = serde_json::to_string(target.key()).unwrap_or_default();
        let back = serde_json::from_str::<TargetKey>(&json).ok();
        equal(
            "a key that was serialised",
            back.as_ref(),
            Some(target.key()),
        )?;
        ensure!(
            !seen.contains(target.key()),
            "{path} has the key of another file"
        );
        seen.push(target.key().clone());
    }
    Ok(Verdict::Held)
}

pub(super) async fn p2_a_url_of_this_workspace_is_decoded_and_a_plain_path_never_is(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let name = fs.to_string();
    let scheme = name.split_once(':').map_or("", |(scheme, _)| scheme);
    let plain = scratch.target(fs, "a%20b").await?;
    ensure!(
        plain.display().ends_with("a%20b"),
        "a plain path was decoded to {plain}"
    );
    let spelled = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphabetic());
    require!(
        spelled,
        "its name does not begin with the scheme of its URLs"
    );
    let Ok(found) = fs
        .target(&format!("{scheme}://{}", scratch_url(&plain, "a%20b")))
        .await
    else {
        return Ok(Verdict::Skipped(
            "it has no URLs of the form scheme:///path".to_owned(),
        ));
    };
    require!(
        found.display().starts_with('/'),
        "its URLs are of another form"
    );
    equal(
        "the decoded path",
        found.key(),
        scratch.target(fs, "a b").await?.key(),
    )?;
    Ok(Verdict::Held)
}

fn scratch_url(target: &crate::Target, name: &str) -> String {
    let folder = target.display().trim_end_matches(name);
    format!("{folder}{name}")
}
