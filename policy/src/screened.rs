//! The screen on content: what a tool adds around a file's text does not get into a file.

mod recent;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use seamfs_core::options::DEFAULT_BEFORE_LIMIT;
use seamfs_core::text::{FoundTrace, Text, Trace, may_carry, new_traces_of};
use seamfs_core::{
    Actor, Body, CallContext, Capabilities, CreateDirOptions, EditOptions, EditOutcome, ErrorCode,
    FileSystem, FsError, ListOptions, Listing, Metadata, Operation, ReadOptions, ReadOutcome,
    RemoveOptions, ResolveOptions, Result, StatOptions, Target, TextEdit, TransferOptions,
    TransferOutcome, Transform, Version, WriteOptions, WriteOutcome,
};

use recent::Recent;

/// Which kinds of text are kept out of files; the default keeps out every [`Trace`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    refused: BTreeSet<Trace>,
}

impl Default for Screen {
    fn default() -> Self {
        Self {
            refused: BTreeSet::from(Trace::ALL),
        }
    }
}

impl Screen {
    /// Returns a screen that lets everything through.
    pub fn open() -> Self {
        Self {
            refused: BTreeSet::new(),
        }
    }

    /// Lets one kind of text into files.
    #[must_use]
    pub fn allowing(mut self, trace: Trace) -> Self {
        self.refused.remove(&trace);
        self
    }

    /// Returns whether everything is let through.
    pub fn is_open(&self) -> bool {
        self.refused.is_empty()
    }

    fn first_of(&self, found: &[FoundTrace]) -> Option<FoundTrace> {
        let mut refused = found.iter().filter(|f| self.refused.contains(&f.trace));
        refused.next().copied()
    }
}

/// The layer: a file system that keeps traces of tools out of files, whoever calls it.
///
/// What a file held already never counts, so that a file about such text can be edited. The last
/// texts that each actor read are kept in memory, to know their lines again where they are pasted
/// with their numbers.
#[derive(Clone)]
pub struct Screened {
    inner: Arc<dyn FileSystem>,
    screen: Arc<Screen>,
    recent: Arc<Recent>,
}

impl Screened {
    /// Screens what is written to a file system.
    pub fn new(inner: Arc<dyn FileSystem>, screen: Screen) -> Self {
        Self {
            inner,
            screen: Arc::new(screen),
            recent: Arc::default(),
        }
    }

    /// Checks a whole content; the one before is read only when there is something to excuse.
    async fn check(&self, target: &Target, bytes: &Bytes, context: &CallContext) -> Result<()> {
        let Ok(after) = std::str::from_utf8(bytes) else {
            return Ok(());
        };
        if !may_carry(after) {
            return Ok(());
        }
        let options = ReadOptions {
            max_bytes: Some(DEFAULT_BEFORE_LIMIT),
            ..ReadOptions::default().in_context(context)
        };
        let before = match self.inner.read(target, options).await {
            Ok(outcome) => outcome.body.collect().await?.bytes,
            Err(error) => match error.code() {
                // The write itself says what is wrong with a target that is no file.
                ErrorCode::NotFound | ErrorCode::NotRegularFile | ErrorCode::TooLarge => {
                    Bytes::new()
                }
                _ => return Err(error),
            },
        };
        let before = String::from_utf8_lossy(&before);
        let found = self.recent.traces(context.actor.as_ref(), &before, after);
        match self.screen.first_of(&found) {
            None => Ok(()),
            Some(found) => Err(refusal(found)),
        }
    }
}

/// An edit whose plan is screened inside its critical section.
struct ScreenedEdit {
    transform: Arc<dyn Transform>,
    screen: Arc<Screen>,
    recent: Arc<Recent>,
    actor: Option<Actor>,
}

impl Transform for ScreenedEdit {
    fn plan(&self, text: &Text<'_>, version: &Version) -> Result<TextEdit> {
        let edit = self.transform.plan(text, version)?;
        let splices = edit.splices.as_slice();
        let suspicious = splices.iter().any(|splice| may_carry(&splice.replacement));
        if !suspicious {
            return Ok(edit);
        }
        let after = edit.splices.apply(text.bytes());
        let before = String::from_utf8_lossy(text.bytes());
        let after = String::from_utf8_lossy(&after);
        let found = self.recent.traces(self.actor.as_ref(), &before, &after);
        match self.screen.first_of(&found) {
            None => Ok(edit),
            Some(found) => Err(refusal(found)),
        }
    }
}

impl Recent {
    /// Returns the new traces in a text, of whatever the actor has read lately too.
    fn traces(&self, actor: Option<&Actor>, before: &str, after: &str) -> Vec<FoundTrace> {
        let read = self.of(actor);
        let read: Vec<&str> = read
            .iter()
            .filter_map(|bytes| std::str::from_utf8(bytes).ok())
            .map(|text| text.trim_start_matches('\u{feff}'))
            .collect();
        new_traces_of(before, after, &read)
    }
}

fn refusal(found: FoundTrace) -> FsError {
    FsError::new(
        ErrorCode::InvalidArgument,
        format!(
            "line {} of the new content is {} and no content of a file; give the text itself, \
             in full. No argument lets it in; the operator can, with `{} = \"allow\"` in [content] \
             of the configuration",
            found.line,
            found.trace.describe(),
            found.trace
        ),
    )
    .with_details(|details| details.lines = Some(vec![found.line]))
}

impl fmt::Debug for Screened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screened")
            .field("screen", &self.screen)
            .field("inner", &self.inner)
            .finish()
    }
}

impl fmt::Display for Screened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for Screened {
    fn capabilities(&self, target: Option<&Target>) -> Capabilities {
        self.inner.capabilities(target)
    }

    async fn resolve(&self, path: &str, cwd: &str, options: ResolveOptions) -> Result<Target> {
        self.inner.resolve(path, cwd, options).await
    }

    async fn stat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.inner.stat(target, options).await
    }

    async fn lstat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        self.inner.lstat(target, options).await
    }

    async fn read(&self, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        let whole = options.range.is_none();
        let actor = options.context.actor.clone();
        let outcome = self.inner.read(target, options).await?;
        if let (true, Body::Whole { bytes, .. }) = (whole, &outcome.body) {
            self.recent.note(actor.as_ref(), target, bytes);
        }
        Ok(outcome)
    }

    async fn list(&self, target: &Target, options: ListOptions) -> Result<Listing> {
        self.inner.list(target, options).await
    }

    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        self.check(target, &bytes, &options.context)
            .await
            .map_err(|error| error.at(target.display()).during(Operation::Write))?;
        self.inner.write(target, bytes, options).await
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let screened = Arc::new(ScreenedEdit {
            transform,
            screen: Arc::clone(&self.screen),
            recent: Arc::clone(&self.recent),
            actor: options.context.actor.clone(),
        });
        self.inner.edit(target, screened, options).await
    }

    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()> {
        self.inner.remove(target, options).await
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.inner.rename(from, to, options).await
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.inner.copy(from, to, options).await
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        self.inner.create_dir(target, options).await
    }
}
