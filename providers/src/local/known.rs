//! What was read whole: which version a file had under which stamp, so that a part can be named.
//!
//! A stamp is never a guard. It only says that nothing moved since the whole bytes were seen, and
//! only when their last change was long enough ago that another one could not bear its moment.

use std::time::SystemTime;

use seamfs_core::cache::Recent;
use seamfs_core::{RootPath, Version};

use super::stamp::Stamp;

/// The smallest file, in bytes, that is worth it: a smaller one is read whole as cheaply.
const WORTH_IT: u64 = 128 << 10;

/// How many bytes of what is known are held: some two thousand files.
const CAPACITY: usize = 1 << 20;

/// Versions by path and stamp.
#[derive(Debug)]
pub(super) struct Known(Recent<(Stamp, Version)>);

impl Default for Known {
    fn default() -> Self {
        Self(Recent::new(CAPACITY))
    }
}

impl Known {
    /// Notes the version of bytes that were read whole between two looks, the first of them at
    /// `seen`, that gave this stamp.
    pub(super) fn note(&self, path: &RootPath, stamp: Stamp, seen: SystemTime, version: &Version) {
        if stamp.size >= WORTH_IT && !stamp.is_racy(seen) {
            self.0.put(path.to_key(), (stamp, version.clone()), 0);
        }
    }

    /// Returns the version that the file has when it bears this stamp, where that is known.
    pub(super) fn version(&self, path: &RootPath, stamp: &Stamp) -> Option<Version> {
        let (known, version) = self.0.get(&path.to_key())?;
        (known == *stamp).then_some(version)
    }
}
