//! A hostile neighbour that swaps files, folders and links beneath the root while every operation
//! runs.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use seamfs_core::{CreateDirOptions, RemoveOptions, StatOptions, TransferOptions};

/// What the operations met.
#[derive(Default)]
struct Seen {
    file: AtomicU64,
    file_link: AtomicU64,
    folder: AtomicU64,
    folder_link: AtomicU64,
    naive_secrets: AtomicU64,
}

/// Swaps `out/f` between a file, a link that leads out, and nothing.
fn swap_files(scratch: &Scratch, done: &AtomicBool) {
    let (path, beside) = (scratch.path("out/f"), scratch.path("beside-f"));
    let secret = scratch.outside.join("secret");
    while !done.load(Ordering::Relaxed) {
        let _ = fs::write(&beside, "v\n");
        let _ = fs::rename(&beside, &path);
        let _ = fs::remove_file(&beside);
        std::thread::yield_now();
        let _ = symlink(&secret, &beside);
        let _ = fs::rename(&beside, &path);
        let _ = fs::remove_file(&beside);
        std::thread::yield_now();
        let _ = fs::remove_file(&path);
    }
}

/// Swaps `way` between a folder and a link that leads out.
fn swap_folders(scratch: &Scratch, done: &AtomicBool) {
    let (path, aside) = (scratch.path("way"), scratch.path("way-aside"));
    while !done.load(Ordering::Relaxed) {
        let _ = fs::rename(&path, &aside);
        let _ = symlink(&scratch.outside, &path);
        // The link's turn is as long as the folder's, or the reader would seldom meet it.
        for _ in 0..50 {
            std::thread::yield_now();
        }
        let _ = fs::remove_file(&path);
        let _ = fs::rename(&aside, &path);
        std::thread::yield_now();
    }
}

fn is_secret(bytes: &[u8]) -> bool {
    bytes.windows(6).any(|window| window == b"S3CRET")
}

/// Reads through both swapped places, beside the naive twin.
async fn observe(scratch: &Scratch, seen: &Seen) {
    let count = |counter: &AtomicU64| {
        counter.fetch_add(1, Ordering::Relaxed);
    };
    let places = [
        ("out/f", &seen.file, &seen.file_link),
        ("way/secret", &seen.folder, &seen.folder_link),
    ];
    for (path, inside, link) in places {
        match scratch.read(path).await {
            Ok(text) => {
                assert!(!is_secret(text.as_bytes()), "{text}");
                count(inside);
            }
            Err(error) if error.code() == ErrorCode::SandboxDenied => count(link),
            Err(_) => {}
        }
        if read_naively(scratch, path).is_some_and(|bytes| is_secret(&bytes)) {
            count(&seen.naive_secrets);
        }
    }
}

/// Runs every operation on targets resolved a moment before.
async fn operate(scratch: &Scratch) {
    let local = &scratch.local;
    for path in ["out/f", "way/secret", "way/new", "way/d/n"] {
        let Ok(target) = local.target(path).await else {
            continue;
        };
        let _ = local.stat(&target, StatOptions::default()).await;
        if let Ok(snapshot) = local.read_all(&target).await {
            assert!(!is_secret(&snapshot.bytes), "{path}");
        }
        let _ = local
            .write_all(&target, Bytes::from("w\n"), Expected::Any)
            .await;
        let _ = local.replace(&target, "w", "W", Expected::Any).await;
        let _ = local
            .write_all(&target, Bytes::from("c\n"), Expected::Absent)
            .await;
        if path != "way/secret" {
            let _ = local.remove(&target, RemoveOptions::default()).await;
        }
    }
    transfer(scratch).await;
}

async fn transfer(scratch: &Scratch) {
    let local = &scratch.local;
    let (Ok(from), Ok(to)) = (local.target("way/from").await, local.target("way/to").await) else {
        return;
    };
    let _ = local
        .write_all(&from, Bytes::from("t\n"), Expected::Any)
        .await;
    let options = TransferOptions {
        destination: Expected::Any,
        ..TransferOptions::default()
    };
    let _ = local.copy(&from, &to, options.clone()).await;
    let _ = local.rename(&to, &from, options).await;
    if let Ok(folder) = local.target("way").await
        && let Ok(entries) = local.list_all(&folder).await
    {
        drop(entries);
    }
    if let Ok(made) = local.target("way/made").await {
        let _ = local.create_dir(&made, CreateDirOptions::default()).await;
        let _ = local.remove(&made, RemoveOptions::default()).await;
    }
}

/// The twin that asks where a path leads and then opens the path.
fn read_naively(scratch: &Scratch, path: &str) -> Option<Vec<u8>> {
    let path = fs::canonicalize(scratch.path(path)).ok()?;
    let root = fs::canonicalize(&scratch.root).ok()?;
    path.starts_with(root)
        .then(|| fs::read(path).ok())
        .flatten()
}

#[test]
fn b115_no_swap_beneath_the_root_leads_out() {
    let seconds = from_env("SEAMFS_HOSTILE_SECONDS", 2);
    let scratch = Arc::new(Scratch::new());
    scratch.put("out/f", "v\n");
    scratch.put("way/secret", "v\n");
    let seen = Arc::new(Seen::default());
    let done = Arc::new(AtomicBool::new(false));
    let spawn = |work: fn(&Scratch, &AtomicBool)| {
        let (scratch, done) = (Arc::clone(&scratch), Arc::clone(&done));
        std::thread::spawn(move || work(&scratch, &done))
    };
    let swappers = [spawn(swap_files), spawn(swap_folders)];
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        block_on(operate(&scratch));
        for _ in 0..20 {
            block_on(observe(&scratch, &seen));
        }
    }
    done.store(true, Ordering::Relaxed);
    for swapper in swappers {
        swapper.join().unwrap();
    }
    scratch.check_outside();
    let counts = [&seen.file, &seen.file_link, &seen.folder, &seen.folder_link]
        .map(|counter| counter.load(Ordering::Relaxed));
    let naive = seen.naive_secrets.load(Ordering::Relaxed);
    println!("seen: file, its link, folder, its link: {counts:?}; naive twin leaked {naive} times");
    if seconds >= 30 {
        assert!(counts.iter().all(|count| *count >= 1_000), "{counts:?}");
        assert!(naive > 0, "the naive twin is caught by the same run");
    }
}
