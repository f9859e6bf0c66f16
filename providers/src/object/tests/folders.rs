//! Folders that are only prefixes, names of every kind, and moves in steps.

use super::*;
use seamfs_core::{
    CreateDirOptions, FileSystem, Purpose, RemoveOptions, ResolveOptions, StatOptions,
    TransferOptions,
};

async fn kind(scene: &Scene, path: &str) -> Option<seamfs_core::FileKind> {
    let target = scene.target(path).await;
    let found = scene.fs.stat(&target, StatOptions::default()).await;
    found.unwrap().map(|metadata| metadata.kind)
}

async fn remove(scene: &Scene, path: &str) -> Result<()> {
    let target = scene.target(path).await;
    scene.fs.remove(&target, RemoveOptions::default()).await
}

async fn rename(scene: &Scene, from: &str, to: &str) -> Result<()> {
    let (from, to) = (scene.target(from).await, scene.target(to).await);
    scene
        .fs
        .rename(&from, &to, TransferOptions::default())
        .await?;
    Ok(())
}

use seamfs_core::FileKind::{Directory, File};

#[tokio::test]
async fn b168_prefixes_are_folders_for_as_long_as_something_is_in_them() {
    let scene = Scene::new();
    scene.store.put_foreign("assets/audio/x.wav", "x").await;
    assert_eq!(scene.names("/").await, ["assets/"]);
    assert_eq!(scene.names("assets").await, ["audio/"]);
    for _ in 0..2 {
        assert_eq!(kind(&scene, "assets").await, Some(Directory));
        assert_eq!(kind(&scene, "assets/audio").await, Some(Directory));
        assert_eq!(kind(&scene, "assets/audio/x.wav").await, Some(File));
    }
    remove(&scene, "assets/audio/x.wav").await.unwrap();
    assert!(scene.names("/").await.is_empty());
    assert_eq!(kind(&scene, "assets").await, None);
}

#[tokio::test]
async fn b166_a_trailing_slash_names_a_folder_and_empty_folders_stay() {
    let scene = Scene::new();
    scene.store.put_foreign("x", "file\n").await;
    let made = scene.target("m/n").await;
    for _ in 0..2 {
        scene
            .fs
            .create_dir(&made, CreateDirOptions::default())
            .await
            .unwrap();
    }
    let resolve = async |text: &str, purpose| {
        let options = ResolveOptions {
            purpose,
            ..ResolveOptions::default()
        };
        scene.fs.resolve(text, "", options).await
    };
    assert_eq!(
        code(resolve("x/", Purpose::File).await),
        ErrorCode::InvalidPath
    );
    assert_eq!(
        code(resolve("m/", Purpose::File).await),
        ErrorCode::NotRegularFile
    );
    resolve("m/", Purpose::Folder).await.unwrap();
    resolve("m/", Purpose::Entry).await.unwrap();
    assert_eq!(scene.names("/").await, ["m/", "x"]);
    assert_eq!(scene.names("m").await, ["n/"]);
    assert!(scene.names("m/n").await.is_empty());
    assert_eq!(code(remove(&scene, "m").await), ErrorCode::NotEmpty);
    remove(&scene, "m/n").await.unwrap();
    assert_eq!(scene.names("/").await, ["x"]);
    assert_eq!(
        code(
            scene
                .fs
                .create_dir(&scene.target("x").await, CreateDirOptions::default())
                .await
        ),
        ErrorCode::AlreadyExists
    );
}

#[tokio::test]
async fn b170_a_file_and_a_folder_of_one_name_are_both_there() {
    let scene = Scene::new();
    scene.store.put_foreign("a", "file\n").await;
    scene.store.put_foreign("a/b", "child\n").await;
    scene.store.put_foreign("a-b", "between\n").await;
    assert_eq!(scene.names("/").await, ["a", "a/", "a-b"]);
    assert_eq!(scene.names("a").await, ["b"]);
    assert_eq!(kind(&scene, "a").await, Some(File));
    assert_eq!(scene.read("a").await.unwrap().bytes, "file\n");
    remove(&scene, "a").await.unwrap();
    assert_eq!(kind(&scene, "a").await, Some(Directory));
    scene.check("a/b", "child\n").await;
}

#[tokio::test]
async fn r5_listing_says_why_it_cannot() {
    let scene = Scene::new();
    assert!(scene.names("/").await.is_empty());
    scene.store.put_foreign("a", "1").await;
    let file = scene.fs.list_all(&scene.target("a").await).await;
    assert_eq!(code(file), ErrorCode::NotDirectory);
    let missing = scene.fs.list_all(&scene.target("b").await).await;
    assert_eq!(code(missing), ErrorCode::NotFound);
    assert_eq!(code(scene.read("c").await), ErrorCode::NotFound);
    scene.store.put_foreign("c/d", "1").await;
    assert_eq!(code(scene.read("c").await), ErrorCode::NotRegularFile);
    assert_eq!(
        code(scene.replace("c", "1", "2", Expected::Any).await),
        ErrorCode::NotRegularFile
    );
}

#[tokio::test]
async fn b173_a_listing_shows_what_was_just_done() {
    let scene = Scene::new();
    scene.store.put_foreign("k/one", "1").await;
    assert_eq!(scene.names("k").await, ["one"]);
    scene.write("k/two", "2", Expected::Absent).await.unwrap();
    assert_eq!(scene.names("k").await, ["one", "two"]);
    remove(&scene, "k/one").await.unwrap();
    assert_eq!(scene.names("k").await, ["two"]);
}

