//! S: `str_replace_editor`, command by command.

use std::sync::{Arc, Mutex};

use seamfs::ErrorCode::{
    AlreadyExists, AmbiguousEdit, EditNotFound, InvalidArgument, InvalidPath, NotFound,
    NotObserved, StaleVersion,
};
use seamfs::core::gate::{
    self, Explanation, GateFacts, Intent, Observed, Refusal, Rule, Ruling, Shown,
};
use seamfs::{Actor, Result, WorkspaceBuilder};
use serde_json::{Value, json};

use crate::support::{Checked, Meddler, Moment, Stage, Verdict, claims, ensure, ensure_eq};

claims! {
    everywhere: [
        s1_a_missing_parameter_is_named: [SaysNothing],
        s1_a_parameter_of_another_command_is_refused: [IgnoresUnknownArguments],
        s2_a_relative_path_is_refused_with_the_absolute_one: [ResolvesRelativeToRoot],
        s3_a_file_is_shown_as_numbered_rows: [PadsRows, RetabsText],
        s3_a_range_shows_its_rows_alone: [ClampsRows],
        s3_each_bad_range_has_its_own_message: [IgnoresOffset],
        s4_a_folder_is_shown_two_levels_deep_in_order: [ListsNothing],
        s5_a_long_view_is_clipped_on_a_character_and_says_so: [ClipsNever],
        s6_create_refuses_anything_that_exists: [OverwritesFolders],
        s6_create_of_a_seen_file_that_is_gone_is_stale_until_a_miss: [LetsWritesPass],
        s7_str_replace_needs_exactly_one_match: [DropsDetails],
        s7_an_omitted_new_text_is_empty: [WritesNothing],
        s7_errors_quote_the_old_text_bounded_and_by_its_own_name: [SpeaksOfOldString],
        s8_insert_joins_rows_as_the_table_says: [DoublesNewlines],
        s8_insert_rows_are_bounded_by_what_view_shows: [ClampsRows],
        s8_insert_keeps_endings_and_the_mark_at_the_start: [NormalisesEndings],
        s9_a_view_observes_a_clipped_one_too: [NeverRecords],
        s9_only_rows_shown_whole_count_as_shown: [IgnoresOffset],
        s9_a_miss_is_not_found_and_records_absence: [NoticesNoAbsence],
        s9_a_file_that_vanishes_after_the_look_is_stale: [SaysNotFoundForStale],
        s10_crlf_files_take_lf_arguments: [NormalisesEndings],
    ],
}

async fn s1_a_missing_parameter_is_named(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.txt", "one\n").await;
    let s1 = scene.s1();
    s1.view("a.txt").await.ok()?;
    for (command, args, missing) in [
        ("create", json!({}), "`file_text`"),
        ("str_replace", json!({}), "`old_str`"),
        ("str_replace", json!({ "new_str": "x" }), "`old_str`"),
        ("insert", json!({ "new_str": "x" }), "`insert_line`"),
        ("insert", json!({ "insert_line": 0 }), "`new_str`"),
    ] {
        let refused = s1
            .editor(command, "a.txt", args)
            .await
            .fails(InvalidArgument)?;
        refused.says(missing)?.says(&format!("`{command}`"))?;
    }
    let refused = s1
        .str_replace("a.txt", "", "x")
        .await
        .fails(InvalidArgument)?;
    refused.says("`old_str`")?.never_says("old_string")?;
    let args = json!({ "command": "view" });
    s1.call("str_replace_editor", args)
        .await
        .fails(InvalidArgument)?
        .says("`path`")?;
    scene.holds("a.txt", "one\n").await
}

