//! `edit`: one literal replacement, exactly where the old text stands.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use seamfs_core::gate::GateFacts;
use seamfs_core::options::Purpose;
use seamfs_core::replace::Replace;
use seamfs_core::text::LineRange;
use seamfs_core::text::decode::BOM;
use seamfs_core::{EditOutcome, ErrorCode, Result, Target, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arguments::{self, check_replacement, refuse_nul};
use crate::cards::{CallKind, Presentation};
use crate::mutate::sentences;
use crate::result::{ToolError, ToolOutput, with_notes};
use crate::scope::Scope;
use crate::tool::{
    Annotations, Tool, ToolSpec, mutation_schema, observation_sentence, output_schema,
    unknown_option,
};

/// Replaces literal text in a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file to edit: absolute, or relative to the working folder.
    file_path: String,
    /// The text to replace, exactly as the file has it and without line numbers.
    #[schemars(length(min = 1))]
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence instead of the only one.
    #[serde(default, deserialize_with = "arguments::flag")]
    replace_all: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output<'a> {
    /// The file, as the next call accepts it.
    path: &'a str,
    /// How many places were replaced; 0 when no byte changed.
    replacements: usize,
    /// Whether every occurrence was asked for.
    replace_all: bool,
    /// The 1-based, inclusive line ranges that the new text occupies, as `[first, last]`; the
    /// first thousand.
    ranges: Vec<[u64; 2]>,
    /// The version of the bytes now stored.
    #[schemars(with = "String")]
    version: &'a Version,
    /// Facts worth knowing.
    notes: Vec<String>,
}

#[async_trait]
impl Tool for Edit {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn mutates(&self) -> bool {
        true
    }

    fn spec(&self, facts: &GateFacts) -> ToolSpec {
        let observed = observation_sentence(
            facts,
            "The file must have been read first; an edit of bytes that changed since is refused \
             with what changed.",
        );
        ToolSpec {
            name: self.name(),
            title: "Edit a file",
            description: format!(
                "Replaces literal text in a file and touches nothing else. `old_string` must \
                 occur exactly once unless `replace_all` is true; no pattern or escape is \
                 interpreted. Line feeds match the file's own line endings, which are kept.{observed}"
            ),
            input_schema: mutation_schema::<Arguments>(facts),
            output_schema: output_schema::<Output<'_>>(),
            annotations: Annotations {
                read_only: false,
                destructive: true,
                idempotent: false,
            },
            system_prompt: Some(format!(
                "Use `edit` to change a part of a file. Copy `old_string` exactly, with enough \
                 lines around it to be unique.{observed}"
            )),
        }
    }

    fn set_option(&mut self, key: &str, _: &str) -> Result<()> {
        Err(unknown_option("edit", key, &[]))
    }

    async fn run(&self, scope: &mut Scope, arguments: Value) -> Result<ToolOutput, ToolError> {
        let Arguments {
            file_path,
            old_string,
            new_string,
            replace_all,
        } = arguments::parse(arguments)?;
        check_replacement(("old_string", &old_string), ("new_string", &new_string))?;
        refuse_nul("new_string", &new_string)?;
        let transform = match replace_all {
            true => Replace::all(old_string, new_string)?,
            false => Replace::once(old_string, new_string)?,
        };
        let place = scope.enter(&file_path, Purpose::File).await?;
        let outcome = scope
            .edit(&place, Arc::new(transform))
            .await
            .map_err(advised)?;
        Ok(output(place.target(), &outcome, replace_all))
    }
}

fn advised(failed: ToolError) -> ToolError {
    match failed.error.code() {
        ErrorCode::AmbiguousEdit => failed.advise(
            "Include more of the surrounding lines in old_string to make it unique, or set \
             replace_all to true.",
        ),
        ErrorCode::NotFound => failed.advise("Check the path; use write to create the file."),
        _ => failed,
    }
}

fn output(target: &Target, outcome: &EditOutcome, replace_all: bool) -> ToolOutput {
    let path = target.display();
    let edit = &outcome.edit;
    let mut notes = sentences(&outcome.notes);
    notes.extend(bom_note(outcome));
    notes.extend(mixed_note(outcome));
    notes.extend(ranges_note(&edit.ranges));
    let structured = Output {
        path,
        replacements: edit.replacements,
        replace_all,
        ranges: pairs(&edit.ranges),
        version: &outcome.version,
        notes: notes.clone(),
    };
    let first = edit.ranges.first().map(|range| range.start);
    ToolOutput {
        text: with_notes(confirmation(path, outcome, replace_all), &notes),
        structured: json!(structured),
        presentation: Presentation::call("Edit", CallKind::Edit, path, first).with_edit(
            path,
            &outcome.before,
            edit,
        ),
    }
}

fn confirmation(path: &str, outcome: &EditOutcome, replace_all: bool) -> String {
    let edit = &outcome.edit;
    match (edit.replacements, replace_all) {
        (0, _) => format!("No change to {path}: 0 replacements."),
        (count, true) => {
            let noun = if count == 1 {
                "replacement"
            } else {
                "replacements"
            };
            format!("Edited {path}: {count} {noun}, {}.", lines_of(&edit.ranges))
        }
        (_, false) => format!("Edited {path}, {}.", lines_of(&edit.ranges)),
    }
}

/// Returns the facts about a byte order mark that an edit left in place.
pub(crate) fn bom_note(outcome: &EditOutcome) -> Option<String> {
    outcome
        .before
        .starts_with(BOM)
        .then(|| "the file's byte order mark was kept".to_owned())
}

/// Returns the fact that a new text brought CRLF into a file that had LF alone.
pub(crate) fn mixed_note(outcome: &EditOutcome) -> Option<String> {
    let splices = outcome.edit.splices.as_slice();
    let brought = splices
        .iter()
        .any(|splice| splice.replacement.contains("\r\n"));
    // The file is looked through only where there is something to say.
    let had = |ending: &[u8]| memchr::memmem::find(&outcome.before, ending).is_some();
    (brought && had(b"\n") && !had(b"\r\n")).then(|| {
        "line endings are mixed now: the new text has CRLF, and the file had LF".to_owned()
    })
}

/// The most ranges that a value lists: a result is bounded, however many places changed.
const MOST_RANGES: usize = 1000;

fn ranges_note(ranges: &[LineRange]) -> Option<String> {
    (ranges.len() > MOST_RANGES).then(|| {
        format!(
            "`ranges` lists the first {MOST_RANGES} of {} places",
            ranges.len()
        )
    })
}

pub(crate) fn pairs(ranges: &[LineRange]) -> Vec<[u64; 2]> {
    ranges
        .iter()
        .take(MOST_RANGES)
        .map(|range| [range.start, range.end])
        .collect()
}

/// Names the lines of a few ranges.
pub(crate) fn lines_of(ranges: &[LineRange]) -> String {
    const MOST: usize = 20;
    let mut parts: Vec<_> = ranges
        .iter()
        .take(MOST)
        .map(|range| match range.start == range.end {
            true => range.start.to_string(),
            false => format!("{}-{}", range.start, range.end),
        })
        .collect();
    if ranges.len() > MOST {
        parts.push("…".to_owned());
    }
    let single = ranges.len() == 1 && ranges[0].start == ranges[0].end;
    format!(
        "{} {}",
        if single { "line" } else { "lines" },
        parts.join(", ")
    )
}
