//! The configuration: what an operator writes down once, in a file outside the workspace.
//!
//! Keys are named as the options of the command line are. What a file does not say keeps its
//! default, and a key that nobody knows is an error that names the nearest one.

#![allow(
    clippy::disallowed_methods,
    reason = "the configuration is the operator's own file, on the host, and no part of any \
              workspace"
)]

pub(crate) mod places;
mod section;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seamfs_core::text::Trace;
use seamfs_core::{ErrorCode, FsError, Operation, Result, SandboxMode};
use seamfs_policy::{Access, PathRules, PathRulesBuilder, Quotas, Screen};

use crate::workspace::WorkspaceBuilder;
use crate::{SessionFile, registry};
use section::Section;

/// The largest configuration that is read, in bytes: 1 MiB.
const LIMIT: u64 = 1 << 20;

/// Whether files must be seen before they are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Read before write; what changed since is refused.
    Observe,
    /// Mutations are unconditional and still atomic.
    None,
}

/// Which tools are offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offered {
    /// Every tool there is.
    All,
    /// These, in this order.
    Named(Vec<String>),
}

/// What an operator decided about a workspace; what is left open keeps its default.
#[derive(Clone, Default)]
pub struct Config {
    /// The file that this was read from, if it was.
    pub file: Option<PathBuf>,
    /// The workspace: a URL, or a path, relative to the configuration's own folder.
    pub workspace: Option<String>,
    /// Options of the storage.
    pub options: BTreeMap<String, String>,
    /// How firmly a local file is stored before a call returns.
    pub durability: Option<String>,
    /// The working folder, where relative paths start.
    pub cwd: Option<String>,
    /// Which mutations are allowed.
    pub sandbox: Option<SandboxMode>,
    /// Whether files must be seen before they are changed.
    pub policy: Option<Policy>,
    /// Whether the very lines must have been shown.
    pub coverage: Option<bool>,
    /// Whether a stale edit may land beside unchanged lines.
    pub rebase: Option<bool>,
    /// Where what sessions have seen is kept.
    pub session_file: Option<PathBuf>,
    /// Which tools are offered.
    pub tools: Option<Offered>,
    /// Options of tools, as tool, key and value.
    pub tool_options: Vec<(String, String, String)>,
    /// Paths that are hidden, denied or read-only.
    pub rules: PathRulesBuilder,
    /// How much may be written.
    pub quotas: Quotas,
    /// Which of the tools' own text is kept out of files.
    pub screen: Option<Screen>,
}

/// Options of a storage may be secrets: only their keys are shown.
impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("workspace", &self.workspace)
            .field("options", &self.options.keys())
            .field("sandbox", &self.sandbox)
            .field("policy", &self.policy)
            .field("tools", &self.tools)
            .field("quotas", &self.quotas)
            .field("screen", &self.screen)
            .finish_non_exhaustive()
    }
}

impl Config {
    /// Reads a configuration file; relative paths in it start at its own folder.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` or `FS_IO_ERROR` when it cannot be read, else as [`Config::parse`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let named = |error: FsError| {
            let message = format!("the configuration {}: {}", path.display(), error.message());
            let code = error.code();
            error.recast(code, message)
        };
        let text = read(path).map_err(named)?;
        let mut config = Self::parse(&text).map_err(named)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.workspace =
            config
                .workspace
                .map(|workspace| match registry::scheme_of(&workspace) {
                    Some(_) => workspace,
                    None => folder.join(workspace).to_string_lossy().into_owned(),
                });
        config.session_file = config.session_file.map(|file| folder.join(file));
        config.file = Some(path.to_owned());
        Ok(config)
    }

    /// Parses the text of a configuration.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` naming the line of text that is no TOML, the key that does not
    /// exist with the nearest one that does, or the value that does not fit.
    pub fn parse(text: &str) -> Result<Self> {
        let table = text
            .parse::<toml::Table>()
            .map_err(|error| no_toml(text, &error))?;
        let mut top = Section::top(table);
        let config = Self {
            file: None,
            workspace: top.location("workspace")?,
            options: options(&mut top)?,
            durability: top.text("durability")?,
            cwd: top.text("cwd")?,
            sandbox: top.choice(
                "sandbox",
                &[
                    ("read-only", SandboxMode::ReadOnly),
                    ("workspace-write", SandboxMode::WorkspaceWrite),
                    ("full-access", SandboxMode::FullAccess),
                ],
            )?,
            policy: top.choice(
                "policy",
                &[("observe", Policy::Observe), ("none", Policy::None)],
            )?,
            coverage: top.flag("coverage")?,
            rebase: top.flag("rebase")?,
            session_file: top.text("session-file")?.map(PathBuf::from),
            tools: top.names_or_all("tools")?,
            tool_options: tool_options(&mut top)?,
            rules: rules(&mut top)?,
            quotas: quotas(&mut top)?,
            screen: Some(screen(&mut top)?),
        };
        top.finish()?;
        Ok(config)
    }

    /// Puts the workspace together as decided here, but for its storage.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for what cannot be had together, or names no tool or option;
    /// otherwise what keeps the session file from being opened.
    pub fn configure(&self, mut builder: WorkspaceBuilder) -> Result<WorkspaceBuilder> {
        for (tool, key, value) in &self.tool_options {
            builder = builder.tool_option(tool, key, value)?;
        }
        if let Some(Offered::Named(names)) = &self.tools {
            builder = builder.tools(names.iter().map(String::as_str))?;
        }
        if let Some(mode) = self.sandbox.filter(|mode| *mode != SandboxMode::FullAccess) {
            builder = builder.sandbox(mode);
        }
        builder = builder
            .path_rules(self.rules.clone().build()?)
            .keeping(self.own_files())
            .quotas(self.quotas);
        if let Some(screen) = &self.screen {
            builder = builder.screen(screen.clone());
        }
        self.observing(builder)
    }

    /// Sets the options of the storage.
    #[must_use]
    pub fn storing(&self, mut builder: WorkspaceBuilder) -> WorkspaceBuilder {
        for (key, value) in &self.options {
            builder = builder.option(key, value);
        }
        match &self.durability {
            Some(durability) => builder.option("durability", durability),
            None => builder,
        }
    }

    /// Returns the operator's own files, which no tool changes where they lie in the workspace.
    fn own_files(&self) -> Vec<PathBuf> {
        let session_files = self.session_file.iter().flat_map(SessionFile::paths);
        self.file.iter().cloned().chain(session_files).collect()
    }

    /// Sets what must have been seen, and how long that is remembered.
    fn observing(&self, mut builder: WorkspaceBuilder) -> Result<WorkspaceBuilder> {
        let (coverage, rebase) = (self.coverage == Some(true), self.rebase == Some(true));
        if self.policy == Some(Policy::None) {
            return match coverage || rebase || self.session_file.is_some() {
                false => Ok(builder.rules([])),
                true => Err(invalid(
                    "`--coverage`, `--rebase` and `--session-file` need `--policy observe`",
                )),
            };
        }
        if coverage {
            builder = builder.coverage();
        }
        if rebase {
            builder = builder.rebase();
        }
        match &self.session_file {
            Some(path) => builder.log(Arc::new(SessionFile::open(path)?)),
            None => Ok(builder),
        }
    }
}

