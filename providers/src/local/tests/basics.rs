//! Opening, reading, looking and listing.

use super::*;
use seamfs_core::{Body, FileKind, ReadOptions, StatOptions, Version};

#[test]
fn a_root_must_be_an_existing_readable_folder() {
    let parent = TempDir::new().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(
        code(Local::open(parent.path().join("none"))),
        ErrorCode::NotFound
    );
    assert_eq!(code(Local::open(&file)), ErrorCode::NotDirectory);
    assert_eq!(code(Local::open("")), ErrorCode::InvalidPath);
    let odd = parent.path().join(std::ffi::OsStr::new("x"));
    fs::create_dir(&odd).unwrap();
    assert!(Local::open(odd).is_ok());
}

#[test]
fn a_root_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let parent = TempDir::new().unwrap();
    let odd = parent.path().join(std::ffi::OsStr::from_bytes(b"\xff"));
    fs::create_dir(&odd).unwrap();
    assert_eq!(code(Local::open(odd)), ErrorCode::InvalidPath);
}

#[tokio::test]
async fn a_small_file_is_read_whole_with_the_version_of_its_bytes() {
    let scratch = Scratch::new();
    scratch.put("a", "one\n");
    let target = scratch.target("a").await;
    let outcome = scratch
        .local
        .read(&target, ReadOptions::default())
        .await
        .unwrap();
    assert!(matches!(&outcome.body, Body::Whole { .. }));
    let snapshot = outcome.body.collect().await.unwrap();
    assert_eq!(snapshot.version, Version::of(b"one\n"));
}

#[tokio::test]
async fn r3_a_large_file_streams_with_the_version_of_the_bytes_delivered() {
    let scratch = Scratch::new();
    let text = "0123456789abcdef".repeat(200_000);
    scratch.put("big", &text);
    let target = scratch.target("big").await;
    let outcome = scratch
        .local
        .read(&target, ReadOptions::default())
        .await
        .unwrap();
    assert!(matches!(&outcome.body, Body::Stream(_)));
    let snapshot = outcome.body.collect().await.unwrap();
    assert_eq!(snapshot.bytes, text.as_bytes());
    assert_eq!(snapshot.version, Version::of(text.as_bytes()));
}

#[tokio::test]
async fn r3_the_cap_is_inclusive_and_asked_before_buffering() {
    let scratch = Scratch::new();
    scratch.put("a", "12345");
    let target = scratch.target("a").await;
    let capped = |max_bytes| ReadOptions {
        max_bytes: Some(max_bytes),
        ..ReadOptions::default()
    };
    assert!(scratch.local.read(&target, capped(5)).await.is_ok());
    let error = scratch.local.read(&target, capped(4)).await.unwrap_err();
    assert_eq!(
        (error.code(), error.details().limit),
        (ErrorCode::TooLarge, Some(4))
    );
}

#[tokio::test]
async fn a_range_is_cut_at_the_end_and_has_no_version() {
    let scratch = Scratch::new();
    scratch.put("a", "0123456789");
    let target = scratch.target("a").await;
    for (range, expected) in [
        (2..5, "234"),
        (8..20, "89"),
        (10..12, ""),
        (50..60, ""),
        (3..3, ""),
    ] {
        let options = ReadOptions {
            range: Some(range),
            ..ReadOptions::default()
        };
        let mut body = scratch.local.read(&target, options).await.unwrap().body;
        assert!(body.version().is_none());
        let bytes = body.next().await.unwrap().unwrap_or_default();
        assert_eq!(bytes, expected.as_bytes());
    }
}

#[tokio::test]
async fn r1_what_is_no_file_is_refused_without_opening_it() {
    let scratch = Scratch::new();
    scratch.put("d/f", "");
    let fifo = scratch.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scratch.path("socket")).unwrap();
    #[cfg(target_os = "linux")]
    let opened = {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let opened = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        add_watch(&opened, &fifo, WatchFlags::OPEN).unwrap();
        opened
    };
    for name in ["d", "fifo", "socket", "."] {
        assert_eq!(
            code(scratch.read(name).await),
            ErrorCode::NotRegularFile,
            "{name}"
        );
        let refused = scratch.write(name, "x", Expected::Any).await;
        assert_eq!(code(refused), ErrorCode::NotRegularFile, "{name}");
        assert_eq!(
            code(scratch.edit(name, "a", "b").await),
            ErrorCode::NotRegularFile,
            "{name}"
        );
    }
    #[cfg(target_os = "linux")]
    assert_eq!(
        rustix::io::read(&opened, &mut [0; 256]),
        Err(rustix::io::Errno::AGAIN),
        "the FIFO was opened"
    );
    assert_eq!(code(scratch.read("none").await), ErrorCode::NotFound);
    assert_eq!(code(scratch.read("none/none").await), ErrorCode::NotFound);
    let target = scratch.target("fifo").await;
    let found = scratch
        .local
        .stat(&target, StatOptions::default())
        .await
        .unwrap();
    assert_eq!(found.unwrap().kind, FileKind::Other);
}

