//! The table of claims under fire, in the documentation, generated.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use seamfs::core::conformance::{Claim, claims};

use super::claims::{Fared, Toll, concurrent, faulty, faulty_beneath};
use super::places::Provider;
use crate::support::check_snapshot;

/// What the documentation says before the table.
const HEAD: &str = include_str!("head.md");

/// A claim that takes longer is named.
const SLOW: Duration = Duration::from_secs(5);

/// The providers whose claims are all run on every change.
const QUICK: [Provider; 3] = [Provider::Memory, Provider::Local, Provider::Object];

/// Over HTTP a run of all claims takes minutes; one in so many is run on every change.
const SAMPLE: usize = 6;

/// How these claims fared on one provider, each quiet, with faults, and with others at work.
async fn fared(provider: Provider, claims: &[Claim]) -> (Vec<[Fared; 3]>, Toll) {
    let place = provider.open();
    let (mut rows, mut all) = (Vec::new(), Toll::default());
    for (number, claim) in claims.iter().enumerate() {
        let (folder, begun) = (|kind: &str| format!("{kind}{number:03}"), Instant::now());
        // The wire fails beneath the provider, everything else above it.
        let ([calm, failing], toll) = match place.server() {
            Some(_) => faulty_beneath(claim, &place, &folder("faulty")).await,
            None => faulty(claim, &place, &folder("faulty"), number + provider as usize).await,
        };
        all.add(toll);
        let busy = concurrent(claim, &place, &folder("busy")).await;
        rows.push([calm, failing, busy]);
        if begun.elapsed() > SLOW {
            eprintln!("{provider:?}: {} took {:?}", claim.name, begun.elapsed());
        }
    }
    (rows, all)
}

fn mark(fared: &Fared) -> &'static str {
    match fared {
        Fared::Held => "✓",
        Fared::Skipped(_) => "·",
        Fared::Broke(_) => "**✗**",
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_claim_holds_on_storage_that_fails_and_on_storage_that_is_busy() {
    let mut out = HEAD.to_owned();
    let names = QUICK.map(Provider::name);
    let heads = names.map(|name| format!("{name}, quiet | faulty | concurrent"));
    let _ = writeln!(out, "\n| id | claim | {} |", heads.join(" | "));
    let _ = writeln!(out, "|---|---|{}", ":-:|".repeat(3 * names.len()));
    let (mut columns, mut broken) = (Vec::new(), Vec::new());
    for provider in QUICK {
        let (rows, toll) = fared(provider, &claims()).await;
        eprintln!("{}: {toll}", provider.name());
        assert!(
            toll.guarded() > 0,
            "no fault reached the guarded path of {provider:?}"
        );
        columns.push(rows);
    }
    for (row, claim) in claims().iter().enumerate() {
        let mut marks = Vec::new();
        for (provider, column) in QUICK.iter().zip(&columns) {
            for (fared, kind) in column[row].iter().zip(["quiet", "faulty", "concurrent"]) {
                marks.push(mark(fared));
                if let Fared::Broke(why) = fared {
                    broken.push(format!("{provider:?}, {kind}: {}: {why}", claim.name));
                }
            }
        }
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            claim.id(),
            claim.sentence(),
            marks.join(" | ")
        );
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    check_snapshot("docs/proof.md", &out);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_hold_on_a_server_that_loses_answers_and_on_one_that_is_busy() {
    let step = match std::env::var_os("SEAMFS_FULL") {
        Some(_) => 1,
        None => SAMPLE,
    };
    let claims: Vec<_> = claims().into_iter().step_by(step).collect();
    let (rows, toll) = fared(Provider::S3, &claims).await;
    eprintln!("S3: {toll}");
    assert!(toll.guarded() > 0, "no fault reached a write");
    let mut broken = Vec::new();
    for (claim, row) in claims.iter().zip(&rows) {
        for fared in row {
            if let Fared::Broke(why) = fared {
                broken.push(format!("{}: {why}", claim.name));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
