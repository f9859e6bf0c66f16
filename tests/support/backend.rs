//! The backends that claims run on, each with a way to act from outside the tools.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use object_store::memory::InMemory;
use seamfs::policy::Observation;
use seamfs::providers::Object;
use seamfs::{
    ErrorCode, Expected, FileSystem, FileSystemExt, Options, Registry, Session, ToolResult,
    Workspace, WorkspaceBuilder,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Fault;
use crate::servers::{self, BUCKET, Installed, Kind, Server};

/// A backend that a claim runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    /// A folder on the host's disk.
    Local,
    /// Keys in an object store, which somebody outside writes to through a client of their own.
    Object,
    /// A bucket of an S3 server in this process, over HTTP.
    S3,
    /// A bucket of a GCS server in this process, over HTTP.
    Gcs,
    /// A prefix in a bucket of a server of another project, which the test keeps running.
    Installed(Kind),
}

type Fs = Arc<dyn FileSystem>;

/// Empty storage, opened.
struct Opened {
    /// As somebody outside sees it.
    outside: Fs,
    /// As the workspace does.
    inside: Fs,
    /// The URL of its display root's root, without the slash.
    url: String,
    kept: Kept,
}

/// The prefixes that were given out on installed servers.
static PREFIXES: AtomicUsize = AtomicUsize::new(0);

impl Backend {
    /// Returns whether its URLs name a bucket.
    pub(crate) const fn has_buckets(self) -> bool {
        matches!(self, Self::S3 | Self::Gcs | Self::Installed(_))
    }

    /// Opens empty storage.
    async fn open(self, mut options: Options) -> Opened {
        let (location, url, kept) = match self {
            Self::Memory => ("memory:".to_owned(), "memory://", Kept::Nothing),
            Self::Local => {
                let host = tempfile::tempdir().expect("there is room for a folder");
                let root = host.path().join("ws");
                fs::create_dir(&root).expect("there is room for a folder");
                // What survives a power cut is tested with the provider.
                options.set("durability", "none");
                (root.display().to_string(), "file://", Kept::Host(host))
            }
            Self::Object => {
                let store = Arc::new(InMemory::new());
                return Opened::twice("object://", Kept::Nothing, || {
                    let object = Object::builder(Arc::clone(&store) as _);
                    object.spelled("object store", "object", "", "/").open()
                });
            }
            Self::S3 => {
                let (server, url) = (servers::s3(), format!("s3://{BUCKET}"));
                let options = server.s3_options();
                return Opened::connect(&url, &options, Kept::Server(server));
            }
            Self::Gcs => {
                let (server, url) = (servers::gcs(), format!("gs://{BUCKET}"));
                let options = server.gcs_options();
                return Opened::connect(&url, &options, Kept::Server(server));
            }
            Self::Installed(kind) => {
                let server = kind.share().await.expect("it runs already");
                let number = PREFIXES.fetch_add(1, Ordering::Relaxed);
                let url = server.url(&format!("scene-{number}"));
                // That its conditions hold was tried by tests of their own.
                let trust = ("conditions".to_owned(), "trust".to_owned());
                let options = [server.options(), vec![trust]].concat();
                return Opened::connect(&url, &options, Kept::Installed(server));
            }
        };
        let opened = Registry::default().open(&location, options).await;
        let fs = opened.expect("an empty workspace opens");
        Opened {
            outside: Arc::clone(&fs),
            inside: fs,
            url: url.to_owned(),
            kept,
        }
    }
}

impl Opened {
    /// Opens an object store with one client for each side.
    fn twice(url: &str, kept: Kept, client: impl Fn() -> Object) -> Self {
        Self {
            outside: Arc::new(client()),
            inside: Arc::new(client()),
            url: url.to_owned(),
            kept,
        }
    }

    fn connect(url: &str, options: &[(String, String)], kept: Kept) -> Self {
        Self::twice(url, kept, || {
            let object = Object::connect(url, options.iter().cloned());
            object.expect("the options are right")
        })
    }
}

/// What a backend lives in; it ends when dropped.
#[derive(Debug)]
enum Kept {
    Nothing,
    /// The folder that holds the root as `ws`, and whatever lies beside it.
    Host(TempDir),
    Server(#[allow(dead_code, reason = "it serves while it is kept")] Server),
    Installed(#[allow(dead_code, reason = "it runs while it is kept")] Arc<Installed>),
}

/// Where a claim is judged: a backend, sound or with one fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    pub(crate) backend: Backend,
    fault: Option<Fault>,
}

impl Stage {
    /// A backend as it is.
    pub(crate) const fn sound(backend: Backend) -> Self {
        Self {
            backend,
            fault: None,
        }
    }

    /// A backend beneath a double that breaks the contract.
    pub(crate) const fn broken(backend: Backend, fault: Fault) -> Self {
        Self {
            backend,
            fault: Some(fault),
        }
    }

    /// Opens an empty workspace with the observation policy and every tool.
    pub(crate) async fn scene(self) -> Scene {
        self.scene_with(|builder| builder).await
    }

