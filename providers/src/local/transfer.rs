//! Moving and copying: two places, each under its own guard.

use rustix::io::Errno;
use seamfs_core::{
    ContentHash, ContentHasher, ErrorCode, Expected, FileKind, FsError, Note, Result, RootPath,
    TransferOptions, TransferOutcome, Version, cas,
};

use super::Inner;
use super::at;
use super::error::{host, no_folder, not_for_the_root, not_regular};
use super::folder::Created;
use super::held::{Held, PIECE, fill};
use super::lock::FolderLock;
use super::publish::{Outcome, Publication, sync_folder};
use super::remove::never_absent;
use super::stage::Stage;
use super::staging;
use super::stamp::Stamp;
use super::walk::{NoPlace, Place};

/// A source as it was seen.
struct Source {
    place: Place,
    stamp: Stamp,
    /// The hash of its bytes; a file's only.
    hash: Option<ContentHash>,
}

impl Source {
    fn version(&self) -> Option<Version> {
        self.hash.map(Version::from_hash)
    }
}

/// Moves a file, link or folder.
pub(super) fn rename(
    local: &Inner,
    from: &RootPath,
    to: &RootPath,
    options: &TransferOptions,
) -> Result<TransferOutcome> {
    if from.is_root() || to.is_root() {
        return Err(not_for_the_root());
    }
    if from != to && to.starts_with(from) {
        return Err(FsError::new(
            ErrorCode::InvalidArgument,
            "a folder cannot be moved into itself",
        ));
    }
    let mut patience = local.patience(&options.context);
    loop {
        options.context.check()?;
        if let Some(outcome) = try_rename(local, from, to, options)? {
            return Ok(outcome);
        }
        patience.again()?;
    }
}

fn try_rename(
    local: &Inner,
    from: &RootPath,
    to: &RootPath,
    options: &TransferOptions,
) -> Result<Option<TransferOutcome>> {
    let source = source(local, from, &options.source)?;
    if from == to {
        return Ok(Some(transferred(source.version(), false, Vec::new())));
    }
    let at_destination = |error: FsError| error.at(local.root.namespace.display(to));
    let Some((place, created)) =
        destination(local, to, &options.destination).map_err(at_destination)?
    else {
        return Ok(None);
    };
    let locks = lock_both(local, &source.place, &place, options)?;
    // Hashing a large file takes long: it was done before the lock, and counts if nothing moved.
    let Some(source) = still(local, source, options)? else {
        return Ok(None);
    };
    let replaced =
        check_destination(local, &place, &source, &options.destination).map_err(at_destination)?;
    let claim = options.context.cancellation.begin_publication()?;
    let moved = move_entry(&source, &place, replaced.as_ref());
    drop(claim);
    match moved {
        Ok(()) => {}
        Err(Errno::EXIST | Errno::NOENT) if replaced.is_none() => return Ok(None),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::INVAL) => {
            return Err(FsError::new(
                ErrorCode::Unsupported,
                "the host cannot move it there in one step",
            ));
        }
        Err(error) => return Err(host(error, "move it")),
    }
    drop(locks);
    created.keep(local.options.durability)?;
    sync_folder(local.options.durability, &place.folder)?;
    sync_folder(local.options.durability, &source.place.folder)?;
    let notes = replaced.as_ref().map(broken_link).unwrap_or_default();
    Ok(Some(transferred(
        source.version(),
        replaced.is_none(),
        notes,
    )))
}

fn transferred(version: Option<Version>, created: bool, notes: Vec<Note>) -> TransferOutcome {
    TransferOutcome {
        created,
        version,
        notes,
    }
}

fn broken_link(replaced: &Stamp) -> Vec<Note> {
    match replaced.links {
        links if links > 1 && replaced.kind == FileKind::File => {
            vec![Note::HardLinkBroken { links }]
        }
        _ => Vec::new(),
    }
}

