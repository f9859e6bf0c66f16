//! Keys: paths beneath the root, spelled as the store spells them.
//!
//! A key is the prefix and the path, literally: nothing is percent-encoded, so that objects which
//! other tools made are found, and objects made here are found by them.

use object_store::path::Path;
use seamfs_core::{ErrorCode, FsError, Result, RootPath};

/// The zero-byte object that keeps an empty folder in existence.
///
/// The usual marker, a key that ends in a slash, cannot be written through `object_store`.
pub(super) const MARKER: &str = ".seamfs-folder";

/// How the scratch objects of the capability probe begin.
pub(super) const PROBE: &str = ".seamfs-probe-";

/// The prefix that is the root of a workspace.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    prefix: Path,
}

impl Keys {
    /// Parses a prefix; blank or `/` is the whole bucket.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for a prefix that no key can have here.
    pub(super) fn beneath(prefix: &str) -> Result<Self> {
        let bare = prefix.trim_matches('/');
        let parts = bare.split('/').filter(|_| !bare.is_empty());
        RootPath::from_components(parts)
            .ok()
            .and_then(|path| Path::parse(path.as_str()).ok())
            .map(|prefix| Self { prefix })
            .ok_or_else(|| {
                FsError::new(
                    ErrorCode::InvalidArgument,
                    "the prefix of the workspace holds a name that no path here may have, or an \
                     empty one",
                )
            })
    }

    /// Returns how many bytes every key spends on the prefix.
    pub(super) fn prefix_bytes(&self) -> usize {
        match self.prefix.as_ref().len() {
            0 => 0,
            length => length + 1,
        }
    }

    /// Returns the key of a path.
    pub(super) fn key(&self, path: &RootPath) -> Path {
        self.parse(path.as_str())
    }

    /// Returns what the keys beneath a folder begin with; empty for a whole bucket.
    pub(super) fn beneath_folder(&self, path: &RootPath) -> String {
        match self.key(path) {
            key if key.is_root() => String::new(),
            key => format!("{key}/"),
        }
    }

    /// Returns the key of a folder's marker.
    pub(super) fn marker(&self, path: &RootPath) -> Path {
        match path.is_root() {
            true => self.parse(MARKER),
            false => self.parse(&format!("{}/{MARKER}", path.as_str())),
        }
    }

    /// Returns the key of a scratch object.
    pub(super) fn scratch(&self, number: u64) -> Path {
        self.parse(&format!("{PROBE}{number:016x}"))
    }

    fn parse(&self, rest: &str) -> Path {
        let text = match (self.prefix.is_root(), rest.is_empty()) {
            (true, _) => rest.to_owned(),
            (false, true) => self.prefix.to_string(),
            (false, false) => format!("{}/{rest}", self.prefix),
        };
        Path::parse(text).expect("a path beneath the root has only names that a key may have")
    }
}

/// Returns whether a name is one of ours that no listing shows and no path may use.
pub(super) fn is_reserved(name: &str) -> bool {
    name == MARKER || name.starts_with(PROBE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RootPath {
        RootPath::from_components(text.split('/').filter(|name| !name.is_empty())).unwrap()
    }

    #[test]
    fn b161_keys_are_the_literal_path_beneath_the_prefix() {
        for prefix in ["", "/", "pre", "/pre/fix/", "a~b %20[x]"] {
            let keys = Keys::beneath(prefix).unwrap();
            for name in [
                "a~b",
                "a%20b",
                "[foo].ts",
                "a#b?c+d",
                "é",
                "日本/🦀",
                "#tmp#1",
            ] {
                let bare = prefix.trim_matches('/');
                let expected = match bare {
                    "" => name.to_owned(),
                    bare => format!("{bare}/{name}"),
                };
                assert_eq!(keys.key(&path(name)).as_ref(), expected);
            }
        }
    }

    #[test]
    fn a_prefix_that_no_key_can_have_is_refused() {
        for prefix in ["a//b", "a/../b", ".", "a\u{7}"] {
            let error = Keys::beneath(prefix).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument, "{prefix:?}");
        }
    }

    #[test]
    fn what_lies_beneath_a_folder_starts_with_its_name_and_a_slash() {
        let (all, some) = (Keys::beneath("").unwrap(), Keys::beneath("p").unwrap());
        assert_eq!(all.beneath_folder(&path("")), "");
        assert_eq!(all.beneath_folder(&path("a")), "a/");
        assert_eq!(some.beneath_folder(&path("")), "p/");
        assert_eq!(some.marker(&path("a")).as_ref(), "p/a/.seamfs-folder");
        assert_eq!((all.prefix_bytes(), some.prefix_bytes()), (0, 2));
    }
}
