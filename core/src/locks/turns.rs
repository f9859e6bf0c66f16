//! Turns: a queue for each key, and what stands for a place in it.
//!
//! A place in the queue is taken synchronously, when [`Turns::enqueue`] returns, so that calls run
//! in the order in which they came and not in the order in which tasks happen to be polled.

use std::collections::{HashMap, VecDeque, hash_map};
use std::fmt;
use std::hash::Hash;
use std::time::Instant;

use foldhash::quality::RandomState;

use crate::cas;
use crate::error::Result;
use crate::sync::{Arc, Mutex, MutexGuard, PoisonError, oneshot};

/// What turns may be kept by.
pub trait Key: Clone + Eq + Hash + Send + 'static {}

impl<K: Clone + Eq + Hash + Send + 'static> Key for K {}

/// A set of fair locks, one a key; a key that nobody holds costs nothing.
pub struct Turns<K: Key> {
    queues: Arc<Queues<K>>,
}

/// The holder is not in its queue: an empty queue means that only the holder is there.
type Queues<K> = Mutex<HashMap<K, VecDeque<oneshot::Sender<Turn<K>>>, RandomState>>;

impl<K: Key> Default for Turns<K> {
    fn default() -> Self {
        Self {
            queues: Arc::default(),
        }
    }
}

impl<K: Key> Clone for Turns<K> {
    fn clone(&self) -> Self {
        Self {
            queues: Arc::clone(&self.queues),
        }
    }
}

impl<K: Key> fmt::Debug for Turns<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").finish_non_exhaustive()
    }
}

impl<K: Key> Turns<K> {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next place in the key's queue, at once.
    pub fn enqueue(&self, key: K) -> Ticket<K> {
        let mut queues = lock(&self.queues);
        match queues.entry(key) {
            hash_map::Entry::Vacant(vacant) => {
                let turn = Turn::new(&self.queues, vacant.key().clone());
                vacant.insert(VecDeque::new());
                Ticket(Place::Ready(turn))
            }
            hash_map::Entry::Occupied(mut occupied) => {
                let (sender, receiver) = oneshot::channel();
                occupied.get_mut().push_back(sender);
                Ticket(Place::Waiting(receiver))
            }
        }
    }

    /// Takes a place and waits for the turn.
    ///
    /// # Errors
    /// `FS_BUSY` when the deadline passes first.
    pub async fn turn(&self, key: K, deadline: Option<Instant>) -> Result<Turn<K>> {
        self.enqueue(key).turn(deadline).await
    }

    /// Returns how many keys are held now.
    pub fn held(&self) -> usize {
        lock(&self.queues).len()
    }
}

/// A place in a queue; dropping it gives the place up.
#[must_use = "a place in the queue is given up when dropped"]
pub struct Ticket<K: Key>(Place<K>);

enum Place<K: Key> {
    Ready(Turn<K>),
    Waiting(oneshot::Receiver<Turn<K>>),
}

impl<K: Key> Ticket<K> {
    /// Waits for the turn.
    ///
    /// # Errors
    /// `FS_BUSY` when the deadline passes first.
    pub async fn turn(self, deadline: Option<Instant>) -> Result<Turn<K>> {
        let mut receiver = match self.0 {
            Place::Ready(turn) => return Ok(turn),
            Place::Waiting(receiver) => receiver,
        };
        let received = match deadline {
            None => (&mut receiver).await,
            Some(deadline) => match tokio::time::timeout_at(deadline.into(), &mut receiver).await {
                Ok(received) => received,
                Err(_) => {
                    // The turn may have been handed over in the last moment; dropping it here
                    // passes it on.
                    receiver.close();
                    return Err(cas::busy());
                }
            },
        };
        Ok(received.expect("a queue outlives its waiters and hands each its turn"))
    }
}

impl<K: Key> fmt::Debug for Ticket<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.0 {
            Place::Ready(_) => "ready",
            Place::Waiting(_) => "waiting",
        };
        f.debug_tuple("Ticket").field(&state).finish()
    }
}

/// A held turn; dropping it hands over to the next in line.
#[must_use = "the turn ends when dropped"]
pub struct Turn<K: Key> {
    queues: Arc<Queues<K>>,
    key: Option<K>,
}

impl<K: Key> Turn<K> {
    fn new(queues: &Arc<Queues<K>>, key: K) -> Self {
        Self {
            queues: Arc::clone(queues),
            key: Some(key),
        }
    }
}

impl<K: Key> fmt::Debug for Turn<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

impl<K: Key> Drop for Turn<K> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        loop {
            let next = {
                let mut queues = lock(&self.queues);
                match queues.get_mut(&key).and_then(VecDeque::pop_front) {
                    Some(next) => next,
                    None => {
                        queues.remove(&key);
                        return;
                    }
                }
            };
            // Sent outside the lock: a waiter that is gone returns the turn, and its drop must
            // not come back here while the queues are locked.
            match next.send(Self::new(&self.queues, key.clone())) {
                Ok(()) => return,
                Err(mut refused) => refused.key = None,
            }
        }
    }
}

/// A panic while holding this lock leaves the map whole: every change to it is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
