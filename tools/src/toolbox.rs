//! The toolbox: the tools of one workspace, and the one way to call them.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::FutureExt;
use seamfs_core::cache::LineIndexes;
use seamfs_core::escalation::Approver;
use seamfs_core::gate::GateFacts;
use seamfs_core::{
    Actor, CallContext, Cancellation, ErrorCode, FileSystem, FsError, Gate, in_place,
};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, coop};

use crate::allowed;
use crate::edit::Edit;
use crate::editor::StrReplaceEditor;
use crate::escalation;
use crate::read::Read;
use crate::result::{ToolError, ToolOutput, ToolResult};
use crate::scope::{Order, Scope};
use crate::tool::{Tool, ToolSpec};
use crate::write::Write;

/// Returns every tool there is, in the order in which they are shown.
pub fn catalogue() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(Read::default()),
        Box::new(Write),
        Box::new(Edit),
        Box::new(StrReplaceEditor::default()),
    ]
}

/// The tools of one workspace over its file system and gate.
#[derive(Clone, Debug)]
pub struct Toolbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    fs: Arc<dyn FileSystem>,
    gate: Gate,
    tools: Vec<Arc<dyn Tool>>,
    order: Order,
    /// Where the lines of large files begin, for every session.
    indexes: Arc<LineIndexes>,
}

/// Who calls, and from where.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who acts.
    pub actor: Actor,
    /// Where relative paths start; empty for the root.
    pub cwd: Arc<str>,
    /// Who may widen the mode of this caller's calls; otherwise whoever the gate has.
    pub approver: Option<Arc<dyn Approver>>,
}

impl Toolbox {
    /// Puts tools over a file system and a gate.
    pub fn new(
        fs: Arc<dyn FileSystem>,
        gate: Gate,
        tools: impl IntoIterator<Item = Box<dyn Tool>>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                fs,
                gate,
                tools: tools.into_iter().map(Arc::from).collect(),
                order: Order::default(),
                indexes: Arc::default(),
            }),
        }
    }

    /// Returns the file system.
    pub fn fs(&self) -> &dyn FileSystem {
        &*self.inner.fs
    }

    /// Returns the gate.
    pub fn gate(&self) -> &Gate {
        &self.inner.gate
    }

    /// Returns what a model sees of each tool.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let facts: GateFacts = self.inner.gate.facts();
        self.inner
            .tools
            .iter()
            .map(|tool| allowed::described(tool.spec(&facts), tool.mutates(), &facts))
            .collect()
    }

    /// Returns whether there is a tool of this name.
    pub fn has(&self, name: &str) -> bool {
        self.tool(name).is_some()
    }

    /// Begins a call; it runs as a task of its own.
    ///
    /// The call's place among those of its actor is taken before this returns, and small work that
    /// waits for nobody is done by then: such a call is over and was no task. Dropping the returned
    /// future withdraws the call, unless its change is already being published: then the change
    /// stands, and is recorded.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn call(
        &self,
        caller: &Caller,
        name: &str,
        arguments: Value,
        context: CallContext,
    ) -> Call {
        let Some(tool) = self.tool(name).map(Arc::clone) else {
            return Call::done(ToolError::from(self.unknown(name)).into());
        };
        let runtime = Handle::current();
        let cancellation = context.cancellation.clone();
        let mut scope = Scope {
            fs: Arc::clone(&self.inner.fs),
            gate: self.inner.gate.clone(),
            actor: caller.actor.clone(),
            cwd: Arc::clone(&caller.cwd),
            context: CallContext {
                actor: Some(caller.actor.clone()),
                ..context
            },
            tool: tool.name(),
            escalation: None,
            approver: caller.approver.clone(),
            arrival: Some(self.inner.order.arrive(&caller.actor)),
            order: self.inner.order.clone(),
            indexes: Arc::clone(&self.inner.indexes),
        };
        let mut work = Box::pin(async move {
            in_place::make_way_for(size(&arguments)).await;
            let outcome = run(&*tool, &mut scope, arguments).await;
            tracing::debug!(
                tool = tool.name(),
                actor = %scope.actor,
                code = outcome.as_ref().err().map(|failed| failed.error.code().as_str()),
                "call"
            );
            ToolResult::from(outcome)
        });
        match catch_unwind(AssertUnwindSafe(|| in_place::begin(work.as_mut()))) {
            Ok(Poll::Ready(result)) => Call::done(result),
            Ok(Poll::Pending) => Call {
                state: State::Running(runtime.spawn(work)),
                cancellation,
            },
            // The hook of the process has reported it.
            Err(_) => Call::done(defect()),
        }
    }

    fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.inner.tools.iter().find(|tool| tool.name() == name)
    }

    fn unknown(&self, name: &str) -> FsError {
        let names: Vec<_> = self.inner.tools.iter().map(|tool| tool.name()).collect();
        let name: String = name
            .chars()
            .take(100)
            .flat_map(char::escape_debug)
            .collect();
        FsError::new(
            ErrorCode::InvalidArgument,
            format!("there is no tool `{name}`; there are {}", names.join(", ")),
        )
    }
}

/// Returns how many bytes the arguments of a call have to go through.
fn size(arguments: &Value) -> usize {
    match arguments {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Makes the result of a call whose tool panicked.
fn defect() -> ToolResult {
    ToolError::from(FsError::new(
        ErrorCode::OutcomeUnknown,
        "the call failed inside the tool, which is a defect of the tool; whether it changed \
         anything is not known",
    ))
    .into()
}

/// Runs a tool, after what the call asks for beside the tool's own arguments was taken out.
async fn run(
    tool: &dyn Tool,
    scope: &mut Scope,
    mut arguments: Value,
) -> Result<ToolOutput, ToolError> {
    if tool.mutates() {
        scope.escalation = escalation::take(&scope.gate.facts(), &mut arguments)?;
    }
    tool.run(scope, arguments).await
}

/// A call under way; a future of its result.
#[derive(Debug)]
#[must_use = "dropping a call withdraws it"]
pub struct Call {
    state: State,
    cancellation: Cancellation,
}

#[derive(Debug)]
enum State {
    Running(JoinHandle<ToolResult>),
    Done(Option<Box<ToolResult>>),
}

impl Call {
    fn done(result: ToolResult) -> Self {
        Self {
            state: State::Done(Some(Box::new(result))),
            cancellation: Cancellation::new(),
        }
    }

    /// Returns the flag that withdraws the call without dropping its future.
    pub fn cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }
}

/// What a call that was over at once takes of the budget that tokio gives a task before it must let
/// others run: sixteen such calls in a row, a quarter of a millisecond, use it up.
const WEIGHT: usize = 8;

impl Future for Call {
    type Output = ToolResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ToolResult> {
        let result = match &mut self.state {
            State::Done(result) => {
                for _ in 0..WEIGHT {
                    ready!(coop::poll_proceed(context)).made_progress();
                }
                *result.take().expect("a call is not polled after its end")
            }
            State::Running(task) => match task.poll_unpin(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(result)) => result,
                Poll::Ready(Err(failure)) => {
                    tracing::error!(%failure, "a call ended without a result");
                    defect()
                }
            },
        };
        self.state = State::Done(None);
        Poll::Ready(result)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if matches!(self.state, State::Running(_)) {
            self.cancellation.cancel();
        }
    }
}
