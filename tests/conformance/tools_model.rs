//! The state machine of the tools: random calls of several sessions under the observation policy.
//!
//! The reference knows the files and what each session has seen of them, and says of each call
//! which code it must have (O1 to O10).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use seamfs::core::conformance::{Deed, Subject};
use seamfs::{ErrorCode, FileSystemExt, ToolResult, Version, Workspace};
use serde_json::{Value, json};

use super::model;
use super::subjects::{GCS, GROUNDS, S3};

const FILES: &[&str] = &["tools/a", "tools/folder/b"];
const SESSIONS: usize = 3;
/// The first ones are text; outside hands put the others too.
const CONTENTS: &[&[u8]] = &[
    b"",
    b"one\n",
    b"two\n",
    b"one one\n",
    b"aaa",
    b"\xef\xbb\xbfone",
    b"one\r\ntwo\r\n",
    b"no text \0",
    b"no text \xff",
];
const TEXTS: usize = 7;
const OLD: &[&str] = &["one", "two", "aa", "never"];
const NEW: &[&str] = &["", "1", "$& one"];

/// A call, or what happens between calls.
#[derive(Clone, Debug)]
enum Step {
    Tool(usize, Call),
    /// Two calls at once; those of one session keep their order.
    Together((usize, Call), (usize, Call)),
    /// A session reads, something touches the file, and the session changes what it saw.
    Between(usize, Box<Self>, Call),
    Put(usize, usize),
    Touch(usize),
    Vanish(usize),
    Forget(usize),
}

/// A call of a tool on a file.
#[derive(Clone, Debug)]
enum Call {
    Read {
        file: usize,
        window: bool,
    },
    View {
        file: usize,
    },
    Write {
        file: usize,
        content: usize,
    },
    Edit {
        file: usize,
        old: usize,
        new: usize,
        all: bool,
    },
    Create {
        file: usize,
        content: usize,
    },
    StrReplace {
        file: usize,
        old: usize,
        new: usize,
    },
}

fn file() -> impl Strategy<Value = usize> + Clone {
    prop_oneof![3 => Just(0), 1 => Just(1)]
}

fn look() -> impl Strategy<Value = Call> {
    prop_oneof![
        (file(), any::<bool>()).prop_map(|(file, window)| Call::Read { file, window }),
        file().prop_map(|file| Call::View { file }),
    ]
}

fn change() -> impl Strategy<Value = Call> {
    let words = (file(), 0..OLD.len(), 0..NEW.len());
    prop_oneof![
        2 => (file(), 0..TEXTS).prop_map(|(file, content)| Call::Write { file, content }),
        3 => (words.clone(), any::<bool>())
            .prop_map(|((file, old, new), all)| Call::Edit { file, old, new, all }),
        1 => (file(), 0..TEXTS).prop_map(|(file, content)| Call::Create { file, content }),
        1 => words.prop_map(|(file, old, new)| Call::StrReplace { file, old, new }),
    ]
}

fn call() -> impl Strategy<Value = (usize, Call)> {
    (0..SESSIONS, prop_oneof![1 => look(), 2 => change()])
}

fn outside() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (file(), 0..CONTENTS.len()).prop_map(|(file, content)| Step::Put(file, content)),
        1 => file().prop_map(Step::Touch),
        1 => file().prop_map(Step::Vanish),
    ]
}

fn between() -> impl Strategy<Value = Step> {
    let touch = prop_oneof![
        2 => outside(),
        1 => call().prop_map(|(session, call)| Step::Tool(session, call)),
    ];
    (0..SESSIONS, touch, change()).prop_map(|(session, touch, change)| {
        let touch = touch.aimed_at(change.file());
        Step::Between(session, Box::new(touch), change)
    })
}

fn history() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => call().prop_map(|(session, call)| Step::Tool(session, call)),
        1 => (call(), call()).prop_map(|(one, two)| Step::Together(one, two)),
        3 => between(),
        2 => outside(),
        1 => (0..SESSIONS).prop_map(Step::Forget),
    ];
    proptest::collection::vec(step, 1..24)
}

