//! Escalation: the two arguments with which a model asks for a wider mode, for one call.

use std::time::{Duration, Instant};

use seamfs_core::escalation::{Approver, Escalation, Verdict};
use seamfs_core::gate::{GateFacts, Intent};
use seamfs_core::{
    CallContext, ContentHash, ErrorCode, Expected, FsError, Operation, Result, SandboxMode, cas,
    in_place,
};
use serde_json::{Map, Value, json};

use crate::arguments::invalid;
use crate::mutate::already_exists;
use crate::proposal;
use crate::result::ToolError;
use crate::scope::{Place, Scope};

/// What a call asks for beside its own arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    wanted: SandboxMode,
    justification: String,
    confined: SandboxMode,
    arguments: ContentHash,
    shown: String,
}

/// How long a question waits for somebody to decide.
const PATIENCE: Duration = Duration::from_secs(600);

const WANTED: &str = "sandbox_permissions";
const JUSTIFICATION: &str = "justification";

/// Returns the schema of the two arguments.
pub(crate) fn fields() -> Map<String, Value> {
    let fields = json!({
        WANTED: {
            "type": "string",
            "enum": [SandboxMode::WorkspaceWrite, SandboxMode::FullAccess],
            "description": "The wider sandbox mode to ask for, for this one call. Needs \
                            `justification`."
        },
        JUSTIFICATION: {
            "type": "string",
            "description": "Why this call needs it, for the person who decides. Needs \
                            `sandbox_permissions`."
        }
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Takes the two arguments out, where the mode confines the tool and so advertises them.
///
/// Anywhere else they stay, and are refused like any argument that does not exist.
pub(crate) fn take(facts: &GateFacts, arguments: &mut Value) -> Result<Option<Request>> {
    let (Some(confined), Value::Object(given)) = (facts.confined, &mut *arguments) else {
        return Ok(None);
    };
    let mut take = |name| given.shift_remove(name).filter(|value| !value.is_null());
    let (wanted, justification) = match (take(WANTED), take(JUSTIFICATION)) {
        (None, None) => return Ok(None),
        (Some(wanted), Some(justification)) => (wanted, justification),
        (Some(_), None) => return Err(together(JUSTIFICATION)),
        (None, Some(_)) => return Err(together(WANTED)),
    };
    let Ok(wanted @ (SandboxMode::WorkspaceWrite | SandboxMode::FullAccess)) =
        serde_json::from_value(wanted)
    else {
        return Err(invalid(format!(
            "argument `{WANTED}`: must be \"workspace-write\" or \"full-access\""
        )));
    };
    let justification = match justification {
        Value::String(text) if !text.trim().is_empty() => text,
        _ => {
            return Err(invalid(format!(
                "argument `{JUSTIFICATION}`: must be a reason in words"
            )));
        }
    };
    Ok(Some(Request {
        wanted,
        justification,
        confined,
        arguments: ContentHash::of(arguments.to_string().as_bytes()),
        shown: proposal::shown(arguments),
    }))
}

fn together(missing: &str) -> FsError {
    invalid(format!(
        "`{missing}` is missing; `{WANTED}` and `{JUSTIFICATION}` always come together"
    ))
}

impl Scope {
    /// Returns the context that a mutation goes on in: widened, where that was asked for and
    /// granted for exactly this call.
    pub(crate) async fn granted(
        &self,
        place: &Place,
        operation: Operation,
    ) -> Result<CallContext, ToolError> {
        let Some(request) = &self.escalation else {
            return Ok(self.context.clone());
        };
        let denied = |message: String| {
            let error = FsError::new(ErrorCode::SandboxDenied, message);
            ToolError::from(error.at(place.target.display()).during(operation))
        };
        if request.wanted <= request.confined {
            return Err(denied(format!(
                "the mode asked for is not wider than the one in force, {}",
                request.confined.as_str()
            )));
        }
        // Nobody is asked for what would be refused all the same.
        let widened = CallContext {
            grant: Some(request.wanted),
            ..self.context.clone()
        };
        self.foresee(place, operation, &widened).await?;
        let Some(approver) = self.approver.as_deref().or_else(|| self.gate.approver()) else {
            return Err(denied(
                "nobody is there who could approve a wider sandbox mode".to_owned(),
            ));
        };
        let escalation = Escalation {
            actor: &self.actor,
            tool: self.tool,
            operation,
            target: &place.target,
            arguments: request.arguments,
            shown: &request.shown,
            wanted: request.wanted,
            confined: request.confined,
            justification: &request.justification,
        };
        let asked = Instant::now();
        let verdict = ask(approver, &escalation).await;
        match verdict {
            Verdict::Approved => Ok(CallContext {
                // What a person took to decide is not the call's own time.
                deadline: self.context.deadline.map(|end| end + asked.elapsed()),
                ..widened
            }),
            Verdict::Rejected(None) => {
                Err(denied("the wider sandbox mode was rejected".to_owned()))
            }
            Verdict::Rejected(Some(why)) => Err(denied(format!(
                "the wider sandbox mode was rejected: {why}"
            ))),
            Verdict::Cancelled => Err(denied(
                "the request for a wider sandbox mode was cancelled before anybody decided"
                    .to_owned(),
            )),
            Verdict::Deferred => Err(denied(
                "the request for a wider sandbox mode waits for an answer; the call is to be \
                 repeated with it"
                    .to_owned(),
            )),
        }
    }
}

impl Scope {
    /// Refuses what the rules or the absence of the file would refuse in the wider mode too.
    async fn foresee(
        &self,
        place: &Place,
        operation: Operation,
        widened: &CallContext,
    ) -> Result<(), ToolError> {
        let intent = Intent {
            actor: &self.actor,
            operation,
            target: &place.target,
            destination: None,
            context: widened,
        };
        let decision = self.gate.decide(&intent).await?;
        let there = self.fs.lstat(&place.target, self.stat_options()).await?;
        let error = match (operation, there) {
            (Operation::Edit, None) => cas::not_found(),
            (Operation::Write, Some(there))
                if there.is_file() && decision.expected == Expected::Absent =>
            {
                already_exists(place)
            }
            (Operation::Create, Some(_)) => already_exists(place),
            _ => return Ok(()),
        };
        let error = error.at(place.target.display()).during(operation);
        Err(self.refused(place, error, decision.reason).await)
    }
}

/// Puts the question, and writes down who asked, for what, why, and what came of it.
async fn ask(approver: &dyn Approver, escalation: &Escalation<'_>) -> Verdict {
    tracing::info!(
        actor = %escalation.actor,
        tool = escalation.tool,
        operation = %escalation.operation,
        target = %escalation.target,
        arguments = %escalation.arguments.to_hex(),
        wanted = escalation.wanted.as_str(),
        confined = escalation.confined.as_str(),
        justification = escalation.justification,
        "a wider sandbox mode is asked for"
    );
    // Whoever begins the call may hold what the approver waits for.
    in_place::step_aside().await;
    let verdict = tokio::time::timeout(PATIENCE, approver.decide(escalation))
        .await
        .unwrap_or(Verdict::Cancelled);
    tracing::info!(
        actor = %escalation.actor,
        tool = escalation.tool,
        target = %escalation.target,
        arguments = %escalation.arguments.to_hex(),
        wanted = escalation.wanted.as_str(),
        by = ?approver,
        ?verdict,
        "a wider sandbox mode was decided on"
    );
    verdict
}
