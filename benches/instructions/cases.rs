//! What is counted.

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use futures::executor::block_on;
use object_store::memory::InMemory;
use seamfs::core::gate::SNAPSHOT_LIMIT;
use seamfs::core::hashed::MarkingHasher;
use seamfs::core::replace::Replace;
use seamfs::core::text::{Diff, Outline, Splices, Text, WindowScanner, WindowSpec, plan_replace};
use seamfs::core::{EditOptions, Expected, FileSystem, FileSystemExt};
use seamfs::providers::{Durability, Local, LocalOptions, Memory, Object};
use seamfs::{Session, Workspace};
use serde_json::{Value, json};

use crate::twin;

const KIB: usize = 1 << 10;
const MARKS: [&str; 2] = ["the needle is here", "the needle was here"];

pub(crate) const NAMES: [&str; 16] = [
    "decode 64 KiB",
    "plan a replacement in 64 KiB",
    "plan a replacement of two lines in 64 KiB with CRLF",
    "hash 64 KiB and go on from a mark",
    "window of 64 KiB",
    "diff of one line in 64 KiB",
    "outline of 1 MiB through an edit",
    "memory, edit of 1 KiB by provider",
    "memory, edit of 1 KiB by tool with policy",
    "memory, edit of 64 KiB by tool with policy",
    "memory, read of 1 KiB by tool with policy",
    "memory, write of 64 KiB by tool with policy",
    "local, edit of 1 KiB by provider",
    "object in memory, warm edit of 1 KiB by provider",
    "the twin, edit of 1 KiB",
    "the twin, edit of 64 KiB",
];

/// Runs a case so many times.
pub(crate) fn run(name: &str, times: u64) {
    let times = 0..times;
    let small = text(64 * KIB);
    match name {
        "decode 64 KiB" => times.for_each(|_| {
            black_box(Text::decode(black_box(small.as_bytes())).expect("text"));
        }),
        "plan a replacement in 64 KiB" => plans(times, &small, MARKS),
        "plan a replacement of two lines in 64 KiB with CRLF" => {
            let two = [
                "here  some ordinary source text, its end\n00000513",
                "here  some changed source text,\nits end\n00000513",
            ];
            plans(times, &small.replace('\n', "\r\n"), two);
        }
        "hash 64 KiB and go on from a mark" => {
            let splices = Splices::insertion(40 * KIB, "new".to_owned(), small.len());
            let splices = splices.expect("it is within");
            times.for_each(|_| {
                let mut hasher = MarkingHasher::new();
                small
                    .as_bytes()
                    .chunks(16 * KIB)
                    .for_each(|piece| hasher.update(piece));
                black_box(hasher.finish().spliced(small.as_bytes(), &splices));
            });
        }
        "window of 64 KiB" => times.for_each(|_| {
            let mut scanner = WindowScanner::new(WindowSpec {
                offset: 500,
                max_lines: 100,
                max_bytes: 50 * KIB,
                max_line_chars: 2000,
            });
            scanner.push(black_box(small.as_bytes()));
            black_box(scanner.finish());
        }),
        "diff of one line in 64 KiB" => {
            let new = small.replace(MARKS[0], MARKS[1]);
            times.for_each(|_| {
                black_box(Diff::between(black_box(&small), &new, 3));
            });
        }
        "outline of 1 MiB through an edit" => {
            let large = text(4 * SNAPSHOT_LIMIT);
            let outline = Outline::of(large.as_bytes());
            let at = large.find(MARKS[0]).expect("the mark");
            let splices = Splices::insertion(at, "new".to_owned(), large.len());
            let splices = splices.expect("it is within");
            let line = 1 + large[..at].matches('\n').count() as u64;
            times.for_each(|_| {
                black_box(outline.spliced(large.as_bytes(), &splices, line));
            });
        }
        "memory, edit of 1 KiB by provider" => by_provider(times, Arc::new(Memory::new())),
        "memory, edit of 1 KiB by tool with policy" => by_tool(times, KIB, edit),
        "memory, edit of 64 KiB by tool with policy" => by_tool(times, 64 * KIB, edit),
        "memory, read of 1 KiB by tool with policy" => {
            by_tool(times, KIB, |_| {
                ("read", json!({"file_path": "subject.txt"}))
            });
        }
        "memory, write of 64 KiB by tool with policy" => by_tool(times, 64 * KIB, |at| {
            let content = small.replace(MARKS[0], MARKS[at % 2]);
            (
                "write",
                json!({"file_path": "subject.txt", "content": content}),
            )
        }),
        "local, edit of 1 KiB by provider" => {
            let folder = tempfile::tempdir().expect("a scratch folder");
            let options = LocalOptions::default().durability(Durability::None);
            let local = Local::open_with(folder.path(), options).expect("a folder");
            by_provider(times, Arc::new(local));
        }
        "object in memory, warm edit of 1 KiB by provider" => {
            by_provider(times, Arc::new(Object::new(Arc::new(InMemory::new()))));
        }
        "the twin, edit of 1 KiB" => by_twin(times, KIB),
        "the twin, edit of 64 KiB" => by_twin(times, 64 * KIB),
        _ => panic!("there is no case {name:?}"),
    }
}

