//! The rows of a local folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use seamfs::core::{FileSystem, FileSystemExt, Target};
use seamfs::providers::{Durability, Local, LocalOptions};
use seamfs::{Session, Workspace};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::harness::{Harness, Work};
use crate::rows::{edits_by_provider, edits_by_tool};
use crate::scene::{Turn, alongside, call, calls, marks, text, text_of_many_marks, timed};
use crate::twin::{self, Sync};

/// Three files of one size: the subject's, and in a folder beside it the twin's and the bare twin's.
///
/// In one folder each would change the folder under the subject, which then looks for what others
/// left there.
pub(crate) struct LocalScene<'a> {
    runtime: &'a Runtime,
    folder: &'a Path,
    size: usize,
    sync: Sync,
    fs: Arc<dyn FileSystem>,
    session: Session,
    target: Target,
}

impl<'a> LocalScene<'a> {
    pub(crate) fn new(
        runtime: &'a Runtime,
        folder: &'a Path,
        size: usize,
        durability: Durability,
        sync: Sync,
    ) -> Self {
        std::fs::create_dir_all(folder.join("beside")).expect("room");
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

    fn twin(&self) -> PathBuf {
        self.folder.join("beside/twin.txt")
    }

    fn bare(&self) -> PathBuf {
        self.folder.join("beside/bare.txt")
    }

    fn reset(&self, text: &[u8]) {
        for path in [self.folder.join("subject.txt"), self.twin(), self.bare()] {
            std::fs::write(path, text).expect("room");
        }
        let read = json!({"file_path": "subject.txt"});
        call(self.runtime, &self.session, "read", read);
    }

    fn calls(
        &self,
        tool: &'static str,
        arguments: impl Fn() -> Value + Clone + Send + 'static,
    ) -> Work<'_> {
        Box::new(move |times| calls(self.runtime, &self.session, tool, times, arguments.clone()))
    }

