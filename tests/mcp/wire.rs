//! `seamfs mcp` as a process, spoken to line by line.

use std::fs;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::peak_memory;

/// The two ways to begin a connection, each in the revision that is furthest out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Revision {
    /// 2024-11-05: an `initialize` handshake.
    Oldest,
    /// 2026-07-28: none; each request stands for itself.
    Newest,
}

impl Revision {
    pub(super) const BOTH: [Self; 2] = [Self::Oldest, Self::Newest];
}

/// A running server and the hands of a client.
#[derive(Debug)]
pub(super) struct Wire {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    errors: fs::File,
    revision: Revision,
    unasked: Vec<Value>,
    next_id: u64,
}

/// What a server left behind.
#[derive(Debug)]
pub(super) struct End {
    pub(super) code: Option<i32>,
    /// Messages that nobody waited for.
    pub(super) unasked: Vec<Value>,
    pub(super) stderr: String,
}

impl Wire {
    /// Starts a server and begins a connection in a revision.
    pub(super) fn open(revision: Revision, args: &[&str]) -> Self {
        let mut wire = Self::start(revision, args, &[]);
        if revision == Revision::Oldest {
            let result = wire.initialize("2024-11-05", json!({}));
            assert_eq!(result["protocolVersion"], "2024-11-05");
        }
        wire
    }

    /// Starts a server and says nothing yet.
    pub(super) fn start(revision: Revision, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let errors = tempfile::tempfile().expect("a temporary file");
        let mut child = Command::new(env!("CARGO_BIN_EXE_seamfs"))
            .arg("mcp")
            .args(args)
            .env_remove("RUST_LOG")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors.try_clone().expect("a second handle"))
            .spawn()
            .expect("the binary under test starts");
        Self {
            input: child.stdin.take(),
            output: child.stdout.take().map(BufReader::new),
            child,
            errors,
            revision,
            unasked: Vec::new(),
            next_id: 1,
        }
    }

    /// Shakes hands and returns what the server said.
    pub(super) fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let id = self.id();
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
                "protocolVersion": version,
                "capabilities": capabilities,
                "clientInfo": {"name": "wire", "version": "1"},
            }}),
        );
        let result = self.answer(id)["result"].clone();
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        result
    }

    /// Sends text as it is.
    pub(super) fn send_text(&mut self, text: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(text.as_bytes()).expect("the server reads");
        input.flush().expect("the server reads");
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &Value) {
        self.send_text(&format!("{message}\n"));
    }

    /// Makes a request of the connection's revision, and returns it with its id.
    pub(super) fn request(&mut self, method: &str, mut params: Value) -> (u64, Value) {
        if self.revision == Revision::Newest {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let id = self.id();
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        (id, request)
    }

    /// Sends a request and returns its id.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> u64 {
        let (id, request) = self.request(method, params);
        self.send(&request);
        id
    }

    /// Begins a call and returns its id.
    pub(super) fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool and returns the result.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments);
        let answer = self.answer(id);
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool and expects success.
    pub(super) fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        result
    }

    /// Calls a tool and expects an error of this code.
    pub(super) fn fails(&mut self, tool: &str, arguments: Value, code: &str) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(
            result["structuredContent"]["error"]["code"], code,
            "{result}"
        );
        assert!(text(&result).contains(code), "{result}");
        result
    }

    /// Waits for the answer to a request; others that come first are kept.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        let kept = self.unasked.iter().position(|message| message["id"] == id);
        if let Some(kept) = kept {
            return self.unasked.remove(kept);
        }
        loop {
            let message = self
                .message()
                .unwrap_or_else(|| panic!("the server ended without an answer to {id}"));
            if message["id"] == id {
                return message;
            }
            self.unasked.push(message);
        }
    }

    /// Waits for the next message, whatever it is.
    pub(super) fn message(&mut self) -> Option<Value> {
        let output = self.output.as_mut().expect("the output is open");
        let mut line = String::new();
        output.read_line(&mut line).expect("the server writes text");
        let message = (!line.is_empty()).then(|| {
            serde_json::from_str::<Value>(&line)
                .unwrap_or_else(|error| panic!("stdout held something else, {error}: {line:?}"))
        })?;
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        Some(message)
    }

    /// Returns the most memory that the server held at any time, in bytes.
    pub(super) fn peak_memory(&self) -> u64 {
        peak_memory(self.child.id())
    }

    /// Stops listening, as a client does that crashed on its side.
    pub(super) fn close_output(&mut self) {
        self.output = None;
    }

    /// Ends the input.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Ends the input, waits for the server to end, and checks that nothing panicked.
    pub(super) fn finish(mut self) -> End {
        self.close_input();
        self.wait()
    }

    /// Waits for the server to end by itself, and checks that nothing panicked.
    pub(super) fn wait(&mut self) -> End {
        let mut unasked = std::mem::take(&mut self.unasked);
        if self.output.is_some() {
            while let Some(message) = self.message() {
                unasked.push(message);
            }
        }
        let code = self.child.wait().expect("the process ends").code();
        let mut stderr = String::new();
        self.errors.rewind().expect("a file rewinds");
        self.errors
            .read_to_string(&mut stderr)
            .expect("logs are text");
        assert!(!stderr.contains("panicked"), "{stderr}");
        End {
            code,
            unasked,
            stderr,
        }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}

/// A test that failed midway leaves no server behind.
impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the text of a result.
pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
