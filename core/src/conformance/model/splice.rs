//! Replacing, as the contract words it and nothing else in this crate does it.

use super::reference::{Refused, refused};
use crate::error::ErrorCode;

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
