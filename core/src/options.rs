//! Options: one struct for each primitive, each with the call context.

use std::ops::Range;

use crate::context::CallContext;
use crate::version::Expected;

/// The largest text, in bytes, whose previous content a `write` gives back: 10 MiB.
pub const DEFAULT_BEFORE_LIMIT: u64 = 10 << 20;

/// The largest file, in bytes, that an `edit` takes into memory: 256 MiB.
pub const DEFAULT_EDIT_LIMIT: u64 = 256 << 20;

/// What a path is wanted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A file operation: a trailing slash must name an existing folder.
    #[default]
    File,
    /// A folder operation: a trailing slash says nothing new.
    Folder,
    /// The entry itself: a link in the last component is not followed.
    Entry,
}

/// Options of `resolve`.
#[derive(Clone, Debug, Default)]
pub struct ResolveOptions {
    /// The call.
    pub context: CallContext,
    /// What the path is wanted for.
    pub purpose: Purpose,
}

/// Options of `stat` and `lstat`.
#[derive(Clone, Debug, Default)]
pub struct StatOptions {
    /// The call.
    pub context: CallContext,
}

/// Options of `read`.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The call.
    pub context: CallContext,
    /// Which bytes; none means all. An end past the file's is cut there.
    pub range: Option<Range<u64>>,
    /// The most bytes that may be delivered, inclusive; more is `FS_TOO_LARGE`, before buffering.
    pub max_bytes: Option<u64>,
}

/// Options of `list`.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// The call.
    pub context: CallContext,
}

/// Options of `write`.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The call.
    pub context: CallContext,
    /// The guard.
    pub expected: Expected,
    /// The largest previous content to give back, in bytes.
    pub before_limit: u64,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self::expecting(Expected::Any)
    }
}

impl WriteOptions {
    /// Creates options with a guard.
    pub fn expecting(expected: Expected) -> Self {
        Self {
            context: CallContext::default(),
            expected,
            before_limit: DEFAULT_BEFORE_LIMIT,
        }
    }
}

/// Options of `edit`.
#[derive(Clone, Debug)]
pub struct EditOptions {
    /// The call.
    pub context: CallContext,
    /// The guard.
    pub expected: Expected,
    /// The largest file to edit, in bytes.
    pub max_bytes: u64,
}

impl Default for EditOptions {
    fn default() -> Self {
        Self::expecting(Expected::Any)
    }
}

impl EditOptions {
    /// Creates options with a guard.
    pub fn expecting(expected: Expected) -> Self {
        Self {
            context: CallContext::default(),
            expected,
            max_bytes: DEFAULT_EDIT_LIMIT,
        }
    }
}

/// Options of `remove`.
#[derive(Clone, Debug, Default)]
pub struct RemoveOptions {
    /// The call.
    pub context: CallContext,
    /// The guard.
    pub expected: Expected,
}

/// Options of `rename` and `copy`.
#[derive(Clone, Debug)]
pub struct TransferOptions {
    /// The call.
    pub context: CallContext,
    /// The guard on the source.
    pub source: Expected,
    /// The guard on the destination; nothing is replaced unless asked.
    pub destination: Expected,
}

impl Default for TransferOptions {
    fn default() -> Self {
        Self {
            context: CallContext::default(),
            source: Expected::Any,
            destination: Expected::Absent,
        }
    }
}

/// Options of `create_dir`.
#[derive(Clone, Debug, Default)]
pub struct CreateDirOptions {
    /// The call.
    pub context: CallContext,
}

macro_rules! with_context {
    ($($options:ident),*) => {$(
        impl $options {
            /// Sets the call context.
            #[must_use]
            pub fn in_context(mut self, context: &CallContext) -> Self {
                self.context = context.clone();
                self
            }
        }
    )*};
}

with_context!(
    ResolveOptions,
    StatOptions,
    ReadOptions,
    ListOptions,
    WriteOptions,
    EditOptions,
    RemoveOptions,
    TransferOptions,
    CreateDirOptions
);
