//! `seamfs doctor`: the conformance suite against a user's own store.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use seamfs::core::conformance::{self, Report, Scratch, Verdict};
use seamfs::core::{FileSystem, StatOptions};
use seamfs::policy::Screen;
use seamfs::providers::Object;
use seamfs::providers::object::Conditions;
use seamfs::{CallContext, Config, ErrorCode, FileSystemExt, FsError, Workspace};
use serde_json::Value;

use super::open::set_options;
use super::{Outcome, key_value, show};

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The workspace: a path, or a URL such as memory: or file:///srv/project.
    #[arg(value_name = "WORKSPACE", required_unless_present = "config")]
    workspace: Option<String>,
    /// A configuration that names the workspace, its options or both.
    #[arg(long, value_name = "FILE")]
    config: Option<std::path::PathBuf>,
    /// An option of the storage; may be repeated.
    #[arg(short = 'o', value_name = "KEY=VALUE", value_parser = key_value)]
    options: Vec<(String, String)>,
    /// How firmly a local file is stored before a call returns.
    #[arg(long, value_name = "none|data|full")]
    durability: Option<String>,
}

pub(crate) async fn run(args: DoctorArgs) -> Outcome {
    let patient = match open(&args).await {
        Ok(patient) => patient,
        Err(error) => {
            show::error(&error.to_string());
            return Outcome::Usage;
        }
    };
    let fs = &*patient.fs;
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
    // What a store keeps is known once it was tried, and the capabilities say it then.
    if let Some(object) = &patient.object {
        show_conditions(object).await;
    }
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

/// What is examined: a file system, and the object store that it is, where it is one.
struct Patient {
    fs: Arc<dyn FileSystem>,
    object: Option<Object>,
}

/// Opens the bare storage: the suite judges what is beneath every policy.
async fn open(args: &DoctorArgs) -> Result<Patient, FsError> {
    let mut config = match &args.config {
        Some(file) => Config::load(file)?,
        None => Config::default(),
    };
    set_options(&mut config, &args.options)?;
    if args.durability.is_some() {
        config.durability.clone_from(&args.durability);
    }
    let location = args.workspace.as_deref().or(config.workspace.as_deref());
    let location = location.ok_or_else(|| {
        let message = "the configuration names no workspace; name one on the command line";
        FsError::new(ErrorCode::InvalidArgument, message)
    })?;
    if let Some(object) = open_object(location, &config).transpose()? {
        return Ok(Patient {
            fs: Arc::new(object.clone()),
            object: Some(object),
        });
    }
    let bare = Workspace::builder().rules([]).screen(Screen::open());
    let workspace = config.storing(bare).open(location).await?;
    Ok(Patient {
        fs: Arc::clone(workspace.fs()),
        object: None,
    })
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
fn open_object(location: &str, config: &Config) -> Option<Result<Object, FsError>> {
    let (scheme, _) = location.split_once(':')?;
    let known = seamfs::providers::object::SCHEMES;
    if !known.contains(&&*scheme.to_ascii_lowercase()) {
        return None;
    }
    let durability = config.durability.iter();
    let durability = durability.map(|value| ("durability".to_owned(), value.clone()));
    let options = config.options.clone().into_iter().chain(durability);
    Some(Object::connect(location, options))
}

#[cfg(not(any(feature = "s3", feature = "gcs", feature = "azure")))]
fn open_object(_: &str, _: &Config) -> Option<Result<Object, FsError>> {
    None
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

/// Shows which conditions of a write the store was found to keep, and how that is known.
async fn show_conditions(object: &Object) {
    let known = match object.conditions() {
        Conditions::Probe => "tried with a scratch object",
        Conditions::Trust => "taken to be kept, not tried",
        Conditions::Refuse => "not to be used, says the operator",
    };
    show::line(&format!("\nConditional writes: {known}"));
    match object.support(&CallContext::default()).await {
        Err(error) => {
            show::line(&format!("  could not be tried: {error}"));
        }
        Ok(support) => {
            for (condition, kept, without) in [
                ("create", support.create, "writes under this guard"),
                (
                    "replace a version",
                    support.update,
                    "writes under this guard and all edits",
                ),
            ] {
                let kept = match kept {
                    true => "kept".to_owned(),
                    false => format!("not kept, so {without} are refused"),
                };
                show::line(&format!("  {condition:<18} {kept}"));
            }
        }
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
