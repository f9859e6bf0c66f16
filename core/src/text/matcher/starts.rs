//! Where a needle starts in a haystack, overlaps included.

use std::cell::OnceCell;

use memchr::memmem;

/// Finds where a needle starts in a haystack, overlaps included, in linear time.
///
/// A substring search finds the first match of a stretch; from there on, as long as the
/// next match may overlap the last, the needle's borders carry what is already known.
pub(super) struct Starts<'h> {
    haystack: &'h [u8],
    needle: &'h [u8],
    finder: memmem::Finder<'h>,
    position: usize,
    /// How many bytes of the needle end just before `position`.
    matched: usize,
    borders: OnceCell<Vec<u32>>,
}

impl<'h> Starts<'h> {
    pub(super) fn new(haystack: &'h [u8], needle: &'h [u8]) -> Self {
        let finder = memmem::Finder::new(needle);
        Self {
            haystack,
            needle,
            finder,
            position: 0,
            matched: 0,
            borders: OnceCell::new(),
        }
    }

    pub(super) fn next(&mut self) -> Option<usize> {
        while self.matched > 0 {
            let byte = *self.haystack.get(self.position)?;
            if self.needle[self.matched] != byte {
                self.matched = self.border(self.matched);
                continue;
            }
            self.position += 1;
            self.matched += 1;
            if self.matched == self.needle.len() {
                self.matched = self.border(self.matched);
                return Some(self.position - self.needle.len());
            }
        }
        let start = self.position + self.finder.find(self.haystack.get(self.position..)?)?;
        self.position = start + self.needle.len();
        self.matched = self.border(self.needle.len());
        Some(start)
    }

    /// Continues after the last match instead of inside it.
    pub(super) fn skip_match(&mut self) {
        self.matched = 0;
    }

    /// Returns the length of the longest proper border of the needle's first bytes.
    fn border(&self, len: usize) -> usize {
        self.borders.get_or_init(|| borders(self.needle))[len - 1] as usize
    }
}

/// Computes, for each prefix, the length of its longest proper prefix that is a suffix.
fn borders(needle: &[u8]) -> Vec<u32> {
    let mut borders: Vec<u32> = Vec::with_capacity(needle.len());
    let mut border = 0;
    for (at, byte) in needle.iter().enumerate() {
        while border > 0 && needle[border] != *byte {
            border = borders[border - 1] as usize;
        }
        if at > 0 && needle[border] == *byte {
            border += 1;
        }
        // A pattern is an argument of one call: far below 4 GiB.
        borders.push(u32::try_from(border).unwrap_or(0));
    }
    borders
}
