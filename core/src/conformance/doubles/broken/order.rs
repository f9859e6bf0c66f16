//! Faults of order: who waits for whom, and who comes first.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::yield_now;

use super::fault::prelude::*;
use crate::locks::Turns;

/// Holds up each edit less than the one before it.
#[derive(Debug, Default)]
pub(super) struct LastComerFirst(AtomicUsize);

#[async_trait]
impl Fault for LastComerFirst {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let comer = self.0.fetch_add(1, Ordering::Relaxed);
        for _ in 0..64_usize.saturating_sub(4 * comer) {
            yield_now().await;
        }
        fs.edit(target, transform, options).await
    }
}

/// Has one lock for all files.
#[derive(Debug, Default)]
pub(super) struct LocksEverything(Turns<()>);

#[async_trait]
impl Fault for LocksEverything {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let _turn = self.0.turn((), options.context.deadline).await?;
        fs.write(target, bytes, options).await
    }

    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let _turn = self.0.turn((), options.context.deadline).await?;
        fs.edit(target, transform, options).await
    }
}
