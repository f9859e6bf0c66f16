//! Doubles: file systems that stand in for better or worse ones.
//!
//! [`Strict`] keeps the contract and punishes whoever assumes more than it says. The [`broken`]
//! ones break it in one point each, and the claims named beside them catch them.

pub mod broken;
mod strict;

pub use strict::Strict;
