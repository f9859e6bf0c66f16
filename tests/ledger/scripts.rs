//! Scripts through `batch`, on each backend, and beside each the doubles that break it.

use serde_json::{Value, json};

use super::doubles::Double;
use super::host::{Host, Place, Stage, Switches};
use crate::support::{Verdict, ensure, ensure_eq};

const NONE: Switches = Switches {
    coverage: false,
    rebase: false,
    lasting: false,
};

const COVERAGE: Switches = Switches {
    coverage: true,
    ..NONE
};

const REBASE: Switches = Switches {
    rebase: true,
    ..NONE
};

const LASTING: Switches = Switches {
    coverage: true,
    rebase: true,
    lasting: true,
};

/// Makes tests of scripts: on memory, disk and S3, or where a process is restarted on what outlives
/// it.
macro_rules! scripts {
    (
        everywhere: [$($name:ident($switches:expr): [$($double:ident),+]),* $(,)?],
        outliving: [$($disk:ident($on:expr): [$($broken:ident),+]),* $(,)?] $(,)?
    ) => {
        mod memory {
            $(#[test]
            fn $name() {
                super::check(super::Place::Memory, $switches, super::$name);
            })*
        }

        mod disk {
            $(#[test]
            fn $name() {
                super::check(super::Place::Disk, $switches, super::$name);
            })*
            $(#[test]
            fn $disk() {
                super::check(super::Place::Disk, $on, super::$disk);
            })*
        }

        mod s3 {
            $(#[test]
            fn $name() {
                super::check(super::Place::S3, $switches, super::$name);
            })*
            $(#[test]
            fn $disk() {
                super::check(super::Place::S3, $on, super::$disk);
            })*
        }

        mod broken {
            $(#[test]
            fn $name() {
                $(super::check_broken($switches, super::Double::$double, super::$name);)+
            })*
            $(#[test]
            fn $disk() {
                $(super::check_broken($on, super::Double::$broken, super::$disk);)+
            })*
        }
    };
}

scripts! {
    everywhere: [
        two_sessions_take_turns_by_the_errors_alone(super::NONE):
            [NeverExplains, ExplainsWithoutRecording],
        they_take_turns_under_coverage_too(super::COVERAGE):
            [ExplainsWithoutRecording, ForgetsByEditing],
        an_overwrite_needs_every_line(super::COVERAGE): [CountsWindows, InspectsNothing],
        an_edit_needs_its_span(super::COVERAGE): [CountsWindows, InspectsNothing],
        what_was_seen_follows_own_edits(super::COVERAGE): [ForgetsByEditing],
        a_view_shows_what_fits_and_no_more(super::COVERAGE): [CountsWindows],
        a_line_too_long_to_show_is_never_out_of_reach(super::COVERAGE):
            [ForgetsParts, CountsWindows],
        distant_edits_both_land(super::REBASE): [NeverRebases],
        edits_beside_each_other_do_not(super::REBASE): [GuardsNothing],
        parallel_edits_of_many_sessions_all_land(super::REBASE): [NeverRebases],
        what_others_changed_is_not_overwritten_unseen(super::REBASE): [TakesMergesForSeen],
        under_both_a_rebase_shows_nothing(super::Switches { coverage: true, ..super::REBASE }):
            [TakesMergesForSeen],
        a_stale_error_names_the_writer(super::NONE): [NeverExplains],
        a_change_too_long_to_show_is_named_with_the_call(super::NONE): [NeverExplains],
        a_change_of_a_large_file_is_named_with_the_call(super::NONE): [NeverExplains],
        a_fork_inherits_and_an_end_forgets(super::NONE): [ForksNothing, NeverForgets],
        what_is_evicted_counts_as_unseen(super::NONE): [NeverForgets],
    ],
    outliving: [
        a_killed_process_goes_on_where_it_was(super::LASTING): [LosesTheLog, GuardsNothing],
        what_was_forgotten_is_forgotten_for_good(super::LASTING): [NeverForgets],
        lines_and_forks_last_too(super::LASTING): [CountsWindows, LosesTheLog],
    ],
}

