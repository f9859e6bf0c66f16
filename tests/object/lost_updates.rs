//! No lost updates: processes that edit one object at once, over a sound store and a faulty one.
//!
//! `SEAMFS_FULL=1` runs the full counts; on servers of other projects they are always run.

use std::collections::HashMap;
use std::sync::Arc;

use seamfs::core::Snapshot;
use seamfs::{Expected, FileSystem, FileSystemExt};
use serde_json::{Value, json};

use super::{Place, Protocol};
use crate::support::Batch;

/// How many processes and edits a run has.
fn scale(full: (usize, usize), plain: (usize, usize)) -> (usize, usize) {
    match std::env::var_os("SEAMFS_FULL") {
        Some(_) => full,
        None => plain,
    }
}

/// What a process was told of each of its edits.
type Told = Vec<(String, Option<String>)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// Without a policy every edit lands on whatever is there.
    None,
    /// Under observation a refused edit is tried again, once what is there was seen.
    Observed,
}

fn edit(worker: usize, n: usize) -> (String, Value) {
    let line = format!("worker {worker} edit {n}");
    let args = json!({
        "file_path": "/shared.txt",
        "old_string": "end\n",
        "new_string": format!("{line}\nend\n"),
    });
    (line, args)
}

fn work(mut batch: Batch, worker: usize, edits: usize, guard: Guard) -> Told {
    let mut told = Told::new();
    let read = || json!({"tool": "read", "args": {"file_path": "/shared.txt", "limit": 1}});
    for n in 0..edits {
        let (line, args) = edit(worker, n);
        let mut seen = guard == Guard::None;
        let code = loop {
            if !seen {
                let answer = batch.call(read());
                if answer["is_error"] == true {
                    continue;
                }
                seen = true;
            }
            let answer = batch.call(json!({ "tool": "edit", "args": args.clone() }));
            match answer["code"].as_str() {
                Some("FS_STALE_VERSION" | "FS_NOT_OBSERVED") if guard == Guard::Observed => {
                    seen = false;
                }
                code => break code.map(str::to_owned),
            }
        };
        told.push((line, code));
    }
    assert_eq!(batch.finish(), 0);
    told
}

/// Runs the processes; returns what they were told.
fn run(url: &str, options: &[(String, String)], guard: Guard, scale: (usize, usize)) -> Told {
    let (workers, edits) = scale;
    let mut args = vec!["-w".to_owned(), url.to_owned()];
    for (key, value) in options {
        args.extend(["-o".to_owned(), format!("{key}={value}")]);
    }
    if guard == Guard::None {
        args.extend(["--policy".to_owned(), "none".to_owned()]);
    }
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let told: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|worker| {
                let batch = Batch::start(&args);
                scope.spawn(move || work(batch, worker, edits, guard))
            })
            .collect();
        running
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    told.into_iter().flatten().collect()
}

/// Runs the processes in a place; returns what they were told, and the lines that are there then.
fn run_in(place: &Place, protocol: Protocol, guard: Guard) -> (Told, Vec<String>) {
    place.put("shared.txt", "start\nend\n");
    let options = protocol.options(&place.server);
    let told = run(&protocol.url(), &options, guard, scale((8, 200), (4, 15)));
    let text = place.text("shared.txt").unwrap();
    (told, text.lines().map(str::to_owned).collect())
}

/// Runs fewer processes on a server of another project, which is slow under contention; returns
/// the object that they edited.
pub(super) async fn on_installed(
    fs: &Arc<dyn FileSystem>,
    url: &str,
    options: &[(String, String)],
) -> Snapshot {
    let target = fs.target("shared.txt").await.unwrap();
    for guard in [Guard::None, Guard::Observed] {
        let start = "start\nend\n".into();
        fs.write_all(&target, start, Expected::Any).await.unwrap();
        let told = run(url, options, guard, (4, 50));
        let seen = fs.read_all(&target).await.unwrap();
        let text = String::from_utf8(seen.bytes.to_vec()).unwrap();
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        assert_eq!(check(&told, &lines), (0, 0));
        eprintln!("{url} {guard:?}: {} edits, all there", told.len());
    }
    fs.read_all(&target).await.unwrap()
}

/// Checks every report against what is there; returns how many edits failed or are unknown.
fn check(told: &Told, lines: &[String]) -> (usize, usize) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        *counts.entry(line).or_default() += 1;
    }
    let (mut failed, mut unknown) = (0, 0);
    for (line, code) in told {
        let found = counts.remove(line.as_str()).unwrap_or_default();
        match code.as_deref() {
            None => assert_eq!(found, 1, "{line} was reported as done"),
            Some("FS_OUTCOME_UNKNOWN") => {
                unknown += 1;
                assert!(found <= 1, "{line} is there {found} times");
            }
            Some(code) => {
                failed += 1;
                assert_eq!(found, 0, "{line} was reported as {code}");
            }
        }
    }
    counts.remove("start");
    counts.remove("end");
    assert!(counts.is_empty(), "nobody wrote {counts:?}");
    (failed, unknown)
}

async fn sound(protocol: Protocol, guard: Guard) {
    let place = Place::new(protocol).await;
    let (told, lines) = run_in(&place, protocol, guard);
    let found = check(&told, &lines);
    assert_eq!(found, (0, 0));
    let requests = place.server.desk.requests().len();
    eprintln!(
        "{protocol:?} {guard:?}: {} edits, all there, {requests} requests",
        told.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_edit_of_every_process_survives_once_on_s3() {
    sound(Protocol::S3, Guard::None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_guarded_edit_of_every_process_survives_once_on_s3() {
    sound(Protocol::S3, Guard::Observed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_edit_of_every_process_survives_once_on_gcs() {
    sound(Protocol::Gcs, Guard::None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_report_is_true_when_answers_are_lost_and_requests_refused() {
    for (protocol, guard) in [(Protocol::S3, Guard::None), (Protocol::S3, Guard::Observed)] {
        let place = Place::new(protocol).await;
        place.server.desk.odds(5);
        let (told, lines) = run_in(&place, protocol, guard);
        let (failed, unknown) = check(&told, &lines);
        let (all, writes) = place.server.desk.injected();
        assert!(writes > 0, "no write met a fault");
        eprintln!(
            "{protocol:?} {guard:?} with faults: {} edits, {failed} failed, {unknown} unknown; \
             {all} faults, {writes} of them on writes",
            told.len()
        );
        assert!(
            failed + unknown <= told.len() / 10,
            "most edits should get through"
        );
    }
}
