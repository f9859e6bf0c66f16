//! The layer: a file system whose calls meet with what a plan says.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use tokio::task::yield_now;

use super::plan::{Mishap, Plan};
use crate::body::{Body, ByteStream, ReadOutcome};
use crate::capabilities::Capabilities;
use crate::conformance::cut;
use crate::context::{CallContext, Cancellation};
use crate::error::{ErrorCode, Operation, Result};
use crate::fs::{FileSystem, Listing};
use crate::metadata::Metadata;
use crate::options::{
    CreateDirOptions, EditOptions, ListOptions, ReadOptions, RemoveOptions, ResolveOptions,
    StatOptions, TransferOptions, WriteOptions,
};
use crate::target::Target;
use crate::transform::{EditOutcome, TransferOutcome, Transform, WriteOutcome};
use crate::version::{Expected, Version};

/// A file system whose calls meet with what a [`Plan`] says.
pub struct Faulty<F> {
    inner: F,
    plan: Plan,
}

impl<F: FileSystem> Faulty<F> {
    /// Puts the layer over a file system.
    pub fn new(inner: F, plan: Plan) -> Self {
        Self { inner, plan }
    }
}

impl<F: fmt::Debug> fmt::Debug for Faulty<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Faulty").field(&self.inner).finish()
    }
}

impl<F: fmt::Display> fmt::Display for Faulty<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.inner)
    }
}

/// How often a slow call gives way.
const PAUSES: usize = 20;

/// A call that is about to be made.
struct Attempt<'a> {
    plan: &'a Plan,
    mishap: Option<Mishap>,
    operation: Operation,
    target: &'a str,
}

impl Attempt<'_> {
    fn fail<T>(&self, code: ErrorCode) -> Result<T> {
        Err(self
            .plan
            .report(code)
            .at(self.target)
            .during(self.operation))
    }

    /// What a caller is told when it was not told what happened.
    const fn silence(&self) -> ErrorCode {
        match self.operation {
            Operation::Resolve | Operation::Stat | Operation::Read | Operation::List => {
                ErrorCode::IoError
            }
            _ => ErrorCode::OutcomeUnknown,
        }
    }

    /// Returns the context to pass on; a withdrawal is the layer's own and not the caller's.
    fn context(&self, context: &CallContext) -> CallContext {
        let mut context = context.clone();
        if self.mishap == Some(Mishap::Withdrawn) {
            context.cancellation = Cancellation::new();
            context.cancellation.cancel();
        }
        context
    }

    /// Makes the call, or not, as its mishap says.
    async fn make<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        match self.mishap {
            None => call.await,
            Some(Mishap::Torn) if self.silence() == ErrorCode::IoError => call.await,
            Some(Mishap::Withdrawn) => match call.await {
                Err(error) if error.code() == ErrorCode::Aborted => self.fail(ErrorCode::Aborted),
                answer => answer,
            },
            Some(Mishap::Fails) => self.fail(ErrorCode::IoError),
            Some(Mishap::Busy) => self.fail(ErrorCode::Busy),
            Some(Mishap::Slow) => {
                pause().await;
                let answer = call.await;
                pause().await;
                answer
            }
            Some(Mishap::Lost | Mishap::Torn) => match call.await {
                Ok(_) => self.fail(self.silence()),
                // What was refused did not happen, and may as well be said.
                Err(error) => Err(error),
            },
            Some(Mishap::Dropped(polls)) => match cut(call, polls).await {
                Some(answer) => answer,
                None => self.fail(self.silence()),
            },
        }
    }
}

async fn pause() {
    for _ in 0..PAUSES {
        yield_now().await;
    }
}

impl<F> Faulty<F> {
    fn look<'a>(&'a self, operation: Operation, target: &'a str) -> Attempt<'a> {
        self.attempt(operation, target, &[])
    }

