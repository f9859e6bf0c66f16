//! Metadata: what is known of a target without opening it.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::FsError;
use crate::path::EntryName;
use crate::version::Version;

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder, or a prefix that has objects.
    Directory,
    /// A symbolic link, not followed.
    Symlink,
    /// A FIFO, device, socket or a link that leads nowhere; never opened.
    Other,
}

/// What is known of a target without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes; a regular file's only.
    pub size: Option<u64>,
    /// When its bytes last changed, by the storage's clock. Never a version.
    pub modified: Option<SystemTime>,
    /// The Unix permission bits, where there are any.
    pub mode: Option<u32>,
    /// How many names (hard links) it has, where that is known.
    pub links: Option<u64>,
    /// Its version, where that is known without reading.
    pub version: Option<Version>,
}

impl Metadata {
    /// Creates metadata that says only the kind.
    pub const fn of(kind: FileKind) -> Self {
        Self {
            kind,
            size: None,
            modified: None,
            mode: None,
            links: None,
            version: None,
        }
    }

    /// Returns whether this is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    /// Returns whether this is a folder.
    pub fn is_directory(&self) -> bool {
        self.kind == FileKind::Directory
    }
}

/// One direct child of a folder.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name, escaped and marked when it is not addressable.
    pub name: EntryName,
    /// What is known of it; a child whose metadata could not be had has the error instead.
    pub metadata: Result<Metadata, FsError>,
}

impl Entry {
    /// Returns the kind; a child that could not be examined is [`FileKind::Other`].
    pub fn kind(&self) -> FileKind {
        self.metadata
            .as_ref()
            .map_or(FileKind::Other, |metadata| metadata.kind)
    }
}
