//! Lines that are no messages: each is answered, and the connection goes on.

use futures::future::BoxFuture;
use seamfs::Workspace;
use seamfs::mcp::Server;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split,
};
use tokio::sync::mpsc;

use super::wire::{Revision, Wire};
use crate::support::{Verdict, ensure_eq};

/// What is no JSON.
const NO_JSON: [&str; 8] = [
    "{",
    "hello",
    "\"",
    "nul",
    "{\"a\":1}}",
    "{'a': 1}",
    "\u{feff}{",
    "1 2",
];

/// What is JSON and no message, and the id that its sender waits for.
const NO_MESSAGE: [(&str, Option<i64>); 11] = [
    ("[]", None),
    ("5", None),
    ("null", None),
    ("\"text\"", None),
    ("{}", None),
    ("{\"jsonrpc\":\"2.0\"}", None),
    (
        "{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}",
        Some(7),
    ),
    ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":5}", Some(7)),
    ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", None),
    ("{\"jsonrpc\":\"2.0\",\"id\":7}", None),
    ("[{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}]", None),
];

/// What is never answered: nothing, notifications, and answers, an error without an id among them.
const UNANSWERED: [&str; 7] = [
    "",
    "\r",
    "  \t",
    "\u{feff}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nobody-knows\"}",
    "{\"jsonrpc\":\"1.0\",\"method\":\"textDocument/didOpen\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no JSON\"}}",
];

fn refused(wire: &mut Wire, line: &str, code: i64, id: Option<i64>) {
    wire.send_text(&format!("{line}\n"));
    let answer = wire.message().unwrap();
    assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
    assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    // It is there, and null where there was none to be read.
    let found = answer.as_object().unwrap().get("id");
    assert_eq!(found, Some(&json!(id)), "{line}: {answer}");
    wire.ok("read", json!({"file_path": "a.txt"}));
}

#[test]
fn lines_that_are_no_messages_are_answered_and_leave_the_connection_as_it_was() {
    for revision in Revision::BOTH {
        let mut wire = Wire::open(revision, &["memory:"]);
        wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
        for line in NO_JSON {
            refused(&mut wire, line, -32700, None);
        }
        for (line, id) in NO_MESSAGE {
            refused(&mut wire, line, -32600, id);
        }
        refused(&mut wire, &"[".repeat(100_000), -32700, None);
        wire.send_text(&format!("{}{}\n", "[".repeat(200), "]".repeat(200)));
        let answer = wire.message().unwrap();
        assert_eq!(answer["error"]["code"], -32700);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("127 levels"), "{message}");
        for line in UNANSWERED {
            wire.send_text(&format!("{line}\n"));
            wire.ok("read", json!({"file_path": "a.txt"}));
        }
        let end = wire.finish();
        assert_eq!((end.code, end.unasked), (Some(0), Vec::new()));
    }
}

#[test]
fn lines_before_the_connection_is_opened_do_not_close_it() {
    let mut wire = Wire::start(Revision::Oldest, &["memory:"], &[]);
    wire.send_text("{\n\n5\n");
    assert_eq!(wire.message().unwrap()["error"]["code"], -32700);
    assert_eq!(wire.message().unwrap()["error"]["code"], -32600);
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    wire.send(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    let id = wire.begin("read", json!({"file_path": "a.txt"}));
    assert_eq!(wire.answer(id)["error"]["code"], -32602);
    wire.initialize("2024-11-05", json!({}));
    wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
    assert_eq!(wire.finish().code, Some(0));
}

#[test]
fn a_line_without_end_is_answered_at_its_bound_and_not_kept() {
    let mut wire = Wire::open(Revision::Newest, &["memory:"]);
    let piece = "x".repeat(1 << 20);
    for _ in 0..65 {
        wire.send_text(&piece);
    }
    // Its end has not come, and need not.
    let answer = wire.message().unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("longer than 67108864 bytes"), "{message}");
    assert!(answer["id"].is_null());
    for _ in 0..200 {
        wire.send_text(&piece);
    }
    wire.send_text("\n");
    wire.ok("write", json!({"file_path": "a.txt", "content": "one\n"}));
    let peak = wire.peak_memory();
    assert!(peak < 200 << 20, "{} MiB", peak >> 20);
    let end = wire.finish();
    assert_eq!((end.code, end.unasked), (Some(0), Vec::new()));
}

/// Serves a connection to its end.
type Serve = fn(Server, DuplexStream) -> BoxFuture<'static, ()>;

fn sound(server: Server, far: DuplexStream) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let (input, output) = split(far);
        server.serve(input, output).await.expect("it serves");
    })
}

