//! The server as a library: connections over any streams, each a session with its own end.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use seamfs::core::gate::{Explanation, GateFacts, Intent, Observed, Refusal, Rule, Ruling};
use seamfs::mcp::Server;
use seamfs::{Actor, Result, Workspace};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Writes down what happens to whom, and holds mutations until they are let through.
#[derive(Debug)]
struct Witness {
    events: Mutex<Vec<(&'static str, String)>>,
    deciding: Semaphore,
    gate: Semaphore,
}

impl Witness {
    fn new(open: bool) -> Arc<Self> {
        Arc::new(Self {
            events: Mutex::default(),
            deciding: Semaphore::new(0),
            gate: Semaphore::new(if open { Semaphore::MAX_PERMITS } else { 0 }),
        })
    }

    fn note(&self, event: &'static str, actor: &Actor) {
        let event = (event, actor.as_str().to_owned());
        self.events.lock().unwrap().push(event);
    }

    fn events(&self) -> Vec<(&'static str, String)> {
        self.events.lock().unwrap().clone()
    }
}

#[async_trait]
impl Rule for Witness {
    async fn decide(&self, _intent: &Intent<'_>) -> Result<Ruling> {
        self.deciding.add_permits(1);
        self.gate.acquire().await.unwrap().forget();
        Ok(Ruling::Pass)
    }

    fn observed(&self, event: &Observed<'_>) {
        self.note("observed", event.actor);
    }

    fn explain(&self, _refusal: &Refusal<'_>) -> Option<Explanation> {
        None
    }

    fn forget(&self, actor: &Actor) {
        self.note("forgotten", actor);
    }

    fn describe(&self, _facts: &mut GateFacts) {}
}

/// One client of a served workspace.
struct Client {
    serving: JoinHandle<Result<()>>,
    answers: Lines<BufReader<ReadHalf<DuplexStream>>>,
    requests: WriteHalf<DuplexStream>,
}

impl Client {
    async fn connect(server: &Server) -> Self {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(far);
        let server = server.clone();
        let serving = tokio::spawn(async move { server.serve(input, output).await });
        let (answers, requests) = tokio::io::split(near);
        let mut client = Self {
            serving,
            answers: BufReader::new(answers).lines(),
            requests,
        };
        client
            .send(
                &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"},
                }}),
            )
            .await;
        assert!(client.answer().await["result"].is_object());
        client
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.requests.write_all(line.as_bytes()).await.unwrap();
    }

    async fn begin_write(&mut self, path: &str) {
        self.send(
            &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "write", "arguments": {"file_path": path, "content": "x\n"},
            }}),
        )
        .await;
    }

    async fn answer(&mut self) -> Value {
        let line = self.answers.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

async fn server(witness: &Arc<Witness>) -> Server {
    let rule: Arc<dyn Rule> = Arc::clone(witness) as _;
    let workspace = Workspace::builder().rules([rule]).open("memory:").await;
    Server::new(workspace.unwrap())
}

#[tokio::test]
async fn each_connection_is_a_session_that_ends_with_it() {
    let witness = Witness::new(true);
    let server = server(&witness).await;
    let mut first = Client::connect(&server).await;
    let mut second = Client::connect(&server).await;
    for client in [&mut first, &mut second] {
        client.begin_write("a.txt").await;
        assert_eq!(client.answer().await["result"]["isError"], false);
    }
    second.requests.shutdown().await.unwrap();
    second.serving.await.unwrap().unwrap();
    let events = witness.events();
    let (one, other) = (events[0].1.clone(), events[1].1.clone());
    assert_ne!(one, other);
    assert_eq!(
        events[2..],
        [("forgotten", other)],
        "the first lives on while the second is over"
    );
    first.requests.shutdown().await.unwrap();
    first.serving.await.unwrap().unwrap();
    assert_eq!(witness.events()[3..], [("forgotten", one)]);
}

#[tokio::test]
async fn a_session_ends_after_its_last_call() {
    let witness = Witness::new(false);
    let server = server(&witness).await;
    let mut client = Client::connect(&server).await;
    client.begin_write("a.txt").await;
    witness.deciding.acquire().await.unwrap().forget();
    client.requests.shutdown().await.unwrap();
    // The input is over and the call is held; both are known before it may go on.
    witness.gate.add_permits(1);
    assert_eq!(client.answer().await["result"]["isError"], false);
    client.serving.await.unwrap().unwrap();
    let events: Vec<_> = witness.events().into_iter().map(|event| event.0).collect();
    assert_eq!(events, ["observed", "forgotten"]);
}

#[tokio::test]
async fn a_client_that_vanishes_takes_its_session_along() {
    let witness = Witness::new(true);
    let server = server(&witness).await;
    let client = Client::connect(&server).await;
    let Client {
        serving,
        answers,
        requests,
    } = client;
    drop((answers, requests));
    serving.await.unwrap().unwrap();
    let events: Vec<_> = witness.events().into_iter().map(|event| event.0).collect();
    assert_eq!(events, ["forgotten"]);
}
