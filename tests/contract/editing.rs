//! E: what an edit does to a file, and what it says when it does nothing.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use seamfs::ErrorCode::{AmbiguousEdit, EditNotFound, InvalidArgument, NotFound, StaleVersion};
use serde_json::json;

use crate::support::{Checked, Scene, Stage, Verdict, claims, ensure, ensure_eq};

claims! {
    everywhere: [
        e1_a_stale_edit_never_says_not_found_or_ambiguous: [MatchesBeforeGuard],
        e2_a_missing_file_is_not_found_unguarded_and_stale_guarded: [SaysNotFoundForStale],
        e3_an_empty_old_text_and_equal_texts_are_invalid: [FillsInEmptyText],
        e3_a_miss_is_diagnosed_and_changes_nothing: [TrimsOldText],
        e3_an_ambiguous_text_names_its_count_and_lines_overlaps_included: [IgnoresReplaceAll],
        e4_arguments_are_literal: [InterpretsEscapes],
        e4_replacements_do_not_overlap_and_go_left_to_right: [NeverReplacesAll],
        e5_lf_matches_crlf_and_inserted_lines_take_its_ending: [NormalisesEndings],
        e5_crlf_is_one_character_that_is_never_split: [TrimsOldText],
        e5_every_byte_outside_the_spans_stays: [AddsFinalNewline],
        t8_crlf_that_an_edit_brings_into_a_file_of_lf_is_noted: [DropsNotes],
        e6_a_bom_is_not_shown_and_stays: [DropsBom, ShowsBom],
        e6_lone_cr_mixed_endings_and_a_missing_final_newline_survive: [StripsTrailingBlanks],
        e7_an_edit_that_changes_no_byte_succeeds_and_writes_nothing: [TouchesOnNoOp],
    ],
}

async fn e1_a_stale_edit_never_says_not_found_or_ambiguous(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for changed in ["other\n", "one\none\n", ""] {
        scene.put("a.txt", "one\n").await;
        s1.read("a.txt").await.ok()?;
        scene.put("a.txt", changed).await;
        s1.edit("a.txt", "one", "1").await.fails(StaleVersion)?;
        s1.read("a.txt").await.ok()?;
        scene.put("a.txt", format!("{changed}more\n")).await;
        s1.edit_all("a.txt", "one", "1").await.fails(StaleVersion)?;
        s1.view("a.txt").await.ok()?;
        scene.put("a.txt", format!("{changed}less\n")).await;
        s1.str_replace("a.txt", "one", "1")
            .await
            .fails(StaleVersion)?;
        s1.view("a.txt").await.ok()?;
        scene.put("a.txt", "short").await;
        s1.insert("a.txt", 3, "x").await.fails(StaleVersion)?;
        scene.holds("a.txt", "short").await?;
    }
    Ok(())
}

async fn e2_a_missing_file_is_not_found_unguarded_and_stale_guarded(stage: Stage) -> Verdict {
    let lawless = stage.lawless().await;
    let free = lawless.s1();
    free.edit("a.txt", "one", "1").await.fails(NotFound)?;
    lawless.lacks("a.txt").await?;

    let scene = stage.scene().await;
    scene.put("a.txt", "one\n").await;
    scene.s1().read("a.txt").await.ok()?;
    scene.remove("a.txt").await;
    scene
        .s1()
        .edit("a.txt", "one", "1")
        .await
        .fails(StaleVersion)?;
    scene.lacks("a.txt").await
}

async fn e3_an_empty_old_text_and_equal_texts_are_invalid(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    for content in ["", "one\n"] {
        scene.put("a.txt", content).await;
        let s1 = scene.s1();
        s1.read("a.txt").await.ok()?;
        let empty = s1.edit("a.txt", "", "x").await.fails(InvalidArgument)?;
        empty.says("`old_string`")?;
        let same = s1
            .edit("a.txt", "one", "one")
            .await
            .fails(InvalidArgument)?;
        same.says("`old_string`")?.says("`new_string`")?;
        s1.edit_all("a.txt", "", "x").await.fails(InvalidArgument)?;
        scene.holds("a.txt", content).await?;
    }
    Ok(())
}

async fn e3_a_miss_is_diagnosed_and_changes_nothing(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let text = "fn one() {\n\treturn 1;\n}\nfn two() {}\n";
    scene.put("a.rs", text).await;
    let s1 = scene.s1();
    s1.read("a.rs").await.ok()?;
    for (old, new, diagnosis) in [
        ("    return 1;", "x", "line 2"),
        ("Fn two() {}", "x", "line 4"),
        ("2: \treturn 1;", "x", "line number"),
        ("fn three() {}", "fn two() {}", "already there"),
        ("fn too() {}", "x", "line 4"),
        ("zzzzzz", "x", "no line"),
    ] {
        let miss = s1.edit("a.rs", old, new).await.fails(EditNotFound)?;
        miss.says(diagnosis)?;
    }
    scene.holds("a.rs", text).await
}

