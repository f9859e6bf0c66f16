//! Places on the host: where a workspace lies, and which of the operator's own files lie in it.

use std::path::{Component, Path, PathBuf};

use seamfs_core::Result;
use seamfs_policy::PathRules;

/// Adds to the rules of a workspace what its place on the host asks for.
///
/// A pattern that spells the workspace's own place is an error: it would match nothing. Files of
/// the operator's that lie inside are kept read-only, so that nobody widens there what they say.
pub(crate) fn placed(rules: PathRules, root: &str, own: &[PathBuf]) -> Result<PathRules> {
    let root = Path::new(root);
    let roots = spellings(root);
    for root in &roots {
        if let Some(root) = root.to_str() {
            rules.check_beneath(root)?;
        }
    }
    let inside = own.iter().flat_map(|file| spellings(file));
    let inside = inside.filter_map(|file| {
        let beneath = roots.iter().find_map(|root| file.strip_prefix(root).ok())?;
        beneath.to_str().map(str::to_owned)
    });
    let mut inside: Vec<String> = inside.filter(|path| !path.is_empty()).collect();
    inside.sort();
    inside.dedup();
    if inside.is_empty() {
        return Ok(rules);
    }
    let mut builder = rules.into_builder();
    for path in &inside {
        builder = builder.keep(path)?;
    }
    builder.build()
}

/// Returns how a path may be spelled: as it is, with the links above it followed, and with all of
/// them. A file need not be there.
fn spellings(path: &Path) -> Vec<PathBuf> {
    let mut spellings: Vec<PathBuf> = std::path::absolute(path)
        .map(|path| lexical(&path))
        .into_iter()
        .collect();
    if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        spellings.extend(folder.canonicalize().map(|folder| folder.join(name)));
    }
    spellings.extend(path.canonicalize());
    spellings.dedup();
    spellings
}

/// Resolves `..` in a path as text.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for step in path.components() {
        match step {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            step => plain.push(step),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use seamfs_policy::Access;

    use super::*;

    fn none() -> PathRules {
        PathRules::builder().build().unwrap()
    }

    #[test]
    fn what_lies_inside_is_kept_through_links_too() {
        let host = tempfile::tempdir().unwrap();
        let at = |path: &str| host.path().join(path);
        for folder in ["ws/conf", "beside"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("ws/conf/seamfs.toml"), "").unwrap();
        symlink("ws", at("alias")).unwrap();
        symlink("../ws/conf/seamfs.toml", at("beside/link.toml")).unwrap();
        symlink("../beside/there.toml", at("ws/away.toml")).unwrap();
        let standing = |root: &str, own: &str, path: &str| {
            let root = at(root).display().to_string();
            placed(none(), &root, &[at(own)]).unwrap().access(path)
        };
        for root in ["ws", "alias", "beside/../ws"] {
            for own in [
                "ws/conf/seamfs.toml",
                "alias/conf/seamfs.toml",
                "beside/link.toml",
                "ws/x/../conf/seamfs.toml",
            ] {
                let kept = standing(root, own, "conf/seamfs.toml");
                assert_eq!(kept, Access::ReadOnly, "{root} {own}");
                assert_eq!(standing(root, own, "conf/other.toml"), Access::Full);
            }
            // The link itself, and a file that is still to be.
            assert_eq!(
                standing(root, "ws/away.toml", "away.toml"),
                Access::ReadOnly
            );
            assert_eq!(standing(root, "ws/seen", "seen"), Access::ReadOnly);
            assert_eq!(standing(root, "beside/seen", "seen"), Access::Full);
        }
    }

    #[test]
    fn a_pattern_that_spells_the_root_is_an_error_through_links_too() {
        let host = tempfile::tempdir().unwrap();
        std::fs::create_dir(host.path().join("ws")).unwrap();
        let alias = host.path().join("alias");
        symlink("ws", &alias).unwrap();
        for spelled in ["ws", "alias"] {
            let pattern = format!("{}/infra", host.path().join(spelled).display());
            let builder = PathRules::builder().add(Access::Denied, [&pattern]);
            let rules = builder.and_then(|rules| rules.build()).unwrap();
            let error = placed(rules, alias.to_str().unwrap(), &[]).unwrap_err();
            assert!(error.message().contains("write \"/infra\""), "{error}");
        }
    }
}
