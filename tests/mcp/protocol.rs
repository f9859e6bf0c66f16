//! What is said on the wire: revisions, listings, results, and the faults of either side.

use serde_json::{Value, json};

use super::wire::{Revision, Wire, text};

#[test]
fn the_oldest_revision_begins_with_a_handshake() {
    let mut wire = Wire::start(Revision::Oldest, &["memory:"], &[]);
    let hello = wire.initialize("2024-11-05", json!({}));
    assert_eq!(hello["protocolVersion"], "2024-11-05");
    assert_eq!(hello["serverInfo"]["name"], "seamfs");
    assert_eq!(hello["capabilities"], json!({"tools": {}}));
    let instructions = hello["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("The workspace is /:"));
    for tool in ["`read`", "`write`", "`edit`"] {
        assert!(instructions.contains(tool), "{instructions}");
    }
    wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
    let id = wire.ask("ping", json!({}));
    assert_eq!(wire.answer(id)["result"], json!({}));
    assert_eq!(wire.finish().code, Some(0));
}

#[test]
fn every_revision_with_a_handshake_is_agreed_to() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = Wire::start(Revision::Oldest, &["memory:"], &[]);
        let hello = wire.initialize(version, json!({}));
        assert_eq!(hello["protocolVersion"], version);
        wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
    }
}

#[test]
fn a_revision_nobody_knows_is_answered_with_one_that_is_spoken() {
    for version in ["1999-01-01", "2099-01-01", "2026-07-28", "soon"] {
        let mut wire = Wire::start(Revision::Oldest, &["memory:"], &[]);
        let hello = wire.initialize(version, json!({}));
        assert_eq!(hello["protocolVersion"], "2025-11-25");
    }
}

#[test]
fn the_newest_revision_needs_no_handshake() {
    let mut wire = Wire::open(Revision::Newest, &["memory:"]);
    wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
    let result = wire.ok("read", json!({"file_path": "a.txt"}));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(wire.finish().code, Some(0));
}

#[test]
fn discovery_names_both_ends_and_leaves_either_way_open() {
    for then in Revision::BOTH {
        let mut wire = Wire::start(Revision::Newest, &["memory:"], &[]);
        let id = wire.ask("server/discover", json!({}));
        let found = wire.answer(id)["result"].clone();
        let versions = found["supportedVersions"].as_array().unwrap();
        assert_eq!(versions.first().unwrap(), "2024-11-05");
        assert_eq!(versions.last().unwrap(), "2026-07-28");
        assert!(found["instructions"].as_str().unwrap().contains("`edit`"));
        // A probe may be cancelled before anything was agreed on.
        wire.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}
        }));
        if then == Revision::Oldest {
            wire.initialize("2024-11-05", json!({}));
        }
        wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
        assert_eq!(wire.finish().code, Some(0));
    }
}

#[test]
fn tools_are_listed_with_schemas_titles_and_hints() {
    for revision in Revision::BOTH {
        let mut wire = Wire::open(revision, &["memory:", "--tools", "all"]);
        let id = wire.ask("tools/list", json!({}));
        let tools = wire.answer(id)["result"]["tools"].clone();
        let names: Vec<_> = tools.as_array().unwrap().iter().map(name).collect();
        assert_eq!(names[..3], ["read", "write", "edit"]);
        assert!(names.contains(&"str_replace_editor"));
        for tool in tools.as_array().unwrap() {
            assert!(!tool["title"].as_str().unwrap().is_empty());
            assert!(!tool["description"].as_str().unwrap().is_empty());
            assert_eq!(tool["inputSchema"]["type"], "object");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false);
            assert_eq!(tool["outputSchema"]["type"], "object");
            let hints = &tool["annotations"];
            assert_eq!(hints["openWorldHint"], false);
            assert_eq!(hints["readOnlyHint"], name(tool) == "read");
            assert!(hints["destructiveHint"].is_boolean());
            assert!(hints["idempotentHint"].is_boolean());
        }
    }
}

fn name(tool: &Value) -> &str {
    tool["name"].as_str().unwrap()
}

