//! What the host's permissions refuse to an ordinary user.

use super::*;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;

use seamfs_core::RemoveOptions;

const ROOT: &str = "SEAMFS_TEST_PERMISSIONS_ROOT";
const NOBODY: u32 = 65_534;

/// Acts as a user who owns the root and not all that is in it.
#[test]
fn user() {
    let Some(root) = task(ROOT) else { return };
    let root = PathBuf::from(root);
    assert!(!rustix::process::geteuid().is_root());
    let options = LocalOptions::default().durability(Durability::None);
    let local = Local::open_with(&root, options).unwrap();
    let read = |path: &str| block_on(async { local.read_all(&local.target(path).await?).await });
    let write = |path: &str, expected| {
        let bytes = Bytes::from("2\n");
        block_on(async {
            local
                .write_all(&local.target(path).await?, bytes, expected)
                .await
        })
    };
    let denied = ErrorCode::PermissionDenied;
    assert_eq!(code(Local::open(root.join("closed"))), denied);
    assert_eq!(code(read("closed/f")), denied);
    assert_eq!(code(read("unreadable")), denied);
    assert_eq!(
        code(write("theirs", Expected::Any)),
        denied,
        "renaming could, and must not"
    );
    assert_eq!(code(write("their-folder/f", Expected::Any)), denied);
    assert_eq!(code(write("their-folder/new", Expected::Absent)), denied);
    let theirs = block_on(local.target("their-folder/f")).unwrap();
    let removed = block_on(local.remove(&theirs, RemoveOptions::default()));
    assert_eq!(code(removed), denied);
    let listed = block_on(async { local.list_all(&local.target(".").await?).await });
    assert_eq!(listed.unwrap().len(), 5);
    // Everybody may write it: its bytes change, its owner cannot be kept, and that is said.
    let outcome = write("everybodys", Expected::Any).unwrap();
    assert!(
        outcome.notes[0].to_string().contains("owner"),
        "{:?}",
        outcome.notes
    );
    let now = fs::metadata(root.join("everybodys")).unwrap();
    assert_eq!((now.uid(), now.mode() & 0o7777), (NOBODY, 0o766));
}

#[test]
fn w9_what_the_host_refuses_is_denied_and_stays() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP w9_what_the_host_refuses: only root can be another user");
        return;
    }
    let scratch = Scratch::new();
    for name in [
        "closed/f",
        "unreadable",
        "theirs",
        "their-folder/f",
        "everybodys",
    ] {
        scratch.put(name, "1\n");
    }
    let set = |name: &str, mode| {
        fs::set_permissions(scratch.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("closed", 0o700);
    set("unreadable", 0o200);
    set("their-folder/f", 0o666);
    set("everybodys", 0o4766);
    let program = scratch.root.parent().unwrap().join("user");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for path in [scratch.root.parent().unwrap(), &scratch.root, &program] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let output = std::process::Command::new(program)
        .args(["local::tests::permissions::user", "--exact", "--nocapture"])
        .env(ROOT, &scratch.root)
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    for name in ["closed/f", "unreadable", "theirs", "their-folder/f"] {
        assert_eq!(scratch.host(name), "1\n");
    }
    assert_eq!(scratch.host_names(".").len(), 5);
}