fn check(place: Place, switches: Switches, script: impl FnOnce(&Stage) -> Verdict) {
    let stage = Stage::new(place, switches, None);
    if let Err(why) = script(&stage) {
        panic!("on {place:?}: {why}");
    }
}

fn check_broken(switches: Switches, double: Double, script: impl Fn(&Stage) -> Verdict) {
    let sound = Stage::new(Place::Disk, switches, Some(Double::Sound));
    if let Err(why) = script(&sound) {
        panic!("in this process: {why}");
    }
    let stage = Stage::new(Place::Disk, switches, Some(double));
    let verdict = script(&stage);
    assert!(verdict.is_err(), "the script does not notice {double:?}");
}

/// A session of a host.
struct Actor<'h> {
    host: &'h mut Host,
    name: &'static str,
}

impl Host {
    fn s(&mut self, name: &'static str) -> Actor<'_> {
        Actor { host: self, name }
    }
}

impl Actor<'_> {
    fn call(self, tool: &str, args: Value) -> Value {
        let line = json!({ "session": self.name, "tool": tool, "args": args });
        self.host.send(line)
    }

    fn signal(self, signal: Value) -> Value {
        self.host
            .send(json!({ "session": self.name, "signal": signal }))
    }

    fn read(self, offset: u64, limit: u64) -> Value {
        let args = json!({ "file_path": "a.txt", "offset": offset, "limit": limit });
        self.call("read", args)
    }

    fn write(self, content: &str) -> Value {
        self.call("write", json!({ "file_path": "a.txt", "content": content }))
    }

    fn edit(self, old: &str, new: &str) -> Value {
        self.call("edit", edit_of(old, new))
    }

    /// Makes the call that an error names.
    fn obey(self, error: &Value) -> Result<Value, String> {
        let action = error["structured"]["error"]["next_action"]
            .as_str()
            .ok_or_else(|| format!("no next action: {error}"))?;
        let named = action
            .find('{')
            .and_then(|start| Some((start, action.rfind('}')?)))
            .ok_or_else(|| format!("no call in {action:?}"))?;
        let args: Value = serde_json::from_str(&action[named.0..=named.1])
            .map_err(|error| format!("{error} in {action:?}"))?;
        let tool = match action.contains("str_replace_editor {") {
            true => "str_replace_editor",
            false => "read",
        };
        ok(self.call(tool, args))
    }
}

fn edit_of(old: &str, new: &str) -> Value {
    json!({ "file_path": "a.txt", "old_string": old, "new_string": new })
}

fn ok(answer: Value) -> Result<Value, String> {
    match answer["is_error"] == json!(false) {
        true => Ok(answer),
        false => Err(format!("should have succeeded: {}", answer["text"])),
    }
}

fn fails(answer: Value, code: &str) -> Result<Value, String> {
    match answer["code"] == code {
        true => Ok(answer),
        false => Err(format!("should have failed {code}: {}", answer["text"])),
    }
}

fn stale(answer: Value) -> Result<Value, String> {
    fails(answer, "FS_STALE_VERSION")
}

fn unseen(answer: Value, lines: Value) -> Result<Value, String> {
    let answer = fails(answer, "FS_NOT_OBSERVED")?;
    ensure_eq!(details(&answer)["unseen_lines"], lines);
    Ok(answer)
}

fn details(answer: &Value) -> &Value {
    &answer["structured"]["error"]["details"]
}

fn says(answer: &Value, part: &str) -> Verdict {
    ensure!(
        answer["text"]
            .as_str()
            .is_some_and(|text| text.contains(part)),
        "{part:?} in {}",
        answer["text"]
    );
    Ok(())
}