async fn s1_a_parameter_of_another_command_is_refused(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.txt", "one\none\n").await;
    let s1 = scene.s1();
    s1.view("a.txt").await.ok()?;
    for (command, args, foreign) in [
        ("view", json!({ "old_str": "one" }), "`old_str`"),
        (
            "create",
            json!({ "file_text": "x", "new_str": "y" }),
            "`new_str`",
        ),
        (
            "str_replace",
            json!({ "old_str": "one", "insert_line": 1 }),
            "`insert_line`",
        ),
        (
            "insert",
            json!({ "insert_line": 1, "new_str": "x", "view_range": [1, 2] }),
            "`view_range`",
        ),
        (
            "str_replace",
            json!({ "old_str": "one", "replace_all": true }),
            "`replace_all`",
        ),
    ] {
        let refused = s1
            .editor(command, "a.txt", args)
            .await
            .fails(InvalidArgument)?;
        refused.says(foreign)?;
    }
    scene.holds("a.txt", "one\none\n").await
}

async fn s2_a_relative_path_is_refused_with_the_absolute_one(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("dir/a.txt", "one\n").await;
    scene.put("c:/a.txt", "one\n").await;
    let s1 = scene.s1();
    for (path, cwd, meant) in [
        ("dir/a.txt", "", "dir/a.txt"),
        ("./dir//a.txt", "", "dir/a.txt"),
        ("a.txt", "dir", "dir/a.txt"),
        ("../dir/a.txt", "dir", "dir/a.txt"),
        ("c:/a.txt", "", "c:/a.txt"),
    ] {
        for command in ["view", "create", "str_replace", "insert"] {
            let mut args = json!({ "command": command, "path": path });
            match command {
                "create" => args["file_text"] = json!("x"),
                "str_replace" => args["old_str"] = json!("one"),
                "insert" => (args["insert_line"], args["new_str"]) = (json!(0), json!("x")),
                _ => {}
            }
            let refused = s1.in_folder(cwd).call("str_replace_editor", args).await;
            refused
                .fails(InvalidPath)?
                .says("absolute")?
                .says(&scene.at(meant))?;
        }
    }
    scene.holds("dir/a.txt", "one\n").await?;
    let args = json!({ "command": "view", "path": "  " });
    s1.call("str_replace_editor", args)
        .await
        .fails(InvalidPath)?;
    Ok(())
}

async fn s3_a_file_is_shown_as_numbered_rows(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let path = scene.at("a.txt");
    for (bytes, shown) in [
        ("a\n\tb\n", "(3 lines)\n     1  a\n     2  \tb\n     3  "),
        ("a\n\tb", "(2 lines)\n     1  a\n     2  \tb"),
        ("a\r\nb\r\n", "(3 lines)\n     1  a\n     2  b\n     3  "),
        ("a", "(1 line)\n     1  a"),
        ("\n", "(2 lines)\n     1  \n     2  "),
        (" \n\n", "(3 lines)\n     1   \n     2  \n     3  "),
    ] {
        scene.put("a.txt", bytes).await;
        let view = s1.view("a.txt").await.ok()?;
        ensure_eq!(view.text, format!("{path} {shown}"), "{bytes:?}");
        let rows = shown.lines().count() - 1;
        ensure_eq!(view.structured["total_lines"], json!(rows), "{bytes:?}");
        ensure_eq!(view.structured["view_range"], json!([1, rows]), "{bytes:?}");
        ensure_eq!(view.structured["clipped"], json!(false));
        ensure_eq!(view.structured["path"], json!(path));
    }
    let text: String = (1..=1_000_000).map(|n| format!("{n}\n")).collect();
    scene.put("a.txt", text).await;
    let rows = "999999  999999\n1000000  1000000\n";
    s1.view_rows("a.txt", 999_999, 1_000_001)
        .await
        .ok()?
        .says(rows)?
        .says("(1000001 lines)")?;
    Ok(())
}

