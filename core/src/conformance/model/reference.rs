//! The reference: an ordered map of paths, and what each operation does to it.
//!
//! Written from the contract, not from any provider: a guard is the bytes that it names, and an
//! operation says which codes its refusal may have.

use std::collections::{BTreeMap, BTreeSet};

use super::splice::replace;
use crate::error::ErrorCode;
use crate::metadata::FileKind;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node<'a> {
    File(&'a [u8]),
    Folder,
}

/// A guard as the reference sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Guarded {
    Any,
    Absent,
    Bytes(Vec<u8>),
}

/// The codes that a refusal may have.
pub(super) type Refused = Vec<ErrorCode>;

/// What a file system offers, as far as the outcome of a step depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// Folders are real; otherwise they are prefixes, and a file may have the name of one.
    pub(super) hierarchy: bool,
    /// What goes away may be guarded by a version.
    pub(super) guarded_remove: bool,
}

/// The files, and the folders that were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    offer: Offer,
    files: BTreeMap<String, Vec<u8>>,
    /// Where folders are real, all of them; else those that need no file to exist.
    folders: BTreeSet<String>,
}

pub(super) fn refused<T>(code: ErrorCode) -> Result<T, Refused> {
    Err(vec![code])
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

fn is_beneath(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

pub(super) fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0)
}

impl Reference {
    pub(super) fn new(offer: Offer) -> Self {
        Self {
            offer,
            files: BTreeMap::new(),
            folders: BTreeSet::new(),
        }
    }

