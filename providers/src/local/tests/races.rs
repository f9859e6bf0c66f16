//! Many tasks at once in one process, and calls that are dropped.

use super::super::moment::{Moment, on_each};
use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seamfs_core::{CallContext, CreateDirOptions, RemoveOptions};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn o9_parallel_edits_of_one_file_all_land() {
    let scratch = Arc::new(Scratch::new());
    scratch.put(
        "f",
        &(0..64).map(|n| format!("<{n}>\n")).collect::<String>(),
    );
    let tasks: Vec<_> = (0..64)
        .map(|n| {
            let scratch = Arc::clone(&scratch);
            tokio::spawn(async move {
                scratch
                    .edit("f", &format!("<{n}>"), &format!("[{n}]"))
                    .await
                    .unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let expected: String = (0..64).map(|n| format!("[{n}]\n")).collect();
    assert_eq!(scratch.host("f"), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b024_a_reader_sees_whole_contents_only() {
    let contents = [
        "0123456789\n".repeat(200_000 / 11),
        "x".repeat(1_000),
        "y".repeat(200_000),
    ];
    let scratch = Arc::new(Scratch::new());
    scratch.put("a.txt", &contents[0]);
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (scratch, done) = (Arc::clone(&scratch), Arc::clone(&done));
            let contents = contents.clone();
            tokio::spawn(async move {
                let mut reads = 0_u64;
                while !done.load(Ordering::Relaxed) {
                    let text = scratch.read("a.txt").await.unwrap();
                    assert!(contents.contains(&text), "{} bytes", text.len());
                    reads += 1;
                    tokio::task::yield_now().await;
                }
                reads
            })
        })
        .collect();
    let writers: Vec<_> = (0..16)
        .map(|n| {
            let scratch = Arc::clone(&scratch);
            let content = contents[1 + n % 2].clone();
            tokio::spawn(async move {
                let target = scratch.target("a.txt").await;
                for _ in 0..from_env("SEAMFS_WRITES", 10) {
                    let seen = scratch.local.read_all(&target).await.unwrap();
                    let guard = Expected::Version(seen.version);
                    let bytes = Bytes::from(content.clone());
                    if let Err(error) = scratch.local.write_all(&target, bytes, guard).await {
                        assert_eq!(error.code(), ErrorCode::StaleVersion);
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
    assert_eq!(scratch.host_names("."), ["a.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn w1_of_racing_creators_exactly_one_wins() {
    for nameless in [true, false] {
        let scratch = Arc::new(Scratch::new());
        if !nameless {
            scratch.local.inner.nameless.give_up();
        }
        let tasks: Vec<_> = (0..32)
            .map(|n| {
                let root = scratch.root.clone();
                tokio::spawn(async move {
                    // Providers of their own, as in other processes: no turns are shared.
                    let local = Local::open(root).unwrap();
                    let target = local.target("d/x").await.unwrap();
                    let bytes = Bytes::from(n.to_string());
                    local.write_all(&target, bytes, Expected::Absent).await
                })
            })
            .collect();
        let mut won = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(_) => won += 1,
                Err(error) => assert_eq!(error.code(), ErrorCode::AlreadyExists),
            }
        }
        assert_eq!(won, 1);
        assert_eq!(scratch.host_names("d"), ["x"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b213_folders_created_and_removed_at_once_fail_no_creation() {
    let scratch = Arc::new(Scratch::new());
    let creators = (0..32).map(|n| {
        let scratch = Arc::clone(&scratch);
        tokio::spawn(async move {
            let path = format!("x/y/z/f{n}.txt");
            scratch.write(&path, "1", Expected::Absent).await.unwrap();
        })
    });
    let removers = (0..32).map(|n| {
        let scratch = Arc::clone(&scratch);
        tokio::spawn(async move {
            let sibling = scratch.target(&format!("x/y/s{}", n % 4)).await;
            for _ in 0..10 {
                let options = CreateDirOptions::default();
                scratch.local.create_dir(&sibling, options).await.unwrap();
                let removed = scratch
                    .local
                    .remove(&sibling, RemoveOptions::default())
                    .await;
                if let Err(error) = removed {
                    assert_eq!(error.code(), ErrorCode::NotFound);
                }
            }
        })
    });
    for task in creators.chain(removers).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(scratch.host_names("x/y/z").len(), 32);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b213_parents_removed_by_others_are_created_again() {
    let scratch = Arc::new(Scratch::new());
    let done = Arc::new(AtomicBool::new(false));
    // A remover with a core of its own would win for ever: it takes so many folders a write.
    let left = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let remover = {
        let (path, done, left) = (scratch.path("x"), Arc::clone(&done), Arc::clone(&left));
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                if left.load(Ordering::Relaxed) > 0 && fs::remove_dir(path.join("y")).is_ok() {
                    left.fetch_sub(1, Ordering::Relaxed);
                    let _ = fs::remove_dir(&path);
                }
            }
        })
    };
    for n in 0..200 {
        left.store(50, Ordering::Relaxed);
        scratch
            .write(&format!("x/y/f{n}"), "1", Expected::Absent)
            .await
            .unwrap();
        fs::remove_file(scratch.path(&format!("x/y/f{n}"))).unwrap();
    }
    done.store(true, Ordering::Relaxed);
    remover.join().unwrap();
}

/// However often the same race is lost, in whatever lockstep: time bounds the tries, not a count.
#[test]
fn b213_a_folder_removed_each_time_it_is_created_is_created_in_the_end() {
    let scratch = Scratch::new();
    let path = scratch.path("x");
    let mut lost = 0;
    on_each(move |moment| {
        if moment == Moment::FolderMade && lost < 150 {
            fs::remove_dir(&path).unwrap();
            lost += 1;
        }
    });
    block_on(scratch.write("x/f", "1", Expected::Absent)).unwrap();
    assert_eq!(scratch.host("x/f"), "1");
}

/// A folder that never stays is an answer at the deadline, and nothing is left of the tries.
#[test]
fn b213_a_folder_removed_for_ever_ends_at_the_deadline() {
    let scratch = Scratch::new();
    let path = scratch.path("x");
    on_each(move |moment| {
        if moment == Moment::FolderMade {
            fs::remove_dir(&path).unwrap();
        }
    });
    let context = CallContext::default().within(Duration::from_millis(50));
    let options = WriteOptions::expecting(Expected::Absent).in_context(&context);
    let error = block_on(async {
        let target = scratch.target("x/f").await;
        let bytes = Bytes::from_static(b"1");
        scratch.local.write(&target, bytes, options).await
    })
    .unwrap_err();
    assert!(matches!(error.code(), ErrorCode::Busy | ErrorCode::Timeout));
    assert_eq!(scratch.host_names("."), Vec::<String>::new());
}

/// On one thread the work runs on another, and dropping the future withdraws the call.
#[tokio::test]
async fn b211_a_dropped_write_lands_whole_or_not_at_all() {
    let scratch = Scratch::new();
    let size = 1 << 20;
    let (old, new) = (Bytes::from(vec![b'o'; size]), Bytes::from(vec![b'n'; size]));
    fs::write(scratch.path("a.txt"), &old).unwrap();
    let target = scratch.target("a.txt").await;
    let start = std::time::Instant::now();
    scratch
        .local
        .write_all(&target, old.clone(), Expected::Any)
        .await
        .unwrap();
    let longest = start.elapsed() * 2;
    let (mut landed, mut withdrawn) = (0, 0);
    for n in 0..from_env("SEAMFS_DROPS", 25) {
        let context = CallContext::default();
        let options = WriteOptions::expecting(Expected::Any).in_context(&context);
        {
            let write = scratch.local.write(&target, new.clone(), options);
            let moment = longest / 97 * u32::try_from(n * 41 % 97).unwrap();
            let _ = tokio::time::timeout(moment, write).await;
        }
        // The next call waits its turn until the dropped one has ended, and is never blocked.
        let seen = scratch.local.edit(
            &target,
            Arc::new(
                |_: &seamfs_core::text::Text<'_>, _: &seamfs_core::Version| {
                    Ok(seamfs_core::TextEdit::default())
                },
            ),
            seamfs_core::EditOptions::default(),
        );
        let before = seen.await.unwrap().before;
        assert!(before == old || before == new);
        match before == new {
            true => landed += 1,
            false => withdrawn += 1,
        }
        assert_eq!(scratch.host_names("."), ["a.txt"]);
        scratch
            .local
            .write_all(&target, old.clone(), Expected::Any)
            .await
            .unwrap();
    }
    println!("dropped writes: {landed} landed, {withdrawn} were withdrawn");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b207_a_folder_that_others_keep_locked_is_busy_at_the_deadline() {
    let scratch = Scratch::new();
    scratch.put("f", "1");
    let place = scratch.local.inner.root.folder.try_clone().unwrap();
    let held = super::super::lock::FolderLock::try_take(&place).unwrap();
    let context = CallContext::default().within(Duration::from_millis(50));
    let target = scratch.target("f").await;
    let options = WriteOptions::expecting(Expected::Any).in_context(&context);
    let refused = scratch
        .local
        .write(&target, Bytes::from("2"), options)
        .await;
    assert_eq!(code(refused), ErrorCode::Busy);
    assert_eq!(scratch.host_names("."), ["f"]);
    drop(held);
    scratch.write("f", "2", Expected::Any).await.unwrap();
}
