//! The ledger: what each actor has seen, and the contents that a stale error can compare with.

mod contents;
mod writers;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use dashmap::DashMap;
use seamfs_core::gate::{Observation, Observed, Shown};
use seamfs_core::text::{Diff, DiffLineKind, LineMap, LineSet, Outline, Text, count_lines};
use seamfs_core::{Actor, ContentHash, Snapshot, TargetKey, Version};
use serde::{Deserialize, Serialize};

use crate::lines::{Lines, nothing_of};
use crate::log::{File, Journal, Past, Record};
use contents::{Content, Contents};
use writers::Writers;

/// How many targets of one actor are remembered; beyond it the ones longest unused are forgotten.
const MOST_TARGETS: usize = 16 << 10;

/// How many records a log holds after it was made short: the newest.
const MOST_RECORDS: usize = 64 << 10;

/// How many records more than needed a log may have when it is opened.
const SLACK: usize = 64;

/// What an actor knows of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The file was there at this version, and these of its lines were shown.
    Present {
        /// The version.
        version: Version,
        /// Which lines; always all in a ledger that keeps versions alone.
        lines: Lines,
    },
    /// Nothing was there.
    Absent,
}

/// How closely a ledger keeps what was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Versions: whoever saw a part saw the file.
    #[default]
    Versions,
    /// Versions, and the lines of others that an edit landed beside without showing them.
    Merges,
    /// The very lines that were shown.
    Lines,
}

/// What each actor has seen; per actor, never shared but by a fork.
///
/// Contents are kept once for all actors, by hash, up to 256 KiB each and 64 MiB in all; the
/// oldest go first. Of larger ones an outline is kept, of 256 KiB at the most. Losing one loses a
/// diff, never an observation. An actor's targets are bounded
/// too; one that is dropped counts as unseen.
#[derive(Debug, Default)]
pub struct Ledger {
    detail: Detail,
    actors: DashMap<Actor, HashMap<TargetKey, Entry>>,
    contents: Contents,
    writers: Writers,
    journal: Option<Journal>,
    /// What the log says of this ledger.
    began: Option<Record>,
    clock: AtomicU64,
}

#[derive(Clone, Debug)]
struct Entry {
    seen: Seen,
    /// Lines were shown in passing only.
    glimpse: bool,
    /// When it was recorded, by the ledger's own count.
    at: u64,
}

impl Ledger {
    /// Creates an empty ledger that keeps versions alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty ledger.
    pub fn keeping(detail: Detail) -> Self {
        Self {
            detail,
            ..Self::default()
        }
    }

    /// Returns how closely it keeps what was seen.
    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// Begins with what a log holds of this workspace, and keeps the log in step from now on.
    ///
    /// What was kept less closely than this ledger keeps it counts as unseen.
    #[must_use]
    pub fn after(mut self, past: Past, workspace: &str) -> Self {
        let began = Record::Began {
            workspace: workspace.to_owned(),
            detail: self.detail,
        };
        let Past { journal, records } = past;
        let (count, mut kept, mut begun) = (records.len(), false, false);
        for record in records {
            match record {
                Record::Began {
                    workspace: of,
                    detail,
                } => {
                    kept = of == workspace;
                    begun = kept && detail == self.detail;
                    if kept && detail < self.detail {
                        self.actors.clear();
                        kept = false;
                    }
                }
                record if kept => self.replay(record),
                _ => {}
            }
        }
        self.began = Some(began.clone());
        // A log that is opened often and added to little stays short too.
        let all = self.records();
        if count > 2 * all.len() + SLACK {
            journal.rewrite(|| all);
        } else if !begun {
            journal.append(&began, || all);
        }
        self.journal = Some(journal);
        self
    }

    /// Returns what an actor knows of a target; none when it has seen nothing of it, or only
    /// lines in passing.
    pub fn seen(&self, actor: &Actor, target: &TargetKey) -> Option<Seen> {
        let entry = self.entry(actor, target)?;
        (!entry.glimpse).then_some(entry.seen)
    }

