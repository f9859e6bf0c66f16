//! The reference: an ordered map of paths, and what each operation does to it.
//!
//! Written from the contract, not from any provider: a guard is the bytes that it names, and an
//! operation says which codes its refusal may have.

use std::collections::BTreeMap;

use crate::error::ErrorCode;
use crate::metadata::FileKind;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    File(Vec<u8>),
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

/// The tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reference {
    nodes: BTreeMap<String, Node>,
}

fn refused<T>(code: ErrorCode) -> Result<T, Refused> {
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
    pub(super) fn node(&self, path: &str) -> Option<&Node> {
        self.nodes.get(path)
    }

    pub(super) fn file(&self, path: &str) -> Option<&[u8]> {
        match self.node(path) {
            Some(Node::File(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Returns whether a path leads through a file.
    pub(super) fn leads_through_a_file(&self, path: &str) -> bool {
        std::iter::successors(parent(path), |path| parent(path))
            .any(|path| self.file(path).is_some())
    }

    /// Checks what holds of every tree: the parent of everything is a folder.
    pub(super) fn check(&self) {
        for path in self.nodes.keys() {
            let above = parent(path).map(|above| self.node(above));
            assert!(
                above.is_none_or(|above| above == Some(&Node::Folder)),
                "{path} hangs in the air"
            );
        }
    }

    fn insert(&mut self, path: &str, node: Node) {
        let above: Vec<_> = std::iter::successors(parent(path), |path| parent(path)).collect();
        for folder in above {
            self.nodes.entry(folder.to_owned()).or_insert(Node::Folder);
        }
        self.nodes.insert(path.to_owned(), node);
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
            None => return refused(ErrorCode::NotFound),
            Some(Node::File(_)) => return refused(ErrorCode::NotDirectory),
            Some(Node::Folder) => {}
        }
        Ok(self.children(Some(path)))
    }

    pub(super) fn children(&self, folder: Option<&str>) -> Vec<(String, FileKind, Option<u64>)> {
        let mut children: Vec<_> = self
            .nodes
            .iter()
            .filter(|(path, _)| parent(path) == folder)
            .map(|(path, node)| {
                let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                match node {
                    Node::File(bytes) => (name, FileKind::File, Some(bytes.len() as u64)),
                    Node::Folder => (name, FileKind::Directory, None),
                }
            })
            .collect();
        children.sort();
        children
    }

    /// Writes; says whether it created, and which bytes come back.
    pub(super) fn write(
        &mut self,
        path: &str,
        bytes: &[u8],
        guard: &Guarded,
    ) -> Result<(bool, Option<Vec<u8>>), Refused> {
        if self.node(path) == Some(&Node::Folder) {
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
        self.insert(path, Node::File(bytes.to_vec()));
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
            (Some(Node::Folder), _) => return refused(ErrorCode::NotRegularFile),
            (None, Guarded::Any) => return refused(ErrorCode::NotFound),
            (None, Guarded::Bytes(_)) => return refused(ErrorCode::StaleVersion),
            (Some(Node::File(bytes)), Guarded::Bytes(expected)) if bytes != expected => {
                return refused(ErrorCode::StaleVersion);
            }
            (Some(Node::File(bytes)), _) => bytes.clone(),
        };
        if !is_text(&there) {
            return refused(ErrorCode::NotText);
        }
        let after = replace(&there, old, new, all)?;
        self.insert(path, Node::File(after.clone()));
        Ok(after)
    }

    pub(super) fn remove(&mut self, path: &str, guard: &Guarded) -> Result<(), Refused> {
        let mut codes = Vec::new();
        match (self.node(path), guard) {
            (_, Guarded::Absent) => codes.push(ErrorCode::InvalidArgument),
            (None, Guarded::Any) => codes.push(ErrorCode::NotFound),
            (None, Guarded::Bytes(_)) => codes.push(ErrorCode::StaleVersion),
            (Some(Node::File(there)), Guarded::Bytes(expected)) if there != expected => {
                codes.push(ErrorCode::StaleVersion);
            }
            (Some(Node::Folder), Guarded::Bytes(_)) => codes.push(ErrorCode::StaleVersion),
            _ => {}
        }
        if self.nodes.keys().any(|other| is_beneath(other, path)) {
            codes.push(ErrorCode::NotEmpty);
        }
        if codes.is_empty() {
            self.nodes.remove(path);
            return Ok(());
        }
        Err(codes)
    }

    /// Collects every reason to refuse a transfer; none means that it may happen.
    fn objections(&self, from: &str, to: &str, source: &Guarded, destination: &Guarded) -> Refused {
        let mut codes = Vec::new();
        match (self.node(from), source) {
            (None, Guarded::Bytes(_)) | (Some(Node::Folder), Guarded::Bytes(_)) => {
                codes.push(ErrorCode::StaleVersion);
            }
            (None, Guarded::Any) => codes.push(ErrorCode::NotFound),
            (Some(Node::File(there)), Guarded::Bytes(expected)) if there != expected => {
                codes.push(ErrorCode::StaleVersion);
            }
            _ => {}
        }
        if *source == Guarded::Absent {
            codes.push(ErrorCode::InvalidArgument);
        }
        let onto_folder = [
            ErrorCode::NotRegularFile,
            ErrorCode::NotDirectory,
            ErrorCode::AlreadyExists,
        ];
        match (self.node(to), destination) {
            (Some(_), Guarded::Absent) => codes.push(ErrorCode::AlreadyExists),
            (None, Guarded::Bytes(_)) => codes.push(ErrorCode::StaleVersion),
            (Some(Node::File(there)), Guarded::Bytes(expected)) if there != expected => {
                codes.push(ErrorCode::StaleVersion);
            }
            _ => {}
        }
        let folders = [self.node(from), self.node(to)].contains(&Some(&Node::Folder));
        if self.node(to).is_some() && folders {
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
        let mut codes = self.objections(from, to, source, destination);
        if is_beneath(to, from) {
            codes.push(ErrorCode::InvalidArgument);
        }
        if !codes.is_empty() {
            return Err(codes);
        }
        let created = self.node(to).is_none();
        let moved: Vec<_> = self
            .nodes
            .iter()
            .filter(|(path, _)| *path == from || is_beneath(path, from))
            .map(|(path, node)| (path.clone(), node.clone()))
            .collect();
        for (path, node) in moved {
            self.nodes.remove(&path);
            self.insert(&format!("{to}{}", &path[from.len()..]), node);
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
        if self.node(from) == Some(&Node::Folder) {
            codes.push(ErrorCode::NotRegularFile);
            codes.extend(is_beneath(to, from).then_some(ErrorCode::InvalidArgument));
        }
        if !codes.is_empty() {
            return Err(codes);
        }
        let created = self.node(to).is_none();
        let bytes = self.file(from).unwrap_or_default().to_vec();
        self.insert(to, Node::File(bytes));
        Ok(created)
    }

    pub(super) fn create_dir(&mut self, path: &str) -> Result<(), Refused> {
        match self.node(path) {
            Some(Node::File(_)) => refused(ErrorCode::AlreadyExists),
            _ => {
                self.insert(path, Node::Folder);
                Ok(())
            }
        }
    }

    /// Does what somebody outside does; a deed that the host itself would refuse is none.
    pub(super) fn put(&mut self, path: &str, bytes: &[u8]) -> bool {
        let fits = self.node(path) != Some(&Node::Folder) && !self.leads_through_a_file(path);
        if fits {
            self.insert(path, Node::File(bytes.to_vec()));
        }
        fits
    }

    pub(super) fn vanish(&mut self, path: &str) -> bool {
        let is_file = self.file(path).is_some();
        if is_file {
            self.nodes.remove(path);
        }
        is_file
    }
}

/// One character of a text in which CRLF is one.
fn units(text: &str) -> Vec<&str> {
    let mut units = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("\r\n") {
            2
        } else {
            first.len_utf8()
        };
        let (unit, after) = rest.split_at(len);
        units.push(unit);
        rest = after;
    }
    units
}

/// Replaces as the contract says: literal, a line feed matching either ending, counted with
/// overlaps, replaced without.
pub(super) fn replace(bytes: &[u8], old: &str, new: &str, all: bool) -> Result<Vec<u8>, Refused> {
    let text = String::from_utf8_lossy(bytes);
    let (bom, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", &*text),
    };
    let (haystack, needle) = (units(body), units(old));
    let same =
        |there: &&str, wanted: &&str| there == wanted || (*there == "\r\n" && *wanted == "\n");
    let matches_at = |at: usize| {
        haystack.get(at..at + needle.len()).is_some_and(|there| {
            there
                .iter()
                .zip(&needle)
                .all(|(there, wanted)| same(there, wanted))
        })
    };
    let count = (0..haystack.len()).filter(|at| matches_at(*at)).count();
    match (count, all) {
        (0, _) => return refused(ErrorCode::EditNotFound),
        (1, _) | (_, true) => {}
        _ => return refused(ErrorCode::AmbiguousEdit),
    }
    let mut out = bom.to_owned();
    let mut at = 0;
    while at < haystack.len() {
        if matches_at(at) {
            out.push_str(new);
            at += needle.len();
        } else {
            out.push_str(haystack[at]);
            at += 1;
        }
    }
    Ok(out.into_bytes())
}
