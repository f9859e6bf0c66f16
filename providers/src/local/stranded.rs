//! Stranded publications: our bytes took the name, and what came out was not what was to go.
//!
//! It happens when a writer that takes no lock renames its file over the target between our last
//! look and the exchange. Its file is then in our hands, under the staging name, and nothing of
//! it may be lost. What is done depends on what was promised: a guarded mutation was to replace
//! other bytes, so the file goes back; an edit of whatever is there goes on to the newer bytes,
//! so that nobody who read ours in between carries on an edit that is then made a second time;
//! a write of whatever is there has simply replaced it.

use std::sync::Arc;

use rustix::fd::OwnedFd;
use seamfs_core::hashed::Hashed;
use seamfs_core::{ContentHash, ErrorCode, FileKind, FsError, Note, Result, Snapshot};

use super::Inner;
use super::at;
use super::attributes;
use super::error::{host, not_regular};
use super::held::Held;
use super::lock::FolderLock;
use super::platform;
use super::publish::{Publication, finish};
use super::stage::{PRIVATE, Stage};
use super::staging;
use super::stamp::Inode;
use super::walk::Place;

/// How often files are exchanged before the last one in hand is kept instead: each exchange
/// beyond the first answers another writer that was faster.
const MOST_EXCHANGES: usize = 64;

/// A publication with somebody else's file in its hands.
pub(super) struct Stranded<'a> {
    local: &'a Inner,
    place: Place,
    lock: FolderLock,
    /// The file that has the name, while nobody replaced it: ours.
    ours: Claimed<Stage>,
    /// Somebody else's file, under the staging name.
    displaced: Place,
}

/// An inode, and the handle that keeps its number from being given to another.
struct Claimed<H> {
    inode: Inode,
    handle: H,
}

impl<'a> Stranded<'a> {
    /// Takes over after an exchange.
    pub(super) fn new(
        publication: &Publication<'a>,
        stage: Stage,
        displaced: Place,
        lock: FolderLock,
    ) -> Result<Self> {
        Ok(Self {
            local: publication.local,
            place: publication.place.clone(),
            lock,
            ours: Claimed {
                inode: stage.look()?.inode,
                handle: stage,
            },
            displaced,
        })
    }

    /// Opens the displaced file, if it is one that can be read.
    pub(super) fn load(&self) -> Result<Option<(Held, (Snapshot, Hashed))>> {
        let Some(held) = Held::open(&self.local.root, &self.displaced)? else {
            return Ok(None);
        };
        let loaded = held.load()?;
        Ok(Some((held, loaded)))
    }

    /// Lets our bytes stand: the displaced file was to be replaced whatever it held.
    ///
    /// # Errors
    /// `FS_NOT_REGULAR_FILE` for what no write replaces; then it has its name back.
    pub(super) fn accept(self) -> Result<Option<Snapshot>> {
        let kind = self.displaced.look()?.map(|stamp| stamp.kind);
        match kind {
            Some(FileKind::File) => {}
            Some(kind) => return self.put_back().and(Err(not_regular(kind))),
            None => return Ok(None),
        }
        let seen = self.load().ok().flatten().map(|(_, (seen, _))| seen);
        let _ = at::unlink(&self.displaced.folder, &self.displaced.name);
        finish(self.local, self.lock)?;
        Ok(seen)
    }