impl Step {
    fn aimed_at(self, at: usize) -> Self {
        match self {
            Self::Put(_, content) => Self::Put(at, content),
            Self::Touch(_) => Self::Touch(at),
            Self::Vanish(_) => Self::Vanish(at),
            Self::Tool(session, call) => Self::Tool(session, call.aimed_at(at)),
            other => other,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Tool(_, Call::Read { .. } | Call::View { .. }) => "look",
            Self::Tool(..) => "change",
            Self::Together(..) => "two calls at once",
            Self::Between(..) => "touch between a read and a change",
            Self::Put(..) => "put from outside",
            Self::Touch(_) => "touch from outside",
            Self::Vanish(_) => "remove from outside",
            Self::Forget(_) => "end of a session",
        }
    }
}

impl Call {
    fn file(&self) -> usize {
        match self {
            Self::Read { file, .. }
            | Self::View { file }
            | Self::Write { file, .. }
            | Self::Edit { file, .. }
            | Self::Create { file, .. }
            | Self::StrReplace { file, .. } => *file,
        }
    }

    fn aimed_at(mut self, at: usize) -> Self {
        match &mut self {
            Self::Read { file, .. }
            | Self::View { file }
            | Self::Write { file, .. }
            | Self::Edit { file, .. }
            | Self::Create { file, .. }
            | Self::StrReplace { file, .. } => *file = at,
        }
        self
    }

    /// Returns the tool and its arguments.
    fn arguments(&self, root: &str) -> (&'static str, Value) {
        let path = format!("{root}/{}", FILES[self.file()]);
        match self {
            Self::Read { window: false, .. } => ("read", json!({ "file_path": path })),
            Self::Read { .. } => ("read", json!({ "file_path": path, "limit": 1 })),
            Self::View { .. } => (
                "str_replace_editor",
                json!({ "command": "view", "path": path }),
            ),
            Self::Write { content, .. } => (
                "write",
                json!({ "file_path": path, "content": text(*content) }),
            ),
            Self::Edit { old, new, all, .. } => {
                let args = json!({
                    "file_path": path,
                    "old_string": OLD[*old],
                    "new_string": NEW[*new],
                    "replace_all": all,
                });
                ("edit", args)
            }
            Self::Create { content, .. } => {
                let args =
                    json!({ "command": "create", "path": path, "file_text": text(*content) });
                ("str_replace_editor", args)
            }
            Self::StrReplace { old, new, .. } => {
                let args = json!({
                    "command": "str_replace",
                    "path": path,
                    "old_str": OLD[*old],
                    "new_str": NEW[*new],
                });
                ("str_replace_editor", args)
            }
        }
    }
}

fn text(content: usize) -> String {
    String::from_utf8_lossy(CONTENTS[content]).into_owned()
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0)
}

/// What a session knows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Present(Vec<u8>),
    Absent,
}

/// The files, and what each session has seen of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reference {
    files: BTreeMap<usize, Vec<u8>>,
    seen: BTreeMap<(usize, usize), Seen>,
}

/// The code of a call; none for a success.
type Code = Option<ErrorCode>;

impl Reference {
    fn call(&mut self, session: usize, call: &Call) -> Code {
        let file = call.file();
        match call {
            Call::Read { .. } | Call::View { .. } => self.look(session, file),
            Call::Write { content, .. } => self.write(session, file, CONTENTS[*content]),
            Call::Create { content, .. } => self.create(session, file, CONTENTS[*content]),
            Call::Edit { old, new, all, .. } => {
                self.edit(session, file, OLD[*old], NEW[*new], *all)
            }
            Call::StrReplace { old, new, .. } => match self.files.contains_key(&file) {
                false => self.look(session, file),
                true => self.edit(session, file, OLD[*old], NEW[*new], false),
            },
        }
    }

    fn look(&mut self, session: usize, file: usize) -> Code {
        let (seen, code) = match self.files.get(&file) {
            None => (Seen::Absent, Some(ErrorCode::NotFound)),
            Some(there) if !is_text(there) => return Some(ErrorCode::NotText),
            Some(there) => (Seen::Present(there.clone()), None),
        };
        self.seen.insert((session, file), seen);
        code
    }

