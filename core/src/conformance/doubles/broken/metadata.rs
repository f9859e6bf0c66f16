//! Faults of metadata and capabilities: things said that are not so.

use futures::StreamExt;

use super::fault::prelude::*;
use crate::capabilities::Guarding;

/// Changes what `stat`, `lstat` and `list` say.
macro_rules! says {
    ($($(#[$doc:meta])* $fault:ident: |$metadata:ident| $change:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $fault;

        impl $fault {
            fn change(mut $metadata: Metadata) -> Metadata {
                $change;
                $metadata
            }
        }

        #[async_trait]
        impl Fault for $fault {
            async fn stat(
                &self,
                fs: &Inner,
                target: &Target,
                options: StatOptions,
            ) -> Result<Option<Metadata>> {
                Ok(fs.stat(target, options).await?.map(Self::change))
            }

            async fn lstat(
                &self,
                fs: &Inner,
                target: &Target,
                options: StatOptions,
            ) -> Result<Option<Metadata>> {
                Ok(fs.lstat(target, options).await?.map(Self::change))
            }

            async fn list(
                &self,
                fs: &Inner,
                target: &Target,
                options: ListOptions,
            ) -> Result<Listing> {
                let listing = fs.list(target, options).await?;
                let changed = listing.map(|entry| {
                    let entry = entry?;
                    Ok(Entry {
                        metadata: entry.metadata.map(Self::change),
                        ..entry
                    })
                });
                Ok(changed.boxed())
            }
        }
    )+};
}

says! {
    /// Says that every file is empty.
    SaysEmpty: |metadata| metadata.size = metadata.size.map(|_| 0);
    /// Says that everything is a file.
    TakesAllForFiles: |metadata| metadata.kind = FileKind::File;
}

/// Promises permission bits that nobody keeps.
#[derive(Debug)]
pub(super) struct PromisesModes;

impl Fault for PromisesModes {
    fn capabilities(&self, fs: &Inner, target: Option<&Target>) -> Capabilities {
        let inner = fs.capabilities(target);
        Capabilities {
            modes: !inner.modes,
            ..inner
        }
    }
}

/// Makes edits and says that it does not.
#[derive(Debug)]
pub(super) struct DeniesEdits;

impl Fault for DeniesEdits {
    fn capabilities(&self, fs: &Inner, target: Option<&Target>) -> Capabilities {
        let inner = fs.capabilities(target);
        Capabilities {
            edit: false,
            ..inner
        }
    }
}

/// Keeps guards and says that it does not.
#[derive(Debug)]
pub(super) struct DeniesGuards;

impl Fault for DeniesGuards {
    fn capabilities(&self, fs: &Inner, target: Option<&Target>) -> Capabilities {
        let inner = fs.capabilities(target);
        Capabilities {
            create: Guarding::None,
            compare_and_swap: Guarding::None,
            ..inner
        }
    }
}

/// Can other things at the root than it says.
#[derive(Debug)]
pub(super) struct TwoMinds;

impl Fault for TwoMinds {
    fn capabilities(&self, fs: &Inner, target: Option<&Target>) -> Capabilities {
        let inner = fs.capabilities(target);
        Capabilities {
            max_file_bytes: target.map(|_| 1),
            ..inner
        }
    }
}

/// Makes a file anew at each write.
#[derive(Debug)]
pub(super) struct LosesModes;

#[async_trait]
impl Fault for LosesModes {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let _ = fs.remove(target, RemoveOptions::default()).await;
        fs.write(target, bytes, options).await
    }
}
