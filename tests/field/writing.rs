//! Cases of whole-file writes.

use seamfs::ErrorCode::InvalidArgument;
use serde_json::{Value, json};

use crate::support::{Batch, Checked, Stage, Verdict, claims, ensure, ensure_eq};

claims! {
    everywhere: [
        b045_a_write_over_crlf_is_exact_and_says_so: [DropsNotes],
        b056_a_write_over_a_bom_is_exact_and_says_so: [DropsNotes],
        b062_characters_are_stored_as_they_are: [InterpretsEscapes],
        b066_a_nul_is_refused: [IgnoresNul],
        b085_long_content_is_stored_whole: [ForgetsRest],
        b202_a_rewrite_that_drops_most_of_a_file_says_so: [DropsNotes],
    ],
}

async fn b045_a_write_over_crlf_is_exact_and_says_so(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("u.pas", "unit U;\r\nend.\r\n").await;
    s1.read("u.pas").await.ok()?;
    let written = s1.write("u.pas", "unit U;\nbegin\nend.\n").await.ok()?;
    written.says("line endings changed from CRLF to LF")?;
    scene.holds("u.pas", "unit U;\nbegin\nend.\n").await
}

async fn b056_a_write_over_a_bom_is_exact_and_says_so(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("p.ascx", "\u{feff}sécurisé\n").await;
    s1.read("p.ascx").await.ok()?;
    let written = s1.write("p.ascx", "très sécurisé\n").await.ok()?;
    written.says("byte order mark that the file had was removed")?;
    scene.holds("p.ascx", "très sécurisé\n").await
}

async fn b062_characters_are_stored_as_they_are(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene
        .s1()
        .write("m.py", "# a ≠ b \\u2260 \\n\n")
        .await
        .ok()?;
    scene
        .holds("m.py", b"# a \xe2\x89\xa0 b \\u2260 \\n\n")
        .await
}

async fn b066_a_nul_is_refused(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    s1.write("a.ts", "x\0y\n")
        .await
        .fails(InvalidArgument)?
        .says("NUL")?;
    s1.create("a.ts", "x\0y\n")
        .await
        .fails(InvalidArgument)?
        .says("NUL")?;
    scene.lacks("a.ts").await?;
    scene.put("b.ts", "one\n").await;
    s1.view("b.ts").await.ok()?;
    s1.edit("b.ts", "one", "x\0y")
        .await
        .fails(InvalidArgument)?
        .says("NUL")?;
    s1.str_replace("b.ts", "one", "x\0y")
        .await
        .fails(InvalidArgument)?
        .says("NUL")?;
    s1.insert("b.ts", 0, "x\0y")
        .await
        .fails(InvalidArgument)?
        .says("NUL")?;
    scene.holds("b.ts", "one\n").await
}

async fn b085_long_content_is_stored_whole(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    for content in [numbered(5_000), "0123456789abcde\n".repeat(3 << 16)] {
        scene.s1().write("big.txt", &content).await.ok()?;
        ensure!(
            scene.bytes("big.txt").await.as_deref() == Some(content.as_bytes()),
            "{} bytes",
            content.len()
        );
    }
    Ok(())
}

fn numbered(lines: u64) -> String {
    (1..=lines).map(|n| format!("line {n}\n")).collect()
}

async fn b202_a_rewrite_that_drops_most_of_a_file_says_so(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let (whole, rest) = (
        numbered(1_000),
        numbered(50) + "// ... rest unchanged ...\n",
    );
    scene.put("C.java", &whole).await;
    let read = s1.read("C.java").await.ok()?;
    let written = s1.write("C.java", &rest).await.ok()?;
    let before: seamfs::Version = read.structured["version"]
        .as_str()
        .and_then(|version| version.parse().ok())
        .ok_or("a read has a version")?;
    let hash = before.hash().ok_or("the whole bytes were seen")?.to_hex();
    let written = written
        .says("large shrink: 1000 lines became 51")?
        .says(&hash)?;
    written.says(&format!("{} bytes became {}", whole.len(), rest.len()))?;
    scene.holds("C.java", &rest).await?;
    // A smaller cut is an edit like any other.
    let cut = s1.write("C.java", &numbered(40)).await.ok()?;
    ensure_eq!(cut.structured["notes"], json!([]));
    Ok(())
}

#[test]
fn b062_and_b085_what_arrives_on_stdin_is_stored_as_it_is() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let workspace = folder.path().display().to_string();
    let mut batch = Batch::start(&["-w", &workspace, "--durability", "none"]);
    for (path, content) in [
        ("m.py", "# a ≠ b\n".to_owned()),
        ("big.txt", numbered(5_000)),
        ("big2.txt", "0123456789abcd\r\n".repeat(3 << 16)),
    ] {
        let args = json!({ "file_path": path, "content": content });
        let answer = batch.call(json!({ "tool": "write", "args": args }));
        assert_eq!(answer["code"], Value::Null, "{path}");
        let stored = std::fs::read(folder.path().join(path)).expect("it is there");
        assert!(
            stored == content.as_bytes(),
            "{path}: {} bytes",
            stored.len()
        );
    }
    assert_eq!(batch.finish(), 0);
}
