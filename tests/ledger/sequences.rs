//! Random sequences of several sessions, judged by a model of what each was told in so many words
//! and by a three-way merge of the test's own.
//!
//! `SEAMFS_SEQUENCES` says how many; a failure names its seed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use seamfs::policy::{Coverage, Detail, Ledger, Observation, Rebase};
use seamfs::providers::Memory;
use seamfs::{Expected, FileSystem, FileSystemExt, ToolResult, Workspace};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::chance::{Chance, times};
use super::doubles::Double;
use super::merge::{is_distinct, merges, stands};
use crate::support::{Verdict, ensure, ensure_eq};

const NAMES: [&str; 3] = ["A", "B", "C"];

/// How many steps a sequence has.
const STEPS: usize = 24;

/// One sequence: what the file holds, and what each session was told of it.
struct Run<'r> {
    runtime: &'r Runtime,
    chance: Chance,
    fs: Arc<dyn FileSystem>,
    workspace: Workspace,
    coverage: bool,
    /// Lines that repeat may be taken for each other; those that do not have a number.
    repeats: bool,
    text: String,
    next: usize,
    /// The lines that each session was shown or wrote, whole.
    told: HashMap<&'static str, HashSet<String>>,
    /// The content that each session's next guard is about.
    base: HashMap<&'static str, String>,
    /// The sessions whose base holds lines that a rebase landed beside without showing them.
    blind: HashSet<&'static str>,
    tally: Tally,
}

/// How often what was to be judged came up.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    rebased: u64,
    stale: u64,
    unseen: u64,
    landed: u64,
}

impl<'r> Run<'r> {
    fn new(runtime: &'r Runtime, seed: u64, double: Double) -> Self {
        let mut chance = Chance::new(seed);
        let coverage = chance.below(3) > 0;
        let detail = match coverage {
            true => Detail::Lines,
            false => Detail::Merges,
        };
        let ledger = Arc::new(Ledger::keeping(detail));
        let mut rules = vec![double.bend(Observation::over(Arc::clone(&ledger)))];
        if coverage {
            rules.push(double.bend(Coverage::over(Arc::clone(&ledger))));
        }
        rules.push(double.bend(Rebase::over(ledger)));
        let fs: Arc<dyn FileSystem> = Arc::new(Memory::new());
        let builder = Workspace::builder()
            .rules(rules)
            .tool_option("read", "max_line_chars", "40")
            .and_then(|builder| builder.tool_option("str_replace_editor", "maxOutputChars", "150"));
        let mut run = Self {
            runtime,
            repeats: chance.below(2) == 0,
            chance,
            workspace: builder.expect("the options exist").over(Arc::clone(&fs)),
            fs,
            coverage,
            text: String::new(),
            next: 0,
            told: HashMap::new(),
            base: HashMap::new(),
            blind: HashSet::new(),
            tally: Tally::default(),
        };
        let text: String = (0..4 + run.chance.below(14)).map(|_| run.line()).collect();
        run.put(text);
        run
    }

    /// Makes a line: of its own, too long for a read, or like others.
    fn line(&mut self) -> String {
        self.next += 1;
        let number = self.next;
        match self.chance.below(8) {
            0 if self.repeats => "}\n".to_owned(),
            1 if self.repeats => "\n".to_owned(),
            2 => format!("{number} {} {number}\n", "long ".repeat(10)),
            _ => format!("line {number}\n"),
        }
    }

    /// Changes the file from outside.
    fn put(&mut self, text: String) {
        let bytes = Bytes::from(text.clone());
        self.runtime.block_on(async {
            let target = self.fs.target("/a").await.expect("it resolves");
            let put = self.fs.write_all(&target, bytes, Expected::Any).await;
            put.expect("the outside can write");
        });
        self.text = text;
    }

    fn stored(&self) -> String {
        let stored = self.runtime.block_on(async {
            let target = self.fs.target("/a").await?;
            self.fs.read_all(&target).await
        });
        String::from_utf8(stored.expect("the file is there").bytes.to_vec()).expect("it is text")
    }

    fn call(&self, name: &str, tool: &str, args: Value) -> ToolResult {
        let session = self.workspace.session(name);
        self.runtime
            .block_on(async { session.call(tool, args).await })
    }

    fn tell(&mut self, name: &'static str, line: &str) {
        self.told
            .entry(name)
            .or_default()
            .insert(line.trim_end_matches('\n').to_owned());
    }

    fn step(&mut self) -> Verdict {
        let name = *self.chance.pick(&NAMES);
        match self.chance.below(12) {
            0..=2 => self.read(name),
            3 => self.view(name),
            4 => self.write(name),
            5 => self.meddle(),
            6 => self.signal(name),
            _ => self.edit(name),
        }
    }

