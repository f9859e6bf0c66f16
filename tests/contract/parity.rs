//! The same calls give the same results on every storage: one long script through `seamfs batch`.

use serde_json::{Value, json};

use crate::servers::{self, BUCKET};
use crate::support::Batch;

/// Runs a script on a workspace and returns its answers, root and versions made alike.
fn answers(args: &[&str], root: &str, script: Vec<Value>) -> Vec<Value> {
    let mut batch = Batch::start(args);
    let answers = script
        .into_iter()
        .map(|line| alike(batch.call(line), root))
        .collect();
    assert_eq!(batch.finish(), 0);
    answers
}

/// Checks that a script has the same answers in two places.
#[track_caller]
fn same(lines: &[Value], one: (&str, &[Value]), two: (&str, &[Value])) {
    for ((line, first), second) in lines.iter().zip(one.1).zip(two.1) {
        let show = |value: &Value| serde_json::to_string_pretty(value).expect("it is JSON");
        assert!(
            first == second,
            "{line}\n{}: {}\n{}: {}",
            one.0,
            show(first),
            two.0,
            show(second)
        );
    }
}

/// Returns whether a call is about a file and a folder of one name, which only storage without
/// folders can hold (P4).
fn is_about_folders(line: &Value) -> bool {
    let args = &line["args"];
    let writes = line["tool"] == "write" || args["command"] == "create";
    let path = args["file_path"].as_str().or(args["path"].as_str());
    let path = path.unwrap_or_default().trim_start_matches('/');
    path == "a.txt/x" || writes && path == "deep"
}

/// Replaces the display root by `/` and each version by its content hash.
fn alike(value: Value, root: &str) -> Value {
    match value {
        Value::String(text) => Value::String(match text.parse::<seamfs::Version>() {
            Ok(version) => format!("{:?}", version.hash().expect("whole bytes were seen")),
            Err(_) if root.is_empty() => text,
            Err(_) => text.replace(&format!("{root}/"), "/").replace(root, "/"),
        }),
        Value::Array(items) => items.into_iter().map(|item| alike(item, root)).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(name, member)| (name, alike(member, root)))
            .collect(),
        other => other,
    }
}

