//! Reading: one hop for a small file, a hop a piece for a large one.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;
use seamfs_core::{
    Body, ByteStream, CallContext, ContentHasher, FileKind, FsError, Operation, ReadOptions,
    ReadOutcome, Result, RootPath, Version, cas,
};

use super::blocking::{self, Ahead, no_trial, slow};
use super::error::{host, not_regular};
use super::held::{Held, PIECE, fill, look};
use super::known::Known;
use super::root::Root;
use super::stamp::Stamp;
use super::walk::NoPlace;

/// How often a small file is read again when it changed under the reader.
const MOST_REREADS: usize = 3;

/// Opens a file and reads its first piece, which is the whole of most.
pub(super) fn read(
    root: &Root,
    known: &Arc<Known>,
    path: &RootPath,
    options: &ReadOptions,
) -> Result<ReadOutcome> {
    options.context.check()?;
    let held = open(root, path)?;
    let metadata = held.stamp.metadata();
    let body = match &options.range {
        None => whole(root, known, path, held, options)?,
        Some(range) => {
            let start = range.start.min(held.stamp.size);
            let end = range.end.clamp(start, held.stamp.size.max(start));
            part(root, known, path, held, start..end, options)?
        }
    };
    Ok(ReadOutcome { metadata, body })
}

fn open(root: &Root, path: &RootPath) -> Result<Held> {
    let place = root.place(path).map_err(|none| match none {
        NoPlace::Missing => cas::not_found(),
        NoPlace::Root => not_regular(FileKind::Directory),
        NoPlace::Failed(error) => error,
    })?;
    match place.look()?.map(|stamp| stamp.kind) {
        Some(FileKind::File) => {}
        Some(FileKind::Symlink) if !root.leads_somewhere(path) => return Err(cas::not_found()),
        Some(kind) => return Err(not_regular(kind)),
        None => return Err(cas::not_found()),
    }
    Held::open_seen(root, &place)?.ok_or_else(cas::not_found)
}

/// Returns whole bytes in one piece, or the first one of a stream.
fn whole(
    root: &Root,
    known: &Arc<Known>,
    path: &RootPath,
    held: Held,
    options: &ReadOptions,
) -> Result<Body> {
    let max_bytes = options.max_bytes;
    check_limit(held.stamp.size, max_bytes)?;
    let read = || read_piece(&held, held.stamp.size);
    let mut first = match held.is_small() {
        true => read()?,
        false => {
            no_trial()?;
            slow(read)?
        }
    };
    for _ in 0..MOST_REREADS {
        // A writer in place was seen: what was read may be half of it.
        let torn = first.end && !held.look_again()?.same_bytes_likely(&held.stamp);
        let grown = !first.end && held.stamp.size <= PIECE as u64;
        if !torn && !grown {
            break;
        }
        let stamp = held.look_again()?;
        check_limit(stamp.size, max_bytes)?;
        first = read_piece(&held, stamp.size)?;
        if held.look_again()? == stamp {
            break;
        }
    }
    check_limit(first.bytes.len() as u64, max_bytes)?;
    let bytes = Bytes::from(first.bytes);
    if first.end {
        let version = Version::of(&bytes);
        if held.look_again()? == held.stamp {
            known.note(path, held.stamp, held.seen, &version);
        }
        return Ok(Body::Whole {
            bytes,
            version: Some(version),
        });
    }
    let mut hasher = ContentHasher::new();
    hasher.update(&bytes);
    Ok(Body::Stream(Box::new(FileStream {
        offset: bytes.len() as u64,
        stamp: held.stamp,
        delivered: bytes.len() as u64,
        ready: Some(bytes),
        display: root.namespace.display(path),
        extent: Extent::Whole {
            path: path.clone(),
            seen: held.seen,
            known: Arc::clone(known),
        },
        max_bytes,
        context: options.context.clone(),
        state: State::Open(held.file, Box::new(hasher)),
    })))
}

struct First {
    bytes: Vec<u8>,
    end: bool,
}

fn read_piece(held: &Held, size: u64) -> Result<First> {
    let mut bytes = Vec::new();
    let end = fill(&held.file, &mut bytes, 0, PIECE + 1, size).map_err(unreadable)?;
    Ok(First { bytes, end })
}

/// Returns a range of bytes, in one piece or as a stream; it has a version when the file still is
/// as it was when it was read whole.
fn part(
    root: &Root,
    known: &Known,
    path: &RootPath,
    held: Held,
    range: Range<u64>,
    options: &ReadOptions,
) -> Result<Body> {
    let length = range.end - range.start;
    check_limit(length, options.max_bytes)?;
    let most = usize::try_from(length).unwrap_or(usize::MAX).min(PIECE);
    let mut bytes = Vec::with_capacity(most);
    let end =
        fill(&held.file, &mut bytes, range.start, most, held.stamp.size).map_err(unreadable)?;
    let bytes = Bytes::from(bytes);
    let left = length - bytes.len() as u64;
    let mut version = known.version(path, &held.stamp);
    if end || left == 0 {
        if version.is_some() && held.look_again()? != held.stamp {
            version = None;
        }
        return Ok(Body::Whole { bytes, version });
    }
    Ok(Body::Stream(Box::new(FileStream {
        offset: range.start + bytes.len() as u64,
        stamp: held.stamp,
        delivered: bytes.len() as u64,
        ready: Some(bytes),
        display: root.namespace.display(path),
        extent: Extent::Part { left, version },
        max_bytes: None,
        context: options.context.clone(),
        state: State::Open(held.file, Box::default()),
    })))
}

