//! Histories within this process, on every file system.

use std::sync::Arc;

use seamfs::FileSystem;
use seamfs::core::conformance::Subject;
use seamfs::core::conformance::linear::{Load, check};

use super::{Tally, histories};
use crate::conformance::subjects::GROUNDS;

/// After so many histories storage is made anew, or it would only grow.
const ON_ONE_STORE: u64 = 500;

pub(super) fn subject(name: &str) -> Subject {
    let ground = GROUNDS.iter().find(|ground| ground.name == name);
    (ground
        .unwrap_or_else(|| panic!("nothing is called {name}"))
        .make)()
}

/// Makes histories and checks each.
pub(super) async fn stand(
    name: &str,
    load: Load,
    count: u64,
    mut make: impl FnMut() -> Subject,
) -> Tally {
    let mut tally = Tally::default();
    let mut subject = make();
    for seed in 0..count {
        if seed % ON_ONE_STORE == ON_ONE_STORE - 1 {
            subject = make();
        }
        let fs: &Arc<dyn FileSystem> = subject.fs();
        let history = load.run(fs, &format!("linear/{seed}"), seed).await;
        let history = history.unwrap_or_else(|failure| panic!("{name}, seed {seed}: {failure}"));
        if let Err(violation) = check(&history) {
            panic!("{name}, seed {seed}: {violation}");
        }
        tally.count(&history);
    }
    eprintln!("{name}: {tally}");
    tally
}

async fn stands(name: &str, ordinary: u64) -> Tally {
    let load = Load::default();
    let tally = stand(name, load, histories(ordinary), || subject(name)).await;
    for answer in ["reads", "mutations", "refusals"] {
        assert!(tally.of(answer) > 0, "no {answer} in {tally}");
    }
    tally
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_over_memory_are_linearizable() {
    stands("Memory", 1000).await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_over_local_are_linearizable() {
    stands("Local", 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_over_an_object_store_are_linearizable() {
    stands("Object", 500).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_over_the_strict_double_are_linearizable() {
    let tally = stands("`Strict<Memory>`", 300).await;
    // Its calls wait, so that some are dropped while they are under way.
    assert!(tally.of("unknown") > 0, "{tally}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_over_the_provider_of_the_example_are_linearizable() {
    stands("from scratch", 300).await;
}

#[cfg(all(feature = "s3", feature = "gcs", feature = "azure"))]
mod s3 {
    use seamfs::providers::Object;

    use super::*;
    use crate::servers::{self, BUCKET, Server};

    /// Opens a store on a server of this process, where this many of a hundred requests are
    /// dropped after they were applied, and as many refused.
    fn place(odds: u32, more: &[(&str, &str)]) -> (Server, Object) {
        let server = servers::s3();
        let more = more
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let options = server.s3_options().into_iter().chain(more);
        let fs = Object::connect(&format!("s3://{BUCKET}/linear"), options).expect("it opens");
        server.desk.odds(odds);
        (server, fs)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn histories_over_s3_are_linearizable() {
        let make = || {
            let (server, fs) = place(0, &[]);
            Subject::new(fs).keeping(server)
        };
        let tally = stand("S3", Load::default(), histories(50), make).await;
        assert!(tally.of("refusals") > 0, "{tally}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn histories_over_s3_with_faults_are_linearizable() {
        let (server, fs) = place(5, &[("conditions", "trust"), ("attempts", "4")]);
        let fs = Subject::new(fs);
        let (mut fs, load) = (Some(fs), Load::default());
        let count = histories(40).min(ON_ONE_STORE - 1);
        let tally = stand("S3 with faults", load, count, || {
            fs.take().expect("one store")
        })
        .await;
        let (all, writes) = server.desk.injected();
        eprintln!("S3 with faults: {all} faults, {writes} of them on writes");
        assert!(writes > 0, "no write met a fault: {tally}");
    }
}