#[tokio::test]
async fn p4_a_path_through_a_file_is_no_folder_and_creates_nothing() {
    let scratch = Scratch::new();
    scratch.put("f", "x");
    for path in ["f/child", "f/a/b"] {
        assert_eq!(
            code(scratch.write(path, "y", Expected::Any).await),
            ErrorCode::NotDirectory
        );
        assert_eq!(code(scratch.read(path).await), ErrorCode::NotDirectory);
    }
    assert_eq!(scratch.host("f"), "x");
}

#[tokio::test]
async fn p2b_a_trailing_slash_names_a_folder() {
    let scratch = Scratch::new();
    scratch.put("f", "x");
    scratch.put("d/g", "x");
    assert_eq!(code(scratch.read("f/").await), ErrorCode::InvalidPath);
    assert_eq!(
        code(scratch.write("new/", "x", Expected::Any).await),
        ErrorCode::InvalidPath
    );
    assert_eq!(code(scratch.read("d/").await), ErrorCode::NotRegularFile);
    assert!(!scratch.path("new").exists());
}

#[tokio::test]
async fn r5_and_b121_children_are_listed_in_byte_order_whatever_a_link_among_them_does() {
    let scratch = Scratch::new();
    for name in ["b", "a", "B", "é", "a.txt", "sub/x"] {
        scratch.put(name, "12");
    }
    scratch.link("in", "a");
    scratch.link("nowhere", "none");
    scratch.link("loop", "loop");
    scratch.link(".#ok.txt", "user@host.123:456");
    scratch.link("out", &scratch.outside);
    let target = scratch.target(".").await;
    let entries = scratch.local.list_all(&target).await.unwrap();
    let seen: Vec<_> = entries
        .iter()
        .map(|e| (e.name.as_str(), e.kind()))
        .collect();
    use FileKind::{Directory, File, Other, Symlink};
    assert_eq!(
        seen,
        [
            (".#ok.txt", Other),
            ("B", File),
            ("a", File),
            ("a.txt", File),
            ("b", File),
            ("in", Symlink),
            ("loop", Other),
            ("nowhere", Other),
            ("out", Other),
            ("sub", Directory),
            ("é", File),
        ]
    );
    assert_eq!(entries[2].metadata.as_ref().unwrap().size, Some(2));
    let file = scratch.target("a").await;
    assert_eq!(
        code(scratch.local.list_all(&file).await),
        ErrorCode::NotDirectory
    );
    let none = scratch.target("none").await;
    assert_eq!(
        code(scratch.local.list_all(&none).await),
        ErrorCode::NotFound
    );
}

#[tokio::test]
async fn p2c_names_that_no_path_can_hold_are_listed_escaped() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::new();
    for name in [&b"\xff"[..], b"a\nb", b"c\\d"] {
        fs::write(scratch.root.join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
    }
    assert_eq!(scratch.names(".").await, ["a\\x0Ab", "c\\x5Cd", "\\xFF"]);
}

#[tokio::test]
async fn b112_names_with_dots_are_names() {
    let scratch = Scratch::new();
    for name in ["pages/[...slug].ts", "a..b.txt", "..hidden", "x/..."] {
        scratch.put(name, "a\n");
        scratch.edit(name, "a", "b").await.unwrap();
        assert_eq!(scratch.read(name).await.unwrap(), "b\n");
    }
}

#[tokio::test]
async fn b110_and_b113_nothing_beside_or_above_the_root_is_reached() {
    let scratch = Scratch::new();
    scratch.put("foo/x", "");
    let evil = scratch.outside.join("secret");
    let url = format!("file://{}", evil.display());
    for path in [
        "../data-evil/secret",
        evil.to_str().unwrap(),
        &url,
        "foo/../..",
        "..",
    ] {
        let error = scratch.read(path).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::SandboxDenied, "{path}");
        check_discreet(&scratch, &error);
    }
    assert_eq!(scratch.names("foo/..").await, ["foo"]);
    let own = format!("file://{}/foo/x", scratch.root.display());
    assert_eq!(scratch.read(&own).await.unwrap(), "");
}

#[tokio::test]
async fn a_virtual_root_shows_nothing_of_the_host() {
    let options = LocalOptions::default().display(super::super::DisplayRoot::Virtual);
    let scratch = Scratch::with(options);
    scratch.put("a/b", "x");
    let target = scratch.target("/a/b").await;
    assert_eq!(target.display(), "/a/b");
    assert_eq!(scratch.local.to_string(), "/");
    assert!(!format!("{:?}", scratch.local).contains("data"));
    let above = scratch.root.to_str().unwrap();
    assert_eq!(
        code(scratch.read(&format!("{above}/a/b")).await),
        ErrorCode::NotFound
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_work_on_a_multi_thread_runtime() {
    let scratch = Scratch::new();
    scratch.write("a/b", "1", Expected::Absent).await.unwrap();
    scratch.edit("a/b", "1", "2").await.unwrap();
    assert_eq!(scratch.read("a/b").await.unwrap(), "2");
}

#[test]
fn calls_work_without_a_runtime() {
    let scratch = Scratch::new();
    futures::executor::block_on(async {
        scratch.write("a", "1", Expected::Absent).await.unwrap();
        assert_eq!(scratch.read("a").await.unwrap(), "1");
    });
}
