//! The conformance suite over each of the operator's layers: what they let through is as it was.

use std::sync::Arc;

use seamfs::core::conformance::Subject;
use seamfs::policy::{Access, Metered, PathRules, Quotas, Ruled, Sandboxed, Screen, Screened};
use seamfs::providers::Memory;
use seamfs::{FileSystem, SandboxMode};

fn over(layer: fn(Arc<dyn FileSystem>) -> Arc<dyn FileSystem>) -> Subject {
    Subject::new(Memory::new()).layered(move |memory| layer(Arc::new(memory)))
}

fn ruled(inner: Arc<dyn FileSystem>) -> Arc<dyn FileSystem> {
    let rules = PathRules::builder()
        .secrets(Access::Hidden)
        .add(Access::Denied, ["no-claim-uses-this-name"]);
    let rules = rules.and_then(|rules| rules.build()).expect("patterns");
    Arc::new(Ruled::new(inner, rules))
}

fn metered(inner: Arc<dyn FileSystem>) -> Arc<dyn FileSystem> {
    let quotas = Quotas {
        file_bytes: Some(1 << 40),
        session_bytes: Some(1 << 40),
        workspace_bytes: Some(1 << 40),
        session_mutations: Some(1 << 40),
    };
    Arc::new(Metered::new(inner, quotas))
}

mod path_rules {
    use super::*;
    seamfs::core::conformance!(async || self::over(ruled));
}

mod quotas {
    use super::*;
    seamfs::core::conformance!(async || self::over(metered));
}

mod screen {
    use super::*;
    seamfs::core::conformance!(async || {
        self::over(|inner| Arc::new(Screened::new(inner, Screen::default())))
    });
}

mod mode {
    use super::*;
    seamfs::core::conformance!(async || {
        self::over(|inner| Arc::new(Sandboxed::new(inner, SandboxMode::WorkspaceWrite)))
    });
}
