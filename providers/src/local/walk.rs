//! The walk: from text to a target, and from a target to its open folder, handle by handle.
//!
//! No call here hands the kernel more than one component, so nothing swapped in between can lead
//! the walk astray. Links are read as text and taken apart; a target's own path has none, and a
//! walk along it meets one only if somebody put it there since.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use cap_std::fs::Dir;
use seamfs_core::path::PathError;
use seamfs_core::{ErrorCode, FileKind, FsError, Purpose, Result, RootPath, Target};

use super::at::{self, Name};
use super::error::{host, leads_outside, not_directory, read_only};
use super::root::{Root, steps};
use super::stamp::Stamp;

/// How many links one walk goes through, as the kernel has it; a walk through more leads nowhere.
const MOST_LINKS: usize = 40;

/// What a component turned out to be.
pub(super) enum Step {
    Folder(Dir),
    Missing,
    Link,
    /// Something that is not opened: any kind at the end of the walk, no folder before it.
    Other(FileKind),
}

/// Where a target lies: its open folder, and its name there.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) folder: Arc<Dir>,
    pub(super) name: Name,
}

impl Place {
    /// Looks at the entry.
    pub(super) fn look(&self) -> Result<Option<Stamp>> {
        at::look(&self.folder, &self.name).map_err(|error| host(error, "look at it"))
    }

    /// Checks that the bytes of a file seen here may be replaced.
    ///
    /// A rename asks only for the folder's permission; the file's own is asked here, so that what
    /// its owner protected stays protected.
    pub(super) fn check_permission(&self, stamp: &Stamp) -> Result<()> {
        if stamp.is_protected() {
            return Err(read_only());
        }
        if stamp.owner.0 == rustix::process::geteuid().as_raw() {
            return Ok(());
        }
        at::check_writable(&self.folder, &self.name).map_err(|error| host(error, "write the file"))
    }
}

/// Why a target's folder could not be opened.
pub(super) enum NoPlace {
    /// A folder on the way is missing, or a link on the way leads nowhere.
    Missing,
    /// The target is the root, which has no place.
    Root,
    /// Anything else.
    Failed(FsError),
}

impl From<FsError> for NoPlace {
    fn from(error: FsError) -> Self {
        Self::Failed(error)
    }
}

impl Root {
    /// Turns text into a target.
    pub(super) fn resolve(&self, text: &str, cwd: &str, purpose: Purpose) -> Result<Target> {
        let parsed = self
            .namespace
            .parse(text, cwd)
            .map_err(|error| error.into_error(text))?;
        let follow_last = purpose != Purpose::Entry;
        let found = Walk::new(self, &parsed.path).run(follow_last)?;
        let is_folder = found.kind == Some(FileKind::Directory);
        if parsed.folder && purpose == Purpose::File && !is_folder {
            return Err(FsError::new(
                ErrorCode::InvalidPath,
                "a trailing slash names a folder, and there is none",
            )
            .at(self.namespace.display(&found.path)));
        }
        Ok(self.target(&found.path))
    }

    /// Returns whether a link leads to something within the root.
    pub(super) fn leads_somewhere(&self, link: &RootPath) -> bool {
        matches!(Walk::new(self, link).run(true), Ok(found) if found.is_there())
    }

    /// Opens a target's folder without following any link.
    pub(super) fn place(&self, path: &RootPath) -> Result<Place, NoPlace> {
        let name = path.name().ok_or(NoPlace::Root)?;
        let parent = path.parent().ok_or(NoPlace::Root)?;
        Ok(Place {
            folder: self.open_folder(&parent)?,
            name: Name::of(name),
        })
    }

    /// Opens a folder by its path without following any link.
    pub(super) fn open_folder(&self, path: &RootPath) -> Result<Arc<Dir>, NoPlace> {
        let mut folder = Arc::clone(&self.folder);
        for (depth, component) in path.components().enumerate() {
            folder = match self.step(&folder, &Name::of(component))? {
                Step::Folder(child) => Arc::new(child),
                Step::Missing => return Err(NoPlace::Missing),
                Step::Link if !self.leads_somewhere(&first(path, depth + 1)) => {
                    return Err(NoPlace::Missing);
                }
                Step::Link | Step::Other(_) => return Err(not_directory().into()),
            };
        }
        Ok(folder)
    }

