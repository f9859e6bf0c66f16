//! Every case and its state, from which `docs/field-cases.md` is made.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::check_snapshot;

/// A failure that people met with comparable software.
struct Case {
    id: &'static str,
    layer: &'static str,
    title: &'static str,
    state: State,
}

impl Case {
    const fn new(id: &'static str, layer: &'static str, title: &'static str, state: State) -> Self {
        Self {
            id,
            layer,
            title,
            state,
        }
    }
}

/// What became of a case.
enum State {
    /// The tests with its id in their names cover it.
    Tested,
    /// They cover it but for this.
    Partly(&'static str),
    /// A test of the contract covers it under a name of its own.
    By(&'static str, &'static str),
    /// Its subject does not exist yet.
    Waits(&'static str),
    /// It cannot apply, and why.
    Never(&'static str),
}

use State::{By, Never, Partly, Tested, Waits};

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case::new("B001", "policy", "Edit refused as 'modified' although the bytes on disk never changed", Tested),
    Case::new("B003", "policy", "Change goes unnoticed when the file's mtime moves backwards", Tested),
    Case::new("B005", "policy", "Edit refused because the stored mtime is a little later than the recorded read time", Tested),
    Case::new("B006", "tool-read", "Second read answers 'unchanged' and hides an edit made outside the tools", Tested),
    Case::new("B008", "tool-read", "New session gets an 'unchanged' placeholder for a file it never read", Tested),
    Case::new("B011", "policy", "A path becomes permanently 'modified' after one conflict", Tested),
    Case::new("B013", "policy", "A file the session itself just created must be read again before editing", Tested),
    Case::new("B014", "policy", "Read under one spelling of a path, edit under another: 'not read yet'", Tested),
    Case::new("B016", "policy", "Change made while an edit waits for human approval is overwritten", Tested),
    Case::new("B018", "policy", "Whole-file write never looks at what is stored, only edit does", Tested),
    Case::new("B020", "policy", "Model sees a window of the file, assumes it is everything, and writes the whole file back", Tested),
    Case::new("B021", "tool-edit", "Edit is computed from an in-memory buffer loaded earlier and drops external changes", Tested),
    Case::new("B023", "tool-edit", "Two parallel edits to one file: the second erases the first, both report success", Tested),
    Case::new("B024", "local", "Parallel edits leave the file cut off in mid-word", Tested),
    Case::new("B026", "local", "Counter incremented by several processes through guarded writes never loses a step", Tested),
    Case::new("B029", "local", "Move onto an existing destination destroys it and removes the source", Tested),
    Case::new("B031", "tool-edit", "Multi-edit writes the matching hunks although one hunk was not found", Waits("`apply_edits`")),
    Case::new("B032", "tool-edit", "Several edits in one call where the first shifts the rest", Partly("several edits in one call wait for `apply_edits`")),
    Case::new("B034", "local", "Disk full while saving empties the file", Tested),
    Case::new("B036", "local", "A failed first write leaves a partial file that later counts as existing", Tested),
    Case::new("B037", "local", "Clean-up after a failed create deletes the file another writer put there meanwhile", Tested),
    Case::new("B039", "local", "Rename over a bind-mounted file fails with EBUSY and temp files pile up", Tested),
    Case::new("B041", "tool-edit", "CRLF file cannot be edited with the text that read just returned", Tested),
    Case::new("B043", "tool-edit", "Editing one word normalises every other line ending in a mixed file and drops lone CRs", Tested),
    Case::new("B045", "tool-write", "Whole-file write turns a CRLF project file into LF without a word", Tested),
    Case::new("B047", "tool-edit", "Edit adds a newline at the end of a file that had none", Tested),
    Case::new("B049", "tool-edit", "An extra blank line is added after every replaced block", Tested),
    Case::new("B051", "tool-editor", "insert after the last line glues the text onto it when the file has no final newline", Tested),
    Case::new("B052", "tool-edit", "A legacy byte far from the edit becomes U+FFFD on disk", Tested),
    Case::new("B054", "policy", "Lossy read followed by a full write makes the loss permanent", Tested),
    Case::new("B056", "tool-write", "Overwriting a file that starts with a UTF-8 BOM drops the BOM", Tested),
    Case::new("B058", "tool-edit", "UTF-16 text refused as binary, or edited as if it were UTF-8", Tested),
    Case::new("B060", "tool-read", "Multi-byte character broken at an internal buffer boundary", Tested),
    Case::new("B062", "tool-write", "Non-ASCII character stored as an escape sequence", Tested),
    Case::new("B064", "tool-edit", "LaTeX command mangled: \\title becomes a tab plus 'itle'", Tested),
    Case::new("B066", "tool-write", "A raw NUL slips into a text file and nobody is told", Tested),
    Case::new("B068", "tool-edit", "Trailing spaces in the new text are stripped", Tested),
    Case::new("B071", "tool-edit", "Fuzzy block match overwrites a line that differs from the quoted old text", Tested),
    Case::new("B073", "tool-edit", "Caller cannot tell an exact match from a tolerant one", Tested),
    Case::new("B075", "tool-editor", "Editing one line expands every tab in the file to spaces", Tested),
    Case::new("B077", "tool-edit", "Curly and straight quotes treated as the same", Tested),
    Case::new("B079", "tool-edit", "Empty file plus empty old text reports -1 replacements as success", Tested),
    Case::new("B081", "tool-edit", "Overlapping occurrences make a match ambiguous", Tested),
    Case::new("B083", "tool-edit", "Failed match leaves the file empty although the tool says it was restored", Tested),
    Case::new("B085", "tool-write", "Long content is stored incompletely", Tested),
    Case::new("B086", "tool-edit", "Edits above a small hidden size are refused and must be chopped into pieces", Tested),
    Case::new("B088", "tool-read", "One-line file: everything after the first N characters is unreachable", Never("`read` has no column argument by design: the mark of a cut line counts the bytes left out")),
    Case::new("B090", "tool-read", "Reading 5 lines of a huge file loads all of it", By("tests/contract/big_files.rs", "t6_a_gibibyte_reads_by_windows_within_64_mib")),
    Case::new("B092", "tool-edit", "Edit of a very large file risks running out of memory", Tested),
    Case::new("B094", "tool-read", "Last line without newline refused as 'beyond end of file'", Tested),
    Case::new("B096", "tool-read", "Offset past the end returns the start of the file", Tested),
    Case::new("B098", "tool-read", "Last line requested, empty string returned", Tested),
    Case::new("B100", "tool-editor", "insert by line number lands at the wrong place after an earlier change", Tested),
    Case::new("B101", "local", "Writing to a symlink replaces the link by a regular file", Tested),
    Case::new("B103", "local", "Harmless in-root link refused, with advice the agent cannot follow", Tested),
    Case::new("B104", "local", "Symlink inside the root leads out of it (read)", Tested),
    Case::new("B106", "local", "New file under a linked parent directory escapes", Tested),
    Case::new("B108", "local", "Trailing slash in the requested path defeats a no-follow open", Tested),
    Case::new("B110", "local", "Sibling directory that shares the root's name as a prefix", Tested),
    Case::new("B112", "local", "Legitimate file name containing dots is refused as traversal", Tested),
    Case::new("B113", "local", "Path ending in '/..' passes a check that looks for '../'", Tested),
    Case::new("B115", "local", "Symlink planted between the check and the write", Tested),
    Case::new("B117", "local", "Hard link inside the root to a file outside: the write goes through", Tested),
    Case::new("B118", "local", "Editing one name of a hard-linked pair silently separates the two", Tested),
    Case::new("B121", "local", "One dangling symlink makes the whole directory listing fail", Tested),
    Case::new("B122", "glob-grep", "Search does not follow linked directories but read does, and nothing says so", Waits("`list`, `glob` and `grep`")),
    Case::new("B123", "tool-read", "Reading a device or pipe hangs the tool", By("tests/contract/storage.rs", "r1_special_files_answer_at_once")),
    Case::new("B126", "local", "Very long names and very deep paths", Tested),
    Case::new("B128", "glob-grep", "Composed and decomposed Unicode names: search finds one, says the result is complete", Waits("`list`, `glob` and `grep`")),
    Case::new("B130", "glob-grep", "Newline in a file name forges an extra line in a listing; name reads like an instruction", Waits("`list`, `glob` and `grep`")),
    Case::new("B132", "local", "Overwrite resets a private file to world-readable", Tested),
    Case::new("B134", "local", "Read-only file is replaced because rename only needs directory rights", Tested),
    Case::new("B136", "glob-grep", "The same glob means different things on different backends", Waits("`list`, `glob` and `grep`")),
    Case::new("B138", "glob-grep", "Ignore rules hide files and the answer is indistinguishable from 'does not exist'", Waits("`list`, `glob` and `grep`")),
    Case::new("B140", "glob-grep", "Searching inside a dot-directory that was named explicitly returns nothing", Waits("`list`, `glob` and `grep`")),
    Case::new("B144", "glob-grep", "Match lost because the path contains a colon", Waits("`list`, `glob` and `grep`")),
    Case::new("B146", "glob-grep", "A matching binary file turns the whole search into an error", Waits("`list`, `glob` and `grep`")),
    Case::new("B148", "glob-grep", "Match on a very long line is dropped from the output", Waits("`list`, `glob` and `grep`")),
    Case::new("B149", "glob-grep", "Catastrophic or invalid regular expression", Waits("`list`, `glob` and `grep`")),
    Case::new("B152", "object", "list('/notes') is empty while list('/notes/') is not", Waits("mounts")),
    Case::new("B153", "object", "Mount '/doc' captures '/docs/f'", Waits("mounts")),
    Case::new("B155", "object", "Listing through a mount drops a character of the prefix", Waits("mounts")),
    Case::new("B157", "object", "Two mounts on one store see each other's files", Partly("one store mounted twice waits for mounts")),
    Case::new("B159", "object", "Brackets are double-encoded for the object store", Tested),
    Case::new("B161", "object", "Common characters refused or rewritten in paths", Tested),
    Case::new("B163", "object", "Doubled slashes: one file locally, another key on the object store", By("tests/contract/paths.rs", "p5_two_spellings_share_an_observation")),
    Case::new("B164", "object", "Existing keys with '//' or odd parts are skipped without a trace", By("providers/src/object/tests/folders.rs", "p2c_names_that_cannot_be_addressed_are_listed_escaped")),
    Case::new("B166", "object", "Trailing slash path treated as the file of that name; nested markers listed wrongly", Tested),
    Case::new("B168", "object", "Objects under an implicit directory are invisible", Tested),
    Case::new("B170", "object", "A name cannot be file and directory at once", Tested),
    Case::new("B172", "local", "copy/rename into a directory that does not exist yet", Tested),
    Case::new("B173", "object", "Listing after own write misses the new file", Tested),
    Case::new("B175", "object", "Directory exists before a glob and not after", Partly("the rest waits for `glob`")),
    Case::new("B177", "object", "Editor-style temp files and renames litter the bucket", Tested),
    Case::new("B178", "object", "Rename does not exist on object stores", Tested),
    Case::new("B180", "object", "Conditional update of a deleted object: 404 instead of 412; spurious 409 under contention", Tested),
    Case::new("B182", "object", "Own write succeeded, response lost, automatic retry answers 412", Tested),
    Case::new("B184", "object", "Backend without conditional put", Tested),
    Case::new("B187", "mcp", "Client roots silently replace the directories the operator configured", Tested),
    Case::new("B189", "mcp", "Resource template captures a still-encoded path", Never("the server offers tools and no resources")),
    Case::new("B190", "mcp", "A path error escapes the tool as an internal failure", Tested),
    Case::new("B192", "cli", "CLI exit codes and quoting can be scripted", Tested),
    Case::new("B193", "tool-edit", "read shows the new text but edit still matches against an old buffer, so the advised recovery cannot work", Tested),
    Case::new("B196", "tool-edit", "Carriage returns doubled: CR CR LF", Tested),
    Case::new("B199", "tool-edit", "UTF-8 continuation bytes replaced by '?' during an edit", Tested),
    Case::new("B201", "policy", "Refusal comes as a warning after the overwrite already happened", Tested),
    Case::new("B202", "tool-write", "Full rewrite silently drops most of the file ('rest stays the same')", Tested),
    Case::new("B204", "tool-editor", "Empty answer for a file that exists", Tested),
    Case::new("B207", "policy", "Per-file lock gives up (or blocks for ever) on a slow backend", Tested),
    Case::new("B210", "policy", "Agent removes most of a project with no way back", Waits("`delete`")),
    Case::new("B211", "local", "Cancelling in the middle of a change leaves a half-written file", Tested),
    Case::new("B212", "policy", "Delete guarded by version", Waits("`delete`")),
    Case::new("B213", "local", "Parallel creation of the same new parent directories", Tested),
    Case::new("B215", "local", "File replaced by a directory (or the reverse) between read and edit", Tested),
    Case::new("B216", "mcp", "Host paths leak through error texts", Tested),
    Case::new("B217", "memory", "Memory backend has a bound", Tested),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the tree is readable") {
        let path = entry.expect("the tree is readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the functions of a source, in order.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")?.split(['(', '<']).next()
    })
}

