//! Escalation over MCP: a person at the client decides, in both families of revisions.

use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorData,
    Implementation, InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use seamfs::mcp::Server;
use seamfs::policy::{Access, PathRules};
use seamfs::{SandboxMode, Workspace};
use serde_json::{Value, json};

use crate::support::{Backend, Scene, Stage, Verdict, check, ensure, ensure_eq};

/// The two families of revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// The server asks while the call waits.
    Handshake,
    /// The call ends with the question, and is repeated with the answer.
    Newest,
}

pub(super) const FAMILIES: [Family; 2] = [Family::Handshake, Family::Newest];

/// Somebody at a client, who answers every question alike and remembers what was asked.
#[derive(Clone, Debug)]
pub(super) struct Person {
    /// None for a client that cannot ask its user.
    answer: Option<ElicitResult>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Person {
    pub(super) fn answering(answer: Option<ElicitResult>) -> Self {
        Self {
            answer,
            asked: Arc::default(),
        }
    }

    pub(super) fn questions(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl ClientHandler for Person {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let question = serde_json::to_value(&request).expect("a question is JSON");
        let message = question["message"].as_str().expect("it has words");
        self.asked.lock().unwrap().push(message.to_owned());
        let answer = self.answer.clone();
        answer.ok_or_else(|| ErrorData::internal_error("nobody is here", None))
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = self.answer.as_ref().map(|_| ElicitationCapability::new());
        ClientConfig::new(capabilities, Implementation::new("person", "1"))
            .with_protocol_version(ProtocolVersion::V_2025_06_18)
    }
}

pub(super) fn approving() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(json!({"approve": true}))
}

pub(super) type Running = RunningService<RoleClient, Person>;

async fn connect(workspace: &Workspace, family: Family, person: Person) -> Running {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(far);
    let server = Server::new(workspace.clone());
    tokio::spawn(async move { server.serve(input, output).await });
    connect_over(tokio::io::split(near), family, person).await
}

/// Begins a connection over any transport.
pub(super) async fn connect_over<E, A>(
    transport: impl IntoTransport<RoleClient, E, A>,
    family: Family,
    person: Person,
) -> Running
where
    E: std::error::Error + Send + Sync + 'static,
{
    let lifecycle = match family {
        Family::Handshake => ClientLifecycleMode::Initialize,
        Family::Newest => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    };
    let connected = person.serve_with_lifecycle(transport, lifecycle);
    connected.await.expect("the client and the server agree")
}

pub(super) fn asking(path: &str, content: &str) -> CallToolRequestParams {
    let arguments = json!({
        "file_path": path,
        "content": content,
        "sandbox_permissions": "workspace-write",
        "justification": "the user asked\nfor \u{1b}[1mthis\u{1b}[0m file",
    });
    params("write", arguments)
}

pub(super) fn params(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let arguments = arguments
        .as_object()
        .cloned()
        .expect("arguments are an object");
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

pub(super) fn text(result: &CallToolResult) -> String {
    let blocks = result.content.iter().filter_map(|block| block.as_text());
    blocks.map(|block| block.text.as_str()).collect()
}

pub(super) async fn call(
    client: &Running,
    params: CallToolRequestParams,
) -> Result<CallToolResult, String> {
    client
        .call_tool(params)
        .await
        .map_err(|error| error.to_string())
}

async fn read_only(stage: Stage) -> Scene {
    stage
        .scene_with(|builder| builder.sandbox(SandboxMode::ReadOnly))
        .await
}

macro_rules! everywhere {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[test]
            fn $name() {
                super::check(super::Backend::Memory, super::$name);
            })*
        }

        mod local {
            $(#[test]
            fn $name() {
                super::check(super::Backend::Local, super::$name);
            })*
        }

        mod s3 {
            $(#[test]
            fn $name() {
                super::check(super::Backend::S3, super::$name);
            })*
        }
    };
}