#[test]
fn read_write_and_edit_are_offered_unless_others_are_named() {
    for (args, expected) in [
        (&["-w", "memory:"][..], &["read", "write", "edit"][..]),
        (
            &["memory:", "--tools", "str_replace_editor"],
            &["str_replace_editor"],
        ),
    ] {
        let mut wire = Wire::open(Revision::Oldest, args);
        let id = wire.ask("tools/list", json!({}));
        let answer = wire.answer(id);
        let tools = answer["result"]["tools"].as_array().unwrap();
        assert_eq!(tools.iter().map(name).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_failure_of_a_tool_is_a_result_with_code_and_next_action() {
    for revision in Revision::BOTH {
        let mut wire = Wire::open(revision, &["memory:"]);
        let args = json!({"file_path": "a.txt", "old_string": "a", "new_string": "b"});
        let result = wire.fails("edit", args, "FS_NOT_OBSERVED");
        let error = &result["structuredContent"]["error"];
        assert_eq!(error["retry"], "after_read");
        assert!(error["details"].is_object());
        let next = error["next_action"].as_str().unwrap();
        assert!(text(&result).ends_with(next), "{result}");
    }
}

#[test]
fn b190_arguments_that_are_wrong_are_for_the_model_to_correct() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    for (revision, workspace) in [
        (Revision::Oldest, "memory:"),
        (Revision::Newest, "memory:"),
        (Revision::Newest, folder),
    ] {
        let mut wire = Wire::open(revision, &[workspace]);
        wire.ok("write", json!({"file_path": "a.txt", "content": "x\n"}));
        let read = |path: Value| json!({"file_path": path});
        for (args, code) in [
            (read(json!("../x")), "FS_SANDBOX_DENIED"),
            (read(json!("~root/x")), "FS_NOT_FOUND"),
            (read(json!("a\0")), "FS_INVALID_PATH"),
            (read(json!("a/".repeat(10_000))), "FS_INVALID_PATH"),
            (read(json!(5)), "FS_INVALID_ARGUMENT"),
            (read(json!(["a"])), "FS_INVALID_ARGUMENT"),
            (read(json!(null)), "FS_INVALID_ARGUMENT"),
            (json!({}), "FS_INVALID_ARGUMENT"),
            (
                json!({"file_path": "a.txt", "path": "a.txt"}),
                "FS_INVALID_ARGUMENT",
            ),
            (
                json!({"file_path": "a.txt", "limit": "2"}),
                "FS_INVALID_ARGUMENT",
            ),
            (
                json!({"file_path": "a.txt", "offset": -1}),
                "FS_INVALID_ARGUMENT",
            ),
        ] {
            let result = wire.fails("read", args, code);
            // A short reason, however long the argument was.
            assert!(text(&result).len() < 4_000, "{result}");
        }
        let args = json!({"file_path": "no/such?.txt", "old_string": "a", "new_string": "b"});
        wire.fails("edit", args, "FS_NOT_OBSERVED");
        wire.ok("read", json!({"file_path": "a.txt"}));
        assert_eq!(wire.finish().code, Some(0));
    }
}

#[test]
fn faults_of_the_protocol_are_errors_of_the_protocol() {
    for revision in Revision::BOTH {
        let mut wire = Wire::open(revision, &["memory:"]);
        for (method, params, code) in [
            (
                "tools/call",
                json!({"name": "nope", "arguments": {}}),
                -32602,
            ),
            ("tools/call", json!({"name": "str_replace_editor"}), -32602),
            ("tools/call", json!({"name": 5}), -32602),
            ("tools/call", json!({"arguments": {}}), -32602),
            (
                "tools/call",
                json!({"name": "read", "arguments": "x"}),
                -32602,
            ),
            (
                "tools/call",
                json!({"name": "read", "arguments": []}),
                -32602,
            ),
            ("tools/list", json!({"cursor": "page-2"}), -32602),
            ("resources/list", json!({}), -32601),
            ("prompts/list", json!({}), -32601),
            ("no/such", json!({}), -32601),
        ] {
            let id = wire.ask(method, params.clone());
            let answer = wire.answer(id);
            assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
            assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
        }
        wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
        assert_eq!(wire.finish().code, Some(0));
    }
}

#[test]
fn a_call_of_an_unknown_tool_learns_which_there_are() {
    let mut wire = Wire::open(Revision::Newest, &["memory:"]);
    let id = wire.begin("nope", json!({}));
    let message = wire.answer(id)["error"]["message"].clone();
    assert!(message.as_str().unwrap().contains("read, write, edit"));
}

#[test]
fn a_request_turned_down_changes_nothing() {
    let mut wire = Wire::open(Revision::Newest, &["memory:"]);
    wire.fails("read", json!({"file_path": "a.txt"}), "FS_NOT_FOUND");
    // The newest revision wants its metadata with every request.
    wire.send(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "write", "arguments": {"file_path": "a.txt", "content": "one\n"}
        }}),
    );
    assert_eq!(wire.answer(1)["error"]["code"], -32602);
    wire.fails("read", json!({"file_path": "a.txt"}), "FS_NOT_FOUND");
}

