//! V, R and W: versions, reads and writes of the storage, as far as tools can tell.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, Instant, SystemTime};

use futures::future::join_all;
use seamfs::ErrorCode::{
    AlreadyExists, NoSpace, NotFound, NotObserved, NotRegularFile, NotText, ReadOnly,
    SandboxDenied, StaleVersion, TooLarge,
};
use serde_json::{Value, json};

use crate::support::{Backend, Checked, Meddler, Stage, Verdict, claims, ensure, ensure_eq};

claims! {
    everywhere: [
        v1_an_identical_rewrite_is_not_stale: [ReadsWrongVersion],
        v2_a_change_of_the_same_size_is_stale: [CachesReads],
        v3_a_returned_version_is_that_of_the_next_read: [ReturnsWrongVersion],
        r1_missing_files_and_folders_are_told_apart: [OverwritesFolders],
        r2_what_is_no_text_is_refused_alike_by_read_and_edit: [ReadsBinary],
        r2_characters_split_over_chunks_decode: [MiscountsLines],
        r4_readers_see_the_old_file_or_the_new: [ForgetsRest],
        w1_of_racing_creators_exactly_one_wins: [IgnoresGuards],
        w4_a_folder_is_never_written: [OverwritesFolders],
        w6_a_withdrawn_call_changes_nothing_before_its_publication: [IgnoresWithdrawal],
        w7_a_write_over_a_large_file_succeeds_without_cards: [EchoesArguments],
        w8_of_two_mutations_under_one_version_one_wins: [LosesRaces],
    ],
    local: [
        v1_touch_chmod_and_a_new_inode_are_not_stale,
        v2_a_change_with_an_older_or_the_same_time_is_stale,
        r1_links_that_lead_nowhere_or_out_are_told_apart,
        r1_special_files_answer_at_once,
        r3_a_file_over_the_limit_of_an_edit_is_refused_before_it_is_read,
        r5_a_dangling_link_loses_no_listing,
        w5_permission_bits_are_kept,
        w5_a_file_without_a_write_bit_is_refused,
        w5_a_link_is_written_through_and_stays_a_link,
        w6_nothing_is_left_beside_a_file,
        a_broken_hard_link_is_said,
    ],
}

fn io<T>(outcome: std::io::Result<T>) -> Result<T, String> {
    outcome.map_err(|error| error.to_string())
}

async fn v1_an_identical_rewrite_is_not_stale(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("a.txt", "one\n").await;
    s1.read("a.txt").await.ok()?;
    scene.put("a.txt", "one\n").await;
    s1.edit("a.txt", "one", "two").await.ok()?;
    scene.put("a.txt", "other\n").await;
    scene.put("a.txt", "two\n").await;
    s1.write("a.txt", "three\n").await.ok()?;
    scene.remove("a.txt").await;
    scene.put("a.txt", "three\n").await;
    s1.edit("a.txt", "three", "four").await.ok()?;
    scene.holds("a.txt", "four\n").await
}

async fn v2_a_change_of_the_same_size_is_stale(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for turn in 0..50 {
        scene.put("a.txt", format!("{turn:02}\n")).await;
        s1.read("a.txt")
            .await
            .ok()?
            .says(&format!("1: {turn:02}\n"))?;
        scene.put("a.txt", "xx\n").await;
        s1.write("a.txt", "mine\n").await.fails(StaleVersion)?;
        scene.holds("a.txt", "xx\n").await?;
    }
    Ok(())
}

async fn v3_a_returned_version_is_that_of_the_next_read(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let calls = [
        (
            "write",
            json!({ "file_path": "a.txt", "content": "one\r\n" }),
        ),
        (
            "edit",
            json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" }),
        ),
        ("write", json!({ "file_path": "a.txt", "content": "" })),
        (
            "str_replace_editor",
            json!({
                "command": "insert", "path": scene.at("a.txt"), "insert_line": 0, "new_str": "three\nzero",
            }),
        ),
        (
            "str_replace_editor",
            json!({
                "command": "str_replace", "path": scene.at("a.txt"), "old_str": "o", "new_str": "o!",
            }),
        ),
    ];
    for (tool, args) in calls {
        let mutated = s1.call(tool, args).await.ok()?;
        let read = s1.read("a.txt").await.ok()?;
        ensure_eq!(read.structured["version"], mutated.structured["version"]);
    }
    for (old, new) in [("three", "3"), ("3", "III"), ("zero!", "0")] {
        let edited = s1.edit("a.txt", old, new).await.ok()?;
        let read = s1.read("a.txt").await.ok()?;
        ensure_eq!(read.structured["version"], edited.structured["version"]);
    }
    Ok(())
}

