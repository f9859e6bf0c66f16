//! Capabilities: what a file system can do, as data.

use serde::{Deserialize, Serialize};

/// How firmly a guard holds against other writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guarding {
    /// The storage itself decides: it holds against every writer that asks it.
    Atomic,
    /// It holds against writers in this process only.
    InProcess,
    /// It cannot be had; guarded calls are refused.
    None,
}

/// How an operation of two steps appears to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Atomicity {
    /// Others see before or after.
    Atomic,
    /// Others may see a step between, and a failure may leave it; the error says so.
    Stepwise,
    /// The operation is not offered and fails `FS_UNSUPPORTED`.
    Unsupported,
}

/// What a file system can do at a target.
///
/// A call that a capability rules out fails `FS_UNSUPPORTED` before any side effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Whether folders are real; otherwise they are prefixes, and `x` and `x/y` may both exist.
    pub hierarchy: bool,
    /// Whether mutations are offered at all.
    pub writable: bool,
    /// How firmly `Expected::Absent` holds.
    pub create: Guarding,
    /// How firmly `Expected::Version` holds.
    pub compare_and_swap: Guarding,
    /// Whether `edit` is offered, guarded or not: it lands only on the very bytes that it read.
    pub edit: bool,
    /// How a guarded `remove` holds.
    pub guarded_remove: Guarding,
    /// How `rename` appears to others.
    pub rename: Atomicity,
    /// How `copy` appears to others.
    pub copy: Atomicity,
    /// Whether symbolic links exist and are followed within the root.
    pub links: bool,
    /// Whether Unix permission bits exist and are kept.
    pub modes: bool,
    /// Whether names that differ in case are different names.
    pub case_sensitive: bool,
    /// Whether `stat` and `list` give versions without reading.
    pub cheap_versions: bool,
    /// The largest file in bytes, where there is a bound.
    pub max_file_bytes: Option<u64>,
}
