//! Moments of a mutation at which tests step in: to kill the process, or to be somebody else.

/// A moment between two system calls of a mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Moment {
    /// A folder on the way was created, and is not open yet.
    FolderMade,
    /// The staged file exists, empty.
    Created,
    /// It holds all the new bytes.
    Filled,
    /// The folder is locked, and what is to be replaced was checked once more.
    Verified,
    /// The staged file has its whole name.
    Named,
    /// The target and the staged file have changed places.
    Exchanged,
    /// The file to be removed is under a staging name.
    SetAside,
}

/// Marks a moment; outside of tests it is nothing.
#[cfg(not(test))]
pub(super) fn reached(_: Moment) {}

#[cfg(test)]
pub(super) use stepping_in::{on_each, reached};

#[cfg(test)]
mod stepping_in {
    use super::Moment;
    use std::cell::RefCell;

    type Hook = Box<dyn FnMut(Moment)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Runs `hook` at every moment that this thread reaches from now on.
    pub(in crate::local) fn on_each(hook: impl FnMut(Moment) + 'static) {
        HOOK.with(|slot| *slot.borrow_mut() = Some(Box::new(hook)));
    }

    pub(in crate::local) fn reached(moment: Moment) {
        // Taken out while it runs: it may mutate through the provider itself.
        let Some(mut hook) = HOOK.with(|slot| slot.borrow_mut().take()) else {
            return;
        };
        hook(moment);
        HOOK.with(|slot| *slot.borrow_mut() = Some(hook));
    }
}
