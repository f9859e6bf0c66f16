//! What the options of the observation policy cost: an edit with all of them beside one with none.

use std::path::Path;
use std::sync::Arc;

use seamfs::providers::{Durability, Local, LocalOptions};
use seamfs::{FileSystem, Session, SessionFile, Workspace, WorkspaceBuilder};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::harness::Harness;
use crate::rows::{Turn, call, text};

/// How a session came to see the file.
const LOOKS: [(&str, bool); 2] = [("read whole", false), ("read in part", true)];

/// Measures coverage, rebase and a session file together against none of them.
pub(crate) fn run(harness: &mut Harness, runtime: &Runtime, folder: &Path) {
    for (label, size) in [("1 KiB", 1 << 10), ("64 KiB", 64 << 10)] {
        for (look, part) in LOOKS {
            let log = SessionFile::open(folder.join("sessions")).expect("a session file");
            let all = Workspace::builder().coverage().rebase();
            let all = all.log(Arc::new(log)).expect("a log");
            let subject = scene(runtime, folder, "on", all, size, part);
            let twin = scene(runtime, folder, "off", Workspace::builder(), size, part);
            let (ours, theirs) = (Turn::default(), Turn::default());
            harness.row(
                &format!("local none, options on beside off, {look}, {label}"),
                Box::new(|| edit(runtime, &subject, "on", ours.next())),
                Box::new(|| edit(runtime, &twin, "off", theirs.next())),
                None,
            );
        }
    }
}

/// Opens a workspace over a file and reads it, whole or only around its middle.
fn scene(
    runtime: &Runtime,
    folder: &Path,
    name: &str,
    builder: WorkspaceBuilder,
    size: usize,
    part: bool,
) -> Session {
    std::fs::write(folder.join(name), text(size)).expect("room");
    let options = LocalOptions::default().durability(Durability::None);
    let fs: Arc<dyn FileSystem> = Arc::new(Local::open_with(folder, options).expect("a folder"));
    let session = builder.over(fs).session("bench");
    let lines = text(size).iter().filter(|byte| **byte == b'\n').count();
    let windows = match part {
        true => vec![(lines / 2 - 2, 8)],
        false => (0..lines).step_by(500).map(|at| (at + 1, 500)).collect(),
    };
    for (offset, limit) in windows {
        let arguments = json!({"file_path": name, "offset": offset, "limit": limit});
        call(runtime, &session, "read", arguments);
    }
    session
}

fn edit(runtime: &Runtime, session: &Session, name: &str, (old, new): (&str, &str)) {
    let arguments = json!({"file_path": name, "old_string": old, "new_string": new});
    call(runtime, session, "edit", arguments);
}
