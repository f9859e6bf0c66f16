//! Histories between processes: each has clients of its own on the same storage.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use futures::future::join_all;
use rustix::time::{ClockId, clock_gettime};
use seamfs::FileSystem;
use seamfs::core::conformance::linear::{Call, Clock, History, Load, check};
use seamfs::providers::Object;
use seamfs::providers::local::{Durability, Local, LocalOptions};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Tally, histories};

/// What tells a process of this binary where to work.
const PLACE: &str = "SEAMFS_LINEAR_PLACE";

const PROCESSES: usize = 3;
const CLIENTS: usize = 2;

/// Where the clients work.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Place {
    Local(String),
    Object(String, Vec<(String, String)>),
}

impl Place {
    fn open(&self) -> Arc<dyn FileSystem> {
        match self {
            Self::Local(root) => {
                let options = LocalOptions::default().durability(Durability::None);
                Arc::new(Local::open_with(root, options).expect("the folder is there"))
            }
            Self::Object(url, options) => {
                Arc::new(Object::connect(url, options.clone()).expect("the options are right"))
            }
        }
    }
}

/// One round: where, and with what.
#[derive(Debug, Serialize, Deserialize)]
struct Round {
    folder: String,
    seed: u64,
    clients: Vec<usize>,
}

fn load() -> Load {
    Load {
        clients: PROCESSES * CLIENTS,
        calls: 5,
        shared: true,
        ..Load::default()
    }
}

/// Returns the kernel's monotonic clock in nanoseconds, which all processes share.
fn clock() -> Clock {
    Arc::new(|| {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(now.tv_sec).expect("the clock began at zero");
        let nanoseconds = u64::try_from(now.tv_nsec).expect("there are no negative parts");
        seconds * 1_000_000_000 + nanoseconds
    })
}

/// Makes its part of each round that it reads, in a process of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let place: Place = serde_json::from_str(&place).expect("a place");
    let fs = place.open();
    for line in std::io::stdin().lines() {
        let round: Round = serde_json::from_str(&line.expect("a line")).expect("a round");
        let clients = round.clients.iter().map(|client| {
            let (fs, folder, client) = (Arc::clone(&fs), round.folder.clone(), *client);
            tokio::spawn(async move {
                load()
                    .client(&*fs, &folder, client, round.seed, &clock())
                    .await
            })
        });
        let mut calls: Vec<Call> = Vec::new();
        for client in join_all(clients).await {
            calls.extend(
                client
                    .expect("no client panics")
                    .expect("no answer is wrong"),
            );
        }
        let mut output = std::io::stdout().lock();
        writeln!(output, "CALLS {}", json!(calls)).expect("somebody reads");
        output.flush().expect("somebody reads");
    }
}

/// A process that runs [`worker`].
struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Worker {
    fn start(place: &Place) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this binary has a path"))
            .args(["linear::processes::worker", "--exact", "--nocapture"])
            .arg("--test-threads=1")
            .env(PLACE, json!(place).to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this binary starts");
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("stdout is piped")),
            child,
        }
    }

    fn begin(&mut self, round: &Round) {
        let input = self.input.as_mut().expect("the input is open");
        writeln!(input, "{}", json!(round)).expect("the worker reads");
    }

    fn end(&mut self) -> Vec<Call> {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.output.read_line(&mut line).expect("the worker writes");
            assert!(read > 0, "a worker ended early");
            // The test harness writes to the same pipe.
            if let Some((_, calls)) = line.split_once("CALLS ") {
                return serde_json::from_str(calls).expect("calls");
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.input = None;
        let ended = self.child.wait();
        if !std::thread::panicking() {
            assert!(ended.expect("the worker ends").success(), "a worker failed");
        }
    }
}

/// Makes one history with all workers.
async fn history(workers: &mut [Worker], fs: &dyn FileSystem, seed: u64) -> History {
    let folder = format!("linear/{seed}");
    let mut history = load().begin(fs, &folder).await.expect("it begins");
    for (process, worker) in workers.iter_mut().enumerate() {
        worker.begin(&Round {
            folder: folder.clone(),
            seed,
            clients: (process * CLIENTS..(process + 1) * CLIENTS).collect(),
        });
    }
    for worker in workers {
        history.calls.extend(worker.end());
    }
    let ended = load().end(fs, &folder, &clock(), &mut history).await;
    ended.expect("the files can be read");
    history
}

/// Returns how many calls began in one process while one of another was under way.
fn overlaps(history: &History) -> usize {
    let between = |call: &&Call| {
        history.calls.iter().any(|other| {
            other.client / CLIENTS != call.client / CLIENTS
                && other.begun < call.begun
                && call.begun < other.ended
                && other.ended != u64::MAX
        })
    };
    history.calls.iter().filter(between).count()
}

async fn stand(name: &str, place: &Place, count: u64) {
    let fs = place.open();
    let mut workers: Vec<_> = (0..PROCESSES).map(|_| Worker::start(place)).collect();
    let (mut tally, mut met) = (Tally::default(), 0);
    for seed in 0..count {
        let history = history(&mut workers, &*fs, seed).await;
        if let Err(violation) = check(&history) {
            panic!("{name}, seed {seed}: {violation}");
        }
        met += overlaps(&history);
        tally.count(&history);
    }
    eprintln!("{name}, {PROCESSES} processes: {tally}; {met} calls began during another process's");
    assert!(met > 0, "the processes never met");
    assert!(tally.of("refusals") > 0, "{tally}");
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_between_processes_on_local_are_linearizable() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = Place::Local(folder.path().display().to_string());
    stand("Local", &place, histories(60)).await;
}

#[cfg(all(feature = "s3", feature = "gcs", feature = "azure"))]
#[tokio::test(flavor = "multi_thread")]
async fn histories_between_processes_on_s3_are_linearizable() {
    let server = crate::servers::s3();
    let url = format!("s3://{}/linear", crate::servers::BUCKET);
    let place = Place::Object(url, server.s3_options());
    stand("S3", &place, histories(40)).await;
}