    /// Returns the content that a version names, where it is kept.
    pub fn content(&self, version: &Version) -> Option<Bytes> {
        match self.contents.get(version.hash()?)? {
            Content::Whole(content) => Some(content),
            Content::Outline(_) => None,
        }
    }

    /// Returns the outline of the content that a version names, where that or the content is kept.
    pub fn outline(&self, version: &Version) -> Option<Arc<Outline>> {
        match self.contents.get(version.hash()?)? {
            Content::Whole(content) => Some(Arc::new(Outline::of(&content))),
            Content::Outline(outline) => Some(outline),
        }
    }

    /// Returns who wrote these bytes, when they are the last that an actor here wrote.
    pub fn writer(&self, target: &TargetKey, version: &Version) -> Option<Actor> {
        self.writers.of(target, version)
    }

    /// Records what an actor now knows, with the content where it is at hand.
    pub fn observed(&self, event: &Observed<'_>) {
        let (version, shown, glimpse) = match &event.observation {
            Observation::Absent => {
                self.record(event.actor, event.target.key(), Seen::Absent, false, false);
                return;
            }
            Observation::Present { version, shown } => (version, shown, false),
            Observation::Glimpsed { version, shown } => (version, shown, true),
        };
        if glimpse && self.detail != Detail::Lines {
            return;
        }
        let known = match self.detail {
            Detail::Versions => None,
            _ => self.entry(event.actor, event.target.key()),
        };
        let glimpse = match &known {
            Some(known) if glimpse => {
                let same = matches!(&known.seen, Seen::Present { version: was, .. }
                    if was.certifies(version));
                // What authorises is never replaced by what does not.
                if !same && !known.glimpse {
                    return;
                }
                known.glimpse
            }
            _ => glimpse,
        };
        let known = known.as_ref().map(|known| &known.seen);
        let Some(lines) = self.lines_now(known, version, shown, event) else {
            return;
        };
        if let Some(hash) = version.hash() {
            self.keep(hash, event, shown);
        }
        let seen = Seen::Present {
            version: version.clone(),
            lines,
        };
        if event.own {
            let target = event.target.key();
            self.writers.wrote(event.actor, target, version);
        }
        self.record(event.actor, event.target.key(), seen, glimpse, event.own);
    }

    /// Keeps the content that a call ended with, or its outline.
    fn keep(&self, hash: ContentHash, event: &Observed<'_>, shown: &Shown) {
        match (event.after, event.outline) {
            (Some(content), _) => self.contents.keep(hash, content),
            (None, Some(outline)) => self
                .contents
                .keep_outline(hash, || Some(Arc::clone(outline))),
            (None, None) => self.contents.keep_edited(hash, event, || {
                let known = match shown {
                    // The guard held: the bytes before are those that the actor knew.
                    Shown::Edited => self.entry(event.actor, event.target.key()),
                    _ => None,
                };
                let known = match known.map(|known| known.seen) {
                    Some(Seen::Present { version, .. }) => self.outline(&version),
                    _ => None,
                };
                event.edited_outline(known.as_deref())
            }),
        }
    }

    /// Records that a diff from what an actor knew to the present bytes was shown to it, whole.
    pub(crate) fn informed(
        &self,
        actor: &Actor,
        target: &TargetKey,
        current: &Snapshot,
        diff: &Diff,
    ) {
        let known = self.seen(actor, target);
        let lines = match (self.detail, known) {
            (Detail::Lines, Some(Seen::Present { version, lines })) if lines != Lines::All => {
                let old = self.content(&version).map(|old| count_lines(&old));
                let total = count_lines(&current.bytes);
                let map = LineMap::of(diff, old.unwrap_or_default());
                let shown = Lines::some(lines_of(diff), Vec::new(), total);
                lines.carried(&map, total).and(&shown)
            }
            _ => Lines::All,
        };
        if let Some(hash) = current.version.hash() {
            self.contents.keep(hash, &current.bytes);
        }
        let seen = Seen::Present {
            version: current.version.clone(),
            lines,
        };
        self.record(actor, target, seen, false, false);
    }

