//! The fuzzer's corpus, through the same functions on every change, as it is and shaken a little.
//!
//! `PROPTEST_CASES` says how often each corpus is shaken; what fails is shrunk. Real fuzzing, which is
//! led by what an input reaches, is in `fuzz/README.md`.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use crate::support::Batch;

// The crate is a workspace of its own, since the fuzzer needs another compiler.
#[allow(unreachable_pub)]
#[path = "../fuzz/src/lib.rs"]
mod targets;

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")
}

/// Returns every input of a target.
fn inputs(target: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(corpus().join(target))
        .expect("the target has a corpus")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{target} has no inputs");
    let read = |path: &PathBuf| fs::read(path).expect("it can be read");
    paths.iter().map(read).collect()
}

/// A change to an input.
#[derive(Clone, Debug)]
enum Change {
    Put(Index, u8),
    Insert(Index, Vec<u8>),
    Cut(Index, Index),
    Repeat(Index, Index),
    /// Goes on as another input does.
    Graft(Index, Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    // What parsers and texts turn on, beside any byte.
    let byte = prop_oneof![
        proptest::sample::select(&b"\n\r\t\0\"\\{}[]:,/.% 09\xef\xbb\xbf\xe2\xff"[..]),
        any::<u8>(),
    ];
    prop_oneof![
        (index(), byte.clone()).prop_map(|(at, byte)| Change::Put(at, byte)),
        (index(), vec(byte, 1..5)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (index(), index()).prop_map(|(from, to)| Change::Cut(from, to)),
        (index(), index()).prop_map(|(from, to)| Change::Repeat(from, to)),
        (index(), index(), index()).prop_map(|(at, other, from)| Change::Graft(at, other, from)),
    ]
}

impl Change {
    fn apply(&self, input: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        let place = |at: &Index| at.index(input.len() + 1);
        let span = |from: &Index, to: &Index| {
            let (from, to) = (place(from), place(to));
            from.min(to)..from.max(to)
        };
        match self {
            Self::Put(at, byte) => {
                if !input.is_empty() {
                    let at = at.index(input.len());
                    input[at] = *byte;
                }
            }
            Self::Insert(at, bytes) => {
                let at = place(at);
                input.splice(at..at, bytes.iter().copied());
            }
            Self::Cut(from, to) => {
                let span = span(from, to);
                input.drain(span);
            }
            Self::Repeat(from, to) => {
                let span = span(from, to);
                let again = input[span.clone()].to_vec();
                input.splice(span.end..span.end, again);
            }
            Self::Graft(at, other, from) => {
                let (at, other) = (place(at), other.get(inputs));
                input.truncate(at);
                input.extend_from_slice(&other[from.index(other.len() + 1)..]);
            }
        }
    }
}

/// An input as a message shows it, and as a file of the corpus can be made of it.
struct Input(Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Runs every input of a target, then many that are some changes away from one.
fn replay(target: &str, run: impl Fn(&[u8])) {
    let inputs = inputs(target);
    inputs.iter().for_each(|input| run(input));
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let shaken = (any::<Index>(), vec(change(), 1..6)).prop_map(move |(at, changes)| {
        let mut input = at.get(&inputs).clone();
        for change in &changes {
            change.apply(&mut input, &inputs);
        }
        Input(input)
    });
    let outcome = TestRunner::new(config).run(&shaken, |input| {
        run(&input.0);
        Ok(())
    });
    assert!(outcome.is_ok(), "{target}: {}", outcome.unwrap_err());
}

#[test]
#[should_panic(expected = "shaken")]
fn a_target_that_fails_beside_its_corpus_is_found() {
    let inputs = inputs("paths");
    replay("paths", |input| {
        assert!(inputs.iter().any(|there| there == input), "shaken");
    });
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
