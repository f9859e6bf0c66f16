//! What the options of the observation policy cost: an edit with all of them beside one with none.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use seamfs::core::TargetKey;
use seamfs::core::gate::{Observation, Observed, Shown};
use seamfs::policy::{Detail, Ledger};
use seamfs::providers::{Durability, Local, LocalOptions};
use seamfs::{
    Actor, FileSystem, Session, SessionFile, Target, Version, Workspace, WorkspaceBuilder,
};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::harness::Harness;
use crate::scene::{Turn, call, calls, text};

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
                Box::new(|times| edits(runtime, &subject, "on", &ours, times)),
                Box::new(|times| edits(runtime, &twin, "off", &theirs, times)),
                None,
            );
        }
    }
}

/// Measures what a ledger takes for each file that a session saw, the contents apart.
pub(crate) fn memory(harness: &mut Harness) {
    // All of them stay, so that none is made in what another one left.
    let mut ledgers = Vec::new();
    for (label, detail, ranges) in [
        ("seen", Detail::Versions, 0),
        ("seen in 1 range of lines", Detail::Lines, 1),
        ("seen in 16 ranges of lines", Detail::Lines, 16),
        ("seen in 256 ranges of lines", Detail::Lines, 256),
    ] {
        let name = format!("ledger, memory of a file {label}");
        if harness.wants(&name) {
            harness.figure(match memory_of_a_file(&mut ledgers, detail, ranges) {
                Some(bytes) => format!("{name}: {bytes} bytes"),
                None => format!("SKIP {name}: this kernel does not tell what is resident"),
            });
        }
    }
}

fn memory_of_a_file(ledgers: &mut Vec<Ledger>, detail: Detail, ranges: u64) -> Option<usize> {
    const FILES: usize = 16_000;
    let ledger = Ledger::keeping(detail);
    let before = resident()?;
    for number in 0..FILES {
        let path = format!("/project/src/some_folder/file_{number}.rs");
        let target = Target::new(TargetKey::new(&path), &path);
        let lines = (0..ranges).map(|range| 3 * range + 1..=3 * range + 2);
        ledger.observed(&Observed {
            actor: &Actor::new("bench"),
            target: &target,
            observation: Observation::Present {
                version: Version::of(path.as_bytes()),
                shown: Shown::Lines {
                    lines: lines.collect(),
                    parts: Vec::new(),
                    total: 10_000,
                },
            },
            before: None,
            after: None,
            outline: None,
            own: false,
            edit: None,
        });
    }
    ledgers.push(ledger);
    Some((resident()? - before) / FILES)
}

/// Returns how much memory of the process is resident, in bytes.
pub(crate) fn resident() -> Option<usize> {
    status("VmRSS:")
}

/// Returns what the kernel tells of the process under a word, in bytes.
pub(crate) fn status(word: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let figure = status.lines().find_map(|line| line.strip_prefix(word))?;
    let kibibytes: usize = figure.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
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

fn edits(
    runtime: &Runtime,
    session: &Session,
    name: &'static str,
    turn: &Turn,
    times: usize,
) -> Duration {
    let turn = turn.clone();
    calls(runtime, session, "edit", times, move || {
        let (old, new) = turn.next();
        json!({"file_path": name, "old_string": old, "new_string": new})
    })
}
