//! `seamfs batch` as a process: one line in, one line out, outside changes in between.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A running `seamfs batch`.
#[derive(Debug)]
pub(crate) struct Batch {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Batch {
    /// Starts it with these arguments.
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_seamfs"))
            .arg("batch")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary under test starts");
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("stdout is piped")),
            child,
        }
    }

    /// Sends one line as it is and returns the answer.
    pub(crate) fn send(&mut self, line: &str) -> Value {
        let input = self.input.as_mut().expect("the input is open");
        writeln!(input, "{line}").expect("the process reads");
        input.flush().expect("the process reads");
        let mut answer = String::new();
        self.output
            .read_line(&mut answer)
            .expect("the process answers");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    /// Sends one value and returns the answer.
    pub(crate) fn call(&mut self, line: Value) -> Value {
        self.send(&line.to_string())
    }

    /// Returns the most memory that the process held at any time, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        peak_memory(self.child.id())
    }

    /// Kills the process and waits until it is gone.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("the process can be killed");
        self.child.wait().expect("the process ends");
    }

    /// Returns how many bytes the process has read from anywhere.
    pub(crate) fn bytes_read(&self) -> u64 {
        let figures = format!("/proc/{}/io", self.child.id());
        let figures = std::fs::read_to_string(figures).expect("the process runs");
        let read = figures
            .lines()
            .find_map(|line| line.strip_prefix("rchar: "));
        let read = read.and_then(|number| number.parse().ok());
        read.expect("the kernel tells what was read")
    }

    /// Closes the input and returns the exit code.
    pub(crate) fn finish(mut self) -> i32 {
        self.input = None;
        let status = self.child.wait().expect("the process ends");
        status.code().expect("the process exits by itself")
    }
}

/// Returns the most memory that a process held at any time, in bytes.
pub(crate) fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.expect("the process runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    let kibibytes = kibibytes.and_then(|number| number.parse::<u64>().ok());
    kibibytes.expect("the kernel tells the peak") << 10
}
