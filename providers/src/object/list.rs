//! Listing: one request a page, children in the order of their names.

use std::sync::Arc;

use futures::{StreamExt, stream};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{ListResult, ObjectStore};
use seamfs_core::{
    CallContext, Entry, EntryName, ErrorCode, FileKind, FsError, ListOptions, Listing, Metadata,
    Operation, Result, RootPath, Target,
};

use super::fault::Fault;
use super::order::Reorder;
use super::read::metadata;
use super::remote::{folder_path, in_time};
use super::{Object, foreign, keys, path_of};

impl Object {
    pub(super) async fn list_folder(
        &self,
        target: &Target,
        options: &ListOptions,
    ) -> Result<Listing> {
        options.context.check()?;
        let folder = path_of(target);
        let mut walk = Walk {
            object: self.clone(),
            pager: self.pager(&folder),
            folder,
            context: options.context.clone(),
            order: Reorder::default(),
            reached: Some(String::new()),
            seen_any: false,
            failed: false,
        };
        // The first page is waited for, because it tells whether there is a folder at all.
        let first = walk.next().await.transpose()?;
        if first.is_none() && !walk.seen_any {
            self.check_listable(&walk.folder, &options.context).await?;
        }
        let rest = stream::unfold(walk, |mut walk| async move {
            let entry = walk.next().await?;
            Some((entry, walk))
        });
        Ok(stream::iter(first.map(Ok)).chain(rest).boxed())
    }

    /// Says why there is nothing to list: an empty root, a file, or nothing.
    async fn check_listable(&self, folder: &RootPath, context: &CallContext) -> Result<()> {
        if folder.is_root() {
            return Ok(());
        }
        let key = self.0.keys.key(folder);
        let head = in_time(context, self.0.remote.head(&key)).await;
        match head.map_err(Fault::into_error)? {
            Some(_) => Err(FsError::new(
                ErrorCode::NotDirectory,
                "this is a file, not a folder",
            )),
            None => Err(FsError::new(ErrorCode::NotFound, "no such folder")),
        }
    }

    fn pager(&self, folder: &RootPath) -> Pager {
        let prefix = self.0.keys.beneath_folder(folder);
        let remote = &self.0.remote;
        match &remote.pages {
            Some(pages) => Pager::Pages {
                store: Arc::clone(pages),
                prefix,
                next: Next::First,
            },
            None => Pager::Whole {
                store: Arc::clone(&remote.reads),
                prefix: folder_path(&prefix),
                done: false,
            },
        }
    }
}

/// The pages of a listing.
enum Pager {
    /// One page after the other, as the store has them.
    Pages {
        store: Arc<dyn PaginatedListStore>,
        prefix: String,
        next: Next,
    },
    /// All pages at once, which is all that some stores offer.
    Whole {
        store: Arc<dyn ObjectStore>,
        prefix: Option<Path>,
        done: bool,
    },
}

enum Next {
    First,
    Token(String),
    End,
}

impl Pager {
    async fn next(&mut self) -> Result<Option<ListResult>, Fault> {
        match self {
            Self::Whole { done: true, .. }
            | Self::Pages {
                next: Next::End, ..
            } => Ok(None),
            Self::Whole {
                store,
                prefix,
                done,
            } => {
                *done = true;
                Ok(Some(store.list_with_delimiter(prefix.as_ref()).await?))
            }
            Self::Pages {
                store,
                prefix,
                next,
            } => {
                let page_token = match std::mem::replace(next, Next::End) {
                    Next::Token(token) => Some(token),
                    _ => None,
                };
                let options = PaginatedListOptions {
                    delimiter: Some("/".into()),
                    page_token,
                    ..PaginatedListOptions::default()
                };
                let wanted = (!prefix.is_empty()).then_some(prefix.as_str());
                let page = store.list_paginated(wanted, options).await?;
                if let Some(token) = page.page_token.filter(|token| !token.is_empty()) {
                    *next = Next::Token(token);
                }
                Ok(Some(page.result))
            }
        }
    }
}

/// A listing under way.
struct Walk {
    object: Object,
    folder: RootPath,
    pager: Pager,
    context: CallContext,
    order: Reorder,
    /// The greatest key seen, relative to the folder; none when there are no more pages.
    reached: Option<String>,
    /// Whether any key begins with the folder's, be it only a marker.
    seen_any: bool,
    failed: bool,
}

impl Walk {
    async fn next(&mut self) -> Option<Result<Entry>> {
        loop {
            if let Some(entry) = self.order.pop(self.reached.as_deref()) {
                return Some(Ok(entry));
            }
            if self.failed || self.reached.is_none() {
                return None;
            }
            if let Err(error) = self.turn_page().await {
                self.failed = true;
                let path = self.object.target_of(&self.folder);
                return Some(Err(error.at(path.display()).during(Operation::List)));
            }
        }
    }

    async fn turn_page(&mut self) -> Result<()> {
        self.context.check()?;
        let page = in_time(&self.context, self.pager.next()).await;
        match page.map_err(Fault::into_error)? {
            Some(page) => self.take(page),
            None => self.reached = None,
        }
        Ok(())
    }

    fn take(&mut self, page: ListResult) {
        self.seen_any |= !page.objects.is_empty() || !page.common_prefixes.is_empty();
        let mut entries = Vec::new();
        for prefix in &page.common_prefixes {
            let Some(name) = self.name_of(prefix) else {
                continue;
            };
            entries.push((name, true, Metadata::of(FileKind::Directory)));
        }
        for object in &page.objects {
            let Some(name) = self.name_of(&object.location) else {
                continue;
            };
            let version = match self.object.lists_tokens() {
                true => self.object.0.remote.version_unread(object),
                false => None,
            };
            entries.push((name, false, metadata(object, version)));
        }
        for (carried, is_folder, metadata) in entries {
            let name = foreign::decode(&carried).unwrap_or(carried);
            self.reach(&name, is_folder);
            if keys::is_reserved(&name) {
                continue;
            }
            let entry = Entry {
                name: entry_name(&name),
                metadata: Ok(metadata),
            };
            self.order.push(&name, entry);
        }
    }

    /// Returns the name of a child; none for the folder's own marker.
    fn name_of(&self, location: &Path) -> Option<String> {
        let prefix = self.object.0.keys.beneath_folder(&self.folder);
        let name = location.as_ref().strip_prefix(prefix.as_str())?;
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn reach(&mut self, name: &str, is_folder: bool) {
        let slash = if is_folder { "/" } else { "" };
        let key = format!("{name}{slash}");
        if let Some(reached) = &mut self.reached
            && *reached < key
        {
            *reached = key;
        }
    }
}

/// Shows a child's name; one that is empty is shown as the slash that follows it.
fn entry_name(name: &str) -> EntryName {
    match name.is_empty() {
        true => EntryName::from_storage(b"/"),
        false => EntryName::from_storage(name.as_bytes()),
    }
}