/// Checks the file by a session that has seen nothing else.
fn holds(host: &mut Host, expected: &str) -> Verdict {
    let found = ok(host.s("witness").read(1, 2000))?;
    let lines: Vec<&str> = found["structured"]["lines"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|line| line["text"].as_str())
        .collect();
    ensure_eq!(lines.join("\n"), expected.trim_end_matches('\n'));
    Ok(())
}

fn numbered(lines: std::ops::RangeInclusive<u64>) -> String {
    lines.map(|n| format!("line {n}\n")).collect()
}

fn two_sessions_take_turns_by_the_errors_alone(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=9)))?;
    ok(host.s("S2").read(1, 2000))?;
    for round in 0..5 {
        for (name, line) in [("S1", 3), ("S2", 7)] {
            let (old, new) = (format!("line {line}{}", "x".repeat(round)), "x");
            let edit = |host: &mut Host| {
                host.s(name)
                    .edit(&format!("{old}\n"), &format!("{old}{new}\n"))
            };
            let first = edit(&mut host);
            if (round, name) == (0, "S1") {
                ok(first)?;
                continue;
            }
            let refused = stale(first)?;
            ensure_eq!(refused["structured"]["error"]["retry"], json!("as_is"));
            // The diff shows the other's line, numbered as it is now.
            let other = if name == "S1" { 7 } else { 3 };
            ensure_eq!(details(&refused)["changed_lines"], json!([[other, other]]));
            ok(edit(&mut host))?;
        }
    }
    let text = numbered(1..=9)
        .replace("line 3\n", "line 3xxxxx\n")
        .replace("line 7\n", "line 7xxxxx\n");
    holds(&mut host, &text)
}

fn they_take_turns_under_coverage_too(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S0").write(&numbered(1..=40)))?;
    ok(host.s("S1").read(1, 10))?;
    ok(host.s("S2").read(11, 20))?;
    ok(host.s("S1").edit("line 3\n", "three\nand more\n"))?;
    let refused = stale(host.s("S2").edit("line 15\n", "fifteen\n"))?;
    ensure_eq!(refused["structured"]["error"]["retry"], json!("as_is"));
    // What it saw moved down by a line; the diff showed lines 1 to 7 of now.
    ok(host.s("S2").edit("line 15\n", "fifteen\n"))?;
    ok(host.s("S2").edit("and more\n", "and no more\n"))?;
    unseen(host.s("S2").edit("line 8\n", "eight\n"), json!([[9, 9]]))?;
    unseen(host.s("S2").edit("line 35\n", "x\n"), json!([[36, 36]]))?;
    Ok(())
}

fn an_overwrite_needs_every_line(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S0").write(&numbered(1..=5000)))?;
    ok(host.s("S1").read(1, 500))?;
    let refused = unseen(host.s("S1").write("gone\n"), json!([[501, 5000]]))?;
    says(&refused, "lines 501-5000")?;
    let mut refused = refused;
    for _ in 0..4 {
        if refused["is_error"] == json!(false) {
            break;
        }
        host.s("S1").obey(&refused)?;
        refused = host.s("S1").write("gone\n");
    }
    ok(refused)?;
    holds(&mut host, "gone\n")
}

fn an_edit_needs_its_span(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S0").write(&numbered(1..=100)))?;
    ok(host.s("S1").read(10, 11))?;
    ok(host.s("S1").edit("line 15\n", "fifteen\n"))?;
    unseen(
        host.s("S1").edit("line 9\nline 10\n", "x\n"),
        json!([[9, 9]]),
    )?;
    unseen(
        host.s("S1").edit("line 20\nline 21\n", "x\n"),
        json!([[21, 21]]),
    )?;
    let all = json!({
        "file_path": "a.txt", "old_string": "line 2", "new_string": "x", "replace_all": true
    });
    let refused = host.s("S1").call("edit", all);
    unseen(refused, json!([[2, 2], [21, 29]]))?;
    // An insertion needs the lines on either side.
    let insert = |host: &mut Host, row: u64| {
        let path = host_path(host);
        let args = json!({
            "command": "insert", "path": path, "insert_line": row, "new_str": "new\n"
        });
        host.s("S1").call("str_replace_editor", args)
    };
    let refused = unseen(insert(&mut host, 20), json!([[21, 21]]))?;
    says(&refused, "view_range")?;
    host.s("S1").obey(&refused)?;
    ok(insert(&mut host, 20))?;
    ok(insert(&mut host, 15))?;
    Ok(())
}

