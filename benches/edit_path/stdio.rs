//! What the ways into the process add: `seamfs batch` and MCP over stdio, beside a bare echo.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use seamfs::Workspace;
use seamfs::providers::{Durability, Local, LocalOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;

use crate::harness::{Harness, each};
use crate::rows::edits_by_tool;
use crate::scene::{Turn, call, text};

/// The argument that makes this program the bare echo server.
pub(crate) const ECHO: &str = "--echo";

/// Answers each line with itself, as the least that any server of lines on tokio does.
pub(crate) fn echo() {
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut lines = tokio::io::BufReader::new(tokio::io::stdin());
        let mut out = tokio::io::stdout();
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).await.expect("a line") > 0 {
            out.write_all(&line).await.expect("a reader");
            out.flush().await.expect("a reader");
            line.clear();
        }
    });
}

/// A process that answers lines with lines.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Server {
    fn start(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.stderr(Stdio::null()).spawn().expect("a process");
        Self {
            input: child.stdin.take().expect("a pipe"),
            output: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            line: String::new(),
        }
    }

    fn tell(&mut self, message: &Value) {
        self.input
            .write_all(format!("{message}\n").as_bytes())
            .expect("the server reads");
    }

    fn ask(&mut self, message: &Value) -> &str {
        self.tell(message);
        self.line.clear();
        self.output.read_line(&mut self.line).expect("an answer");
        &self.line
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn seamfs(folder: &Path, verb: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seamfs"));
    command.args([verb, "-w"]).arg(folder);
    command.args(["--durability", "none"]);
    command
}

/// Measures an edit of 1 KiB by each way in beside the same call in this process.
pub(crate) fn run(harness: &mut Harness, runtime: &Runtime, folder: &Path) {
    if !harness.wants("stdio, 1 KiB") {
        return;
    }
    let options = LocalOptions::default().durability(Durability::None);
    let fs = Local::open_with(folder, options).expect("a folder");
    let session = Workspace::builder().over(Arc::new(fs)).session("bench");
    let read = json!({"file_path": "subject.txt"});
    let mut echo =
        Server::start(Command::new(std::env::current_exe().expect("this program")).arg(ECHO));
    for way in ["batch", "mcp", "bare echo"] {
        std::fs::write(folder.join("subject.txt"), text(1 << 10)).expect("room");
        call(runtime, &session, "read", read.clone());
        let file = format!("{}.txt", way.replace(' ', "-"));
        std::fs::write(folder.join(&file), text(1 << 10)).expect("room");
        let (ours, theirs) = (Turn::default(), Turn::default());
        let mut server = match way {
            "batch" => Some(Server::start(&mut seamfs(folder, "batch"))),
            "mcp" => Some(initialized(Server::start(&mut seamfs(folder, "mcp")))),
            _ => None,
        };
        let server = server.as_mut().unwrap_or(&mut echo);
        let message = |tool: &str, arguments: Value| match way {
            "mcp" => json!({
                "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments},
            }),
            _ => json!({"tool": tool, "args": arguments}),
        };
        server.ask(&message("read", json!({"file_path": file})));
        harness.added(
            &format!("{way} over stdio, 1 KiB"),
            each(|| {
                let (old, new) = ours.next();
                let edit = json!({"file_path": file, "old_string": old, "new_string": new});
                let answer = server.ask(&message("edit", edit));
                assert!(way == "bare echo" || answer.contains("Edited"), "{answer}");
            }),
            Box::new(|times| match way {
                // It does no work: all of it is added.
                "bare echo" => Duration::ZERO,
                _ => edits_by_tool(runtime, &session, &theirs, times),
            }),
        );
    }
}

fn initialized(mut server: Server) -> Server {
    server.ask(&json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "0"},
        },
    }));
    server.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    server
}
