//! A connection: one client, one session, and the requests that it may make.

use std::convert::Infallible;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    ListToolsResult, PaginatedRequestParams, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use seamfs_tools::{ToolResult, ToolSpec};
use serde_json::Value;
use tokio::sync::oneshot;

use super::approval::{Asking, Questions};
use super::arrival::Place;
use super::translate;
use crate::Session;

/// What one client may ask for; when the last request lets go of it, the session ends.
#[derive(Debug)]
pub(super) struct Connection {
    session: Session,
    tools: Vec<Tool>,
    config: ServerConfig,
    questions: Arc<Questions>,
    /// Nothing is ever sent: that it is gone says that the connection is over.
    _open: oneshot::Sender<Infallible>,
}

impl Connection {
    pub(super) fn new(
        session: Session,
        specs: &[ToolSpec],
        root: &str,
        open: oneshot::Sender<Infallible>,
    ) -> Self {
        Self {
            session,
            tools: specs.iter().map(translate::tool).collect(),
            config: translate::config(specs, root),
            questions: Arc::default(),
            _open: open,
        }
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.tools.iter().map(|tool| &*tool.name).collect();
        names.join(", ")
    }

    /// Calls a tool in the order of arrival; a client that cancels withdraws the call.
    async fn call(
        &self,
        request: CallToolRequestParams,
        asking: &Asking,
        context: &RequestContext<RoleServer>,
    ) -> Option<ToolResult> {
        let turn = match context.extensions.get::<Place>() {
            Some(place) => place.turn().await,
            None => None,
        };
        if context.ct.is_cancelled() {
            return None;
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let session = match asking.approver() {
            Some(approver) => self.session.clone().asking(approver),
            None => self.session.clone(),
        };
        let mut call = session.call(&request.name, arguments);
        drop(turn);
        tokio::select! {
            biased;
            result = &mut call => Some(result),
            () = context.ct.cancelled() => {
                // Waited for and not dropped: a change whose publication has begun is finished
                // before the connection, and with it the process, may end.
                call.cancellation().cancel();
                Some(call.await)
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.session.clone().end();
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        self.config.clone()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        match request.and_then(|request| request.cursor) {
            None => Ok(ListToolsResult::with_all_items(self.tools.clone())),
            Some(_) => Err(ErrorData::invalid_params(
                "there is no such cursor; every tool is on the first page",
                None,
            )),
        }
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.tools.iter().any(|tool| tool.name == request.name) {
            let message = format!("there is no such tool; there are {}", self.names());
            return Err(ErrorData::invalid_params(message, None));
        }
        let asking = Asking::of(&self.questions, &mut request, &context);
        let result = self.call(request, &asking, &context).await;
        if let Some(question) = asking.question() {
            return Ok(question.into());
        }
        match result {
            Some(result) => Ok(translate::result(result).into()),
            // Nobody reads this: a cancelled request is not answered.
            None => Err(ErrorData::invalid_request(
                "the request was cancelled",
                None,
            )),
        }
    }

    /// Turns down requests that are none of the protocol's, and those of the protocol's whose
    /// parameters do not fit, which arrive here too.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            "tools/call" => ErrorData::invalid_params(
                "the parameters must be {\"name\": string, \"arguments\"?: object}",
                None,
            ),
            "initialize" | "ping" | "server/discover" | "tools/list" => {
                ErrorData::invalid_params("the parameters do not fit the method", None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no such method", None),
        })
    }
}
