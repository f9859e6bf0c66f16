//! `seamfs doctor`: the conformance suite against a user's own store.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use seamfs::core::conformance::{self, Report, Scratch, Verdict};
use seamfs::core::{FileSystem, StatOptions};
use seamfs::{FileSystemExt, FsError, Workspace};
use serde_json::Value;

use super::{Outcome, key_value, show};

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The workspace: a path, or a URL such as memory: or file:///srv/project.
    #[arg(value_name = "WORKSPACE")]
    workspace: String,
    /// An option of the storage; may be repeated.
    #[arg(short = 'o', value_name = "KEY=VALUE", value_parser = key_value)]
    options: Vec<(String, String)>,
    /// How firmly a local file is stored before a call returns.
    #[arg(long, value_name = "none|data|full")]
    durability: Option<String>,
}

pub(crate) async fn run(args: DoctorArgs) -> Outcome {
    let workspace = match open(&args).await {
        Ok(workspace) => workspace,
        Err(error) => {
            show::error(&error.to_string());
            return Outcome::Usage;
        }
    };
    let fs = &**workspace.fs();
    // Listened for before anything is put, so that no signal finds nobody.
    let interrupted = match Interruption::listen() {
        Ok(interruption) => interruption.wait(),
        Err(error) => {
            show::error(&format!("signals cannot be listened for: {error}"));
            return Outcome::Usage;
        }
    };
    let folder = match unused_folder(fs).await {
        Ok(folder) => folder,
        Err(error) => {
            show::error(&error.to_string());
            return Outcome::Usage;
        }
    };
    show::line(&format!(
        "{fs}: every claim runs in {folder}, which is removed afterwards."
    ));
    show_capabilities(fs);
    let scratch = Scratch::new(&*folder);
    let reports = tokio::select! {
        biased;
        () = interrupted => None,
        reports = conformance::run(fs, &scratch, show_report) => Some(reports),
    };
    let cleared = clear(fs, &scratch).await;
    let Some(reports) = reports else {
        show::error("interrupted");
        return Outcome::ToolError;
    };
    summarise(&reports);
    match cleared && reports.iter().all(|report| report.answer.is_ok()) {
        true => Outcome::Success,
        false => Outcome::ToolError,
    }
}

async fn open(args: &DoctorArgs) -> Result<Workspace, FsError> {
    let mut builder = Workspace::builder().rules([]);
    for (key, value) in &args.options {
        builder = builder.option(key, value);
    }
    if let Some(durability) = &args.durability {
        builder = builder.option("durability", durability);
    }
    builder.open(&args.workspace).await
}

/// Names a folder that nobody can have guessed, and sees that it is not there.
async fn unused_folder(fs: &dyn FileSystem) -> Result<String, FsError> {
    loop {
        let folder = format!(".seamfs-doctor-{:016x}", random());
        let target = fs.target(&folder).await?;
        if fs.stat(&target, StatOptions::default()).await?.is_none() {
            return Ok(folder);
        }
    }
}

/// Returns a number that differs from run to run; the hasher's keys are random.
fn random() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    RandomState::new().hash_one((now, std::process::id()))
}

/// Removes the scratch folder; what stays is said.
async fn clear(fs: &dyn FileSystem, scratch: &Scratch) -> bool {
    match scratch.clear(fs).await {
        Ok(()) => true,
        Err(error) => {
            show::error(&format!(
                "{} could not be removed whole: {error}",
                scratch.root()
            ));
            false
        }
    }
}

/// The wish of the user, or of the system, that the process ends.
struct Interruption {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 2],
}

impl Interruption {
    #[cfg(unix)]
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            signals: [
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
            ],
        })
    }

    #[cfg(not(unix))]
    fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(unix)]
    async fn wait(self) {
        let [mut interrupted, mut terminated] = self.signals;
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    }

    #[cfg(not(unix))]
    async fn wait(self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

fn show_capabilities(fs: &dyn FileSystem) {
    show::line("\nCapabilities");
    let Ok(Value::Object(can)) = serde_json::to_value(fs.capabilities(None)) else {
        return;
    };
    for (name, value) in can {
        let value = match value {
            Value::String(text) => text,
            Value::Null => "none".to_owned(),
            other => other.to_string(),
        };
        show::line(&format!("  {:<18} {value}", name.replace('_', " ")));
    }
    show::line("\nClaims");
}

fn show_report(report: &Report) {
    let (state, why) = match &report.answer {
        Ok(Verdict::Held) => ("held", None),
        Ok(Verdict::Skipped(why)) => ("skipped", Some(why.clone())),
        Err(failure) => ("FAILED", Some(failure.to_string())),
    };
    let claim = format!(
        "  {state:<8} {:<6} {}",
        report.claim.id(),
        report.claim.sentence()
    );
    show::line(&match why {
        None => claim,
        Some(why) => format!("{claim}: {why}"),
    });
}

fn summarise(reports: &[Report]) {
    let mut counts = BTreeMap::new();
    for report in reports {
        let state = match &report.answer {
            Ok(Verdict::Held) => "held",
            Ok(Verdict::Skipped(_)) => "skipped",
            Err(_) => "failed",
        };
        *counts.entry(state).or_insert(0) += 1;
    }
    let count = |state| counts.get(state).copied().unwrap_or(0);
    show::line(&format!(
        "\n{} claims: {} held, {} failed, {} skipped.",
        reports.len(),
        count("held"),
        count("failed"),
        count("skipped")
    ));
}
