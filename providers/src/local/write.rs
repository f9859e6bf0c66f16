//! Mutations of one file: whole writes, and edits.

use std::sync::OnceLock;

use bytes::Bytes;
use seamfs_core::cas::{self, Attempt};
use seamfs_core::hashed::Hashed;
use seamfs_core::text::Segment;
use seamfs_core::{
    ContentHash, EditOptions, EditOutcome, Expected, FileKind, Result, RootPath, Snapshot,
    Transform, Version, WriteOptions, WriteOutcome,
};

use super::Inner;
use super::blocking::{no_trial, slow};
use super::error::not_regular;
use super::folder::Created;
use super::held::{CHUNK, Held};
use super::publish::{Outcome, Publication};
use super::stage::NEW;
use super::staging;
use super::stamp::Stamp;
use super::stranded::Stranded;
use super::walk::{NoPlace, Place};

/// Replaces or creates a whole file.
pub(super) fn write(
    local: &Inner,
    path: &RootPath,
    bytes: &Bytes,
    options: &WriteOptions,
) -> Result<WriteOutcome> {
    local.check_trial()?;
    if bytes.len() < CHUNK {
        return write_here(local, path, bytes, options);
    }
    no_trial()?;
    slow(|| write_here(local, path, bytes, options))
}

fn write_here(
    local: &Inner,
    path: &RootPath,
    bytes: &Bytes,
    options: &WriteOptions,
) -> Result<WriteOutcome> {
    let context = &options.context;
    let mut patience = local.patience(context);
    let after = ContentHash::of(bytes);
    loop {
        context.check()?;
        if let Some(outcome) = try_write(local, path, bytes, after, options)? {
            return Ok(outcome);
        }
        patience.again()?;
    }
}

/// Returns none when somebody else was first.
fn try_write(
    local: &Inner,
    path: &RootPath,
    bytes: &Bytes,
    after: ContentHash,
    options: &WriteOptions,
) -> Result<Option<WriteOutcome>> {
    let Some((place, created)) = place_for(local, path, &options.expected)? else {
        return Ok(None);
    };
    let publication = Publication {
        local,
        place: &place,
        context: &options.context,
    };
    let pieces = std::iter::once(bytes.as_ref());
    let (outcome, seen, is_new) = match writable(&place, &options.expected)? {
        None => (publication.create(NEW, pieces)?, None, true),
        Some(_) => {
            let Some((old, seen)) = see(local, &place, bytes, options)? else {
                return Ok(None);
            };
            let outcome = publication.replace(old, seen.as_ref(), pieces, || after)?;
            (outcome, seen, false)
        }
    };
    let (notes, before) = match outcome {
        Outcome::Published(notes) => (notes, seen),
        Outcome::Lost => return Ok(None),
        Outcome::Stranded(stranded) if options.expected == Expected::Any => {
            (Vec::new(), stranded.accept()?)
        }
        Outcome::Stranded(stranded) => return stranded.put_back().map(|()| None),
    };
    created.keep(local.options.durability)?;
    let limit = options.before_limit;
    Ok(Some(WriteOutcome {
        created: is_new,
        version: Version::from_hash(after),
        before: before.and_then(|before| cas::bytes_before(&before.bytes, bytes, limit)),
        notes,
    }))
}

/// Opens the target's folder, creating it only where the guard lets the file be created; none
/// when it vanished meanwhile.
fn place_for(
    local: &Inner,
    path: &RootPath,
    expected: &Expected,
) -> Result<Option<(Place, Created)>> {
    if path.is_root() {
        return Err(not_regular(FileKind::Directory));
    }
    match local.root.place(path) {
        Ok(place) => Ok(Some((place, Created::default()))),
        Err(NoPlace::Failed(error)) => Err(error),
        Err(NoPlace::Missing | NoPlace::Root) => match expected {
            Expected::Version(_) => Err(cas::gone()),
            Expected::Any | Expected::Absent => local.root.make_place(path),
        },
    }
}

/// Checks that a file may be written here; none when nothing is there and one may be created.
fn writable(place: &Place, expected: &Expected) -> Result<Option<Stamp>> {
    match place.look()? {
        Some(stamp) if stamp.kind != FileKind::File => Err(not_regular(stamp.kind)),
        Some(_) if *expected == Expected::Absent => Err(cas::already_exists()),
        Some(stamp) => place.check_permission(&stamp).map(|()| Some(stamp)),
        None if matches!(expected, Expected::Version(_)) => Err(cas::gone()),
        None => staging::check_free(&place.name).map(|()| None),
    }
}

/// Opens the file to be replaced, and reads it where the guard or the caller wants its bytes;
/// none when it vanished.
fn see(
    local: &Inner,
    place: &Place,
    bytes: &Bytes,
    options: &WriteOptions,
) -> Result<Option<(Held, Option<Snapshot>)>> {
    let Some(old) = Held::open_seen(&local.root, place)? else {
        return Ok(None);
    };
    let guarded = matches!(options.expected, Expected::Version(_));
    let limit = options.before_limit;
    let wanted = old.stamp.size <= limit && cas::gives_back(bytes, limit);
    if !guarded && !wanted {
        return Ok(Some((old, None)));
    }
    if !old.is_small() {
        no_trial()?;
    }
    let seen = old.snapshot()?;
    cas::check_guard(Some(&seen), &options.expected)?;
    Ok(Some((old, Some(seen))))
}

