//! Where things are proved: each provider, with its storage as somebody outside sees it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use seamfs::FileSystem;
use seamfs::providers::local::{Durability, Local, LocalOptions};
use seamfs::providers::{Memory, Object};
use tempfile::TempDir;

use crate::servers::{self, BUCKET, Server};

/// A provider to prove something of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    Memory,
    Local,
    Object,
    /// An object store behind HTTP.
    S3,
}

impl Provider {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "Memory",
            Self::Local => "Local",
            Self::Object => "Object",
            Self::S3 => "S3",
        }
    }

    /// Opens empty storage.
    pub(super) fn open(self) -> Place {
        match self {
            Self::Memory => Place::over(Memory::new(), Storage::None),
            Self::Local => {
                let folder = tempfile::tempdir().expect("a temporary folder");
                let root = folder.path().join("root");
                std::fs::create_dir(&root).expect("a root");
                let options = LocalOptions::default().durability(Durability::None);
                let local = Local::open_with(&root, options).expect("it opens");
                Place::over(local, Storage::Folder(root, folder))
            }
            Self::Object => {
                let store = Arc::new(InMemory::new());
                let object = Object::new(Arc::clone(&store) as Arc<dyn ObjectStore>);
                Place::over(object, Storage::Keys(store))
            }
            Self::S3 => {
                let server = servers::s3();
                let url = format!("s3://{BUCKET}/proof");
                // Signing each byte of a body costs more than all else, without optimisation.
                let own = [
                    ("attempts", "5"),
                    ("patience", "20"),
                    ("unsigned_payload", "true"),
                ];
                let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
                let options = server.s3_options().into_iter().chain(own);
                let object = Object::connect(&url, options).expect("the options are right");
                Place::over(object, Storage::Server(server))
            }
        }
    }
}

#[derive(Debug)]
enum Storage {
    /// There is none beneath the file system.
    None,
    Folder(PathBuf, #[allow(dead_code)] TempDir),
    Keys(Arc<InMemory>),
    Server(Server),
}

/// A file system over storage of its own.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) fs: Arc<dyn FileSystem>,
    storage: Storage,
}

impl Place {
    fn over(fs: impl FileSystem, storage: Storage) -> Self {
        Self {
            fs: Arc::new(fs),
            storage,
        }
    }

    /// Returns the server, where one is behind the file system.
    pub(super) const fn server(&self) -> Option<&Server> {
        match &self.storage {
            Storage::Server(server) => Some(server),
            _ => None,
        }
    }

    /// Returns the names that the storage itself holds in a folder, litter included; none where
    /// only the file system could tell.
    pub(super) async fn raw_names(&self, folder: &str) -> Option<BTreeSet<String>> {
        let below = |keys: Vec<String>| -> BTreeSet<String> {
            let prefix = format!("{folder}/");
            let name = |key: &String| Some(key.split_once(&prefix)?.1.to_owned());
            keys.iter().filter_map(name).collect()
        };
        match &self.storage {
            Storage::None => None,
            Storage::Folder(root, _) => {
                let entries = std::fs::read_dir(root.join(folder)).expect("the folder is there");
                let name = |entry: std::io::Result<std::fs::DirEntry>| {
                    let name = entry.expect("it can be listed").file_name();
                    name.to_string_lossy().into_owned()
                };
                Some(entries.map(name).collect())
            }
            Storage::Keys(store) => {
                let found: Vec<_> = store.list(None).try_collect().await.expect("it lists");
                Some(below(
                    found
                        .iter()
                        .map(|found| found.location.to_string())
                        .collect(),
                ))
            }
            Storage::Server(server) => Some(below(server.store.keys())),
        }
    }
}
