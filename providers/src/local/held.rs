//! Files held open: what a mutation saw, by handle, so that nothing else can pass for it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use rustix::io::Errno;
use seamfs_core::hashed::{Hashed, MarkingHasher};
use seamfs_core::{ContentHash, ContentHasher, FileKind, Result, Snapshot, Version};

use super::at;
use super::blocking::slow;
use super::error::{host, not_regular};
use super::root::Root;
use super::stamp::Stamp;
use super::walk::Place;

/// A regular file, open for reading, as it was at one moment.
///
/// While it is held its inode's number is not given to another file.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) file: Arc<File>,
    pub(super) stamp: Stamp,
    /// When the stamp was taken.
    pub(super) seen: SystemTime,
}

impl Held {
    /// Opens a regular file; none when nothing is there.
    ///
    /// What it is decides before it is opened, for opening a device may act, and again by the
    /// handle.
    ///
    /// # Errors
    /// `FS_NOT_REGULAR_FILE` for anything else.
    pub(super) fn open(root: &Root, place: &Place) -> Result<Option<Self>> {
        match place.look()? {
            None => return Ok(None),
            Some(stamp) if stamp.kind != FileKind::File => return Err(not_regular(stamp.kind)),
            Some(_) => {}
        }
        Self::open_seen(root, place)
    }

    /// Opens a file that was a regular one a moment ago.
    pub(super) fn open_seen(root: &Root, place: &Place) -> Result<Option<Self>> {
        let file = match at::open_file(&place.folder, &place.name) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(not_regular(FileKind::Symlink)),
            Err(Errno::NXIO) => return Err(not_regular(FileKind::Other)),
            Err(error) => return Err(host(error, "open the file")),
        };
        root.check_mount(&file)?;
        let seen = SystemTime::now();
        let stamp = look(&file)?;
        if stamp.kind != FileKind::File {
            return Err(not_regular(stamp.kind));
        }
        let file = Arc::new(file);
        Ok(Some(Self { file, stamp, seen }))
    }

    /// Reads the whole file and names its bytes.
    pub(super) fn snapshot(&self) -> Result<Snapshot> {
        self.load().map(|(seen, _)| seen)
    }

    /// Reads the whole file and names its bytes, each piece while the cache still has it; the hash
    /// can go on from within.
    pub(super) fn load(&self) -> Result<(Snapshot, Hashed)> {
        match self.is_small() {
            true => self.load_here(),
            false => slow(|| self.load_here()),
        }
    }

    /// Returns whether all its bytes are read in one go.
    pub(super) fn is_small(&self) -> bool {
        self.stamp.size < CHUNK as u64
    }

    fn load_here(&self) -> Result<(Snapshot, Hashed)> {
        let mut bytes = Vec::new();
        let expected = usize::try_from(self.stamp.size).unwrap_or(usize::MAX);
        bytes
            .try_reserve_exact(expected.saturating_add(1))
            .map_err(|_| unreadable(io::Error::from(io::ErrorKind::OutOfMemory)))?;
        let piece = if expected < LARGE { CHUNK } else { LARGE / 2 };
        let mut hasher = MarkingHasher::new();
        loop {
            let start = bytes.len();
            let most = start.saturating_add(piece);
            let end = fill(&self.file, &mut bytes, 0, most, self.stamp.size).map_err(unreadable)?;
            hasher.update(&bytes[start..]);
            if end {
                break;
            }
        }
        let hashed = hasher.finish();
        let version = Version::from_hash(hashed.hash());
        let bytes = Bytes::from(bytes);
        Ok((Snapshot { bytes, version }, hashed))
    }

    /// Reads the whole file again and returns whether it holds exactly these bytes.
    pub(super) fn holds(&self, mut bytes: &[u8]) -> Result<bool> {
        let size = bytes.len() as u64;
        let (mut piece, mut offset) = (Vec::new(), 0);
        loop {
            piece.clear();
            let end = fill(&self.file, &mut piece, offset, CHUNK, size).map_err(unreadable)?;
            match bytes.strip_prefix(piece.as_slice()) {
                Some(rest) => bytes = rest,
                None => return Ok(false),
            }
            offset += piece.len() as u64;
            if end {
                return Ok(bytes.is_empty());
            }
        }
    }

    /// Hashes the whole file, in pieces.
    pub(super) fn hash(&self) -> Result<ContentHash> {
        let mut hasher = ContentHasher::new();
        let mut piece = Vec::new();
        let mut offset = 0;
        loop {
            piece.clear();
            let end = fill(&self.file, &mut piece, offset, PIECE, self.stamp.size);
            hasher.update(&piece);
            offset += piece.len() as u64;
            if end.map_err(unreadable)? {
                return Ok(hasher.finish());
            }
        }
    }

    /// Looks at the same inode again.
    pub(super) fn look_again(&self) -> Result<Stamp> {
        look(&self.file)
    }
}

/// How much is read in one go, as a piece of a stream.
pub(super) const PIECE: usize = 1 << 20;

/// The most that one system call reads: what a core's own cache holds, so that whoever looks at
/// the bytes next finds them there.
pub(super) const CHUNK: usize = 256 << 10;

/// From which size on a file is hashed in pieces that are worth more than one core.
pub(super) const LARGE: usize = 8 << 20;

pub(super) fn look(file: &File) -> Result<Stamp> {
    at::look_at_handle(file).map_err(|error| host(error, "look at the open file"))
}

fn unreadable(error: io::Error) -> seamfs_core::FsError {
    host(error, "read the file")
}

/// Appends the bytes from `offset` on, until the end of the file or until `bytes` holds `most` of
/// them; returns whether the end was reached.
///
/// A read that ends where the file was said to end, and asked for more, has met the end: it is
/// not asked a second time. Room is made for as much as the file was said to have.
pub(super) fn fill(
    file: &File,
    bytes: &mut Vec<u8>,
    offset: u64,
    most: usize,
    size: u64,
) -> io::Result<bool> {
    let ahead = |from| usize::try_from(size.saturating_sub(from)).unwrap_or(usize::MAX);
    let expected = ahead(offset + bytes.len() as u64).saturating_add(1);
    bytes.reserve_exact(expected.min(most.saturating_sub(bytes.len())));
    loop {
        let room = most.saturating_sub(bytes.len());
        if room == 0 {
            return Ok(false);
        }
        let start = bytes.len();
        let from = offset + start as u64;
        let ask = match ahead(from) {
            // More than was said: it grows.
            0 if start > 0 => room.min(4096),
            ahead => room.min(ahead.saturating_add(1)).min(CHUNK),
        };
        bytes.resize(start + ask, 0);
        let read = file.read_at(&mut bytes[start..], from);
        let kept = *read.as_ref().unwrap_or(&0);
        bytes.truncate(start + kept);
        match read {
            Ok(0) => return Ok(true),
            Ok(kept) if kept < ask && from + kept as u64 == size => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
