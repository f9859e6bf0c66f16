//! Path rules: what is hidden, denied or read-only is so in every tool, and through links.

use std::sync::Arc;

use async_trait::async_trait;
use seamfs::ErrorCode::{
    AlreadyExists, InvalidPath, NotDirectory, NotFound, NotObserved, NotRegularFile, SandboxDenied,
    StaleVersion,
};
use seamfs::core::{
    CreateDirOptions, Expected, FileKind, Namespace, RemoveOptions, ResolveOptions, StatOptions,
    TransferOptions,
};
use seamfs::policy::{Access, PathRules, Ruled};
use seamfs::{ErrorCode, FileSystem, FileSystemExt, Result, Target, ToolResult, WorkspaceBuilder};

use super::decided;
use crate::support::{
    Backend, Checked, Double, Hand, Hooks, Scene, Stage, Verdict, check, ensure, ensure_eq,
};

decided! { ruled:
    a_secret_is_absent_in_every_tool,
    a_hidden_file_is_answered_as_one_that_is_not_there,
    a_denied_path_is_refused_in_every_tool,
    a_read_only_path_can_be_read_and_not_changed,
    a_denial_comes_before_any_other_refusal,
    a_listing_leaves_out_what_is_hidden_and_bares_nothing_of_what_is_denied,
    both_ends_of_a_move_and_a_copy_are_asked,
    a_folder_does_not_carry_what_is_closed_along,
    every_spelling_meets_the_rule,
    accents_open_nothing_however_they_are_composed,
}

type Decide = fn(WorkspaceBuilder, PathRules) -> WorkspaceBuilder;

fn ruled(builder: WorkspaceBuilder, rules: PathRules) -> WorkspaceBuilder {
    builder.path_rules(rules)
}

const SECRET: &str = "KEY=hunter2\n";

fn rules(access: Access, patterns: &[&str]) -> PathRules {
    let builder = PathRules::builder().add(access, patterns);
    builder.and_then(|rules| rules.build()).expect("patterns")
}

fn secrets() -> PathRules {
    let builder = PathRules::builder().secrets(Access::Hidden);
    builder.build().expect("patterns")
}

/// Calls every command of every tool on one path.
async fn every_tool(hand: &Hand, path: &str) -> Vec<(&'static str, ToolResult)> {
    vec![
        ("read", hand.read(path).await),
        ("view", hand.view(path).await),
        ("edit", hand.edit(path, "KEY", "X").await),
        ("str_replace", hand.str_replace(path, "KEY", "X").await),
        ("insert", hand.insert(path, 0, "X").await),
        ("write", hand.write(path, "X").await),
        ("create", hand.create(path, "X").await),
    ]
}

/// Returns everything that a result shows to anybody.
fn shown(result: &ToolResult) -> String {
    format!("{result:?}")
}

/// How rules are put over a workspace.
#[derive(Clone, Copy)]
enum How {
    Builder(Decide),
    Layer(fn(Fs, PathRules) -> Fs),
}

type Fs = Arc<dyn FileSystem>;

impl From<Decide> for How {
    fn from(decide: Decide) -> Self {
        Self::Builder(decide)
    }
}

async fn closed(stage: Stage, how: impl Into<How>, rules: PathRules) -> Scene {
    let scene = match how.into() {
        How::Builder(decide) => stage.scene_with(|builder| decide(builder, rules)).await,
        How::Layer(layer) => {
            stage
                .scene_over(|builder| builder, |fs| layer(fs, rules))
                .await
        }
    };
    scene.put("app/.env", SECRET).await;
    scene.put("app/open.txt", "open\n").await;
    scene
}

async fn a_secret_is_absent_in_every_tool(stage: Stage, decide: Decide) -> Verdict {
    let scene = closed(stage, decide, secrets()).await;
    for session in 0..2 {
        let hand = scene.hand(&format!("S{session}"));
        for (tool, result) in every_tool(&hand, "app/.env").await {
            let everything = shown(&result);
            let expected = match tool {
                "write" | "create" => SandboxDenied,
                _ => NotFound,
            };
            result
                .fails(expected)
                .map_err(|why| format!("{tool}: {why}"))?;
            ensure!(!everything.contains("hunter2"), "{tool}: {everything}");
        }
    }
    for folder in ["app", ""] {
        let listing = scene.s1().view(folder).await.ok()?;
        listing.says("open.txt")?.never_says(".env")?;
    }
    scene.s1().read("app/.ENV").await.fails(NotFound)?;
    scene.s1().write("app/.env.example", "KEY=\n").await.ok()?;
    scene.holds("app/.env", SECRET).await
}

