//! The check: a search for an order, as Wing and Gong do it, with the states it has seen.

use std::collections::HashSet;
use std::fmt;

use super::history::{Answer, Asked, Call, Guard, History, MOST_CALLS, Text};
use crate::error::ErrorCode;

/// A history that no order explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    files: Vec<Option<Text>>,
    /// The calls concerned, in the order in which they began.
    calls: Vec<Call>,
    /// How many calls the longest order holds that explains some of them.
    explained: usize,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "no order explains these {} calls (at the most {} of them) on files that held {:?}:",
            self.calls.len(),
            self.explained,
            self.files
        )?;
        for call in &self.calls {
            writeln!(f, "  {call}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Violation {}

/// Checks that one order explains every answer of a history.
///
/// Files that no call connects are ordered apart, since an order of each is one of all.
///
/// # Errors
/// The calls that no order explains.
///
/// # Panics
/// When more than [`MOST_CALLS`] calls would be ordered together.
pub fn check(history: &History) -> Result<(), Violation> {
    let connected = history
        .calls
        .iter()
        .any(|call| matches!(call.asked, Asked::Rename { .. }));
    if connected {
        return check_together(history, |_| true);
    }
    (0..history.files.len())
        .try_for_each(|file| check_together(history, |call: &Call| call.file == file))
}

fn check_together(history: &History, concerned: impl Fn(&Call) -> bool) -> Result<(), Violation> {
    let mut calls: Vec<_> = history
        .calls
        .iter()
        .filter(|call| concerned(call) && !matches!(call.answer, Answer::Failed(_)))
        .collect();
    calls.sort_by_key(|call| call.begun);
    assert!(
        calls.len() <= MOST_CALLS,
        "{} calls are too many to order; {MOST_CALLS} are not",
        calls.len()
    );
    let certain = calls
        .iter()
        .enumerate()
        .filter(|(_, call)| call.is_certain())
        .fold(0, |set, (at, _)| set | 1 << at);
    let mut search = Search {
        calls,
        certain,
        seen: HashSet::new(),
        explained: 0,
    };
    match search.explains(0, &history.files) {
        true => Ok(()),
        false => Err(Violation {
            files: history.files.clone(),
            calls: search.calls.into_iter().cloned().collect(),
            explained: search.explained,
        }),
    }
}

type State = Vec<Option<Text>>;

struct Search<'a> {
    calls: Vec<&'a Call>,
    /// The set of calls that must have a place.
    certain: u128,
    /// The sets of calls already ordered, with the state they led to: none leads to the end.
    seen: HashSet<(u128, State)>,
    explained: usize,
}

impl Search<'_> {
    /// Returns whether the calls outside of `ordered` can follow in some order.
    fn explains(&mut self, ordered: u128, state: &State) -> bool {
        let certain = usize::try_from((ordered & self.certain).count_ones()).unwrap_or_default();
        self.explained = self.explained.max(certain);
        if ordered & self.certain == self.certain {
            return true;
        }
        if !self.seen.insert((ordered, state.clone())) {
            return false;
        }
        let waiting = |at: &usize| ordered & (1 << *at) == 0;
        // What began after another call ended comes after it.
        let horizon = (0..self.calls.len())
            .filter(waiting)
            .map(|at| self.calls[at].ended)
            .min()
            .unwrap_or(u64::MAX);
        let next: Vec<_> = (0..self.calls.len())
            .filter(waiting)
            .filter(|at| self.calls[*at].begun <= horizon)
            .collect();
        next.into_iter()
            .any(|at| match after(self.calls[at], state) {
                Some(state) => self.explains(ordered | 1 << at, &state),
                None => false,
            })
    }
}

/// Returns the state after a call, if a single client would have got its answer in this state.
fn after(call: &Call, state: &State) -> Option<State> {
    let there = &state[call.file];
    let refusals = match (&call.asked, &call.answer) {
        // Whoever was first, both may be told that it is gone.
        (Asked::Delete, Answer::Done { .. }) => Vec::new(),
        _ => refusals(call, state),
    };
    match &call.answer {
        Answer::Found(found) => (found == there).then(|| state.clone()),
        Answer::Refused { code, current } => {
            let told = current.is_none() || current == there;
            (told && refusals.contains(code)).then(|| state.clone())
        }
        Answer::Unknown => refusals.is_empty().then(|| effect(call, state)),
        Answer::Done { created, before } => {
            let told = before.is_none() || before == there;
            let new = match call.asked {
                Asked::Write(..) => there.is_none(),
                Asked::Rename { to, .. } => state[to].is_none(),
                Asked::Read | Asked::Append(..) | Asked::Remove(_) | Asked::Delete => false,
            };
            (refusals.is_empty() && told && *created == new).then(|| effect(call, state))
        }
        Answer::Failed(_) => None,
    }
}

