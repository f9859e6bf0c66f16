//! X: sandbox modes and escalation, on every backend.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use seamfs::ErrorCode::{InvalidArgument, SandboxDenied};
use seamfs::core::escalation::{self, Approver, Escalation};
use seamfs::core::replace::Replace;
use seamfs::core::{
    CallContext, CreateDirOptions, EditOptions, Expected, RemoveOptions, TransferOptions,
    WriteOptions,
};
use seamfs::{FileSystemExt, SandboxMode, WorkspaceBuilder};
use serde_json::{Value, json};

use crate::support::{Backend, Checked, Scene, Stage, Verdict, check, ensure, ensure_eq};

/// Makes a test of a claim for each backend, and one that a workspace which forgets its mode
/// breaks it.
macro_rules! confined_claims {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[test]
            fn $name() {
                super::check(super::Backend::Memory, |stage| super::$name(stage, super::confined));
            })*
        }

        mod local {
            $(#[test]
            fn $name() {
                super::check(super::Backend::Local, |stage| super::$name(stage, super::confined));
            })*
        }

        mod forgetful {
            $(#[test]
            #[should_panic(expected = "on Memory")]
            fn $name() {
                super::check(super::Backend::Memory, |stage| super::$name(stage, super::forgetful));
            })*
        }
    };
}

confined_claims! {
    x1_read_only_denies_every_mutation_and_lets_reads_pass,
    x1_the_layer_denies_whoever_calls_it,
    x2_a_denial_names_the_mode_and_comes_before_any_other_refusal,
    x2_a_confined_workspace_advertises_both_arguments_together,
    x3_an_approval_widens_exactly_one_call,
    x3_each_way_of_not_being_approved_has_its_own_message,
}

/// How a claim confines its workspace; the double forgets to.
type Confine = fn(WorkspaceBuilder, SandboxMode) -> WorkspaceBuilder;

fn confined(builder: WorkspaceBuilder, mode: SandboxMode) -> WorkspaceBuilder {
    builder.sandbox(mode)
}

fn forgetful(builder: WorkspaceBuilder, _: SandboxMode) -> WorkspaceBuilder {
    builder
}

/// Answers every question alike, and remembers what was asked.
#[derive(Debug)]
struct Answers {
    verdict: escalation::Verdict,
    asked: Mutex<Vec<(String, String, SandboxMode, String)>>,
}

impl Answers {
    fn with(verdict: escalation::Verdict) -> Arc<Self> {
        Arc::new(Self {
            verdict,
            asked: Mutex::default(),
        })
    }
}

#[async_trait]
impl Approver for Answers {
    async fn decide(&self, asked: &Escalation<'_>) -> escalation::Verdict {
        self.asked.lock().unwrap().push((
            asked.tool.to_owned(),
            asked.target.display().to_owned(),
            asked.wanted,
            asked.justification.to_owned(),
        ));
        self.verdict.clone()
    }
}

async fn read_only(stage: Stage, confine: Confine, approver: Option<Arc<Answers>>) -> Scene {
    stage
        .scene_with(|builder| {
            let builder = confine(builder, SandboxMode::ReadOnly);
            match approver {
                Some(approver) => builder.approver(approver),
                None => builder,
            }
        })
        .await
}

fn write(path: &str, extra: &[(&str, &str)]) -> Value {
    let mut args = json!({"file_path": path, "content": "new\n"});
    for (key, value) in extra {
        args[*key] = json!(value);
    }
    args
}

const ASK: [(&str, &str); 2] = [
    ("sandbox_permissions", "workspace-write"),
    ("justification", "the user asked for this file"),
];

async fn x1_read_only_denies_every_mutation_and_lets_reads_pass(
    stage: Stage,
    confine: Confine,
) -> Verdict {
    let scene = read_only(stage, confine, None).await;
    scene.put("a.txt", "one\n").await;
    let path = scene.at("a.txt");
    let session = scene.workspace.session("S1");
    session
        .call("read", json!({"file_path": "a.txt"}))
        .await
        .ok()?;
    let view = json!({"command": "view", "path": path});
    session.call("str_replace_editor", view).await.ok()?;
    let mutations = [
        ("write", write("a.txt", &[])),
        ("write", write("b.txt", &[])),
        (
            "edit",
            json!({"file_path": "a.txt", "old_string": "one", "new_string": "1"}),
        ),
        (
            "str_replace_editor",
            json!({"command": "create", "path": scene.at("b.txt"), "file_text": ""}),
        ),
        (
            "str_replace_editor",
            json!({"command": "str_replace", "path": path, "old_str": "one"}),
        ),
        (
            "str_replace_editor",
            json!({"command": "insert", "path": path, "insert_line": 0, "new_str": "x"}),
        ),
    ];
    for (tool, args) in mutations {
        session
            .call(tool, args)
            .await
            .fails(SandboxDenied)?
            .says("read-only")?;
    }
    ensure_eq!(scene.bytes("b.txt").await, None);
    scene.holds("a.txt", "one\n").await
}

