//! A failing history as lines that `seamfs batch` replays.

use serde_json::{Value, json};

use super::step::{CONTENTS, NAMES, NEW, OLD, Step};

/// Writes the steps of a history that are tools, one line each.
pub(super) fn script(steps: &[Step]) -> String {
    let lines: Vec<_> = steps
        .iter()
        .flat_map(lines)
        .map(|line| line.to_string())
        .collect();
    lines.join("\n")
}

fn call(session: &str, tool: &str, args: Value) -> Value {
    json!({ "session": session, "tool": tool, "args": args })
}

fn text(content: usize) -> String {
    String::from_utf8_lossy(CONTENTS[content]).into_owned()
}

fn lines(step: &Step) -> Vec<Value> {
    let session = |actor: &usize| format!("actor-{actor}");
    let path = |name: &usize| NAMES[*name];
    match step {
        Step::Look { actor, name } => {
            vec![call(
                &session(actor),
                "read",
                json!({ "file_path": path(name) }),
            )]
        }
        Step::Write {
            actor,
            name,
            content,
            ..
        } => {
            let args = json!({ "file_path": path(name), "content": text(*content) });
            vec![call(&session(actor), "write", args)]
        }
        Step::Edit {
            actor,
            name,
            old,
            new,
            all,
            ..
        } => {
            let args = json!({
                "file_path": path(name),
                "old_string": OLD[*old],
                "new_string": NEW[*new],
                "replace_all": all,
            });
            vec![call(&session(actor), "edit", args)]
        }
        // Somebody outside is a session that looks before it writes, so that nothing stops it.
        Step::Put { name, content } => {
            let args = json!({ "file_path": path(name), "content": text(*content) });
            vec![
                call("outside", "read", json!({ "file_path": path(name) })),
                call("outside", "write", args),
            ]
        }
        Step::Between {
            actor,
            name,
            between,
            then,
        } => {
            let look = Step::Look {
                actor: *actor,
                name: *name,
            };
            [&look, between, then].into_iter().flat_map(lines).collect()
        }
        _ => Vec::new(),
    }
}
