//! Calls in place: what is over when a call was begun, and what is a task by then.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::join_all;
use seamfs::core::escalation::{Approver, Escalation, Verdict};
use seamfs::core::gate::GateFacts;
use seamfs::providers::Memory;
use seamfs::providers::local::{Durability, Local, LocalOptions};
use seamfs::tools::{Annotations, Scope, Tool, ToolError, ToolOutput, ToolSpec, Toolbox};
use seamfs::{CallContext, ErrorCode, FileSystem, SandboxMode, Session, Workspace};
use serde_json::{Value, json};
use tokio::task::LocalSet;

use super::places::Provider;

/// Sizes of a file and of what is written, on both sides of what is gone through in place.
const SIZES: [usize; 3] = [1 << 10, 300 << 10, 3 << 20];

fn text(size: usize) -> String {
    let mut text = "some line of text\n".repeat(size / 18);
    text.push_str("the mark\n");
    text
}

async fn succeed(session: &Session, tool: &str, args: Value) {
    let result = session.call(tool, args).await;
    assert!(!result.is_error(), "{}", result.text);
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"file_path": path, "old_string": old, "new_string": new})
}

#[tokio::test]
async fn small_calls_on_memory_are_over_when_begun_and_large_ones_are_tasks() {
    let fs: Arc<dyn FileSystem> = Arc::new(Memory::new());
    let session = Workspace::builder().over(fs).session("s");
    for size in SIZES {
        let write = json!({"file_path": "f", "content": text(size)});
        succeed(&session, "write", write).await;
        let begun = [
            ("read", json!({"file_path": "f", "limit": 10})),
            ("edit", edit("f", "the mark", "a mark")),
            ("edit", edit("f", "a mark", "the mark")),
        ];
        for (tool, args) in begun {
            // Nothing else runs on this runtime while this does not wait.
            let mut call = session.call(tool, args);
            let over = (&mut call).now_or_never();
            assert_eq!(over.is_some(), size < 256 << 10, "{tool} of {size}");
            let result = match over {
                Some(result) => result,
                None => call.await,
            };
            assert!(!result.is_error(), "{}", result.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_size_and_durability_can_be_called_for_within_a_local_set() {
    let folder = tempfile::tempdir().unwrap();
    let set = LocalSet::new();
    for durability in [Durability::None, Durability::Data, Durability::Full] {
        let options = LocalOptions::default().durability(durability);
        let local = Local::open_with(folder.path(), options).unwrap();
        let session = Workspace::builder().over(Arc::new(local)).session("s");
        let path = format!("{durability:?}.txt");
        set.run_until(async {
            for size in SIZES {
                // The second time round the host is known to answer at once.
                for _ in 0..3 {
                    let write = json!({"file_path": path, "content": text(size)});
                    succeed(&session, "write", write).await;
                    succeed(&session, "read", json!({"file_path": path})).await;
                    succeed(&session, "edit", edit(&path, "the mark", "a mark")).await;
                }
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_begun_together_land_in_the_order_in_which_they_were_begun() {
    for provider in [Provider::Memory, Provider::Local, Provider::Object] {
        let place = provider.open();
        let session = Workspace::builder()
            .over(Arc::clone(&place.fs))
            .session("s");
        // Between them one that is large, so that what comes after it has to wait.
        let large = json!({"file_path": "f", "content": text(3 << 20)});
        let calls = [
            session.call("write", json!({"file_path": "f", "content": text(1 << 10)})),
            session.call("edit", edit("f", "the mark", "one")),
            session.call("write", large),
            session.call("edit", edit("f", "the mark", "two")),
            session.call("edit", edit("f", "two", "three")),
        ];
        // Polled backwards.
        let ended = join_all(calls.into_iter().rev()).await;
        for result in ended {
            assert!(!result.is_error(), "{}: {}", provider.name(), result.text);
        }
        let found = edit("f", "three", "3");
        succeed(&session, "edit", found).await;
    }
}

#[tokio::test]
async fn a_row_of_calls_that_are_over_at_once_lets_others_run() {
    let session = Workspace::builder()
        .over(Arc::new(Memory::new()))
        .session("s");
    let turns = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            count.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let write = json!({"file_path": "f", "content": "1"});
    for _ in 0..160 {
        succeed(&session, "write", write.clone()).await;
    }
    other.abort();
    assert!(turns.load(Ordering::Relaxed) >= 9, "{turns:?} turns");
}

/// Approves when it gets what the host of the call uses too.
#[derive(Debug)]
struct Shared(Arc<Mutex<()>>);

#[async_trait]
impl Approver for Shared {
    async fn decide(&self, _: &Escalation<'_>) -> Verdict {
        match self.0.try_lock() {
            Ok(_) => Verdict::Approved,
            Err(_) => Verdict::Rejected(Some("the host holds it".to_owned())),
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_while_the_host_begins_the_call() {
    let shared = Arc::new(Mutex::new(()));
    let session = Workspace::builder()
        .sandbox(SandboxMode::ReadOnly)
        .approver(Arc::new(Shared(Arc::clone(&shared))))
        .over(Arc::new(Memory::new()))
        .session("s");
    let args = json!({
        "file_path": "f", "content": "1",
        "sandbox_permissions": "workspace-write", "justification": "a test",
    });
    let held = shared.lock().unwrap();
    let call = session.call("write", args);
    drop(held);
    let result = call.await;
    assert!(!result.is_error(), "{}", result.text);
}

/// A tool that fails as no tool should.
#[derive(Debug)]
struct Defective {
    waits: bool,
}

#[async_trait]
impl Tool for Defective {
    fn name(&self) -> &'static str {
        "defective"
    }

    fn mutates(&self) -> bool {
        false
    }

    fn spec(&self, _: &GateFacts) -> ToolSpec {
        ToolSpec {
            name: self.name(),
            title: "Fail",
            description: String::new(),
            input_schema: json!({}),
            output_schema: json!({}),
            annotations: Annotations {
                read_only: true,
                destructive: false,
                idempotent: true,
            },
            system_prompt: None,
        }
    }

    fn set_option(&mut self, _: &str, _: &str) -> seamfs::Result<()> {
        Ok(())
    }

    async fn run(&self, _: &mut Scope, _: Value) -> Result<ToolOutput, ToolError> {
        if self.waits {
            tokio::task::yield_now().await;
        }
        panic!("on purpose")
    }
}

#[tokio::test]
async fn a_tool_that_panics_in_place_or_in_its_task_is_told_as_a_defect() {
    for waits in [false, true] {
        let tools = [Box::new(Defective { waits }) as Box<dyn Tool>];
        let toolbox = Toolbox::new(
            Arc::new(Memory::new()),
            seamfs::core::Gate::new(Vec::new()),
            tools,
        );
        let caller = seamfs::tools::Caller {
            actor: seamfs::Actor::new("s"),
            cwd: Arc::from(""),
            approver: None,
        };
        let context = CallContext::default().within(Duration::from_secs(60));
        let result = toolbox
            .call(&caller, "defective", json!({}), context.clone())
            .await;
        assert_eq!(result.code(), Some(ErrorCode::OutcomeUnknown), "{waits}");
        // Its place among the actor's calls is free again.
        let again = toolbox.call(&caller, "defective", json!({}), context).await;
        assert_eq!(again.code(), Some(ErrorCode::OutcomeUnknown), "{waits}");
    }
}