everywhere! {
    an_approval_widens_the_call_that_was_shown_and_no_other,
    each_way_of_not_being_approved_is_told_apart,
    the_guard_is_checked_after_the_approval,
    each_mode_allows_what_it_says_to_each_tool,
    no_tool_and_no_approval_opens_a_secret,
}

async fn an_approval_widens_the_call_that_was_shown_and_no_other(stage: Stage) -> Verdict {
    for family in FAMILIES {
        let scene = read_only(stage).await;
        let person = Person::answering(Some(approving()));
        let client = connect(&scene.workspace, family, person.clone()).await;
        let written = call(&client, asking("a.txt", "new\n")).await?;
        ensure_eq!(
            written.is_error,
            Some(false),
            "{family:?}: {}",
            text(&written)
        );
        scene.holds("a.txt", "new\n").await?;
        let questions = person.questions();
        ensure_eq!(questions.len(), 1);
        for part in [
            "from read-only to workspace-write",
            &scene.at("a.txt"),
            "write",
            "BLAKE3 ",
        ] {
            ensure!(
                questions[0].contains(part),
                "{part} is missing: {}",
                questions[0]
            );
        }
        // The model's words can neither break the line nor speak to a terminal.
        let lines: Vec<&str> = questions[0].lines().collect();
        ensure_eq!(
            lines[1..],
            ["file_path: \"a.txt\"", "content:", "  | new", "  | "]
        );
        ensure!(!questions[0].contains('\u{1b}'), "{:?}", questions[0]);
        let plain = params("write", json!({"file_path": "b.txt", "content": "x"}));
        let refused = call(&client, plain).await?;
        ensure!(
            text(&refused).contains("FS_SANDBOX_DENIED"),
            "{}",
            text(&refused)
        );
        scene.lacks("b.txt").await?;
    }
    Ok(())
}

async fn each_way_of_not_being_approved_is_told_apart(stage: Stage) -> Verdict {
    let answer = |action| Some(ElicitResult::new(action));
    let saying = |form| Some(ElicitResult::new(ElicitationAction::Accept).with_content(form));
    let cases = [
        (answer(ElicitationAction::Decline), "was rejected"),
        (answer(ElicitationAction::Cancel), "was cancelled"),
        // A form that was sent without a yes is no approval.
        (answer(ElicitationAction::Accept), "was rejected"),
        (saying(json!({"approve": "true"})), "was rejected"),
        (
            saying(json!({"approve": false, "reason": "not today"})),
            "was rejected: not today",
        ),
        (None, "nobody is there"),
    ];
    for family in FAMILIES {
        for (answer, message) in &cases {
            let scene = read_only(stage).await;
            let person = Person::answering(answer.clone());
            let client = connect(&scene.workspace, family, person).await;
            let refused = call(&client, asking("a.txt", "new\n")).await?;
            let said = text(&refused);
            let expected = refused.is_error == Some(true)
                && said.contains("FS_SANDBOX_DENIED")
                && said.contains(message);
            ensure!(expected, "{family:?} {answer:?}: {said}");
            scene.lacks("a.txt").await?;
        }
        let builder =
            |builder: seamfs::WorkspaceBuilder| builder.sandbox(SandboxMode::WorkspaceWrite);
        let scene = stage.scene_with(builder).await;
        let person = Person::answering(Some(approving()));
        let client = connect(&scene.workspace, family, person.clone()).await;
        let said = text(&call(&client, asking("a.txt", "new\n")).await?);
        ensure!(said.contains("not wider than"), "{said}");
        ensure_eq!(person.questions(), Vec::<String>::new());
    }
    Ok(())
}

