//! Staging names: what a file is called beside its target while it is being published.
//!
//! A name carries the hash of the bytes it will replace and of the bytes it holds. After the
//! exchange it holds the former, so whoever finds it after a crash knows by its content alone
//! whether it may go: content with neither hash is somebody else's only copy.

use std::hash::{BuildHasher, Hasher as _, RandomState};

use seamfs_core::{ContentHash, ErrorCode, FsError, Result};

use super::at::Name;

const MARK: &str = ".seamfs-";
const DRAFT: &str = "draft";
const UNKNOWN: &str = "unknown";
/// How many hexadecimal digits of a hash a name carries: 128 bits, which nobody can collide.
const DIGITS: usize = 32;

/// A name that [`parse`] knows as ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Staging {
    /// Bytes still being written; never exchanged with anything, so never anybody else's.
    Draft,
    /// Whole bytes, or what they were exchanged with: prefixes of the two hashes.
    Whole { before: String, after: String },
}

impl Staging {
    /// Returns whether content with this hash may be discarded.
    pub(super) fn accounts_for(&self, hash: ContentHash) -> bool {
        match self {
            Self::Draft => true,
            Self::Whole { before, after } => {
                let hash = hash.to_hex();
                hash.starts_with(before.as_str()) || hash.starts_with(after.as_str())
            }
        }
    }
}

/// Makes the name of a draft.
pub(super) fn draft() -> Name {
    Name::of(&format!("{MARK}{:016x}-{DRAFT}", random()))
}

/// Makes the name of whole bytes that will replace others.
pub(super) fn whole(before: Option<ContentHash>, after: ContentHash) -> Name {
    let before = before.map_or_else(|| UNKNOWN.to_owned(), digits);
    Name::of(&format!(
        "{MARK}{:016x}-{before}-{}",
        random(),
        digits(after)
    ))
}

/// Makes the name under which bytes are kept that could be neither published nor discarded.
///
/// It is an ordinary, visible name that begins like the file's and is never reaped.
pub(super) fn kept(name: &Name) -> Name {
    const MOST: usize = 200;
    let shown = String::from_utf8_lossy(name.as_bytes());
    let mut end = shown.len().min(MOST);
    while !shown.is_char_boundary(end) {
        end -= 1;
    }
    Name::of(&format!("{}.seamfs-kept-{:016x}", &shown[..end], random()))
}

/// Checks that a name is none of ours: what has one is not listed, and may be reaped.
///
/// # Errors
/// `FS_INVALID_PATH`.
pub(super) fn check_free(name: &Name) -> Result<()> {
    match parse(name.as_bytes()) {
        None => Ok(()),
        Some(_) => Err(FsError::new(
            ErrorCode::InvalidPath,
            "names of this form are kept for files that are being written; choose another",
        )),
    }
}

/// Reads a name that one of the above made; none for any other.
pub(super) fn parse(name: &[u8]) -> Option<Staging> {
    let rest = std::str::from_utf8(name).ok()?.strip_prefix(MARK)?;
    let (random, rest) = rest.split_once('-')?;
    if !is_hex(random, 16) {
        return None;
    }
    if rest == DRAFT {
        return Some(Staging::Draft);
    }
    let (before, after) = rest.split_once('-')?;
    let known = before == UNKNOWN || is_hex(before, DIGITS);
    (known && is_hex(after, DIGITS)).then(|| Staging::Whole {
        before: before.to_owned(),
        after: after.to_owned(),
    })
}

fn is_hex(text: &str, digits: usize) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.len() == digits && text.bytes().all(hex)
}

fn digits(hash: ContentHash) -> String {
    let mut hex = hash.to_hex();
    hex.truncate(DIGITS);
    hex
}

/// Returns a number that nobody can foretell: keyed from the system's entropy, a key a call.
fn random() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    // A forked process starts with the same keys.
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    hasher.write_u128(now.as_nanos());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staging_names_are_read_back_and_no_others_are() {
        let (one, two) = (ContentHash::of(b"1"), ContentHash::of(b"2"));
        let name = whole(Some(one), two);
        let staging = parse(name.as_bytes()).unwrap();
        assert!(staging.accounts_for(one) && staging.accounts_for(two));
        assert!(!staging.accounts_for(ContentHash::of(b"3")));
        let unknown = parse(whole(None, two).as_bytes()).unwrap();
        assert!(unknown.accounts_for(two) && !unknown.accounts_for(one));
        assert_eq!(parse(draft().as_bytes()), Some(Staging::Draft));
        for name in [
            ".seamfs-",
            ".seamfs-1-draft",
            "a.seamfs-kept-00",
            ".seamfs-notes.md",
        ] {
            assert_eq!(parse(name.as_bytes()), None, "{name}");
        }
        assert_eq!(parse(kept(&Name::of("x")).as_bytes()), None);
    }

    #[test]
    fn b126_names_made_for_the_longest_target_are_short_enough() {
        let longest = Name::of(&"é".repeat(127));
        assert!(kept(&longest).as_bytes().len() <= 255);
        let hash = ContentHash::of(b"");
        assert!(whole(Some(hash), hash).as_bytes().len() <= 255);
    }

    #[test]
    fn a_name_that_bytes_are_kept_under_is_visible_and_cut_between_characters() {
        let long = Name::of(&format!("a{}", "é".repeat(120)));
        let name = kept(&long);
        let text = std::str::from_utf8(name.as_bytes()).unwrap();
        let digits = text.strip_prefix(&format!("a{}.seamfs-kept-", "é".repeat(99)));
        assert!(digits.is_some_and(|digits| is_hex(digits, 16)), "{text}");
        assert!(text.len() <= 255 && check_free(&name).is_ok());
        assert!(
            kept(&Name::of("f"))
                .as_bytes()
                .starts_with(b"f.seamfs-kept-")
        );
    }
}
