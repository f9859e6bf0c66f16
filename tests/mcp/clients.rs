//! Clients that nobody here wrote: rmcp's, and the `mcp` package of PyPI.
//!
//! The Python client runs where `SEAMFS_PYTHON` names a Python that has `mcp`, or where
//! `target/clients` is a virtual environment with `tests/clients/requirements.txt` in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A client, and the way in which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// rmcp's, shaking hands for the oldest revision.
    RmcpOldest,
    /// rmcp's, in the newest revision.
    RmcpNewest,
    /// Python's, shaking hands.
    PythonLegacy,
    /// Python's, finding the newest revision by itself.
    PythonAuto,
}

/// One thing that a client does.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    ListTools,
    Call(Request),
    Parallel(Vec<Request>),
    ReadToEnd { path: String, limit: u64 },
}

/// A call of a tool.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Request {
    tool: &'static str,
    arguments: Value,
}

/// What a client saw.
#[derive(Debug, Deserialize)]
pub(super) struct Outcome {
    pub(super) revision: String,
    pub(super) instructions: Option<String>,
    /// One for each step.
    pub(super) answers: Vec<Value>,
}

pub(super) fn request(tool: &'static str, arguments: Value) -> Request {
    Request { tool, arguments }
}

pub(super) fn call(tool: &'static str, arguments: Value) -> Step {
    Step::Call(request(tool, arguments))
}

impl Client {
    /// Starts a server with these arguments, takes the steps, and ends it.
    ///
    /// None when the client is not on this machine, which is said on stderr.
    pub(super) fn run(self, args: &[&str], steps: &[Step]) -> Option<Outcome> {
        match self {
            Self::RmcpOldest | Self::RmcpNewest => Some(run_rmcp(self, args, steps)),
            Self::PythonLegacy => run_python("legacy", args, steps),
            Self::PythonAuto => run_python("auto", args, steps),
        }
    }

    /// Returns the revision that the client and the server agree on.
    pub(super) fn revision(self) -> &'static str {
        match self {
            Self::RmcpOldest => "2024-11-05",
            Self::PythonLegacy => "2025-11-25",
            Self::RmcpNewest | Self::PythonAuto => "2026-07-28",
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn run_rmcp(client: Client, args: &[&str], steps: &[Step]) -> Outcome {
    let mut running = open_rmcp(client, args).await;
    let mut answers = Vec::new();
    for step in steps {
        answers.push(take(&running, step).await);
    }
    let peer = running.peer_info().expect("the server said who it is");
    let outcome = Outcome {
        revision: peer.protocol_version.to_string(),
        instructions: peer.instructions.clone(),
        answers,
    };
    running.close().await.expect("the connection closes");
    outcome
}

pub(super) async fn open_rmcp(
    client: Client,
    args: &[&str],
) -> RunningService<RoleClient, ClientConfig> {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_seamfs"));
    command.arg("mcp").args(args);
    let transport = TokioChildProcess::new(command).expect("the binary under test starts");
    let lifecycle = match client {
        Client::RmcpOldest => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    };
    let about = Implementation::new("seamfs-tests", "1");
    ClientConfig::new(ClientCapabilities::default(), about)
        .with_protocol_version(ProtocolVersion::V_2024_11_05)
        .serve_with_lifecycle(transport, lifecycle)
        .await
        .expect("the client and the server agree")
}

type Running = RunningService<RoleClient, ClientConfig>;

async fn take(running: &Running, step: &Step) -> Value {
    match step {
        Step::ListTools => list_tools(running).await,
        Step::Call(request) => call_tool(running, request).await,
        Step::Parallel(requests) => {
            let calls = requests.iter().map(|request| call_tool(running, request));
            Value::Array(futures::future::join_all(calls).await)
        }
        Step::ReadToEnd { path, limit } => read_to_end(running, path, *limit).await,
    }
}

async fn list_tools(running: &Running) -> Value {
    let tools = running.list_all_tools().await.expect("tools are listed");
    let tools = tools.iter().map(|tool| {
        let hints = tool.annotations.as_ref().expect("there are hints");
        json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "output_schema": tool.output_schema,
            "hints": [
                hints.read_only_hint,
                hints.destructive_hint,
                hints.idempotent_hint,
                hints.open_world_hint,
            ],
        })
    });
    tools.collect()
}

async fn call_tool(running: &Running, request: &Request) -> Value {
    let arguments = request.arguments.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(request.tool).with_arguments(arguments);
    match running.call_tool(params).await {
        Ok(result) => {
            let blocks = result.content.iter().filter_map(|block| block.as_text());
            json!({
                "is_error": result.is_error,
                "text": blocks.map(|block| block.text.as_str()).collect::<String>(),
                "structured": result.structured_content,
            })
        }
        Err(ServiceError::McpError(error)) => json!({"protocol_error": error.code.0}),
        Err(error) => panic!("{error}"),
    }
}

