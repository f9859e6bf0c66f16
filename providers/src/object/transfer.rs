//! Copying and moving: through this process, so that both ends keep their guards.
//!
//! A copy is a read and one conditional write. A move then removes the source, which no store
//! does under a condition: in between both exist, and a failure there says so.

use futures::TryStreamExt;
use object_store::path::Path;
use seamfs_core::options::DEFAULT_EDIT_LIMIT;
use seamfs_core::{
    CallContext, ErrorCode, Expected, FsError, Operation, Result, RootPath, Target,
    TransferOptions, TransferOutcome, cas,
};

use super::conditional::{Payload, Publication, Published};
use super::fault::Fault;
use super::folder::{absent_source, check_unguarded};
use super::history::{History, KEY, WriteId};
use super::remote::{Condition, Got, Seen, folder_path, in_time};
use super::write::{Loaded, Placed, token_of};
use super::{Object, foreign, no_root, not_regular, path_of};

/// The most objects that a move of a folder takes along.
const MOST_MOVED: usize = 10_000;

impl Object {
    pub(super) async fn copy_object(
        &self,
        from: &Target,
        to: &Target,
        options: &TransferOptions,
    ) -> Result<TransferOutcome> {
        let context = &options.context;
        if path_of(from).is_root() {
            return Err(not_regular());
        }
        let _turns = self.both_turns(from, to, context).await?;
        context.check()?;
        let source = self.source(from, &options.source, context).await;
        let source = match source {
            Ok(source) => source,
            Err(error) => return Err(self.missing(from, error, context).await),
        };
        if from.key() == to.key() {
            return Ok(unmoved(source));
        }
        let payload = payload_of(&source, WriteId::new());
        let placed = self
            .place_at(to, &payload, options, Operation::Copy)
            .await?;
        Ok(transferred(placed))
    }

