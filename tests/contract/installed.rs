//! The claims on servers of other projects, where they are installed; each in a prefix of its own.
//!
//! `SEAMFS_FULL=1` adds those on how text is edited, which no server has a part in, and the field
//! cases: they send thousands of requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{editing, editor, observation, paging, paths, read_write_edit, storage};
use crate::field;
use crate::servers::Kind;
use crate::support::{Backend, Claim};

/// How many claims are judged at once: their time is mostly the server's.
const AT_ONCE: usize = 4;

/// A claim that takes longer is named.
const SLOW: Duration = Duration::from_secs(2);

fn claims() -> Vec<Claim> {
    let contract = [
        editor::EVERYWHERE,
        observation::EVERYWHERE,
        paging::EVERYWHERE,
        paths::EVERYWHERE,
        read_write_edit::EVERYWHERE,
        storage::EVERYWHERE,
    ];
    let mut claims = contract.concat();
    if std::env::var_os("SEAMFS_FULL").is_some() {
        claims.extend(editing::EVERYWHERE);
        claims.extend(field::EVERYWHERE.concat());
    }
    claims
}

fn every_claim_holds_on(kind: Kind) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let Some(server) = runtime.block_on(kind.share()) else {
        return;
    };
    let (claims, next) = (claims(), AtomicUsize::new(0));
    let broken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(claim) = claims.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    let verdict = claim.judge(Backend::Installed(kind));
                    if begun.elapsed() > SLOW {
                        eprintln!("{}: {} took {:?}", kind.name(), claim.name, begun.elapsed());
                    }
                    if let Err(why) = verdict {
                        let why = format!("{}: {why}", claim.name);
                        let mut broken = broken.lock().unwrap_or_else(PoisonError::into_inner);
                        broken.push(why);
                    }
                }
            });
        }
    });
    drop(server);
    let broken = broken.into_inner().unwrap_or_else(PoisonError::into_inner);
    let held = claims.len() - broken.len();
    eprintln!(
        "{}: {held} claims held, {} failed",
        kind.name(),
        broken.len()
    );
    assert!(
        broken.is_empty(),
        "on {}:\n{}",
        kind.name(),
        broken.join("\n")
    );
}

#[test]
fn every_claim_holds_on_seaweedfs() {
    every_claim_holds_on(Kind::SeaweedFs);
}

#[test]
fn every_claim_holds_on_azurite() {
    every_claim_holds_on(Kind::Azurite);
}
