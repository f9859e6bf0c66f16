//! Opening the workspace that a configuration and the options describe.

use std::sync::Arc;

use seamfs::config::{self, Config, Offered};
use seamfs::core::escalation::Approver;
use seamfs::{ErrorCode, FsError, Result, SandboxMode, Session, Workspace};

use super::{Mode, Policy, Settings, WorkspaceArgs};

/// A workspace and the working folder that its sessions start in.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) workspace: Workspace,
    pub(crate) cwd: String,
}

impl Opened {
    /// Returns a session of the workspace in the folder of the options.
    pub(crate) fn session(&self, name: &str) -> Session {
        self.workspace.session(name).with_cwd(&self.cwd)
    }
}

/// Reads the configuration, if one is named, and lets the options override it.
pub(crate) fn configuration(settings: &Settings) -> Result<Config> {
    let mut config = match &settings.config {
        Some(file) => Config::load(file)?,
        None => Config::default(),
    };
    set_options(&mut config, &settings.options)?;
    if settings.durability.is_some() {
        config.durability.clone_from(&settings.durability);
    }
    for (option, value) in &settings.tool_options {
        let (tool, key) = option.split_once('.').ok_or_else(|| {
            let message = format!("`--tool-option {option}` must be TOOL.KEY=VALUE");
            FsError::new(ErrorCode::InvalidArgument, message)
        })?;
        // The last one that is set wins.
        let option = (tool.to_owned(), key.to_owned(), value.clone());
        config.tool_options.push(option);
    }
    match settings.tools.as_deref() {
        None => {}
        Some("all") => config.tools = Some(Offered::All),
        Some(names) => {
            let names = names.split(',').map(|name| name.trim().to_owned());
            config.tools = Some(Offered::Named(names.collect()));
        }
    }
    if let Some(mode) = settings.sandbox {
        config.sandbox = Some(match mode {
            Mode::ReadOnly => SandboxMode::ReadOnly,
            Mode::WorkspaceWrite => SandboxMode::WorkspaceWrite,
            Mode::FullAccess => SandboxMode::FullAccess,
        });
    }
    if let Some(policy) = settings.policy {
        config.policy = Some(match policy {
            Policy::Observe => config::Policy::Observe,
            Policy::None => config::Policy::None,
        });
    }
    config.coverage = settings.coverage.then_some(true).or(config.coverage);
    config.rebase = settings.rebase.then_some(true).or(config.rebase);
    if settings.session_file.is_some() {
        config.session_file.clone_from(&settings.session_file);
    }
    if settings.cwd.is_some() {
        config.cwd.clone_from(&settings.cwd);
    }
    Ok(config)
}

/// Lets options of the storage override those of a configuration.
pub(crate) fn set_options(config: &mut Config, options: &[(String, String)]) -> Result<()> {
    for (at, (key, value)) in options.iter().enumerate() {
        if options[..at].iter().any(|(known, _)| known == key) {
            let message = format!("the option `-o {key}` is given twice; give it once");
            return Err(FsError::new(ErrorCode::InvalidArgument, message));
        }
        config.options.insert(key.clone(), value.clone());
    }
    Ok(())
}

/// Opens a workspace; `tools` are offered unless others are named.
pub(crate) async fn open(args: &WorkspaceArgs, tools: &[&str]) -> Result<Opened> {
    open_asking(args, tools, None).await
}

/// Opens a workspace where somebody may widen the mode of single calls.
pub(crate) async fn open_asking(
    args: &WorkspaceArgs,
    tools: &[&str],
    approver: Option<Arc<dyn Approver>>,
) -> Result<Opened> {
    let mut config = configuration(&args.settings)?;
    offer(&mut config, tools);
    let mut builder = config.configure(config.storing(Workspace::builder()))?;
    if let Some(approver) = approver {
        builder = builder.approver(approver);
    }
    let location = args.workspace.as_deref().or(config.workspace.as_deref());
    let workspace = builder.open(location.unwrap_or(".")).await?;
    let cwd = match &config.cwd {
        None => String::new(),
        Some(cwd) => workspace.folder(cwd).await?,
    };
    Ok(Opened { workspace, cwd })
}

/// Offers these tools, or all for none, unless the operator named others.
fn offer(config: &mut Config, tools: &[&str]) {
    if config.tools.is_none() && !tools.is_empty() {
        let tools = tools.iter().map(|tool| (*tool).to_owned());
        config.tools = Some(Offered::Named(tools.collect()));
    }
}

/// Puts the tools together as a workspace of these settings has them, without its storage.
pub(crate) async fn described(settings: &Settings) -> Result<Workspace> {
    let mut config = configuration(settings)?;
    if config.file.is_some() {
        // What an operator's file leaves open is as for the agents that it is for.
        offer(&mut config, &super::mcp::TOOLS);
    }
    // No file of the operator's is touched to describe the tools, nor one of the workspace.
    config.session_file = None;
    let builder = config.configure(Workspace::builder())?;
    builder.open("memory:").await
}
