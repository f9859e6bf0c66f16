//! Path rules over a file system: what a rule closes, no tool of today or tomorrow opens.
//!
//! A rule is asked about the path that a caller spelled and about the one that links lead to; the
//! more closed of the two answers holds. What is hidden is answered without asking the storage at
//! all, so that nothing about it can show: no name, size, kind or time, whether it exists or not.

mod absent;
mod spelling;

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use seamfs_core::gate::{Explanation, GateFacts, Intent, Observed, Refusal, Rule, Ruling};
use seamfs_core::path::ParsedPath;
use seamfs_core::{
    Actor, CallContext, Capabilities, CreateDirOptions, EditOptions, EditOutcome, Entry, ErrorCode,
    Expected, FileKind, FileSystem, FsError, ListOptions, Listing, Metadata, Namespace, Operation,
    Purpose, ReadOptions, ReadOutcome, RemoveOptions, ResolveOptions, Result, RootPath,
    StatOptions, Target, TransferOptions, TransferOutcome, Transform, WriteOptions, WriteOutcome,
    cas,
};

use crate::access::{Access, PathRules};
use absent::Absent;

/// The layer: a file system that itself keeps the path rules, whoever calls it.
///
/// A hard link is another name of the same bytes, which no path rule can know; what is to stay
/// closed must have one name.
#[derive(Clone)]
pub struct Ruled {
    inner: Arc<dyn FileSystem>,
    paths: Arc<Paths>,
}

/// The rules, and where the paths that they speak of begin.
#[derive(Debug)]
struct Paths {
    rules: PathRules,
    root: OnceLock<Root>,
}

#[derive(Debug)]
struct Root {
    namespace: Namespace,
    /// The display root, without a slash at its end.
    display: String,
}

impl Ruled {
    /// Keeps rules over a file system.
    pub fn new(inner: Arc<dyn FileSystem>, rules: PathRules) -> Self {
        let root = OnceLock::new();
        Self {
            inner,
            paths: Arc::new(Paths { rules, root }),
        }
    }

    /// Returns the rule for a gate over this layer: it says no before a model is sent to read
    /// what it may not change.
    pub fn rule(&self) -> RuledPaths {
        RuledPaths {
            paths: Arc::clone(&self.paths),
        }
    }

    async fn root(&self, context: &CallContext) -> Result<&Root> {
        if let Some(root) = self.paths.root.get() {
            return Ok(root);
        }
        let options = ResolveOptions {
            context: context.clone(),
            purpose: Purpose::Folder,
        };
        let target = self.inner.resolve(".", "", options).await?;
        Ok(self.paths.root.get_or_init(|| Root {
            namespace: Namespace::with_display_root(target.display()),
            display: target.display().trim_end_matches('/').to_owned(),
        }))
    }

    /// Returns what is allowed at a target, links considered.
    async fn access(&self, target: &Target, context: &CallContext) -> Result<Access> {
        self.root(context).await?;
        Ok(self.paths.access(target))
    }

    /// Allows a mutation that needs its target to be there, or says why it is refused.
    async fn change(
        &self,
        target: &Target,
        expected: &Expected,
        context: &CallContext,
        operation: Operation,
    ) -> Result<()> {
        let access = self.access(target, context).await?;
        match (access, expected) {
            (Access::Full, _) => Ok(()),
            (Access::Hidden, Expected::Version(_)) => Err(FsError::new(
                ErrorCode::StaleVersion,
                "nothing is there any more",
            )),
            (Access::Hidden, _) => Err(match Absent::of(target) {
                Some(absent) => absent.nothing_to_change(),
                None => cas::not_found(),
            }),
            _ => Err(refusal(access)),
        }
        .map_err(|error| error.at(target.display()).during(operation))
    }

    /// Allows a mutation that may create its target, or says why it is refused.
    async fn create(
        &self,
        target: &Target,
        context: &CallContext,
        operation: Operation,
    ) -> Result<()> {
        match self.access(target, context).await? {
            Access::Full => Ok(()),
            access => {
                let blocked = Absent::of(target).and_then(Absent::blocks_creation);
                let error = blocked.unwrap_or_else(|| refusal(access));
                Err(error.at(target.display()).during(operation))
            }
        }
    }

