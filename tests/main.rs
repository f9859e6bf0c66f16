//! The one integration binary: contract claims, field cases, real clients, the CLI, the tree's own rules.

// Tests act from outside the tools, where an editor or a shell would.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod arrows;
mod conformance;
mod contract;
mod field;
mod ledger;
mod mcp;
mod object;
mod sandbox;
mod servers;
mod support;
