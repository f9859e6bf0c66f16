//! Cases of `read` and `view`.

use seamfs::ErrorCode::{InvalidArgument, NotFound, NotObserved};
use serde_json::json;

use crate::support::{Checked, Stage, Verdict, claims, ensure, ensure_eq};

claims! {
    everywhere: [
        b006_a_second_read_shows_what_was_edited_outside: [CachesReads],
        b008_a_new_session_reads_for_itself: [SharesActors],
        b060_characters_at_buffer_boundaries_stay_whole: [MiscountsLines],
        b094_a_last_line_without_newline_is_a_line: [IgnoresOffset],
        b096_an_offset_past_the_end_shows_nothing: [IgnoresOffset],
        b098_the_last_line_is_the_last_line: [IgnoresOffset],
        b204_every_kind_of_nothing_has_its_own_text: [SaysNothing],
    ],
}

async fn b006_a_second_read_shows_what_was_edited_outside(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "old\n").await;
    let first = s1.read("a.txt").await.ok()?.says("1: old\n")?;
    scene.put("a.txt", "new\n").await;
    let second = s1.read("a.txt").await.ok()?.says("1: new\n")?;
    ensure!(
        first.structured["version"] != second.structured["version"],
        "{}",
        second.text
    );
    let third = s1.read("a.txt").await.ok()?;
    ensure_eq!(second, third);
    Ok(())
}

async fn b008_a_new_session_reads_for_itself(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.txt", "alpha\n").await;
    scene.put("b.txt", "beta\n").await;
    scene.s1().read("a.txt").await.ok()?;
    scene.s1().read("b.txt").await.ok()?;
    let s2 = scene.s2();
    s2.read("a.txt").await.ok()?.says("1: alpha\n")?;
    s2.write("b.txt", "mine").await.fails(NotObserved)?;
    s2.read("b.txt").await.ok()?.says("1: beta\n")?;
    s2.write("b.txt", "mine").await.ok()?;
    scene.holds("b.txt", "mine").await
}

async fn b060_characters_at_buffer_boundaries_stay_whole(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for leading in [1023, 4095, 8191, 65_535, 1_048_575, 8_388_607] {
        // Short lines before the boundary, so that the character is not cut off as too long.
        let rows = leading / 1000;
        let lead = "a".repeat(999) + "\n";
        let text = lead.repeat(rows) + &"a".repeat(leading - rows * 1000) + "한\ntail\n";
        scene.put("a.txt", &text).await;
        let total = rows as u64 + 2;
        let read = s1.read_from("a.txt", total - 1, 2).await.ok()?;
        ensure_eq!(read.structured["total_lines"], json!(total));
        let first = read.structured["lines"][0]["text"]
            .as_str()
            .unwrap_or_default();
        ensure!(first.ends_with('한'), "{leading}: {first}");
        read.says("tail")?.never_says("\u{fffd}")?;
    }
    Ok(())
}

async fn b094_a_last_line_without_newline_is_a_line(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("r.txt", "p\nq\nr").await;
    let last = s1.read_from("r.txt", 3, 10).await.ok()?;
    ensure_eq!(
        last.structured["lines"],
        json!([{ "number": 3, "text": "r" }])
    );
    ensure_eq!(last.structured["total_lines"], json!(3));
    s1.read("r.txt")
        .await
        .ok()?
        .says("3: r\n")?
        .says("no final newline")?;
    Ok(())
}

async fn b096_an_offset_past_the_end_shows_nothing(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.txt", "1\n2\n3\n").await;
    let refused = scene
        .s1()
        .read_from("a.txt", 50, 10)
        .await
        .fails(InvalidArgument)?;
    refused.says("3 lines")?.never_says("1: 1")?;
    Ok(())
}

async fn b098_the_last_line_is_the_last_line(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for bytes in ["x\ny\n", "x\r\ny\r\n", "x\ny"] {
        scene.put("a.txt", bytes).await;
        let read = s1.read_from("a.txt", 1, 1).await.ok()?;
        let total = read.structured["total_lines"].as_u64().unwrap_or_default();
        let last = s1.read_from("a.txt", total, 1).await.ok()?;
        ensure_eq!(
            last.structured["lines"],
            json!([{ "number": 2, "text": "y" }])
        );
    }
    Ok(())
}

async fn b204_every_kind_of_nothing_has_its_own_text(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("e.txt", "").await;
    scene.put("w.txt", " \n\n").await;
    scene.folder("empty").await;
    let empty = s1.view("e.txt").await.ok()?.says("empty file, 0 bytes")?;
    let blank = s1.view("w.txt").await.ok()?.says("     1   \n     2  \n")?;
    let missing = s1.view("n.txt").await.fails(NotFound)?;
    let folder = s1.view("empty").await.ok()?.says("folder")?;
    let views = [empty.text, blank.text, missing.text, folder.text];
    let empty = s1.read("e.txt").await.ok()?.says("empty file")?;
    let blank = s1.read("w.txt").await.ok()?.says("1:  \n2: \n")?;
    let missing = s1.read("n.txt").await.fails(NotFound)?;
    let reads = [empty.text, blank.text, missing.text];
    for texts in [&views[..], &reads] {
        let different: std::collections::BTreeSet<_> = texts.iter().collect();
        ensure_eq!(different.len(), texts.len(), "{texts:?}");
        ensure!(
            texts.iter().all(|text| !text.trim().is_empty()),
            "{texts:?}"
        );
    }
    Ok(())
}