async fn a_hidden_file_is_answered_as_one_that_is_not_there(
    stage: Stage,
    decide: Decide,
) -> Verdict {
    let scene = closed(stage, decide, secrets()).await;
    scene.put("keys/id_rsa/child.txt", "nested\n").await;
    let there = every_tool(&scene.hand("A"), "app/.env").await;
    let absent = every_tool(&scene.hand("B"), "app/.env.prod").await;
    for ((tool, there), (_, absent)) in there.into_iter().zip(absent) {
        let renamed = shown(&absent).replace(".env.prod", ".env");
        ensure_eq!(shown(&there), renamed, "{tool}");
    }
    // And as what no rule hides, where reading is concerned.
    let hidden = scene.s1().read("app/.env").await;
    let missing = scene.s1().read("app/gone").await;
    ensure_eq!(shown(&hidden), shown(&missing).replace("gone", ".env"));
    // What is beneath it, or a slash behind it, says nothing of what it is.
    for (one, other) in [
        ("id_rsa", "id_dsa"),
        ("id_rsa/child.txt", "id_dsa/child.txt"),
    ] {
        for path in [format!("keys/{one}"), format!("keys/{one}/")] {
            let hidden = scene.s1().read(&path).await;
            let missing = scene.s1().read(&path.replace(one, other)).await;
            ensure_eq!(shown(&hidden), shown(&missing).replace(other, one));
        }
    }
    scene.s1().read("keys/id_rsa/").await.fails(InvalidPath)?;
    Ok(())
}

async fn a_denied_path_is_refused_in_every_tool(stage: Stage, decide: Decide) -> Verdict {
    let scene = closed(stage, decide, rules(Access::Denied, &[".env", "infra"])).await;
    scene.put("infra/prod.tf", SECRET).await;
    for path in ["app/.env", "infra/prod.tf", "infra/none", "infra"] {
        for (tool, result) in every_tool(&scene.s1(), path).await {
            let everything = shown(&result);
            let refused = result.fails(SandboxDenied);
            let refused = refused.and_then(|refused| refused.says("a rule of this workspace"));
            refused.map_err(|why| format!("{tool} {path}: {why}"))?;
            ensure!(!everything.contains("hunter2"), "{tool}: {everything}");
        }
    }
    scene.lacks("infra/none").await?;
    scene.holds("infra/prod.tf", SECRET).await?;
    scene.holds("app/.env", SECRET).await
}

async fn a_read_only_path_can_be_read_and_not_changed(stage: Stage, decide: Decide) -> Verdict {
    let scene = closed(
        stage,
        decide,
        rules(Access::ReadOnly, &["app", "!app/free.txt"]),
    )
    .await;
    for (tool, result) in every_tool(&scene.s1(), "app/.env").await {
        match tool {
            "read" | "view" => result.ok()?.says("hunter2")?,
            _ => result.fails(SandboxDenied)?.says("read-only")?,
        };
    }
    scene
        .s1()
        .write("app/new.txt", "x")
        .await
        .fails(SandboxDenied)?;
    scene.lacks("app/new.txt").await?;
    scene.s1().write("app/free.txt", "x").await.ok()?;
    scene.holds("app/.env", SECRET).await
}

async fn a_denial_comes_before_any_other_refusal(stage: Stage, decide: Decide) -> Verdict {
    let scene = closed(stage, decide, rules(Access::ReadOnly, &["app"])).await;
    // A model that is told to read first would read in vain.
    let unseen = scene.s1().edit("app/open.txt", "open", "shut").await;
    unseen.fails(SandboxDenied)?;
    scene.put("free.txt", "open\n").await;
    scene
        .s1()
        .edit("free.txt", "open", "shut")
        .await
        .fails(NotObserved)?;
    Ok(())
}

fn code<T>(result: Result<T>) -> Option<ErrorCode> {
    result.err().map(|error| error.code())
}

