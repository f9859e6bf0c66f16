//! Writing whole objects under a guard.

use bytes::Bytes;
use object_store::{Attribute, ObjectMeta};
use seamfs_core::{
    CallContext, ErrorCode, Expected, FsError, Note, Operation, Result, Target, Version,
    WriteOptions, WriteOutcome, cas,
};

use super::conditional::{Payload, Publication, Published};
use super::fault::Fault;
use super::probe::refuses_all;
use super::remote::{Condition, Extra, Got, Seen};
use super::{Object, not_regular, path_of};

/// How often a condition that should have held may be refused before the store is to blame.
const REFUSALS: usize = 3;

/// How often an unconditional write may lose a race before it just replaces what is there.
const MOST_RACES: usize = 64;

/// What is there, as far as the caller wants it in memory.
pub(super) enum Loaded {
    Absent,
    TooLarge(ObjectMeta),
    Seen(Box<Seen>),
}

/// What became of a write.
pub(super) struct Placed {
    pub(super) version: Version,
    pub(super) created: bool,
    /// The bytes replaced, where they were in hand.
    pub(super) before: Option<Bytes>,
    pub(super) notes: Vec<Note>,
}

impl Object {
    pub(super) async fn write_object(
        &self,
        target: &Target,
        bytes: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome> {
        if path_of(target).is_root() {
            return Err(not_regular());
        }
        let context = &options.context;
        let _turn = self.turn(target, context).await?;
        context.check()?;
        self.offers_guard(&options.expected, Operation::Write, context)
            .await?;
        let payload = Payload::of(bytes);
        let limit = options.before_limit;
        let placed = self
            .place(target, &payload, &options.expected, limit, context)
            .await?;
        let before = placed
            .before
            .and_then(|before| cas::bytes_before(&before, &payload.bytes, limit));
        Ok(WriteOutcome {
            created: placed.created,
            version: placed.version,
            before,
            notes: placed.notes,
        })
    }

    /// Stores a payload under a guard that is offered; the target's turn is the caller's.
    pub(super) async fn place(
        &self,
        target: &Target,
        payload: &Payload,
        expected: &Expected,
        limit: u64,
        context: &CallContext,
    ) -> Result<Placed> {
        match expected {
            Expected::Absent => self.create(target, payload, context).await,
            Expected::Version(version) => {
                self.replace(target, payload, version, limit, context).await
            }
            Expected::Any => self.put_anyhow(target, payload, limit, context).await,
        }
    }

    async fn create(
        &self,
        target: &Target,
        payload: &Payload,
        context: &CallContext,
    ) -> Result<Placed> {
        let published = self
            .publish(target, payload, Condition::Absent, None, context)
            .await?;
        match published {
            Published::Refused(Some(seen)) => {
                Err(cas::already_exists().with_current(seen.snapshot))
            }
            Published::Refused(None) | Published::Gone => Err(cas::already_exists()),
            stored => Ok(self.placed(target, payload, stored, None)),
        }
    }

    async fn replace(
        &self,
        target: &Target,
        payload: &Payload,
        version: &Version,
        limit: u64,
        context: &CallContext,
    ) -> Result<Placed> {
        let expected = Expected::Version(version.clone());
        let mut known = self
            .cached(target)
            .filter(|seen| version.certifies(&seen.snapshot.version));
        if known.is_none() && cas::gives_back(&payload.bytes, limit) {
            // Its caller is given what it replaces.
            known = self.seen_under(target, &expected, limit, context).await?;
        }
        let mut token = match &known {
            Some(seen) => token_of(&seen.snapshot.version),
            None => self.0.remote.token_to_send(version),
        };
        let mut refusals = Refusals::default();
        loop {
            if token.is_none() {
                let seen = self.expect(target, &expected, context).await?;
                token = token_of(&seen.snapshot.version);
                known = Some(seen);
            }
            let wanted = token.take().ok_or_else(no_token)?;
            let condition = Condition::Token(wanted.clone());
            let extra = known.as_ref().map(|seen| &seen.extra);
            let published = self
                .publish(target, payload, condition, extra, context)
                .await?;
            let seen = match published {
                Published::Gone => {
                    self.forget(target);
                    return Err(cas::gone());
                }
                Published::Refused(Some(seen)) => {
                    cas::check_guard(Some(&seen.snapshot), &expected)?;
                    *seen
                }
                Published::Refused(None) => self.expect(target, &expected, context).await?,
                stored => {
                    // A version names content that was there, whether or not it is in the cache.
                    let mut placed = self.placed(target, payload, stored, known);
                    placed.created = false;
                    return Ok(placed);
                }
            };
            token = token_of(&seen.snapshot.version);
            refusals.count(&wanted, token.as_deref())?;
            known = Some(seen);
        }
    }

    /// Loads an object and checks that it is the one a guard names.
    async fn expect(
        &self,
        target: &Target,
        expected: &Expected,
        context: &CallContext,
    ) -> Result<Seen> {
        let seen = self.seen_under(target, expected, u64::MAX, context).await?;
        seen.ok_or_else(cas::stale)
    }

    /// Loads the object that a guard names; none where it has more bytes than the limit.
    async fn seen_under(
        &self,
        target: &Target,
        expected: &Expected,
        limit: u64,
        context: &CallContext,
    ) -> Result<Option<Seen>> {
        match self.load(target, limit, context).await? {
            Loaded::Seen(seen) => {
                cas::check_guard(Some(&seen.snapshot), expected)?;
                Ok(Some(*seen))
            }
            Loaded::TooLarge(_) => Ok(None),
            Loaded::Absent => Err(cas::gone()),
        }
    }

    /// Replaces whatever is there; what it was is learnt on the way.
    ///
    /// Its caller is told whether something was there, and what, so each request is conditional on
    /// what is known. A store that refuses conditions which hold is written to without one, and so
    /// is one where other writers never end; what such a write replaced is not claimed to be known.
    async fn put_anyhow(
        &self,
        target: &Target,
        payload: &Payload,
        limit: u64,
        context: &CallContext,
    ) -> Result<Placed> {
        let mut known = match self.cached(target) {
            Some(seen) => Loaded::Seen(Box::new(seen)),
            None => self.load(target, limit, context).await?,
        };
        let mut unkept = 0;
        for races in 0.. {
            let polite = unkept < REFUSALS && races < MOST_RACES;
            let condition = match polite {
                true => self.condition_for(&known),
                false => Condition::None,
            };
            let last = condition == Condition::None;
            let wanted = condition.clone();
            let (created, seen) = match known {
                Loaded::Absent => (true, None),
                Loaded::TooLarge(_) => (false, None),
                Loaded::Seen(seen) => (false, Some(*seen)),
            };
            let extra = seen.as_ref().map(|seen| without_encoding(&seen.extra));
            let published = self
                .publish(target, payload, condition, extra.as_ref(), context)
                .await;
            known = match published {
                Ok(Published::Refused(_) | Published::Gone) if last => {
                    return Err(refused_without_condition());
                }
                Ok(Published::Refused(Some(seen))) => Loaded::Seen(seen),
                Ok(Published::Refused(None) | Published::Gone) => {
                    self.forget(target);
                    self.load(target, limit, context).await?
                }
                Ok(stored) => {
                    let mut placed = self.placed(target, payload, stored, seen.filter(|_| polite));
                    placed.created = created;
                    return Ok(placed);
                }
                Err(error) if error.code() == ErrorCode::Unsupported && !last => {
                    return self
                        .put_blindly(target, payload, created, seen, context)
                        .await;
                }
                Err(error) => return Err(error),
            };
            unkept = match self.condition_for(&known) == wanted {
                true => unkept + 1,
                false => 0,
            };
        }
        unreachable!("without a condition nothing is refused")
    }

    /// Replaces whatever is there on a store that knows no conditions.
    async fn put_blindly(
        &self,
        target: &Target,
        payload: &Payload,
        created: bool,
        seen: Option<Seen>,
        context: &CallContext,
    ) -> Result<Placed> {
        let extra = seen.as_ref().map(|seen| without_encoding(&seen.extra));
        let published = self
            .publish(target, payload, Condition::None, extra.as_ref(), context)
            .await?;
        let mut placed = self.placed(target, payload, published, seen);
        placed.created = created;
        Ok(placed)
    }

    /// Returns the condition under which a write replaces exactly what was seen.
    fn condition_for(&self, known: &Loaded) -> Condition {
        let token = match known {
            Loaded::Absent => return Condition::Absent,
            Loaded::TooLarge(meta) => self
                .0
                .remote
                .token(meta.e_tag.as_deref(), meta.version.as_deref()),
            Loaded::Seen(seen) => token_of(&seen.snapshot.version),
        };
        token.map_or(Condition::None, Condition::Token)
    }

    pub(super) async fn publish(
        &self,
        target: &Target,
        payload: &Payload,
        condition: Condition,
        replaced: Option<&Extra>,
        context: &CallContext,
    ) -> Result<Published> {
        let publication = Publication {
            key: &self.key_of(target),
            payload,
            condition,
            replaced,
            idempotent: false,
        };
        let published = self
            .0
            .remote
            .publish(&publication, &self.0.budget, context)
            .await;
        if published.is_err() {
            self.forget(target);
        }
        published
    }

    /// Takes note of what was stored.
    fn placed(
        &self,
        target: &Target,
        payload: &Payload,
        published: Published,
        replaced: Option<Seen>,
    ) -> Placed {
        let created = replaced.is_none();
        let (version, notes) = self.settle(target, &payload.bytes, published);
        Placed {
            version,
            created,
            before: replaced.map(|seen| seen.snapshot.bytes),
            notes,
        }
    }

    /// Keeps stored bytes in the cache and says what their caller should know.
    pub(super) fn settle(
        &self,
        target: &Target,
        bytes: &Bytes,
        published: Published,
    ) -> (Version, Vec<Note>) {
        match published {
            Published::Stored(version, extra) => {
                let snapshot = seamfs_core::Snapshot {
                    bytes: bytes.clone(),
                    version: version.clone(),
                };
                self.remember(target, snapshot, *extra);
                (version, Vec::new())
            }
            Published::Overwritten(version) => {
                self.forget(target);
                let note = "the bytes were stored, and others have written the file since";
                (version, vec![Note::fact(note)])
            }
            Published::Refused(_) | Published::Gone => {
                unreachable!("a refusal is handled where its guard is known")
            }
        }
    }

    /// Loads a whole object, from the cache where the store says that it is still the same.
    pub(super) async fn load(
        &self,
        target: &Target,
        limit: u64,
        context: &CallContext,
    ) -> Result<Loaded> {
        let cached = self.cached(target);
        let known = cached.as_ref().and_then(|seen| seen.extra.e_tag.as_deref());
        let key = self.key_of(target);
        let (remote, budget) = (&self.0.remote, &self.0.budget);
        let got = remote.get_anew(&key, known, limit, budget, context).await;
        let got = got.map_err(Fault::into_error)?;
        Ok(match (got, cached) {
            (Got::Unchanged, Some(seen)) => Loaded::Seen(Box::new(seen)),
            (Got::Unchanged, None) => unreachable!("only what is known can be unchanged"),
            (Got::Absent, _) => {
                self.forget(target);
                Loaded::Absent
            }
            (Got::TooLarge(meta), _) => Loaded::TooLarge(meta),
            (Got::Seen(seen), _) => {
                self.remember(target, seen.snapshot.clone(), seen.extra.clone());
                Loaded::Seen(Box::new(seen))
            }
        })
    }
}

/// Counts refusals of conditions that held, by what was read right after.
#[derive(Debug, Default)]
pub(super) struct Refusals(usize);

impl Refusals {
    /// Counts one refusal.
    ///
    /// # Errors
    /// `FS_UNSUPPORTED` once it is certain that the store refuses every condition.
    pub(super) fn count(&mut self, wanted: &str, found: Option<&str>) -> Result<()> {
        if found != Some(wanted) {
            self.0 = 0;
            return Ok(());
        }
        self.0 += 1;
        match self.0 < REFUSALS {
            true => Ok(()),
            false => Err(refuses_all()),
        }
    }
}

pub(super) fn token_of(version: &Version) -> Option<String> {
    version.token().map(str::to_owned)
}

/// Returns the metadata to keep when the whole content is new: all but how the old one was packed.
fn without_encoding(extra: &Extra) -> Extra {
    let mut extra = extra.clone();
    extra.attributes.remove(&Attribute::ContentEncoding);
    extra
}

/// Makes the error of a store that refuses a condition where there was none.
fn refused_without_condition() -> FsError {
    FsError::new(
        ErrorCode::IoError,
        "the store refused a write that had no condition as if one had not held",
    )
}

/// Makes the error of a store that names no content.
pub(super) fn no_token() -> FsError {
    FsError::new(
        ErrorCode::Unsupported,
        "this store gives its objects no version, so no guard can hold on it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_refuses_all_conditions_once_so_many_in_a_row_were_refused_that_held() {
        let mut refusals = Refusals::default();
        for _ in 0..2 {
            for _ in 1..REFUSALS {
                refusals.count("a", Some("a")).unwrap();
            }
            // Somebody else was first: that says nothing of the store.
            refusals.count("a", Some("b")).unwrap();
        }
        for _ in 1..REFUSALS {
            refusals.count("a", Some("a")).unwrap();
        }
        let error = refusals.count("a", Some("a")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unsupported);
    }
}
