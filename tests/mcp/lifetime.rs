//! How calls, connections and the process end.

use std::fs;
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::wire::{Revision, Wire, text};

/// A folder that the test holds locked, as another process in its critical section would, so that
/// a mutation in it is under way until the lock is let go of.
struct Held {
    folder: TempDir,
    lock: fs::File,
}

impl Held {
    /// Makes a folder with one file in it that the connection has read, and locks it.
    fn read_by(revision: Revision) -> (Self, Wire) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "one\n").unwrap();
        let mut wire = Wire::open(revision, &[folder.path().to_str().unwrap()]);
        wire.ok("read", json!({"file_path": "a.txt"}));
        let lock = fs::File::open(folder.path()).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        (Self { folder, lock }, wire)
    }

    fn release(&self) {
        flock(&self.lock, FlockOperation::Unlock).unwrap();
    }

    fn check(&self, expected: &str) {
        let bytes = fs::read(self.folder.path().join("a.txt")).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
        let names = fs::read_dir(self.folder.path()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["a.txt"]);
    }
}

fn edit(new: &str) -> Value {
    json!({"file_path": "a.txt", "old_string": "one", "new_string": new})
}

#[test]
fn a_cancelled_call_changes_nothing_and_is_not_answered() {
    for revision in Revision::BOTH {
        let (held, mut wire) = Held::read_by(revision);
        let cancelled = wire.begin("edit", edit("cancelled"));
        wire.send(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": cancelled, "reason": "changed my mind"},
        }));
        // The read waits for its turn on the file. The lock is still held, so only a withdrawal
        // can have ended the edit before it.
        wire.ok("read", json!({"file_path": "a.txt"}));
        held.release();
        held.check("one\n");
        wire.ok("edit", edit("two"));
        held.check("two\n");
        let end = wire.finish();
        assert_eq!(end.code, Some(0));
        assert_eq!(end.unasked, Vec::<Value>::new());
    }
}

#[test]
fn cancelling_what_is_over_or_was_never_asked_is_ignored() {
    for revision in Revision::BOTH {
        let mut wire = Wire::open(revision, &["memory:"]);
        let id = wire.begin("write", json!({"file_path": "a.txt", "content": "one\n"}));
        assert_eq!(wire.answer(id)["result"]["isError"], false);
        for params in [
            json!({"requestId": id}),
            json!({"requestId": 999}),
            json!({"requestId": "x"}),
            json!({"requestId": null}),
            json!({"requestId": []}),
            json!({}),
        ] {
            wire.send(&json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params
            }));
            wire.ok("read", json!({"file_path": "a.txt"}));
        }
        assert_eq!(wire.finish().code, Some(0));
    }
}

#[test]
fn a_call_under_way_at_the_end_of_the_input_finishes_and_is_answered() {
    for revision in Revision::BOTH {
        let (held, mut wire) = Held::read_by(revision);
        let id = wire.begin("edit", edit("two"));
        wire.close_input();
        held.release();
        assert_eq!(wire.answer(id)["result"]["isError"], false);
        let end = wire.wait();
        assert_eq!(end.code, Some(0));
        held.check("two\n");
    }
}

#[test]
fn a_call_that_cannot_finish_does_not_keep_the_process() {
    let (held, mut wire) = Held::read_by(Revision::Oldest);
    wire.begin("edit", edit("two"));
    // Nobody lets go of the lock: the call is withdrawn after the grace that rmcp gives.
    let end = wire.finish();
    assert_eq!(end.code, Some(0));
    held.check("one\n");
}

#[test]
fn every_request_before_the_end_of_the_input_is_answered() {
    for revision in Revision::BOTH {
        let mut wire = Wire::open(revision, &["memory:"]);
        let ids: Vec<_> = (0..50)
            .map(|n| {
                let path = format!("{n}.txt");
                wire.begin("write", json!({"file_path": path, "content": "x\n"}))
            })
            .collect();
        wire.close_input();
        for id in ids {
            assert_eq!(wire.answer(id)["result"]["isError"], false);
        }
        assert_eq!(wire.wait().code, Some(0));
    }
}

#[test]
fn an_input_that_ends_at_once_is_a_success() {
    // What is cut off is no message, and whoever still listens is told so.
    for (text, answers) in [
        ("", 0),
        ("\n", 0),
        ("{", 1),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,", 1),
    ] {
        let mut wire = Wire::start(Revision::Oldest, &["memory:"], &[]);
        wire.send_text(text);
        let end = wire.finish();
        assert_eq!(end.code, Some(0), "{text:?}");
        let codes: Vec<_> = end
            .unasked
            .iter()
            .map(|answer| &answer["error"]["code"])
            .collect();
        assert_eq!(codes, vec![&json!(-32700); answers], "{text:?}");
    }
}

#[test]
fn the_last_message_may_lack_its_line_feed() {
    let mut wire = Wire::start(Revision::Oldest, &["memory:"], &[]);
    wire.send_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    let end = wire.finish();
    assert_eq!(end.code, Some(0));
    assert_eq!(
        end.unasked,
        [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]
    );
}

#[test]
fn a_client_that_stops_listening_ends_the_connection() {
    for revision in Revision::BOTH {
        let mut wire = Wire::open(revision, &["memory:"]);
        wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
        wire.close_output();
        wire.begin("read", json!({"file_path": "a.txt"}));
        // The input stays open: the server must notice by itself.
        assert_eq!(wire.wait().code, Some(0));
    }
}

#[test]
fn a_client_that_never_listens_is_no_panic() {
    let mut wire = Wire::start(Revision::Oldest, &["memory:"], &[]);
    wire.close_output();
    wire.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert_eq!(wire.wait().code, Some(0));
}

#[test]
fn logs_that_nobody_reads_do_not_disturb_the_connection() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_seamfs"))
        .args(["mcp", "memory:"])
        .env("RUST_LOG", "trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let mut input = child.stdin.take().unwrap();
    let lines = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write","arguments":{"file_path":"a","content":"x"}}}"#,
        "\n",
    );
    std::io::Write::write_all(&mut input, lines.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let answers = String::from_utf8(output.stdout).unwrap();
    assert!(answers.contains("Created /a"), "{answers}");
}

#[test]
fn what_one_connection_saw_the_next_has_not() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    let workspace = folder.path().to_str().unwrap();
    let mut wire = Wire::open(Revision::Oldest, &[workspace]);
    wire.ok("read", json!({"file_path": "a.txt"}));
    assert_eq!(wire.finish().code, Some(0));
    let mut wire = Wire::open(Revision::Oldest, &[workspace]);
    let result = wire.fails("edit", edit("two"), "FS_NOT_OBSERVED");
    assert!(text(&result).contains("Read the file"));
}

#[test]
fn a_workspace_that_cannot_be_opened_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    for args in [
        &[missing.to_str().unwrap()][..],
        &["nope://x"],
        &["memory:", "-w", "memory:"],
        &["memory:", "--tools", "nope"],
        &["memory:", "-o", "nope=1"],
        &["memory:", "--cwd", "nope"],
    ] {
        let end = Wire::start(Revision::Oldest, args, &[]).finish();
        assert_eq!(end.code, Some(2), "{args:?}: {}", end.stderr);
        assert!(!end.stderr.is_empty());
        assert_eq!(end.unasked, Vec::<Value>::new());
    }
}

#[test]
fn relative_paths_start_in_the_working_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    let args = [folder.path().to_str().unwrap(), "--cwd", "src"];
    let mut wire = Wire::open(Revision::Newest, &args);
    wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
    assert!(folder.path().join("src/a.txt").is_file());
}
