//! P: which text names which file, as far as tools can tell.

use std::os::unix::fs::symlink;

use seamfs::ErrorCode::{
    InvalidPath, NotDirectory, NotFound, NotObserved, NotRegularFile, SandboxDenied,
};
use serde_json::{Value, json};

use crate::support::{Backend, Checked, Stage, Verdict, claims, ensure, ensure_eq};

claims! {
    everywhere: [
        p1_blank_and_unaddressable_paths_are_invalid: [CoercesPaths],
        p1_ordinary_names_of_every_kind_are_paths: [SaysNothing],
        p2_relative_paths_start_at_the_folder_of_the_session: [ResolvesRelativeToRoot],
        p2_absolute_paths_and_own_urls_lie_under_the_root: [LosesThePath],
        p2_anything_outside_is_denied_and_nothing_above_the_root_is_said: [EscapesTheRoot, ShowsLeaks],
        p2b_a_trailing_slash_names_a_folder: [AcceptsTrailingSlash],
        p3_a_missing_file_is_the_same_before_and_after_its_creation: [KeysBySpelling],
        p4_a_path_through_a_file_is_no_folder: [SaysNotFoundForNotDirectory],
        p5_two_spellings_share_an_observation: [KeysBySpelling],
        p6_versions_are_opaque_text_and_equal_ones_mean_equal_bytes: [EmptiesStructured],
    ],
    local: [
        p1_names_already_in_storage_are_listed_escaped,
        p3_a_missing_file_behind_a_linked_folder_is_one_file,
        p5_a_link_and_its_file_share_an_observation,
        o3b_a_link_led_elsewhere_is_another_file,
    ],
}

async fn p1_blank_and_unaddressable_paths_are_invalid(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.txt", "one\n").await;
    let s1 = scene.s1();
    let (long, deep) = ("n".repeat(256), "abcdefghi/".repeat(103));
    let paths = [
        "",
        " ",
        "\t\n",
        "a\0b",
        "a\u{7}b",
        "a\nb",
        "a\\b",
        "dir\\a.txt",
        "a\u{85}",
        "a\u{7f}",
        &long,
        &deep,
    ];
    for path in paths {
        let refused = s1.read(path).await.fails(InvalidPath)?;
        ensure!(
            !refused.text.contains(|c: char| c.is_control() && c != '\n'),
            "{refused:?}"
        );
        s1.write(path, "x").await.fails(InvalidPath)?;
        s1.edit(path, "one", "x").await.fails(InvalidPath)?;
        if !path.trim().is_empty() {
            s1.view(path).await.fails(InvalidPath)?;
            s1.create(path, "x").await.fails(InvalidPath)?;
        }
    }
    let view = s1.view("").await.ok()?;
    ensure_eq!(
        view.structured["entries"].as_array().map(Vec::len),
        Some(1),
        "{}",
        view.text
    );
    Ok(())
}

