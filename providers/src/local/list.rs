//! Listing: all names at once, for they are to be sorted, and what is behind them in batches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::vec::IntoIter;

use cap_std::fs::Dir;
use futures::StreamExt as _;
use futures::stream;
use seamfs_core::{
    CallContext, Entry, EntryName, FileKind, Listing, Metadata, Operation, Result, RootPath, cas,
};

use super::at::{self, Name};
use super::error::{host, no_folder};
use super::walk::{NoPlace, Place};
use super::{Inner, blocking, reap, staging};

/// How many children one hop examines.
const BATCH: usize = 512;

/// An open folder and the sorted names of its children.
pub(super) struct Names {
    folder: Arc<Dir>,
    path: RootPath,
    names: IntoIter<Name>,
    first: VecDeque<Result<Entry>>,
}

/// Opens a folder, reads its names, and examines the first of them.
pub(super) fn open(local: &Inner, path: &RootPath, context: &CallContext) -> Result<Names> {
    context.check()?;
    let folder = open_folder(local, path)?;
    let names = read_names(local, &folder)?;
    let mut names = Names {
        folder,
        path: path.clone(),
        names: names.into_iter(),
        first: VecDeque::new(),
    };
    names.first = names.examine(local);
    Ok(names)
}

/// Streams the children, a hop a batch.
pub(super) fn stream(local: Arc<Inner>, names: Names, context: CallContext) -> Listing {
    let display = local.root.namespace.display(&names.path);
    let batches = stream::try_unfold(Some(names), move |names| {
        let local = Arc::clone(&local);
        let context = context.clone();
        async move {
            let Some(mut names) = names else {
                return Ok(None);
            };
            let first = std::mem::take(&mut names.first);
            if !first.is_empty() {
                return Ok(Some((first, Some(names))));
            }
            if names.names.as_slice().is_empty() {
                return Ok(None);
            }
            let examined = blocking::run(move || {
                context.check()?;
                let batch = names.examine(&local);
                Ok((batch, Some(names)))
            });
            examined.await.map(Some)
        }
    });
    batches
        .map(move |batch: Result<VecDeque<Result<Entry>>>| match batch {
            Ok(entries) => stream::iter(entries).left_stream(),
            Err(error) => {
                let error = error.at(&display).during(Operation::List);
                stream::iter([Err(error)]).right_stream()
            }
        })
        .flatten()
        .boxed()
}

fn open_folder(local: &Inner, path: &RootPath) -> Result<Arc<Dir>> {
    let place = match local.root.place(path) {
        Ok(place) => place,
        Err(NoPlace::Root) => return Ok(Arc::clone(&local.root.folder)),
        Err(NoPlace::Missing) => return Err(cas::not_found()),
        Err(NoPlace::Failed(error)) => return Err(error),
    };
    match place.look()?.map(|stamp| stamp.kind) {
        Some(FileKind::Directory) => {}
        Some(FileKind::Symlink) if !local.root.leads_somewhere(path) => {
            return Err(cas::not_found());
        }
        Some(_) => return Err(no_folder()),
        None => return Err(cas::not_found()),
    }
    local.root.open_folder(path).map_err(|none| match none {
        NoPlace::Failed(error) => error,
        NoPlace::Missing | NoPlace::Root => cas::not_found(),
    })
}

/// Reads all names, in byte order. Leftovers of killed writers are not among them, and go.
fn read_names(local: &Inner, folder: &Arc<Dir>) -> Result<Vec<Name>> {
    let unreadable = |error| host(error, "read the folder");
    let handle = at::reopen_readable(folder).map_err(unreadable)?;
    let mut names = Vec::new();
    let mut leftovers = Vec::new();
    for entry in rustix::fs::Dir::new(handle).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let Some(name) = Name::new(entry.file_name().to_bytes()) else {
            continue;
        };
        match staging::parse(name.as_bytes()) {
            None => names.push(name),
            Some(_) => leftovers.push(name),
        }
    }
    reap::sweep_found(local, folder, leftovers);
    names.sort_unstable();
    Ok(names)
}

impl Names {
    /// Examines the next children, until a batch is full or none is left.
    fn examine(&mut self, local: &Inner) -> VecDeque<Result<Entry>> {
        let mut batch = VecDeque::new();
        while batch.len() < BATCH {
            let Some(name) = self.names.next() else {
                break;
            };
            batch.extend(self.entry(local, name).map(Ok));
        }
        batch
    }

    /// Returns one child; none when it vanished.
    fn entry(&self, local: &Inner, name: Name) -> Option<Entry> {
        let shown = EntryName::from_storage(name.as_bytes());
        let place = Place {
            folder: Arc::clone(&self.folder),
            name,
        };
        let metadata = match place.look() {
            Ok(None) => return None,
            Ok(Some(stamp)) => Ok(self.seen(local, &shown, stamp.metadata())),
            Err(error) => Err(error.during(Operation::List)),
        };
        Some(Entry {
            name: shown,
            metadata,
        })
    }

    /// A link that leads to nothing within the root is nothing that can be followed.
    fn seen(&self, local: &Inner, name: &EntryName, mut metadata: Metadata) -> Metadata {
        if metadata.kind != FileKind::Symlink {
            return metadata;
        }
        let path = name.is_addressable().then(|| self.path.join(name.as_str()));
        let leads = matches!(path, Some(Ok(path)) if local.root.leads_somewhere(&path));
        if !leads {
            metadata.kind = FileKind::Other;
        }
        metadata
    }
}
