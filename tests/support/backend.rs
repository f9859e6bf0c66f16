//! The backends that claims run on, each with a way to act from outside the tools.

use std::sync::Arc;

use bytes::Bytes;
use seamfs::providers::Memory;
use seamfs::{
    ErrorCode, Expected, FileSystem, FileSystemExt, Session, ToolResult, Workspace,
    WorkspaceBuilder,
};
use serde_json::{Value, json};

/// A backend that a claim runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
}

impl Backend {
    /// Every backend that a plain test run has.
    pub(crate) const ALL: &'static [Self] = &[Self::Memory];
}

/// A workspace on one backend, and the hands of somebody outside the tools.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) backend: Backend,
    pub(crate) workspace: Workspace,
    fs: Arc<dyn FileSystem>,
}

impl Scene {
    /// Opens an empty workspace with the observation policy and every tool.
    pub(crate) fn new(backend: Backend) -> Self {
        Self::with(backend, Workspace::builder())
    }

    /// Opens an empty workspace with settings of the claim's own.
    pub(crate) fn with(backend: Backend, builder: WorkspaceBuilder) -> Self {
        let fs: Arc<dyn FileSystem> = match backend {
            Backend::Memory => Arc::new(Memory::new()),
        };
        Self {
            backend,
            workspace: builder.over(Arc::clone(&fs)),
            fs,
        }
    }

    /// Returns the session `S1`.
    pub(crate) fn session(&self) -> Session {
        self.workspace.session("S1")
    }

    /// Returns the display path of a path relative to the root.
    pub(crate) async fn path(&self, path: &str) -> String {
        self.fs.target(path).await.unwrap().display().to_owned()
    }

    /// Writes bytes from outside the tools.
    pub(crate) async fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        match self.backend {
            Backend::Memory => {
                let target = self.fs.target(path).await.unwrap();
                let bytes = Bytes::copy_from_slice(bytes.as_ref());
                self.fs
                    .write_all(&target, bytes, Expected::Any)
                    .await
                    .unwrap();
            }
        }
    }

    /// Reads bytes from outside the tools; none when nothing is there.
    pub(crate) async fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        match self.backend {
            Backend::Memory => {
                let target = self.fs.target(path).await.unwrap();
                match self.fs.read_all(&target).await {
                    Ok(snapshot) => Some(snapshot.bytes.to_vec()),
                    Err(error) if error.code() == ErrorCode::NotFound => None,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Removes a file from outside the tools.
    pub(crate) async fn remove(&self, path: &str) {
        match self.backend {
            Backend::Memory => {
                let target = self.fs.target(path).await.unwrap();
                self.fs.remove(&target, Default::default()).await.unwrap();
            }
        }
    }

    /// Checks a file's bytes.
    pub(crate) async fn check(&self, path: &str, expected: impl AsRef<[u8]>) {
        let found = self.bytes(path).await;
        let found = found.as_deref().map(String::from_utf8_lossy);
        let expected = String::from_utf8_lossy(expected.as_ref());
        assert_eq!(
            found.as_deref(),
            Some(&*expected),
            "{path} on {:?}",
            self.backend
        );
    }

    /// Calls `read` on a whole file and expects success.
    pub(crate) async fn read(&self, session: &Session, path: &str) -> ToolResult {
        self.ok(session, "read", json!({ "file_path": path })).await
    }

    /// Calls a tool and expects success.
    pub(crate) async fn ok(&self, session: &Session, tool: &str, args: Value) -> ToolResult {
        let result = session.call(tool, args.clone()).await;
        assert!(
            !result.is_error(),
            "{tool} {args} on {:?}: {}",
            self.backend,
            result.text
        );
        result
    }

    /// Calls a tool and expects an error of this code.
    pub(crate) async fn fails(
        &self,
        session: &Session,
        tool: &str,
        args: Value,
        code: ErrorCode,
    ) -> ToolResult {
        let result = session.call(tool, args.clone()).await;
        let place = format!("{tool} {args} on {:?}: {}", self.backend, result.text);
        assert_eq!(result.code(), Some(code), "{place}");
        result
    }
}