async fn s3_a_range_shows_its_rows_alone(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let path = scene.at("a.txt");
    scene.put("a.txt", "a\nb\nc\n").await;
    for (first, last, rows, shown) in [
        (1, 1, "     1  a", [1, 1]),
        (2, 3, "     2  b\n     3  c", [2, 3]),
        (2, -1, "     2  b\n     3  c\n     4  ", [2, 4]),
        (1, 4, "     1  a\n     2  b\n     3  c\n     4  ", [1, 4]),
        (4, 4, "     4  ", [4, 4]),
        (4, -1, "     4  ", [4, 4]),
    ] {
        let view = s1.view_rows("a.txt", first, last).await.ok()?;
        ensure_eq!(
            view.text,
            format!("{path} (4 lines)\n{rows}"),
            "{first} {last}"
        );
        ensure_eq!(view.structured["view_range"], json!(shown));
        ensure_eq!(view.structured["total_lines"], json!(4));
    }
    scene.put("a.txt", "").await;
    for (first, last) in [(1, 1), (1, -1)] {
        s1.view_rows("a.txt", first, last)
            .await
            .ok()?
            .says("0 bytes")?;
    }
    Ok(())
}

async fn s3_each_bad_range_has_its_own_message(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "a\nb\nc\n").await;
    let mut messages = std::collections::BTreeSet::new();
    for (range, part) in [
        (json!([0, 2]), "starts at 0"),
        (json!([5, 6]), "rows 1 to 4"),
        (json!([2, 1]), "before its start"),
        (json!([2, 5]), "ends at 5"),
        (json!([1]), "1 number"),
    ] {
        let args = json!({ "view_range": range });
        let refused = s1
            .editor("view", "a.txt", args)
            .await
            .fails(InvalidArgument)?;
        let refused = refused.says(part)?.says("view_range")?;
        messages.insert(refused.text.clone());
    }
    ensure_eq!(messages.len(), 5, "{messages:?}");
    for range in [
        json!([1, 2, 3]),
        json!([]),
        json!([-1, 2]),
        json!([1, 0]),
        json!([1, -2]),
        json!("1-2"),
        json!([1.5, 2]),
        json!(["1", "2"]),
        json!({ "first": 1 }),
    ] {
        let args = json!({ "view_range": range });
        let refused = s1
            .editor("view", "a.txt", args)
            .await
            .fails(InvalidArgument)?;
        refused.says("view_range")?;
    }
    // What was refused showed nothing.
    s1.edit("a.txt", "a", "x").await.fails(NotObserved)?;
    Ok(())
}