fn text(size: usize) -> String {
    let lines = size / 64;
    let line = |line| {
        let mark = if line == lines / 2 { MARKS[0] } else { "" };
        format!("{line:08} {mark:19} some ordinary source text, its end\n")
    };
    (0..lines).map(line).collect()
}

fn plans(times: std::ops::Range<u64>, text: &str, [old, new]: [&str; 2]) {
    let text = Text::decode(text.as_bytes()).expect("text");
    times.for_each(|_| {
        black_box(plan_replace(black_box(&text), old, new, false)).expect("one match");
    });
}

/// Without a runtime every provider works on this thread.
fn by_provider(times: std::ops::Range<u64>, fs: Arc<dyn FileSystem>) {
    block_on(async {
        let target = fs.target("subject.txt").await.expect("a target");
        let bytes = Bytes::from(text(KIB));
        let put = fs.write_all(&target, bytes, Expected::Any).await;
        put.expect("a write");
        for at in times {
            let at = (at % 2) as usize;
            let transform = Replace::once(MARKS[at], MARKS[1 - at]).expect("two texts");
            let edited = fs
                .edit(&target, Arc::new(transform), EditOptions::default())
                .await;
            assert!(edited.expect("an edit").changed());
        }
    });
}

/// What the table's ratios are taken to.
fn by_twin(times: std::ops::Range<u64>, size: usize) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("subject.txt");
    std::fs::write(&path, text(size)).expect("room");
    for at in times {
        let at = (at % 2) as usize;
        let [old, new] = [MARKS[at], MARKS[1 - at]].map(str::as_bytes);
        twin::edit(&path, old, new, twin::Sync::None);
    }
}

fn edit(at: usize) -> (&'static str, Value) {
    let [old, new] = [MARKS[at % 2], MARKS[1 - at % 2]];
    let arguments = json!({"file_path": "subject.txt", "old_string": old, "new_string": new});
    ("edit", arguments)
}

fn by_tool(
    times: std::ops::Range<u64>,
    size: usize,
    call: impl Fn(usize) -> (&'static str, Value),
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let session = Workspace::builder()
            .over(Arc::new(Memory::new()))
            .session("counted");
        let write = json!({"file_path": "subject.txt", "content": text(size)});
        succeed(&session, "write", write).await;
        for at in times {
            let (tool, arguments) = call(at as usize);
            succeed(&session, tool, arguments).await;
        }
    });
}

async fn succeed(session: &Session, tool: &str, arguments: Value) {
    let result = session.call(tool, arguments).await;
    assert!(!result.is_error(), "{}", result.text);
}
