//! Writes, edits, removals and transfers.

use super::*;
use seamfs_core::{
    CallContext, CreateDirOptions, Note, Operation, RemoveOptions, TransferOptions, Version,
};

fn version(text: &str) -> Expected {
    Expected::Version(Version::of(text.as_bytes()))
}

#[tokio::test]
async fn w3_a_write_is_verbatim_and_creates_its_folders() {
    let scratch = Scratch::new();
    let text = "\u{feff}a\r\nb\rc";
    let outcome = scratch
        .write("w1/w2/d.txt", text, Expected::Absent)
        .await
        .unwrap();
    assert!(outcome.created && outcome.before.is_none());
    assert_eq!(outcome.version, Version::of(text.as_bytes()));
    assert_eq!(scratch.host("w1/w2/d.txt"), text);
    let outcome = scratch
        .write("w1/w2/d.txt", "", version(text))
        .await
        .unwrap();
    assert!(!outcome.created);
    assert_eq!(outcome.before.unwrap(), text.as_bytes());
    assert_eq!(scratch.host_names("w1/w2"), ["d.txt"]);
}

#[tokio::test]
async fn w2_a_guard_holds_whether_or_not_the_bytes_before_are_given_back() {
    let scratch = Scratch::new();
    let target = scratch.target("f").await;
    let write = async |bytes: &'static [u8], expected, before_limit| {
        let options = WriteOptions {
            before_limit,
            ..WriteOptions::expecting(expected)
        };
        let bytes = Bytes::from_static(bytes);
        scratch.local.write(&target, bytes, options).await
    };
    // Neither bytes that are no text nor more than asked for are given back.
    for (now, limit) in [(&b"a\0b"[..], 100), (b"text", 1), (b"text", 0)] {
        fs::write(scratch.path("f"), now).unwrap();
        let stale = write(b"new", version("seen"), limit).await.unwrap_err();
        assert_eq!(stale.code(), ErrorCode::StaleVersion, "{now:?}");
        assert_eq!(fs::read(scratch.path("f")).unwrap(), now);
        let expected = Expected::Version(Version::of(now));
        let outcome = write(b"new", expected, limit).await.unwrap();
        assert!(!outcome.created && outcome.before.is_none());
        assert_eq!(scratch.host("f"), "new");
    }
}

/// A sweep would take it for what a killed writer left.
#[tokio::test]
async fn no_file_is_created_under_a_name_that_is_reaped() {
    let scratch = Scratch::new();
    let refused = scratch
        .write(".seamfs-0123456789abcdef-draft", "1", Expected::Any)
        .await;
    assert_eq!(refused.unwrap_err().code(), ErrorCode::InvalidPath);
    assert!(!scratch.path(".seamfs-0123456789abcdef-draft").exists());
    let other = scratch.write(".seamfs-notes", "1", Expected::Any).await;
    other.unwrap();
    let from = scratch.target(".seamfs-notes").await;
    let to = scratch.target(".seamfs-0123456789abcdef-draft").await;
    let options = TransferOptions::default;
    let moved = scratch.local.rename(&from, &to, options()).await;
    assert_eq!(moved.unwrap_err().code(), ErrorCode::InvalidPath);
    let copied = scratch.local.copy(&from, &to, options()).await;
    assert_eq!(copied.unwrap_err().code(), ErrorCode::InvalidPath);
    let made = scratch.local.create_dir(&to, CreateDirOptions::default());
    assert_eq!(made.await.unwrap_err().code(), ErrorCode::InvalidPath);
    let beneath = scratch
        .write(".seamfs-0123456789abcdef-draft/f", "1", Expected::Any)
        .await;
    assert_eq!(beneath.unwrap_err().code(), ErrorCode::InvalidPath);
    assert_eq!(scratch.host_names("."), [".seamfs-notes"]);
}

#[tokio::test]
async fn w1_absent_refuses_an_existing_file() {
    let scratch = Scratch::new();
    scratch.put("a", "1");
    let error = scratch.write("a", "2", Expected::Absent).await.unwrap_err();
    assert_eq!(
        (error.code(), error.operation()),
        (ErrorCode::AlreadyExists, Some(Operation::Write))
    );
    assert_eq!(scratch.host("a"), "1");
}

