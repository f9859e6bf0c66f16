//! Results: what a call gives back to the model, to programs and to people.

use std::borrow::Cow;
use std::fmt::Write as _;

use seamfs_core::{Details, ErrorCode, FsError, Retry};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cards::Presentation;

/// The most characters of a whole error text; what it quotes is bounded apart, well below.
const MOST_ERROR_CHARS: usize = 16_000;

/// What a tool makes of a success.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// The same facts as a value, by the tool's output schema.
    pub structured: Value,
    /// What a host may show to people.
    pub presentation: Presentation,
}

/// What a tool makes of a failure: the facts from below, and what to do next.
#[derive(Clone, Debug)]
pub struct ToolError {
    /// The facts.
    pub error: FsError,
    /// The next action, where there is a useful one.
    pub next_action: Option<Cow<'static, str>>,
}

impl From<FsError> for ToolError {
    fn from(error: FsError) -> Self {
        let next_action = remedy(error.code()).map(Cow::Borrowed);
        Self { error, next_action }
    }
}

impl ToolError {
    /// Says that no read is needed before the next attempt.
    #[must_use]
    pub(crate) fn without_reading(mut self) -> Self {
        self.error = self.error.retry_as(Retry::AsIs);
        self
    }

    /// Replaces the next action.
    #[must_use]
    pub fn advise(mut self, next_action: impl Into<Cow<'static, str>>) -> Self {
        self.next_action = Some(next_action.into());
        self
    }
}

/// The remedy that holds for a code whatever the tool; tools replace it where they know better.
fn remedy(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::StaleVersion => Some("Re-read the file, then retry."),
        ErrorCode::NotObserved => Some("Read the file, then retry."),
        ErrorCode::OutcomeUnknown => {
            Some("Re-read the file to learn whether the change is there before you retry.")
        }
        ErrorCode::Busy | ErrorCode::Timeout => Some("Retry the same call."),
        ErrorCode::QuotaExceeded => {
            Some("Only the operator can raise a quota; what is over it cannot be written.")
        }
        ErrorCode::EditNotFound => {
            Some("Read the lines around the place and copy the text exactly.")
        }
        _ => None,
    }
}

/// The error of a call, as a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorInfo {
    /// The code to branch on.
    pub code: ErrorCode,
    /// What a caller may usefully do.
    pub retry: Retry,
    /// The same in words.
    pub next_action: Option<String>,
    /// The typed facts.
    pub details: Details,
}

/// The whole result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// What the model reads; never empty.
    pub text: String,
    /// The value: by the tool's output schema, or `{"error": …}`.
    pub structured: Value,
    /// The error, for a call that failed.
    pub error: Option<ErrorInfo>,
    /// What a host may show to people.
    pub presentation: Presentation,
}

impl ToolResult {
    /// Returns whether the call failed.
    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }

    /// Returns the code of a call that failed.
    pub fn code(&self) -> Option<ErrorCode> {
        self.error.as_ref().map(|error| error.code)
    }
}

impl From<ToolOutput> for ToolResult {
    fn from(output: ToolOutput) -> Self {
        Self {
            text: output.text,
            structured: output.structured,
            error: None,
            presentation: output.presentation,
        }
    }
}

impl From<ToolError> for ToolResult {
    fn from(failed: ToolError) -> Self {
        let text = error_text(&failed);
        let error = ErrorInfo {
            code: failed.error.code(),
            retry: failed.error.retry(),
            next_action: failed.next_action.map(Cow::into_owned),
            details: failed.error.details().clone(),
        };
        Self {
            text,
            structured: json!({ "error": error }),
            error: Some(error),
            presentation: Presentation::default(),
        }
    }
}

impl From<Result<ToolOutput, ToolError>> for ToolResult {
    fn from(outcome: Result<ToolOutput, ToolError>) -> Self {
        match outcome {
            Ok(output) => output.into(),
            Err(failed) => failed.into(),
        }
    }
}

fn error_text(failed: &ToolError) -> String {
    let mut text = failed.error.to_string();
    if let Some(writer) = &failed.error.details().writer {
        let _ = write!(text, "\nThe last to write it was the session {writer:?}.");
    }
    if let Some(excerpt) = &failed.error.details().excerpt {
        let _ = write!(
            text,
            "\nLine {} from byte {} on:\n{}",
            excerpt.line, excerpt.start, excerpt.text
        );
    }
    if let Some(diff) = &failed.error.details().diff {
        let _ = write!(
            text,
            "\nWhat changed since this session last saw it:\n{}",
            diff.trim_end()
        );
    }
    if let Some(next_action) = &failed.next_action {
        let _ = write!(text, "\n{next_action}");
    }
    clip(text, MOST_ERROR_CHARS)
}

/// Keeps at most `most` characters, and says so where that cut something.
pub(crate) fn clip(mut text: String, most: usize) -> String {
    if text.len() > most
        && let Some((at, _)) = text.char_indices().nth(most)
    {
        let total = text.chars().count();
        text.truncate(at);
        let _ = write!(text, "\n[clipped: {most} of {total} characters shown]");
    }
    text
}

/// Appends notes to a confirmation, one a line.
pub(crate) fn with_notes(mut text: String, notes: &[String]) -> String {
    for note in notes {
        let _ = write!(text, "\nNote: {note}.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o7_the_next_action_is_added_by_the_tool_and_not_by_the_error() {
        let error = FsError::new(ErrorCode::StaleVersion, "the bytes differ").at("/a");
        assert!(!error.to_string().contains("read"));
        let result = ToolResult::from(ToolError::from(error));
        assert!(result.text.ends_with("Re-read the file, then retry."));
        assert_eq!(result.structured["error"]["code"], "FS_STALE_VERSION");
        assert_eq!(result.structured["error"]["retry"], "after_read");
    }

    #[test]
    fn t10_an_error_is_bounded_as_a_whole() {
        let error = FsError::new(ErrorCode::IoError, "é".repeat(100_000));
        let result = ToolResult::from(ToolError::from(error));
        assert!(result.text.chars().count() < MOST_ERROR_CHARS + 100);
        assert!(result.text.contains("[clipped:"));
    }
}
