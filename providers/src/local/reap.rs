//! Recovery: what killed writers left is found, and goes if its content accounts for itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::fs::Dir;
use rustix::fd::OwnedFd;
use rustix::fs::FlockOperation;
use seamfs_core::FileKind;

use super::Inner;
use super::at::{self, Name};
use super::held::Held;
use super::lock::FolderLock;
use super::platform;
use super::staging::{self, Staging};
use super::stamp::{Inode, Moment};
use super::walk::Place;

/// How many names a mutation looks through for leftovers at the most: it must not read a huge
/// folder for every edit. A listing, which reads them all, meets the rest.
const MOST_NAMES: usize = 2_000;

/// Which folders hold nothing but what was there when this process looked last.
///
/// A folder's own time moves whenever a name appears in it. While it is what our last publication
/// made it, no other process left anything there, and a mutation need not look.
#[derive(Debug, Default)]
pub(super) struct Swept(Mutex<HashMap<Inode, Moment>>);

/// How many folders are remembered; then all are forgotten, which costs a look at each.
const MOST_FOLDERS: usize = 1_024;

impl Swept {
    fn is_clean(&self, lock: &FolderLock) -> bool {
        let Ok(stamp) = at::look_at_handle(lock.folder()) else {
            return false;
        };
        let folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        folders.get(&stamp.inode) == Some(&stamp.modified)
    }

    /// Remembers a locked folder as this process leaves it.
    pub(super) fn remember(&self, lock: &FolderLock) {
        let Ok(stamp) = at::look_at_handle(lock.folder()) else {
            return;
        };
        let mut folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.len() >= MOST_FOLDERS {
            folders.clear();
        }
        folders.insert(stamp.inode, stamp.modified);
    }
}

/// Removes leftovers from a locked folder, where they can be found quickly.
pub(super) fn sweep(local: &Inner, folder: &Arc<Dir>, lock: &FolderLock) {
    if local.swept.is_clean(lock) {
        return;
    }
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
    let mut leftovers = Vec::new();
    platform::some_names(folder, MOST_NAMES, |name| {
        if staging::parse(name).is_some() {
            leftovers.extend(Name::new(name));
        }
    });
    leftovers
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
    rustix::fs::flock(&*held.file, FlockOperation::NonBlockingLockShared).is_ok()
}
