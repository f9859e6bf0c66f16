//! The log: how a ledger lasts, as records that a host appends somewhere.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use seamfs_core::gate::Part;
use seamfs_core::{Actor, Result, TargetKey, Version};
use serde::{Deserialize, Serialize};

use crate::ledger::{Detail, Seen};
use crate::lines::Lines;

/// Where a ledger's records are kept; a host brings one, or uses the session file of the facade.
///
/// Records are single lines of text. A log may lose the last records when a process is killed, but
/// it never gives back one that was not appended, nor a part of one.
pub trait Log: Debug + Send + Sync + 'static {
    /// Returns every record, oldest first.
    ///
    /// # Errors
    /// What keeps the log from being read; the ledger then does not open.
    fn load(&self) -> Result<Vec<String>>;

    /// Adds a record.
    ///
    /// # Errors
    /// What kept it from being added; the call that was recorded has succeeded all the same.
    fn append(&self, record: &str) -> Result<()>;

    /// Replaces all records at once: a crash leaves the old ones or the new ones.
    ///
    /// # Errors
    /// What kept them from being replaced; the old ones then stand.
    fn replace(&self, records: &[String]) -> Result<()>;
}

/// One record, as it is written. Keys are short: there is one for each call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Record {
    /// What follows is of this workspace, kept so closely.
    Began { workspace: String, detail: Detail },
    /// An actor saw a file, or that there is none.
    Saw {
        actor: Actor,
        target: TargetKey,
        /// None where nothing was there.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        file: Option<File>,
        /// Lines were shown in passing only.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        glimpse: bool,
        /// The actor wrote these bytes itself.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        own: bool,
    },
    /// An actor wrote a version, whatever it has seen since.
    Wrote {
        actor: Actor,
        target: TargetKey,
        version: Version,
    },
    /// An actor forgot a target, or all of them.
    Forgot {
        actor: Actor,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        target: Option<TargetKey>,
    },
    /// An actor began with what another one knew.
    Forked { from: Actor, to: Actor },
}

/// A file as an actor saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    version: Version,
    /// None where all lines were shown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    lines: Option<Shown>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    whole: Vec<(u64, u64)>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    parts: Vec<Part>,
    total: u64,
}

impl File {
    pub(crate) fn of(seen: &Seen) -> Option<Self> {
        match seen {
            Seen::Absent => None,
            Seen::Present { version, lines } => Some(Self {
                version: version.clone(),
                lines: match lines {
                    Lines::All => None,
                    Lines::Some(some) => Some(Shown {
                        whole: some
                            .whole
                            .ranges()
                            .iter()
                            .map(|range| (range.start, range.end))
                            .collect(),
                        parts: some.parts.clone(),
                        total: some.total,
                    }),
                },
            }),
        }
    }

    pub(crate) fn seen(file: Option<Self>) -> Seen {
        match file {
            None => Seen::Absent,
            Some(Self { version, lines }) => Seen::Present {
                version,
                lines: lines.map_or(Lines::All, |shown| {
                    let whole = shown.whole.iter().map(|(start, end)| *start..=*end);
                    Lines::some(whole.collect(), shown.parts, shown.total)
                }),
            },
        }
    }
}

/// How many bytes of records are appended before the log is made short again.
const ROOM: usize = 1 << 20;

/// How many times its length when it was last made short a log may have.
const GROWTH: usize = 4;

/// What a log holds, read and not yet in a ledger.
#[derive(Debug)]
pub struct Past {
    pub(crate) journal: Journal,
    pub(crate) records: Vec<Record>,
}

impl Past {
    /// Reads a log.
    ///
    /// # Errors
    /// What keeps the log from being read.
    pub fn load(log: Arc<dyn Log>) -> Result<Self> {
        let journal = Journal::new(log);
        let records = journal.load()?;
        Ok(Self { journal, records })
    }
}

/// Keeps a log in step with a ledger.
#[derive(Debug)]
pub(crate) struct Journal {
    log: Arc<dyn Log>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes after the log was last made short, and since.
    short: usize,
    appended: usize,
    /// A record was lost, so that only a whole new log is in step again.
    broken: bool,
}

impl Journal {
    fn new(log: Arc<dyn Log>) -> Self {
        Self {
            log,
            state: Mutex::default(),
        }
    }

    /// Reads all records; those that this version does not know are left out, with a warning.
    fn load(&self) -> Result<Vec<Record>> {
        let texts = self.log.load()?;
        let mut state = self.state();
        state.short = texts.iter().map(String::len).sum();
        let records = texts.iter().filter_map(|text| {
            let record = serde_json::from_str(text);
            record
                .inspect_err(|error| tracing::warn!(%error, "a record of the ledger is left out"))
                .ok()
        });
        Ok(records.collect())
    }

