//! The desk: what a server was asked, and what it does wrong.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is answered with this status and not applied.
    Refuse(u16),
    /// The connection is closed before it is applied.
    Reset,
    /// It is applied, and the connection is closed without an answer.
    Drop,
    /// The connection is closed in the middle of the answer's body.
    Truncate,
}

#[derive(Debug, Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    requests: Vec<String>,
    sent: u64,
    /// How many requests come before the script.
    prelude: usize,
    script: VecDeque<Fault>,
    storm: Option<Fault>,
    odds: u32,
    random: u64,
    injected: usize,
    injected_into_writes: usize,
    latency: Duration,
}

impl Desk {
    /// Says what goes wrong with the next requests.
    pub(crate) fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state().script.extend(faults);
    }

    /// Says what goes wrong after this many requests that are answered as they should be.
    pub(crate) fn script_after(&self, requests: usize, faults: impl IntoIterator<Item = Fault>) {
        self.state().prelude = requests;
        self.script(faults);
    }

    /// Forgets what is left of a script.
    pub(crate) fn clear_script(&self) {
        let mut state = self.state();
        state.prelude = 0;
        state.script.clear();
    }

    /// Says what goes wrong with every request from now on; nothing ends the storm.
    pub(crate) fn storm(&self, fault: Option<Fault>) {
        self.state().storm = fault;
    }

    /// Lets this many requests of a hundred be dropped after they were applied, and as many be
    /// refused with 503. Which ones goes on from one time to the next: begun anew each time, a few
    /// requests would always meet the same.
    pub(crate) fn odds(&self, percent: u32) {
        let mut state = self.state();
        state.odds = percent;
        if state.random == 0 {
            state.random = 0x9E37_79B9_7F4A_7C15;
        }
    }

    /// Delays every answer.
    pub(crate) fn latency(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// Returns the requests since the last call: `GET`, `PUT`, `HEAD`, `LIST`, `DELETE`.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().requests)
    }

    /// Returns how many bytes of bodies were sent since the last call.
    pub(crate) fn sent(&self) -> u64 {
        std::mem::take(&mut self.state().sent)
    }

    /// Notes the body of an answer.
    pub(super) fn answer(&self, bytes: usize) {
        self.state().sent += bytes as u64;
    }

    /// Returns how many faults befell requests, and how many of those were writes.
    pub(crate) fn injected(&self) -> (usize, usize) {
        let state = self.state();
        (state.injected, state.injected_into_writes)
    }

    /// Notes a request; says how long to wait and what goes wrong with it.
    pub(super) fn arrive(&self, name: &str) -> (Duration, Option<Fault>) {
        let mut state = self.state();
        state.requests.push(name.to_owned());
        let fault = state.next_fault();
        if fault.is_some() {
            state.injected += 1;
            state.injected_into_writes += usize::from(name == "PUT");
        }
        (state.latency, fault)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_fault(&mut self) -> Option<Fault> {
        if self.storm.is_some() {
            return self.storm;
        }
        if self.prelude > 0 {
            self.prelude -= 1;
            return None;
        }
        match self.script.pop_front() {
            Some(fault) => Some(fault),
            None => self.chance(),
        }
    }

    fn chance(&mut self) -> Option<Fault> {
        if self.odds == 0 {
            return None;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        match self.random % 100 {
            roll if roll < u64::from(self.odds) => Some(Fault::Drop),
            roll if roll < u64::from(2 * self.odds) => Some(Fault::Refuse(503)),
            _ => None,
        }
    }
}
