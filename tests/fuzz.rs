//! The fuzzer's corpus, through the same functions on every change.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::support::Batch;

// The crate is a workspace of its own, since the fuzzer needs another compiler.
#[allow(unreachable_pub)]
#[path = "../fuzz/src/lib.rs"]
mod targets;

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")
}

/// Runs every input of a target; returns how many there are.
fn replay(target: &str, run: impl Fn(&[u8])) -> usize {
    let mut inputs: Vec<_> = fs::read_dir(corpus().join(target))
        .expect("the target has a corpus")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    inputs.sort();
    for input in &inputs {
        eprintln!("{}", input.display());
        run(&fs::read(input).expect("it can be read"));
    }
    assert!(!inputs.is_empty(), "{target} has no inputs");
    inputs.len()
}

#[test]
fn paths() {
    replay("paths", targets::paths);
}

#[test]
fn texts() {
    replay("texts", targets::texts);
}

#[test]
fn envelope() {
    replay("envelope", targets::envelope);
}

#[test]
fn arguments() {
    replay("arguments", targets::arguments);
}

#[test]
fn frames() {
    replay("frames", targets::frames);
}

#[test]
fn batch() {
    let mut process = Batch::start(&["-w", "memory:"]);
    let process_lines = std::cell::RefCell::new(&mut process);
    replay("batch", |input| {
        let lines = input.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
            let line = String::from_utf8_lossy(line);
            targets::check_answer(&process_lines.borrow_mut().send(&line));
        }
    });
    assert_eq!(process.finish(), 0);
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let names = |folder: PathBuf| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).expect("it is there");
        let name = |entry: fs::DirEntry| {
            let path = entry.path();
            path.file_stem()
                .map(|name| name.to_string_lossy().into_owned())
        };
        entries
            .filter_map(|entry| name(entry.expect("it can be listed")))
            .collect()
    };
    let targets = corpus().with_file_name("fuzz_targets");
    assert_eq!(names(corpus()), names(targets));
}
