//! Checks: what claims say of answers, each failure with what was expected and what was found.

use std::fmt::Debug;

use super::Failure;
use crate::error::{ErrorCode, FsError, Result};

/// Fails the claim with this sentence unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($sentence:tt)+) => {
        if !$holds {
            return Err($crate::conformance::Failure::new(format!($($sentence)+)));
        }
    };
}

/// Skips the claim for this reason unless the condition holds.
macro_rules! require {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Ok($crate::conformance::Verdict::Skipped(format!($($why)+)));
        }
    };
}

pub(super) use {ensure, require};

/// Checks that two values are equal.
pub(super) fn equal<T: PartialEq + Debug>(
    what: &str,
    found: T,
    expected: T,
) -> Result<(), Failure> {
    ensure!(
        found == expected,
        "{what}: expected {}, found {}",
        short(&expected),
        short(&found)
    );
    Ok(())
}

/// Checks that bytes are the expected ones.
pub(super) fn same_bytes(what: &str, found: &[u8], expected: &[u8]) -> Result<(), Failure> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match found == expected {
        true => Ok(()),
        false => equal(what, text(found), text(expected)).and(Err(Failure::new(format!(
            "{what}: the bytes differ where they are no text"
        )))),
    }
}

/// Checks that a call was refused with a code.
pub(super) fn refused<T: Debug>(
    what: &str,
    answer: Result<T>,
    code: ErrorCode,
) -> Result<FsError, Failure> {
    refused_as(what, answer, &[code])
}

/// Checks that a call was refused with one of several codes.
pub(super) fn refused_as<T: Debug>(
    what: &str,
    answer: Result<T>,
    codes: &[ErrorCode],
) -> Result<FsError, Failure> {
    let expected: Vec<_> = codes.iter().map(|code| code.as_str()).collect();
    let expected = expected.join(" or ");
    match answer {
        Err(error) if codes.contains(&error.code()) => Ok(error),
        Err(error) => Err(Failure::new(format!(
            "{what}: expected {expected}, found {error}"
        ))),
        Ok(value) => Err(Failure::new(format!(
            "{what}: expected {expected}, but it succeeded with {}",
            short(&value)
        ))),
    }
}

/// Shows a value, bounded: contents of many bytes say nothing in a report.
fn short(value: &impl Debug) -> String {
    const MOST: usize = 300;
    let mut text = format!("{value:?}");
    if let Some((at, _)) = text.char_indices().nth(MOST) {
        text.truncate(at);
        text.push('…');
    }
    text
}
