//! Running claims: one in a test, or all of them over a store, each in a folder of its own.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::list::{Claim, claims};
use super::scratch::Scratch;
use super::subject::Subject;
use super::{ClaimResult, Failure, Verdict};
use crate::fs::FileSystem;

/// How long a claim may take before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(120);

impl Claim {
    /// Runs the claim in a scratch folder and clears the folder, whatever came of it.
    ///
    /// A panic of the file system is a failure of the claim, and so is a call that never ends.
    ///
    /// # Errors
    /// How it failed.
    pub async fn check(&self, fs: &dyn FileSystem, scratch: &Scratch) -> ClaimResult {
        if let Some(need) = self.needs.iter().find(|need| !need.is_met(fs, scratch)) {
            return Ok(Verdict::Skipped(need.why_not().to_owned()));
        }
        let running = AssertUnwindSafe((self.run)(fs, scratch)).catch_unwind();
        let answer = match tokio::time::timeout(LIMIT, running).await {
            Err(_) => Err(Failure::new(format!("it did not end within {LIMIT:?}"))),
            Ok(Err(panic)) => Err(Failure::new(format!("it panicked: {}", message(&*panic)))),
            Ok(Ok(answer)) => answer,
        };
        let clearing = AssertUnwindSafe(scratch.clear(fs)).catch_unwind();
        let _ = tokio::time::timeout(LIMIT, clearing).await;
        answer
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

/// What a claim came to over one file system.
#[derive(Clone, Debug)]
pub struct Report {
    /// The claim.
    pub claim: Claim,
    /// Its answer.
    pub answer: ClaimResult,
}

/// Runs every claim, each in a folder of its own within `scratch`, and tells each as it ends.
pub async fn run(
    fs: &dyn FileSystem,
    scratch: &Scratch,
    mut tell: impl FnMut(&Report),
) -> Vec<Report> {
    let mut reports = Vec::new();
    for (number, claim) in claims().into_iter().enumerate() {
        // A store whose calls never wait would leave nobody else a turn, not even a signal.
        tokio::task::yield_now().await;
        let folder = scratch.within(&format!("{number:03}"));
        let report = Report {
            answer: claim.check(fs, &folder).await,
            claim,
        };
        tell(&report);
        reports.push(report);
    }
    reports
}

/// Runs one claim as a test, over a store of its own.
///
/// # Panics
/// When the claim fails, or there is none of this name.
pub fn test<M, S>(name: &str, make: M)
where
    M: AsyncFnOnce() -> S,
    S: Into<Subject>,
{
    // Boxed at once, so that not every test compiles a runtime of its own.
    test_subject(name, Box::pin(async { make().await.into() }));
}

fn test_subject(name: &str, subject: LocalBoxFuture<'_, Subject>) {
    let claim = claims()
        .into_iter()
        .find(|claim| claim.name == name)
        .unwrap_or_else(|| panic!("there is no claim {name}"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    let answer = runtime.block_on(async {
        let subject = subject.await;
        let scratch = Scratch::new("scratch")
            .of_the_whole()
            .with_outside(subject.outside.clone());
        claim.check(&*subject.fs, &scratch).await
    });
    match answer {
        Ok(Verdict::Held) => {}
        Ok(Verdict::Skipped(why)) => eprintln!("skipped {name}: {why}"),
        Err(failure) => panic!("{name}: {failure}"),
    }
}
