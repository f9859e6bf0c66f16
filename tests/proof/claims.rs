//! The claims of the kit on storage that fails, and on storage that is busy.
//!
//! `SEAMFS_FULL=1` lets every call of every claim meet with every mishap; otherwise one call meets
//! with two of them, other ones for each claim and provider.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use seamfs::core::conformance::faults::{Faulty, INJECTED, Mishap, Plan};
use seamfs::core::conformance::linear::{Load, check};
use seamfs::core::conformance::{Claim, ClaimResult, Failure, Scratch, Verdict};
use seamfs::{ErrorCode, FileSystem};

use super::places::Place;

/// How a claim fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fared {
    Held,
    Skipped(String),
    Broke(String),
}

impl From<ClaimResult> for Fared {
    fn from(answer: ClaimResult) -> Self {
        match answer {
            Ok(Verdict::Held) => Self::Held,
            Ok(Verdict::Skipped(why)) => Self::Skipped(why),
            Err(failure) => Self::Broke(failure.to_string()),
        }
    }
}

/// What was injected, and what came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Toll {
    runs: usize,
    injected: usize,
    guarded: usize,
    reported: usize,
    swallowed: usize,
}

impl Toll {
    pub(super) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.injected += other.injected;
        self.guarded += other.guarded;
        self.reported += other.reported;
        self.swallowed += other.swallowed;
    }

    /// Returns how many faults befell mutations under a guard.
    pub(super) const fn guarded(&self) -> usize {
        self.guarded
    }
}

impl fmt::Display for Toll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            runs,
            injected,
            guarded,
            reported,
            swallowed,
        } = self;
        write!(
            f,
            "{runs} runs of claims, {injected} faults, {guarded} of them on the guarded path; \
             {reported} runs ended in the report of a fault, {swallowed} in the want of an answer \
             that was one"
        )
    }
}

/// Runs a claim with a fault at one call of its own, again and again.
///
/// It holds, or a call reported the fault; afterwards, without faults, it holds again. `turn`
/// varies which calls and faults are chosen. Returns how it fared without faults too.
pub(super) async fn faulty(
    claim: &Claim,
    place: &Place,
    folder: &str,
    turn: usize,
) -> ([Fared; 2], Toll) {
    let mut toll = Toll::default();
    let count = Plan::at(u64::MAX, Mishap::Slow);
    let counted = Faulty::new(Arc::clone(&place.fs), count.clone());
    let scratch = Scratch::new(format!("{folder}/count")).of_the_whole();
    match claim.check(&counted, &scratch).await.into() {
        Fared::Held => {}
        other => return ([other.clone(), other], toll),
    }
    for (call, mishap) in chosen(claim, count.calls().max(1), turn) {
        let scratch = Scratch::new(format!("{folder}/{call}-{mishap:?}")).of_the_whole();
        let broke = meets(claim, place, &scratch, call, mishap, &mut toll).await;
        if let Some(why) = broke {
            let why = format!("{mishap:?} at call {call}: {why}");
            return ([Fared::Held, Fared::Broke(why)], toll);
        }
    }
    ([Fared::Held, Fared::Held], toll)
}

/// How many of the calls of a claim meet with each mishap in a full run.
const MOST_CALLS: u64 = 200;

/// Returns which calls of a claim meet with what.
fn chosen(claim: &Claim, calls: u64, turn: usize) -> Vec<(u64, Mishap)> {
    let kinds = Mishap::ALL;
    if std::env::var_os("SEAMFS_FULL").is_some() {
        let all = (0..calls.min(MOST_CALLS)).flat_map(|call| kinds.iter().map(move |k| (call, *k)));
        return all.collect();
    }
    let chance = blake3::hash(format!("{turn} {}", claim.name).as_bytes());
    let chance = chance.as_bytes();
    let first = usize::from(chance[0]);
    // Two that lie apart in the list are of different nature.
    [first, first + kinds.len() / 2]
        .map(|kind| kinds[kind % kinds.len()])
        .into_iter()
        .zip(&chance[1..])
        .map(|(kind, at)| (u64::from(*at) % calls, kind))
        .collect()
}

