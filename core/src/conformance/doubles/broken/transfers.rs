//! Faults of removals, transfers and folders: too much, too little, or the wrong end.

use super::fault::prelude::*;
use crate::locks::Turns;

/// Removes every sibling whose name begins alike.
#[derive(Debug)]
pub(super) struct RemovesAlike;

#[async_trait]
impl Fault for RemovesAlike {
    async fn remove(&self, fs: &Inner, target: &Target, options: RemoveOptions) -> Result<()> {
        fs.remove(target, options).await?;
        let (folder, name) = target.display().rsplit_once('/').unwrap_or_default();
        for entry in fs.list_all(&fs.target(folder).await?).await? {
            if entry.name.as_str().starts_with(name) {
                let alike = fs.target(&format!("{folder}/{}", entry.name)).await?;
                fs.remove(&alike, RemoveOptions::default()).await?;
            }
        }
        Ok(())
    }
}

/// Removes what is not there.
#[derive(Debug)]
pub(super) struct RemovesNothing;

#[async_trait]
impl Fault for RemovesNothing {
    async fn remove(&self, fs: &Inner, target: &Target, options: RemoveOptions) -> Result<()> {
        match fs.remove(target, options).await {
            Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
            answer => answer,
        }
    }
}

/// Removes a folder and the files in it.
#[derive(Debug)]
pub(super) struct RemovesTrees;

#[async_trait]
impl Fault for RemovesTrees {
    async fn remove(&self, fs: &Inner, target: &Target, options: RemoveOptions) -> Result<()> {
        for entry in fs.list_all(target).await.unwrap_or_default() {
            let child = fs
                .target(&format!("{}/{}", target.display(), entry.name))
                .await?;
            fs.remove(&child, RemoveOptions::default()).await?;
        }
        fs.remove(target, options).await
    }
}

/// Copies where it should move.
#[derive(Debug)]
pub(super) struct LeavesSource;

#[async_trait]
impl Fault for LeavesSource {
    async fn rename(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        fs.copy(from, to, options).await
    }
}

/// Moves where it should copy.
#[derive(Debug)]
pub(super) struct TakesSource;

#[async_trait]
impl Fault for TakesSource {
    async fn copy(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        fs.rename(from, to, options).await
    }
}

/// Changes both transfers alike.
macro_rules! transfers {
    ($($(#[$doc:meta])* $fault:ident: |$fs:ident, $from:ident, $to:ident, $options:ident, $answer:ident| $before:expr, $after:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $fault;

        #[allow(unused_mut)]
        #[async_trait]
        impl Fault for $fault {
            async fn rename(
                &self,
                $fs: &Inner,
                $from: &Target,
                $to: &Target,
                mut $options: TransferOptions,
            ) -> Result<TransferOutcome> {
                $before;
                let $answer = $fs.rename($from, $to, $options.clone()).await;
                $after
            }

            async fn copy(
                &self,
                $fs: &Inner,
                $from: &Target,
                $to: &Target,
                mut $options: TransferOptions,
            ) -> Result<TransferOutcome> {
                $before;
                let $answer = $fs.copy($from, $to, $options.clone()).await;
                $after
            }
        }
    )+};
}

transfers! {
    /// Replaces nothing, even when asked.
    NeverReplaces: |fs, from, to, options, answer| options.destination = Expected::Absent, answer;
    /// Empties what is moved onto itself, as opening for writing does.
    EmptiesItself: |fs, from, to, options, answer| options.context.check()?, {
        if from == to {
            fs.write_all(to, Bytes::new(), Expected::Any).await?;
        }
        answer
    };
    /// Puts a file in the place of a folder.
    ReplacesFolders: |fs, from, to, options, answer| options.context.check()?, {
        let codes = [ErrorCode::NotRegularFile, ErrorCode::AlreadyExists];
        match answer {
            Err(error) if codes.contains(&error.code()) => {
                RemovesTrees.remove(fs, to, RemoveOptions::default()).await?;
                fs.copy(from, to, options).await
            }
            answer => answer,
        }
    };
}

/// Moves the files of a folder and forgets the folders in it.
#[derive(Debug)]
pub(super) struct MovesShallow;

#[async_trait]
impl Fault for MovesShallow {
    async fn rename(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let outcome = fs.rename(from, to, options).await?;
        for entry in fs.list_all(to).await.unwrap_or_default() {
            if entry.kind() == FileKind::Directory {
                let folder = fs
                    .target(&format!("{}/{}", to.display(), entry.name))
                    .await?;
                RemovesTrees
                    .remove(fs, &folder, RemoveOptions::default())
                    .await?;
            }
        }
        Ok(outcome)
    }
}

/// Copies a folder as one with nothing in it.
#[derive(Debug)]
pub(super) struct CopiesFolders;

#[async_trait]
impl Fault for CopiesFolders {
    async fn copy(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        match fs.copy(from, to, options).await {
            Err(error) if error.code() == ErrorCode::NotRegularFile => {
                fs.create_dir(to, CreateDirOptions::default()).await?;
                Ok(TransferOutcome {
                    created: true,
                    version: None,
                    notes: Vec::new(),
                })
            }
            answer => answer,
        }
    }
}

/// Locks the source, and then the destination.
#[derive(Debug, Default)]
pub(super) struct WaitsInRing(Turns<TargetKey>);

#[async_trait]
impl Fault for WaitsInRing {
    async fn rename(
        &self,
        fs: &Inner,
        from: &Target,
        to: &Target,
        options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let deadline = options.context.deadline;
        let _first = self.0.turn(from.key().clone(), deadline).await?;
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
        let _second = match from.key() == to.key() {
            true => None,
            false => Some(self.0.turn(to.key().clone(), deadline).await?),
        };
        fs.rename(from, to, options).await
    }
}

/// Fails where the folder is there already.
#[derive(Debug)]
pub(super) struct CreatesOnce;

#[async_trait]
impl Fault for CreatesOnce {
    async fn create_dir(
        &self,
        fs: &Inner,
        target: &Target,
        options: CreateDirOptions,
    ) -> Result<()> {
        // Asked twice: of racing creators the later look finds what the earlier one made.
        for _ in 0..2 {
            if fs.stat(target, StatOptions::default()).await?.is_some() {
                return Err(cas::already_exists());
            }
            tokio::task::yield_now().await;
        }
        fs.create_dir(target, options).await
    }
}

/// Takes a file for the folder that was wanted.
#[derive(Debug)]
pub(super) struct TakesFileForFolder;

#[async_trait]
impl Fault for TakesFileForFolder {
    async fn create_dir(
        &self,
        fs: &Inner,
        target: &Target,
        options: CreateDirOptions,
    ) -> Result<()> {
        match fs.create_dir(target, options).await {
            Err(error) if error.code() == ErrorCode::AlreadyExists => Ok(()),
            answer => answer,
        }
    }
}