    /// Checks that nothing beneath a folder is closed before or after it moves.
    async fn check_tree(&self, from: &Target, to: &Target, context: &CallContext) -> Result<()> {
        let stat = StatOptions::default().in_context(context);
        let there = self.inner.lstat(from, stat).await?;
        if !there.is_some_and(|metadata| metadata.is_directory()) {
            return Ok(());
        }
        let (old, new) = (self.paths.beneath(from), self.paths.beneath(to));
        let mut pending = vec![from.clone()];
        while let Some(folder) = pending.pop() {
            context.check()?;
            let options = ListOptions::default().in_context(context);
            let mut entries = self.inner.list(&folder, options).await?;
            while let Some(entry) = entries.try_next().await? {
                let path = child(folder.display(), entry.name.as_str());
                let rest = path.strip_prefix(from.display()).unwrap_or_default();
                let moved = [format!("{old}{rest}"), format!("{new}{rest}")];
                let closed = |path: &String| self.paths.rules.access(path) != Access::Full;
                if moved.iter().any(closed) {
                    return Err(FsError::new(
                        ErrorCode::SandboxDenied,
                        "a rule of this workspace keeps this folder where it is",
                    ));
                }
                if entry.kind() == FileKind::Directory && entry.name.is_addressable() {
                    let options = ResolveOptions {
                        context: context.clone(),
                        purpose: Purpose::Entry,
                    };
                    pending.push(self.inner.resolve(&path, "", options).await?);
                }
            }
        }
        Ok(())
    }

    /// Returns what a hidden path looks like that is reached by a link.
    async fn behind_link(&self, spelled: &ParsedPath, context: &CallContext) -> Absent {
        let Some(parent) = spelled.path.parent() else {
            return Absent::ThroughLink;
        };
        match self.led_to(&parent, context).await {
            Access::Hidden => Absent::ThroughLink,
            _ => Absent::Link,
        }
    }

    /// Returns what is allowed where links lead from a path.
    async fn led_to(&self, path: &RootPath, context: &CallContext) -> Access {
        let Ok(root) = self.root(context).await else {
            return Access::Hidden;
        };
        let options = ResolveOptions {
            context: context.clone(),
            purpose: Purpose::Folder,
        };
        let shown = root.namespace.display(path);
        match self.inner.resolve(&shown, "", options).await {
            Ok(target) => self.paths.access(&target),
            // What the storage says of a closed path, it says with the path's name.
            Err(error) => {
                let named = error.path().map(|path| self.paths.shown(path));
                named.unwrap_or_default()
            }
        }
    }

    /// Returns a child of a folder as the rules let it be seen, if they do.
    async fn listed(&self, folder: &Target, entry: Entry, context: &CallContext) -> Option<Entry> {
        let beneath = [
            Some(self.paths.beneath(folder)),
            folder.spelled().map(str::to_owned),
        ];
        let at = |folder: &String| {
            let path = child(folder, entry.name.as_str());
            self.paths.rules.access(path.trim_start_matches('/'))
        };
        match beneath.iter().flatten().map(at).max().unwrap_or_default() {
            Access::Hidden => None,
            Access::Denied => Some(Entry {
                metadata: Ok(Metadata::of(entry.kind())),
                name: entry.name,
            }),
            Access::ReadOnly | Access::Full if entry.kind() == FileKind::Symlink => {
                Some(self.listed_link(folder, entry, context).await)
            }
            Access::ReadOnly | Access::Full => Some(entry),
        }
    }

    /// Returns a link as it looks: one to what is hidden leads nowhere.
    async fn listed_link(&self, folder: &Target, entry: Entry, context: &CallContext) -> Entry {
        let path = child(&self.paths.beneath(folder), entry.name.as_str());
        let path = RootPath::from_components(path.split('/').filter(|name| !name.is_empty()));
        let access = match path {
            Ok(path) => self.led_to(&path, context).await,
            Err(_) => Access::Full,
        };
        let metadata = match access {
            Access::Hidden => entry.metadata.map(|metadata| Metadata {
                kind: FileKind::Other,
                ..metadata
            }),
            _ => entry.metadata,
        };
        Entry {
            name: entry.name,
            metadata,
        }
    }

