//! The order of arrival: the place that each call takes when its request is received.
//!
//! rmcp handles each request in a task of its own, so that two requests may reach the handler in
//! either order. The transport is the last to see them in the order in which they came; it gives
//! each call a ticket, and a call begins when those received before it have begun or have been
//! turned down. Calls wait for one another's beginning only, never for the end.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use seamfs_core::locks::{Ticket, Turn, Turns};
use tokio::sync::Notify;

/// A transport that stamps calls with their order of arrival.
#[derive(Debug)]
pub(super) struct InOrder<T> {
    transport: T,
    arrivals: Turns<()>,
    /// Whether the client has chosen how the connection begins.
    opened: bool,
    /// Told when an answer could not be sent: nobody is there to work for any more.
    broken: Arc<Notify>,
}

/// A call's place among those of its connection.
#[derive(Clone, Debug)]
pub(super) struct Place(Arc<Mutex<Option<Ticket<()>>>>);

impl Place {
    /// Waits until every call received earlier has begun; hold the result until this one has.
    pub(super) async fn turn(&self) -> Option<Turn<()>> {
        let ticket = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        // Without a deadline a turn always comes.
        ticket.turn(None).await.ok()
    }
}

impl<T> InOrder<T> {
    pub(super) fn new(transport: T) -> Self {
        Self {
            transport,
            arrivals: Turns::new(),
            opened: false,
            broken: Arc::default(),
        }
    }

    /// Stamps a message, or drops one that would end the connection before it was opened.
    fn admit(&mut self, mut message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        match &mut message {
            JsonRpcMessage::Request(request) => {
                self.opened |= opens(&request.request);
                if let ClientRequest::CallToolRequest(call) = &mut request.request {
                    let ticket = self.arrivals.enqueue(());
                    call.extensions
                        .insert(Place(Arc::new(Mutex::new(Some(ticket)))));
                }
                Some(message)
            }
            // A client may well cancel its first probe before it shakes hands.
            _ if !self.opened => {
                tracing::debug!("a message before the connection was opened is ignored");
                None
            }
            _ => Some(message),
        }
    }
}

/// Returns whether a request ends the choice between the two ways to begin a connection.
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => request.get_meta().protocol_version().is_some(),
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for InOrder<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sending = self.transport.send(item);
        let broken = Arc::clone(&self.broken);
        async move {
            let sent = sending.await;
            if sent.is_err() {
                broken.notify_one();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = tokio::select! {
                message = self.transport.receive() => message?,
                () = self.broken.notified() => return None,
            };
            if let Some(message) = self.admit(message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}
