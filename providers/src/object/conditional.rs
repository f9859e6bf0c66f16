//! The conditional write: one publication, however many requests it takes.
//!
//! The client does not retry a guarded write, because only this loop knows whether an earlier
//! attempt may have landed. A refusal of the first attempt is somebody else's bytes. After a lost
//! acknowledgement a refusal may be of our own, so the object is read back and its write ids are
//! compared; where they do not tell, the outcome is unknown, and the write is never sent again.

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Attributes, PutResult};
use seamfs_core::{CallContext, ContentHash, ErrorCode, FsError, Result, Version};

use super::budget::Budget;
use super::fault::{Fault, Kind};
use super::history::{History, WriteId};
use super::remote::{Condition, Extra, Got, Remote, Seen, in_time};

/// What is to be stored.
#[derive(Clone, Debug)]
pub(super) struct Payload {
    pub(super) bytes: Bytes,
    /// The metadata to store; none keeps what the replaced object has, where it is known.
    pub(super) attributes: Option<Attributes>,
    pub(super) id: WriteId,
}

/// A write to be published.
#[derive(Debug)]
pub(super) struct Publication<'a> {
    pub(super) key: &'a Path,
    pub(super) payload: &'a Payload,
    pub(super) condition: Condition,
    /// What is known of the content to be replaced.
    pub(super) replaced: Option<&'a Extra>,
    /// Whether everybody who writes the key writes the same, as folders' markers.
    pub(super) idempotent: bool,
}

/// How a publication ended.
#[derive(Debug)]
pub(super) enum Published {
    /// Our bytes were stored under this version; what was sent beside them can be cached.
    Stored(Version, Box<Extra>),
    /// Our bytes were stored, and others have written since.
    Overwritten(Version),
    /// Our bytes were not stored and never will be. What is there now, where it was read.
    Refused(Option<Box<Seen>>),
    /// The object whose content was to be replaced is gone.
    Gone,
}

/// What a look at the object says of an attempt whose acknowledgement was lost.
enum Verdict {
    Landed(Published),
    NeverLanded(Box<Seen>),
    Unclear(Option<Box<Seen>>),
}

impl Payload {
    /// Makes a payload that keeps the metadata of what it replaces.
    pub(super) fn of(bytes: Bytes) -> Self {
        Self {
            bytes,
            attributes: None,
            id: WriteId::new(),
        }
    }
}

impl Remote {
    /// Sends a write until the store has said what became of it, or the budget is spent.
    ///
    /// # Errors
    /// `FS_OUTCOME_UNKNOWN` when an attempt may have landed and nothing tells; `FS_BUSY` when
    /// other requests kept the object busy; `FS_UNSUPPORTED` when the store knows no conditions.
    pub(super) async fn publish(
        &self,
        publication: &Publication<'_>,
        budget: &Budget,
        context: &CallContext,
    ) -> Result<Published> {
        let _claim = context.cancellation.begin_publication()?;
        let attributes = publication.attributes();
        let hash = ContentHash::of(&publication.payload.bytes);
        let mut spending = budget.begin(context);
        let mut unsure = None;
        loop {
            let fault = match self.attempt(publication, &attributes, context).await {
                Ok(result) => return Ok(self.stored(hash, &result, attributes)),
                Err(fault) => fault,
            };
            let refused = matches!(fault.kind, Kind::Refused | Kind::NotFound);
            match (fault.kind, &unsure) {
                (_, Some(lost)) if refused => {
                    let verdict = self.look_back(publication, hash, budget, context).await;
                    return settled(verdict, lost);
                }
                (Kind::Refused, None) if self.retries_inside => {
                    let verdict = self.look_back(publication, hash, budget, context).await;
                    return Ok(of_refusal(verdict));
                }
                (Kind::Refused, None) => return Ok(Published::Refused(None)),
                (Kind::NotFound, None) if publication.replaces() => return Ok(Published::Gone),
                (_, None) if !fault.may_pass() => return Err(fault.into_error()),
                (_, Some(lost)) if !fault.may_pass() => return Err(unknown(lost.clone())),
                (Kind::Unsure, _) => unsure = Some(fault.clone()),
                _ => {}
            }
            // Without a condition a second attempt might undo what others wrote after the first.
            let again = unsure.is_none() || publication.repeatable();
            if !again || !spending.wait().await {
                let Some(lost) = unsure else {
                    return Err(fault.into_error());
                };
                let verdict = self.look_back(publication, hash, budget, context).await;
                return settled(verdict, &lost);
            }
        }
    }

