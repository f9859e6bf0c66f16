//! Approval through the client: a person there decides whether one call may go further.
//!
//! Revisions with a handshake let the server ask while the call waits. In the newest one a server
//! asks nothing: the call ends with the question, and the client repeats it with the answer. What
//! comes back is whatever a client sends, so a question is known by an unpredictable token, holds
//! for exactly the call that it was about, and is answered once.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult, InputResponses,
    ProtocolVersion,
};
use rmcp::service::RequestContext;
use seamfs_core::escalation::{Approver, Escalation, Verdict};
use seamfs_core::text::quote;
use seamfs_core::{ContentHash, Operation, SandboxMode, TargetKey};
use serde_json::Value;

/// The most characters of a justification that are shown.
const MOST_SHOWN: usize = 500;

/// The most questions of one connection that wait for an answer; an older one is forgotten.
const MOST_WAITING: usize = 64;

/// The name of the question among those of a result, and of its answer.
const QUESTION: &str = "approval";

/// The field of the form that says yes or no.
const APPROVE: &str = "approve";

/// The field of the form for a reason.
const REASON: &str = "reason";

/// How the client of one call can be asked.
#[derive(Debug)]
pub(super) enum Asking {
    /// It cannot.
    Nobody,
    /// While the call waits.
    Now(Arc<Elicitation>),
    /// By a result, which the client repeats the call with an answer to.
    Later(Arc<Resumable>),
}

impl Asking {
    /// Finds out what the client of a request offers.
    pub(super) fn of(
        questions: &Arc<Questions>,
        request: &mut CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Self {
        let of_connection = || Some(context.peer.peer_info()?.capabilities.clone());
        let capabilities = context.meta.client_capabilities().or_else(of_connection);
        let newest = context
            .protocol_version()
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        match capabilities.is_some_and(|capabilities| has_forms(&capabilities)) {
            false => Self::Nobody,
            true if newest => Self::Later(Arc::new(Resumable {
                questions: Arc::clone(questions),
                token: request.request_state.take(),
                answers: request.input_responses.take(),
                posed: Mutex::default(),
            })),
            true => Self::Now(Arc::new(Elicitation {
                context: context.clone(),
            })),
        }
    }

    /// Returns who decides.
    pub(super) fn approver(&self) -> Option<Arc<dyn Approver>> {
        match self {
            Self::Nobody => None,
            Self::Now(elicitation) => Some(Arc::clone(elicitation) as _),
            Self::Later(resumable) => Some(Arc::clone(resumable) as _),
        }
    }

    /// Returns the question that the call ended with, if it did.
    pub(super) fn question(&self) -> Option<InputRequiredResult> {
        match self {
            Self::Later(resumable) => resumable.question(),
            Self::Nobody | Self::Now(_) => None,
        }
    }
}

/// A client that declares elicitation and names no mode has forms.
fn has_forms(capabilities: &ClientCapabilities) -> bool {
    capabilities
        .elicitation
        .as_ref()
        .is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// The client that is asked while the call waits.
pub(super) struct Elicitation {
    context: RequestContext<RoleServer>,
}

impl fmt::Debug for Elicitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client's user, asked while the call waits")
    }
}

#[async_trait]
impl Approver for Elicitation {
    async fn decide(&self, escalation: &Escalation<'_>) -> Verdict {
        let asked = self.context.peer.create_elicitation(form(escalation));
        tokio::select! {
            answer = asked => match answer {
                Ok(answer) => verdict(answer),
                Err(error) => {
                    tracing::warn!(%error, "the client could not be asked");
                    Verdict::Cancelled
                }
            },
            () = self.context.ct.cancelled() => Verdict::Cancelled,
        }
    }
}

/// A client that answers with a repeat of its call.
pub(super) struct Resumable {
    questions: Arc<Questions>,
    token: Option<String>,
    answers: Option<InputResponses>,
    posed: Mutex<Option<(Call, ElicitRequestParams)>>,
}

impl fmt::Debug for Resumable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client's user, asked by a result")
    }
}

impl Resumable {
    fn question(&self) -> Option<InputRequiredResult> {
        let (call, form) = lock(&self.posed).take()?;
        let request = InputRequest::Elicitation(ElicitRequest::new(form));
        let requests = BTreeMap::from([(QUESTION.to_owned(), request)]);
        let token = self.questions.wait(call);
        Some(InputRequiredResult::new(Some(requests), Some(token)))
    }

