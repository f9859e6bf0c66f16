//! Looking: what a target is, without opening it.

use seamfs_core::{FileKind, Metadata, Result, RootPath};

use super::at;
use super::error::host;
use super::root::Root;
use super::walk::NoPlace;

/// Returns what a target is; a link that leads nowhere is nothing.
pub(super) fn stat(root: &Root, path: &RootPath) -> Result<Option<Metadata>> {
    let found = lstat(root, path)?;
    let is_link = matches!(&found, Some(metadata) if metadata.kind == FileKind::Symlink);
    if is_link && !root.leads_somewhere(path) {
        return Ok(None);
    }
    Ok(found)
}

/// Returns what an entry itself is.
pub(super) fn lstat(root: &Root, path: &RootPath) -> Result<Option<Metadata>> {
    match root.place(path) {
        Ok(place) => Ok(place.look()?.map(|stamp| stamp.metadata())),
        Err(NoPlace::Missing) => Ok(None),
        Err(NoPlace::Failed(error)) => Err(error),
        Err(NoPlace::Root) => at::look_at_handle(&root.folder)
            .map(|stamp| Some(stamp.metadata()))
            .map_err(|error| host(error, "look at the root")),
    }
}