async fn a_listing_leaves_out_what_is_hidden_and_bares_nothing_of_what_is_denied(
    stage: Stage,
    decide: Decide,
) -> Verdict {
    let closed_rules = PathRules::builder()
        .add(Access::Hidden, [".env"])
        .and_then(|rules| rules.add(Access::Denied, ["open.txt"]))
        .and_then(|rules| rules.build())
        .expect("patterns");
    let scene = closed(stage, decide, closed_rules).await;
    scene.put("app/plain.txt", "plain\n").await;
    let fs = scene.workspace.fs();
    let folder = fs.target("app").await.map_err(|e| e.to_string())?;
    let entries = fs.list_all(&folder).await.map_err(|e| e.to_string())?;
    let found: Vec<_> = entries
        .iter()
        .map(|entry| {
            let size = entry
                .metadata
                .as_ref()
                .ok()
                .and_then(|metadata| metadata.size);
            (entry.name.as_str(), entry.kind(), size)
        })
        .collect();
    let expected = [
        ("open.txt", FileKind::File, None),
        ("plain.txt", FileKind::File, Some(6)),
    ];
    ensure_eq!(found, expected);
    let hidden = fs.target("app/.env").await.map_err(|e| e.to_string())?;
    let stat = fs.stat(&hidden, StatOptions::default()).await;
    ensure!(matches!(stat, Ok(None)), "{stat:?}");
    ensure_eq!(code(fs.read_all(&hidden).await), Some(NotFound));
    ensure_eq!(code(fs.list_all(&hidden).await), Some(NotFound));
    ensure_eq!(code(fs.target("app/open.txt").await), Some(SandboxDenied));
    Ok(())
}

async fn both_ends_of_a_move_and_a_copy_are_asked(stage: Stage, decide: Decide) -> Verdict {
    let closed_rules = PathRules::builder()
        .add(Access::Hidden, [".env"])
        .and_then(|rules| rules.add(Access::ReadOnly, ["kept.txt"]))
        .and_then(|rules| rules.build())
        .expect("patterns");
    let scene = closed(stage, decide, closed_rules).await;
    scene.put("app/kept.txt", "kept\n").await;
    let fs = scene.workspace.fs();
    let target = async |path: &str| fs.target(path).await.map_err(|e| e.to_string());
    let (env, kept, open) = (
        target("app/.env").await?,
        target("app/kept.txt").await?,
        target("app/open.txt").await?,
    );
    let new = target("app/new.txt").await?;
    let options = TransferOptions::default;
    let over = || TransferOptions {
        destination: Expected::Any,
        ..TransferOptions::default()
    };
    for (found, expected) in [
        (code(fs.rename(&env, &new, options()).await), NotFound),
        (code(fs.copy(&env, &new, options()).await), NotFound),
        (code(fs.rename(&open, &env, over()).await), SandboxDenied),
        (code(fs.copy(&open, &env, over()).await), SandboxDenied),
        (code(fs.rename(&kept, &new, options()).await), SandboxDenied),
        (code(fs.rename(&open, &kept, over()).await), SandboxDenied),
        (code(fs.copy(&open, &kept, over()).await), SandboxDenied),
        (
            code(fs.remove(&kept, RemoveOptions::default()).await),
            SandboxDenied,
        ),
        (
            code(fs.remove(&env, RemoveOptions::default()).await),
            NotFound,
        ),
        (
            code(fs.create_dir(&env, CreateDirOptions::default()).await),
            SandboxDenied,
        ),
    ] {
        ensure_eq!(found, Some(expected));
    }
    scene.lacks("app/new.txt").await?;
    // What may be read may be copied.
    let copied = fs.copy(&kept, &new, options()).await;
    ensure!(copied.is_ok(), "{copied:?}");
    scene.holds("app/new.txt", "kept\n").await?;
    scene.holds("app/kept.txt", "kept\n").await?;
    scene.holds("app/.env", SECRET).await
}

async fn a_folder_does_not_carry_what_is_closed_along(stage: Stage, decide: Decide) -> Verdict {
    let scene = closed(
        stage,
        decide,
        rules(Access::Denied, &["app/.env", "there/x.txt"]),
    )
    .await;
    scene.put("here/deep/x.txt", "x\n").await;
    let fs = scene.workspace.fs();
    let target = async |path: &str| fs.target(path).await.map_err(|e| e.to_string());
    // Moved, it would lie where no rule knows it; or come to lie where one does.
    for (from, to) in [("app", "moved"), ("here/deep", "there")] {
        let (from, to) = (target(from).await?, target(to).await?);
        let moved = fs.rename(&from, &to, TransferOptions::default()).await;
        ensure_eq!(code(moved), Some(SandboxDenied));
    }
    scene.lacks("moved/.env").await?;
    scene.lacks("there/x.txt").await?;
    scene.holds("app/.env", SECRET).await
}

