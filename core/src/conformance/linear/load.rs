//! The load: clients that do random things to a few files at once, and write down what they hear.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::try_join_all;
use tokio::sync::Barrier;
use tokio::task::yield_now;

use super::history::{Answer, Asked, Call, Guard, History, Text};
use crate::capabilities::{Atomicity, Capabilities, Guarding};
use crate::conformance::concurrency::Append;
use crate::conformance::random::Random;
use crate::conformance::{Failure, cut};
use crate::context::CallContext;
use crate::error::{ErrorCode, FsError, Result as FsResult, Snapshot};
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::options::{EditOptions, ReadOptions, RemoveOptions, TransferOptions, WriteOptions};
use crate::target::Target;
use crate::version::{ContentHash, Expected, Version};

/// A clock that all clients of a history share, and that never gives one moment twice in a client.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Returns the clock of a single process: it counts how often it was looked at.
pub fn counting() -> Clock {
    let count = AtomicU64::new(0);
    Arc::new(move || count.fetch_add(1, Ordering::SeqCst))
}

/// What the file holds with which a history begins.
const START: &str = "start\n";

/// A text that is written again and again, so that bytes come back.
const AGAIN: &str = "again\n";

/// How many polls a call gets at the most that is dropped.
const MOST_POLLS: usize = 6;

/// How long a call may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How many clients do how much to how many files.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many clients there are.
    pub clients: usize,
    /// How many calls each of them makes.
    pub calls: usize,
    /// How many files there are; the first one exists.
    pub files: usize,
    /// Whether files are moved over each other, where that is one step.
    pub renames: bool,
    /// How many of a hundred calls are dropped before they are done.
    pub drops: u32,
    /// Whether other processes work on the same storage, where locks in this one say nothing.
    pub shared: bool,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            clients: 4,
            calls: 6,
            files: 2,
            renames: true,
            drops: 5,
            shared: false,
        }
    }
}

impl Load {
    /// Makes one history over a file system, in a folder that nobody else uses.
    ///
    /// # Errors
    /// An answer that breaks the contract whatever the others are.
    pub async fn run(
        self,
        fs: &Arc<dyn FileSystem>,
        folder: &str,
        seed: u64,
    ) -> Result<History, Failure> {
        let clock = counting();
        let mut history = self.begin(&**fs, folder).await?;
        let start = Arc::new(Barrier::new(self.clients));
        let clients = (0..self.clients).map(|client| {
            let (fs, folder) = (Arc::clone(fs), folder.to_owned());
            let (clock, start) = (Arc::clone(&clock), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                self.client(&*fs, &folder, client, seed, &clock).await
            })
        });
        let calls = try_join_all(clients)
            .await
            .map_err(|panic| Failure::new(format!("a client of a history ended by {panic}")))?;
        for calls in calls {
            history.calls.extend(calls?);
        }
        self.end(&**fs, folder, &clock, &mut history).await?;
        Ok(history)
    }

    /// Puts what a history begins with.
    ///
    /// # Errors
    /// If it cannot be put.
    pub async fn begin(self, fs: &dyn FileSystem, folder: &str) -> Result<History, Failure> {
        let first = fs.target(&path(folder, 0)).await?;
        until_known(|| fs.write_all(&first, Bytes::from_static(START.as_bytes()), Expected::Any))
            .await?;
        let mut files = vec![None; self.files];
        files[0] = Some(Text::from(START));
        Ok(History {
            files,
            calls: Vec::new(),
        })
    }

    /// Does what one client does, and returns its calls.
    ///
    /// # Errors
    /// An answer that breaks the contract whatever the others are.
    pub async fn client(
        self,
        fs: &dyn FileSystem,
        folder: &str,
        client: usize,
        seed: u64,
        clock: &Clock,
    ) -> Result<Vec<Call>, Failure> {
        let mut targets = Vec::new();
        for file in 0..self.files {
            targets.push(fs.target(&path(folder, file)).await?);
        }
        let salt = u64::try_from(client).unwrap_or_default() << 48;
        let mut client = Client {
            can: fs.capabilities(Some(&targets[0])),
            fs,
            load: self,
            number: client,
            seen: vec![None; self.files],
            targets,
            random: Random::seeded(seed ^ salt),
        };
        let mut calls = Vec::new();
        for number in 0..self.calls {
            for _ in 0..client.random.below(3) {
                yield_now().await;
            }
            calls.push(client.call(number, clock).await?);
        }
        Ok(calls)
    }

    /// Reads every file once more, when all clients are done.
    ///
    /// # Errors
    /// As [`Load::client`].
    pub async fn end(
        self,
        fs: &dyn FileSystem,
        folder: &str,
        clock: &Clock,
        history: &mut History,
    ) -> Result<(), Failure> {
        for file in 0..self.files {
            let target = fs.target(&path(folder, file)).await?;
            let begun = clock();
            let answer = until_known(|| async {
                match fs.read_all(&target).await {
                    Ok(seen) => Ok(Some(seen)),
                    Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
                    Err(error) => Err(error),
                }
            })
            .await?;
            history.calls.push(Call {
                client: self.clients,
                file,
                asked: Asked::Read,
                answer: Answer::Found(answer.as_ref().map(|seen| text(&seen.bytes))),
                begun,
                ended: clock(),
            });
        }
        Ok(())
    }
}

