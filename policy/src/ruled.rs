//! Path rules over a file system: what a rule closes, no tool of today or tomorrow opens.
//!
//! A rule is asked about the path that a caller spelled and about the one that links lead to; the
//! more closed of the two answers holds. What is hidden is answered without asking the storage at
//! all, so that nothing about it can show: no name, size, kind or time, whether it exists or not.

mod spelling;

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, future};
use seamfs_core::gate::{Explanation, GateFacts, Intent, Observed, Refusal, Rule, Ruling};
use seamfs_core::path::ParsedPath;
use seamfs_core::{
    Actor, CallContext, Capabilities, CreateDirOptions, EditOptions, EditOutcome, Entry, ErrorCode,
    Expected, FileKind, FileSystem, FsError, ListOptions, Listing, Metadata, Namespace, Operation,
    Purpose, ReadOptions, ReadOutcome, RemoveOptions, ResolveOptions, Result, StatOptions, Target,
    TargetKey, TransferOptions, TransferOutcome, Transform, WriteOptions, WriteOutcome, cas,
};

use crate::access::{Access, PathRules};

/// What the key of a hidden target begins with; no storage has a NUL in a name.
const HIDDEN: &str = "\0hidden/";

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
            (Access::Hidden, _) => Err(cas::not_found()),
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
            access => Err(refusal(access).at(target.display()).during(operation)),
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
        let purpose = options.purpose;
        // What the storage says of a closed path, it says with the path's name.
        let (access, resolved) = match self.inner.resolve(path, cwd, options).await {
            Ok(target) => (self.paths.access(&target), Ok(target)),
            Err(error) => {
                let named = error.path().map(|path| self.paths.shown(path));
                (named.unwrap_or_default(), Err(error))
            }
        };
        match access {
            Access::Hidden => hidden(&shown, spelled, purpose),
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
        if target.key().as_str().starts_with(HIDDEN) {
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

/// Makes the target of a hidden path, as that of a path where nothing is.
fn hidden(shown: &str, spelled: &ParsedPath, purpose: Purpose) -> Result<Target> {
    if spelled.folder && purpose != Purpose::Folder {
        return Err(FsError::new(
            ErrorCode::InvalidPath,
            "a trailing slash names a folder, and there is none",
        )
        .at(shown)
        .during(Operation::Resolve));
    }
    let key = TargetKey::new(format!("{HIDDEN}{}", spelled.path.as_str()));
    Ok(Target::new(key, shown))
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
        let there = target.filter(|target| !target.key().as_str().starts_with(HIDDEN));
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
            Access::Hidden => hidden(&shown, &spelled, options.purpose),
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
        let entries = self.inner.list(target, options).await?;
        let paths = Arc::clone(&self.paths);
        let folders = [
            Some(paths.beneath(target)),
            target.spelled().map(str::to_owned),
        ];
        let shown = move |entry: Entry| {
            let at = |folder: &String| {
                paths
                    .rules
                    .access(child(folder, entry.name.as_str()).trim_start_matches('/'))
            };
            let access = folders.iter().flatten().map(at).max().unwrap_or_default();
            match access {
                Access::Hidden => None,
                Access::Denied => Some(Entry {
                    metadata: Ok(Metadata::of(entry.kind())),
                    name: entry.name,
                }),
                Access::ReadOnly | Access::Full => Some(entry),
            }
        };
        Ok(entries
            .try_filter_map(move |entry| future::ready(Ok(shown(entry))))
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
        match self.paths.access(intent.target) {
            Access::Full => {}
            Access::ReadOnly if reads => {}
            // It looks absent, and what looks absent is told by the file system.
            Access::Hidden if !creates => {}
            access => return Err(refusal(access)),
        }
        match intent.destination.map(|to| self.paths.access(to)) {
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
        facts.restricted = !self.paths.rules.is_empty();
    }
}