/// Checks the guard, plans, splices and publishes.
pub(super) fn edit(
    local: &Inner,
    path: &RootPath,
    transform: &dyn Transform,
    options: &EditOptions,
) -> Result<EditOutcome> {
    let context = &options.context;
    if options.expected == Expected::Absent {
        return Err(cas::edit_of_absent());
    }
    local.check_trial()?;
    let mut patience = local.patience(context);
    loop {
        context.check()?;
        if let Some(outcome) = try_edit(local, path, transform, options)? {
            return Ok(outcome);
        }
        patience.again()?;
    }
}

/// Returns none when somebody else was first.
fn try_edit(
    local: &Inner,
    path: &RootPath,
    transform: &dyn Transform,
    options: &EditOptions,
) -> Result<Option<EditOutcome>> {
    let opened = open(local, path, options)?;
    let large = matches!(&opened, Some((_, old)) if !old.is_small());
    let edit = || edit_opened(local, opened, transform, options);
    if !large {
        return edit();
    }
    // The runtime's other tasks go elsewhere once, and not at every step that takes long.
    no_trial()?;
    slow(edit)
}

fn edit_opened(
    local: &Inner,
    opened: Option<(Place, Held)>,
    transform: &dyn Transform,
    options: &EditOptions,
) -> Result<Option<EditOutcome>> {
    let loaded = opened.map(Loaded::of).transpose()?;
    let seen = loaded.as_ref().map(|loaded| &loaded.seen);
    let attempt = cas::attempt(seen, transform, &options.expected)?;
    let Loaded {
        place,
        old,
        seen,
        hashed,
    } = loaded.expect("an attempt on nothing is an error");
    let edit = match attempt {
        Attempt::Unchanged(edit) => return Ok(Some(cas::unchanged(seen, edit))),
        Attempt::Publish(edit) => edit,
    };
    let publication = Publication {
        local,
        place: &place,
        context: &options.context,
    };
    let pieces = edit.splices.segments(&seen.bytes).map(Segment::bytes);
    let hash = OnceLock::new();
    let after = || *hash.get_or_init(|| hashed.spliced(&seen.bytes, &edit.splices));
    match publication.replace(old, Some(&seen), pieces, after)? {
        Outcome::Lost => Ok(None),
        Outcome::Stranded(stranded) => go_on(stranded, transform, options),
        Outcome::Published(notes) => Ok(Some(EditOutcome {
            version: Version::from_hash(after()),
            before: seen.bytes,
            notes: edit.notes.iter().cloned().chain(notes).collect(),
            edit,
        })),
    }
}

/// Makes the edit on what another writer put there in the last moment, when it may be made on
/// whatever is there; returns none when it is to start again.
fn go_on(
    stranded: Stranded<'_>,
    transform: &dyn Transform,
    options: &EditOptions,
) -> Result<Option<EditOutcome>> {
    if options.expected != Expected::Any {
        return stranded.put_back().map(|()| None);
    }
    let (held, (seen, hashed)) = match stranded.load() {
        Ok(Some((held, seen))) if held.stamp.size <= options.max_bytes => (held, seen),
        Ok(_) => return stranded.put_back().map(|()| None),
        Err(error) => return stranded.put_back().and(Err(error)),
    };
    let edit = match cas::attempt(Some(&seen), transform, &options.expected) {
        Ok(Attempt::Publish(edit)) => edit,
        Ok(Attempt::Unchanged(_)) => return stranded.put_back().map(|()| None),
        Err(error) => return stranded.put_back().and(Err(error)),
    };
    let after = hashed.spliced(&seen.bytes, &edit.splices);
    let pieces = edit.splices.segments(&seen.bytes).map(Segment::bytes);
    let notes = stranded.advance((held, seen.clone()), after, pieces)?;
    Ok(Some(EditOutcome {
        version: Version::from_hash(after),
        before: seen.bytes,
        notes: edit.notes.iter().cloned().chain(notes).collect(),
        edit,
    }))
}

/// A file to be edited, where it is and what it holds.
struct Loaded {
    place: Place,
    old: Held,
    seen: Snapshot,
    hashed: Hashed,
}

impl Loaded {
    fn of((place, old): (Place, Held)) -> Result<Self> {
        let (seen, hashed) = old.load()?;
        Ok(Self {
            place,
            old,
            seen,
            hashed,
        })
    }
}

/// Opens the file to be edited; none when nothing is there.
fn open(local: &Inner, path: &RootPath, options: &EditOptions) -> Result<Option<(Place, Held)>> {
    let place = match local.root.place(path) {
        Ok(place) => place,
        Err(NoPlace::Missing) => return Ok(None),
        Err(NoPlace::Root) => return Err(not_regular(FileKind::Directory)),
        Err(NoPlace::Failed(error)) => return Err(error),
    };
    match place.look()? {
        None => return Ok(None),
        Some(stamp) if stamp.kind != FileKind::File => return Err(not_regular(stamp.kind)),
        Some(stamp) => {
            place.check_permission(&stamp)?;
            if stamp.size > options.max_bytes {
                return Err(cas::too_large(stamp.size, options.max_bytes));
            }
        }
    }
    let Some(old) = Held::open_seen(&local.root, &place)? else {
        return Ok(None);
    };
    if old.stamp.size > options.max_bytes {
        return Err(cas::too_large(old.stamp.size, options.max_bytes));
    }
    Ok(Some((place, old)))
}
