//! Claims about the provider, through its own face.

#![allow(
    clippy::print_stdout,
    reason = "figures, skips and what children report are what a run prints"
)]

mod alarms;
mod basics;
mod cost;
mod crashes;
#[cfg(target_os = "linux")]
mod denied;
mod foreign;
mod hostile;
mod hosts;
mod large;

mod links;
mod mutations;
mod permissions;
mod processes;
mod races;
mod windows;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use seamfs_core::{
    ErrorCode, Expected, FileSystem, FileSystemExt, FsError, Purpose, ResolveOptions, Result,
    Target, WriteOptions, WriteOutcome,
};
use tempfile::TempDir;

use super::{Durability, Local, LocalOptions};

/// A root in a scratch folder, with a neighbour that nothing may touch.
struct Scratch {
    _parent: TempDir,
    root: PathBuf,
    outside: PathBuf,
    local: Local,
}

impl Scratch {
    fn new() -> Self {
        Self::with(LocalOptions::default().durability(Durability::None))
    }

    fn with(options: LocalOptions) -> Self {
        #[cfg(target_os = "linux")]
        denied::deny_if_asked();
        let parent = TempDir::new().unwrap();
        let root = parent.path().join("data");
        let outside = parent.path().join("data-evil");
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "S3CRET\n").unwrap();
        let local = Local::open_with(&root, options).unwrap();
        Self {
            _parent: parent,
            root,
            outside,
            local,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn link(&self, name: &str, to: impl AsRef<Path>) {
        symlink(to, self.path(name)).unwrap();
    }

    fn host(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    async fn target(&self, path: &str) -> Target {
        self.local.target(path).await.unwrap()
    }

    async fn entry(&self, path: &str) -> Target {
        let options = ResolveOptions {
            purpose: Purpose::Entry,
            ..ResolveOptions::default()
        };
        self.local.resolve(path, "", options).await.unwrap()
    }

    async fn read(&self, path: &str) -> Result<String> {
        let target = self.local.target(path).await?;
        let snapshot = self.local.read_all(&target).await?;
        Ok(String::from_utf8(snapshot.bytes.to_vec()).unwrap())
    }

    async fn write(&self, path: &str, text: &str, expected: Expected) -> Result<WriteOutcome> {
        let target = self.local.target(path).await?;
        let bytes = Bytes::from(text.to_owned());
        self.local
            .write(&target, bytes, WriteOptions::expecting(expected))
            .await
    }

    async fn edit(&self, path: &str, old: &str, new: &str) -> Result<()> {
        let target = self.local.target(path).await?;
        self.local.replace(&target, old, new, Expected::Any).await?;
        Ok(())
    }

    async fn names(&self, path: &str) -> Vec<String> {
        let target = self.target(path).await;
        let entries = self.local.list_all(&target).await.unwrap();
        entries.iter().map(|entry| entry.name.to_string()).collect()
    }

    /// Returns every name on the host, staging names too.
    fn host_names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Checks that the neighbour is as it was made.
    fn check_outside(&self) {
        let names: Vec<_> = fs::read_dir(&self.outside).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        let secret = fs::read_to_string(self.outside.join("secret")).unwrap();
        assert_eq!(secret, "S3CRET\n");
    }
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> ErrorCode {
    result.expect_err("an error is expected").code()
}

/// Checks that an error says nothing of what lies above the root.
fn check_discreet(scratch: &Scratch, error: &FsError) {
    let text = error.to_string();
    assert!(
        !text.contains("S3CRET") && !text.contains(".seamfs-"),
        "{text}"
    );
    let above = scratch.root.parent().unwrap().to_str().unwrap();
    let root = scratch.root.to_str().unwrap();
    assert!(!text.replace(root, "").contains(above), "{text}");
}

/// Returns a number from the environment, for runs longer than a test's.
fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Runs one test function of this binary in a process of its own, with a task in its environment.
fn child(test: &str, environment: &[(&str, &str)]) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([
        &format!("local::tests::{test}"),
        "--exact",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.envs(environment.iter().copied());
    command
}

/// Returns what a test function run by [`child`] is to do; none in an ordinary run.
fn task(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs a future that needs no runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    futures::executor::block_on(future)
}