/// Looks at the source, hashes it where it is a file, and checks its guard.
fn source(local: &Inner, path: &RootPath, expected: &Expected) -> Result<Source> {
    let missing = match expected {
        Expected::Absent => return Err(never_absent()),
        Expected::Any => cas::not_found(),
        Expected::Version(_) => cas::gone(),
    };
    let place = match local.root.place(path) {
        Ok(place) => place,
        Err(NoPlace::Missing) => return Err(missing),
        Err(NoPlace::Root) => return Err(not_for_the_root()),
        Err(NoPlace::Failed(error)) => return Err(error),
    };
    let Some(stamp) = place.look()? else {
        return Err(missing);
    };
    if stamp.kind != FileKind::File {
        return match expected {
            Expected::Version(_) => Err(cas::stale()),
            _ => Ok(Source {
                place,
                stamp,
                hash: None,
            }),
        };
    }
    let Some(held) = Held::open_seen(&local.root, &place)? else {
        return Err(missing);
    };
    let hash = held.hash()?;
    check_hash(&held, hash, expected)?;
    Ok(Source {
        place,
        stamp: held.stamp,
        hash: Some(hash),
    })
}

/// Refuses a guard with the bytes in hand, when they are few enough to be worth showing.
fn check_hash(held: &Held, hash: ContentHash, expected: &Expected) -> Result<()> {
    match expected {
        Expected::Version(version) if !version.certifies(&Version::from_hash(hash)) => {
            if held.stamp.size > PIECE as u64 {
                return Err(cas::stale());
            }
            cas::check_guard(Some(&held.snapshot()?), expected)
        }
        _ => Ok(()),
    }
}

/// Checks under the lock that the source still is what was seen; none when it has to be looked
/// at again.
fn still(local: &Inner, source: Source, options: &TransferOptions) -> Result<Option<Source>> {
    let Some(now) = source.place.look()? else {
        return Ok(None);
    };
    let guarded = matches!(options.source, Expected::Version(_));
    if now.inode != source.stamp.inode {
        return Ok(None);
    }
    let Some(hash) = source.hash else {
        return Ok(Some(source));
    };
    let racy = now.is_racy(std::time::SystemTime::now());
    if now == source.stamp && !(guarded && racy) {
        return Ok(Some(source));
    }
    let Some(held) = Held::open(&local.root, &source.place)? else {
        return Ok(None);
    };
    if held.hash()? != hash {
        return Ok(None);
    }
    Ok(Some(Source {
        stamp: held.stamp,
        ..source
    }))
}

/// Opens the destination's folder, creating what is missing of it; none when it vanished meanwhile.
fn destination(
    local: &Inner,
    path: &RootPath,
    expected: &Expected,
) -> Result<Option<(Place, Created)>> {
    match local.root.place(path) {
        Ok(place) => Ok(Some((place, Created::default()))),
        Err(NoPlace::Root) => Err(not_for_the_root()),
        Err(NoPlace::Failed(error)) => Err(error),
        Err(NoPlace::Missing) => match expected {
            Expected::Version(_) => Err(cas::gone()),
            Expected::Any | Expected::Absent => local.root.make_place(path),
        },
    }
}

/// Checks what is to be replaced; none when nothing is.
fn check_destination(
    local: &Inner,
    place: &Place,
    source: &Source,
    expected: &Expected,
) -> Result<Option<Stamp>> {
    let Some(stamp) = place.look()? else {
        return match expected {
            Expected::Version(_) => Err(cas::gone()),
            Expected::Any | Expected::Absent => staging::check_free(&place.name).map(|()| None),
        };
    };
    if *expected == Expected::Absent {
        return Err(cas::already_exists());
    }
    match (source.stamp.kind, stamp.kind) {
        (FileKind::Directory, FileKind::Directory) => return Err(cas::already_exists()),
        (FileKind::Directory, _) => return Err(no_folder()),
        (_, FileKind::File) => {}
        (_, kind) => return Err(not_regular(kind)),
    }
    place.check_permission(&stamp)?;
    if let Expected::Version(_) = expected {
        let held = Held::open(&local.root, place)?.ok_or_else(cas::gone)?;
        check_hash(&held, held.hash()?, expected)?;
    }
    Ok(Some(stamp))
}

/// Moves the entry, and replaces exactly what was checked or nothing.
fn move_entry(source: &Source, place: &Place, replaced: Option<&Stamp>) -> rustix::io::Result<()> {
    let from = (&*source.place.folder, &source.place.name);
    let to = (&*place.folder, &place.name);
    match replaced {
        None => move_to_vacant(source, from, to),
        // Both names are one file: to the kernel there is nothing to do, and both would stay.
        Some(stamp) if stamp.inode == source.stamp.inode => at::unlink(from.0, from.1),
        Some(_) => at::rename(from, to),
    }
}

type Entry<'a> = (&'a cap_std::fs::Dir, &'a at::Name);