/// Every tool and command, successes and errors, two sessions and a folder to work in.
fn script(root: &str) -> Vec<Value> {
    let mut lines = Vec::new();
    let mut say = |session: &str, tool: &str, args: Value| {
        lines.push(json!({ "session": session, "tool": tool, "args": args }));
    };
    let at = |path: &str| format!("{root}/{path}");
    let read = |path: &str| json!({ "file_path": path });
    let edit = |path: &str, old: &str, new: &str| json!({ "file_path": path, "old_string": old, "new_string": new });
    let write = |path: &str, content: &str| json!({ "file_path": path, "content": content });
    let editor = |command: &str, path: &str, more: Value| {
        let mut args = json!({ "command": command, "path": at(path) });
        for (name, value) in more.as_object().into_iter().flatten() {
            args[name] = value.clone();
        }
        args
    };
    let numbered: String = (1..=2500).map(|n| format!("line {n}\n")).collect();

    // write
    say("S1", "write", write("a.txt", "one\ntwo\nthree\n"));
    say("S1", "write", write("deep/er/b.txt", "b"));
    say("S1", "write", write("crlf.txt", "a\r\nb\r\n"));
    say("S1", "write", write("bom.txt", "\u{feff}one\n"));
    say("S1", "write", write("empty.txt", ""));
    say("S1", "write", write("long.txt", &numbered));
    say(
        "S1",
        "write",
        write("wide.txt", &format!("{}\nend\n", "é".repeat(3000))),
    );
    say("S2", "write", write("a.txt", "mine"));
    say("S1", "write", write("crlf.txt", "a\nb\n"));
    say("S1", "write", write("crlf.txt", "a\r\nb\r\n"));
    say("S1", "write", write("bom.txt", "one\n"));
    say("S1", "write", write("bom.txt", "\u{feff}one\n"));
    say("S1", "write", write("deep", "x"));
    say("S1", "write", write("deep/", "x"));
    say("S1", "write", write("new/", "x"));
    say("S1", "write", write("a.txt/x", "x"));
    say("S1", "write", write("a.txt", "x\0"));
    say("S1", "write", write(".", "x"));
    say("S1", "write", json!({ "file_path": "a.txt" }));
    // read
    say("S1", "read", read("a.txt"));
    say("S1", "read", read("./deep//er/b.txt"));
    say("S1", "read", read(&at("crlf.txt")));
    say("S1", "read", read("bom.txt"));
    say("S1", "read", read("empty.txt"));
    say("S1", "read", read("long.txt"));
    say(
        "S1",
        "read",
        json!({ "file_path": "long.txt", "offset": 2001 }),
    );
    say(
        "S1",
        "read",
        json!({ "file_path": "long.txt", "offset": 10, "limit": 3 }),
    );
    say(
        "S1",
        "read",
        json!({ "file_path": "long.txt", "offset": 2501 }),
    );
    say(
        "S1",
        "read",
        json!({ "file_path": "long.txt", "limit": 2001 }),
    );
    say(
        "S1",
        "read",
        json!({ "file_path": "long.txt", "offset": 0 }),
    );
    say("S1", "read", read("wide.txt"));
    say("S1", "read", read("none.txt"));
    say("S1", "read", read("deep"));
    say("S1", "read", read("deep/"));
    say("S1", "read", read("a.txt/"));
    say("S1", "read", read("a.txt/x"));
    say("S1", "read", read("../outside"));
    say("S1", "read", read(""));
    say("S1", "read", read("a\u{7}b"));
    say("S1", "read", read("s3://bucket/x"));
    say("S1", "read", json!({ "file_path": 7 }));
    say("S1", "read", json!({ "file_path": "a.txt", "bogus": 1 }));
    // edit
    say("S1", "edit", edit("a.txt", "two", "2"));
    say("S1", "edit", edit("a.txt", "e", "E"));
    say("S1", "edit", edit("a.txt", "absent", "x"));
    say("S1", "edit", edit("a.txt", "One", "x"));
    say("S1", "edit", edit("a.txt", "", "x"));
    say("S1", "edit", edit("a.txt", "one", "one"));
    say("S1", "edit", edit("crlf.txt", "a\nb", "a\nx\nb"));
    say("S1", "edit", edit("crlf.txt", "a\nx", "a\r\nx"));
    say("S1", "edit", edit("bom.txt", "one", "two"));
    say("S1", "edit", edit("none.txt", "one", "two"));
    say("S1", "edit", edit("deep", "one", "two"));
    say("S2", "edit", edit("a.txt", "one", "two"));
    say(
        "S1",
        "edit",
        json!({ "file_path": "long.txt", "old_string": "line", "new_string": "Zeile", "replace_all": true }),
    );
    // stale, and its retry
    say("S2", "read", read("a.txt"));
    say("S1", "edit", edit("a.txt", "three", "3"));
    say("S2", "edit", edit("a.txt", "one", "1"));
    say("S2", "edit", edit("a.txt", "one", "1"));
    say("S1", "write", write("a.txt", "all\nnew\n"));
    say("S1", "write", write("a.txt", "all\nnew\n"));
    // the editor
    say(
        "S2",
        "str_replace_editor",
        editor("view", "a.txt", json!({})),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("view", "long.txt", json!({ "view_range": [2400, -1] })),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("view", "a.txt", json!({ "view_range": [2, -1] })),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("view", "a.txt", json!({ "view_range": [2, 9] })),
    );
    say("S2", "str_replace_editor", editor("view", "", json!({})));
    say(
        "S2",
        "str_replace_editor",
        editor("view", "deep", json!({})),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("view", "deep", json!({ "view_range": [1, 2] })),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("view", "none.txt", json!({})),
    );
    say(
        "S2",
        "str_replace_editor",
        json!({ "command": "view", "path": "a.txt" }),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("create", "c.txt", json!({ "file_text": "c\n" })),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("create", "c.txt", json!({ "file_text": "c\n" })),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("create", "deep", json!({ "file_text": "c\n" })),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("create", "d.txt", json!({})),
    );
    say(
        "S2",
        "str_replace_editor",
        editor(
            "str_replace",
            "a.txt",
            json!({ "old_str": "all", "new_str": "ALL" }),
        ),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("str_replace", "a.txt", json!({ "old_str": "absent" })),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("str_replace", "long.txt", json!({ "old_str": "Zeile" })),
    );
    say(
        "S2",
        "str_replace_editor",
        editor(
            "insert",
            "a.txt",
            json!({ "insert_line": 1, "new_str": "in" }),
        ),
    );
    say(
        "S2",
        "str_replace_editor",
        editor(
            "insert",
            "a.txt",
            json!({ "insert_line": 99, "new_str": "in" }),
        ),
    );
    say(
        "S2",
        "str_replace_editor",
        editor(
            "insert",
            "none.txt",
            json!({ "insert_line": 0, "new_str": "in" }),
        ),
    );
    say(
        "S2",
        "str_replace_editor",
        editor("undo_edit", "a.txt", json!({})),
    );
    say("S2", "zap", json!({}));
    // a folder to work in, and several at once
    lines.push(json!({ "session": "S1", "tool": "read", "cwd": "deep/er", "args": { "file_path": "b.txt" } }));
    lines.push(
        json!({ "session": "S1", "tool": "read", "cwd": "..", "args": { "file_path": "b.txt" } }),
    );
    lines.push(json!({ "parallel": [
        { "session": "S2", "tool": "edit", "args": edit("c.txt", "c", "cc") },
        { "session": "S2", "tool": "edit", "args": edit("c.txt", "cc", "ccc") },
        { "session": "S2", "tool": "read", "args": read("c.txt") },
    ] }));
    lines
}

