//! Publication: the staged bytes take the target's name, in one step and only over what was seen.

use std::sync::Arc;
use std::time::SystemTime;

use seamfs_core::{
    CallContext, ContentHash, ErrorCode, Expected, FileKind, FsError, Note, Result, Snapshot, cas,
};

use super::at;
use super::at_once::at_once;
use super::attributes;
use super::blocking::slow;
use super::error::{host, not_regular, read_only};
use super::held::{Held, LARGE, PIECE};
use super::lock::FolderLock;
use super::moment::{Moment, reached};
use super::options::Durability;
use super::stage::{PRIVATE, Stage, Vacancy};
use super::stamp::Stamp;
use super::stranded::Stranded;
use super::walk::Place;
use super::{Inner, reap};

/// How a publication ended.
pub(super) enum Outcome<'a> {
    /// The new bytes stand.
    Published(Vec<Note>),
    /// Somebody else was first, and nothing was changed.
    Lost,
    /// The new bytes have the name, and something else came out than was to be replaced.
    Stranded(Stranded<'a>),
}

/// Whose attributes the file has after its bytes were replaced.
enum Keeping {
    /// The old file's; with the notes on what could not be kept.
    OldAttributes(Vec<Note>),
    /// Those that the staged file was given.
    NewAttributes,
}

impl Keeping {
    fn into_notes(self) -> Vec<Note> {
        match self {
            Self::OldAttributes(notes) => notes,
            Self::NewAttributes => Vec::new(),
        }
    }
}

/// New bytes on their way, and what their call is about.
pub(super) struct Publication<'a> {
    pub(super) local: &'a Inner,
    pub(super) place: &'a Place,
    pub(super) context: &'a CallContext,
}

