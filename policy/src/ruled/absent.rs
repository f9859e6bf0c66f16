//! How a hidden path looks: as one where nothing is, in whatever way it was reached.

use seamfs_core::path::ParsedPath;
use seamfs_core::{ErrorCode, FsError, Operation, Purpose, Result, Target, TargetKey, cas};

/// What a hidden path looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// A path where nothing is.
    Plain,
    /// A link that leads nowhere.
    Link,
    /// A path through a link that leads nowhere.
    ThroughLink,
}

impl Absent {
    const ALL: [Self; 3] = [Self::Plain, Self::Link, Self::ThroughLink];

    /// Returns what the key of such a target begins with; no storage has a NUL in a name.
    const fn mark(self) -> &'static str {
        match self {
            Self::Plain => "\0hidden/",
            Self::Link => "\0link/",
            Self::ThroughLink => "\0through/",
        }
    }

    /// Returns what a target looks like, if it was made here.
    pub(super) fn of(target: &Target) -> Option<Self> {
        let key = target.key().as_str();
        Self::ALL.into_iter().find(|it| key.starts_with(it.mark()))
    }

    /// Makes the target of a path that looks like this.
    pub(super) fn target(
        self,
        shown: &str,
        spelled: &ParsedPath,
        purpose: Purpose,
    ) -> Result<Target> {
        if spelled.folder && purpose != Purpose::Folder {
            return Err(FsError::new(
                ErrorCode::InvalidPath,
                "a trailing slash names a folder, and there is none",
            )
            .at(shown)
            .during(Operation::Resolve));
        }
        let key = TargetKey::new(format!("{}{}", self.mark(), spelled.path.as_str()));
        Ok(Target::new(key, shown))
    }

    /// Returns why nothing can be created here; none for a path that only a rule closes.
    pub(super) fn blocks_creation(self) -> Option<FsError> {
        match self {
            Self::Plain => None,
            Self::Link => Some(cas::dangling_link()),
            Self::ThroughLink => Some(cas::through_no_folder()),
        }
    }

    /// Makes the error of a change that needs something to be here.
    pub(super) fn nothing_to_change(self) -> FsError {
        match self {
            Self::Link => cas::dangling_link(),
            Self::Plain | Self::ThroughLink => cas::not_found(),
        }
    }
}