async fn r1_missing_files_and_folders_are_told_apart(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("dir/a.txt", "one\n").await;
    let s1 = scene.s1();
    s1.read("none.txt").await.fails(NotFound)?;
    s1.view("none.txt").await.fails(NotFound)?;
    s1.read("dir").await.fails(NotRegularFile)?.says("folder")?;
    if !scene.has_folders() {
        return Ok(());
    }
    s1.write("dir", "x")
        .await
        .fails(NotRegularFile)?
        .says("folder")?;
    // A folder in the place of a file that was seen is no file to edit.
    scene.put("p", "file\n").await;
    s1.read("p").await.ok()?;
    scene.remove("p").await;
    scene.put("p/x", "x\n").await;
    let refused = s1.edit("p", "file", "y").await;
    ensure!(
        matches!(refused.code(), Some(NotRegularFile | StaleVersion)),
        "{}",
        refused.text
    );
    s1.write("p", "y").await.fails(NotRegularFile)?;
    scene.holds("p/x", "x\n").await
}

async fn r2_what_is_no_text_is_refused_alike_by_read_and_edit(stage: Stage) -> Verdict {
    let scene = stage.lawless().await;
    let s1 = scene.s1();
    for (bytes, looks) in [
        (&b"plain\nTM: \x99\n"[..], "offset 10"),
        (b"one\0two\n", "NUL"),
        (b"\xff\xfeh\0i\0\n\0", "UTF-16"),
        (b"\x89PNG\r\n\x1a\n\0\0", "PNG"),
        (b"ok\nbroken \xe2\x82\n", "offset 10"),
        (b"\xc0\xaf", "offset 0"),
        (b"\xed\xa0\x80", "offset 0"),
    ] {
        scene.put("a.bin", bytes).await;
        let read = s1.read("a.bin").await.fails(NotText)?;
        let edit = s1.edit("a.bin", "one", "two").await.fails(NotText)?;
        ensure_eq!(read.text.lines().next(), edit.text.lines().next());
        read.says(looks)?;
        s1.view("a.bin").await.fails(NotText)?;
        s1.str_replace("a.bin", "one", "two").await.fails(NotText)?;
        s1.insert("a.bin", 0, "x").await.fails(NotText)?;
        scene.holds("a.bin", bytes).await?;
    }
    Ok(())
}

async fn r2_characters_split_over_chunks_decode(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for power in [10, 12, 13, 16, 17, 18, 20] {
        for around in 1..4 {
            let lead = (1_usize << power) - around;
            let text = format!(
                "{}\n한🦀é\n{}\ntail",
                "a".repeat(lead - 2),
                "🦀".repeat(lead)
            );
            scene.put("a.txt", text).await;
            let read = s1.read_from("a.txt", 2, 1).await.ok()?;
            ensure_eq!(
                read.structured["lines"][0]["text"],
                json!("한🦀é"),
                "{lead}"
            );
            ensure_eq!(read.structured["total_lines"], json!(4));
            s1.read_from("a.txt", 4, 1).await.ok()?.says("4: tail\n")?;
        }
    }
    Ok(())
}

