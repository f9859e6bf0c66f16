//! Histories: what clients asked of a few files at once, and what they were told.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::ErrorCode;

/// The most calls that are ordered together.
pub const MOST_CALLS: usize = 128;

/// A file's whole text.
pub type Text = Arc<str>;

/// What several clients did to a few files, known by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// What each file held before; none for nothing there.
    pub files: Vec<Option<Text>>,
    /// The calls, in any order.
    pub calls: Vec<Call>,
}

/// A call and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Who called.
    pub client: usize,
    /// The file.
    pub file: usize,
    /// What was asked.
    pub asked: Asked,
    /// What was told.
    pub answer: Answer,
    /// A moment before the call began, on a clock that all clients share.
    pub begun: u64,
    /// A moment after it ended; `u64::MAX` where its effect may come later.
    pub ended: u64,
}

/// The guard of a call, by the bytes that its version names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Guard {
    /// None.
    Any,
    /// Nothing may be there.
    Absent,
    /// Exactly this text must be there.
    Holds(Text),
}

/// What a call asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asked {
    /// The whole text.
    Read,
    /// To replace or create the file.
    Write(Text, Guard),
    /// To append a text by an edit.
    Append(Text, Guard),
    /// To remove the file.
    Remove(Guard),
    /// To have nothing there, on storage that does not say whether something was.
    Delete,
    /// To move the file to the name of another one, under guards for both.
    Rename {
        /// The other file.
        to: usize,
        /// The guard of the source.
        source: Guard,
        /// The guard of the destination.
        destination: Guard,
    },
}

/// What a call was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// What the read delivered; none for nothing there.
    Found(Option<Text>),
    /// The mutation was made.
    Done {
        /// Whether it said that the file is new.
        created: bool,
        /// The text before, where it was told.
        before: Option<Text>,
    },
    /// A guard or the file's absence forbade it: nothing was changed.
    Refused {
        /// The code.
        code: ErrorCode,
        /// The text that is there, where it was attached.
        current: Option<Text>,
    },
    /// It failed for another reason: nothing was changed, and nothing else is known.
    Failed(ErrorCode),
    /// Whether it was made is not known.
    Unknown,
}

impl Call {
    /// Returns whether the call must have its place in the order.
    pub(super) const fn is_certain(&self) -> bool {
        !matches!(self.answer, Answer::Unknown)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            client,
            file,
            asked,
            answer,
            begun,
            ended,
        } = self;
        write!(f, "client {client}, file {file}, {begun}..")?;
        if *ended != u64::MAX {
            write!(f, "{ended}")?;
        }
        write!(f, ": {asked:?} -> {answer:?}")
    }
}
