//! Hosts with little space, with mounts, with attributes of their own, and without some calls.

use super::super::Mounts;
use super::super::platform::{Storage, storage_of};
use super::*;
use std::process::Command;
use std::task::Poll;

use seamfs_core::{RemoveOptions, ResolveOptions, Retry, TransferOptions, in_place};

/// A mount that lasts as long as the test.
struct Mounted(PathBuf);

impl Mounted {
    /// Mounts; none, with a line that says so, where this machine does not let us.
    fn try_new(test: &str, at: &Path, arguments: &[&str]) -> Option<Self> {
        let output = Command::new("mount").args(arguments).arg(at).output();
        match output {
            Ok(output) if output.status.success() => Some(Self(at.to_owned())),
            Ok(output) => {
                println!(
                    "SKIP {test}: {}",
                    String::from_utf8_lossy(&output.stderr).trim()
                );
                None
            }
            Err(error) => {
                println!("SKIP {test}: {error}");
                None
            }
        }
    }

    fn tmpfs(test: &str, at: &Path, options: &str) -> Option<Self> {
        Self::try_new(test, at, &["-t", "tmpfs", "-o", options, "none"])
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Runs a command of the host; `false`, with a line that says so, where it is not there.
fn ran(test: &str, command: &str, arguments: &[&str]) -> bool {
    match Command::new(command).args(arguments).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            println!(
                "SKIP {test}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
            false
        }
        Err(error) => {
            println!("SKIP {test}: {command}: {error}");
            false
        }
    }
}

#[test]
fn b034_and_b036_a_full_disk_leaves_the_old_bytes_and_nothing_else() {
    const TEST: &str = "b034_and_b036";
    for nameless in [true, false] {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path("small")).unwrap();
        let Some(_mounted) = Mounted::tmpfs(TEST, &scratch.path("small"), "size=64k") else {
            return;
        };
        if !nameless {
            scratch.local.inner.nameless.give_up();
        }
        let large = "x".repeat(200_000);
        scratch.put("small/a.txt", "keep me\n");
        let failed = block_on(scratch.write("small/a.txt", &large, Expected::Any)).unwrap_err();
        assert_eq!(
            (failed.code(), failed.retry()),
            (ErrorCode::NoSpace, Retry::Never)
        );
        check_discreet(&scratch, &failed);
        let failed = block_on(scratch.edit("small/a.txt", "keep", &large));
        assert_eq!(code(failed), ErrorCode::NoSpace);
        let failed = block_on(scratch.write("small/new/n.bin", &large, Expected::Absent));
        assert_eq!(code(failed), ErrorCode::NoSpace);
        assert_eq!(scratch.host_names("small"), ["a.txt"]);
        assert_eq!(scratch.host("small/a.txt"), "keep me\n");
        block_on(scratch.edit("small/a.txt", "keep", "kept")).unwrap();
        assert!(ran(
            TEST,
            "mount",
            &[
                "-o",
                "remount,size=1m",
                scratch.path("small").to_str().unwrap()
            ]
        ));
        block_on(scratch.write("small/new/n.bin", &large, Expected::Absent)).unwrap();
        assert_eq!(scratch.host("small/new/n.bin"), large);
    }
}

#[test]
fn b039_a_file_that_is_a_mount_is_refused_by_name_and_without_litter() {
    const TEST: &str = "b039";
    let scratch = Scratch::new();
    scratch.put("a.json", "{}\n");
    let path = scratch.path("a.json");
    let Some(_mounted) = Mounted::try_new(TEST, &path, &["--bind", path.to_str().unwrap()]) else {
        return;
    };
    for guard in [
        Expected::Any,
        Expected::Version(seamfs_core::Version::of(b"{}\n")),
    ] {
        let error = block_on(scratch.write("a.json", "{\"a\":1}\n", guard)).unwrap_err();
        assert_eq!(
            (error.code(), error.retry()),
            (ErrorCode::IoError, Retry::Never)
        );
        assert!(error.message().contains("mount"), "{error}");
        assert_eq!(scratch.host_names("."), ["a.json"]);
        assert_eq!(scratch.host("a.json"), "{}\n");
    }
}

