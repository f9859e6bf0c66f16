//! The workspace: a file system, a gate and tools, put together.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use seamfs_core::SandboxMode;
use seamfs_core::escalation::Approver;
use seamfs_core::text::Trace;
use seamfs_core::{
    Actor, CallContext, ErrorCode, FileSystem, FsError, Gate, Purpose, ResolveOptions, Result,
    Rule, StatOptions,
};
use seamfs_policy::{
    Coverage, Detail, Ledger, Log, Metered, Observation, Past, PathRules, Quotas, Rebase, Ruled,
    Sandbox, Sandboxed, Screen, Screened,
};
use seamfs_tools::{Call, Caller, Tool, ToolSpec, Toolbox, catalogue};
use serde_json::Value;

use crate::config::places;
use crate::registry::{self, Options, Registry};

/// How long a call may take, waiting for its turn included, unless told otherwise.
const CALL_LIMIT: Duration = Duration::from_secs(120);

/// A file system, a gate and tools; what a host opens.
#[derive(Clone, Debug)]
pub struct Workspace {
    fs: Arc<dyn FileSystem>,
    toolbox: Toolbox,
    call_limit: Duration,
}

impl Workspace {
    /// Opens a workspace by URL or path, with the observation policy and every tool.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for an unknown scheme, naming those that exist; otherwise what kept
    /// the storage from being opened.
    pub async fn open(location: &str) -> Result<Self> {
        Self::builder().open(location).await
    }

    /// Starts to put a workspace together.
    pub fn builder() -> WorkspaceBuilder {
        WorkspaceBuilder::default()
    }

    /// Returns the file system.
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// Returns what a model sees of each tool.
    pub fn tools(&self) -> Vec<ToolSpec> {
        self.toolbox.specs()
    }

    /// Returns whether there is a tool of this name.
    pub fn has_tool(&self, name: &str) -> bool {
        self.toolbox.has(name)
    }

    /// Returns the session of an actor; the same name is the same session.
    pub fn session(&self, name: &str) -> Session {
        Session {
            toolbox: self.toolbox.clone(),
            caller: Caller {
                actor: Actor::new(name),
                cwd: Arc::from(""),
                approver: None,
            },
            call_limit: self.call_limit,
        }
    }

    /// Checks that a folder can be worked in, and returns its path as results show it.
    ///
    /// # Errors
    /// As [`FileSystem::resolve`]; `FS_NOT_FOUND` or `FS_NOT_DIRECTORY` when it is no folder.
    pub async fn folder(&self, path: &str) -> Result<String> {
        let options = ResolveOptions {
            purpose: Purpose::Folder,
            ..ResolveOptions::default()
        };
        let target = self.fs.resolve(path, "", options).await?;
        let there = self.fs.stat(&target, StatOptions::default()).await?;
        match there {
            Some(metadata) if metadata.is_directory() => Ok(target.display().to_owned()),
            Some(_) => Err(
                FsError::new(ErrorCode::NotDirectory, "this is not a folder").at(target.display()),
            ),
            // A folder that is only a prefix exists once something is in it.
            None if !self.fs.capabilities(Some(&target)).hierarchy => {
                Ok(target.display().to_owned())
            }
            None => Err(FsError::new(ErrorCode::NotFound, "no such folder").at(target.display())),
        }
    }
}

/// One actor in a workspace: what it has seen is its own.
#[derive(Clone, Debug)]
pub struct Session {
    toolbox: Toolbox,
    caller: Caller,
    call_limit: Duration,
}

impl Session {
    /// Returns the same session with another working folder, where relative paths start.
    #[must_use]
    pub fn with_cwd(mut self, cwd: &str) -> Self {
        self.caller.cwd = Arc::from(cwd);
        self
    }

    /// Returns the same session with somebody of its own who may widen the mode of single calls.
    #[must_use]
    pub fn asking(mut self, approver: Arc<dyn Approver>) -> Self {
        self.caller.approver = Some(approver);
        self
    }

    /// Returns the session's name.
    pub fn name(&self) -> &str {
        self.caller.actor.as_str()
    }