#[tokio::test]
async fn b159_b161_names_round_trip_exactly() {
    let scene = Scene::new();
    let names = [
        "~x", "a b", "a+b", "a#b", "a?b", "a&b=c", "a*b", "a|b", "a\"b", "a'b", "a<b>", "é",
        "e\u{301}", "日本", "a:b", "-rf", "@", "#tmp#1", "[foo].ts", "a%20b", "100%", "🦀", "...",
        "a..b", "x.",
    ];
    for name in names {
        scene.write(name, "1", Expected::Absent).await.unwrap();
        scene.replace(name, "1", "2", Expected::Any).await.unwrap();
        scene.check(name, "2").await;
        let moved = format!("moved {name}");
        rename(&scene, name, &moved).await.unwrap();
        scene.check(&moved, "2").await;
        rename(&scene, &moved, name).await.unwrap();
    }
    let mut sorted = names.map(str::to_owned).to_vec();
    sorted.sort();
    assert_eq!(scene.names("/").await, sorted);
    for name in ["a\\b", "a\nb", ".seamfs-folder", ".seamfs-probe-1"] {
        assert_eq!(code(scene.fs.target(name).await), ErrorCode::InvalidPath);
    }
}

#[tokio::test]
async fn p2c_names_that_cannot_be_addressed_are_listed_escaped() {
    let scene = Scene::new();
    scene.store.put_foreign("a\\b", "1").await;
    scene.store.put_foreign(&"n".repeat(300), "1").await;
    let entries = scene.fs.list_all(&scene.target("/").await).await.unwrap();
    let shown: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(shown[0], "a\\x5Cb");
    assert_eq!(entries.len(), 2);
    assert!(entries.iter().all(|entry| !entry.name.is_addressable()));
}

#[tokio::test]
async fn b157_a_prefix_holds_by_component() {
    let store = Double::new(Nature::Sound);
    let open = |prefix| {
        Object::builder(Arc::clone(&store) as _)
            .prefix(prefix)
            .unwrap()
            .open()
    };
    let (p, p2) = (open("p"), open("p2"));
    let x = p.target("x").await.unwrap();
    p.write_all(&x, "1".into(), Expected::Absent).await.unwrap();
    let root = p2.target("/").await.unwrap();
    assert!(p2.list_all(&root).await.unwrap().is_empty());
    assert_eq!(store.text("p/x").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn b178_a_move_never_loses_and_can_be_completed() {
    let scene = Scene::new();
    scene.write("s", "S\n", Expected::Absent).await.unwrap();
    scene.write("d", "D\n", Expected::Absent).await.unwrap();
    rename(&scene, "s", "new").await.unwrap();
    assert_eq!(scene.store.text("s").await, None);
    assert_eq!(
        code(rename(&scene, "new", "d").await),
        ErrorCode::AlreadyExists
    );
    scene.check("new", "S\n").await;
    scene.check("d", "D\n").await;

    scene.store.fail_deletes(1);
    let half = rename(&scene, "new", "e").await.unwrap_err();
    assert!(
        half.message().contains("/e") && half.message().contains("not removed"),
        "{half}"
    );
    scene.check("new", "S\n").await;
    scene.check("e", "S\n").await;
    rename(&scene, "new", "e").await.unwrap();
    assert_eq!(scene.store.text("new").await, None);
    scene.check("e", "S\n").await;

    // The same bytes by another hand are no half of ours.
    scene.write("t", "S\n", Expected::Absent).await.unwrap();
    assert_eq!(
        code(rename(&scene, "t", "e").await),
        ErrorCode::AlreadyExists
    );
    scene.check("t", "S\n").await;
}

#[tokio::test]
async fn folders_move_with_all_that_is_in_them() {
    let scene = Scene::new();
    for key in ["f/a", "f/g/b", "f/g/h/c", "fx"] {
        scene.store.put_foreign(key, key).await;
    }
    assert_eq!(
        code(rename(&scene, "f", "f/g/new").await),
        ErrorCode::InvalidArgument
    );
    assert_eq!(
        code(rename(&scene, "f", "fx").await),
        ErrorCode::AlreadyExists
    );
    rename(&scene, "f", "new/f").await.unwrap();
    assert_eq!(scene.names("/").await, ["fx", "new/"]);
    assert_eq!(scene.names("new/f").await, ["a", "g/"]);
    scene.check("new/f/g/h/c", "f/g/h/c").await;
}

#[tokio::test]
async fn a_file_that_changes_while_its_folder_moves_is_not_removed() {
    let scene = Scene::new();
    for name in ["d/a", "d/b", "d/c"] {
        scene.write(name, "old", Expected::Absent).await.unwrap();
    }
    // While the last copy is made, somebody changes the file that was copied first.
    let pause = [
        Trick::Disturb("elsewhere", "x"),
        Trick::Disturb("elsewhere", "x"),
    ];
    scene.store.play(pause);
    scene.store.play([Trick::Disturb("d/a", "new")]);
    let (from, to) = (scene.target("d").await, scene.target("e").await);
    let moved = scene
        .fs
        .rename(&from, &to, TransferOptions::default())
        .await;
    assert_eq!(code(moved), ErrorCode::StaleVersion);
    scene.check("d/a", "new").await;
    for name in ["e/a", "e/b", "e/c"] {
        scene.check(name, "old").await;
    }
}
