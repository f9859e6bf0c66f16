//! The root: the one handle that every walk starts from, and how its paths are spelled.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fd::AsFd;
use seamfs_core::{ErrorCode, FsError, Namespace, Operation, Result, RootPath, Target};

use super::at;
use super::error::{host, other_mount};
use super::options::{DisplayRoot, LocalOptions, Mounts};
use super::platform::{self, Mount};

/// The root's handle, its spellings and its mount.
pub(super) struct Root {
    pub(super) folder: Arc<Dir>,
    pub(super) namespace: Namespace,
    /// The absolute spellings that a link's target may start with, as components.
    spellings: Vec<Vec<Vec<u8>>>,
    /// The mount that paths must stay on, when they must.
    mount: Option<Mount>,
}

impl Root {
    /// Opens an existing folder.
    pub(super) fn open(path: &Path, options: &LocalOptions) -> Result<Self> {
        let given = absolute(path)?;
        let shown = given.to_str().ok_or_else(not_utf8)?.to_owned();
        let named = |error: FsError| {
            error
                .during(Operation::Open)
                .at(shown_root(&shown, options))
        };
        let folder = Dir::open_ambient_dir(&given, ambient_authority())
            .map_err(|error| named(host(error, "open the workspace's root")))?;
        at::reopen_readable(&folder)
            .map_err(|error| named(host(error, "read the workspace's root")))?;
        let canonical = canonical(&given).unwrap_or_else(|| given.clone());
        let mount = match options.mounts {
            Mounts::Allow => None,
            Mounts::Deny => Some(mount_of(&folder).map_err(named)?),
        };
        Ok(Self {
            folder: Arc::new(folder),
            namespace: namespace(&shown, canonical.to_str(), options.display),
            spellings: vec![components(&given), components(&canonical)],
            mount,
        })
    }

    /// Returns the target at a path.
    pub(super) fn target(&self, path: &RootPath) -> Target {
        Target::new(path.to_key(), self.namespace.display(path))
    }

    /// Returns what an absolute link target names beneath the root; none when it is outside.
    pub(super) fn beneath(&self, absolute: &[u8]) -> Option<Vec<Vec<u8>>> {
        let steps = steps(absolute);
        // `..` is left for the walk, which climbs folders and not text; before the root's own
        // spelling ends there can be none, for it is normal.
        self.spellings.iter().find_map(|spelling| {
            let mut rest = steps.iter().filter(|step| *step != b".");
            let named = spelling.iter().all(|part| rest.next() == Some(part));
            named.then(|| rest.cloned().collect())
        })
    }

    /// Checks that an opened entry may be entered.
    pub(super) fn check_mount(&self, entry: impl AsFd) -> Result<()> {
        match self.mount {
            Some(mount) if mount_of(entry)? != mount => Err(other_mount()),
            _ => Ok(()),
        }
    }

    /// Returns whether mounts are to be checked at all.
    pub(super) fn stays_on_its_mount(&self) -> bool {
        self.mount.is_some()
    }
}

/// Splits a link's target into steps. Empty ones are nothing; `.` is kept, for at the end it says
/// that a folder is named, as a trailing slash does.
pub(super) fn steps(text: &[u8]) -> Vec<Vec<u8>> {
    let mut steps: Vec<Vec<u8>> = text
        .split(|byte| *byte == b'/')
        .filter(|step| !step.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    if text.ends_with(b"/") {
        steps.push(b".".to_vec());
    }
    steps
}

fn mount_of(entry: impl AsFd) -> Result<Mount> {
    platform::mount_of(entry).map_err(|error| host(error, "tell which mount it lies on"))
}

fn namespace(shown: &str, canonical: Option<&str>, display: DisplayRoot) -> Namespace {
    let namespace = match display {
        DisplayRoot::Virtual => return Namespace::virtual_root().with_url("file", "", "/"),
        DisplayRoot::Host => Namespace::with_display_root(shown).with_url("file", "", shown),
    };
    match canonical {
        Some(canonical) => namespace.with_alias(canonical),
        None => namespace,
    }
}

fn shown_root<'a>(shown: &'a str, options: &LocalOptions) -> &'a str {
    match options.display {
        DisplayRoot::Host => shown,
        DisplayRoot::Virtual => "/",
    }
}

fn not_utf8() -> FsError {
    FsError::new(
        ErrorCode::InvalidPath,
        "the workspace's root has a name that is not UTF-8",
    )
    .during(Operation::Open)
}

/// Makes a path absolute and lexically normal, as paths beneath it will be spelled.
fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(FsError::new(
            ErrorCode::InvalidPath,
            "the workspace's root is empty; write `.` for the current folder",
        )
        .during(Operation::Open));
    }
    let path = std::path::absolute(path)
        .map_err(|error| host(error, "find the current folder").during(Operation::Open))?;
    let mut normal = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::ParentDir => {
                normal.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    // Behind a link `..` names another folder to the host than to a reader of the text; then only
    // the host's answer names the root.
    match (canonical(&path), canonical(&normal)) {
        (Some(host), text) if Some(&host) != text.as_ref() => Ok(host),
        _ => Ok(normal),
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the root's own spelling is asked of the host once, before there is a handle"
)]
fn canonical(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

fn components(path: &Path) -> Vec<Vec<u8>> {
    steps(path.as_os_str().as_bytes())
}
