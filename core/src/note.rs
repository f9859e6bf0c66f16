//! Notes: facts about a success that its caller would want to know.

use std::fmt;

use serde::{Deserialize, Serialize};

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
            Self::Fact(sentence) => f.write_str(sentence),
        }
    }
}