    async fn attempt(
        &self,
        publication: &Publication<'_>,
        attributes: &Attributes,
        context: &CallContext,
    ) -> Result<PutResult, Fault> {
        let request = self.put(
            publication.key,
            publication.payload.bytes.clone(),
            &publication.condition,
            attributes.clone(),
        );
        in_time(context, request).await
    }

    fn stored(&self, hash: ContentHash, result: &PutResult, attributes: Attributes) -> Published {
        let version = self.version_hashed(hash, result.e_tag.as_deref(), result.version.as_deref());
        let extra = Extra {
            e_tag: result.e_tag.clone(),
            attributes,
            modified: None,
        };
        Published::Stored(version, Box::new(extra))
    }

    /// Reads the object and compares its writers with what was sent.
    async fn look_back(
        &self,
        publication: &Publication<'_>,
        hash: ContentHash,
        budget: &Budget,
        context: &CallContext,
    ) -> Verdict {
        let got = self.get_anew(publication.key, None, u64::MAX, budget, context);
        let got = got.await;
        let Ok(Got::Seen(seen)) = got else {
            return Verdict::Unclear(None);
        };
        let writers = History::of(&seen.extra.attributes);
        let same_bytes = seen.snapshot.version.hash() == Some(hash);
        let token = seen.snapshot.version.token();
        if writers.contains(publication.payload.id) || writers.is_empty() && same_bytes {
            return Verdict::Landed(match same_bytes {
                true => Published::Stored(seen.snapshot.version, Box::new(seen.extra)),
                false => Published::Overwritten(Version::from_hash(hash)),
            });
        }
        let base = publication.writers().newest();
        // While the condition still holds, an attempt on its way could yet be applied.
        let may_land = match &publication.condition {
            Condition::Token(wanted) => Some(&**wanted) == token,
            Condition::Absent => false,
            Condition::None => true,
        };
        match base {
            Some(base) if writers.contains(base) && !may_land => {
                Verdict::NeverLanded(Box::new(seen))
            }
            _ => Verdict::Unclear(Some(Box::new(seen))),
        }
    }
}

impl Publication<'_> {
    /// Returns whether a second attempt undoes nothing that others did after the first.
    fn repeatable(&self) -> bool {
        self.condition != Condition::None || self.idempotent
    }

    fn replaces(&self) -> bool {
        matches!(self.condition, Condition::Token(_))
    }

    /// Returns who wrote the content to be replaced, as far as is known.
    fn writers(&self) -> History {
        self.replaced
            .map(|extra| History::of(&extra.attributes))
            .unwrap_or_default()
    }

    /// Returns the metadata to send, with the writers up to this one.
    fn attributes(&self) -> Attributes {
        let kept = || self.replaced.map(|extra| extra.attributes.clone());
        let own = self.payload.attributes.clone();
        let mut attributes = own.or_else(kept).unwrap_or_default();
        let writers = self.writers().followed_by(self.payload.id);
        writers.record(&mut attributes);
        attributes
    }
}

fn settled(verdict: Verdict, lost: &Fault) -> Result<Published> {
    match verdict {
        Verdict::Landed(published) => Ok(published),
        Verdict::NeverLanded(seen) => Ok(Published::Refused(Some(seen))),
        Verdict::Unclear(_) => Err(unknown(lost.clone())),
    }
}

/// Reads a refusal of a first attempt, which the client may have made several of by itself.
fn of_refusal(verdict: Verdict) -> Published {
    match verdict {
        Verdict::Landed(published) => published,
        Verdict::NeverLanded(seen) => Published::Refused(Some(seen)),
        Verdict::Unclear(seen) => Published::Refused(seen),
    }
}

/// Makes the error of a write that may have landed.
pub(super) fn unknown(fault: Fault) -> FsError {
    FsError::new(
        ErrorCode::OutcomeUnknown,
        format!(
            "the request was sent and the store did not say what became of it ({fault}); the \
             change may be there or not"
        ),
    )
    .caused_by(fault)
}