async fn e3_an_ambiguous_text_names_its_count_and_lines_overlaps_included(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for (content, old, count, lines) in [
        ("aaa\n", "aa", 2, vec![1, 1]),
        ("abab\nab\n", "ab", 3, vec![1, 1, 2]),
        ("x\r\ny\r\nx\r\ny\r\n", "x\ny", 2, vec![1, 3]),
    ] {
        scene.put("a.txt", content).await;
        s1.read("a.txt").await.ok()?;
        let found = s1.edit("a.txt", old, "z").await.fails(AmbiguousEdit)?;
        let details = &found.structured["error"]["details"];
        ensure_eq!(details["count"], json!(count));
        ensure_eq!(details["lines"], json!(lines));
        found.says(&format!("{count} times"))?.says("replace_all")?;
        scene.holds("a.txt", content).await?;
    }
    Ok(())
}

async fn e4_arguments_are_literal(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let signs = [
        "$&", "$1", "\\1", "\\n", "\\t", "\\u0041", "%s", "{}", "a.c", "^x$", "(x", "[", "*",
        "&amp;", "\\", "\"", "'", "`ls`", "$(ls)", "~", "\u{2028}", "🦀",
    ];
    for old in signs {
        for new in signs.iter().filter(|new| **new != old) {
            let before = format!("abc\nx\n<{old}>\nA\n");
            scene.put("a.txt", &before).await;
            s1.read("a.txt").await.ok()?;
            s1.edit("a.txt", &format!("<{old}>"), new).await.ok()?;
            scene.holds("a.txt", format!("abc\nx\n{new}\nA\n")).await?;
        }
    }
    Ok(())
}

async fn e4_replacements_do_not_overlap_and_go_left_to_right(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for (content, old, new, after, count) in [
        ("aaaaa\n", "aa", "b", "bba\n", 2),
        ("abab\nab\n", "ab", "x", "xx\nx\n", 3),
        ("aa\n", "a", "aa", "aaaa\n", 2),
        ("a\na\n", "a\n", "", "", 2),
    ] {
        scene.put("a.txt", content).await;
        s1.read("a.txt").await.ok()?;
        let edited = s1.edit_all("a.txt", old, new).await.ok()?;
        ensure_eq!(edited.structured["replacements"], json!(count));
        scene.holds("a.txt", after).await?;
    }
    Ok(())
}

async fn e5_lf_matches_crlf_and_inserted_lines_take_its_ending(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for (before, old, new, after) in [
        ("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\r\nb\nc\n", "b\nc", "b\nx\nc", "a\r\nb\nx\nc\n"),
        ("a\r\nb\r\n", "a\r\nb", "c\r\nd", "c\r\nd\r\n"),
        ("a\nb\n", "a\nb", "x\ny", "x\ny\n"),
    ] {
        scene.put("a.txt", before).await;
        s1.read("a.txt").await.ok()?;
        s1.edit("a.txt", old, new).await.ok()?;
        scene.holds("a.txt", after).await?;
    }
    Ok(())
}

async fn e5_crlf_is_one_character_that_is_never_split(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.txt", "a\r\nb\r\n").await;
    let s1 = scene.s1();
    s1.read("a.txt").await.ok()?;
    s1.edit("a.txt", "a\r", "x").await.fails(EditNotFound)?;
    s1.edit("a.txt", "\r", "").await.fails(EditNotFound)?;
    scene.holds("a.txt", "a\r\nb\r\n").await?;
    s1.edit("a.txt", "\nb", "\nB").await.ok()?;
    scene.holds("a.txt", "a\r\nB\r\n").await
}

/// One file cut in three: what stands before, the text to replace, and what stands after.
fn cuts() -> impl Strategy<Value = (String, String, String, String)> {
    let piece = "([a-c]|\r\n|\n|\t| |é|🦀|\\$&|x\r){0,12}";
    (
        "(\u{feff})?",
        piece,
        "[p-s]{1,3}(\r\n|\n|[p-s]| ){0,6}[p-s]",
        piece,
        "[p-z\n]{0,6}",
    )
        .prop_map(|(bom, before, old, after, new)| (bom + &before, old, after, new))
}

