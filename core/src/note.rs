//! Notes: facts about a success that its caller would want to know.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::LineRange;

/// A fact about a call that succeeded, stated beside its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// The file had other names (hard links); they keep the bytes from before.
    HardLinkBroken {
        /// How many names shared the file before, this one included.
        links: u64,
    },
    /// A stale edit landed all the same: the lines around it are as the actor saw them.
    Rebased {
        /// The lines edited, as they were numbered when the actor saw them.
        seen: LineRange,
        /// The same lines as they were numbered when the edit landed.
        now: LineRange,
    },
    /// A fact in words, from a layer or a tool.
    Fact(String),
}

impl Note {
    /// Creates a note from a sentence.
    pub fn fact(sentence: impl Into<String>) -> Self {
        Self::Fact(sentence.into())
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HardLinkBroken { links } => write!(
                f,
                "hard link broken: the file had {links} names; the others keep the previous bytes"
            ),
            Self::Rebased { seen, now } => write!(
                f,
                "rebased: the file changed elsewhere since this session saw it, which is not \
                 shown here; the place of this edit, {seen} then and {now} now, is unchanged"
            ),
            Self::Fact(sentence) => f.write_str(sentence),
        }
    }
}
