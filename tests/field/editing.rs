//! Cases of `edit`, and of the editor's `str_replace` and `insert`.

use futures::future::join_all;
use seamfs::ErrorCode::{AmbiguousEdit, EditNotFound, InvalidArgument, NotText, StaleVersion};
use serde_json::json;

use crate::support::{Batch, Checked, Stage, Verdict, claims, ensure, ensure_eq};

claims! {
    everywhere: [
        b021_an_edit_never_drops_what_was_appended_meanwhile: [IgnoresGuards],
        b023_of_parallel_edits_none_is_lost: [LosesRaces],
        b032_an_insert_after_ones_own_insert_lands,
        b041_a_crlf_file_is_edited_with_the_text_that_read_returned: [NormalisesEndings],
        b043_mixed_endings_and_lone_crs_survive_an_edit: [NormalisesEndings],
        b047_no_newline_is_added_at_the_end: [AddsFinalNewline],
        b049_no_blank_line_is_added_after_a_block: [DoublesNewlines],
        b051_an_insert_after_a_last_line_without_newline_starts_a_line,
        b052_a_legacy_byte_is_never_replaced: [ReadsBinary],
        b058_utf_16_is_refused_by_name: [ReadsBinary],
        b064_backslashes_are_backslashes: [InterpretsEscapes],
        b068_trailing_blanks_of_the_new_text_stay: [TrimsNewText],
        b071_a_block_that_differs_in_a_line_is_no_match: [SaysNothing],
        b073_a_match_modulo_line_endings_is_said: [DropsNotes],
        b075_tabs_stay_tabs: [IgnoresUnknownArguments],
        b077_curly_and_straight_quotes_differ: [SaysNothing],
        b079_an_empty_file_and_an_empty_text_are_no_match: [FillsInEmptyText],
        b081_overlapping_occurrences_are_ambiguous: [IgnoresReplaceAll],
        b083_a_failed_edit_touches_nothing: [DropsDetails],
        b086_a_large_block_is_replaced_in_one_call: [ForgetsRest],
        b100_an_insert_by_number_after_a_change_is_refused: [IgnoresGuards],
        b193_a_fresh_read_is_enough_to_recover: [CachesReads],
        b196_carriage_returns_are_never_doubled: [NormalisesEndings],
        b199_every_continuation_byte_survives: [ReadsWrongVersion],
    ],
}

async fn b021_an_edit_never_drops_what_was_appended_meanwhile(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.py", "def f():\n    return 1\n").await;
    s1.read("a.py").await.ok()?;
    s1.edit("a.py", "return 1", "return 2").await.ok()?;
    let appended = "def f():\n    return 2\ndef g():\n    pass\n";
    scene.put("a.py", appended).await;
    let stale = s1
        .edit("a.py", "return 2", "return 3")
        .await
        .fails(StaleVersion)?;
    stale.says("+def g():")?;
    scene.holds("a.py", appended).await?;
    s1.edit("a.py", "return 2", "return 3").await.ok()?;
    scene
        .holds("a.py", appended.replace("return 2", "return 3"))
        .await
}

async fn b023_of_parallel_edits_none_is_lost(stage: Stage) -> Verdict {
    let scene = stage.scene_with(|builder| builder.rules([])).await;
    let s1 = scene.s1();
    for _ in 0..200 {
        scene.put("a.txt", "AAA\n---\nBBB\n").await;
        s1.read("a.txt").await.ok()?;
        let calls = [("AAA", "aaa"), ("BBB", "bbb")].map(|(old, new)| {
            let args = json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
            // Two sessions without a policy: only the storage keeps their edits apart.
            scene.hand(old).session.call("edit", args)
        });
        for result in join_all(calls).await {
            result.ok()?;
        }
        scene.holds("a.txt", "aaa\n---\nbbb\n").await?;
    }
    Ok(())
}

async fn b032_an_insert_after_ones_own_insert_lands(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "a\nb\nc\n").await;
    s1.view("a.txt").await.ok()?;
    s1.insert("a.txt", 1, "x").await.ok()?;
    // Own mutations refresh the observation: the numbers are those of the file as it is now.
    let second = s1.insert("a.txt", 3, "y").await.ok()?;
    ensure_eq!(second.structured["ranges"], json!([[4, 4]]));
    scene.holds("a.txt", "a\nx\nb\ny\nc\n").await
}