    /// Opens one component if it is a folder, and says what it is otherwise.
    pub(super) fn step(&self, folder: &Dir, name: &Name) -> Result<Step> {
        // What the entry is may change between the two calls; a change back and forth for ever
        // is somebody's attack and ends as an error.
        for _ in 0..MOST_LINKS {
            let refused = match at::open_folder(folder, name) {
                Ok(child) => {
                    self.check_mount(&child)?;
                    return Ok(Step::Folder(child));
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(Step::Missing);
                }
                Err(error) => error,
            };
            let kind = at::look(folder, name)
                .map_err(|error| host(error, "look at a folder on the way"))?
                .map(|stamp| stamp.kind);
            match kind {
                None => return Ok(Step::Missing),
                Some(FileKind::Symlink) => return Ok(Step::Link),
                Some(FileKind::Directory) if is_swap(&refused) => {}
                Some(FileKind::Directory) => return Err(host(refused, "open a folder on the way")),
                Some(kind) => return Ok(Step::Other(kind)),
            }
        }
        Err(not_directory())
    }
}

/// Returns whether opening a folder failed because a link or file was there at that moment.
fn is_swap(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(error),
        Some(Errno::LOOP | Errno::NOTDIR | Errno::NOENT)
    )
}

/// Returns the first components of a path.
fn first(path: &RootPath, count: usize) -> RootPath {
    RootPath::from_components(path.components().take(count)).expect("a part of a path is a path")
}

/// What a walk found.
struct Found {
    path: RootPath,
    /// What is there; none for nothing, or for a link that leads nowhere.
    kind: Option<FileKind>,
}

impl Found {
    fn is_there(&self) -> bool {
        self.kind.is_some()
    }
}

/// One walk from the root: where it stands, and what is still before it.
struct Walk<'a> {
    root: &'a Root,
    /// The folder that the walk stands in, and the way to it.
    folder: Arc<Dir>,
    stack: Vec<String>,
    pending: VecDeque<Vec<u8>>,
    /// How many of the pending steps came from links.
    substituted: usize,
    links: usize,
    /// The link that was followed last, to be named when it leads outside.
    link: Option<RootPath>,
    /// Where the walk ends if the links it is going through lead nowhere.
    fallback: Option<RootPath>,
}

/// How the walk goes on after a component.
enum Next {
    On,
    End(Found),
}

impl<'a> Walk<'a> {
    fn new(root: &'a Root, path: &RootPath) -> Self {
        let pending = path.components().map(|step| step.as_bytes().to_vec());
        Self {
            root,
            folder: Arc::clone(&root.folder),
            stack: Vec::new(),
            pending: pending.collect(),
            substituted: 0,
            links: 0,
            link: None,
            fallback: None,
        }
    }

    fn run(mut self, follow_last: bool) -> Result<Found> {
        while let Some(step) = self.pending.pop_front() {
            let from_link = self.substituted > 0;
            self.substituted = self.substituted.saturating_sub(1);
            let next = match step.as_slice() {
                b"." => Next::On,
                b".." => self.climb()?,
                _ => self.enter(step, from_link, follow_last)?,
            };
            match next {
                Next::On => {}
                Next::End(found) => return Ok(found),
            }
            if self.substituted == 0 {
                self.fallback = None;
            }
        }
        let path = self.path_to([])?;
        Ok(Found {
            path,
            kind: Some(FileKind::Directory),
        })
    }

    /// Climbs out of the folder that the walk stands in, as `..` in a link's target means.
    ///
    /// The way is walked again from the root: one handle is open at a time, however deep it is.
    fn climb(&mut self) -> Result<Next> {
        if self.stack.pop().is_none() {
            return Err(self.escape());
        }
        match self.root.open_folder(&self.path_to([])?) {
            Ok(folder) => {
                self.folder = folder;
                Ok(Next::On)
            }
            Err(NoPlace::Failed(error)) => Err(error),
            Err(NoPlace::Missing | NoPlace::Root) => self.lead_nowhere(),
        }
    }

