//! Faults: doubles that break the contract in one way each, so that claims can show their worth.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use seamfs::core::gate::{
    self, Current, Explanation, GateFacts, Intent, Observed, Refusal, Rule, Ruling, Shown,
};
use seamfs::core::{
    Body, EditOptions, EditOutcome, Entry, ListOptions, Listing, Metadata, Operation, ReadOptions,
    ReadOutcome, ResolveOptions, StatOptions, TargetKey, Transform, WriteOptions, WriteOutcome,
};
use seamfs::policy::Observation;
use seamfs::{
    Actor, CallContext, ErrorCode, Expected, FileSystem, FileSystemExt, FsError, Result, Target,
    ToolResult, Version,
};
use serde_json::{Value, json};

use super::double::{Double, Hooks};

macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident,)*) => {
        /// One way to break the contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Fault {
            $($(#[$doc])* $fault,)*
        }

        impl Fault {
            /// Every fault.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$fault,)*];
        }
    };
}

faults! {
    // A file system that …
    IgnoresGuards,
    MatchesBeforeGuard,
    SaysNotFoundForStale,
    NormalisesEndings,
    DropsBom,
    AddsFinalNewline,
    StripsTrailingBlanks,
    ReturnsWrongVersion,
    ReadsWrongVersion,
    ProbesAfterPublishing,
    CachesReads,
    NamesRangesByOldVersion,
    NamesNoRanges,
    WritesNothing,
    ForgetsRest,
    TouchesOnNoOp,
    LosesRaces,
    EscapesTheRoot,
    AcceptsTrailingSlash,
    KeysBySpelling,
    SaysNotFoundForNotDirectory,
    ListsNothing,
    TruncatesWhenFull,
    IgnoresWithdrawal,
    ReadsBinary,
    OverwritesFolders,
    ResolvesRelativeToRoot,
    ForgetsParents,
    // An observation policy that …
    NeverRecords,
    SharesActors,
    NoticesNoAbsence,
    NeverExplains,
    ExplainsWithoutRecording,
    ForgetsOwnMutations,
    NeverForgets,
    DescribesNothing,
    NeedsWholeReads,
    AllowsUnseen,
    AuthorisesByAbsence,
    RecordsEveryFailure,
    LetsWritesPass,
    // A tool that …
    InterpretsEscapes,
    TrimsNewText,
    TrimsOldText,
    FillsInEmptyText,
    DoublesNewlines,
    IgnoresReplaceAll,
    NeverReplacesAll,
    IgnoresOffset,
    ClampsRows,
    IgnoresUnknownArguments,
    CoercesArguments,
    CoercesPaths,
    IgnoresNul,
    SaysNoRemedy,
    SaysNothing,
    DropsDetails,
    DropsNotes,
    DropsCards,
    EchoesArguments,
    ForgesRows,
    MiscountsLines,
    HidesFooter,
    PadsRows,
    CutsEarly,
    EmptiesStructured,
    SpeaksOfOldString,
    ClipsNever,
    ShowsBom,
    RetabsText,
    ShowsLeaks,
    LosesThePath,
}

/// The file systems.
impl Fault {
    pub(crate) fn over_storage(self, fs: Arc<dyn FileSystem>) -> Arc<dyn FileSystem> {
        let hooks = BrokenStorage {
            fault: self,
            cache: Mutex::default(),
            versions: Mutex::default(),
        };
        Double::over(fs, hooks)
    }

    /// Returns what is stored in place of the bytes that should be.
    fn spoil(self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::NormalisesEndings => Some(replaced(bytes, "\r\n", "\n")),
            Self::DropsBom => bytes.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec),
            Self::AddsFinalNewline if !bytes.ends_with(b"\n") => Some([bytes, b"\n"].concat()),
            Self::StripsTrailingBlanks => Some(replaced(bytes, " \t", "")),
            Self::WritesNothing => Some(Vec::new()),
            Self::ForgetsRest => Some(bytes[..bytes.len().min(64)].to_vec()),
            _ => None,
        }
        .filter(|spoiled| spoiled != bytes)
    }
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.replace(from, to).into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}

#[derive(Debug)]
struct BrokenStorage {
    fault: Fault,
    cache: Mutex<HashMap<String, Bytes>>,
    /// The version that each file had when it was first read whole.
    versions: Mutex<HashMap<String, Version>>,
}

