//! A mutation's way: ask the gate, act under its guard, record, or explain the refusal.

use std::sync::Arc;

use bytes::Bytes;
use seamfs_core::gate::{
    self, Change, Current, Decision, Intent, OUTLINE_LIMIT, Observation, Reason, Refusal, Shown,
};
use seamfs_core::rebase::{Base, Rebase};
use seamfs_core::{
    CallContext, EditOptions, EditOutcome, ErrorCode, Expected, FsError, Note, Operation,
    ReadOptions, Result, Snapshot, StatOptions, Transform, WriteOptions, WriteOutcome,
};

use crate::kept::{self, Keeper, Kept};
use crate::result::ToolError;
use crate::scope::{Deed, Place, Scope};

/// The most changed ranges that a next action names.
const MOST_NAMED: usize = 10;

impl Scope {
    /// Replaces or creates a whole file as the gate allows, and records it.
    ///
    /// # Errors
    /// The gate's veto or the file system's refusal, explained.
    pub async fn write(&self, place: &Place, bytes: Bytes) -> Result<WriteOutcome, ToolError> {
        let (decision, context) = self.decide(place, Operation::Write).await?;
        let options = WriteOptions::expecting(decision.expected).in_context(&context);
        match self.fs.write(&place.target, bytes.clone(), options).await {
            Ok(outcome) => {
                self.wrote(place, &outcome, &bytes);
                Ok(outcome)
            }
            Err(error) => Err(self.refused(place, error, decision.reason).await),
        }
    }

