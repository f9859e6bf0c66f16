//! Where scripts for whole processes play: memory, a folder on the disk, or a bucket over HTTP.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::servers::{self, BUCKET, Server};
use crate::support::{Verdict, ensure_eq};

/// A kind of storage that a process opens by its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Memory,
    Disk,
    /// A bucket of an S3 server in this process, over HTTP.
    S3,
}

impl Place {
    pub(super) const ALL: [Self; 3] = [Self::Memory, Self::Disk, Self::S3];

    /// Those that somebody outside of the process can write to.
    pub(super) const OUTSIDE: [Self; 2] = [Self::Disk, Self::S3];
}

/// Empty storage, with room for a configuration beside it.
#[derive(Debug)]
pub(super) struct Ground {
    place: Place,
    host: TempDir,
    server: Option<Server>,
}

impl Ground {
    pub(super) fn new(place: Place) -> Self {
        let host = tempfile::tempdir().expect("there is room for a folder");
        fs::create_dir(host.path().join("ws")).expect("there is room for a folder");
        Self {
            place,
            host,
            server: (place == Place::S3).then(servers::s3),
        }
    }

    /// Returns the options that open it, with paths that begin at `/` everywhere.
    pub(super) fn args(&self) -> Vec<String> {
        let (location, options) = match (&self.server, self.place) {
            (Some(server), _) => (format!("s3://{BUCKET}/ws"), server.s3_options()),
            (None, Place::Disk) => {
                let display = ("display".to_owned(), "virtual".to_owned());
                (self.inside("").display().to_string(), vec![display])
            }
            (None, _) => ("memory:".to_owned(), Vec::new()),
        };
        let mut args = vec!["--workspace".to_owned(), location];
        for (key, value) in options {
            args.extend(["-o".to_owned(), format!("{key}={value}")]);
        }
        args
    }

    /// Writes a configuration beside the workspace and returns the options that name both.
    pub(super) fn configured(&self, text: &str) -> Vec<String> {
        let file = self.host.path().join("seamfs.toml");
        fs::write(&file, text).expect("there is room for a file");
        let mut args = self.args();
        args.extend(["--config".to_owned(), file.display().to_string()]);
        args
    }

    /// Writes a file from outside, where there is an outside.
    pub(super) fn put(&self, path: &str, text: &str) {
        match (&self.server, self.place) {
            (Some(server), _) => server.store.put_foreign(&format!("ws/{path}"), text),
            (None, Place::Disk) => {
                let file = self.inside(path);
                let folder = file.parent().expect("a file is in a folder");
                fs::create_dir_all(folder).expect("there is room for a folder");
                fs::write(file, text).expect("there is room for a file");
            }
            (None, _) => {}
        }
    }

    /// Checks what somebody outside finds, where there is an outside.
    pub(super) fn holds(&self, path: &str, expected: Option<&str>) -> Verdict {
        let found = match (&self.server, self.place) {
            (Some(server), _) => server.store.bytes(&format!("ws/{path}")).map(Vec::from),
            (None, Place::Disk) => fs::read(self.inside(path)).ok(),
            (None, _) => return Ok(()),
        };
        let found = found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        ensure_eq!(
            found,
            expected.map(str::to_owned),
            "{path} on {:?}",
            self.place
        );
        Ok(())
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.host.path().join("ws").join(path)
    }
}

/// Returns an answer without what differs between storages: their versions.
pub(super) fn portable(mut answer: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !matches!(name.as_str(), "version" | "current_version"));
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut answer);
    answer
}