async fn r4_readers_see_the_old_file_or_the_new(stage: Stage) -> Verdict {
    let scene = stage.lawless().await;
    let (old, new) = ("o\n".repeat(20_000), "new line\n".repeat(100));
    scene.put("a.txt", &old).await;
    let (writer, reader) = (scene.s1(), scene.s2());
    let writing = async {
        for turn in 0..60 {
            let content = if turn % 2 == 0 { &new } else { &old };
            writer.write("a.txt", content).await.ok()?;
        }
        Ok::<_, String>(())
    };
    let reading = async {
        let mut totals = std::collections::BTreeSet::new();
        for _ in 0..120 {
            let read = reader.read_from("a.txt", 1, 1).await.ok()?;
            let total = read.structured["total_lines"].as_u64().unwrap_or_default();
            let first = read.structured["lines"][0]["text"].clone();
            ensure!(
                total == 20_000 && first == "o" || total == 100 && first == "new line",
                "{total} lines, the first {first}"
            );
            totals.insert(total);
        }
        Ok::<_, String>(totals)
    };
    let (wrote, read) = futures::join!(writing, reading);
    wrote?;
    read?;
    scene.holds("a.txt", &old).await
}

async fn w1_of_racing_creators_exactly_one_wins(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    for round in 0..10 {
        let path = format!("new-{round}/a.txt");
        let calls: Vec<_> = (0..8)
            .map(|n| {
                let session = scene.hand(&format!("S{n}")).session;
                match n % 2 {
                    0 => session.call(
                        "write",
                        json!({ "file_path": path, "content": format!("{n}\n") }),
                    ),
                    _ => session.call(
                        "str_replace_editor",
                        json!({ "command": "create", "path": scene.at(&path), "file_text": format!("{n}\n") }),
                    ),
                }
            })
            .collect();
        let results = join_all(calls).await;
        let winners: Vec<_> = (0..)
            .zip(&results)
            .filter(|(_, result)| !result.is_error())
            .map(|(n, _)| n)
            .collect();
        ensure_eq!(winners.len(), 1, "{results:?}");
        scene.holds(&path, format!("{}\n", winners[0])).await?;
        for (n, result) in (0..).zip(results).filter(|(_, result)| result.is_error()) {
            result.fails(if n % 2 == 0 {
                NotObserved
            } else {
                AlreadyExists
            })?;
        }
    }
    Ok(())
}

async fn w4_a_folder_is_never_written(stage: Stage) -> Verdict {
    for scene in [stage.scene().await, stage.lawless().await] {
        scene.put("dir/a.txt", "one\n").await;
        let s1 = scene.s1();
        if scene.has_folders() {
            s1.write("dir", "x").await.fails(NotRegularFile)?;
            s1.create("dir", "x").await.fails(AlreadyExists)?;
        }
        s1.write("", "x")
            .await
            .fails(seamfs::ErrorCode::InvalidPath)?;
        s1.write(".", "x").await.fails(NotRegularFile)?;
        scene.holds("dir/a.txt", "one\n").await?;
    }
    Ok(())
}

async fn w6_a_withdrawn_call_changes_nothing_before_its_publication(stage: Stage) -> Verdict {
    let meddler = Meddler::new();
    let layer = meddler.clone();
    let scene = stage
        .scene_over(|builder| builder.rules([]), |fs| layer.over(fs))
        .await;
    scene.put("a.txt", "one\n").await;
    for (tool, args) in [
        (
            "write",
            json!({ "file_path": "a.txt", "content": "mine\n" }),
        ),
        (
            "write",
            json!({ "file_path": "new.txt", "content": "mine\n" }),
        ),
        (
            "edit",
            json!({ "file_path": "a.txt", "old_string": "one", "new_string": "1" }),
        ),
    ] {
        for late in [false, true] {
            let context = seamfs::CallContext::default();
            match late {
                true => meddler.withdraw(context.cancellation.clone()),
                false => context.cancellation.cancel(),
            }
            let session = scene.s1().session;
            let result = session.call_in(tool, args.clone(), context).await;
            result.fails(seamfs::ErrorCode::Aborted)?;
            scene.holds("a.txt", "one\n").await?;
            scene.lacks("new.txt").await?;
        }
    }
    // Withdrawn by its caller at any moment: all or nothing, and the next call is not held up.
    let long = "n".repeat(200_000);
    for turn in 0..40_u64 {
        let args = json!({ "file_path": "a.txt", "content": long });
        let call = scene.s1().session.call("write", args);
        let patience = Duration::from_micros(turn * 50);
        let _ = tokio::time::timeout(patience, call).await;
        scene.s2().read("a.txt").await.ok()?;
        let found = scene.bytes("a.txt").await.unwrap_or_default();
        ensure!(
            found == b"one\n" || found == long.as_bytes(),
            "{} bytes",
            found.len()
        );
        scene.s1().write("a.txt", "one\n").await.ok()?;
    }
    let view = scene.s1().view("").await.ok()?;
    ensure_eq!(
        view.structured["entries"].as_array().map(Vec::len),
        Some(1),
        "{}",
        view.text
    );
    Ok(())
}

