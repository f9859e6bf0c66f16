//! Faults of the call context: not looked at, or outlived.

use super::fault::prelude::*;
use crate::context::CallContext;

/// Looks at no context, whatever it says.
#[derive(Debug)]
pub(super) struct IgnoresContext;

#[async_trait]
impl Fault for IgnoresContext {
    async fn resolve(
        &self,
        fs: &Inner,
        path: &str,
        cwd: &str,
        options: ResolveOptions,
    ) -> Result<Target> {
        fs.resolve(path, cwd, options.in_context(&CallContext::default()))
            .await
    }

    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        fs.write(target, bytes, options.in_context(&CallContext::default()))
            .await
    }

    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        fs.edit(
            target,
            transform,
            options.in_context(&CallContext::default()),
        )
        .await
    }
}

/// Mutates in a task of its own, which a dropped future does not end.
#[derive(Debug)]
pub(super) struct GoesOn;

#[async_trait]
impl Fault for GoesOn {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let (fs, target) = (Arc::clone(fs), target.clone());
        let task = tokio::spawn(async move { fs.edit(&target, transform, options).await });
        task.await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let (fs, target) = (Arc::clone(fs), target.clone());
        let task = tokio::spawn(async move { fs.write(&target, bytes, options).await });
        task.await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }
}