async fn p1_ordinary_names_of_every_kind_are_paths(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let long = "n".repeat(255);
    let names = [
        "~x",
        "a b",
        " lead",
        "trail ",
        "a+b",
        "a#b",
        "a?b",
        "a&b=c",
        "a*b",
        "a|b",
        "a\"b",
        "a'b",
        "a<b>",
        "é",
        "日本",
        "a:b",
        "c:",
        "-rf",
        "@",
        "#tmp#1",
        "a%20b",
        "[...slug].ts",
        "a..b.txt",
        "..hidden",
        "...",
        "{a,b}",
        "$HOME",
        "`id`",
        "memory:x",
        "file:x",
        &long,
    ];
    for name in names {
        let path = format!("names/{name}");
        let made = s1
            .write(&path, "one\n")
            .await
            .ok()
            .map_err(|why| format!("{name}: {why}"))?;
        ensure_eq!(made.structured["path"], json!(scene.at(&path)));
        scene.holds(&path, "one\n").await?;
        s1.read(&path).await.ok()?.says("1: one\n")?;
        s1.edit(&path, "one", "two").await.ok()?;
        s1.view(&path).await.ok()?.says("two")?;
        scene.holds(&path, "two\n").await?;
    }
    let view = s1.view("names").await.ok()?;
    let entries = view.structured["entries"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let hidden = names.iter().filter(|name| name.starts_with('.')).count();
    ensure_eq!(entries.len(), names.len() - hidden, "{}", view.text);
    for entry in entries {
        ensure_eq!(entry["addressable"], json!(true));
        let args = json!({ "file_path": entry["path"] });
        s1.call("read", args).await.ok()?.says("1: two\n")?;
    }
    Ok(())
}

async fn p2_relative_paths_start_at_the_folder_of_the_session(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.txt", "root\n").await;
    scene.put("sub/a.txt", "sub\n").await;
    let s1 = scene.s1();
    let absolute = scene.at("sub");
    for (cwd, path, text) in [
        ("", "a.txt", "root"),
        ("sub", "a.txt", "sub"),
        ("sub", "../a.txt", "root"),
        ("sub/", "./a.txt", "sub"),
        (&absolute, "a.txt", "sub"),
        ("sub/none", "../a.txt", "sub"),
    ] {
        s1.in_folder(cwd)
            .read(path)
            .await
            .ok()?
            .says(&format!("1: {text}\n"))?;
    }
    s1.in_folder("sub").write("new.txt", "x").await.ok()?;
    scene.holds("sub/new.txt", "x").await?;
    s1.in_folder("sub")
        .read("../../a.txt")
        .await
        .fails(SandboxDenied)?;
    Ok(())
}

async fn p2_absolute_paths_and_own_urls_lie_under_the_root(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("dir/a b.txt", "one\n").await;
    scene.put("dir/a%20b.txt", "two\n").await;
    let s1 = scene.s1();
    // A URL that names a bucket cannot leave its slashes out.
    let with_bucket = stage.backend.has_buckets();
    let plain = scene.at("dir/a b.txt");
    let spellings = [
        plain.clone(),
        plain.replacen("dir/", "dir/./x/..//", 1),
        scene.url("dir/a%20b.txt"),
        scene
            .url("dir/a%20b.txt")
            .replacen("://", if with_bucket { "://" } else { ":" }, 1),
        scene.url("%64ir/a%20b.txt"),
    ];
    for spelling in spellings {
        let read = s1.in_folder("dir").read(&spelling).await.ok()?;
        ensure_eq!(read.structured["path"], json!(plain));
        read.says("1: one\n")?;
    }
    // Plain paths are never decoded.
    s1.read("dir/a%20b.txt").await.ok()?.says("1: two\n")?;
    s1.read(&scene.at("dir/a%20b.txt"))
        .await
        .ok()?
        .says("1: two\n")?;
    let args = json!({ "command": "view", "path": scene.url("dir/a%20b.txt") });
    s1.call("str_replace_editor", args)
        .await
        .ok()?
        .says("one")?;
    for bad in ["dir/%FF", "dir/a%2Fb", "dir?x", "dir#x"] {
        s1.read(&scene.url(bad)).await.fails(InvalidPath)?;
    }
    Ok(())
}

async fn p2_anything_outside_is_denied_and_nothing_above_the_root_is_said(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("sub/a.txt", "one\n").await;
    let s1 = scene.s1();
    let root = scene.at("");
    let mut outside = vec![
        "..".to_owned(),
        "../tenant-42/x.txt".to_owned(),
        "sub/../../tenant-42/x.txt".to_owned(),
        "sub/../..".to_owned(),
        "https://tenant-42.example/x.txt".to_owned(),
        "s3://tenant-42/x.txt".to_owned(),
        format!("{root}../tenant-42/x.txt"),
        scene.url("../tenant-42/x.txt"),
        scene.url("%2e%2e/tenant-42/x.txt"),
    ];
    if stage.backend == Backend::Local {
        let sibling = root.trim_end_matches('/').to_owned() + "-tenant-42/x.txt";
        outside.extend(["/".to_owned(), "/etc/tenant-42".to_owned(), sibling]);
    }
    for path in &outside {
        let mut results = vec![
            s1.read(path).await,
            s1.write(path, "x").await,
            s1.edit(path, "one", "x").await,
            s1.in_folder(path).read("a.txt").await,
        ];
        if !path.contains(':') && !path.starts_with('/') {
            results.push(s1.in_folder("sub").read(&format!("../{path}")).await);
        }
        for result in results {
            let result = result.fails(SandboxDenied)?;
            let shown = result.text.split([' ', ':', '\n']);
            for part in shown.filter(|part| part.starts_with('/')) {
                ensure!(
                    part.starts_with(root.trim_end_matches('/')),
                    "{path}: {}",
                    result.text
                );
            }
        }
        for command in ["view", "create"] {
            let mut args = json!({ "command": command, "path": path });
            if command == "create" {
                args["file_text"] = json!("x");
            }
            s1.call("str_replace_editor", args)
                .await
                .fails(SandboxDenied)?;
        }
    }
    // An honest path says nothing above the root either.
    let read = s1.read("sub/none.txt").await.fails(NotFound)?;
    ensure_eq!(
        read.text.lines().next(),
        Some(&*format!("FS_NOT_FOUND: {root}sub/none.txt: no such file"))
    );
    ensure!(!read.text.contains("tenant-42"), "{}", read.text);
    Ok(())
}

async fn p2b_a_trailing_slash_names_a_folder(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("a.txt", "one\n").await;
    scene.folder("dir").await;
    let s1 = scene.s1();
    s1.read("a.txt").await.ok()?;
    for (path, code) in [
        ("dir/", NotRegularFile),
        ("a.txt/", InvalidPath),
        ("new/", InvalidPath),
    ] {
        s1.read(path).await.fails(code)?;
        s1.write(path, "x").await.fails(code)?;
        if path != "dir/" {
            s1.edit(path, "one", "x").await.fails(code)?;
            s1.view(path).await.fails(code)?;
            s1.create(path, "x").await.fails(code)?;
            s1.str_replace(path, "one", "x").await.fails(code)?;
        }
    }
    s1.view("dir/").await.ok()?;
    scene.holds("a.txt", "one\n").await?;
    scene.lacks("new").await
}

async fn p3_a_missing_file_is_the_same_before_and_after_its_creation(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    s1.read("x/y/./z.txt").await.fails(NotFound)?;
    scene.put("x/y/z.txt", "theirs\n").await;
    // The absence was seen of this very file, so that its creation is news.
    let refused = s1.write("x//y/z.txt", "mine\n").await;
    refused
        .fails(seamfs::ErrorCode::StaleVersion)?
        .says("+theirs")?;
    scene.holds("x/y/z.txt", "theirs\n").await
}

async fn p4_a_path_through_a_file_is_no_folder(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("afile", "one\n").await;
    let s1 = scene.s1();
    if !scene.has_folders() {
        s1.read("afile/child").await.fails(NotFound)?;
        s1.write("afile/child", "two\n").await.ok()?;
        s1.read("afile").await.ok()?.says("1: one\n")?;
        return scene.holds("afile/child", "two\n").await;
    }
    for path in ["afile/child", "afile/deeper/child"] {
        s1.read(path).await.fails(NotDirectory)?;
        s1.write(path, "x").await.fails(NotDirectory)?;
        s1.edit(path, "one", "x").await.fails(NotDirectory)?;
        s1.view(path).await.fails(NotDirectory)?;
        s1.create(path, "x").await.fails(NotDirectory)?;
    }
    scene.holds("afile", "one\n").await
}

async fn p5_two_spellings_share_an_observation(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("dir/a.txt", "x\n").await;
    let s1 = scene.s1();
    s1.read("./dir/a.txt").await.ok()?;
    let spellings = [
        "dir/a.txt".to_owned(),
        "dir//a.txt".to_owned(),
        scene.at("dir/a.txt"),
        "dir/./a.txt".to_owned(),
        "dir/other/../a.txt".to_owned(),
        scene.url("dir/a.txt"),
    ];
    for (turn, spelling) in spellings.iter().enumerate() {
        let (old, new) = if turn % 2 == 0 {
            ("x", "y")
        } else {
            ("y", "x")
        };
        s1.edit(spelling, old, new).await.ok()?;
    }
    s1.in_folder("dir").edit("a.txt", "x", "z").await.ok()?;
    scene.holds("dir/a.txt", "z\n").await
}

async fn p6_versions_are_opaque_text_and_equal_ones_mean_equal_bytes(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    let mut of_bytes = std::collections::BTreeMap::new();
    for bytes in ["", "a", "a\n", "a\r\n", "\u{feff}a", "a"] {
        for path in ["one.txt", "two.txt"] {
            scene.put(path, bytes).await;
            let version = s1.read(path).await.ok()?.structured["version"].clone();
            let version = version.as_str().map(str::to_owned);
            let version = version.ok_or("a read without a version")?;
            ensure!(!version.is_empty(), "{bytes:?}");
            let parsed: seamfs::Version = version.parse().map_err(|why| format!("{why}"))?;
            ensure_eq!(json!(parsed), Value::String(version.clone()));
            ensure_eq!(*of_bytes.entry(version).or_insert(bytes), bytes);
        }
    }
    Ok(())
}

async fn p1_names_already_in_storage_are_listed_escaped(stage: Stage) -> Verdict {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let scene = stage.scene().await;
    for name in [&b"a\nb"[..], b"c\\d", b"\xff\xfe", b"plain"] {
        let path = scene.host_path("").join(OsStr::from_bytes(name));
        std::fs::write(path, "x").map_err(|error| error.to_string())?;
    }
    let view = scene.s1().view("").await.ok()?;
    for (name, addressable) in [
        ("\\xFF\\xFE", false),
        ("a\\x0Ab", false),
        ("c\\x5Cd", false),
        ("plain", true),
    ] {
        let entry = json!({ "kind": "f", "path": scene.at(name), "addressable": addressable });
        let entries = view.structured["entries"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        ensure!(entries.contains(&entry), "{entry} in {entries:?}");
        let mark = if addressable {
            ""
        } else {
            " (not addressable)"
        };
        view.clone().says(&format!("f\t{}{mark}", scene.at(name)))?;
    }
    ensure_eq!(view.text.lines().count(), 5);
    scene.s1().read("a\nb").await.fails(InvalidPath)?;
    Ok(())
}

async fn p3_a_missing_file_behind_a_linked_folder_is_one_file(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.folder("real").await;
    symlink("real", scene.host_path("link")).map_err(|error| error.to_string())?;
    let s1 = scene.s1();
    s1.read("link/deep/a.txt").await.fails(NotFound)?;
    let made = s1.write("real/deep/a.txt", "one\n").await.ok()?;
    ensure_eq!(made.structured["path"], json!(scene.at("real/deep/a.txt")));
    s1.edit("link/deep/a.txt", "one", "two").await.ok()?;
    scene.holds("real/deep/a.txt", "two\n").await
}

async fn p5_a_link_and_its_file_share_an_observation(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("dir/a.txt", "x\n").await;
    symlink("dir", scene.host_path("ln")).map_err(|error| error.to_string())?;
    symlink("dir/a.txt", scene.host_path("file")).map_err(|error| error.to_string())?;
    let s1 = scene.s1();
    s1.read("ln/a.txt").await.ok()?;
    s1.edit("dir/a.txt", "x", "y").await.ok()?;
    s1.edit("file", "y", "z").await.ok()?;
    s1.edit("ln/./a.txt", "z", "w").await.ok()?;
    scene.holds("dir/a.txt", "w\n").await?;
    ensure!(
        scene.host_path("file").is_symlink(),
        "the link became a file"
    );
    Ok(())
}

async fn o3b_a_link_led_elsewhere_is_another_file(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    scene.put("one.txt", "x\n").await;
    scene.put("two.txt", "x\n").await;
    symlink("one.txt", scene.host_path("link")).map_err(|error| error.to_string())?;
    let s1 = scene.s1();
    s1.read("link").await.ok()?;
    scene.remove("link").await;
    symlink("two.txt", scene.host_path("link")).map_err(|error| error.to_string())?;
    s1.edit("link", "x", "y").await.fails(NotObserved)?;
    s1.write("link", "y").await.fails(NotObserved)?;
    scene.holds("two.txt", "x\n").await?;
    s1.read("link").await.ok()?;
    s1.edit("link", "x", "y").await.ok()?;
    scene.holds("two.txt", "y\n").await?;
    scene.holds("one.txt", "x\n").await
}
