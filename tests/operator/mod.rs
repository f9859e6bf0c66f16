//! What an operator decides: path rules, quotas, the screen on content, modes and escalation, and
//! the configuration that says so.

mod approvals;
mod config;
mod content;
mod escalation;
mod ground;
mod layers;
mod quotas;
mod rules;
mod scripts;
mod terminal;

/// Makes a test of a claim for each backend, and one that a workspace which forgets what its
/// operator decided breaks it.
macro_rules! decided {
    ($decide:ident: $($name:ident),* $(,)?) => {
        mod memory {
            $(#[test]
            fn $name() {
                crate::support::check(crate::support::Backend::Memory, |stage| {
                    super::$name(stage, super::$decide)
                });
            })*
        }

        mod local {
            $(#[test]
            fn $name() {
                crate::support::check(crate::support::Backend::Local, |stage| {
                    super::$name(stage, super::$decide)
                });
            })*
        }

        mod s3 {
            $(#[test]
            fn $name() {
                crate::support::check(crate::support::Backend::S3, |stage| {
                    super::$name(stage, super::$decide)
                });
            })*
        }

        mod forgetful {
            $(#[test]
            #[should_panic(expected = "on Memory")]
            fn $name() {
                crate::support::check(crate::support::Backend::Memory, |stage| {
                    super::$name(stage, |builder, _| builder)
                });
            })*
        }
    };
}

use decided;
