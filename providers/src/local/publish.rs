//! Publication: the staged bytes take the target's name, in one step and only over what was seen.

use std::sync::Arc;

use seamfs_core::{
    CallContext, ContentHash, ErrorCode, Expected, FileKind, FsError, Note, Result, Snapshot, cas,
};

use super::at::{self, Name};
use super::attributes;
use super::error::{host, not_regular, read_only};
use super::held::{Held, PIECE};
use super::moment::{Moment, reached};
use super::options::Durability;
use super::stage::{PRIVATE, Stage, Vacancy};
use super::staging;
use super::stamp::{Inode, Stamp};
use super::walk::Place;
use super::{Inner, reap};

/// How a publication ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The new bytes stand.
    Published(Vec<Note>),
    /// Somebody else was first, and nothing was changed.
    Lost,
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
    /// The hash of the new bytes.
    pub(super) after: ContentHash,
}

impl Publication<'_> {
    /// Publishes bytes where nothing is.
    pub(super) fn create<'b>(
        &self,
        mode: u32,
        pieces: impl Iterator<Item = &'b [u8]>,
    ) -> Result<Outcome> {
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
    pub(super) fn create_from(&self, mut stage: Stage) -> Result<Outcome> {
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
    pub(super) fn replace<'b>(
        &self,
        old: Held,
        seen: Option<&Snapshot>,
        pieces: impl Iterator<Item = &'b [u8]>,
    ) -> Result<Outcome> {
        let folder = &self.place.folder;
        let Some(mut stage) = Stage::create(folder, PRIVATE, &self.local.nameless)? else {
            return Ok(Outcome::Lost);
        };
        reached(Moment::Created);
        stage.fill(pieces, self.context)?;
        reached(Moment::Filled);
        let notes = attributes::keep(&old, &stage.file)?;
        stage.sync(self.local.options.durability)?;
        self.context.check()?;
        self.replace_from(stage, old, seen, Keeping::OldAttributes(notes))
    }

    /// Publishes a filled stage over a file that the guard allows to be replaced.
    pub(super) fn overwrite(&self, stage: Stage, expected: &Expected) -> Result<Outcome> {
        let Some(old) = Held::open(&self.local.root, self.place)? else {
            return Ok(Outcome::Lost);
        };
        stage.sync(self.local.options.durability)?;
        self.context.check()?;
        let seen = match expected {
            Expected::Any | Expected::Absent => None,
            Expected::Version(_) => {
                let seen = old.snapshot()?;
                cas::check_guard(Some(&seen), expected)?;
                Some(seen)
            }
        };
        self.replace_from(stage, old, seen.as_ref(), Keeping::NewAttributes)
    }

    fn replace_from(
        &self,
        mut stage: Stage,
        old: Held,
        seen: Option<&Snapshot>,
        mut keeping: Keeping,
    ) -> Result<Outcome> {
        let lock = self.local.lock(&self.place.folder, self.context)?;
        reap::sweep(self.local, &self.place.folder, &lock);
        let before = seen.and_then(|seen| seen.version.hash());
        let Some(verified) = self.verify(old, &stage, before, &mut keeping)? else {
            return Ok(Outcome::Lost);
        };
        let mut notes = keeping.into_notes();
        reached(Moment::Verified);
        if !stage.give_name(before, self.after, &self.local.nameless)? {
            return Ok(Outcome::Lost);
        }
        reached(Moment::Named);
        if verified.stamp.links > 1 {
            notes.push(Note::HardLinkBroken {
                links: verified.stamp.links,
            });
        }
        let claim = self.context.cancellation.begin_publication()?;
        let outcome = match before {
            None => self.take_over(stage)?,
            Some(before) => self.exchange(stage, &verified, before)?,
        };
        drop(claim);
        if !outcome {
            return Ok(Outcome::Lost);
        }
        self.local.swept.remember(&lock);
        let folder = lock.unlock();
        sync_handle(self.local.options.durability, &folder)?;
        Ok(Outcome::Published(notes))
    }

    /// Checks, under the lock, that what is to be replaced still is what was seen; returns it by
    /// a handle that holds exactly the inode checked, or none when it is not.
    fn verify(
        &self,
        old: Held,
        stage: &Stage,
        before: Option<ContentHash>,
        keeping: &mut Keeping,
    ) -> Result<Option<Held>> {
        let now = match self.place.look()? {
            None => return Ok(None),
            Some(now) if now.kind != FileKind::File => return Err(not_regular(now.kind)),
            Some(now) if now.is_protected() => return Err(read_only()),
            Some(now) => now,
        };
        if now == old.stamp && (before.is_none() || !now.is_racy(old.seen)) {
            return Ok(Some(old));
        }
        let Some(fresh) = Held::open_seen(&self.local.root, self.place)? else {
            return Ok(None);
        };
        if let Some(before) = before
            && (fresh.stamp.size != old.stamp.size || fresh.hash()? != before)
        {
            return Ok(None);
        }
        if let Keeping::OldAttributes(notes) = keeping
            && attributes_differ(&fresh.stamp, &old.stamp)
        {
            *notes = attributes::keep(&fresh, &stage.file)?;
        }
        Ok(Some(fresh))
    }

    /// Replaces whatever file is there.
    fn take_over(&self, mut stage: Stage) -> Result<bool> {
        let Some(name) = stage.name() else {
            return Ok(false);
        };
        let folder = &self.place.folder;
        at::rename((folder, name), (folder, &self.place.name)).map_err(unpublished)?;
        stage.release();
        Ok(true)
    }

    /// Exchanges the staged file with the target, and looks at what came out: when it is not what
    /// was verified, a foreign writer that takes no lock was there in between, and its file goes
    /// back.
    fn exchange(&self, mut stage: Stage, verified: &Held, before: ContentHash) -> Result<bool> {
        let folder = &self.place.folder;
        let Some(name) = stage.name().cloned() else {
            return Ok(false);
        };
        match at::exchange(folder, &name, &self.place.name) {
            Ok(()) => {}
            Err(rustix::io::Errno::NOENT) => return Ok(false),
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
        if is_expected(self.local, &displaced, verified, before) {
            let _ = at::unlink(folder, &displaced.name);
            return Ok(true);
        }
        self.put_back(&displaced, stage.inode()?)?;
        Ok(false)
    }

    /// Puts a foreign writer's file back under its name and discards ours.
    ///
    /// A second foreign writer may replace ours in just that moment; then its file, the later
    /// one, keeps the name, and the first one is kept beside it.
    fn put_back(&self, displaced: &Place, ours: Inode) -> Result<()> {
        let folder = &self.place.folder;
        for _ in 0..2 {
            match at::exchange(folder, &displaced.name, &self.place.name) {
                Ok(()) => {}
                Err(_) => break,
            }
            if matches!(displaced.look(), Ok(Some(stamp)) if stamp.inode == ours) {
                let _ = at::unlink(folder, &displaced.name);
                return Ok(());
            }
        }
        self.keep_beside(&displaced.name)
    }

    fn keep_beside(&self, name: &Name) -> Result<()> {
        let folder = &self.place.folder;
        let kept = staging::kept(&self.place.name);
        let at = match at::rename((folder, name), (folder, &kept)) {
            Ok(()) => kept,
            Err(_) => name.clone(),
        };
        let at = String::from_utf8_lossy(at.as_bytes()).into_owned();
        Err(FsError::new(
            ErrorCode::OutcomeUnknown,
            format!(
                "several writers that take no lock replaced the file at once; the bytes of one \
                 of them are kept beside it as {at}"
            ),
        )
        .with_details(|details| details.kept_at = Some(at)))
    }
}

/// Returns whether what an exchange displaced holds the bytes that were to be replaced.
///
/// The inode verified is held open, so its number means it and nothing else.
pub(super) fn is_expected(
    local: &Inner,
    displaced: &Place,
    verified: &Held,
    before: ContentHash,
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
    matches!(
        Held::open_seen(&local.root, displaced),
        Ok(Some(held)) if matches!(held.hash(), Ok(hash) if hash == before)
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
    rustix::fs::fsync(&folder).map_err(unsynced)
}

fn sync_handle(durability: Durability, folder: &rustix::fd::OwnedFd) -> Result<()> {
    if durability != Durability::Full {
        return Ok(());
    }
    rustix::fs::fsync(folder).map_err(unsynced)
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
