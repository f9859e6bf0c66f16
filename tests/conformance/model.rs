//! The state machine of the kit over every file system with folders and outside hands.

use seamfs::core::conformance::Subject;
use seamfs::core::conformance::model::{Histogram, check};

use super::subjects::GROUNDS;

fn make(name: &str) -> fn() -> Subject {
    let found = GROUNDS.iter().find(|ground| ground.name == name);
    found
        .unwrap_or_else(|| panic!("nothing is called {name}"))
        .make
}

fn histories_agree(name: &str) {
    let histogram: Histogram = check(make(name));
    eprintln!("{name}: {histogram}");
    // Few histories may be unlucky; many are not.
    assert!(
        histogram.between() >= 0.2 || histogram.total() < 1000,
        "{histogram}"
    );
}

#[test]
fn histories_over_memory_agree_with_the_model() {
    histories_agree("Memory");
}

#[test]
fn histories_over_the_strict_double_agree_with_the_model() {
    histories_agree("`Strict<Memory>`");
}

#[cfg(unix)]
#[test]
fn histories_over_local_agree_with_the_model() {
    histories_agree("Local");
}
