//! The state machine of the kit over every file system with outside hands.

use std::panic::catch_unwind;

use seamfs::core::conformance::Subject;
use seamfs::core::conformance::doubles::broken::{Broken, doubles};
use seamfs::core::conformance::model::{Histogram, check, check_cases};

use super::subjects::{GCS, GROUNDS, S3};
use crate::servers::Kind;
use crate::support::Batch;

fn make(name: &str) -> fn() -> Subject {
    let found = GROUNDS.iter().find(|ground| ground.name == name);
    found
        .unwrap_or_else(|| panic!("nothing is called {name}"))
        .make
}

/// Returns how many histories are run: as many as `PROPTEST_CASES` says, and without it fewer where
/// each step is several requests over HTTP.
pub(super) fn cases(name: &str) -> u32 {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let installed = [Kind::SeaweedFs, Kind::Azurite].map(Kind::name);
    match name {
        S3 | GCS if !asked => 48,
        _ if installed.contains(&name) && !asked => 10,
        _ => proptest::test_runner::Config::default().cases,
    }
}

fn histories_agree(name: &str) {
    let histogram: Histogram = check_cases(cases(name), make(name));
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

/// Puts a broken double over memory.
pub(super) fn broken(name: &str) -> Subject {
    let double = doubles().into_iter().find(|double| double.name == name);
    let double = double.unwrap_or_else(|| panic!("no double {name}"));
    make("Memory")().layered(|fs| Broken::new(fs, (double.make)()))
}

/// Returns the script of the shortest history that a check failed on.
pub(super) fn script_of(check: impl FnOnce() + std::panic::UnwindSafe) -> Vec<String> {
    let panic = catch_unwind(check).expect_err("the double is found");
    let message = panic.downcast_ref::<String>().expect("a message");
    let (_, after) = message.split_once("for seamfs batch:\n").expect("a script");
    after
        .lines()
        .take_while(|line| line.starts_with('{'))
        .map(str::to_owned)
        .collect()
}

/// Replays a script, each line of which `seamfs batch` answers.
pub(super) fn replay(script: &[String]) {
    assert!(!script.is_empty(), "the script has lines");
    let mut batch = Batch::start(&["-w", "memory:"]);
    for line in script {
        let answer = batch.send(line);
        let answers = answer["parallel"]
            .as_array()
            .cloned()
            .unwrap_or(vec![answer]);
        for answer in answers {
            assert!(answer["session"].is_string(), "{line} is no call: {answer}");
            // Somebody outside may put what no tool can: bytes that are no text.
            if answer["session"] != "outside" {
                assert_ne!(answer["code"], "FS_INVALID_ARGUMENT", "{line}");
            }
        }
    }
    assert_eq!(batch.finish(), 0);
}

#[test]
fn a_broken_double_is_found_and_its_history_shrinks_to_a_script() {
    for name in ["ignores the guard of an edit", "drops a byte order mark"] {
        let script = script_of(|| drop(check(|| broken(name))));
        assert!(script.len() <= 8, "{name} shrank to {script:?}");
        replay(&script);
    }
}

#[test]
fn histories_over_s3_agree_with_the_model() {
    histories_agree(S3);
}

#[test]
fn histories_over_gcs_agree_with_the_model() {
    histories_agree(GCS);
}
