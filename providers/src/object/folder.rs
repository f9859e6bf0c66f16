//! Folders and removal: markers for what would otherwise not exist, and nothing removed by guess.

use bytes::Bytes;
use futures::StreamExt;
use object_store::path::Path;
use seamfs_core::{
    CallContext, CreateDirOptions, ErrorCode, Expected, FsError, Operation, RemoveOptions, Result,
    RootPath, Target, cas,
};

use super::conditional::{Payload, Publication, unknown};
use super::fault::Fault;
use super::remote::{Condition, folder_path, in_time};
use super::{Object, no_root, path_of};

impl Object {
    /// Makes a folder exist: one with children does, an empty one needs a marker.
    pub(super) async fn create_folder(
        &self,
        target: &Target,
        options: &CreateDirOptions,
    ) -> Result<()> {
        let (path, context) = (path_of(target), &options.context);
        let _turn = self.turn(target, context).await?;
        match self.look(&path, context).await? {
            Some(metadata) if metadata.is_directory() => return Ok(()),
            Some(_) => return Err(cas::already_exists()),
            None => {}
        }
        let publication = Publication {
            key: &self.0.keys.marker(&path),
            payload: &Payload::of(Bytes::new()),
            condition: Condition::None,
            replaced: None,
            idempotent: true,
        };
        let remote = &self.0.remote;
        remote
            .publish(&publication, &self.0.budget, context)
            .await?;
        Ok(())
    }

    pub(super) async fn remove_entry(
        &self,
        target: &Target,
        options: &RemoveOptions,
    ) -> Result<()> {
        let (path, context) = (path_of(target), &options.context);
        if path.is_root() {
            return Err(no_root(Operation::Remove));
        }
        check_unguarded(&options.expected, Operation::Remove, self)?;
        let _turn = self.turn(target, context).await?;
        context.check()?;
        let key = self.0.keys.key(&path);
        let head = in_time(context, self.0.remote.head(&key)).await;
        match head.map_err(Fault::into_error)? {
            Some(meta) => {
                self.forget(target);
                let token = self
                    .0
                    .remote
                    .token(meta.e_tag.as_deref(), meta.version.as_deref());
                self.delete(&key, token.as_deref(), context).await
            }
            None => self.remove_folder(&path, context).await,
        }
    }

    async fn remove_folder(&self, path: &RootPath, context: &CallContext) -> Result<()> {
        let prefix = self.0.keys.beneath_folder(path);
        let marker = self.0.keys.marker(path);
        match self.only_child(&prefix, &marker, context).await? {
            Children::None => Err(cas::not_found()),
            Children::Others => Err(FsError::new(ErrorCode::NotEmpty, "the folder is not empty")),
            Children::ForeignMarker => Err(FsError::new(
                ErrorCode::Unsupported,
                "another tool keeps this empty folder with a key that ends in a slash, which \
                 cannot be removed from here",
            )),
            Children::Marker => self.delete(&marker, None, context).await,
        }
    }

    async fn only_child(
        &self,
        prefix: &str,
        marker: &Path,
        context: &CallContext,
    ) -> Result<Children> {
        let folder = folder_path(prefix);
        let mut found = self.0.remote.reads.list(folder.as_ref());
        let mut children = Children::None;
        loop {
            let next = in_time(context, async { Ok(found.next().await.transpose()?) }).await;
            match next.map_err(Fault::into_error)? {
                None => return Ok(children),
                Some(object) if object.location == *marker => children = Children::Marker,
                Some(object) if Some(&object.location) == folder.as_ref() => {
                    if children == Children::None {
                        children = Children::ForeignMarker;
                    }
                }
                Some(_) => return Ok(Children::Others),
            }
        }
    }

    /// Removes an object; after a lost acknowledgement only while it is the one that was seen.
    pub(super) async fn delete(
        &self,
        key: &Path,
        token: Option<&str>,
        context: &CallContext,
    ) -> Result<()> {
        let _claim = context.cancellation.begin_publication()?;
        let remote = &self.0.remote;
        let mut spending = self.0.budget.begin(context);
        loop {
            let fault = match in_time(context, remote.delete(key)).await {
                Ok(()) => return Ok(()),
                Err(fault) if !fault.may_pass() => return Err(fault.into_error()),
                Err(fault) => fault,
            };
            match in_time(context, remote.head(key)).await {
                Ok(None) => return Ok(()),
                Ok(Some(meta)) => {
                    let now = remote.token(meta.e_tag.as_deref(), meta.version.as_deref());
                    let same = token.is_none() || now.as_deref() == token;
                    if !same || !spending.wait().await {
                        return Err(unknown(fault));
                    }
                }
                Err(_) => return Err(unknown(fault)),
            }
        }
    }
}

#[derive(PartialEq)]
enum Children {
    None,
    /// Our marker, and perhaps another's.
    Marker,
    /// Only a key that is the folder's with a slash.
    ForeignMarker,
    Others,
}

/// Checks that what is to go away is not guarded: no store removes under a condition.
pub(super) fn check_unguarded(
    expected: &Expected,
    operation: Operation,
    object: &Object,
) -> Result<()> {
    match expected {
        Expected::Any => Ok(()),
        Expected::Absent => Err(absent_source()),
        Expected::Version(_) => Err(FsError::unsupported(operation, object.0.kind).recast(
            ErrorCode::Unsupported,
            format!(
                "{}: {operation} cannot be guarded by a version, because the store removes \
                 without conditions",
                object.0.kind
            ),
        )),
    }
}

pub(super) fn absent_source() -> FsError {
    FsError::new(
        ErrorCode::InvalidArgument,
        "the guard `absent` can never hold for what is to be moved, copied or removed",
    )
}
