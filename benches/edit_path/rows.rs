//! The rows of the table: what is measured, on which provider, at which size.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use seamfs::core::replace::Replace;
use seamfs::core::{EditOptions, Expected, FileSystem, FileSystemExt, Target};
use seamfs::providers::{Durability, Memory};
use seamfs::{Session, Workspace};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::harness::Harness;
use crate::local::LocalScene;
use crate::scene::{SIZES, Turn, alongside, call, calls, text, timed};
use crate::twin::{self, Sync};
use crate::{footprint, object, observed, scaling, stdio};

/// Measures every row that is wanted.
pub(crate) fn run(harness: &mut Harness, folder: &Path) {
    let runtime = Runtime::new().expect("a runtime");
    let durabilities = [
        ("none", Durability::None, Sync::None),
        ("data", Durability::Data, Sync::Data),
        ("full", Durability::Full, Sync::Full),
    ];
    footprint::run(harness, folder);
    observed::memory(harness);
    observed::run(harness, &runtime, folder);
    for (label, size) in SIZES {
        if size > harness.budget.largest {
            continue;
        }
        memory(harness, &runtime, label, size);
        object::run(harness, &runtime, label, size);
        for (name, durability, sync) in durabilities {
            let scene = LocalScene::new(&runtime, folder, size, durability, sync);
            scene.edits(harness, label, name);
            if sync == Sync::None {
                scene.edits_at_rest(harness, label, files_at_rest(size));
                scene.others(harness, label);
            }
        }
    }
    stdio::run(harness, &runtime, folder);
    scaling::run(harness, &runtime, folder);
}

/// Returns how many files are edited in turn so that a tenth of a second passes before the first
/// one's next edit, which none of them takes faster than 50 µs and a byte a nanosecond.
fn files_at_rest(size: usize) -> usize {
    (100_000_000 / (50_000 + size)).max(4)
}

pub(crate) fn edits_by_tool(
    runtime: &Runtime,
    session: &Session,
    turn: &Turn,
    times: usize,
) -> Duration {
    let turn = turn.clone();
    calls(runtime, session, "edit", times, move || {
        let (old, new) = turn.next();
        json!({"file_path": "subject.txt", "old_string": old, "new_string": new})
    })
}

pub(crate) fn edits_by_provider(
    runtime: &Runtime,
    (fs, target): (&Arc<dyn FileSystem>, &Target),
    turn: &Turn,
    times: usize,
) -> Duration {
    let (fs, target, turn) = (Arc::clone(fs), target.clone(), turn.clone());
    let transform = move || {
        let (old, new) = turn.next();
        Arc::new(Replace::once(old, new).expect("two texts"))
    };
    timed(runtime, times, transform, move |transform| {
        let (fs, target) = (Arc::clone(&fs), target.clone());
        async move {
            let edited = fs.edit(&target, transform, EditOptions::default()).await;
            assert!(edited.expect("an edit").changed());
        }
    })
}

fn memory(harness: &mut Harness, runtime: &Runtime, label: &str, size: usize) {
    let fs: Arc<dyn FileSystem> = Arc::new(Memory::new());
    let session = Workspace::builder().over(Arc::clone(&fs)).session("bench");
    let target = runtime
        .block_on(fs.target("subject.txt"))
        .expect("a target");
    for way in ["tool", "provider"] {
        let name = format!("memory, edit by {way}, {label}");
        if !harness.wants(&name) {
            continue;
        }
        let bytes = Bytes::from(text(size));
        runtime
            .block_on(fs.write_all(&target, bytes, Expected::Any))
            .expect("a write");
        let read = json!({"file_path": "subject.txt"});
        call(runtime, &session, "read", read);
        let slot = Mutex::new(text(size));
        let (ours, theirs) = (Turn::default(), Turn::default());
        harness.row(
            &name,
            Box::new(|times| match way {
                "tool" => edits_by_tool(runtime, &session, &ours, times),
                _ => edits_by_provider(runtime, (&fs, &target), &ours, times),
            }),
            alongside(
                runtime,
                move || theirs.next(),
                move |(old, new)| {
                    let mut slot = slot.lock().expect("one at a time");
                    twin::edit_in_memory(&mut slot, old.as_bytes(), new.as_bytes());
                },
            ),
            None,
        );
    }
}
