//! The subject of a run: a file system, and what a test keeps beside it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::outside::Outside;
use crate::fs::FileSystem;

/// A file system under test.
///
/// Any file system converts into one; hands outside and things to keep alive are added.
pub struct Subject {
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) outside: Option<Arc<dyn Outside>>,
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl Subject {
    /// Wraps a file system.
    pub fn new(fs: impl FileSystem) -> Self {
        Self {
            fs: Arc::new(fs),
            outside: None,
            kept: Vec::new(),
        }
    }

    /// Adds somebody who acts behind the file system's back.
    #[must_use]
    pub fn with_outside(mut self, outside: impl Outside) -> Self {
        self.outside = Some(Arc::new(outside));
        self
    }

    /// Keeps something alive as long as the subject: a temporary folder, a server.
    #[must_use]
    pub fn keeping(mut self, kept: impl Any + Send + Sync) -> Self {
        self.kept.push(Box::new(kept));
        self
    }

    /// Puts a layer over the file system; the hands outside stay.
    #[must_use]
    pub fn layered<F: FileSystem>(self, layer: impl FnOnce(Arc<dyn FileSystem>) -> F) -> Self {
        Self {
            fs: Arc::new(layer(self.fs)),
            ..self
        }
    }

    /// Returns the file system.
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// Returns the hands outside.
    pub fn outside(&self) -> Option<&Arc<dyn Outside>> {
        self.outside.as_ref()
    }
}

impl<F: FileSystem> From<F> for Subject {
    fn from(fs: F) -> Self {
        Self::new(fs)
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject")
            .field("fs", &self.fs)
            .field("outside", &self.outside)
            .finish_non_exhaustive()
    }
}
