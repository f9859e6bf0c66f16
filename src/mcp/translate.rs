//! The translation: tools and results in the protocol's words.

use std::sync::Arc;

use rmcp::model::{
    CallToolResult, ContentBlock, Implementation, JsonObject, ServerCapabilities, ServerConfig,
    Tool, ToolAnnotations,
};
use seamfs_tools::{ToolResult, ToolSpec};
use serde_json::Value;

/// Describes the server: its tools' sections of a system prompt, and where paths begin.
pub(super) fn config(specs: &[ToolSpec], root: &str) -> ServerConfig {
    let about = format!(
        "The workspace is {root}: paths are beneath it, and a path in a result can be used in \
         the next call as it stands."
    );
    let sections = specs
        .iter()
        .filter_map(|spec| spec.system_prompt.as_deref());
    let instructions: Vec<&str> = std::iter::once(&*about).chain(sections).collect();
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(Implementation::new("seamfs", env!("CARGO_PKG_VERSION")))
        .with_instructions(instructions.join("\n\n"))
}

/// Describes a tool.
pub(super) fn tool(spec: &ToolSpec) -> Tool {
    let hints = spec.annotations;
    Tool::new(
        spec.name,
        spec.description.clone(),
        schema(&spec.input_schema),
    )
    .with_title(spec.title)
    .with_raw_output_schema(schema(&spec.output_schema))
    .with_annotations(
        ToolAnnotations::with_title(spec.title)
            .read_only(hints.read_only)
            .destructive(hints.destructive)
            .idempotent(hints.idempotent)
            // Whatever is not in the workspace is out of reach.
            .open_world(false),
    )
}

/// Gives a result: the text that the model reads, and the same facts as a value.
pub(super) fn result(result: ToolResult) -> CallToolResult {
    let content = vec![ContentBlock::text(result.text.as_str())];
    let mut translated = match result.is_error() {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    translated.structured_content = Some(result.structured);
    translated
}

fn schema(value: &Value) -> Arc<JsonObject> {
    match value {
        Value::Object(schema) => Arc::new(schema.clone()),
        // A tool of a host's own may have been careless; the protocol wants an object.
        _ => Arc::default(),
    }
}
