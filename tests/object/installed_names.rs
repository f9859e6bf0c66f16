//! Names on servers of other projects, where they are installed.

use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt};
use seamfs::core::{FileKind, RemoveOptions, TransferOptions};
use seamfs::{ErrorCode, Expected, FileSystem, FileSystemExt};

use super::names::ODD;
use crate::servers::{Installed, Kind};

/// The prefix of the workspace, as a URL spells it and as its keys begin.
const PREFIX: (&str, &str) = ("odd%20n%C3%A4me%23%3F", "odd näme#?");

async fn raw(client: &dyn ObjectStore, name: &str) -> Option<String> {
    let key = Key::parse(format!("{}/{name}", PREFIX.1)).expect("it is a key");
    let found = client.get(&key).await.ok()?;
    let bytes = found.bytes().await.expect("the body arrives");
    Some(String::from_utf8(bytes.to_vec()).expect("it is text"))
}

/// Takes a file of this name through every operation, watched by a client that knows nothing of us.
async fn round_trip(server: &Installed, name: &str) {
    let (fs, client) = (server.connect(PREFIX.0, &[]), server.client());
    let file = fs.target(name).await.unwrap();
    let moved = fs.target(&format!("moved/{name}")).await;
    let created = fs.write_all(&file, "1".into(), Expected::Absent).await;
    let created = created.unwrap_or_else(|error| panic!("{name:?}: {error}"));
    let guard = Expected::Version(created.version);
    fs.replace(&file, "1", "2", guard).await.unwrap();
    assert_eq!(raw(&*client, name).await.as_deref(), Some("2"), "{name:?}");
    assert_eq!(fs.read_all(&file).await.unwrap().bytes, "2", "{name:?}");
    let found = fs.stat(&file, Default::default()).await.unwrap().unwrap();
    assert_eq!((found.kind, found.size), (FileKind::File, Some(1)));
    let folder = match name.rsplit_once('/') {
        Some((folder, _)) => folder,
        None => "/",
    };
    let listed = fs.list_all(&fs.target(folder).await.unwrap()).await;
    let last = name.rsplit('/').next().unwrap();
    let listed = listed
        .unwrap()
        .iter()
        .any(|entry| entry.name.as_str() == last);
    assert!(listed, "{name:?} is not listed");
    // A path that is as long as can be has no room for a longer one.
    if let Ok(moved) = moved {
        let options = TransferOptions::default;
        fs.rename(&file, &moved, options()).await.unwrap();
        assert_eq!(raw(&*client, name).await, None, "{name:?}");
        let there = raw(&*client, &format!("moved/{name}")).await;
        assert_eq!(there.as_deref(), Some("2"), "{name:?}");
        fs.copy(&moved, &file, options()).await.unwrap();
        fs.remove(&moved, RemoveOptions::default()).await.unwrap();
    }
    assert_eq!(raw(&*client, name).await.as_deref(), Some("2"), "{name:?}");
    fs.remove(&file, RemoveOptions::default()).await.unwrap();
    assert_eq!(raw(&*client, name).await, None, "{name:?}");
    let gone = fs.read_all(&file).await.unwrap_err();
    assert_eq!(gone.code(), ErrorCode::NotFound, "{name:?}");
}

/// Returns a path of components of this many bytes that is as long as a path may be here.
fn longest(component: usize) -> String {
    let most = 1024 - PREFIX.1.len() - 1;
    let mut path = String::new();
    while path.len() < most {
        let left = most - path.len();
        let next = if left <= component + 1 {
            left
        } else {
            component
        };
        path.push_str(&"n".repeat(next.min(255)));
        if path.len() < most {
            path.push('/');
        }
    }
    path
}

async fn names_round_trip(kind: Kind) {
    let Some(server) = kind.share().await else {
        return;
    };
    let (long, wide) = ("n".repeat(255), "é".repeat(127));
    let (longest, deepest) = (longest(200), longest(9));
    let extreme = [&*long, &wide, &longest, &deepest];
    for name in ODD.iter().chain(&extreme) {
        round_trip(&server, name).await;
    }
    eprintln!(
        "{}: {} names round trip",
        kind.name(),
        ODD.len() + extreme.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn b161_names_of_every_kind_round_trip_on_seaweedfs() {
    names_round_trip(Kind::SeaweedFs).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b161_names_of_every_kind_round_trip_on_azurite() {
    names_round_trip(Kind::Azurite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b164_keys_that_no_path_addresses_hide_nothing_on_azurite() {
    let Some(server) = Kind::Azurite.share().await else {
        return;
    };
    for key in ["d//x", "d/ok", "d/sub/y", "/lead", "dir/", "tab\tbed"] {
        server.put_foreign(&format!("foreign/{key}"), "x").await;
    }
    let fs = server.connect("foreign", &[]);
    let shown = async |path: &str| {
        let entries = fs.list_all(&fs.target(path).await.unwrap()).await.unwrap();
        let show = |entry: &seamfs::core::Entry| {
            let mark = if entry.name.is_addressable() { "" } else { "!" };
            format!("{mark}{}", entry.name)
        };
        entries.iter().map(show).collect::<Vec<_>>()
    };
    assert_eq!(shown("d").await, ["!\\x2F", "ok", "sub"]);
    assert_eq!(shown("/").await, ["!\\x2F", "d", "dir", "!tab\\x09bed"]);
}

/// Prefixes end where a name does: `p` is not `p2` (B157).
#[tokio::test(flavor = "multi_thread")]
async fn b157_a_prefix_shows_nothing_of_one_that_begins_alike() {
    for kind in Kind::ALL {
        let Some(server) = kind.share().await else {
            continue;
        };
        let (one, two) = (server.connect("p", &[]), server.connect("p2", &[]));
        let file = two.target("x").await.unwrap();
        two.write_all(&file, "1".into(), Expected::Any)
            .await
            .unwrap();
        let root = one.target("/").await.unwrap();
        assert!(one.list_all(&root).await.unwrap().is_empty());
        assert_eq!(
            one.read_all(&file).await.unwrap_err().code(),
            ErrorCode::NotFound
        );
    }
}

/// A lease comes as a condition that did not hold, and is told apart from one.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_under_a_lease_is_busy_and_not_stale() {
    let Some(server) = Kind::Azurite.share().await else {
        return;
    };
    let fs = server.connect("leased", &[("attempts", "8")]);
    let file = fs.target("a").await.unwrap();
    let seen = fs
        .write_all(&file, "1".into(), Expected::Absent)
        .await
        .unwrap();
    server.lease("leased/a").await;
    let guard = Expected::Version(seen.version);
    let refused = [
        fs.write_all(&file, "2".into(), Expected::Any)
            .await
            .map(drop),
        fs.write_all(&file, "2".into(), guard.clone())
            .await
            .map(drop),
        fs.replace(&file, "1", "2", guard.clone()).await.map(drop),
        fs.replace(&file, "1", "2", Expected::Any).await.map(drop),
        fs.remove(&file, RemoveOptions::default()).await,
    ];
    for answer in refused {
        let error = answer.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Busy, "{error}");
        assert!(error.message().contains("lease"), "{error}");
    }
    assert_eq!(fs.read_all(&file).await.unwrap().bytes, "1");
    server.break_lease("leased/a").await;
    fs.replace(&file, "1", "2", guard).await.unwrap();
}
