//! Opening the workspace that the options describe.

use std::sync::Arc;

use seamfs::{
    ErrorCode, FsError, Result, SandboxMode, Session, SessionFile, Workspace, WorkspaceBuilder,
};

use super::{Mode, Policy, Settings};

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

/// Opens a workspace; `tools` are offered unless the options name others.
pub(crate) async fn open(location: &str, settings: &Settings, tools: &[&str]) -> Result<Opened> {
    let mut builder = Workspace::builder();
    for (key, value) in &settings.options {
        builder = builder.option(key, value);
    }
    if let Some(durability) = &settings.durability {
        builder = builder.option("durability", durability);
    }
    for (option, value) in &settings.tool_options {
        let (tool, key) = option.split_once('.').ok_or_else(|| {
            let message = format!("`--tool-option {option}` must be TOOL.KEY=VALUE");
            FsError::new(ErrorCode::InvalidArgument, message)
        })?;
        builder = builder.tool_option(tool, key, value)?;
    }
    builder = match settings.tools.as_deref() {
        Some("all") => builder,
        Some(names) => builder.tools(names.split(',').map(str::trim))?,
        None if tools.is_empty() => builder,
        None => builder.tools(tools.iter().copied())?,
    };
    match settings.sandbox {
        Mode::ReadOnly => builder = builder.sandbox(SandboxMode::ReadOnly),
        Mode::WorkspaceWrite => builder = builder.sandbox(SandboxMode::WorkspaceWrite),
        Mode::FullAccess => {}
    }
    builder = observing(builder, settings)?;
    let workspace = builder.open(location).await?;
    let cwd = match &settings.cwd {
        None => String::new(),
        Some(cwd) => workspace.folder(cwd).await?,
    };
    Ok(Opened { workspace, cwd })
}

/// Sets what must have been seen, and how long that is remembered.
fn observing(mut builder: WorkspaceBuilder, settings: &Settings) -> Result<WorkspaceBuilder> {
    let observing = settings.coverage || settings.rebase || settings.session_file.is_some();
    if settings.policy == Policy::None {
        return match observing {
            false => Ok(builder.rules([])),
            true => Err(FsError::new(
                ErrorCode::InvalidArgument,
                "`--coverage`, `--rebase` and `--session-file` need `--policy observe`",
            )),
        };
    }
    if settings.coverage {
        builder = builder.coverage();
    }
    if settings.rebase {
        builder = builder.rebase();
    }
    if let Some(path) = &settings.session_file {
        builder = builder.log(Arc::new(SessionFile::open(path)?))?;
    }
    Ok(builder)
}
