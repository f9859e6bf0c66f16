use seamfs_core::{Target, gate};

use super::*;
use crate::log::Log;
use crate::log::tests::Shelf;

fn absent(ledger: &Ledger, actor: &Actor, key: &TargetKey) {
    ledger.record(actor, key, Seen::Absent, false, false);
}

#[test]
fn o4_one_actor_knows_nothing_of_another_and_is_forgotten_alone() {
    let ledger = Ledger::new();
    let (one, two) = (Actor::new("one"), Actor::new("two"));
    let key = TargetKey::new("/a");
    absent(&ledger, &one, &key);
    assert_eq!(ledger.seen(&two, &key), None);
    absent(&ledger, &two, &key);
    ledger.forget(&one);
    assert_eq!(ledger.seen(&one, &key), None);
    assert_eq!(ledger.seen(&two, &key), Some(Seen::Absent));
}

#[test]
fn a_fork_inherits_once_and_goes_its_own_way() {
    let ledger = Ledger::new();
    let (one, two) = (Actor::new("one"), Actor::new("two"));
    let (a, b) = (TargetKey::new("/a"), TargetKey::new("/b"));
    absent(&ledger, &one, &a);
    absent(&ledger, &two, &b);
    ledger.fork(&one, &two);
    assert_eq!(ledger.seen(&two, &a), Some(Seen::Absent));
    assert_eq!(ledger.seen(&two, &b), None);
    absent(&ledger, &one, &b);
    ledger.evicted(&one, Some(&a));
    assert_eq!(ledger.seen(&one, &a), None);
    assert_eq!(ledger.seen(&two, &a), Some(Seen::Absent));
    assert_eq!(ledger.seen(&two, &b), None);
}

#[test]
fn an_entry_takes_what_the_documentation_says() {
    // With its key and the room that a map leaves, about 0.6 KiB in docs/observation.md.
    assert!(size_of::<(TargetKey, Entry)>() <= 160);
    assert_eq!(size_of::<seamfs_core::text::LineRange>(), 16);
    assert_eq!(size_of::<seamfs_core::gate::Part>(), 24);
}

#[test]
fn the_targets_of_an_actor_are_bounded_and_the_oldest_count_as_unseen() {
    let ledger = Ledger::new();
    let one = Actor::new("one");
    let key = |n: usize| TargetKey::new(format!("/{n}"));
    for n in 0..=MOST_TARGETS {
        absent(&ledger, &one, &key(n));
    }
    assert!(ledger.actors.get(&one).unwrap().len() < MOST_TARGETS);
    assert_eq!(ledger.seen(&one, &key(0)), None);
    assert!(ledger.seen(&one, &key(MOST_TARGETS)).is_some());
}

fn over(shelf: &Arc<Shelf>, detail: Detail, workspace: &str) -> Ledger {
    let past = Past::load(Arc::clone(shelf) as Arc<dyn Log>).unwrap();
    Ledger::keeping(detail).after(past, workspace)
}

#[test]
fn a_log_speaks_of_its_own_workspace_and_of_what_was_kept_as_closely() {
    let shelf = Arc::new(Shelf::default());
    let (one, key) = (Actor::new("one"), TargetKey::new("/a"));
    let knows = |detail, workspace| over(&shelf, detail, workspace).seen(&one, &key).is_some();
    absent(&over(&shelf, Detail::Merges, "here"), &one, &key);
    let records = shelf.texts();
    // Each look may add a record of its own, which the next one is not to see.
    let look = |detail, workspace| {
        shelf.replace(&records).unwrap();
        knows(detail, workspace)
    };
    assert!(look(Detail::Merges, "here") && look(Detail::Versions, "here"));
    assert!(!look(Detail::Lines, "here"), "lines were not kept");
    assert!(!look(Detail::Merges, "there"), "another workspace's");
}