#[tokio::test]
async fn w2_a_version_refuses_other_bytes_and_shows_them() {
    let scratch = Scratch::new();
    scratch.put("a", "1");
    let error = scratch.write("a", "2", version("0")).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::StaleVersion);
    assert_eq!(error.current().unwrap().bytes, "1");
    assert_eq!(
        code(scratch.write("none", "2", version("0")).await),
        ErrorCode::StaleVersion
    );
    assert_eq!(
        code(scratch.write("no/ne", "2", version("0")).await),
        ErrorCode::StaleVersion
    );
    assert!(!scratch.path("no").exists());
    assert_eq!(scratch.host_names("."), ["a"]);
}

#[tokio::test]
async fn v3_the_version_of_a_mutation_guards_the_next() {
    let scratch = Scratch::new();
    let mut last = scratch
        .write("a", "0", Expected::Absent)
        .await
        .unwrap()
        .version;
    let target = scratch.target("a").await;
    for n in 0..20 {
        let (old, new) = (n.to_string(), (n + 1).to_string());
        let guard = Expected::Version(last);
        last = scratch
            .local
            .replace(&target, &old, &new, guard)
            .await
            .unwrap()
            .version;
    }
    assert_eq!(scratch.host("a"), "20");
}

#[tokio::test]
async fn w5_modes_are_kept_and_new_files_take_the_umask() {
    let scratch = Scratch::new();
    for mode in [0o755, 0o600, 0o640, 0o4755, 0o2750, 0o1644] {
        scratch.put("a", "1");
        fs::set_permissions(scratch.path("a"), fs::Permissions::from_mode(mode)).unwrap();
        scratch.edit("a", "1", "2").await.unwrap();
        assert_eq!(scratch.mode("a"), mode, "{mode:o}");
    }
    fs::write(scratch.path("twin"), "").unwrap();
    scratch.write("new", "", Expected::Absent).await.unwrap();
    assert_eq!(scratch.mode("new"), scratch.mode("twin"));
}

