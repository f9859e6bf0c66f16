//! `seamfs.toml` through every command: what it says holds, and options override it.

use std::fs;
use std::io::Write;
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

/// Starts a server, lists its tools and ends it.
fn offered(args: &[&str]) -> Vec<Value> {
    let mut server = Command::new(env!("CARGO_BIN_EXE_seamfs"))
        .arg("mcp")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary under test starts");
    let mut input = server.stdin.take().expect("the input is open");
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }});
    let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for line in [hello, opened, list] {
        writeln!(input, "{line}").expect("the server reads");
    }
    drop(input);
    let output = server.wait_with_output().expect("the server ends");
    let text = String::from_utf8(output.stdout).expect("output is text");
    let mut answers = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
    let listed = answers.find(|answer| answer["id"] == 1).expect("an answer");
    let tools = listed["result"]["tools"].as_array();
    tools.expect("a list").clone()
}

#[test]
fn what_tools_lists_under_a_configuration_is_what_a_server_offers() {
    for (text, extra, names) in [
        ("", &[][..], &["read", "write", "edit"][..]),
        (SAFE, &[], &["read", "write", "edit"]),
        (
            SAFE,
            &["--sandbox", "read-only"],
            &["read", "write", "edit"],
        ),
        ("tools = [\"edit\", \"read\"]\n", &[], &["edit", "read"]),
        (
            "tools = \"all\"\ncoverage = true\n[tool-options.read]\nmax_lines = 7\n",
            &[],
            &["read", "write", "edit", "str_replace_editor"],
        ),
        (
            "",
            &["--tools", "str_replace_editor"],
            &["str_replace_editor"],
        ),
    ] {
        let (folder, file) = configured(text);
        let options = [&["--config", &file], extra].concat();
        let workspace = folder.path().join("ws");
        let workspace = ["-w", workspace.to_str().expect("a name")];
        let offered = offered(&[&options[..], &workspace].concat());
        let listed = seamfs(&[&["tools", "--json"], &options[..]].concat());
        let listed: Vec<Value> = serde_json::from_str(&stdout(&listed)).expect("it is JSON");
        let found: Vec<_> = listed.iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(found, names, "{text}");
        assert_eq!(offered.len(), listed.len(), "{text}");
        for (offered, listed) in offered.iter().zip(&listed) {
            for (one, other) in [
                ("name", "name"),
                ("description", "description"),
                ("inputSchema", "input_schema"),
                ("outputSchema", "output_schema"),
            ] {
                assert_eq!(offered[one], listed[other], "{text}: {one}");
            }
        }
    }
}

#[test]
fn no_tool_changes_the_files_that_say_what_it_may_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = "workspace = \".\"\nsession-file = \"seen\"\n[options]\ndisplay = \"virtual\"\n\
                [quotas]\nsession-mutations = 3\n[rules]\nread-only = [\"!seamfs.toml\"]\n";
    fs::write(at("seamfs.toml"), text).unwrap();
    std::os::unix::fs::symlink("seamfs.toml", at("link")).unwrap();
    let file = at("seamfs.toml");
    // Whichever way the operator names it.
    for (args, own) in [
        (
            vec!["--config", file.to_str().unwrap()],
            &[
                "seamfs.toml",
                "link",
                "SEAMFS.TOML",
                "seen",
                "seen.lock",
                "seen.new",
            ][..],
        ),
        (vec!["--config", "./seamfs.toml"], &["seamfs.toml", "seen"]),
        (
            vec![
                "-w",
                ".",
                "--session-file",
                "of/../other",
                "-o",
                "display=virtual",
            ],
            &["other", "other.lock"],
        ),
    ] {
        fs::create_dir_all(at("of")).unwrap();
        for name in own {
            let content = json!({"file_path": name, "content": "x"}).to_string();
            let output = Command::new(env!("CARGO_BIN_EXE_seamfs"))
                .current_dir(folder.path())
                .arg("call")
                .args(&args)
                .args(["write", &content])
                .stdin(Stdio::null())
                .output()
                .expect("the binary under test starts");
            let said = stdout(&output);
            assert!(
                said.contains("keeps this path read-only"),
                "{args:?} {name}: {output:?}"
            );
            assert!(said.contains("FS_SANDBOX_DENIED"), "{said}");
        }
    }
    assert_eq!(fs::read_to_string(at("seamfs.toml")).unwrap(), text);
    // Read it may be, and what lies beside it is not concerned.
    let call = |tool: &str, args: Value| {
        seamfs(&[
            "call",
            "--config",
            file.to_str().unwrap(),
            tool,
            &args.to_string(),
        ])
    };
    let read = call("read", json!({"file_path": "seamfs.toml"}));
    assert!(stdout(&read).contains("session-mutations"), "{read:?}");
    let beside = call(
        "write",
        json!({"file_path": "of/seamfs.toml", "content": "x"}),
    );
    assert_eq!(beside.status.code(), Some(0), "{beside:?}");
    // The double: a process that was told of no such file.
    let content = json!({"file_path": "seamfs.toml", "content": "x"}).to_string();
    let plain = folder.path().to_str().unwrap();
    let untold = seamfs(&["call", "-w", plain, "--policy", "none", "write", &content]);
    assert_eq!(untold.status.code(), Some(0), "{untold:?}");
}

#[test]
fn a_pattern_that_spells_the_workspaces_place_is_an_error_with_its_relative_form() {
    for display in ["host", "virtual"] {
        let (folder, file) = configured("");
        let root = folder.path().join("ws");
        let text = format!(
            "workspace = \"ws\"\n[options]\ndisplay = \"{display}\"\n\
             [rules]\ndeny = [\"{}/infra/prod\"]\n",
            root.display()
        );
        fs::write(&file, text).unwrap();
        let output = seamfs(&["call", "--config", &file, "read", "{}"]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("write \"/infra/prod\""), "{errors}");
    }
}

#[test]
fn an_option_that_is_given_twice_is_an_error_and_a_configuration_is_overridden() {
    for command in [
        &["call", "read", "{}"][..],
        &["batch"],
        &["mcp"],
        &["doctor", "memory:"],
    ] {
        let output = seamfs(&[command, &["-o", "quota=1", "-o", "quota=2"]].concat());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}: {errors}");
        assert!(
            errors.contains("`-o quota` is given twice"),
            "{command:?}: {errors}"
        );
    }
    let (_folder, file) = configured("workspace = \"memory:\"\n[options]\nquota = \"1 B\"\n");
    let write = json!({"file_path": "a", "content": "xx"}).to_string();
    for (extra, code) in [(&[][..], 1), (&["-o", "quota=1 KB"], 0)] {
        let output = seamfs(&[&["call", "--config", &file], extra, &["write", &write]].concat());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
}
