//! The scratch area: a folder of a claim's own, and what claims do in it all the time.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;

use super::outside::{Deed, Outside};
use super::{Failure, check};
use crate::error::{ErrorCode, Result};
use crate::ext::FileSystemExt;
use crate::fs::FileSystem;
use crate::metadata::FileKind;
use crate::options::{ListOptions, Purpose, RemoveOptions, ResolveOptions, StatOptions};
use crate::target::Target;
use crate::version::{Expected, Version};

/// A folder that a claim has to itself; paths in it are relative to it.
///
/// It need not exist: the claims create what they need.
#[derive(Clone, Debug)]
pub struct Scratch {
    root: String,
    whole: bool,
    outside: Option<Arc<dyn Outside>>,
}

impl Scratch {
    /// Names a folder, relative to the root of the file system.
    pub fn new(root: impl Into<String>) -> Self {
        Self {
            root: root.into(),
            whole: false,
            outside: None,
        }
    }

    /// Adds the hands outside.
    #[must_use]
    pub fn with_outside(mut self, outside: Option<Arc<dyn Outside>>) -> Self {
        self.outside = outside;
        self
    }

    /// Says that the whole file system may be played with, its root included.
    #[must_use]
    pub fn of_the_whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Returns the scratch folder of this name within this one.
    #[must_use]
    pub fn within(&self, name: &str) -> Self {
        Self {
            root: self.path(name),
            ..self.clone()
        }
    }

    /// Returns whether the whole file system may be played with.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns the hands outside.
    pub fn outside(&self) -> Option<&Arc<dyn Outside>> {
        self.outside.as_ref()
    }

    /// Returns the path of the folder itself.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns a path in the folder, relative to the root of the file system.
    pub fn path(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }

    /// Resolves a path in the folder.
    ///
    /// # Errors
    /// As [`FileSystem::resolve`].
    pub async fn target(&self, fs: &dyn FileSystem, path: &str) -> Result<Target> {
        fs.target(&self.path(path)).await
    }

    /// Resolves the folder itself.
    ///
    /// # Errors
    /// As [`FileSystem::resolve`].
    pub async fn folder(&self, fs: &dyn FileSystem) -> Result<Target> {
        fs.resolve(&self.root, "", for_folder()).await
    }

    /// Puts a file, through the file system where it is writable, else from outside.
    ///
    /// # Errors
    /// If neither can.
    pub async fn put(
        &self,
        fs: &dyn FileSystem,
        path: &str,
        bytes: impl AsRef<[u8]>,
    ) -> Result<(Target, Version), Failure> {
        let target = self.target(fs, path).await?;
        if fs.capabilities(Some(&target)).writable {
            let bytes = Bytes::copy_from_slice(bytes.as_ref());
            let version = fs.write_all(&target, bytes, Expected::Any).await?.version;
            return Ok((target, version));
        }
        let outside = self.outside.as_ref().ok_or_else(|| {
            Failure::new("nothing can be put: no mutation is offered, and nobody is outside")
        })?;
        let (path, bytes) = (&*self.path(path), bytes.as_ref());
        outside
            .act(Deed::Put { path, bytes })
            .await
            .map_err(|unable| Failure::new(unable.to_string()))?;
        let version = fs.read_all(&target).await?.version;
        Ok((target, version))
    }

    /// Reads a file in the folder; none when nothing is there.
    ///
    /// # Errors
    /// As [`FileSystem::read`], but for `FS_NOT_FOUND`.
    pub async fn bytes(&self, fs: &dyn FileSystem, path: &str) -> Result<Option<Bytes>> {
        let target = self.target(fs, path).await?;
        match fs.read_all(&target).await {
            Ok(snapshot) => Ok(Some(snapshot.bytes)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Checks a file's bytes; none for nothing there.
    ///
    /// # Errors
    /// What was found instead.
    pub async fn holds(
        &self,
        fs: &dyn FileSystem,
        path: &str,
        expected: Option<&[u8]>,
    ) -> Result<(), Failure> {
        let found = self.bytes(fs, path).await?;
        match (&found, expected) {
            (Some(found), Some(expected)) => check::same_bytes(path, found, expected),
            _ => check::equal(path, found.as_deref(), expected),
        }
    }

    /// Returns the names of a folder's children, in the order of the listing.
    ///
    /// # Errors
    /// As [`FileSystem::list`].
    pub async fn names(&self, fs: &dyn FileSystem, path: &str) -> Result<Vec<String>> {
        let target = match path {
            "" => self.folder(fs).await?,
            path => fs.resolve(&self.path(path), "", for_folder()).await?,
        };
        let entries = fs.list_all(&target).await?;
        Ok(entries
            .into_iter()
            .map(|entry| entry.name.to_string())
            .collect())
    }

    /// Removes the folder and everything in it; what cannot be removed stays.
    ///
    /// # Errors
    /// The first failure, after everything else was removed.
    pub async fn clear(&self, fs: &dyn FileSystem) -> Result<()> {
        let entry = ResolveOptions {
            purpose: Purpose::Entry,
            ..ResolveOptions::default()
        };
        let folder = fs.resolve(&self.root, "", entry).await?;
        clear(fs, folder).await
    }
}

pub(super) fn for_folder() -> ResolveOptions {
    ResolveOptions {
        purpose: Purpose::Folder,
        ..ResolveOptions::default()
    }
}

/// Removes a tree from its leaves up, following no link.
async fn clear(fs: &dyn FileSystem, root: Target) -> Result<()> {
    let flat = !fs.capabilities(Some(&root)).hierarchy;
    let mut first = Ok(());
    let mut pending = vec![(root, false)];
    while let Some((target, emptied)) = pending.pop() {
        if !emptied && let Some(children) = children(fs, &target).await {
            pending.push((target, true));
            pending.extend(children.into_iter().map(|child| (child, false)));
            continue;
        }
        match fs.remove(&target, RemoveOptions::default()).await {
            // Without a hierarchy there may be files beneath a file, which its listing hid.
            Ok(()) if flat && !emptied => {
                let beneath = children(fs, &target).await.unwrap_or_default();
                pending.extend(beneath.into_iter().map(|child| (child, false)));
            }
            Ok(()) => {}
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

/// Returns the entries of a folder; none for anything that is no folder.
async fn children(fs: &dyn FileSystem, target: &Target) -> Option<Vec<Target>> {
    let there = fs.lstat(target, StatOptions::default()).await.ok()?;
    if there.is_some_and(|metadata| metadata.kind != FileKind::Directory) {
        return None;
    }
    let mut listing = fs.list(target, ListOptions::default()).await.ok()?;
    let mut found = Vec::new();
    while let Some(entry) = listing.next().await {
        let name = entry.ok()?.name;
        // A broken store may list a folder within itself: nothing above is ever removed.
        if name.as_str().is_empty() || name.as_str().contains('/') {
            continue;
        }
        let path = format!("{}/{name}", target.display());
        let options = ResolveOptions {
            purpose: Purpose::Entry,
            ..ResolveOptions::default()
        };
        let child = fs.resolve(&path, "", options).await;
        found.extend(child.into_iter().filter(|child| child.display() == path));
    }
    Some(found)
}
