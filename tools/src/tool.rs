//! What a tool is: a name, a schema and a run, with the texts that a model sees.

use std::fmt::Debug;

use async_trait::async_trait;
use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use seamfs_core::gate::GateFacts;
use seamfs_core::{ErrorCode, FsError, Result};
use serde::Serialize;
use serde_json::Value;

use crate::escalation;
use crate::result::{ToolError, ToolOutput};
use crate::scope::Scope;

/// A model-facing operation.
#[async_trait]
pub trait Tool: Debug + Send + Sync + 'static {
    /// Returns the name that calls use.
    fn name(&self) -> &'static str;

    /// Returns whether calls may change files; such tools let a model ask for a wider mode.
    fn mutates(&self) -> bool;

    /// Returns everything that a model is told about the tool under these rules.
    fn spec(&self, facts: &GateFacts) -> ToolSpec;

    /// Sets one of the tool's options from text.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` naming the options that exist, or what the value should be.
    fn set_option(&mut self, key: &str, value: &str) -> Result<()>;

    /// Runs one call: arguments first, then the gate, then the file.
    ///
    /// # Errors
    /// Whatever the model should read; nothing is then changed, unless the error says that the
    /// outcome is unknown.
    async fn run(&self, scope: &mut Scope, arguments: Value) -> Result<ToolOutput, ToolError>;
}

/// What a model sees of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolSpec {
    /// The name that calls use.
    pub name: &'static str,
    /// A short title for people.
    pub title: &'static str,
    /// What it does and what it asks of its caller.
    pub description: String,
    /// The JSON schema of the arguments.
    pub input_schema: Value,
    /// The JSON schema of the structured result of a success.
    pub output_schema: Value,
    /// Hints for hosts.
    pub annotations: Annotations,
    /// A short section for a system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
}

/// Hints about what a call may do, in the terms of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It may replace what is there.
    pub destructive: bool,
    /// The same call twice changes no more than once.
    pub idempotent: bool,
}

/// Makes the schema of a tool's arguments, where whatever has a default may be left out.
pub(crate) fn input_schema<T: JsonSchema>() -> Value {
    schema::<T>(Contract::Deserialize)
}

/// Makes the schema of a tool's value, where whatever may be skipped is not required.
pub(crate) fn output_schema<T: JsonSchema>() -> Value {
    schema::<T>(Contract::Serialize)
}

/// Makes the schema of a type, inlined and without the generator's own marks.
fn schema<T: JsonSchema>(contract: Contract) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.contract = contract;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Value::Object(root) = &mut schema {
        root.remove("title");
        root.remove("description");
    }
    strip_formats(&mut schema);
    schema
}

/// Numeric formats such as `uint64` are the generator's own and trip strict validators.
fn strip_formats(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("format");
            map.values_mut().for_each(strip_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_formats),
        _ => {}
    }
}

/// Makes the schema of a mutating tool's arguments: under a confining mode with the two fields
/// that ask for more, which always come together.
pub(crate) fn mutation_schema<T: JsonSchema>(facts: &GateFacts) -> Value {
    let mut schema = input_schema::<T>();
    if facts.confined.is_some()
        && let Some(Value::Object(properties)) = schema.get_mut("properties")
    {
        properties.extend(escalation::fields());
    }
    schema
}

/// Says how the observation policy concerns a mutating tool, when it is on.
pub(crate) fn observation_sentence(facts: &GateFacts, sentence: &str) -> String {
    match (facts.observation, facts.coverage) {
        (true, false) => format!(" {sentence}"),
        (true, true) => format!(" {sentence} Lines that were not shown cannot be replaced."),
        (false, _) => String::new(),
    }
}

/// Makes the error of an option that a tool does not have.
pub(crate) fn unknown_option(tool: &str, key: &str, options: &[&str]) -> FsError {
    FsError::new(
        ErrorCode::InvalidArgument,
        match options {
            [] => format!("the tool `{tool}` has no options, so no `{key}`"),
            _ => format!(
                "the tool `{tool}` has no option `{key}`; it has {}",
                options.join(", ")
            ),
        },
    )
}

/// Parses an option that counts something.
pub(crate) fn positive_option(key: &str, value: &str) -> Result<usize> {
    match value.parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(FsError::new(
            ErrorCode::InvalidArgument,
            format!("the option `{key}` takes a positive integer"),
        )),
    }
}