    /// Begins a call of a tool.
    ///
    /// Calls take effect in the order in which they were begun, wherever they touch the same
    /// file. A small one that waits for nobody is over when this returns; every other runs as a
    /// task, and dropping the returned future withdraws it.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn call(&self, tool: &str, arguments: Value) -> Call {
        self.call_in(
            tool,
            arguments,
            CallContext::default().within(self.call_limit),
        )
    }

    /// Begins a call of a tool in a context of the host's own.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn call_in(&self, tool: &str, arguments: Value, context: CallContext) -> Call {
        self.toolbox.call(&self.caller, tool, arguments, context)
    }

    /// Begins another session that knows what this one knows, such as a sub-agent's.
    ///
    /// From then on they go their own ways. What a session of that name knew before is forgotten.
    #[must_use]
    pub fn fork(&self, name: &str) -> Self {
        let mut fork = self.clone();
        fork.caller.actor = Actor::new(name);
        let gate = self.toolbox.gate();
        gate.fork(&self.caller.actor, &fork.caller.actor);
        fork
    }

    /// Says that the model no longer has in its context what it saw of a file.
    ///
    /// The file then counts as unseen until it is read again.
    ///
    /// # Errors
    /// As [`FileSystem::resolve`].
    pub async fn evicted(&self, path: &str) -> Result<()> {
        let fs = self.toolbox.fs();
        let options = ResolveOptions::default();
        let target = fs.resolve(path, &self.caller.cwd, options).await?;
        let gate = self.toolbox.gate();
        gate.evicted(&self.caller.actor, Some(target.key()));
        Ok(())
    }

    /// Says that the model no longer has in its context what it saw of any file.
    pub fn evicted_all(&self) {
        self.toolbox.gate().evicted(&self.caller.actor, None);
    }

    /// Ends the session: what it has seen is forgotten.
    pub fn end(self) {
        self.toolbox.gate().forget(&self.caller.actor);
    }
}

/// Puts a workspace together.
#[derive(Debug)]
pub struct WorkspaceBuilder {
    registry: Registry,
    options: Options,
    rules: Option<Vec<Arc<dyn Rule>>>,
    coverage: bool,
    rebase: bool,
    past: Option<Past>,
    sandbox: Option<SandboxMode>,
    path_rules: Option<PathRules>,
    own_files: Vec<PathBuf>,
    quotas: Quotas,
    screen: Screen,
    approver: Option<Arc<dyn Approver>>,
    tools: Vec<Box<dyn Tool>>,
    call_limit: Duration,
}

impl Default for WorkspaceBuilder {
    fn default() -> Self {
        Self {
            registry: Registry::default(),
            options: Options::default(),
            rules: None,
            coverage: false,
            rebase: false,
            past: None,
            sandbox: None,
            path_rules: None,
            own_files: Vec::new(),
            quotas: Quotas::default(),
            screen: Screen::default().allowing(Trace::Elision),
            approver: None,
            tools: catalogue(),
            call_limit: CALL_LIMIT,
        }
    }
}

impl WorkspaceBuilder {
    /// Uses other schemes than the built-in ones.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets an option of the storage, such as `quota` for `memory:`.
    #[must_use]
    pub fn option(mut self, key: &str, value: &str) -> Self {
        self.options.set(key, value);
        self
    }

    /// Asks that the very lines were shown before they are changed, and all before an overwrite.
    #[must_use]
    pub fn coverage(mut self) -> Self {
        self.coverage = true;
        self
    }

    /// Lets a stale edit land where the lines around it are still as they were seen.
    #[must_use]
    pub fn rebase(mut self) -> Self {
        self.rebase = true;
        self
    }

    /// Begins with what a log holds of this workspace's sessions, and keeps it in step.
    ///
    /// # Errors
    /// What keeps the log from being read.
    pub fn log(mut self, log: Arc<dyn Log>) -> Result<Self> {
        self.past = Some(Past::load(log)?);
        Ok(self)
    }

    /// Replaces the rules; none at all leaves every mutation unguarded and still atomic.
    ///
    /// [`coverage`](Self::coverage), [`rebase`](Self::rebase) and [`log`](Self::log) are about
    /// the rules of the workspace's own, which these take the place of.
    #[must_use]
    pub fn rules(mut self, rules: impl IntoIterator<Item = Arc<dyn Rule>>) -> Self {
        self.rules = Some(rules.into_iter().collect());
        self
    }

    /// Confines mutations to a mode. Default full access.
    #[must_use]
    pub fn sandbox(mut self, mode: SandboxMode) -> Self {
        self.sandbox = Some(mode);
        self
    }

    /// Hides paths, denies them or keeps them read-only. Default none; no grant widens these.
    #[must_use]
    pub fn path_rules(mut self, rules: PathRules) -> Self {
        self.path_rules = Some(rules).filter(|rules| !rules.is_empty());
        self
    }

    /// Keeps files of the operator's own read-only, such as a configuration, where they lie in a
    /// folder that is opened by its place on the host. No pattern and no grant widens this.
    #[must_use]
    pub fn keeping(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own_files.extend(files);
        self
    }

    /// Bounds how much may be written. Default nothing.
    #[must_use]
    pub fn quotas(mut self, quotas: Quotas) -> Self {
        self.quotas = quotas;
        self
    }

    /// Replaces the screen that keeps tools' own text out of files.
    ///
    /// Default every kind of it but elisions: a rewrite that carries one is let through, with the
    /// note of how much it drops. A [`Config`](crate::Config) keeps those out too.
    #[must_use]
    pub fn screen(mut self, screen: Screen) -> Self {
        self.screen = screen;
        self
    }

    /// Lets somebody widen the mode of single calls that ask for it.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Limits how long a call may take, waiting for its turn included. Default two minutes.
    #[must_use]
    pub fn call_limit(mut self, limit: Duration) -> Self {
        self.call_limit = limit;
        self
    }