/// Lets one call of a claim meet with a mishap; says what is wrong with what came of it.
async fn meets(
    claim: &Claim,
    place: &Place,
    scratch: &Scratch,
    call: u64,
    mishap: Mishap,
    toll: &mut Toll,
) -> Option<String> {
    let plan = Plan::at(call, mishap);
    let fs = Faulty::new(Arc::clone(&place.fs), plan.clone());
    let answer = claim.check(&fs, scratch).await;
    toll.runs += 1;
    toll.injected += plan.injected();
    toll.guarded += plan.guarded();
    if let Err(failure) = answer {
        let failure = failure.to_string();
        match (failure.contains(INJECTED), plan.reported() > 0) {
            (true, _) => toll.reported += 1,
            (false, true) => toll.swallowed += 1,
            (false, false) => return Some(failure),
        }
    }
    let again = claim.check(&*place.fs, &scratch.within("again")).await;
    again
        .err()
        .map(|failure| format!("afterwards, without faults: {failure}"))
}

/// What an honest store's failure is called above it.
const HONEST: [ErrorCode; 4] = [
    ErrorCode::OutcomeUnknown,
    ErrorCode::Busy,
    ErrorCode::Timeout,
    ErrorCode::IoError,
];

/// Runs a claim on a server that loses answers and refuses requests, beneath the provider, and
/// then on the same server without faults; returns how it fared on both, this one first.
pub(super) async fn faulty_beneath(
    claim: &Claim,
    place: &Place,
    folder: &str,
) -> ([Fared; 2], Toll) {
    let desk = &place.server().expect("this is for servers").desk;
    let scratch = Scratch::new(folder).of_the_whole();
    let (before, writes_before) = desk.injected();
    desk.odds(5);
    let answer = claim.check(&*place.fs, &scratch).await;
    desk.odds(0);
    let (after, writes_after) = desk.injected();
    let mut toll = Toll {
        runs: 1,
        injected: after - before,
        guarded: writes_after - writes_before,
        ..Toll::default()
    };
    let mut failing = Fared::from(answer);
    if let Fared::Broke(why) = &failing
        && HONEST.iter().any(|code| why.contains(code.as_str()))
    {
        toll.reported += 1;
        failing = Fared::Held;
    }
    let again = claim.check(&*place.fs, &scratch.within("again")).await;
    ([again.into(), failing], toll)
}

/// How many of the same claim run at once.
const AT_ONCE: usize = 2;

/// Runs a claim several times at once, while a load works on the same file system.
pub(super) async fn concurrent(claim: &Claim, place: &Place, folder: &str) -> Fared {
    let over = Arc::new(AtomicBool::new(false));
    let load = tokio::spawn(work(
        Arc::clone(&place.fs),
        format!("{folder}/load"),
        Arc::clone(&over),
    ));
    let runs = (0..AT_ONCE).map(|number| {
        let (claim, fs) = (*claim, Arc::clone(&place.fs));
        let scratch = Scratch::new(format!("{folder}/{number}"));
        tokio::spawn(async move { Fared::from(claim.check(&*fs, &scratch).await) })
    });
    let fared = join_all(runs).await;
    over.store(true, Ordering::Relaxed);
    if let Err(failure) = load.await.expect("the load ends") {
        return Fared::Broke(format!("the load beside it: {failure}"));
    }
    let fared = fared.into_iter().map(|run| run.expect("no claim panics"));
    let worst = |one: Fared, other| match one {
        Fared::Broke(_) => one,
        _ => other,
    };
    fared.reduce(worst).expect("there are some")
}

/// Makes histories until it is told that all is over.
async fn work(
    fs: Arc<dyn FileSystem>,
    folder: String,
    over: Arc<AtomicBool>,
) -> Result<(), Failure> {
    let load = Load {
        clients: 2,
        ..Load::default()
    };
    for seed in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let history = load.run(&fs, &format!("{folder}/{seed}"), seed).await?;
        check(&history).map_err(|violation| Failure::new(violation.to_string()))?;
    }
    Ok(())
}