async fn w7_a_write_over_a_large_file_succeeds_without_cards(stage: Stage) -> Verdict {
    let scene = stage.lawless().await;
    let s1 = scene.s1();
    for old in [
        "old line\n".repeat(1_200_000).into_bytes(),
        b"\0\xff binary".to_vec(),
    ] {
        scene.put("a.txt", old).await;
        let written = s1.write("a.txt", "new\n").await.ok()?;
        ensure_eq!(written.structured["operation"], json!("update"));
        ensure_eq!(json!(written.presentation)["diffs"], Value::Null);
        ensure!(written.text.len() < 500, "{}", written.text);
        scene.holds("a.txt", "new\n").await?;
    }
    Ok(())
}

async fn w8_of_two_mutations_under_one_version_one_wins(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let (s1, s2) = (scene.s1(), scene.s2());
    for turn in 0..50 {
        let start = format!("start {turn}\n");
        scene.put("a.txt", &start).await;
        s1.read("a.txt").await.ok()?;
        s2.read("a.txt").await.ok()?;
        let one = json!({ "file_path": "a.txt", "content": "of one\n" });
        let two = json!({ "file_path": "a.txt", "old_string": "start", "new_string": "of two" });
        let (one, two) = (s1.session.call("write", one), s2.session.call("edit", two));
        let (one, two) = futures::join!(one, two);
        let landed = match (one.is_error(), two.is_error()) {
            (false, true) => "of one\n".to_owned(),
            (true, false) => format!("of two {turn}\n"),
            _ => return Err(format!("{} / {}", one.text, two.text)),
        };
        let loser = if one.is_error() { one } else { two };
        loser.fails(StaleVersion)?;
        scene.holds("a.txt", landed).await?;
    }
    Ok(())
}

async fn v1_touch_chmod_and_a_new_inode_are_not_stale(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let file = scene.host_path("a.txt");
    scene.put("a.txt", "one\ntwo\n").await;
    s1.read("a.txt").await.ok()?;
    let later = SystemTime::now() + Duration::from_secs(5);
    io(io(fs::File::options().write(true).open(&file))?.set_modified(later))?;
    s1.edit("a.txt", "one", "ONE").await.ok()?;
    io(fs::set_permissions(
        &file,
        fs::Permissions::from_mode(0o600),
    ))?;
    s1.edit("a.txt", "two", "TWO").await.ok()?;
    io(fs::write(scene.host_path("new"), "ONE\nTWO\n"))?;
    io(fs::rename(scene.host_path("new"), &file))?;
    s1.write("a.txt", "three\n").await.ok()?;
    scene.holds("a.txt", "three\n").await
}

async fn v2_a_change_with_an_older_or_the_same_time_is_stale(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let file = scene.host_path("a.txt");
    for back in [0, 3600] {
        scene.put("a.txt", "v1 line\n").await;
        s1.read("a.txt").await.ok()?;
        let seen = io(io(fs::metadata(&file))?.modified())?;
        scene.put("a.txt", "v2 line\n").await;
        let time = seen - Duration::from_secs(back);
        io(io(fs::File::options().write(true).open(&file))?.set_modified(time))?;
        s1.write("a.txt", "mine\n").await.fails(StaleVersion)?;
        scene.holds("a.txt", "v2 line\n").await?;
        s1.read("a.txt").await.ok()?.says("v2 line")?;
    }
    Ok(())
}

