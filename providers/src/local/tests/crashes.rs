//! Writers killed at any moment: what they leave is one whole state, and no litter for long.

use super::super::moment::{Moment, on_each};
use super::super::staging::Staging;
use super::*;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::Duration;

use seamfs_core::{RemoveOptions, Version};

const ROOT: &str = "SEAMFS_TEST_CRASH_ROOT";
const AT: &str = "SEAMFS_TEST_CRASH_AT";
const NAMED: &str = "SEAMFS_TEST_CRASH_NAMED";

const FOREIGN: &str = "SEAMFS_TEST_CRASH_FOREIGN";

const MOMENTS: [Moment; 6] = [
    Moment::Created,
    Moment::Filled,
    Moment::Verified,
    Moment::Named,
    Moment::Exchanged,
    Moment::SetAside,
];

/// A state that shows whether it is whole: every line says which state it is and of how many.
fn state(number: u64) -> String {
    let lines = 1 + number % 50;
    format!("{number}:{lines}\n").repeat(usize::try_from(lines).unwrap())
}

fn number_of(text: &str) -> u64 {
    let (number, _) = text.split_once(':').expect("a whole state");
    let number = number.parse().expect("a whole state");
    assert_eq!(text, state(number), "a whole state");
    number
}

fn kill_myself() {
    let me = rustix::process::getpid();
    rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
}

/// Mutates until it is killed: by its parent at any time, or by itself at a given moment.
#[test]
fn writer() {
    let Some(root) = task(ROOT) else { return };
    let options = LocalOptions::default().durability(Durability::None);
    let local = Local::open_with(&root, options).unwrap();
    if task(NAMED).is_some() {
        local.inner.nameless.give_up();
    }
    let target = block_on(local.target("f")).unwrap();
    let gone = block_on(local.target("gone")).unwrap();
    if task(FOREIGN).is_some() {
        on_each(move |moment| match moment {
            Moment::Verified => {
                let path = Path::new(&root).join("f");
                fs::write(path.with_extension("x"), "foreign\n").unwrap();
                fs::rename(path.with_extension("x"), path).unwrap();
            }
            Moment::Exchanged => kill_myself(),
            _ => {}
        });
    } else if let Some(at) = task(AT) {
        on_each(move |moment| {
            if format!("{moment:?}") == at {
                kill_myself();
            }
        });
    }
    println!("ready");
    loop {
        let seen = block_on(local.read_all(&target)).unwrap();
        let next = state(number_of(std::str::from_utf8(&seen.bytes).unwrap()) + 1);
        let guard = Expected::Version(seen.version);
        block_on(local.write_all(&target, Bytes::from(next), guard)).unwrap();
        let there = Bytes::from("there\n");
        let made = block_on(local.write_all(&gone, there, Expected::Absent)).unwrap();
        let options = RemoveOptions {
            expected: Expected::Version(made.version),
            ..RemoveOptions::default()
        };
        block_on(local.remove(&gone, options)).unwrap();
    }
}

/// Says what a staging file holds, and so between which system calls its writer was killed.
fn phase(scratch: &Scratch, name: &str, current: &str) -> &'static str {
    match super::super::staging::parse(name.as_bytes()).expect("only staging files are left") {
        Staging::Draft => "while staging a draft",
        Staging::Whole { .. } => match scratch.host(name).as_str() {
            "there\n" => "with a removed file set aside",
            text if number_of(text) < number_of(current) => "after the exchange",
            _ => "before the exchange",
        },
    }
}

/// Checks what a killed writer left, and that the next mutation clears it away.
fn check_left_by_the_dead(scratch: &Scratch) -> Vec<&'static str> {
    let before = number_of(&scratch.host("f"));
    let litter: Vec<_> = scratch
        .host_names(".")
        .into_iter()
        .filter(|name| name != "f" && name != "gone")
        .map(|name| phase(scratch, &name, &state(before)))
        .collect();
    let listed = block_on(scratch.names("."));
    assert!(
        listed.iter().all(|name| name == "f" || name == "gone"),
        "{listed:?}"
    );
    let fresh = Local::open_with(&scratch.root, LocalOptions::default()).unwrap();
    let target = block_on(fresh.target("f")).unwrap();
    let guard = Expected::Version(Version::of(state(before).as_bytes()));
    block_on(fresh.write_all(&target, Bytes::from(state(before)), guard)).unwrap();
    if let Ok(gone) = fs::read_to_string(scratch.path("gone")) {
        assert_eq!(gone, "there\n");
        fs::remove_file(scratch.path("gone")).unwrap();
    }
    assert_eq!(scratch.host_names("."), ["f"], "after {litter:?}");
    litter
}

