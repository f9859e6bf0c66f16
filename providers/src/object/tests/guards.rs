//! Guards: what they let through, what they refuse, and stores on which none can hold.

use super::*;
use seamfs_core::{FileSystem, Guarding, RemoveOptions, StatOptions, TransferOptions, Version};

#[tokio::test]
async fn w1_w2_absent_and_versions_guard() {
    let scene = Scene::new();
    let first = scene.write("a", "1", Expected::Absent).await.unwrap();
    assert_eq!(
        code(scene.write("a", "2", Expected::Absent).await),
        ErrorCode::AlreadyExists
    );
    let second = scene
        .write("a", "2", Expected::Version(first.version.clone()))
        .await
        .unwrap();
    let stale = scene
        .write("a", "3", Expected::Version(first.version.clone()))
        .await
        .unwrap_err();
    assert_eq!(stale.code(), ErrorCode::StaleVersion);
    assert_eq!(stale.current().unwrap().bytes, "2");
    scene.check("a", "2").await;
    let read = scene.read("a").await.unwrap();
    assert!(read.version.certifies(&second.version));
    scene.write("a", "4", Expected::Any).await.unwrap();
    scene.check("a", "4").await;
}

#[tokio::test]
async fn v1_the_same_bytes_under_a_new_token_are_not_stale() {
    let scene = Scene::new();
    let seen = scene.write("a", "same", Expected::Absent).await.unwrap();
    scene.store.put_foreign("a", "same").await;
    let written = scene
        .write("a", "next", Expected::Version(seen.version.clone()))
        .await;
    written.unwrap();
    scene.store.put_foreign("a", "same").await;
    scene
        .replace("a", "same", "then", Expected::Version(seen.version))
        .await
        .unwrap();
    scene.check("a", "then").await;
}

#[tokio::test]
async fn v4_versions_of_every_origin_guard_also_in_another_process() {
    let scene = Scene::new();
    scene.store.put_foreign("a", "1").await;
    let target = scene.target("a").await;
    let stat = scene
        .fs
        .stat(&target, StatOptions::default())
        .await
        .unwrap()
        .unwrap();
    let listed = scene.fs.list_all(&scene.target("/").await).await.unwrap();
    let listed = listed[0].metadata.as_ref().unwrap().version.clone();
    assert_eq!(stat.version, listed);
    let text = stat.version.unwrap().to_string();
    let other = Object::builder(Arc::clone(&scene.store) as _).open();
    let version: Version = text.parse().unwrap();
    let written = other
        .write_all(&target, "2".into(), Expected::Version(version))
        .await;
    written.unwrap();
    scene.check("a", "2").await;
}

#[tokio::test]
async fn b180_a_deleted_object_is_gone_and_is_not_created_again() {
    let scene = Scene::new();
    let seen = scene.write("a", "1", Expected::Absent).await.unwrap();
    let target = scene.target("a").await;
    scene
        .fs
        .remove(&target, RemoveOptions::default())
        .await
        .unwrap();
    let guard = || Expected::Version(seen.version.clone());
    assert_eq!(
        code(scene.write("a", "2", guard()).await),
        ErrorCode::StaleVersion
    );
    assert_eq!(
        code(scene.replace("a", "1", "2", guard()).await),
        ErrorCode::StaleVersion
    );
    assert_eq!(
        code(scene.replace("a", "1", "2", Expected::Any).await),
        ErrorCode::NotFound
    );
    assert_eq!(scene.store.text("a").await, None);
    scene.store.play([Trick::Answer(409), Trick::Answer(409)]);
    scene.write("a", "3", Expected::Absent).await.unwrap();
    scene.check("a", "3").await;
}

#[tokio::test]
async fn an_edit_that_loses_its_race_runs_again_on_the_fresh_bytes() {
    let scene = Scene::new();
    scene.write("a", "one two", Expected::Absent).await.unwrap();
    scene.store.play([Trick::Overtake("one three two")]);
    scene.replace("a", "two", "2", Expected::Any).await.unwrap();
    scene.check("a", "one three 2").await;
    let seen = scene.read("a").await.unwrap();
    scene.store.play([Trick::Overtake("other")]);
    let refused = scene
        .replace("a", "one", "1", Expected::Version(seen.version))
        .await;
    assert_eq!(code(refused), ErrorCode::StaleVersion);
    scene.check("a", "other").await;
}