#[test]
fn a_workspace_that_comes_back_to_a_log_reads_its_own_records_alone() {
    let shelf = Arc::new(Shelf::default());
    let (one, key) = (Actor::new("one"), |name: &str| TargetKey::new(name));
    absent(&over(&shelf, Detail::Versions, "here"), &one, &key("/a"));
    absent(&over(&shelf, Detail::Versions, "there"), &one, &key("/b"));
    let here = over(&shelf, Detail::Versions, "here");
    assert!(here.seen(&one, &key("/a")).is_some());
    assert_eq!(here.seen(&one, &key("/b")), None);
}

#[test]
fn what_is_kept_more_closely_from_now_on_is_known_the_next_time() {
    let shelf = Arc::new(Shelf::default());
    let (one, key) = (Actor::new("one"), TargetKey::new("/a"));
    over(&shelf, Detail::Merges, "here");
    let closer = over(&shelf, Detail::Lines, "here");
    assert_eq!(closer.detail(), Detail::Lines);
    absent(&closer, &one, &key);
    let again = over(&shelf, Detail::Lines, "here");
    assert_eq!(again.seen(&one, &key), Some(Seen::Absent));
}

#[test]
fn a_log_is_made_short_when_it_is_opened_and_twice_as_long_as_it_must_be() {
    let shelf = Arc::new(Shelf::default());
    let ledger = over(&shelf, Detail::Versions, "here");
    let (one, two, key) = (Actor::new("one"), Actor::new("two"), TargetKey::new("/a"));
    absent(&ledger, &one, &key);
    // A beginning and a sighting are two records; what is forgotten needs none.
    let opened = |wanted: usize| {
        while shelf.texts().len() < wanted {
            ledger.fork(&two, &two);
        }
        over(&shelf, Detail::Versions, "here");
        shelf.texts().len()
    };
    assert_eq!(opened(2 * 2 + SLACK), 2 * 2 + SLACK);
    assert_eq!(opened(2 * 2 + SLACK + 1), 2);
}

/// Records that an actor was shown lines of a file, or all of it; returns the version.
fn see(ledger: &Ledger, bytes: &Bytes, lines: Option<(u64, u64)>, own: bool) -> Version {
    let version = Version::of(bytes);
    let shown = lines.map_or(Shown::All, |(start, end)| Shown::Lines {
        lines: vec![start..=end],
        parts: Vec::new(),
        total: count_lines(bytes),
    });
    observe(
        ledger,
        Observation::Present {
            version: version.clone(),
            shown,
        },
        Some(bytes),
        own,
    );
    version
}

fn observe(ledger: &Ledger, observation: Observation, after: Option<&Bytes>, own: bool) {
    ledger.observed(&Observed {
        actor: &Actor::new("one"),
        target: &Target::new(TargetKey::new("/a"), "/a"),
        observation,
        before: None,
        after,
        outline: None,
        own,
        edit: None,
    });
}

fn known(ledger: &Ledger) -> Option<Seen> {
    ledger.seen(&Actor::new("one"), &TargetKey::new("/a"))
}

/// Returns the ranges that were shown of the file.
fn shown(ledger: &Ledger) -> Vec<(u64, u64)> {
    match known(ledger) {
        Some(Seen::Present {
            lines: Lines::Some(some),
            ..
        }) => {
            let ranges = some.whole().ranges().iter();
            ranges.map(|range| (range.start, range.end)).collect()
        }
        other => panic!("not some lines: {other:?}"),
    }
}

#[test]
fn what_is_shown_of_one_version_adds_up_and_follows_its_lines_to_the_next() {
    let ledger = Ledger::keeping(Detail::Lines);
    let file = Bytes::from_static(b"a\nb\nc\nd\ne\n");
    see(&ledger, &file, Some((1, 1)), false);
    see(&ledger, &file, Some((3, 4)), false);
    assert_eq!(shown(&ledger), [(1, 1), (3, 4)]);
    let next = Bytes::from_static(b"a\nb\nC\nd\ne\n");
    let version = see(&ledger, &next, Some((5, 5)), false);
    assert_eq!(shown(&ledger), [(1, 1), (4, 5)]);
    assert!(matches!(known(&ledger), Some(Seen::Present { version: of, .. }) if of == version));
    // Of the same bytes nothing needs to be compared, so that they need not be at hand.
    let shown_again = Shown::Lines {
        lines: vec![2..=2],
        parts: Vec::new(),
        total: 5,
    };
    let present = Observation::Present {
        version,
        shown: shown_again,
    };
    observe(&ledger, present, None, false);
    assert_eq!(shown(&ledger), [(1, 2), (4, 5)]);
}

