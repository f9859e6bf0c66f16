//! The soak: 64 sessions on three stores that fail, for as long as wanted, and nothing is lost.
//!
//! `SEAMFS_SOAK_SECONDS` says how long. Work is done in rounds: each has fresh files and fresh
//! sessions, every answer is checked as it comes, every file at the end of its round, and the
//! memory of the process against what it was after the first rounds.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use seamfs::core::RemoveOptions;
use seamfs::core::conformance::faults::{Faulty, Plan};
use seamfs::{ErrorCode, FileSystem, FileSystemExt, FsError, Session, Workspace};
use serde_json::json;

use super::places::{Place, Provider};

const SESSIONS: usize = 64;
const FILES: usize = 5;
const CALLS: usize = 12;

/// How many of a hundred calls of the seam, and requests on the wire, meet with a fault.
const OFTEN: u32 = 3;

/// How much more memory than after the first rounds there may be at the end, in bytes.
const MOST_GROWTH: u64 = 48 << 20;

const START: &str = "start\nend\n";

fn patience() -> Duration {
    let seconds = std::env::var("SEAMFS_SOAK_SECONDS").map_or(3, |text| {
        text.parse().expect("SEAMFS_SOAK_SECONDS is a number")
    });
    Duration::from_secs(seconds)
}

/// Returns how much memory this process holds now, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let held = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = held.and_then(|held| held.trim().strip_suffix(" kB"));
    let kibibytes: u64 = kibibytes.expect("a size").parse().expect("a number");
    kibibytes << 10
}

/// What became of a line that a session wanted in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Done,
    NotDone,
    Unknown,
}

/// What all sessions were told, by file and line.
#[derive(Debug, Default)]
struct Ledger(Mutex<HashMap<(usize, String), Told>>);

impl Ledger {
    fn tell(&self, file: usize, line: String, told: Told) {
        let mut ledger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(ledger.insert((file, line), told).is_none(), "a line twice");
    }

    /// Checks a file's lines: all that were acknowledged once, what is unknown at the most once,
    /// and no other.
    fn check(&self, file: usize, text: &str, counts: &mut Counts) {
        let ledger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines: HashMap<&str, usize> = HashMap::new();
        for line in text.lines() {
            *lines.entry(line).or_default() += 1;
        }
        for ((_, line), told) in ledger.iter().filter(|((of, _), _)| *of == file) {
            let found = lines.remove(line.as_str()).unwrap_or_default();
            let right = match told {
                Told::Done => found == 1,
                Told::NotDone => found == 0,
                Told::Unknown => found <= 1,
            };
            assert!(
                right,
                "{line} was told as {told:?} and is there {found} times:\n{text}"
            );
            match told {
                Told::Done => counts.done += 1,
                Told::NotDone => counts.not_done += 1,
                Told::Unknown => counts.unknown += 1,
            }
        }
        assert_eq!(lines.remove("start"), Some(1), "{text}");
        assert_eq!(lines.remove("end"), Some(1), "{text}");
        assert!(lines.is_empty(), "nobody wrote {lines:?}");
    }
}

#[derive(Debug, Default)]
struct Counts {
    rounds: usize,
    reads: usize,
    done: usize,
    not_done: usize,
    unknown: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rounds,
            reads,
            done,
            not_done,
            unknown,
        } = self;
        write!(
            f,
            "{rounds} rounds, {reads} reads, {done} lines acknowledged and there once, {not_done} \
             refused and not there, {unknown} unknown"
        )
    }
}

/// One store, its fault layer, and the workspace over both.
struct Store {
    provider: Provider,
    place: Place,
    plan: Plan,
    workspace: Workspace,
}

impl Store {
    fn open(provider: Provider) -> Self {
        let place = provider.open();
        let plan = Plan::often(OFTEN, 1);
        let fs = Arc::new(Faulty::new(Arc::clone(&place.fs), plan.clone()));
        if let Some(server) = place.server() {
            server.desk.odds(OFTEN);
        }
        Self {
            provider,
            workspace: Workspace::builder().over(fs),
            place,
            plan,
        }
    }

    async fn round(&self, round: usize, sessions: &[usize], counts: &mut Counts) {
        let folder = format!("soak{round}");
        for file in 0..FILES {
            let path = format!("{folder}/{file}");
            let target = until_told(|| self.place.fs.target(&path)).await;
            let write = || {
                let any = seamfs::Expected::Any;
                self.place.fs.write_all(&target, START.into(), any)
            };
            until_told(write).await;
        }
        let ledger = Arc::new(Ledger::default());
        let running = sessions.iter().map(|number| {
            let session = self.workspace.session(&format!("{number}.{round}"));
            let (folder, ledger) = (folder.clone(), Arc::clone(&ledger));
            tokio::spawn(work(session, *number, folder, ledger))
        });
        for reads in join_all(running).await {
            counts.reads += reads.expect("no session fails");
        }
        for file in 0..FILES {
            let path = format!("{folder}/{file}");
            let target = until_told(|| self.place.fs.target(&path)).await;
            let seen = until_told(|| self.place.fs.read_all(&target)).await;
            let text = String::from_utf8(seen.bytes.to_vec()).expect("text");
            ledger.check(file, &text, counts);
            remove(&*self.place.fs, &target).await;
        }
        if self.place.fs.capabilities(None).hierarchy {
            let folder = until_told(|| self.place.fs.target(&folder)).await;
            remove(&*self.place.fs, &folder).await;
        }
        if let Some(server) = self.place.server() {
            server.desk.requests();
        }
        counts.rounds += 1;
    }
}