    fn read(&mut self, name: &'static str) -> Verdict {
        let total = self.text.lines().count();
        let (offset, limit) = (
            1 + self.chance.below(total.max(1)),
            1 + self.chance.below(9),
        );
        let args = json!({ "file_path": "/a", "offset": offset, "limit": limit });
        let found = self.call(name, "read", args);
        ensure!(!found.is_error(), "{}", found.text);
        for line in found.structured["lines"].as_array().into_iter().flatten() {
            // A line that was cut is none of the file's, so that it tells of nothing.
            self.tell(name, line["text"].as_str().unwrap_or_default());
        }
        self.base.insert(name, self.text.clone());
        self.blind.remove(name);
        Ok(())
    }

    fn view(&mut self, name: &'static str) -> Verdict {
        let found = self.call(
            name,
            "str_replace_editor",
            json!({ "command": "view", "path": "/a" }),
        );
        ensure!(!found.is_error(), "{}", found.text);
        for row in found.text.lines().skip(1) {
            if let Some(line) = row.get(8..) {
                self.tell(name, line);
            }
        }
        self.base.insert(name, self.text.clone());
        self.blind.remove(name);
        Ok(())
    }

    fn meddle(&mut self) -> Verdict {
        let mut lines: Vec<String> = self.text.split_inclusive('\n').map(str::to_owned).collect();
        let at = self.chance.below(lines.len() + 1);
        match self.chance.below(3) {
            0 if at < lines.len() => {
                lines.remove(at);
            }
            1 if at < lines.len() => lines[at] = self.line(),
            _ => lines.insert(at, self.line()),
        }
        self.put(lines.concat());
        Ok(())
    }

    fn signal(&mut self, name: &'static str) -> Verdict {
        let session = self.workspace.session(name);
        if self.chance.below(2) == 0 {
            session.evicted_all();
            self.base.remove(name);
            self.blind.remove(name);
            return Ok(());
        }
        let to = *self.chance.pick(&NAMES);
        let _ = session.fork(to);
        match self.blind.contains(name) {
            true => self.blind.insert(to),
            false => self.blind.remove(to),
        };
        let known = self.told.get(name).cloned().unwrap_or_default();
        self.told.entry(to).or_default().extend(known);
        match self.base.get(name).cloned() {
            Some(base) => self.base.insert(to, base),
            None => self.base.remove(to),
        };
        Ok(())
    }

    fn write(&mut self, name: &'static str) -> Verdict {
        let lines: String = (0..1 + self.chance.below(6)).map(|_| self.line()).collect();
        let args = json!({ "file_path": "/a", "content": lines });
        let done = self.call(name, "write", args);
        self.judge(name, &done, None)
    }

    fn edit(&mut self, name: &'static str) -> Verdict {
        // Mostly what the session knows, sometimes what is there, known or not.
        let base = match self.chance.below(4) {
            0 => self.text.clone(),
            _ => self.base.get(name).unwrap_or(&self.text).clone(),
        };
        let lines: Vec<&str> = base.split_inclusive('\n').collect();
        if lines.is_empty() {
            return Ok(());
        }
        let at = self.chance.below(lines.len());
        let span = 1 + self.chance.below(3).min(lines.len() - at - 1);
        let mut old = lines[at..at + span].concat();
        if self.chance.below(3) == 0 {
            old = old.trim_end_matches('\n').to_owned();
        }
        let mut new = match self.chance.below(4) {
            0 => String::new(),
            1 => format!("{}{}", self.line(), self.line()),
            _ => self.line(),
        };
        if !old.ends_with('\n') {
            new.truncate(new.trim_end_matches('\n').len());
        }
        if old.is_empty() || old == new {
            return Ok(());
        }
        let args = json!({ "file_path": "/a", "old_string": old, "new_string": new });
        let done = self.call(name, "edit", args);
        self.judge(name, &done, Some((&old, &new)))
    }

    /// Judges a mutation by what the file held before, what it holds now, and what was said.
    fn judge(
        &mut self,
        name: &'static str,
        done: &ToolResult,
        edit: Option<(&str, &str)>,
    ) -> Verdict {
        let (before, after) = (self.text.clone(), self.stored());
        let base = self.base.get(name).cloned();
        let blind = self.blind.contains(name);
        if let Some(info) = &done.error {
            ensure_eq!(before, after, "a refusal changed something: {}", done.text);
            self.learn(name, done, info.retry == seamfs::core::Retry::AsIs);
            if done.code() == Some(seamfs::ErrorCode::StaleVersion) {
                self.tally.stale += 1;
                return match blind {
                    true => Ok(()),
                    false => self.is_rightly_stale(base.as_deref(), edit, done),
                };
            }
            self.tally.unseen += u64::from(info.details.unseen_lines.is_some());
            return Ok(());
        }
        self.tally.landed += 1;
        if let Some((old, new)) = edit {
            let at = before.find(old).ok_or("an edit of what was not there")?;
            let expected = format!("{}{new}{}", &before[..at], &before[at + old.len()..]);
            ensure_eq!(after, expected, "bytes outside the span: {}", done.text);
            if done.text.contains("rebased") {
                self.tally.rebased += 1;
                self.blind.insert(name);
                let base = base.clone().ok_or("a rebase without a base")?;
                let mine = base.replacen(old, new, 1);
                let merges = merges(&base, &mine, &before);
                ensure!(
                    merges.contains(&after),
                    "{after:?} is none of {merges:?}, base {base:?}, mine {mine:?}"
                );
            } else {
                ensure_eq!(
                    Some(&before),
                    base.as_ref(),
                    "a stale edit landed: {}",
                    done.text
                );
            }
        }
        if self.coverage {
            self.replaced_only_what_was_told(name, &before, &after)?;
        }
        if edit.is_none() {
            self.blind.remove(name);
        }
        // What it wrote itself it knows; a rebase brings in nothing else.
        let wrote = match edit {
            None => 0..after.len(),
            Some((old, new)) => {
                let at = before.find(old).unwrap_or_default();
                let whole = new.is_empty() && old.ends_with('\n');
                at..at + new.len().max(usize::from(!whole))
            }
        };
        let mut start = 0;
        for line in after.split_inclusive('\n') {
            if start < wrote.end && wrote.start < start + line.len() {
                self.tell(name, line);
            }
            start += line.len();
        }
        self.text.clone_from(&after);
        self.base.insert(name, after);
        Ok(())
    }

