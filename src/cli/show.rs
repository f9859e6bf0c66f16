//! What is printed, and where: results on stdout, everything else on stderr.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use seamfs::ToolResult;
use seamfs::core::text::{Diff, DiffLineKind};
use serde_json::{Value, json};

/// Prints a line of a result; a reader that went away is no error.
pub(crate) fn line(text: &str) -> bool {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
}

/// Prints a value as a line of JSON, which holds nothing that a terminal would obey; a reader that
/// went away is no error.
pub(crate) fn json_line(value: &Value) -> bool {
    let line = format!("{value}\n");
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())
        .and_then(|()| out.flush())
        .is_ok()
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

/// Prints the text of a result; on a terminal also the change that it made.
pub(crate) fn text(result: &ToolResult) {
    line(&result.text);
    if io::stdout().is_terminal() {
        diff(result);
    }
}

/// Prints the change that a result carries, coloured where stdout is a terminal.
pub(crate) fn diff(result: &ToolResult) {
    const ADDED: Style = AnsiColor::Green.on_default();
    const REMOVED: Style = AnsiColor::Red.on_default();
    const HEADER: Style = AnsiColor::Cyan.on_default();
    for card in &result.presentation.diffs() {
        line(&format!("{HEADER}{}:{}{HEADER:#}", card.path, card.line));
        let old = card.old_text.as_deref().unwrap_or_default();
        let change = Diff::between(old, &card.new_text, 3);
        for row in change.hunks.iter().flat_map(|hunk| &hunk.lines) {
            let text = printable(&row.text);
            line(&match row.kind {
                DiffLineKind::Context => format!("  {text}"),
                DiffLineKind::Removed => format!("{REMOVED}- {text}{REMOVED:#}"),
                DiffLineKind::Added => format!("{ADDED}+ {text}{ADDED:#}"),
            });
        }
    }
}

/// Escapes what a terminal would obey instead of show.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c.is_control() && c != '\t' {
            true => c.escape_default().to_string(),
            false => c.to_string(),
        })
        .collect()
}