    /// Appends a record, or makes the log short with `all` there is to know.
    ///
    /// What was recorded has happened: a log that fails is logged, and tried again whole.
    pub(crate) fn append(&self, record: &Record, all: impl FnOnce() -> Vec<Record>) {
        let text = text_of(record);
        let mut state = self.state();
        let outcome = match state.broken {
            true => Ok(()),
            false => self.log.append(&text),
        };
        if let Err(error) = outcome {
            tracing::error!(%error, "a record of the ledger could not be kept");
            state.broken = true;
            return;
        }
        state.appended += text.len();
        if state.broken || state.appended > ROOM.max(state.short * GROWTH) {
            self.shorten(&mut state, &all());
        }
    }

    /// Makes the log short.
    pub(crate) fn rewrite(&self, all: impl FnOnce() -> Vec<Record>) {
        let mut state = self.state();
        self.shorten(&mut state, &all());
    }

    fn shorten(&self, state: &mut State, all: &[Record]) {
        let texts: Vec<String> = all.iter().map(text_of).collect();
        match self.log.replace(&texts) {
            Ok(()) => {
                *state = State {
                    short: texts.iter().map(String::len).sum(),
                    ..State::default()
                };
            }
            // Not at once again: every call would try.
            Err(error) => {
                tracing::error!(%error, "the ledger's log could not be made short");
                state.appended = 0;
            }
        }
    }

    /// A panic while holding this lock at worst loses a record.
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text_of(record: &Record) -> String {
    serde_json::to_string(record).expect("a record is plain data")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use seamfs_core::{ErrorCode, FsError};

    use super::*;

    /// Keeps records in memory, while it can.
    #[derive(Debug, Default)]
    pub(crate) struct Shelf {
        records: Mutex<Vec<String>>,
        full: AtomicBool,
    }

    impl Shelf {
        fn check(&self) -> Result<()> {
            match self.full.load(Ordering::Relaxed) {
                true => Err(FsError::new(ErrorCode::IoError, "no room")),
                false => Ok(()),
            }
        }

        pub(crate) fn texts(&self) -> Vec<String> {
            self.records.lock().unwrap().clone()
        }
    }

    impl Log for Shelf {
        fn load(&self) -> Result<Vec<String>> {
            Ok(self.texts())
        }

        fn append(&self, record: &str) -> Result<()> {
            self.check()?;
            self.records.lock().unwrap().push(record.to_owned());
            Ok(())
        }

        fn replace(&self, records: &[String]) -> Result<()> {
            self.check()?;
            *self.records.lock().unwrap() = records.to_vec();
            Ok(())
        }
    }

    fn forgot(actor: &str) -> Record {
        Record::Forgot {
            actor: Actor::new(actor),
            target: None,
        }
    }

    fn texts(records: &[Record]) -> Vec<String> {
        records.iter().map(text_of).collect()
    }

    #[test]
    fn a_log_that_failed_is_written_whole_as_soon_as_it_can_be() {
        let shelf = Arc::new(Shelf::default());
        let journal = Journal::new(Arc::clone(&shelf) as Arc<dyn Log>);
        let never = || -> Vec<Record> { panic!("nothing is to be written whole") };
        let all = [forgot("a"), forgot("b"), forgot("c"), forgot("d")];
        journal.append(&all[0], never);
        shelf.full.store(true, Ordering::Relaxed);
        journal.append(&all[1], never);
        journal.append(&all[2], || all[..3].to_vec());
        assert_eq!(
            shelf.texts(),
            texts(&all[..1]),
            "nothing, and no part of it"
        );
        shelf.full.store(false, Ordering::Relaxed);
        journal.append(&all[3], || all.to_vec());
        assert_eq!(shelf.texts(), texts(&all), "no gap where the log failed");
        journal.append(&all[0], never);
        assert_eq!(shelf.texts().len(), 5, "then records are added again");
    }

    #[test]
    fn a_record_of_another_kind_is_left_out_and_the_rest_is_read() {
        let shelf = Arc::new(Shelf::default());
        let journal = Journal::new(Arc::clone(&shelf) as Arc<dyn Log>);
        let known = [forgot("a"), forgot("b")];
        shelf.append(&text_of(&known[0])).unwrap();
        shelf.append(r#"{"dreamt":{"actor":"a"}}"#).unwrap();
        shelf.append(&text_of(&known[1])).unwrap();
        assert_eq!(journal.load().unwrap(), known);
    }
}
