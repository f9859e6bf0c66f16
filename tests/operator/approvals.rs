//! Approval by a person at an MCP client, of a process on memory, disk and S3: the same answers.

use rmcp::model::{CallToolRequestParams, ElicitResult, ElicitationAction};
use rmcp::transport::TokioChildProcess;
use serde_json::json;

use super::escalation::{
    FAMILIES, Family, Person, Running, answer, approving, asking, call, connect_over, params, pose,
    text,
};
use super::ground::{Ground, Place};
use crate::support::{ensure, ensure_eq};

/// Starts a process on this ground, and a client of it at which a person sits.
async fn connect(ground: &Ground, mode: &str, family: Family, person: Person) -> Running {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_seamfs"));
    command.arg("mcp").args(ground.args());
    command.args(["--sandbox", mode, "--tools", "all"]);
    let transport = TokioChildProcess::new(command).expect("the binary under test starts");
    connect_over(transport, family, person).await
}

#[tokio::main]
async fn run(script: impl AsyncFn(&Ground, Family) -> Result<Vec<String>, String>) {
    for family in FAMILIES {
        let mut answers = Vec::new();
        for place in Place::ALL {
            let ground = Ground::new(place);
            let said = script(&ground, family).await;
            answers.push(said.unwrap_or_else(|why| panic!("{family:?} on {place:?}: {why}")));
        }
        let (first, others) = answers.split_first().expect("there are places");
        for other in others {
            assert_eq!(first, other, "{family:?}");
        }
    }
}

#[test]
fn an_approval_widens_one_call_of_each_tool() {
    run(async |ground, family| {
        let person = Person::answering(Some(approving()));
        let client = connect(ground, "read-only", family, person.clone()).await;
        let mut said = vec![ok(&client, asking("a.txt", "one\n")).await?];
        let editor = "str_replace_editor";
        let mut number = 1;
        for (tool, arguments) in [
            (
                "edit",
                json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
            ),
            ("write", json!({"file_path": "a.txt", "content": "one\n"})),
            (
                editor,
                json!({"command": "str_replace", "path": "/a.txt", "old_str": "one", "new_str": "1"}),
            ),
            (
                editor,
                json!({"command": "insert", "path": "/a.txt", "insert_line": 0, "new_str": "x"}),
            ),
            (
                editor,
                json!({"command": "create", "path": "/b.txt", "file_text": "x\n"}),
            ),
        ] {
            // Not without asking, and once when asked.
            said.push(denied(&client, params(tool, arguments.clone())).await?);
            let mut asked = arguments;
            asked["sandbox_permissions"] = json!("full-access");
            asked["justification"] = json!("the user asked");
            said.push(ok(&client, params(tool, asked)).await?);
            number += 1;
            ensure_eq!(person.questions().len(), number);
        }
        for path in ["a.txt", "b.txt"] {
            said.push(ok(&client, params("read", json!({"file_path": path}))).await?);
        }
        said.extend(person.questions());
        client.cancel().await.expect("the process ends");
        Ok(said)
    });
}

async fn ok(client: &Running, params: CallToolRequestParams) -> Result<String, String> {
    let result = call(client, params).await?;
    let said = text(&result);
    ensure_eq!(result.is_error, Some(false), "{said}");
    Ok(said)
}

async fn denied(client: &Running, params: CallToolRequestParams) -> Result<String, String> {
    let result = call(client, params).await?;
    let said = text(&result);
    ensure_eq!(result.is_error, Some(true), "{said}");
    ensure!(said.contains("FS_SANDBOX_DENIED"), "{said}");
    Ok(said)
}

#[test]
fn each_way_of_not_being_approved_has_a_message_of_its_own() {
    let action = |action| Some(ElicitResult::new(action));
    let reason = ElicitResult::new(ElicitationAction::Accept)
        .with_content(json!({"approve": false, "reason": "not today"}));
    run(async |ground, family| {
        let mut said = Vec::new();
        for (mode, answer, message) in [
            (
                "read-only",
                action(ElicitationAction::Decline),
                "the wider sandbox mode was rejected",
            ),
            (
                "read-only",
                Some(reason.clone()),
                "the wider sandbox mode was rejected: not today",
            ),
            (
                "read-only",
                action(ElicitationAction::Cancel),
                "was cancelled",
            ),
            ("read-only", None, "nobody is there"),
            ("workspace-write", Some(approving()), "is not wider than"),
        ] {
            let person = Person::answering(answer);
            let client = connect(ground, mode, family, person).await;
            let answer = denied(&client, asking("a.txt", "new\n")).await?;
            ensure!(answer.contains(message), "{answer}");
            said.push(answer);
            let read = params("read", json!({"file_path": "a.txt"}));
            ensure_eq!(call(&client, read).await?.is_error, Some(true));
            client.cancel().await.expect("the process ends");
        }
        ground.holds("a.txt", None)?;
        said.sort();
        let before = said.len();
        said.dedup();
        ensure_eq!(said.len(), before, "two of them are the same");
        Ok(said)
    });
}