    /// A stale refusal shows the change where both sides are text; what was shown was seen.
    fn stale(&mut self, session: usize, file: usize) -> Code {
        if let Some(there) = self.files.get(&file).filter(|there| is_text(there)) {
            self.seen
                .insert((session, file), Seen::Present(there.clone()));
        }
        Some(ErrorCode::StaleVersion)
    }

    fn store(&mut self, session: usize, file: usize, bytes: Vec<u8>) -> Code {
        self.files.insert(file, bytes.clone());
        self.seen.insert((session, file), Seen::Present(bytes));
        None
    }

    fn write(&mut self, session: usize, file: usize, bytes: &[u8]) -> Code {
        let there = self.files.get(&file);
        match (self.seen.get(&(session, file)), there) {
            (None, Some(_)) => Some(ErrorCode::NotObserved),
            (Some(Seen::Absent), Some(_)) | (Some(Seen::Present(_)), None) => {
                self.stale(session, file)
            }
            (Some(Seen::Present(seen)), Some(there)) if seen != there => self.stale(session, file),
            _ => self.store(session, file, bytes.to_vec()),
        }
    }

    fn create(&mut self, session: usize, file: usize, bytes: &[u8]) -> Code {
        match (self.seen.get(&(session, file)), self.files.get(&file)) {
            (_, Some(_)) => Some(ErrorCode::AlreadyExists),
            (Some(Seen::Present(_)), None) => Some(ErrorCode::StaleVersion),
            _ => self.store(session, file, bytes.to_vec()),
        }
    }

    fn edit(&mut self, session: usize, file: usize, old: &str, new: &str, all: bool) -> Code {
        let seen = match self.seen.get(&(session, file)) {
            None => return Some(ErrorCode::NotObserved),
            Some(Seen::Absent) => return Some(ErrorCode::NotFound),
            Some(Seen::Present(seen)) => seen,
        };
        if self.files.get(&file) != Some(seen) {
            return self.stale(session, file);
        }
        let text = String::from_utf8_lossy(seen).into_owned();
        let overlapping =
            (0..text.len()).filter(|at| text.as_bytes()[*at..].starts_with(old.as_bytes()));
        match (overlapping.count(), all) {
            (0, _) => Some(ErrorCode::EditNotFound),
            (1, _) | (_, true) => self.store(session, file, text.replace(old, new).into_bytes()),
            _ => Some(ErrorCode::AmbiguousEdit),
        }
    }
}

/// The workspace, what it may have come to, and the hands outside.
///
/// Calls at once leave several histories possible, such as what a reader saw of a racing writer;
/// each step keeps those that explain its answer.
struct World {
    subject: Subject,
    workspace: Workspace,
    root: String,
    possible: Vec<Reference>,
}

type Checked = Result<(), String>;

impl World {
    async fn new(subject: Subject) -> Self {
        let workspace = Workspace::builder().over(std::sync::Arc::clone(subject.fs()));
        let root = subject.fs().target(".").await.expect("there is a root");
        Self {
            root: root.display().trim_end_matches('/').to_owned(),
            subject,
            workspace,
            possible: vec![Reference::default()],
        }
    }

    fn begin(&self, session: usize, call: &Call) -> seamfs::Call {
        let (tool, arguments) = call.arguments(&self.root);
        self.workspace
            .session(&format!("session-{session}"))
            .call(tool, arguments)
    }

