//! Links: followed within the root, refused out of it, and never replaced.

use super::*;
use seamfs_core::{FileKind, RemoveOptions, StatOptions};

#[tokio::test]
async fn b101_and_b103_a_link_within_the_root_is_written_through_and_stays() {
    let scratch = Scratch::new();
    scratch.put("real/conf", "old\n");
    scratch.link("conf", "real/conf");
    scratch.edit("conf", "old", "new").await.unwrap();
    scratch
        .write("conf", "newer\n", Expected::Any)
        .await
        .unwrap();
    assert!(
        fs::symlink_metadata(scratch.path("conf"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(scratch.host("real/conf"), "newer\n");
    let (link, real) = (
        scratch.target("conf").await,
        scratch.target("real/conf").await,
    );
    assert_eq!(link, real);
}

#[tokio::test]
async fn p5_spellings_of_one_file_share_its_key_and_p3_it_outlives_creation() {
    let scratch = Scratch::new();
    scratch.put("d/e/f", "");
    scratch.link("l", "d");
    scratch.link("m", "./l/e/../e/");
    scratch.link("abs", scratch.path("d/e"));
    let key = scratch.target("d/e/f").await;
    for path in ["l/e/f", "m/f", "abs/f", "d//e/./f", "d/x/../e/f"] {
        assert_eq!(scratch.target(path).await, key, "{path}");
    }
    let before = scratch.target("m/new/file").await;
    assert_eq!(before, scratch.target("d/e/new/file").await);
    scratch
        .write("m/new/file", "", Expected::Absent)
        .await
        .unwrap();
    assert_eq!(before, scratch.target("l/e/new/file").await);
    assert!(scratch.path("d/e/new/file").exists());
}

#[tokio::test]
async fn links_climb_physically_and_not_out() {
    let scratch = Scratch::new();
    scratch.put("a/b/f", "deep");
    scratch.put("x/f", "top");
    scratch.link("x/l", "../a/b");
    scratch.link("x/up", "l/../../x/f");
    assert_eq!(scratch.read("x/up").await.unwrap(), "top");
    scratch.link("x/out", "l/../../../data-evil/secret");
    assert_eq!(code(scratch.read("x/out").await), ErrorCode::SandboxDenied);
    scratch.link("x/out-and-in", "../../data/x/f");
    assert_eq!(
        code(scratch.read("x/out-and-in").await),
        ErrorCode::SandboxDenied
    );
}

#[tokio::test]
async fn b104_and_b106_links_that_lead_out_are_refused_by_every_operation() {
    let scratch = Scratch::new();
    scratch.link("leak", scratch.outside.join("secret"));
    scratch.link("leak2", "../data-evil/secret");
    scratch.link("dir", "../data-evil");
    scratch.link("sub", &scratch.outside);
    scratch.link("chain", "dir");
    scratch.link("dangling", "../data-evil/none");
    scratch.link("sibling", "../data-evil/../data/x");
    scratch.link("slash", "../data-evil/");
    for path in [
        "leak",
        "leak2",
        "dir/secret",
        "dir/new",
        "sub/deep/new.txt",
        "sub/n.txt",
        "chain/secret",
        "dangling",
        "sibling",
        "slash/secret",
        "dir/",
        "sub",
        "slash",
    ] {
        let error = scratch.local.target(path).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::SandboxDenied, "{path}");
        assert!(error.path().is_some(), "the link is named: {error}");
        check_discreet(&scratch, &error);
    }
    scratch.check_outside();
    let leak = scratch.entry("leak").await;
    scratch
        .local
        .remove(&leak, RemoveOptions::default())
        .await
        .unwrap();
    assert!(fs::symlink_metadata(scratch.path("leak")).is_err());
    scratch.check_outside();
}

#[tokio::test]
async fn r1_a_dangling_link_within_is_not_found_and_never_written_through() {
    let scratch = Scratch::new();
    scratch.link("l", "none");
    scratch.link("m", "l");
    scratch.link("loop", "loop");
    scratch.link(".#ok.txt", "user@host.123:456");
    scratch.put("f", "");
    scratch.link("through", "f/");
    for path in ["l", "m", "loop", ".#ok.txt"] {
        assert_eq!(
            code(scratch.read(path).await),
            ErrorCode::NotFound,
            "{path}"
        );
        let refused = scratch.write(path, "x", Expected::Any).await;
        assert_eq!(code(refused), ErrorCode::NotRegularFile, "{path}");
        assert_eq!(
            code(scratch.edit(path, "a", "b").await),
            ErrorCode::NotRegularFile,
            "{path}"
        );
        let target = scratch.target(path).await;
        assert_eq!(
            scratch
                .local
                .stat(&target, StatOptions::default())
                .await
                .unwrap(),
            None
        );
        let itself = scratch
            .local
            .lstat(&target, StatOptions::default())
            .await
            .unwrap();
        assert_eq!(itself.unwrap().kind, FileKind::Symlink);
    }
    assert_eq!(code(scratch.read("l/x").await), ErrorCode::NotFound);
    assert_eq!(
        code(scratch.write("l/x", "", Expected::Any).await),
        ErrorCode::NotDirectory
    );
    assert_eq!(code(scratch.read("through").await), ErrorCode::NotDirectory);
    assert!(!scratch.path("none").exists());
}

#[tokio::test]
async fn b108_a_trailing_slash_follows_no_link_that_removal_would_not() {
    let scratch = Scratch::new();
    scratch.put("d/f", "x");
    scratch.link("l", "d/");
    scratch.link("o", &scratch.outside);
    assert_eq!(scratch.names("l/").await, ["f"]);
    assert_eq!(
        code(scratch.local.target("o/").await),
        ErrorCode::SandboxDenied
    );
    assert_eq!(code(scratch.read("o/x").await), ErrorCode::SandboxDenied);
    assert_eq!(scratch.target("l/").await, scratch.target("l").await);
    let link = scratch.entry("l/").await;
    scratch
        .local
        .remove(&link, RemoveOptions::default())
        .await
        .unwrap();
    assert_eq!(scratch.host("d/f"), "x");
}

#[tokio::test]
async fn the_roots_own_magic_links_lead_nowhere_outside() {
    let scratch = Scratch::new();
    scratch.link("self", "/proc/self/root");
    scratch.link("cwd", "/proc/self/cwd/x");
    for path in ["self/etc/passwd", "self", "cwd"] {
        assert_eq!(code(scratch.read(path).await), ErrorCode::SandboxDenied);
    }
}

#[tokio::test]
async fn a_link_swapped_in_after_resolving_is_an_error() {
    let scratch = Scratch::new();
    scratch.put("d/f", "1");
    scratch.put("e/f", "2");
    let target = scratch.target("d/f").await;
    fs::remove_file(scratch.path("d/f")).unwrap();
    scratch.link("d/f", "../e/f");
    assert_eq!(
        code(scratch.local.read_all(&target).await),
        ErrorCode::NotRegularFile
    );
    let written = scratch
        .local
        .write_all(&target, Bytes::new(), Expected::Any)
        .await;
    assert_eq!(code(written), ErrorCode::NotRegularFile);
    fs::remove_dir_all(scratch.path("d")).unwrap();
    scratch.link("d", "e");
    assert_eq!(
        code(scratch.local.read_all(&target).await),
        ErrorCode::NotDirectory
    );
    let written = scratch
        .local
        .write_all(&target, Bytes::new(), Expected::Any)
        .await;
    assert_eq!(code(written), ErrorCode::NotDirectory);
    assert_eq!(scratch.host("e/f"), "2");
}