/// Returns the absolute path of the file.
fn host_path(host: &mut Host) -> String {
    let found = host.s("witness").read(1, 1);
    let path = found["structured"]["path"].as_str();
    path.expect("the file is there").to_owned()
}

fn what_was_seen_follows_own_edits(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S0").write(&numbered(1..=30)))?;
    ok(host.s("S1").read(10, 10))?;
    ok(host.s("S1").edit("line 12\n", "a\nb\nc\nd\n"))?;
    ok(host.s("S1").edit("line 19\n", "nineteen\n"))?;
    ok(host.s("S1").edit("c\nd\n", ""))?;
    ok(host.s("S1").edit("nineteen", "19"))?;
    unseen(host.s("S1").edit("line 20\n", "x\n"), json!([[21, 21]]))?;
    unseen(host.s("S1").write("x"), json!([[1, 9], [21, 31]]))?;
    ok(host.s("S1").read(1, 9))?;
    ok(host.s("S1").read(21, 100))?;
    ok(host.s("S1").write("x"))?;
    Ok(())
}

fn a_view_shows_what_fits_and_no_more(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    let text: String = (1..=400)
        .map(|n| format!("{n:04} {}\n", "x".repeat(80)))
        .collect();
    ok(host.s("S0").write(&text))?;
    let path = host_path(&mut host);
    let view = |host: &mut Host, range: Option<[i64; 2]>| {
        let mut args = json!({ "command": "view", "path": path });
        if let Some(range) = range {
            args["view_range"] = json!(range);
        }
        ok(host.s("S1").call("str_replace_editor", args))
    };
    let clipped = view(&mut host, None)?;
    let shown = clipped["text"].as_str().unwrap_or_default().to_owned();
    let last = (1..=400)
        .take_while(|n| shown.contains(&format!("{n:04} {}\n", "x".repeat(80))))
        .count();
    ensure!(last > 100 && last < 300, "{last} rows");
    ok(host.s("S1").edit(&format!("{last:04} x"), "last x"))?;
    let next = last as u64 + 1;
    let refused = host.s("S1").write("short");
    unseen(refused, json!([[next, 400]]))?;
    view(&mut host, Some([next as i64, 250]))?;
    view(&mut host, Some([251, 400]))?;
    ok(host.s("S1").write("short"))?;
    Ok(())
}

fn a_line_too_long_to_show_is_never_out_of_reach(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    let long: String = (0..5000).map(|n| format!("<{n}>")).collect();
    ok(host.s("S0").write(&format!("first\n{long}\nlast\n")))?;
    ok(host.s("S1").read(1, 10))?;
    // What was shown of the line can be changed.
    ok(host.s("S1").edit("<7>", "<seven>"))?;
    // The rest is shown by the refusal, and then can be.
    let refused = unseen(host.s("S1").edit("<4000>", "<x>"), json!([[2, 2]]))?;
    says(&refused, "<3999><4000><4001>")?;
    says(&refused, "retry the same call")?;
    ok(host.s("S1").edit("<4000>", "<x>"))?;
    ok(host.s("S1").edit("<3999>", "<y>"))?;
    unseen(host.s("S1").edit("<3000>", "<z>"), json!([[2, 2]]))?;
    // An insertion beside it needs no more of it than its beginning.
    let path = host_path(&mut host);
    let insert = json!({ "command": "insert", "path": path, "insert_line": 2, "new_str": "new\n" });
    ok(host.s("S1").call("str_replace_editor", insert))?;
    // An overwrite is shown the line part by part.
    let mut refusals = 0;
    while let Err(why) = ok(host.s("S1").write("short\n")) {
        refusals += 1;
        ensure!(refusals < 10, "{why}");
    }
    ensure!(refusals > 1, "{refusals} refusals of 28 KiB");
    holds(&mut host, "short\n")
}

