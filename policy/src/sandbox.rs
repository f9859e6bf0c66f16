//! Sandbox modes: which mutations an operator allows, enforced at the gate and at the file system.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use seamfs_core::gate::{Explanation, GateFacts, Intent, Observed, Refusal, Rule, Ruling};
use seamfs_core::{
    Actor, CallContext, Capabilities, CreateDirOptions, EditOptions, EditOutcome, ErrorCode,
    FileSystem, FsError, ListOptions, Listing, Metadata, Operation, ReadOptions, ReadOutcome,
    RemoveOptions, ResolveOptions, Result, SandboxMode, StatOptions, Target, TransferOptions,
    TransferOutcome, Transform, WriteOptions, WriteOutcome,
};

/// Checks one mutation against a mode, as widened for this call.
///
/// # Errors
/// `FS_SANDBOX_DENIED`, naming the mode.
fn check(mode: SandboxMode, context: &CallContext, operation: Operation) -> Result<()> {
    match mode.max(context.grant.unwrap_or(mode)) {
        SandboxMode::ReadOnly => Err(FsError::new(
            ErrorCode::SandboxDenied,
            format!("the sandbox mode read-only allows no {operation}"),
        )
        .during(operation)),
        // A workspace of one root has nothing else that could be mounted.
        SandboxMode::WorkspaceWrite | SandboxMode::FullAccess => Ok(()),
    }
}

/// The rule: vetoes what the mode forbids before anything else is asked, and tells tools the mode.
#[derive(Clone, Copy, Debug)]
pub struct Sandbox {
    mode: SandboxMode,
}

impl Sandbox {
    /// Confines mutations to a mode.
    pub fn new(mode: SandboxMode) -> Self {
        Self { mode }
    }
}

#[async_trait]
impl Rule for Sandbox {
    async fn decide(&self, intent: &Intent<'_>) -> Result<Ruling> {
        check(self.mode, intent.context, intent.operation).map(|()| Ruling::Pass)
    }

    fn observed(&self, _: &Observed<'_>) {}

    fn explain(&self, _: &Refusal<'_>) -> Option<Explanation> {
        None
    }

    fn forget(&self, _: &Actor) {}

    fn describe(&self, facts: &mut GateFacts) {
        facts.confined = (self.mode != SandboxMode::FullAccess).then_some(self.mode);
    }
}

/// The layer: a file system that itself refuses what the mode forbids, whoever calls it.
#[derive(Clone)]
pub struct Sandboxed {
    inner: Arc<dyn FileSystem>,
    mode: SandboxMode,
}

impl Sandboxed {
    /// Confines a file system to a mode.
    pub fn new(inner: Arc<dyn FileSystem>, mode: SandboxMode) -> Self {
        Self { inner, mode }
    }

    fn allow(&self, context: &CallContext, operation: Operation, target: &Target) -> Result<()> {
        check(self.mode, context, operation).map_err(|error| error.at(target.display()))
    }
}

impl fmt::Debug for Sandboxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandboxed")
            .field("mode", &self.mode)
            .field("inner", &self.inner)
            .finish()
    }
}

impl fmt::Display for Sandboxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for Sandboxed {
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
        self.allow(&options.context, Operation::Write, target)?;
        self.inner.write(target, bytes, options).await
    }

    async fn edit(
        &self,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        self.allow(&options.context, Operation::Edit, target)?;
        self.inner.edit(target, transform, options).await
    }

    async fn remove(&self, target: &Target, options: RemoveOptions) -> Result<()> {
        self.allow(&options.context, Operation::Remove, target)?;
        self.inner.remove(target, options).await
    }

    async fn rename(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.allow(&options.context, Operation::Rename, from)?;
        self.allow(&options.context, Operation::Rename, to)?;
        self.inner.rename(from, to, options).await
    }

    async fn copy(
        &self,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        self.allow(&options.context, Operation::Copy, to)?;
        self.inner.copy(from, to, options).await
    }

    async fn create_dir(&self, target: &Target, options: CreateDirOptions) -> Result<()> {
        self.allow(&options.context, Operation::CreateDir, target)?;
        self.inner.create_dir(target, options).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_allows_what_it_says_and_a_grant_only_widens_it() {
        use SandboxMode::{FullAccess, ReadOnly, WorkspaceWrite};
        let allowed = |mode, grant| {
            let context = CallContext {
                grant,
                ..CallContext::default()
            };
            let outcome = check(mode, &context, Operation::Write);
            outcome.map_err(|error| (error.code(), error.operation()))
        };
        let denied = Err((ErrorCode::SandboxDenied, Some(Operation::Write)));
        assert_eq!(allowed(ReadOnly, None), denied);
        assert_eq!(allowed(ReadOnly, Some(ReadOnly)), denied);
        assert_eq!(allowed(ReadOnly, Some(WorkspaceWrite)), Ok(()));
        for mode in [WorkspaceWrite, FullAccess] {
            assert_eq!(allowed(mode, None), Ok(()));
            assert_eq!(allowed(mode, Some(ReadOnly)), Ok(()));
        }
    }

    #[tokio::test]
    async fn the_rule_vetoes_and_tells_the_mode_that_confines() {
        let target = Target::new(seamfs_core::TargetKey::new("/a"), "/a");
        let (actor, context) = (Actor::new("one"), CallContext::default());
        let intent = Intent {
            actor: &actor,
            operation: Operation::Remove,
            target: &target,
            destination: None,
            context: &context,
        };
        for (mode, confined) in [
            (SandboxMode::ReadOnly, true),
            (SandboxMode::WorkspaceWrite, true),
            (SandboxMode::FullAccess, false),
        ] {
            let (rule, mut facts) = (Sandbox::new(mode), GateFacts::default());
            rule.describe(&mut facts);
            assert_eq!(facts.confined, confined.then_some(mode));
            let ruling = rule.decide(&intent).await.map_err(|error| error.code());
            match mode {
                SandboxMode::ReadOnly => {
                    assert_eq!(ruling.unwrap_err(), ErrorCode::SandboxDenied);
                }
                _ => assert!(matches!(ruling, Ok(Ruling::Pass))),
            }
        }
    }
}
