//! The tree's own rules: arrows point down only, and host files are touched in one room.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the seamfs packages that a manifest depends on, whatever the kind of dependency.
fn arrows_of(package: &str) -> BTreeSet<String> {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("there are packages");
    let found = packages
        .iter()
        .find(|found| found["name"] == package)
        .unwrap_or_else(|| panic!("there is no package {package}"));
    let names = found["dependencies"]
        .as_array()
        .expect("there are dependencies");
    names
        .iter()
        .map(|dependency| dependency["name"].as_str().expect("a name").to_owned())
        .filter(|name| name.starts_with("seamfs"))
        .collect()
}

fn check_arrows(package: &str, expected: &[&str]) {
    let expected: BTreeSet<_> = expected.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(arrows_of(package), expected, "{package}");
}

#[test]
fn arrows_point_down_only() {
    check_arrows("seamfs-core", &[]);
    for room in ["seamfs-providers", "seamfs-policy", "seamfs-tools"] {
        check_arrows(room, &["seamfs-core"]);
    }
    let rooms = [
        "seamfs-core",
        "seamfs-policy",
        "seamfs-providers",
        "seamfs-tools",
    ];
    check_arrows("seamfs", &rooms);
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

/// Returns `file:line` of each use of host files beneath a folder, comments apart.
fn host_file_uses(folder: &str, allowed: &[&str]) -> Vec<String> {
    const SIGNS: [&str; 6] = [
        "std::fs",
        "tokio::fs",
        "rustix",
        "cap_std",
        "cap_fs_ext",
        ".exists()",
    ];
    let mut files = Vec::new();
    sources(&root().join(folder), &mut files);
    let mut uses = Vec::new();
    for file in files {
        let name = file
            .strip_prefix(root())
            .expect("a file of the tree")
            .display()
            .to_string();
        if allowed.iter().any(|allowed| name.starts_with(allowed)) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source is text");
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if SIGNS.iter().any(|sign| code.contains(sign)) {
                uses.push(format!("{name}:{}", number + 1));
            }
        }
    }
    uses
}

#[test]
fn host_files_are_touched_in_the_local_provider_and_the_operators_own_files_alone() {
    for room in ["core/src", "policy/src", "tools/src"] {
        assert_eq!(host_file_uses(room, &[]), Vec::<String>::new());
    }
    // The facade's named exceptions, which are no part of any workspace.
    let facade = host_file_uses("src", &["src/config", "src/session_file.rs"]);
    assert_eq!(facade, Vec::<String>::new());
    let elsewhere = host_file_uses("providers/src", &["providers/src/local"]);
    assert_eq!(elsewhere, Vec::<String>::new());
}

#[test]
fn no_test_is_ignored_and_nothing_is_left_open() {
    let signs = ["#[ign", "```ig", "todo!", "unimpl", "FIX"].map(|start| match start {
        "#[ign" => "#[ignore".to_owned(),
        // An example that is not compiled is no example.
        "```ig" => "```ignore".to_owned(),
        "todo!" => "todo!(".to_owned(),
        "unimpl" => "unimplemented!(".to_owned(),
        _ => "FIXME".to_owned(),
    });
    let mut files = Vec::new();
    for room in [
        "core",
        "providers",
        "policy",
        "tools",
        "src",
        "tests",
        "benches",
    ] {
        if root().join(room).is_dir() {
            sources(&root().join(room), &mut files);
        }
    }
    for file in files.iter().filter(|file| !file.ends_with("arrows.rs")) {
        let text = fs::read_to_string(file).expect("a source is text");
        for sign in &signs {
            assert!(
                !text.contains(sign.as_str()),
                "{} holds {sign}",
                file.display()
            );
        }
    }
}