    /// Resolves a path that no rule closes as it is spelled.
    async fn follow(
        &self,
        path: &str,
        cwd: &str,
        options: ResolveOptions,
        spelled: &ParsedPath,
    ) -> Result<Target> {
        let root = self.root(&options.context).await?;
        let shown = root.namespace.display(&spelled.path);
        let (purpose, context) = (options.purpose, options.context.clone());
        // What the storage says of a closed path, it says with the path's name.
        let (access, resolved) = match self.inner.resolve(path, cwd, options).await {
            Ok(target) => (self.paths.access(&target), Ok(target)),
            Err(error) => {
                let named = error.path().map(|path| self.paths.shown(path));
                (named.unwrap_or_default(), Err(error))
            }
        };
        match access {
            Access::Hidden => {
                let absent = self.behind_link(spelled, &context).await;
                absent.target(&shown, spelled, purpose)
            }
            Access::Denied => Err(refusal(access).at(shown).during(Operation::Resolve)),
            Access::ReadOnly | Access::Full => {
                let target = resolved?;
                Ok(match target.display() == shown {
                    true => target,
                    false => target.spelled_as(spelled.path.as_str()),
                })
            }
        }
    }
}

impl Paths {
    fn access(&self, target: &Target) -> Access {
        if Absent::of(target).is_some() {
            return Access::Hidden;
        }
        let spelled = target.spelled().map(|path| self.rules.access(path));
        self.shown(target.display())
            .max(spelled.unwrap_or_default())
    }

    /// Returns what is allowed at a display path.
    fn shown(&self, display: &str) -> Access {
        self.rules.access(self.relative(display))
    }

    /// Returns a target's path beneath the root.
    fn beneath(&self, target: &Target) -> String {
        self.relative(target.display()).to_owned()
    }

    fn relative<'a>(&self, display: &'a str) -> &'a str {
        let root = self.root.get().map_or("", |root| root.display.as_str());
        match display.strip_prefix(root) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
            _ => display.trim_start_matches('/'),
        }
    }
}

/// Says that a rule closes a path; a hidden one cannot be written in the same words, whether
/// something is there or not.
fn refusal(access: Access) -> FsError {
    FsError::new(
        ErrorCode::SandboxDenied,
        match access {
            Access::ReadOnly => "a rule of this workspace keeps this path read-only",
            _ => "a rule of this workspace denies this path",
        },
    )
}

fn child(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}

impl fmt::Debug for Ruled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ruled")
            .field("rules", &self.paths.rules)
            .field("inner", &self.inner)
            .finish()
    }
}

impl fmt::Display for Ruled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for Ruled {
    fn capabilities(&self, target: Option<&Target>) -> Capabilities {
        let there = target.filter(|target| Absent::of(target).is_none());
        self.inner.capabilities(there)
    }

    async fn resolve(&self, path: &str, cwd: &str, options: ResolveOptions) -> Result<Target> {
        let root = self.root(&options.context).await?;
        let fs = &*self.inner;
        let spelled = spelling::spelled(fs, &root.namespace, path, cwd, &options.context).await;
        let Some(spelled) = spelled else {
            // The provider says what is wrong with it. If it finds nothing wrong, the rules
            // cannot tell which path this is, and what they cannot tell stays closed.
            self.inner.resolve(path, cwd, options).await?;
            return Err(FsError::new(
                ErrorCode::InvalidPath,
                "the rules of this workspace cannot tell which path this spelling names; write \
                 it relative to the root",
            )
            .during(Operation::Resolve));
        };
        let shown = root.namespace.display(&spelled.path);
        match self.paths.rules.access(spelled.path.as_str()) {
            Access::Hidden => Absent::Plain.target(&shown, &spelled, options.purpose),
            access @ Access::Denied => Err(refusal(access).at(shown).during(Operation::Resolve)),
            Access::ReadOnly | Access::Full => self.follow(path, cwd, options, &spelled).await,
        }
    }

