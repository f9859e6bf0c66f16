//! Several processes on one folder: nothing that was acknowledged is lost, and nothing is twice.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::sync::Arc;

use seamfs_core::text::{Splices, Text};
use seamfs_core::{ContentHash, EditOptions, TextEdit, Version};

const TASK: &str = "SEAMFS_TEST_PROCESS_TASK";
const ROOT: &str = "SEAMFS_TEST_PROCESS_ROOT";
const NAME: &str = "SEAMFS_TEST_PROCESS_NAME";
const EDITS: &str = "SEAMFS_TEST_PROCESS_EDITS";
const FILES: &str = "SEAMFS_TEST_PROCESS_FILES";

/// One acknowledged publication, as its writer reported it.
#[derive(Clone, Debug)]
struct Report {
    foreign: bool,
    file: String,
    line: String,
    before: String,
    after: String,
    begun: u128,
    ended: u128,
}

/// Appends by an edit; none when the outcome is unknown, and so is whether the line is there.
fn append(local: &Local, target: &Target, line: &str) -> Option<(Version, Bytes)> {
    let line = line.to_owned();
    let transform = move |text: &Text<'_>, _: &Version| {
        let end = text.bytes().len();
        Ok(TextEdit {
            splices: Splices::insertion(end, line.clone(), end).unwrap(),
            replacements: 1,
            ..TextEdit::default()
        })
    };
    let edit = local.edit(target, Arc::new(transform), EditOptions::default());
    match block_on(edit) {
        Ok(outcome) => Some((outcome.version, outcome.before)),
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::OutcomeUnknown, "{error}");
            None
        }
    }
}

/// Reads, appends and writes under the version read, until nobody was in between.
fn append_guarded(local: &Local, target: &Target, line: &str) -> Option<(Version, Bytes)> {
    loop {
        let seen = block_on(local.read_all(target)).unwrap();
        let text = [&*seen.bytes, line.as_bytes()].concat();
        let guard = Expected::Version(seen.version);
        match block_on(local.write_all(target, Bytes::from(text), guard)) {
            Ok(outcome) => return Some((outcome.version, seen.bytes)),
            Err(error) if error.code() == ErrorCode::OutcomeUnknown => return None,
            Err(error) => assert_eq!(error.code(), ErrorCode::StaleVersion, "{error}"),
        }
    }
}

/// Appends as a tool does that knows no lock: read, write beside, rename over.
fn append_foreign(path: &Path, line: &str, name: &str) -> (Version, Bytes) {
    let before = fs::read(path).unwrap();
    let after = [&*before, line.as_bytes()].concat();
    let beside = path.with_extension(format!("beside-{name}"));
    fs::write(&beside, &after).unwrap();
    fs::rename(beside, path).unwrap();
    (Version::of(&after), Bytes::from(before))
}

fn now() -> u128 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos()
}

/// Makes its edits, and reports each that was acknowledged.
#[test]
fn writer() {
    let Some(kind) = task(TASK) else { return };
    let (root, name) = (task(ROOT).unwrap(), task(NAME).unwrap());
    let (edits, files) = (from_env(EDITS, 0), from_env(FILES, 1));
    let options = LocalOptions::default()
        .durability(Durability::None)
        .lock_wait(std::time::Duration::from_secs(60));
    let local = Local::open_with(&root, options).unwrap();
    // Every other writer works as on a host without nameless files.
    if name.ends_with(['1', '5', '6']) {
        local.inner.nameless.give_up();
    }
    println!("ready");
    std::io::stdin().lines().next();
    let mut output = std::io::stdout().lock();
    for n in 0..edits {
        let file = format!("f{}", n % files);
        let line = format!("{name}-{n}\n");
        let target = block_on(local.target(&file)).unwrap();
        let begun = now();
        let appended = match kind.as_str() {
            "edit" => append(&local, &target, &line),
            "write" => append_guarded(&local, &target, &line),
            _ => Some(append_foreign(&Path::new(&root).join(&file), &line, &name)),
        };
        let Some((after, before)) = appended else {
            continue;
        };
        let (before, line) = (ContentHash::of(&before).to_hex(), line.trim());
        let after = after.hash().unwrap().to_hex();
        writeln!(
            output,
            "report {kind} {file} {line} {before} {after} {begun} {}",
            now()
        )
        .unwrap();
    }
}