    /// A twin that turns the mark of its file.
    fn alongside(
        &self,
        turn: Turn,
        file: &Path,
        once: impl Fn(&Path, (&'static str, &'static str)) + Send + std::marker::Sync + 'static,
    ) -> Work<'_> {
        let file = file.to_owned();
        alongside(
            self.runtime,
            move || turn.next(),
            move |marks| once(&file, marks),
        )
    }

    pub(crate) fn edits(&self, harness: &mut Harness, label: &str, durability: &str) {
        let (twin, bare) = (self.twin(), self.bare());
        let sync = self.sync;
        for way in ["tool", "provider"] {
            let name = format!("local {durability}, edit by {way}, {label}");
            if !harness.wants(&name) {
                continue;
            }
            self.reset(&text(self.size));
            let (ours, theirs, bares) = (Turn::default(), Turn::default(), Turn::default());
            harness.row(
                &name,
                Box::new(|times| match way {
                    "tool" => edits_by_tool(self.runtime, &self.session, &ours, times),
                    _ => edits_by_provider(self.runtime, (&self.fs, &self.target), &ours, times),
                }),
                self.alongside(theirs, &twin, move |twin, (old, new)| {
                    twin::edit(twin, old.as_bytes(), new.as_bytes(), sync);
                }),
                Some(self.alongside(bares, &bare, move |bare, (old, new)| {
                    twin::bare_edit(bare, old.as_bytes(), new.as_bytes(), sync);
                })),
            );
        }
    }

    /// Edits of files that nobody touched for a while, as most are that an agent edits: so many in
    /// turn that each has rested when its turn comes again.
    pub(crate) fn edits_at_rest(&self, harness: &mut Harness, label: &str, files: usize) {
        let name = format!("local none, edit of a file at rest by tool, {label}");
        if !harness.wants(&name) {
            return;
        }
        let folders = ["rest", "beside/rest"].map(|folder| self.folder.join(folder));
        folders
            .iter()
            .for_each(|folder| std::fs::create_dir(folder).expect("room"));
        let paths = |kind: &str| -> Vec<_> {
            let path = |number| format!("{kind}-{number}");
            (0..files).map(path).collect()
        };
        let [ours, theirs, bares] =
            ["rest/ours", "beside/rest/twin", "beside/rest/bare"].map(paths);
        for path in [&ours, &theirs, &bares].into_iter().flatten() {
            std::fs::write(self.folder.join(path), text(self.size)).expect("room");
        }
        for path in &ours {
            call(
                self.runtime,
                &self.session,
                "read",
                json!({"file_path": path}),
            );
        }
        // Every file is in the same state when a round begins.
        let in_turn = |paths: Vec<String>| {
            let (paths, at) = (Arc::new(paths), Arc::new(AtomicUsize::new(0)));
            move || {
                let number = at.fetch_add(1, Ordering::Relaxed);
                (paths[number % files].clone(), marks(number / files))
            }
        };
        let (ours, theirs, bares) = (in_turn(ours), in_turn(theirs), in_turn(bares));
        let (folder, sync) = (self.folder.to_owned(), self.sync);
        let bare_folder = folder.clone();
        harness.row(
            &name,
            self.calls("edit", move || {
                let (path, (old, new)) = ours();
                json!({"file_path": path, "old_string": old, "new_string": new})
            }),
            alongside(self.runtime, theirs, move |(path, (old, new))| {
                twin::edit(&folder.join(path), old.as_bytes(), new.as_bytes(), sync);
            }),
            Some(alongside(self.runtime, bares, move |(path, (old, new))| {
                twin::bare_edit(
                    &bare_folder.join(path),
                    old.as_bytes(),
                    new.as_bytes(),
                    sync,
                );
            })),
        );
        for folder in folders {
            std::fs::remove_dir_all(folder).expect("they go");
        }
    }

    pub(crate) fn others(&self, harness: &mut Harness, label: &str) {
        self.misses(harness, label);
        self.many(harness, label);
        self.editor(harness, label);
        self.writes(harness, label);
        self.creations(harness, label);
        self.reads(harness, label);
    }

    fn misses(&self, harness: &mut Harness, label: &str) {
        let name = format!("local none, miss by tool, {label}");
        if !harness.wants(&name) {
            return;
        }
        self.reset(&text(self.size));
        let twin = self.twin();
        let absent = "a text that is nowhere in this file";
        let arguments =
            json!({"file_path": "subject.txt", "old_string": absent, "new_string": "x"});
        harness.row(
            &name,
            Box::new(|times| {
                let (session, arguments) = (self.session.clone(), arguments.clone());
                let ready = move || arguments.clone();
                timed(self.runtime, times, ready, move |arguments| {
                    let call = session.call("edit", arguments);
                    async move { assert!(call.await.is_error()) }
                })
            }),
            alongside(
                self.runtime,
                || (),
                move |()| twin::miss(&twin, absent.as_bytes()),
            ),
            None,
        );
    }

    fn many(&self, harness: &mut Harness, label: &str) {
        let name = format!("local none, replace_all of 1,000, {label}");
        if self.size < 64 << 10 || !harness.wants(&name) {
            return;
        }
        self.reset(&text_of_many_marks(self.size));
        let twin = self.twin();
        let (ours, theirs) = (Turn::default(), Turn::default());
        harness.row(
            &name,
            self.calls("edit", move || {
                let (old, new) = ours.next();
                json!({
                    "file_path": "subject.txt", "old_string": old, "new_string": new,
                    "replace_all": true,
                })
            }),
            self.alongside(theirs, &twin, |twin, (old, new)| {
                twin::edit(twin, old.as_bytes(), new.as_bytes(), Sync::None);
            }),
            None,
        );
    }

    fn editor(&self, harness: &mut Harness, label: &str) {
        let names = ["str_replace", "insert", "view of 40 lines"]
            .map(|name| format!("local none, {name}, {label}"));
        if !names.iter().any(|name| harness.wants(name)) {
            return;
        }
        let [str_replace, insert, view] = names;
        self.reset(&text(self.size));
        let twin = self.twin();
        let path = self.target.display().to_owned();
        let (ours, theirs) = (Turn::default(), Turn::default());
        let at = path.clone();
        harness.row(
            &str_replace,
            self.calls("str_replace_editor", move || {
                let (old, new) = ours.next();
                json!({"command": "str_replace", "path": at, "old_str": old, "new_str": new})
            }),
            self.alongside(theirs, &twin, |twin, (old, new)| {
                twin::edit(twin, old.as_bytes(), new.as_bytes(), Sync::None);
            }),
            None,
        );
        let (at, middle) = (path.clone(), self.size / 64 / 2);
        let twin = self.twin();
        harness.row(
            &insert,
            self.calls("str_replace_editor", move || {
                json!({"command": "insert", "path": at, "insert_line": middle, "new_str": "one\n"})
            }),
            alongside(self.runtime, || (), move |()| twin::insert(&twin, middle, b"one\n")),
            None,
        );
        let range = [middle, (middle + 40).min(self.size / 64)];
        harness.row(
            &view,
            self.calls(
                "str_replace_editor",
                move || json!({"command": "view", "path": path, "view_range": range}),
            ),
            self.reading(),
            None,
        );
    }

    /// A twin that reads its file.
    fn reading(&self) -> Work<'_> {
        let twin = self.twin();
        let read = move |()| {
            std::hint::black_box(twin::read(&twin));
        };
        alongside(self.runtime, || (), read)
    }

    fn writes(&self, harness: &mut Harness, label: &str) {
        let name = format!("local none, write, {label}");
        if !harness.wants(&name) {
            return;
        }
        self.reset(&text(self.size));
        let twin = self.twin();
        let contents = [text(self.size), {
            let mut other = text(self.size);
            other.extend_from_slice(b"one more line\n");
            other
        }];
        let strings: Arc<[String; 2]> = Arc::new(
            contents
                .clone()
                .map(|bytes| String::from_utf8(bytes).expect("text")),
        );
        let (ours, theirs) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        // A caller hands its content over: the twin is given a copy of its own too.
        let content = move || contents[1 - theirs.fetch_xor(1, Ordering::Relaxed)].clone();
        harness.row(
            &name,
            self.calls("write", move || {
                let content = &strings[1 - ours.fetch_xor(1, Ordering::Relaxed)];
                json!({"file_path": "subject.txt", "content": content})
            }),
            alongside(self.runtime, content, move |content| {
                twin::write(&twin, &content, Sync::None);
            }),
            None,
        );
    }

    /// New files in a folder of their own, one beside the other.
    fn creations(&self, harness: &mut Harness, label: &str) {
        let name = format!("local none, write of a new file, {label}");
        if !harness.wants(&name) || self.size > 1 << 20 {
            return;
        }
        let content = text(self.size);
        let string = String::from_utf8(content.clone()).expect("text");
        let created = tempfile::tempdir_in(self.folder).expect("a folder");
        let within = created.path().file_name().expect("a name");
        let within = within.to_str().expect("a plain name").to_owned();
        let (ours, theirs) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let beside = created.path().to_owned();
        harness.row(
            &name,
            self.calls("write", move || {
                let number = ours.fetch_add(1, Ordering::Relaxed);
                json!({"file_path": format!("{within}/ours-{number}"), "content": string})
            }),
            alongside(
                self.runtime,
                move || (theirs.fetch_add(1, Ordering::Relaxed), content.clone()),
                move |(number, content)| {
                    twin::create(&beside.join(format!("theirs-{number}")), &content);
                },
            ),
            None,
        );
    }

    fn reads(&self, harness: &mut Harness, label: &str) {
        let lines = self.size / 64;
        let whole = ("whole file of 2,000 lines", 1);
        let late = ("late window", lines.saturating_sub(100).max(1));
        let mut rows = vec![("first window", 1), late];
        if self.size == 64 << 10 {
            rows.push(whole);
        }
        for (name, offset) in rows {
            let row = format!("local none, read {name}, {label}");
            if !harness.wants(&row) {
                continue;
            }
            // 2,000 lines that fit in one window of 50 KiB.
            let text = match (name, offset) == whole {
                true => (0..2000)
                    .map(|line| format!("line {line}\n"))
                    .collect::<String>()
                    .into_bytes(),
                false => text(self.size),
            };
            self.reset(&text);
            harness.row(
                &row,
                match name {
                    // A workspace that knows nothing of the file yet.
                    "first window" => Box::new(|times| {
                        let each = || {
                            let fresh = Workspace::builder().over(Arc::clone(&self.fs));
                            let read = json!({"file_path": "subject.txt"});
                            call(self.runtime, &fresh.session("fresh"), "read", read)
                        };
                        (0..times).map(|_| each()).sum()
                    }),
                    _ => self.calls(
                        "read",
                        move || json!({"file_path": "subject.txt", "offset": offset}),
                    ),
                },
                self.reading(),
                None,
            );
        }
    }
}