/// Repeats a call that fails because the store does.
async fn until_told<T, F>(call: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, FsError>>,
{
    const TRIES: usize = 50;
    for _ in 0..TRIES {
        match call().await {
            Ok(answer) => return answer,
            Err(error) => assert!(is_passing(error.code()), "{error}"),
        }
    }
    panic!("the store failed {TRIES} times in a row");
}

const fn is_passing(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::IoError | ErrorCode::Busy | ErrorCode::Timeout | ErrorCode::OutcomeUnknown
    )
}

async fn remove(fs: &dyn FileSystem, target: &seamfs::Target) {
    let gone = || async {
        match fs.remove(target, RemoveOptions::default()).await {
            Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
            answer => answer,
        }
    };
    until_told(gone).await;
}

/// Reads, edits and overwrites; returns how many reads were answered.
async fn work(session: Session, number: usize, folder: String, ledger: Arc<Ledger>) -> usize {
    let mut mine: Vec<Vec<String>> = vec![Vec::new(); FILES];
    let mut reads = 0;
    for call in 0..CALLS {
        let file = (number * 7 + call * 3) % FILES;
        let path = format!("{folder}/{file}");
        let Some(text) = read(&session, &path).await else {
            continue;
        };
        reads += 1;
        check_read(&text, &mine[file]);
        let line = format!("{number}.{call}");
        let changed = text.replace("end\n", &format!("{line}\nend\n"));
        let result = match call % 3 {
            0 => {
                let args = json!({"file_path": path, "content": changed});
                session.call("write", args).await
            }
            _ => {
                let new = format!("{line}\nend\n");
                let args = json!({"file_path": path, "old_string": "end\n", "new_string": new});
                session.call("edit", args).await
            }
        };
        let told = match result.code() {
            None => Told::Done,
            Some(ErrorCode::OutcomeUnknown) => Told::Unknown,
            Some(
                ErrorCode::StaleVersion
                | ErrorCode::NotObserved
                | ErrorCode::IoError
                | ErrorCode::Busy
                | ErrorCode::Timeout
                | ErrorCode::Aborted,
            ) => Told::NotDone,
            Some(_) => panic!("{}", result.text),
        };
        if told == Told::Done {
            mine[file].push(line.clone());
        }
        ledger.tell(file, line, told);
    }
    session.end();
    reads
}

/// Reads a whole file through the tool; none when a fault was reported.
async fn read(session: &Session, path: &str) -> Option<String> {
    let result = session.call("read", json!({"file_path": path})).await;
    match result.code() {
        None => {
            assert_eq!(result.structured["partial"], false, "files are small");
            let lines = result.structured["lines"].as_array().expect("lines").iter();
            let texts = lines.map(|line| format!("{}\n", line["text"].as_str().expect("text")));
            Some(texts.collect())
        }
        Some(code) if is_passing(code) || code == ErrorCode::Aborted => None,
        Some(_) => panic!("{}", result.text),
    }
}

/// What is read is whole, and holds what this session was told is there.
fn check_read(text: &str, mine: &[String]) {
    assert!(
        text.starts_with("start\n") && text.ends_with("\nend\n"),
        "torn: {text:?}"
    );
    for line in mine {
        let found = text.lines().filter(|other| other == line).count();
        assert_eq!(found, 1, "{line} was acknowledged to its reader:\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_sessions_on_failing_stores_lose_nothing() {
    let begun = Instant::now();
    let providers = [Provider::Memory, Provider::Local, Provider::S3];
    let stores = providers.map(Store::open);
    let mut counts = [Counts::default(), Counts::default(), Counts::default()];
    let (mut first, mut round) = (0, 0);
    // A few rounds fill caches, pools and the allocator's arenas.
    while round < 3 || begun.elapsed() < patience() {
        let working = stores.iter().enumerate().zip(&mut counts);
        let rounds = working.map(|((place, store), counts)| {
            let sessions: Vec<_> = (0..SESSIONS).skip(place).step_by(stores.len()).collect();
            async move { store.round(round, &sessions, counts).await }
        });
        join_all(rounds).await;
        round += 1;
        if round == 3 || begun.elapsed() < patience() / 5 {
            first = memory();
        }
    }
    let last = memory();
    for (store, counts) in stores.iter().zip(&counts) {
        let wire = store.place.server().map(|server| server.desk.injected().1);
        eprintln!(
            "{}: {counts}; {} faults at the seam, {} of them on the guarded path{}",
            store.provider.name(),
            store.plan.injected(),
            store.plan.guarded(),
            wire.map_or(String::new(), |wire| format!(
                ", {wire} on writes on the wire"
            )),
        );
        assert!(
            store.plan.guarded() > 0,
            "no fault reached the guarded path"
        );
        assert!(counts.done > 0 && counts.not_done > 0);
        assert!(wire != Some(0), "no fault on the wire reached a write");
    }
    eprintln!(
        "{:?}: {} MiB of memory after the first fifth, {} MiB at the end",
        begun.elapsed(),
        first >> 20,
        last >> 20
    );
    assert!(
        last < first + MOST_GROWTH,
        "memory grew from {first} to {last} bytes"
    );
}