async fn the_guard_is_checked_after_the_approval(stage: Stage) -> Verdict {
    for family in FAMILIES {
        let scene = read_only(stage).await;
        scene.put("a.txt", "one\n").await;
        let client = connect(
            &scene.workspace,
            family,
            Person::answering(Some(approving())),
        )
        .await;
        let said = text(&call(&client, asking("a.txt", "new\n")).await?);
        ensure!(said.contains("FS_NOT_OBSERVED"), "{family:?}: {said}");
        call(&client, params("read", json!({"file_path": "a.txt"}))).await?;
        scene.put("a.txt", "theirs\n").await;
        let said = text(&call(&client, asking("a.txt", "new\n")).await?);
        ensure!(said.contains("FS_STALE_VERSION"), "{family:?}: {said}");
        scene.holds("a.txt", "theirs\n").await?;
    }
    Ok(())
}

/// What each command of each tool does to a file `a.txt` that holds `one`.
fn every_tool(scene: &Scene) -> Vec<(&'static str, Value, bool)> {
    let (there, new) = (scene.at("a.txt"), scene.at("new.txt"));
    let editor = "str_replace_editor";
    vec![
        ("read", json!({"file_path": "a.txt"}), false),
        (editor, json!({"command": "view", "path": there}), false),
        (
            "edit",
            json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
            true,
        ),
        (
            "write",
            json!({"file_path": "a.txt", "content": "one\n"}),
            true,
        ),
        (
            editor,
            json!({"command": "str_replace", "path": there, "old_str": "one"}),
            true,
        ),
        (
            editor,
            json!({"command": "insert", "path": there, "insert_line": 0, "new_str": "x"}),
            true,
        ),
        (
            editor,
            json!({"command": "create", "path": new, "file_text": "x"}),
            true,
        ),
    ]
}

async fn each_mode_allows_what_it_says_to_each_tool(stage: Stage) -> Verdict {
    let modes = [
        SandboxMode::ReadOnly,
        SandboxMode::WorkspaceWrite,
        SandboxMode::FullAccess,
    ];
    for mode in modes {
        for family in FAMILIES {
            let scene = stage.scene_with(|builder| builder.sandbox(mode)).await;
            scene.put("a.txt", "one\n").await;
            let client = connect(&scene.workspace, family, Person::answering(None)).await;
            for (tool, arguments, mutates) in every_tool(&scene) {
                let result = call(&client, params(tool, arguments)).await?;
                let denied = mutates && mode == SandboxMode::ReadOnly;
                ensure_eq!(
                    result.is_error,
                    Some(denied),
                    "{mode} {tool}: {}",
                    text(&result)
                );
                let said = text(&result);
                ensure!(
                    !denied || said.contains("the sandbox mode read-only"),
                    "{said}"
                );
            }
            let expected = if mode == SandboxMode::ReadOnly {
                "one\n"
            } else {
                "x\n\n"
            };
            scene.holds("a.txt", expected).await?;
        }
    }
    Ok(())
}

async fn no_tool_and_no_approval_opens_a_secret(stage: Stage) -> Verdict {
    for family in FAMILIES {
        let rules = PathRules::builder().secrets(Access::Hidden).build();
        let rules = rules.map_err(|error| error.to_string())?;
        let closed = |builder: seamfs::WorkspaceBuilder| {
            builder.sandbox(SandboxMode::ReadOnly).path_rules(rules)
        };
        let scene = stage.scene_with(closed).await;
        scene.put(".env", "KEY=hunter2\n").await;
        let person = Person::answering(Some(approving()));
        let client = connect(&scene.workspace, family, person.clone()).await;
        let path = scene.at(".env");
        let editor = "str_replace_editor";
        for (tool, mut arguments) in [
            ("read", json!({"file_path": path})),
            ("write", json!({"file_path": path, "content": "x"})),
            (
                "edit",
                json!({"file_path": path, "old_string": "KEY", "new_string": "x"}),
            ),
            (editor, json!({"command": "view", "path": path})),
            (
                editor,
                json!({"command": "create", "path": path, "file_text": "x"}),
            ),
            (
                editor,
                json!({"command": "str_replace", "path": path, "old_str": "KEY"}),
            ),
            (
                editor,
                json!({"command": "insert", "path": path, "insert_line": 0, "new_str": "x"}),
            ),
        ] {
            if tool != "read" {
                arguments["sandbox_permissions"] = json!("full-access");
                arguments["justification"] = json!("please");
            }
            let result = call(&client, params(tool, arguments)).await?;
            let everything = format!("{result:?}");
            ensure_eq!(result.is_error, Some(true), "{tool}: {everything}");
            ensure!(!everything.contains("hunter2"), "{tool}: {everything}");
        }
        let root = scene.at("");
        let listing = params(editor, json!({"command": "view", "path": root}));
        let listing = text(&call(&client, listing).await?);
        ensure!(!listing.contains(".env"), "{listing}");
        scene.holds(".env", "KEY=hunter2\n").await?;
    }
    Ok(())
}

