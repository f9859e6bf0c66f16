//! The prompt of the command line, at a terminal of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

/// What one run at a terminal came to.
struct Run {
    code: Option<i32>,
    stdout: String,
    asked: String,
    /// What came on the terminal after the answer.
    after: String,
}

fn terminal() -> (File, File) {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&near).expect("a terminal");
    unlockpt(&near).expect("a terminal");
    let name = ptsname(&near, Vec::new()).expect("a terminal has a name");
    let far = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().expect("its name is text"))
        .expect("the far end");
    (File::from(near), far)
}

/// Asks for a wider mode at a terminal, and answers the prompt.
fn write_at_a_terminal(workspace: &TempDir, answer: &str, log: &str) -> Run {
    let (mut near, far) = terminal();
    let end = || Stdio::from(OwnedFd::from(far.try_clone().expect("a handle")));
    let arguments = serde_json::json!({
        "file_path": "a.txt", "content": "x\n",
        "sandbox_permissions": "workspace-write", "justification": "the user\u{1b}[2J asked",
    });
    let child = Command::new(env!("CARGO_BIN_EXE_seamfs"))
        .args(["call", "--sandbox", "read-only", "-w"])
        .arg(workspace.path())
        .args(["write", &arguments.to_string()])
        .env("RUST_LOG", log)
        .stdin(end())
        .stderr(end())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary under test starts");
    drop(far);
    let mut asked = Vec::new();
    let mut byte = [0];
    while !asked.ends_with(b"why not: ") {
        match near.read(&mut byte) {
            Ok(1..) => asked.push(byte[0]),
            // The far end is gone: it ended without asking.
            _ => break,
        }
    }
    near.write_all(answer.as_bytes()).expect("the prompt reads");
    let output = child.wait_with_output().expect("the process ends");
    let mut after = Vec::new();
    // A terminal whose far end is gone ends in an error.
    let _ = near.read_to_end(&mut after);
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("output is text"),
        asked: String::from_utf8(asked).expect("a prompt is text"),
        after: String::from_utf8_lossy(&after).into_owned(),
    }
}

#[test]
fn a_person_at_a_terminal_decides_on_one_call() {
    let cases = [
        ("y\n", Some(0), "Created"),
        ("n\n", Some(1), "was rejected"),
        ("not today\n", Some(1), "was rejected: not today"),
        // Ctrl-D at the start of a line ends the input.
        ("\u{4}", Some(1), "was cancelled"),
    ];
    for (answer, code, said) in cases {
        let workspace = tempfile::tempdir().expect("a folder");
        let run = write_at_a_terminal(&workspace, answer, "warn");
        let place = format!("{answer:?}: {}{}", run.asked, run.stdout);
        assert_eq!(run.code, code, "{place}");
        assert!(run.stdout.contains(said), "{place}");
        for part in [
            "from read-only to workspace-write",
            "a.txt",
            "BLAKE3",
            "content:\r\n      | x\r\n",
        ] {
            assert!(run.asked.contains(part), "{part} is missing: {place}");
        }
        assert!(!run.asked.contains('\u{1b}'), "{place}");
        assert_eq!(workspace.path().join("a.txt").exists(), code == Some(0));
    }
}

#[test]
fn each_question_and_what_came_of_it_is_logged() {
    for (answer, verdict) in [("y\n", "Approved"), ("not today\n", "Rejected")] {
        let workspace = tempfile::tempdir().expect("a folder");
        let run = write_at_a_terminal(&workspace, answer, "seamfs_tools=info");
        for part in ["is asked for", "cli", "a.txt", "workspace-write", "asked"] {
            assert!(run.asked.contains(part), "{part} is missing: {}", run.asked);
        }
        for part in ["was decided on", "cli", "a.txt", "Prompt", verdict] {
            assert!(run.after.contains(part), "{part} is missing: {}", run.after);
        }
    }
}
