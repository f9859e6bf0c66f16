//! The command line: exit codes, what goes where, and that bad input never stops a batch.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::Batch;

/// Runs the binary in a folder that holds the workspace `ws`.
fn seamfs(folder: &TempDir, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_seamfs"))
        .args(args)
        .current_dir(folder.path())
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .output()
        .expect("the binary under test starts")
}

fn workspace() -> TempDir {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    fs::create_dir(folder.path().join("ws")).expect("there is room for a folder");
    fs::write(folder.path().join("ws/a.txt"), "one\n").expect("there is room for a file");
    folder
}

/// Checks a run: its exit code, and where it said what.
fn check(folder: &TempDir, args: &[&str], code: i32, stdout: &str, stderr: &str) {
    let output = seamfs(folder, args);
    let out = String::from_utf8(output.stdout).expect("output is text");
    let err = String::from_utf8(output.stderr).expect("output is text");
    let place = format!("{args:?}\nstdout: {out}\nstderr: {err}");
    assert_eq!(output.status.code(), Some(code), "{place}");
    assert!(!err.contains("panicked"), "{place}");
    for (text, part) in [(out, stdout), (err, stderr)] {
        match part {
            "" => assert_eq!(text, "", "{place}"),
            _ => assert!(text.contains(part), "{part:?} is missing: {place}"),
        }
    }
}

#[test]
fn b192_exit_codes_are_zero_one_and_two_and_content_goes_to_stdout() {
    let folder = workspace();
    let call = |tool: &str, args: Value, code, stdout: &str| {
        check(
            &folder,
            &["call", "-w", "ws", tool, &args.to_string()],
            code,
            stdout,
            "",
        );
    };
    call("read", json!({ "file_path": "a.txt" }), 0, "1: one\n");
    call(
        "write",
        json!({ "file_path": "new.txt", "content": "x" }),
        0,
        "Created ",
    );
    call(
        "read",
        json!({ "file_path": "none.txt" }),
        1,
        "FS_NOT_FOUND",
    );
    call(
        "read",
        json!({ "file_path": "../x" }),
        1,
        "FS_SANDBOX_DENIED",
    );
    call("read", json!({ "file_path": 7 }), 1, "FS_INVALID_ARGUMENT");
    call("read", json!([]), 1, "FS_INVALID_ARGUMENT");
    call(
        "write",
        json!({ "file_path": "a.txt", "content": "x" }),
        1,
        "FS_NOT_OBSERVED",
    );
    let edit = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" });
    call("edit", edit.clone(), 1, "FS_NOT_OBSERVED");
    let lawless = [
        "call",
        "-w",
        "ws",
        "--policy",
        "none",
        "edit",
        &edit.to_string(),
    ];
    check(&folder, &lawless, 0, "Edited ", "");
    check(&folder, &lawless, 1, "FS_EDIT_NOT_FOUND", "");
    let stored = fs::read_to_string(folder.path().join("ws/a.txt")).expect("it is there");
    assert_eq!(stored, "two\n");
    for args in [&["tools"][..], &["tools", "--json"], &["call", "--help"]] {
        check(&folder, args, 0, "read", "");
    }
    check(&folder, &["--help"], 0, "batch", "");
    check(&folder, &["--version"], 0, env!("CARGO_PKG_VERSION"), "");
}