    fn answer(&self) -> Verdict {
        let answer = self.answers.as_ref().and_then(|all| all.get(QUESTION));
        match answer.cloned().map(serde_json::from_value) {
            Some(Ok(answer)) => verdict(answer),
            Some(Err(_)) => rejected("the answer is none that the question can have"),
            None => Verdict::Cancelled,
        }
    }
}

#[async_trait]
impl Approver for Resumable {
    async fn decide(&self, escalation: &Escalation<'_>) -> Verdict {
        let call = Call::of(escalation);
        let Some(token) = &self.token else {
            *lock(&self.posed) = Some((call, form(escalation)));
            return Verdict::Deferred;
        };
        // Taken out whatever comes of it: an answer counts once.
        match self.questions.take(token) {
            None => rejected("the answer is to no question that is open; an answer counts once"),
            Some(asked) if asked != call => {
                rejected("the answer is to a question about another call")
            }
            Some(_) => self.answer(),
        }
    }
}

fn rejected(why: &str) -> Verdict {
    Verdict::Rejected(Some(why.to_owned()))
}

/// The call that a question is about: an answer holds for no other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    tool: String,
    operation: Operation,
    target: TargetKey,
    arguments: ContentHash,
    wanted: SandboxMode,
    justification: ContentHash,
}

impl Call {
    fn of(escalation: &Escalation<'_>) -> Self {
        Self {
            tool: escalation.tool.to_owned(),
            operation: escalation.operation,
            target: escalation.target.key().clone(),
            arguments: escalation.arguments,
            wanted: escalation.wanted,
            justification: ContentHash::of(escalation.justification.as_bytes()),
        }
    }
}

/// The questions of one connection that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: Mutex<VecDeque<(String, Call)>>,
    /// Its keys are random and known to nobody else.
    tokens: RandomState,
}

impl Questions {
    fn wait(&self, call: Call) -> String {
        let mut waiting = lock(&self.waiting);
        let half = |half: u8| {
            let salt = RandomState::new().hash_one(half);
            self.tokens.hash_one((half, salt))
        };
        let token = format!("{:016x}{:016x}", half(0), half(1));
        if waiting.len() == MOST_WAITING {
            waiting.pop_front();
        }
        waiting.push_back((token.clone(), call));
        token
    }

    fn take(&self, token: &str) -> Option<Call> {
        let mut waiting = lock(&self.waiting);
        let at = waiting.iter().position(|(known, _)| known == token)?;
        waiting.remove(at).map(|(_, call)| call)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Words the question as a form; what the model wrote is quoted or behind a `|`, so that it cannot
/// pose as ours.
fn form(escalation: &Escalation<'_>) -> ElicitRequestParams {
    let message = format!(
        "The agent asks to go from {} to {}, for this one call: {} of {} with the tool {} \
         (arguments: BLAKE3 {}). It says: {}\n{}",
        escalation.confined,
        escalation.wanted,
        escalation.operation,
        escalation.target,
        escalation.tool,
        escalation.arguments.to_hex(),
        quote(escalation.justification, MOST_SHOWN),
        escalation.shown,
    );
    let schema = ElicitationSchema::builder()
        .required_bool_with(APPROVE, |field| {
            field
                .title("Allow this call")
                .description("Whether this one call may go on; others are not concerned.")
        })
        .optional_string_with(REASON, |field| {
            field
                .title("Reason")
                .description("Why not, for the agent; may be left out.")
        })
        .build_unchecked();
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: schema,
    }
}

/// Understands an answer; only an accepted form that says yes is one.
fn verdict(answer: ElicitResult) -> Verdict {
    let field = |name: &str| answer.content.as_ref().and_then(|form| form.get(name));
    match answer.action {
        ElicitationAction::Accept if field(APPROVE) == Some(&Value::Bool(true)) => {
            Verdict::Approved
        }
        ElicitationAction::Accept | ElicitationAction::Decline => {
            let reason = field(REASON).and_then(Value::as_str).map(str::trim);
            Verdict::Rejected(reason.filter(|why| !why.is_empty()).map(str::to_owned))
        }
        _ => Verdict::Cancelled,
    }
}