async fn b041_a_crlf_file_is_edited_with_the_text_that_read_returned(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene
        .put("job.py", "def run():\r\n    step('a')\r\n    return 7\r\n")
        .await;
    let read = s1.read("job.py").await.ok()?;
    let shown = |at: usize| {
        read.structured["lines"][at]["text"]
            .as_str()
            .unwrap_or_default()
    };
    let old = format!("{}\n{}\n", shown(1), shown(2));
    s1.edit("job.py", &old, &old.replace("'a'", "'b'"))
        .await
        .ok()?;
    scene
        .holds("job.py", "def run():\r\n    step('b')\r\n    return 7\r\n")
        .await
}

async fn b043_mixed_endings_and_lone_crs_survive_an_edit(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("log.txt", "10%\r50%\r100%\nok\r\nend\n").await;
    s1.read("log.txt").await.ok()?;
    s1.edit("log.txt", "end", "END").await.ok()?;
    scene.holds("log.txt", "10%\r50%\r100%\nok\r\nEND\n").await
}

async fn b047_no_newline_is_added_at_the_end(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("s.xcstrings", "{\n  \"a\": 1\n}").await;
    s1.read("s.xcstrings").await.ok()?;
    s1.edit("s.xcstrings", "\"a\": 1", "\"a\": 2").await.ok()?;
    scene.holds("s.xcstrings", "{\n  \"a\": 2\n}").await
}

async fn b049_no_blank_line_is_added_after_a_block(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene
        .put("a.py", "if ok:\n    x = 1\nelse:\n    x = 9\n")
        .await;
    s1.read("a.py").await.ok()?;
    s1.edit("a.py", "    x = 1", "    x = 2").await.ok()?;
    s1.edit("a.py", "    x = 2\n", "    x = 3\n").await.ok()?;
    scene
        .holds("a.py", "if ok:\n    x = 3\nelse:\n    x = 9\n")
        .await
}

async fn b051_an_insert_after_a_last_line_without_newline_starts_a_line(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for (row, text, after) in [(1, "new\n", "last\nnew\n"), (0, "first\n", "first\nlast")] {
        scene.put("a.txt", "last").await;
        s1.view("a.txt").await.ok()?;
        s1.insert("a.txt", row, text).await.ok()?;
        scene.holds("a.txt", after).await?;
    }
    Ok(())
}

async fn b052_a_legacy_byte_is_never_replaced(stage: Stage) -> Verdict {
    for scene in [stage.scene().await, stage.lawless().await] {
        let s1 = scene.s1();
        let bytes = b"name=old\nPlain\nTM: \x99\n";
        scene.put("a.txt", bytes).await;
        s1.read("a.txt")
            .await
            .fails(NotText)?
            .says("Windows-1252")?
            .says("line 3")?;
        let edited = s1.edit("a.txt", "name=old", "name=new").await;
        ensure!(edited.is_error(), "{}", edited.text);
        scene.holds("a.txt", bytes).await?;
    }
    Ok(())
}

async fn b058_utf_16_is_refused_by_name(stage: Stage) -> Verdict {
    let scene = stage.lawless().await;
    let s1 = scene.s1();
    let bytes = b"\xff\xfeh\0i\0\r\0\n\0";
    scene.put("n.txt", bytes).await;
    s1.read("n.txt").await.fails(NotText)?.says("UTF-16")?;
    s1.edit("n.txt", "hi", "ho")
        .await
        .fails(NotText)?
        .says("UTF-16")?;
    scene.holds("n.txt", bytes).await
}

async fn b064_backslashes_are_backslashes(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene
        .put("d.tex", "\\title{A}\n\\newcommand{\\b}{x}\n")
        .await;
    s1.read("d.tex").await.ok()?;
    s1.edit("d.tex", "\\title{A}", "\\title{B}").await.ok()?;
    s1.edit("d.tex", "\\newcommand", "\\newcommand*")
        .await
        .ok()?;
    s1.edit("d.tex", "\\newcommand*", "\\renewcommand")
        .await
        .ok()?;
    scene
        .holds("d.tex", "\\title{B}\n\\renewcommand{\\b}{x}\n")
        .await
}

async fn b068_trailing_blanks_of_the_new_text_stay(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("r.md", "a\nb\n").await;
    s1.read("r.md").await.ok()?;
    s1.edit("r.md", "a\nb", "a  \nb  ").await.ok()?;
    scene.holds("r.md", "a  \nb  \n").await
}