    /// Forgets everything an actor has seen.
    pub fn forget(&self, actor: &Actor) {
        let known = self.actors.remove(actor).is_some();
        if known {
            self.note(|| Record::Forgot {
                actor: actor.clone(),
                target: None,
            });
        }
    }

    /// Forgets what an actor has seen of a target, or of every one: it is out of its mind.
    pub fn evicted(&self, actor: &Actor, target: Option<&TargetKey>) {
        let Some(target) = target else {
            return self.forget(actor);
        };
        let known = self.actors.get_mut(actor).map(|mut of| of.remove(target));
        if known.flatten().is_some() {
            self.note(|| Record::Forgot {
                actor: actor.clone(),
                target: Some(target.clone()),
            });
        }
    }

    /// Lets an actor begin with what another one knows, in place of what it knew itself.
    pub fn fork(&self, from: &Actor, to: &Actor) {
        self.copy(from, to);
        self.note(|| Record::Forked {
            from: from.clone(),
            to: to.clone(),
        });
    }

    fn copy(&self, from: &Actor, to: &Actor) {
        if from == to {
            return;
        }
        // Cloned before the other is touched: both may be in one shard of the map.
        let known = self.actors.get(from).map(|of| of.clone());
        match known {
            Some(known) => self.actors.insert(to.clone(), known),
            None => self.actors.remove(to).map(|(_, known)| known),
        };
    }

    fn entry(&self, actor: &Actor, target: &TargetKey) -> Option<Entry> {
        self.actors.get(actor)?.get(target).cloned()
    }

    /// Works out which lines an actor knows after a call; none when the call shows nothing new.
    fn lines_now(
        &self,
        known: Option<&Seen>,
        version: &Version,
        shown: &Shown,
        event: &Observed<'_>,
    ) -> Option<Lines> {
        match (self.detail, shown) {
            (Detail::Versions, _) | (_, Shown::All) => Some(Lines::All),
            (Detail::Merges, Shown::Lines { .. }) => Some(Lines::All),
            (_, Shown::Lines { .. }) => {
                let now = Lines::of(shown)?;
                match self.known_at(known, version, event.after) {
                    Some(known) => Some(now.and(&known)),
                    None => Some(now),
                }
            }
            (_, Shown::Part(part)) => {
                let known = self.known_at(known, version, event.after)?;
                Some(known.and_part(part))
            }
            (_, Shown::Edited | Shown::Rebased) => Some(self.lines_after(known, shown, event)),
        }
    }

    /// Works out which lines an actor knows after an edit of its own.
    fn lines_after(&self, known: Option<&Seen>, shown: &Shown, event: &Observed<'_>) -> Lines {
        let (Some(before), Some(edit)) = (event.before, event.edit) else {
            return event
                .after
                .map_or(Lines::none(u64::MAX), |after| nothing_of(after));
        };
        let lines = match (known, shown) {
            (Some(Seen::Present { lines, .. }), Shown::Edited) => Some(lines.clone()),
            (Some(Seen::Present { version, lines }), _) => self.carried(version, lines, before),
            _ => None,
        };
        lines
            .unwrap_or_else(|| nothing_of(before))
            .through(before, edit)
    }

    /// Returns what an actor knows of these bytes from before, where that can be told.
    fn known_at(
        &self,
        known: Option<&Seen>,
        version: &Version,
        content: Option<&Bytes>,
    ) -> Option<Lines> {
        match known? {
            Seen::Absent => None,
            Seen::Present {
                version: was,
                lines,
            } if was.certifies(version) => Some(lines.clone()),
            Seen::Present {
                version: was,
                lines,
            } => self.carried(was, lines, content?),
        }
    }

    /// Carries lines that were shown of one content over to another, as far as they are the same.
    fn carried(&self, version: &Version, lines: &Lines, now: &Bytes) -> Option<Lines> {
        let old = self.content(version)?;
        let (old, new) = (Text::decode(&old).ok()?, Text::decode(now).ok()?);
        let map = LineMap::between(old.whole(), new.whole());
        Some(lines.carried(&map, count_lines(now)))
    }