async fn s4_a_folder_is_shown_two_levels_deep_in_order(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    for path in [
        "p/b.txt",
        "p/a/two.txt",
        "p/a/deep/three.txt",
        "p/B.txt",
        "p/.hidden",
        "p/.git/config",
        "p/node_modules/x.js",
        "p/__pycache__/x.pyc",
        "p/a/__pycache__/x.pyc",
        "p/a/.env",
        "p/é.txt",
        "p/a.txt",
        "p/a-1.txt",
    ] {
        scene.put(path, "x").await;
    }
    scene.folder("p/empty").await;
    let s1 = scene.s1();
    let root = scene.at("p");
    let rows = [
        "f\tB.txt",
        "d\ta",
        "f\ta-1.txt",
        "f\ta.txt",
        "d\ta/deep",
        "f\ta/two.txt",
        "f\tb.txt",
        "d\tempty",
        "f\té.txt",
    ];
    let rows = rows.map(|row| row.replacen('\t', &format!("\t{root}/"), 1));
    for spelling in ["p", "p/"] {
        let view = s1.view(spelling).await.ok()?;
        ensure_eq!(view.text.lines().skip(1).collect::<Vec<_>>(), rows);
        ensure!(view.text.starts_with(&root), "{}", view.text);
        let entries = view.structured["entries"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        ensure_eq!(entries.len(), rows.len());
        ensure_eq!(
            entries[1],
            json!({ "kind": "d", "path": format!("{root}/a"), "addressable": true })
        );
    }
    // Any path of a view is accepted by the next call.
    s1.view("p/a/deep").await.ok()?.says("three.txt")?;
    let empty = s1.view("p/empty").await.ok()?;
    ensure_eq!(empty.structured["entries"], json!([]));
    empty.says("nothing to show")?;
    let refused = s1.view_rows("p", 1, 2).await.fails(InvalidArgument)?;
    refused.says("view_range")?.says("folder")?;
    Ok(())
}

fn clip_at(most: &'static str) -> impl FnOnce(WorkspaceBuilder) -> WorkspaceBuilder {
    move |builder| {
        let set = builder.tool_option("str_replace_editor", "maxOutputChars", most);
        set.expect("the editor has `maxOutputChars`")
    }
}

async fn s5_a_long_view_is_clipped_on_a_character_and_says_so(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for bytes in [
        "🦀é\n".repeat(10_000),
        "é".repeat(20_000),
        "x".repeat(100_000) + "\ny",
    ] {
        scene.put("a.txt", &bytes).await;
        let view = s1.view("a.txt").await.ok()?;
        let (kept, notice) = view.text.rsplit_once('\n').unwrap_or_default();
        ensure_eq!(kept.chars().count(), 16_000);
        ensure!(
            notice.contains("clipped") && notice.contains("16000"),
            "{notice}"
        );
        ensure_eq!(view.structured["clipped"], json!(true));
        let whole: String = bytes
            .split('\n')
            .zip(1..)
            .map(|(line, number)| format!("{number:>6}  {line}\n"))
            .collect();
        let rows = kept.split_once('\n').unwrap_or_default().1;
        ensure!(
            whole.starts_with(rows),
            "the prefix is not that of the rows"
        );
        // The last row said to be shown is the last that is there from end to end.
        let complete = rows.matches('\n').count().max(1);
        ensure_eq!(view.structured["view_range"], json!([1, complete]));
    }
    // What fits to the last character is not clipped.
    let narrow = stage.scene_with(clip_at("200")).await;
    let header = format!("{} (1 line)\n     1  ", narrow.at("a.txt"))
        .chars()
        .count();
    for (length, clipped) in [(200 - header, false), (201 - header, true)] {
        narrow.put("a.txt", "é".repeat(length)).await;
        let view = narrow.s1().view("a.txt").await.ok()?;
        ensure_eq!(view.structured["clipped"], json!(clipped), "{length}");
        ensure_eq!(view.text.contains("clipped"), clipped);
    }
    for n in 0..60 {
        narrow.put(&format!("many/file-{n}"), "x").await;
    }
    let view = narrow.s1().view("many").await.ok()?.says("[clipped")?;
    ensure_eq!(view.structured["clipped"], json!(true));
    ensure!(view.text.chars().count() < 300, "{}", view.text);
    Ok(())
}

async fn s6_create_refuses_anything_that_exists(stage: Stage) -> Verdict {
    for scene in [stage.scene().await, stage.lawless().await] {
        let s1 = scene.s1();
        scene.put("a.txt", "one\n").await;
        scene.folder("dir").await;
        s1.create("a.txt", "mine\n").await.fails(AlreadyExists)?;
        if scene.has_folders() {
            s1.create("dir", "mine\n").await.fails(AlreadyExists)?;
        }
        s1.view("a.txt").await.ok()?;
        s1.create("a.txt", "mine\n").await.fails(AlreadyExists)?;
        scene.holds("a.txt", "one\n").await?;
        let made = s1.create("new/b.txt", "mine\r\n").await.ok()?;
        ensure_eq!(made.structured["operation"], json!("create"));
        s1.create("new/b.txt", "mine\r\n")
            .await
            .fails(AlreadyExists)?;
        scene.holds("new/b.txt", "mine\r\n").await?;
    }
    Ok(())
}

async fn s6_create_of_a_seen_file_that_is_gone_is_stale_until_a_miss(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\n").await;
    s1.view("a.txt").await.ok()?;
    scene.remove("a.txt").await;
    for _ in 0..2 {
        s1.create("a.txt", "mine\n")
            .await
            .fails(StaleVersion)?
            .says("gone")?;
    }
    scene.lacks("a.txt").await?;
    s1.view("a.txt").await.fails(NotFound)?;
    s1.create("a.txt", "mine\n").await.ok()?;
    scene.holds("a.txt", "mine\n").await?;
    // Another actor knows nothing of all that.
    scene.remove("a.txt").await;
    scene.s2().create("a.txt", "theirs\n").await.ok()?;
    scene.holds("a.txt", "theirs\n").await
}

async fn s7_str_replace_needs_exactly_one_match(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\ntwo\none\n").await;
    s1.view("a.txt").await.ok()?;
    s1.str_replace("a.txt", "three", "3")
        .await
        .fails(EditNotFound)?;
    let many = s1
        .str_replace("a.txt", "one", "1")
        .await
        .fails(AmbiguousEdit)?;
    ensure_eq!(
        many.structured["error"]["details"],
        json!({ "count": 2, "lines": [1, 3] })
    );
    many.says("lines 1, 3")?;
    scene.holds("a.txt", "one\ntwo\none\n").await?;
    let edited = s1.str_replace("a.txt", "two\none", "2\n1").await.ok()?;
    scene.holds("a.txt", "one\n2\n1\n").await?;
    ensure_eq!(edited.structured["command"], json!("str_replace"));
    ensure_eq!(edited.structured["replacements"], json!(1));
    ensure_eq!(edited.structured["ranges"], json!([[2, 3]]));
    Ok(())
}

async fn s7_an_omitted_new_text_is_empty(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\ntwo\n").await;
    s1.view("a.txt").await.ok()?;
    s1.editor("str_replace", "a.txt", json!({ "old_str": "one\n" }))
        .await
        .ok()?;
    scene.holds("a.txt", "two\n").await
}

async fn s7_errors_quote_the_old_text_bounded_and_by_its_own_name(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\none\n").await;
    let long = format!("absent \u{1b}[31m {}", "é".repeat(5_000));
    s1.str_replace("a.txt", "one", "1")
        .await
        .fails(NotObserved)?
        .never_says("old_string")?;
    s1.view("a.txt").await.ok()?;
    for (old, quoted) in [
        ("one", "\"one\""),
        ("absent\n", "\"absent\\n\""),
        (&*long, "\"absent "),
    ] {
        let refused = s1.str_replace("a.txt", old, "x").await;
        ensure!(refused.is_error(), "{}", refused.text);
        ensure!(refused.text.len() < 3_000, "{} bytes", refused.text.len());
        let refused = refused
            .says("old_str ")?
            .says(quoted)?
            .never_says("\u{1b}")?;
        refused
            .never_says("old_string")?
            .never_says("replace_all")?;
    }
    Ok(())
}

async fn s8_insert_joins_rows_as_the_table_says(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for (before, row, text, after) in [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x", "a\nx\nb\n"),
        ("a\nb\n", 1, "x\n", "a\nx\nb\n"),
        ("a\nb\n", 2, "x", "a\nb\nx\n"),
        ("a\nb\n", 3, "x", "a\nb\n\nx"),
        ("a", 1, "x", "a\nx"),
        ("a", 1, "x\n", "a\nx\n"),
        ("a", 0, "x\n", "x\na"),
        ("", 0, "x\n", "x\n"),
        ("a\nb\n", 1, "x\ny", "a\nx\ny\nb\n"),
        ("a\nb\n", 1, "x\n\n", "a\nx\n\nb\n"),
        ("a\n\tb\n", 1, "\t$& \\n", "a\n\t$& \\n\n\tb\n"),
    ] {
        scene.put("a.txt", before).await;
        s1.view("a.txt").await.ok()?;
        let inserted = s1.insert("a.txt", row, text).await.ok();
        let inserted = inserted.map_err(|why| format!("{before:?} {row} {text:?}: {why}"))?;
        let held = scene.holds("a.txt", after).await;
        held.map_err(|why| format!("{before:?} {row} {text:?}: {why}"))?;
        ensure_eq!(
            inserted.structured["ranges"][0][0],
            json!(row + 1),
            "{before:?} {row}"
        );
        inserted.says("Inserted")?;
    }
    Ok(())
}

async fn s8_insert_rows_are_bounded_by_what_view_shows(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for (bytes, rows) in [("a\nb\n", 3), ("a\nb", 2), ("", 1), ("\u{feff}a\r\n", 2)] {
        scene.put("a.txt", bytes).await;
        let view = s1.view("a.txt").await.ok()?;
        ensure_eq!(view.structured["total_lines"], json!(rows));
        for row in [-1, rows + 1, 99_999, i64::MAX, i64::MIN] {
            let refused = s1.insert("a.txt", row, "x").await.fails(InvalidArgument)?;
            refused
                .says("insert_line")?
                .says(&format!("from 0 to {rows}"))?;
        }
        scene.holds("a.txt", bytes).await?;
        s1.insert("a.txt", rows, "x").await.ok()?;
    }
    Ok(())
}

async fn s8_insert_keeps_endings_and_the_mark_at_the_start(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for (before, row, text, after) in [
        ("a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"),
        ("a\r\nb", 2, "x", "a\r\nb\r\nx"),
        ("a\r\nb\n", 2, "x", "a\r\nb\nx\n"),
        ("a\r\nb\r\n", 0, "x", "x\r\na\r\nb\r\n"),
        ("\u{feff}a\n", 0, "x", "\u{feff}x\na\n"),
        ("\u{feff}", 0, "x\n", "\u{feff}x\n"),
        ("a\r\nb\r\n", 1, "x\r\ny\r\n", "a\r\nx\r\ny\r\nb\r\n"),
    ] {
        scene.put("a.txt", before).await;
        s1.view("a.txt").await.ok()?;
        s1.insert("a.txt", row, text).await.ok()?;
        let held = scene.holds("a.txt", after).await;
        held.map_err(|why| format!("{before:?} {row} {text:?}: {why}"))?;
    }
    Ok(())
}

async fn s9_a_view_observes_a_clipped_one_too(stage: Stage) -> Verdict {
    let scene = stage.scene_with(clip_at("50")).await;
    let s1 = scene.s1();
    scene
        .put("a.txt", "one line of some length\n".repeat(9) + "last\n")
        .await;
    s1.str_replace("a.txt", "last", "end")
        .await
        .fails(NotObserved)?;
    let view = s1.view("a.txt").await.ok()?;
    ensure_eq!(view.structured["clipped"], json!(true));
    s1.str_replace("a.txt", "last", "end").await.ok()?;
    scene.put("b.txt", "one\n").await;
    s1.view("b.txt").await.ok()?;
    s1.write("b.txt", "two\n").await.ok()?;
    scene.holds("b.txt", "two\n").await
}

/// Keeps what was shown of each file.
#[derive(Debug, Default)]
struct Spy(Mutex<Vec<Shown>>);

#[async_trait::async_trait]
impl Rule for Spy {
    async fn decide(&self, _: &Intent<'_>) -> Result<Ruling> {
        Ok(Ruling::Pass)
    }

    fn observed(&self, event: &Observed<'_>) {
        if let gate::Observation::Present { shown, .. } = &event.observation {
            self.0.lock().expect("nobody panics").push(shown.clone());
        }
    }

    fn explain(&self, _: &Refusal<'_>) -> Option<Explanation> {
        None
    }

    fn forget(&self, _: &Actor) {}

    fn describe(&self, _: &mut GateFacts) {}
}

async fn s9_only_rows_shown_whole_count_as_shown(stage: Stage) -> Verdict {
    let spy = Arc::new(Spy::default());
    let rule: Arc<dyn Rule> = Arc::clone(&spy) as _;
    let scene = stage
        .scene_with(|builder| clip_at("300")(builder.rules([rule])))
        .await;
    let s1 = scene.s1();
    let text: String = (1..=90).map(|n| format!("row {n}\n")).collect();
    scene.put("a.txt", text).await;
    let view = s1.view("a.txt").await.ok()?;
    let last = view.structured["view_range"][1]
        .as_u64()
        .unwrap_or_default();
    ensure!((2..30).contains(&last), "{last}");
    s1.view_rows("a.txt", 4, 5).await.ok()?;
    s1.view_rows("a.txt", 60, -1).await.ok()?;
    scene.put("b.txt", "short\n").await;
    s1.view("b.txt").await.ok()?;
    scene.put("c.txt", "x".repeat(1000)).await;
    s1.view("c.txt").await.ok()?;
    s1.read_from("a.txt", 7, 2).await.ok()?;
    let shown = spy.0.lock().expect("nobody panics").clone();
    let lines: Vec<_> = shown
        .iter()
        .map(|shown| match shown {
            Shown::Lines { lines, .. } => Some(lines.clone()),
            _ => None,
        })
        .collect();
    let third = lines[2].clone().unwrap_or_default();
    ensure!(third[0].start() == &60 && third[0].end() < &90, "{third:?}");
    let expected = [
        Some(vec![1..=last]),
        Some(vec![4..=5]),
        Some(third),
        None,
        Some(vec![]),
        Some(vec![7..=8]),
    ];
    ensure_eq!(lines, expected);
    Ok(())
}

async fn s9_a_miss_is_not_found_and_records_absence(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    for (name, path) in [
        ("view", "v.txt"),
        ("str_replace", "s.txt"),
        ("insert", "i.txt"),
    ] {
        let s1 = scene.hand(name);
        scene.put(path, "one\n").await;
        s1.view(path).await.ok()?;
        scene.remove(path).await;
        let missed = match name {
            "view" => s1.view(path).await,
            "str_replace" => s1.str_replace(path, "one", "1").await,
            _ => s1.insert(path, 0, "x").await,
        };
        missed.fails(NotFound)?;
        s1.edit(path, "one", "1").await.fails(NotFound)?;
        s1.create(path, "new\n").await.ok()?;
        scene.holds(path, "new\n").await?;
    }
    Ok(())
}

async fn s9_a_file_that_vanishes_after_the_look_is_stale(stage: Stage) -> Verdict {
    let meddler = Meddler::new();
    let layer = meddler.clone();
    let scene = stage
        .scene_over(|builder| builder, |fs| layer.over(fs))
        .await;
    let s1 = scene.s1();
    for command in ["str_replace", "insert"] {
        scene.put("a.txt", "one\n").await;
        s1.view("a.txt").await.ok()?;
        meddler.remove_at(Moment::AfterStat);
        let vanished = match command {
            "insert" => s1.insert("a.txt", 0, "x").await,
            _ => s1.str_replace("a.txt", "one", "1").await,
        };
        vanished.fails(StaleVersion)?.says("gone")?;
        scene.lacks("a.txt").await?;
    }
    Ok(())
}

async fn s10_crlf_files_take_lf_arguments(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene
        .put("a.py", "def run():\r\n    step('a')\r\n    return 7\r\n")
        .await;
    s1.view("a.py").await.ok()?;
    let edited = s1
        .str_replace(
            "a.py",
            "    step('a')\n    return 7\n",
            "    step('b')\n    x\n    return 7\n",
        )
        .await
        .ok()?;
    scene
        .holds(
            "a.py",
            "def run():\r\n    step('b')\r\n    x\r\n    return 7\r\n",
        )
        .await?;
    let notes = edited.structured["notes"].clone();
    ensure!(
        notes[0]
            .as_str()
            .is_some_and(|note| note.contains("line endings")),
        "{notes}"
    );
    ensure_eq!(edited.structured["error"], Value::Null);
    Ok(())
}