fn distant_edits_both_land(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=60)))?;
    ok(host.s("S2").read(1, 2000))?;
    ok(host.s("S1").edit("line 5\n", "five\nand a half\n"))?;
    let landed = ok(host.s("S2").edit("line 50\n", "fifty\n"))?;
    says(&landed, "rebased")?;
    says(&landed, "line 50 then and line 51 now")?;
    ensure!(
        landed["structured"]["notes"]
            .to_string()
            .contains("rebased"),
        "{}",
        landed["structured"]
    );
    let text = numbered(1..=60)
        .replace("line 5\n", "five\nand a half\n")
        .replace("line 50\n", "fifty\n");
    holds(&mut host, &text)
}

fn edits_beside_each_other_do_not(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=20)))?;
    ok(host.s("S2").read(1, 2000))?;
    ok(host.s("S1").edit("line 10\n", "ten\n"))?;
    for line in [9, 10, 11] {
        let refused = stale(host.s("S2").edit(&format!("line {line}\n"), "x\n"))?;
        says(&refused, "+ten")?;
        // It knows now; so that each is stale again, it must not.
        ok(host.s("S2").signal(json!({ "evicted": null })))?;
        ok(host.s("S2").read(1, 2000))?;
        ok(host.s("S1").edit("ten", "line 10"))?;
        ok(host.s("S2").signal(json!({ "evicted": null })))?;
        ok(host.s("S2").read(1, 2000))?;
        ok(host.s("S1").edit("line 10\n", "ten\n"))?;
    }
    says(&ok(host.s("S2").edit("line 12\n", "x\n"))?, "rebased")
}

fn parallel_edits_of_many_sessions_all_land(stage: &Stage) -> Verdict {
    const NAMES: [&str; 6] = ["A", "B", "C", "D", "E", "F"];
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=60)))?;
    let mut text = numbered(1..=60);
    for name in NAMES {
        ok(host.s(name).read(1, 2000))?;
    }
    for round in 0..4 {
        let calls: Vec<Value> = NAMES
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let line = at * 10 + 5;
                let old = format!("line {line}{}\n", "!".repeat(round));
                let new = format!("line {line}{}\n", "!".repeat(round + 1));
                text = text.replace(&old, &new);
                json!({ "session": name, "tool": "edit", "args": edit_of(&old, &new) })
            })
            .collect();
        let answers = host.send(json!({ "parallel": calls }));
        for answer in answers["parallel"].as_array().into_iter().flatten() {
            ok(answer.clone())?;
        }
    }
    holds(&mut host, &text)
}

fn what_others_changed_is_not_overwritten_unseen(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=30)))?;
    ok(host.s("S2").read(1, 5))?;
    ok(host.s("S1").edit("line 25\n", "precious\n"))?;
    says(&ok(host.s("S2").edit("line 3\n", "three\n"))?, "rebased")?;
    let refused = unseen(host.s("S2").write("all\n"), json!([[25, 25]]))?;
    let shown = host.s("S2").obey(&refused)?;
    says(&shown, "precious")?;
    ok(host.s("S2").write("all\n"))?;
    holds(&mut host, "all\n")
}

fn under_both_a_rebase_shows_nothing(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=30)))?;
    ok(host.s("S2").read(1, 30))?;
    ok(host.s("S3").read(1, 10))?;
    ok(host.s("S1").edit("line 25\n", "precious\nand more\n"))?;
    ok(host.s("S2").edit("line 3\n", "three\n"))?;
    unseen(host.s("S2").edit("precious", "x"), json!([[25, 25]]))?;
    unseen(host.s("S2").write("x"), json!([[25, 26]]))?;
    // A line that was never shown is not rebased either, nor one beside it.
    stale(host.s("S3").edit("line 15\n", "x\n"))?;
    ok(host.s("S2").edit("line 28\n", "twenty-eight\n"))?;
    Ok(())
}