#[test]
fn w6_a_writer_killed_after_each_system_call_leaves_a_whole_state_and_no_litter() {
    let mut hits = BTreeMap::new();
    for named in [false, true] {
        for at in MOMENTS {
            let scratch = Scratch::new();
            scratch.put("f", &state(0));
            let at = format!("{at:?}");
            let root = scratch.root.to_str().unwrap();
            let mut environment = vec![(ROOT, root), (AT, at.as_str())];
            if named {
                environment.push((NAMED, "1"));
            }
            let mut command = child("crashes::writer", &environment);
            let status = command.stdout(Stdio::null()).status().unwrap();
            assert_eq!(status.signal(), Some(9), "{at}");
            let litter = check_left_by_the_dead(&scratch);
            hits.insert((named, at), litter);
        }
    }
    for ((named, at), litter) in hits {
        println!("named drafts {named}, killed at {at}: left {litter:?}");
    }
}

#[test]
fn w6_a_writer_killed_at_random_leaves_a_whole_state_and_no_litter() {
    let rounds = from_env("SEAMFS_KILL_ROUNDS", 40);
    let scratch = Scratch::new();
    scratch.put("f", &state(0));
    let (mut progressed, mut hits) = (0, BTreeMap::<_, u64>::new());
    for round in 0..rounds {
        let before = number_of(&scratch.host("f"));
        let mut environment = vec![(ROOT, scratch.root.to_str().unwrap())];
        if round % 2 == 1 {
            environment.push((NAMED, "1"));
        }
        let mut writer = child("crashes::writer", &environment)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Reads until the writer works: then any moment is as good as another.
        let mut output = std::io::BufReader::new(writer.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            assert_ne!(
                std::io::BufRead::read_line(&mut output, &mut line).unwrap(),
                0
            );
        }
        let spin = std::time::Instant::now();
        let moment = Duration::from_micros(round * 7919 % 4000);
        while spin.elapsed() < moment {
            std::hint::spin_loop();
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        progressed += u64::from(number_of(&scratch.host("f")) > before);
        let litter = check_left_by_the_dead(&scratch);
        let phase = litter.first().copied().unwrap_or("with nothing left");
        *hits.entry(phase).or_default() += 1;
    }
    println!("{rounds} kills, {progressed} of them after a publication: {hits:?}");
}

#[test]
fn a_writer_killed_with_foreign_bytes_in_its_hands_leaves_them_to_be_found() {
    let scratch = Scratch::new();
    scratch.put("f", &state(7));
    let environment = [(ROOT, scratch.root.to_str().unwrap()), (FOREIGN, "1")];
    let mut command = child("crashes::writer", &environment);
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.signal(), Some(9));
    for n in 8..12 {
        block_on(scratch.write("f", &state(n), Expected::Any)).unwrap();
        assert_eq!(block_on(scratch.names(".")), ["f"]);
    }
    let names = scratch.host_names(".");
    let kept: Vec<_> = names.iter().filter(|name| *name != "f").collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(scratch.host(kept[0]), "foreign\n");
}

#[test]
fn what_no_name_accounts_for_is_never_reaped() {
    let scratch = Scratch::new();
    scratch.put("f", "1");
    let (one, two) = (
        seamfs_core::ContentHash::of(b"1"),
        seamfs_core::ContentHash::of(b"2"),
    );
    let name = || super::super::staging::whole(Some(one), two);
    let path =
        |name: &super::super::at::Name| scratch.path(std::str::from_utf8(name.as_bytes()).unwrap());
    let (foreign, old, new) = (name(), name(), name());
    fs::write(path(&foreign), "somebody's only copy").unwrap();
    fs::write(path(&old), "1").unwrap();
    fs::write(path(&new), "2").unwrap();
    assert_eq!(block_on(scratch.names(".")), ["f"]);
    assert!(path(&foreign).exists());
    assert!(!path(&old).exists() && !path(&new).exists());
    block_on(scratch.edit("f", "1", "3")).unwrap();
    assert_eq!(
        fs::read_to_string(path(&foreign)).unwrap(),
        "somebody's only copy"
    );
}

#[test]
fn a_draft_whose_writer_lives_is_not_reaped() {
    let scratch = Scratch::new();
    scratch.put("f", "1");
    scratch.put("g", "1");
    scratch.local.inner.nameless.give_up();
    let root = scratch.root.clone();
    let mut checked = false;
    on_each(move |moment| {
        if moment == Moment::Filled && !std::mem::replace(&mut checked, true) {
            let other = Local::open(&root).unwrap();
            let listing = async move {
                let target = other.target(".").await.unwrap();
                other.list_all(&target).await.unwrap().len()
            };
            let listed = std::thread::spawn(move || block_on(listing))
                .join()
                .unwrap();
            assert_eq!(listed, 2);
            assert_eq!(
                fs::read_dir(&root).unwrap().count(),
                3,
                "the draft is there"
            );
        }
    });
    block_on(scratch.edit("f", "1", "2")).unwrap();
    assert_eq!(scratch.host("f"), "2");
    assert_eq!(scratch.host_names("."), ["f", "g"]);
}
