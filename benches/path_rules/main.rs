//! What 1,000 path patterns cost a call, beside the same call without any.
//!
//! Every row is the median of rounds in which the two sides take turns. `--quick` runs few.

// A bench prints its figures.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use seamfs::policy::{Access, PathRules, Screen};
use seamfs::{Session, Workspace};
use serde_json::json;

/// The bound, per call.
const MOST: Duration = Duration::from_micros(20);

/// Patterns of every kind that operators write, and 1,000 in all.
fn rules() -> PathRules {
    let kinds = (0..250).flat_map(|n| {
        [
            format!("secret-{n}.txt"),
            format!("private/area-{n}/**"),
            format!("*.kind{n}"),
            format!("**/build-{n}/*.o"),
        ]
    });
    let builder = PathRules::builder().add(Access::Denied, kinds);
    builder.and_then(|rules| rules.build()).expect("patterns")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Times one decision on each of many paths that were not asked about before.
fn decisions(rules: &PathRules, count: usize) -> Duration {
    let paths: Vec<_> = (0..count)
        .map(|n| {
            format!(
                "crates/part-{}/src/deep/module-{}/file-{n}.rs",
                n % 7,
                n % 50
            )
        })
        .collect();
    let begun = Instant::now();
    for path in &paths {
        black_box(rules.access(path));
    }
    begun.elapsed() / u32::try_from(count).expect("a few")
}

async fn session(rules: Option<PathRules>) -> Session {
    let mut builder = Workspace::builder().rules([]).screen(Screen::open());
    if let Some(rules) = rules {
        builder = builder.path_rules(rules);
    }
    builder
        .open("memory:")
        .await
        .expect("memory")
        .session("bench")
}

/// Times one write of a new file each, many names in many folders, in a task of the runtime: to enter
/// the runtime from outside wakes a thread, which takes longer than the call.
async fn writes(session: &Session, round: usize, count: usize) -> Duration {
    let session = session.clone();
    let timed = async move {
        let begun = Instant::now();
        for n in 0..count {
            let path = format!("crates/part-{}/src/deep/r{round}/file-{n}.rs", n % 7);
            let args = json!({"file_path": path, "content": "x"});
            let result = session.call("write", args).await;
            assert!(!result.is_error(), "{}", result.text);
        }
        begun.elapsed() / u32::try_from(count).expect("a few")
    };
    tokio::spawn(timed).await.expect("every write succeeds")
}

#[tokio::main]
async fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let (rounds, count) = if quick { (3, 50) } else { (101, 120) };
    let cold = median((0..rounds).map(|_| decisions(&rules(), count)).collect());
    println!("one decision on a new path, 1,000 patterns  {cold:>10.2?}");
    let (plain, ruled) = (session(None).await, session(Some(rules())).await);
    let (mut without, mut with, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let (plain, ruled) = (
            writes(&plain, round, count).await,
            writes(&ruled, round, count).await,
        );
        without.push(plain);
        with.push(ruled);
        added.push(ruled.saturating_sub(plain));
    }
    let (without, with, added) = (median(without), median(with), median(added));
    println!("a call without patterns                     {without:>10.2?}");
    println!("the same call, 1,000 patterns               {with:>10.2?}");
    println!("added per call (at most {MOST:?})           {added:>10.2?}");
    if !quick && !cfg!(debug_assertions) {
        assert!(added <= MOST, "{added:?} is more than {MOST:?}");
    }
}
