//! Finding a text whose blanks differ.

use std::ops::Range;

use memchr::memmem;

/// How many places are looked at before giving up.
const TRIED: usize = 64;

/// Returns the file's bytes from the first to the last character that is not blank.
pub(super) fn find(file: &[u8], old: &[u8]) -> Option<Range<usize>> {
    let needle = squeezed(old);
    let haystack = squeezed(file);
    memmem::find_iter(&haystack, &needle)
        .take(TRIED)
        .map(|start| unsqueezed(file, start, start + needle.len()))
        .find(|range| !splits_words(file, range))
}

fn squeezed(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect()
}

fn unsqueezed(file: &[u8], start: usize, end: usize) -> Range<usize> {
    let mut solid = file
        .iter()
        .enumerate()
        .filter(|(_, byte)| !byte.is_ascii_whitespace())
        .map(|(at, _)| at);
    let first = solid.nth(start).unwrap_or(file.len());
    let last = if end - start > 1 {
        solid.nth(end - start - 2)
    } else {
        None
    };
    first..last.unwrap_or(first) + 1
}

/// A `1 0` must not be found in `210`.
fn splits_words(file: &[u8], range: &Range<usize>) -> bool {
    let word =
        |at: Option<&u8>| at.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let joined = |left: Option<usize>, right: usize| {
        word(left.and_then(|left| file.get(left))) && word(file.get(right))
    };
    joined(range.start.checked_sub(1), range.start) || joined(range.end.checked_sub(1), range.end)
}
