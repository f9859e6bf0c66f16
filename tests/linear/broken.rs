//! Histories over what is broken: the check must refuse one of them soon.

use std::sync::Arc;

use seamfs::FileSystem;
use seamfs::core::conformance::doubles::broken::{Broken, Double, doubles};
use seamfs::core::conformance::linear::{Load, check};

use super::threads::subject;

/// Within how many histories a double must be caught.
const SOON: u64 = 1000;

/// The doubles whose faults show between clients, by their names.
const SHOWN: &[&str] = &[
    "has no lock",
    "looks first and then acts",
    "loses a racing update",
    "serves the first read for ever",
    "writes in two steps",
    "ignores the guard of a write",
    "ignores the guard of an edit",
    "ignores the guard of a removal",
    "ignores the guards of a rename",
    "attaches other bytes",
    "removes nothing with success",
    "leaves the source of a rename",
    "forgets the version after a write",
    "never says that it created",
];

fn double(name: &str) -> Double {
    let found = doubles().into_iter().find(|double| double.name == name);
    found.unwrap_or_else(|| panic!("no double {name}"))
}

/// Returns the number of the first history that is refused, and why it is.
async fn caught(ground: &str, double: &Double) -> Option<(u64, String)> {
    let subject = subject(ground).layered(|fs| Broken::new(fs, (double.make)()));
    let fs: &Arc<dyn FileSystem> = subject.fs();
    for seed in 0..SOON {
        let refused = match Load::default()
            .run(fs, &format!("linear/{seed}"), seed)
            .await
        {
            Err(failure) => Some(failure.to_string()),
            Ok(history) => check(&history).err().map(|violation| violation.to_string()),
        };
        if let Some(refused) = refused {
            return Some((seed, refused));
        }
    }
    None
}

async fn all_caught(ground: &str, names: &[&str]) {
    let mut escaped = Vec::new();
    for name in names {
        match caught(ground, &double(name)).await {
            Some((seed, why)) => {
                let why = why.lines().next().unwrap_or_default().to_owned();
                eprintln!("{ground}, \"{name}\": caught in history {seed}: {why}");
            }
            None => escaped.push(*name),
        }
    }
    assert!(
        escaped.is_empty(),
        "over {ground} nobody noticed {escaped:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn broken_doubles_over_memory_are_caught_soon() {
    all_caught("Memory", SHOWN).await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_local_folder_without_its_lock_is_caught_soon() {
    all_caught("Local", &SHOWN[..3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_object_store_without_its_conditions_is_caught_soon() {
    all_caught("Object", &SHOWN[..3]).await;
}
