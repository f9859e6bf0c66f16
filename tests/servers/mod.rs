//! Servers in this process that speak the clouds' protocols over HTTP, with faults on demand.
//!
//! Conditions are checked and objects replaced under one lock, so that what a client is told is
//! what happened. Everything a server is asked is counted, below whatever the client retries.

mod desk;
mod gcs;
mod real;
mod s3;
mod serve;
mod store;

pub(crate) use desk::{Desk, Fault};
pub(crate) use gcs::gcs;
pub(crate) use real::{Installed, Kind};
pub(crate) use s3::s3;
pub(crate) use serve::Server;
pub(crate) use store::Store;

/// The bucket that every server has.
pub(crate) const BUCKET: &str = "bucket";
