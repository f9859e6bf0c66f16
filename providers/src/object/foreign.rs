//! Foreign keys: keys that `object_store` cannot express, carried through it under another name.
//!
//! One key such as `d//x` or `d/../z` makes the listing of its folder fail whole. Where the store
//! is spoken to over HTTP, the answer is amended before it is read: such a key is written as a
//! mark and hexadecimal digits, and turned back into what it is where names are shown.

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
use std::fmt::Write as _;

/// What no other name begins with; one that does is carried in the same way.
const MARK: &str = "\u{F8FF}seamfs-foreign-";

/// Returns the name that another was carried under.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
pub(super) fn encode(name: &str) -> String {
    let mut text = String::with_capacity(MARK.len() + name.len() * 2);
    text.push_str(MARK);
    for byte in name.bytes() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the name that was carried under another; none for any other name.
pub(super) fn decode(name: &str) -> Option<String> {
    let digits = name.strip_prefix(MARK)?.as_bytes();
    let bytes = digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect::<Option<Vec<u8>>>()?;
    String::from_utf8(bytes).ok()
}

/// Returns whether a name must be carried under another: `object_store` would refuse it.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
pub(super) fn is_foreign(name: &str) -> bool {
    matches!(name, "" | "." | "..")
        || name.starts_with(MARK)
        || name
            .bytes()
            .any(|byte| byte.is_ascii_control() || byte == b'/')
}

#[cfg(all(test, any(feature = "s3", feature = "gcs", feature = "azure")))]
mod tests {
    use super::*;

    #[test]
    fn foreign_names_survive_and_plain_ones_are_left_alone() {
        for name in ["", ".", "..", "a\u{7}b", "é\n", &encode("x")] {
            assert!(is_foreign(name), "{name:?}");
            assert_eq!(decode(&encode(name)).unwrap(), name);
            object_store::path::Path::parse(encode(name)).unwrap();
        }
        for name in ["a", "a.b", "...", "..a", "é", "a b"] {
            assert!(!is_foreign(name), "{name:?}");
            assert_eq!(decode(name), None);
        }
    }
}
