//! Folders on the way: opened, and created where they are missing.

use std::sync::Arc;

use cap_std::fs::Dir;
use rustix::io::Errno;
use seamfs_core::{CallContext, FileKind, Result, RootPath};

use super::Inner;
use super::at::{self, Name};
use super::error::{host, not_directory, not_for_the_root};
use super::moment::{Moment, reached};
use super::options::Durability;
use super::publish::sync_folder;
use super::root::Root;
use super::staging;
use super::walk::{NoPlace, Place, Step};

/// Folders that a call created; they go again with it unless they are kept.
#[derive(Default)]
pub(super) struct Created(Vec<(Arc<Dir>, Name)>);

impl Created {
    /// Keeps the folders, on the disk too where that was asked for.
    pub(super) fn keep(mut self, durability: Durability) -> Result<()> {
        let created = std::mem::take(&mut self.0);
        created
            .iter()
            .try_for_each(|(parent, _)| sync_folder(durability, parent))
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        // A folder that somebody uses by now is not empty, and stays.
        while let Some((parent, name)) = self.0.pop() {
            let _ = at::remove_folder(&parent, &name);
        }
    }
}

impl Root {
    /// Opens a target's folder, creating what is missing of it; none when one vanished meanwhile.
    pub(super) fn make_place(&self, path: &RootPath) -> Result<Option<(Place, Created)>> {
        let (Some(name), Some(parent)) = (path.name(), path.parent()) else {
            return Err(not_for_the_root());
        };
        let made = self.make_folders(&parent)?;
        Ok(made.map(|(folder, created)| {
            let name = Name::of(name);
            (Place { folder, name }, created)
        }))
    }

    /// Opens a folder, creating what is missing of it; none when one on the way vanished meanwhile.
    fn make_folders(&self, path: &RootPath) -> Result<Option<(Arc<Dir>, Created)>> {
        let mut created = Created::default();
        let mut folder = Arc::clone(&self.folder);
        for component in path.components() {
            let name = Name::of(component);
            let child = match self.step(&folder, &name)? {
                Step::Missing => {
                    staging::check_free(&name)?;
                    match at::make_folder(&folder, &name) {
                        Ok(()) => {
                            created.0.push((Arc::clone(&folder), name.clone()));
                            reached(Moment::FolderMade);
                            self.step(&folder, &name)?
                        }
                        Err(Errno::EXIST) => self.step(&folder, &name)?,
                        Err(Errno::NOENT) => return Ok(None),
                        Err(error) => return Err(host(error, "create a folder on the way")),
                    }
                }
                found => found,
            };
            folder = match child {
                Step::Folder(child) => Arc::new(child),
                Step::Missing => return Ok(None),
                Step::Link | Step::Other(_) => return Err(not_directory()),
            };
        }
        Ok(Some((folder, created)))
    }
}

/// Creates a folder and the missing ones above it.
pub(super) fn create(local: &Inner, path: &RootPath, context: &CallContext) -> Result<()> {
    context.check()?;
    if path.is_root() {
        return Ok(());
    }
    match local.root.place(path) {
        Ok(place) => match place.look()?.map(|stamp| stamp.kind) {
            Some(FileKind::Directory) => return Ok(()),
            Some(FileKind::Symlink) => return Err(super::error::not_regular(FileKind::Symlink)),
            Some(_) => return Err(seamfs_core::cas::already_exists()),
            None => {}
        },
        Err(NoPlace::Missing | NoPlace::Root) => {}
        Err(NoPlace::Failed(error)) => return Err(error),
    }
    let claim = context.cancellation.begin_publication()?;
    let mut patience = local.patience(context);
    let created = loop {
        match local.root.make_folders(path)? {
            Some((_, created)) => break created,
            None => patience.again()?,
        }
    };
    created.keep(local.options.durability)?;
    drop(claim);
    Ok(())
}
