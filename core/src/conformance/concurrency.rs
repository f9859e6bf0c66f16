//! Concurrency: many callers at once, and a caller that stands inside its critical section.

use std::fmt;
use std::future::Future;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use futures::future::join_all;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::Failure;
use crate::error::Result;
use crate::fs::FileSystem;
use crate::options::EditOptions;
use crate::target::Target;
use crate::text::{Splice, Splices, Text};
use crate::transform::{EditOutcome, TextEdit, Transform};
use crate::version::{Expected, Version};

/// How long somebody who stands inside an edit waits before giving up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns whether threads may block here while the runtime goes on.
pub(super) fn many_threads() -> bool {
    Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread
}

/// How many threads work at once; more of the same work takes turns on each.
const WORKERS: usize = 4;

/// Runs the same work many times at once.
///
/// Where the runtime has several threads, some of it runs in parallel, and some takes turns
/// wherever a call waits: each finds races that the other does not.
pub(super) async fn at_once<T, F, Fut>(count: usize, work: F) -> Vec<T>
where
    T: Send,
    F: Fn(usize) -> Fut + Sync,
    Fut: Future<Output = T> + Send,
{
    if !many_threads() {
        return join_all((0..count).map(work)).await;
    }
    let (handle, start) = (Handle::current(), Barrier::new(WORKERS));
    let share = |worker| {
        start.wait();
        let mine = (worker..count).step_by(WORKERS).map(&work);
        handle.block_on(join_all(mine))
    };
    let shares: Vec<Vec<T>> = tokio::task::block_in_place(|| {
        thread::scope(|scope| {
            let spawn = |worker| {
                scope.spawn({
                    let share = &share;
                    move || share(worker)
                })
            };
            let running: Vec<_> = (0..WORKERS).map(spawn).collect();
            running.into_iter().map(join).collect()
        })
    });
    // The answer to work `n` is the next of the share `n % WORKERS`.
    let mut shares: Vec<_> = shares.into_iter().map(Vec::into_iter).collect();
    (0..count)
        .filter_map(|number| shares[number % WORKERS].next())
        .collect()
}

/// Waits for a thread; its panic is ours.
fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Lets the edit that stands inside its critical section go on; dropping it does too.
pub(super) struct Release(Option<Sender<()>>);

impl Release {
    /// Lets the edit go on.
    pub(super) fn now(mut self) {
        self.0.take();
    }
}

/// Runs something while an edit stands inside its critical section, then lets the edit end.
///
/// The edit appends `>` to what it finds; it waits on its first run only.
pub(super) async fn while_edited<'a, T, F, Fut>(
    fs: &'a dyn FileSystem,
    target: &'a Target,
    expected: Expected,
    during: F,
) -> Result<(Result<EditOutcome>, T), Failure>
where
    F: FnOnce(Release) -> Fut,
    Fut: Future<Output = T>,
{
    let (entered, enter) = channel();
    let (release, released) = channel();
    let transform = Arc::new(Paused {
        entered: Mutex::new(Some(entered)),
        released: Mutex::new(released),
    });
    let handle = Handle::current();
    tokio::task::block_in_place(|| {
        thread::scope(|scope| {
            let options = EditOptions::expecting(expected);
            let (fs, handle) = (fs, &handle);
            let edit = scope.spawn(move || handle.block_on(fs.edit(target, transform, options)));
            enter
                .recv_timeout(PATIENCE)
                .map_err(|_| Failure::new("an edit alone on its file never ran its transform"))?;
            let during = handle.block_on(during(Release(Some(release))));
            let edit = join(edit);
            Ok((edit, during))
        })
    })
}

/// Appends `>`; on its first run it says that it was entered and waits for its release.
struct Paused {
    entered: Mutex<Option<Sender<()>>>,
    released: Mutex<Receiver<()>>,
}

impl Transform for Paused {
    fn plan(&self, text: &Text<'_>, version: &Version) -> Result<TextEdit> {
        let entered = self
            .entered
            .lock()
            .ok()
            .and_then(|mut entered| entered.take());
        if let Some(entered) = entered {
            let _ = entered.send(());
            if let Ok(released) = self.released.lock() {
                // Ended by the release's drop; the time only bounds a claim that went wrong.
                let waited = released.recv_timeout(PATIENCE);
                debug_assert_ne!(waited, Err(RecvTimeoutError::Timeout));
            }
        }
        Append(">").plan(text, version)
    }
}

impl fmt::Debug for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paused").finish_non_exhaustive()
    }
}

/// Appends text at the end of the file.
pub(super) struct Append<S>(pub(super) S);

impl<S: AsRef<str> + Send + Sync> Transform for Append<S> {
    fn plan(&self, text: &Text<'_>, _: &Version) -> Result<TextEdit> {
        let end = text.bytes().len();
        let splice = Splice {
            range: end..end,
            replacement: self.0.as_ref().to_owned(),
        };
        Ok(planned(vec![splice], end))
    }
}

/// Makes a plan of splices that are in order.
pub(super) fn planned(splices: Vec<Splice>, source_len: usize) -> TextEdit {
    TextEdit {
        replacements: splices.len(),
        splices: Splices::new(splices, source_len).expect("the splices of a claim are in order"),
        ..TextEdit::default()
    }
}
