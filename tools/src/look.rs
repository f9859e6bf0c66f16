//! Which call shows lines: what errors name when an actor should look before it goes on.

use seamfs_core::text::{NotText, StreamDecoder};
use seamfs_core::{ErrorCode, FsError, ReadOptions, Retry};
use serde_json::json;

use crate::result::ToolError;
use crate::scope::{Place, Scope};

/// The most lines that one `read` shows unless it is told otherwise.
const MOST_LINES: u64 = 2000;

/// How many of a file's first bytes are looked at to tell that it is no text: 8 KiB.
const BEGINNING: u64 = 8 << 10;

const NO_TEXT: &str = "What is no text cannot be read here, and what was not read is not changed, \
                       so no tool here changes this file: use another path, or ask whoever runs \
                       the workspace to replace it.";

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

    /// Says of a file that no session can have seen why that is, so that nobody is sent to read it.
    pub(crate) async fn unreadable(&self, place: &Place, failed: ToolError) -> ToolError {
        let unseen = failed.error.code() == ErrorCode::NotObserved;
        if !unseen || failed.error.details().unseen_lines.is_some() {
            return failed;
        }
        let there = self.fs.stat(&place.target, self.stat_options()).await;
        let Ok(Some(there)) = there else {
            return failed;
        };
        let never = |why: String, next: &'static str| {
            let error = failed.error.clone().recast(ErrorCode::NotObserved, why);
            ToolError::from(error.retry_as(Retry::Never)).advise(next)
        };
        if there.is_directory() {
            let why = "this is a folder, which no session can have read as a file";
            return never(why.to_owned(), "Name a file in it.");
        }
        match self.no_text(place).await {
            None => failed,
            Some(reason) => never(
                format!("this session has not read the file and none can: {reason}"),
                NO_TEXT,
            ),
        }
    }

    /// Returns why the beginning of a file is no text, if it is none.
    async fn no_text(&self, place: &Place) -> Option<NotText> {
        let options = ReadOptions {
            range: Some(0..BEGINNING),
            ..ReadOptions::default().in_context(&self.context)
        };
        let mut body = self.fs.read(&place.target, options).await.ok()?.body;
        let (mut decoder, mut looked_at) = (StreamDecoder::new(), 0);
        while let Some(piece) = body.next().await.ok()? {
            looked_at += piece.len() as u64;
            if let Err(reason) = decoder.push(&piece) {
                return Some(reason);
            }
        }
        // A character may be cut where the look ends, and not where the file does.
        let whole = looked_at < BEGINNING;
        whole.then(|| decoder.finish().err())?
    }

    /// Says what to do about a file that a look found to be no text.
    pub(crate) fn looked(&self, error: FsError) -> ToolError {
        match error.code() {
            ErrorCode::NotText if self.gate.facts().observation => {
                ToolError::from(error).advise(NO_TEXT)
            }
            _ => error.into(),
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
