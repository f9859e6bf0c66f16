//! Dropped calls of tools: the bytes are the old ones or the new ones, and the session knows which.
//!
//! A call is dropped after every number of steps of the runtime, until it completes. What its
//! session then knows of the file is right, or is forgotten: its next edit lands, if need be after
//! a read, and is never called stale.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use seamfs::core::conformance::doubles::Strict;
use seamfs::core::{
    EditOptions, EditOutcome, ReadOptions, ReadOutcome, ResolveOptions, Transform, WriteOptions,
    WriteOutcome,
};
use seamfs::{
    ErrorCode, FileSystem, FileSystemExt, Result, Session, Target, ToolResult, Workspace,
};
use serde_json::{Value, json};
use tokio::task::yield_now;

use super::places::Provider;
use crate::support::{Double, Hooks};

const OLD: &str = "old\nend\n";

/// A call on the file, which holds `OLD`, and what the file may hold in place of `old` afterwards.
#[derive(Clone, Copy, Debug)]
enum Tool {
    Read,
    Write,
    Edit,
    View,
    StrReplace,
    Insert,
}

const TOOLS: [Tool; 6] = [
    Tool::Read,
    Tool::Write,
    Tool::Edit,
    Tool::View,
    Tool::StrReplace,
    Tool::Insert,
];

impl Tool {
    fn call(self, path: &str) -> (&'static str, Value) {
        let editor = |mut args: Value| {
            args["path"] = json!(path);
            ("str_replace_editor", args)
        };
        match self {
            Self::Read => ("read", json!({"file_path": path})),
            Self::Write => ("write", json!({"file_path": path, "content": "new\nend\n"})),
            Self::Edit => (
                "edit",
                json!({"file_path": path, "old_string": "old", "new_string": "new"}),
            ),
            Self::View => editor(json!({"command": "view"})),
            Self::StrReplace => {
                editor(json!({"command": "str_replace", "old_str": "old", "new_str": "new"}))
            }
            Self::Insert => {
                editor(json!({"command": "insert", "insert_line": 1, "new_str": "more"}))
            }
        }
    }

    const fn after(self) -> &'static str {
        match self {
            Self::Read | Self::View => OLD,
            Self::Write | Self::Edit | Self::StrReplace => "new\nend\n",
            Self::Insert => "old\nmore\nend\n",
        }
    }
}

/// Up to so many steps each number is tried; a call that waits for a disk or a network takes
/// thousands, and then ever larger steps are made.
const EACH: usize = 64;

async fn next_edit(session: &Session, path: &str) -> ToolResult {
    let args = json!({"file_path": path, "old_string": "end", "new_string": "END"});
    session.call("edit", args).await
}

/// What a sweep saw.
#[derive(Debug, Default)]
struct Seen {
    drops: usize,
    landed: usize,
    forgotten: usize,
}

/// Drops a call after every number of steps, until it completes.
async fn sweep(workspace: &Workspace, fs: &dyn FileSystem, tool: Tool, seen: &mut Seen) {
    let mut steps: usize = 0;
    loop {
        let session = workspace.session(&format!("{tool:?}-{steps}"));
        let path = format!("{tool:?}-{steps}.txt");
        let target = fs.target(&path).await.unwrap();
        let path = target.display();
        let made = session
            .call("write", json!({"file_path": path, "content": OLD}))
            .await;
        assert!(made.error.is_none(), "{}", made.text);
        let (name, args) = tool.call(path);
        let mut call = session.call(name, args);
        let mut done = None;
        for _ in 0..steps {
            yield_now().await;
            done = (&mut call).now_or_never();
            if done.is_some() {
                break;
            }
        }
        if let Some(result) = &done {
            assert!(result.error.is_none(), "{}", result.text);
        } else {
            drop(call);
            seen.drops += 1;
        }
        let mut next = next_edit(&session, path).await;
        if let Some(error) = &next.error {
            let told = format!("{tool:?} after {steps} steps: {}", next.text);
            assert_eq!(error.code, ErrorCode::NotObserved, "{told}");
            seen.forgotten += 1;
            session.call("read", json!({"file_path": path})).await;
            next = next_edit(&session, path).await;
        }
        assert!(
            next.error.is_none(),
            "{tool:?} after {steps} steps: {}",
            next.text
        );
        let bytes = fs.read_all(&target).await.unwrap().bytes;
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let expected = [OLD, tool.after()].map(|text| text.replace("end", "END"));
        assert!(
            expected.contains(&text),
            "{tool:?} after {steps} steps: {text:?}"
        );
        seen.landed += usize::from(done.is_none() && text == expected[1]);
        if done.is_some() {
            assert_eq!(text, expected[1]);
            return;
        }
        steps += 1 + steps.saturating_sub(EACH) / 4;
    }
}

/// Lets others run before and after each step of a call: one that is over where it is begun can be
/// dropped at no point.
#[derive(Debug)]
struct Interrupted;

#[async_trait]
impl Hooks for Interrupted {
    async fn resolve(
        &self,
        fs: &dyn FileSystem,
        path: &str,
        cwd: &str,
        options: ResolveOptions,
    ) -> Result<Target> {
        yield_now().await;
        fs.resolve(path, cwd, options).await
    }

    async fn read(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: ReadOptions,
    ) -> Result<ReadOutcome> {
        yield_now().await;
        let outcome = fs.read(target, options).await;
        yield_now().await;
        outcome
    }

    async fn write(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        yield_now().await;
        let outcome = fs.write(target, bytes, options).await;
        yield_now().await;
        outcome
    }

    async fn edit(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        yield_now().await;
        let outcome = fs.edit(target, transform, options).await;
        yield_now().await;
        outcome
    }
}

async fn sweep_all(name: &str, fs: Arc<dyn FileSystem>) {
    let fs = Double::over(fs, Interrupted);
    let workspace = Workspace::builder().over(Arc::clone(&fs));
    let mut seen = Seen::default();
    for tool in TOOLS {
        sweep(&workspace, &*fs, tool, &mut seen).await;
    }
    eprintln!("{name}: {seen:?}");
    assert!(seen.drops > TOOLS.len(), "hardly any call was ever dropped");
    assert!(
        seen.landed > 0,
        "no change was ever published by a dropped call"
    );
}

#[tokio::test]
async fn dropped_calls_over_memory_leave_the_session_right() {
    sweep_all("Memory", Provider::Memory.open().fs).await;
}

#[tokio::test]
async fn dropped_calls_over_the_strict_double_leave_the_session_right() {
    let fs = Strict::new(Provider::Memory.open().fs, 5);
    sweep_all("`Strict<Memory>`", Arc::new(fs)).await;
}

#[tokio::test]
async fn dropped_calls_over_local_leave_the_session_right() {
    let place = Provider::Local.open();
    sweep_all("Local", Arc::clone(&place.fs)).await;
}

#[tokio::test]
async fn dropped_calls_over_an_object_store_leave_the_session_right() {
    sweep_all("Object", Provider::Object.open().fs).await;
}

#[tokio::test]
async fn dropped_calls_over_s3_leave_the_session_right() {
    let place = Provider::S3.open();
    sweep_all("S3", Arc::clone(&place.fs)).await;
}