impl BrokenStorage {
    /// Returns the target as the storage beneath knows it.
    fn sound(&self, target: &Target) -> Target {
        let key = target.key().as_str();
        let key = key.split_once('#').map_or(key, |(key, _)| key);
        Target::new(TargetKey::new(key), target.display())
    }

    async fn spoil_stored(&self, fs: &dyn FileSystem, target: &Target) -> Result<()> {
        let stored = fs.read_all(target).await?;
        if let Some(spoiled) = self.fault.spoil(&stored.bytes) {
            fs.write_all(target, Bytes::from(spoiled), Expected::Any)
                .await?;
        }
        Ok(())
    }

    fn guard(&self, expected: &mut Expected, context: &mut CallContext) {
        if self.fault == Fault::IgnoresGuards {
            *expected = Expected::Any;
        }
        if self.fault == Fault::IgnoresWithdrawal {
            context.cancellation = Default::default();
        }
    }

    fn recode(&self, error: FsError) -> FsError {
        match (self.fault, error.code()) {
            (Fault::SaysNotFoundForStale, ErrorCode::StaleVersion) => {
                error.recast(ErrorCode::NotFound, "no such file")
            }
            (Fault::SaysNotFoundForNotDirectory, ErrorCode::NotDirectory) => {
                error.recast(ErrorCode::NotFound, "no such file")
            }
            _ => error,
        }
    }

    async fn reported(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        version: Version,
    ) -> Result<Version> {
        Ok(match self.fault {
            Fault::ReturnsWrongVersion => Version::of(b"other bytes"),
            Fault::ProbesAfterPublishing => fs.read_all(target).await?.version,
            _ => version,
        })
    }
}

#[async_trait]
impl Hooks for BrokenStorage {
    async fn resolve(
        &self,
        fs: &dyn FileSystem,
        path: &str,
        cwd: &str,
        options: ResolveOptions,
    ) -> Result<Target> {
        let fault = self.fault;
        let (path_given, cwd) = match fault {
            Fault::AcceptsTrailingSlash if path.len() > 1 => (path.trim_end_matches('/'), cwd),
            Fault::ResolvesRelativeToRoot => (path, ""),
            _ => (path, cwd),
        };
        let found = fs.resolve(path_given, cwd, options.clone()).await;
        match found {
            Err(error)
                if fault == Fault::EscapesTheRoot && error.code() == ErrorCode::SandboxDenied =>
            {
                let name = path.rsplit(['/', ':']).next().unwrap_or("x");
                fs.resolve(&format!("outside-{name}"), "", options).await
            }
            Err(error) => Err(self.recode(error)),
            Ok(target) if fault == Fault::KeysBySpelling => Ok(Target::new(
                TargetKey::new(format!("{}#{path}", target.key().as_str())),
                target.display(),
            )),
            Ok(target) => Ok(target),
        }
    }

    async fn stat(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: StatOptions,
    ) -> Result<Option<Metadata>> {
        fs.stat(&self.sound(target), options).await
    }

    async fn read(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: ReadOptions,
    ) -> Result<ReadOutcome> {
        let target = self.sound(target);
        let whole = options.range.is_none();
        let mut outcome = fs
            .read(&target, options)
            .await
            .map_err(|error| self.recode(error))?;
        match self.fault {
            Fault::ReadsWrongVersion => {
                let read = outcome.body.collect().await?;
                outcome.body = Body::Whole {
                    bytes: read.bytes,
                    version: Some(Version::of(b"other bytes")),
                };
            }
            Fault::CachesReads => {
                let read = outcome.body.collect().await?;
                let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
                let bytes = cache
                    .entry(target.display().to_owned())
                    .or_insert(read.bytes);
                outcome.body = Body::Whole {
                    version: Some(Version::of(bytes)),
                    bytes: bytes.clone(),
                };
            }
            Fault::NamesRangesByOldVersion => {
                let read = outcome.body.collect().await?;
                let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
                let first = versions
                    .entry(target.display().to_owned())
                    .or_insert_with(|| read.version.clone());
                let version = if whole { read.version } else { first.clone() };
                outcome.body = Body::Whole {
                    bytes: read.bytes,
                    version: Some(version),
                };
            }
            Fault::NamesNoRanges if !whole => {
                let read = outcome.body.collect().await?;
                outcome.body = Body::Whole {
                    bytes: read.bytes,
                    version: None,
                };
            }
            Fault::ReadsBinary => {
                let read = outcome.body.collect().await?;
                let text = String::from_utf8_lossy(&read.bytes).replace('\0', "?");
                outcome.body = Body::Whole {
                    bytes: Bytes::from(text),
                    version: Some(read.version),
                };
            }
            _ => {}
        }
        Ok(outcome)
    }

