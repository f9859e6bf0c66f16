//! Versions: opaque tokens that backends mint for content.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// From how many bytes on hashing is worth waking other threads: at 6 GB/s a thread takes 0.7 ms
/// for 4 MiB, and waking one costs some tens of microseconds.
pub(crate) const PARALLEL: usize = 4 << 20;

/// The BLAKE3 hash of a whole content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Hashes whole bytes; many of them on all cores.
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.len() < PARALLEL {
            return Self(*blake3::hash(bytes).as_bytes());
        }
        let mut hasher = ContentHasher::new();
        hasher.update(bytes);
        hasher.finish()
    }

    /// Returns the 64 lower-case hexadecimal digits.
    pub fn to_hex(self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = vec![0; 2 * self.0.len()];
        for (digits, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            digits[0] = DIGITS[usize::from(byte >> 4)];
            digits[1] = DIGITS[usize::from(byte & 15)];
        }
        String::from_utf8(hex).expect("digits are ASCII")
    }

    /// Returns the raw 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses 64 hexadecimal digits.
    pub fn from_hex(hex: &str) -> Option<Self> {
        blake3::Hash::from_hex(hex)
            .ok()
            .map(|hash| Self(*hash.as_bytes()))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

/// Hashes content that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// Creates a hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next piece; a long one is hashed on all cores.
    pub fn update(&mut self, piece: &[u8]) {
        if piece.len() < PARALLEL {
            self.0.update(piece);
        } else {
            self.0.update_rayon(piece);
        }
    }

    /// Returns the hash of everything added so far.
    pub fn finish(&self) -> ContentHash {
        ContentHash(*self.0.finalize().as_bytes())
    }
}

/// An opaque token minted by a backend for content.
///
/// Equal versions mean equal bytes. Unequal versions prove nothing: the same bytes may bear two
/// tokens, and only the file system may call a version stale, by [`Version::certifies`] or by
/// reading. A version holds the content's hash once the whole bytes were seen, the store's own
/// token (an ETag, a generation) where there is one, or both.
///
/// It serialises as one string that outlives the process.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version {
    hash: Option<ContentHash>,
    token: Option<Arc<str>>,
}

impl Version {
    /// Mints the version of whole bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(ContentHash::of(bytes))
    }

    /// Mints a version from a hash of the whole bytes.
    pub const fn from_hash(hash: ContentHash) -> Self {
        Self {
            hash: Some(hash),
            token: None,
        }
    }

    /// Mints a version from a store's token alone; the token must name exactly one content.
    ///
    /// # Panics
    /// If the token is empty: a store without tokens has no such version.
    pub fn from_token(token: impl AsRef<str>) -> Self {
        assert!(
            !token.as_ref().is_empty(),
            "a version's token names content"
        );
        Self {
            hash: None,
            token: Some(Arc::from(token.as_ref())),
        }
    }

    /// Adds the store's token.
    #[must_use]
    pub fn with_token(mut self, token: impl AsRef<str>) -> Self {
        if !token.as_ref().is_empty() {
            self.token = Some(Arc::from(token.as_ref()));
        }
        self
    }

    /// Adds the hash of the whole bytes.
    #[must_use]
    pub const fn with_hash(mut self, hash: ContentHash) -> Self {
        self.hash = Some(hash);
        self
    }

    /// Returns the content's hash, where the whole bytes were seen.
    pub const fn hash(&self) -> Option<ContentHash> {
        self.hash
    }

    /// Returns the store's token.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Returns whether this version and another are known to name the same bytes.
    ///
    /// Hashes decide where both have one; otherwise equal tokens do. `false` proves nothing
    /// unless both have hashes.
    pub fn certifies(&self, other: &Self) -> bool {
        match (self.hash, other.hash) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => self.token.is_some() && self.token == other.token,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.hash, &self.token) {
            (Some(hash), Some(token)) => write!(f, "b3:{}+{token}", hash.to_hex()),
            (Some(hash), None) => write!(f, "b3:{}", hash.to_hex()),
            (None, Some(token)) => write!(f, "at:{token}"),
            (None, None) => unreachable!("a version has a hash or a token"),
        }
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({self})")
    }
}