    /// Notes what an error showed.
    fn learn(&mut self, name: &'static str, done: &ToolResult, complete: bool) {
        let Some(info) = &done.error else { return };
        if let Some(excerpt) = &info.details.excerpt {
            self.tell(name, &excerpt.text);
        }
        let Some(diff) = &info.details.diff else {
            return;
        };
        for row in diff.lines().filter(|row| row.starts_with([' ', '+'])) {
            self.tell(name, &row[1..]);
        }
        if complete {
            self.base.insert(name, self.text.clone());
            self.blind.remove(name);
        }
    }

    /// Checks a refusal the other way round: what stands as it was seen was not refused.
    fn is_rightly_stale(
        &self,
        base: Option<&str>,
        edit: Option<(&str, &str)>,
        done: &ToolResult,
    ) -> Verdict {
        let (Some(base), Some((old, _))) = (base, edit) else {
            return Ok(());
        };
        // Under coverage lines beside the span must have been shown, which is judged apart. Where
        // lines repeat, a diff picks one of several alignments, and that may conflict.
        let once = |text: &str| text.matches(old).count() == 1 && is_distinct(text);
        if self.coverage || !once(base) || !once(&self.text) {
            return Ok(());
        }
        let start = base.find(old).unwrap_or_default();
        ensure!(
            !stands(base, start..start + old.len(), &self.text),
            "{old:?} of {base:?} stands in {:?}: {}",
            self.text,
            done.text
        );
        Ok(())
    }

    fn replaced_only_what_was_told(&self, name: &str, before: &str, after: &str) -> Verdict {
        let kept: HashSet<&str> = after.lines().collect();
        let told = self.told.get(name);
        for line in before.lines().filter(|line| !kept.contains(line)) {
            ensure!(
                told.is_some_and(|told| told.contains(line) || in_parts(line, told)),
                "{name} replaced {line:?}, which it was never shown"
            );
        }
        Ok(())
    }
}

/// Returns whether a long line was shown in parts that together are all of it.
fn in_parts(line: &str, told: &HashSet<String>) -> bool {
    let parts = told.iter().filter(|part| part.len() > 6);
    let mut parts: Vec<(usize, usize)> = parts
        .filter_map(|part| Some((line.find(part.as_str())?, part.len())))
        .collect();
    parts.sort_unstable();
    let reach = |reached: usize, (start, len): &(usize, usize)| match *start <= reached {
        true => reached.max(start + len),
        false => reached,
    };
    line.len() > 40 && parts.iter().fold(0, reach) == line.len()
}

fn run(seeds: std::ops::Range<u64>, double: Double) -> Result<Tally, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    for seed in seeds {
        let mut run = Run::new(&runtime, seed, double);
        for step in 0..STEPS {
            run.step()
                .map_err(|why| format!("seed {seed}, step {step}: {why}"))?;
        }
        tally.rebased += run.tally.rebased;
        tally.stale += run.tally.stale;
        tally.unseen += run.tally.unseen;
        tally.landed += run.tally.landed;
    }
    Ok(tally)
}

#[test]
fn no_sequence_loses_a_line_that_was_not_shown_or_merges_wrongly() {
    let count = times("SEAMFS_SEQUENCES", 300);
    match run(0..count, Double::Sound) {
        Err(why) => panic!("{why}"),
        Ok(tally) => {
            eprintln!("{count} sequences: {tally:?}");
            assert!(
                tally.rebased > count / 20 && tally.unseen > count / 20,
                "{tally:?}"
            );
            assert!(
                tally.stale > count / 20 && tally.landed > count,
                "{tally:?}"
            );
        }
    }
}

#[test]
fn the_sequences_notice_each_double() {
    for double in [
        Double::CountsWindows,
        Double::InspectsNothing,
        Double::GuardsNothing,
        Double::NeverRebases,
        Double::TakesMergesForSeen,
    ] {
        assert!(run(0..300, double).is_err(), "{double:?} goes unnoticed");
    }
}
