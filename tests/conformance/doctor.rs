//! `seamfs doctor` as a process: its table, its exit codes, and what it leaves behind.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use seamfs::core::conformance::claims;

use crate::servers::{self, BUCKET, Server};

fn doctor(workspace: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seamfs"));
    command
        .arg("doctor")
        .arg(workspace)
        .args(["--durability", "none"])
        .stdin(Stdio::null());
    command
}

/// Makes a folder with something in it that nobody may touch.
fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("scratch")).unwrap();
    std::fs::write(folder.path().join("scratch/kept"), "mine\r\n").unwrap();
    std::fs::write(folder.path().join("file"), "mine too").unwrap();
    folder
}

/// Returns every file beneath a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        if path.is_dir() {
            found.insert(name, None);
            found.extend(contents(&path));
        } else {
            found.insert(name, Some(std::fs::read(&path).unwrap()));
        }
    }
    found
}

#[test]
fn doctor_runs_every_claim_and_leaves_the_store_as_it_was() {
    let folder = workspace();
    let before = contents(folder.path());
    let output = doctor(folder.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert_eq!(contents(folder.path()), before);
    for claim in claims() {
        assert!(
            text.contains(&claim.sentence()),
            "{} is missing:\n{text}",
            claim.name
        );
    }
    assert!(text.contains("compare and swap"), "{text}");
    assert!(text.contains(" 0 failed"), "{text}");
    assert!(
        text.contains("skipped: ") || text.contains("the root is not ours to play with"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn doctor_clears_up_when_it_is_interrupted() {
    let folder = workspace();
    let before = contents(folder.path());
    let mut child = doctor(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    // The first claim that has put something has been told of.
    while !line.contains("held") || !line.contains(" V1 ") {
        line.clear();
        assert_ne!(
            output.read_line(&mut line).unwrap(),
            0,
            "it ended by itself"
        );
    }
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    output.read_to_string(&mut line).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{line}");
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn doctor_of_nothing_is_a_mistake_of_usage() {
    let folder = tempfile::tempdir().unwrap();
    let output = doctor(&folder.path().join("missing")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("FS_NOT_FOUND")
    );
}

#[test]
fn doctor_runs_on_memory_too() {
    let output = Command::new(env!("CARGO_BIN_EXE_seamfs"))
        .args(["doctor", "memory:"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
}

fn doctor_of(server: &Server, more: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seamfs"));
    command.args(["doctor", &format!("s3://{BUCKET}/some/where")]);
    for (key, value) in server.s3_options() {
        command.args(["-o", &format!("{key}={value}")]);
    }
    let output = command.args(more).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), text)
}

#[test]
fn doctor_tells_which_conditions_an_object_store_keeps() {
    let sound = servers::s3();
    let (code, text) = doctor_of(&sound, &[]);
    assert_eq!(code, Some(0), "{text}");
    for line in [
        "Conditional writes: tried with a scratch object",
        "  create             kept",
        "  replace a version  kept",
        "  compare and swap   atomic",
        " 0 failed",
    ] {
        assert!(text.contains(line), "{line} is missing: {text}");
    }
    assert_eq!(sound.store.keys(), Vec::<String>::new());
    let (code, text) = doctor_of(&sound, &["-o", "conditions=trust"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("taken to be kept, not tried"), "{text}");

    let heedless = servers::s3();
    heedless.store.ignore_conditions();
    let (code, text) = doctor_of(&heedless, &[]);
    for line in [
        "  create             not kept, so writes under this guard are refused",
        "  replace a version  not kept, so writes under this guard and all edits are refused",
        "  compare and swap   none",
        "  create             none",
        "  edit               false",
        // What cannot be had there is no failure: the capability that says so is named.
        "skipped  W1     absent creates what is missing: the guard for absence is not offered (`create`)",
        "skipped  E4     arguments mean themselves: edits are not offered (`edit`)",
        "held     trait  what is not offered is unsupported before any effect",
        " 0 failed",
    ] {
        assert!(text.contains(line), "{line} is missing: {text}");
    }
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(heedless.store.keys(), Vec::<String>::new());
}