#[test]
fn w9_a_read_only_mount_says_so() {
    let scratch = Scratch::new();
    scratch.put("d/f", "1");
    let folder = scratch.path("d");
    let Some(_mounted) = Mounted::try_new("w9", &folder, &["--bind", folder.to_str().unwrap()])
    else {
        return;
    };
    assert!(ran(
        "w9",
        "mount",
        &["-o", "remount,bind,ro", folder.to_str().unwrap()]
    ));
    let target = block_on(scratch.target("d/f"));
    let written = block_on(scratch.write("d/f", "2", Expected::Any));
    assert_eq!(code(written), ErrorCode::ReadOnly);
    assert_eq!(
        code(block_on(scratch.write("d/n", "2", Expected::Absent))),
        ErrorCode::ReadOnly
    );
    let removed = block_on(scratch.local.remove(&target, RemoveOptions::default()));
    assert_eq!(code(removed), ErrorCode::ReadOnly);
    assert_eq!(scratch.host("d/f"), "1");
}

#[test]
fn other_mounts_are_entered_unless_the_workspace_was_told_not_to() {
    let scratch = Scratch::new();
    for name in ["tmp", "same"] {
        fs::create_dir(scratch.path(name)).unwrap();
    }
    scratch.put("d/f", "1");
    scratch.put("file", "1");
    let Some(_tmpfs) = Mounted::tmpfs("mounts", &scratch.path("tmp"), "size=64k") else {
        return;
    };
    // The same device under another mount: only the mount's own number tells.
    let folder = scratch.path("d");
    let bind = ["--bind", folder.to_str().unwrap()];
    let Some(_bound) = Mounted::try_new("mounts", &scratch.path("same"), &bind) else {
        return;
    };
    let file = scratch.path("file");
    let bind = ["--bind", file.to_str().unwrap()];
    let Some(_bound) = Mounted::try_new("mounts", &file, &bind) else {
        return;
    };
    scratch.put("tmp/x", "2");
    assert_eq!(block_on(scratch.read("tmp/x")).unwrap(), "2");
    assert_eq!(block_on(scratch.read("same/f")).unwrap(), "1");
    let options = LocalOptions::default().mounts(Mounts::Deny);
    let local = Local::open_with(&scratch.root, options).unwrap();
    for path in ["tmp/x", "same/f", "tmp", "same", "tmp/new"] {
        assert_eq!(
            code(block_on(local.target(path))),
            ErrorCode::SandboxDenied,
            "{path}"
        );
    }
    let target = block_on(local.target("file")).unwrap();
    assert_eq!(
        code(block_on(local.read_all(&target))),
        ErrorCode::SandboxDenied
    );
    let target = block_on(local.target("d/f")).unwrap();
    assert_eq!(block_on(local.read_all(&target)).unwrap().bytes, "1");
    let listed = block_on(async { local.list_all(&local.target(".").await?).await }).unwrap();
    assert_eq!(listed.len(), 4);
}

#[test]
fn a_move_between_mounts_is_refused_and_changes_nothing() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("tmp")).unwrap();
    let Some(_tmpfs) = Mounted::tmpfs("moves", &scratch.path("tmp"), "size=64k") else {
        return;
    };
    scratch.put("a", "1");
    let (from, to) = block_on(async { (scratch.target("a").await, scratch.target("tmp/a").await) });
    let moved = block_on(scratch.local.rename(&from, &to, TransferOptions::default()));
    assert_eq!(code(moved), ErrorCode::Unsupported);
    block_on(scratch.local.copy(&from, &to, TransferOptions::default())).unwrap();
    assert_eq!(
        (scratch.host("a"), scratch.host("tmp/a")),
        ("1".into(), "1".into())
    );
}

#[test]
fn extended_attributes_and_access_lists_are_kept() {
    let scratch = Scratch::new();
    scratch.put("f", "1");
    let path = scratch.path("f");
    let set = |name: &str, value: &[u8]| {
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(&path, name, value, flags)
    };
    if let Err(error) = set("user.comment", b"mine") {
        println!("SKIP extended_attributes: {error}");
        return;
    }
    set("user.long", &[7; 900]).unwrap();
    // user::rw-, user:1000:rw-, group::r--, mask::rw-, other::---
    let list = [
        2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 6, 0, 232, 3, 0, 0, 4, 0, 4, 0, 255, 255,
        255, 255, 16, 0, 6, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
    ];
    let has_list = set("system.posix_acl_access", &list).is_ok();
    let get = |name: &str| {
        let mut value = Vec::with_capacity(1024);
        rustix::fs::getxattr(&path, name, rustix::buffer::spare_capacity(&mut value)).unwrap();
        value
    };
    let outcome = block_on(scratch.write("f", "2", Expected::Any)).unwrap();
    assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
    assert_eq!(get("user.comment"), b"mine");
    assert_eq!(get("user.long"), [7; 900]);
    if has_list {
        assert_eq!(get("system.posix_acl_access"), list);
        assert_eq!(scratch.mode("f"), 0o660);
    }
}

