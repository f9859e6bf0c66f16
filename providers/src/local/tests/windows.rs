//! Parts of a file: named by the version of the whole while nothing moved, and not otherwise.

use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use super::*;
use seamfs_core::{ReadOptions, Version};

/// How long a stamp may take to be old enough to be trusted.
const PATIENCE: Duration = Duration::from_secs(20);

fn part(scratch: &Scratch, range: std::ops::Range<u64>) -> (Bytes, Option<Version>) {
    let target = block_on(scratch.target("f"));
    let options = ReadOptions {
        range: Some(range),
        ..ReadOptions::default()
    };
    let mut body = block_on(scratch.local.read(&target, options)).unwrap().body;
    let mut bytes = Vec::new();
    while let Some(piece) = block_on(body.next()).unwrap() {
        bytes.extend_from_slice(&piece);
    }
    (bytes.into(), body.version())
}

/// Reads the file whole until its parts can be named: a stamp that is too young cannot.
fn whole_until_known(scratch: &Scratch) -> Version {
    let target = block_on(scratch.target("f"));
    let begun = Instant::now();
    loop {
        let whole = block_on(scratch.local.read_all(&target)).unwrap().version;
        if let (_, Some(version)) = part(scratch, 5..10) {
            assert!(version.certifies(&whole), "{version} is not {whole}");
            return whole;
        }
        assert!(begun.elapsed() < PATIENCE, "no part is ever named");
    }
}

#[test]
fn t6_parts_are_named_while_nothing_moved_and_not_once_it_did() {
    let scratch = Scratch::new();
    let path = scratch.path("f");
    for size in [400_000, 3 << 20] {
        let text = |letter: &str| letter.repeat(size);
        let changes: [(&str, &dyn Fn()); 5] = [
            ("in place, with its time", &|| {
                let time = fs::metadata(&path).unwrap().modified().unwrap();
                let file = fs::File::options().write(true).open(&path).unwrap();
                file.write_all_at(b"XXXXXXXXXXXX", 0).unwrap();
                file.set_modified(time).unwrap();
            }),
            ("renamed over, with its time", &|| {
                let time = fs::metadata(&path).unwrap().modified().unwrap();
                let beside = scratch.path("g");
                fs::write(&beside, text("r")).unwrap();
                let file = fs::File::options().write(true).open(&beside).unwrap();
                file.set_modified(time).unwrap();
                fs::rename(&beside, &path).unwrap();
            }),
            ("longer", &|| {
                let file = fs::File::options().append(true).open(&path).unwrap();
                file.write_at(b"more", size as u64).unwrap();
            }),
            ("shorter", &|| {
                let file = fs::File::options().write(true).open(&path).unwrap();
                file.set_len(size as u64 - 1).unwrap();
            }),
            ("through us", &|| {
                let text = text("w");
                block_on(scratch.write("f", &text, Expected::Any)).unwrap();
            }),
        ];
        for (how, change) in changes {
            fs::write(&path, text("a")).unwrap();
            let before = whole_until_known(&scratch);
            let (bytes, version) = part(&scratch, 1..size as u64);
            assert_eq!(bytes.len(), size - 1);
            assert_eq!(version.as_ref(), Some(&before), "{how}: {size}");
            change();
            let (_, version) = part(&scratch, 5..10);
            assert_eq!(version, None, "{how}: {size}");
            let (_, version) = part(&scratch, 1..size as u64 - 1);
            assert_eq!(version, None, "{how}: {size}");
            let after = whole_until_known(&scratch);
            assert!(!after.certifies(&before), "{how}");
        }
    }
}