/// Returns the ids that a test's name speaks of: `b012_and_b034_so_it_is` has two.
fn ids(name: &str) -> impl Iterator<Item = String> {
    name.split('_')
        .filter(|part| {
            let digits = part.strip_prefix('b').unwrap_or_default();
            digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
        .map(str::to_uppercase)
}

/// Returns the files that hold tests of each case; the id in a test's name finds it there.
fn tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    for room in ["core", "providers", "policy", "tools", "src", "tests"] {
        sources(&root().join(room), &mut files);
    }
    let mut tests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source is text");
        let file = file.strip_prefix(root()).expect("a file of the tree");
        for name in functions(&text) {
            for id in ids(name) {
                let test = format!("`{}`", file.display());
                tests.entry(id).or_default().insert(test);
            }
        }
    }
    tests
}

fn has_function(file: &str, name: &str) -> bool {
    let text = fs::read_to_string(root().join(file)).unwrap_or_default();
    functions(&text).any(|function| function == name)
}

#[test]
fn every_case_has_its_tests_or_a_reason() {
    let tests = tests();
    for case in CASES {
        let tested = tests.contains_key(case.id);
        match case.state {
            Tested | Partly(_) => assert!(tested, "no test is named after {}", case.id),
            By(file, name) => assert!(
                has_function(file, name),
                "{}: {file} has no {name}",
                case.id
            ),
            // What waits may be tested in part already, where the subject is about to exist.
            Waits(_) => {}
            Never(_) => assert!(!tested, "{} has a test now: say so", case.id),
        }
    }
    let known: BTreeSet<_> = CASES.iter().map(|case| case.id).collect();
    assert_eq!(known.len(), CASES.len(), "an id stands twice");
    let unknown: Vec<_> = tests
        .keys()
        .filter(|id| !known.contains(id.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "tests are named after no case: {unknown:?}"
    );
}

#[test]
fn the_list_in_the_docs_is_up_to_date() {
    let tests = tests();
    let mut tested = 0;
    let mut rows = String::new();
    for case in CASES {
        let found = tests.get(case.id).into_iter().flatten().cloned();
        let found = found.collect::<Vec<_>>().join("<br>");
        let state = match case.state {
            Tested => found,
            Partly(rest) => format!("{found}<br>{rest}"),
            By(file, name) => format!("`{file}`: `{name}`"),
            Waits(subject) if found.is_empty() => format!("waits for {subject}"),
            Waits(subject) => format!("{found}<br>the rest waits for {subject}"),
            Never(reason) => format!("does not apply: {reason}"),
        };
        tested += usize::from(!matches!(case.state, Waits(_) | Never(_)));
        let title = case.title.replace('|', "\\|").replace('<', "&lt;");
        let _ = writeln!(rows, "| {} | {} | {title} | {state} |", case.id, case.layer);
    }
    let text = format!(
        "# Field cases\n\n\
         Failures that people met with comparable software, and the tests that keep them from \
         happening here: {tested} of {} cases are tested. A case's id stands in the names of its \
         tests. The list is made from `tests/field/table.rs`; `UPDATE_SNAPSHOTS=1 cargo test --test suite field` rewrites it.\n\n\
         | case | layer | what happened | state |\n|---|---|---|---|\n{rows}",
        CASES.len()
    );
    check_snapshot("docs/field-cases.md", &text);
}
