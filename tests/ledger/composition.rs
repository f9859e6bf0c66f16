//! Each option is a rule of its own: whichever are left out, the others do what they do, and with
//! all left out the observation policy answers as ever.

use std::sync::Arc;

use seamfs::core::Rule;
use seamfs::policy::{Coverage, Detail, Ledger, Log, Observation, Past, Rebase};
use seamfs::{Registry, Workspace};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::chance::Chance;
use super::doubles::Lost;
use super::host::{Host, Place, Stage, Switches};
use crate::support::{Verdict, ensure, ensure_eq};

fn every_combination() -> impl Iterator<Item = Switches> {
    (0..8).map(|bits| Switches {
        coverage: bits & 1 > 0,
        rebase: bits & 2 > 0,
        lasting: bits & 4 > 0,
    })
}

fn call(host: &mut Host, session: &str, tool: &str, args: Value) -> Value {
    host.send(json!({ "session": session, "tool": tool, "args": args }))
}

fn read(host: &mut Host, session: &str, limit: u64) -> Verdict {
    let args = json!({ "file_path": "a.txt", "limit": limit });
    expect(call(host, session, "read", args), None)
}

fn edit(host: &mut Host, session: &str, old: &str, new: &str) -> Value {
    let args = json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
    call(host, session, "edit", args)
}

/// Expects an error of a code, or success.
fn expect(answer: Value, code: Option<&str>) -> Verdict {
    ensure_eq!(answer["code"].as_str(), code, "{}", answer["text"]);
    Ok(())
}

/// What each option is for, and nothing else, is what it changes.
fn does_what_is_on(stage: &Stage, on: Switches) -> Verdict {
    let when = |on: bool, code| on.then_some(code);
    let mut host = stage.host();
    let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let args = json!({ "file_path": "a.txt", "content": text });
    expect(call(&mut host, "S0", "write", args), None)?;

    // Coverage, and it alone, asks for the lines.
    read(&mut host, "S1", 9)?;
    let unshown = edit(&mut host, "S1", "line 15\n", "fifteen\n");
    expect(unshown, when(on.coverage, "FS_NOT_OBSERVED"))?;
    expect(edit(&mut host, "S1", "line 3\n", "three\n"), None)?;

    // Rebase, and it alone, lands what is stale and apart.
    let args = json!({ "file_path": "a.txt" });
    expect(call(&mut host, "S2", "read", args), None)?;
    expect(edit(&mut host, "S1", "line 5\n", "five\n"), None)?;
    let apart = edit(&mut host, "S2", "line 18\n", "eighteen\n");
    expect(apart, when(!on.rebase, "FS_STALE_VERSION"))?;

    // The session file, and it alone, remembers.
    read(&mut host, "S3", 20)?;
    host.kill();
    let mut host = stage.host();
    let remembered = edit(&mut host, "S3", "line 7\n", "seven\n");
    expect(remembered, when(!on.lasting, "FS_NOT_OBSERVED"))?;

    // In all of them a file that was read is written, and one that changed is not.
    for session in ["S4", "S5"] {
        read(&mut host, session, 20)?;
    }
    let write = |text: &str| json!({ "file_path": "a.txt", "content": text });
    expect(call(&mut host, "S4", "write", write("four\n")), None)?;
    let stale = call(&mut host, "S5", "write", write("five\n"));
    expect(stale, Some("FS_STALE_VERSION"))?;
    expect(call(&mut host, "S5", "write", write("five\n")), None)
}

#[test]
fn each_option_does_its_own_thing_in_every_combination() {
    for place in [Place::Disk, Place::S3] {
        for on in every_combination() {
            if let Err(why) = does_what_is_on(&Stage::new(place, on, None), on) {
                panic!("on {place:?} with {on:?}: {why}");
            }
        }
    }
}

#[test]
fn an_option_that_does_anothers_thing_is_noticed() {
    for on in every_combination() {
        for other in every_combination().filter(|other| *other != on) {
            let verdict = does_what_is_on(&Stage::new(Place::Disk, other, None), on);
            assert!(verdict.is_err(), "{other:?} passes for {on:?}");
        }
    }
}