fn read(path: &Path) -> Result<String> {
    use std::io::Read;
    let failed = |error: std::io::Error| {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorCode::NotFound,
            _ => ErrorCode::IoError,
        };
        FsError::new(code, format!("it cannot be read: {error}")).during(Operation::Open)
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > LIMIT {
        return Err(invalid("it is larger than 1 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8"))
}

fn options(top: &mut Section) -> Result<BTreeMap<String, String>> {
    top.section("options")?
        .map_or(Ok(BTreeMap::new()), |section| {
            section.into_texts().map(BTreeMap::from_iter)
        })
}

fn tool_options(top: &mut Section) -> Result<Vec<(String, String, String)>> {
    let Some(section) = top.section("tool-options")? else {
        return Ok(Vec::new());
    };
    let mut options = Vec::new();
    for (tool, section) in section.into_sections()? {
        for (key, value) in section.into_texts()? {
            options.push((tool.clone(), key, value));
        }
    }
    Ok(options)
}

fn rules(top: &mut Section) -> Result<PathRulesBuilder> {
    let builder = PathRules::builder();
    let Some(mut section) = top.section("rules")? else {
        return Ok(builder);
    };
    let secrets = [
        ("hide", Access::Hidden),
        ("deny", Access::Denied),
        ("read-only", Access::ReadOnly),
        ("open", Access::Full),
    ];
    let mut builder = builder.secrets(section.choice("secrets", &secrets)?.unwrap_or_default());
    for (key, access) in &secrets[..3] {
        builder = builder
            .add(*access, section.names(key)?.unwrap_or_default())
            .map_err(|error| section.at(key, error.message()))?;
    }
    section.finish()?;
    Ok(builder)
}

fn quotas(top: &mut Section) -> Result<Quotas> {
    let Some(mut section) = top.section("quotas")? else {
        return Ok(Quotas::default());
    };
    let quotas = Quotas {
        file_bytes: section.size("file-bytes")?,
        session_bytes: section.size("session-bytes")?,
        workspace_bytes: section.size("workspace-bytes")?,
        session_mutations: section.count("session-mutations")?,
    };
    section.finish()?;
    Ok(quotas)
}

fn screen(top: &mut Section) -> Result<Screen> {
    let mut screen = Screen::default();
    let Some(mut section) = top.section("content")? else {
        return Ok(screen);
    };
    for trace in Trace::ALL {
        let choices = [("refuse", false), ("allow", true)];
        if section.choice(trace.as_str(), &choices)? == Some(true) {
            screen = screen.allowing(trace);
        }
    }
    section.finish()?;
    Ok(screen)
}

/// Says where text is no TOML. Of the line only the key is shown: a value may be a secret.
fn no_toml(text: &str, error: &toml::de::Error) -> FsError {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..at]
        .iter()
        .filter(|b| **b == b'\n')
        .count();
    let row = text.lines().nth(line).unwrap_or_default();
    let is_plain = |key: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !key.is_empty() && key.chars().all(plain)
    };
    let key = row
        .split_once('=')
        .map(|(key, _)| key.trim())
        .filter(is_plain);
    let key = key.map_or_else(String::new, |key| format!(", `{key}`"));
    let fault = match error.message() {
        // The largest that TOML asks for is 64 bits with a sign.
        fault if fault.starts_with("invalid type: integer") => "the number is too large",
        fault => fault,
    };
    invalid(format!("line {}{key}: {fault}", line + 1))
}

fn invalid(message: impl Into<String>) -> FsError {
    FsError::new(ErrorCode::InvalidArgument, message.into())
}

#[cfg(test)]
mod tests;
