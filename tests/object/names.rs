//! Names: what round-trips, what is only shown, and what other tools leave behind.

use seamfs::core::{Entry, FileKind, Purpose, RemoveOptions, ResolveOptions};
use seamfs::{ErrorCode, Expected, FileSystem, FileSystemExt};

use super::{Place, Protocol, ROOT};

async fn shown(place: &Place, path: &str) -> Vec<String> {
    let target = place.fs.target(path).await.unwrap();
    let entries = place.fs.list_all(&target).await.unwrap();
    let show = |entry: &Entry| {
        let slash = if entry.kind() == FileKind::Directory {
            "/"
        } else {
            ""
        };
        let mark = if entry.name.is_addressable() { "" } else { "!" };
        format!("{mark}{}{slash}", entry.name)
    };
    entries.iter().map(show).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn b164_keys_that_no_path_addresses_are_shown_and_hide_nothing() {
    for protocol in Protocol::ALL {
        let place = Place::new(protocol).await;
        for path in [
            "d//x", "d/ok", "d/./y", "d/../z", "/lead", "a\u{1}b", "dir/",
        ] {
            place.put(path, "x");
        }
        assert_eq!(
            shown(&place, "d").await,
            ["!\\x2F/", "!./", "!../", "ok"],
            "{protocol:?}"
        );
        let root = shown(&place, "/").await;
        assert_eq!(root, ["!\\x2F/", "!a\\x01b", "d/", "dir/"], "{protocol:?}");
        assert!(shown(&place, "dir").await.is_empty());
        let folder = place.fs.target("d").await.unwrap();
        let moved = place.fs.target("e").await.unwrap();
        let refused = place
            .fs
            .rename(&folder, &moved, Default::default())
            .await
            .unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Unsupported);
        let marked = place.fs.target("dir").await.unwrap();
        let kept = place
            .fs
            .remove(&marked, RemoveOptions::default())
            .await
            .unwrap_err();
        assert_eq!(kept.code(), ErrorCode::Unsupported);
        let keys = place.server.store.keys();
        assert_eq!(keys.len(), 7, "{keys:?}");
    }
}

/// Names that are taken apart, decoded or dropped somewhere, each for a reason of its own.
pub(super) const ODD: [&str; 28] = [
    "~x", "a b", "a+b", "a#b", "a?b", "a&b=c", "a*b", "a|b", "a\"b", "a'b", "a<b>", "é",
    "e\u{301}", "日本", "a:b", "-rf", "@", "#tmp#1", "[foo].ts", "a%20b", "100%", "%2F", "🦀",
    "...", "..a", "x.", " lead", "trail ",
];

#[tokio::test(flavor = "multi_thread")]
async fn b161_names_of_every_kind_round_trip_over_http() {
    let long = "n".repeat(255);
    let deep = format!("{}leaf", "0123456789/".repeat(90));
    let names = [&ODD[..], &[&long, &deep]].concat();
    for protocol in Protocol::ALL {
        let place = Place::new(protocol).await;
        for name in &names {
            let target = place.fs.target(name).await.unwrap();
            place
                .fs
                .write_all(&target, "1".into(), Expected::Absent)
                .await
                .unwrap();
            place
                .fs
                .replace(&target, "1", "2", Expected::Any)
                .await
                .unwrap();
            assert_eq!(
                place.text(name).as_deref(),
                Some("2"),
                "{protocol:?} {name}"
            );
            assert_eq!(place.fs.read_all(&target).await.unwrap().bytes, "2");
        }
        let mut sorted: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        sorted.retain(|name| *name != deep);
        sorted.push("0123456789/".to_owned());
        sorted.sort();
        assert_eq!(shown(&place, "/").await, sorted, "{protocol:?}");
        for name in &names {
            let target = place.fs.target(name).await.unwrap();
            place
                .fs
                .remove(&target, RemoveOptions::default())
                .await
                .unwrap();
        }
        assert!(place.server.store.keys().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b152_a_folder_is_the_same_with_and_without_its_slash() {
    let place = Place::new(Protocol::S3).await;
    place.put("notes/a.txt", "n\n");
    let folder = async |text: &str| {
        let options = ResolveOptions {
            purpose: Purpose::Folder,
            ..ResolveOptions::default()
        };
        let target = place.fs.resolve(text, "", options).await.unwrap();
        let entries = place.fs.list_all(&target).await.unwrap();
        entries
            .iter()
            .map(|entry| entry.name.to_string())
            .collect::<Vec<_>>()
    };
    for text in ["/notes", "/notes/", "notes"] {
        assert_eq!(folder(text).await, ["a.txt"], "{text}");
    }
    let read = place.fs.target("/notes/a.txt/").await.unwrap_err();
    assert_eq!(read.code(), ErrorCode::InvalidPath);
}

#[tokio::test(flavor = "multi_thread")]
async fn b163_doubled_slashes_are_one() {
    let place = Place::new(Protocol::S3).await;
    let target = place.fs.target("a///b").await.unwrap();
    place
        .fs
        .write_all(&target, "1".into(), Expected::Absent)
        .await
        .unwrap();
    assert_eq!(place.server.store.keys(), [format!("{ROOT}/a/b")]);
    assert_eq!(
        place.fs.target("a//b").await.unwrap(),
        place.fs.target("a/b").await.unwrap()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_bucket_is_not_a_missing_file() {
    let server = crate::servers::s3();
    let fs = seamfs::providers::Object::connect("s3://other", server.s3_options()).unwrap();
    let target = fs.target("a").await.unwrap();
    let read = fs.read_all(&target).await.unwrap_err();
    assert_eq!(read.code(), ErrorCode::IoError);
    assert!(read.message().contains("bucket"), "{read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn b175_what_exists_does_not_depend_on_what_was_listed() {
    for protocol in Protocol::ALL {
        let place = Place::new(protocol).await;
        place.put("d/e/f.txt", "x\n");
        let kind = async |path: &str| {
            let options = ResolveOptions {
                purpose: Purpose::Folder,
                ..ResolveOptions::default()
            };
            let target = place.fs.resolve(path, "", options).await.unwrap();
            let found = place.fs.stat(&target, Default::default()).await.unwrap();
            found.map(|found| found.kind)
        };
        let (file, folder) = (Some(FileKind::File), Some(FileKind::Directory));
        // Listings that stop early, fail, or show a part are no knowledge of what is there.
        for listed in ["/", "d", "d/e", "d/e/f.txt", "nothing", "d"] {
            for (path, expected) in [
                ("d/e/f.txt", file),
                ("d/e", folder),
                ("d/e/", folder),
                ("d", folder),
                ("d/", folder),
                ("d/e/f", None),
                ("nothing", None),
            ] {
                assert_eq!(kind(path).await, expected, "{path} before {listed}");
            }
            let target = place.fs.target(listed).await.unwrap();
            let _ = place.fs.list_all(&target).await;
            let _ = place.fs.read_all(&target).await;
        }
        // What comes from outside is there at once, and what goes is gone.
        place.put("d/e/g.txt", "x\n");
        assert_eq!(kind("d/e/g.txt").await, file);
        for name in ["f.txt", "g.txt"] {
            place.server.store.remove(&format!("{ROOT}/d/e/{name}"));
        }
        assert_eq!((kind("d/e").await, kind("d").await), (None, None));
    }
}
