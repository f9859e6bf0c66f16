//! Lines: the messages of a connection, one a line, and an answer to each line that is none.
//!
//! rmcp's reader passes over a line that is no JSON, and one that is too long, without a word, and a
//! client that waits for the answer waits for ever. Here every line is answered that is no message
//! and no notification: `-32700` when it is no JSON, `-32600` when it is none that the protocol
//! has. Answers go the way of all output, each message whole before the next begins, and the next
//! line is read when the answer is out, so that a client that never listens is not written for
//! without end.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

/// The room for a line that is kept from one to the next, in bytes: 1 MiB.
const KEPT: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A transport over a pair of byte streams.
pub(super) struct Lines<I, O> {
    input: BufReader<I>,
    /// What of the next line has been read.
    line: Vec<u8>,
    /// The most bytes of a line.
    most: usize,
    /// The line was too long and was answered; its end is still to come.
    skipping: bool,
    /// An answer on its way.
    answering: Option<BoxFuture<'static, io::Result<()>>>,
    /// None once the connection is closed.
    output: Arc<Mutex<Option<Output<O>>>>,
    /// The requests that have no answer yet, by id.
    open: HashSet<RequestId>,
}

/// Where messages go, and what of the last one is not out yet.
struct Output<O> {
    writer: O,
    left: BytesMut,
}

/// What came in.
enum Received {
    Line,
    TooLong,
    End,
}

impl<I: AsyncRead, O> Lines<I, O> {
    pub(super) fn new(input: I, output: O, most: usize) -> Self {
        let left = BytesMut::new();
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            most,
            skipping: false,
            answering: None,
            open: HashSet::new(),
            output: Arc::new(Mutex::new(Some(Output {
                writer: output,
                left,
            }))),
        }
    }
}

impl<I: AsyncRead + Unpin, O> Lines<I, O> {
    /// Reads on to the end of the line; a caller that goes away loses nothing of it.
    async fn receive_line(&mut self) -> io::Result<Received> {
        loop {
            let found = self.input.fill_buf().await?;
            if found.is_empty() {
                // The last line may lack its end.
                return Ok(match self.line.is_empty() {
                    true => Received::End,
                    false => Received::Line,
                });
            }
            let end = found.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(found.len(), |end| end + 1);
            let skipped = self.skipping;
            let fits = self.line.len() + taken <= self.most;
            if !skipped && fits {
                self.line.extend_from_slice(&found[..taken]);
            }
            self.input.consume(taken);
            self.skipping = end.is_none() && (skipped || !fits);
            match (skipped, fits) {
                (true, _) => {}
                (false, false) => {
                    self.line = Vec::new();
                    return Ok(Received::TooLong);
                }
                (false, true) if end.is_some() => return Ok(Received::Line),
                (false, true) => {}
            }
        }
    }

    /// Takes the line that was read, as a message or as the answer to what is none.
    fn take(&mut self) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Answer> {
        let understood = understand(&self.line);
        self.line.clear();
        self.line.shrink_to(KEPT);
        let understood = understood?;
        if let Some(message) = &understood {
            self.note(message)?;
        }
        Ok(understood)
    }

