//! The rows of the table: what is measured, on which provider, at which size.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use seamfs::core::replace::Replace;
use seamfs::core::{EditOptions, Expected, FileSystem, FileSystemExt, Target};
use seamfs::providers::{Durability, Local, LocalOptions, Memory};
use seamfs::{Session, Workspace};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::harness::Harness;
use crate::observed;
use crate::twin::{self, Sync};

const SIZES: [(&str, usize); 5] = [
    ("1 KiB", 1 << 10),
    ("64 KiB", 64 << 10),
    ("1 MiB", 1 << 20),
    ("16 MiB", 16 << 20),
    ("64 MiB", 64 << 20),
];

/// The two texts that edits replace by each other, so that every run finds its match.
const MARKS: [&str; 2] = ["the needle is here", "the needle was here"];

/// Measures every row that is wanted.
pub(crate) fn run(harness: &mut Harness, folder: &Path) {
    let runtime = Runtime::new().expect("a runtime");
    let durabilities = [
        ("none", Durability::None, Sync::None),
        ("data", Durability::Data, Sync::Data),
        ("full", Durability::Full, Sync::Full),
    ];
    observed::memory(harness);
    observed::run(harness, &runtime, folder);
    for (label, size) in SIZES {
        if size > harness.budget.largest {
            continue;
        }
        memory(harness, &runtime, label, size);
        for (name, durability, sync) in durabilities {
            let scene = LocalScene::new(&runtime, folder, size, durability, sync);
            scene.edits(harness, label, name);
            if sync == Sync::None {
                scene.others(harness, label);
            }
        }
    }
}

/// Makes a text of about `size` bytes with the mark in its middle.
pub(crate) fn text(size: usize) -> Vec<u8> {
    let line = b"some ordinary line of source text, sixty-four bytes with its end\n";
    let lines = (size / line.len()).max(2);
    let mut text = Vec::with_capacity(size + 64);
    for number in 0..lines {
        if number == lines / 2 {
            text.extend_from_slice(MARKS[0].as_bytes());
            text.push(b'\n');
        }
        text.extend_from_slice(line);
    }
    text
}

/// Gives the two marks in turn, as what to replace and what with.
#[derive(Debug, Default)]
pub(crate) struct Turn(Cell<usize>);

impl Turn {
    pub(crate) fn next(&self) -> (&'static str, &'static str) {
        let at = self.0.get();
        self.0.set(1 - at);
        (MARKS[at], MARKS[1 - at])
    }
}

pub(crate) fn call(runtime: &Runtime, session: &Session, tool: &str, arguments: serde_json::Value) {
    let result = runtime.block_on(async { session.call(tool, arguments).await });
    assert!(!result.is_error(), "{}", result.text);
}

fn edit_by_tool(runtime: &Runtime, session: &Session, (old, new): (&str, &str)) {
    let arguments = json!({"file_path": "subject.txt", "old_string": old, "new_string": new});
    call(runtime, session, "edit", arguments);
}

fn edit_by_provider(
    runtime: &Runtime,
    fs: &dyn FileSystem,
    target: &Target,
    (old, new): (&str, &str),
) {
    let transform = Arc::new(Replace::once(old, new).expect("two texts"));
    let edited = runtime.block_on(fs.edit(target, transform, EditOptions::default()));
    assert!(edited.expect("an edit").changed());
}

fn memory(harness: &mut Harness, runtime: &Runtime, label: &str, size: usize) {
    let fs: Arc<dyn FileSystem> = Arc::new(Memory::new());
    let workspace = Workspace::builder().over(Arc::clone(&fs));
    let session = workspace.session("bench");
    let target = runtime
        .block_on(fs.target("subject.txt"))
        .expect("a target");
    let put = || {
        let bytes = Bytes::from(text(size));
        runtime
            .block_on(fs.write_all(&target, bytes, Expected::Any))
            .expect("a write");
        call(
            runtime,
            &session,
            "read",
            json!({"file_path": "subject.txt"}),
        );
    };
    put();
    let mut slot = text(size);
    let (ours, theirs) = (Turn::default(), Turn::default());
    harness.row(
        &format!("memory, edit by tool, {label}"),
        Box::new(|| edit_by_tool(runtime, &session, ours.next())),
        Box::new(|| {
            let (old, new) = theirs.next();
            twin::edit_in_memory(&mut slot, old.as_bytes(), new.as_bytes());
        }),
        None,
    );
    put();
    let mut slot = text(size);
    let (ours, theirs) = (Turn::default(), Turn::default());
    harness.row(
        &format!("memory, edit by provider, {label}"),
        Box::new(|| edit_by_provider(runtime, &*fs, &target, ours.next())),
        Box::new(|| {
            let (old, new) = theirs.next();
            twin::edit_in_memory(&mut slot, old.as_bytes(), new.as_bytes());
        }),
        None,
    );
}

