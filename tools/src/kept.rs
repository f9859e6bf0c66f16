//! What of a file's bytes the gate is told: all of a small file, the outline of a larger one.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use seamfs_core::Body;
use seamfs_core::gate::{OUTLINE_LIMIT, SNAPSHOT_LIMIT};
use seamfs_core::text::{Outline, Outliner};

/// What of a file's bytes is kept beside its version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// Nothing: they are too many, or nobody asks for them.
    #[default]
    Nothing,
    /// The bytes, up to 256 KiB.
    Whole(Bytes),
    /// Their outline, up to 64 MiB of them.
    Outline(Arc<Outline>),
}

impl Kept {
    /// Returns the bytes, where they are kept.
    pub fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::Nothing | Self::Outline(_) => None,
        }
    }

    /// Returns the outline of bytes that are not kept.
    pub fn outline(&self) -> Option<&Arc<Outline>> {
        match self {
            Self::Outline(outline) => Some(outline),
            Self::Nothing | Self::Whole(_) => None,
        }
    }
}

/// Takes what is kept of bytes that come in pieces.
#[derive(Debug)]
pub(crate) struct Keeper {
    outlines: bool,
    so_far: SoFar,
    len: usize,
}

#[derive(Debug)]
enum SoFar {
    Whole(Bytes),
    Pieces(BytesMut),
    Outline(Outliner),
    Nothing,
}

impl Keeper {
    /// Begins with none; large files are outlined if anybody asks for outlines.
    pub(crate) fn new(outlines: bool) -> Self {
        Self {
            outlines,
            so_far: SoFar::Pieces(BytesMut::new()),
            len: 0,
        }
    }

    /// Begins to keep a body, whose pieces are still to be pushed.
    pub(crate) fn of(body: &Body, outlines: bool) -> Self {
        let mut keeper = Self::new(outlines);
        if let Body::Whole { bytes, .. } = body
            && bytes.len() <= SNAPSHOT_LIMIT
        {
            keeper.so_far = SoFar::Whole(bytes.clone());
        }
        keeper
    }

    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.len = self.len.saturating_add(piece.len());
        if let SoFar::Pieces(pieces) = &mut self.so_far {
            if self.len <= SNAPSHOT_LIMIT {
                pieces.extend_from_slice(piece);
                return;
            }
            let mut outliner = Outliner::default();
            if self.outlines {
                outliner.push(pieces);
            }
            self.so_far = SoFar::Outline(outliner);
        }
        if let SoFar::Outline(outliner) = &mut self.so_far {
            match self.outlines && self.len <= OUTLINE_LIMIT {
                true => outliner.push(piece),
                false => self.so_far = SoFar::Nothing,
            }
        }
    }

    pub(crate) fn finish(self) -> Kept {
        match self.so_far {
            SoFar::Whole(bytes) => Kept::Whole(bytes),
            SoFar::Pieces(pieces) => Kept::Whole(pieces.freeze()),
            SoFar::Outline(outliner) => Kept::Outline(Arc::new(outliner.finish())),
            SoFar::Nothing => Kept::Nothing,
        }
    }
}

/// Returns what is kept of bytes at hand.
pub(crate) fn of_bytes(bytes: &Bytes, outlines: bool) -> Kept {
    if bytes.len() <= SNAPSHOT_LIMIT {
        return Kept::Whole(bytes.clone());
    }
    let mut keeper = Keeper::new(outlines);
    keeper.push(bytes);
    keeper.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(len: usize, outlines: bool) -> Kept {
        let mut keeper = Keeper::new(outlines);
        for piece in vec![b'x'; len].chunks(100_000) {
            keeper.push(piece);
        }
        keeper.finish()
    }

    #[test]
    fn few_bytes_are_kept_and_many_are_outlined_where_somebody_asks() {
        for outlines in [false, true] {
            let whole = pieces(SNAPSHOT_LIMIT, outlines);
            assert_eq!(whole.bytes().map(Bytes::len), Some(SNAPSHOT_LIMIT));
        }
        let large = Bytes::from(vec![b'x'; SNAPSHOT_LIMIT + 1]);
        assert_eq!(
            pieces(large.len(), true),
            Kept::Outline(Arc::new(Outline::of(&large)))
        );
        assert_eq!(of_bytes(&large, true), pieces(large.len(), true));
        assert_eq!(pieces(large.len(), false), Kept::Nothing);
        assert_eq!(pieces(OUTLINE_LIMIT + 1, true), Kept::Nothing);
    }
}
