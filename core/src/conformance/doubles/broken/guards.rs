//! Faults of guards: ignored, compared by the wrong thing, or checked at the wrong moment.

use tokio::task::yield_now;

use super::fault::prelude::*;

/// Mutates whatever the guard says, in one operation.
#[derive(Debug)]
pub(super) struct IgnoresGuard(pub(super) Operation);

impl IgnoresGuard {
    fn guard(&self, operation: Operation, expected: Expected) -> Expected {
        match self.0 == operation {
            true => Expected::Any,
            false => expected,
        }
    }

    fn guards(&self, operation: Operation, mut options: TransferOptions) -> TransferOptions {
        options.source = self.guard(operation, options.source);
        options.destination = self.guard(operation, options.destination);
        options
    }
}

#[async_trait]
impl Fault for IgnoresGuard {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        mut options: WriteOptions,
    ) -> Result<WriteOutcome> {
        options.expected = self.guard(Operation::Write, options.expected);
        fs.write(target, bytes, options).await
    }

    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        mut options: EditOptions,
    ) -> Result<EditOutcome> {
        options.expected = self.guard(Operation::Edit, options.expected);
        fs.edit(target, transform, options).await
    }

    async fn remove(&self, fs: &Inner, target: &Target, mut options: RemoveOptions) -> Result<()> {
        options.expected = self.guard(Operation::Remove, options.expected);
        fs.remove(target, options).await
    }

    async fn rename(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        fs.rename(from, to, self.guards(Operation::Rename, options))
            .await
    }

    async fn copy(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        fs.copy(from, to, self.guards(Operation::Copy, options))
            .await
    }
}

/// Takes the guard for absence as no guard.
#[derive(Debug)]
pub(super) struct AbsentIsAny;

#[async_trait]
impl Fault for AbsentIsAny {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        mut options: WriteOptions,
    ) -> Result<WriteOutcome> {
        if options.expected == Expected::Absent {
            options.expected = Expected::Any;
        }
        fs.write(target, bytes, options).await
    }

    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        mut options: EditOptions,
    ) -> Result<EditOutcome> {
        if options.expected == Expected::Absent {
            options.expected = Expected::Any;
        }
        fs.edit(target, transform, options).await
    }
}

/// Judges by size and time of the last change instead of content.
#[derive(Debug)]
pub(super) struct ComparesTimes;

async fn time_version(fs: &Inner, target: &Target) -> Result<Option<Version>> {
    let found = fs.stat(target, StatOptions::default()).await?;
    Ok(found.map(|found| Version::from_token(format!("{:?}-{:?}", found.size, found.modified))))
}

/// Turns a guard by time into none, or says that it does not hold.
async fn judge(fs: &Inner, target: &Target, expected: Expected) -> Result<Expected> {
    match expected {
        Expected::Version(version) if time_version(fs, target).await? == Some(version.clone()) => {
            Ok(Expected::Any)
        }
        Expected::Version(_) => Err(cas::stale()),
        other => Ok(other),
    }
}

#[async_trait]
impl Fault for ComparesTimes {
    async fn read(&self, fs: &Inner, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        let mut outcome = fs.read(target, options).await?;
        let found = time_version(fs, target).await?;
        let metadata = outcome.metadata.clone();
        let bytes = outcome.body.collect().await?.bytes;
        outcome = ReadOutcome {
            metadata,
            body: Body::Whole {
                bytes,
                version: found,
            },
        };
        Ok(outcome)
    }

    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        mut options: WriteOptions,
    ) -> Result<WriteOutcome> {
        options.expected = judge(fs, target, options.expected).await?;
        let mut outcome = fs.write(target, bytes, options).await?;
        outcome.version = time_version(fs, target).await?.unwrap_or(outcome.version);
        Ok(outcome)
    }

    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        mut options: EditOptions,
    ) -> Result<EditOutcome> {
        options.expected = judge(fs, target, options.expected).await?;
        let mut outcome = fs.edit(target, transform, options).await?;
        outcome.version = time_version(fs, target).await?.unwrap_or(outcome.version);
        Ok(outcome)
    }
}

/// Checks the guard of a write, and writes without one.
#[derive(Debug)]
pub(super) struct LooksThenActs;

#[async_trait]
impl Fault for LooksThenActs {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        mut options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let seen = fs.read_all(target).await.ok();
        cas::check_guard(seen.as_ref(), &options.expected)?;
        for _ in 0..8 {
            yield_now().await;
        }
        options.expected = Expected::Any;
        fs.write(target, bytes, options).await
    }
}

/// Reads, plans, and hands the result to `publish` under the guard it names.
async fn edit_by_hand(
    fs: &Inner,
    target: &Target,
    transform: &dyn Transform,
    expected: &Expected,
    guard: impl FnOnce(&Version) -> Expected,
) -> Result<EditOutcome> {
    let seen = match fs.read_all(target).await {
        Ok(seen) => Some(seen),
        Err(error) if error.code() == ErrorCode::NotFound => None,
        Err(error) => return Err(error),
    };
    let attempt = cas::attempt(seen.as_ref(), transform, expected)?;
    let seen = seen.ok_or_else(cas::not_found)?;
    for _ in 0..8 {
        yield_now().await;
    }
    let edit = match attempt {
        cas::Attempt::Unchanged(edit) => return Ok(cas::unchanged(seen, edit)),
        cas::Attempt::Publish(edit) => edit,
    };
    let after = Bytes::from(edit.splices.apply(&seen.bytes));
    let outcome = fs.write_all(target, after, guard(&seen.version)).await?;
    Ok(EditOutcome {
        version: outcome.version,
        before: seen.bytes,
        notes: edit.notes.clone(),
        edit,
    })
}

/// Edits by reading and writing, with nothing between the two.
#[derive(Debug)]
pub(super) struct LosesRaces;

#[async_trait]
impl Fault for LosesRaces {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let expected = &options.expected;
        edit_by_hand(fs, target, &*transform, expected, |_| Expected::Any).await
    }
}

/// Reads, looks and writes with no lock around them: a provider whose lock was removed.
#[derive(Debug)]
pub(super) struct HasNoLock;

#[async_trait]
impl Fault for HasNoLock {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        LooksThenActs.write(fs, target, bytes, options).await
    }

    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        LosesRaces.edit(fs, target, transform, options).await
    }
}

/// Edits once; a lost race is the caller's.
#[derive(Debug)]
pub(super) struct GivesUpRaces;

#[async_trait]
impl Fault for GivesUpRaces {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let guard = |seen: &Version| Expected::Version(seen.clone());
        edit_by_hand(fs, target, &*transform, &options.expected, guard).await
    }
}

/// Refuses a publication when the time of the last change moved, whatever the bytes.
#[derive(Debug)]
pub(super) struct TakesTouchesForChanges;

#[async_trait]
impl Fault for TakesTouchesForChanges {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let seen = fs.read_all(target).await?;
        let before = time_version(fs, target).await?;
        cas::attempt(Some(&seen), &*transform, &options.expected)?;
        if time_version(fs, target).await? != before {
            return Err(cas::stale());
        }
        fs.edit(target, transform, options).await
    }
}

/// Plans on the present bytes, and checks the guard afterwards.
#[derive(Debug)]
pub(super) struct MatchesFirst;

#[async_trait]
impl Fault for MatchesFirst {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let seen = fs.read_all(target).await.ok();
        if seen.is_some() {
            cas::attempt(seen.as_ref(), &*transform, &Expected::Any)?;
        }
        fs.edit(target, transform, options).await
    }
}
