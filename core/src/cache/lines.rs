//! Line indexes by target: where the lines of a version begin, so that a page costs a page.

use std::fmt;
use std::sync::Arc;

use super::recent::Recent;
use crate::target::TargetKey;
use crate::text::{LineIndex, Outline};
use crate::version::Version;

/// How many bytes of indexes are held: 16 MiB, which is at the least 25 files of any size.
const CAPACITY: usize = 16 << 20;

/// The line index of each target's version that was last read whole.
///
/// An index speaks of one version only. Whoever takes lines by it reads a range whose version
/// [certifies](Version::certifies) the index's, or reads the whole file again.
pub struct LineIndexes(Recent<Indexed>);

/// An index, and the version whose lines it knows.
#[derive(Clone, Debug)]
pub struct Indexed {
    /// The version; it has the hash of the whole bytes.
    pub version: Version,
    /// Where its lines begin.
    pub index: Arc<LineIndex>,
    /// Its outline, where somebody asked for outlines.
    pub outline: Option<Arc<Outline>>,
}

impl Default for LineIndexes {
    fn default() -> Self {
        Self(Recent::new(CAPACITY))
    }
}

impl LineIndexes {
    /// Returns the index of the version last read whole.
    pub fn get(&self, key: &TargetKey) -> Option<Indexed> {
        self.0.get(key)
    }

    /// Keeps the index of a version that was just read whole, and its outline.
    pub fn put(
        &self,
        key: TargetKey,
        version: Version,
        index: LineIndex,
        outline: Option<Arc<Outline>>,
    ) {
        let bytes = index.size() + outline.as_ref().map_or(0, |outline| outline.size());
        let indexed = Indexed {
            version,
            index: Arc::new(index),
            outline,
        };
        self.0.put(key, indexed, bytes);
    }

    /// Forgets a target's index, such as one whose version is gone.
    pub fn forget(&self, key: &TargetKey) {
        self.0.forget(key);
    }
}

impl fmt::Debug for LineIndexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LineIndexes").field(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{LineIndexer, Window, WindowSpec};

    #[test]
    fn indexes_of_huge_files_are_held_and_no_more_than_fit() {
        let mut indexer = LineIndexer::default();
        // No two lines alike: an outline of few kinds of lines is tiny.
        let text: String = (0..1 << 18).map(|line| format!("{line:07}\n")).collect();
        for _ in 0..64 {
            indexer.push(text.as_bytes());
        }
        let window = Window::of(b"x\n", WindowSpec::default());
        let index = indexer.finish(&window);
        let outline = Arc::new(Outline::of(text.as_bytes()));
        let indexes = LineIndexes::default();
        let key = |n: usize| TargetKey::new(format!("f{n}"));
        for n in 0..200 {
            let outline = Some(Arc::clone(&outline));
            indexes.put(key(n), Version::of(b"x"), index.clone(), outline);
        }
        assert!(indexes.0.used() <= CAPACITY);
        let held = (0..200).filter(|n| indexes.get(&key(*n)).is_some()).count();
        assert!((25..200).contains(&held), "{held} are held");
        indexes.forget(&key(199));
        assert!(indexes.get(&key(199)).is_none());
    }
}