    fn record(&self, actor: &Actor, target: &TargetKey, seen: Seen, glimpse: bool, own: bool) {
        let file = self.journal.is_some().then(|| File::of(&seen));
        let changed = self.put(actor, target, seen, glimpse);
        if let (true, Some(file)) = (changed || own, file) {
            self.note(|| Record::Saw {
                actor: actor.clone(),
                target: target.clone(),
                file,
                glimpse,
                own,
            });
        }
    }

    /// Puts an entry in; returns whether it says anything new.
    fn put(&self, actor: &Actor, target: &TargetKey, seen: Seen, glimpse: bool) -> bool {
        let entry = Entry {
            seen,
            glimpse,
            at: self.clock.fetch_add(1, Ordering::Relaxed),
        };
        // Looked up before it is inserted: the actor's name is cloned once a session.
        let mut known = match self.actors.get_mut(actor) {
            Some(known) => known,
            None => self.actors.entry(actor.clone()).or_default(),
        };
        if let Some(known) = known.get_mut(target) {
            let changed = known.seen != entry.seen || known.glimpse != entry.glimpse;
            *known = entry;
            return changed;
        }
        if known.len() >= MOST_TARGETS {
            drop_oldest(&mut known);
        }
        known.insert(target.clone(), entry);
        true
    }

    /// Appends to the log, where there is one; no lock of the ledger's own may be held.
    fn note(&self, record: impl FnOnce() -> Record) {
        if let Some(journal) = &self.journal {
            journal.append(&record(), || self.records());
        }
    }

    fn replay(&self, record: Record) {
        match record {
            Record::Saw {
                actor,
                target,
                file,
                glimpse,
                own,
            } => {
                let seen = File::seen(file);
                if let (true, Seen::Present { version, .. }) = (own, &seen) {
                    self.writers.wrote(&actor, &target, version);
                }
                self.put(&actor, &target, seen, glimpse);
            }
            Record::Wrote {
                actor,
                target,
                version,
            } => self.writers.wrote(&actor, &target, &version),
            Record::Forgot {
                actor,
                target: None,
            } => {
                self.actors.remove(&actor);
            }
            Record::Forgot {
                actor,
                target: Some(target),
            } => {
                if let Some(mut known) = self.actors.get_mut(&actor) {
                    known.remove(&target);
                }
            }
            Record::Forked { from, to } => self.copy(&from, &to),
            Record::Began { .. } => {}
        }
    }

    /// Returns all there is to know, as few records; the newest ones last.
    fn records(&self) -> Vec<Record> {
        let mut entries: Vec<(u64, Record)> = Vec::new();
        for known in &self.actors {
            entries.extend(known.iter().map(|(target, entry)| {
                let record = Record::Saw {
                    actor: known.key().clone(),
                    target: target.clone(),
                    file: File::of(&entry.seen),
                    glimpse: entry.glimpse,
                    own: false,
                };
                (entry.at, record)
            }));
        }
        entries.sort_by_key(|(at, _)| *at);
        let newest = entries.len().saturating_sub(MOST_RECORDS);
        let wrote = self.writers.all().into_iter();
        let wrote = wrote.map(|(target, actor, version)| Record::Wrote {
            actor,
            target,
            version,
        });
        let began = self.began.iter().cloned();
        began
            .chain(wrote)
            .chain(entries.drain(newest..).map(|(_, record)| record))
            .collect()
    }
}

/// Makes room: an eighth goes at once, so that the search for the oldest is rare.
fn drop_oldest(known: &mut HashMap<TargetKey, Entry>) {
    let mut times: Vec<u64> = known.values().map(|entry| entry.at).collect();
    let (_, kept_from, _) = times.select_nth_unstable(MOST_TARGETS / 8);
    let kept_from = *kept_from;
    known.retain(|_, entry| entry.at >= kept_from);
}

/// Returns the lines of the new text that a diff shows.
fn lines_of(diff: &Diff) -> LineSet {
    let mut shown = LineSet::new();
    for hunk in &diff.hunks {
        let mut line = hunk.new_start + u64::from(hunk.new_lines == 0);
        for row in &hunk.lines {
            if row.kind != DiffLineKind::Removed {
                shown.insert(line, line);
                line += 1;
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
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
}
