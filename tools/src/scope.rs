//! The scope of one call: who calls, on what, and in which order.

use std::sync::Arc;

use bytes::Bytes;
use seamfs_core::cache::LineIndexes;
use seamfs_core::escalation::Approver;
use seamfs_core::gate::{Observation, Observed, Part, Shown};
use seamfs_core::locks::{Ticket, Turn, Turns};
use seamfs_core::options::Purpose;
use seamfs_core::{
    Actor, CallContext, ErrorCode, Excerpt, FileSystem, FsError, Gate, ResolveOptions, Result,
    Target, TargetKey, TextEdit, Version,
};

use crate::escalation::Request;
use crate::kept::Kept;

/// The turns of a toolbox: one queue for each actor's arrivals, one for each actor and target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    arrivals: Turns<Actor>,
    targets: Turns<(Actor, TargetKey)>,
}

impl Order {
    /// Takes the actor's next place, at once.
    pub(crate) fn arrive(&self, actor: &Actor) -> Ticket<Actor> {
        self.arrivals.enqueue(actor.clone())
    }
}

/// What a tool works with during one call.
#[derive(Debug)]
pub struct Scope {
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) gate: Gate,
    pub(crate) actor: Actor,
    pub(crate) cwd: Arc<str>,
    pub(crate) context: CallContext,
    pub(crate) tool: &'static str,
    pub(crate) escalation: Option<Request>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) order: Order,
    pub(crate) indexes: Arc<LineIndexes>,
    pub(crate) arrival: Option<Ticket<Actor>>,
}

/// A target whose turn the call holds: no other call of this actor touches it meanwhile.
#[derive(Debug)]
pub struct Place {
    pub(crate) target: Target,
    _turn: Turn<(Actor, TargetKey)>,
}

impl Place {
    /// Returns the target.
    pub fn target(&self) -> &Target {
        &self.target
    }
}

impl Scope {
    /// Returns the file system.
    pub fn fs(&self) -> &dyn FileSystem {
        &*self.fs
    }

    /// Returns the context of the call.
    pub fn context(&self) -> &CallContext {
        &self.context
    }

    /// Resolves a path and waits for the call's turn on its target.
    ///
    /// Calls of one actor resolve in the order in which they came and queue in that order, so an
    /// edit and the read after it never change places.
    ///
    /// # Errors
    /// As [`FileSystem::resolve`]; `FS_BUSY` when the deadline passes while waiting.
    pub async fn enter(&mut self, path: &str, purpose: Purpose) -> Result<Place> {
        let arrival = match self.arrival.take() {
            Some(ticket) => Some(ticket.turn(self.context.deadline).await?),
            None => None,
        };
        let options = ResolveOptions {
            context: self.context.clone(),
            purpose,
        };
        let target = self.fs.resolve(path, &self.cwd, options).await?;
        let key = (self.actor.clone(), target.key().clone());
        let ticket = self.order.targets.enqueue(key);
        drop(arrival);
        let turn = ticket
            .turn(self.context.deadline)
            .await
            .map_err(|error| error.at(target.display()))?;
        self.context
            .check()
            .map_err(|error| error.at(target.display()))?;
        Ok(Place {
            target,
            _turn: turn,
        })
    }

    /// Returns whether anybody asks for the outlines of files too large to keep.
    pub(crate) fn outlines(&self) -> bool {
        self.gate.facts().observation
    }

    /// Records that the actor saw a file.
    pub fn saw(&self, place: &Place, version: &Version, shown: Shown, kept: &Kept) {
        let observation = Observation::Present {
            version: version.clone(),
            shown,
        };
        self.record(place, observation, (None, kept), Deed::Looked);
    }

    /// Records that the actor was shown lines of a file in passing, as by a search.
    pub fn glimpsed(&self, place: &Place, version: &Version, shown: Shown) {
        let observation = Observation::Glimpsed {
            version: version.clone(),
            shown,
        };
        self.record(place, observation, (None, &Kept::Nothing), Deed::Looked);
    }

    /// Records that an error showed a part of a line.
    pub(crate) fn showed(&self, place: &Place, excerpt: &Excerpt) {
        let part = Part {
            line: excerpt.line,
            bytes: excerpt.start..excerpt.start + excerpt.text.len() as u64,
        };
        self.saw(place, &excerpt.version, Shown::Part(part), &Kept::Nothing);
    }

    /// Records that the actor found nothing, when that is what the error says.
    pub fn missed(&self, place: &Place, error: &FsError) {
        if error.code() == ErrorCode::NotFound {
            let known = (None, &Kept::Nothing);
            self.record(place, Observation::Absent, known, Deed::Looked);
        }
    }

    pub(crate) fn record(
        &self,
        place: &Place,
        observation: Observation,
        (before, after): (Option<&Bytes>, &Kept),
        deed: Deed<'_>,
    ) {
        self.gate.observed(&Observed {
            actor: &self.actor,
            target: &place.target,
            observation,
            before,
            after: after.bytes(),
            outline: after.outline(),
            own: !matches!(deed, Deed::Looked),
            edit: match deed {
                Deed::Edited(edit) => Some(edit),
                Deed::Looked | Deed::Wrote => None,
            },
        });
    }
}

/// What a call did to come to know a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deed<'a> {
    Looked,
    Wrote,
    Edited(&'a TextEdit),
}