    /// Returns what is at a path: the file first, where a folder has its name too.
    pub(super) fn node(&self, path: &str) -> Option<Node<'_>> {
        match self.file(path) {
            Some(bytes) => Some(Node::File(bytes)),
            None => self.is_folder(path).then_some(Node::Folder),
        }
    }

    pub(super) fn file(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    fn is_folder(&self, path: &str) -> bool {
        self.folders.contains(path) || self.has_beneath(path)
    }

    fn has_beneath(&self, path: &str) -> bool {
        let mut all = self.files.keys().chain(&self.folders);
        all.any(|other| is_beneath(other, path))
    }

    /// Returns whether a path leads through a file, where that is a dead end.
    pub(super) fn leads_through_a_file(&self, path: &str) -> bool {
        self.offer.hierarchy
            && std::iter::successors(parent(path), |path| parent(path))
                .any(|path| self.file(path).is_some())
    }

    /// Checks what holds of every tree: the parent of everything is a folder.
    pub(super) fn check(&self) {
        if !self.offer.hierarchy {
            return;
        }
        for path in self.files.keys().chain(&self.folders) {
            let above = parent(path).map(|above| self.node(above));
            assert!(
                above.is_none_or(|above| above == Some(Node::Folder)),
                "{path} hangs in the air"
            );
        }
    }

    fn insert(&mut self, path: &str, bytes: &[u8]) {
        self.insert_above(path);
        self.files.insert(path.to_owned(), bytes.to_vec());
    }

    fn insert_folder(&mut self, path: &str) {
        self.insert_above(path);
        self.folders.insert(path.to_owned());
    }

    fn insert_above(&mut self, path: &str) {
        if self.offer.hierarchy {
            let above = std::iter::successors(parent(path), |path| parent(path));
            self.folders.extend(above.map(str::to_owned));
        }
    }

    pub(super) fn read(&self, path: &str) -> Result<&[u8], Refused> {
        match self.node(path) {
            None => refused(ErrorCode::NotFound),
            Some(Node::Folder) => refused(ErrorCode::NotRegularFile),
            Some(Node::File(bytes)) => Ok(bytes),
        }
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<(String, FileKind, Option<u64>)>, Refused> {
        match self.node(path) {
            _ if self.is_folder(path) => Ok(self.children(Some(path))),
            Some(_) => refused(ErrorCode::NotDirectory),
            None => refused(ErrorCode::NotFound),
        }
    }

    pub(super) fn children(&self, folder: Option<&str>) -> Vec<(String, FileKind, Option<u64>)> {
        let mut children = BTreeSet::new();
        let all = self.files.keys().map(|path| (path, false));
        let all = all.chain(self.folders.iter().map(|path| (path, true)));
        for (path, is_folder) in all {
            let rest = match folder {
                None => path,
                Some(folder) if is_beneath(path, folder) => &path[folder.len() + 1..],
                Some(_) => continue,
            };
            let size = self.file(path).map(|bytes| bytes.len() as u64);
            children.insert(match rest.split_once('/') {
                Some((name, _)) => (name.to_owned(), FileKind::Directory, None),
                None if is_folder => (rest.to_owned(), FileKind::Directory, None),
                None => (rest.to_owned(), FileKind::File, size),
            });
        }
        children.into_iter().collect()
    }

    /// Writes; says whether it created, and which bytes come back.
    pub(super) fn write(
        &mut self,
        path: &str,
        bytes: &[u8],
        guard: &Guarded,
    ) -> Result<(bool, Option<Vec<u8>>), Refused> {
        if self.offer.hierarchy && self.node(path) == Some(Node::Folder) {
            return refused(ErrorCode::NotRegularFile);
        }
        let before = self.file(path).map(<[u8]>::to_vec);
        match (guard, &before) {
            (Guarded::Absent, Some(_)) => return refused(ErrorCode::AlreadyExists),
            (Guarded::Bytes(expected), there) if there.as_ref() != Some(expected) => {
                return refused(ErrorCode::StaleVersion);
            }
            _ => {}
        }
        self.insert(path, bytes);
        let created = before.is_none();
        Ok((
            created,
            before.filter(|before| is_text(before) && is_text(bytes)),
        ))
    }

    /// Edits; returns the bytes afterwards.
    pub(super) fn edit(
        &mut self,
        path: &str,
        old: &str,
        new: &str,
        all: bool,
        guard: &Guarded,
    ) -> Result<Vec<u8>, Refused> {
        let there = match (self.node(path), guard) {
            (Some(Node::Folder), Guarded::Absent) => {
                return Err(vec![ErrorCode::InvalidArgument, ErrorCode::NotRegularFile]);
            }
            (_, Guarded::Absent) => return refused(ErrorCode::InvalidArgument),
            (Some(Node::Folder), Guarded::Bytes(_)) if !self.offer.hierarchy => {
                return refused(ErrorCode::StaleVersion);
            }
            (Some(Node::Folder), _) => return refused(ErrorCode::NotRegularFile),
            (None, Guarded::Any) => return refused(ErrorCode::NotFound),
            (None, Guarded::Bytes(_)) => return refused(ErrorCode::StaleVersion),
            (Some(Node::File(bytes)), Guarded::Bytes(expected)) if bytes != *expected => {
                return refused(ErrorCode::StaleVersion);
            }
            (Some(Node::File(bytes)), _) => bytes.to_vec(),
        };
        if !is_text(&there) {
            return refused(ErrorCode::NotText);
        }
        let after = replace(&there, old, new, all)?;
        self.insert(path, &after);
        Ok(after)
    }

    /// Refuses a guard that is not offered for what goes away.
    fn check_offered(&self, guard: &Guarded) -> Result<(), Refused> {
        match guard {
            Guarded::Bytes(_) if !self.offer.guarded_remove => refused(ErrorCode::Unsupported),
            _ => Ok(()),
        }
    }

    pub(super) fn remove(&mut self, path: &str, guard: &Guarded) -> Result<(), Refused> {
        self.check_offered(guard)?;
        let mut codes = Vec::new();
        match (self.node(path), guard) {
            (_, Guarded::Absent) => codes.push(ErrorCode::InvalidArgument),
            (None, Guarded::Any) => codes.push(ErrorCode::NotFound),
            (None, Guarded::Bytes(_)) => codes.push(ErrorCode::StaleVersion),
            (Some(Node::File(there)), Guarded::Bytes(expected)) if there != *expected => {
                codes.push(ErrorCode::StaleVersion);
            }
            (Some(Node::Folder), Guarded::Bytes(_)) => codes.push(ErrorCode::StaleVersion),
            _ => {}
        }
        if self.node(path) == Some(Node::Folder) && self.has_beneath(path) {
            codes.push(ErrorCode::NotEmpty);
        }
        if !codes.is_empty() {
            return Err(codes);
        }
        if self.files.remove(path).is_none() {
            self.folders.remove(path);
        }
        Ok(())
    }

    /// Collects every reason to refuse a transfer; none means that it may happen.
    fn objections(&self, from: &str, to: &str, source: &Guarded, destination: &Guarded) -> Refused {
        let mut codes = Vec::new();
        match (self.node(from), source) {
            (None, Guarded::Bytes(_)) | (Some(Node::Folder), Guarded::Bytes(_)) => {
                codes.push(ErrorCode::StaleVersion);
            }
            (None, Guarded::Any) => codes.push(ErrorCode::NotFound),
            (Some(Node::File(there)), Guarded::Bytes(expected)) if there != *expected => {
                codes.push(ErrorCode::StaleVersion);
            }
            _ => {}
        }
        if *source == Guarded::Absent {
            codes.push(ErrorCode::InvalidArgument);
        }
        let (one, two) = (self.node(from), self.node(to));
        // Where folders are prefixes, a file does not meet the one of its name.
        let meets = |node: &Option<Node<'_>>| match (node, &one) {
            (Some(Node::Folder), Some(Node::File(_))) => self.offer.hierarchy,
            (node, _) => node.is_some(),
        };
        let onto_folder = [
            ErrorCode::NotRegularFile,
            ErrorCode::NotDirectory,
            ErrorCode::AlreadyExists,
        ];
        match (two, destination) {
            (Some(_), Guarded::Absent) if meets(&two) => codes.push(ErrorCode::AlreadyExists),
            (None, Guarded::Bytes(_)) => codes.push(ErrorCode::StaleVersion),
            (Some(Node::Folder), Guarded::Bytes(_)) if !meets(&two) => {
                codes.push(ErrorCode::StaleVersion);
            }
            (Some(Node::File(there)), Guarded::Bytes(expected)) if there != *expected => {
                codes.push(ErrorCode::StaleVersion);
            }
            _ => {}
        }
        let folders = [one, two].contains(&Some(Node::Folder));
        if meets(&two) && folders {
            codes.extend(onto_folder);
            codes.extend(
                matches!(destination, Guarded::Bytes(_)).then_some(ErrorCode::StaleVersion),
            );
        }
        codes
    }

    /// Moves; says whether the destination was created.
    pub(super) fn rename(
        &mut self,
        from: &str,
        to: &str,
        source: &Guarded,
        destination: &Guarded,
    ) -> Result<bool, Refused> {
        self.check_offered(source)?;
        let is_file = self.file(from).is_some();
        let mut codes = self.objections(from, to, source, destination);
        if is_beneath(to, from) && (self.offer.hierarchy || !is_file) {
            codes.push(ErrorCode::InvalidArgument);
        }
        if !codes.is_empty() {
            return Err(codes);
        }
        let created = self.file(to).is_none();
        // A file leaves behind what lies beneath a folder of its name.
        let moves = |path: &String| path == from || !is_file && is_beneath(path, from);
        let files: Vec<_> = self.files.extract_if(.., |path, _| moves(path)).collect();
        for (path, bytes) in files {
            self.insert(&format!("{to}{}", &path[from.len()..]), &bytes);
        }
        if !is_file {
            let folders: Vec<_> = self.folders.extract_if(.., moves).collect();
            for path in folders {
                self.insert_folder(&format!("{to}{}", &path[from.len()..]));
            }
        }
        Ok(created)
    }

    /// Copies; says whether the destination was created.
    pub(super) fn copy(
        &mut self,
        from: &str,
        to: &str,
        source: &Guarded,
        destination: &Guarded,
    ) -> Result<bool, Refused> {
        let mut codes = self.objections(from, to, source, destination);
        if self.node(from) == Some(Node::Folder) {
            codes.push(ErrorCode::NotRegularFile);
            codes.extend(is_beneath(to, from).then_some(ErrorCode::InvalidArgument));
        }
        if !codes.is_empty() {
            return Err(codes);
        }
        let created = self.file(to).is_none();
        let bytes = self.file(from).unwrap_or_default().to_vec();
        self.insert(to, &bytes);
        Ok(created)
    }

    pub(super) fn create_dir(&mut self, path: &str) -> Result<(), Refused> {
        match self.node(path) {
            Some(Node::File(_)) => refused(ErrorCode::AlreadyExists),
            Some(Node::Folder) => Ok(()),
            None => {
                self.insert_folder(path);
                Ok(())
            }
        }
    }

    /// Does what somebody outside does; a deed that the host itself would refuse is none.
    pub(super) fn put(&mut self, path: &str, bytes: &[u8]) -> bool {
        let in_the_way = self.offer.hierarchy && self.node(path) == Some(Node::Folder);
        let fits = !in_the_way && !self.leads_through_a_file(path);
        if fits {
            self.insert(path, bytes);
        }
        fits
    }

    pub(super) fn vanish(&mut self, path: &str) -> bool {
        self.files.remove(path).is_some()
    }
}
