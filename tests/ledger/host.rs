//! Who answers a script's lines: the process `seamfs batch`, or a workspace in this one whose
//! rules a test bends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seamfs::policy::{Coverage, Detail, Ledger, Observation, Past, Rebase};
use seamfs::{Registry, SessionFile, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::doubles::{Ahead, Double};
use crate::servers::{self, BUCKET, Server};
use crate::support::Batch;

/// Where a script's files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Memory,
    Disk,
    /// A bucket, over HTTP.
    S3,
}

/// What is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Switches {
    pub(super) coverage: bool,
    pub(super) rebase: bool,
    pub(super) lasting: bool,
}

/// A workspace that outlives the processes that work in it.
#[derive(Debug)]
pub(super) struct Stage {
    place: Place,
    switches: Switches,
    double: Option<Double>,
    folder: PathBuf,
    /// Removes the folder, which is this one's own.
    _owned: Option<TempDir>,
    server: Option<Server>,
}

impl Stage {
    pub(super) fn new(place: Place, switches: Switches, double: Option<Double>) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        std::fs::create_dir(folder.path().join("ws")).expect("there is room for a folder");
        Self {
            place,
            switches,
            double,
            folder: folder.path().to_owned(),
            _owned: Some(folder),
            server: (place == Place::S3).then(servers::s3),
        }
    }

    /// Returns the stage on the disk that another process made.
    pub(super) fn existing(folder: &Path, switches: Switches) -> Self {
        Self {
            place: Place::Disk,
            switches,
            double: None,
            folder: folder.to_owned(),
            _owned: None,
            server: None,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts to answer.
    pub(super) fn host(&self) -> Host {
        match self.double {
            None => {
                let arguments = self.arguments();
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                Host::Process(Batch::start(&arguments))
            }
            Some(double) => Host::Here(Box::new(Here::open(self, double))),
        }
    }

    /// Writes a file from outside; returns whether there is an outside.
    pub(super) fn put(&self, name: &str, text: &str) -> bool {
        match (&self.server, self.place) {
            (Some(server), _) => server.store.put_foreign(&format!("ws/{name}"), text),
            (None, Place::Disk) => {
                std::fs::write(self.path(name), text).expect("the outside can write");
            }
            (None, _) => return false,
        }
        true
    }

    pub(super) fn session_file(&self) -> PathBuf {
        self.folder.join("sessions")
    }

    /// Returns the place of a file on the disk.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join("ws").join(name)
    }

    fn location(&self) -> String {
        match self.place {
            Place::Memory => "memory:".to_owned(),
            Place::Disk => self.folder.join("ws").display().to_string(),
            Place::S3 => format!("s3://{BUCKET}/ws"),
        }
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--workspace".to_owned(), self.location()];
        for (key, value) in self.server.iter().flat_map(Server::s3_options) {
            arguments.extend(["-o".to_owned(), format!("{key}={value}")]);
        }
        if self.switches.coverage {
            arguments.push("--coverage".to_owned());
        }
        if self.switches.rebase {
            arguments.push("--rebase".to_owned());
        }
        if self.switches.lasting {
            arguments.push("--session-file".to_owned());
            arguments.push(self.session_file().display().to_string());
        }
        arguments
    }
}

/// Who answers.
#[derive(Debug)]
pub(super) enum Host {
    Process(Batch),
    Here(Box<Here>),
}

impl Host {
    /// Sends one line and returns the answer.
    pub(super) fn send(&mut self, line: Value) -> Value {
        match self {
            Self::Process(batch) => batch.call(line),
            Self::Here(here) => here.answer(&line),
        }
    }

    /// Ends it without a word of warning.
    pub(super) fn kill(self) {
        match self {
            Self::Process(batch) => batch.kill(),
            Self::Here(_) => {}
        }
    }
}

/// A workspace in this process, with a bent rule.
#[derive(Debug)]
pub(super) struct Here {
    runtime: Runtime,
    workspace: Workspace,
}

impl Here {
    pub(super) fn open(stage: &Stage, double: Double) -> Self {
        let runtime = Runtime::new().expect("a runtime starts");
        let (registry, location) = (Registry::default(), stage.location());
        let opened = runtime.block_on(registry.open(&location, Default::default()));
        let fs = opened.expect("a workspace opens");
        let detail = match (stage.switches.coverage, stage.switches.rebase) {
            (true, _) => Detail::Lines,
            (false, true) => Detail::Merges,
            (false, false) => Detail::Versions,
        };
        let mut ledger = Ledger::keeping(detail);
        if stage.switches.lasting {
            let log = SessionFile::open(stage.session_file()).expect("a session file opens");
            let past = Past::load(double.bend_log(Arc::new(log))).expect("a session file loads");
            ledger = ledger.after(past, &fs.to_string());
        }
        let ledger = Arc::new(ledger);
        let mut rules = vec![double.bend(Observation::over(Arc::clone(&ledger)))];
        if stage.switches.coverage {
            rules.push(double.bend(Coverage::over(Arc::clone(&ledger))));
        }
        if stage.switches.rebase {
            rules.push(double.bend(Rebase::over(Arc::clone(&ledger))));
        }
        if double == Double::RecordsAhead {
            rules.push(Arc::new(Ahead { ledger }));
        }
        Self {
            workspace: Workspace::builder().rules(rules).over(fs),
            runtime,
        }
    }

    pub(super) fn answer(&self, line: &Value) -> Value {
        let session = line["session"].as_str().unwrap_or("default");
        let session = self.workspace.session(session);
        if let Some(to) = line["signal"]["fork"].as_str() {
            let _ = session.fork(to);
        } else if let Some(path) = line["signal"]["evicted"].as_str() {
            let evicted = async { session.evicted(path).await };
            self.runtime.block_on(evicted).expect("the file resolves");
        } else if line["signal"].get("evicted").is_some() {
            session.evicted_all();
        } else if line["signal"] == "end" {
            session.end();
        } else if let Some(calls) = line["parallel"].as_array() {
            let begin = |call: &Value| {
                let name = call["session"].as_str().unwrap_or("default");
                let tool = call["tool"].as_str().expect("a tool");
                self.workspace
                    .session(name)
                    .call(tool, call["args"].clone())
            };
            let results = self.runtime.block_on(async {
                futures::future::join_all(calls.iter().map(begin).collect::<Vec<_>>()).await
            });
            let results: Vec<_> = results.iter().map(value).collect();
            return json!({ "parallel": results });
        } else {
            let tool = line["tool"].as_str().expect("a line calls a tool");
            let call = async { session.call(tool, line["args"].clone()).await };
            return value(&self.runtime.block_on(call));
        }
        json!({ "is_error": false })
    }
}

fn value(result: &seamfs::ToolResult) -> Value {
    json!({
        "is_error": result.is_error(),
        "code": result.code(),
        "text": result.text,
        "structured": result.structured,
    })
}
