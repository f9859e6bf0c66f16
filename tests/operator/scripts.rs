//! Scripts through `seamfs batch` on memory, disk and S3: the same lines have the same answers.

use serde_json::{Value, json};

use super::ground::{Ground, Place, portable};
use crate::support::{Batch, Verdict, ensure, ensure_eq};

/// Who is judged: the process as it is told, or a double that was not told what was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Everything,
    Nothing,
}

impl Told {
    fn start(self, ground: &Ground, decided: &[&str], config: Option<&str>) -> Batch {
        let mut args = match (self, config) {
            (Self::Everything, Some(config)) => ground.configured(config),
            _ => ground.args(),
        };
        if self == Self::Everything {
            args.extend(decided.iter().map(|arg| (*arg).to_owned()));
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Batch::start(&args)
    }
}

/// Checks a script, and that a process which was told nothing breaks it.
fn check(script: impl Fn(Told) -> Verdict) {
    script(Told::Everything).unwrap();
    script(Told::Nothing).expect_err("the script does not notice what was not decided");
}

const EDITOR: &str = "str_replace_editor";

/// A call of every command of every tool on one file, and whether it would change something.
fn every_tool(path: &str, new: &str) -> Vec<(Value, bool)> {
    let call = |tool: &str, args: Value| json!({"tool": tool, "args": args});
    let (at, new) = (format!("/{path}"), format!("/{new}"));
    vec![
        (call("read", json!({"file_path": path})), false),
        (call(EDITOR, json!({"command": "view", "path": at})), false),
        (
            call(
                "edit",
                json!({"file_path": path, "old_string": "one", "new_string": "two"}),
            ),
            true,
        ),
        (
            call("write", json!({"file_path": path, "content": "one\n"})),
            true,
        ),
        (
            call(
                EDITOR,
                json!({"command": "str_replace", "path": at, "old_str": "one", "new_str": "1"}),
            ),
            true,
        ),
        (
            call(
                EDITOR,
                json!({"command": "insert", "path": at, "insert_line": 0, "new_str": "x"}),
            ),
            true,
        ),
        (
            call(
                EDITOR,
                json!({"command": "create", "path": new, "file_text": "x\n"}),
            ),
            true,
        ),
        (call(EDITOR, json!({"command": "view", "path": "/"})), false),
    ]
}

/// Checks that every place answered alike.
fn alike(answers: &[(Place, Vec<Value>)]) -> Verdict {
    let Some(((first, expected), others)) = answers.split_first() else {
        return Err("nobody was asked".to_owned());
    };
    for (place, found) in others {
        for (one, other) in expected.iter().zip(found) {
            ensure_eq!(one, other, "{first:?} and {place:?}");
        }
        ensure_eq!(expected.len(), found.len());
    }
    Ok(())
}

#[test]
fn each_mode_allows_what_it_says_to_each_tool() {
    for mode in ["workspace-write", "full-access"] {
        modes_that_allow(mode, Told::Everything).unwrap();
    }
    check(|told| read_only(told, &Place::ALL, None));
    check(|told| read_only(told, &Place::OUTSIDE, Some("one\n")));
}

fn modes_that_allow(mode: &str, told: Told) -> Verdict {
    let mut answers = Vec::new();
    for place in Place::ALL {
        let ground = Ground::new(place);
        let mut batch = told.start(&ground, &["--sandbox", mode], None);
        let seed = json!({"tool": "write", "args": {"file_path": "a.txt", "content": "one\n"}});
        let mut said = vec![portable(batch.call(seed))];
        for (line, _) in every_tool("a.txt", "new.txt") {
            let answer = batch.call(line);
            ensure_eq!(answer["is_error"], false, "{mode} on {place:?}: {answer}");
            said.push(portable(answer));
        }
        ensure_eq!(batch.finish(), 0);
        ground.holds("a.txt", Some("x\n1\n"))?;
        ground.holds("new.txt", Some("x\n"))?;
        answers.push((place, said));
    }
    alike(&answers)
}

fn read_only(told: Told, places: &[Place], seed: Option<&str>) -> Verdict {
    let mut answers = Vec::new();
    for place in places {
        let ground = Ground::new(*place);
        if let Some(seed) = seed {
            ground.put("a.txt", seed);
        }
        let mut batch = told.start(&ground, &["--sandbox", "read-only"], None);
        let mut said = Vec::new();
        for (line, mutates) in every_tool("a.txt", "new.txt") {
            let missing = seed.is_none() && line["args"]["path"] != "/";
            let edits = ["str_replace", "insert"].map(|command| json!(command));
            let answer = batch.call(line.clone());
            let expected = match mutates {
                // The editor looks first: a missing file is a miss.
                true if missing && edits.contains(&line["args"]["command"]) => {
                    json!("FS_NOT_FOUND")
                }
                true => json!("FS_SANDBOX_DENIED"),
                false if missing => json!("FS_NOT_FOUND"),
                false => Value::Null,
            };
            ensure_eq!(answer["code"], expected, "{place:?} {line}: {answer}");
            let text = answer["text"].as_str().unwrap_or_default();
            ensure!(
                expected != "FS_SANDBOX_DENIED" || text.contains("the sandbox mode read-only"),
                "{text}"
            );
            said.push(portable(answer));
        }
        ensure_eq!(batch.finish(), 0);
        ground.holds("new.txt", None)?;
        ground.holds("a.txt", seed)?;
        answers.push((*place, said));
    }
    alike(&answers)
}

#[test]
fn nobody_to_ask_and_a_mode_that_is_not_wider_have_messages_of_their_own() {
    check(|told| {
        let mut answers = Vec::new();
        for place in Place::ALL {
            let ground = Ground::new(place);
            let mut said = Vec::new();
            for (mode, wanted, message) in [
                ("read-only", "workspace-write", "nobody is there"),
                ("read-only", "full-access", "nobody is there"),
                ("workspace-write", "workspace-write", "is not wider than"),
            ] {
                let mut batch = told.start(&ground, &["--sandbox", mode], None);
                let answer = batch.call(json!({"tool": "write", "args": {
                    "file_path": "a.txt", "content": "x",
                    "sandbox_permissions": wanted, "justification": "because",
                }}));
                ensure_eq!(answer["code"], "FS_SANDBOX_DENIED", "{answer}");
                let text = answer["text"].as_str().unwrap_or_default();
                ensure!(text.contains(message), "{text}");
                said.push(portable(answer));
                ensure_eq!(batch.finish(), 0);
            }
            ground.holds("a.txt", None)?;
            answers.push((place, said));
        }
        alike(&answers)
    });
}

const SECRET: &str = "KEY=hunter2\n";

#[test]
fn no_tool_reads_lists_overwrites_or_shows_a_secret() {
    for (standing, reads, creates) in [
        ("hide", "FS_NOT_FOUND", "FS_SANDBOX_DENIED"),
        ("deny", "FS_SANDBOX_DENIED", "FS_SANDBOX_DENIED"),
    ] {
        check(|told| secret(told, standing, (reads, creates)));
    }
}

fn secret(told: Told, standing: &str, (reads, creates): (&str, &str)) -> Verdict {
    let config = format!("[rules]\nsecrets = \"{standing}\"\n");
    let mut answers = Vec::new();
    // In memory there is none, and what is closed is answered as if it were not there.
    for place in Place::ALL {
        let ground = Ground::new(place);
        for path in [".env", "app/.env"] {
            ground.put(path, SECRET);
        }
        let mut batch = told.start(&ground, &[], Some(&config));
        let open =
            json!({"tool": "write", "args": {"file_path": "app/open.txt", "content": "x\n"}});
        let mut said = vec![portable(batch.call(open))];
        for path in [".env", "app/.env", "app/.ENV", "./app/../app/.env"] {
            for (line, _) in every_tool(path, path) {
                let viewed = line["args"]["path"] == "/";
                let creating = line["tool"] == "write" || line["args"]["command"] == "create";
                let answer = batch.call(line.clone());
                let expected = match (viewed, creating) {
                    (true, _) => Value::Null,
                    (false, true) => json!(creates),
                    (false, false) => json!(reads),
                };
                ensure_eq!(answer["code"], expected, "{place:?} {line}: {answer}");
                ensure!(!answer.to_string().contains("hunter2"), "{answer}");
                let text = answer["text"].as_str().unwrap_or_default();
                ensure!(!viewed || text.contains("open.txt"), "{text}");
                ensure!(
                    !viewed || standing != "hide" || !text.contains(".env"),
                    "{text}"
                );
                // A denied name is listed where it is, and in memory there is none.
                if !viewed || standing == "hide" {
                    said.push(portable(answer));
                }
            }
        }
        ensure_eq!(batch.finish(), 0);
        for path in [".env", "app/.env"] {
            ground.holds(path, Some(SECRET))?;
        }
        answers.push((place, said));
    }
    alike(&answers)
}

#[test]
fn what_is_over_a_quota_is_told_with_used_and_limit_by_each_tool() {
    check(|told| {
        let mut answers = Vec::new();
        for place in Place::ALL {
            let ground = Ground::new(place);
            let mut said = file_quota(told, &ground)?;
            said.extend(session_quotas(told, &ground)?);
            answers.push((place, said));
        }
        alike(&answers)
    });
}

/// Each way to change a file; the content becomes, or the new text has, twelve bytes at the most.
fn every_mutation() -> [Value; 5] {
    let call = |tool: &str, args: Value| json!({"tool": tool, "args": args});
    [
        call(
            "edit",
            json!({"file_path": "a.txt", "old_string": "one", "new_string": "twelve bytes"}),
        ),
        call(
            "write",
            json!({"file_path": "a.txt", "content": "twelve bytes"}),
        ),
        call(
            EDITOR,
            json!({"command": "str_replace", "path": "/a.txt", "old_str": "one",
                   "new_str": "twelve bytes"}),
        ),
        call(
            EDITOR,
            json!({"command": "insert", "path": "/a.txt", "insert_line": 1,
                   "new_str": "twelve bytes"}),
        ),
        call(
            EDITOR,
            json!({"command": "create", "path": "/b.txt", "file_text": "twelve bytes"}),
        ),
    ]
}

fn over(batch: &mut Batch, line: Value, used: u64, limit: u64) -> Result<Value, String> {
    let answer = batch.call(line);
    ensure_eq!(answer["code"], "FS_QUOTA_EXCEEDED", "{answer}");
    let details = &answer["structured"]["error"]["details"];
    ensure_eq!(details["used"], used, "{answer}");
    ensure_eq!(details["limit"], limit, "{answer}");
    let text = answer["text"].as_str().unwrap_or_default();
    for number in [used, limit] {
        let named = text
            .split(|c: char| !c.is_ascii_digit())
            .any(|word| word == number.to_string());
        ensure!(named, "{number} is not named: {text}");
    }
    ensure!(
        text.ends_with("what is over it cannot be written."),
        "{text}"
    );
    Ok(portable(answer))
}

fn file_quota(told: Told, ground: &Ground) -> Result<Vec<Value>, String> {
    let mut batch = told.start(ground, &[], Some("[quotas]\nfile-bytes = 10\n"));
    let seed = json!({"tool": "write", "args": {"file_path": "a.txt", "content": "one\n"}});
    ensure_eq!(batch.call(seed)["is_error"], false);
    // What the file would have: its other text too.
    let sizes = [13, 12, 13, 17, 12];
    let lines = every_mutation().into_iter().zip(sizes);
    let said = lines.map(|(line, size)| over(&mut batch, line, size, 10));
    let said = said.collect::<Result<_, _>>()?;
    ensure_eq!(batch.finish(), 0);
    Ok(said)
}

fn session_quotas(told: Told, ground: &Ground) -> Result<Vec<Value>, String> {
    let mut said = Vec::new();
    for (quota, used, limit) in [
        ("session-bytes", 4, 15),
        ("workspace-bytes", 4, 15),
        ("session-mutations", 1, 1),
    ] {
        let config = format!("[quotas]\n{quota} = {limit}\n");
        let mut batch = told.start(ground, &[], Some(&config));
        let look = json!({"tool": "read", "args": {"file_path": "a.txt"}});
        batch.call(look);
        let seed = json!({"tool": "write", "args": {"file_path": "a.txt", "content": "one\n"}});
        ensure_eq!(batch.call(seed)["is_error"], false);
        for line in every_mutation() {
            said.push(over(&mut batch, line, used, limit)?);
        }
        ensure_eq!(batch.finish(), 0);
    }
    Ok(said)
}

#[test]
fn a_fork_takes_from_the_quota_of_the_session_that_it_came_from() {
    check(|told| {
        let ground = Ground::new(Place::Memory);
        let config = "[quotas]\nsession-mutations = 2\nsession-bytes = 100\n";
        let mut batch = told.start(&ground, &[], Some(config));
        let write = |session: &str, path: &str| {
            json!({"session": session, "tool": "write",
                   "args": {"file_path": path, "content": "x"}})
        };
        ensure_eq!(batch.call(write("parent", "1"))["is_error"], false);
        batch.call(json!({"session": "parent", "signal": {"fork": "child"}}));
        ensure_eq!(batch.call(write("child", "2"))["is_error"], false);
        for session in ["parent", "child"] {
            let answer = batch.call(write(session, "3"));
            ensure_eq!(answer["code"], "FS_QUOTA_EXCEEDED", "{session}: {answer}");
        }
        // Nor does a fork of the fork, or one that bears the name again, begin anew.
        batch.call(json!({"session": "child", "signal": {"fork": "grandchild"}}));
        batch.call(json!({"session": "child", "signal": "end"}));
        batch.call(json!({"session": "parent", "signal": {"fork": "child"}}));
        for session in ["grandchild", "child"] {
            let answer = batch.call(write(session, "3"));
            ensure_eq!(answer["code"], "FS_QUOTA_EXCEEDED", "{session}: {answer}");
        }
        ensure_eq!(batch.call(write("another", "3"))["is_error"], false);
        ensure_eq!(batch.finish(), 0);
        Ok(())
    });
}
