//! The order of one connection: calls begin as they were received, and parallel edits all land.

use serde_json::{Value, json};

use super::wire::{Revision, Wire, text};

const ROUNDS: usize = 25;

fn on_each_workspace(claim: impl Fn(Revision, &str)) {
    for revision in Revision::BOTH {
        claim(revision, "memory:");
        let folder = tempfile::tempdir().unwrap();
        claim(revision, folder.path().to_str().unwrap());
    }
}

/// Sends requests in one piece, so that the server has them all at once.
fn at_once(wire: &mut Wire, calls: &[(&str, Value)]) -> Vec<u64> {
    let mut ids = Vec::new();
    let mut lines = String::new();
    for (tool, arguments) in calls {
        let params = json!({"name": tool, "arguments": arguments});
        let (id, request) = wire.request("tools/call", params);
        ids.push(id);
        lines.push_str(&format!("{request}\n"));
    }
    wire.send_text(&lines);
    ids
}

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    let arguments = json!({"file_path": "a.txt", "old_string": old, "new_string": new});
    ("edit", arguments)
}

#[test]
fn o9_eight_parallel_edits_of_one_file_all_land() {
    on_each_workspace(|revision, workspace| {
        let mut wire = Wire::open(revision, &[workspace]);
        let lines: Vec<_> = (0..8).map(|n| format!("line {n}\n")).collect();
        let content = lines.concat();
        wire.ok("write", json!({"file_path": "a.txt", "content": content}));
        let edits: Vec<_> = (0..8)
            .map(|n| edit(&format!("line {n}"), &format!("LINE {n}")))
            .collect();
        for id in at_once(&mut wire, &edits) {
            let answer = wire.answer(id);
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        }
        let result = wire.ok("read", json!({"file_path": "a.txt"}));
        for (n, line) in result["structuredContent"]["lines"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
        {
            assert_eq!(line["text"], format!("LINE {n}"));
        }
    });
}

#[test]
fn calls_take_effect_in_the_order_in_which_they_were_received() {
    on_each_workspace(|revision, workspace| {
        let mut wire = Wire::open(revision, &[workspace]);
        wire.ok("write", json!({"file_path": "a.txt", "content": "<0>\n"}));
        for round in 0..ROUNDS {
            // Each edit finds only what the one before it left; a read in between sees just that.
            let from = round * 8;
            let mut calls: Vec<_> = (from..from + 8)
                .map(|n| edit(&format!("<{n}>"), &format!("<{}>", n + 1)))
                .collect();
            calls.insert(4, ("read", json!({"file_path": "a.txt"})));
            for (at, id) in at_once(&mut wire, &calls).into_iter().enumerate() {
                let answer = wire.answer(id);
                assert_eq!(answer["result"]["isError"], false, "{answer}");
                if at == 4 {
                    let seen = text(&answer["result"]);
                    assert!(seen.contains(&format!("<{}>", from + 4)), "{seen}");
                }
            }
        }
    });
}

#[test]
fn requests_that_are_turned_down_give_their_place_up() {
    for revision in Revision::BOTH {
        let mut wire = Wire::open(revision, &["memory:"]);
        wire.ok("write", json!({"file_path": "a.txt", "content": "<0>\n"}));
        for n in 0..ROUNDS {
            let calls = [
                ("nope", json!({})),
                edit(&format!("<{n}>"), "<between>"),
                ("nope", json!({})),
                edit("<between>", &format!("<{}>", n + 1)),
            ];
            let ids = at_once(&mut wire, &calls);
            assert_eq!(wire.answer(ids[0])["error"]["code"], -32602);
            assert_eq!(wire.answer(ids[1])["result"]["isError"], false);
            assert_eq!(wire.answer(ids[2])["error"]["code"], -32602);
            assert_eq!(wire.answer(ids[3])["result"]["isError"], false);
        }
    }
}

#[test]
fn of_two_connections_the_second_is_stale_sees_the_change_and_lands_on_its_retry() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let workspace = folder.path().to_str().unwrap();
    let mut first = Wire::open(Revision::Oldest, &[workspace]);
    let mut second = Wire::open(Revision::Newest, &[workspace]);
    first.ok("read", json!({"file_path": "a.txt"}));
    second.ok("read", json!({"file_path": "a.txt"}));
    let (_, one) = edit("one", "ONE");
    first.ok("edit", one);
    let (_, three) = edit("three", "THREE");
    let stale = second.fails("edit", three.clone(), "FS_STALE_VERSION");
    assert!(text(&stale).contains("-one"), "{stale}");
    assert!(text(&stale).contains("+ONE"), "{stale}");
    let details = &stale["structuredContent"]["error"]["details"];
    assert!(details["diff"].as_str().unwrap().contains("+ONE"));
    second.ok("edit", three);
    let bytes = std::fs::read(folder.path().join("a.txt")).unwrap();
    assert_eq!(bytes, b"ONE\ntwo\nTHREE\n");
}
