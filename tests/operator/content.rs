//! The screen on content: tools' own text stays out of files, unless the operator lets it in.

use seamfs::ErrorCode::{InvalidArgument, NotFound};
use seamfs::WorkspaceBuilder;
use seamfs::core::text::Trace;
use seamfs::policy::Screen;

use super::decided;
use crate::support::{Checked, Stage, Verdict, ensure, ensure_eq};

decided! { screened:
    what_read_and_view_add_is_not_written,
    a_line_that_stands_for_others_is_not_written,
    one_row_of_what_was_shown_is_not_written_and_a_number_is,
    what_a_file_held_before_never_blocks,
    the_operator_lets_in_what_the_operator_likes,
}

type Decide = fn(WorkspaceBuilder, Screen) -> WorkspaceBuilder;

/// The double beside this forgets the screen, which a workspace of its own would not.
fn screened(builder: WorkspaceBuilder, screen: Screen) -> WorkspaceBuilder {
    builder.screen(screen)
}

async fn scene(stage: Stage, decide: Decide, screen: Screen) -> crate::support::Scene {
    stage
        .scene_with(|builder| decide(builder.screen(Screen::open()), screen))
        .await
}

async fn what_read_and_view_add_is_not_written(stage: Stage, decide: Decide) -> Verdict {
    let scene = scene(stage, decide, Screen::default()).await;
    let text = "alpha\nbeta\ngamma\n";
    scene.put("a.txt", text).await;
    let hand = scene.s1();
    for shown in [
        hand.read("a.txt").await.ok()?,
        hand.view("a.txt").await.ok()?,
    ] {
        // A model that writes back what it was shown.
        hand.write("a.txt", &shown.text)
            .await
            .fails(InvalidArgument)?;
        let is_bare = |row: &str| row.trim().bytes().all(|byte| byte.is_ascii_digit());
        let rows = shown.text.lines();
        for row in rows.filter(|row| !row.starts_with('/') && !is_bare(row)) {
            let refused = hand
                .edit("a.txt", "beta", row)
                .await
                .fails(InvalidArgument)?;
            refused.says("of the new content is")?;
            hand.str_replace("a.txt", "beta", row)
                .await
                .fails(InvalidArgument)?;
            hand.insert("a.txt", 1, row).await.fails(InvalidArgument)?;
        }
    }
    let lines: Vec<_> = (0..3000)
        .map(|n| format!("a line of some length, number {n}"))
        .collect();
    scene.put("long.txt", lines.join("\n")).await;
    let clipped = hand.view("long.txt").await.ok()?;
    let notice = clipped.text.lines().last().unwrap_or_default();
    hand.create("new.txt", &format!("x\n{notice}\n"))
        .await
        .fails(InvalidArgument)?;
    scene.lacks("new.txt").await?;
    scene.holds("a.txt", text).await
}

async fn one_row_of_what_was_shown_is_not_written_and_a_number_is(
    stage: Stage,
    decide: Decide,
) -> Verdict {
    let scene = scene(stage, decide, Screen::default()).await;
    let text = "fn main() {\n    let x = 1;\n\n    run(x);\n}\n";
    scene.put("a.rs", text).await;
    let hand = scene.s1();
    for (offset, limit) in [(1, 1), (2, 1), (1, 2), (2, 3), (5, 1)] {
        let read = hand.read_from("a.rs", offset, limit).await.ok()?;
        let view = hand.view_rows("a.rs", offset as i64, (offset + limit - 1) as i64);
        for shown in [read, view.await.ok()?] {
            let rows: Vec<&str> = shown.text.lines().skip(1).take(limit as usize).collect();
            let rows = rows.join("\n");
            for result in [
                hand.write("a.rs", &rows).await,
                hand.write("a.rs", &format!("{text}{rows}\n")).await,
                hand.edit("a.rs", "    run(x);", &rows).await,
                hand.edit("a.rs", "    run(x);\n", &format!("{rows}\n    run(x);\n"))
                    .await,
                hand.insert("a.rs", 3, &rows).await,
            ] {
                let refused = result
                    .fails(InvalidArgument)
                    .map_err(|why| format!("{why}\n{rows}"))?;
                // The model can do nothing about it, and the operator can.
                let refused = refused.says("line numbers")?.says("`gutter = \"allow\"`")?;
                refused.says("No argument lets it in")?;
            }
        }
    }
    scene.holds("a.rs", text).await?;
    // Rows of another file are known again by whoever has read it.
    scene.put("flat.txt", "alpha\nbeta\ngamma\n").await;
    scene.put("b.txt", "other\n").await;
    hand.read("b.txt").await.ok()?;
    // Nobody has shown it yet, and rows alone may be content.
    hand.write("new.txt", "2: beta\n").await.ok()?;
    scene.remove("new.txt").await;
    hand.read("new.txt").await.fails(NotFound)?;
    hand.read("flat.txt").await.ok()?;
    for rows in [
        "2: beta\n",
        "     2  beta\n",
        "1: alpha\n2: beta\n3: gamma\n",
    ] {
        for result in [
            hand.write("new.txt", rows).await,
            hand.create("new.txt", rows).await,
            hand.edit("b.txt", "other\n", rows).await,
        ] {
            result.fails(InvalidArgument)?.says("line numbers")?;
        }
    }
    scene.lacks("new.txt").await?;
    // What another session has read says nothing of this one.
    scene.s2().write("theirs.txt", "2: beta\n").await.ok()?;
    scene.put("codes.yaml", "codes:\n  200: OK\n").await;
    hand.read("codes.yaml").await.ok()?;
    let keys = "200: OK\n201: Created\n202: Accepted\n203: Partial\n";
    hand.edit("codes.yaml", "codes:\n", &format!("{keys}codes:\n"))
        .await
        .ok()?;
    hand.write("codes.yaml", keys).await.ok()?;
    hand.write("new.yaml", keys).await.ok()?;
    hand.insert("a.rs", 0, "1: one\n2: two\n3: three")
        .await
        .ok()?;
    Ok(())
}