async fn b071_a_block_that_differs_in_a_line_is_no_match(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let text = "fn f() {\n\tlet p = 10;\n\tlet q = 20;\n\tlet r = 30;\n\tg();\n}\n";
    scene.put("a.rs", text).await;
    s1.read("a.rs").await.ok()?;
    let block = text.replace("q = 20", "q = 21");
    let missed = s1
        .edit("a.rs", &block, "fn f() {\n\tg();\n}\n")
        .await
        .fails(EditNotFound)?;
    missed.says("line 3")?.says("20")?.says("21")?;
    scene.holds("a.rs", text).await
}

async fn b073_a_match_modulo_line_endings_is_said(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("crlf.txt", "a\r\nb\r\n").await;
    s1.read("crlf.txt").await.ok()?;
    s1.edit("crlf.txt", "a\nb", "A\nB")
        .await
        .ok()?
        .says("modulo line endings")?;
    scene.holds("crlf.txt", "A\r\nB\r\n").await?;
    let exact = s1.edit("crlf.txt", "A\r\nB", "a\r\nb").await.ok()?;
    ensure_eq!(exact.structured["notes"], json!([]));
    Ok(())
}

async fn b075_tabs_stay_tabs(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene
        .put("Makefile", "all:\n\tcc a.c\nclean:\n\trm -f a\n")
        .await;
    s1.view("Makefile").await.ok()?.says("     2  \tcc a.c\n")?;
    s1.editor("view", "Makefile", json!({ "tab": 4 }))
        .await
        .fails(InvalidArgument)?;
    s1.str_replace("Makefile", "cc a.c", "cc b.c").await.ok()?;
    s1.insert("Makefile", 4, "\trm -f b\n").await.ok()?;
    scene
        .holds("Makefile", "all:\n\tcc b.c\nclean:\n\trm -f a\n\trm -f b\n")
        .await
}

async fn b077_curly_and_straight_quotes_differ(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let text = "It\u{2019}s \u{201c}fine\u{201d}\n";
    scene.put("q.md", text).await;
    s1.read("q.md").await.ok()?;
    s1.edit("q.md", "It's", "It is")
        .await
        .fails(EditNotFound)?
        .says("look alike")?;
    scene.holds("q.md", text).await?;
    let new = "It's \u{201c}ok\u{201d}";
    s1.edit("q.md", text.trim_end(), new).await.ok()?;
    scene.holds("q.md", format!("{new}\n")).await
}

async fn b079_an_empty_file_and_an_empty_text_are_no_match(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("e.txt", "").await;
    s1.read("e.txt").await.ok()?;
    s1.edit("e.txt", "", "hello")
        .await
        .fails(InvalidArgument)?
        .says("empty")?;
    s1.edit("e.txt", "x", "y")
        .await
        .fails(EditNotFound)?
        .says("the file is empty")?;
    s1.edit_all("e.txt", "x", "y").await.fails(EditNotFound)?;
    scene.holds("e.txt", "").await
}

async fn b081_overlapping_occurrences_are_ambiguous(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "aaa\n").await;
    scene.put("b.txt", "abab\nab\n").await;
    s1.read("a.txt").await.ok()?;
    s1.read("b.txt").await.ok()?;
    let two = s1.edit("a.txt", "aa", "b").await.fails(AmbiguousEdit)?;
    ensure_eq!(two.structured["error"]["details"]["count"], json!(2));
    let three = s1.edit("b.txt", "ab", "x").await.fails(AmbiguousEdit)?;
    let details = &three.structured["error"]["details"];
    ensure_eq!(*details, json!({ "count": 3, "lines": [1, 1, 2] }));
    scene.holds("a.txt", "aaa\n").await?;
    let all = s1.edit_all("b.txt", "ab", "x").await.ok()?;
    ensure_eq!(all.structured["replacements"], json!(3));
    scene.holds("b.txt", "xx\nx\n").await
}

async fn b083_a_failed_edit_touches_nothing(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("settings.toml", "mode = 1\nmode = 1\n").await;
    s1.read("settings.toml").await.ok()?;
    let stamp = scene.stamp("settings.toml").await;
    for _ in 0..300 {
        s1.edit("settings.toml", "mode = 99", "x")
            .await
            .fails(EditNotFound)?;
        let many = s1
            .edit("settings.toml", "mode = 1", "x")
            .await
            .fails(AmbiguousEdit)?;
        ensure_eq!(many.structured["error"]["details"]["count"], json!(2));
        scene.holds("settings.toml", "mode = 1\nmode = 1\n").await?;
    }
    ensure_eq!(scene.stamp("settings.toml").await, stamp);
    Ok(())
}

