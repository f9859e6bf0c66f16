//! Quotas over a file system: every mutation takes a ticket first.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use async_trait::async_trait;
use bytes::Bytes;
use futures::poll;
use seamfs_core::gate::{Explanation, GateFacts, Intent, Observed, Refusal, Rule, Ruling};
use seamfs_core::text::Text;
use seamfs_core::{
    Actor, CallContext, Cancellation, Capabilities, CreateDirOptions, EditOptions, EditOutcome,
    ErrorCode, Expected, FileSystem, FsError, ListOptions, Listing, Metadata, Operation,
    ReadOptions, ReadOutcome, RemoveOptions, ResolveOptions, Result, StatOptions, Target, TextEdit,
    TransferOptions, TransferOutcome, Transform, Version, WriteOptions, WriteOutcome,
};

use crate::quota::{Meter, Quotas, Ticket, Usage};

/// The layer: a file system that itself keeps quotas, whoever calls it.
///
/// A mutation runs as a task of its own, which settles its ticket by the outcome even when the
/// caller has gone: what landed counts, and only that.
#[derive(Clone)]
pub struct Metered {
    inner: Arc<dyn FileSystem>,
    meter: Meter,
}

impl Metered {
    /// Keeps quotas over a file system.
    pub fn new(inner: Arc<dyn FileSystem>, quotas: Quotas) -> Self {
        Self::counting(inner, Meter::new(quotas))
    }

    pub(crate) fn counting(inner: Arc<dyn FileSystem>, meter: Meter) -> Self {
        Self { inner, meter }
    }

    /// Returns the rule for a gate over this layer, which forgets the count of a session that
    /// ends.
    pub fn rule(&self) -> MeteredSessions {
        MeteredSessions {
            meter: self.meter.clone(),
        }
    }

    /// Returns what all sessions together have written, with what is being written now.
    pub fn workspace_usage(&self) -> Usage {
        self.meter.workspace()
    }

    /// Returns what a session has written, with what is being written now.
    pub fn session_usage(&self, actor: &Actor) -> Usage {
        self.meter.session(actor)
    }

    fn take(&self, context: &CallContext, bytes: u64) -> Result<Ticket> {
        self.meter.take(context.actor.as_ref(), bytes)
    }

    /// Runs a mutation to its end under a ticket, whether or not the caller waits for it.
    async fn run<T, F>(
        &self,
        ticket: Ticket,
        cancellation: Cancellation,
        mutation: impl FnOnce(Arc<dyn FileSystem>) -> F,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let mutation = mutation(Arc::clone(&self.inner));
        own(cancellation, async move {
            let outcome = mutation.await;
            ticket.settle(landed(&outcome));
            outcome
        })
        .await
    }

    /// Checks the size that a whole write gives a file; one that is larger already may shrink.
    async fn check_size(&self, target: &Target, size: u64, context: &CallContext) -> Result<()> {
        let Err(exceeded) = self.meter.quotas().check_file(size) else {
            return Ok(());
        };
        let options = StatOptions::default().in_context(context);
        match self.inner.stat(target, options).await {
            Ok(Some(there)) if there.size.is_some_and(|old| size <= old) => Ok(()),
            _ => Err(exceeded),
        }
    }

    /// Reads how large a file is, and which version of it is that large.
    async fn measure(&self, target: &Target, context: &CallContext) -> Result<(u64, Version)> {
        let options = ReadOptions::default().in_context(context);
        let outcome = self.inner.read(target, options).await?;
        let (mut body, mut size) = (outcome.body, 0);
        while let Some(piece) = body.next().await? {
            size += piece.len() as u64;
            self.meter.quotas().check_file(size)?;
        }
        let version = body
            .version()
            .ok_or_else(|| FsError::new(ErrorCode::IoError, "the read ended without a version"))?;
        Ok((size, version))
    }
}

/// Says of a source that cannot be read what a copy of it would say.
fn unmeasured(error: &FsError, source: &Expected) -> FsError {
    let code = match (error.code(), source) {
        (ErrorCode::NotFound, Expected::Version(_)) => ErrorCode::StaleVersion,
        (code, _) => code,
    };
    let details = error.details().clone();
    FsError::new(code, error.message().to_owned())
        .with_details(|of_copy| *of_copy = details)
        .caused_by(error.clone())
}

/// Returns whether a mutation landed, or may have.
fn landed<T>(outcome: &Result<T>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(error) => error.code() == ErrorCode::OutcomeUnknown,
    }
}

/// Runs work as a task; dropping the future withdraws the call and lets the task end by itself.
///
/// The work begins before it becomes a task, for tasks may start in any order, and mutations take
/// effect in the order in which they came.
async fn own<T: Send + 'static>(
    cancellation: Cancellation,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    struct Withdraw(Option<Cancellation>);
    impl Drop for Withdraw {
        fn drop(&mut self) {
            if let Some(cancellation) = &self.0 {
                cancellation.cancel();
            }
        }
    }
    let mut work = Box::pin(work);
    if let Poll::Ready(outcome) = poll!(&mut work) {
        return outcome;
    }
    let mut withdraw = Withdraw(Some(cancellation));
    let outcome = tokio::spawn(work).await;
    withdraw.0 = None;
    outcome.unwrap_or_else(|failure| {
        tracing::error!(%failure, "a mutation ended without an outcome");
        Err(FsError::new(
            ErrorCode::OutcomeUnknown,
            "the mutation failed inside the file system; whether it changed anything is not known",
        ))
    })
}

/// An edit that takes its ticket once it is planned, when what it writes is known.
struct Counted {
    transform: Arc<dyn Transform>,
    meter: Meter,
    actor: Option<Actor>,
    ticket: Arc<Mutex<Option<Ticket>>>,
}

