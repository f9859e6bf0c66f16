//! The MCP server: the tools of a workspace for an agent's host.
//!
//! A [`Server`] serves one client over each pair of byte streams given to it. Each connection is
//! a session of its own, which ends with the connection. Calls of one connection take effect in
//! the order in which they were received, wherever they touch the same file; a client that
//! cancels a request withdraws the call.
//!
//! The protocol's own work is rmcp's. Both families of revisions are spoken: those that begin with
//! an `initialize` handshake, since 2024-11-05, and 2026-07-28, where each request stands for
//! itself. Roots that a client announces are never asked for: the operator's workspace is the
//! boundary, and nothing a client says moves it.
//!
//! ```
//! use seamfs::{Workspace, mcp::Server};
//! use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let server = Server::new(Workspace::open("memory:").await?);
//! let (client, served) = duplex(1 << 16);
//! let (input, output) = split(served);
//! let serving = tokio::spawn(async move { server.serve(input, output).await });
//!
//! let (answers, mut requests) = split(client);
//! requests.write_all(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await?;
//! requests.write_all(b"\n").await?;
//! let answer = BufReader::new(answers).lines().next_line().await?;
//! assert_eq!(answer.as_deref(), Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
//!
//! requests.shutdown().await?;
//! serving.await??;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod approval;
mod arrival;
mod connection;
mod lines;
mod translate;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::RoleServer;
use rmcp::service::{QuitReason, ServerInitializeError, serve_server};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;

use crate::{Result, Session, Workspace};
use arrival::InOrder;
use connection::Connection;
use lines::Lines;

/// The most bytes of one message, its line feed included: a `write` carries a whole file in it.
const MOST_REQUEST_BYTES: usize = 64 << 20;

/// Serves the tools of a workspace to MCP clients.
#[derive(Clone, Debug)]
pub struct Server {
    workspace: Workspace,
    cwd: Arc<str>,
}

impl Server {
    /// Creates a server of a workspace's tools.
    pub fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            cwd: Arc::from(""),
        }
    }

    /// Sets the working folder, where relative paths of calls start. Default the root.
    #[must_use]
    pub fn with_cwd(mut self, cwd: &str) -> Self {
        self.cwd = Arc::from(cwd);
        self
    }

    /// Serves one client over stdin and stdout, until stdin ends.
    ///
    /// Nothing else in the process may write to stdout meanwhile.
    ///
    /// # Errors
    /// As [`Server::serve`].
    ///
    /// # Panics
    /// Outside a tokio runtime with IO enabled.
    pub async fn serve_stdio(&self) -> Result<()> {
        let (input, output) = rmcp::transport::stdio_pipes();
        self.serve(input, output).await
    }

    /// Serves one client, until the input ends or the output breaks.
    ///
    /// When this returns, no call of the connection is under way any more: calls that had begun
    /// by the end of the input have finished, or were withdrawn after a few seconds' grace, and
    /// their session is over. Messages are JSON, one a line of at most 64 MiB; a line that is none
    /// is answered with an error of JSON-RPC.
    ///
    /// # Errors
    /// When the workspace's root cannot be resolved. A client that goes away, or that never
    /// speaks the protocol, is no error.
    pub async fn serve<I, O>(&self, input: I, output: O) -> Result<()>
    where
        I: AsyncRead + Send + Unpin + 'static,
        O: AsyncWrite + Send + Unpin + 'static,
    {
        let lines = Lines::new(input, output, MOST_REQUEST_BYTES);
        self.connect(InOrder::new(lines)).await
    }

    async fn connect(&self, transport: impl Transport<RoleServer> + 'static) -> Result<()> {
        let root = self.workspace.folder(".").await?;
        let (open, over) = oneshot::channel();
        let connection = Connection::new(self.session(), &self.workspace.tools(), &root, open);
        match serve_server(connection, transport).await {
            Ok(running) => match running.waiting().await {
                Ok(QuitReason::JoinError(error)) | Err(error) => {
                    tracing::error!(%error, "the connection broke off");
                }
                Ok(_) => {}
            },
            Err(ServerInitializeError::ConnectionClosed(_)) => {}
            Err(error) => tracing::warn!(%error, "the client did not open the connection"),
        }
        // Each call under way holds the connection; the last to let go of it ends the session.
        // So this waits for them all, however the service itself came to its end.
        let _ = over.await;
        Ok(())
    }

    /// Opens the session of a new connection: what another client saw is never its own.
    fn session(&self) -> Session {
        static CONNECTIONS: AtomicU64 = AtomicU64::new(1);
        let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcp-{}-{number}", std::process::id());
        self.workspace.session(&name).with_cwd(&self.cwd)
    }
}
