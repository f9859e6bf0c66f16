//! Contents that were seen, once for all actors: what a stale error compares with.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use seamfs_core::ContentHash;
use seamfs_core::gate::SNAPSHOT_LIMIT;

/// How many bytes of contents are kept for all actors together: 64 MiB.
const BUDGET: usize = 64 << 20;

/// Contents by hash, up to 256 KiB each and 64 MiB in all; the oldest go first.
#[derive(Debug, Default)]
pub(super) struct Contents(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    contents: HashMap<ContentHash, Bytes>,
    order: VecDeque<ContentHash>,
    bytes: usize,
}

impl Contents {
    pub(super) fn get(&self, hash: ContentHash) -> Option<Bytes> {
        self.kept().contents.get(&hash).cloned()
    }

    pub(super) fn keep(&self, hash: ContentHash, content: &Bytes) {
        if content.len() > SNAPSHOT_LIMIT {
            return;
        }
        let mut kept = self.kept();
        if kept.contents.contains_key(&hash) {
            return;
        }
        // Copied: a slice would keep the whole buffer that it was cut from.
        kept.contents.insert(hash, Bytes::copy_from_slice(content));
        kept.order.push_back(hash);
        kept.bytes += content.len();
        while kept.bytes > BUDGET {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            let dropped = kept.contents.remove(&oldest);
            kept.bytes -= dropped.map_or(0, |content| content.len());
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