/// Three files of one size in one folder: the subject's, the twin's and the bare twin's.
struct LocalScene<'a> {
    runtime: &'a Runtime,
    folder: &'a Path,
    size: usize,
    sync: Sync,
    fs: Arc<dyn FileSystem>,
    session: Session,
    target: Target,
}

impl<'a> LocalScene<'a> {
    fn new(
        runtime: &'a Runtime,
        folder: &'a Path,
        size: usize,
        durability: Durability,
        sync: Sync,
    ) -> Self {
        let options = LocalOptions::default().durability(durability);
        let fs: Arc<dyn FileSystem> =
            Arc::new(Local::open_with(folder, options).expect("a folder"));
        let session = Workspace::builder().over(Arc::clone(&fs)).session("bench");
        let target = runtime
            .block_on(fs.target("subject.txt"))
            .expect("a target");
        Self {
            runtime,
            folder,
            size,
            sync,
            fs,
            session,
            target,
        }
    }

    fn reset(&self) {
        for name in ["subject.txt", "twin.txt", "bare.txt"] {
            std::fs::write(self.folder.join(name), text(self.size)).expect("room");
        }
        call(
            self.runtime,
            &self.session,
            "read",
            json!({"file_path": "subject.txt"}),
        );
    }

    fn edits(&self, harness: &mut Harness, label: &str, durability: &str) {
        let (twin, bare) = (self.folder.join("twin.txt"), self.folder.join("bare.txt"));
        let sync = self.sync;
        for way in ["tool", "provider"] {
            self.reset();
            let (ours, theirs, bares) = (Turn::default(), Turn::default(), Turn::default());
            harness.row(
                &format!("local {durability}, edit by {way}, {label}"),
                Box::new(|| match way {
                    "tool" => edit_by_tool(self.runtime, &self.session, ours.next()),
                    _ => edit_by_provider(self.runtime, &*self.fs, &self.target, ours.next()),
                }),
                Box::new(|| {
                    let (old, new) = theirs.next();
                    twin::edit(&twin, old.as_bytes(), new.as_bytes(), sync);
                }),
                Some(Box::new(|| {
                    let (old, new) = bares.next();
                    twin::bare_edit(&bare, old.as_bytes(), new.as_bytes(), sync);
                })),
            );
        }
    }

    fn others(&self, harness: &mut Harness, label: &str) {
        self.misses(harness, label);
        self.writes(harness, label);
        self.reads(harness, label);
    }

    fn misses(&self, harness: &mut Harness, label: &str) {
        self.reset();
        let twin = self.folder.join("twin.txt");
        let absent = "a text that is nowhere in this file";
        let arguments =
            json!({"file_path": "subject.txt", "old_string": absent, "new_string": "x"});
        harness.row(
            &format!("local none, miss by tool, {label}"),
            Box::new(|| {
                let call = async { self.session.call("edit", arguments.clone()).await };
                let missed = self.runtime.block_on(call);
                assert!(missed.is_error());
            }),
            Box::new(|| twin::miss(&twin, absent.as_bytes())),
            None,
        );
    }

    fn writes(&self, harness: &mut Harness, label: &str) {
        self.reset();
        let twin = self.folder.join("twin.txt");
        let contents = [text(self.size), {
            let mut other = text(self.size);
            other.extend_from_slice(b"one more line\n");
            other
        }];
        let strings = contents
            .clone()
            .map(|bytes| String::from_utf8(bytes).expect("text"));
        let (ours, theirs) = (Cell::new(0), Cell::new(0));
        harness.row(
            &format!("local none, write by tool, {label}"),
            Box::new(|| {
                ours.set(1 - ours.get());
                let content = &strings[ours.get()];
                let arguments = json!({"file_path": "subject.txt", "content": content});
                call(self.runtime, &self.session, "write", arguments);
            }),
            Box::new(|| {
                theirs.set(1 - theirs.get());
                // A caller hands its content over: the twin is given a copy of its own too.
                let content = contents[theirs.get()].clone();
                twin::write(&twin, &content, Sync::None);
            }),
            None,
        );
    }

    fn reads(&self, harness: &mut Harness, label: &str) {
        self.reset();
        let twin = self.folder.join("twin.txt");
        let lines = text(self.size)
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        for (name, offset) in [
            ("first window", 1),
            ("late window", lines.saturating_sub(100).max(1)),
        ] {
            let arguments = json!({"file_path": "subject.txt", "offset": offset});
            harness.row(
                &format!("local none, read {name}, {label}"),
                Box::new(|| call(self.runtime, &self.session, "read", arguments.clone())),
                Box::new(|| {
                    std::hint::black_box(twin::read(&twin));
                }),
                None,
            );
        }
    }
}