async fn a_line_that_stands_for_others_is_not_written(stage: Stage, decide: Decide) -> Verdict {
    let scene = scene(stage, decide, Screen::default()).await;
    scene.put("a.rs", "fn a() {}\nfn b() {}\nfn c() {}\n").await;
    let hand = scene.s1();
    hand.read("a.rs").await.ok()?;
    let lazy = "fn a() { 1 }\n\n// ... existing code ...\n";
    let refused = hand.write("a.rs", lazy).await.fails(InvalidArgument)?;
    refused
        .says("line 3")?
        .says("a line that stands for lines left out")?;
    ensure_eq!(refused_lines(&hand.write("a.rs", lazy).await), vec![3]);
    hand.edit("a.rs", "fn b() {}", "fn b() {\n    // rest unchanged\n}")
        .await
        .fails(InvalidArgument)?;
    scene
        .holds("a.rs", "fn a() {}\nfn b() {}\nfn c() {}\n")
        .await
}

fn refused_lines(result: &seamfs::ToolResult) -> Vec<u64> {
    let lines = result.structured["error"]["details"]["lines"].as_array();
    lines
        .into_iter()
        .flatten()
        .filter_map(|line| line.as_u64())
        .collect()
}

async fn what_a_file_held_before_never_blocks(stage: Stage, decide: Decide) -> Verdict {
    let scene = scene(stage, decide, Screen::default()).await;
    let text = "# how to prompt\n// ... existing code ...\n(end of file: 3 lines)\nend\n";
    scene.put("prompt.md", text).await;
    let hand = scene.s1();
    hand.read("prompt.md").await.ok()?;
    hand.edit("prompt.md", "end\n", "the end\n").await.ok()?;
    hand.edit(
        "prompt.md",
        "// ... existing code ...\n(end",
        "// ... existing code ...\n\n(end",
    )
    .await
    .ok()?;
    hand.write("prompt.md", &format!("more\n{text}"))
        .await
        .ok()?;
    // A second copy is new.
    hand.write("prompt.md", &format!("{text}// ... existing code ...\n"))
        .await
        .fails(InvalidArgument)?;
    Ok(())
}

async fn the_operator_lets_in_what_the_operator_likes(stage: Stage, decide: Decide) -> Verdict {
    let screen = Screen::default().allowing(Trace::Elision);
    let scene = scene(stage, decide, screen).await;
    scene
        .s1()
        .write("a.rs", "// ... existing code ...\n")
        .await
        .ok()?;
    scene
        .s1()
        .write("b.rs", "(end of file: 3 lines)\n")
        .await
        .fails(InvalidArgument)?;
    let open = stage
        .scene_with(|builder| decide(builder, Screen::open()))
        .await;
    open.s1()
        .write("b.rs", "(end of file: 3 lines)\n")
        .await
        .ok()?;
    // A model has no argument for it.
    let specs = open.workspace.tools();
    ensure!(
        specs
            .iter()
            .all(|spec| !spec.input_schema.to_string().contains("elision")),
        "no tool offers to let anything in"
    );
    Ok(())
}