#[test]
fn a_whole_file_of_several_mebibytes_fits_in_a_request() {
    let mut wire = Wire::open(Revision::Newest, &["memory:"]);
    let content = "0123456789abcde\n".repeat(1 << 18);
    wire.ok("write", json!({"file_path": "a.txt", "content": content}));
    let result = wire.ok("read", json!({"file_path": "a.txt", "limit": 1}));
    assert_eq!(result["structuredContent"]["total_lines"], 1 << 18);
}

#[test]
fn b187_roots_that_a_client_announces_widen_nothing() {
    let inside = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(inside.path().join("x"), "in\n").unwrap();
    std::fs::write(outside.path().join("x"), "out\n").unwrap();
    let mut wire = Wire::start(Revision::Oldest, &[inside.path().to_str().unwrap()], &[]);
    wire.initialize("2025-06-18", json!({"roots": {"listChanged": true}}));
    let announce = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    for _ in 0..2 {
        wire.ok("read", json!({"file_path": inside.path().join("x")}));
        let result = wire.fails(
            "read",
            json!({"file_path": outside.path().join("x")}),
            "FS_SANDBOX_DENIED",
        );
        assert!(!text(&result).contains("out\n"));
        wire.send(&announce);
    }
    // The server asked the client for nothing, roots included.
    assert_eq!(wire.finish().unasked, Vec::<Value>::new());
}

#[test]
fn b216_no_text_shows_more_than_the_display_root() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tenant-42");
    std::fs::create_dir_all(root.join("folder")).unwrap();
    std::fs::write(root.join("in.txt"), "one\n").unwrap();
    std::fs::write(root.join("binary"), b"\0\xff").unwrap();
    std::fs::write(folder.path().join("secret"), "out\n").unwrap();
    std::os::unix::fs::symlink("../secret", root.join("out")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
    let args = [
        root.to_str().unwrap(),
        "-o",
        "display=virtual",
        "--tools",
        "all",
    ];
    let mut wire = Wire::start(Revision::Oldest, &args, &[("RUST_LOG", "warn")]);
    let mut said = wire.initialize("2024-11-05", json!({})).to_string();
    let names = [
        "in.txt",
        "/in.txt",
        "missing",
        "folder",
        "folder/",
        "binary",
        "out",
        "dangling",
        "../x",
        "in.txt/x",
        "a\0",
        "",
        "/etc/passwd",
        "..",
        "out/x",
    ];
    for name in names {
        for result in [
            wire.call("write", json!({"file_path": name, "content": "two\n"})),
            wire.call(
                "edit",
                json!({"file_path": name, "old_string": "a", "new_string": "b"}),
            ),
            wire.call("read", json!({"file_path": name})),
            wire.call(
                "str_replace_editor",
                json!({"command": "view", "path": name}),
            ),
        ] {
            said.push_str(&result.to_string());
        }
    }
    assert!(said.contains("/in.txt"));
    assert!(!said.contains("tenant-42"), "{said}");
    assert!(!said.contains(folder.path().to_str().unwrap()), "{said}");
    assert!(!said.contains("out\\n"), "{said}");
}

#[test]
fn only_messages_are_on_stdout_and_logs_are_on_stderr() {
    let mut wire = Wire::start(Revision::Oldest, &["memory:"], &[("RUST_LOG", "debug")]);
    wire.initialize("2024-11-05", json!({}));
    wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
    let end = wire.finish();
    assert_eq!(end.unasked, Vec::<Value>::new());
    assert!(end.stderr.contains("DEBUG"), "{}", end.stderr);
}