    async fn list(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: ListOptions,
    ) -> Result<Listing> {
        let listing = fs.list(&self.sound(target), options).await?;
        let mut entries: Vec<Entry> = listing.try_collect().await?;
        if self.fault == Fault::ListsNothing {
            entries.clear();
        }
        Ok(stream::iter(entries.into_iter().map(Ok)).boxed())
    }

    async fn write(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        bytes: Bytes,
        mut options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let target = &self.sound(target);
        self.guard(&mut options.expected, &mut options.context);
        if self.fault == Fault::ForgetsParents {
            let folder = target
                .display()
                .rsplit_once('/')
                .map_or("/", |(folder, _)| folder);
            if !folder.is_empty() {
                let folder = fs.target(folder).await?;
                if fs.stat(&folder, StatOptions::default()).await?.is_none() {
                    return Err(FsError::new(ErrorCode::NotFound, "no such folder"));
                }
            }
        }
        if self.fault == Fault::LosesRaces
            && let Expected::Version(version) = &options.expected
            && version.certifies(&fs.read_all(target).await?.version)
        {
            tokio::task::yield_now().await;
            options.expected = Expected::Any;
        }
        let written = fs.write(target, bytes, options).await;
        match (self.fault, &written) {
            (Fault::TruncatesWhenFull, Err(error)) if error.code() == ErrorCode::NoSpace => {
                fs.write_all(target, Bytes::new(), Expected::Any).await?;
            }
            (Fault::OverwritesFolders, Err(error)) if error.code() == ErrorCode::NotRegularFile => {
                return Ok(WriteOutcome {
                    created: true,
                    version: Version::of(b""),
                    before: None,
                    notes: Vec::new(),
                });
            }
            _ => {}
        }
        let mut outcome = written.map_err(|error| self.recode(error))?;
        self.spoil_stored(fs, target).await?;
        outcome.version = self.reported(fs, target, outcome.version).await?;
        Ok(outcome)
    }

    async fn edit(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        transform: Arc<dyn Transform>,
        mut options: EditOptions,
    ) -> Result<EditOutcome> {
        let target = &self.sound(target);
        self.guard(&mut options.expected, &mut options.context);
        if self.fault == Fault::MatchesBeforeGuard {
            let mut unguarded = options.clone();
            unguarded.expected = Expected::Any;
            let seen = fs.read_all(target).await?;
            let text = seamfs::core::text::Text::decode(&seen.bytes)
                .map_err(seamfs::core::cas::not_text)?;
            transform.plan(&text, &seen.version)?;
        }
        if self.fault == Fault::LosesRaces {
            let seen = fs.read_all(target).await?;
            let attempt = seamfs::core::cas::attempt(Some(&seen), &*transform, &options.expected)?;
            tokio::task::yield_now().await;
            if let seamfs::core::cas::Attempt::Publish(edit) = attempt {
                let after = Bytes::from(edit.splices.apply(&seen.bytes));
                let written = fs.write_all(target, after, Expected::Any).await?;
                return Ok(EditOutcome {
                    version: written.version,
                    before: seen.bytes,
                    notes: edit.notes.clone(),
                    edit,
                });
            }
        }
        let mut outcome = fs
            .edit(target, transform, options)
            .await
            .map_err(|error| self.recode(error))?;
        if self.fault == Fault::TouchesOnNoOp && !outcome.changed() {
            fs.write_all(target, outcome.before.clone(), Expected::Any)
                .await?;
        }
        self.spoil_stored(fs, target).await?;
        outcome.version = self.reported(fs, target, outcome.version).await?;
        Ok(outcome)
    }
}

/// The policies.
impl Fault {
    pub(crate) fn over_rule(self, sound: Observation) -> Arc<dyn Rule> {
        Arc::new(BrokenRule { fault: self, sound })
    }
}

#[derive(Debug)]
struct BrokenRule {
    fault: Fault,
    sound: Observation,
}

impl BrokenRule {
    fn actor(&self, actor: &Actor) -> Actor {
        match self.fault {
            Fault::SharesActors => Actor::new("everybody"),
            _ => actor.clone(),
        }
    }
}

