//! Faults of listings: in another order, with other things, or not at all.

use futures::stream::{self, StreamExt};

use super::fault::prelude::*;
use crate::path::EntryName;

/// Changes the entries of a listing.
macro_rules! lists {
    ($($(#[$doc:meta])* $fault:ident: |$fs:ident, $target:ident, $entries:ident| $change:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $fault;

        #[async_trait]
        impl Fault for $fault {
            async fn list(
                &self,
                $fs: &Inner,
                $target: &Target,
                options: ListOptions,
            ) -> Result<Listing> {
                let listing = $fs.list($target, options).await?;
                let mut $entries: Vec<Result<Entry>> = listing.collect().await;
                $change;
                Ok(stream::iter($entries).boxed())
            }
        }
    )+};
}

fn slashed(entry: &Result<Entry>) -> String {
    entry
        .as_ref()
        .map_or(String::new(), |entry| match entry.kind() {
            FileKind::Directory => format!("{}/", entry.name),
            _ => entry.name.to_string(),
        })
}

fn entry(name: &str) -> Result<Entry> {
    Ok(Entry {
        name: EntryName::from_storage(name.as_bytes()),
        metadata: Ok(Metadata::of(FileKind::File)),
    })
}

lists! {
    /// Sorts names as keys of objects are sorted.
    SortsWithSlash: |fs, target, entries| entries.sort_by_key(slashed);
    /// Lists the children of children too.
    ListsDeep: |fs, target, entries| {
        for name in entries.iter().map(slashed).collect::<Vec<_>>() {
            if let Some(folder) = name.strip_suffix('/') {
                let beneath = fs.target(&format!("{}/{folder}", target.display())).await?;
                entries.extend(fs.list_all(&beneath).await?.into_iter().map(Ok));
            }
        }
    };
    /// Lists as many as one page holds.
    ListsFirstPage: |fs, target, entries| entries.truncate(1000);
    /// Lists the folder's own marker.
    ListsItself: |fs, target, entries| entries.insert(0, entry(""));
    /// Lists what every path can spell.
    HidesOddNames: |fs, target, entries| {
        entries.retain(|entry| entry.as_ref().is_ok_and(|entry| entry.name.is_addressable()));
    };
}

/// Takes a missing folder for an empty one.
#[derive(Debug)]
pub(super) struct ListsNothing;

#[async_trait]
impl Fault for ListsNothing {
    async fn list(&self, fs: &Inner, target: &Target, options: ListOptions) -> Result<Listing> {
        match fs.list(target, options).await {
            Err(error) if error.code() == ErrorCode::NotFound => Ok(stream::empty().boxed()),
            answer => answer,
        }
    }
}

/// Fails where a child cannot be looked at.
#[derive(Debug)]
pub(super) struct FailsListings;

#[async_trait]
impl Fault for FailsListings {
    async fn list(&self, fs: &Inner, target: &Target, options: ListOptions) -> Result<Listing> {
        let entries: Vec<_> = fs.list(target, options).await?.collect().await;
        let (fs, folder) = (Arc::clone(fs), target.display().to_owned());
        let looked = stream::iter(entries).then(move |entry| {
            let (fs, folder) = (Arc::clone(&fs), folder.clone());
            async move {
                let entry = entry?;
                let child = fs.target(&format!("{folder}/{}", entry.name)).await?;
                match fs.stat(&child, StatOptions::default()).await? {
                    Some(_) => Ok(entry),
                    None => Err(cas::not_found()),
                }
            }
        });
        Ok(looked.boxed())
    }
}
