//! `write`: a whole file, byte for byte as given.

use async_trait::async_trait;
use bytes::Bytes;
use schemars::JsonSchema;
use seamfs_core::gate::GateFacts;
use seamfs_core::options::Purpose;
use seamfs_core::text::{Endings, LineEnding, Text, counted};
use seamfs_core::{Result, Target, Version, WriteOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arguments::{self, refuse_nul};
use crate::cards::{CallKind, Presentation};
use crate::mutate::sentences;
use crate::result::{ToolError, ToolOutput, with_notes};
use crate::scope::Scope;
use crate::tool::{
    Annotations, Tool, ToolSpec, mutation_schema, observation_sentence, output_schema,
    unknown_option,
};

/// Creates or replaces a whole file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Write;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file to write: absolute, or relative to the working folder. Missing folders are made.
    file_path: String,
    /// The whole content, stored exactly as given.
    content: String,
}

/// What a whole-file write reports, for `write` and for the editor's `create`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output<'a> {
    /// The file, as the next call accepts it.
    path: &'a str,
    /// Whether the file was created or updated.
    #[schemars(with = "WriteOperation")]
    operation: WriteOperation,
    /// The version of the bytes written.
    #[schemars(with = "String")]
    version: &'a Version,
    /// Facts worth knowing.
    notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WriteOperation {
    Create,
    Update,
}

#[async_trait]
impl Tool for Write {
    fn name(&self) -> &'static str {
        "write"
    }

    fn mutates(&self) -> bool {
        true
    }

    fn spec(&self, facts: &GateFacts) -> ToolSpec {
        let observed = observation_sentence(
            facts,
            "An existing file must have been read first, and is replaced only if it has not \
             changed since.",
        );
        ToolSpec {
            name: self.name(),
            title: "Write a file",
            description: format!(
                "Creates a file or replaces a whole one, atomically and byte for byte as given; \
                 line endings are not converted. Missing folders are made. To change a part of a \
                 file use `edit`.{observed}"
            ),
            input_schema: mutation_schema::<Arguments>(facts),
            output_schema: output_schema::<Output<'_>>(),
            annotations: Annotations {
                read_only: false,
                destructive: true,
                idempotent: true,
            },
            system_prompt: Some(format!(
                "Use `write` for new files and complete rewrites; give the whole content.{observed}"
            )),
        }
    }

    fn set_option(&mut self, key: &str, _: &str) -> Result<()> {
        Err(unknown_option("write", key, &[]))
    }

    async fn run(&self, scope: &mut Scope, arguments: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = arguments::parse(arguments)?;
        refuse_nul("content", &arguments.content)?;
        let place = scope.enter(&arguments.file_path, Purpose::File).await?;
        let bytes = Bytes::from(arguments.content);
        let outcome = scope.write(&place, bytes.clone()).await?;
        let notes = notes(&outcome, &bytes);
        Ok(ToolOutput {
            text: with_notes(confirmation(place.target(), &outcome, &bytes), &notes),
            structured: json!(structured(place.target(), &outcome, notes)),
            presentation: presentation(place.target(), &outcome, &bytes),
        })
    }
}

pub(crate) fn structured<'a>(
    target: &'a Target,
    outcome: &'a WriteOutcome,
    notes: Vec<String>,
) -> Output<'a> {
    Output {
        path: target.display(),
        operation: match outcome.created {
            true => WriteOperation::Create,
            false => WriteOperation::Update,
        },
        version: &outcome.version,
        notes,
    }
}

pub(crate) fn confirmation(target: &Target, outcome: &WriteOutcome, bytes: &[u8]) -> String {
    let verb = if outcome.created {
        "Created"
    } else {
        "Updated"
    };
    format!(
        "{verb} {} ({}, {}).",
        target.display(),
        counted(line_count(bytes) as u64, "line"),
        counted(bytes.len() as u64, "byte")
    )
}

pub(crate) fn presentation(target: &Target, outcome: &WriteOutcome, bytes: &Bytes) -> Presentation {
    let verb = if outcome.created { "Create" } else { "Write" };
    let card = Presentation::call(verb, CallKind::Edit, target.display(), None);
    match (outcome.created, &outcome.before) {
        (true, _) => card.with_change(target.display(), None, bytes),
        (false, Some(before)) => card.with_change(target.display(), Some(before), bytes),
        (false, None) => card,
    }
}

/// Returns what the new content changes that its author may not have meant to.
pub(crate) fn notes(outcome: &WriteOutcome, after: &[u8]) -> Vec<String> {
    let mut notes = sentences(&outcome.notes);
    let texts = outcome
        .before
        .as_deref()
        .and_then(|before| Some((Text::decode(before).ok()?, Text::decode(after).ok()?)));
    if let Some((before, after)) = texts {
        notes.extend(convention_notes(&before, &after));
        notes.extend(shrink_note(&before, &after));
    }
    notes
}

fn convention_notes(before: &Text<'_>, after: &Text<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let (old, new) = (Endings::of(before.body()), Endings::of(after.body()));
    if let (Some(old), Some(new)) = (old.dominant(), new.dominant())
        && old != new
    {
        notes.push(format!(
            "line endings changed from {} to {}",
            name(old),
            name(new)
        ));
    }
    match (before.bom(), after.bom()) {
        (true, false) => notes.push("the byte order mark that the file had was removed".to_owned()),
        (false, true) => notes.push("the file now starts with a byte order mark".to_owned()),
        _ => {}
    }
    notes
}

/// A rewrite that loses more than half of a file of some size is often a mistake.
fn shrink_note(before: &Text<'_>, after: &Text<'_>) -> Option<String> {
    const SOME_SIZE: usize = 20;
    let (old, new) = (line_count(before.bytes()), line_count(after.bytes()));
    (old >= SOME_SIZE && new < old / 2).then(|| {
        format!(
            "large shrink: {old} lines became {new}, {} became {}; the version before was {}",
            counted(before.bytes().len() as u64, "byte"),
            after.bytes().len(),
            Version::of(before.bytes())
        )
    })
}

fn name(ending: LineEnding) -> &'static str {
    match ending {
        LineEnding::Lf => "LF",
        LineEnding::CrLf => "CRLF",
    }
}

fn line_count(bytes: &[u8]) -> usize {
    let ends = memchr::memchr_iter(b'\n', bytes).count();
    ends + usize::from(!bytes.is_empty() && !bytes.ends_with(b"\n"))
}
