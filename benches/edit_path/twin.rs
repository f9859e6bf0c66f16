//! The raw twins: std and the same pure crates, no framework.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use memchr::memmem;

/// How firmly a twin stores a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sync {
    None,
    Data,
    Full,
}

/// Checks that bytes are text: UTF-8 without a NUL.
pub(crate) fn check_text(bytes: &[u8]) {
    assert!(simdutf8::basic::from_utf8(bytes).is_ok());
    assert!(memchr::memchr(0, bytes).is_none());
}

/// Finds all matches and splices the replacement in.
pub(crate) fn splice(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let found: Vec<usize> = memmem::find_iter(bytes, old).collect();
    let mut after = Vec::with_capacity(bytes.len() + found.len() * new.len());
    let mut at = 0;
    for start in found {
        after.extend_from_slice(&bytes[at..start]);
        after.extend_from_slice(new);
        at = start + old.len();
    }
    after.extend_from_slice(&bytes[at..]);
    after
}

/// Stages beside the file and renames over it.
pub(crate) fn publish(path: &Path, bytes: &[u8], sync: Sync) {
    let stage = path.with_extension("stage");
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&stage)
        .expect("a staging file");
    file.write_all(bytes).expect("room");
    match sync {
        Sync::None => {}
        Sync::Data => file.sync_data().expect("a sync"),
        Sync::Full => file.sync_all().expect("a sync"),
    }
    drop(file);
    fs::rename(&stage, path).expect("a rename");
    if sync == Sync::Full {
        let folder = path.parent().expect("a folder");
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .expect("a sync");
    }
}

/// The twin of an edit: read, judge, hash for the guard, find all, splice, hash for the new
/// version, stage, publish.
pub(crate) fn edit(path: &Path, old: &[u8], new: &[u8], sync: Sync) {
    let before = fs::read(path).expect("the file");
    check_text(&before);
    std::hint::black_box(blake3::hash(&before));
    let after = splice(&before, old, new);
    std::hint::black_box(blake3::hash(&after));
    publish(path, &after, sync);
}

/// The bare twin of an edit: read, find one, stage, publish.
pub(crate) fn bare_edit(path: &Path, old: &[u8], new: &[u8], sync: Sync) {
    let before = fs::read(path).expect("the file");
    let at = memmem::find(&before, old).expect("a match");
    let mut after = Vec::with_capacity(before.len() + new.len());
    after.extend_from_slice(&before[..at]);
    after.extend_from_slice(new);
    after.extend_from_slice(&before[at + old.len()..]);
    publish(path, &after, sync);
}

/// The twin of a miss: read, judge, hash for the guard, find nothing.
pub(crate) fn miss(path: &Path, old: &[u8]) {
    let before = fs::read(path).expect("the file");
    check_text(&before);
    std::hint::black_box(blake3::hash(&before));
    assert!(memmem::find(&before, old).is_none());
}

/// The twin of a whole-file write: hash what is there, hash the new bytes, stage, publish.
pub(crate) fn write(path: &Path, bytes: &[u8], sync: Sync) {
    let before = fs::read(path).expect("the file");
    check_text(&before);
    check_text(bytes);
    std::hint::black_box(blake3::hash(&before));
    std::hint::black_box(blake3::hash(bytes));
    publish(path, bytes, sync);
}

/// The twin of a new file: hash the bytes, stage, publish.
pub(crate) fn create(path: &Path, bytes: &[u8]) {
    check_text(bytes);
    std::hint::black_box(blake3::hash(bytes));
    publish(path, bytes, Sync::None);
}

/// The twin of an insertion: read, judge, hash for the guard, find the line, insert, hash, publish.
pub(crate) fn insert(path: &Path, after_line: usize, new: &[u8]) {
    let before = fs::read(path).expect("the file");
    check_text(&before);
    std::hint::black_box(blake3::hash(&before));
    let feed = memchr::memchr_iter(b'\n', &before).nth(after_line - 1);
    let at = feed.expect("the line") + 1;
    let after = [&before[..at], new, &before[at..]].concat();
    std::hint::black_box(blake3::hash(&after));
    publish(path, &after, Sync::None);
}

/// The twin of an edit of cached bytes: find all, splice, hash.
pub(crate) fn spliced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let after = splice(bytes, old, new);
    std::hint::black_box(blake3::hash(&after));
    after
}

/// The twin of a window: read, judge, count the lines, hash.
pub(crate) fn read(path: &Path) -> usize {
    let bytes = fs::read(path).expect("the file");
    check_text(&bytes);
    std::hint::black_box(blake3::hash(&bytes));
    memchr::memchr_iter(b'\n', &bytes).count()
}

/// The twin of an edit in memory: judge, hash, find all, splice, hash.
pub(crate) fn edit_in_memory(slot: &mut Vec<u8>, old: &[u8], new: &[u8]) {
    check_text(slot);
    std::hint::black_box(blake3::hash(slot));
    let after = splice(slot, old, new);
    std::hint::black_box(blake3::hash(&after));
    *slot = after;
}
