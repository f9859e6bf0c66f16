//! Faults of identity: paths read otherwise than they are written, keys that are not identities.

use super::fault::prelude::*;

macro_rules! resolves {
    ($($(#[$doc:meta])* $fault:ident: |$fs:ident, $path:ident, $cwd:ident, $options:ident| $resolve:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $fault;

        #[async_trait]
        impl Fault for $fault {
            async fn resolve(
                &self,
                $fs: &Inner,
                $path: &str,
                $cwd: &str,
                $options: ResolveOptions,
            ) -> Result<Target> {
                $resolve
            }
        }
    )+};
}

resolves! {
    /// Makes something legal of every path.
    CleansPaths: |fs, path, cwd, options| match fs.resolve(path, cwd, options.clone()).await {
        Err(error) if error.code() == ErrorCode::InvalidPath => {
            fs.resolve(&clean(path), cwd, options).await
        }
        answer => answer,
    };
    /// Takes blanks at the ends of a name for an accident.
    TrimsNames: |fs, path, cwd, options| {
        let trimmed: Vec<_> = path.split('/').map(str::trim).collect();
        fs.resolve(&trimmed.join("/"), cwd, options).await
    };
    /// Takes names that differ in case for one.
    FoldsCase: |fs, path, cwd, options| fs.resolve(&path.to_lowercase(), cwd, options).await;
    /// Takes every path for a URL.
    DecodesPercent: |fs, path, cwd, options| {
        let decoded = path.replace("%20", " ").replace("%41", "A").replace("%2F", "/");
        fs.resolve(&decoded, cwd, options).await
    };
    /// Takes a path that leaves the root for one that stays.
    ClampsAtRoot: |fs, path, cwd, options| match fs.resolve(path, cwd, options.clone()).await {
        Err(error) if error.code() == ErrorCode::SandboxDenied => {
            fs.resolve(&path.replace("../", ""), cwd, options).await
        }
        answer => answer,
    };
    /// Takes every `..` for an attack.
    RefusesDots: |fs, path, cwd, options| match path.split('/').any(|step| step == "..") {
        true => Err(FsError::new(ErrorCode::SandboxDenied, "dots are refused")),
        false => fs.resolve(path, cwd, options).await,
    };
    /// Makes keys of spellings.
    KeysBySpelling: |fs, path, cwd, options| {
        let target = fs.resolve(path, cwd, options).await?;
        let odd = path.contains("//") || path.split('/').any(|step| step.starts_with('.'));
        Ok(keyed(target, if odd { "'" } else { "" }))
    };
    /// Makes another key once a file exists.
    KeysByExistence: |fs, path, cwd, options| {
        let target = fs.resolve(path, cwd, options).await?;
        let marked = keyed(target.clone(), "'");
        let mut there = fs.stat(&target, StatOptions::default()).await?.is_some();
        there |= fs.stat(&marked, StatOptions::default()).await?.is_some();
        Ok(if there { target } else { marked })
    };
    /// Starts every path at the root.
    IgnoresCwd: |fs, path, _cwd, options| fs.resolve(path, "", options).await;
    /// Shows paths without the root.
    ShowsRelative: |fs, path, cwd, options| {
        let target = fs.resolve(path, cwd, options).await?;
        Ok(Target::new(target.key().clone(), target.display().trim_start_matches('/')))
    };
    /// Shows paths as the host has them.
    ShowsHost: |fs, path, cwd, options| {
        let target = fs.resolve(path, cwd, options).await?;
        let (folder, _) = target.display().rsplit_once('/').unwrap_or_default();
        Ok(Target::new(target.key().clone(), format!("{folder}/host:{}", target.key().as_str())))
    };
    /// Takes the last link of a path for what was meant.
    NeverFollows: |fs, path, cwd, options| {
        let entry = ResolveOptions { purpose: Purpose::Entry, ..options };
        fs.resolve(path, cwd, entry).await
    };
    /// Makes keys of paths as they are written, links and all.
    LexicalKeys: |fs, path, cwd, options| {
        let target = fs.resolve(path, cwd, options).await?;
        Ok(Target::new(TargetKey::new(format!("/{path}")), target.display()))
    };
    /// Takes a link that escapes for one to a file within.
    FollowsEscapingLinks: |fs, path, cwd, options| match fs.resolve(path, cwd, options.clone()).await {
        Err(error) if error.code() == ErrorCode::SandboxDenied => {
            let (folder, _) = path.split_once('/').unwrap_or_default();
            fs.resolve(&format!("{folder}/followed"), cwd, options).await
        }
        answer => answer,
    };
}

/// Turns a refused path into one that is not.
fn clean(path: &str) -> String {
    let name = |name: &str| -> String {
        let mut kept: String = name
            .chars()
            .filter(|c| !c.is_control() && *c != '\\')
            .collect();
        while kept.len() > 255 {
            kept.pop();
        }
        kept
    };
    let mut steps: Vec<_> = path
        .trim()
        .split('/')
        .map(name)
        .filter(|step| !step.is_empty())
        .collect();
    while steps.join("/").len() > 1000 {
        steps.pop();
    }
    match steps.is_empty() {
        true => ".".to_owned(),
        false => steps.join("/"),
    }
}

fn keyed(target: Target, mark: &str) -> Target {
    Target::new(
        TargetKey::new(format!("{}{mark}", target.key().as_str())),
        target.display(),
    )
}

/// Removes what lies beneath a file when the file is written.
#[derive(Debug)]
pub(super) struct EatsChildren;

#[async_trait]
impl Fault for EatsChildren {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let child = fs.target(&format!("{}/y", target.display())).await?;
        let _ = fs.remove(&child, RemoveOptions::default()).await;
        fs.write(target, bytes, options).await
    }
}

/// Looks the path up anew at each use.
#[derive(Debug)]
pub(super) struct ResolvesAgain;

#[async_trait]
impl Fault for ResolvesAgain {
    async fn read(&self, fs: &Inner, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        fs.read(&fs.target(target.display()).await?, options).await
    }

    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        fs.write(&fs.target(target.display()).await?, bytes, options)
            .await
    }
}
