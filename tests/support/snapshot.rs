//! Snapshots: files of this tree that a test compares byte for byte, and rewrites when told to.

use std::path::Path;

/// The variable that makes tests rewrite the files instead of comparing them.
const UPDATE: &str = "UPDATE_SNAPSHOTS";

/// Compares text with a file of this tree; `UPDATE_SNAPSHOTS=1` rewrites the file.
pub(crate) fn check_snapshot(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, text).expect("the tree can be written");
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        stored == text,
        "{path} is out of date; look at the difference, then rewrite it with {UPDATE}=1"
    );
}
