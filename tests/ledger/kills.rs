//! Processes killed at random moments: the ledger opens, and claims nothing that was not made.
//!
//! `SEAMFS_KILLS` says how often.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use seamfs::core::TargetKey;
use seamfs::policy::{Detail, Ledger, Lines, Past, Seen};
use seamfs::{Actor, SessionFile, Version};
use serde_json::{Value, json};

use super::chance::{Chance, times};
use super::doubles::Double;
use super::host::{Here, Place, Stage, Switches};
use crate::support::ensure;

const NAMES: [&str; 3] = ["A", "B", "C"];
const FILES: [&str; 2] = ["a.txt", "b.txt"];

const ALL: Switches = Switches {
    coverage: true,
    rebase: true,
    lasting: true,
};

/// Where the process that this binary becomes finds its workspace and session file.
const BROKEN: &str = "SEAMFS_TEST_BROKEN_LEDGER";

/// A session and a file.
type Who = (&'static str, &'static str);

/// What a line does once it takes effect.
#[derive(Clone, Debug)]
enum Deed {
    Read { content: String, shown: Vec<String> },
    Edit { after: String, new: String },
    Evict,
}

/// What each session knows: the content that it last saw or made, and the lines shown of it.
#[derive(Clone, Debug, Default)]
struct Model(HashMap<Who, (String, HashSet<String>)>);

impl Model {
    fn take(&mut self, who: Who, deed: &Deed) {
        match deed {
            Deed::Read { content, shown } => {
                let known = self.0.entry(who).or_default();
                known.0.clone_from(content);
                known.1.extend(shown.iter().cloned());
            }
            Deed::Edit { after, new } => {
                let known = self.0.entry(who).or_default();
                known.0.clone_from(after);
                known.1.insert(new.clone());
            }
            Deed::Evict => {
                self.0.remove(&who);
            }
        }
    }

    /// Checks everything that a ledger claims; returns how much that is.
    fn allows(&self, ledger: &Ledger) -> Result<u64, String> {
        let mut claims = 0;
        let all = NAMES
            .iter()
            .flat_map(|name| FILES.map(|file| (*name, file)));
        for who in all {
            let seen = ledger.seen(&Actor::new(who.0), &TargetKey::new(format!("/{}", who.1)));
            let (version, lines, known) = match (seen, self.0.get(&who)) {
                (None, None) => continue,
                (Some(Seen::Present { version, lines }), Some(known)) => (version, lines, known),
                (seen, known) => return Err(format!("{who:?}: {seen:?}, not {known:?}")),
            };
            claims += 1;
            let (content, shown) = known;
            ensure!(
                version.certifies(&Version::of(content.as_bytes())),
                "{who:?} is not where it was"
            );
            for (number, line) in (1..).zip(content.lines()) {
                let claimed = match &lines {
                    Lines::All => true,
                    Lines::Some(some) => some.whole().contains(number),
                };
                ensure!(
                    !claimed || shown.contains(line),
                    "{who:?} never saw {line:?}"
                );
            }
        }
        Ok(claims)
    }
}

/// Lines for one process, and what each does.
struct Round {
    lines: Vec<(Value, Who, Deed)>,
}

impl Round {
    fn plan(chance: &mut Chance, mut files: HashMap<&'static str, String>, next: &mut u64) -> Self {
        let mut lines = Vec::new();
        for _ in 0..4 + chance.below(12) {
            let who = (*chance.pick(&NAMES), *chance.pick(&FILES));
            let content = files[who.1].clone();
            let rows: Vec<&str> = content.lines().collect();
            let at = chance.below(rows.len());
            let limit = 1 + chance.below(6);
            let shown = &rows[at..(at + limit).min(rows.len())];
            let args = json!({ "file_path": who.1, "offset": at + 1, "limit": limit });
            let read = Deed::Read {
                content: content.clone(),
                shown: shown.iter().map(ToString::to_string).collect(),
            };
            lines.push((call(who, "read", args), who, read));
            if chance.below(2) == 0 {
                *next += 1;
                let (old, new) = (format!("{}\n", rows[at]), format!("line {next}"));
                let after = content.replacen(&old, &format!("{new}\n"), 1);
                let args = json!({
                    "file_path": who.1, "old_string": old, "new_string": format!("{new}\n"),
                });
                files.insert(who.1, after.clone());
                lines.push((call(who, "edit", args), who, Deed::Edit { after, new }));
            }
            if chance.below(12) == 0 {
                let line = json!({ "session": who.0, "signal": { "evicted": who.1 } });
                lines.push((line, who, Deed::Evict));
            }
        }
        Self { lines }
    }