impl<'a> Publication<'a> {
    /// Publishes bytes where nothing is.
    pub(super) fn create<'b>(
        &self,
        mode: u32,
        pieces: impl Iterator<Item = &'b [u8]>,
    ) -> Result<Outcome<'a>> {
        let nameless = &self.local.nameless;
        let Some(mut stage) = Stage::create(&self.place.folder, mode, nameless)? else {
            return Ok(Outcome::Lost);
        };
        reached(Moment::Created);
        stage.fill(pieces, self.context)?;
        reached(Moment::Filled);
        self.create_from(stage)
    }

    /// Publishes a filled stage where nothing is.
    pub(super) fn create_from(&self, mut stage: Stage) -> Result<Outcome<'a>> {
        stage.sync(self.local.options.durability)?;
        self.context.check()?;
        let claim = self.context.cancellation.begin_publication()?;
        let vacancy = stage.publish_vacant(&self.place.name, &self.local.nameless)?;
        drop(claim);
        if vacancy != Vacancy::Filled {
            return Ok(Outcome::Lost);
        }
        sync_folder(self.local.options.durability, &self.place.folder)?;
        Ok(Outcome::Published(Vec::new()))
    }

    /// Publishes bytes over a file; over exactly the bytes seen, when any were.
    ///
    /// `after` works out the hash of the new bytes, for many of them while they are written.
    pub(super) fn replace<'b>(
        &self,
        old: Held,
        seen: Option<&Snapshot>,
        pieces: impl Iterator<Item = &'b [u8]>,
        after: impl FnOnce() -> ContentHash + Send,
    ) -> Result<Outcome<'a>> {
        let folder = &self.place.folder;
        let Some(mut stage) = Stage::create(folder, PRIVATE, &self.local.nameless)? else {
            return Ok(Outcome::Lost);
        };
        reached(Moment::Created);
        let large = old.stamp.size >= LARGE as u64;
        let fill = || at_once(large, after, || stage.fill(pieces, self.context));
        let (after, filled) = match old.is_small() {
            true => fill(),
            false => slow(fill),
        };
        filled?;
        reached(Moment::Filled);
        let notes = attributes::keep(&old, &stage)?;
        stage.sync(self.local.options.durability)?;
        self.context.check()?;
        self.replace_from((stage, after), old, seen, Keeping::OldAttributes(notes))
    }

    /// Publishes a filled stage over a file that the guard allows to be replaced.
    pub(super) fn overwrite(
        &self,
        staged: (Stage, ContentHash),
        expected: &Expected,
    ) -> Result<Outcome<'a>> {
        let Some(old) = Held::open(&self.local.root, self.place)? else {
            return Ok(Outcome::Lost);
        };
        staged.0.sync(self.local.options.durability)?;
        self.context.check()?;
        let seen = match expected {
            Expected::Any | Expected::Absent => None,
            Expected::Version(_) => {
                let seen = old.snapshot()?;
                cas::check_guard(Some(&seen), expected)?;
                Some(seen)
            }
        };
        self.replace_from(staged, old, seen.as_ref(), Keeping::NewAttributes)
    }

    fn replace_from(
        &self,
        (mut stage, after): (Stage, ContentHash),
        old: Held,
        seen: Option<&Snapshot>,
        mut keeping: Keeping,
    ) -> Result<Outcome<'a>> {
        let lock = self.local.lock(&self.place.folder, self.context)?;
        reap::sweep(self.local, &self.place.folder, &lock);
        let before = seen.and_then(|seen| seen.version.hash());
        if !stage.give_name(before, after, &self.local.nameless)? {
            return Ok(Outcome::Lost);
        }
        reached(Moment::Named);
        let claim = self.context.cancellation.begin_publication()?;
        // Nothing but the exchange comes after the check: the moment between them is all that a
        // writer without a lock has.
        let Some(verified) = self.verify(old, &stage, seen, &mut keeping)? else {
            return Ok(Outcome::Lost);
        };
        reached(Moment::Verified);
        let swapped = match seen {
            None => self.take_over(stage)?,
            Some(seen) => self.exchange(stage, &verified, &seen.bytes)?,
        };
        drop(claim);
        match swapped {
            Swapped::Done => {}
            Swapped::Lost => return Ok(Outcome::Lost),
            Swapped::Other(stage, displaced) => {
                return Stranded::new(self, stage, displaced, lock).map(Outcome::Stranded);
            }
        }
        finish(self.local, lock)?;
        let mut notes = keeping.into_notes();
        if verified.stamp.links > 1 {
            notes.push(Note::HardLinkBroken {
                links: verified.stamp.links,
            });
        }
        Ok(Outcome::Published(notes))
    }

    /// Checks, under the lock, that what is to be replaced still is what was seen; returns it by
    /// a handle that holds exactly the inode checked, or none when it is not.
    fn verify(
        &self,
        old: Held,
        stage: &Stage,
        seen: Option<&Snapshot>,
        keeping: &mut Keeping,
    ) -> Result<Option<Held>> {
        let mut trusted = seen.is_none() || !old.stamp.is_racy(old.seen);
        let mut held = old;
        for _ in 0..MOST_CHECKS {
            let now = match self.place.look()? {
                None => return Ok(None),
                Some(now) if now.kind != FileKind::File => return Err(not_regular(now.kind)),
                Some(now) if now.is_protected() => return Err(read_only()),
                Some(now) => now,
            };
            if trusted && now == held.stamp {
                return Ok(Some(held));
            }
            let Some(fresh) = self.hold_again(&now, &held)? else {
                return Ok(None);
            };
            if let Some(seen) = seen
                && (fresh.stamp.size != held.stamp.size || !fresh.holds(&seen.bytes)?)
            {
                return Ok(None);
            }
            if let Keeping::OldAttributes(notes) = keeping
                && attributes_differ(&fresh.stamp, &held.stamp)
            {
                *notes = attributes::keep(&fresh, stage)?;
            }
            trusted = true;
            held = fresh;
        }
        Ok(None)
    }

    /// Returns what is there now by a handle; the same inode needs no other one.
    fn hold_again(&self, now: &Stamp, held: &Held) -> Result<Option<Held>> {
        if now.inode != held.stamp.inode {
            return Held::open_seen(&self.local.root, self.place);
        }
        let (seen, stamp) = (SystemTime::now(), *now);
        let file = Arc::clone(&held.file);
        Ok(Some(Held { file, stamp, seen }))
    }

    /// Replaces whatever file is there.
    fn take_over(&self, mut stage: Stage) -> Result<Swapped> {
        let Some(name) = stage.name() else {
            return Ok(Swapped::Lost);
        };
        let folder = &self.place.folder;
        at::rename((folder, name), (folder, &self.place.name)).map_err(unpublished)?;
        stage.release();
        Ok(Swapped::Done)
    }

    /// Exchanges the staged file with the target, and looks at what came out.
    fn exchange(&self, mut stage: Stage, verified: &Held, before: &[u8]) -> Result<Swapped> {
        let folder = &self.place.folder;
        let Some(name) = stage.name().cloned() else {
            return Ok(Swapped::Lost);
        };
        match at::exchange(folder, &name, &self.place.name) {
            Ok(()) => {}
            Err(rustix::io::Errno::NOENT) => return Ok(Swapped::Lost),
            Err(error) if at::is_not_offered(error) => return self.take_over(stage),
            Err(error) => return Err(unpublished(error)),
        }
        reached(Moment::Exchanged);
        // From here on the staging name holds what was there: it is removed only once known.
        stage.release();
        let displaced = Place {
            folder: Arc::clone(folder),
            name,
        };
        if !is_expected(self.local, &displaced, verified, before) {
            return Ok(Swapped::Other(stage, displaced));
        }
        let _ = at::unlink(folder, &displaced.name);
        Ok(Swapped::Done)
    }
}