fn start(scratch: &Scratch, kind: &str, name: &str, edits: u64, files: u64) -> Child {
    let (edits, files) = (edits.to_string(), files.to_string());
    let root = scratch.root.to_str().unwrap();
    let environment = [
        (TASK, kind),
        (ROOT, root),
        (NAME, name),
        (EDITS, &edits),
        (FILES, &files),
    ];
    child("processes::writer", &environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs writers at once and returns what they reported.
fn run(scratch: &Scratch, kinds: &[&str], edits: u64, files: u64) -> Vec<Report> {
    for file in 0..files {
        scratch.put(&format!("f{file}"), "");
    }
    let mut writers: Vec<_> = kinds
        .iter()
        .enumerate()
        .map(|(n, kind)| start(scratch, kind, &format!("w{n}"), edits, files))
        .map(|mut writer| {
            let output = BufReader::new(writer.stdout.take().unwrap());
            (writer, output)
        })
        .collect();
    for (_, output) in &mut writers {
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            output.read_line(&mut line).unwrap();
        }
    }
    for (writer, _) in &mut writers {
        drop(writer.stdin.take());
    }
    // Each is read by a thread of its own: a full pipe would stop its writer.
    let readers: Vec<_> = writers
        .into_iter()
        .map(|(mut writer, output)| {
            std::thread::spawn(move || {
                let lines = output.lines().map(Result::unwrap);
                let reports: Vec<_> = lines.filter_map(|line| report(&line)).collect();
                assert!(writer.wait().unwrap().success());
                reports
            })
        })
        .collect();
    readers
        .into_iter()
        .flat_map(|reader| reader.join().unwrap())
        .collect()
}

fn report(line: &str) -> Option<Report> {
    let words: Vec<_> = line.split_once("report ")?.1.split(' ').collect();
    let [kind, file, line, before, after, begun, ended] = words[..] else {
        panic!("{line}");
    };
    Some(Report {
        foreign: kind == "foreign",
        file: file.to_owned(),
        line: line.to_owned(),
        before: before.to_owned(),
        after: after.to_owned(),
        begun: begun.parse().unwrap(),
        ended: ended.parse().unwrap(),
    })
}

#[test]
fn w8_no_acknowledged_update_is_lost_between_processes() {
    let edits = from_env("SEAMFS_EDITS", 40);
    for processes in [2, 4, 8] {
        for files in [1, 8] {
            for kind in ["edit", "write"] {
                let scratch = Scratch::new();
                let reports = run(&scratch, &vec![kind; processes], edits, files);
                assert_eq!(reports.len() as u64, processes as u64 * edits);
                for file in 0..files {
                    let file = format!("f{file}");
                    let mut expected: Vec<_> = reports
                        .iter()
                        .filter(|report| report.file == file)
                        .map(|report| report.line.as_str())
                        .collect();
                    let text = scratch.host(&file);
                    let mut found: Vec<_> = text.lines().collect();
                    expected.sort_unstable();
                    found.sort_unstable();
                    assert_eq!(found, expected, "{processes} processes, {kind}");
                }
                assert_eq!(scratch.host_names(".").len() as u64, files);
            }
        }
    }
}

#[test]
fn b026_a_counter_incremented_by_processes_loses_no_step() {
    let edits = from_env("SEAMFS_EDITS", 60);
    let scratch = Scratch::new();
    let reports = run(&scratch, &["write"; 4], edits, 1);
    assert_eq!(scratch.host("f0").lines().count() as u64, 4 * edits);
    // Each state was replaced by exactly one other: a chain, as compare-and-swap promises.
    let parents: BTreeSet<_> = reports.iter().map(|report| &report.before).collect();
    assert_eq!(parents.len(), reports.len());
}

/// Beside writers that take no lock: whatever vanished went with a foreign publication.
#[test]
fn a_line_vanishes_only_through_a_foreign_publication_that_lacked_it() {
    let edits = from_env("SEAMFS_EDITS", 100);
    for processes in [2, 4, 8] {
        for kind in ["edit", "write"] {
            let kinds: Vec<_> = (0..processes)
                .map(|n| if n % 2 == 0 { kind } else { "foreign" })
                .collect();
            let scratch = Scratch::new();
            let reports = run(&scratch, &kinds, edits, 1);
            let lost = check_history(&scratch.host("f0"), &reports);
            println!(
                "{processes} processes, half foreign, {kind}: {lost} lines lost to foreign writers"
            );
            let kept = scratch.host_names(".");
            let known = |name: &String| name == "f0" || name.starts_with("f0.seamfs-kept-");
            assert!(kept.iter().all(known), "{kept:?}");
        }
    }
}

/// Checks the logged parents; returns how many acknowledged lines are gone.
///
/// Contents are all different, so a hash names one state. Ours replaces exactly the state that it
/// names as its parent, at once: no state has two children of ours, and no foreign publication
/// can lie wholly between a parent and a child of ours, for the child would have lost it.
fn check_history(text: &str, reports: &[Report]) -> usize {
    let made: BTreeMap<_, _> = reports
        .iter()
        .map(|report| (&report.after, report))
        .collect();
    let mut replaced = BTreeSet::new();
    for ours in reports.iter().filter(|report| !report.foreign) {
        assert!(
            replaced.insert(&ours.before),
            "two publications of ours replaced one state"
        );
        let parent_ended = made.get(&ours.before).map_or(0, |parent| parent.ended);
        for foreign in reports.iter().filter(|report| report.foreign) {
            let between = foreign.begun > parent_ended && foreign.ended < ours.begun;
            assert!(!between, "{ours:?} lost {foreign:?}");
        }
    }
    let found: Vec<_> = text.lines().collect();
    let distinct: BTreeSet<_> = found.iter().collect();
    assert_eq!(found.len(), distinct.len(), "nothing is there twice");
    let lost: Vec<_> = reports
        .iter()
        .filter(|report| !found.contains(&report.line.as_str()))
        .collect();
    for gone in &lost {
        // Somebody foreign published a state that does not descend from the lost line's, and
        // was not done before the line was there.
        let culprit = reports.iter().any(|other| {
            other.foreign && other.ended >= gone.begun && !descends(&made, other, gone)
        });
        assert!(culprit, "{gone:?} vanished without a foreign publication");
    }
    lost.len()
}

fn descends(made: &BTreeMap<&String, &Report>, state: &Report, from: &Report) -> bool {
    let mut state = state;
    loop {
        if state.after == from.after {
            return true;
        }
        let Some(parent) = made.get(&state.before) else {
            return false;
        };
        state = parent;
    }
}
