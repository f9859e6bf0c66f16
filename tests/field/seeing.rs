//! Cases of the observation policy.

use std::os::unix::fs::symlink;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use seamfs::ErrorCode::{Aborted, Busy, NotObserved, NotText, StaleVersion};
use seamfs::core::gate::{Explanation, GateFacts, Intent, Observed, Refusal, Rule, Ruling};
use seamfs::core::{EditOptions, EditOutcome, Transform};
use seamfs::policy::Observation;
use seamfs::{Actor, CallContext, Expected, FileSystem, FileSystemExt, Result, Target};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{Checked, Double, Hooks, Stage, Verdict, claims, ensure, ensure_eq};

claims! {
    everywhere: [
        b011_one_fresh_read_ends_a_conflict: [ReadsWrongVersion],
        b013_a_file_just_created_needs_no_read: [ForgetsOwnMutations],
        b016_a_change_while_an_edit_waits_for_approval_is_kept: [IgnoresGuards],
        b018_a_write_looks_at_what_is_stored: [IgnoresGuards],
        b020_a_window_of_a_file_is_not_the_file: [AllowsUnseen],
        b054_what_could_not_be_read_cannot_be_written_back: [ReadsBinary],
        b201_a_refusal_comes_before_the_overwrite: [IgnoresGuards],
        b207_a_wait_ends_at_its_deadline_and_holds_up_nobody_else: [ReadsWrongVersion],
    ],
    local: [
        b001_a_touch_is_no_change,
        b003_a_change_with_an_older_time_is_noticed,
        b005_a_time_in_the_future_is_no_change,
        b014_every_spelling_and_link_of_a_file_is_the_file,
    ],
}

async fn b011_one_fresh_read_ends_a_conflict(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for _ in 0..5 {
        scene.put("a.txt", "v1\n").await;
        s1.read_from("a.txt", 1, 1).await.ok()?;
        scene.put("a.txt", "v2\n").await;
        s1.edit("a.txt", "v1", "x").await.fails(StaleVersion)?;
        s1.read("a.txt").await.ok()?;
        s1.edit("a.txt", "v2", "v3").await.ok()?;
        scene.holds("a.txt", "v3\n").await?;
    }
    Ok(())
}

async fn b013_a_file_just_created_needs_no_read(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    s1.write("new.txt", "a\n").await.ok()?;
    let one = s1.edit("new.txt", "a", "b").await.ok()?;
    let two = s1.edit("new.txt", "b", "c").await.ok()?;
    ensure!(
        one.structured["version"] != two.structured["version"],
        "{}",
        two.text
    );
    scene.holds("new.txt", "c\n").await
}

/// Approves every mutation, once somebody outside was quicker.
#[derive(Debug, Default)]
struct SlowApproval {
    outside: OnceLock<Arc<dyn FileSystem>>,
}

#[async_trait]
impl Rule for SlowApproval {
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling> {
        let outside = self.outside.get().expect("the scene is set");
        let target = outside.target(intent.target.display()).await?;
        let bytes = Bytes::from_static(b"one\ntwo\nthree\n");
        outside.write_all(&target, bytes, Expected::Any).await?;
        Ok(Ruling::Pass)
    }