    fn attempt<'a>(
        &'a self,
        operation: Operation,
        target: &'a str,
        guards: &[&Expected],
    ) -> Attempt<'a> {
        let guarded = guards.iter().any(|guard| **guard != Expected::Any);
        Attempt {
            plan: &self.plan,
            mishap: self.plan.next(operation, guarded),
            operation,
            target,
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<F: FileSystem> FileSystem for Faulty<F> {
    fn capabilities(&self, target: Option<&Target>) -> Capabilities {
        self.inner.capabilities(target)
    }

    async fn resolve(&self, path: &str, cwd: &str, mut options: ResolveOptions) -> Result<Target> {
        let attempt = self.look(Operation::Resolve, path);
        options.context = attempt.context(&options.context);
        attempt.make(self.inner.resolve(path, cwd, options)).await
    }

    async fn stat(&self, target: &Target, mut options: StatOptions) -> Result<Option<Metadata>> {
        let attempt = self.look(Operation::Stat, target.display());
        options.context = attempt.context(&options.context);
        attempt.make(self.inner.stat(target, options)).await
    }

    async fn lstat(&self, target: &Target, mut options: StatOptions) -> Result<Option<Metadata>> {
        let attempt = self.look(Operation::Stat, target.display());
        options.context = attempt.context(&options.context);
        attempt.make(self.inner.lstat(target, options)).await
    }

    async fn read(&self, target: &Target, mut options: ReadOptions) -> Result<ReadOutcome> {
        let attempt = self.look(Operation::Read, target.display());
        options.context = attempt.context(&options.context);
        let outcome = attempt.make(self.inner.read(target, options)).await?;
        let most = match attempt.mishap {
            Some(Mishap::Torn) => 1,
            Some(Mishap::Slow) => usize::MAX,
            _ => return Ok(outcome),
        };
        Ok(ReadOutcome {
            metadata: outcome.metadata,
            body: Body::Stream(Box::new(Trickle {
                inner: outcome.body,
                rest: Bytes::new(),
                most,
                target: target.display().to_owned(),
                plan: self.plan.clone(),
            })),
        })
    }

    async fn list(&self, target: &Target, mut options: ListOptions) -> Result<Listing> {
        let attempt = self.look(Operation::List, target.display());
        options.context = attempt.context(&options.context);
        let listing = attempt.make(self.inner.list(target, options)).await?;
        if attempt.mishap != Some(Mishap::Torn) {
            return Ok(listing);
        }
        let end = attempt.fail(ErrorCode::IoError);
        Ok(listing.take(1).chain(stream::iter([end])).boxed())
    }

    async fn write(
        &self,
        target: &Target,
        bytes: Bytes,
        mut options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let attempt = self.attempt(Operation::Write, target.display(), &[&options.expected]);
        options.context = attempt.context(&options.context);
        attempt.make(self.inner.write(target, bytes, options)).await
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        mut options: EditOptions,
    ) -> Result<EditOutcome> {
        let attempt = self.attempt(Operation::Edit, target.display(), &[&options.expected]);
        options.context = attempt.context(&options.context);
        attempt
            .make(self.inner.edit(target, transform, options))
            .await
    }

    async fn remove(&self, target: &Target, mut options: RemoveOptions) -> Result<()> {
        let attempt = self.attempt(Operation::Remove, target.display(), &[&options.expected]);
        options.context = attempt.context(&options.context);
        attempt.make(self.inner.remove(target, options)).await
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        mut options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let guards = [&options.source, &options.destination];
        let attempt = self.attempt(Operation::Rename, from.display(), &guards);
        options.context = attempt.context(&options.context);
        attempt.make(self.inner.rename(from, to, options)).await
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        mut options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let guards = [&options.source, &options.destination];
        let attempt = self.attempt(Operation::Copy, from.display(), &guards);
        options.context = attempt.context(&options.context);
        attempt.make(self.inner.copy(from, to, options)).await
    }

    async fn create_dir(&self, target: &Target, mut options: CreateDirOptions) -> Result<()> {
        let attempt = self.attempt(Operation::CreateDir, target.display(), &[]);
        options.context = attempt.context(&options.context);
        attempt.make(self.inner.create_dir(target, options)).await
    }
}

/// A body that comes a few bytes at a time, with pauses, and may end early.
struct Trickle {
    inner: Body,
    rest: Bytes,
    /// How many pieces are delivered before the body is torn.
    most: usize,
    target: String,
    plan: Plan,
}

/// The most bytes that a piece of a small body has; a large one comes in larger pieces.
const FEW: usize = 7;

#[async_trait]
impl ByteStream for Trickle {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        yield_now().await;
        if self.most == 0 {
            return Err(self
                .plan
                .report(ErrorCode::IoError)
                .at(&self.target)
                .during(Operation::Read));
        }
        if self.rest.is_empty() {
            match self.inner.next().await? {
                // Cut after its last byte, so that a short body is torn too.
                None if self.most != usize::MAX => {
                    self.most = 0;
                    return self.next().await;
                }
                None => return Ok(None),
                Some(piece) => self.rest = piece,
            }
        }
        if self.most != usize::MAX {
            self.most -= 1;
        }
        let size = FEW.max(self.rest.len() / 64).min(self.rest.len());
        Ok(Some(self.rest.split_to(size)))
    }

    fn version(&self) -> Option<Version> {
        self.inner.version().filter(|_| self.most > 0)
    }
}
