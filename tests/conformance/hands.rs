//! Hands that act behind the back of each backend.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use seamfs::core::conformance::{Deed, Outside, Unable};
use seamfs::core::{RemoveOptions, TransferOptions};
use seamfs::providers::{Memory, Object};
use seamfs::{Expected, FileSystem, FileSystemExt, Result};

use crate::servers::{self, BUCKET, Server};

/// Somebody with a handle of their own on a [`Memory`].
///
/// An edit holds the turn of its file, so a file is changed by moving the folder that holds it:
/// away, with the change made, and back.
#[derive(Clone, Debug)]
pub(crate) struct MemoryHands(pub(crate) Memory);

impl MemoryHands {
    /// Replaces the folder of a file by one where the file holds these bytes, or none.
    async fn swap(&self, path: &str, bytes: Option<&[u8]>) -> Result<()> {
        let fs = &self.0;
        let (folder, name) = path.rsplit_once('/').expect("scratch files lie in folders");
        let (aside, folder) = (fs.target("outside-hands").await?, fs.target(folder).await?);
        if fs.stat(&folder, Default::default()).await?.is_none() {
            fs.create_dir(&folder, Default::default()).await?;
        }
        fs.rename(&folder, &aside, TransferOptions::default())
            .await?;
        let file = fs.target(&format!("outside-hands/{name}")).await?;
        match bytes {
            Some(bytes) => {
                fs.write_all(&file, Bytes::copy_from_slice(bytes), Expected::Any)
                    .await?;
            }
            None => fs.remove(&file, RemoveOptions::default()).await?,
        }
        fs.rename(&aside, &folder, TransferOptions::default())
            .await?;
        Ok(())
    }
}

#[async_trait]
impl Outside for MemoryHands {
    async fn act(&self, deed: Deed<'_>) -> Result<(), Unable> {
        let done = match deed {
            Deed::Put { path, bytes } => self.swap(path, Some(bytes)).await,
            Deed::Remove { path } => self.swap(path, None).await,
            Deed::Touch { path } => {
                let target = self.0.target(path).await.expect("a path of a claim");
                let bytes = self
                    .0
                    .read_all(&target)
                    .await
                    .expect("a file to touch")
                    .bytes;
                self.swap(path, Some(&bytes)).await
            }
            other => return Err(Unable(format!("memory has no {other:?}"))),
        };
        done.map_err(|error| Unable(error.to_string()))
    }

    async fn reopen(&self) -> Option<Arc<dyn FileSystem>> {
        Some(Arc::new(self.0.clone()))
    }
}

/// Somebody with a client of their own on an object store's server, which knows nothing of us.
#[derive(Debug)]
pub(crate) struct BucketHands {
    server: Server,
    scheme: &'static str,
    options: Vec<(String, String)>,
}

impl BucketHands {
    pub(crate) fn on_s3() -> Self {
        let server = servers::s3();
        Self {
            options: server.s3_options(),
            scheme: "s3",
            server,
        }
    }

    pub(crate) fn on_gcs() -> Self {
        let server = servers::gcs();
        Self {
            options: server.gcs_options(),
            scheme: "gs",
            server,
        }
    }

    /// Opens the server's bucket.
    pub(crate) fn open(&self) -> Object {
        let url = format!("{}://{BUCKET}", self.scheme);
        Object::connect(&url, self.options.clone()).expect("the options are right")
    }
}

#[async_trait]
impl Outside for BucketHands {
    async fn act(&self, deed: Deed<'_>) -> Result<(), Unable> {
        let store = &self.server.store;
        let missing = |path| Unable(format!("there is no {path}"));
        match deed {
            Deed::Put { path, bytes } => store.put_foreign(path, bytes),
            Deed::PutKeepingTimes { path, bytes } => {
                store.bytes(path).ok_or_else(|| missing(path))?;
                store.put_foreign(path, bytes);
            }
            Deed::Touch { path } => {
                let bytes = store.bytes(path).ok_or_else(|| missing(path))?;
                store.put_foreign(path, bytes);
            }
            Deed::Remove { path } => {
                store
                    .remove(path)
                    .then_some(())
                    .ok_or_else(|| missing(path))?;
            }
            Deed::PutRaw { folder, name } => {
                let name = std::str::from_utf8(name);
                let name = name.map_err(|_| Unable("keys are UTF-8".to_owned()))?;
                store.put_foreign(&format!("{folder}/{name}"), "raw");
            }
            other => return Err(Unable(format!("a bucket has no {other:?}"))),
        }
        Ok(())
    }

