//! Removal: a file under its guard, a link itself, or an empty folder.

use std::sync::Arc;

use rustix::io::Errno;
use seamfs_core::{
    ErrorCode, Expected, FileKind, FsError, RemoveOptions, Result, RootPath, Version, cas,
};

use super::Inner;
use super::at;
use super::error::{host, not_for_the_root, read_only};
use super::held::Held;
use super::moment::{Moment, reached};
use super::publish::{is_expected, sync_folder};
use super::staging;
use super::stamp::Stamp;
use super::stranded::keep_beside;
use super::walk::{NoPlace, Place};

/// Removes what is at a path.
pub(super) fn remove(local: &Inner, path: &RootPath, options: &RemoveOptions) -> Result<()> {
    let context = &options.context;
    let missing = match &options.expected {
        Expected::Absent => return Err(never_absent()),
        Expected::Any => cas::not_found(),
        Expected::Version(_) => cas::gone(),
    };
    let mut patience = local.patience(context);
    loop {
        context.check()?;
        let place = match local.root.place(path) {
            Ok(place) => place,
            Err(NoPlace::Missing) => return Err(missing),
            Err(NoPlace::Root) => return Err(not_for_the_root()),
            Err(NoPlace::Failed(error)) => return Err(error),
        };
        let Some(stamp) = place.look()? else {
            return Err(missing);
        };
        if remove_seen(local, &place, &stamp, options)? {
            return sync_folder(local.options.durability, &place.folder);
        }
        patience.again()?;
    }
}

/// Makes the error of a guard that can never hold for what is to go.
pub(super) fn never_absent() -> FsError {
    FsError::new(
        ErrorCode::InvalidArgument,
        "the guard `absent` can never hold for what is to be moved, copied or removed",
    )
}

/// Returns whether it is done; otherwise something else is there by now.
fn remove_seen(
    local: &Inner,
    place: &Place,
    stamp: &Stamp,
    options: &RemoveOptions,
) -> Result<bool> {
    match (stamp.kind, &options.expected) {
        (FileKind::File, _) if stamp.is_protected() => Err(read_only()),
        (FileKind::File, Expected::Version(version)) => {
            remove_version(local, place, version, options)
        }
        (_, Expected::Version(_)) => Err(cas::stale()),
        (FileKind::Directory, _) => remove_folder(place, options),
        _ => {
            let _lock = local.lock(&place.folder, &options.context)?;
            let claim = options.context.cancellation.begin_publication()?;
            let removed = at::unlink(&place.folder, &place.name);
            drop(claim);
            match removed {
                Ok(()) => Ok(true),
                Err(Errno::NOENT | Errno::ISDIR) => Ok(false),
                Err(error) => Err(host(error, "remove it")),
            }
        }
    }
}

fn remove_folder(place: &Place, options: &RemoveOptions) -> Result<bool> {
    let claim = options.context.cancellation.begin_publication()?;
    let removed = at::remove_folder(&place.folder, &place.name);
    drop(claim);
    match removed {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(Errno::EXIST) => Err(host(Errno::NOTEMPTY, "remove the folder")),
        Err(error) => Err(host(error, "remove the folder")),
    }
}

/// Removes exactly the bytes of a version: the file is set aside in one step, looked at, and only
/// then removed. What a foreign writer put there in between goes back.
fn remove_version(
    local: &Inner,
    place: &Place,
    version: &Version,
    options: &RemoveOptions,
) -> Result<bool> {
    let lock = local.lock(&place.folder, &options.context)?;
    let Some(held) = Held::open(&local.root, place)? else {
        return Ok(false);
    };
    let seen = held.snapshot()?;
    let guard = Expected::Version(version.clone());
    cas::check_guard(Some(&seen), &guard)?;
    let hash = seen
        .version
        .hash()
        .expect("a snapshot's version has its hash");
    let aside = Place {
        folder: Arc::clone(&place.folder),
        name: staging::whole(Some(hash), hash),
    };
    let claim = options.context.cancellation.begin_publication()?;
    let moved = at::rename_to_vacant((&place.folder, &place.name), (&aside.folder, &aside.name));
    reached(Moment::SetAside);
    let removed = match moved {
        Ok(()) if is_expected(local, &aside, &held, &seen.bytes) => {
            at::unlink(&aside.folder, &aside.name)
        }
        Ok(()) => return restore(place, &aside).map(|()| false),
        Err(error) if at::is_not_offered(error) => at::unlink(&place.folder, &place.name),
        Err(error) => Err(error),
    };
    drop(claim);
    drop(lock);
    match removed {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(host(error, "remove the file")),
    }
}

fn restore(place: &Place, aside: &Place) -> Result<()> {
    let back = at::rename_to_vacant((&aside.folder, &aside.name), (&place.folder, &place.name));
    if back.is_ok() {
        return Ok(());
    }
    Err(keep_beside(place, aside))
}
