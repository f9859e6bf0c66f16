//! The command line: arguments in, results on stdout, logs on stderr.

pub(crate) mod batch;
mod call;
mod demo;
mod doctor;
mod mcp;
pub(crate) mod open;
mod prompt;
mod show;
mod tools;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// What a command came to; the process exits with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// 0.
    Success,
    /// 1: the tool reported an error.
    ToolError,
    /// 2: the call itself was wrong, or the workspace could not be opened.
    Usage,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::SUCCESS,
            Outcome::ToolError => Self::from(1),
            Outcome::Usage => Self::from(2),
        }
    }
}

/// Guarded file tools for AI agents, over local folders, memory and object stores.
///
/// An edit lands on exactly the bytes that the agent saw and touches nothing else, or it fails
/// and says why.
#[derive(Debug, Parser)]
#[command(name = "seamfs", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Call one tool and print its result.
    ///
    /// The text for the model goes to stdout, an error's too. Exit codes: 0 success, 1 the tool
    /// reported an error, 2 usage.
    ///
    /// Example: seamfs call -w ./project read '{"file_path": "src/main.rs", "limit": 40}'
    #[command(verbatim_doc_comment)]
    Call(call::CallArgs),
    /// Serve the tools to an MCP client over stdin and stdout.
    ///
    /// Offers read, write and edit unless --tools says otherwise. The client starts the process
    /// and ends it by closing stdin; logs go to stderr (RUST_LOG).
    ///
    /// Example: seamfs mcp /srv/project
    #[command(verbatim_doc_comment)]
    Mcp(mcp::McpArgs),
    /// Answer JSON lines: one call a line in, one result a line out.
    ///
    /// A line is {"session": "s1", "tool": "read", "args": {…}, "cwd": "src"}; session, args and
    /// cwd may be left out. A line {"parallel": [call, …]} runs its calls at once. A line
    /// {"session": "s1", "signal": S} tells of the session itself: S is {"fork": "s2"} (s2 begins
    /// with what s1 has seen), {"evicted": "path"} or {"evicted": null} (the model lost it from its
    /// context) or "end". Each line is answered and flushed before the next is read. Exit code 0,
    /// or 2 for usage.
    #[command(verbatim_doc_comment)]
    Batch(batch::BatchArgs),
    /// Show the tools as a model sees them.
    Tools(tools::ToolsArgs),
    /// Run the conformance suite against your own store.
    ///
    /// Every claim runs in a scratch folder with an unpredictable name, which is removed
    /// afterwards; nothing else is touched. Exit codes: 0 all claims held, 1 a claim failed, 2
    /// usage.
    ///
    /// Example: seamfs doctor s3://bucket/project
    #[command(verbatim_doc_comment)]
    Doctor(doctor::DoctorArgs),
    /// Walk through a guided session on an embedded workspace.
    Demo,
}

/// The options that say which workspace, and what may be done in it.
#[derive(Clone, Debug, Args)]
pub(crate) struct WorkspaceArgs {
    /// The workspace: a path, or a URL such as memory: or file:///srv/project. Default the current
    /// folder.
    #[arg(short, long, value_name = "URL|PATH")]
    pub(crate) workspace: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// What may be done in a workspace, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct Settings {
    /// A configuration, as docs/operators.md describes; other options override it.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<std::path::PathBuf>,
    /// An option of the storage; may be repeated with other keys.
    #[arg(short = 'o', value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) options: Vec<(String, String)>,
    /// The working folder, where relative paths start.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// Whether files must be seen before they are changed. Default observe.
    #[arg(long, value_enum)]
    pub(crate) policy: Option<Policy>,
    /// Require that the very lines were shown before they are changed.
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Let a stale edit land where the lines around it are unchanged since they were seen.
    #[arg(long)]
    pub(crate) rebase: bool,
    /// Keep what sessions have seen in this file, and begin with what it holds.
    #[arg(long, value_name = "F")]
    pub(crate) session_file: Option<std::path::PathBuf>,
    /// What may be changed: nothing, the workspace, or every mount. Default full-access.
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) sandbox: Option<Mode>,
    /// The tools to offer: names with commas between them, or all.
    #[arg(long, value_name = "A,B|all")]
    pub(crate) tools: Option<String>,
    /// An option of a tool, such as read.max_lines=500; may be repeated.
    #[arg(long = "tool-option", value_name = "TOOL.KEY=VALUE", value_parser = key_value)]
    pub(crate) tool_options: Vec<(String, String)>,
    /// How firmly a local file is stored before a call returns.
    #[arg(long, value_name = "none|data|full")]
    pub(crate) durability: Option<String>,
}

/// Which rules stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// Read before write; what changed since is refused.
    Observe,
    /// No rules; mutations are unconditional and still atomic.
    None,
}

/// Which mutations are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// No mutation.
    ReadOnly,
    /// The workspace's own root.
    WorkspaceWrite,
    /// Every mount.
    FullAccess,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("must be KEY=VALUE".to_owned()),
    }
}

pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    init_logs();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            show::error(&format!("the runtime did not start: {error}"));
            return Outcome::Usage.into();
        }
    };
    let outcome = runtime.block_on(run(cli.command));
    // A blocked read of stdin must not keep the process alive after its work is done.
    runtime.shutdown_background();
    outcome.into()
}

async fn run(command: Command) -> Outcome {
    match command {
        Command::Mcp(args) => mcp::run(args).await,
        Command::Call(args) => call::run(args).await,
        Command::Batch(args) => batch::run(args).await,
        Command::Tools(args) => tools::run(args).await,
        Command::Doctor(args) => doctor::run(args).await,
        Command::Demo => demo::run().await,
    }
}

fn init_logs() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // Complaining on stderr that stderr is gone would be a panic.
        .log_internal_errors(false)
        .init();
}
