//! What operations cost, counted by the server, below whatever the client retries.

use std::time::Duration;

use bytes::Bytes;
use seamfs::core::StatOptions;
use seamfs::providers::Object;
use seamfs::{ErrorCode, Expected, FileSystem, FileSystemExt};
use serde_json::json;

use super::{Place, Protocol};

#[tokio::test(flavor = "multi_thread")]
async fn each_operation_costs_the_fewest_requests() {
    for protocol in Protocol::ALL {
        let place = Place::new(protocol).await;
        place.put("d/a", "one two three four");
        let (fs, check) = (&place.fs, |expected: &[&str]| {
            place.check_requests(expected);
        });
        let target = fs.target("d/a").await.unwrap();
        check(&[]);
        fs.replace(&target, "one", "1", Expected::Any)
            .await
            .unwrap();
        check(&["GET", "PUT"]);
        fs.replace(&target, "two", "2", Expected::Any)
            .await
            .unwrap();
        check(&["PUT"]);
        let seen = fs.read_all(&target).await.unwrap();
        check(&["GET"]);
        let guard = Expected::Version(seen.version);
        fs.replace(&target, "three", "3", guard).await.unwrap();
        check(&["PUT"]);
        let fresh = fs.target("d/b").await.unwrap();
        fs.write_all(&fresh, "new".into(), Expected::Absent)
            .await
            .unwrap();
        check(&["PUT"]);
        fs.list_all(&fs.target("d").await.unwrap()).await.unwrap();
        check(&["LIST"]);
        fs.stat(&target, StatOptions::default()).await.unwrap();
        check(&["HEAD"]);
        assert_eq!(place.text("d/a").unwrap(), "1 2 3 four");
    }
}