    /// Opens an empty workspace without any policy.
    pub(crate) async fn lawless(self) -> Scene {
        self.scene_with(|builder| builder.rules([])).await
    }

    /// Opens an empty workspace with settings of the claim's own.
    pub(crate) async fn scene_with(
        self,
        settings: impl FnOnce(WorkspaceBuilder) -> WorkspaceBuilder,
    ) -> Scene {
        self.scene_over(settings, |fs| fs).await
    }

    /// Opens an empty workspace over a layer of the claim's own.
    pub(crate) async fn scene_over(
        self,
        settings: impl FnOnce(WorkspaceBuilder) -> WorkspaceBuilder,
        layer: impl FnOnce(Arc<dyn FileSystem>) -> Arc<dyn FileSystem>,
    ) -> Scene {
        self.scene_of(Options::default(), settings, layer).await
    }

    /// Opens an empty workspace that holds at the most this many bytes.
    pub(crate) async fn small(self, quota: u64) -> Scene {
        let mut options = Options::default();
        options.set("quota", &quota.to_string());
        self.scene_of(options, |builder| builder, |fs| fs).await
    }

    async fn scene_of(
        self,
        options: Options,
        settings: impl FnOnce(WorkspaceBuilder) -> WorkspaceBuilder,
        layer: impl FnOnce(Arc<dyn FileSystem>) -> Arc<dyn FileSystem>,
    ) -> Scene {
        let Opened {
            outside,
            inside,
            url,
            kept,
        } = self.backend.open(options).await;
        let (mut fs, mut builder) = (layer(inside), Workspace::builder());
        if let Some(fault) = self.fault {
            fs = fault.over_storage(fs);
            builder = builder.rules([fault.over_rule(Observation::new())]);
        }
        let root = outside.target(".").await.expect("there is a root");
        let root = root.display().trim_end_matches('/').to_owned();
        Scene {
            stage: self,
            workspace: settings(builder).over(fs),
            outside,
            root,
            url,
            kept,
        }
    }
}

/// A workspace on one backend, and the hands of somebody outside the tools.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    pub(crate) workspace: Workspace,
    /// The storage as somebody outside sees it: without policy, and without the stage's fault.
    pub(crate) outside: Arc<dyn FileSystem>,
    root: String,
    url: String,
    kept: Kept,
}

impl Scene {
    /// Returns the session `S1`.
    pub(crate) fn s1(&self) -> Hand {
        self.hand("S1")
    }

    /// Returns the session `S2`.
    pub(crate) fn s2(&self) -> Hand {
        self.hand("S2")
    }

    /// Returns a session of any name.
    pub(crate) fn hand(&self, name: &str) -> Hand {
        Hand {
            session: self.workspace.session(name),
            root: self.root.clone(),
            fault: self.stage.fault,
        }
    }

    /// Returns the display path of a path relative to the root.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }

    /// Returns the URL of a path relative to the root.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{}", self.url, self.at(path))
    }

    /// Returns whether folders are real; otherwise `x` and `x/y` may both be files.
    pub(crate) fn has_folders(&self) -> bool {
        self.outside.capabilities(None).hierarchy
    }

    /// Writes bytes from outside the tools.
    pub(crate) async fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        match self.stage.backend {
            Backend::Local => {
                let file = self.host_path(path);
                let folder = file.parent().expect("a file is in a folder");
                fs::create_dir_all(folder).expect("the outside can make folders");
                fs::write(file, bytes).expect("the outside can write");
            }
            _ => {
                let target = self.outside.target(path).await.expect("it resolves");
                let bytes = Bytes::copy_from_slice(bytes.as_ref());
                let written = self.outside.write_all(&target, bytes, Expected::Any).await;
                written.expect("the outside can write");
            }
        }
    }

    /// Reads bytes from outside the tools; none when nothing is there.
    pub(crate) async fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        match self.stage.backend {
            Backend::Local => fs::read(self.host_path(path)).ok(),
            _ => {
                let target = self.outside.target(path).await.ok()?;
                match self.outside.read_all(&target).await {
                    Ok(snapshot) => Some(snapshot.bytes.to_vec()),
                    Err(error) if error.code() == ErrorCode::NotFound => None,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Removes a file or an empty folder from outside the tools.
    pub(crate) async fn remove(&self, path: &str) {
        match self.stage.backend {
            Backend::Local => {
                let path = self.host_path(path);
                let removed = match path.is_dir() && !path.is_symlink() {
                    true => fs::remove_dir(path),
                    false => fs::remove_file(path),
                };
                removed.expect("the outside can remove");
            }
            _ => {
                let target = self.outside.target(path).await.expect("it resolves");
                let removed = self.outside.remove(&target, Default::default()).await;
                removed.expect("the outside can remove");
            }
        }
    }

    /// Makes a folder from outside the tools.
    pub(crate) async fn folder(&self, path: &str) {
        match self.stage.backend {
            Backend::Local => {
                fs::create_dir_all(self.host_path(path)).expect("the outside can make folders");
            }
            _ => {
                let target = self.outside.target(path).await.expect("it resolves");
                let made = self.outside.create_dir(&target, Default::default()).await;
                made.expect("the outside can make folders");
            }
        }
    }

    /// Returns the place of a path on the host's disk.
    ///
    /// # Panics
    /// On a backend that has none.
    pub(crate) fn host_path(&self, path: &str) -> PathBuf {
        self.beside("ws").join(path)
    }

    /// Returns the place of something beside the root, which no call may reach.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        match &self.kept {
            Kept::Host(host) => host.path().join(name),
            _ => panic!("this claim is for a disk"),
        }
    }

    /// Returns when a file was last written, and as which of its kind, to see that it was not.
    pub(crate) async fn stamp(&self, path: &str) -> String {
        if self.stage.backend == Backend::Local {
            let found = fs::symlink_metadata(self.host_path(path)).expect("it is there");
            return format!("{}:{}:{}", found.ino(), found.mtime(), found.mtime_nsec());
        }
        let target = self.outside.target(path).await.expect("it resolves");
        let metadata = self.outside.stat(&target, Default::default()).await;
        format!("{:?}", metadata.expect("the outside can look"))
    }

    /// Checks a file's bytes.
    pub(crate) async fn holds(&self, path: &str, expected: impl AsRef<[u8]>) -> Result<(), String> {
        let (found, expected) = (self.bytes(path).await, expected.as_ref());
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
        match found.as_deref() {
            Some(found) if found == expected => Ok(()),
            None => Err(format!("{path} is missing, not {:?}", shown(expected))),
            Some(found) => Err(format!(
                "{path} holds {:?}, not {:?}",
                shown(found),
                shown(expected)
            )),
        }
    }

    /// Checks that nothing is there.
    pub(crate) async fn lacks(&self, path: &str) -> Result<(), String> {
        match self.bytes(path).await {
            None => Ok(()),
            Some(bytes) => Err(format!(
                "{path} exists: {:?}",
                bytes.escape_ascii().to_string()
            )),
        }
    }
}

