//! O: who may change what, by what it has seen.

use std::sync::Arc;

use futures::future::join_all;
use seamfs::ErrorCode::{
    AlreadyExists, AmbiguousEdit, EditNotFound, InvalidArgument, NotFound, NotObserved, NotText,
    StaleVersion,
};
use seamfs::core::gate::{Explanation, GateFacts, Intent, Observed, Refusal, Rule, Ruling};
use seamfs::policy::Observation;
use seamfs::{Actor, Result, ToolResult, Version, WorkspaceBuilder};
use serde_json::{Value, json};

use crate::support::{Checked, Meddler, Moment, Stage, Verdict, claims, ensure, ensure_eq};

claims! {
    everywhere: [
        o1_a_write_of_an_unseen_file_creates_and_never_replaces: [IgnoresGuards],
        o1_a_write_of_a_seen_file_replaces_only_what_was_seen: [LetsWritesPass],
        o1_an_unseen_edit_is_not_observed_and_an_absent_one_not_found: [AuthorisesByAbsence],
        o1b_arguments_are_checked_first_then_the_gate_then_the_file: [AllowsUnseen],
        o2_any_window_of_a_file_authorises: [NeedsWholeReads, ForgetsRest],
        o3_own_writes_and_edits_refresh_the_observation: [ForgetsOwnMutations],
        o3_failures_leave_the_observation_as_it_was: [IgnoresOffset],
        o4_what_one_actor_saw_no_other_did: [SharesActors],
        o4_a_session_that_ends_forgets: [NeverForgets],
        o5_a_file_deleted_outside_is_stale_until_its_absence_is_seen: [NoticesNoAbsence],
        o5_a_file_created_meanwhile_by_another_is_not_replaced: [ExplainsWithoutRecording],
        o6_without_the_policy_mutations_are_unconditional: [LosesRaces],
        o7_errors_carry_the_next_action_and_only_tools_say_it: [SaysNoRemedy],
        o7_nobody_is_sent_to_read_what_no_session_can_read: [SaysNoRemedy],
        o8_a_recorder_that_panics_fails_no_mutation: [ReturnsWrongVersion],
        o9_parallel_edits_of_one_actor_all_land_in_order: [ForgetsOwnMutations],
        o9_parallel_mutations_of_one_actor_see_each_other: [KeysBySpelling],
        o9_of_two_actors_one_lands_and_the_other_is_stale: [LosesRaces],
        o9b_under_coverage_only_lines_that_were_shown_are_changed: [AllowsUnseen],
        o9b_a_line_that_was_cut_does_not_count_as_shown: [AllowsUnseen],
        o10_a_stale_error_shows_the_change_and_the_retry_needs_no_read: [NeverExplains],
        o10_a_change_too_long_to_show_asks_for_a_read: [RecordsEveryFailure],
        v5_a_change_right_after_our_publication_is_not_recorded_as_seen: [ProbesAfterPublishing],
    ],
}

async fn o1_a_write_of_an_unseen_file_creates_and_never_replaces(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("old.txt", "precious\n").await;
    let s1 = scene.s1();
    s1.write("old.txt", "mine\n").await.fails(NotObserved)?;
    scene.holds("old.txt", "precious\n").await?;
    // Even the very bytes that are there: the guard is `Absent`.
    s1.write("old.txt", "precious\n").await.fails(NotObserved)?;
    s1.write("new/er.txt", "mine\n").await.ok()?;
    scene.holds("new/er.txt", "mine\n").await
}

async fn o1_a_write_of_a_seen_file_replaces_only_what_was_seen(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\n").await;
    s1.read("a.txt").await.ok()?;
    s1.write("a.txt", "two\n").await.ok()?;
    scene.put("a.txt", "TWO\n").await;
    s1.write("a.txt", "three\n").await.fails(StaleVersion)?;
    scene.holds("a.txt", "TWO\n").await
}

async fn o1_an_unseen_edit_is_not_observed_and_an_absent_one_not_found(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\n").await;
    s1.edit("a.txt", "one", "1").await.fails(NotObserved)?;
    s1.str_replace("a.txt", "one", "1")
        .await
        .fails(NotObserved)?;
    s1.insert("a.txt", 0, "x").await.fails(NotObserved)?;
    scene.holds("a.txt", "one\n").await?;

    s1.read("b.txt").await.fails(NotFound)?;
    s1.edit("b.txt", "one", "1").await.fails(NotFound)?;
    // An absence once seen authorises no edit, whoever creates the file since.
    scene.put("b.txt", "one\n").await;
    s1.edit("b.txt", "one", "1").await.fails(NotFound)?;
    scene.holds("b.txt", "one\n").await
}