async fn every_spelling_meets_the_rule(stage: Stage, decide: Decide) -> Verdict {
    let scene = closed(stage, decide, rules(Access::Denied, &["app/.env"])).await;
    let root = scene.at("");
    let hand = scene.s1();
    for path in [
        "./app/../app//.env".to_owned(),
        format!("{root}app/.env"),
        format!("{root}app/./x/../.env"),
        "APP/.Env".to_owned(),
    ] {
        hand.read(&path).await.fails(SandboxDenied)?;
    }
    hand.in_folder("app")
        .read(".env")
        .await
        .fails(SandboxDenied)?;
    hand.in_folder(&scene.at("app"))
        .read("./.env")
        .await
        .fails(SandboxDenied)?;
    Ok(())
}

async fn accents_open_nothing_however_they_are_composed(stage: Stage, decide: Decide) -> Verdict {
    let names = ["caf\u{e9}.txt", "cafe\u{301}.txt", "CAFE\u{301}.TXT"];
    for pattern in &names[..2] {
        let scene = closed(stage, decide, rules(Access::Hidden, &[pattern])).await;
        for name in names {
            scene.put(name, SECRET).await;
        }
        for name in names {
            for (tool, result) in every_tool(&scene.s1(), name).await {
                let everything = shown(&result);
                ensure!(result.is_error(), "{tool} {name}: {everything}");
                ensure!(!everything.contains("hunter2"), "{tool}: {everything}");
            }
        }
        let listing = scene.s1().view("").await.ok()?;
        listing.says("app")?.never_says("caf")?.never_says("CAF")?;
        scene.s1().write("cafe.txt", "open\n").await.ok()?;
    }
    Ok(())
}

/// A layer that decides on a path as it is spelled and on where it leads.
fn on_both(fs: Fs, rules: PathRules) -> Fs {
    Arc::new(Ruled::new(fs, rules))
}

/// A double that decides on a path as it is spelled alone.
fn on_the_spelling(fs: Fs, rules: PathRules) -> Fs {
    on_both(Double::over(fs, ShowsSpellings), rules)
}

/// Storage that shows each target by the path that was asked for.
#[derive(Debug)]
struct ShowsSpellings;

#[async_trait]
impl Hooks for ShowsSpellings {
    async fn resolve(
        &self,
        fs: &dyn FileSystem,
        path: &str,
        cwd: &str,
        options: ResolveOptions,
    ) -> Result<Target> {
        let root = fs.resolve(".", "", ResolveOptions::default()).await?;
        let target = fs.resolve(path, cwd, options).await?;
        let namespace = Namespace::with_display_root(root.display());
        Ok(match namespace.parse(path, cwd) {
            Ok(spelled) => Target::new(target.key().clone(), namespace.display(&spelled.path)),
            Err(_) => target,
        })
    }
}

/// A double that decides on where a path leads alone.
fn on_where_it_leads(fs: Fs, rules: PathRules) -> Fs {
    let storage = Arc::clone(&fs);
    Double::over(on_both(fs, rules), FollowsFirst { storage })
}

/// A layer that asks for each path by where it leads.
#[derive(Debug)]
struct FollowsFirst {
    storage: Fs,
}

#[async_trait]
impl Hooks for FollowsFirst {
    async fn resolve(
        &self,
        fs: &dyn FileSystem,
        path: &str,
        cwd: &str,
        options: ResolveOptions,
    ) -> Result<Target> {
        let there = self.storage.resolve(path, cwd, options.clone()).await?;
        fs.resolve(there.display(), "", options).await
    }
}

/// Checks a claim about links, that forgetting the rules breaks it, and so does the double that
/// looks at one side of a link.
macro_rules! linked {
    ($($name:ident: $half:ident),* $(,)?) => {$(
        mod $name {
            use super::*;

            #[test]
            fn holds() {
                check(Backend::Local, |stage| super::$name(stage, How::Builder(ruled)));
                check(Backend::Local, |stage| super::$name(stage, How::Layer(on_both)));
            }

            #[test]
            #[should_panic(expected = "on Local")]
            fn is_broken_by_a_workspace_that_forgets() {
                let forgets = How::Builder(|builder, _| builder);
                check(Backend::Local, |stage| super::$name(stage, forgets));
            }

            #[test]
            #[should_panic(expected = "on Local")]
            fn is_broken_by_rules_that_see_one_side_of_a_link() {
                check(Backend::Local, |stage| super::$name(stage, How::Layer($half)));
            }
        }
    )*};
}

