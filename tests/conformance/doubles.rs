//! The kit tested on what is broken: every double is caught, and every claim has a double.

use std::collections::BTreeSet;

use seamfs::core::conformance::doubles::broken::{Broken, Double, doubles};
use seamfs::core::conformance::{Claim, ClaimResult, Scratch, Subject, Verdict, claims};

use super::subjects::{GROUNDS, Ground};

fn claim(name: &str) -> Claim {
    let found = claims().into_iter().find(|claim| claim.name == name);
    found.unwrap_or_else(|| panic!("there is no claim {name}"))
}

async fn check(claim: &Claim, subject: Subject) -> ClaimResult {
    let scratch = Scratch::new("scratch")
        .of_the_whole()
        .with_outside(subject.outside().cloned());
    claim.check(&**subject.fs(), &scratch).await
}

/// Returns the first ground on which a claim is not skipped, having seen it hold there.
async fn ground_of(claim: &Claim) -> Option<&'static Ground> {
    for ground in GROUNDS {
        match check(claim, (ground.make)()).await {
            Ok(Verdict::Held) => return Some(ground),
            Ok(Verdict::Skipped(_)) => {}
            Err(failure) => panic!("{} on {}: {failure}", claim.name, ground.name),
        }
    }
    None
}

/// Returns the claims that a double should fail and does not, with what they said.
async fn escapes(double: &Double) -> Vec<String> {
    let mut missed = Vec::new();
    for name in double.caught_by {
        let claim = claim(name);
        let Some(ground) = ground_of(&claim).await else {
            missed.push(format!("{name} is skipped everywhere"));
            continue;
        };
        let broken = (ground.make)().layered(|fs| Broken::new(fs, (double.make)()));
        match check(&claim, broken).await {
            Err(failure) => eprintln!("{}: {name}: {failure}", double.name),
            Ok(verdict) => missed.push(format!("{name} on {}: {verdict:?}", ground.name)),
        }
    }
    missed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_broken_double_is_caught_by_the_claims_it_names() {
    let mut missed = Vec::new();
    for double in doubles() {
        let escaped = escapes(&double).await;
        missed.extend(
            escaped
                .into_iter()
                .map(|what| format!("{}: {what}", double.name)),
        );
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_claim_is_broken_by_a_double() {
    let broken: BTreeSet<_> = doubles()
        .iter()
        .flat_map(|double| double.caught_by)
        .copied()
        .collect();
    let unproven: Vec<_> = claims()
        .iter()
        .map(|claim| claim.name)
        .filter(|name| !broken.contains(name))
        .collect();
    assert!(
        unproven.is_empty(),
        "no double breaks:\n{}",
        unproven.join("\n")
    );
}

#[test]
fn names_are_used_once() {
    let names: BTreeSet<_> = claims().iter().map(|claim| claim.name).collect();
    assert_eq!(names.len(), claims().len());
    let doubles = doubles();
    let names: BTreeSet<_> = doubles.iter().map(|double| double.name).collect();
    assert_eq!(names.len(), doubles.len());
}
