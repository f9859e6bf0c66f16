//! `seamfs.toml` through every command: what it says holds, and options override it.

use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::Batch;

const SAFE: &str = r#"
workspace = "ws"
sandbox = "workspace-write"
tools = ["read", "write", "edit"]

[options]
display = "virtual"

[rules]
secrets = "hide"
read-only = ["*.lock"]

[quotas]
file-bytes = "1KiB"
session-mutations = 3
"#;

/// A folder with a workspace, and a configuration beside it.
fn configured(text: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("ws")).expect("a folder");
    fs::write(folder.path().join("ws/.env"), "KEY=hunter2\n").expect("a file");
    fs::write(folder.path().join("ws/Cargo.lock"), "locked\n").expect("a file");
    let file = folder.path().join("seamfs.toml");
    fs::write(&file, text).expect("a file");
    let file = file.to_str().expect("its name is text").to_owned();
    (folder, file)
}

fn seamfs(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_seamfs"))
        .args(args)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .output()
        .expect("the binary under test starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is text")
}

fn call(tool: &str, args: Value) -> Value {
    json!({"tool": tool, "args": args})
}

#[test]
fn a_batch_keeps_what_its_configuration_says() {
    let (folder, file) = configured(SAFE);
    let mut batch = Batch::start(&["--config", &file]);
    for (line, code) in [
        (call("read", json!({"file_path": "/.env"})), "FS_NOT_FOUND"),
        (
            call("write", json!({"file_path": "/.env", "content": "x"})),
            "FS_SANDBOX_DENIED",
        ),
        (
            call(
                "write",
                json!({"file_path": "a.txt", "content": "x".repeat(1025)}),
            ),
            "FS_QUOTA_EXCEEDED",
        ),
        (
            call("write", json!({"file_path": "a.lock", "content": "x"})),
            "FS_SANDBOX_DENIED",
        ),
        (
            call(
                "str_replace_editor",
                json!({"command": "view", "path": "/"}),
            ),
            "FS_INVALID_ARGUMENT",
        ),
    ] {
        let answer = batch.call(line);
        assert_eq!(answer["code"], code, "{answer}");
        assert!(!answer.to_string().contains("hunter2"), "{answer}");
    }
    let read = batch.call(call("read", json!({"file_path": "Cargo.lock"})));
    assert_eq!(read["structured"]["path"], "/Cargo.lock", "{read}");
    for number in 0..4 {
        let write = json!({"file_path": format!("{number}.txt"), "content": "x"});
        let answer = batch.call(call("write", write));
        let expected = if number < 3 {
            Value::Null
        } else {
            json!("FS_QUOTA_EXCEEDED")
        };
        assert_eq!(answer["code"], expected, "{answer}");
    }
    assert_eq!(batch.finish(), 0);
    let env = fs::read_to_string(folder.path().join("ws/.env")).unwrap();
    assert_eq!(env, "KEY=hunter2\n");
}

#[test]
fn options_override_the_configuration() {
    let (folder, file) = configured(SAFE);
    let args = json!({"file_path": "a.txt", "content": "x"}).to_string();
    let denied = seamfs(&[
        "call",
        "--config",
        &file,
        "--sandbox",
        "read-only",
        "write",
        &args,
    ]);
    assert_eq!(denied.status.code(), Some(1));
    assert!(stdout(&denied).contains("the sandbox mode read-only"));
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let other = other.to_str().unwrap();
    let written = seamfs(&[
        "call",
        "--config",
        &file,
        "-w",
        other,
        "-o",
        "display=host",
        "--tools",
        "all",
        "write",
        &args,
    ]);
    assert!(
        stdout(&written).starts_with(&format!("Created {other}/a.txt")),
        "{written:?}"
    );
}

#[test]
fn tools_and_prompts_say_what_is_allowed() {
    let tools = |extra: &[&str]| -> Vec<Value> {
        let (_folder, file) = configured(SAFE);
        let args = [&["tools", "--json", "--config", &file], extra].concat();
        let output = seamfs(&args);
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let writing = tools(&[]);
    let names: Vec<_> = writing.iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["read", "write", "edit"]);
    let says = |tool: &Value, field: &str, part: &str| {
        tool[field].as_str().is_some_and(|text| text.contains(part))
    };
    for tool in &writing {
        assert!(says(tool, "description", "rules of the operator"), "{tool}");
        assert!(!says(tool, "description", "is read-only:"), "{tool}");
    }
    for tool in tools(&["--sandbox", "read-only"]) {
        let mutates = tool["name"] != "read";
        assert_eq!(
            says(&tool, "description", "The workspace is read-only"),
            mutates,
            "{tool}"
        );
        assert_eq!(
            says(&tool, "system_prompt", "Do not plan on"),
            mutates,
            "{tool}"
        );
    }
    let (_folder, file) = configured("[content]\nelision = \"allow\"\n");
    let plain = seamfs(&["tools", "--config", &file]);
    assert!(
        !stdout(&plain).contains("rules of the operator"),
        "{plain:?}"
    );
}

#[test]
fn what_is_wrong_with_a_configuration_is_a_usage_error_of_every_command() {
    let (folder, file) = configured("sandbx = \"read-only\"\n");
    let missing = folder.path().join("none.toml");
    let missing = missing.to_str().unwrap();
    for args in [
        &["call", "read", "{}"][..],
        &["batch"],
        &["mcp"],
        &["tools"],
        &["doctor"],
    ] {
        for (file, part) in [
            (file.as_str(), "did you mean `sandbox`?"),
            (missing, "none.toml"),
        ] {
            let output = seamfs(&[args, &["--config", file]].concat());
            let errors = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
            assert!(errors.contains(part), "{args:?}: {errors}");
        }
    }
}

#[test]
fn the_doctor_finds_its_store_in_the_configuration() {
    let (_folder, file) = configured("workspace = \"memory:\"\n");
    let output = seamfs(&["doctor", "--config", &file]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let (_folder, file) = configured("sandbox = \"read-only\"\n");
    let output = seamfs(&["doctor", "--config", &file]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_configuration_keeps_elisions_out_unless_it_says_otherwise() {
    let lazy = json!({"file_path": "a.rs", "content": "// ... existing code ...\n"}).to_string();
    let code = |text: &str| {
        let (_folder, file) = configured(&format!("workspace = \"ws\"\n{text}"));
        seamfs(&["call", "--config", &file, "write", &lazy])
            .status
            .code()
    };
    assert_eq!(code(""), Some(1));
    assert_eq!(code("[content]\nelision = \"allow\"\n"), Some(0));
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    assert_eq!(
        seamfs(&["call", "-w", folder, "write", &lazy])
            .status
            .code(),
        Some(0)
    );
}
