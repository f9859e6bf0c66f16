//! Faults on the wire: lost answers, refusals, torn bodies, and a store that is down.

use std::error::Error;

use seamfs::core::Snapshot;
use seamfs::{ErrorCode, Expected, FileSystemExt, FsError, Target};

use super::{Place, Protocol};
use crate::servers::Fault;

async fn start(protocol: Protocol, text: &str) -> (Place, Target, Snapshot) {
    let place = Place::new(protocol).await;
    place.put("a", text);
    let target = place.fs.target("a").await.unwrap();
    let seen = place.fs.read_all(&target).await.unwrap();
    place.server.desk.requests();
    (place, target, seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn b182_a_write_whose_answer_was_lost_is_found_to_have_landed() {
    for protocol in Protocol::ALL {
        let (place, target, seen) = start(protocol, "1").await;
        place.server.desk.script([Fault::Drop]);
        let guard = Expected::Version(seen.version);
        place
            .fs
            .write_all(&target, "2".into(), guard)
            .await
            .unwrap();
        place.check_requests(&["PUT", "PUT", "GET"]);
        let fresh = place.fs.target("fresh").await.unwrap();
        place.server.desk.script([Fault::Drop]);
        place
            .fs
            .write_all(&fresh, "new".into(), Expected::Absent)
            .await
            .unwrap();
        place.check_requests(&["PUT", "PUT", "GET"]);
        assert_eq!(place.text("a").as_deref(), Some("2"));
        assert_eq!(place.text("fresh").as_deref(), Some("new"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b180_busy_is_retried_and_gone_is_stale() {
    for protocol in Protocol::ALL {
        let (place, target, seen) = start(protocol, "1").await;
        place
            .server
            .desk
            .script([Fault::Refuse(409), Fault::Refuse(409)]);
        let guard = Expected::Version(seen.version);
        let written = place
            .fs
            .write_all(&target, "2".into(), guard)
            .await
            .unwrap();
        place.check_requests(&["PUT", "PUT", "PUT"]);
        place.server.store.remove("work space/a");
        let guard = Expected::Version(written.version);
        let gone = place
            .fs
            .write_all(&target, "3".into(), guard)
            .await
            .unwrap_err();
        assert_eq!(gone.code(), ErrorCode::StaleVersion);
        assert_eq!(place.text("a"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_throttles_and_tears_is_read_all_the_same() {
    for protocol in Protocol::ALL {
        let place = Place::new(protocol).await;
        let text = "0123456789".repeat(10_000);
        place.put("a", &text);
        let target = place.fs.target("a").await.unwrap();
        for fault in [
            Fault::Refuse(503),
            Fault::Refuse(429),
            Fault::Drop,
            Fault::Truncate,
        ] {
            place.server.desk.script([fault]);
            let seen = place.fs.read_all(&target).await.unwrap();
            assert_eq!(seen.bytes, text, "{protocol:?} {fault:?}");
            // The next read is of another content, so that no cache can answer it.
            place.put("a", &format!("{text} "));
            place.fs.read_all(&target).await.unwrap();
            place.put("a", &text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_down_ends_a_write_within_its_budget() {
    for protocol in Protocol::ALL {
        let place = Place::untried(protocol, &[("attempts", "3"), ("conditions", "trust")]);
        let target = place.fs.target("a").await.unwrap();
        place.server.desk.script([Fault::Refuse(503); 20]);
        let down = place
            .fs
            .write_all(&target, "1".into(), Expected::Absent)
            .await
            .unwrap_err();
        assert_eq!(down.code(), ErrorCode::OutcomeUnknown);
        assert_eq!(place.text("a"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_in_another_region_is_told_as_that_and_nothing_is_tried_again() {
    let place = Place::untried(Protocol::S3, &[("conditions", "trust")]);
    let target = place.fs.target("a").await.unwrap();
    // S3 sends such a request elsewhere and does not say where to.
    place.server.desk.storm(Some(Fault::Refuse(301)));
    let written = place
        .fs
        .write_all(&target, "1".into(), Expected::Absent)
        .await;
    let read = place.fs.read_all(&target).await;
    for error in [written.map(drop).unwrap_err(), read.map(drop).unwrap_err()] {
        assert_eq!(error.code(), ErrorCode::IoError);
        assert!(error.message().contains("`region`"), "{error}");
    }
    place.check_requests(&["PUT", "GET"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_are_refused_without_being_shown() {
    let server = crate::servers::s3();
    let mut options = server.s3_options();
    options.retain(|(key, _)| key != "secret_access_key");
    options.push(("secret_access_key".to_owned(), "hush-hush".to_owned()));
    let fs = seamfs::providers::Object::connect("s3://bucket", options).unwrap();
    let target = fs.target("a").await.unwrap();
    let written = fs.write_all(&target, "1".into(), Expected::Absent).await;
    let read = fs.read_all(&target).await.map(drop);
    for error in [written.map(drop).unwrap_err(), read.unwrap_err()] {
        assert_eq!(error.code(), ErrorCode::PermissionDenied);
        check_hushed(&error);
    }
}

fn check_hushed(error: &FsError) {
    let mut all = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(found) = cause {
        all.push_str(&format!("{found} {found:?}"));
        cause = found.source();
    }
    for secret in ["hush", "seamfs-test", "bucket", "Signature="] {
        assert!(!all.contains(secret), "{all}");
    }
}