/// A version may come from another process, whose content this one does not have.
#[tokio::test(flavor = "multi_thread")]
async fn w7_a_write_under_a_version_from_elsewhere_gives_back_the_bytes_before() {
    for protocol in Protocol::ALL {
        let place = Place::new(protocol).await;
        let options = protocol.options(&place.server);
        let elsewhere = Object::connect(&protocol.url(), options).unwrap();
        let target = place.fs.target("a").await.unwrap();
        place.put("a", "one\n");
        let first = elsewhere.read_all(&target).await.unwrap().version;
        place.check_requests(&["GET"]);
        let guard = Expected::Version(first.clone());
        let written = place.fs.write_all(&target, "two\n".into(), guard).await;
        let written = written.unwrap();
        place.check_requests(&["GET", "PUT"]);
        assert!(!written.created);
        assert_eq!(written.before.as_deref(), Some(&b"one\n"[..]));
        // Beside bytes that are no text nothing is given back, so that nothing is read.
        place.put("a", "three\n");
        let third = elsewhere.read_all(&target).await.unwrap().version;
        place.check_requests(&["GET"]);
        let guard = Expected::Version(third);
        let bytes = Bytes::from_static(b"\0");
        let written = place.fs.write_all(&target, bytes, guard).await.unwrap();
        place.check_requests(&["PUT"]);
        assert!(!written.created);
        assert_eq!(written.before, None);
        let guard = Expected::Version(first);
        let stale = place.fs.write_all(&target, "x".into(), guard).await;
        assert_eq!(stale.unwrap_err().code(), ErrorCode::StaleVersion);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_tried_out_once_before_the_first_guarded_write() {
    let place = Place::untried(Protocol::S3, &[]);
    place.put("a", "1");
    let target = place.fs.target("a").await.unwrap();
    let seen = place.fs.read_all(&target).await.unwrap();
    place.check_requests(&["GET"]);
    let guard = Expected::Version(seen.version);
    let seen = place
        .fs
        .write_all(&target, "2".into(), guard)
        .await
        .unwrap();
    place.check_requests(&["PUT", "PUT", "PUT", "PUT", "DELETE", "PUT"]);
    let guard = Expected::Version(seen.version);
    place
        .fs
        .write_all(&target, "3".into(), guard)
        .await
        .unwrap();
    place.check_requests(&["PUT"]);
    assert_eq!(place.server.store.keys().len(), 1);
    let trusting = Place::untried(Protocol::S3, &[("conditions", "trust")]);
    let target = trusting.fs.target("a").await.unwrap();
    trusting
        .fs
        .write_all(&target, "1".into(), Expected::Absent)
        .await
        .unwrap();
    trusting.check_requests(&["PUT"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_is_one_request_a_page_and_in_the_order_of_names() {
    for protocol in Protocol::ALL {
        let place = Place::new(protocol).await;
        let mut names: Vec<_> = (0..2500).map(|n| format!("n{n:04}")).collect();
        for name in &names {
            place.put(&format!("d/{name}"), "");
        }
        place.put("d/n0500/child", "");
        names.insert(501, "n0500".to_owned());
        place.server.desk.requests();
        let folder = place.fs.target("d").await.unwrap();
        let found = place.fs.list_all(&folder).await.unwrap();
        let found: Vec<_> = found.iter().map(|entry| entry.name.to_string()).collect();
        assert_eq!(found, names);
        place.check_requests(&["LIST"; 3]);
    }
}

/// An agent's cycle: it reads a file, edits it, and reads it again.
#[tokio::test(flavor = "multi_thread")]
async fn a_cycle_of_an_agent_takes_three_round_trips() {
    for protocol in Protocol::ALL {
        let place = Place::new(protocol).await;
        place.put("notes.md", "- tea\n- milk\n");
        place.server.desk.latency(Duration::from_millis(5));
        let workspace = place.workspace();
        let session = workspace.session("S1");
        for (old, new, most) in [("tea", "coffee", 4), ("milk", "oats", 3)] {
            let path = "/notes.md";
            let edit = json!({"file_path": path, "old_string": old, "new_string": new});
            for (tool, args) in [
                ("read", json!({ "file_path": path })),
                ("edit", edit),
                ("read", json!({ "file_path": path })),
            ] {
                let result = session.call(tool, args).await;
                assert!(!result.is_error(), "{}", result.text);
            }
            let requests = place.server.desk.requests();
            assert!(requests.len() <= most, "{protocol:?}: {requests:?}");
        }
        assert_eq!(place.text("notes.md").unwrap(), "- coffee\n- oats\n");
    }
}

/// A text of this many mebibytes, every line naming its number and a word.
fn lines(mebibytes: usize, word: &str) -> String {
    let mut text = String::new();
    for n in 1.. {
        text.push_str(&format!(
            "line {n:07}: {word}, and something more to fill it up\n"
        ));
        if text.len() >= mebibytes << 20 {
            break;
        }
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_window_of_a_large_object_is_one_request_for_its_bytes_alone() {
    for protocol in Protocol::ALL {
        // One too large for the content cache, and one that is kept in it, of which the store
        // only says that it is unchanged.
        for (mebibytes, most) in [(20, 128 << 10), (2, 256)] {
            let place = Place::new(protocol).await;
            let desk = &place.server.desk;
            let workspace = place.workspace();
            let session = workspace.session("S1");
            let window = async |offset: usize, word: &str| {
                let args = json!({"file_path": "/big.txt", "offset": offset, "limit": 2000});
                let result = session.call("read", args).await;
                assert!(!result.is_error(), "{}", result.text);
                let first = format!("line {offset:07}: {word},");
                assert!(result.text.contains(&first), "{first} is missing");
                result.structured["total_lines"].clone()
            };
            let text = lines(mebibytes, "one");
            let total = json!(text.lines().count());
            place.put("big.txt", &text);
            desk.sent();
            assert_eq!(window(1, "one").await, total);
            place.check_requests(&["GET"]);
            assert_eq!(desk.sent(), text.len() as u64);
            for offset in [20_000, 500, 30_000] {
                assert_eq!(window(offset, "one").await, total);
                place.check_requests(&["GET"]);
                let sent = desk.sent();
                assert!(sent <= most, "{protocol:?}: {sent} bytes for a window");
            }
            // Of as many bytes, so that only the store's token tells.
            place.put("big.txt", &lines(mebibytes, "two"));
            assert_eq!(window(20_000, "two").await, total);
            assert!(desk.requests().len() <= 2);
            desk.sent();
            assert_eq!(window(10_000, "two").await, total);
            place.check_requests(&["GET"]);
            let sent = desk.sent();
            assert!(sent <= most, "{protocol:?}: {sent} bytes for a window");
            eprintln!("{protocol:?}: a window of {mebibytes} MiB sends {sent} bytes");
        }
    }
}
