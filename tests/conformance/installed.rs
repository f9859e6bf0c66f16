//! Both state machines on servers of other projects, where they are installed.
//!
//! Few histories in an ordinary run; `PROPTEST_CASES` says how many otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use seamfs::core::conformance::Subject;
use seamfs::core::conformance::model::check_cases;
use seamfs::core::{RemoveOptions, TransferOptions, TransferOutcome};
use seamfs::{FileSystem, Result, Target};

use super::hands::ClientHands;
use super::{model, tools_model};
use crate::servers::{Installed, Kind};
use crate::support::{Double, Hooks};

/// Makes subjects on one server, each beneath a prefix of its own.
fn subjects(kind: Kind) -> Option<impl Fn() -> Subject> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let server = Arc::new(runtime.block_on(kind.start())?);
    let made = AtomicUsize::new(0);
    Some(move || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        subject(&server, &format!("history-{number}"))
    })
}

fn subject(server: &Arc<Installed>, prefix: &str) -> Subject {
    let hands = ClientHands::new(server, prefix);
    let pruned = Pruned {
        server: Arc::clone(server),
        prefix: prefix.to_owned(),
    };
    Subject::new(hands.open())
        .with_outside(hands)
        .layered(|fs| Double::over(fs, pruned))
}

/// Lets SeaweedFS, which has real folders underneath, forget those that were emptied at once and
/// not after a while.
#[derive(Debug)]
struct Pruned {
    server: Arc<Installed>,
    prefix: String,
}

impl Pruned {
    async fn above(&self, target: &Target) {
        // The marker of a folder lies in it.
        let key = format!("{}{}/.seamfs-folder", self.prefix, target.display());
        self.server.prune(&key, 1).await;
    }
}

#[async_trait]
impl Hooks for Pruned {
    async fn remove(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: RemoveOptions,
    ) -> Result<()> {
        let removed = fs.remove(target, options).await;
        if removed.is_ok() {
            self.above(target).await;
        }
        removed
    }

    async fn rename(
        &self,
        fs: &dyn FileSystem,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let moved = fs.rename(from, to, options).await;
        if moved.is_ok() {
            self.above(from).await;
        }
        moved
    }
}

fn histories_agree(kind: Kind) {
    if let Some(make) = subjects(kind) {
        eprintln!(
            "{}: {}",
            kind.name(),
            check_cases(model::cases(kind.name()), make)
        );
    }
}

fn calls_agree(kind: Kind) {
    if let Some(make) = subjects(kind) {
        tools_model::check_over(kind.name(), make);
    }
}

#[test]
fn histories_over_seaweedfs_agree_with_the_model() {
    histories_agree(Kind::SeaweedFs);
}

#[test]
fn histories_over_azurite_agree_with_the_model() {
    histories_agree(Kind::Azurite);
}

#[test]
fn calls_over_seaweedfs_agree_with_the_policy() {
    calls_agree(Kind::SeaweedFs);
}

#[test]
fn calls_over_azurite_agree_with_the_policy() {
    calls_agree(Kind::Azurite);
}
