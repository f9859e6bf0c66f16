//! Editing: content from the cache or one read, and one conditional write.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use seamfs_core::cas::{self, Attempt, Swap, Swapped};
use seamfs_core::{
    EditOptions, EditOutcome, Expected, Result, Snapshot, Target, Transform, Version, in_place,
};

use super::conditional::{Payload, Published};
use super::remote::{Condition, Extra, Seen};
use super::write::{Loaded, Refusals, no_token, token_of};
use super::{Object, chance, not_regular, path_of};

/// The longest first wait after a lost race; each further one may be twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(5);

/// The longest wait after a lost race.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

impl Object {
    pub(super) async fn edit_object(
        &self,
        target: &Target,
        transform: &dyn Transform,
        options: &EditOptions,
    ) -> Result<EditOutcome> {
        if path_of(target).is_root() {
            return Err(not_regular());
        }
        let context = &options.context;
        let _turn = self.turn(target, context).await?;
        context.check()?;
        self.check_edits(self.support_known())?;
        let slot = Slot {
            object: self,
            target,
            options,
            state: Mutex::default(),
        };
        if let Some(outcome) = slot.edit_cached(transform).await? {
            return Ok(outcome);
        }
        let (expected, context) = (&options.expected, &options.context);
        match cas::edit(target, &slot, transform, expected, context).await {
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.missing(target, error, context).await),
        }
    }
}

/// One object as the edit loop sees it.
struct Slot<'a> {
    object: &'a Object,
    target: &'a Target,
    options: &'a EditOptions,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What is remembered of the content last loaded.
    loaded: Option<(Version, Extra)>,
    /// What a lost race has read already.
    fresh: Option<Seen>,
    refused: Option<String>,
    refusals: Refusals,
    lost: u32,
}

impl Slot<'_> {
    /// Edits the content in the cache, if that is certain to be right: the write's condition
    /// proves it. Everything that writes nothing is left to content that was looked at again.
    async fn edit_cached(&self, transform: &dyn Transform) -> Result<Option<EditOutcome>> {
        if self.options.expected == Expected::Absent {
            return Ok(None);
        }
        let Some(seen) = self.object.cached(self.target) else {
            return Ok(None);
        };
        if seen.snapshot.bytes.len() as u64 > self.options.max_bytes {
            return Ok(None);
        }
        in_place::make_way_for(seen.snapshot.bytes.len()).await;
        let attempt = cas::attempt(Some(&seen.snapshot), transform, &self.options.expected);
        let Ok(Attempt::Publish(edit)) = attempt else {
            return Ok(None);
        };
        let after = Bytes::from(edit.splices.apply(&seen.snapshot.bytes));
        let snapshot = self.loaded(seen);
        match self.swap(&snapshot, after).await? {
            Swapped::Lost => Ok(None),
            Swapped::Published { version, notes } => Ok(Some(EditOutcome {
                version,
                before: snapshot.bytes,
                notes: edit.notes.iter().cloned().chain(notes).collect(),
                edit,
            })),
        }
    }

    fn loaded(&self, seen: Seen) -> Snapshot {
        let version = seen.snapshot.version.clone();
        self.with(|state| state.loaded = Some((version, seen.extra)));
        seen.snapshot
    }

    async fn look(&self) -> Result<Option<Seen>> {
        if let Some(seen) = self.with(|state| state.fresh.take()) {
            self.object
                .remember(self.target, seen.snapshot.clone(), seen.extra.clone());
            return Ok(Some(seen));
        }
        let limit = self.options.max_bytes;
        let context = &self.options.context;
        match self.object.load(self.target, limit, context).await? {
            Loaded::Absent => Ok(None),
            Loaded::TooLarge(meta) => Err(cas::too_large(meta.size, limit)),
            // Content from the cache is confirmed without asking for its size.
            Loaded::Seen(seen) if seen.snapshot.bytes.len() as u64 > limit => {
                Err(cas::too_large(seen.snapshot.bytes.len() as u64, limit))
            }
            Loaded::Seen(seen) => Ok(Some(*seen)),
        }
    }

    /// Steps back after a lost race, for longer the more often it was lost.
    async fn step_back(&self, refused: String, fresh: Option<Box<Seen>>) {
        let lost = self.with(|state| {
            state.refused = Some(refused);
            state.fresh = fresh.map(|seen| *seen);
            state.lost += 1;
            state.lost
        });
        let most = (FIRST_WAIT * (1 << lost.min(10))).min(LONGEST_WAIT);
        tokio::time::sleep(chance::jitter(most)).await;
    }

    /// A panic while holding this lock ends the edit it belongs to.
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Swap for Slot<'_> {
    async fn load(&self) -> Result<Option<Snapshot>> {
        let Some(seen) = self.look().await? else {
            return Ok(None);
        };
        let found = seen.snapshot.version.token();
        self.with(|state| match state.refused.take() {
            Some(wanted) => state.refusals.count(&wanted, found),
            None => Ok(()),
        })?;
        Ok(Some(self.loaded(seen)))
    }

    async fn swap(&self, seen: &Snapshot, after: Bytes) -> Result<Swapped> {
        let context = &self.options.context;
        let token = token_of(&seen.version).ok_or_else(no_token)?;
        let condition = Condition::Token(token.clone());
        self.object.offers_edits(context).await?;
        let loaded = self.with(|state| state.loaded.clone());
        let extra = loaded
            .filter(|(version, _)| *version == seen.version)
            .map(|(_, extra)| extra);
        let payload = Payload::of(after);
        let published = self
            .object
            .publish(self.target, &payload, condition, extra.as_ref(), context)
            .await?;
        match published {
            Published::Refused(fresh) => {
                self.step_back(token, fresh).await;
                Ok(Swapped::Lost)
            }
            Published::Gone => {
                self.object.forget(self.target);
                Ok(Swapped::Lost)
            }
            stored => {
                let (version, notes) = self.object.settle(self.target, &payload.bytes, stored);
                Ok(Swapped::Published { version, notes })
            }
        }
    }
}