linked! {
    a_link_to_what_is_closed_is_closed_and_names_it_not: on_the_spelling,
    a_link_to_what_is_hidden_does_not_say_whether_it_is_there: on_the_spelling,
    a_link_that_is_closed_is_closed_whatever_it_leads_to: on_where_it_leads,
    a_diff_never_shows_what_a_link_was_turned_to: on_where_it_leads,
}

async fn a_link_to_what_is_closed_is_closed_and_names_it_not(stage: Stage, how: How) -> Verdict {
    for (access, code) in [(Access::Hidden, NotFound), (Access::Denied, SandboxDenied)] {
        let scene = closed(stage, how, rules(access, &[".env", "vault"])).await;
        scene.put("vault/deep/key.txt", SECRET).await;
        let link = |from: &str, to: &str| {
            std::os::unix::fs::symlink(to, scene.host_path(from)).expect("a link");
        };
        link("plain.txt", "app/.env");
        link("twice.txt", "plain.txt");
        link("folder", "vault/deep");
        for path in [
            "plain.txt",
            "twice.txt",
            "folder/key.txt",
            "plain.txt/child",
            "folder",
        ] {
            for (tool, result) in every_tool(&scene.s1(), path).await {
                let everything = shown(&result);
                let through = path.contains('/');
                let expected = match (access, tool) {
                    // A link to what looks absent looks as one that dangles.
                    (Access::Hidden, "write" | "create") if through => NotDirectory,
                    (Access::Hidden, "write") => NotRegularFile,
                    (Access::Hidden, "create") => AlreadyExists,
                    _ => code,
                };
                let refused = result.fails(expected);
                refused.map_err(|why| format!("{tool} {path}: {why}"))?;
                for word in ["hunter2", ".env", "vault"] {
                    ensure!(!everything.contains(word), "{tool} {path}: {everything}");
                }
            }
        }
        scene.holds("app/.env", SECRET).await?;
        scene.holds("vault/deep/key.txt", SECRET).await?;
    }
    Ok(())
}

async fn a_link_to_what_is_hidden_does_not_say_whether_it_is_there(
    stage: Stage,
    how: How,
) -> Verdict {
    let scene = closed(stage, how, secrets()).await;
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(to, scene.host_path(from)).expect("a link");
    };
    scene.put("vault/.ssh/key.txt", SECRET).await;
    link("one.txt", "app/.env");
    link("two.txt", "app/.env.prod");
    link("one", "vault/.ssh");
    link("two", "vault/.gnupg");
    for (one, other) in [
        ("one.txt", "two.txt"),
        ("one.txt/child", "two.txt/child"),
        ("one", "two"),
        ("one/key.txt", "two/key.txt"),
        ("one/", "two/"),
        ("one/none/deep", "two/none/deep"),
    ] {
        for read_first in [true, false] {
            let mut there = every_tool(&scene.hand("A"), one).await;
            let mut absent = every_tool(&scene.hand("B"), other).await;
            if !read_first {
                // Without a look, and the mutations in the other order.
                there = Vec::new();
                absent = Vec::new();
                for (hand, path, results) in [
                    (scene.hand("C"), one, &mut there),
                    (scene.hand("D"), other, &mut absent),
                ] {
                    results.push(("create", hand.create(path, "X").await));
                    results.push(("write", hand.write(path, "X").await));
                    results.push(("edit", hand.edit(path, "KEY", "X").await));
                }
            }
            for ((tool, there), (_, absent)) in there.into_iter().zip(absent) {
                let absent = shown(&absent).replace("/two", "/one");
                ensure_eq!(shown(&there), absent, "{tool} {one}");
            }
        }
    }
    let listing = scene.s1().view("").await.ok()?;
    let kind_of = |name: &str| {
        let mut lines = listing.text.lines().filter(|line| line.ends_with(name));
        lines.next().and_then(|line| line.chars().next())
    };
    ensure!(kind_of("one.txt").is_some(), "{}", listing.text);
    ensure_eq!(kind_of("one.txt"), kind_of("two.txt"));
    let fs = scene.workspace.fs();
    let root = fs.target(".").await.map_err(|e| e.to_string())?;
    let entries = fs.list_all(&root).await.map_err(|e| e.to_string())?;
    let links = entries
        .iter()
        .filter(|entry| entry.name.as_str().ends_with("o.txt"));
    let others = entries
        .iter()
        .filter(|entry| entry.name.as_str() == "one.txt");
    for entry in links.chain(others) {
        ensure_eq!(entry.kind(), FileKind::Other, "{entry:?}");
    }
    for name in ["one.txt", "two.txt"] {
        let target = fs.target(name).await.map_err(|e| e.to_string())?;
        let seen = fs.lstat(&target, StatOptions::default()).await;
        let kind = seen.map(|there| there.map(|there| there.kind));
        ensure_eq!(kind.ok().flatten(), Some(FileKind::Symlink), "{name}");
        let stat = fs.stat(&target, StatOptions::default()).await;
        ensure!(matches!(stat, Ok(None)), "{name}: {stat:?}");
    }
    // Both ends of a link are looked at, so a link to what is open looks as it did.
    link("open.txt", "app/open.txt");
    let entries = fs.list_all(&root).await.map_err(|e| e.to_string())?;
    let open = entries
        .iter()
        .find(|entry| entry.name.as_str() == "open.txt");
    ensure_eq!(open.map(|entry| entry.kind()), Some(FileKind::Symlink));
    Ok(())
}

