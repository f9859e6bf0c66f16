//! What an operator decides: path rules, quotas, the screen on content, modes and escalation, and
//! the configuration that says so.

mod config;
mod content;
mod escalation;
mod layers;
mod quotas;
mod rules;
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

        mod object {
            $(#[test]
            fn $name() {
                crate::support::check(crate::support::Backend::Object, |stage| {
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