fn path(folder: &str, file: usize) -> String {
    format!("{folder}/{file}")
}

/// Repeats a call that may be repeated, on storage where some calls fail.
async fn until_known<T, F>(call: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = FsResult<T>>,
{
    const TRIES: usize = 20;
    for _ in 1..TRIES {
        match call().await {
            Err(error) if excuse(error.code()) => {}
            Err(error) if error.code() == ErrorCode::OutcomeUnknown => {}
            answer => return Ok(answer?),
        }
    }
    Ok(call().await?)
}

/// Returns whether a code says that the call had no effect for a reason that is not its guard's.
const fn excuse(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Busy
            | ErrorCode::Timeout
            | ErrorCode::Aborted
            | ErrorCode::IoError
            | ErrorCode::NoSpace
    )
}

/// Text that no client writes is shown as it is: no order will explain it.
fn text(bytes: &[u8]) -> Text {
    Text::from(String::from_utf8_lossy(bytes))
}

/// What a client knows of a file: its text and the version it came with.
type Seen = Option<(Text, Version)>;

struct Client<'a> {
    fs: &'a dyn FileSystem,
    can: Capabilities,
    load: Load,
    number: usize,
    seen: Vec<Seen>,
    targets: Vec<Target>,
    random: Random,
}

impl fmt::Debug for Client<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client<'_> {
    /// Makes one random call.
    async fn call(&mut self, number: usize, clock: &Clock) -> Result<Call, Failure> {
        // Most calls are on the first file, where they meet.
        let file = match self.random.percent(60) {
            true => 0,
            false => self.random.below(self.load.files),
        };
        let (asked, guards) = self.ask(file, number);
        let polls = match self.random.percent(self.load.drops) {
            true => 1 + self.random.below(MOST_POLLS),
            false => usize::MAX,
        };
        let begun = clock();
        let made = cut(self.make(file, &asked, guards), polls).await;
        let ended = clock();
        let answer = match made {
            // A read that was dropped tells nothing, and a mutation may still be made.
            None if asked == Asked::Read => Answer::Failed(ErrorCode::Aborted),
            None => Answer::Unknown,
            Some(made) => self.hear(file, &asked, made)?,
        };
        Ok(Call {
            client: self.number,
            file,
            ended: match answer {
                Answer::Unknown => u64::MAX,
                _ => ended,
            },
            asked,
            answer,
            begun,
        })
    }

    /// Thinks of a call, and of the guards to make it with.
    fn ask(&mut self, file: usize, number: usize) -> (Asked, (Expected, Expected)) {
        let unique = format!("{}.{number}\n", self.number);
        match self.random.below(20) {
            0..5 => (Asked::Read, Default::default()),
            5..10 => {
                let again = self.random.percent(25);
                let text = if again { AGAIN } else { &unique };
                let (guard, expected) = self.guard(file, true);
                (
                    Asked::Write(Text::from(text), guard),
                    (expected, Expected::Any),
                )
            }
            10..16 => {
                let (guard, expected) = self.guard(file, false);
                (
                    Asked::Append(Text::from(unique), guard),
                    (expected, Expected::Any),
                )
            }
            16..18 => {
                let unguarded = (Expected::Any, Expected::Any);
                match self.can.guarded_remove {
                    Guarding::None if self.load.shared => (Asked::Delete, unguarded),
                    Guarding::None => (Asked::Remove(Guard::Any), unguarded),
                    Guarding::InProcess | Guarding::Atomic => {
                        let (guard, expected) = self.guard(file, false);
                        (Asked::Remove(guard), (expected, Expected::Any))
                    }
                }
            }
            _ if !self.moves() => (Asked::Read, Default::default()),
            _ => {
                let to = (file + 1) % self.load.files;
                let (source, from) = self.guard(file, false);
                let (destination, onto) = self.guard(to, true);
                let asked = Asked::Rename {
                    to,
                    source,
                    destination,
                };
                (asked, (from, onto))
            }
        }
    }

    fn moves(&self) -> bool {
        self.load.renames && self.load.files > 1 && self.can.rename == Atomicity::Atomic
    }

    /// Chooses a guard: what was last seen of the file, absence where that can hold, or none.
    fn guard(&mut self, file: usize, absent: bool) -> (Guard, Expected) {
        match (&self.seen[file], self.random.below(10)) {
            (Some((text, version)), 0..6) => (
                Guard::Holds(Text::clone(text)),
                Expected::Version(version.clone()),
            ),
            (None, 0..5) | (Some(_), 6) if absent => (Guard::Absent, Expected::Absent),
            _ => (Guard::Any, Expected::Any),
        }
    }

    /// Makes a call.
    async fn make(
        &self,
        file: usize,
        asked: &Asked,
        (expected, onto): (Expected, Expected),
    ) -> FsResult<Made> {
        let (fs, target) = (self.fs, &self.targets[file]);
        let context = &CallContext::default().within(LIMIT);
        match asked {
            Asked::Read => {
                let options = ReadOptions::default().in_context(context);
                let outcome = fs.read(target, options).await?;
                Ok(Made::Read(outcome.body.collect().await?))
            }
            Asked::Write(text, _) => {
                let options = WriteOptions::expecting(expected).in_context(context);
                let bytes = Bytes::copy_from_slice(text.as_bytes());
                let outcome = fs.write(target, bytes.clone(), options).await?;
                Ok(Made::Changed {
                    created: outcome.created,
                    before: outcome.before,
                    after: Some(bytes),
                    version: Some(outcome.version),
                })
            }
            Asked::Append(text, _) => {
                let options = EditOptions::expecting(expected).in_context(context);
                let transform = Arc::new(Append(Text::clone(text)));
                let outcome = fs.edit(target, transform, options).await?;
                Ok(Made::Changed {
                    created: false,
                    after: Some(outcome.after()),
                    before: Some(outcome.before),
                    version: Some(outcome.version),
                })
            }
            Asked::Remove(_) | Asked::Delete => {
                let options = RemoveOptions {
                    context: context.clone(),
                    expected,
                };
                fs.remove(target, options).await?;
                Ok(Made::gone(false, None))
            }
            Asked::Rename { to, .. } => {
                let options = TransferOptions {
                    context: context.clone(),
                    source: expected,
                    destination: onto,
                };
                let outcome = fs.rename(target, &self.targets[*to], options).await?;
                Ok(Made::gone(outcome.created, outcome.version))
            }
        }
    }

    /// Notes an answer, and keeps what it says of the file.
    fn hear(
        &mut self,
        file: usize,
        asked: &Asked,
        made: FsResult<Made>,
    ) -> Result<Answer, Failure> {
        match made {
            Ok(Made::Read(seen)) => {
                let found = self.saw(file, &seen)?;
                Ok(Answer::Found(Some(found)))
            }
            Ok(Made::Changed {
                created,
                before,
                after,
                version,
            }) => {
                self.seen[file] = None;
                if let (Some(bytes), Some(version)) = (after, version) {
                    self.saw(file, &Snapshot { bytes, version })?;
                }
                Ok(Answer::Done {
                    created,
                    before: before.map(|before| text(&before)),
                })
            }
            Err(error) => self.refused(file, asked, &error),
        }
    }

    fn refused(&mut self, file: usize, asked: &Asked, error: &FsError) -> Result<Answer, Failure> {
        let rename = matches!(asked, Asked::Rename { .. });
        match error.code() {
            ErrorCode::NotFound if *asked == Asked::Read => Ok(Answer::Found(None)),
            code @ (ErrorCode::NotFound | ErrorCode::AlreadyExists | ErrorCode::StaleVersion) => {
                // What is attached to the error of a rename may be of either file.
                let current = match error.current().filter(|_| !rename) {
                    Some(current) => Some(self.saw(file, current)?),
                    None => None,
                };
                Ok(Answer::Refused { code, current })
            }
            ErrorCode::OutcomeUnknown => Ok(Answer::Unknown),
            code if excuse(code) => Ok(Answer::Failed(code)),
            _ => Err(Failure::new(format!("{asked:?} was answered by {error}"))),
        }
    }

    /// Keeps a text with its version, which must be of exactly this text.
    fn saw(&mut self, file: usize, seen: &Snapshot) -> Result<Text, Failure> {
        let hash = ContentHash::of(&seen.bytes);
        let text = text(&seen.bytes);
        if seen.version.hash().is_some_and(|named| named != hash) {
            return Err(Failure::new(format!(
                "the version {} came with {text:?}, whose hash is {}",
                seen.version,
                hash.to_hex()
            )));
        }
        self.seen[file] = Some((Text::clone(&text), seen.version.clone()));
        Ok(text)
    }
}

/// What a call gave.
#[derive(Debug)]
enum Made {
    Read(Snapshot),
    Changed {
        created: bool,
        before: Option<Bytes>,
        after: Option<Bytes>,
        version: Option<Version>,
    },
}

impl Made {
    /// A file that is not at its place any more.
    const fn gone(created: bool, version: Option<Version>) -> Self {
        Self::Changed {
            created,
            before: None,
            after: None,
            version,
        }
    }
}
