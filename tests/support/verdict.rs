//! Verdicts: a claim returns why it does not hold, so that doubles can be tried on it too.

use seamfs::{ErrorCode, ToolResult};

/// Whether a claim holds; otherwise why not.
pub(crate) type Verdict = Result<(), String>;

/// Ends the claim with a reason unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($why:tt)+) => {
        if !$condition {
            return Err(format!("{}: {}", stringify!($condition), format_args!($($why)+)));
        }
    };
}

/// Ends the claim with both values unless they are equal.
macro_rules! ensure_eq {
    ($found:expr, $expected:expr) => {
        ensure_eq!($found, $expected, "")
    };
    ($found:expr, $expected:expr, $($why:tt)+) => {{
        let (found, expected) = (&$found, &$expected);
        if found != expected {
            return Err(format!(
                "{}\n   found: {found:?}\nexpected: {expected:?}\n{}",
                stringify!($found), format_args!($($why)+)
            ));
        }
    }};
}

pub(crate) use {ensure, ensure_eq};

/// What a claim expects of a result.
pub(crate) trait Checked: Sized {
    /// Expects success.
    fn ok(self) -> Result<Self, String>;

    /// Expects an error of this code.
    fn fails(self, code: ErrorCode) -> Result<Self, String>;

    /// Expects the text for the model to hold this.
    fn says(self, part: &str) -> Result<Self, String>;

    /// Expects the text for the model not to hold this.
    fn never_says(self, part: &str) -> Result<Self, String>;
}

impl Checked for ToolResult {
    fn ok(self) -> Result<Self, String> {
        match self.is_error() {
            true => Err(format!("should have succeeded: {}", self.text)),
            false => Ok(self),
        }
    }

    fn fails(self, code: ErrorCode) -> Result<Self, String> {
        let place = format!("should have failed {code}: {}", self.text);
        let error = &self.structured["error"];
        match self.code() == Some(code) && error["code"] == code.as_str() {
            true => Ok(self),
            false => Err(place),
        }
    }

    fn says(self, part: &str) -> Result<Self, String> {
        match self.text.contains(part) {
            true => Ok(self),
            false => Err(format!("should say {part:?}: {}", self.text)),
        }
    }

    fn never_says(self, part: &str) -> Result<Self, String> {
        match self.text.contains(part) {
            false => Ok(self),
            true => Err(format!("should not say {part:?}: {}", self.text)),
        }
    }
}
