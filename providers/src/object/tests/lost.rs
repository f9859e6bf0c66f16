//! Lost acknowledgements: our own success is recognised, and what is unknown is said to be.

use super::*;
use seamfs_core::CallContext;
use seamfs_core::{FileSystem, WriteOptions};

#[tokio::test]
async fn b182_a_write_that_landed_unheard_is_a_success() {
    let scene = Scene::new();
    scene.store.play([Trick::Lose]);
    let created = scene.write("a", "1", Expected::Absent).await.unwrap();
    scene
        .store
        .play([Trick::Lose, Trick::Answer(503), Trick::Answer(409)]);
    let written = scene
        .write("a", "2", Expected::Version(created.version))
        .await
        .unwrap();
    scene.check("a", "2").await;
    scene.store.play([Trick::Lose]);
    scene
        .replace("a", "2", "22", Expected::Version(written.version))
        .await
        .unwrap();
    scene.check("a", "22").await;
}

#[tokio::test]
async fn a_first_refusal_is_a_conflict_at_once() {
    let scene = Scene::new();
    scene.store.put_foreign("a", "theirs").await;
    scene.store.requests();
    assert_eq!(
        code(scene.write("a", "ours", Expected::Absent).await),
        ErrorCode::AlreadyExists
    );
    assert_eq!(scene.store.requests(), ["put"]);
}

#[tokio::test]
async fn a_success_that_others_have_overwritten_is_a_success() {
    let scene = Scene::new();
    let first = scene.write("a", "1", Expected::Absent).await.unwrap();
    scene.store.play([Trick::LoseThenOvertake("theirs")]);
    let ours = scene
        .write("a", "ours", Expected::Version(first.version))
        .await
        .unwrap();
    scene.check("a", "theirs").await;
    let stale = scene
        .write("a", "more", Expected::Version(ours.version))
        .await;
    assert_eq!(code(stale), ErrorCode::StaleVersion);
    scene
        .store
        .play([Trick::LoseThenOvertake("more of theirs")]);
    scene.write("b", "ours", Expected::Absent).await.unwrap();
    scene.check("b", "more of theirs").await;
}

#[tokio::test]
async fn a_write_that_others_were_before_is_known_not_to_have_landed() {
    let scene = Scene::new();
    scene.write("a", "1 x", Expected::Absent).await.unwrap();
    // Another process of ours replaces the bytes while our request fails unapplied.
    let other = Object::builder(Arc::clone(&scene.store) as _)
        .conditions(Conditions::Trust)
        .open();
    let target = scene.target("a").await;
    scene.fs.read_all(&target).await.unwrap();
    other
        .replace(&target, "1", "one", Expected::Any)
        .await
        .unwrap();
    scene.store.play([Trick::Answer(503)]);
    scene.replace("a", "x", "y", Expected::Any).await.unwrap();
    scene.check("a", "one y").await;
}

#[tokio::test]
async fn what_cannot_be_learnt_is_unknown_and_not_done_again() {
    let scene = Scene::new();
    let first = scene.write("a", "1", Expected::Absent).await.unwrap();
    // The answer is lost, and then a writer that keeps no history replaces the bytes.
    scene
        .store
        .play([Trick::Answer(503), Trick::Overtake("theirs")]);
    let lost = scene
        .write("a", "ours", Expected::Version(first.version))
        .await
        .unwrap_err();
    assert_eq!(lost.code(), ErrorCode::OutcomeUnknown);
    assert_eq!(lost.retry(), seamfs_core::Retry::AfterRead);
    scene.check("a", "theirs").await;
    scene
        .replace("a", "theirs", "edited", Expected::Any)
        .await
        .unwrap();
    scene.check("a", "edited").await;
}

#[tokio::test]
async fn a_store_that_keeps_no_metadata_is_judged_by_the_bytes() {
    let scene = Scene::of(Nature::DropsMetadata, Conditions::Trust);
    scene.store.play([Trick::Lose]);
    let written = scene.write("a", "ours", Expected::Absent).await.unwrap();
    scene
        .store
        .play([Trick::Answer(503), Trick::Overtake("theirs")]);
    let lost = scene
        .write("a", "more", Expected::Version(written.version))
        .await;
    assert_eq!(code(lost), ErrorCode::OutcomeUnknown);
}

#[tokio::test]
async fn a_store_that_stays_down_ends_within_the_budget() {
    let scene = Scene::new();
    let first = scene.write("a", "1", Expected::Absent).await.unwrap();
    scene.store.requests();
    scene.store.play([Trick::Answer(503); 50]);
    let down = scene
        .write("a", "2", Expected::Version(first.version.clone()))
        .await;
    assert_eq!(code(down), ErrorCode::OutcomeUnknown);
    assert_eq!(scene.store.requests().len(), 9, "eight attempts and a look");
    let scene = Scene::new();
    scene.store.play([Trick::Answer(409); 50]);
    assert_eq!(
        code(scene.write("a", "2", Expected::Absent).await),
        ErrorCode::Busy
    );
}

#[tokio::test]
async fn an_unconditional_write_is_never_sent_again_blindly() {
    let scene = Scene::of(Nature::KnowsNoConditions, Conditions::Refuse);
    scene.write("a", "1", Expected::Any).await.unwrap();
    // The conditional attempt is not offered; the plain one is applied, lost, and overwritten.
    scene.store.put_foreign("a", "2").await;
    scene
        .store
        .play([Trick::Answer(501), Trick::LoseThenOvertake("theirs")]);
    scene.write("a", "ours", Expected::Any).await.unwrap();
    scene.check("a", "theirs").await;
    scene.store.play([Trick::Answer(501), Trick::Answer(503)]);
    let lost = scene.write("a", "more", Expected::Any).await;
    assert_eq!(code(lost), ErrorCode::OutcomeUnknown);
    scene.check("a", "theirs").await;
}

#[tokio::test]
async fn a_withdrawn_call_writes_nothing() {
    let scene = Scene::new();
    let context = CallContext::default();
    context.cancellation.cancel();
    let target = scene.target("a").await;
    let options = WriteOptions::expecting(Expected::Absent).in_context(&context);
    let written = scene.fs.write(&target, "1".into(), options).await;
    assert_eq!(code(written), ErrorCode::Aborted);
    assert_eq!(scene.store.text("a").await, None);
}
