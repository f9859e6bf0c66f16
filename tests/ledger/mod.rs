//! What the agent has seen: coverage, rebase, and a ledger that lasts.

mod chance;
mod composition;
mod doubles;
mod host;
mod kills;
mod merge;
mod scripts;
mod sequences;