async fn read_to_end(running: &Running, path: &str, limit: u64) -> Value {
    let (mut lines, mut windows, mut offset) = (Vec::new(), 0, 1);
    loop {
        let arguments = json!({"file_path": path, "offset": offset, "limit": limit});
        let answer = call_tool(running, &request("read", arguments)).await;
        if answer["is_error"] == true {
            return answer;
        }
        let shown = &answer["structured"];
        for line in shown["lines"].as_array().expect("lines are shown") {
            lines.push(line["text"].clone());
        }
        windows += 1;
        offset += shown["returned_lines"].as_u64().expect("a number");
        if offset > shown["total_lines"].as_u64().expect("a number") {
            return json!({"windows": windows, "lines": lines});
        }
    }
}

fn run_python(mode: &str, args: &[&str], steps: &[Step]) -> Option<Outcome> {
    let python = python()?;
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/clients/python_client.py"
    );
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let args: Vec<_> = ["mcp"].iter().chain(args).collect();
    let plan = json!({
        "command": env!("CARGO_BIN_EXE_seamfs"), "args": args, "mode": mode, "steps": steps,
    });
    let mut input = child.stdin.take().expect("stdin is piped");
    input
        .write_all(plan.to_string().as_bytes())
        .expect("the script reads its plan");
    drop(input);
    let output = child.wait_with_output().expect("the script ends");
    assert!(output.status.success(), "the script failed");
    Some(serde_json::from_slice(&output.stdout).expect("the script prints its outcome"))
}

/// Returns a Python that has the `mcp` package.
///
/// # Panics
/// On a continuous-integration machine that has none: nothing is skipped there.
fn python() -> Option<&'static Path> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/target/clients/bin/python");
        let found = std::env::var_os("SEAMFS_PYTHON").map_or_else(|| beside.into(), PathBuf::from);
        let imports = Command::new(&found)
            .args(["-c", "import mcp"])
            .stderr(Stdio::null())
            .status();
        match imports.is_ok_and(|status| status.success()) {
            true => Ok(found),
            false => Err(format!(
                "{} is no Python with the package `mcp`",
                found.display()
            )),
        }
    });
    match found {
        Ok(found) => Some(found),
        Err(why) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("a test");
            let _ = writeln!(std::io::stderr(), "SKIP {name}: {why}");
            None
        }
    }
}

/// Checks what every client sees of the tools on an empty workspace.
fn check_a_client(client: Client) {
    let file = "notes.txt";
    let edits = (0..8).map(|n| {
        let (old, new) = (format!("line {n}."), format!("LINE {n}."));
        request(
            "edit",
            json!({"file_path": file, "old_string": old, "new_string": new}),
        )
    });
    let content: String = (0..8).map(|n| format!("line {n}.\n")).collect();
    let steps = [
        Step::ListTools,
        call("write", json!({"file_path": file, "content": content})),
        Step::Parallel(edits.collect()),
        Step::ReadToEnd {
            path: file.to_owned(),
            limit: 3,
        },
        call(
            "edit",
            json!({"file_path": "unseen", "old_string": "a", "new_string": "b"}),
        ),
        call("read", json!({"file_path": 5})),
        call("nope", json!({})),
    ];
    let Some(outcome) = client.run(&["memory:"], &steps) else {
        return;
    };
    assert_eq!(outcome.revision, client.revision());
    assert!(outcome.instructions.unwrap().contains("`read`"));
    let [tools, written, edited, lines, unseen, wrong, unknown] = &outcome.answers[..] else {
        panic!("one answer for each step");
    };
    assert_eq!(*tools, offered());
    assert_eq!(written["structured"]["operation"], "create");
    for answer in edited.as_array().unwrap() {
        assert_eq!(answer["is_error"], false, "{answer}");
    }
    let expected: Vec<_> = (0..8).map(|n| format!("LINE {n}.")).collect();
    assert_eq!(*lines, json!({"windows": 3, "lines": expected}));
    assert_eq!(unseen["is_error"], true);
    assert_eq!(unseen["structured"]["error"]["code"], "FS_NOT_OBSERVED");
    assert!(unseen["text"].as_str().unwrap().contains("Read the file"));
    assert_eq!(wrong["structured"]["error"]["code"], "FS_INVALID_ARGUMENT");
    assert_eq!(unknown["protocol_error"], -32602);
}

/// Returns the tools as the catalogue has them.
fn offered() -> Value {
    let builder = seamfs::Workspace::builder().tools(["read", "write", "edit"]);
    let workspace = builder
        .unwrap()
        .over(std::sync::Arc::new(seamfs::providers::Memory::new()));
    let specs = workspace.tools();
    let tools = specs.iter().map(|spec| {
        let hints = spec.annotations;
        json!({
            "name": spec.name,
            "title": spec.title,
            "description": spec.description,
            "input_schema": spec.input_schema,
            "output_schema": spec.output_schema,
            "hints": [hints.read_only, hints.destructive, hints.idempotent, false],
        })
    });
    tools.collect()
}

#[test]
fn rmcp_works_in_the_oldest_revision() {
    check_a_client(Client::RmcpOldest);
}

#[test]
fn rmcp_works_in_the_newest_revision() {
    check_a_client(Client::RmcpNewest);
}

#[test]
fn python_works_with_a_handshake() {
    check_a_client(Client::PythonLegacy);
}

#[test]
fn python_works_in_the_newest_revision() {
    check_a_client(Client::PythonAuto);
}