/// Drives the newest revision by hand: asks, and returns the question.
pub(super) async fn pose(client: &Running, params: CallToolRequestParams) -> InputRequiredResult {
    match client
        .call_tool_once(params)
        .await
        .expect("the server answers")
    {
        CallToolResponse::InputRequired(question) => question,
        other => panic!("no question: {other:?}"),
    }
}

pub(super) async fn answer(
    client: &Running,
    params: CallToolRequestParams,
    question: &InputRequiredResult,
    answer: Value,
) -> String {
    let requests = question
        .input_requests
        .as_ref()
        .expect("there is a question");
    let key = requests.keys().next().expect("there is a question").clone();
    let token = question.request_state.clone().expect("there is a token");
    let params = params
        .with_input_responses(InputResponses::from([(key, answer)]))
        .with_request_state(token);
    match client
        .call_tool_once(params)
        .await
        .expect("the server answers")
    {
        CallToolResponse::Complete(result) => text(&result),
        other => panic!("another question: {other:?}"),
    }
}

#[test]
fn an_approval_replayed_for_another_call_or_a_second_time_is_refused() {
    check(Backend::Memory, replayed);
}

async fn replayed(stage: Stage) -> Verdict {
    let scene = read_only(stage).await;
    let person = Person::answering(Some(approving()));
    let client = connect(&scene.workspace, Family::Newest, person.clone()).await;
    let yes = || json!({"action": "accept", "content": {"approve": true}});
    let mut other_words = asking("a.txt", "new\n");
    if let Some(arguments) = &mut other_words.arguments {
        arguments.insert("justification".to_owned(), json!("because"));
    }
    for other in [
        asking("b.txt", "new\n"),
        asking("a.txt", "other\n"),
        other_words,
    ] {
        let question = pose(&client, asking("a.txt", "new\n")).await;
        let said = answer(&client, other, &question, yes()).await;
        ensure!(said.contains("about another call"), "{said}");
        // What was tried with the wrong call is spent.
        let said = answer(&client, asking("a.txt", "new\n"), &question, yes()).await;
        ensure!(said.contains("an answer counts once"), "{said}");
    }
    scene.lacks("a.txt").await?;
    scene.lacks("b.txt").await?;
    let question = pose(&client, asking("a.txt", "new\n")).await;
    let said = answer(&client, asking("a.txt", "new\n"), &question, yes()).await;
    ensure!(said.starts_with("Created"), "{said}");
    let said = answer(&client, asking("a.txt", "new\n"), &question, yes()).await;
    ensure!(said.contains("an answer counts once"), "{said}");
    // Another connection's question is none of this one's, and a token cannot be thought up.
    let question = pose(&client, asking("c.txt", "x")).await;
    let other = connect(&scene.workspace, Family::Newest, person).await;
    let said = answer(&other, asking("c.txt", "x"), &question, yes()).await;
    ensure!(said.contains("no question that is open"), "{said}");
    let said = answer(&client, asking("c.txt", "x"), &question, json!("yes")).await;
    ensure!(said.contains("none that the question can have"), "{said}");
    scene.lacks("c.txt").await
}