async fn o1b_arguments_are_checked_first_then_the_gate_then_the_file(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("text.txt", "one one\n").await;
    scene.put("data.bin", b"\0\xff").await;
    for path in ["text.txt", "data.bin", "missing.txt"] {
        s1.edit(path, "", "x").await.fails(InvalidArgument)?;
        s1.edit(path, "x", "x").await.fails(InvalidArgument)?;
        for old in ["one", "absent"] {
            s1.edit(path, old, "x").await.fails(NotObserved)?;
        }
    }
    Ok(())
}

async fn o2_any_window_of_a_file_authorises(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let text: String = (1..=300).map(|n| format!("line {n}\n")).collect();
    for how in 0..4 {
        let s1 = scene.hand(&format!("S{how}"));
        scene.put("a.txt", &text).await;
        match how {
            0 => s1.read_from("a.txt", 7, 1).await.ok()?,
            1 => s1.view_rows("a.txt", 9, 9).await.ok()?,
            2 => s1.read_from("a.txt", 300, 5).await.ok()?,
            _ => s1.view("a.txt").await.ok()?,
        };
        s1.edit("a.txt", "line 200\n", "LINE\n").await.ok()?;
        scene
            .holds("a.txt", text.replace("line 200\n", "LINE\n"))
            .await?;
        s1.write("a.txt", "all\n").await.ok()?;
    }
    // A view of the folder shows names, not files.
    let other = scene.hand("other");
    other.view("").await.ok()?;
    other.edit("a.txt", "all", "x").await.fails(NotObserved)?;
    Ok(())
}

async fn o3_own_writes_and_edits_refresh_the_observation(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    s1.write("a.txt", "one\n").await.ok()?;
    s1.edit("a.txt", "one", "two").await.ok()?;
    s1.write("a.txt", "three\n").await.ok()?;
    s1.str_replace("a.txt", "three", "four").await.ok()?;
    s1.insert("a.txt", 1, "five").await.ok()?;
    s1.edit_all("a.txt", "f", "F").await.ok()?;
    scene.holds("a.txt", "Four\nFive\n").await?;
    s1.create("b.txt", "one\n").await.ok()?;
    s1.edit("b.txt", "one", "two").await.ok()?;
    scene.holds("b.txt", "two\n").await
}

async fn o3_failures_leave_the_observation_as_it_was(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\none\n").await;
    s1.read("a.txt").await.ok()?;
    s1.edit("a.txt", "zero", "x").await.fails(EditNotFound)?;
    s1.edit("a.txt", "one", "x").await.fails(AmbiguousEdit)?;
    s1.read_from("a.txt", 99, 1).await.fails(InvalidArgument)?;
    s1.create("a.txt", "x").await.fails(AlreadyExists)?;
    s1.edit_all("a.txt", "one", "1").await.ok()?;
    scene.holds("a.txt", "1\n1\n").await?;

    // A failure shows nothing either: an offset past the end observes no file.
    let s2 = scene.s2();
    s2.read_from("a.txt", 99, 1).await.fails(InvalidArgument)?;
    s2.write("a.txt", "x").await.fails(NotObserved)?;
    s2.edit_all("a.txt", "1", "x").await.fails(NotObserved)?;
    Ok(())
}

async fn o4_what_one_actor_saw_no_other_did(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.txt", "one\n").await;
    let (s1, s2) = (scene.s1(), scene.s2());
    s1.read("a.txt").await.ok()?;
    s2.edit("a.txt", "one", "2").await.fails(NotObserved)?;
    s2.write("a.txt", "2").await.fails(NotObserved)?;
    s2.read("b.txt").await.fails(NotFound)?;
    s1.edit("b.txt", "x", "y").await.fails(NotObserved)?;
    // The same name is the same session, however often it is asked for.
    scene.s1().edit("a.txt", "one", "1").await.ok()?;
    scene.holds("a.txt", "1\n").await
}