    fn observed(&self, _: &Observed<'_>) {}

    fn explain(&self, _: &Refusal<'_>) -> Option<Explanation> {
        None
    }

    fn forget(&self, _: &Actor) {}

    fn describe(&self, _: &mut GateFacts) {}
}

async fn b016_a_change_while_an_edit_waits_for_approval_is_kept(stage: Stage) -> Verdict {
    let approval = Arc::new(SlowApproval::default());
    let rules: [Arc<dyn Rule>; 2] = [Arc::new(Observation::new()), Arc::clone(&approval) as _];
    let scene = stage.scene_with(|builder| builder.rules(rules)).await;
    approval.outside.get_or_init(|| Arc::clone(&scene.outside));
    let s1 = scene.s1();
    scene.put("a.txt", "one\ntwo\n").await;
    s1.read("a.txt").await.ok()?;
    s1.edit("a.txt", "one", "ONE")
        .await
        .fails(StaleVersion)?
        .says("+three")?;
    scene.holds("a.txt", "one\ntwo\nthree\n").await?;
    s1.edit("a.txt", "one", "ONE").await.ok()?;
    scene.holds("a.txt", "ONE\ntwo\nthree\n").await
}

async fn b018_a_write_looks_at_what_is_stored(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "precious\n").await;
    s1.write("a.txt", "mine\n").await.fails(NotObserved)?;
    scene.holds("a.txt", "precious\n").await?;
    let made = s1.write("new.txt", "x").await.ok()?;
    ensure_eq!(made.structured["operation"], json!("create"));
    scene.holds("new.txt", "x").await
}

async fn b020_a_window_of_a_file_is_not_the_file(stage: Stage) -> Verdict {
    let scene = stage.scene_with(|builder| builder.coverage()).await;
    let s1 = scene.s1();
    let text: String = (1..=3000).map(|n| format!("line {n}\n")).collect();
    scene.put("a.txt", &text).await;
    let window = s1.read_from("a.txt", 1, 100).await.ok()?;
    let shown: String = window.structured["lines"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|line| Some(line["text"].as_str()?.to_owned() + "\n"))
        .collect();
    s1.write("a.txt", &shown)
        .await
        .fails(NotObserved)?
        .says("101-3000")?;
    scene.holds("a.txt", &text).await?;
    s1.edit("a.txt", "line 77\n", "LINE 77\n").await.ok()?;
    scene
        .holds("a.txt", text.replace("line 77\n", "LINE 77\n"))
        .await
}

async fn b054_what_could_not_be_read_cannot_be_written_back(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let bytes = b"// opera\xe7\xe3o\n";
    scene.put("u.pas", bytes).await;
    s1.read("u.pas").await.fails(NotText)?;
    s1.view("u.pas").await.fails(NotText)?;
    s1.write("u.pas", "// opera\u{fffd}\u{fffd}o\n")
        .await
        .fails(NotObserved)?;
    scene.holds("u.pas", bytes).await
}

async fn b201_a_refusal_comes_before_the_overwrite(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "v1\n").await;
    s1.read("a.txt").await.ok()?;
    scene.put("a.txt", "v2\n").await;
    let stamp = scene.stamp("a.txt").await;
    s1.write("a.txt", "mine\n").await.fails(StaleVersion)?;
    ensure_eq!(scene.stamp("a.txt").await, stamp);
    scene.holds("a.txt", "v2\n").await?;
    s1.read("a.txt").await.ok()?;
    for turn in 0..3 {
        s1.write("a.txt", &format!("mine {turn}\n")).await.ok()?;
    }
    scene.holds("a.txt", "mine 2\n").await
}

/// Holds every edit of one file until the test lets it go.
#[derive(Clone, Debug)]
struct Slow(Arc<Semaphore>, Arc<Semaphore>);

#[async_trait]
impl Hooks for Slow {
    async fn edit(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        if target.display().ends_with("a.txt") {
            self.0.add_permits(1);
            self.1.acquire().await.expect("it is never closed").forget();
        }
        fs.edit(target, transform, options).await
    }
}

fn edit_of(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "old_string": old, "new_string": new })
}