async fn r1_links_that_lead_nowhere_or_out_are_told_apart(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    io(fs::create_dir(scene.beside("outside")))?;
    io(fs::write(scene.beside("outside/secret"), "S3CRET\n"))?;
    io(symlink("nowhere", scene.host_path("dangling")))?;
    io(symlink(
        scene.beside("outside/secret"),
        scene.host_path("out"),
    ))?;
    io(symlink("../outside/secret", scene.host_path("out2")))?;
    io(symlink("../outside/none", scene.host_path("out3")))?;
    io(symlink("../outside", scene.host_path("outdir")))?;
    let s1 = scene.s1();
    s1.read("dangling").await.fails(NotFound)?;
    s1.write("dangling", "x").await.fails(NotRegularFile)?;
    scene.lacks("nowhere").await?;
    for path in ["out", "out2", "out3", "outdir/secret", "outdir/new/er"] {
        let link = path.split('/').next().unwrap_or(path);
        for result in [
            s1.read(path).await,
            s1.view(path).await,
            s1.write(path, "x").await,
            s1.edit(path, "S3CRET", "x").await,
            s1.create(path, "x").await,
            s1.insert(path, 0, "x").await,
        ] {
            let result = result.fails(SandboxDenied)?.says(link)?;
            result.never_says("S3CRET")?.never_says("outside/")?;
        }
    }
    ensure_eq!(io(fs::read(scene.beside("outside/secret")))?, b"S3CRET\n");
    ensure_eq!(io(fs::read_dir(scene.beside("outside")))?.count(), 1);
    s1.view("").await.ok()?.says("out2")?.never_says("secret")?;
    Ok(())
}

async fn r1_special_files_answer_at_once(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let fifo = scene.host_path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    ensure!(io(made)?.success(), "mkfifo");
    let _socket = io(std::os::unix::net::UnixListener::bind(
        scene.host_path("sock"),
    ))?;
    let s1 = scene.s1();
    let begun = Instant::now();
    for path in ["pipe", "sock"] {
        s1.read(path).await.fails(NotRegularFile)?;
        s1.view(path).await.fails(NotRegularFile)?;
        s1.write(path, "x").await.fails(NotRegularFile)?;
        s1.create(path, "x").await.fails(AlreadyExists)?;
    }
    let free = stage.lawless().await;
    io(std::process::Command::new("mkfifo")
        .arg(free.host_path("pipe"))
        .status())?;
    free.s1()
        .edit("pipe", "a", "b")
        .await
        .fails(NotRegularFile)?;
    free.s1()
        .insert("pipe", 0, "b")
        .await
        .fails(NotRegularFile)?;
    s1.view("").await.ok()?.says("?\t")?;
    ensure!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    Ok(())
}

async fn r3_a_file_over_the_limit_of_an_edit_is_refused_before_it_is_read(stage: Stage) -> Verdict {
    let scene = stage.lawless().await;
    let file = io(fs::File::create(scene.host_path("big")))?;
    io(file.set_len((256 << 20) + 1))?;
    let refused = scene.s1().edit("big", "a", "b").await.fails(TooLarge)?;
    refused.says("268435456")?;
    io(file.set_len(1 << 40))?;
    scene.s1().edit("big", "a", "b").await.fails(TooLarge)?;
    ensure_eq!(io(file.metadata())?.len(), 1 << 40);
    Ok(())
}

async fn r5_a_dangling_link_loses_no_listing(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("ok.txt", "1\n").await;
    io(symlink("user@host.123:456", scene.host_path("lock")))?;
    io(symlink("loop", scene.host_path("loop")))?;
    let view = scene.s1().view("").await.ok()?;
    for row in ["f\t{}ok.txt", "?\t{}lock", "?\t{}loop"] {
        view.clone().says(&row.replace("{}", &scene.at("")))?;
    }
    scene.s1().read("lock").await.fails(NotFound)?;
    let circle = scene.s1().read("loop").await;
    ensure!(circle.is_error(), "{}", circle.text);
    Ok(())
}

async fn w5_permission_bits_are_kept(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let mode =
        |path: &str| io(fs::metadata(scene.host_path(path))).map(|found| found.mode() & 0o7777);
    for bits in [0o755, 0o600, 0o644, 0o666, 0o200 | 0o400, 0o1644] {
        scene.put("a.sh", "one\n").await;
        io(fs::set_permissions(
            scene.host_path("a.sh"),
            fs::Permissions::from_mode(bits),
        ))?;
        s1.read("a.sh").await.ok()?;
        s1.edit("a.sh", "one", "two").await.ok()?;
        ensure_eq!(mode("a.sh")?, bits, "edit of {bits:o}");
        s1.write("a.sh", "three\n").await.ok()?;
        ensure_eq!(mode("a.sh")?, bits, "write of {bits:o}");
    }
    s1.write("new.txt", "x").await.ok()?;
    io(fs::write(scene.host_path("theirs.txt"), "x"))?;
    ensure_eq!(mode("new.txt")?, mode("theirs.txt")?);
    Ok(())
}