    async fn take(&mut self, step: &Step) -> Checked {
        match step {
            Step::Tool(session, call) => {
                let result = self.begin(*session, call).await;
                let mut expected = Vec::new();
                self.possible.retain_mut(|reference| {
                    expected.push(reference.call(*session, call));
                    expected.last() == Some(&result.code())
                });
                match self.possible.is_empty() {
                    false => check_result(call, &result, &self.files().await),
                    true => Err(format!(
                        "{call:?}: expected {expected:?}, found {}",
                        result.text
                    )),
                }
            }
            Step::Together(one, two) => self.together(one, two).await,
            Step::Between(session, between, change) => {
                let read = Call::Read {
                    file: change.file(),
                    window: false,
                };
                Box::pin(self.take(&Step::Tool(*session, read))).await?;
                Box::pin(self.take(between)).await?;
                Box::pin(self.take(&Step::Tool(*session, change.clone()))).await
            }
            Step::Put(file, content) => {
                let bytes = CONTENTS[*content];
                for reference in &mut self.possible {
                    reference.files.insert(*file, bytes.to_vec());
                }
                let path = FILES[*file];
                self.act(Deed::Put { path, bytes }).await
            }
            Step::Touch(file) if self.there(*file) => {
                let path = FILES[*file];
                self.act(Deed::Touch { path }).await
            }
            Step::Vanish(file) if self.there(*file) => {
                for reference in &mut self.possible {
                    reference.files.remove(file);
                }
                let path = FILES[*file];
                self.act(Deed::Remove { path }).await
            }
            Step::Touch(_) | Step::Vanish(_) => Ok(()),
            Step::Forget(session) => {
                self.workspace.session(&format!("session-{session}")).end();
                for reference in &mut self.possible {
                    reference.seen.retain(|(of, _), _| of != session);
                }
                Ok(())
            }
        }
    }

    /// The files are the same in every possible history.
    fn there(&self, file: usize) -> bool {
        self.possible[0].files.contains_key(&file)
    }

    async fn act(&self, deed: Deed<'_>) -> Checked {
        let outside = self.subject.outside().expect("somebody is outside");
        outside.act(deed).await.map_err(|unable| unable.to_string())
    }

    /// Two calls at once come to what one order of them would; a session's own keep theirs.
    async fn together(&mut self, one: &(usize, Call), two: &(usize, Call)) -> Checked {
        let (first, second) = (self.begin(one.0, &one.1), self.begin(two.0, &two.1));
        let (first, second) = futures::join!(first, second);
        let codes = [first.code(), second.code()];
        let mut possible = Vec::new();
        for before in std::mem::take(&mut self.possible) {
            let mut forwards = before.clone();
            if [one, two].map(|(session, call)| forwards.call(*session, call)) == codes {
                possible.push(forwards);
            }
            let mut backwards = before;
            let [of_two, of_one] = [two, one].map(|(session, call)| backwards.call(*session, call));
            if one.0 != two.0 && [of_one, of_two] == codes {
                possible.push(backwards);
            }
        }
        let files = self.files().await;
        possible.retain(|reference| reference.files == files);
        possible.dedup();
        self.possible = possible;
        match self.possible.is_empty() {
            false => Ok(()),
            true => Err(format!(
                "at once they gave {:?} and {:?}",
                first.text, second.text
            )),
        }
    }

    async fn files(&self) -> BTreeMap<usize, Vec<u8>> {
        let mut found = BTreeMap::new();
        for (number, path) in FILES.iter().enumerate() {
            let target = self.subject.fs().target(path).await.expect("it resolves");
            if let Ok(read) = self.subject.fs().read_all(&target).await {
                found.insert(number, read.bytes.to_vec());
            }
        }
        found
    }
}

/// Checks what a result says beside its code.
fn check_result(call: &Call, result: &ToolResult, files: &BTreeMap<usize, Vec<u8>>) -> Checked {
    match (result.structured["version"].as_str(), result.code()) {
        (Some(version), None) => {
            let version: Version = version.parse().map_err(|error| format!("{error}"))?;
            let there = files.get(&call.file()).map(|there| Version::of(there));
            match there.is_some_and(|there| version.certifies(&there)) {
                true => Ok(()),
                false => Err(format!("{call:?}: the version is of other bytes")),
            }
        }
        (None, None) => Err(format!("{call:?}: a success without a version")),
        (_, Some(ErrorCode::StaleVersion | ErrorCode::NotObserved)) => {
            let next = result
                .error
                .as_ref()
                .and_then(|error| error.next_action.as_ref());
            next.map(drop)
                .ok_or_else(|| format!("{call:?}: no next action"))
        }
        _ => Ok(()),
    }
}