fn a_stale_error_names_the_writer(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=9)))?;
    ok(host.s("S2").read(1, 9))?;
    ok(host.s("S1").edit("line 3", "three"))?;
    let refused = stale(host.s("S2").edit("line 5", "five"))?;
    ensure_eq!(details(&refused)["writer"], json!("S1"));
    says(&refused, "session \"S1\"")?;
    ok(host.s("S2").edit("line 5", "five"))?;
    let refused = stale(host.s("S1").write("x"))?;
    ensure_eq!(details(&refused)["writer"], json!("S2"));
    if stage.put("a.txt", "from outside\n") {
        let refused = stale(host.s("S1").edit("line 1", "one"))?;
        ensure_eq!(details(&refused)["writer"], Value::Null);
    }
    Ok(())
}

fn a_change_too_long_to_show_is_named_with_the_call(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=3000)))?;
    ok(host.s("S2").read(1, 9))?;
    let long = "a line that is new\n".repeat(800);
    let text = numbered(1..=3000).replace("line 1000\n", &long);
    ok(host.s("S1").write(&text))?;
    let refused = stale(host.s("S2").edit("line 5\n", "five\n"))?;
    ensure_eq!(details(&refused)["changed_lines"], json!([[1000, 1799]]));
    says(&refused, "1000-1799")?;
    let shown = host.s("S2").obey(&refused)?;
    ensure_eq!(shown["structured"]["offset"], json!(1000));
    ensure_eq!(shown["structured"]["returned_lines"], json!(800));
    ok(host.s("S2").edit("line 5\n", "five\n"))?;
    Ok(())
}

fn a_change_of_a_large_file_is_named_with_the_call(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    let text = numbered(1..=40_000);
    ensure!(text.len() > 256 << 10, "{} bytes", text.len());
    ok(host.s("S1").write(&text))?;
    ok(host.s("S2").read(1, 9))?;
    ok(host.s("S1").edit("line 1000\n", "one\ntwo\n"))?;
    ok(host.s("S1").edit("line 30000\n", ""))?;
    let refused = stale(host.s("S2").edit("line 5\n", "five\n"))?;
    names_changes(&refused, &[1000, 30_001])?;
    ensure_eq!(details(&refused)["writer"], json!("S1"));
    let shown = host.s("S2").obey(&refused)?;
    ensure!(
        shown["text"]
            .as_str()
            .is_some_and(|text| text.contains(": two\n")),
        "{shown}"
    );
    ok(host.s("S2").edit("line 5\n", "five\n"))?;
    // What it edited itself it can be compared with too, and so can what became large meanwhile.
    let refused = stale(host.s("S1").write("gone\n"))?;
    names_changes(&refused, &[5])?;
    ok(host.s("S1").read(1, 9))?;
    ok(host.s("S1").write("short\n"))?;
    let refused = stale(host.s("S2").edit("line 6\n", "six\n"))?;
    names_changes(&refused, &[1])?;
    Ok(())
}

/// Checks that an error names a few lines around each of these and no others, and shows no text.
fn names_changes(refused: &Value, lines: &[u64]) -> Verdict {
    let ranges = details(refused)["changed_lines"].clone();
    let ranges: Vec<(u64, u64)> =
        serde_json::from_value(ranges).map_err(|error| format!("{error}: {refused}"))?;
    ensure_eq!(ranges.len(), lines.len(), "{ranges:?}");
    for ((start, end), line) in ranges.iter().zip(lines) {
        ensure!(
            start <= line && line <= end && end - start < 100,
            "{ranges:?}"
        );
        says(refused, &format!("{start}-{end}"))?;
    }
    ensure_eq!(details(refused)["diff"], Value::Null);
    Ok(())
}