impl Transform for Counted {
    fn plan(&self, text: &Text<'_>, version: &Version) -> Result<TextEdit> {
        // A race was lost: what an earlier plan took is given back.
        drop(self.put(None));
        let edit = self.transform.plan(text, version)?;
        if edit.replacements == 0 {
            return Ok(edit);
        }
        let old = text.bytes().len();
        let new = edit.splices.new_len(old);
        if new > old {
            self.meter.quotas().check_file(new as u64)?;
        }
        let written = edit
            .splices
            .as_slice()
            .iter()
            .map(|splice| splice.replacement.len());
        let ticket = self
            .meter
            .take(self.actor.as_ref(), written.sum::<usize>() as u64)?;
        drop(self.put(Some(ticket)));
        Ok(edit)
    }
}

impl Counted {
    fn put(&self, ticket: Option<Ticket>) -> Option<Ticket> {
        let mut held = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *held, ticket)
    }
}

impl fmt::Debug for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metered")
            .field("quotas", self.meter.quotas())
            .field("inner", &self.inner)
            .finish()
    }
}

impl fmt::Display for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for Metered {
    fn capabilities(&self, target: Option<&Target>) -> Capabilities {
        let mut capabilities = self.inner.capabilities(target);
        let bounds = [capabilities.max_file_bytes, self.meter.quotas().file_bytes];
        capabilities.max_file_bytes = bounds.into_iter().flatten().min();
        capabilities
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
        self.inner.read(target, options).await
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
        let size = bytes.len() as u64;
        let at = |error: FsError| error.at(target.display()).during(Operation::Write);
        self.check_size(target, size, &options.context)
            .await
            .map_err(at)?;
        let ticket = self.take(&options.context, size).map_err(at)?;
        let (target, cancellation) = (target.clone(), options.context.cancellation.clone());
        self.run(ticket, cancellation, |fs| async move {
            fs.write(&target, bytes, options).await
        })
        .await
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let held = Arc::default();
        let counted = Arc::new(Counted {
            transform,
            meter: self.meter.clone(),
            actor: options.context.actor.clone(),
            ticket: Arc::clone(&held),
        });
        let (fs, target) = (Arc::clone(&self.inner), target.clone());
        own(options.context.cancellation.clone(), async move {
            let outcome = fs.edit(&target, Arc::clone(&counted) as _, options).await;
            if let Some(ticket) = counted.put(None) {
                let changed = outcome.as_ref().is_ok_and(EditOutcome::changed);
                ticket.settle(changed || outcome.is_err() && landed(&outcome));
            }
            outcome
        })
        .await
    }

    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()> {
        let ticket = self
            .take(&options.context, 0)
            .map_err(|error| error.at(target.display()).during(Operation::Remove))?;
        let (target, cancellation) = (target.clone(), options.context.cancellation.clone());
        self.run(ticket, cancellation, |fs| async move {
            fs.remove(&target, options).await
        })
        .await
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let ticket = self
            .take(&options.context, 0)
            .map_err(|error| error.at(from.display()).during(Operation::Rename))?;
        let (from, to) = (from.clone(), to.clone());
        let cancellation = options.context.cancellation.clone();
        self.run(ticket, cancellation, |fs| async move {
            fs.rename(&from, &to, options).await
        })
        .await
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let place = |error: FsError| error.at(from.display()).during(Operation::Copy);
        loop {
            options.context.check().map_err(place)?;
            let mut guarded = options.clone();
            let mut size = 0;
            if self.meter.quotas().bounds_bytes() {
                let (measured, version) = self
                    .measure(from, &options.context)
                    .await
                    .map_err(|error| place(unmeasured(&error, &options.source)))?;
                size = measured;
                // What was measured is what is copied.
                if options.source == Expected::Any {
                    guarded.source = Expected::Version(version);
                }
            }
            let ours = guarded.source != options.source;
            let ticket = self.take(&options.context, size).map_err(place)?;
            let (from, to) = (from.clone(), to.clone());
            let cancellation = options.context.cancellation.clone();
            let copied = self
                .run(ticket, cancellation, |fs| async move {
                    fs.copy(&from, &to, guarded).await
                })
                .await;
            match copied {
                // The caller set no guard that could be stale: the source grew, or shrank.
                Err(error)
                    if ours
                        && error.code() == ErrorCode::StaleVersion
                        && !matches!(options.destination, Expected::Version(_)) => {}
                copied => return copied,
            }
        }
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        let ticket = self
            .take(&options.context, 0)
            .map_err(|error| error.at(target.display()).during(Operation::CreateDir))?;
        let (target, cancellation) = (target.clone(), options.context.cancellation.clone());
        self.run(ticket, cancellation, |fs| async move {
            fs.create_dir(&target, options).await
        })
        .await
    }
}

/// The gate's side of [`Metered`]: a fork counts with the session that it came from, and what a
/// session counted is forgotten when it ends.
#[derive(Clone, Debug)]
pub struct MeteredSessions {
    meter: Meter,
}

#[async_trait]
impl Rule for MeteredSessions {
    async fn decide(&self, _: &Intent<'_>) -> Result<Ruling> {
        Ok(Ruling::Pass)
    }

    fn observed(&self, _: &Observed<'_>) {}

    fn explain(&self, _: &Refusal<'_>) -> Option<Explanation> {
        None
    }

    fn forget(&self, actor: &Actor) {
        self.meter.forget(actor);
    }

    fn fork(&self, from: &Actor, to: &Actor) {
        self.meter.share(from, to);
    }

    fn describe(&self, _: &mut GateFacts) {}
}