    async fn reopen(&self) -> Option<Arc<dyn FileSystem>> {
        Some(Arc::new(self.open()))
    }
}

/// Somebody with a shell in the folder of a [`Local`](seamfs::providers::Local).
#[cfg(unix)]
#[derive(Clone, Debug)]
pub(crate) struct LocalHands {
    pub(crate) root: std::path::PathBuf,
    pub(crate) options: seamfs::providers::LocalOptions,
}

#[cfg(unix)]
mod local {
    use std::fs::{self, File, FileTimes, Permissions};
    use std::io::{self, Write};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use seamfs::providers::Local;

    use super::*;

    impl LocalHands {
        fn put(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
            let path = self.root.join(path);
            fs::create_dir_all(path.parent().expect("a path beneath the root"))?;
            fs::write(path, bytes)
        }

        fn put_keeping_times(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
            let path = self.root.join(path);
            let before = fs::metadata(&path)?;
            let times = FileTimes::new()
                .set_modified(before.modified()?)
                .set_accessed(before.accessed()?);
            let mut file = File::options().write(true).truncate(true).open(path)?;
            file.write_all(bytes)?;
            file.set_times(times)
        }

        /// Replaces the file by one with the same bytes, other times and another inode.
        fn touch(&self, path: &str) -> io::Result<()> {
            let (path, beside) = (self.root.join(path), self.root.join("touched"));
            fs::write(&beside, fs::read(&path)?)?;
            fs::set_permissions(&beside, Permissions::from_mode(0o600))?;
            fs::rename(beside, path)
        }

        fn link(&self, path: &str, to: &str) -> io::Result<()> {
            let path = self.root.join(path);
            fs::create_dir_all(path.parent().expect("a path beneath the root"))?;
            if fs::symlink_metadata(&path).is_ok() {
                fs::remove_file(&path)?;
            }
            symlink(to, path)
        }

        fn fifo(&self, path: &str) -> io::Result<()> {
            let made = Command::new("mkfifo").arg(self.root.join(path)).status()?;
            match made.success() {
                true => Ok(()),
                false => Err(io::Error::other("mkfifo failed")),
            }
        }

        fn put_raw(&self, folder: &str, name: &[u8]) -> io::Result<()> {
            let name = std::ffi::OsStr::from_bytes(name);
            fs::write(self.root.join(folder).join(name), "raw")
        }
    }

    #[async_trait]
    impl Outside for LocalHands {
        async fn act(&self, deed: Deed<'_>) -> Result<(), Unable> {
            let done = match deed {
                Deed::Put { path, bytes } => self.put(path, bytes),
                Deed::PutKeepingTimes { path, bytes } => self.put_keeping_times(path, bytes),
                Deed::Touch { path } => self.touch(path),
                Deed::Remove { path } => fs::remove_file(self.root.join(path)),
                Deed::Link { path, to } => self.link(path, to),
                Deed::Mode { path, mode } => {
                    fs::set_permissions(self.root.join(path), Permissions::from_mode(mode))
                }
                Deed::Fifo { path } => self.fifo(path),
                Deed::PutRaw { folder, name } => self.put_raw(folder, name),
                other => return Err(Unable(format!("a shell has no {other:?}"))),
            };
            done.map_err(|error| Unable(error.to_string()))
        }

        async fn reopen(&self) -> Option<Arc<dyn FileSystem>> {
            Some(Arc::new(
                Local::open_with(&self.root, self.options.clone()).expect("the folder is there"),
            ))
        }
    }
}
