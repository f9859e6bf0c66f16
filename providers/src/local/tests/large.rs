//! Large folders and files.

use super::*;
use futures::StreamExt as _;
use seamfs_core::{ListOptions, ReadOptions};

/// Returns a figure of this process's memory in KiB, as the kernel counts it.
fn memory(figure: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with(figure))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

const ROOT: &str = "SEAMFS_TEST_LARGE_ROOT";

/// Lists and reads in a process of its own, so that its memory is nobody else's.
#[test]
fn reader() {
    let Some(root) = task(ROOT) else { return };
    let local = Local::open(root).unwrap();
    let folder = block_on(local.target("many")).unwrap();
    let before = memory("VmRSS");
    let mut listing = block_on(local.list(&folder, ListOptions::default())).unwrap();
    let mut last = String::new();
    let mut count = 0_u64;
    while let Some(entry) = block_on(listing.next()) {
        let entry = entry.unwrap();
        assert!(entry.name.as_str() > last.as_str());
        assert_eq!(entry.metadata.unwrap().size, Some(0));
        last = entry.name.as_str().to_owned();
        count += 1;
    }
    println!("listed {count} with {} KiB", memory("VmHWM") - before);
    drop(listing);
    let before = memory("VmHWM");
    let file = block_on(local.target("big")).unwrap();
    let mut body = block_on(local.read(&file, ReadOptions::default()))
        .unwrap()
        .body;
    let mut bytes = 0;
    while let Some(piece) = block_on(body.next()).unwrap() {
        bytes += piece.len();
    }
    assert!(body.version().is_some());
    println!("read {bytes} with {} KiB", memory("VmHWM") - before);
}

#[test]
fn a_large_folder_and_a_large_file_need_little_memory() {
    let scratch = Scratch::new();
    let entries = from_env("SEAMFS_ENTRIES", 20_000);
    fs::create_dir(scratch.path("many")).unwrap();
    for n in 0..entries {
        fs::File::create(scratch.path(&format!("many/file-{n:06}"))).unwrap();
    }
    let big = fs::File::create(scratch.path("big")).unwrap();
    big.set_len(256 << 20).unwrap();
    let output = child("large::reader", &[(ROOT, scratch.root.to_str().unwrap())])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let figure = |word: &str| -> u64 {
        let line = text.lines().find(|line| line.contains(word)).unwrap();
        line.split(' ').rev().nth(1).unwrap().parse().unwrap()
    };
    // Names take tens of bytes each; the entries themselves would take several times that.
    let (listing, reading) = (figure("listed "), figure("read "));
    println!("{entries} entries: {listing} KiB; a file of 256 MiB: {reading} KiB");
    assert!(listing < 4_096 + entries * 100 / 1_024, "{listing} KiB");
    assert!(reading < 16_384, "{reading} KiB");
}
