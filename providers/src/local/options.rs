//! Options of a local root.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What a mutation waits for before it reports success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Nothing: the change survives the death of the process, but after a power failure the file
    /// may hold the old bytes, the new ones, a part of them or nothing.
    None,
    /// The new bytes are on the disk before they take the name: after a power failure the file
    /// holds the old bytes or the new ones, never a part.
    #[default]
    Data,
    /// The name is on the disk too: after a power failure a reported change is there.
    Full,
}

impl Durability {
    /// Returns the word that options use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Data => "data",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Text that names no choice of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownChoice {
    given: String,
    choices: &'static str,
}

impl fmt::Display for UnknownChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is none of {}", self.given, self.choices)
    }
}

impl std::error::Error for UnknownChoice {}

macro_rules! choices {
    ($type:ident: $($word:literal => $variant:ident),+; $choices:literal) => {
        impl FromStr for $type {
            type Err = UnknownChoice;

            fn from_str(text: &str) -> Result<Self, UnknownChoice> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(UnknownChoice {
                        given: text.to_owned(),
                        choices: $choices,
                    }),
                }
            }
        }
    };
}

choices!(Durability: "none" => None, "data" => Data, "full" => Full; "none, data, full");
choices!(DisplayRoot: "host" => Host, "virtual" => Virtual; "host, virtual");
choices!(Mounts: "allow" => Allow, "deny" => Deny; "allow, deny");

/// How paths are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DisplayRoot {
    /// Under the host's own absolute root, so that they match the agent's shell.
    #[default]
    Host,
    /// Under `/`, so that nothing of the host shows.
    Virtual,
}

/// Whether other mounts beneath the root belong to the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mounts {
    /// They do.
    #[default]
    Allow,
    /// They do not: a path into one is `FS_SANDBOX_DENIED`.
    Deny,
}

/// Options of [`super::Local::open_with`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalOptions {
    /// What a mutation waits for.
    pub durability: Durability,
    /// How paths are shown.
    pub display: DisplayRoot,
    /// Whether other mounts may be entered.
    pub mounts: Mounts,
    /// How long a mutation waits for other processes when its context has no deadline.
    pub lock_wait: Duration,
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            display: DisplayRoot::default(),
            mounts: Mounts::default(),
            lock_wait: Duration::from_secs(10),
        }
    }
}

impl LocalOptions {
    /// Sets what a mutation waits for.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets how paths are shown.
    #[must_use]
    pub fn display(mut self, display: DisplayRoot) -> Self {
        self.display = display;
        self
    }

    /// Sets whether other mounts may be entered.
    #[must_use]
    pub fn mounts(mut self, mounts: Mounts) -> Self {
        self.mounts = mounts;
        self
    }

    /// Sets how long a mutation waits for other processes.
    #[must_use]
    pub fn lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_spelled() {
        for durability in [Durability::None, Durability::Data, Durability::Full] {
            assert_eq!(durability.as_str().parse(), Ok(durability));
        }
        assert_eq!("virtual".parse(), Ok(DisplayRoot::Virtual));
        assert_eq!("deny".parse(), Ok(Mounts::Deny));
        let error = "fsync".parse::<Durability>().unwrap_err();
        assert_eq!(error.to_string(), "\"fsync\" is none of none, data, full");
    }
}