    async fn stat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        match self.access(target, &options.context).await? {
            Access::Hidden => Ok(None),
            access @ Access::Denied => {
                Err(refusal(access).at(target.display()).during(Operation::Stat))
            }
            Access::ReadOnly | Access::Full => self.inner.stat(target, options).await,
        }
    }

    async fn lstat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        match self.access(target, &options.context).await? {
            Access::Hidden if Absent::of(target) == Some(Absent::Link) => {
                let entry = ResolveOptions {
                    context: options.context.clone(),
                    purpose: Purpose::Entry,
                };
                let link = self.inner.resolve(target.display(), "", entry).await?;
                self.inner.lstat(&link, options).await
            }
            Access::Hidden => Ok(None),
            access @ Access::Denied => {
                Err(refusal(access).at(target.display()).during(Operation::Stat))
            }
            Access::ReadOnly | Access::Full => self.inner.lstat(target, options).await,
        }
    }

    async fn read(&self, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        match self.access(target, &options.context).await? {
            Access::Hidden => Err(cas::not_found()),
            access @ Access::Denied => Err(refusal(access)),
            Access::ReadOnly | Access::Full => return self.inner.read(target, options).await,
        }
        .map_err(|error| error.at(target.display()).during(Operation::Read))
    }

    async fn list(&self, target: &Target, options: ListOptions) -> Result<Listing> {
        match self.access(target, &options.context).await? {
            Access::Hidden => Err(FsError::new(ErrorCode::NotFound, "no such folder")),
            access @ Access::Denied => Err(refusal(access)),
            Access::ReadOnly | Access::Full => Ok(()),
        }
        .map_err(|error| error.at(target.display()).during(Operation::List))?;
        let context = options.context.clone();
        let entries = self.inner.list(target, options).await?;
        let (ruled, folder) = (self.clone(), target.clone());
        Ok(entries
            .try_filter_map(move |entry| {
                let (ruled, folder, context) = (ruled.clone(), folder.clone(), context.clone());
                async move { Ok(ruled.listed(&folder, entry, &context).await) }
            })
            .boxed())
    }

    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        self.create(target, &options.context, Operation::Write)
            .await?;
        self.inner.write(target, bytes, options).await
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let (expected, context) = (&options.expected, &options.context);
        self.change(target, expected, context, Operation::Edit)
            .await?;
        self.inner.edit(target, transform, options).await
    }

    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()> {
        let (expected, context) = (&options.expected, &options.context);
        self.change(target, expected, context, Operation::Remove)
            .await?;
        self.inner.remove(target, options).await
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let context = &options.context;
        self.change(from, &options.source, context, Operation::Rename)
            .await?;
        self.create(to, context, Operation::Rename).await?;
        self.check_tree(from, to, context)
            .await
            .map_err(|error| error.at(from.display()).during(Operation::Rename))?;
        self.inner.rename(from, to, options).await
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let context = &options.context;
        // What may be read may be copied.
        if self.access(from, context).await? != Access::ReadOnly {
            self.change(from, &options.source, context, Operation::Copy)
                .await?;
        }
        self.create(to, context, Operation::Copy).await?;
        self.inner.copy(from, to, options).await
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        self.create(target, &options.context, Operation::CreateDir)
            .await?;
        self.inner.create_dir(target, options).await
    }
}

/// The gate's side of [`Ruled`]: vetoes a mutation that the layer would refuse anyway, before
/// anything else is asked.
#[derive(Clone, Debug)]
pub struct RuledPaths {
    paths: Arc<Paths>,
}

#[async_trait]
impl Rule for RuledPaths {
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling> {
        let creates = matches!(
            intent.operation,
            Operation::Write | Operation::Create | Operation::CreateDir
        );
        let reads = intent.operation == Operation::Copy;
        // What looks absent behind a link is told by the file system, as a link that dangles is.
        let linked = |target| Absent::of(target).is_some_and(|absent| absent != Absent::Plain);
        match self.paths.access(intent.target) {
            _ if linked(intent.target) => {}
            Access::Full => {}
            Access::ReadOnly if reads => {}
            // It looks absent, and what looks absent is told by the file system.
            Access::Hidden if !creates => {}
            access => return Err(refusal(access)),
        }
        let destination = intent.destination.filter(|to| !linked(to));
        match destination.map(|to| self.paths.access(to)) {
            None | Some(Access::Full) => Ok(Ruling::Pass),
            Some(access) => Err(refusal(access)),
        }
    }

    fn observed(&self, _: &Observed<'_>) {}

    fn explain(&self, _: &Refusal<'_>) -> Option<Explanation> {
        None
    }

    fn forget(&self, _: &Actor) {}

    fn describe(&self, facts: &mut GateFacts) {
        facts.restricted = self.paths.rules.restricts();
    }
}