async fn b086_a_large_block_is_replaced_in_one_call(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let (lead, tail) = ("before\n".repeat(6_000), "after\n".repeat(6_000));
    let old: String = (0..1_800).map(|n| format!("block {n:04}\n")).collect();
    let new: String = (0..2_700).map(|n| format!("BLOCK {n:04}\n")).collect();
    scene.put("a.txt", format!("{lead}{old}{tail}")).await;
    s1.read("a.txt").await.ok()?;
    s1.edit("a.txt", &old, &new).await.ok()?;
    scene.holds("a.txt", format!("{lead}{new}{tail}")).await
}

async fn b100_an_insert_by_number_after_a_change_is_refused(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "1\n2\n3\n").await;
    s1.view("a.txt").await.ok()?;
    scene.put("a.txt", "0\n1\n2\n3\n").await;
    s1.insert("a.txt", 2, "x\n").await.fails(StaleVersion)?;
    scene.holds("a.txt", "0\n1\n2\n3\n").await?;
    for row in [99, -1] {
        s1.insert("a.txt", row, "x")
            .await
            .fails(InvalidArgument)?
            .says("from 0 to 5")?;
    }
    Ok(())
}

async fn b193_a_fresh_read_is_enough_to_recover(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "old text\n").await;
    s1.read("a.txt").await.ok()?;
    scene.put("a.txt", "new text\n").await;
    s1.edit("a.txt", "new text", "x")
        .await
        .fails(StaleVersion)?;
    s1.read("a.txt").await.ok()?.says("1: new text")?;
    s1.edit("a.txt", "new text", "x").await.ok()?;
    scene.holds("a.txt", "x\n").await
}

async fn b196_carriage_returns_are_never_doubled(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "line1\r\nline2\r\n").await;
    scene.put("b.txt", "line1\nline2\n").await;
    for path in ["a.txt", "b.txt"] {
        s1.read(path).await.ok()?;
        s1.edit(path, "line2", "x\r\ny").await.ok()?;
    }
    s1.write("c.txt", "p\r\nq\r\n").await.ok()?;
    scene.holds("a.txt", "line1\r\nx\r\ny\r\n").await?;
    scene.holds("b.txt", "line1\nx\r\ny\n").await?;
    scene.holds("c.txt", "p\r\nq\r\n").await
}

async fn b199_every_continuation_byte_survives(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let mut text = String::new();
    for low in 0x80..=0xbf_u32 {
        let bits = low & 0x3f;
        let characters = [
            0x80 | bits,
            0x1000 | bits << 6 | bits,
            0x1f000 | bits << 6 & 0xfff | bits,
        ];
        for character in characters {
            text.push(char::from_u32(character).ok_or("no character")?);
            text.push('\n');
        }
    }
    scene.put("u.md", format!("{text}edit_me\n")).await;
    s1.read("u.md").await.ok()?;
    s1.edit("u.md", "edit_me", "edited").await.ok()?;
    scene.holds("u.md", format!("{text}edited\n")).await
}

/// The most that an edit may hold, in times the size of the file.
const MOST_TIMES: u64 = 4;

#[test]
fn b092_an_edit_of_a_very_large_file_holds_a_few_times_its_size() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let lead = b"0123456789abcdef\n".repeat(100_000_000 / 17);
    let path = folder.path().join("h.log");
    std::fs::write(&path, [&lead[..], b"NEEDLE\n"].concat()).expect("there is room for it");
    let workspace = folder.path().display().to_string();
    let mut batch = Batch::start(&["-w", &workspace, "--policy", "none", "--durability", "none"]);
    let answer = batch.call(json!({
        "tool": "edit",
        "args": { "file_path": "h.log", "old_string": "NEEDLE", "new_string": "FOUND" },
    }));
    assert_eq!(answer["is_error"], json!(false), "{}", answer["text"]);
    let peak = batch.peak_memory();
    assert!(peak < MOST_TIMES * lead.len() as u64, "{} MiB", peak >> 20);
    assert_eq!(batch.finish(), 0);
    let found = std::fs::read(&path).expect("it is there");
    assert!(found.strip_prefix(&lead[..]) == Some(b"FOUND\n"));
}
