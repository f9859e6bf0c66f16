//! What rows have in common: the text that is edited, and calls as an agent's host makes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use seamfs::Session;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::harness::Work;

pub(crate) const SIZES: [(&str, usize); 5] = [
    ("1 KiB", 1 << 10),
    ("64 KiB", 64 << 10),
    ("1 MiB", 1 << 20),
    ("16 MiB", 16 << 20),
    ("64 MiB", 64 << 20),
];

/// The two texts that edits replace by each other, so that every run finds its match.
const MARKS: [&str; 2] = ["the needle is here", "the needle was here"];

/// Makes a text of about `size` bytes in lines of 64, no two of them alike, with the mark in its
/// middle.
pub(crate) fn text(size: usize) -> Vec<u8> {
    marked(size, |line, lines| line == lines / 2)
}

/// Makes such a text with the mark on a thousand of its lines.
pub(crate) fn text_of_many_marks(size: usize) -> Vec<u8> {
    marked(size, |line, lines| {
        let apart = (lines / 1000).max(1);
        line % apart == 0 && line / apart < 1000
    })
}

fn marked(size: usize, marked: impl Fn(usize, usize) -> bool) -> Vec<u8> {
    let lines = (size / 64).max(2);
    let mut text = String::with_capacity(size + 64);
    for line in 0..lines {
        let mark = if marked(line, lines) { MARKS[0] } else { "" };
        text.push_str(&format!(
            "{line:08} {mark:19} some ordinary source text, its end\n"
        ));
    }
    text.into_bytes()
}

/// Gives the two marks in turn, as what to replace and what with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn(Arc<AtomicUsize>);

impl Turn {
    pub(crate) fn next(&self) -> (&'static str, &'static str) {
        marks(self.0.fetch_xor(1, Ordering::Relaxed))
    }
}

/// Gives what to replace and what with, the so-manieth time.
pub(crate) fn marks(turn: usize) -> (&'static str, &'static str) {
    (MARKS[turn % 2], MARKS[1 - turn % 2])
}

/// Does work so many times in a task of the runtime, as a host's is, and says how long that took.
///
/// Between two times the task yields and makes ready what the next takes, which is not timed: a host
/// calls when a message came, and not in a loop. A loop of tasks that wake each other is broken up by
/// the runtime after three rounds, which then wakes another thread.
pub(crate) fn timed<P: Send, F: Future<Output = ()> + Send>(
    runtime: &Runtime,
    times: usize,
    ready: impl Fn() -> P + Send + 'static,
    once: impl Fn(P) -> F + Send + 'static,
) -> Duration {
    let timed = async move {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            tokio::task::yield_now().await;
            let prepared = ready();
            let start = Instant::now();
            once(prepared).await;
            took += start.elapsed();
        }
        took
    };
    runtime
        .block_on(async { tokio::spawn(timed).await })
        .expect("all of it succeeds")
}

/// Makes a side of a row of what a twin does, where the subject does it: in a task, which yields and
/// makes ready what the next time takes before it is timed, so that both meet the same caches.
pub(crate) fn alongside<'a, P: Send>(
    runtime: &'a Runtime,
    ready: impl Fn() -> P + Send + Sync + 'static,
    once: impl Fn(P) + Send + Sync + 'static,
) -> Work<'a> {
    let (ready, once) = (Arc::new(ready), Arc::new(once));
    Box::new(move |times| {
        let (ready, once) = (Arc::clone(&ready), Arc::clone(&once));
        timed(
            runtime,
            times,
            move || ready(),
            move |prepared| {
                once(prepared);
                std::future::ready(())
            },
        )
    })
}

/// Calls a tool so many times, and says how long that took.
pub(crate) fn calls(
    runtime: &Runtime,
    session: &Session,
    tool: &'static str,
    times: usize,
    arguments: impl Fn() -> Value + Send + 'static,
) -> Duration {
    let session = session.clone();
    timed(runtime, times, arguments, move |arguments| {
        let call = session.call(tool, arguments);
        async move {
            let result = call.await;
            assert!(!result.is_error(), "{}", result.text);
        }
    })
}

/// Calls a tool once.
pub(crate) fn call(
    runtime: &Runtime,
    session: &Session,
    tool: &'static str,
    arguments: Value,
) -> Duration {
    calls(runtime, session, tool, 1, move || arguments.clone())
}
