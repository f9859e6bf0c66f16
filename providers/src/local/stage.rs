//! Staging: new bytes are written whole beside their target before they take its name.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::fs::Dir;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use seamfs_core::{CallContext, ContentHash, Result};

use super::at::{self, Name};
use super::blocking::slow;
use super::error::host;
use super::options::Durability;
use super::platform;
use super::staging;
use super::stamp::{Moment, Stamp};

/// A file being written beside its target; dropped, it is gone.
///
/// Where the host can, it has no name at all until it is whole, so that a killed writer leaves
/// nothing. Elsewhere it is a draft under a name of ours, locked while its writer lives.
pub(super) struct Stage {
    folder: Arc<Dir>,
    pub(super) file: File,
    name: Option<Name>,
    /// When the host says it was read last, as of the first look at it: never.
    accessed: Cell<Option<Moment>>,
}

/// Whether nameless files worked so far; asked of the host by trying.
#[derive(Debug)]
pub(super) struct Nameless(AtomicBool);

impl Default for Nameless {
    fn default() -> Self {
        Self(AtomicBool::new(true))
    }
}

impl Nameless {
    fn works(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn give_up(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The mode of files that nobody else may see yet.
pub(super) const PRIVATE: u32 = 0o600;

/// The mode that new files are asked for; the kernel takes the umask from it.
pub(super) const NEW: u32 = 0o666;

impl Stage {
    /// Creates an empty staged file; none when its folder was removed meanwhile.
    pub(super) fn create(
        folder: &Arc<Dir>,
        mode: u32,
        nameless: &Nameless,
    ) -> Result<Option<Self>> {
        if nameless.works() {
            match platform::create_nameless(folder, mode) {
                Ok(file) => return Ok(Some(Self::new(folder, file, None))),
                Err(error) if at::is_not_offered(error) || error == Errno::ISDIR => {
                    nameless.give_up();
                }
                Err(_) if is_removed(folder) => return Ok(None),
                Err(error) => return Err(unstaged(error)),
            }
        }
        let name = staging::draft();
        let file = match at::create_file(folder, &name, mode) {
            Ok(file) => file,
            Err(_) if is_removed(folder) => return Ok(None),
            Err(error) => return Err(unstaged(error)),
        };
        let stage = Self::new(folder, file, Some(name));
        // Tells a reaper that the draft's writer lives. Where it fails there are no locks, and
        // without locks nobody reaps.
        let _ = rustix::fs::flock(&stage.file, FlockOperation::NonBlockingLockExclusive);
        Ok(Some(stage))
    }

    fn new(folder: &Arc<Dir>, file: File, name: Option<Name>) -> Self {
        Self {
            folder: Arc::clone(folder),
            file,
            name,
            accessed: Cell::new(None),
        }
    }

    /// Writes the bytes, piece after piece.
    pub(super) fn fill<'a>(
        &mut self,
        pieces: impl Iterator<Item = &'a [u8]>,
        context: &CallContext,
    ) -> Result<()> {
        let mut slices: Vec<IoSlice<'_>> = pieces
            .flat_map(|piece| piece.chunks(LONGEST_WRITE))
            .map(IoSlice::new)
            .collect();
        let mut left = slices.as_mut_slice();
        while !left.is_empty() {
            context.check()?;
            let batch = left.len().min(MOST_SLICES);
            match self.file.write_vectored(&left[..batch]) {
                Ok(0) => return Err(unstaged(io::Error::from(io::ErrorKind::WriteZero))),
                Ok(written) => IoSlice::advance_slices(&mut left, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unstaged(error)),
            }
        }
        Ok(())
    }

    /// Sets the mode, as the last step before the file is seen.
    pub(super) fn set_mode(&self, mode: u32) -> Result<()> {
        rustix::fs::fchmod(&self.file, at::permissions(mode))
            .map_err(|error| host(error, "set the new file's mode"))
    }

    /// Waits for the bytes to be on the disk, where that was asked for.
    pub(super) fn sync(&self, durability: Durability) -> Result<()> {
        match durability {
            Durability::None => Ok(()),
            Durability::Data | Durability::Full => slow(|| rustix::fs::fsync(&self.file))
                .map_err(|error| host(error, "bring the new bytes to the disk")),
        }
    }

    /// Looks at the staged file.
    pub(super) fn look(&self) -> Result<Stamp> {
        let (stamp, accessed) = at::look_at_reading(&self.file)
            .map_err(|error| host(error, "look at the staged file"))?;
        self.accessed.set(self.accessed.get().or(Some(accessed)));
        Ok(stamp)
    }

    /// Returns whether the host shows that somebody read it since the first look.
    pub(super) fn was_read(&self) -> bool {
        let now = at::look_at_reading(&self.file).map(|(_, accessed)| accessed);
        matches!((self.accessed.get(), now), (Some(then), Ok(now)) if then != now)
    }

    /// Gives the whole bytes a name that accounts for them; `false` when it cannot be done in
    /// this way and the mutation is to start again.
    pub(super) fn give_name(
        &mut self,
        before: Option<ContentHash>,
        after: ContentHash,
        nameless: &Nameless,
    ) -> Result<bool> {
        let name = staging::whole(before, after);
        let named = match &self.name {
            None => platform::name_file(&self.file, &self.folder, &name),
            // Nothing has the new name: nobody can foretell it.
            Some(draft) => at::rename((&self.folder, draft), (&self.folder, &name)),
        };
        match named {
            Ok(()) => {
                self.name = Some(name);
                Ok(true)
            }
            Err(error) if self.name.is_none() && cannot_be_named(error) => {
                self.give_up_nameless(nameless);
                Ok(false)
            }
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(unstaged(error)),
        }
    }

    /// Gives the staged file its target's name, if nothing has it.
    pub(super) fn publish_vacant(&mut self, name: &Name, nameless: &Nameless) -> Result<Vacancy> {
        let Some(draft) = &self.name else {
            return match platform::name_file(&self.file, &self.folder, name) {
                Ok(()) => Ok(Vacancy::Filled),
                Err(Errno::EXIST) => Ok(Vacancy::Taken),
                Err(error) if cannot_be_named(error) => {
                    self.give_up_nameless(nameless);
                    Ok(Vacancy::Again)
                }
                Err(error) => Err(host(error, "give the new file its name")),
            };
        };
        match publish_draft(&self.folder, draft, name) {
            Ok(()) => {
                self.name = None;
                Ok(Vacancy::Filled)
            }
            Err(Errno::EXIST) => Ok(Vacancy::Taken),
            Err(Errno::NOENT) => Ok(Vacancy::Again),
            Err(error) => Err(host(error, "give the new file its name")),
        }
    }

    /// Stops trying. A missing name also means that the folder is gone, which says nothing of the host.
    fn give_up_nameless(&self, nameless: &Nameless) {
        if !is_removed(&self.folder) {
            nameless.give_up();
        }
    }

    /// Returns the staged name.
    pub(super) fn name(&self) -> Option<&Name> {
        self.name.as_ref()
    }

    /// Lets the name go: what it holds is no longer the staged file's to remove.
    pub(super) fn release(&mut self) {
        self.name = None;
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = at::unlink(&self.folder, name);
        }
    }
}

/// How a publication that replaces nothing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vacancy {
    /// The file has the name.
    Filled,
    /// Something had the name.
    Taken,
    /// The folder is gone, or the host wants it done in another way: start again.
    Again,
}

