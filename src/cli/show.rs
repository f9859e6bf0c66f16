//! What is printed, and where: results on stdout, everything else on stderr.

use std::io::{self, Write};

use seamfs::ToolResult;
use serde_json::{Value, json};

/// Prints a line of a result; a reader that went away is no error.
pub(crate) fn line(text: &str) -> bool {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
}

/// Prints a message for people.
pub(crate) fn error(message: &str) {
    let _ = writeln!(io::stderr(), "seamfs: {message}");
}

/// Returns a whole result as the value that `batch` and `call --json` print.
pub(crate) fn result_value(session: &str, tool: &str, result: &ToolResult) -> Value {
    json!({
        "session": session,
        "tool": tool,
        "is_error": result.is_error(),
        "code": result.code(),
        "text": result.text,
        "structured": result.structured,
        "meta": result.presentation,
    })
}

/// Prints the text of a result.
pub(crate) fn text(result: &ToolResult) {
    line(&result.text);
}
