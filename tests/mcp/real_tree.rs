//! A real tree: the sources of a published crate, worked on by clients of others, change in
//! exactly the intended bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::clients::{Client, Step, call};

/// Every file of a tree by its path beneath the root, with its permission bits and bytes.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// The fewest files of a crate that is worth the claim.
const MANY: usize = 200;

/// Returns where the sources of a published crate are: one that this workspace depends on, with
/// more than [`MANY`] files.
fn published_sources() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut folders = dependencies();
        folders.sort();
        let large = folders
            .into_iter()
            .find(|folder| files(folder).len() > MANY && candidates(&tree(folder)).len() >= 2);
        large.expect("a dependency has many files")
    })
}

/// Returns where the sources of the dependencies are.
fn dependencies() -> Vec<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline"])
        .args(["--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problem}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("there are packages");
    let published = packages
        .iter()
        .filter(|package| package["source"].is_string());
    published
        .filter_map(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .map(Path::to_owned)
        .collect()
}

fn host() -> String {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs");
    let text = String::from_utf8(output.stdout).expect("rustc writes text");
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the tree is readable") {
            let path = entry.expect("the tree is readable").path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found
}

fn tree(root: &Path) -> Tree {
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("the tree is readable");
        let beneath = path.strip_prefix(root).expect("it is beneath");
        (beneath.to_owned(), (mode(&path), bytes))
    };
    files(root).into_iter().map(read).collect()
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::symlink_metadata(path).expect("it is there");
    metadata.permissions().mode()
}

fn copy(from: &Tree, root: &Path) {
    for (path, (_, bytes)) in from {
        let to = root.join(path);
        fs::create_dir_all(to.parent().expect("it has a folder")).expect("a folder is made");
        fs::write(&to, bytes).expect("a file is written");
    }
}

/// Returns the sources that the claim can work on, longest first: several windows long, with
/// lines that are shown whole and one that occurs once.
fn candidates(tree: &Tree) -> Vec<(&Path, &str)> {
    let mut found: Vec<_> = tree
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|(path, (_, bytes))| Some((&**path, std::str::from_utf8(bytes).ok()?)))
        .filter(|(_, text)| {
            text.ends_with('\n')
                && text.lines().count() > 150
                && text.lines().all(|line| line.len() < 500)
                && !text.contains('\r')
                && unique_line(text).is_some()
        })
        .collect();
    found.sort_by_key(|(path, text)| (std::cmp::Reverse(text.len()), *path));
    found
}

/// Returns a line past the middle of a text that occurs once in it.
fn unique_line(text: &str) -> Option<&str> {
    let lines: Vec<_> = text.lines().collect();
    let later = &lines[lines.len() / 2..];
    let unique = later
        .iter()
        .find(|line| line.len() > 20 && text.matches(**line).count() == 1);
    unique.copied()
}

/// Works on a copy of the sources with a client, and compares every file.
fn check_a_client(client: Client) {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    copy(&tree(published_sources()), &root);
    let before = tree(&root);
    assert!(before.len() > MANY);
    let files = candidates(&before);
    let [(edited, edited_text), (replaced, replaced_text), ..] = files[..] else {
        panic!("there are two files to work on");
    };
    let old = unique_line(edited_text).unwrap();
    let new = format!("{old} // edited: $& \\1 é");
    let old_str = unique_line(replaced_text).unwrap();
    let new_str = format!("{old_str}\n// one more\n");
    let view = |path: &Path| json!({"command": "view", "path": path, "view_range": [1, 20]});
    let replaced_at = root.join(replaced);
    let steps = [
        Step::ListTools,
        Step::ReadToEnd {
            path: edited.to_str().unwrap().to_owned(),
            limit: 60,
        },
        call(
            "edit",
            json!({"file_path": edited, "old_string": old, "new_string": new}),
        ),
        call(
            "str_replace_editor",
            json!({"command": "view", "path": root}),
        ),
        call("str_replace_editor", view(&replaced_at)),
        call(
            "str_replace_editor",
            json!({
                "command": "str_replace", "path": replaced_at,
                "old_str": old_str, "new_str": new_str,
            }),
        ),
        call(
            "str_replace_editor",
            json!({
                "command": "insert", "path": replaced_at,
                "insert_line": 3, "new_str": "// inserted\n",
            }),
        ),
        call(
            "str_replace_editor",
            json!({
                "command": "create", "path": root.join("new/folder/created.txt"),
                "file_text": "created\r\nas given",
            }),
        ),
    ];
    let args = [root.to_str().unwrap(), "--tools", "all"];
    let Some(outcome) = client.run(&args, &steps) else {
        return;
    };

    assert_eq!(outcome.revision, client.revision());
    assert!(
        outcome
            .instructions
            .unwrap()
            .contains(root.to_str().unwrap())
    );
    let answers = &outcome.answers;
    assert_eq!(answers[0].as_array().unwrap().len(), 4);
    let lines: Vec<_> = edited_text.lines().collect();
    assert_eq!(answers[1]["lines"], json!(lines));
    assert_eq!(answers[1]["windows"], lines.len().div_ceil(60));
    for answer in &answers[2..] {
        assert_eq!(answer["is_error"], false, "{answer}");
    }
    let listing = answers[3]["text"].as_str().unwrap();
    assert!(listing.contains("Cargo.toml"), "{listing}");
    let view = answers[4]["text"].as_str().unwrap();
    for line in replaced_text.lines().take(20) {
        assert!(view.contains(line), "{view}");
    }

    let mut expected = before.clone();
    set(&mut expected, edited, splice(edited_text, old, &new));
    let spliced = splice(replaced_text, old_str, &new_str);
    let third = spliced.match_indices('\n').nth(2).unwrap().0 + 1;
    let (above, below) = spliced.split_at(third);
    set(
        &mut expected,
        replaced,
        format!("{above}// inserted\n{below}"),
    );
    let mut after = tree(&root);
    let (_, created) = after.remove(Path::new("new/folder/created.txt")).unwrap();
    assert_eq!(created, b"created\r\nas given");
    // Compared file by file, so that a difference does not print the whole tree.
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>()
    );
    for (path, file) in &expected {
        assert!(after[path] == *file, "{} differs", path.display());
    }
}

fn splice(text: &str, old: &str, new: &str) -> String {
    let (above, below) = text.split_once(old).unwrap();
    format!("{above}{new}{below}")
}

fn set(tree: &mut Tree, path: &Path, text: String) {
    tree.get_mut(path).unwrap().1 = text.into_bytes();
}

#[test]
fn rmcp_changes_exactly_the_intended_bytes_in_the_oldest_revision() {
    check_a_client(Client::RmcpOldest);
}

#[test]
fn rmcp_changes_exactly_the_intended_bytes_in_the_newest_revision() {
    check_a_client(Client::RmcpNewest);
}

#[test]
fn python_changes_exactly_the_intended_bytes_with_a_handshake() {
    check_a_client(Client::PythonLegacy);
}

#[test]
fn python_changes_exactly_the_intended_bytes_in_the_newest_revision() {
    check_a_client(Client::PythonAuto);
}
