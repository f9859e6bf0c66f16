//! Recovery: what killed writers left is found, and goes if its content accounts for itself.

use std::sync::Arc;

use cap_std::fs::Dir;
use rustix::fd::OwnedFd;
use rustix::fs::FlockOperation;
use seamfs_core::FileKind;

use super::Inner;
use super::at::{self, Name};
use super::held::Held;
use super::lock::FolderLock;
use super::staging::{self, Staging};
use super::walk::Place;

/// How many names a mutation looks through for leftovers at the most: it must not read a huge
/// folder for every edit. A listing, which reads them all, meets the rest.
const MOST_NAMES: usize = 2_000;

/// Removes leftovers from a locked folder, where they can be found quickly.
pub(super) fn sweep(local: &Inner, folder: &Arc<Dir>, lock: &FolderLock) {
    for name in leftovers(lock.folder()) {
        reap(local, folder, name, lock);
    }
}

/// Removes the leftovers that a listing met, unless somebody is publishing in the folder.
pub(super) fn sweep_found(local: &Inner, folder: &Arc<Dir>, names: Vec<Name>) {
    if names.is_empty() {
        return;
    }
    let Some(lock) = FolderLock::try_take(folder) else {
        return;
    };
    for name in names {
        reap(local, folder, name, &lock);
    }
}

fn leftovers(folder: &OwnedFd) -> Vec<Name> {
    let Ok(entries) = rustix::fs::Dir::read_from(folder) else {
        return Vec::new();
    };
    entries
        .take(MOST_NAMES)
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_bytes().to_vec())
        .filter(|name| staging::parse(name).is_some())
        .filter_map(Name::new)
        .collect()
}

/// Removes one leftover if it is a file whose content its name accounts for.
///
/// Whole stages exist only while their writer holds the folder's lock, which is ours now; a draft
/// is locked by its own writer while that lives.
fn reap(local: &Inner, folder: &Arc<Dir>, name: Name, _lock: &FolderLock) {
    let Some(staging) = staging::parse(name.as_bytes()) else {
        return;
    };
    let place = Place {
        folder: Arc::clone(folder),
        name,
    };
    let Ok(Some(held)) = Held::open(&local.root, &place) else {
        return;
    };
    if held.stamp.kind != FileKind::File || !is_abandoned(&held) {
        return;
    }
    let accounted = match staging {
        Staging::Draft => true,
        Staging::Whole { .. } => matches!(held.hash(), Ok(hash) if staging.accounts_for(hash)),
    };
    if accounted {
        let _ = at::unlink(folder, &place.name);
    }
}

fn is_abandoned(held: &Held) -> bool {
    rustix::fs::flock(&held.file, FlockOperation::NonBlockingLockShared).is_ok()
}
