//! How the rates hold up: many tasks, many sessions, many names in a folder.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use seamfs::core::{FileSystemExt, ListOptions};
use seamfs::providers::{Durability, Local, LocalOptions};
use seamfs::{FileSystem, Session, Target, Workspace};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::harness::Harness;
use crate::scene::{Turn, alongside, call, text, timed};

/// Measures every figure that is wanted.
pub(crate) fn run(harness: &mut Harness, runtime: &Runtime, folder: &Path) {
    let folder = tempfile::tempdir_in(folder).expect("a folder");
    let options = LocalOptions::default().durability(Durability::None);
    let fs: Arc<dyn FileSystem> = Arc::new(Local::open_with(folder.path(), options).expect("it"));
    // Without the policy two writers of one file are no conflict.
    let workspace = Workspace::builder().rules([]).over(Arc::clone(&fs));
    one_file(harness, runtime, folder.path(), &workspace);
    many_files(harness, runtime, folder.path(), &workspace);
    sessions(harness, runtime, folder.path(), &fs);
    listings(harness, runtime, folder.path(), &fs);
}

/// Edits by a task for each session and its file; returns edits a second.
fn rate(runtime: &Runtime, time: Duration, sessions: Vec<(Session, String)>) -> f64 {
    let start = Instant::now();
    let tasks: Vec<_> = sessions
        .into_iter()
        .map(|(session, file)| {
            runtime.spawn(async move {
                let (turn, mut done) = (Turn::default(), 0_u32);
                while start.elapsed() < time {
                    let (old, new) = turn.next();
                    let result = session
                        .call(
                            "edit",
                            json!({"file_path": file, "old_string": old, "new_string": new}),
                        )
                        .await;
                    // The run before may have left the mark in its other form.
                    done += u32::from(!result.is_error());
                }
                done
            })
        })
        .collect();
    let done: u32 = tasks
        .into_iter()
        .map(|task| runtime.block_on(task).expect("a task"))
        .sum();
    f64::from(done) / start.elapsed().as_secs_f64()
}

fn one_file(harness: &mut Harness, runtime: &Runtime, folder: &Path, workspace: &Workspace) {
    if !harness.wants("edits of one file") {
        return;
    }
    let time = harness.budget.while_scaling();
    for tasks in [1, 4, 16, 64] {
        // Every task has a mark of its own to turn, by its own line.
        let lines: String = (0..tasks).map(|task| format!("#{task}: off\n")).collect();
        std::fs::write(folder.join("one.txt"), lines).expect("room");
        let start = Instant::now();
        let running: Vec<_> = (0..tasks)
            .map(|task| {
                let session = workspace.session(&format!("task-{task}"));
                runtime.spawn(async move {
                    let (mut from, mut to, mut done) = ("off", "on", 0_u32);
                    while start.elapsed() < time {
                        let (old, new) = (format!("#{task}: {from}\n"), format!("#{task}: {to}\n"));
                        let edit =
                            json!({"file_path": "one.txt", "old_string": old, "new_string": new});
                        let result = session.call("edit", edit).await;
                        assert!(!result.is_error(), "{}", result.text);
                        std::mem::swap(&mut from, &mut to);
                        done += 1;
                    }
                    done
                })
            })
            .collect();
        let done: u32 = running
            .into_iter()
            .map(|task| runtime.block_on(task).expect("every edit lands"))
            .sum();
        harness.figure(format!(
            "edits of one file by {tasks} tasks: {:.0} a second",
            f64::from(done) / start.elapsed().as_secs_f64()
        ));
    }
}

fn many_files(harness: &mut Harness, runtime: &Runtime, folder: &Path, workspace: &Workspace) {
    if !harness.wants("edits of 64 files") {
        return;
    }
    let files: Vec<_> = (0..64)
        .map(|number| {
            let folder = folder.join(format!("folder-{number}"));
            std::fs::create_dir(&folder).expect("room");
            std::fs::write(folder.join("file.txt"), text(1 << 10)).expect("room");
            let session = workspace.session(&format!("task-{number}"));
            (session, format!("folder-{number}/file.txt"))
        })
        .collect();
    let time = harness.budget.while_scaling();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Alternated, so that drift hits both alike.
    let mut shares: Vec<f64> = (0..harness.budget.rounds())
        .map(|_| {
            let alone = rate(runtime, time, files[..1].to_vec());
            rate(runtime, time, files.clone()) / (alone * cores as f64)
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    harness.figure(format!(
        "edits of 64 files by 64 tasks: {:.2} of {cores} cores times the rate of one task",
        shares[shares.len() / 2]
    ));
}

fn sessions(harness: &mut Harness, runtime: &Runtime, folder: &Path, fs: &Arc<dyn FileSystem>) {
    for count in [1, 10, 100, 1000] {
        if !harness.wants("edits among sessions") || count > harness.budget.most_sessions() {
            continue;
        }
        let workspace = Workspace::builder().over(Arc::clone(fs));
        let sessions: Vec<_> = (0..count)
            .map(|number| {
                let file = format!("session-{number}.txt");
                std::fs::write(folder.join(&file), text(1 << 10)).expect("room");
                let session = workspace.session(&format!("session-{number}"));
                call(
                    runtime,
                    &session,
                    "read",
                    json!({"file_path": file.clone()}),
                );
                (session, file)
            })
            .collect();
        let rate = rate(runtime, harness.budget.while_scaling(), sessions);
        harness.figure(format!(
            "edits among sessions, {count} at once: {rate:.0} a second"
        ));
    }
}

async fn names(fs: &dyn FileSystem, target: &Target) -> usize {
    let listing = fs.list(target, ListOptions::default()).await;
    let mut listing = listing.expect("a listing");
    let mut names = 0;
    while let Some(name) = listing.next().await {
        name.expect("a name");
        names += 1;
    }
    names
}

fn listings(harness: &mut Harness, runtime: &Runtime, folder: &Path, fs: &Arc<dyn FileSystem>) {
    for count in [10, 1000, 10_000, 100_000] {
        let name = format!("local, listing of {count} names");
        if !harness.wants(&name) || count > harness.budget.most_names() {
            continue;
        }
        let within = folder.join(format!("names-{count}"));
        std::fs::create_dir(&within).expect("room");
        for number in 0..count {
            std::fs::File::create(within.join(format!("name-{number}"))).expect("room");
        }
        let path = format!("names-{count}");
        let target = runtime.block_on(fs.target(&path)).expect("a target");
        harness.row(
            &name,
            Box::new(|times| {
                let (fs, target) = (Arc::clone(fs), target.clone());
                let ready = move || target.clone();
                timed(runtime, times, ready, move |target| {
                    let fs = Arc::clone(&fs);
                    async move { assert_eq!(names(&*fs, &target).await, count) }
                })
            }),
            alongside(
                runtime,
                || (),
                move |()| {
                    let mut names: Vec<_> = std::fs::read_dir(&within)
                        .expect("the folder")
                        .map(|entry| {
                            let entry = entry.expect("a name");
                            let metadata = entry.metadata().expect("it is there");
                            (entry.file_name(), metadata.len())
                        })
                        .collect();
                    names.sort_unstable();
                    assert_eq!(names.len(), count);
                },
            ),
            None,
        );
    }
}