    /// Keeps in mind which requests wait for an answer: of two with one id rmcp answers one.
    fn note(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> Result<(), Answer> {
        match message {
            JsonRpcMessage::Request(request) if !self.open.insert(request.id.clone()) => {
                let message =
                    "a request with this id waits for its answer; give each one of its own";
                let error = ErrorData::invalid_request(message, None);
                return Err(answer(error, Some(request.id.clone())));
            }
            // A call that was withdrawn gets no answer.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.remove(id);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

type Answer = Box<TxJsonRpcMessage<RoleServer>>;

/// Understands a line; nothing for a blank one, and for a notification that nobody knows.
fn understand(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Answer> {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Ok(Some(message));
    }
    let value = serde_json::from_slice::<Value>(line).map_err(|error| {
        let at = error.column();
        let message = match error.to_string().starts_with("recursion limit exceeded") {
            true => format!("the line nests too deeply from byte {at} on; 127 levels are read"),
            false => format!("the line is no JSON, from byte {at} on"),
        };
        answer(ErrorData::parse_error(message, None), None)
    })?;
    let method = value.get("method");
    if method.is_some_and(Value::is_string) && value.get("id").is_none() {
        return Ok(None);
    }
    // What has a method is a request, and its sender waits for an answer to its id.
    let id = method.and_then(|_| serde_json::from_value::<RequestId>(value["id"].clone()).ok());
    let message = match value {
        Value::Array(_) => "a batch is no message here; send its messages one a line",
        _ => {
            "this is no message of the protocol: {\"jsonrpc\": \"2.0\", \"id\", \"method\", \"params\"?}"
        }
    };
    Err(answer(ErrorData::invalid_request(message, None), id))
}

fn answer(error: ErrorData, id: Option<RequestId>) -> Answer {
    Box::new(JsonRpcMessage::error(error, id))
}

impl<I, O> Lines<I, O>
where
    O: AsyncWrite + Send + Unpin + 'static,
{
    /// Writes a message, whole before the next one.
    fn write(
        &self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + use<I, O> + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let mut output = output.lock().await;
            match output.as_mut() {
                Some(output) => output.send(&item).await,
                None => Err(io::Error::new(
                    io::ErrorKind::NotConnected,
                    "the connection is closed",
                )),
            }
        }
    }
}

impl<I, O> Transport<RoleServer> for Lines<I, O>
where
    I: AsyncRead + Send + Unpin + 'static,
    O: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = answered {
            self.open.remove(id);
        }
        self.write(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                let answered = answering.await;
                self.answering = None;
                answered.ok()?;
            }
            let received = match self.receive_line().await {
                Ok(Received::End) => return None,
                Ok(Received::Line) => self.take(),
                Ok(Received::TooLong) => {
                    let message = format!("the message is longer than {} bytes", self.most);
                    Err(answer(ErrorData::invalid_request(message, None), None))
                }
                Err(error) => {
                    tracing::error!(%error, "the input cannot be read");
                    return None;
                }
            };
            match received {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(answer) => {
                    tracing::debug!(?answer, "a line is no message");
                    self.answering = Some(Box::pin(self.write(*answer)));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        *self.output.lock().await = None;
        Ok(())
    }
}

impl<O: AsyncWrite + Unpin> Output<O> {
    /// Writes a message and its line feed; what a sender that went away left comes first.
    async fn send(&mut self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        let mut line = (&mut self.left).writer();
        match message {
            // JSON-RPC has a null where there was no id to be read, and rmcp has nothing there.
            JsonRpcMessage::Error(error) if error.id.is_none() => {
                let mut value = serde_json::to_value(message)?;
                value["id"] = Value::Null;
                serde_json::to_writer(&mut line, &value)?;
            }
            message => serde_json::to_writer(&mut line, message)?,
        }
        self.left.put_u8(b'\n');
        self.writer.write_all_buf(&mut self.left).await?;
        self.writer.flush().await
    }
}

impl<I, O> fmt::Debug for Lines<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, DuplexStream, duplex};

    use super::*;

    /// Reads everything that these bytes are, and what was answered meanwhile.
    async fn received(bytes: &[u8], most: usize) -> (usize, Vec<Value>) {
        let (far, mut answers) = duplex(1 << 20);
        let mut lines = Lines::new(bytes.to_vec().leak() as &[u8], far, most);
        let mut messages = 0;
        while lines.receive().await.is_some() {
            messages += 1;
        }
        lines.close().await.unwrap();
        let mut text = String::new();
        answers.read_to_string(&mut text).await.unwrap();
        let answers = text.lines().map(|line| serde_json::from_str(line).unwrap());
        (messages, answers.collect())
    }

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    const OTHER: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_answered_once_and_not_kept() {
        let long = "x".repeat(100_000);
        for (text, messages, answers) in [
            (format!("{PING}\n{long}\n{OTHER}\n"), 2, 1),
            (format!("{long}\n{long}\n{PING}"), 1, 2),
            (format!("{PING}\n{long}"), 1, 1),
        ] {
            let (found, said) = received(text.as_bytes(), 64).await;
            assert_eq!((found, said.len()), (messages, answers));
            for answer in said {
                assert_eq!(answer["error"]["code"], -32600);
                assert!(
                    answer["error"]["message"]
                        .as_str()
                        .unwrap()
                        .contains("64 bytes")
                );
            }
        }
        // As long as may be, and one byte longer; the line feed counts.
        let exact = PING.len() + 1;
        assert_eq!(received(format!("{PING}\n").as_bytes(), exact).await.0, 1);
        let (found, said) = received(format!("{PING}\n").as_bytes(), exact - 1).await;
        assert_eq!((found, said.len()), (0, 1));
    }

    #[tokio::test]
    async fn a_second_request_with_the_id_of_one_that_is_open_is_answered_and_not_run() {
        let text = format!("{PING}\n{PING}\n{PING}\n");
        let (messages, answers) = received(text.as_bytes(), 1 << 10).await;
        assert_eq!((messages, answers.len()), (1, 2));
        for answer in answers {
            assert_eq!(
                (&answer["error"]["code"], &answer["id"]),
                (&(-32600).into(), &1.into())
            );
        }
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        let text = format!("{PING}\n{cancel}\n{PING}\n");
        assert_eq!(received(text.as_bytes(), 1 << 10).await, (3, vec![]));
    }

    #[tokio::test]
    async fn what_is_kept_of_a_line_is_bounded() {
        let (far, _answers) = duplex(1 << 20);
        let mut text = "x".repeat(1 << 23).into_bytes();
        text.push(b'\n');
        let mut lines = Lines::new(text.leak() as &[u8], far, 1 << 16);
        assert!(lines.receive().await.is_none());
        assert!(
            lines.line.capacity() <= 1 << 17,
            "{}",
            lines.line.capacity()
        );
        let (far, _answers) = duplex(1 << 20);
        let mut text = vec![b' '; 1 << 23];
        text.extend(PING.as_bytes());
        let mut lines = Lines::new(text.leak() as &[u8], far, 1 << 24);
        assert!(lines.receive().await.is_some());
        assert!(lines.line.capacity() <= KEPT, "{}", lines.line.capacity());
    }

    #[tokio::test]
    async fn an_answer_that_is_not_taken_holds_up_the_next_line() {
        let (far, mut answers) = duplex(16);
        let (mut client, near) = duplex(1 << 10);
        let mut lines = Lines::new(near, far, 1 << 10);
        client
            .write_all(format!("{{\n{PING}\n").as_bytes())
            .await
            .unwrap();
        let waiting = tokio::select! {
            biased;
            _ = lines.receive() => false,
            () = std::future::ready(()) => true,
        };
        assert!(waiting, "nobody has read the answer yet");
        let reading = read_line(&mut answers);
        let (message, answer) = tokio::join!(lines.receive(), reading);
        assert!(message.is_some());
        assert_eq!(answer["error"]["code"], -32700);
        assert!(answer.as_object().unwrap().contains_key("id") && answer["id"].is_null());
    }

    async fn read_line(from: &mut DuplexStream) -> Value {
        let mut line = Vec::new();
        loop {
            match from.read_u8().await.unwrap() {
                b'\n' => return serde_json::from_slice(&line).unwrap(),
                byte => line.push(byte),
            }
        }
    }

    #[tokio::test]
    async fn a_sender_that_goes_away_leaves_its_message_whole() {
        let (far, mut answers) = duplex(8);
        let mut lines = Lines::new(tokio::io::empty(), far, 64);
        let message = |code: i32| {
            let error = ErrorData::new(rmcp::model::ErrorCode(code), "x".repeat(50), None);
            *answer(error, Some(RequestId::Number(code.into())))
        };
        let (first, second) = (lines.send(message(1)), lines.send(message(2)));
        let gone = tokio::select! {
            biased;
            _ = first => false,
            () = std::future::ready(()) => true,
        };
        assert!(gone, "the message is longer than the pipe");
        let reading = async { (read_line(&mut answers).await, read_line(&mut answers).await) };
        let (sent, (one, other)) = tokio::join!(second, reading);
        sent.unwrap();
        assert_eq!((&one["id"], &other["id"]), (&1.into(), &2.into()));
    }
}