fn a_fork_inherits_and_an_end_forgets(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S0").write(&numbered(1..=9)))?;
    ok(host.s("S1").read(1, 9))?;
    fails(host.s("S2").edit("line 1", "one"), "FS_NOT_OBSERVED")?;
    ok(host.s("S1").signal(json!({ "fork": "S2" })))?;
    ok(host.s("S2").edit("line 1", "one"))?;
    // Each goes its own way from there.
    stale(host.s("S1").edit("line 2", "two"))?;
    ok(host.s("S2").signal(json!("end")))?;
    fails(host.s("S2").edit("line 3", "three"), "FS_NOT_OBSERVED")?;
    ok(host.s("S1").edit("line 2", "two"))?;
    Ok(())
}

fn what_is_evicted_counts_as_unseen(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=9)))?;
    ok(host.s("S1").signal(json!({ "evicted": "a.txt" })))?;
    fails(host.s("S1").edit("line 1", "one"), "FS_NOT_OBSERVED")?;
    fails(host.s("S1").write("x"), "FS_NOT_OBSERVED")?;
    ok(host.s("S1").read(1, 9))?;
    ok(host.s("S1").edit("line 1", "one"))?;
    ok(host.s("S1").signal(json!({ "evicted": null })))?;
    fails(host.s("S1").edit("line 2", "two"), "FS_NOT_OBSERVED")?;
    Ok(())
}

fn a_killed_process_goes_on_where_it_was(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=9)))?;
    ok(host.s("S2").read(1, 9))?;
    host.kill();

    let mut host = stage.host();
    ok(host.s("S2").edit("line 1\n", "one\n"))?;
    let refused = stale(host.s("S1").edit("line 9\n", "nine\n"))?;
    ensure_eq!(details(&refused)["writer"], json!("S2"));
    host.kill();
    ensure!(
        stage.put("a.txt", &numbered(1..=9)),
        "the outside can write"
    );

    let mut host = stage.host();
    // Versions are of contents: the file is again what S1 had written.
    ok(host.s("S1").edit("line 9\n", "nine\n"))?;
    let refused = stale(host.s("S2").edit("line 5\n", "five\n"))?;
    // What it saw is not kept on disk, so there is no diff: the error names the call.
    ensure_eq!(details(&refused)["diff"], Value::Null);
    host.s("S2").obey(&refused)?;
    ok(host.s("S2").edit("line 5\n", "five\n"))?;
    Ok(())
}

fn what_was_forgotten_is_forgotten_for_good(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S1").write(&numbered(1..=9)))?;
    ok(host.s("S2").read(1, 9))?;
    ok(host.s("S2").signal(json!("end")))?;
    ok(host.s("S1").signal(json!({ "evicted": null })))?;
    host.kill();
    let mut host = stage.host();
    fails(host.s("S1").edit("line 1", "one"), "FS_NOT_OBSERVED")?;
    fails(host.s("S2").edit("line 1", "one"), "FS_NOT_OBSERVED")?;
    Ok(())
}

fn lines_and_forks_last_too(stage: &Stage) -> Verdict {
    let mut host = stage.host();
    ok(host.s("S0").write(&numbered(1..=20)))?;
    ok(host.s("S1").read(1, 5))?;
    ok(host.s("S1").signal(json!({ "fork": "S2" })))?;
    host.kill();
    let mut host = stage.host();
    unseen(host.s("S2").edit("line 6\n", "six\n"), json!([[6, 6]]))?;
    unseen(host.s("S1").write("x"), json!([[6, 20]]))?;
    ok(host.s("S2").edit("line 5\n", "five\n"))?;
    host.kill();
    let mut host = stage.host();
    ok(host.s("S2").edit("five\n", "5\n"))?;
    Ok(())
}