fn move_to_vacant(source: &Source, from: Entry<'_>, to: Entry<'_>) -> rustix::io::Result<()> {
    match at::rename_to_vacant(from, to) {
        // Links stand in for the missing call; folders have none.
        Err(error) if at::is_not_offered(error) && source.stamp.kind != FileKind::Directory => {
            at::link_between(from, to)?;
            at::unlink(from.0, from.1)
        }
        done => done,
    }
}

/// Locks two folders in a fixed order, by inode, so that nobody waits in a ring.
fn lock_both(
    local: &Inner,
    one: &Place,
    two: &Place,
    options: &TransferOptions,
) -> Result<(FolderLock, Option<FolderLock>)> {
    let look = |place: &Place| {
        at::look_at_handle(&place.folder)
            .map(|stamp| stamp.inode)
            .map_err(|error| host(error, "look at its folder"))
    };
    let (first, second) = (look(one)?, look(two)?);
    if first == second {
        return Ok((local.lock(&one.folder, &options.context)?, None));
    }
    let (low, high) = if first < second {
        (one, two)
    } else {
        (two, one)
    };
    let low = local.lock(&low.folder, &options.context)?;
    let high = local.lock(&high.folder, &options.context)?;
    Ok((low, Some(high)))
}

/// Copies a file.
pub(super) fn copy(
    local: &Inner,
    from: &RootPath,
    to: &RootPath,
    options: &TransferOptions,
) -> Result<TransferOutcome> {
    let mut patience = local.patience(&options.context);
    loop {
        options.context.check()?;
        if let Some(outcome) = try_copy(local, from, to, options)? {
            return Ok(outcome);
        }
        patience.again()?;
    }
}

fn try_copy(
    local: &Inner,
    from: &RootPath,
    to: &RootPath,
    options: &TransferOptions,
) -> Result<Option<TransferOutcome>> {
    if from.is_root() {
        return Err(not_regular(FileKind::Directory));
    }
    let source = source(local, from, &options.source)?;
    let Some(hash) = source.hash else {
        return Err(not_regular(source.stamp.kind));
    };
    if from == to {
        return Ok(Some(transferred(source.version(), false, Vec::new())));
    }
    let Some(held) = Held::open_seen(&local.root, &source.place)? else {
        return Ok(None);
    };
    let at_destination = |error: FsError| error.at(local.root.namespace.display(to));
    let Some((place, created)) =
        destination(local, to, &options.destination).map_err(at_destination)?
    else {
        return Ok(None);
    };
    let replaced =
        check_destination(local, &place, &source, &options.destination).map_err(at_destination)?;
    let Some(stage) = stage_copy(local, &place, &held, hash, options)? else {
        return Ok(None);
    };
    let publication = Publication {
        local,
        place: &place,
        context: &options.context,
    };
    let outcome = match replaced {
        None => publication.create_from(stage)?,
        Some(_) => publication.overwrite((stage, hash), &options.destination)?,
    };
    let notes = match outcome {
        Outcome::Published(notes) => notes,
        Outcome::Lost => return Ok(None),
        Outcome::Stranded(stranded) => return stranded.put_back().map(|()| None),
    };
    created.keep(local.options.durability)?;
    Ok(Some(transferred(
        source.version(),
        replaced.is_none(),
        notes,
    )))
}

/// Stages a copy, a piece at a time; none when the source changed meanwhile.
fn stage_copy(
    local: &Inner,
    place: &Place,
    held: &Held,
    hash: ContentHash,
    options: &TransferOptions,
) -> Result<Option<Stage>> {
    let Some(mut stage) = Stage::create(&place.folder, super::stage::PRIVATE, &local.nameless)?
    else {
        return Ok(None);
    };
    let mut hasher = ContentHasher::new();
    let mut piece = Vec::new();
    let mut offset = 0;
    loop {
        piece.clear();
        fill(&held.file, &mut piece, offset, PIECE, held.stamp.size)
            .map_err(|error| host(error, "read the file"))?;
        if piece.is_empty() {
            break;
        }
        offset += piece.len() as u64;
        hasher.update(&piece);
        stage.fill(std::iter::once(piece.as_slice()), &options.context)?;
    }
    if hasher.finish() != hash {
        return Ok(None);
    }
    stage.set_mode(held.stamp.mode & 0o777)?;
    Ok(Some(stage))
}
