//! Processes killed at random moments: the ledger opens, and claims nothing that was not made.
//!
//! `SEAMFS_KILLS` says how often.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use seamfs::core::TargetKey;
use seamfs::policy::{Detail, Ledger, Lines, Past, Seen};
use seamfs::{Actor, SessionFile, Version};
use serde_json::{Value, json};

use super::chance::{Chance, times};
use super::host::{Place, Stage, Switches};

const NAMES: [&str; 3] = ["A", "B", "C"];
const FILES: [&str; 2] = ["a.txt", "b.txt"];

/// What may have been seen, if all went as the lines say.
#[derive(Default)]
struct Model {
    /// Every content that a file may have had.
    contents: HashMap<Version, String>,
    /// Lines of a file that a session may have been shown.
    shown: HashMap<(&'static str, &'static str), HashSet<String>>,
    /// Contents of a file that a session may have seen a part of.
    versions: HashMap<(&'static str, &'static str), HashSet<Version>>,
}

impl Model {
    fn saw(&mut self, who: (&'static str, &'static str), content: &str, lines: &[&str]) {
        let version = Version::of(content.as_bytes());
        self.contents.insert(version.clone(), content.to_owned());
        self.versions.entry(who).or_default().insert(version);
        let shown = self.shown.entry(who).or_default();
        shown.extend(lines.iter().map(ToString::to_string));
    }

    /// Checks everything that the ledger claims.
    fn check(&self, ledger: &Ledger) -> usize {
        let mut claims = 0;
        for who in NAMES
            .iter()
            .flat_map(|name| FILES.map(|file| (*name, file)))
        {
            let seen = ledger.seen(&Actor::new(who.0), &TargetKey::new(format!("/{}", who.1)));
            let Some(Seen::Present { version, lines }) = seen else {
                continue;
            };
            claims += 1;
            let made = self
                .versions
                .get(&who)
                .is_some_and(|made| made.contains(&version));
            assert!(made, "{who:?} never saw {version}");
            let content = &self.contents[&version];
            let shown = &self.shown[&who];
            for (number, line) in (1..).zip(content.lines()) {
                let claimed = match &lines {
                    Lines::All => true,
                    Lines::Some(some) => some.whole().contains(number),
                };
                assert!(
                    !claimed || shown.contains(line),
                    "{who:?} never saw {line:?}"
                );
            }
        }
        claims
    }
}

/// A round: lines to send, and what each may do to the files.
struct Round {
    lines: Vec<Value>,
}

impl Round {
    fn plan(
        chance: &mut Chance,
        model: &mut Model,
        files: &mut HashMap<&'static str, String>,
        next: &mut u64,
    ) -> Self {
        let mut lines = Vec::new();
        for _ in 0..4 + chance.below(12) {
            let who = (*chance.pick(&NAMES), *chance.pick(&FILES));
            let content = files[who.1].clone();
            let rows: Vec<&str> = content.lines().collect();
            let at = chance.below(rows.len());
            let limit = 1 + chance.below(6);
            let window = &rows[at..(at + limit).min(rows.len())];
            model.saw(who, &content, window);
            lines.push(json!({
                "session": who.0, "tool": "read",
                "args": { "file_path": who.1, "offset": at + 1, "limit": limit },
            }));
            if chance.below(2) == 0 {
                *next += 1;
                let new = format!("line {next}");
                let edited = content.replacen(&format!("{}\n", rows[at]), &format!("{new}\n"), 1);
                model.saw(who, &edited, &[&new]);
                lines.push(json!({
                    "session": who.0, "tool": "edit",
                    "args": {
                        "file_path": who.1,
                        "old_string": format!("{}\n", rows[at]),
                        "new_string": format!("{new}\n"),
                    },
                }));
                files.insert(who.1, edited);
            }
            if chance.below(12) == 0 {
                lines.push(json!({ "session": who.0, "signal": { "evicted": who.1 } }));
            }
        }
        Self { lines }
    }

    /// Sends the lines, and kills the process after some of the answers and some more of its work.
    fn run(&self, stage: &Stage, chance: &mut Chance) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_seamfs"))
            .arg("batch")
            .args(stage.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary under test starts");
        let mut input = child.stdin.take().expect("stdin is piped");
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        input.write_all(text.as_bytes()).expect("a pipe has room");
        let mut output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut answer = String::new();
        for _ in 0..chance.below(self.lines.len() + 1) {
            answer.clear();
            output.read_line(&mut answer).expect("the process answers");
            let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
            assert_eq!(answer["is_error"], json!(false), "{answer}");
        }
        // Anywhere within the next call: as long as that takes, in steps too short to sleep.
        for _ in 0..chance.below(40_000) {
            std::hint::spin_loop();
        }
        child.kill().expect("the process can be killed");
        child.wait().expect("the process ends");
    }
}

#[test]
fn a_killed_process_leaves_a_ledger_that_claims_only_what_was_seen() {
    let kills = times("SEAMFS_KILLS", 25);
    let switches = Switches {
        coverage: true,
        rebase: true,
        lasting: true,
    };
    let stage = Stage::new(Place::Disk, switches, None);
    let (mut chance, mut model, mut next) = (Chance::new(7), Model::default(), 0);
    let mut claims = 0;
    for _ in 0..kills {
        let mut files = HashMap::new();
        for file in FILES {
            // What an earlier round left, as far as it came.
            let found = std::fs::read_to_string(stage.path(file)).unwrap_or_else(|_| {
                let text: String = (0..30)
                    .map(|_| {
                        next += 1;
                        format!("line {next}\n")
                    })
                    .collect();
                std::fs::write(stage.path(file), &text).expect("the outside can write");
                text
            });
            files.insert(file, found);
        }
        Round::plan(&mut chance, &mut model, &mut files, &mut next).run(&stage, &mut chance);
        let log = SessionFile::open(stage.session_file()).expect("a session file opens");
        let past = Past::load(Arc::new(log)).expect("a session file loads");
        let workspace = stage.path("").display().to_string();
        let ledger = Ledger::keeping(Detail::Lines).after(past, workspace.trim_end_matches('/'));
        claims += model.check(&ledger);
    }
    eprintln!("{kills} kills, {claims} claims checked");
    assert!(
        claims as u64 > kills,
        "only {claims} claims in {kills} rounds"
    );
}