async fn o4_a_session_that_ends_forgets(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.txt", "one\n").await;
    scene.s1().read("a.txt").await.ok()?;
    scene.s2().read("a.txt").await.ok()?;
    scene.s1().session.end();
    scene
        .s1()
        .edit("a.txt", "one", "1")
        .await
        .fails(NotObserved)?;
    scene.s2().edit("a.txt", "one", "2").await.ok()?;
    scene.holds("a.txt", "2\n").await
}

async fn o5_a_file_deleted_outside_is_stale_until_its_absence_is_seen(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\n").await;
    s1.read("a.txt").await.ok()?;
    scene.remove("a.txt").await;
    for _ in 0..2 {
        s1.edit("a.txt", "one", "1")
            .await
            .fails(StaleVersion)?
            .says("gone")?;
        s1.write("a.txt", "1")
            .await
            .fails(StaleVersion)?
            .says("gone")?;
    }
    scene.lacks("a.txt").await?;
    s1.read("a.txt").await.fails(NotFound)?;
    s1.edit("a.txt", "one", "1").await.fails(NotFound)?;
    s1.write("a.txt", "again\n").await.ok()?;
    scene.holds("a.txt", "again\n").await
}

async fn o5_a_file_created_meanwhile_by_another_is_not_replaced(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    s1.read("a.txt").await.fails(NotFound)?;
    scene.put("a.txt", "theirs\n").await;
    let refused = s1.write("a.txt", "mine\n").await.fails(StaleVersion)?;
    refused.says("+theirs")?;
    scene.holds("a.txt", "theirs\n").await?;
    // The whole of it was shown, so that the retry is an informed one.
    s1.write("a.txt", "mine\n").await.ok()?;
    scene.holds("a.txt", "mine\n").await
}

async fn o6_without_the_policy_mutations_are_unconditional(stage: Stage) -> Verdict {
    let scene = stage.lawless().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\n").await;
    s1.edit("a.txt", "one", "1").await.ok()?;
    scene.put("a.txt", "two\n").await;
    s1.edit("a.txt", "two", "2").await.ok()?;
    scene.put("a.txt", "three\n").await;
    s1.write("a.txt", "3\n").await.ok()?;
    scene.holds("a.txt", "3\n").await?;
    // And still atomic: no increment of many at once is lost.
    s1.write("n.txt", &"x\n".repeat(40)).await.ok()?;
    let calls: Vec<_> = (0..40)
        .map(|n| {
            let hand = scene.hand(&format!("S{}", n % 4));
            let insert = json!({
                "command": "insert", "path": scene.at("n.txt"), "insert_line": 0,
                "new_str": format!("{n}"),
            });
            hand.session.call("str_replace_editor", insert)
        })
        .collect();
    for result in join_all(calls).await {
        result.ok()?;
    }
    let found = scene.bytes("n.txt").await.unwrap_or_default();
    ensure_eq!(found.iter().filter(|byte| **byte == b'\n').count(), 80);
    Ok(())
}

async fn o7_errors_carry_the_next_action_and_only_tools_say_it(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\n").await;
    let unseen = s1.edit("a.txt", "one", "1").await.fails(NotObserved)?;
    let action = unseen.structured["error"]["next_action"].clone();
    ensure!(
        action
            .as_str()
            .is_some_and(|action| action.contains("Read the file")),
        "{action}"
    );
    ensure_eq!(unseen.structured["error"]["retry"], json!("after_read"));
    unseen.says("Read the file")?;

    s1.read("a.txt").await.ok()?;
    scene.put("a.txt", "line\n".repeat(5000)).await;
    let stale = s1.edit("a.txt", "one", "1").await.fails(StaleVersion)?;
    let action = stale.structured["error"]["next_action"].clone();
    ensure!(
        action
            .as_str()
            .is_some_and(|action| action.contains("Re-read the file")),
        "{action}"
    );
    ensure_eq!(stale.structured["error"]["retry"], json!("after_read"));
    stale.says("Re-read the file")?;

    // The file system states the fact alone.
    use seamfs::{Expected, FileSystemExt};
    let target = scene
        .outside
        .target("a.txt")
        .await
        .map_err(|error| error.to_string())?;
    let guard = Expected::Version(Version::of(b"one\n"));
    match scene.outside.replace(&target, "line", "x", guard).await {
        Ok(_) => Err("a stale guard held".to_owned()),
        Err(error) => {
            ensure!(
                !error.to_string().to_lowercase().contains("read"),
                "{error}"
            );
            Ok(())
        }
    }
}

