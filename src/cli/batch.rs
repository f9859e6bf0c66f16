//! `seamfs batch`: JSON lines in, JSON lines out, each answered before the next is read.

use clap::Args;
use futures::future::join_all;
use seamfs::tools::{ToolError, ToolResult, typed};
use seamfs::{Call, ErrorCode, FsError};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::open::Opened;
use super::{Outcome, WorkspaceArgs, open, show};

/// The session of a line that names none.
const SESSION: &str = "default";

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    session: Option<String>,
    tool: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    cwd: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParallelLine {
    parallel: Vec<Value>,
}

/// A line that tells of a session itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignalLine {
    #[serde(default)]
    session: Option<String>,
    signal: Signal,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Signal {
    /// Another session begins with what this one has seen.
    Fork(String),
    /// The model lost from its context what it saw of a file, or of every one.
    Evicted(Option<String>),
    /// The session is over.
    End,
}

pub(crate) async fn run(args: BatchArgs) -> Outcome {
    let opened = match open::open(&args.workspace, &[]).await {
        Ok(opened) => opened,
        Err(error) => {
            show::error(&error.to_string());
            return Outcome::Usage;
        }
    };
    let mut input = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line).await {
            Ok(0) => return Outcome::Success,
            Ok(_) if line.trim_ascii().is_empty() => {}
            Ok(_) => {
                let answer = answer(&opened, &line).await;
                if !show::json_line(&answer) {
                    return Outcome::Success;
                }
            }
            Err(error) => {
                show::error(&format!("stdin could not be read: {error}"));
                return Outcome::Usage;
            }
        }
    }
}

pub(crate) async fn answer(opened: &Opened, line: &[u8]) -> Value {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let at = error.column();
            return bad_line(&format!("the line is not JSON, from byte {at} on"));
        }
    };
    if value.get("signal").is_some() {
        return signal(opened, value).await;
    }
    if value.get("parallel").is_none() {
        return Begun::begin(opened, value).finish().await;
    }
    match typed::<ParallelLine>(value) {
        Err(error) => bad_line(&format!(
            "the line is not {{\"parallel\": [call, …]}}: {error}"
        )),
        Ok(line) => {
            // Begun in order, so that calls on one file take effect in the order of the line.
            let begun: Vec<_> = line
                .parallel
                .into_iter()
                .map(|call| Begun::begin(opened, call))
                .collect();
            json!({ "parallel": join_all(begun.into_iter().map(Begun::finish)).await })
        }
    }
}

async fn signal(opened: &Opened, value: Value) -> Value {
    let line: SignalLine = match typed(value) {
        Ok(line) => line,
        Err(error) => {
            return bad_line(&format!(
                "the line is not {{\"session\"?, \"signal\": {{\"fork\": name}} | {{\"evicted\": \
                 path or null}} | \"end\"}}: {error}"
            ));
        }
    };
    let name = line.session.unwrap_or_else(|| SESSION.to_owned());
    let session = opened.session(&name);
    let (text, error) = match line.signal {
        Signal::Fork(to) => {
            let fork = session.fork(&to);
            (format!("{} has seen what {name} has.", fork.name()), None)
        }
        Signal::Evicted(None) => {
            session.evicted_all();
            ("Every file counts as unseen.".to_owned(), None)
        }
        Signal::Evicted(Some(path)) => match session.evicted(&path).await {
            Ok(()) => (format!("{path} counts as unseen."), None),
            Err(error) => (error.to_string(), Some(error.code())),
        },
        Signal::End => {
            session.end();
            (format!("{name} is over."), None)
        }
    };
    json!({
        "session": name,
        "tool": null,
        "is_error": error.is_some(),
        "code": error,
        "text": text,
        "structured": null,
        "meta": {},
    })
}

/// A call that has taken its place in the order of its session.
enum Begun {
    Call {
        session: String,
        tool: String,
        call: Call,
    },
    Bad(Value),
}

impl Begun {
    fn begin(opened: &Opened, value: Value) -> Self {
        // An array would fill the fields in their order, which is no form of a call.
        let line = match value {
            Value::Array(_) => Err("an array is no call".to_owned()),
            _ => typed::<Line>(value),
        };
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                return Self::Bad(bad_line(&format!(
                    "a call is {{\"session\"?, \"tool\", \"args\"?, \"cwd\"?}}: {error}"
                )));
            }
        };
        let name = line.session.unwrap_or_else(|| SESSION.to_owned());
        let mut session = opened.session(&name);
        if let Some(cwd) = &line.cwd {
            session = session.with_cwd(cwd);
        }
        Self::Call {
            call: session.call(&line.tool, line.args),
            session: name,
            tool: line.tool,
        }
    }

    async fn finish(self) -> Value {
        match self {
            Self::Bad(value) => value,
            Self::Call {
                session,
                tool,
                call,
            } => show::result_value(&session, &tool, &call.await),
        }
    }
}

/// Answers a line that is no call; the next line still runs.
fn bad_line(message: &str) -> Value {
    let error = FsError::new(ErrorCode::InvalidArgument, message.to_owned());
    let result = ToolResult::from(ToolError::from(error));
    let mut value = show::result_value("", "", &result);
    value["session"] = Value::Null;
    value["tool"] = Value::Null;
    value
}