#[test]
fn a_wrong_call_says_what_is_right_and_exits_with_two() {
    let folder = workspace();
    for (args, says) in [
        (&["-w", "none", "read", "{}"][..], "nothing is there"),
        (&["-w", "ws/a.txt", "read", "{}"], "not a folder"),
        (&["-w", "", "read", "{}"], "empty"),
        (&["-w", "xyz:", "read", "{}"], "memory:"),
        (&["-w", "xyz://host/path", "read", "{}"], "known are"),
        (&["-w", "memory:/path", "read", "{}"], "memory:"),
        (&["-w", "file://host/path", "read", "{}"], "file:///path"),
        (&["-w", "ws", "-o", "foo=1", "read", "{}"], "`foo`"),
        (&["-w", "memory:", "-o", "foo=1", "read", "{}"], "quota"),
        (&["-w", "memory:", "-o", "quota=lots", "read", "{}"], "1MiB"),
        (&["-w", "ws", "-o", "quota", "read", "{}"], "KEY=VALUE"),
        (
            &["-w", "ws", "--durability", "silly", "read", "{}"],
            "none, data, full",
        ),
        (&["-w", "ws", "--policy", "silly", "read", "{}"], "observe"),
        (
            &["-w", "ws", "--cwd", "none", "read", "{}"],
            "no such folder",
        ),
        (
            &["-w", "ws", "--cwd", "a.txt", "read", "{}"],
            "not a folder",
        ),
        (
            &["-w", "ws", "--cwd", "..", "read", "{}"],
            "FS_SANDBOX_DENIED",
        ),
        (
            &["-w", "ws", "--tools", "read,zap", "read", "{}"],
            "`zap`; there are read, write",
        ),
        (&["-w", "ws", "--tools", "read,read", "read", "{}"], "twice"),
        (&["-w", "ws", "--tools", "write", "read", "{}"], "`read`"),
        (
            &["-w", "ws", "--tool-option", "read.zap=1", "read", "{}"],
            "max_lines",
        ),
        (
            &["-w", "ws", "--tool-option", "zap=1", "read", "{}"],
            "TOOL.KEY=VALUE",
        ),
        (
            &[
                "-w",
                "ws",
                "--tool-option",
                "read.max_lines=0",
                "read",
                "{}",
            ],
            "positive",
        ),
        (&["-w", "ws", "zap", "{}"], "`zap`; there are read, write"),
        (&["-w", "ws", "read", "{"], "not JSON"),
        (&["-w", "ws", "read"], "<JSON>"),
        (&["-w", "ws", "--zap", "read", "{}"], "--zap"),
    ] {
        check(&folder, &[&["call"], args].concat(), 2, "", says);
    }
    for command in ["batch", "mcp"] {
        let place: &[&str] = if command == "mcp" {
            &["none"]
        } else {
            &["-w", "none"]
        };
        check(
            &folder,
            &[&[command], place].concat(),
            2,
            "",
            "nothing is there",
        );
    }
    check(&folder, &["zap"], 2, "", "zap");
    check(&folder, &[], 2, "", "Usage");
}

/// Returns the binary under test as somebody whom permission bits bind: ourselves, or for root,
/// whom they do not, nobody.
fn ordinary_user(folder: &TempDir) -> Command {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seamfs"));
        command.current_dir(folder.path());
        return command;
    }
    let copy = folder.path().join("seamfs");
    // By a process of its own: what is open here for writing, a child that another test forks
    // meanwhile has open too, and such a file does not run.
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_seamfs"))
        .arg(&copy)
        .status();
    assert!(
        copied.expect("`cp` runs").success(),
        "there is room for a copy"
    );
    for path in [folder.path(), &copy] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    let mut command = Command::new(copy);
    command.current_dir(folder.path()).uid(NOBODY).gid(NOBODY);
    command
}

#[test]
fn a_workspace_that_may_not_be_read_is_an_error_of_its_own() {
    let folder = workspace();
    let ws = folder.path().join("ws");
    fs::set_permissions(&ws, fs::Permissions::from_mode(0o000)).expect("it is ours");
    let read = json!({ "file_path": "a.txt" }).to_string();
    let output = ordinary_user(&folder)
        .args(["call", "-w", "ws", "read", &read])
        .output()
        .expect("the binary runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{said}");
    assert!(said.contains("FS_PERMISSION_DENIED"), "{said}");
    fs::set_permissions(&ws, fs::Permissions::from_mode(0o700)).expect("it is ours");
}

