//! Faults of versions: forgotten, made of the wrong bytes, or looked up too late.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::task::yield_now;

use super::fault::prelude::*;

/// Gives a version that names nothing after a mutation.
#[derive(Debug)]
pub(super) struct ForgetsVersion(pub(super) Operation);

fn forgotten() -> Version {
    Version::from_token("forgotten")
}

#[async_trait]
impl Fault for ForgetsVersion {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let mut outcome = fs.write(target, bytes, options).await?;
        if self.0 == Operation::Write {
            outcome.version = forgotten();
        }
        Ok(outcome)
    }

    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let mut outcome = fs.edit(target, transform, options).await?;
        if self.0 == Operation::Edit {
            outcome.version = forgotten();
        }
        Ok(outcome)
    }

    async fn rename(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let mut outcome = fs.rename(from, to, options).await?;
        if self.0 == Operation::Rename {
            outcome.version = None;
        }
        Ok(outcome)
    }

    async fn copy(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let mut outcome = fs.copy(from, to, options).await?;
        if self.0 == Operation::Copy {
            outcome.version = Some(forgotten());
        }
        Ok(outcome)
    }
}

/// Replaces the version of a read by another.
async fn read_as(
    fs: &Inner,
    target: &Target,
    options: ReadOptions,
    version: impl FnOnce(&[u8]) -> Version,
) -> Result<ReadOutcome> {
    let ReadOutcome { metadata, mut body } = fs.read(target, options).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await? {
        bytes.extend_from_slice(&piece);
    }
    let version = Some(version(&bytes));
    Ok(ReadOutcome {
        metadata,
        body: Body::Whole {
            bytes: bytes.into(),
            version,
        },
    })
}

/// Names other bytes than it delivers.
#[derive(Debug)]
pub(super) struct VersionOfOtherBytes;

#[async_trait]
impl Fault for VersionOfOtherBytes {
    async fn read(&self, fs: &Inner, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        read_as(fs, target, options, |_| Version::of(b"other bytes")).await
    }
}

/// Makes one version of all contents of one size.
#[derive(Debug)]
pub(super) struct VersionsBySize;

#[async_trait]
impl Fault for VersionsBySize {
    async fn read(&self, fs: &Inner, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        let by_size = |bytes: &[u8]| Version::from_token(format!("size-{}", bytes.len()));
        read_as(fs, target, options, by_size).await
    }
}

/// Makes a version of the part that was read.
#[derive(Debug)]
pub(super) struct VersionsOfRanges;

#[async_trait]
impl Fault for VersionsOfRanges {
    async fn read(&self, fs: &Inner, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        read_as(fs, target, options, Version::of).await
    }
}

/// Remembers the version of the first whole read and gives every range that one.
#[derive(Debug, Default)]
pub(super) struct RangesByFirstVersion(Mutex<HashMap<TargetKey, Version>>);

impl RangesByFirstVersion {
    fn first(&self, target: &Target, version: Option<Version>) -> Option<Version> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match version {
            Some(version) => Some(first.entry(target.key().clone()).or_insert(version).clone()),
            None => first.get(target.key()).cloned(),
        }
    }
}

#[async_trait]
impl Fault for RangesByFirstVersion {
    async fn read(&self, fs: &Inner, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        let part = options.range.is_some();
        let mut outcome = fs.read(target, options).await?;
        let read = outcome.body.collect().await?;
        let version = match part {
            true => self.first(target, None),
            false => self
                .first(target, Some(read.version.clone()))
                .and(Some(read.version)),
        };
        outcome.body = Body::Whole {
            bytes: read.bytes,
            version,
        };
        Ok(outcome)
    }
}

/// Writes, and reads back which version that made.
#[derive(Debug)]
pub(super) struct VersionAfterwards;

#[async_trait]
impl Fault for VersionAfterwards {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let mut outcome = fs.write(target, bytes, options).await?;
        for _ in 0..16 {
            yield_now().await;
        }
        outcome.version = fs.read_all(target).await?.version;
        Ok(outcome)
    }
}

/// Makes versions of what `stat` knows.
#[derive(Debug)]
pub(super) struct GuessesVersions;

#[async_trait]
impl Fault for GuessesVersions {
    async fn stat(
        &self,
        fs: &Inner,
        target: &Target,
        options: StatOptions,
    ) -> Result<Option<Metadata>> {
        let found = fs.stat(target, options).await?;
        Ok(found.map(|found| Metadata {
            version: Some(Version::from_token(format!("{:?}", found.modified))),
            ..found
        }))
    }
}
