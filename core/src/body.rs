//! Bodies: the bytes of a read, whole or in pieces, and their version.

use std::fmt;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};

use crate::error::Snapshot;
use crate::error::{ErrorCode, FsError, Result};
use crate::metadata::Metadata;
use crate::version::Version;

/// The answer of `read`.
#[derive(Debug)]
pub struct ReadOutcome {
    /// What is known of the file, as of the moment it was opened.
    pub metadata: Metadata,
    /// The bytes asked for.
    pub body: Body,
}

/// The bytes of a read.
pub enum Body {
    /// All of them, and their version; a range has one only when it is known without reading
    /// the rest.
    Whole {
        /// The bytes.
        bytes: Bytes,
        /// The version of the whole file they came from.
        version: Option<Version>,
    },
    /// Pieces in order.
    Stream(Box<dyn ByteStream>),
}

/// Bytes that arrive in pieces and end with a trailer.
#[async_trait]
pub trait ByteStream: Send + Sync {
    /// Returns the next piece, never empty; none at the end.
    ///
    /// # Errors
    /// If the storage fails, or the file is seen to change under the reader where no version
    /// could name what was delivered. After an error there are no more pieces.
    async fn next(&mut self) -> Result<Option<Bytes>>;

    /// Returns the version of exactly the bytes delivered; known once `next` returned none, and
    /// only when the whole file was read.
    fn version(&self) -> Option<Version>;
}

impl Body {
    /// Returns the next piece and leaves the body empty at the end.
    ///
    /// # Errors
    /// As [`ByteStream::next`].
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        match self {
            Self::Whole { bytes, .. } if bytes.is_empty() => Ok(None),
            Self::Whole { bytes, .. } => Ok(Some(std::mem::take(bytes))),
            Self::Stream(stream) => stream.next().await,
        }
    }

    /// Returns the version of the bytes delivered, once they all were.
    pub fn version(&self) -> Option<Version> {
        match self {
            Self::Whole { version, .. } => version.clone(),
            Self::Stream(stream) => stream.version(),
        }
    }

    /// Collects all bytes and their version.
    ///
    /// # Errors
    /// As [`ByteStream::next`]; `FS_IO_ERROR` when the file system mints no version for a whole
    /// read, which breaks its contract.
    pub async fn collect(mut self) -> Result<Snapshot> {
        let first = self.next().await?.unwrap_or_default();
        let bytes = match self.next().await? {
            None => first,
            Some(second) => {
                let mut all = BytesMut::from(first);
                all.extend_from_slice(&second);
                while let Some(piece) = self.next().await? {
                    all.extend_from_slice(&piece);
                }
                all.freeze()
            }
        };
        let version = self
            .version()
            .ok_or_else(|| FsError::new(ErrorCode::IoError, "the read ended without a version"))?;
        Ok(Snapshot { bytes, version })
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole { bytes, version } => f
                .debug_struct("Whole")
                .field("len", &bytes.len())
                .field("version", version)
                .finish(),
            Self::Stream(_) => f.write_str("Stream(..)"),
        }
    }
}