/// Returns the codes that a call may be refused with in this state; none when it must be made.
fn refusals(call: &Call, state: &State) -> Vec<ErrorCode> {
    let there = state[call.file].as_ref();
    match &call.asked {
        Asked::Read => Vec::new(),
        Asked::Write(_, guard) => unmet(guard, there).into_iter().collect(),
        Asked::Append(_, guard) | Asked::Remove(guard) => {
            needed(guard, there).into_iter().collect()
        }
        Asked::Delete => needed(&Guard::Any, there).into_iter().collect(),
        Asked::Rename {
            to,
            source,
            destination,
        } => {
            let source = needed(source, there);
            let destination = unmet(destination, state[*to].as_ref());
            source.into_iter().chain(destination).collect()
        }
    }
}

/// Returns why a guard does not hold.
fn unmet(guard: &Guard, there: Option<&Text>) -> Option<ErrorCode> {
    match guard {
        Guard::Any => None,
        Guard::Absent => there.map(|_| ErrorCode::AlreadyExists),
        Guard::Holds(text) => (there != Some(text)).then_some(ErrorCode::StaleVersion),
    }
}

/// Returns why a call cannot be made that needs the file.
fn needed(guard: &Guard, there: Option<&Text>) -> Option<ErrorCode> {
    match (guard, there) {
        (Guard::Any, None) => Some(ErrorCode::NotFound),
        (guard, there) => unmet(guard, there),
    }
}

/// Returns the state after a mutation that nothing forbids.
fn effect(call: &Call, state: &State) -> State {
    let mut state = state.clone();
    match &call.asked {
        Asked::Read => {}
        Asked::Write(text, _) => state[call.file] = Some(Text::clone(text)),
        Asked::Append(text, _) => {
            let before = state[call.file].as_deref().unwrap_or_default();
            state[call.file] = Some(Text::from(format!("{before}{text}")));
        }
        Asked::Remove(_) | Asked::Delete => state[call.file] = None,
        Asked::Rename { to, .. } => state[*to] = state[call.file].take(),
    }
    state
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn bad_histories_are_refused() {
        for sample in samples::bad() {
            assert!(check(&sample.history).is_err(), "{}", sample.name);
        }
    }

    #[test]
    fn good_histories_are_accepted() {
        for sample in samples::good() {
            if let Err(violation) = check(&sample.history) {
                panic!("{}: {violation}", sample.name);
            }
        }
    }

    /// Tries every order there is, for few calls.
    fn by_hand(history: &History) -> bool {
        fn go(calls: &[&Call], taken: u32, state: &State) -> bool {
            let left = |at: &usize| taken & (1 << *at) == 0;
            let rest: Vec<_> = (0..calls.len()).filter(left).collect();
            if rest.iter().all(|at| !calls[*at].is_certain()) {
                return true;
            }
            rest.iter().any(|&at| {
                let early = rest
                    .iter()
                    .all(|&other| calls[at].begun <= calls[other].ended);
                early
                    && after(calls[at], state)
                        .is_some_and(|state| go(calls, taken | 1 << at, &state))
            })
        }
        let calls: Vec<_> = history
            .calls
            .iter()
            .filter(|call| !matches!(call.answer, Answer::Failed(_)))
            .collect();
        go(&calls, 0, &history.files)
    }

    #[test]
    fn the_search_agrees_with_trying_every_order() {
        use crate::conformance::random::Random;
        let mut counts = [0, 0];
        for seed in 0..3000 {
            let history = samples::random(&mut Random::seeded(seed));
            let found = check(&history).is_ok();
            assert_eq!(found, by_hand(&history), "{history:?}");
            counts[usize::from(found)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
    }
}