    /// Offers only these tools, in this order.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for a name that is no tool, naming those that exist, and for one
    /// that is named twice; also for no name at all.
    pub fn tools<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut chosen = Vec::new();
        for name in names {
            let at = self.position(name)?;
            if chosen.contains(&at) {
                let message = format!("the tool `{name}` is named twice");
                return Err(FsError::new(ErrorCode::InvalidArgument, message));
            }
            chosen.push(at);
        }
        if chosen.is_empty() {
            let message = "no tool is named; name one at the least, or leave it at all of them";
            return Err(FsError::new(ErrorCode::InvalidArgument, message));
        }
        let mut tools: Vec<_> = self.tools.into_iter().map(Some).collect();
        self.tools = chosen.iter().filter_map(|at| tools[*at].take()).collect();
        Ok(self)
    }

    /// Sets an option of a tool, such as `max_lines` of `read`.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for an unknown tool or option, naming those that exist.
    pub fn tool_option(mut self, tool: &str, key: &str, value: &str) -> Result<Self> {
        let at = self.position(tool)?;
        self.tools[at].set_option(key, value)?;
        Ok(self)
    }

    fn position(&self, name: &str) -> Result<usize> {
        let found = self.tools.iter().position(|tool| tool.name() == name);
        found.ok_or_else(|| {
            let names: Vec<_> = self.tools.iter().map(|tool| tool.name()).collect();
            FsError::new(
                ErrorCode::InvalidArgument,
                format!("there is no tool `{name}`; there are {}", names.join(", ")),
            )
        })
    }

    /// Opens the storage and puts everything together.
    ///
    /// # Errors
    /// As [`Workspace::open`]; `FS_INVALID_ARGUMENT` for a path pattern that spells the folder's
    /// own place on the host, naming its relative form.
    pub async fn open(mut self, location: &str) -> Result<Workspace> {
        if let Some(root) = registry::folder_of(location)? {
            let rules = match self.path_rules.take() {
                Some(rules) => rules,
                None => PathRules::builder().build()?,
            };
            let rules = places::placed(rules, &root, &self.own_files)?;
            self = self.path_rules(rules);
        }
        let fs = self.registry.open(location, self.options.clone()).await?;
        Ok(self.over(fs))
    }

    /// Puts everything together over a file system that is open already.
    pub fn over(mut self, fs: Arc<dyn FileSystem>) -> Workspace {
        let mut rules = match self.rules.take() {
            Some(rules) => rules,
            None => self.observing(&*fs),
        };
        let fs = self.confined(fs, &mut rules);
        let fs = match self.sandbox {
            None => fs,
            Some(mode) => {
                // First, so that a call that the mode forbids is not sent to read the file.
                rules.insert(0, Arc::new(Sandbox::new(mode)));
                Arc::new(Sandboxed::new(fs, mode))
            }
        };
        let mut gate = Gate::new(rules);
        if let Some(approver) = self.approver {
            gate = gate.with_approver(approver);
        }
        Workspace {
            toolbox: Toolbox::new(Arc::clone(&fs), gate, self.tools),
            fs,
            call_limit: self.call_limit,
        }
    }

    /// Puts the operator's policies over a file system: what refuses without a look at the file
    /// comes first.
    fn confined(
        &mut self,
        mut fs: Arc<dyn FileSystem>,
        rules: &mut Vec<Arc<dyn Rule>>,
    ) -> Arc<dyn FileSystem> {
        if !self.quotas.is_unbounded() {
            let metered = Metered::new(fs, self.quotas);
            rules.push(Arc::new(metered.rule()));
            fs = Arc::new(metered);
        }
        if !self.screen.is_open() {
            fs = Arc::new(Screened::new(fs, self.screen.clone()));
        }
        if let Some(path_rules) = self.path_rules.take() {
            let ruled = Ruled::new(fs, path_rules);
            rules.insert(0, Arc::new(ruled.rule()));
            fs = Arc::new(ruled);
        }
        fs
    }

    /// Makes the rules of the observation policy, all over one ledger.
    fn observing(&mut self, fs: &dyn FileSystem) -> Vec<Arc<dyn Rule>> {
        let detail = match (self.coverage, self.rebase) {
            (true, _) => Detail::Lines,
            (false, true) => Detail::Merges,
            (false, false) => Detail::Versions,
        };
        let mut ledger = Ledger::keeping(detail);
        if let Some(past) = self.past.take() {
            ledger = ledger.after(past, &fs.to_string());
        }
        let ledger = Arc::new(ledger);
        let mut rules: Vec<Arc<dyn Rule>> = vec![Arc::new(Observation::over(Arc::clone(&ledger)))];
        if self.coverage {
            rules.push(Arc::new(Coverage::over(Arc::clone(&ledger))));
        }
        if self.rebase {
            rules.push(Arc::new(Rebase::over(ledger)));
        }
        rules
    }
}