/// Answers the same random calls by two workspaces.
fn answers_alike(seed: u64, one: &Workspace, other: &Workspace) -> Verdict {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let mut chance = Chance::new(seed);
    let mut next = 0;
    for step in 0..40 {
        let session = *chance.pick(&["A", "B", "C"]);
        let line = |n: usize| format!("line {n}\n");
        next += 1;
        let (tool, args) = match chance.below(8) {
            0 => {
                let text: String = (next..next + 8).map(line).collect();
                ("write", json!({ "file_path": "a.txt", "content": text }))
            }
            1 | 2 => {
                let (offset, limit) = (1 + chance.below(6), 1 + chance.below(4));
                let args = json!({ "file_path": "a.txt", "offset": offset, "limit": limit });
                ("read", args)
            }
            3 => {
                let args = json!({
                    "command": "insert", "path": "/a.txt",
                    "insert_line": chance.below(6), "new_str": line(next),
                });
                ("str_replace_editor", args)
            }
            _ => {
                let (old, new) = (line(next - chance.below(next.min(9))), line(next + 100));
                let args = json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
                ("edit", args)
            }
        };
        let answer = |workspace: &Workspace| {
            let session = workspace.session(session);
            let answered = runtime.block_on(async { session.call(tool, args.clone()).await });
            (answered.text, answered.structured)
        };
        let (found, expected) = (answer(one), answer(other));
        ensure!(
            found == expected,
            "seed {seed}, step {step}: {found:?} and {expected:?}"
        );
    }
    Ok(())
}

/// Opens an empty workspace in memory.
fn workspace(rules: Option<Vec<Arc<dyn Rule>>>) -> Workspace {
    let runtime = Runtime::new().expect("a runtime starts");
    let opened = runtime.block_on(Registry::default().open("memory:", Default::default()));
    let builder = match rules {
        Some(rules) => Workspace::builder().rules(rules),
        None => Workspace::builder(),
    };
    builder.over(opened.expect("a workspace opens"))
}

/// Returns the rules over a ledger that keeps so much, without those that are dropped.
fn rules(detail: Detail, coverage: bool, rebase: bool) -> Vec<Arc<dyn Rule>> {
    let past = Past::load(Arc::new(Lost) as Arc<dyn Log>).expect("nothing to load");
    let ledger = Arc::new(Ledger::keeping(detail).after(past, "memory:"));
    let mut rules: Vec<Arc<dyn Rule>> = vec![Arc::new(Observation::over(Arc::clone(&ledger)))];
    if coverage {
        rules.push(Arc::new(Coverage::over(Arc::clone(&ledger))));
    }
    if rebase {
        rules.push(Arc::new(Rebase::over(ledger)));
    }
    rules
}

#[test]
fn with_all_rules_dropped_the_policy_answers_as_without_options() {
    for detail in [Detail::Versions, Detail::Merges, Detail::Lines] {
        for seed in 0..30 {
            let dropped = workspace(Some(rules(detail, false, false)));
            if let Err(why) = answers_alike(seed, &dropped, &workspace(None)) {
                panic!("keeping {detail:?}: {why}");
            }
        }
    }
}

#[test]
fn a_rule_that_is_not_dropped_is_noticed() {
    for (coverage, rebase) in [(true, false), (false, true)] {
        let noticed = (0..30).any(|seed| {
            let kept = workspace(Some(rules(Detail::Lines, coverage, rebase)));
            answers_alike(seed, &kept, &workspace(None)).is_err()
        });
        assert!(noticed, "coverage {coverage}, rebase {rebase}");
    }
}

#[test]
fn without_the_observation_the_others_let_everything_pass() {
    let ledger = Arc::new(Ledger::keeping(Detail::Lines));
    let others: Vec<Arc<dyn Rule>> = vec![
        Arc::new(Coverage::over(Arc::clone(&ledger))),
        Arc::new(Rebase::over(ledger)),
    ];
    for seed in 0..30 {
        let (dropped, lawless) = (workspace(Some(others.clone())), workspace(Some(Vec::new())));
        if let Err(why) = answers_alike(seed, &dropped, &lawless) {
            panic!("{why}");
        }
    }
}