#[tokio::test]
async fn b134_a_file_without_write_permission_is_refused_whatever_the_uid() {
    let scratch = Scratch::new();
    scratch.put("ro.txt", "keep\n");
    fs::set_permissions(scratch.path("ro.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(
        code(scratch.edit("ro.txt", "keep", "gone").await),
        ErrorCode::ReadOnly
    );
    assert_eq!(
        code(scratch.write("ro.txt", "x", Expected::Any).await),
        ErrorCode::ReadOnly
    );
    let target = scratch.target("ro.txt").await;
    let removed = scratch
        .local
        .remove(&target, RemoveOptions::default())
        .await;
    assert_eq!(code(removed), ErrorCode::ReadOnly);
    assert_eq!(scratch.host("ro.txt"), "keep\n");
}

#[tokio::test]
async fn b117_and_b118_a_hard_link_is_broken_and_it_is_said() {
    let scratch = Scratch::new();
    fs::hard_link(scratch.outside.join("secret"), scratch.path("h")).unwrap();
    let outcome = scratch.write("h", "evil\n", Expected::Any).await.unwrap();
    assert_eq!(outcome.notes, [Note::HardLinkBroken { links: 2 }]);
    scratch.check_outside();
    scratch.put("s.md", "alpha\n");
    fs::hard_link(scratch.path("s.md"), scratch.path("d.md")).unwrap();
    let target = scratch.target("s.md").await;
    let outcome = scratch
        .local
        .replace(&target, "alpha", "beta", Expected::Any)
        .await
        .unwrap();
    assert_eq!(outcome.notes, [Note::HardLinkBroken { links: 2 }]);
    assert_eq!(scratch.host("d.md"), "alpha\n");
}

#[tokio::test]
async fn b126_the_longest_names_can_be_written_and_edited() {
    let scratch = Scratch::new();
    for length in [250, 255] {
        let name = "n".repeat(length);
        scratch.write(&name, "1", Expected::Absent).await.unwrap();
        scratch.edit(&name, "1", "2").await.unwrap();
        assert_eq!(scratch.host(&name), "2");
    }
    let long = "n".repeat(256);
    assert_eq!(
        code(scratch.write(&long, "", Expected::Any).await),
        ErrorCode::InvalidPath
    );
    let deep = "abcdefghij0123456789/".repeat(240) + "f";
    assert_eq!(
        code(scratch.write(&deep, "", Expected::Any).await),
        ErrorCode::InvalidPath
    );
    let deepest = "d/".repeat(500) + "f";
    scratch
        .write(&deepest, "1", Expected::Absent)
        .await
        .unwrap();
    scratch.edit(&deepest, "1", "2").await.unwrap();
}

#[tokio::test]
async fn b215_a_folder_in_a_files_place_is_left_alone() {
    let scratch = Scratch::new();
    scratch.put("p", "file\n");
    let target = scratch.target("p").await;
    fs::remove_file(scratch.path("p")).unwrap();
    scratch.put("p/x", "1");
    let guards = [Expected::Any, Expected::Absent, version("file\n")];
    for guard in guards {
        let written = scratch
            .local
            .write_all(&target, Bytes::from("y"), guard.clone())
            .await;
        assert_eq!(code(written), ErrorCode::NotRegularFile, "{guard:?}");
    }
    let edited = scratch
        .local
        .replace(&target, "file", "y", version("file\n"))
        .await;
    assert_eq!(code(edited), ErrorCode::NotRegularFile);
    assert_eq!(scratch.host("p/x"), "1");
    let inner = scratch.target("p/n").await;
    fs::remove_dir_all(scratch.path("p")).unwrap();
    scratch.put("p", "");
    let written = scratch
        .local
        .write_all(&inner, Bytes::new(), Expected::Any)
        .await;
    assert_eq!(code(written), ErrorCode::NotDirectory);
}

#[tokio::test]
async fn e1_and_e2_the_guard_comes_first() {
    let scratch = Scratch::new();
    scratch.put("a", "x x\n");
    let target = scratch.target("a").await;
    let stale = scratch
        .local
        .replace(&target, "none", "y", version("other"))
        .await;
    assert_eq!(code(stale), ErrorCode::StaleVersion);
    let none = scratch.target("none").await;
    let edited = scratch.local.replace(&none, "a", "b", version("x")).await;
    assert_eq!(code(edited), ErrorCode::StaleVersion);
    assert_eq!(
        code(scratch.edit("none", "a", "b").await),
        ErrorCode::NotFound
    );
    assert_eq!(
        code(scratch.edit("a", "x", "y").await),
        ErrorCode::AmbiguousEdit
    );
}

#[tokio::test]
async fn a_withdrawn_call_changes_nothing() {
    let scratch = Scratch::new();
    scratch.put("a", "1");
    let context = CallContext::default();
    context.cancellation.cancel();
    let target = scratch.target("a").await;
    let options = WriteOptions::expecting(Expected::Any).in_context(&context);
    let written = scratch
        .local
        .write(&target, Bytes::from("2"), options)
        .await;
    assert_eq!(code(written), ErrorCode::Aborted);
    assert_eq!(scratch.host("a"), "1");
    assert_eq!(scratch.host_names("."), ["a"]);
}

#[tokio::test]
async fn removal_is_guarded_and_takes_files_links_and_empty_folders() {
    let scratch = Scratch::new();
    scratch.put("a", "1");
    scratch.put("d/f", "1");
    let remove = async |path: &str, expected: Expected| {
        let target = scratch.entry(path).await;
        let options = RemoveOptions {
            expected,
            ..RemoveOptions::default()
        };
        scratch.local.remove(&target, options).await
    };
    assert_eq!(
        code(remove("a", version("2")).await),
        ErrorCode::StaleVersion
    );
    assert_eq!(
        code(remove("a", Expected::Absent).await),
        ErrorCode::InvalidArgument
    );
    assert_eq!(code(remove("d", Expected::Any).await), ErrorCode::NotEmpty);
    assert_eq!(
        code(remove(".", Expected::Any).await),
        ErrorCode::InvalidArgument
    );
    assert_eq!(
        code(remove("none", Expected::Any).await),
        ErrorCode::NotFound
    );
    assert_eq!(
        code(remove("none", version("1")).await),
        ErrorCode::StaleVersion
    );
    remove("a", version("1")).await.unwrap();
    remove("d/f", Expected::Any).await.unwrap();
    remove("d", Expected::Any).await.unwrap();
    assert!(scratch.host_names(".").is_empty());
}

async fn transfer(
    scratch: &Scratch,
    operation: Operation,
    (from, to): (&str, &str),
    (source, destination): (Expected, Expected),
) -> Result<seamfs_core::TransferOutcome> {
    let options = TransferOptions {
        source,
        destination,
        ..TransferOptions::default()
    };
    let (from, to) = (scratch.entry(from).await, scratch.entry(to).await);
    match operation {
        Operation::Copy => scratch.local.copy(&from, &to, options).await,
        _ => scratch.local.rename(&from, &to, options).await,
    }
}

#[tokio::test]
async fn b029_nothing_is_clobbered_unless_asked_under_the_right_guard() {
    use Expected::{Absent, Any};
    let scratch = Scratch::new();
    scratch.put("from.txt", "F\n");
    scratch.put("to.txt", "T\n");
    let names = ("from.txt", "to.txt");
    for operation in [Operation::Rename, Operation::Copy] {
        let check = async |guards| code(transfer(&scratch, operation, names, guards).await);
        assert_eq!(check((Any, Absent)).await, ErrorCode::AlreadyExists);
        let refused = transfer(&scratch, operation, names, (Any, Absent))
            .await
            .unwrap_err();
        assert!(refused.path().unwrap().ends_with("/to.txt"), "{refused}");
        assert_eq!(
            check((Any, version("other"))).await,
            ErrorCode::StaleVersion
        );
        assert_eq!(
            check((version("other"), Any)).await,
            ErrorCode::StaleVersion
        );
        assert_eq!(
            (scratch.host("from.txt"), scratch.host("to.txt")),
            ("F\n".into(), "T\n".into())
        );
    }
    let copied = transfer(&scratch, Operation::Copy, names, (Any, version("T\n")))
        .await
        .unwrap();
    assert_eq!(
        (copied.created, copied.version),
        (false, Some(Version::of(b"F\n")))
    );
    assert_eq!(
        (scratch.host("from.txt"), scratch.host("to.txt")),
        ("F\n".into(), "F\n".into())
    );
    let moved = transfer(&scratch, Operation::Rename, names, (version("F\n"), Any))
        .await
        .unwrap();
    assert!(!moved.created);
    assert_eq!(scratch.host_names("."), ["to.txt"]);
}

#[tokio::test]
async fn b172_transfers_create_missing_folders_and_leave_none_when_they_fail() {
    use Expected::{Absent, Any};
    let scratch = Scratch::new();
    scratch.put("a.txt", "1\n");
    fs::set_permissions(scratch.path("a.txt"), fs::Permissions::from_mode(0o751)).unwrap();
    transfer(
        &scratch,
        Operation::Copy,
        ("a.txt", "n1/n2/b.txt"),
        (Any, Absent),
    )
    .await
    .unwrap();
    assert_eq!(scratch.mode("n1/n2/b.txt"), 0o751);
    transfer(
        &scratch,
        Operation::Rename,
        ("a.txt", "m1/c.txt"),
        (Any, Absent),
    )
    .await
    .unwrap();
    assert_eq!(scratch.host("m1/c.txt"), "1\n");
    for operation in [Operation::Rename, Operation::Copy] {
        let failed = transfer(&scratch, operation, ("none", "x/y"), (Any, Absent)).await;
        assert_eq!(code(failed), ErrorCode::NotFound);
    }
    assert_eq!(scratch.host_names("."), ["m1", "n1"]);
}

#[tokio::test]
async fn renames_know_folders_and_hard_links() {
    use Expected::{Absent, Any};
    let scratch = Scratch::new();
    scratch.put("d/f", "1");
    scratch.put("e/g", "2");
    scratch.put("h", "3");
    fs::hard_link(scratch.path("h"), scratch.path("i")).unwrap();
    let rename = async |from, to, guard| {
        transfer(&scratch, Operation::Rename, (from, to), (Any, guard)).await
    };
    assert_eq!(
        code(rename("d", "d/x", Absent).await),
        ErrorCode::InvalidArgument
    );
    assert_eq!(code(rename("d", "e", Any).await), ErrorCode::AlreadyExists);
    assert_eq!(code(rename("h", "e", Any).await), ErrorCode::NotRegularFile);
    assert_eq!(code(rename("d", "h", Any).await), ErrorCode::NotDirectory);
    assert_eq!(rename("d", "n/d", Absent).await.unwrap().version, None);
    assert_eq!(scratch.host("n/d/f"), "1");
    rename("h", "i", Any).await.unwrap();
    assert_eq!(scratch.host_names("."), ["e", "i", "n"]);
    let same = rename("i", "i", Absent).await.unwrap();
    assert!(!same.created);
    let copied = transfer(&scratch, Operation::Copy, ("e", "z"), (Any, Absent)).await;
    assert_eq!(code(copied), ErrorCode::NotRegularFile);
}

#[tokio::test]
async fn folders_are_created_with_what_is_missing_above_them() {
    let scratch = Scratch::new();
    scratch.put("f", "");
    let create = async |path: &str| {
        let target = scratch.target(path).await;
        scratch
            .local
            .create_dir(&target, CreateDirOptions::default())
            .await
    };
    create("a/b/c").await.unwrap();
    create("a/b/c").await.unwrap();
    create(".").await.unwrap();
    assert_eq!(code(create("f").await), ErrorCode::AlreadyExists);
    assert!(scratch.path("a/b/c").is_dir());
}