async fn b207_a_wait_ends_at_its_deadline_and_holds_up_nobody_else(stage: Stage) -> Verdict {
    let slow = Slow(Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let layer = slow.clone();
    let scene = stage
        .scene_over(|builder| builder, |fs| Double::over(fs, layer))
        .await;
    let s1 = scene.s1();
    scene.put("a.txt", "1\n2\n").await;
    scene.put("b.txt", "1\n").await;
    s1.read("a.txt").await.ok()?;
    s1.read("b.txt").await.ok()?;
    let begin = |args: Value, context| s1.session.call_in("edit", args, context);
    let arrived = || async { slow.0.acquire().await.expect("it is never closed").forget() };

    let first = begin(edit_of("a.txt", "1", "one"), CallContext::default());
    arrived().await;
    let hasty = CallContext::default().within(Duration::from_millis(50));
    let busy = begin(edit_of("a.txt", "2", "two"), hasty)
        .await
        .fails(Busy)?;
    ensure_eq!(busy.structured["error"]["retry"], json!("as_is"));
    let patient = begin(edit_of("a.txt", "2", "two"), CallContext::default());
    // Another file is not held up.
    s1.edit("b.txt", "1", "one").await.ok()?;
    scene.holds("a.txt", "1\n2\n").await?;
    slow.1.add_permits(2);
    first.await.ok()?;
    patient.await.ok()?;
    scene.holds("a.txt", "one\ntwo\n").await?;

    // Withdrawn in the middle: nothing happened, and its place is free.
    arrived().await;
    let withdrawn = begin(edit_of("a.txt", "one", "1"), CallContext::default());
    arrived().await;
    withdrawn.cancellation().cancel();
    slow.1.add_permits(1);
    withdrawn.await.fails(Aborted)?;
    scene.holds("a.txt", "one\ntwo\n").await?;
    slow.1.add_permits(1);
    s1.edit("a.txt", "two", "2").await.ok()?;
    scene.holds("a.txt", "one\n2\n").await
}

fn set_time(path: &std::path::Path, time: SystemTime) -> std::result::Result<(), String> {
    let file = std::fs::File::options().write(true).open(path);
    let set = file.and_then(|file| file.set_modified(time));
    set.map_err(|error| error.to_string())
}

async fn b001_a_touch_is_no_change(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\ntwo\n").await;
    s1.read("a.txt").await.ok()?;
    set_time(
        &scene.host_path("a.txt"),
        SystemTime::now() + Duration::from_secs(5),
    )?;
    s1.edit("a.txt", "one", "ONE").await.ok()?;
    scene.holds("a.txt", "ONE\ntwo\n").await
}

async fn b003_a_change_with_an_older_time_is_noticed(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "v1 line\n").await;
    s1.read("a.txt").await.ok()?;
    scene.put("a.txt", "v2 line\n").await;
    set_time(
        &scene.host_path("a.txt"),
        SystemTime::now() - Duration::from_secs(3600),
    )?;
    s1.write("a.txt", "mine\n").await.fails(StaleVersion)?;
    scene.holds("a.txt", "v2 line\n").await
}

async fn b005_a_time_in_the_future_is_no_change(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "x\n").await;
    set_time(
        &scene.host_path("a.txt"),
        SystemTime::now() + Duration::from_secs(86_400),
    )?;
    s1.read("a.txt").await.ok()?;
    s1.edit("a.txt", "x", "y").await.ok()?;
    s1.edit("a.txt", "y", "z").await.ok()?;
    scene.holds("a.txt", "z\n").await
}

async fn b014_every_spelling_and_link_of_a_file_is_the_file(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("dir/a.txt", "x\n").await;
    symlink("dir", scene.host_path("ln")).map_err(|error| error.to_string())?;
    s1.read("./dir/a.txt").await.ok()?;
    let absolute = scene.at("dir/a.txt");
    let spellings = [
        "dir/a.txt",
        "dir//a.txt",
        &absolute,
        "dir/./a.txt",
        "ln/a.txt",
    ];
    for (turn, spelling) in spellings.into_iter().enumerate() {
        let (old, new) = if turn % 2 == 0 {
            ("x", "y")
        } else {
            ("y", "x")
        };
        s1.edit(spelling, old, new).await.ok()?;
    }
    scene.holds("dir/a.txt", "y\n").await
}