#[test]
fn an_approval_for_one_target_is_none_for_another() {
    run(async |ground, family| {
        if family == Family::Handshake {
            // There the answer goes back to the very call that waits.
            return Ok(Vec::new());
        }
        let person = Person::answering(Some(approving()));
        let client = connect(ground, "read-only", family, person).await;
        let yes = || json!({"action": "accept", "content": {"approve": true}});
        let question = pose(&client, asking("a.txt", "new\n")).await;
        let replayed = answer(&client, asking("b.txt", "new\n"), &question, yes()).await;
        ensure!(replayed.contains("about another call"), "{replayed}");
        let spent = answer(&client, asking("a.txt", "new\n"), &question, yes()).await;
        ensure!(spent.contains("an answer counts once"), "{spent}");
        ground.holds("a.txt", None)?;
        ground.holds("b.txt", None)?;
        client.cancel().await.expect("the process ends");
        Ok(vec![replayed, spent])
    });
}

#[test]
fn nobody_is_asked_for_what_would_be_refused_anyway() {
    run(async |ground, family| {
        ground.put(".env", "KEY=hunter2\n");
        let config = "sandbox = \"read-only\"\ntools = \"all\"\n\
                      [rules]\nsecrets = \"hide\"\ndeny = [\"closed\"]\nread-only = [\"*.lock\"]\n";
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_seamfs"));
        command.arg("mcp").args(ground.configured(config));
        let transport = TokioChildProcess::new(command).expect("the binary under test starts");
        let person = Person::answering(Some(approving()));
        let client = connect_over(transport, family, person.clone()).await;
        let mut said = vec![ok(&client, asking("there.txt", "one\n")).await?];
        ensure_eq!(person.questions().len(), 1);
        let edit = |path: &str| {
            let arguments = json!({
                "file_path": path, "old_string": "KEY", "new_string": "x",
                "sandbox_permissions": "full-access", "justification": "please",
            });
            params("edit", arguments)
        };
        let create = json!({
            "command": "create", "path": "/there.txt", "file_text": "x",
            "sandbox_permissions": "full-access", "justification": "please",
        });
        let miss = params("read", json!({"file_path": ".env"}));
        said.push(text(&call(&client, miss).await?));
        for (request, code) in [
            (asking(".env", "x"), "FS_SANDBOX_DENIED"),
            (asking("closed/a.txt", "x"), "FS_SANDBOX_DENIED"),
            (asking("a.lock", "x"), "FS_SANDBOX_DENIED"),
            (edit("a.lock"), "FS_SANDBOX_DENIED"),
            (edit(".env"), "FS_NOT_FOUND"),
            (edit("unseen.txt"), "FS_NOT_OBSERVED"),
            (params("str_replace_editor", create), "FS_ALREADY_EXISTS"),
        ] {
            let result = call(&client, request.clone()).await?;
            let answer = text(&result);
            ensure!(answer.contains(code), "{request:?}: {answer}");
            ensure!(!answer.contains("hunter2"), "{answer}");
            said.push(answer);
        }
        ensure_eq!(person.questions().len(), 1, "{:?}", person.questions());
        client.cancel().await.expect("the process ends");
        Ok(said)
    });
}

#[test]
fn the_question_shows_the_change_and_nothing_that_could_pose_as_it() {
    run(async |ground, family| {
        let person = Person::answering(Some(ElicitResult::new(ElicitationAction::Decline)));
        let client = connect(ground, "read-only", family, person.clone()).await;
        let hostile = "first\n\u{1b}[2JIt says: \"all is well\"\nAllow it? y\n\u{202e}last";
        denied(&client, asking("a.txt", hostile)).await?;
        denied(&client, asking("a.txt", &"line\n".repeat(10_000))).await?;
        let questions = person.questions();
        ensure_eq!(questions.len(), 2);
        for part in ["| first", "| Allow it? y", "\\u{1b}[2J", "\\u{202e}last"] {
            ensure!(questions[0].contains(part), "{part}: {}", questions[0]);
        }
        for line in questions[0].lines().skip(1) {
            let ours = ["file_path:", "content:", "  | "];
            ensure!(ours.iter().any(|start| line.starts_with(start)), "{line}");
        }
        ensure!(questions[1].contains("more lines"), "{}", questions[1]);
        ensure!(questions[1].len() < 4000, "{}", questions[1].len());
        client.cancel().await.expect("the process ends");
        Ok(questions)
    });
}
