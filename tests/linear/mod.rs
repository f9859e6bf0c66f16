//! Linearizability: random histories of many clients, each explained by one order of its calls.
//!
//! `SEAMFS_HISTORIES` says how many histories each file system has to stand.

mod broken;
mod processes;
mod threads;

use std::collections::BTreeMap;
use std::fmt;

use seamfs::core::conformance::linear::{Answer, History};

/// Returns how many histories to make, of this many in an ordinary run.
fn histories(ordinary: u64) -> u64 {
    std::env::var("SEAMFS_HISTORIES").map_or(ordinary, |text| {
        text.parse().expect("SEAMFS_HISTORIES is a number")
    })
}

/// Counts of the answers, to see that a load did what it should.
#[derive(Debug, Default)]
struct Tally(BTreeMap<&'static str, usize>);

impl Tally {
    fn count(&mut self, history: &History) {
        for call in &history.calls {
            let answer = match &call.answer {
                Answer::Found(_) => "reads",
                Answer::Done { .. } => "mutations",
                Answer::Refused { .. } => "refusals",
                Answer::Failed(_) => "failures",
                Answer::Unknown => "unknown",
            };
            *self.0.entry(answer).or_default() += 1;
        }
        *self.0.entry("histories").or_default() += 1;
    }

    fn of(&self, answer: &str) -> usize {
        self.0.get(answer).copied().unwrap_or_default()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = self
            .0
            .iter()
            .map(|(name, n)| format!("{n} {name}"))
            .collect();
        f.write_str(&counts.join(", "))
    }
}
