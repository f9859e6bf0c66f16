//! `str_replace_editor`: view, create, str_replace and insert behind one name.

mod view;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use schemars::JsonSchema;
use seamfs_core::gate::GateFacts;
use seamfs_core::options::Purpose;
use seamfs_core::replace::{Insert, Replace};
use seamfs_core::text::quote;
use seamfs_core::{
    EditOutcome, ErrorCode, FsError, Operation, ResolveOptions, Result, Retry, Target, Transform,
    Version, cas,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arguments::{self, Integer, check_replacement, invalid, refuse_nul};
use crate::cards::{CallKind, Presentation};
use crate::edit::{bom_note, lines_of, mixed_note, pairs};
use crate::mutate::sentences;
use crate::result::{ToolError, ToolOutput, with_notes};
use crate::scope::{Place, Scope};
use crate::tool::{
    Annotations, Tool, ToolSpec, mutation_schema, observation_sentence, output_schema,
    positive_option, unknown_option,
};
use crate::write;

/// The most characters of a view unless told otherwise.
const MAX_OUTPUT_CHARS: usize = 16_000;

/// The most characters of `old_str` that an error quotes.
const MOST_QUOTED: usize = 160;

/// Four commands over one file, in the manner of models trained on such an editor.
#[derive(Clone, Copy, Debug)]
pub struct StrReplaceEditor {
    max_output_chars: usize,
}

impl Default for StrReplaceEditor {
    fn default() -> Self {
        Self {
            max_output_chars: MAX_OUTPUT_CHARS,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Command {
    View,
    Create,
    StrReplace,
    Insert,
}

impl Command {
    const fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Create => "create",
            Self::StrReplace => "str_replace",
            Self::Insert => "insert",
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to do.
    command: Command,
    /// The absolute path of the file; of a file or folder for `view`.
    path: String,
    /// The content of the new file. Needed by `create`.
    #[serde(default)]
    #[schemars(with = "String")]
    file_text: Option<String>,
    /// The text to replace, which must occur exactly once. Needed by `str_replace`.
    #[serde(default)]
    #[schemars(with = "String")]
    old_str: Option<String>,
    /// The text to put in its place (empty if not given), or the text to insert. Needed by
    /// `insert`.
    #[serde(default)]
    #[schemars(with = "String")]
    new_str: Option<String>,
    /// The row to insert after; 0 is before the first. Needed by `insert`.
    #[serde(default)]
    #[schemars(with = "u64")]
    insert_line: Option<Integer>,
    /// For `view` of a file: the first and the last row to show, `-1` being the end.
    #[serde(default)]
    #[schemars(with = "Vec<i64>", length(min = 2, max = 2))]
    view_range: Option<Vec<Integer>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output<'a> {
    /// The command that was run.
    command: Command,
    /// The file or folder, as the next call accepts it.
    path: &'a str,
    /// `create`: always `create`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    operation: Option<&'static str>,
    /// `str_replace` and `insert`: how many places changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize")]
    replacements: Option<usize>,
    /// `str_replace` and `insert`: the 1-based, inclusive line ranges that the new text occupies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<[u64; 2]>")]
    ranges: Option<Vec<[u64; 2]>>,
    /// `view` of a file: how many rows it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    total_lines: Option<u64>,
    /// `view` of a file: the first and the last row shown, as `[first, last]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "[u64; 2]")]
    view_range: Option<[u64; 2]>,
    /// `view` of a folder: what it holds, two levels deep.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<view::OutputEntry>")]
    entries: Option<Vec<view::OutputEntry>>,
    /// `view`: whether the text was clipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    clipped: Option<bool>,
    /// The version of the file's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    version: Option<&'a Version>,
    /// Facts worth knowing.
    notes: Vec<String>,
}

impl<'a> Output<'a> {
    fn of(command: Command, path: &'a str) -> Self {
        Self {
            command,
            path,
            operation: None,
            replacements: None,
            ranges: None,
            total_lines: None,
            view_range: None,
            entries: None,
            clipped: None,
            version: None,
            notes: Vec::new(),
        }
    }
}

#[async_trait]
impl Tool for StrReplaceEditor {
    fn name(&self) -> &'static str {
        "str_replace_editor"
    }

    fn mutates(&self) -> bool {
        true
    }

    fn spec(&self, facts: &GateFacts) -> ToolSpec {
        let observed = observation_sentence(
            facts,
            "`str_replace` and `insert` need the file to have been viewed first, and are refused \
             with what changed when its bytes changed since.",
        );
        ToolSpec {
            name: self.name(),
            title: "View and edit files",
            description: format!(
                "Views files and folders and edits text. `view` shows a file as numbered rows, or \
                 a folder two levels deep; `create` makes a new file and never replaces one; \
                 `str_replace` replaces `old_str`, which must occur exactly once, by `new_str`; \
                 `insert` puts `new_str` after row `insert_line`. Paths are absolute. Text is \
                 literal. Output over {} characters is clipped.{observed}",
                self.max_output_chars
            ),
            input_schema: mutation_schema::<Arguments>(facts),
            output_schema: output_schema::<Output<'_>>(),
            annotations: Annotations {
                read_only: false,
                destructive: true,
                idempotent: false,
            },
            system_prompt: None,
        }
    }

    fn set_option(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "maxOutputChars" => self.max_output_chars = positive_option(key, value)?,
            _ => return Err(unknown_option(self.name(), key, &["maxOutputChars"])),
        }
        Ok(())
    }

    async fn run(&self, scope: &mut Scope, arguments: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = arguments::parse(arguments)?;
        check_applicable(&arguments)?;
        check_absolute(scope, &arguments.path).await?;
        match arguments.command {
            Command::View => self.view(scope, arguments).await,
            Command::Create => create(scope, arguments).await,
            Command::StrReplace => str_replace(scope, arguments).await,
            Command::Insert => insert(scope, arguments).await,
        }
    }
}

/// Refuses a parameter that the command does not take; silence would hide a mistake.
fn check_applicable(arguments: &Arguments) -> Result<()> {
    let command = arguments.command;
    let given = [
        (
            "file_text",
            arguments.file_text.is_some(),
            command == Command::Create,
        ),
        (
            "old_str",
            arguments.old_str.is_some(),
            command == Command::StrReplace,
        ),
        (
            "new_str",
            arguments.new_str.is_some(),
            matches!(command, Command::StrReplace | Command::Insert),
        ),
        (
            "insert_line",
            arguments.insert_line.is_some(),
            command == Command::Insert,
        ),
        (
            "view_range",
            arguments.view_range.is_some(),
            command == Command::View,
        ),
    ];
    match given.iter().find(|(_, given, taken)| *given && !taken) {
        None => Ok(()),
        Some((name, ..)) => Err(invalid(format!(
            "`{name}` is no parameter of `{}`; leave it out",
            command.name()
        ))),
    }
}

/// Refuses a relative path with the absolute one that it most likely means.
async fn check_absolute(scope: &Scope, path: &str) -> Result<()> {
    if path.trim().is_empty() || path.starts_with('/') {
        return Ok(());
    }
    let resolve = async |path: &str| {
        let options = ResolveOptions {
            purpose: Purpose::Folder,
            ..ResolveOptions::default().in_context(scope.context())
        };
        scope.fs().resolve(path, &scope.cwd, options).await
    };
    let meant = resolve(path).await?;
    // A URL is absolute too, and only the file system knows its own: as a relative path the same
    // text leads elsewhere.
    if path.contains(":/") && resolve(&format!("./{path}")).await? != meant {
        return Ok(());
    }
    Err(FsError::new(
        ErrorCode::InvalidPath,
        format!(
            "the path is not absolute; did you mean {}?",
            meant.display()
        ),
    )
    .at(path.escape_debug().to_string()))
}

fn required<T>(command: Command, name: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| {
        invalid(format!(
            "`{name}` is missing; `{}` needs it",
            command.name()
        ))
    })
}

async fn create(scope: &mut Scope, arguments: Arguments) -> Result<ToolOutput, ToolError> {
    let text = required(Command::Create, "file_text", arguments.file_text)?;
    refuse_nul("file_text", &text)?;
    let place = scope.enter(&arguments.path, Purpose::File).await?;
    let bytes = Bytes::from(text);
    let outcome = scope
        .create(&place, bytes.clone())
        .await
        .map_err(|failed| match failed.error.code() {
            ErrorCode::AlreadyExists => {
                failed.advise("View it, then use str_replace or insert to change it.")
            }
            ErrorCode::StaleVersion => {
                failed.advise("View the path to confirm that it is gone, then create it.")
            }
            _ => failed,
        })?;
    let path = place.target().display();
    let notes = write::notes(&outcome, &bytes);
    let structured = Output {
        operation: Some("create"),
        version: Some(&outcome.version),
        notes: notes.clone(),
        ..Output::of(Command::Create, path)
    };
    Ok(ToolOutput {
        text: with_notes(
            write::confirmation(place.target(), &outcome, &bytes),
            &notes,
        ),
        structured: json!(structured),
        presentation: write::presentation(place.target(), &outcome, &bytes),
    })
}

async fn str_replace(scope: &mut Scope, arguments: Arguments) -> Result<ToolOutput, ToolError> {
    let old = required(Command::StrReplace, "old_str", arguments.old_str)?;
    let new = arguments.new_str.unwrap_or_default();
    check_replacement(("old_str", &old), ("new_str", &new))?;
    refuse_nul("new_str", &new)?;
    let quoted = quote(&old, MOST_QUOTED);
    let transform = Replace::once(old, new)?;
    let place = scope.enter(&arguments.path, Purpose::File).await?;
    let outcome = change(scope, &place, Arc::new(transform))
        .await
        .map_err(|failed| quoting(&quoted, failed))?;
    Ok(changed(Command::StrReplace, place.target(), &outcome))
}

/// Quotes `old_str` in what is said of it.
fn quoting(quoted: &str, failed: ToolError) -> ToolError {
    let ToolError { error, next_action } = failed;
    let error = match error.code() {
        code @ (ErrorCode::EditNotFound | ErrorCode::AmbiguousEdit) => {
            let message = format!("old_str {quoted}: {}", error.message());
            error.recast(code, message)
        }
        _ => error,
    };
    ToolError { error, next_action }
}

async fn insert(scope: &mut Scope, arguments: Arguments) -> Result<ToolOutput, ToolError> {
    let after = required(Command::Insert, "insert_line", arguments.insert_line)?;
    let text = required(Command::Insert, "new_str", arguments.new_str)?;
    refuse_nul("new_str", &text)?;
    let place = scope.enter(&arguments.path, Purpose::File).await?;
    let outcome = change(scope, &place, Arc::new(InsertAfter { after, text })).await?;
    Ok(changed(Command::Insert, place.target(), &outcome))
}

/// An insertion whose row may yet prove out of range, as only the file can tell.
struct InsertAfter {
    after: Integer,
    text: String,
}

impl Transform for InsertAfter {
    fn plan(
        &self,
        text: &seamfs_core::text::Text<'_>,
        version: &Version,
    ) -> Result<seamfs_core::TextEdit> {
        let rows = text.body().bytes().filter(|byte| *byte == b'\n').count() as u64 + 1;
        let after = self.after.within("insert_line", 0, rows)?;
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        Insert::after(after, self.text.as_str()).plan(text, version)
    }
}

/// Looks first, so that a missing file is a miss and not a refusal, then edits.
async fn change(
    scope: &Scope,
    place: &Place,
    transform: Arc<dyn Transform>,
) -> Result<EditOutcome, ToolError> {
    let there = scope
        .fs()
        .stat(place.target(), scope.stat_options())
        .await?;
    if there.is_none()
        && scope
            .fs()
            .lstat(place.target(), scope.stat_options())
            .await?
            .is_none()
    {
        let error = cas::not_found()
            .at(place.target().display())
            .during(Operation::Edit);
        scope.missed(place, &error);
        return Err(ToolError::from(error).advise("Check the path; use create to make the file."));
    }
    scope
        .edit(place, transform)
        .await
        .map_err(|failed| match failed.error.code() {
            ErrorCode::AmbiguousEdit => {
                failed.advise("Include more of the surrounding lines in old_str to make it unique.")
            }
            ErrorCode::NotObserved
                if failed.error.details().unseen_lines.is_none()
                    && failed.error.retry() != Retry::Never =>
            {
                failed.advise("View the file, then retry.")
            }
            _ => failed,
        })
}

fn changed(command: Command, target: &Target, outcome: &EditOutcome) -> ToolOutput {
    let (path, edit) = (target.display(), &outcome.edit);
    let mut notes = sentences(&outcome.notes);
    notes.extend(mixed_note(outcome));
    notes.extend(bom_note(outcome));
    let structured = Output {
        replacements: Some(edit.replacements),
        ranges: Some(pairs(&edit.ranges)),
        version: Some(&outcome.version),
        notes: notes.clone(),
        ..Output::of(command, path)
    };
    let verb = match command {
        Command::Insert => "Inserted into",
        _ => "Edited",
    };
    let text = match edit.replacements {
        0 => format!("No change to {path}: 0 replacements."),
        _ => format!("{verb} {path}, {}.", lines_of(&edit.ranges)),
    };
    let first = edit.ranges.first().map(|range| range.start);
    ToolOutput {
        text: with_notes(text, &notes),
        structured: json!(structured),
        presentation: Presentation::call("Edit", CallKind::Edit, path, first).with_edit(
            path,
            &outcome.before,
            edit,
        ),
    }
}