#[test]
fn the_same_calls_give_the_same_results_in_memory_in_a_folder_and_on_s3() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let root = folder.path().display().to_string();
    let local = ["-w", &root, "--durability", "none"];
    let lines = script("");
    assert!(lines.len() >= 80, "{} lines", lines.len());
    let memory = answers(&["-w", "memory:"], "", script(""));
    let local = answers(&local, &root, script(&root));
    same(&lines, ("memory", &memory), ("folder", &local));
    let codes: std::collections::BTreeSet<_> = memory
        .iter()
        .filter_map(|answer| answer["code"].as_str())
        .collect();
    assert!(codes.len() >= 10, "the script meets many errors: {codes:?}");

    let server = servers::s3();
    let mut args = vec!["-w".to_owned(), format!("s3://{BUCKET}/some%20where")];
    for (key, value) in server.s3_options() {
        args.extend(["-o".to_owned(), format!("{key}={value}")]);
    }
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let (left_out, lines): (Vec<_>, Vec<_>) = lines.into_iter().partition(is_about_folders);
    assert_eq!(left_out.len(), 4, "{left_out:?}");
    let memory = answers(&["-w", "memory:"], "", lines.clone());
    let s3 = answers(&args, "", lines.clone());
    same(&lines, ("memory", &memory), ("S3", &s3));
}

#[test]
fn p4_where_folders_are_prefixes_a_file_may_have_the_name_of_one() {
    let server = servers::s3();
    let mut args = vec!["-w".to_owned(), format!("s3://{BUCKET}")];
    for (key, value) in server.s3_options() {
        args.extend(["-o".to_owned(), format!("{key}={value}")]);
    }
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let call = |tool: &str, path: &str, content: Option<&str>| {
        let mut args = json!({ "file_path": path });
        if let Some(content) = content {
            args["content"] = json!(content);
        }
        json!({ "session": "S1", "tool": tool, "args": args })
    };
    let lines = vec![
        call("write", "deep/a.txt", Some("beneath\n")),
        call("write", "deep", Some("beside\n")),
        call("write", "deep/a.txt/x", Some("further\n")),
        call("read", "deep", None),
        call("read", "deep/a.txt", None),
        call("read", "deep/a.txt/x", None),
    ];
    let answers = answers(&args, "", lines);
    for (answer, part) in answers.iter().zip([
        "deep/a.txt",
        "deep",
        "deep/a.txt/x",
        "beside",
        "beneath",
        "further",
    ]) {
        assert_eq!(answer["code"], Value::Null, "{answer}");
        let text = answer["text"].as_str().expect("there is a text");
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    let keys = server.store.keys();
    assert_eq!(keys, ["deep", "deep/a.txt", "deep/a.txt/x"]);
}
