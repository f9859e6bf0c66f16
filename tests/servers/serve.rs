//! Serving: a thread, a listener on loopback, and the desk in front of a protocol.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::{Desk, Fault, Store};

type Answer = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;

/// A protocol: what becomes of one request.
pub(super) type Protocol = Arc<dyn Fn(Request<Incoming>) -> Answer + Send + Sync>;

type Sent = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// A running server; it ends when dropped.
pub(crate) struct Server {
    pub(crate) store: Arc<Store>,
    pub(crate) desk: Arc<Desk>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<Infallible>>,
}

impl Server {
    pub(super) fn start(store: Arc<Store>, protocol: Protocol) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        listener
            .set_nonblocking(true)
            .expect("sockets need not block");
        let address = listener.local_addr().expect("the listener is bound");
        let desk = Arc::new(Desk::default());
        let (stop, stopped) = oneshot::channel();
        let front = Arc::clone(&desk);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("there are threads");
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("the listener is bound");
                tokio::select! {
                    () = accept(listener, protocol, front) => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Self {
            store,
            desk,
            address,
            stop: Some(stop),
        }
    }

    /// Returns where the server is.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, protocol: Protocol, desk: Arc<Desk>) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            continue;
        };
        let _ = socket.set_nodelay(true);
        let (protocol, desk) = (Arc::clone(&protocol), Arc::clone(&desk));
        let service =
            service_fn(move |request| answer(Arc::clone(&protocol), Arc::clone(&desk), request));
        tokio::spawn(async move {
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

/// Answers one request as the desk says; an error closes the connection without an answer.
async fn answer(
    protocol: Protocol,
    desk: Arc<Desk>,
    request: Request<Incoming>,
) -> io::Result<Sent> {
    let (latency, fault) = desk.arrive(name_of(&request));
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    if let Some(Fault::Refuse(status)) = fault {
        // The body is taken all the same, so that the connection can be used again.
        let _ = request.into_body().collect().await;
        let body = Bytes::from_static(b"<Error><Code>SlowDown</Code></Error>");
        let refused = Response::builder().status(status).body(whole(body));
        return Ok(refused.expect("the status is one"));
    }
    if fault == Some(Fault::Reset) {
        return Err(io::Error::other("reset on purpose"));
    }
    let response = protocol(request).await;
    desk.answer(response.body().len());
    match fault {
        Some(Fault::Drop) => Err(io::Error::other("dropped on purpose")),
        Some(Fault::Truncate) => Ok(response.map(half)),
        _ => Ok(response.map(whole)),
    }
}

fn name_of(request: &Request<Incoming>) -> &'static str {
    let query = request.uri().query().unwrap_or_default();
    match request.method().as_str() {
        "GET" if query.contains("list-type=2") => "LIST",
        "GET" => "GET",
        "PUT" => "PUT",
        "HEAD" => "HEAD",
        "DELETE" | "POST" => "DELETE",
        _ => "OTHER",
    }
}

fn whole(body: Bytes) -> UnsyncBoxBody<Bytes, io::Error> {
    Full::new(body)
        .map_err(|never| match never {})
        .boxed_unsync()
}

fn half(body: Bytes) -> UnsyncBoxBody<Bytes, io::Error> {
    let half = body.slice(..body.len() / 2);
    let torn = [
        Ok(Frame::data(half)),
        Err(io::Error::other("torn on purpose")),
    ];
    StreamBody::new(stream::iter(torn)).boxed_unsync()
}