async fn e5_every_byte_outside_the_spans_stays(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let mut runner = TestRunner::deterministic();
    for _ in 0..ProptestConfig::default().cases {
        let cut = cuts()
            .new_tree(&mut runner)
            .map_err(|why| why.to_string())?;
        let (before, old, after, new) = cut.current();
        one_cut(&scene, &before, &old, &after, &new).await?;
    }
    Ok(())
}

/// Replaces the middle of a file, given as `read` shows it, and compares all the rest.
async fn one_cut(scene: &Scene, before: &str, old: &str, after: &str, new: &str) -> Verdict {
    let s1 = scene.s1();
    let given = old.replace("\r\n", "\n");
    if given == new {
        return Ok(());
    }
    scene.put("a.txt", format!("{before}{old}{after}")).await;
    s1.read("a.txt").await.ok()?;
    s1.edit("a.txt", &given, new).await.ok()?;
    let found = scene.bytes("a.txt").await.unwrap_or_default();
    let middle = found
        .strip_prefix(before.as_bytes())
        .and_then(|rest| rest.strip_suffix(after.as_bytes()));
    let middle = middle.ok_or_else(|| {
        format!("bytes outside the span changed: {before:?} {old:?} {after:?} -> {new:?}")
    })?;
    let middle = String::from_utf8_lossy(middle);
    ensure_eq!(
        middle.replace("\r\n", "\n"),
        new,
        "{before:?} {old:?} {after:?}"
    );
    ensure!(
        !middle.contains("\r\r"),
        "{before:?} {old:?} {after:?} -> {new:?}"
    );
    Ok(())
}

async fn t8_crlf_that_an_edit_brings_into_a_file_of_lf_is_noted(stage: Stage) -> Verdict {
    const NOTE: &str = "line endings are mixed now";
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "a\nb\nc\n").await;
    s1.read("a.txt").await.ok()?;
    let edited = s1.edit("a.txt", "b", "d").await.ok()?;
    ensure!(!edited.text.contains(NOTE), "{}", edited.text);
    s1.edit("a.txt", "d\n", "d\r\nq\r\n")
        .await
        .ok()?
        .says(NOTE)?;
    scene.holds("a.txt", "a\nd\r\nq\r\nc\n").await?;
    let edited = s1.edit("a.txt", "c\n", "c\r\n").await.ok()?;
    ensure!(!edited.text.contains(NOTE), "{}", edited.text);
    Ok(())
}

async fn e6_a_bom_is_not_shown_and_stays(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "\u{feff}one\ntwo\n").await;
    let shown = s1
        .read("a.txt")
        .await
        .ok()?
        .never_says("\u{feff}")?
        .says("1: one\n")?;
    ensure_eq!(shown.structured["lines"][0]["text"], json!("one"));
    s1.view("a.txt")
        .await
        .ok()?
        .never_says("\u{feff}")?
        .says("     1  one\n")?;
    s1.edit("a.txt", "one\n", "ONE\n").await.ok()?;
    scene.holds("a.txt", "\u{feff}ONE\ntwo\n").await?;
    s1.str_replace("a.txt", "ONE", "1").await.ok()?;
    s1.insert("a.txt", 0, "zero").await.ok()?;
    scene.holds("a.txt", "\u{feff}zero\n1\ntwo\n").await
}

async fn e6_lone_cr_mixed_endings_and_a_missing_final_newline_survive(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene
        .put("a.txt", "10%\r50%\r100%\nok\r\nmid\nend \t")
        .await;
    s1.read("a.txt").await.ok()?;
    s1.edit("a.txt", "mid", "MID").await.ok()?;
    scene
        .holds("a.txt", "10%\r50%\r100%\nok\r\nMID\nend \t")
        .await?;
    s1.edit("a.txt", "end", "END").await.ok()?;
    scene
        .holds("a.txt", "10%\r50%\r100%\nok\r\nMID\nEND \t")
        .await?;
    s1.edit("a.txt", "50%\r", "51%\r").await.ok()?;
    scene
        .holds("a.txt", "10%\r51%\r100%\nok\r\nMID\nEND \t")
        .await
}

async fn e7_an_edit_that_changes_no_byte_succeeds_and_writes_nothing(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "a\r\nb\r\n").await;
    let seen = s1.read("a.txt").await.ok()?;
    let stamp = scene.stamp("a.txt").await;
    let edited = s1.edit("a.txt", "a\nb", "a\r\nb").await.ok()?;
    ensure_eq!(edited.structured["replacements"], json!(0));
    ensure_eq!(edited.structured["version"], seen.structured["version"]);
    let notes = edited.structured["notes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    ensure!(!notes.is_empty(), "{}", edited.text);
    ensure_eq!(scene.stamp("a.txt").await, stamp);
    scene.holds("a.txt", "a\r\nb\r\n").await
}