/// Keeps the observation policy, and falls over whenever it should only record.
#[derive(Debug)]
struct Stumbling(Observation);

#[async_trait::async_trait]
impl Rule for Stumbling {
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling> {
        self.0.decide(intent).await
    }

    fn observed(&self, event: &Observed<'_>) {
        self.0.observed(event);
        if event.own {
            std::panic::resume_unwind(Box::new("a recorder that fails"));
        }
    }

    fn explain(&self, _: &Refusal<'_>) -> Option<Explanation> {
        std::panic::resume_unwind(Box::new("an explanation that fails"));
    }

    fn forget(&self, actor: &Actor) {
        self.0.forget(actor);
    }

    fn describe(&self, facts: &mut GateFacts) {
        self.0.describe(facts);
    }
}

async fn o7_nobody_is_sent_to_read_what_no_session_can_read(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.bin", b"GIF89a\0\xff").await;
    scene.put("folder/x.txt", "x\n").await;
    scene.put("plain.txt", "one\n").await;
    let s1 = scene.s1();
    for result in [
        s1.edit("a.bin", "a", "b").await,
        s1.write("a.bin", "x").await,
        s1.str_replace("a.bin", "a", "b").await,
        s1.insert("a.bin", 0, "x").await,
    ] {
        let refused = result.fails(NotObserved)?;
        let refused = refused.says("none can")?.says("use another path")?;
        ensure_eq!(refused.structured["error"]["retry"], "never");
        refused.never_says("then retry")?;
    }
    for result in [s1.read("a.bin").await, s1.view("a.bin").await] {
        result.fails(NotText)?.says("use another path")?;
    }
    for result in [
        s1.edit("folder", "a", "b").await,
        s1.str_replace("folder", "a", "b").await,
    ] {
        let refused = result.fails(NotObserved)?.says("this is a folder")?;
        refused.never_says("then retry")?;
    }
    let edit = s1.edit("plain.txt", "one", "two").await;
    edit.fails(NotObserved)?.says("Read the file, then retry")?;
    let replace = s1.str_replace("plain.txt", "one", "two").await;
    replace
        .fails(NotObserved)?
        .says("View the file, then retry")?;
    scene.holds("a.bin", b"GIF89a\0\xff").await
}

async fn o8_a_recorder_that_panics_fails_no_mutation(stage: Stage) -> Verdict {
    let rule: Arc<dyn Rule> = Arc::new(Stumbling(Observation::new()));
    let scene = stage.scene_with(|builder| builder.rules([rule])).await;
    let s1 = scene.s1();
    s1.write("a.txt", "one\n").await.ok()?;
    s1.edit("a.txt", "one", "two").await.ok()?;
    s1.insert("a.txt", 0, "zero").await.ok()?;
    s1.create("b.txt", "one\n").await.ok()?;
    scene.holds("a.txt", "zero\ntwo\n").await?;
    scene.holds("b.txt", "one\n").await?;
    scene.put("a.txt", "other\n").await;
    s1.edit("a.txt", "two", "2").await.fails(StaleVersion)?;
    scene.holds("a.txt", "other\n").await
}

fn edit_of(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "old_string": old, "new_string": new })
}

async fn o9_parallel_edits_of_one_actor_all_land_in_order(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for _ in 0..20 {
        scene.put("a.txt", "0:0:0:0:0:0:0:0\nlast 0\n").await;
        s1.read("a.txt").await.ok()?;
        // Each needs the one before it, so that another order could not succeed.
        let calls: Vec<_> = (0..16)
            .map(|n| {
                edit_of(
                    "a.txt",
                    &format!("last {n}\n"),
                    &format!("last {}\n", n + 1),
                )
            })
            .map(|args| s1.session.call("edit", args))
            .collect();
        for result in join_all(calls).await {
            result.ok()?;
        }
        scene.holds("a.txt", "0:0:0:0:0:0:0:0\nlast 16\n").await?;
    }
    Ok(())
}

