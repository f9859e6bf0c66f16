//! T6: totals are exact and memory is bounded, however large the file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::Batch;

/// How much a process may hold while it reads a file of any size.
const MOST_RESIDENT: u64 = 64 << 20;

/// Lines of 0 to 3,000 bytes, in an order that repeats only with the block.
fn block() -> Vec<u8> {
    let mut state = 0x5eed_u64;
    let mut block = Vec::with_capacity(3 << 20);
    while block.len() < 2 << 20 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let length = (state >> 33) as usize % 3001;
        let letter = b'a' + (state >> 60) as u8;
        block.resize(block.len() + length, letter);
        block.push(b'\n');
    }
    block
}

/// Writes at least a gibibyte; returns how many lines that are.
fn write_gibibyte(path: &Path) -> u64 {
    let block = block();
    let lines = block.iter().filter(|byte| **byte == b'\n').count() as u64;
    let times = (1_u64 << 30).div_ceil(block.len() as u64);
    let mut file = File::create(path).expect("there is room for a file");
    for _ in 0..times {
        file.write_all(&block)
            .expect("there is room for a gibibyte");
    }
    lines * times
}

fn batch_in(folder: &Path) -> Batch {
    Batch::start(&["-w", &folder.display().to_string()])
}

fn window(batch: &mut Batch, offset: u64, limit: u64) -> Value {
    let args = json!({ "file_path": "big.txt", "offset": offset, "limit": limit });
    let answer = batch.call(json!({ "tool": "read", "args": args }));
    assert_eq!(answer["code"], Value::Null, "{}", answer["text"]);
    answer["structured"].clone()
}

fn line_of(window: &Value, index: usize) -> (u64, usize) {
    let line = &window["lines"][index];
    let number = line["number"].as_u64().expect("a line has a number");
    (
        number,
        line["text"].as_str().expect("a line has text").len(),
    )
}

#[test]
fn t6_a_gibibyte_reads_by_windows_within_64_mib() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let total = write_gibibyte(&folder.path().join("big.txt"));
    let block = block();
    let lengths: Vec<usize> = block
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::len)
        .collect();
    let expected = |number: u64| lengths[(number as usize - 1) % (lengths.len() - 1)].min(2000);
    let mut batch = batch_in(folder.path());
    for (offset, limit) in [(1, 5), (total - 9, 2000)] {
        let window = window(&mut batch, offset, limit);
        assert_eq!(window["total_lines"], json!(total));
        let shown = window["returned_lines"].as_u64().expect("a count");
        assert!(shown > 0, "{window}");
        for index in [0, shown as usize - 1] {
            let (number, length) = line_of(&window, index);
            assert_eq!(number, offset + index as u64);
            assert_eq!(length, expected(number), "line {number}");
        }
        assert_eq!(window["partial"], json!(true));
    }
    // The file is old enough by now for its stamp to say that it is the same.
    let before = batch.bytes_read();
    let deep = window(&mut batch, total / 2, 20);
    let read = batch.bytes_read() - before;
    assert_eq!(deep["total_lines"], json!(total));
    assert_eq!(line_of(&deep, 0), (total / 2, expected(total / 2)));
    assert!(read < 1 << 20, "a window deep inside reads {read} bytes");
    let peak = batch.peak_memory();
    assert!(peak <= MOST_RESIDENT, "{} MiB at the most", peak >> 20);
    assert_eq!(batch.finish(), 0);
}

#[test]
fn t5_a_single_line_of_ten_megabytes_neither_hangs_nor_fills_memory() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let file = File::create(folder.path().join("big.txt")).expect("there is room for a file");
    let mut file = BufWriter::new(file);
    for _ in 0..1_000_000 {
        file.write_all(b"0123456789").expect("there is room for it");
    }
    file.into_inner().expect("there is room for it");
    let mut batch = batch_in(folder.path());
    let shown = window(&mut batch, 1, 10);
    assert_eq!(shown["total_lines"], json!(1));
    assert_eq!(line_of(&shown, 0), (1, 2000));
    let path = folder.path().join("big.txt").display().to_string();
    let view = batch.call(json!({
        "tool": "str_replace_editor", "args": { "command": "view", "path": path },
    }));
    let text = view["text"].as_str().expect("there is a text");
    assert!(
        text.contains("[clipped") && text.len() < 17_000,
        "{} bytes",
        text.len()
    );
    let peak = batch.peak_memory();
    assert!(peak <= MOST_RESIDENT, "{} MiB at the most", peak >> 20);
    assert_eq!(batch.finish(), 0);
}

#[test]
fn r1_a_fifo_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path().join("big.txt"))
        .status();
    assert!(made.expect("mkfifo starts").success());
    let begun = std::time::Instant::now();
    let mut batch = batch_in(folder.path());
    let answer = batch.call(json!({ "tool": "read", "args": { "file_path": "big.txt" } }));
    assert_eq!(answer["code"], json!("FS_NOT_REGULAR_FILE"));
    assert_eq!(batch.finish(), 0);
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}
