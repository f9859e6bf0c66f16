//! `seamfs mcp`: the tools of a workspace over stdin and stdout.

use clap::Args;
use seamfs::mcp::Server;

use super::{Outcome, WorkspaceArgs, open, show};

/// What is offered unless the options name others: one way to edit, not two at once.
pub(super) const TOOLS: [&str; 3] = ["read", "write", "edit"];

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// The workspace, as with --workspace.
    #[arg(value_name = "WORKSPACE", conflicts_with = "workspace")]
    place: Option<String>,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

pub(crate) async fn run(mut args: McpArgs) -> Outcome {
    args.workspace.workspace = args.place.or(args.workspace.workspace);
    let served = match open::open(&args.workspace, &TOOLS).await {
        Ok(opened) => {
            Server::new(opened.workspace)
                .with_cwd(&opened.cwd)
                .serve_stdio()
                .await
        }
        Err(error) => Err(error),
    };
    match served {
        Ok(()) => Outcome::Success,
        Err(error) => {
            show::error(&error.to_string());
            Outcome::Usage
        }
    }
}