#[test]
fn a_folders_default_access_list_opens_no_private_file() {
    let scratch = Scratch::new();
    scratch.put("d/f", "1");
    fs::set_permissions(scratch.path("d/f"), fs::Permissions::from_mode(0o640)).unwrap();
    let list = [
        2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 232, 3, 0, 0, 4, 0, 5, 0, 255, 255,
        255, 255, 16, 0, 7, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255,
    ];
    let flags = rustix::fs::XattrFlags::empty();
    let set = rustix::fs::setxattr(scratch.path("d"), "system.posix_acl_default", &list, flags);
    if let Err(error) = set {
        println!("SKIP default_access_list: {error}");
        return;
    }
    block_on(scratch.edit("d/f", "1", "2")).unwrap();
    assert_eq!(scratch.mode("d/f"), 0o640);
    let mut value = Vec::with_capacity(1024);
    let buffer = rustix::buffer::spare_capacity(&mut value);
    let got = rustix::fs::getxattr(scratch.path("d/f"), "system.posix_acl_access", buffer);
    assert_eq!(got, Err(rustix::io::Errno::NODATA));
}

#[test]
fn an_owner_is_kept_where_the_host_lets_us() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP an_owner_is_kept: only root may give files away");
        return;
    }
    let scratch = Scratch::new();
    scratch.put("f", "1");
    std::os::unix::fs::chown(scratch.path("f"), Some(1234), Some(4321)).unwrap();
    fs::set_permissions(scratch.path("f"), fs::Permissions::from_mode(0o6754)).unwrap();
    block_on(scratch.edit("f", "1", "2")).unwrap();
    let kept = fs::metadata(scratch.path("f")).unwrap();
    use std::os::unix::fs::MetadataExt as _;
    assert_eq!(
        (kept.uid(), kept.gid(), scratch.mode("f")),
        (1234, 4321, 0o6754)
    );
}

#[test]
fn b132_no_staged_file_of_a_private_one_is_ever_readable_by_others() {
    use super::super::moment::on_each;
    for nameless in [true, false] {
        let scratch = Scratch::new();
        scratch.put("key", "secret\n");
        fs::set_permissions(scratch.path("key"), fs::Permissions::from_mode(0o600)).unwrap();
        if !nameless {
            scratch.local.inner.nameless.give_up();
        }
        let root = scratch.root.clone();
        on_each(move |moment| {
            for entry in fs::read_dir(&root).unwrap() {
                let entry = entry.unwrap();
                let mode = entry.metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o077, 0, "{:?} at {moment:?}", entry.file_name());
            }
        });
        block_on(scratch.write("key", "secret2\n", Expected::Any)).unwrap();
        assert_eq!(scratch.mode("key"), 0o600);
    }
}

/// Runs mutations on a file system of another kind.
fn check_host(scratch: &Scratch, folder: &str) {
    let path = |name: &str| format!("{folder}/{name}");
    let run = async {
        scratch.write(&path("d/f"), "1\n", Expected::Absent).await?;
        scratch.edit(&path("d/f"), "1", "2").await?;
        let guard = Expected::Version(seamfs_core::Version::of(b"2\n"));
        scratch.write(&path("d/f"), "3\n", guard.clone()).await?;
        let stale = scratch.write(&path("d/f"), "4\n", guard).await;
        assert_eq!(code(stale), ErrorCode::StaleVersion);
        let again = scratch.write(&path("d/f"), "4\n", Expected::Absent).await;
        assert_eq!(code(again), ErrorCode::AlreadyExists);
        let (from, to) = (
            scratch.target(&path("d/f")).await,
            scratch.target(&path("g")).await,
        );
        scratch
            .local
            .rename(&from, &to, TransferOptions::default())
            .await?;
        scratch
            .local
            .copy(&to, &from, TransferOptions::default())
            .await?;
        let options = RemoveOptions {
            expected: Expected::Version(seamfs_core::Version::of(b"3\n")),
            ..RemoveOptions::default()
        };
        scratch.local.remove(&from, options).await?;
        Ok::<_, FsError>(())
    };
    block_on(run).unwrap();
    assert_eq!(scratch.host(&path("g")), "3\n");
    assert!(scratch.host_names(&path("d")).is_empty());
    let left = scratch.host_names(folder);
    assert!(
        left.iter().all(|name| !name.starts_with(".seamfs-")),
        "{left:?}"
    );
}

