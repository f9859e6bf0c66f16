//! The strict double: it keeps the contract to the letter and breaks every habit beyond it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{Stream, StreamExt};
use tokio::task::yield_now;

use crate::body::{Body, ByteStream, ReadOutcome};
use crate::capabilities::{Atomicity, Capabilities, Guarding};
use crate::conformance::random::scrambled;
use crate::error::{FsError, Operation, Result};
use crate::fs::{FileSystem, Listing};
use crate::metadata::{Entry, Metadata};
use crate::options::{
    CreateDirOptions, EditOptions, ListOptions, ReadOptions, RemoveOptions, ResolveOptions,
    StatOptions, TransferOptions, WriteOptions,
};
use crate::target::Target;
use crate::transform::{EditOutcome, TransferOutcome, Transform, WriteOutcome};
use crate::version::{Expected, Version};

/// A layer that keeps the contract and nothing beyond it.
///
/// - Every version bears a token that is never the same twice, long and full of quotes: between any
///   two calls the token of the same bytes has changed.
/// - Bodies and listings arrive in pieces, with pauses between them.
/// - Calls end later than they could, and not in the order in which they began; the seed decides.
/// - On request the optional features are missing, or every mutation: see
///   [`Strict::without_options`] and [`Strict::read_only`].
pub struct Strict<F> {
    inner: F,
    ticks: Arc<Ticks>,
    reduced: bool,
    frozen: bool,
}

impl<F: FileSystem> Strict<F> {
    /// Puts the double over a file system.
    pub fn new(inner: F, seed: u64) -> Self {
        Self {
            inner,
            ticks: Arc::new(Ticks(AtomicU64::new(seed))),
            reduced: false,
            frozen: false,
        }
    }

    /// Takes the optional features away: `rename`, `copy`, a guarded `remove`, cheap versions.
    #[must_use]
    pub fn without_options(mut self) -> Self {
        self.reduced = true;
        self
    }

    /// Takes every mutation away.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.frozen = true;
        self
    }

    fn offer(&self, operation: Operation, target: &Target, optional: bool) -> Result<()> {
        match self.frozen || self.reduced && optional {
            false => Ok(()),
            true => Err(FsError::unsupported(operation, "the strict double").at(target.display())),
        }
    }

    fn metadata(&self, mut metadata: Metadata) -> Metadata {
        metadata.version = metadata
            .version
            .filter(|_| !self.reduced)
            .map(|version| self.ticks.mint(version));
        metadata
    }

    fn error(&self, error: FsError) -> FsError {
        match error.current().cloned() {
            None => error,
            Some(mut current) => {
                current.version = self.ticks.mint(current.version);
                error.with_current(current)
            }
        }
    }
}

/// A counter that numbers tokens and, scrambled, says how long a call is held up.
struct Ticks(AtomicU64);

impl Ticks {
    fn next(&self) -> u64 {
        scrambled(self.0.fetch_add(1, Ordering::Relaxed))
    }

    /// Gives a version a token of its own, as stores do that count writes or requests.
    fn mint(&self, version: Version) -> Version {
        let tick = self.next();
        version.with_token(format!("W/\"{tick:016x}+b3:at:\\'{}\"", "e".repeat(200)))
    }

    async fn pause(&self) {
        for _ in 0..self.next() % 4 {
            yield_now().await;
        }
    }
}

/// Takes our token off a version, so that only its hash decides.
fn inward(expected: Expected) -> Expected {
    match expected {
        Expected::Version(version) => Expected::Version(match version.hash() {
            Some(hash) => Version::from_hash(hash),
            None => version,
        }),
        other => other,
    }
}

impl<F: fmt::Debug> fmt::Debug for Strict<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Strict").field(&self.inner).finish()
    }
}

impl<F: fmt::Display> fmt::Display for Strict<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.inner)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<F: FileSystem> FileSystem for Strict<F> {
    fn capabilities(&self, target: Option<&Target>) -> Capabilities {
        let mut inner = self.inner.capabilities(target);
        inner.writable &= !self.frozen;
        match self.reduced {
            false => inner,
            true => Capabilities {
                guarded_remove: Guarding::None,
                rename: Atomicity::Unsupported,
                copy: Atomicity::Unsupported,
                cheap_versions: false,
                ..inner
            },
        }
    }

    async fn resolve(&self, path: &str, cwd: &str, options: ResolveOptions) -> Result<Target> {
        self.ticks.pause().await;
        self.inner.resolve(path, cwd, options).await
    }