#[tokio::test]
async fn a_write_that_loses_many_races_still_says_what_it_replaced() {
    let scene = Scene::new();
    scene.write("a", "zero", Expected::Absent).await.unwrap();
    let others = ["one", "two", "three", "four", "five", "six"];
    scene.store.play(others.map(Trick::Overtake));
    let target = scene.target("a").await;
    let written = scene
        .fs
        .write_all(&target, "mine".into(), Expected::Any)
        .await;
    let written = written.unwrap();
    assert!(!written.created);
    assert_eq!(written.before.unwrap(), "six");
    scene.check("a", "mine").await;
}

#[tokio::test]
async fn a_write_under_a_version_seen_elsewhere_does_not_say_that_it_created() {
    let scene = Scene::new();
    let seen = scene.write("a", "one", Expected::Absent).await.unwrap();
    let elsewhere = Object::builder(Arc::clone(&scene.store) as _)
        .writes(Arc::clone(&scene.store) as _)
        .open();
    let target = elsewhere.target("a").await.unwrap();
    let guard = Expected::Version(seen.version);
    let written = elsewhere.write_all(&target, "two".into(), guard).await;
    assert!(!written.unwrap().created);
    scene.check("a", "two").await;
}

#[tokio::test]
async fn a_write_to_a_store_that_refuses_what_holds_lands_all_the_same() {
    let scene = Scene::of(Nature::RefusesConditions, Conditions::Trust);
    scene.write("a", "zero", Expected::Absent).await.unwrap();
    let written = scene.write("a", "mine", Expected::Any).await;
    written.unwrap();
    scene.check("a", "mine").await;
}

#[tokio::test]
async fn a_write_that_is_refused_without_a_condition_too_ends() {
    let scene = Scene::new();
    scene.write("a", "zero", Expected::Absent).await.unwrap();
    scene.store.play([Trick::Answer(412); 100]);
    let refused = scene.write("a", "mine", Expected::Any).await;
    assert_eq!(code(refused), ErrorCode::IoError);
    assert!(scene.store.requests().len() < 20);
}

#[tokio::test]
async fn a_miss_in_cached_content_is_looked_at_again() {
    let scene = Scene::new();
    scene
        .write("a", "old text", Expected::Absent)
        .await
        .unwrap();
    scene.store.put_foreign("a", "new text").await;
    scene
        .replace("a", "new", "fresh", Expected::Any)
        .await
        .unwrap();
    scene.check("a", "fresh text").await;
    let missing = scene.replace("a", "absent", "x", Expected::Any).await;
    assert_eq!(code(missing), ErrorCode::EditNotFound);
}

#[tokio::test]
async fn b184_a_store_without_conditions_is_found_out_and_guards_are_refused() {
    for nature in [Nature::IgnoresConditions, Nature::KnowsNoConditions] {
        let scene = Scene::of(nature, Conditions::Probe);
        scene.store.put_foreign("a", "1").await;
        let seen = scene.read("a").await.unwrap();
        let guarded = scene.write("a", "2", Expected::Version(seen.version)).await;
        assert_eq!(code(guarded), ErrorCode::Unsupported, "{nature:?}");
        assert_eq!(
            code(scene.write("b", "2", Expected::Absent).await),
            ErrorCode::Unsupported
        );
        assert_eq!(
            code(scene.replace("a", "1", "2", Expected::Any).await),
            ErrorCode::Unsupported
        );
        scene.check("a", "1").await;
        let found = scene.fs.capabilities(None);
        assert_eq!(
            (found.create, found.compare_and_swap, found.edit),
            (Guarding::None, Guarding::None, false)
        );
        // Known once, it is said before anything is read.
        scene.store.requests();
        let edited = scene.replace("a", "not there", "2", Expected::Any).await;
        assert_eq!(code(edited), ErrorCode::Unsupported);
        assert!(scene.store.requests().is_empty());
        scene.write("a", "3", Expected::Any).await.unwrap();
        scene.check("a", "3").await;
        assert_eq!(scene.names("/").await, ["a"]);
    }
}