#[test]
fn a_bad_line_of_a_batch_is_answered_and_the_next_still_runs() {
    let read = json!({ "tool": "read", "args": { "file_path": "a.txt" } });
    let mut batch = Batch::start(&["-w", "memory:"]);
    let write = json!({ "tool": "write", "args": { "file_path": "a.txt", "content": "one\n" } });
    assert_eq!(batch.call(write)["code"], Value::Null);
    for (line, says) in [
        ("{", "not JSON"),
        ("read a.txt", "not JSON"),
        ("{\"tool\":\"read\"} trailing", "not JSON"),
        ("1", "a call is"),
        ("null", "a call is"),
        ("\"read\"", "a call is"),
        (
            "[\"default\",\"read\",{\"file_path\":\"a.txt\"},null]",
            "a call is",
        ),
        ("[]", "a call is"),
        ("{}", "tool"),
        ("{\"tool\":7}", "a call is"),
        ("{\"tool\":\"read\",\"arguments\":{}}", "arguments"),
        ("{\"tool\":\"read\",\"session\":1}", "a call is"),
        ("{\"parallel\":7}", "parallel"),
        ("{\"parallel\":[],\"tool\":\"read\"}", "parallel"),
        ("{\"tool\":\"zap\"}", "`zap`; there are read"),
        ("{\"tool\":\"read\"}", "file_path"),
        ("{\"tool\":\"read\",\"args\":[]}", "object"),
        (
            "{\"tool\":\"read\",\"args\":{\"file_path\":\"a.txt\",\"x\":1}}",
            "`x`",
        ),
        (
            "{\"tool\":\"read\",\"args\":{\"file_path\":null}}",
            "`file_path`",
        ),
        (
            "{\"tool\":\"read\",\"args\":{\"file_path\":\"a\\u0000\"}}",
            "NUL",
        ),
        (
            "{\"tool\":\"read\",\"cwd\":\"..\",\"args\":{\"file_path\":\"a.txt\"}}",
            "outside",
        ),
        (
            "{\"tool\":\"read\",\"args\":{\"file_path\":\"\\ud800\"}}",
            "not JSON",
        ),
    ] {
        let answer = batch.send(line);
        assert_eq!(answer["is_error"], json!(true), "{line}: {answer}");
        let text = answer["text"].as_str().expect("there is a text");
        assert!(text.contains(says), "{line}: {text}");
        assert_eq!(
            answer["structured"]["error"]["code"], answer["code"],
            "{line}"
        );
        let keys: Vec<_> = answer.as_object().expect("an object").keys().collect();
        assert_eq!(
            keys,
            [
                "session",
                "tool",
                "is_error",
                "code",
                "text",
                "structured",
                "meta"
            ],
            "{line}"
        );
        assert_eq!(
            batch.call(read.clone())["is_error"],
            json!(false),
            "after {line}"
        );
    }
    let answer = batch.call(json!({ "parallel": [read, { "tool": 7 }, read] }));
    let errors = answer["parallel"]
        .as_array()
        .expect("one answer a call")
        .iter();
    let errors: Vec<_> = errors.map(|answer| answer["is_error"].clone()).collect();
    assert_eq!(errors, [json!(false), json!(true), json!(false)]);
    assert_eq!(
        batch.call(json!({ "parallel": [] })),
        json!({ "parallel": [] })
    );
    assert_eq!(batch.finish(), 0);
}