    /// Creates a file that must not exist, with or without a policy, and records it.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS` for anything that exists; `FS_STALE_VERSION` when the actor saw the
    /// file and it is gone.
    pub async fn create(&self, place: &Place, bytes: Bytes) -> Result<WriteOutcome, ToolError> {
        let (decision, context) = self.decide(place, Operation::Create).await?;
        if let Expected::Version(_) = decision.expected {
            // The actor knows of a file. Either it is there, or its absence is news to the actor:
            // nothing is created in both cases, so a race between this look and a write is none.
            let there = self.fs.lstat(&place.target, self.stat_options()).await?;
            return Err(match there {
                Some(_) => already_exists(place).into(),
                None => self.refused(place, gone(place), decision.reason).await,
            });
        }
        let options = WriteOptions::expecting(Expected::Absent).in_context(&context);
        match self.fs.write(&place.target, bytes.clone(), options).await {
            Ok(outcome) => {
                self.wrote(place, &outcome, &bytes);
                Ok(outcome)
            }
            // A folder or a special file exists too, and `create` has one word for that.
            Err(error) if error.code() == ErrorCode::NotRegularFile => {
                let there = self.fs.lstat(&place.target, self.stat_options()).await?;
                Err(match there {
                    Some(_) => error.recast(ErrorCode::AlreadyExists, "something is there already"),
                    None => error,
                }
                .during(Operation::Create)
                .into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Applies a transform as the gate allows, and records it.
    ///
    /// # Errors
    /// The gate's veto or the file system's refusal, explained.
    pub async fn edit(
        &self,
        place: &Place,
        transform: Arc<dyn Transform>,
    ) -> Result<EditOutcome, ToolError> {
        let (decision, context) = self.decide(place, Operation::Edit).await?;
        let inspected = decision.inspected(Arc::clone(&transform));
        let shown = match decision.expected {
            Expected::Version(_) => Shown::Edited,
            Expected::Any | Expected::Absent => Shown::Rebased,
        };
        let options = EditOptions::expecting(decision.expected).in_context(&context);
        let refused = match self.fs.edit(&place.target, inspected, options).await {
            Ok(outcome) => {
                self.edited(place, &outcome, shown);
                return Ok(outcome);
            }
            Err(error) => error,
        };
        if let (ErrorCode::StaleVersion, Some(base)) = (refused.code(), decision.base)
            && let Some(outcome) = self.rebase(place, transform, base, &context).await?
        {
            self.edited(place, &outcome, Shown::Rebased);
            return Ok(outcome);
        }
        Err(self.refused(place, refused, decision.reason).await)
    }

    /// Tries a stale edit on the bytes that are there now; none when it stays stale.
    async fn rebase(
        &self,
        place: &Place,
        transform: Arc<dyn Transform>,
        base: Base,
        context: &CallContext,
    ) -> Result<Option<EditOutcome>> {
        let transform = Arc::new(Rebase::new(transform, base));
        let options = EditOptions::expecting(Expected::Any).in_context(context);
        match self.fs.edit(&place.target, transform, options).await {
            Ok(outcome) => Ok(Some(outcome)),
            // What is there now keeps the edit stale, whatever else may be said of it.
            Err(error) => match error.code() {
                ErrorCode::StaleVersion
                | ErrorCode::NotFound
                | ErrorCode::NotText
                | ErrorCode::NotRegularFile
                | ErrorCode::TooLarge => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Asks the gate, after whoever may widen the call's mode; returns the guard and the context
    /// to act in.
    async fn decide(
        &self,
        place: &Place,
        operation: Operation,
    ) -> Result<(Decision, CallContext), ToolError> {
        let context = self.granted(place, operation).await?;
        let decision = self
            .gate
            .decide(&Intent {
                actor: &self.actor,
                operation,
                target: &place.target,
                destination: None,
                context: &context,
            })
            .await;
        match decision {
            Ok(decision) => Ok((decision, context)),
            Err(veto) => {
                let failed = self.unseen(place, veto.into());
                Err(self.unreadable(place, failed).await)
            }
        }
    }

    pub(crate) fn stat_options(&self) -> StatOptions {
        StatOptions::default().in_context(&self.context)
    }

    fn wrote(&self, place: &Place, outcome: &WriteOutcome, bytes: &Bytes) {
        let observation = Observation::Present {
            version: outcome.version.clone(),
            shown: Shown::All,
        };
        let after = kept::of_bytes(bytes, self.outlines());
        let known = (outcome.before.as_ref(), &after);
        self.record(place, observation, known, Deed::Wrote);
    }

    fn edited(&self, place: &Place, outcome: &EditOutcome, shown: Shown) {
        let observation = Observation::Present {
            version: outcome.version.clone(),
            shown,
        };
        let known = (Some(&outcome.before), &Kept::Nothing);
        self.record(place, observation, known, Deed::Edited(&outcome.edit));
    }

    /// Turns a refusal of the file system into what the actor should know.
    pub(crate) async fn refused(&self, place: &Place, error: FsError, reason: Reason) -> ToolError {
        let error = match (error.code(), reason) {
            (ErrorCode::AlreadyExists, Reason::Unseen) => {
                let failed = error.recast(
                    ErrorCode::NotObserved,
                    "the file exists and this session has not read it",
                );
                return self.unreadable(place, failed.into()).await;
            }
            (ErrorCode::AlreadyExists, Reason::SeenAbsent) => error.recast(
                ErrorCode::StaleVersion,
                "nothing was there when this session last looked; now there is a file",
            ),
            (ErrorCode::StaleVersion, _) => error,
            _ => return self.unseen(place, error.into()),
        };
        let current = match error.current() {
            Some(current) => Some(Current::Whole(current.clone())),
            None => self.look_again(place).await,
        };
        let explanation = self.gate.explain(&Refusal {
            actor: &self.actor,
            target: &place.target,
            current: current.as_ref(),
        });
        let Some(current) = current else {
            return ToolError::from(error)
                .advise("Read the file to confirm that it is gone; a write then creates it anew.");
        };
        let error = match current {
            Current::Whole(snapshot) => error.with_current(snapshot),
            Current::Outlined { version, .. } => error.with_current_version(version),
        };
        let Some(explanation) = explanation else {
            return self.reread(place, error.into(), None);
        };
        let change = explanation.change.clone();
        let failed = ToolError::from(gate::explained(error, explanation));
        match change {
            Some(change) if change.complete => failed.without_reading().advise(
                "This is the whole change and the present text counts as seen: adapt the call to \
                 it and retry; no read is needed.",
            ),
            change => self.reread(place, failed, change.as_ref()),
        }
    }

    /// Says where to look again: at what changed, as far as that is known.
    fn reread(&self, place: &Place, failed: ToolError, change: Option<&Change>) -> ToolError {
        let Some((change, first)) = change.and_then(|change| Some((change, change.lines.first()?)))
        else {
            let call = self.look_again_at(place);
            return failed.advise(format!("Re-read the file with {call}, then retry."));
        };
        let named: Vec<String> = change
            .lines
            .iter()
            .take(MOST_NAMED)
            .map(|(start, end)| format!("{start}-{end}"))
            .collect();
        let more = if change.lines.len() > MOST_NAMED {
            ", …"
        } else {
            ""
        };
        let what = match change.diff {
            Some(_) => "The change is too long to show whole",
            None => "The change of a text over 256 KiB is not shown",
        };
        failed.advise(format!(
            "{what}: it is in the lines {}{more} of now. Re-read the file there, with {}, then \
             retry.",
            named.join(", "),
            self.look_at(place, *first)
        ))
    }

    /// Reads what is there now; nothing when it cannot be had, since an error is being told.
    async fn look_again(&self, place: &Place) -> Option<Current> {
        let options = ReadOptions {
            max_bytes: Some(OUTLINE_LIMIT as u64),
            ..ReadOptions::default().in_context(&self.context)
        };
        let mut body = self.fs.read(&place.target, options).await.ok()?.body;
        let mut keeper = Keeper::of(&body, self.outlines());
        while let Some(piece) = body.next().await.ok()? {
            keeper.push(&piece);
        }
        let version = body.version()?;
        match keeper.finish() {
            Kept::Whole(bytes) => Some(Current::Whole(Snapshot { bytes, version })),
            Kept::Outline(outline) => Some(Current::Outlined { version, outline }),
            Kept::Nothing => None,
        }
    }
}

/// Returns the sentences of a list of notes.
pub(crate) fn sentences(notes: &[Note]) -> Vec<String> {
    notes.iter().map(Note::to_string).collect()
}

pub(crate) fn already_exists(place: &Place) -> FsError {
    FsError::new(ErrorCode::AlreadyExists, "something is there already")
        .at(place.target.display())
        .during(Operation::Create)
}

fn gone(place: &Place) -> FsError {
    FsError::new(
        ErrorCode::StaleVersion,
        "the file that this session saw is gone",
    )
    .at(place.target.display())
    .during(Operation::Create)
}
