//! Both state machines on servers of other projects, where they are installed.
//!
//! Few histories in an ordinary run; `PROPTEST_CASES` says how many otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt};
use seamfs::core::conformance::model::check_cases;
use seamfs::core::conformance::{Deed, Outside, Subject, Unable};
use seamfs::core::{
    ReadOptions, RemoveOptions, TransferOptions, TransferOutcome, WriteOptions, WriteOutcome,
};
use seamfs::{ErrorCode, Expected, FileSystem, FsError, Result, Target};

use super::{model, tools_model};
use crate::servers::{Installed, Kind};
use crate::support::{Double, Hooks};

/// Makes subjects on one server, each beneath a prefix of its own.
fn subjects(kind: Kind) -> Option<impl Fn() -> Subject> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let server = Arc::new(runtime.block_on(kind.start())?);
    let made = AtomicUsize::new(0);
    Some(move || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        subject(&server, &format!("history-{number}"))
    })
}

fn subject(server: &Arc<Installed>, prefix: &str) -> Subject {
    let hands = ClientHands {
        server: Arc::clone(server),
        client: server.client(),
        prefix: prefix.to_owned(),
    };
    Subject::new(hands.open()).with_outside(hands)
}

/// Somebody with a client of their own on an installed server, which knows nothing of us either.
#[derive(Debug)]
struct ClientHands {
    server: Arc<Installed>,
    client: Arc<dyn ObjectStore>,
    prefix: String,
}

impl ClientHands {
    /// Opens what lies beneath the prefix.
    fn open(&self) -> Arc<dyn FileSystem> {
        // That its conditions hold was tried by tests of their own.
        let trusting = [("conditions", "trust")];
        let object = self.server.connect(&self.prefix, &trusting);
        let flat = Flat {
            server: Arc::clone(&self.server),
            client: Arc::clone(&self.client),
            prefix: self.prefix.clone(),
        };
        Double::over(Arc::new(object), flat)
    }

    async fn put(&self, path: &str, bytes: Bytes) -> object_store::Result<()> {
        let key = self.key(path)?;
        self.client.put(&key, bytes.into()).await.map(drop)
    }

    async fn touch(&self, path: &str) -> object_store::Result<()> {
        let found = self.client.get(&self.key(path)?).await?;
        self.put(path, found.bytes().await?).await
    }

    async fn remove(&self, path: &str) -> object_store::Result<()> {
        let key = self.key(path)?;
        self.client.delete(&key).await?;
        self.server.prune(&*self.client, key.as_ref(), 1).await;
        Ok(())
    }

    fn key(&self, path: &str) -> object_store::Result<Key> {
        Ok(Key::parse(format!("{}/{path}", self.prefix))?)
    }
}

#[async_trait]
impl Outside for ClientHands {
    async fn act(&self, deed: Deed<'_>) -> Result<(), Unable> {
        let done = match deed {
            Deed::Put { path, bytes } | Deed::PutKeepingTimes { path, bytes } => {
                self.put(path, Bytes::copy_from_slice(bytes)).await
            }
            Deed::Touch { path } => self.touch(path).await,
            Deed::Remove { path } => self.remove(path).await,
            other => return Err(Unable(format!("this client has no {other:?}"))),
        };
        done.map_err(|error| Unable(error.to_string()))
    }

    async fn reopen(&self) -> Option<Arc<dyn FileSystem>> {
        Some(self.open())
    }
}

/// Takes SeaweedFS for a store without folders, which it nearly is.
///
/// It has real ones underneath. One that was emptied it forgets only after a while; here it does so
/// at once. A folder is something that is there for a creation, which it refuses; here the file is
/// then put beside it, as a write without a guard puts it.
#[derive(Debug)]
struct Flat {
    server: Arc<Installed>,
    client: Arc<dyn ObjectStore>,
    prefix: String,
}

impl Flat {
    async fn forget(&self, target: &Target) {
        let mut folders = vec![format!("{}{}", self.prefix, target.display())];
        let mut seen = 0;
        while let Some(folder) = folders.get(seen) {
            let folder = Key::parse(folder).expect("it is the start of a key");
            let listed = self.client.list_with_delimiter(Some(&folder)).await;
            let beneath = listed.map(|listed| listed.common_prefixes);
            folders.extend(beneath.unwrap_or_default().iter().map(Key::to_string));
            seen += 1;
        }
        // What lies deepest goes first; the marker of a folder lies in it.
        for folder in folders.iter().rev() {
            let marker = format!("{folder}/.seamfs-folder");
            self.server.prune(&*self.client, &marker, 1).await;
        }
    }
}

/// Returns whether a creation was refused because of a folder alone.
async fn met_a_folder<T>(fs: &dyn FileSystem, at: &Target, answer: &Result<T>) -> bool {
    let refused = |error: &FsError| error.code() == ErrorCode::AlreadyExists;
    if !answer.as_ref().is_err_and(refused) {
        return false;
    }
    let read = fs.read(at, ReadOptions::default()).await;
    read.is_err_and(|error| error.code() == ErrorCode::NotRegularFile)
}

#[async_trait]
impl Hooks for Flat {
    async fn write(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        bytes: Bytes,
        mut options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let written = fs.write(target, bytes.clone(), options.clone()).await;
        if !met_a_folder(fs, target, &written).await {
            return written;
        }
        options.expected = Expected::Any;
        fs.write(target, bytes, options).await
    }

    async fn copy(
        &self,
        fs: &dyn FileSystem,
        from: &Target,
        to: &Target,
        mut options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let copied = fs.copy(from, to, options.clone()).await;
        if !met_a_folder(fs, to, &copied).await {
            return copied;
        }
        options.destination = Expected::Any;
        fs.copy(from, to, options).await
    }

    async fn remove(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: RemoveOptions,
    ) -> Result<()> {
        let removed = fs.remove(target, options).await;
        if removed.is_ok() {
            self.forget(target).await;
        }
        removed
    }

    async fn rename(
        &self,
        fs: &dyn FileSystem,
        from: &Target,
        to: &Target,
        mut options: TransferOptions,
    ) -> Result<TransferOutcome> {
        let mut moved = fs.rename(from, to, options.clone()).await;
        let of_a_file = fs.read(from, ReadOptions::default()).await.is_ok();
        if of_a_file && met_a_folder(fs, to, &moved).await {
            options.destination = Expected::Any;
            moved = fs.rename(from, to, options).await;
        }
        if moved.is_ok() {
            self.forget(from).await;
        }
        moved
    }
}

fn histories_agree(kind: Kind) {
    if let Some(make) = subjects(kind) {
        eprintln!(
            "{}: {}",
            kind.name(),
            check_cases(model::cases(kind.name()), make)
        );
    }
}

fn calls_agree(kind: Kind) {
    if let Some(make) = subjects(kind) {
        tools_model::check_over(kind.name(), make);
    }
}

#[test]
fn histories_over_seaweedfs_agree_with_the_model() {
    histories_agree(Kind::SeaweedFs);
}

#[test]
fn histories_over_azurite_agree_with_the_model() {
    histories_agree(Kind::Azurite);
}

#[test]
fn calls_over_seaweedfs_agree_with_the_policy() {
    calls_agree(Kind::SeaweedFs);
}

#[test]
fn calls_over_azurite_agree_with_the_policy() {
    calls_agree(Kind::Azurite);
}