/// A session, and the calls of the tools in short; paths are relative to the root.
#[derive(Clone, Debug)]
pub(crate) struct Hand {
    pub(crate) session: Session,
    root: String,
    fault: Option<Fault>,
}

impl Hand {
    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, mut args: Value) -> ToolResult {
        if let Some(fault) = self.fault {
            fault.spoil_arguments(&mut args);
        }
        let mut result = self.session.call(tool, args).await;
        if let Some(fault) = self.fault {
            fault.spoil_result(tool, &mut result);
        }
        result
    }

    /// Returns the same session in another folder.
    pub(crate) fn in_folder(&self, cwd: &str) -> Self {
        Self {
            session: self.session.clone().with_cwd(cwd),
            ..self.clone()
        }
    }

    pub(crate) async fn read(&self, path: &str) -> ToolResult {
        self.call("read", json!({ "file_path": path })).await
    }

    pub(crate) async fn read_from(&self, path: &str, offset: u64, limit: u64) -> ToolResult {
        let args = json!({ "file_path": path, "offset": offset, "limit": limit });
        self.call("read", args).await
    }

    pub(crate) async fn write(&self, path: &str, content: &str) -> ToolResult {
        let args = json!({ "file_path": path, "content": content });
        self.call("write", args).await
    }

    pub(crate) async fn edit(&self, path: &str, old: &str, new: &str) -> ToolResult {
        let args = json!({ "file_path": path, "old_string": old, "new_string": new });
        self.call("edit", args).await
    }

    pub(crate) async fn edit_all(&self, path: &str, old: &str, new: &str) -> ToolResult {
        let args = json!({
            "file_path": path, "old_string": old, "new_string": new, "replace_all": true
        });
        self.call("edit", args).await
    }

    pub(crate) async fn view(&self, path: &str) -> ToolResult {
        self.editor("view", path, json!({})).await
    }

    pub(crate) async fn view_rows(&self, path: &str, first: i64, last: i64) -> ToolResult {
        let args = json!({ "view_range": [first, last] });
        self.editor("view", path, args).await
    }

    pub(crate) async fn create(&self, path: &str, text: &str) -> ToolResult {
        self.editor("create", path, json!({ "file_text": text }))
            .await
    }

    pub(crate) async fn str_replace(&self, path: &str, old: &str, new: &str) -> ToolResult {
        let args = json!({ "old_str": old, "new_str": new });
        self.editor("str_replace", path, args).await
    }

    pub(crate) async fn insert(&self, path: &str, row: i64, text: &str) -> ToolResult {
        let args = json!({ "insert_line": row, "new_str": text });
        self.editor("insert", path, args).await
    }

    /// Calls a command of the editor with further arguments.
    pub(crate) async fn editor(&self, command: &str, path: &str, mut args: Value) -> ToolResult {
        args["command"] = json!(command);
        args["path"] = json!(format!("{}/{path}", self.root));
        self.call("str_replace_editor", args).await
    }
}
