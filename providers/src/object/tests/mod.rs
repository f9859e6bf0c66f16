//! The provider over a store in memory that can be made to misbehave.

mod double;
mod folders;
mod guards;
mod lost;
mod requests;

use std::sync::Arc;

use object_store::Attributes;
use seamfs_core::{
    ErrorCode, Expected, FileSystemExt, FsError, ReadOptions, Result, Snapshot, Target,
};

use super::history::{History, WriteId};
use super::{Budget, Conditions, Object};
use double::{Double, Nature, Trick};

/// Returns metadata as a writer of ours leaves it who replaces an object with this metadata.
fn history_followed(attributes: &Attributes) -> Attributes {
    let mut followed = attributes.clone();
    History::of(attributes)
        .followed_by(WriteId::new())
        .record(&mut followed);
    followed
}

struct Scene {
    store: Arc<Double>,
    fs: Object,
}

impl Scene {
    fn new() -> Self {
        Self::of(Nature::Sound, Conditions::Trust)
    }

    fn of(nature: Nature, conditions: Conditions) -> Self {
        let store = Double::new(nature);
        let fs = Object::builder(Arc::clone(&store) as _)
            .writes(Arc::clone(&store) as _)
            .conditions(conditions)
            .budget(Budget {
                first_wait: std::time::Duration::from_millis(1),
                ..Budget::default()
            })
            .open();
        Self { store, fs }
    }

    async fn target(&self, path: &str) -> Target {
        self.fs.target(path).await.unwrap()
    }

    async fn write(&self, path: &str, text: &str, expected: Expected) -> Result<Snapshot> {
        let target = self.target(path).await;
        let bytes = bytes::Bytes::from(text.to_owned());
        let outcome = self.fs.write_all(&target, bytes.clone(), expected).await?;
        let version = outcome.version;
        Ok(Snapshot { bytes, version })
    }

    async fn read(&self, path: &str) -> Result<Snapshot> {
        self.fs.read_all(&self.target(path).await).await
    }

    async fn replace(&self, path: &str, old: &str, new: &str, expected: Expected) -> Result<()> {
        let target = self.target(path).await;
        self.fs.replace(&target, old, new, expected).await?;
        Ok(())
    }

    async fn names(&self, path: &str) -> Vec<String> {
        let entries = self.fs.list_all(&self.target(path).await).await.unwrap();
        entries
            .iter()
            .map(|entry| match entry.kind() {
                seamfs_core::FileKind::Directory => format!("{}/", entry.name),
                _ => entry.name.to_string(),
            })
            .collect()
    }

    async fn check(&self, key: &str, expected: &str) {
        assert_eq!(self.store.text(key).await.as_deref(), Some(expected));
    }
}

#[track_caller]
fn code<T>(result: Result<T>) -> ErrorCode {
    match result {
        Ok(_) => panic!("this should have failed"),
        Err(error) => error.code(),
    }
}

#[tokio::test]
async fn a_read_beyond_its_limit_is_refused_before_it_is_buffered() {
    let scene = Scene::new();
    scene.write("a", "12345", Expected::Absent).await.unwrap();
    let target = scene.target("a").await;
    use seamfs_core::FileSystem as _;
    for (limit, fine) in [(4, false), (5, true)] {
        let options = ReadOptions {
            max_bytes: Some(limit),
            ..ReadOptions::default()
        };
        let read = scene.fs.read(&target, options).await;
        assert_eq!(read.is_ok(), fine, "{limit}");
    }
}

#[tokio::test]
async fn ranges_end_where_the_file_ends() {
    let scene = Scene::new();
    scene.store.put_foreign("a", "0123456789").await;
    scene.store.put_foreign("empty", "").await;
    use seamfs_core::FileSystem as _;
    for (path, range, expected) in [
        ("a", 2..4, "23"),
        ("a", 8..99, "89"),
        ("a", 4..4, ""),
        ("a", 10..12, ""),
        ("a", 99..100, ""),
        ("empty", 0..5, ""),
        ("empty", 0..0, ""),
    ] {
        let options = ReadOptions {
            range: Some(range.clone()),
            ..ReadOptions::default()
        };
        let outcome = scene
            .fs
            .read(&scene.target(path).await, options)
            .await
            .unwrap();
        let found = outcome.body.collect().await.unwrap().bytes;
        assert_eq!(found, expected, "{path} {range:?}");
    }
}

#[tokio::test]
async fn a_large_object_streams_and_its_version_is_of_all_of_it() {
    let scene = Scene::new();
    let text = "0123456789abcdef".repeat(1 << 20);
    scene.store.put_foreign("big", &text).await;
    let snapshot = scene.read("big").await.unwrap();
    assert_eq!(snapshot.bytes.len(), text.len());
    let written = scene.write("big", "small", Expected::Version(snapshot.version));
    written.await.unwrap();
}

#[tokio::test]
async fn messages_name_paths_beneath_the_root_only() {
    let store = Double::new(Nature::Sound);
    let fs = Object::builder(store as _)
        .prefix("tenant-42/secret")
        .unwrap()
        .spelled("s3", "s3", "bucket-7", "/tenant-42/secret")
        .open();
    let missing = fs.target("a/b").await.unwrap();
    let error: FsError = fs.read_all(&missing).await.unwrap_err();
    let all = format!("{error} {error:?} {fs} {fs:?}");
    assert!(
        !all.contains("tenant-42") && !all.contains("bucket-7"),
        "{all}"
    );
    let by_url = fs
        .target("s3://bucket-7/tenant-42/secret/a/b")
        .await
        .unwrap();
    assert_eq!(by_url, missing);
    assert_eq!(by_url.display(), "/a/b");
    assert_eq!(
        code(fs.target("s3://bucket-7/tenant-42/secret-2/a").await),
        ErrorCode::SandboxDenied
    );
}