/// The most bytes that one system call writes, so that a withdrawn call ends soon.
const LONGEST_WRITE: usize = 8 << 20;

/// Fewer than any kernel's bound on slices.
const MOST_SLICES: usize = 512;

/// Moves a draft to a vacant name. Hosts without such a move have links, or cannot do it: a
/// plain rename might replace what somebody else just created.
fn publish_draft(folder: &Dir, draft: &Name, name: &Name) -> rustix::io::Result<()> {
    match at::rename_to_vacant((folder, draft), (folder, name)) {
        Err(error) if at::is_not_offered(error) => {
            match at::link(folder, draft, name) {
                Err(Errno::PERM | Errno::MLINK) => return Err(Errno::OPNOTSUPP),
                linked => linked?,
            }
            let _ = at::unlink(folder, draft);
            Ok(())
        }
        done => done,
    }
}

/// Returns whether a folder was removed; hosts refuse new files in it in various words.
fn is_removed(folder: &Dir) -> bool {
    matches!(at::look_at_handle(folder), Ok(stamp) if stamp.links == 0)
}

fn cannot_be_named(error: Errno) -> bool {
    // Older kernels ask for a privilege to name a file by its handle, and report its lack as a
    // missing name.
    matches!(error, Errno::NOENT | Errno::PERM | Errno::ACCESS) || at::is_not_offered(error)
}

fn unstaged(error: impl Into<io::Error>) -> seamfs_core::FsError {
    host(error, "write the new bytes beside the file")
}