    /// Goes on to bytes that were made from the displaced file's.
    ///
    /// # Errors
    /// `FS_OUTCOME_UNKNOWN` when yet another writer was faster.
    pub(super) fn advance<'b>(
        self,
        (old, seen): (Held, Snapshot),
        after: ContentHash,
        pieces: impl Iterator<Item = &'b [u8]>,
    ) -> Result<Vec<Note>> {
        let (mut stage, notes) = match self.stage(&old, &seen, after, pieces) {
            Ok(staged) => staged,
            Err(error) => return self.put_back().and(Err(error)),
        };
        let folder = &self.place.folder;
        let Some(name) = stage.name().cloned() else {
            return self.put_back().and(Err(several_writers()));
        };
        if at::exchange(folder, &name, &self.place.name).is_err() {
            drop(stage);
            return Err(self.keep());
        }
        stage.release();
        let next = Claimed {
            inode: stage.look()?.inode,
            handle: stage,
        };
        let popped = Place {
            folder: Arc::clone(folder),
            name,
        };
        if !matches!(popped.look(), Ok(Some(stamp)) if stamp.inode == self.ours.inode) {
            // Somebody replaced our first bytes: their file is the newest.
            let newest = Self {
                ours: next,
                displaced: popped,
                place: self.place.clone(),
                lock: self.lock,
                local: self.local,
            };
            let older = keep_beside(&self.place, &self.displaced);
            return Err(match newest.put_back() {
                Ok(()) => older,
                Err(newer) => both_kept(older, &newer),
            });
        }
        let _ = at::unlink(folder, &popped.name);
        let _ = at::unlink(folder, &self.displaced.name);
        finish(self.local, self.lock)?;
        Ok(notes)
    }

    fn stage<'b>(
        &self,
        old: &Held,
        seen: &Snapshot,
        after: ContentHash,
        pieces: impl Iterator<Item = &'b [u8]>,
    ) -> Result<(Stage, Vec<Note>)> {
        let nameless = &self.local.nameless;
        let mut stage =
            Stage::create(&self.place.folder, PRIVATE, nameless)?.ok_or_else(several_writers)?;
        // The call can no longer be withdrawn: its first bytes were seen.
        stage.fill(pieces, &seamfs_core::CallContext::default())?;
        let notes = attributes::keep(old, &stage)?;
        stage.sync(self.local.options.durability)?;
        match stage.give_name(seen.version.hash(), after, nameless)? {
            true => Ok((stage, notes)),
            false => Err(several_writers()),
        }
    }

    /// Puts the displaced file back under its name and discards ours.
    ///
    /// Other writers may replace files in just that moment; then the latest one keeps the name.
    ///
    /// # Errors
    /// `FS_OUTCOME_UNKNOWN` when a file of somebody else's is left over; it is kept beside. Also
    /// when ours was seen to be read meanwhile.
    pub(super) fn put_back(&self) -> Result<()> {
        let folder = &self.place.folder;
        let mut in_place = self.ours.inode;
        let mut in_hand = hold(&self.displaced)?;
        // Handles of all that was in hand: no number may come to mean another file.
        let mut handles = Vec::new();
        for _ in 0..MOST_EXCHANGES {
            if at::exchange(folder, &self.displaced.name, &self.place.name).is_err() {
                break;
            }
            let popped = hold(&self.displaced)?;
            if popped.inode == in_place {
                if in_place != self.ours.inode {
                    break;
                }
                let _ = at::unlink(folder, &self.displaced.name);
                return match self.ours.handle.was_read() {
                    true => Err(carried_on()),
                    false => Ok(()),
                };
            }
            in_place = in_hand.inode;
            handles.push(std::mem::replace(&mut in_hand, popped));
        }
        Err(self.keep())
    }

    fn keep(&self) -> FsError {
        keep_beside(&self.place, &self.displaced)
    }
}

/// Keeps a file beside the target, under a name that listings show and nobody reaps.
pub(super) fn keep_beside(place: &Place, stray: &Place) -> FsError {
    let kept = staging::kept(&place.name);
    let folder = &place.folder;
    let kept = match at::rename_to_vacant((folder, &stray.name), (folder, &kept)) {
        Ok(()) => kept,
        Err(_) => match at::rename((folder, &stray.name), (folder, &kept)) {
            Ok(()) => kept,
            Err(_) => stray.name.clone(),
        },
    };
    let kept = String::from_utf8_lossy(kept.as_bytes()).into_owned();
    several_writers().with_details(|details| details.kept_at = Some(kept))
}

fn carried_on() -> FsError {
    FsError::new(
        ErrorCode::OutcomeUnknown,
        "another writer replaced the file in the last moment and has it back, but a program that \
         takes no lock read the new bytes in between and may carry them on",
    )
}

/// Names the files of two writers in one error, a comma between them.
fn both_kept(older: FsError, newer: &FsError) -> FsError {
    older.with_details(|details| {
        let names = [details.kept_at.take(), newer.details().kept_at.clone()];
        details.kept_at = Some(names.into_iter().flatten().collect::<Vec<_>>().join(", "));
    })
}

fn several_writers() -> FsError {
    FsError::new(
        ErrorCode::OutcomeUnknown,
        "several writers that take no lock replaced the file at once; where the bytes of one \
         were left over they are kept beside it",
    )
}

/// Holds whatever is at a place, without opening it.
fn hold(place: &Place) -> Result<Claimed<OwnedFd>> {
    let failed = |error| host(error, "hold a file that another writer replaced");
    let handle = platform::hold(&place.folder, &place.name).map_err(failed)?;
    let inode = at::look_at_handle(&handle).map_err(failed)?.inode;
    Ok(Claimed { inode, handle })
}