fn check_limit(size: u64, max_bytes: Option<u64>) -> Result<()> {
    match max_bytes {
        Some(limit) if size > limit => Err(cas::too_large(size, limit)),
        _ => Ok(()),
    }
}

fn unreadable(error: std::io::Error) -> FsError {
    host(error, "read the file")
}

/// The rest of a large file, a piece a hop.
struct FileStream {
    ready: Option<Bytes>,
    delivered: u64,
    /// Where the next piece begins.
    offset: u64,
    /// The file as it was when it was opened.
    stamp: Stamp,
    extent: Extent,
    max_bytes: Option<u64>,
    context: CallContext,
    display: String,
    state: State,
}

/// How much of the file is delivered, and how that is named.
enum Extent {
    Whole {
        path: RootPath,
        /// When the file was opened.
        seen: SystemTime,
        known: Arc<Known>,
    },
    Part {
        /// How many bytes are still to come.
        left: u64,
        /// The version of the file under its stamp.
        version: Option<Version>,
    },
}

enum State {
    Open(Arc<File>, Box<ContentHasher>),
    /// The next piece is being read while the last one is looked at.
    Ahead(Ahead<Piece>),
    Ended(Option<Version>),
}

/// What a hop brought.
struct Piece {
    file: Arc<File>,
    hasher: Box<ContentHasher>,
    bytes: Bytes,
    /// There was nothing more, and the file still bears its stamp.
    unmoved: bool,
}

#[async_trait]
impl ByteStream for FileStream {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if let Some(bytes) = self.ready.take()
            && !bytes.is_empty()
        {
            self.read_ahead();
            return Ok(Some(bytes));
        }
        let piece = match std::mem::replace(&mut self.state, State::Ended(None)) {
            State::Open(file, hasher) => blocking::run(self.reading(file, hasher)).await,
            State::Ahead(ahead) => ahead.await,
            State::Ended(_) => return Ok(None),
        };
        let Piece {
            file,
            hasher,
            bytes,
            unmoved,
        } = piece.map_err(|error| self.place(error))?;
        self.delivered += bytes.len() as u64;
        self.offset += bytes.len() as u64;
        check_limit(self.delivered, self.max_bytes).map_err(|error| self.place(error))?;
        if let Extent::Part { left, .. } = &mut self.extent {
            *left -= bytes.len() as u64;
        }
        if bytes.is_empty() {
            self.state = State::Ended(self.version_at_end(&hasher, unmoved));
            return Ok(None);
        }
        self.state = State::Open(file, hasher);
        self.read_ahead();
        Ok(Some(bytes))
    }

    fn version(&self) -> Option<Version> {
        match &self.state {
            State::Ended(version) => version.clone(),
            State::Open(..) | State::Ahead(_) => None,
        }
    }
}

impl FileStream {
    /// Begins to read the next piece of a whole file, which is looked at to its end.
    fn read_ahead(&mut self) {
        if let Extent::Part { .. } = self.extent {
            return;
        }
        self.state = match std::mem::replace(&mut self.state, State::Ended(None)) {
            State::Open(file, hasher) => State::Ahead(Ahead::of(self.reading(file, hasher))),
            other => other,
        };
    }

    /// Returns the work of reading the next piece.
    fn reading(
        &self,
        file: Arc<File>,
        mut hasher: Box<ContentHasher>,
    ) -> impl FnOnce() -> Result<Piece> + Send + 'static {
        let (most, hashed) = match self.extent {
            Extent::Whole { .. } => (PIECE, true),
            Extent::Part { left, .. } => {
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                (left.min(PIECE), false)
            }
        };
        let (offset, stamp) = (self.offset, self.stamp);
        let context = self.context.clone();
        move || {
            context.check()?;
            let mut bytes = Vec::new();
            fill(&file, &mut bytes, offset, most, stamp.size).map_err(unreadable)?;
            if hashed {
                hasher.update(&bytes);
            }
            Ok(Piece {
                unmoved: bytes.is_empty() && look(&file)? == stamp,
                file,
                hasher,
                bytes: Bytes::from(bytes),
            })
        }
    }

    /// Names what was delivered; `unmoved` says that the file still bears its stamp.
    fn version_at_end(&self, hasher: &ContentHasher, unmoved: bool) -> Option<Version> {
        match &self.extent {
            Extent::Whole { path, seen, known } => {
                let version = Version::from_hash(hasher.finish());
                if unmoved {
                    known.note(path, self.stamp, *seen, &version);
                }
                Some(version)
            }
            Extent::Part { version, .. } => version.clone().filter(|_| unmoved),
        }
    }

    fn place(&self, error: FsError) -> FsError {
        error.at(&self.display).during(Operation::Read)
    }
}