async fn o9_parallel_mutations_of_one_actor_see_each_other(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let begun = [
        s1.session
            .call("write", json!({ "file_path": "a.txt", "content": "one\n" })),
        s1.session.call("edit", edit_of("./a.txt", "one", "two")),
        s1.session.call("read", json!({ "file_path": "a.txt" })),
        s1.session.call("edit", edit_of("a.txt", "two", "three")),
        s1.session.call(
            "write",
            json!({ "file_path": scene.at("a.txt"), "content": "four\n" }),
        ),
        s1.session.call("edit", edit_of("a.txt", "four", "five")),
    ];
    let results = join_all(begun).await;
    for result in results.clone() {
        result.ok()?;
    }
    results[2].clone().says("1: two\n")?;
    scene.holds("a.txt", "five\n").await
}

async fn o9_of_two_actors_one_lands_and_the_other_is_stale(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let (s1, s2) = (scene.s1(), scene.s2());
    for _ in 0..50 {
        scene.put("a.txt", "AAA\n---\nBBB\n").await;
        s1.read("a.txt").await.ok()?;
        s2.read("a.txt").await.ok()?;
        let one = s1.session.call("edit", edit_of("a.txt", "AAA", "aaa"));
        let two = s2.session.call("edit", edit_of("a.txt", "BBB", "bbb"));
        let (one, two) = futures::join!(one, two);
        let landed = match (one.is_error(), two.is_error()) {
            (false, true) => {
                two.fails(StaleVersion)?.says("+aaa")?;
                "aaa\n---\nBBB\n"
            }
            (true, false) => {
                one.fails(StaleVersion)?.says("+bbb")?;
                "AAA\n---\nbbb\n"
            }
            both => return Err(format!("errors of the two: {both:?}")),
        };
        scene.holds("a.txt", landed).await?;
    }
    Ok(())
}

fn unseen(result: &ToolResult) -> Value {
    result.structured["error"]["details"]["unseen_lines"].clone()
}

async fn o9b_under_coverage_only_lines_that_were_shown_are_changed(stage: Stage) -> Verdict {
    let scene = stage.scene_with(WorkspaceBuilder::coverage).await;
    let s1 = scene.s1();
    let text: String = (1..=300).map(|n| format!("line {n}.\n")).collect();
    scene.put("a.txt", &text).await;
    s1.read_from("a.txt", 11, 90).await.ok()?;
    let refused = s1.write("a.txt", "all\n").await.fails(NotObserved)?;
    ensure_eq!(unseen(&refused), json!([[1, 10], [101, 300]]));
    let refused = s1
        .edit("a.txt", "line 200.", "x")
        .await
        .fails(NotObserved)?;
    ensure_eq!(unseen(&refused), json!([[200, 200]]));
    refused.says("200")?;
    let refused = s1
        .edit("a.txt", "line 100.\nline 101.", "x")
        .await
        .fails(NotObserved)?;
    ensure_eq!(unseen(&refused), json!([[101, 101]]));
    s1.insert("a.txt", 200, "x").await.fails(NotObserved)?;
    scene.holds("a.txt", &text).await?;

    s1.edit("a.txt", "line 50.", "LINE 50.").await.ok()?;
    s1.insert("a.txt", 60, "new").await.ok()?;
    let edited = text
        .replace("line 50.", "LINE 50.")
        .replace("line 60.\n", "line 60.\nnew\n");
    scene.holds("a.txt", &edited).await?;
    s1.read_from("a.txt", 1, 10).await.ok()?;
    s1.read_from("a.txt", 102, 2000).await.ok()?;
    s1.write("a.txt", "all\n").await.ok()?;
    // What an actor wrote itself it has seen.
    s1.write("a.txt", "again\n").await.ok()?;
    scene.holds("a.txt", "again\n").await
}

async fn o9b_a_line_that_was_cut_does_not_count_as_shown(stage: Stage) -> Verdict {
    let scene = stage.scene_with(WorkspaceBuilder::coverage).await;
    let s1 = scene.s1();
    let text = format!(
        "first\n{}needle{}\nlast\n",
        "x".repeat(4000),
        "y".repeat(4000)
    );
    scene.put("a.txt", &text).await;
    let s2 = scene.s2();
    s2.read("a.txt").await.ok()?;
    let refused = s2.write("a.txt", "all\n").await.fails(NotObserved)?;
    ensure_eq!(unseen(&refused), json!([[2, 2]]));
    s1.read("a.txt").await.ok()?;
    s1.edit("a.txt", "last", "end").await.ok()?;
    let refused = s1
        .edit("a.txt", "needle", "thread")
        .await
        .fails(NotObserved)?;
    ensure_eq!(unseen(&refused), json!([[2, 2]]));
    scene.holds("a.txt", text.replace("last", "end")).await?;
    // The refusal showed what stands around the place, so that the line is not out of reach.
    refused.says("needle")?;
    s1.edit("a.txt", "needle", "thread").await.ok()?;
    let edited = text.replace("last", "end").replace("needle", "thread");
    scene.holds("a.txt", edited).await
}

