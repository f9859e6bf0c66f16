//! Contents that were seen, or their outlines, once for all actors: what a stale error compares
//! with.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use seamfs_core::ContentHash;
use seamfs_core::gate::{Observed, SNAPSHOT_LIMIT};
use seamfs_core::text::Outline;

/// How many bytes of contents and outlines are kept for all actors together: 64 MiB.
const BUDGET: usize = 64 << 20;

/// Contents by hash, up to 256 KiB each and 64 MiB in all; the oldest go first. Of larger ones the
/// outlines are kept.
#[derive(Debug, Default)]
pub(super) struct Contents(Mutex<Kept>);

/// What is kept of a content.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Whole(Bytes),
    Outline(Arc<Outline>),
}

impl Content {
    fn size(&self) -> usize {
        match self {
            Self::Whole(content) => content.len(),
            Self::Outline(outline) => outline.size(),
        }
    }
}

#[derive(Debug, Default)]
struct Kept {
    contents: HashMap<ContentHash, Content>,
    order: VecDeque<ContentHash>,
    bytes: usize,
}

impl Contents {
    pub(super) fn get(&self, hash: ContentHash) -> Option<Content> {
        self.kept().contents.get(&hash).cloned()
    }

    pub(super) fn keep(&self, hash: ContentHash, content: &Bytes) {
        if content.len() <= SNAPSHOT_LIMIT {
            // Copied: a slice would keep the whole buffer that it was cut from.
            let copy = || Some(Content::Whole(Bytes::copy_from_slice(content)));
            self.put(hash, copy);
        }
    }

    pub(super) fn keep_outline(
        &self,
        hash: ContentHash,
        outline: impl FnOnce() -> Option<Arc<Outline>>,
    ) {
        self.put(hash, || Some(Content::Outline(outline()?)));
    }

    /// Keeps what an edit made, or its outline; neither is made where it is kept already.
    pub(super) fn keep_edited(
        &self,
        hash: ContentHash,
        event: &Observed<'_>,
        outline: impl FnOnce() -> Option<Outline>,
    ) {
        self.put(hash, || match event.edited_bytes() {
            Some(content) => Some(Content::Whole(content)),
            None => Some(Content::Outline(Arc::new(outline()?))),
        });
    }

    fn put(&self, hash: ContentHash, content: impl FnOnce() -> Option<Content>) {
        if self.kept().contents.contains_key(&hash) {
            return;
        }
        // Made without the lock, which every session needs.
        let Some(content) = content() else { return };
        let mut kept = self.kept();
        if kept.contents.contains_key(&hash) {
            return;
        }
        kept.bytes += content.size();
        kept.contents.insert(hash, content);
        kept.order.push_back(hash);
        while kept.bytes > BUDGET {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            let dropped = kept.contents.remove(&oldest);
            kept.bytes -= dropped.map_or(0, |content| content.size());
        }
    }

    /// A panic while holding this lock at worst loses a content.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_kept_once_and_the_oldest_go_first() {
        let contents = Contents::default();
        let content =
            |n: usize| Bytes::from(n.to_le_bytes().repeat(SNAPSHOT_LIMIT / size_of::<usize>()));
        let fits = BUDGET / SNAPSHOT_LIMIT;
        for n in 0..=fits {
            let bytes = content(n);
            contents.keep(ContentHash::of(&bytes), &bytes);
            contents.keep(ContentHash::of(&bytes), &bytes);
        }
        assert_eq!(contents.kept().bytes, BUDGET);
        let get = |n| contents.get(ContentHash::of(&content(n)));
        assert!(get(0).is_none());
        assert!(get(fits).is_some());
    }
}
