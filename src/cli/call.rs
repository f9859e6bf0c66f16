//! `seamfs call`: one call, its text on stdout.

use clap::Args;
use serde_json::Value;

use super::{Outcome, WorkspaceArgs, open, prompt, show};

/// The session that a single call acts as.
const SESSION: &str = "cli";

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    workspace: WorkspaceArgs,
    /// Print the whole result as JSON.
    #[arg(long)]
    json: bool,
    /// The tool, as `seamfs tools` lists it.
    tool: String,
    /// Its arguments, a JSON object.
    #[arg(value_name = "JSON")]
    arguments: String,
}

pub(crate) async fn run(args: CallArgs) -> Outcome {
    let arguments: Value = match serde_json::from_str(&args.arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            show::error(&format!(
                "the arguments are not JSON, from line {line}, byte {column} on"
            ));
            return Outcome::Usage;
        }
    };
    let opened = match open::open_asking(&args.workspace, &[], prompt::approver()).await {
        Ok(opened) => opened,
        Err(error) => {
            show::error(&error.to_string());
            return Outcome::Usage;
        }
    };
    if !opened.workspace.has_tool(&args.tool) {
        let names: Vec<_> = opened
            .workspace
            .tools()
            .iter()
            .map(|tool| tool.name)
            .collect();
        show::error(&format!(
            "there is no tool `{}`; there are {}",
            args.tool,
            names.join(", ")
        ));
        return Outcome::Usage;
    }
    let result = opened.session(SESSION).call(&args.tool, arguments).await;
    if args.json {
        show::line(&show::result_value(SESSION, &args.tool, &result).to_string());
    } else {
        show::text(&result);
    }
    match result.is_error() {
        true => Outcome::ToolError,
        false => Outcome::Success,
    }
}
