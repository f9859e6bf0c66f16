//! Stamps: what the host says of an entry without reading it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};
use seamfs_core::{FileKind, Metadata};

/// Which inode an entry is; exact while the inode is held open, for its number is not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Inode {
    device: u64,
    number: u64,
}

/// A moment by the host's clock.
pub(super) type Moment = (i64, i64);

/// What the host says of an entry: its identity, and every figure that moves when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) inode: Inode,
    pub(super) kind: FileKind,
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) links: u64,
    pub(super) owner: (u32, u32),
    pub(super) modified: Moment,
    changed: Moment,
}

/// Returns when a file was read last, by hosts that keep it.
#[allow(
    clippy::unnecessary_cast,
    reason = "the fields' types differ between targets"
)]
pub(super) fn accessed(stat: &Stat) -> Moment {
    (stat.st_atime as i64, stat.st_atime_nsec as i64)
}

/// How long after a change another one may bear the same moment: several ticks of the coarsest
/// kernel clock, which ticks at 100 Hz.
const TICKS: Duration = Duration::from_millis(60);

/// The same where moments show no fraction: FAT keeps two seconds.
const WHOLE_SECONDS: Duration = Duration::from_millis(2_100);

impl Stamp {
    /// Reads what a `stat` call gave.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the fields' types differ between targets"
    )]
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            inode: Inode {
                device: stat.st_dev as u64,
                number: stat.st_ino as u64,
            },
            kind: kind(FileType::from_raw_mode(stat.st_mode)),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode as u32 & 0o7777,
            links: stat.st_nlink as u64,
            owner: (stat.st_uid as u32, stat.st_gid as u32),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    /// Returns whether nothing that moves with the bytes differs, the moment of the last change
    /// of the inode excepted: renaming moves that one.
    pub(super) fn same_bytes_likely(&self, other: &Self) -> bool {
        self.inode == other.inode && self.size == other.size && self.modified == other.modified
    }

    /// Returns whether a change made after `seen` might leave this stamp as it is.
    pub(super) fn is_racy(&self, seen: SystemTime) -> bool {
        let last = self.modified.max(self.changed);
        let tick = if self.modified.1 == 0 && self.changed.1 == 0 {
            WHOLE_SECONDS
        } else {
            TICKS
        };
        // A moment in the future, by a clock that disagrees, proves nothing and counts as racy.
        !matches!(seen.duration_since(moment(last)), Ok(age) if age > tick)
    }

    /// Returns the seam's view of it.
    pub(super) fn metadata(&self) -> Metadata {
        Metadata {
            kind: self.kind,
            size: (self.kind == FileKind::File).then_some(self.size),
            modified: Some(moment(self.modified)),
            mode: Some(self.mode),
            links: Some(self.links),
            version: None,
        }
    }

    /// Returns whether nobody may write it, by its own permission bits.
    pub(super) fn is_protected(&self) -> bool {
        self.mode & 0o222 == 0
    }
}

fn kind(file_type: FileType) -> FileKind {
    match file_type {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Other,
    }
}

fn moment((seconds, nanos): Moment) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let fraction = Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
    let base = if seconds >= 0 {
        UNIX_EPOCH.checked_add(whole)
    } else {
        UNIX_EPOCH.checked_sub(whole)
    };
    base.and_then(|base| base.checked_add(fraction))
        .unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64, nanos: i64) -> Stamp {
        Stamp {
            inode: Inode {
                device: 1,
                number: 2,
            },
            kind: FileKind::File,
            size: 3,
            mode: 0o644,
            links: 1,
            owner: (0, 0),
            modified: (seconds, nanos),
            changed: (seconds, nanos),
        }
    }

    #[test]
    fn a_stamp_is_racy_within_a_tick_of_its_last_change_and_when_clocks_disagree() {
        let seen = UNIX_EPOCH + Duration::from_secs(100);
        assert!(at(99, 999_000_000).is_racy(seen));
        assert!(!at(99, 900_000_000).is_racy(seen));
        assert!(at(101, 5).is_racy(seen));
        assert!(
            at(98, 0).is_racy(seen),
            "moments without a fraction are coarse"
        );
        assert!(!at(90, 0).is_racy(seen));
    }

    #[test]
    fn moments_before_the_epoch_are_moments() {
        assert_eq!(moment((-1, 0)), UNIX_EPOCH - Duration::from_secs(1));
    }
}
