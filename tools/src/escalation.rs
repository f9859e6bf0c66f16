//! Escalation: the two arguments with which a model asks for a wider mode, for one call.

use seamfs_core::escalation::{Escalation, Verdict};
use seamfs_core::gate::GateFacts;
use seamfs_core::{CallContext, ContentHash, ErrorCode, FsError, Operation, Result, SandboxMode};
use serde_json::{Map, Value, json};

use crate::arguments::invalid;
use crate::scope::{Place, Scope};

/// What a call asks for beside its own arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    wanted: SandboxMode,
    justification: String,
    confined: SandboxMode,
    arguments: ContentHash,
}

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
    let (wanted, justification) = match (given.remove(WANTED), given.remove(JUSTIFICATION)) {
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
    pub(crate) async fn granted(&self, place: &Place, operation: Operation) -> Result<CallContext> {
        let Some(request) = &self.escalation else {
            return Ok(self.context.clone());
        };
        let denied = |message: String| {
            FsError::new(ErrorCode::SandboxDenied, message)
                .at(place.target.display())
                .during(operation)
        };
        if request.wanted <= request.confined {
            return Err(denied(format!(
                "the mode asked for is not wider than the one in force, {}",
                name(request.confined)
            )));
        }
        let Some(approver) = self.gate.approver() else {
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
            wanted: request.wanted,
            confined: request.confined,
            justification: &request.justification,
        };
        let verdict = approver.decide(&escalation).await;
        tracing::info!(
            actor = %self.actor,
            tool = self.tool,
            target = %place.target,
            wanted = name(request.wanted),
            justification = request.justification,
            ?verdict,
            "escalation"
        );
        match verdict {
            Verdict::Approved => Ok(CallContext {
                grant: Some(request.wanted),
                ..self.context.clone()
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
        }
    }
}

const fn name(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::FullAccess => "full-access",
    }
}