#[test]
fn a_glimpse_authorises_nothing_and_takes_nothing_away() {
    let ledger = Ledger::keeping(Detail::Lines);
    let glimpse = |text: &'static [u8], line| {
        let bytes = Bytes::from_static(text);
        let shown = Shown::Lines {
            lines: vec![line..=line],
            parts: Vec::new(),
            total: 3,
        };
        let version = Version::of(&bytes);
        observe(
            &ledger,
            Observation::Glimpsed { version, shown },
            Some(&bytes),
            false,
        );
    };
    glimpse(b"a\nb\nc\n", 1);
    assert_eq!(known(&ledger), None);
    see(
        &ledger,
        &Bytes::from_static(b"a\nb\nc\n"),
        Some((2, 2)),
        false,
    );
    assert_eq!(shown(&ledger), [(1, 2)]);
    let before = known(&ledger);
    glimpse(b"x\ny\nz\n", 3);
    assert_eq!(known(&ledger), before);
}

#[test]
fn a_change_that_was_shown_adds_the_lines_of_its_diff() {
    let ledger = Ledger::keeping(Detail::Lines);
    let lines = |change: &str| -> Bytes {
        let all = (1..=40).map(|n| {
            if n == 20 {
                change.to_owned()
            } else {
                format!("{n}\n")
            }
        });
        all.collect::<String>().into()
    };
    let (old, new) = (lines("old\n"), lines("new\nnewer\n"));
    see(&ledger, &old, Some((1, 2)), false);
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    let diff = Diff::between(text(&old), text(&new), 3);
    let current = Snapshot {
        version: Version::of(&new),
        bytes: new,
    };
    ledger.informed(&Actor::new("one"), &TargetKey::new("/a"), &current, &diff);
    assert_eq!(shown(&ledger), [(1, 2), (17, 24)]);
}

#[test]
fn the_log_takes_what_is_new_and_who_wrote_outlasts_its_shortening() {
    let shelf = Arc::new(Shelf::default());
    let ledger = over(&shelf, Detail::Versions, "here");
    let file = Bytes::from_static(b"a\n");
    let lengths = [false, false, true].map(|own| {
        let version = see(&ledger, &file, None, own);
        (shelf.texts().len(), version)
    });
    assert_eq!(lengths.each_ref().map(|(length, _)| *length), [2, 2, 3]);
    while shelf.texts().len() < 100 {
        ledger.fork(&Actor::new("two"), &Actor::new("two"));
    }
    over(&shelf, Detail::Versions, "here");
    assert!(shelf.texts().len() < 5);
    let ledger = over(&shelf, Detail::Versions, "here");
    let writer = ledger.writer(&TargetKey::new("/a"), &lengths[0].1);
    assert_eq!(writer, Some(Actor::new("one")));
}

#[test]
fn a_ledger_names_who_wrote_last_and_keeps_what_was_seen_up_to_a_limit() {
    let ledger = Ledger::new();
    let (one, key) = (Some(Actor::new("one")), TargetKey::new("/a"));
    let most = Bytes::from(vec![b'a'; gate::SNAPSHOT_LIMIT]);
    let version = see(&ledger, &most, None, true);
    assert_eq!(ledger.content(&version), Some(most.clone()));
    assert_eq!(ledger.outline(&version), Some(Arc::new(Outline::of(&most))));
    assert_eq!(ledger.writer(&key, &version), one);
    let more = Bytes::from(vec![b'a'; gate::SNAPSHOT_LIMIT + 1]);
    let larger = see(&ledger, &more, None, false);
    assert_eq!(ledger.content(&larger), None);
    assert_eq!(ledger.writer(&key, &larger), None);
    assert_eq!(ledger.writer(&key, &version), one);
}
