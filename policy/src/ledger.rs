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
mod tests;