/// Text that no version serialises to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a version: versions are minted by a file system and passed back unchanged")]
pub struct NotAVersion;

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        if let Some(token) = text.strip_prefix("at:") {
            return if token.is_empty() {
                Err(NotAVersion)
            } else {
                Ok(Self::from_token(token))
            };
        }
        let rest = text.strip_prefix("b3:").ok_or(NotAVersion)?;
        let (hex, token) = match rest.split_once('+') {
            Some((hex, token)) if !token.is_empty() => (hex, token),
            Some(_) => return Err(NotAVersion),
            None => (rest, ""),
        };
        let hash = ContentHash::from_hex(hex).ok_or(NotAVersion)?;
        Ok(Self::from_hash(hash).with_token(token))
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The guard on a mutation: what must be there for it to happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Anything, or nothing: unconditional, and still atomic.
    #[default]
    Any,
    /// Nothing.
    Absent,
    /// Exactly the bytes that this version names.
    Version(Version),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_bytes_certify_each_other_whatever_their_tokens() {
        let one = Version::of(b"same").with_token("etag-1");
        let two = Version::of(b"same").with_token("etag-2");
        assert!(one.certifies(&two));
        assert_ne!(one, two);
        assert!(!one.certifies(&Version::of(b"other").with_token("etag-1")));
        assert!(one.certifies(&Version::from_token("etag-1")));
    }

    #[test]
    fn digits_are_those_of_the_hash() {
        for bytes in [&b""[..], b"a", b"other"] {
            let hash = ContentHash::of(bytes);
            let digits = blake3::hash(bytes).to_hex();
            assert_eq!(hash.to_hex(), digits.as_str());
            assert_eq!(ContentHash::from_hex(&digits), Some(hash));
        }
    }

    #[test]
    fn a_version_keeps_its_hash_and_its_token() {
        let hash = ContentHash::of(b"same");
        let both = Version::of(b"same").with_token("etag-1");
        assert_eq!((both.hash(), both.token()), (Some(hash), Some("etag-1")));
        let token = Version::from_token("etag-1");
        assert_eq!((token.hash(), token.token()), (None, Some("etag-1")));
        assert_eq!(token.with_hash(hash), both);
        // A store without tokens has an empty one to give.
        assert_eq!(Version::of(b"same").with_token("").token(), None);
        let other = Version::from_token("etag-2");
        assert!(!other.certifies(&both) && !other.certifies(&Version::of(b"same")));
        assert!(!Version::of(b"same").certifies(&other));
    }

    #[test]
    fn a_hash_is_that_of_the_field() {
        // The hash of nothing, from the test vectors of BLAKE3.
        let hex = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        let hash = ContentHash::of(b"");
        assert_eq!(
            (hash.to_hex().as_str(), ContentHash::from_hex(hex)),
            (hex, Some(hash))
        );
        assert_eq!(hash.as_bytes()[..2], [0xaf, 0x13]);
        // Many bytes are hashed on all cores, which shows in nothing but the time.
        let many = vec![7; PARALLEL];
        let mut pieces = ContentHasher::new();
        many.chunks(PARALLEL / 4)
            .for_each(|piece| pieces.update(piece));
        assert_eq!(ContentHash::of(&many), pieces.finish());
        assert_ne!(ContentHash::of(&many), ContentHash::of(&many[1..]));
    }

    #[test]
    fn text_that_is_no_version_is_refused() {
        for text in [
            "",
            "b3:",
            "b3:zz",
            "at:",
            "etag",
            &format!("b3:{}+", "0".repeat(64)),
        ] {
            assert_eq!(text.parse::<Version>(), Err(NotAVersion), "{text}");
        }
    }

    proptest! {
        #[test]
        fn p6_versions_round_trip_through_text(bytes: Vec<u8>, token in "[ -~]{0,40}") {
            let mut versions = vec![Version::of(&bytes).with_token(&token)];
            if !token.is_empty() {
                versions.push(Version::from_token(&token));
            }
            for version in versions {
                let json = serde_json::to_string(&version).unwrap();
                let back: Version = serde_json::from_str(&json).unwrap();
                prop_assert_eq!(back, version);
            }
        }
    }
}