async fn x1_the_layer_denies_whoever_calls_it(stage: Stage, confine: Confine) -> Verdict {
    let scene = read_only(stage, confine, None).await;
    scene.put("a.txt", "one\n").await;
    let fs = scene.workspace.fs();
    let a = fs
        .target("a.txt")
        .await
        .map_err(|error| error.to_string())?;
    let b = fs
        .target("b.txt")
        .await
        .map_err(|error| error.to_string())?;
    let edit = Arc::new(Replace::once("one", "1").map_err(|error| error.to_string())?);
    let refusals = [
        fs.write(&a, "x".into(), WriteOptions::default())
            .await
            .err(),
        fs.edit(&a, edit, EditOptions::default()).await.err(),
        fs.rename(&a, &b, TransferOptions::default()).await.err(),
        fs.copy(&a, &b, TransferOptions::default()).await.err(),
        fs.create_dir(&b, CreateDirOptions::default()).await.err(),
        fs.remove(&a, RemoveOptions::default()).await.err(),
    ];
    for refusal in refusals {
        ensure_eq!(refusal.map(|error| error.code()), Some(SandboxDenied));
    }
    // A grant widens the call that carries it.
    let mut options = WriteOptions::expecting(Expected::Absent);
    options.context = CallContext {
        grant: Some(SandboxMode::WorkspaceWrite),
        ..CallContext::default()
    };
    let granted = fs.write(&b, "x".into(), options).await;
    ensure!(granted.is_ok(), "{granted:?}");
    scene.holds("a.txt", "one\n").await
}

async fn x2_a_denial_names_the_mode_and_comes_before_any_other_refusal(
    stage: Stage,
    confine: Confine,
) -> Verdict {
    let scene = read_only(stage, confine, None).await;
    scene.put("a.txt", "one\n").await;
    let session = scene.workspace.session("S1");
    // Unseen, and a model that is told to read first would read in vain.
    let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "1"});
    session
        .call("edit", edit)
        .await
        .fails(SandboxDenied)?
        .says("the sandbox mode read-only")?;
    // Containment has the same code and names what leads out.
    let outside = json!({"file_path": "../outside.txt"});
    let denied = session.call("read", outside).await.fails(SandboxDenied)?;
    denied.says("outside.txt")?.never_says("read-only")?;
    Ok(())
}

async fn x2_a_confined_workspace_advertises_both_arguments_together(
    stage: Stage,
    confine: Confine,
) -> Verdict {
    let scene = read_only(stage, confine, None).await;
    let advertised = |scene: &Scene, tool: &str| {
        let specs = scene.workspace.tools();
        let spec = specs
            .iter()
            .find(|spec| spec.name == tool)
            .expect("the tool is there");
        ["sandbox_permissions", "justification"]
            .map(|field| spec.input_schema["properties"].get(field).is_some())
    };
    for tool in ["write", "edit"] {
        ensure_eq!(advertised(&scene, tool), [true, true], "{tool}");
    }
    ensure_eq!(advertised(&scene, "read"), [false, false]);
    let session = scene.workspace.session("S1");
    for half in [&ASK[..1], &ASK[1..]] {
        let refused = session
            .call("write", write("a.txt", half))
            .await
            .fails(InvalidArgument)?;
        refused.says("always come together")?;
    }
    // Where nothing confines, they are arguments like any that do not exist.
    let open = stage.scene().await;
    ensure_eq!(advertised(&open, "write"), [false, false]);
    let session = open.workspace.session("S1");
    session
        .call("write", write("a.txt", &ASK))
        .await
        .fails(InvalidArgument)?;
    ensure_eq!(open.bytes("a.txt").await, None);
    Ok(())
}

async fn x3_an_approval_widens_exactly_one_call(stage: Stage, confine: Confine) -> Verdict {
    let approver = Answers::with(escalation::Verdict::Approved);
    let scene = read_only(stage, confine, Some(Arc::clone(&approver))).await;
    let session = scene.workspace.session("S1");
    session.call("write", write("a.txt", &ASK)).await.ok()?;
    scene.holds("a.txt", "new\n").await?;
    session
        .call("write", write("b.txt", &[]))
        .await
        .fails(SandboxDenied)?;
    ensure_eq!(scene.bytes("b.txt").await, None);
    let asked = approver.asked.lock().unwrap().clone();
    let expected = (
        "write".to_owned(),
        scene.at("a.txt"),
        SandboxMode::WorkspaceWrite,
        ASK[1].1.to_owned(),
    );
    ensure_eq!(asked, vec![expected]);
    // The guard is checked after the approval, as for any call.
    scene.put("a.txt", "theirs\n").await;
    let stale = session.call("write", write("a.txt", &ASK)).await;
    stale.fails(seamfs::ErrorCode::StaleVersion)?;
    scene.holds("a.txt", "theirs\n").await
}

async fn x3_each_way_of_not_being_approved_has_its_own_message(
    stage: Stage,
    confine: Confine,
) -> Verdict {
    use escalation::Verdict::{Approved, Cancelled, Rejected};
    let not_wider = [("sandbox_permissions", "workspace-write"), ASK[1]];
    let cases = [
        (
            Some(Rejected(Some("not today".to_owned()))),
            &ASK,
            "rejected: not today",
        ),
        (Some(Cancelled), &ASK, "cancelled"),
        (None, &ASK, "nobody is there"),
    ];
    for (verdict, ask, message) in cases {
        let scene = read_only(stage, confine, verdict.map(Answers::with)).await;
        let session = scene.workspace.session("S1");
        session
            .call("write", write("a.txt", ask))
            .await
            .fails(SandboxDenied)?
            .says(message)?;
        ensure_eq!(scene.bytes("a.txt").await, None);
    }
    let approver = Answers::with(Approved);
    let scene = stage
        .scene_with(|builder| {
            confine(builder, SandboxMode::WorkspaceWrite).approver(Arc::clone(&approver) as _)
        })
        .await;
    let session = scene.workspace.session("S1");
    let refused = session
        .call("write", write("a.txt", &not_wider))
        .await
        .fails(SandboxDenied)?;
    refused.says("not wider")?;
    ensure!(
        approver.asked.lock().unwrap().is_empty(),
        "nobody is asked in vain"
    );
    Ok(())
}