async fn replay(subject: Subject, steps: &[Step]) -> Checked {
    let mut world = World::new(subject).await;
    for (number, step) in steps.iter().enumerate() {
        let place = |failure| format!("step {number}, {step:?}: {failure}");
        world.take(step).await.map_err(place)?;
        let (found, expected) = (world.files().await, &world.possible[0].files);
        if found != *expected {
            return Err(place(format!(
                "the files are {found:?}, expected {expected:?}"
            )));
        }
    }
    Ok(())
}

/// Writes a history as lines for `seamfs batch`; somebody outside is a session that looks first.
fn script(steps: &[Step]) -> String {
    let mut lines = Vec::new();
    for step in steps {
        add_lines(step, &mut lines);
    }
    lines
        .iter()
        .map(Value::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

fn line(session: &str, call: &Call) -> Value {
    let (tool, args) = call.arguments("");
    json!({ "session": session, "tool": tool, "args": args })
}

fn add_lines(step: &Step, lines: &mut Vec<Value>) {
    let of = |(session, call): &(usize, Call)| line(&format!("session-{session}"), call);
    match step {
        Step::Tool(session, call) => lines.push(of(&(*session, call.clone()))),
        Step::Together(one, two) => lines.push(json!({ "parallel": [of(one), of(two)] })),
        Step::Between(session, between, change) => {
            let read = Call::Read {
                file: change.file(),
                window: false,
            };
            lines.push(of(&(*session, read)));
            add_lines(between, lines);
            lines.push(of(&(*session, change.clone())));
        }
        Step::Put(file, content) => {
            lines.push(line(
                "outside",
                &Call::Read {
                    file: *file,
                    window: false,
                },
            ));
            lines.push(line(
                "outside",
                &Call::Write {
                    file: *file,
                    content: *content,
                },
            ));
        }
        Step::Touch(_) | Step::Vanish(_) | Step::Forget(_) => {}
    }
}

#[derive(Debug, Default)]
struct Histogram(BTreeMap<&'static str, usize>);

impl Histogram {
    fn total(&self) -> usize {
        self.0.values().sum()
    }

    fn between(&self) -> f64 {
        let touched = self.0.get("touch between a read and a change").copied();
        touched.unwrap_or_default() as f64 / self.total().max(1) as f64
    }
}

impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} steps", self.total())?;
        self.0
            .iter()
            .try_for_each(|(kind, count)| writeln!(f, "{count:>9} {kind}"))
    }
}

fn check(name: &str) {
    let ground = GROUNDS.iter().find(|ground| ground.name == name);
    check_over(name, ground.expect("a file system").make);
}

pub(super) fn check_over(name: &str, make: impl Fn() -> Subject) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    let histogram = Mutex::new(Histogram::default());
    let mut runner = TestRunner::new(Config {
        cases: model::cases(name),
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(&history(), |steps| {
        let mut counts = histogram.lock().unwrap_or_else(PoisonError::into_inner);
        for step in &steps {
            *counts.0.entry(step.kind()).or_default() += 1;
        }
        drop(counts);
        runtime.block_on(replay(make(), &steps)).map_err(|failure| {
            TestCaseError::fail(format!(
                "{failure}\nfor seamfs batch:\n{}\n",
                script(&steps)
            ))
        })
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    let histogram = histogram
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    eprintln!("{name}: {histogram}");
    assert!(
        histogram.between() >= 0.2 || histogram.total() < 1000,
        "{histogram}"
    );
}

#[test]
fn calls_over_memory_agree_with_the_policy() {
    check("Memory");
}

#[test]
fn calls_over_the_strict_double_agree_with_the_policy() {
    check("`Strict<Memory>`");
}

#[cfg(unix)]
#[test]
fn calls_over_local_agree_with_the_policy() {
    check("Local");
}

#[test]
fn a_broken_double_is_found_and_its_calls_shrink_to_a_script() {
    let name = "ignores the guard of a write";
    let script = model::script_of(|| check_over(name, || model::broken(name)));
    assert!(script.len() <= 8, "{name} shrank to {script:?}");
    model::replay(&script);
}

#[test]
fn calls_over_s3_agree_with_the_policy() {
    check(S3);
}

#[test]
fn calls_over_gcs_agree_with_the_policy() {
    check(GCS);
}