async fn w5_a_file_without_a_write_bit_is_refused(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("ro.txt", "keep\n").await;
    io(fs::set_permissions(
        scene.host_path("ro.txt"),
        fs::Permissions::from_mode(0o444),
    ))?;
    s1.read("ro.txt").await.ok()?;
    s1.edit("ro.txt", "keep", "gone").await.fails(ReadOnly)?;
    s1.write("ro.txt", "gone\n").await.fails(ReadOnly)?;
    s1.insert("ro.txt", 0, "gone").await.fails(ReadOnly)?;
    scene.holds("ro.txt", "keep\n").await
}

async fn w5_a_link_is_written_through_and_stays_a_link(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("real/conf", "old\n").await;
    io(symlink("real/conf", scene.host_path("conf")))?;
    s1.read("conf").await.ok()?;
    let edited = s1.edit("conf", "old", "new").await.ok()?;
    ensure_eq!(edited.structured["path"], json!(scene.at("real/conf")));
    s1.write("conf", "newer\n").await.ok()?;
    ensure!(
        scene.host_path("conf").is_symlink(),
        "the link became a file"
    );
    scene.holds("real/conf", "newer\n").await
}

async fn w6_nothing_is_left_beside_a_file(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    for turn in 0..20 {
        s1.write("dir/a.txt", &format!("{turn}\n")).await.ok()?;
        s1.edit("dir/a.txt", &turn.to_string(), &(turn + 1).to_string())
            .await
            .ok()?;
        s1.edit("dir/a.txt", "absent", "x")
            .await
            .fails(seamfs::ErrorCode::EditNotFound)?;
        scene
            .s2()
            .write("dir/a.txt", "x")
            .await
            .fails(NotObserved)?;
    }
    let names: Vec<_> = io(fs::read_dir(scene.host_path("dir")))?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    ensure_eq!(names, ["a.txt"]);
    Ok(())
}

async fn a_broken_hard_link_is_said(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    io(fs::write(scene.beside("data"), "orig\n"))?;
    io(fs::hard_link(scene.beside("data"), scene.host_path("h")))?;
    s1.read("h").await.ok()?;
    let edited = s1.edit("h", "orig", "evil").await.ok()?.says("hard link")?;
    ensure_eq!(edited.structured["notes"].as_array().map(Vec::len), Some(1));
    s1.write("h", "evil2\n")
        .await
        .ok()?
        .never_says("hard link")?;
    ensure_eq!(io(fs::read(scene.beside("data")))?, b"orig\n");
    scene.holds("h", "evil2\n").await
}

/// A quota is a matter of the one backend that has it.
async fn no_space_keeps_the_old_bytes(stage: Stage) -> Verdict {
    let scene = stage.small(64 << 10).await;
    let s1 = scene.s1();
    s1.write("a.txt", "keep\n").await.ok()?;
    let big = "x".repeat(200 << 10);
    s1.write("a.txt", &big).await.fails(NoSpace)?;
    s1.edit("a.txt", "keep", &big).await.fails(NoSpace)?;
    s1.write("b.txt", &big).await.fails(NoSpace)?;
    s1.create("b.txt", &big).await.fails(NoSpace)?;
    scene.holds("a.txt", "keep\n").await?;
    scene.lacks("b.txt").await?;
    s1.edit("a.txt", "keep", "kept").await.ok()?;
    scene.holds("a.txt", "kept\n").await
}

#[test]
fn w9_no_space_has_its_own_code_and_keeps_the_old_bytes() {
    crate::support::check(Backend::Memory, no_space_keeps_the_old_bytes);
    crate::support::check_broken(
        crate::support::Fault::TruncatesWhenFull,
        no_space_keeps_the_old_bytes,
    );
}
