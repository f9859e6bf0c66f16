//! Instruction counts of the pure logic and of the 1 KiB paths, held to a stored baseline.
//!
//! `cargo bench --bench instructions` runs every case under `valgrind --tool=callgrind` and fails
//! when one takes 5 % more instructions than `baseline.txt` beside this file says. With
//! `UPDATE_BASELINE=1` it writes that file anew. The twin, which the table's ratios are taken to, may
//! differ by 10 % either way: a slower one would flatter them. Counts are of the bench profile, on x86-64 with
//! AVX2 as valgrind has it; they do not depend on what else the machine does.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout
)]

mod cases;
#[allow(dead_code, reason = "the table uses the rest")]
#[path = "../edit_path/twin.rs"]
mod twin;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The argument that makes this program the child whose instructions are counted.
const CASE: &str = "--case";

/// A case is run this often and twice as often: the difference leaves out start and end.
const TIMES: u64 = 100;

/// How much more than the baseline a case may take.
const MOST: f64 = 1.05;

/// Between which shares of the baseline the twin stays.
const TWIN: std::ops::RangeInclusive<f64> = 0.9..=1.1;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [CASE, name, times] => {
            cases::run(name, times.parse().expect("a number"));
            return ExitCode::SUCCESS;
        }
        // `cargo test --benches` asks for nothing but that the cases work.
        _ if arguments.iter().any(|argument| argument == "--test") => {
            cases::NAMES.iter().for_each(|name| cases::run(name, 2));
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("SKIP instructions: there is no valgrind here");
        return ExitCode::SUCCESS;
    }
    let filter = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"));
    let wanted = |name: &&&str| filter.is_none_or(|filter| name.contains(filter.as_str()));
    let names: Vec<_> = cases::NAMES.iter().filter(wanted).collect();
    let counts = names.iter().map(|name| (name.to_string(), count(name)));
    report(&counts.collect())
}

/// Returns how many instructions one run of a case takes.
fn count(name: &str) -> u64 {
    (total(name, 2 * TIMES).saturating_sub(total(name, TIMES))) / TIMES
}

fn total(name: &str, times: u64) -> u64 {
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().expect("this program"))
        .args([CASE, name, &times.to_string()])
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{name} failed:\n{said}");
    let collected = said
        .lines()
        .find_map(|line| line.split("Collected : ").nth(1));
    collected
        .and_then(|figure| figure.trim().parse().ok())
        .unwrap_or_else(|| panic!("valgrind gave no count:\n{said}"))
}

fn report(counts: &BTreeMap<String, u64>) -> ExitCode {
    let baseline = baseline();
    println!("| case | instructions | baseline | ratio |\n|---|---:|---:|---:|");
    let mut worse = Vec::new();
    for (name, count) in counts {
        let Some(stored) = baseline.get(name) else {
            println!("| {name} | {count} | none | |");
            worse.push(format!("{name} has no baseline"));
            continue;
        };
        let ratio = *count as f64 / *stored as f64;
        println!("| {name} | {count} | {stored} | {ratio:.3} |");
        let held = match name.starts_with("the twin") {
            true => TWIN.contains(&ratio),
            false => ratio <= MOST,
        };
        if !held {
            worse.push(format!(
                "{name} takes {count} instructions instead of {stored}"
            ));
        }
    }
    if std::env::var_os("UPDATE_BASELINE").is_some() {
        let merged: BTreeMap<_, _> = baseline.iter().chain(counts).collect();
        let lines = merged
            .iter()
            .map(|(name, count)| format!("{count:>9} {name}\n"));
        std::fs::write(path(), lines.collect::<String>()).expect("the baseline is written");
        return ExitCode::SUCCESS;
    }
    for line in &worse {
        println!("{line}");
    }
    match worse.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/instructions/baseline.txt")
}

fn baseline() -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(path()).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().split_once(' '))
        .map(|(count, name)| (name.to_owned(), count.parse().expect("a count")))
        .collect()
}