    /// Sends the lines and kills the process after some of the answers and some more of its work;
    /// returns how many it answered.
    fn run(&self, mut process: Command, chance: &mut Chance) -> Result<usize, String> {
        let mut child = process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the process under test starts");
        let mut input = child.stdin.take().expect("stdin is piped");
        let text: String = self
            .lines
            .iter()
            .map(|(line, ..)| format!("{line}\n"))
            .collect();
        input.write_all(text.as_bytes()).expect("a pipe has room");
        let mut output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut told = String::new();
        let wanted = chance.below(self.lines.len() + 1);
        for _ in 0..wanted {
            output.read_line(&mut told).expect("the process answers");
        }
        // Anywhere within what comes next: the start of the process, or a call.
        let most = if wanted == 0 { 30_000 } else { 1500 };
        let rest = Duration::from_micros(chance.below(most) as u64);
        let since = Instant::now();
        while since.elapsed() < rest {
            std::hint::spin_loop();
        }
        child.kill().expect("the process can be killed");
        child.wait().expect("the process ends");
        output.read_to_string(&mut told).expect("answers are text");
        // What a test binary says beside, and an answer that was torn, are none.
        let whole = told
            .split_inclusive('\n')
            .filter(|line| line.ends_with("}\n"));
        let answers: Vec<&str> = whole
            .filter_map(|line| Some(&line[line.find('{')?..]))
            .collect();
        for answer in &answers {
            let answer: Value = serde_json::from_str(answer).expect("an answer is JSON");
            ensure!(answer["is_error"] == json!(false), "{answer}");
        }
        Ok(answers.len())
    }
}

fn call(who: Who, tool: &str, args: Value) -> Value {
    json!({ "session": who.0, "tool": tool, "args": args })
}

/// Kills so many processes and checks what each leaves; returns how many claims were checked.
fn check(kills: u64, process: impl Fn(&Stage) -> Command) -> Result<u64, String> {
    let stage = Stage::new(Place::Disk, ALL, None);
    let (mut chance, mut model, mut next, mut claims) = (Chance::new(7), Model::default(), 0, 0);
    for _ in 0..30 * FILES.len() {
        next += 1;
        let file = FILES[next as usize % FILES.len()];
        let line = format!("line {next}\n");
        let text = std::fs::read_to_string(stage.path(file)).unwrap_or_default();
        std::fs::write(stage.path(file), text + &line).expect("the outside can write");
    }
    let content = |file: &str| std::fs::read_to_string(stage.path(file)).expect("it is there");
    for kill in 0..kills {
        let files = FILES.iter().map(|file| (*file, content(file))).collect();
        let round = Round::plan(&mut chance, files, &mut next);
        let answered = round.run(process(&stage), &mut chance)?;
        for (_, who, deed) in &round.lines[..answered] {
            model.take(*who, deed);
        }
        // The line that the process was at may have taken effect, but no edit that did not land.
        let mut beyond = model.clone();
        if let Some((_, who, deed)) = round.lines.get(answered)
            && !matches!(deed, Deed::Edit { after, .. } if *after != content(who.1))
        {
            beyond.take(*who, deed);
        }
        let ledger = opened(&stage);
        claims += match (model.allows(&ledger), beyond.allows(&ledger)) {
            (Ok(claims), _) => claims,
            (_, Ok(claims)) => {
                model = beyond;
                claims
            }
            (Err(why), _) => return Err(format!("after kill {kill}: {why}")),
        };
    }
    Ok(claims)
}

fn opened(stage: &Stage) -> Ledger {
    let log = SessionFile::open(stage.session_file()).expect("a session file opens");
    let past = Past::load(Arc::new(log)).expect("a session file loads");
    let workspace = stage.path("").display().to_string();
    Ledger::keeping(Detail::Lines).after(past, workspace.trim_end_matches('/'))
}

fn batch(stage: &Stage) -> Command {
    let mut process = Command::new(env!("CARGO_BIN_EXE_seamfs"));
    process.arg("batch").args(stage.arguments());
    process
}

#[test]
fn a_killed_process_leaves_a_ledger_that_claims_only_what_was_seen() {
    let kills = times("SEAMFS_KILLS", 25);
    let claims = check(kills, batch).unwrap_or_else(|why| panic!("{why}"));
    eprintln!("{kills} kills, {claims} claims checked");
    assert!(claims > kills, "only {claims} claims in {kills} rounds");
}

#[test]
fn a_ledger_that_runs_ahead_of_what_it_records_is_noticed() {
    let found = check(400, |stage| {
        let mut process = Command::new(std::env::current_exe().expect("this binary has a path"));
        process
            .args(["ledger::kills::broken_process", "--exact", "--nocapture"])
            .arg("--test-threads=2")
            .env(BROKEN, stage.folder());
        process
    });
    let why = found.expect_err("nobody notices a record of an edit that never landed");
    assert!(why.contains("not where it was"), "{why}");
}

/// Answers lines like `batch`, with a ledger that records an edit before it lands.
#[test]
fn broken_process() {
    let Some(folder) = std::env::var_os(BROKEN) else {
        return;
    };
    let stage = Stage::existing(folder.as_ref(), ALL);
    let here = Here::open(&stage, Double::RecordsAhead);
    for line in std::io::stdin().lines() {
        let line = line.expect("lines are text");
        let answer = here.answer(&serde_json::from_str(&line).expect("a line is JSON"));
        let mut output = std::io::stdout().lock();
        writeln!(output, "{answer}").expect("somebody listens");
        output.flush().expect("somebody listens");
    }
}