async fn a_link_that_is_closed_is_closed_whatever_it_leads_to(stage: Stage, how: How) -> Verdict {
    let closed_rules = PathRules::builder()
        .add(Access::Denied, ["alias"])
        .and_then(|rules| rules.add(Access::ReadOnly, ["fixed"]))
        .and_then(|rules| rules.build())
        .expect("patterns");
    let scene = closed(stage, how, closed_rules).await;
    for name in ["alias", "fixed"] {
        std::os::unix::fs::symlink("app", scene.host_path(name)).expect("a link");
    }
    // Another name of the root, which the host knows.
    let other = scene.beside("other");
    std::os::unix::fs::symlink("ws", &other).expect("a link");
    let root = scene.at("");
    let url = format!("file://{root}");
    let hand = scene.s1();
    for path in [
        "alias/open.txt".to_owned(),
        format!("{root}alias/open.txt"),
        format!("{url}alias/open.txt"),
        format!("{url}%61lias/open.txt"),
        format!("{url}app/../alias/open.txt"),
        format!("file:{root}alias/open.txt"),
        format!("file://localhost{root}alias/open.txt"),
    ] {
        hand.read(&path)
            .await
            .fails(SandboxDenied)?
            .says("a rule of")?;
    }
    for path in ["app/open.txt".to_owned(), format!("{url}app/open.txt")] {
        hand.read(&path).await.ok()?.says("open")?;
    }
    let cwd = format!("{url}alias");
    hand.in_folder(&cwd)
        .read("open.txt")
        .await
        .fails(SandboxDenied)?;
    hand.in_folder(&format!("{url}app"))
        .read("open.txt")
        .await
        .ok()?;
    // The spelling is remembered where the file itself is open.
    hand.read("fixed/open.txt").await.ok()?;
    hand.edit("fixed/open.txt", "open", "shut")
        .await
        .fails(SandboxDenied)?;
    hand.edit("app/open.txt", "open", "shut").await.ok()?;
    Ok(())
}

async fn a_diff_never_shows_what_a_link_was_turned_to(stage: Stage, how: How) -> Verdict {
    let scene = closed(stage, how, secrets()).await;
    scene.put("plain.txt", "mine\n").await;
    let hand = scene.s1();
    hand.read("plain.txt").await.ok()?;
    scene.remove("plain.txt").await;
    std::os::unix::fs::symlink("app/.env", scene.host_path("plain.txt")).expect("a link");
    for result in [
        hand.edit("plain.txt", "mine", "yours").await,
        hand.write("plain.txt", "yours\n").await,
        hand.str_replace("plain.txt", "KEY", "X").await,
    ] {
        let everything = shown(&result);
        ensure!(result.is_error(), "{everything}");
        ensure!(result.code() != Some(StaleVersion), "{everything}");
        for word in ["hunter2", ".env"] {
            ensure!(!everything.contains(word), "{everything}");
        }
    }
    scene.holds("app/.env", SECRET).await
}
