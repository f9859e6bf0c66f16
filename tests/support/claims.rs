//! Claims: async functions of a stage, made into one test for each backend they apply to.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::{Backend, Fault, Stage, Verdict};

/// How long a claim may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// Makes tests of claims: `everywhere` on each backend, `local` where links, modes and special
/// files are. Beside a claim stand the doubles that break it, or it might say nothing.
macro_rules! claims {
    (
        everywhere: [$($name:ident $(: [$($fault:ident),+])?),* $(,)?]
        $(, local: [$($local:ident),* $(,)?])? $(,)?
    ) => {
        mod memory {
            $(#[test]
            fn $name() {
                $crate::support::check($crate::support::Backend::Memory, super::$name);
            })*
        }

        mod local {
            $(#[test]
            fn $name() {
                $crate::support::check($crate::support::Backend::Local, super::$name);
            })*
            $($(#[test]
            fn $local() {
                $crate::support::check($crate::support::Backend::Local, super::$local);
            })*)?
        }

        mod object {
            $(#[test]
            fn $name() {
                $crate::support::check($crate::support::Backend::Object, super::$name);
            })*
        }

        mod s3 {
            $(#[test]
            fn $name() {
                $crate::support::check($crate::support::Backend::S3, super::$name);
            })*
        }

        mod gcs {
            $(#[test]
            fn $name() {
                $crate::support::check($crate::support::Backend::Gcs, super::$name);
            })*
        }

        mod broken {
            $($(#[test]
            fn $name() {
                $($crate::support::check_broken(
                    $crate::support::Fault::$fault,
                    super::$name,
                );)+
            })?)*
        }

        /// The claims of this file that hold everywhere, for servers that run them all at once.
        pub(crate) const EVERYWHERE: &[$crate::support::Claim] = &[$(
            $crate::support::Claim {
                name: stringify!($name),
                run: |stage| Box::pin($name(stage)),
            },
        )*];

        /// The doubles that break claims of this file.
        pub(crate) const FAULTS: &[$crate::support::Fault] =
            &[$($($($crate::support::Fault::$fault,)+)?)*];
    };
}

pub(crate) use claims;

/// A claim as data.
#[derive(Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Stage) -> LocalBoxFuture<'static, Verdict>,
}

impl Claim {
    /// Judges the claim on a sound backend.
    pub(crate) fn judge(self, backend: Backend) -> Verdict {
        judge(Stage::sound(backend), self.run)
    }
}

/// Judges a claim on a stage: a panic and a hang are broken claims too.
fn judge<F>(stage: Stage, claim: impl FnOnce(Stage) -> F) -> Verdict
where
    F: Future<Output = Verdict>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let verdict = runtime.block_on(async {
        let judged = AssertUnwindSafe(claim(stage)).catch_unwind();
        match tokio::time::timeout(PATIENCE, judged).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(_)) => Err("the claim panicked".to_owned()),
            Err(_) => Err("the claim hangs".to_owned()),
        }
    });
    runtime.shutdown_background();
    verdict
}

/// Checks a claim on a sound backend.
pub(crate) fn check<F>(backend: Backend, claim: impl FnOnce(Stage) -> F)
where
    F: Future<Output = Verdict>,
{
    if let Err(why) = judge(Stage::sound(backend), claim) {
        panic!("on {backend:?}: {why}");
    }
}

/// Checks that a claim notices a double.
pub(crate) fn check_broken<F>(fault: Fault, claim: impl FnOnce(Stage) -> F)
where
    F: Future<Output = Verdict>,
{
    let verdict = judge(Stage::broken(Backend::Memory, fault), claim);
    assert!(verdict.is_err(), "the claim does not notice {fault:?}");
}
