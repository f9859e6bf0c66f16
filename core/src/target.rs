//! Targets: resolved identities that operations act on.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The opaque identity of one file or folder within a file system.
///
/// Two spellings of one file share it, it is the same before and after creation, and it is never
/// empty. Locks, observations and caches are kept by it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TargetKey(Arc<str>);

impl TargetKey {
    /// Creates a key; only file systems have reason to.
    ///
    /// # Panics
    /// If the text is empty.
    pub fn new(text: impl AsRef<str>) -> Self {
        assert!(!text.as_ref().is_empty(), "a key names something");
        Self(Arc::from(text.as_ref()))
    }

    /// Returns the text, which has meaning only to the file system that made it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TargetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TargetKey({:?})", &*self.0)
    }
}

/// A resolved identity: a key, and the path to show for it.
///
/// The display path lies under the workspace's display root, names the file behind any links, and
/// is accepted by `resolve` again.
#[derive(Clone, Debug)]
pub struct Target {
    key: TargetKey,
    display: Arc<str>,
    spelled: Option<Arc<str>>,
}

/// How a target was spelled is no part of what it is.
impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        (&self.key, &self.display) == (&other.key, &other.display)
    }
}

impl Eq for Target {}

impl Hash for Target {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.key, &self.display).hash(state);
    }
}

impl Target {
    /// Creates a target; only file systems have reason to.
    pub fn new(key: TargetKey, display: impl AsRef<str>) -> Self {
        Self {
            key,
            display: Arc::from(display.as_ref()),
            spelled: None,
        }
    }

    /// Notes the path beneath the root that the caller wrote, where links lead elsewhere from it.
    #[must_use]
    pub fn spelled_as(mut self, path: impl AsRef<str>) -> Self {
        self.spelled = Some(Arc::from(path.as_ref()));
        self
    }

    /// Returns the path beneath the root that the caller wrote, where a policy noted it: one that
    /// decides on paths decides on this one too.
    pub fn spelled(&self) -> Option<&str> {
        self.spelled.as_deref()
    }

    /// Returns the identity.
    pub fn key(&self) -> &TargetKey {
        &self.key
    }

    /// Returns the path to show, absolute under the display root.
    pub fn display(&self) -> &str {
        &self.display
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}
