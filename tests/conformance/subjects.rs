//! What the kit runs over: each file system by its name, one test for every claim.

use object_store::memory::InMemory;
use seamfs::core::conformance::Subject;
use seamfs::core::conformance::doubles::Strict;
use seamfs::policy::Sandboxed;
use seamfs::providers::object::Conditions;
use seamfs::providers::{Memory, Object};
use seamfs::{FileSystem, SandboxMode};

use super::from_scratch::Flat;
use super::hands::{BucketHands, MemoryHands};

/// The names of the object stores that are talked to over HTTP.
pub(super) const S3: &str = "Object, S3 over HTTP";
pub(super) const GCS: &str = "Object, GCS over HTTP";

/// A file system that the kit runs over.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) name: &'static str,
    pub(crate) make: fn() -> Subject,
}

macro_rules! grounds {
    ($($(#[$attribute:meta])* $module:ident $name:expr => $make:expr;)+) => {
        /// Every file system that the kit runs over; the first ones are the plainest.
        pub(crate) const GROUNDS: &[Ground] = &[$(
            $(#[$attribute])*
            Ground { name: $name, make: || $make },
        )+];

        $(
            $(#[$attribute])*
            mod $module {
                #[allow(unused_imports)]
                use super::*;

                seamfs::core::conformance!(async || $make);
            }
        )+
    };
}

grounds! {
    memory "Memory" => self::with_hands();
    #[cfg(unix)]
    local "Local" => self::local_with(Default::default());
    #[cfg(unix)]
    local_virtual "Local, virtual" => self::local_with(LocalOptions::default().display(DisplayRoot::Virtual));
    memory_bounded "Memory, 8 MiB" => Subject::new(Memory::with_quota(8 << 20));
    flat "from scratch" => Subject::new(Flat::default());
    object "Object" => Subject::new(Object::new(std::sync::Arc::new(InMemory::new())));
    unconditional "Object, no conditions" => Subject::new(Object::builder(std::sync::Arc::new(InMemory::new())).conditions(Conditions::Refuse).open());
    s3 S3 => self::over_http(BucketHands::on_s3());
    gcs GCS => self::over_http(BucketHands::on_gcs());
    arc "`Arc<Memory>`" => self::with_hands().layered(|fs| -> std::sync::Arc<dyn FileSystem> { fs });
    boxed "`Box<Memory>`" => self::with_hands().layered(|fs| -> Box<dyn FileSystem> { Box::new(fs) });
    sandboxed "`Sandboxed<Memory>`" => self::with_hands().layered(|fs| Sandboxed::new(fs, SandboxMode::FullAccess));
    strict "`Strict<Memory>`" => self::with_hands().layered(|fs| Strict::new(fs, 7));
    strict_reduced "Strict, reduced" => self::with_hands().layered(|fs| Strict::new(fs, 7).without_options());
    strict_read_only "Strict, read-only" => self::with_hands().layered(|fs| Strict::new(fs, 7).read_only());
    #[cfg(unix)]
    strict_local "`Strict<Local>`" => self::local_with(Default::default()).layered(|fs| Strict::new(fs, 7));
}

fn with_hands() -> Subject {
    let memory = Memory::new();
    Subject::new(memory.clone()).with_outside(MemoryHands(memory))
}

/// A bucket of a server in this process; every claim talks to it over HTTP.
fn over_http(hands: BucketHands) -> Subject {
    Subject::new(hands.open()).with_outside(hands)
}

#[cfg(unix)]
use seamfs::providers::local::{DisplayRoot, Durability, Local, LocalOptions};

#[cfg(unix)]
fn local_with(options: LocalOptions) -> Subject {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().join("root");
    std::fs::create_dir(&root).expect("a root");
    let options = options.durability(Durability::None);
    let local = Local::open_with(&root, options.clone()).expect("it opens");
    Subject::new(local)
        .with_outside(super::hands::LocalHands { root, options })
        .keeping(folder)
}