    async fn stat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        let found = self.inner.stat(target, options).await?;
        self.ticks.pause().await;
        Ok(found.map(|metadata| self.metadata(metadata)))
    }

    async fn lstat(&self, target: &Target, options: StatOptions) -> Result<Option<Metadata>> {
        let found = self.inner.lstat(target, options).await?;
        self.ticks.pause().await;
        Ok(found.map(|metadata| self.metadata(metadata)))
    }

    async fn read(&self, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        self.ticks.pause().await;
        let outcome = self.inner.read(target, options).await?;
        self.ticks.pause().await;
        Ok(ReadOutcome {
            metadata: self.metadata(outcome.metadata),
            body: Body::Stream(Box::new(Pieces {
                inner: outcome.body,
                rest: Bytes::new(),
                ticks: Arc::clone(&self.ticks),
            })),
        })
    }

    async fn list(&self, target: &Target, options: ListOptions) -> Result<Listing> {
        let listing = self.inner.list(target, options).await?;
        self.ticks.pause().await;
        let (ticks, reduced) = (Arc::clone(&self.ticks), self.reduced);
        let marked = listing.map(move |entry| {
            let mut entry: Entry = entry?;
            if let Ok(metadata) = &mut entry.metadata {
                let version = metadata.version.take().filter(|_| !reduced);
                metadata.version = version.map(|version| ticks.mint(version));
            }
            Ok(entry)
        });
        Ok(Halting {
            inner: marked,
            ticks: Arc::clone(&self.ticks),
            halted: false,
        }
        .boxed())
    }

    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        mut options: WriteOptions,
    ) -> Result<WriteOutcome> {
        self.offer(Operation::Write, target, false)?;
        options.expected = inward(options.expected);
        let outcome = self.inner.write(target, bytes, options).await;
        self.ticks.pause().await;
        let mut outcome = outcome.map_err(|error| self.error(error))?;
        outcome.version = self.ticks.mint(outcome.version);
        Ok(outcome)
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        mut options: EditOptions,
    ) -> Result<EditOutcome> {
        self.offer(Operation::Edit, target, false)?;
        options.expected = inward(options.expected);
        let outcome = self.inner.edit(target, transform, options).await;
        self.ticks.pause().await;
        let mut outcome = outcome.map_err(|error| self.error(error))?;
        outcome.version = self.ticks.mint(outcome.version);
        Ok(outcome)
    }

    async fn remove(&self, target: &Target, mut options: RemoveOptions) -> Result<()> {
        let guarded = matches!(options.expected, Expected::Version(_));
        self.offer(Operation::Remove, target, guarded)?;
        options.expected = inward(options.expected);
        let removed = self.inner.remove(target, options).await;
        self.ticks.pause().await;
        removed.map_err(|error| self.error(error))
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        mut options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.offer(Operation::Rename, from, true)?;
        options.source = inward(options.source);
        options.destination = inward(options.destination);
        let outcome = self.inner.rename(from, to, options).await;
        self.ticks.pause().await;
        let mut outcome = outcome.map_err(|error| self.error(error))?;
        outcome.version = outcome.version.map(|version| self.ticks.mint(version));
        Ok(outcome)
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        mut options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.offer(Operation::Copy, from, true)?;
        options.source = inward(options.source);
        options.destination = inward(options.destination);
        let outcome = self.inner.copy(from, to, options).await;
        self.ticks.pause().await;
        let mut outcome = outcome.map_err(|error| self.error(error))?;
        outcome.version = outcome.version.map(|version| self.ticks.mint(version));
        Ok(outcome)
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        self.offer(Operation::CreateDir, target, false)?;
        let made = self.inner.create_dir(target, options).await;
        self.ticks.pause().await;
        made
    }
}

/// A body in pieces of odd sizes, with pauses between them.
struct Pieces {
    inner: Body,
    rest: Bytes,
    ticks: Arc<Ticks>,
}

/// The longest piece: prime, so that pieces end within characters.
const LONGEST_PIECE: u64 = 4093;

#[async_trait]
impl ByteStream for Pieces {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        self.ticks.pause().await;
        if self.rest.is_empty() {
            match self.inner.next().await? {
                None => return Ok(None),
                Some(piece) => self.rest = piece,
            }
        }
        let most = usize::try_from(1 + self.ticks.next() % LONGEST_PIECE).unwrap_or(1);
        Ok(Some(self.rest.split_to(most.min(self.rest.len()))))
    }

    fn version(&self) -> Option<Version> {
        self.inner.version().map(|version| self.ticks.mint(version))
    }
}

/// A listing that is not ready each time it is first asked.
struct Halting<S> {
    inner: S,
    ticks: Arc<Ticks>,
    halted: bool,
}

impl<S: Stream + Unpin> Stream for Halting<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.halted = !self.halted && self.ticks.next().is_multiple_of(2);
        if self.halted {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.inner.poll_next_unpin(context)
    }
}