/// Passes over what is no JSON, as many servers do.
fn deaf(server: Server, far: DuplexStream) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let (near, served) = duplex(1 << 12);
        let serving = tokio::spawn(sound(server, served));
        let (client_in, mut client_out) = split(far);
        let (mut server_out, mut server_in) = split(near);
        let answering = tokio::spawn(async move {
            let _ = tokio::io::copy(&mut server_out, &mut client_out).await;
        });
        let mut lines = BufReader::new(client_in).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if serde_json::from_str::<Value>(&line).is_ok() {
                let line = format!("{line}\n");
                let sent = server_in.write_all(line.as_bytes()).await;
                sent.expect("the server reads");
            }
        }
        server_in.shutdown().await.expect("it closes");
        serving.await.expect("it serves");
        answering.await.expect("it answers");
    })
}

/// Answers what is no JSON without a look at what is being written.
fn careless(server: Server, far: DuplexStream) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let (near, served) = duplex(1 << 12);
        let serving = tokio::spawn(sound(server, served));
        let (client_in, mut client_out) = split(far);
        let (mut server_out, mut server_in) = split(near);
        let (answer, mut answers) = mpsc::unbounded_channel::<String>();
        let answering = tokio::spawn(async move {
            let mut piece = [0; 7];
            while let Ok(1..) = server_out.read_exact(&mut piece).await {
                client_out.write_all(&piece).await.expect("somebody reads");
                while let Ok(line) = answers.try_recv() {
                    client_out
                        .write_all(line.as_bytes())
                        .await
                        .expect("somebody reads");
                }
            }
        });
        let mut lines = BufReader::new(client_in).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if serde_json::from_str::<Value>(&line).is_ok() {
                let line = format!("{line}\n");
                let sent = server_in.write_all(line.as_bytes()).await;
                sent.expect("the server reads");
            } else {
                let said = json!({"jsonrpc": "2.0", "id": null, "error": {
                    "code": -32700, "message": "no JSON"
                }});
                answer
                    .send(format!("{said}\n"))
                    .expect("the answers are taken");
            }
        }
        server_in.shutdown().await.expect("it closes");
        serving.await.expect("it serves");
        answering.await.expect("it answers");
    })
}

/// Sends bad lines among calls with long answers; each is answered, and each answer is whole.
async fn every_line_is_answered_and_every_answer_is_whole(serve: Serve) -> Verdict {
    const ROUNDS: usize = 100;
    let workspace = Workspace::open("memory:").await;
    let server = Server::new(workspace.map_err(|error| error.to_string())?);
    let (near, far) = duplex(1 << 10);
    let serving = tokio::spawn(serve(server, far));
    let (answers, mut requests) = split(near);
    let asking = tokio::spawn(async move {
        let mut lines = vec![
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            }})
            .to_string(),
        ];
        lines.push(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        let call = |id: usize, tool: &str, arguments: Value| {
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                   "params": {"name": tool, "arguments": arguments}})
            .to_string()
        };
        let content = "a line of some length\n".repeat(100);
        let write = json!({"file_path": "a.txt", "content": content});
        lines.push(call(1, "write", write));
        for round in 0..ROUNDS {
            lines.push(call(round + 2, "read", json!({"file_path": "a.txt"})));
            lines.push(NO_JSON[round % NO_JSON.len()].to_owned());
        }
        for line in lines {
            let line = format!("{line}\n");
            requests
                .write_all(line.as_bytes())
                .await
                .expect("the server reads");
        }
        requests.shutdown().await.expect("it closes");
    });
    let (mut results, mut faults) = (0, 0);
    let mut lines = BufReader::new(answers).lines();
    while let Some(line) = lines.next_line().await.map_err(|error| error.to_string())? {
        let answer: Value = serde_json::from_str(&line).map_err(|_| format!("torn: {line}"))?;
        results += usize::from(answer["result"].is_object());
        faults += usize::from(answer["error"]["code"] == -32700);
    }
    asking.await.map_err(|error| error.to_string())?;
    serving.await.map_err(|error| error.to_string())?;
    ensure_eq!((results, faults), (ROUNDS + 2, ROUNDS));
    Ok(())
}

#[tokio::test]
async fn answers_to_what_is_no_message_never_tear_others() {
    every_line_is_answered_and_every_answer_is_whole(sound)
        .await
        .unwrap();
    for (double, part) in [(deaf as Serve, "(102, 0)"), (careless, "torn")] {
        let verdict = every_line_is_answered_and_every_answer_is_whole(double).await;
        let why = verdict.expect_err("the claim does not notice the double");
        assert!(why.contains(part), "{why}");
    }
}
