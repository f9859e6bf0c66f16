//! The one integration binary: contract claims, field cases, real clients, the CLI, the tree's own rules.

// Tests act from outside the tools, where an editor or a shell would.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod arrows;
mod conformance;
mod contract;
mod field;
mod fuzz;
mod ledger;
mod linear;
mod mcp;
mod object;
mod operator;
#[cfg(all(feature = "s3", feature = "gcs", feature = "azure"))]
mod proof;
mod sandbox;
mod servers;
mod support;