#[tokio::test]
async fn an_operator_may_accept_that_the_last_writer_wins() {
    let scene = Scene::of(Nature::IgnoresConditions, Conditions::Trust);
    scene.write("a", "1", Expected::Absent).await.unwrap();
    scene.write("a", "2", Expected::Absent).await.unwrap();
    scene.check("a", "2").await;
    let refusing = Scene::of(Nature::Sound, Conditions::Refuse);
    assert_eq!(
        code(refusing.write("a", "1", Expected::Absent).await),
        ErrorCode::Unsupported
    );
}

#[tokio::test]
async fn a_store_that_refuses_every_condition_is_named_after_few_tries() {
    for conditions in [Conditions::Probe, Conditions::Trust] {
        let scene = Scene::of(Nature::RefusesConditions, conditions);
        scene.store.put_foreign("a", "1").await;
        let seen = scene.read("a").await.unwrap();
        scene.store.requests();
        let guard = Expected::Version(seen.version);
        let written = scene.write("a", "2", guard.clone()).await;
        assert_eq!(code(written), ErrorCode::Unsupported, "{conditions:?}");
        let edited = scene.replace("a", "1", "2", guard).await;
        assert_eq!(code(edited), ErrorCode::Unsupported, "{conditions:?}");
        assert!(scene.store.requests().len() < 20);
        scene.check("a", "1").await;
        scene.write("a", "3", Expected::Any).await.unwrap();
        scene.check("a", "3").await;
    }
}

#[tokio::test]
async fn a_sound_store_is_probed_once_and_nothing_stays_behind() {
    let scene = Scene::of(Nature::Sound, Conditions::Probe);
    scene.write("a", "1", Expected::Absent).await.unwrap();
    let first = scene.store.requests().len();
    scene.write("b", "1", Expected::Absent).await.unwrap();
    assert_eq!(scene.store.requests(), ["put"]);
    assert_eq!(first, 6);
    assert_eq!(scene.names("/").await, ["a", "b"]);
}

#[tokio::test]
async fn what_cannot_be_guarded_is_refused_before_anything_happens() {
    let scene = Scene::new();
    let seen = scene.write("a", "1", Expected::Absent).await.unwrap();
    scene.store.requests();
    let (a, b) = (scene.target("a").await, scene.target("b").await);
    let guard = Expected::Version(seen.version);
    let options = RemoveOptions {
        expected: guard.clone(),
        ..RemoveOptions::default()
    };
    assert_eq!(
        code(scene.fs.remove(&a, options).await),
        ErrorCode::Unsupported
    );
    let options = TransferOptions {
        source: guard.clone(),
        ..TransferOptions::default()
    };
    assert_eq!(
        code(scene.fs.rename(&a, &b, options).await),
        ErrorCode::Unsupported
    );
    assert!(scene.store.requests().is_empty());
    let options = TransferOptions {
        source: guard,
        ..TransferOptions::default()
    };
    scene.fs.copy(&a, &b, options).await.unwrap();
    scene.check("b", "1").await;
}

#[tokio::test]
async fn metadata_of_others_survives_an_edit_and_a_write() {
    use object_store::{Attribute, Attributes, GetOptions, ObjectStore, PutOptions, path::Path};
    let scene = Scene::new();
    let kind = Attribute::ContentType;
    let attributes = Attributes::from_iter([(kind.clone(), "text/x-notes")]);
    let options = PutOptions::from(attributes);
    let key = Path::parse("a").unwrap();
    scene
        .store
        .put_opts(&key, "one".into(), options)
        .await
        .unwrap();
    scene
        .replace("a", "one", "two", Expected::Any)
        .await
        .unwrap();
    scene.write("a", "three", Expected::Any).await.unwrap();
    let found = scene
        .store
        .get_opts(&key, GetOptions::default())
        .await
        .unwrap();
    assert_eq!(
        found.attributes.get(&kind).unwrap().as_ref(),
        "text/x-notes"
    );
}