/// How often the target is checked when its stamp moves while its bytes do not.
const MOST_CHECKS: usize = 16;

/// How the step itself ended.
enum Swapped {
    Done,
    /// Nothing was there to be replaced.
    Lost,
    /// Something else came out, and is where the place says.
    Other(Stage, Place),
}

/// Ends a publication: the folder is remembered, freed, and brought to the disk where asked.
pub(super) fn finish(local: &Inner, lock: FolderLock) -> Result<()> {
    local.swept.remember(&lock);
    if local.options.durability != Durability::Full {
        return Ok(());
    }
    // Others need not wait for the disk.
    let folder = lock.unlock();
    slow(|| rustix::fs::fsync(&folder)).map_err(unsynced)
}

/// Returns whether what an exchange displaced holds the bytes that were to be replaced.
///
/// The inode verified is held open, so its number means it and nothing else.
pub(super) fn is_expected(
    local: &Inner,
    displaced: &Place,
    verified: &Held,
    before: &[u8],
) -> bool {
    let Ok(Some(stamp)) = displaced.look() else {
        return false;
    };
    let likely = stamp.same_bytes_likely(&verified.stamp);
    let small = stamp.size <= PIECE as u64;
    if likely && !(small && verified.stamp.is_racy(verified.seen)) {
        return true;
    }
    if stamp.kind != FileKind::File {
        return false;
    }
    if stamp.inode == verified.stamp.inode {
        return verified.holds(before).unwrap_or(false);
    }
    matches!(
        Held::open_seen(&local.root, displaced),
        Ok(Some(held)) if held.holds(before).unwrap_or(false)
    )
}

fn attributes_differ(one: &Stamp, other: &Stamp) -> bool {
    one.mode != other.mode || one.owner != other.owner || one.inode != other.inode
}

/// Brings a folder's names to the disk, where that was asked for.
///
/// # Errors
/// `FS_OUTCOME_UNKNOWN`: the change stands, and may not survive a power failure.
pub(super) fn sync_folder(durability: Durability, folder: &cap_std::fs::Dir) -> Result<()> {
    if durability != Durability::Full {
        return Ok(());
    }
    let folder = at::reopen_readable(folder).map_err(unsynced)?;
    slow(|| rustix::fs::fsync(&folder)).map_err(unsynced)
}

fn unsynced(error: rustix::io::Errno) -> FsError {
    host(error, "bring the folder to the disk").recast(
        ErrorCode::OutcomeUnknown,
        "the change was made, but its folder could not be brought to the disk: it may not survive \
         a power failure",
    )
}

pub(super) fn unpublished(error: rustix::io::Errno) -> FsError {
    host(error, "replace the file")
}
