//! How much memory an edit takes at its peak, and a session that has seen a file.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use seamfs::Workspace;
use seamfs::providers::{Durability, Local, LocalOptions, Memory};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::harness::Harness;
use crate::observed::resident;
use crate::scene::{SIZES, Turn, call, text};

/// The argument that makes this program the child whose memory is measured.
pub(crate) const CHILD: &str = "--edit-once";

/// Reads and edits a file, and prints how many bytes were resident at the most.
pub(crate) fn child(path: &str) {
    let path = Path::new(path);
    let runtime = Runtime::new().expect("a runtime");
    let options = LocalOptions::default().durability(Durability::None);
    let folder = path.parent().expect("a folder");
    let fs = Local::open_with(folder, options).expect("a folder");
    let session = Workspace::builder().over(Arc::new(fs)).session("bench");
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    call(&runtime, &session, "read", json!({"file_path": name}));
    let (old, new) = Turn::default().next();
    let edit = json!({"file_path": name, "old_string": old, "new_string": new});
    call(&runtime, &session, "edit", edit);
    println!("{}", crate::observed::status("VmHWM:").unwrap_or_default());
}

/// Measures both.
pub(crate) fn run(harness: &mut Harness, folder: &Path) {
    peaks(harness, folder);
    sessions(harness);
}

fn peaks(harness: &mut Harness, folder: &Path) {
    let mut least = None;
    for (label, size) in SIZES {
        let name = format!("peak memory of an edit of {label}");
        if size > harness.budget.largest || !harness.wants("peak memory") {
            continue;
        }
        let path = folder.join("once.txt");
        std::fs::write(&path, text(size)).expect("room");
        let program = std::env::current_exe().expect("this program");
        let child = Command::new(program).arg(CHILD).arg(&path).output();
        let child = child.expect("a process");
        let peak: usize = String::from_utf8_lossy(&child.stdout)
            .trim()
            .parse()
            .expect("a figure");
        let above = peak.saturating_sub(*least.get_or_insert(peak));
        let times = above as f64 / size as f64;
        harness.figure(match peak {
            0 => format!("SKIP {name}: this kernel does not tell the peak"),
            _ => format!(
                "{name}: {:.1} MiB resident, {times:.2} times the file above one of 1 KiB",
                peak as f64 / f64::from(1 << 20)
            ),
        });
    }
}

/// Measures what a session takes that has seen one file.
fn sessions(harness: &mut Harness) {
    const SESSIONS: usize = 10_000;
    let name = "memory of a session that has seen a file";
    if !harness.wants(name) {
        return;
    }
    let runtime = Runtime::new().expect("a runtime");
    let workspace = Workspace::builder().over(Arc::new(Memory::new()));
    let write = json!({"file_path": "subject.txt", "content": "text\n"});
    call(&runtime, &workspace.session("bench"), "write", write);
    let Some(before) = resident() else {
        harness.figure(format!(
            "SKIP {name}: this kernel does not tell what is resident"
        ));
        return;
    };
    for number in 0..SESSIONS {
        let session = workspace.session(&format!("session-{number}"));
        call(
            &runtime,
            &session,
            "read",
            json!({"file_path": "subject.txt"}),
        );
    }
    let bytes = resident().unwrap_or(before).saturating_sub(before) / SESSIONS;
    harness.figure(format!("{name}: {bytes} bytes"));
}
