//! Which call shows lines: what errors name when an actor should look before it goes on.

use seamfs_core::ErrorCode;
use serde_json::json;

use crate::result::ToolError;
use crate::scope::{Place, Scope};

/// The most lines that one `read` shows unless it is told otherwise.
const MOST_LINES: u64 = 2000;

/// The tool that looks with a command of its own.
const EDITOR: &str = "str_replace_editor";

impl Scope {
    /// Names the call that shows these lines, in the words of the tool that the model used.
    pub(crate) fn look_at(&self, place: &Place, (start, end): (u64, u64)) -> String {
        let path = place.target().display();
        match self.tool {
            EDITOR => {
                let args = json!({"command": "view", "path": path, "view_range": [start, end]});
                format!("{EDITOR} {args}")
            }
            _ => {
                let limit = (end.saturating_sub(start) + 1).min(MOST_LINES);
                let args = json!({"file_path": path, "offset": start, "limit": limit});
                format!("read {args}")
            }
        }
    }

    /// Names the call that shows a file from its beginning.
    pub(crate) fn look_again_at(&self, place: &Place) -> String {
        let path = place.target().display();
        match self.tool {
            EDITOR => format!("{EDITOR} {}", json!({"command": "view", "path": path})),
            _ => format!("read {}", json!({ "file_path": path })),
        }
    }

    /// Says what to do about a refusal because of unseen lines, and records what it shows.
    pub(crate) fn unseen(&self, place: &Place, failed: ToolError) -> ToolError {
        let details = failed.error.details();
        let (ErrorCode::NotObserved, Some(unseen)) = (failed.error.code(), &details.unseen_lines)
        else {
            return failed;
        };
        let excerpt = details.excerpt.as_ref();
        if let Some(excerpt) = excerpt {
            self.showed(place, excerpt);
        }
        let shown = |lines: &(u64, u64)| excerpt.is_some_and(|e| *lines == (e.line, e.line));
        let mut left = unseen.iter().filter(|lines| !shown(lines));
        match (left.next(), left.next()) {
            (None, _) => failed.without_reading().advise(
                "What is shown above of the line counts as seen now: retry the same call; no \
                 read is needed.",
            ),
            (Some(lines), None) => {
                let call = self.look_at(place, *lines);
                failed.advise(format!("Read the unseen lines with {call}, then retry."))
            }
            (Some(lines), Some(_)) => {
                let call = self.look_at(place, *lines);
                failed.advise(format!(
                    "Read the unseen lines, first with {call} and then the others, then retry."
                ))
            }
        }
    }
}