#[test]
fn tmpfs_offers_all_that_is_needed() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("m")).unwrap();
    if let Some(_mounted) = Mounted::tmpfs("tmpfs", &scratch.path("m"), "size=1m") {
        check_host(&scratch, "m");
    }
}

#[test]
fn an_overlay_offers_all_that_is_needed() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("m")).unwrap();
    fs::create_dir(scratch.path("base")).unwrap();
    let Some(_base) = Mounted::tmpfs("overlay", &scratch.path("base"), "size=1m") else {
        return;
    };
    for name in ["lower", "upper", "work"] {
        fs::create_dir(scratch.path("base").join(name)).unwrap();
    }
    scratch.put("base/lower/below", "1\n");
    let base = scratch.path("base");
    let base = base.to_str().unwrap();
    let options = format!("lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work");
    let arguments = ["-t", "overlay", "overlay", "-o", &options];
    let Some(_mounted) = Mounted::try_new("overlay", &scratch.path("m"), &arguments) else {
        return;
    };
    check_host(&scratch, "m");
    block_on(scratch.edit("m/below", "1", "2")).unwrap();
    assert_eq!(scratch.host("m/below"), "2\n");
    assert_eq!(scratch.host("base/lower/below"), "1\n");
}

/// FAT has no links, no nameless files, no modes, and moments of two seconds.
#[test]
fn fat_is_written_through_fallbacks() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("m")).unwrap();
    let image = scratch.path("image");
    fs::File::create(&image).unwrap().set_len(4 << 20).unwrap();
    if !ran("fat", "mkfs.vfat", &[image.to_str().unwrap()]) {
        return;
    }
    let arguments = ["-o", "loop", image.to_str().unwrap()];
    if let Some(_mounted) = Mounted::try_new("fat", &scratch.path("m"), &arguments) {
        check_host(&scratch, "m");
    }
}

#[test]
fn fuse_is_written_through_fallbacks() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("m")).unwrap();
    fs::create_dir(scratch.path("behind")).unwrap();
    let (behind, at) = (scratch.path("behind"), scratch.path("m"));
    let arguments = [behind.to_str().unwrap(), at.to_str().unwrap()];
    if ran("fuse", "bindfs", &arguments) {
        let _mounted = Mounted(at);
        check_host(&scratch, "m");
        let mounted = Local::open(scratch.path("m")).unwrap();
        assert!(!is_ever_begun_in_place(&mounted), "its server may hang");
    }
}

/// Whether a look is over where it began, once the host is known to answer at once.
fn is_ever_begun_in_place(local: &Local) -> bool {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let mut ever = false;
        for _ in 0..100 {
            let mut call = local.resolve("f", "", ResolveOptions::default());
            match in_place::begin(call.as_mut()) {
                Poll::Ready(target) => {
                    ever = true;
                    target.unwrap();
                }
                Poll::Pending => {
                    call.await.unwrap();
                }
            }
        }
        ever
    })
}

#[test]
fn the_kernel_says_where_a_folder_is_kept() {
    let storage = |path: &Path| storage_of(fs::File::open(path).unwrap());
    assert_eq!(storage(Path::new("/proc")), Storage::Elsewhere);
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("m")).unwrap();
    if let Some(_mounted) = Mounted::tmpfs("storage", &scratch.path("m"), "size=1m") {
        assert_eq!(storage(&scratch.path("m")), Storage::Memory);
        let mounted = Local::open(scratch.path("m")).unwrap();
        assert!(is_ever_begun_in_place(&mounted));
    }
}