#[test]
fn a_batch_answers_bytes_that_are_no_text_and_a_last_line_without_its_end() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_seamfs"))
        .args(["batch", "-w", "memory:"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary under test starts");
    let lines = b"\xff\xfe\n\n  \r\n{\"tool\":\"read\",\"args\":{\"file_path\":\"a\"}}";
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(lines).expect("the process reads");
    drop(stdin);
    let output = child.wait_with_output().expect("the process ends");
    assert_eq!(output.status.code(), Some(0));
    let answers = String::from_utf8(output.stdout).expect("answers are text");
    let codes: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON")["code"].clone())
        .collect();
    assert_eq!(codes, [json!("FS_INVALID_ARGUMENT"), json!("FS_NOT_FOUND")]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn b192_a_reader_that_goes_away_is_no_error() {
    for args in [&["tools", "--json"][..], &["tools"], &["demo"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_seamfs"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary under test starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the process ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
}

/// A call of a session, in the form of a batch line.
fn edit_by(session: &str, old: &str, new: &str) -> Value {
    json!({
        "session": session, "tool": "edit",
        "args": { "file_path": "a.txt", "old_string": old, "new_string": new },
    })
}

fn on_each_backend(script: impl Fn(&mut Batch)) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().display().to_string();
    for workspace in ["memory:", &path] {
        let mut batch = Batch::start(
            &["-w", workspace, "--durability", "none"]
                [..if workspace == "memory:" { 2 } else { 4 }],
        );
        script(&mut batch);
        assert_eq!(batch.finish(), 0, "{workspace}");
    }
}

fn text_of(answer: &Value) -> &str {
    answer["text"].as_str().expect("there is a text")
}

#[test]
fn o9_eight_parallel_edits_of_one_session_in_one_line_all_land() {
    on_each_backend(|batch| {
        let rows: String = (0..8).map(|n| format!("row {n}.\n")).collect();
        let write = json!({
            "session": "S1", "tool": "write", "args": { "file_path": "a.txt", "content": rows },
        });
        assert_eq!(batch.call(write)["code"], Value::Null);
        for turn in 0..10 {
            let edits: Vec<_> = (0..8)
                .map(|n| {
                    let mark = |turn: usize| format!("row {n}.{}\n", "!".repeat(turn));
                    edit_by("S1", &mark(turn), &mark(turn + 1))
                })
                .collect();
            let answer = batch.call(json!({ "parallel": edits }));
            let answers = answer["parallel"].as_array().expect("one answer a call");
            for (n, answer) in answers.iter().enumerate() {
                assert_eq!(answer["code"], Value::Null, "{n}: {answer}");
                assert_eq!(answer["structured"]["ranges"][0][0], json!(n + 1));
            }
        }
        let read = json!({ "session": "S1", "tool": "read", "args": { "file_path": "a.txt" } });
        let answer = batch.call(read);
        for n in 0..8 {
            assert!(
                text_of(&answer).contains(&format!("row {n}.!!!!!!!!!!\n")),
                "{answer}"
            );
        }
    });
}

#[test]
fn o9_of_two_sessions_the_second_is_stale_sees_the_change_and_lands_on_retry() {
    on_each_backend(|batch| {
        let write = json!({
            "session": "S1", "tool": "write",
            "args": { "file_path": "a.txt", "content": "AAA\n---\nBBB\n" },
        });
        assert_eq!(batch.call(write)["code"], Value::Null);
        let read = json!({ "session": "S2", "tool": "read", "args": { "file_path": "a.txt" } });
        assert_eq!(batch.call(read.clone())["code"], Value::Null);
        let pair = [edit_by("S1", "AAA", "aaa"), edit_by("S2", "BBB", "bbb")];
        let answer = batch.call(json!({ "parallel": pair }));
        let (one, two) = (&answer["parallel"][0], &answer["parallel"][1]);
        let (loser, old, new, change) = match (one["code"].is_null(), two["code"].is_null()) {
            (true, false) => ("S2", "BBB", "bbb", "+aaa"),
            (false, true) => ("S1", "AAA", "aaa", "+bbb"),
            _ => panic!("one lands and one is stale: {answer}"),
        };
        let stale = if loser == "S1" { one } else { two };
        assert_eq!(stale["code"], json!("FS_STALE_VERSION"));
        assert!(text_of(stale).contains(change), "{stale}");
        assert_eq!(batch.call(edit_by(loser, old, new))["code"], Value::Null);
        let answer = batch.call(json!({
            "session": "S3", "tool": "read", "args": { "file_path": "a.txt" },
        }));
        assert!(
            text_of(&answer).contains("1: aaa\n2: ---\n3: bbb\n"),
            "{answer}"
        );
    });
}
