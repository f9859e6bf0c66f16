//! What each operation costs, in requests.

use super::*;
use seamfs_core::{FileSystem, StatOptions};

#[tokio::test]
async fn every_operation_costs_what_it_should() {
    let scene = Scene::new();
    scene.store.put_foreign("d/a", "one two three").await;
    let check = |expected: &[&str]| assert_eq!(scene.store.requests(), expected);

    let target = scene.target("d/a").await;
    check(&[]);
    scene
        .replace("d/a", "one", "1", Expected::Any)
        .await
        .unwrap();
    check(&["get", "put"]);
    scene
        .replace("d/a", "two", "2", Expected::Any)
        .await
        .unwrap();
    check(&["put"]);
    let seen = scene.read("d/a").await.unwrap();
    check(&["get"]);
    let guard = Expected::Version(seen.version);
    scene.replace("d/a", "three", "3", guard).await.unwrap();
    check(&["put"]);
    scene.write("d/b", "new", Expected::Absent).await.unwrap();
    check(&["put"]);
    let seen = scene.read("d/b").await.unwrap();
    scene.store.requests();
    scene
        .write("d/b", "newer", Expected::Version(seen.version))
        .await
        .unwrap();
    check(&["put"]);
    scene.write("d/b", "newest", Expected::Any).await.unwrap();
    check(&["put"]);
    scene.names("d").await;
    check(&["list"]);
    scene
        .fs
        .stat(&target, StatOptions::default())
        .await
        .unwrap();
    check(&["head"]);
    let folder = scene.target("d").await;
    scene
        .fs
        .stat(&folder, StatOptions::default())
        .await
        .unwrap();
    check(&["head", "list"]);
}

#[tokio::test]
async fn b177_edits_leave_one_key_and_send_only_reads_and_conditional_writes() {
    let scene = Scene::new();
    scene.store.put_foreign("a.txt", "1\n").await;
    for n in 1..=100 {
        scene.read("a.txt").await.unwrap();
        let (old, new) = (n.to_string(), (n + 1).to_string());
        scene
            .replace("a.txt", &old, &new, Expected::Any)
            .await
            .unwrap();
    }
    let requests = scene.store.requests();
    assert_eq!(requests.len(), 200);
    assert!(
        requests
            .iter()
            .all(|request| ["get", "put"].contains(request))
    );
    assert_eq!(scene.names("/").await, ["a.txt"]);
}

#[tokio::test]
async fn an_overwrite_tells_what_was_there() {
    let scene = Scene::new();
    scene.store.put_foreign("a", "before").await;
    let target = scene.target("a").await;
    let outcome = scene
        .fs
        .write_all(&target, "after".into(), Expected::Any)
        .await
        .unwrap();
    assert!(!outcome.created);
    assert_eq!(outcome.before.unwrap(), "before");
    let seen = scene.read("a").await.unwrap();
    let guard = Expected::Version(seen.version);
    let outcome = scene
        .fs
        .write_all(&target, "then".into(), guard)
        .await
        .unwrap();
    assert_eq!(outcome.before.unwrap(), "after");
    let fresh = scene.target("fresh").await;
    let outcome = scene
        .fs
        .write_all(&fresh, "x".into(), Expected::Any)
        .await
        .unwrap();
    assert!(outcome.created && outcome.before.is_none());
}