#[async_trait]
impl Rule for BrokenRule {
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling> {
        let actor = self.actor(intent.actor);
        let ruling = self
            .sound
            .decide(&Intent {
                actor: &actor,
                ..intent.clone()
            })
            .await;
        let unseen = self.sound.seen(&actor, intent.target.key()).is_none();
        match (self.fault, &ruling) {
            (Fault::AllowsUnseen, _) if unseen => Ok(Ruling::Pass),
            (Fault::AuthorisesByAbsence, Err(error)) if error.code() == ErrorCode::NotFound => {
                Ok(Ruling::Pass)
            }
            (Fault::LetsWritesPass, Ok(_)) if intent.operation != Operation::Edit => {
                Ok(Ruling::Pass)
            }
            _ => ruling,
        }
    }

    fn observed(&self, event: &Observed<'_>) {
        let absent = event.observation == gate::Observation::Absent;
        let whole = matches!(
            event.observation,
            gate::Observation::Present {
                shown: Shown::All,
                ..
            }
        );
        let ignored = match self.fault {
            Fault::NeverRecords => true,
            Fault::NoticesNoAbsence => absent,
            Fault::ForgetsOwnMutations => event.own,
            Fault::NeedsWholeReads => !absent && !whole && !event.own,
            _ => false,
        };
        if !ignored {
            let actor = self.actor(event.actor);
            self.sound.observed(&Observed {
                actor: &actor,
                ..event.clone()
            });
        }
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Option<Explanation> {
        match self.fault {
            Fault::NeverExplains => None,
            Fault::ExplainsWithoutRecording => {
                // What the sound rule recorded is undone by forgetting what it knew.
                let explained = self.sound.explain(refusal);
                let stale = Version::of(b"what was seen before");
                self.sound.observed(&Observed {
                    actor: refusal.actor,
                    target: refusal.target,
                    observation: gate::Observation::Present {
                        version: stale,
                        shown: Shown::All,
                    },
                    before: None,
                    after: None,
                    outline: None,
                    own: false,
                    edit: None,
                });
                explained
            }
            Fault::RecordsEveryFailure => {
                let explained = self.sound.explain(refusal);
                if let Some(Current::Whole(current)) = refusal.current {
                    self.sound.observed(&Observed {
                        actor: refusal.actor,
                        target: refusal.target,
                        observation: gate::Observation::Present {
                            version: current.version.clone(),
                            shown: Shown::All,
                        },
                        before: None,
                        after: Some(&current.bytes),
                        outline: None,
                        own: false,
                        edit: None,
                    });
                }
                explained
            }
            _ => self.sound.explain(refusal),
        }
    }

    fn forget(&self, actor: &Actor) {
        if self.fault != Fault::NeverForgets {
            self.sound.forget(actor);
        }
    }

    fn describe(&self, facts: &mut GateFacts) {
        if self.fault != Fault::DescribesNothing {
            self.sound.describe(facts);
        }
    }
}

/// The arguments that hold text to store.
const NEW_TEXTS: [&str; 4] = ["content", "new_string", "new_str", "file_text"];

/// Every argument there is.
const KNOWN: [&str; 14] = [
    "file_path",
    "content",
    "old_string",
    "new_string",
    "replace_all",
    "offset",
    "limit",
    "command",
    "path",
    "file_text",
    "old_str",
    "new_str",
    "insert_line",
    "view_range",
];

/// The tools.
impl Fault {
    pub(crate) fn spoil_arguments(self, args: &mut Value) {
        let Some(args) = args.as_object_mut() else {
            return;
        };
        match self {
            Self::InterpretsEscapes => {
                for text in texts_of(args) {
                    *text = text.replace("\\n", "\n").replace("\\t", "\t");
                }
            }
            Self::IgnoresNul => {
                for text in texts_of(args) {
                    *text = text.replace('\0', "");
                }
            }
            Self::TrimsNewText => {
                for text in texts_of(args) {
                    *text = text
                        .lines()
                        .map(str::trim_end)
                        .collect::<Vec<_>>()
                        .join("\n");
                }
            }
            Self::TrimsOldText => {
                for name in ["old_string", "old_str"] {
                    if let Some(text) = args.get(name).and_then(Value::as_str) {
                        args[name] = json!(text.trim());
                    }
                }
            }
            Self::FillsInEmptyText => {
                for name in ["old_string", "old_str"] {
                    if args.get(name) == Some(&json!("")) {
                        args[name] = json!("\n");
                    }
                }
            }
            Self::DoublesNewlines => {
                for text in texts_of(args) {
                    *text = text.replace('\n', "\n\n");
                }
            }
            Self::IgnoresReplaceAll if args.contains_key("old_string") => {
                args.insert("replace_all".to_owned(), json!(true));
            }
            Self::NeverReplacesAll => {
                args.remove("replace_all");
            }
            Self::IgnoresOffset => {
                args.remove("offset");
                args.remove("view_range");
            }
            Self::IgnoresUnknownArguments => {
                args.retain(|name, _| KNOWN.contains(&name.as_str()));
                if args.get("command") == Some(&json!("view")) {
                    args.retain(|name, _| {
                        ["command", "path", "view_range"].contains(&name.as_str())
                    });
                }
            }
            Self::CoercesArguments => {
                for (name, value) in args.iter_mut() {
                    if name == "file_path" && !value.is_string() {
                        *value = json!("a.txt");
                    }
                    if let Some(number) = value.as_str().and_then(|text| text.parse::<u64>().ok())
                        && (name == "offset" || name == "limit")
                    {
                        *value = json!(number);
                    }
                    if ["offset", "limit"].contains(&name.as_str())
                        && let Some(number) = value.as_f64()
                    {
                        *value = json!((number as i64).clamp(1, 2000));
                    }
                }
            }
            Self::CoercesPaths => {
                for name in ["file_path", "path"] {
                    if let Some(path) = args.get(name).and_then(Value::as_str) {
                        let kept = path.chars().filter(|c| !c.is_control());
                        args[name] = json!(kept.collect::<String>().replace('\\', "/"));
                    }
                }
            }
            Self::ClampsRows => {
                if let Some(row) = args.get_mut("insert_line").filter(|row| row.is_i64()) {
                    *row = json!(row.as_i64().unwrap_or(0).clamp(0, 1));
                }
                if let Some(range) = args.get_mut("view_range") {
                    *range = json!([1, -1]);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn spoil_result(self, tool: &str, result: &mut ToolResult) {
        let text = &mut result.text;
        match self {
            Self::SaysNoRemedy => {
                if let Some(error) = &mut result.error {
                    error.next_action = None;
                    result.structured["error"]["next_action"] = Value::Null;
                    text.truncate(text.find('\n').unwrap_or(text.len()));
                }
            }
            Self::SaysNothing => text.clear(),
            Self::DropsDetails if result.error.is_some() => {
                result.structured["error"]["details"] = json!({});
            }
            Self::DropsNotes => {
                if result.structured.get("notes").is_some() {
                    result.structured["notes"] = json!([]);
                }
                text.truncate(text.find("\nNote: ").unwrap_or(text.len()));
            }
            Self::DropsCards => result.presentation = Default::default(),
            Self::EchoesArguments => text.push_str(&"x".repeat(200_000)),
            Self::ForgesRows if tool == "read" => {
                let rows = text.lines();
                let bare = rows.map(|row| row.split_once(": ").map_or(row, |(_, rest)| rest));
                *text = bare.collect::<Vec<_>>().join("\n");
            }
            Self::MiscountsLines => {
                for name in ["total_lines", "replacements", "returned_lines"] {
                    if let Some(number) = result.structured[name].as_u64() {
                        result.structured[name] = json!(number + 1);
                    }
                }
            }
            Self::HidesFooter if tool == "read" && result.error.is_none() => {
                text.truncate(text.rfind("\n(").unwrap_or(text.len()));
            }
            Self::PadsRows => *text = text.replace("     1  ", "1\t"),
            Self::CutsEarly => *text = text.chars().take(40).collect(),
            Self::EmptiesStructured if result.error.is_none() => result.structured = json!({}),
            Self::SpeaksOfOldString => *text = text.replace("old_str", "old_string"),
            Self::ClipsNever => {
                if let Some(at) = text.find("\n[clipped") {
                    text.truncate(at);
                }
            }
            Self::ShowsBom => *text = text.replacen("1: ", "1: \u{feff}", 1),
            Self::RetabsText => *text = text.replace('\t', "    "),
            Self::ShowsLeaks => text.push_str(" (/srv/tenant-42/ws)"),
            Self::LosesThePath if result.structured.get("path").is_some() => {
                result.structured["path"] = json!("somewhere");
            }
            _ => {}
        }
    }
}

fn texts_of(args: &mut serde_json::Map<String, Value>) -> impl Iterator<Item = &mut String> {
    args.iter_mut()
        .filter(|(name, _)| NEW_TEXTS.contains(&name.as_str()))
        .filter_map(|(_, value)| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
}
