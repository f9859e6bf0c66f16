//! No false alarm and no missed change: the oracle is the bytes.

use super::*;
use std::time::{Duration, SystemTime};

use seamfs_core::Version;

/// A small generator: the same sequences in every run, without a dependency.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % sides
    }
}

fn touch(path: &Path, seconds: i64) {
    let now = SystemTime::now();
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 {
        now - distance
    } else {
        now + distance
    };
    fs::File::options()
        .append(true)
        .open(path)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

fn rename_over(path: &Path, text: &str) {
    let beside = path.with_extension("beside");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, path).unwrap();
}

/// Does something to a file that leaves its bytes as they are.
fn disturb(scratch: &Scratch, name: &str, text: &str, dice: &mut Dice) {
    let path = scratch.path(name);
    match dice.roll(8) {
        0 => touch(&path, 5),
        1 => touch(&path, -3600),
        2 => {
            let mode = if dice.roll(2) == 0 { 0o600 } else { 0o755 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        3 => fs::write(&path, text).unwrap(),
        4 => rename_over(&path, text),
        5 => {
            let away = path.with_extension("away");
            fs::rename(&path, &away).unwrap();
            fs::rename(away, &path).unwrap();
        }
        6 => {
            // A checkout of another branch and back.
            rename_over(&path, "another branch\n");
            fs::remove_file(&path).unwrap();
            fs::write(&path, text).unwrap();
        }
        _ => {
            let link = path.with_extension("link");
            fs::hard_link(&path, &link).unwrap();
            fs::remove_file(link).unwrap();
        }
    }
}

#[test]
fn v1_a_thousand_disturbances_that_change_no_byte_are_never_stale() {
    let scratch = Scratch::new();
    let mut dice = Dice(1);
    let mut text = "0\n".to_owned();
    scratch.put("f", &text);
    for n in 1..=from_env("SEAMFS_SEQUENCES", 1_000) {
        for _ in 0..=dice.roll(4) {
            disturb(&scratch, "f", &text, &mut dice);
        }
        let guard = Expected::Version(Version::of(text.as_bytes()));
        let next = format!("{n}\n");
        if n % 2 == 0 {
            block_on(scratch.write("f", &next, guard)).unwrap();
        } else {
            let target = block_on(scratch.target("f"));
            block_on(
                scratch
                    .local
                    .replace(&target, text.trim(), next.trim(), guard),
            )
            .unwrap();
        }
        assert_eq!(scratch.host("f"), next);
        text = next;
    }
    assert_eq!(scratch.host_names("."), ["f"]);
}

/// Changes a file's bytes, and hides it as well as may be.
fn change(scratch: &Scratch, text: &str, dice: &mut Dice) -> String {
    let path = scratch.path("f");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let mut bytes = text.as_bytes().to_vec();
    let at = usize::try_from(dice.roll(bytes.len() as u64 - 1)).unwrap();
    bytes[at] = if bytes[at] == b'z' { b'y' } else { b'z' };
    let changed = String::from_utf8(bytes).unwrap();
    match dice.roll(4) {
        0 => fs::write(&path, &changed).unwrap(),
        1 => rename_over(&path, &changed),
        2 => {
            fs::write(&path, &changed).unwrap();
            touch(&path, -3600);
        }
        _ => {
            let file = fs::File::options().write(true).open(&path).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, changed.as_bytes(), 0).unwrap();
        }
    }
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(time).unwrap();
    changed
}

#[test]
fn v2_a_thousand_hidden_changes_are_all_caught() {
    let scratch = Scratch::new();
    let mut dice = Dice(2);
    let mut text = "abcdefgh\n".to_owned();
    scratch.put("f", &text);
    for n in 0..from_env("SEAMFS_SEQUENCES", 1_000) {
        let guard = Expected::Version(Version::of(text.as_bytes()));
        let changed = change(&scratch, &text, &mut dice);
        let refused = if n % 2 == 0 {
            block_on(scratch.write("f", "mine\n", guard)).map(|_| ())
        } else {
            let target = block_on(scratch.target("f"));
            let replaced = scratch.local.replace(&target, "not in it", "x", guard);
            block_on(replaced).map(|_| ())
        };
        let error = refused.unwrap_err();
        assert_eq!(error.code(), ErrorCode::StaleVersion);
        assert_eq!(error.current().unwrap().bytes, changed);
        assert_eq!(scratch.host("f"), changed);
        text = changed;
    }
}

#[test]
fn v4_versions_outlive_the_process_that_saw_them() {
    let scratch = Scratch::new();
    scratch.put("f", "1");
    let target = block_on(scratch.target("f"));
    let seen = block_on(scratch.local.read_all(&target)).unwrap();
    let text = seen.version.to_string();
    let again = Local::open(&scratch.root).unwrap();
    let guard = Expected::Version(text.parse().unwrap());
    block_on(again.write_all(&target, Bytes::from("2"), guard)).unwrap();
}