async fn o10_a_stale_error_shows_the_change_and_the_retry_needs_no_read(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let text: String = (1..=50).map(|n| format!("line {n}\n")).collect();
    scene.put("a.txt", &text).await;
    s1.read("a.txt").await.ok()?;
    let changed = text.replace("line 9\n", "nine\n");
    scene.put("a.txt", &changed).await;
    let stale = s1
        .edit("a.txt", "line 40\n", "forty\n")
        .await
        .fails(StaleVersion)?;
    let stale = stale
        .says("-line 9\n")?
        .says("+nine\n")?
        .says("no read is needed")?;
    let details = &stale.structured["error"]["details"];
    ensure!(
        details["diff"]
            .as_str()
            .is_some_and(|diff| diff.contains("+nine")),
        "{details}"
    );
    ensure_eq!(details["changed_lines"], json!([[9, 9]]));
    let version = details["current_version"].clone();
    ensure_eq!(stale.structured["error"]["retry"], json!("as_is"));
    scene.holds("a.txt", &changed).await?;

    s1.edit("a.txt", "line 40\n", "forty\n").await.ok()?;
    scene
        .holds("a.txt", changed.replace("line 40\n", "forty\n"))
        .await?;
    // The version of the error named what was there.
    scene.put("a.txt", &changed).await;
    let read = s1.read("a.txt").await.ok()?.structured["version"].clone();
    let parsed = [version, read].map(|version| version.as_str()?.parse::<Version>().ok());
    let [Some(told), Some(read)] = parsed else {
        return Err(format!("{parsed:?}"));
    };
    ensure!(told.certifies(&read), "{told} {read}");

    // A write is told the same, and so is an insert.
    scene.put("a.txt", &text).await;
    s1.write("a.txt", "x\n")
        .await
        .fails(StaleVersion)?
        .says("+line 9\n")?;
    s1.write("a.txt", "x\n").await.ok()?;
    scene.put("a.txt", "y\n").await;
    s1.insert("a.txt", 1, "z")
        .await
        .fails(StaleVersion)?
        .says("+y\n")?;
    s1.insert("a.txt", 1, "z").await.ok()?;
    scene.holds("a.txt", "y\nz\n").await
}

async fn o10_a_change_too_long_to_show_asks_for_a_read(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\n").await;
    s1.read("a.txt").await.ok()?;
    let long = format!("one\n{}", "a line that was not there\n".repeat(2000));
    scene.put("a.txt", &long).await;
    for _ in 0..2 {
        let stale = s1.edit("a.txt", "one", "1").await.fails(StaleVersion)?;
        ensure!(stale.text.len() < 10_000, "{} bytes", stale.text.len());
        stale
            .says("+a line that was not there")?
            .says("Re-read the file")?;
    }
    s1.read_from("a.txt", 1, 1).await.ok()?;
    s1.edit("a.txt", "one", "1").await.ok()?;
    scene.holds("a.txt", long.replacen("one", "1", 1)).await
}

async fn v5_a_change_right_after_our_publication_is_not_recorded_as_seen(stage: Stage) -> Verdict {
    let meddler = Meddler::new();
    let layer = meddler.clone();
    let scene = stage
        .scene_over(|builder| builder, |fs| layer.over(fs))
        .await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\n").await;
    s1.read("a.txt").await.ok()?;
    meddler.at(Moment::AfterMutation, "theirs\n");
    s1.edit("a.txt", "one", "two").await.ok()?;
    scene.holds("a.txt", "theirs\n").await?;
    s1.edit("a.txt", "theirs", "mine")
        .await
        .fails(StaleVersion)?;
    meddler.at(Moment::AfterMutation, "theirs again\n");
    s1.write("a.txt", "three\n").await.ok()?;
    s1.write("a.txt", "four\n")
        .await
        .fails(StaleVersion)?
        .says("-three")?;
    scene.holds("a.txt", "theirs again\n").await
}