    fn enter(&mut self, step: Vec<u8>, from_link: bool, follow_last: bool) -> Result<Next> {
        let Some(name) = Name::new(step.as_slice()) else {
            return self.lead_nowhere();
        };
        let last = self.pending.is_empty();
        let found = if last {
            self.look(&name)?
        } else {
            self.root.step(&self.folder, &name)?
        };
        match found {
            Step::Folder(folder) => {
                let Ok(text) = String::from_utf8(step) else {
                    return self.lead_nowhere();
                };
                self.stack.push(text);
                self.folder = Arc::new(folder);
                Ok(Next::On)
            }
            Step::Missing if from_link => self.lead_nowhere(),
            Step::Missing => self.end(step, None),
            Step::Link if last && !follow_last => self.end(step, Some(FileKind::Symlink)),
            Step::Link => self.follow(&name, step),
            Step::Other(kind) if last => self.end(step, Some(kind)),
            Step::Other(_) => {
                let path = self.path_to([step.as_slice()])?;
                Err(not_directory().at(self.root.namespace.display(&path)))
            }
        }
    }

    /// Looks at the last component, which is opened only to tell its mount.
    fn look(&self, name: &Name) -> Result<Step> {
        let stamp = at::look(&self.folder, name).map_err(|error| host(error, "look at it"))?;
        match stamp.map(|stamp| stamp.kind) {
            None => Ok(Step::Missing),
            Some(FileKind::Symlink) => Ok(Step::Link),
            Some(FileKind::Directory) if self.root.stays_on_its_mount() => {
                self.root.step(&self.folder, name)
            }
            Some(kind) => Ok(Step::Other(kind)),
        }
    }

    /// Puts a link's target in its place.
    fn follow(&mut self, name: &Name, step: Vec<u8>) -> Result<Next> {
        if self.fallback.is_none() {
            let rest: Vec<Vec<u8>> = self.pending.iter().cloned().collect();
            let steps = std::iter::once(step.as_slice()).chain(rest.iter().map(Vec::as_slice));
            self.fallback = Some(self.path_to(steps)?);
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return self.lead_nowhere();
        }
        self.link = self.path_to([step.as_slice()]).ok();
        let target = match at::read_link(&self.folder, name) {
            Ok(target) => target,
            // It is no link any more: look again, within the same bound.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
                self.pending.push_front(step);
                self.substituted += 1;
                return Ok(Next::On);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return self.lead_nowhere();
            }
            Err(error) => return Err(host(error, "read where a link leads")),
        };
        let target = target.as_os_str().as_bytes();
        let steps = if target.starts_with(b"/") {
            let beneath = self.root.beneath(target);
            let beneath = beneath.ok_or_else(|| self.escape())?;
            self.stack.clear();
            self.folder = Arc::clone(&self.root.folder);
            beneath
        } else {
            steps(target)
        };
        self.substituted += steps.len();
        for step in steps.into_iter().rev() {
            self.pending.push_front(step);
        }
        Ok(Next::On)
    }

    /// Ends the walk at a component of the folder it stands in, with what is left behind it.
    fn end(&mut self, step: Vec<u8>, kind: Option<FileKind>) -> Result<Next> {
        let rest = std::mem::take(&mut self.pending);
        let steps = std::iter::once(step.as_slice()).chain(rest.iter().map(Vec::as_slice));
        match self.path_to(steps) {
            Ok(path) => Ok(Next::End(Found { path, kind })),
            // What a link leads to has a name that no path here may have.
            Err(_) if self.fallback.is_some() => self.lead_nowhere(),
            Err(error) => Err(error),
        }
    }

    /// Ends the walk at the link that it went through last from the caller's own path.
    fn lead_nowhere(&mut self) -> Result<Next> {
        let path = match self.fallback.take() {
            Some(path) => path,
            None => self.path_to([])?,
        };
        Ok(Next::End(Found { path, kind: None }))
    }

    fn path_to<'s>(&'s self, steps: impl IntoIterator<Item = &'s [u8]>) -> Result<RootPath> {
        let stack = self.stack.iter().map(String::as_bytes);
        let components = stack
            .chain(steps)
            .map(std::str::from_utf8)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| unaddressable())?;
        RootPath::from_components(components).map_err(|error: PathError| error.into_error(""))
    }

    fn escape(&self) -> FsError {
        match &self.link {
            Some(link) => leads_outside().at(self.root.namespace.display(link)),
            None => leads_outside(),
        }
    }
}

fn unaddressable() -> FsError {
    FsError::new(
        ErrorCode::InvalidPath,
        "the link leads to a name that no path here may have",
    )
}
