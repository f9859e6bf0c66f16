//! `seamfs tools`: what a model sees.

use clap::Args;
use serde_json::json;

use super::{Outcome, Settings, open, show};

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    settings: Settings,
    /// Print names, descriptions, schemas and system-prompt sections as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: ToolsArgs) -> Outcome {
    // No storage is touched to describe the tools: they are the same on every one.
    let workspace = match open::described(&args.settings).await {
        Ok(workspace) => workspace,
        Err(error) => {
            show::error(&error.to_string());
            return Outcome::Usage;
        }
    };
    let specs = workspace.tools();
    if args.json {
        let text = serde_json::to_string_pretty(&json!(specs)).expect("a spec is plain JSON");
        show::line(&text);
        return Outcome::Success;
    }
    for spec in specs {
        let mut text = format!("{}\n    {}\n", spec.name, spec.description);
        let required = spec.input_schema["required"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for (name, schema) in spec.input_schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
        {
            let needed = if required.iter().any(|r| r == name) {
                ""
            } else {
                "?"
            };
            let about = schema["description"].as_str().unwrap_or_default();
            text.push_str(&format!("    {name}{needed}: {about}\n"));
        }
        show::line(&text);
    }
    Outcome::Success
}