    pub(super) async fn rename_entry(
        &self,
        from: &Target,
        to: &Target,
        options: &TransferOptions,
    ) -> Result<TransferOutcome> {
        let context = &options.context;
        let (source, destination) = (path_of(from), path_of(to));
        if source.is_root() || destination.is_root() {
            return Err(no_root(Operation::Rename));
        }
        check_unguarded(&options.source, Operation::Rename, self)?;
        let _turns = self.both_turns(from, to, context).await?;
        context.check()?;
        match self.source(from, &options.source, context).await {
            Ok(seen) if from.key() == to.key() => Ok(unmoved(seen)),
            Ok(seen) => self.rename_file(from, to, &seen, options).await,
            Err(error) if error.code() == ErrorCode::NotFound => {
                match self.is_folder(&source, context).await? {
                    true => self.rename_folder(&source, to, options).await,
                    false => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn rename_file(
        &self,
        from: &Target,
        to: &Target,
        source: &Seen,
        options: &TransferOptions,
    ) -> Result<TransferOutcome> {
        let context = &options.context;
        let token = token_of(&source.snapshot.version).unwrap_or_default();
        // The same id for the same move: one that broke off after its copy can be completed.
        let id = WriteId::of(&["rename", from.key().as_str(), to.key().as_str(), &token]);
        let payload = payload_of(source, id);
        let placed = self.place_or_find(to, &payload, options).await?;
        self.remove_source(from, &token, context)
            .await
            .map_err(|error| half_moved(&error, to.display()))?;
        Ok(transferred(placed))
    }

    /// Stores the copy, or finds the one that an earlier attempt at this move has stored.
    async fn place_or_find(
        &self,
        to: &Target,
        payload: &Payload,
        options: &TransferOptions,
    ) -> Result<Placed> {
        let refused = match self.place_at(to, payload, options, Operation::Rename).await {
            Err(error) if error.code() == ErrorCode::AlreadyExists => error,
            placed => return placed,
        };
        let found = self
            .load(to, payload.bytes.len() as u64, &options.context)
            .await;
        match found {
            Ok(Loaded::Seen(seen))
                if seen.snapshot.bytes == payload.bytes
                    && History::of(&seen.extra.attributes).contains(payload.id) =>
            {
                Ok(Placed {
                    version: seen.snapshot.version,
                    created: true,
                    before: None,
                    notes: Vec::new(),
                })
            }
            _ => Err(refused),
        }
    }

    /// Removes the source of a move, unless it is no longer the content that was moved.
    async fn remove_source(&self, from: &Target, token: &str, context: &CallContext) -> Result<()> {
        self.forget(from);
        self.remove_key(&self.key_of(from), token, context).await
    }

    async fn remove_key(&self, key: &Path, token: &str, context: &CallContext) -> Result<()> {
        let remote = &self.0.remote;
        let head = in_time(context, remote.head(key)).await;
        let Some(meta) = head.map_err(Fault::into_error)? else {
            return Ok(());
        };
        let now = remote.token(meta.e_tag.as_deref(), meta.version.as_deref());
        if now.as_deref().unwrap_or_default() != token {
            return Err(cas::stale());
        }
        self.delete(key, Some(token), context).await
    }

    async fn place_at(
        &self,
        to: &Target,
        payload: &Payload,
        options: &TransferOptions,
        operation: Operation,
    ) -> Result<Placed> {
        if path_of(to).is_root() {
            return Err(not_regular().at(to.display()));
        }
        let (guard, context) = (&options.destination, &options.context);
        self.offers_guard(guard, operation, context).await?;
        self.place(to, payload, guard, 0, context)
            .await
            .map_err(|error| error.at(to.display()).during(operation))
    }

    async fn source(
        &self,
        from: &Target,
        expected: &Expected,
        context: &CallContext,
    ) -> Result<Seen> {
        if *expected == Expected::Absent {
            return Err(absent_source());
        }
        match self.load(from, DEFAULT_EDIT_LIMIT, context).await? {
            Loaded::Absent if *expected == Expected::Any => Err(cas::not_found()),
            Loaded::Absent => Err(cas::gone()),
            Loaded::TooLarge(meta) => Err(cas::too_large(meta.size, DEFAULT_EDIT_LIMIT)),
            Loaded::Seen(seen) => {
                cas::check_guard(Some(&seen.snapshot), expected)?;
                Ok(*seen)
            }
        }
    }

    /// Moves everything beneath a folder: all copies first, then all removals.
    async fn rename_folder(
        &self,
        source: &RootPath,
        to: &Target,
        options: &TransferOptions,
    ) -> Result<TransferOutcome> {
        let context = &options.context;
        let destination = path_of(to);
        let unmoved = TransferOutcome {
            created: false,
            version: None,
            notes: Vec::new(),
        };
        if *source == destination {
            return Ok(unmoved);
        }
        if destination.starts_with(source) {
            return Err(FsError::new(
                ErrorCode::InvalidArgument,
                "a folder cannot be moved into itself",
            ));
        }
        if self.look(&destination, context).await?.is_some() {
            return Err(cas::already_exists().at(to.display()));
        }
        if let Expected::Version(_) = &options.destination {
            return Err(cas::gone().at(to.display()));
        }
        self.offers_guard(&options.destination, Operation::Rename, context)
            .await?;
        let (old, new) = (
            self.0.keys.beneath_folder(source),
            self.0.keys.beneath_folder(&destination),
        );
        let keys = self.keys_beneath(&old, context).await?;
        let mut copied = Vec::new();
        for key in &keys {
            let renamed = format!("{new}{}", &key.as_ref()[old.len()..]);
            let renamed = Path::parse(renamed).expect("both halves are of parsed keys");
            let token = self
                .copy_key(key, &renamed, context)
                .await
                .map_err(|error| half_copied(&error, copied.len(), keys.len()))?;
            copied.push(token);
        }
        for (removed, (key, token)) in keys.iter().zip(copied).enumerate() {
            // One that vanished before it was copied has nothing to be removed.
            let Some(token) = token else { continue };
            self.remove_key(key, &token, context)
                .await
                .map_err(|error| half_removed(&error, removed, keys.len()))?;
        }
        Ok(TransferOutcome {
            created: true,
            ..unmoved
        })
    }

    async fn keys_beneath(&self, prefix: &str, context: &CallContext) -> Result<Vec<Path>> {
        let folder = folder_path(prefix);
        let listed = async {
            let found = self.0.remote.reads.list(folder.as_ref());
            let keys = found.map_ok(|meta| meta.location);
            Ok(keys.try_collect::<Vec<_>>().await?)
        };
        let keys = in_time(context, listed).await.map_err(Fault::into_error)?;
        if keys.len() > MOST_MOVED {
            return Err(too_many(keys.len()));
        }
        let movable = |key: &Path| {
            let rest = key.as_ref().strip_prefix(prefix);
            rest.is_some_and(|rest| rest.split('/').all(|name| foreign::decode(name).is_none()))
        };
        match keys.iter().all(movable) {
            true => Ok(keys),
            false => Err(FsError::new(
                ErrorCode::Unsupported,
                "the folder holds a key that no path here addresses; it cannot be moved whole",
            )),
        }
    }

    /// Copies an object; returns the token of what was copied, none where there was nothing.
    async fn copy_key(
        &self,
        from: &Path,
        to: &Path,
        context: &CallContext,
    ) -> Result<Option<String>> {
        let (remote, budget) = (&self.0.remote, &self.0.budget);
        let got = remote.get_anew(from, None, DEFAULT_EDIT_LIMIT, budget, context);
        let seen = match got.await.map_err(Fault::into_error)? {
            Got::Seen(seen) => seen,
            Got::TooLarge(meta) => return Err(cas::too_large(meta.size, DEFAULT_EDIT_LIMIT)),
            // One that vanished meanwhile has nothing to be moved.
            Got::Absent | Got::Unchanged => return Ok(None),
        };
        let publication = Publication {
            key: to,
            payload: &payload_of(&seen, WriteId::new()),
            condition: Condition::Absent,
            replaced: None,
            idempotent: false,
        };
        let published = remote
            .publish(&publication, &self.0.budget, context)
            .await?;
        match published {
            Published::Refused(_) | Published::Gone => Err(cas::already_exists()),
            Published::Stored(..) | Published::Overwritten(_) => {
                Ok(Some(token_of(&seen.snapshot.version).unwrap_or_default()))
            }
        }
    }
}

/// Makes what is stored of a source: its bytes and its metadata, but for who wrote it.
fn payload_of(source: &Seen, id: WriteId) -> Payload {
    let mut attributes = source.extra.attributes.clone();
    attributes.remove(&object_store::Attribute::Metadata(KEY.into()));
    Payload {
        bytes: source.snapshot.bytes.clone(),
        attributes: Some(attributes),
        id,
    }
}

fn transferred(placed: Placed) -> TransferOutcome {
    TransferOutcome {
        created: placed.created,
        version: Some(placed.version),
        notes: placed.notes,
    }
}

fn unmoved(source: Seen) -> TransferOutcome {
    TransferOutcome {
        created: false,
        version: Some(source.snapshot.version),
        notes: Vec::new(),
    }
}

/// Makes the error of a move whose source is still there.
fn half_moved(error: &FsError, copy: &str) -> FsError {
    error.clone().recast(
        error.code(),
        format!(
            "the file was copied to {copy}, but the source was not removed ({}); both exist, and \
             the same call again completes the move",
            error.message()
        ),
    )
}

fn half_copied(error: &FsError, copied: usize, all: usize) -> FsError {
    error.clone().recast(
        error.code(),
        format!(
            "{copied} of {all} objects were copied, then one failed ({}); the source is whole and \
             the copies remain",
            error.message()
        ),
    )
}

fn half_removed(error: &FsError, removed: usize, all: usize) -> FsError {
    error.clone().recast(
        error.code(),
        format!(
            "all {all} objects were copied and {removed} sources removed, then one failed ({}); \
             the destination is whole",
            error.message()
        ),
    )
}

fn too_many(count: usize) -> FsError {
    FsError::new(
        ErrorCode::TooLarge,
        format!("the folder holds {count} objects; at the most {MOST_MOVED} are moved at once"),
    )
}
