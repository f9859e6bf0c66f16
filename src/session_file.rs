//! The session file: a log of what sessions have seen, on the host's disk.
//!
//! Each record is one line with a checksum, appended in one write. A process that is killed leaves
//! at the most a torn last line, which the next one ignores. The file is made short by writing a
//! new one beside it and renaming that over it. One process at a time has it open: another is
//! refused by a lock on `FILE.lock`, which a killed process lets go of.
//!
//! It belongs outside the workspace; where a configuration or the command line puts it inside, no
//! tool changes it. It names files and hashes of
//! their contents; it holds no text of them.

#![allow(
    clippy::disallowed_methods,
    reason = "the session file is the facade's own, on the host, and no part of any workspace"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};
use seamfs_core::{ContentHash, ErrorCode, FsError, Result};
use seamfs_policy::Log;

/// The largest session file that is read, in bytes: 256 MiB.
const LIMIT: u64 = 256 << 20;

/// A log in a file of the host's.
#[derive(Debug)]
pub struct SessionFile {
    path: PathBuf,
    /// Open for appending.
    file: Mutex<File>,
    /// Held for as long as the log is.
    lock: File,
}

impl SessionFile {
    /// Opens a session file, or creates an empty one that only its owner can read.
    ///
    /// # Errors
    /// `FS_BUSY` when another process has it open; otherwise what keeps it from being opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let lock = appending(&beside(&path, "lock")).map_err(|error| failed("opened", error))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
            match error.kind() {
                io::ErrorKind::WouldBlock => FsError::new(
                    ErrorCode::Busy,
                    "the session file is in use by another process",
                ),
                _ => failed("locked", error.into()),
            }
        })?;
        let file = appending(&path).map_err(|error| failed("opened", error))?;
        Ok(Self {
            path,
            file: Mutex::new(file),
            lock,
        })
    }

    /// Returns every file that a session file at this path is kept in.
    pub(crate) fn paths(path: impl AsRef<Path>) -> [PathBuf; 3] {
        let path = path.as_ref();
        [path.to_owned(), beside(path, "lock"), beside(path, "new")]
    }

    fn read(&self) -> io::Result<String> {
        let mut bytes = Vec::new();
        let read = File::open(&self.path)?
            .take(LIMIT + 1)
            .read_to_end(&mut bytes)?;
        if read as u64 > LIMIT {
            return Err(io::Error::other("it is larger than 256 MiB"));
        }
        // Damage shows in a line's checksum, as a character that was none.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Puts a whole new file in the place of the old one, and goes on with it.
    fn rewrite(&self, records: &[String]) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let staged = beside(&self.path, "new");
        // One that was left by a killed process may be there; nobody else writes it.
        let mut new = appending(&staged)?;
        new.set_len(0)?;
        let text: String = records.iter().map(|record| line(record)).collect();
        new.write_all(text.as_bytes())?;
        new.sync_data()?;
        std::fs::rename(&staged, &self.path)?;
        *file = new;
        Ok(())
    }
}

/// Lets go of the lock for whoever holds a copy of it too: a child that was just forked has one
/// until it runs its own program, and would keep the next owner out meanwhile.
impl Drop for SessionFile {
    fn drop(&mut self) {
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

impl Log for SessionFile {
    fn load(&self) -> Result<Vec<String>> {
        let text = self.read().map_err(|error| failed("read", error))?;
        let lines = text.split_inclusive('\n');
        let records: Vec<Option<&str>> = lines.map(record).collect();
        let sound: Vec<String> = records.iter().flatten().map(ToString::to_string).collect();
        if sound.is_empty() && !is_begun(&text) {
            return Err(foreign());
        }
        if sound.len() < records.len() {
            tracing::warn!(
                left_out = records.len() - sound.len(),
                "the session file has damaged lines"
            );
            // So that what is appended next does not continue a torn line.
            self.rewrite(&sound)
                .map_err(|error| failed("repaired", error))?;
        }
        Ok(sound)
    }

    fn append(&self, record: &str) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line(record).as_bytes())
            .map_err(|error| failed("appended to", error))
    }

    fn replace(&self, records: &[String]) -> Result<()> {
        self.rewrite(records)
            .map_err(|error| failed("replaced", error))
    }
}

const HEAD: &str = "{\"sum\":\"";
const MIDDLE: &str = "\",\"record\":";
const TAIL: &str = "}\n";

/// Returns whether a text without a sound line may be a session file all the same: an empty one, or
/// one whose first record is torn or damaged.
fn is_begun(text: &str) -> bool {
    text.starts_with(HEAD) || HEAD.starts_with(text)
}

fn foreign() -> FsError {
    FsError::new(
        ErrorCode::InvalidArgument,
        "the session file named holds something else, which is left as it is; name a file that does \
         not exist yet, or one that was a session file before",
    )
}

/// Makes the line of a record.
fn line(record: &str) -> String {
    format!("{HEAD}{}{MIDDLE}{record}{TAIL}", sum(record))
}

/// Returns the record of a line; nothing when it is not exactly as it was written.
fn record(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(HEAD)?;
    let (stated, rest) = rest.split_once(MIDDLE)?;
    let record = rest.strip_suffix(TAIL)?;
    (stated == sum(record)).then_some(record)
}

fn sum(record: &str) -> String {
    ContentHash::of(record.as_bytes()).to_hex()[..16].to_owned()
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

fn appending(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

fn failed(what: &str, error: io::Error) -> FsError {
    let message = format!("the session file could not be {what}: {error}");
    FsError::new(ErrorCode::IoError, message).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(path: &Path) -> Vec<String> {
        SessionFile::open(path).unwrap().load().unwrap()
    }

    #[test]
    fn a_copy_of_the_lock_in_a_forked_child_does_not_outlive_the_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let first = SessionFile::open(&path).unwrap();
        let copy = first.lock.try_clone().unwrap();
        assert_eq!(
            SessionFile::open(&path).unwrap_err().code(),
            ErrorCode::Busy
        );
        drop(first);
        SessionFile::open(&path).unwrap();
        drop(copy);
    }

    #[test]
    fn a_file_that_is_none_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        for content in [
            "precious\ndata\n",
            "x",
            "[rules]\nsecrets = \"hide\"\n",
            "\n",
            "{}\n",
        ] {
            std::fs::write(&path, content).unwrap();
            let refused = SessionFile::open(&path).unwrap().load().unwrap_err();
            assert_eq!(refused.code(), ErrorCode::InvalidArgument);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
    }

    #[test]
    fn a_torn_last_line_and_a_damaged_one_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let file = SessionFile::open(&path).unwrap();
        for record in ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"] {
            file.append(record).unwrap();
        }
        drop(file);
        let whole = std::fs::read_to_string(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let lines = whole[..cut].matches('\n').count();
            assert_eq!(records(&path).len(), lines, "cut at {cut}");
            // And what is appended then is a line of its own.
            SessionFile::open(&path)
                .unwrap()
                .append("{\"d\":4}")
                .unwrap();
            assert_eq!(records(&path).len(), lines + 1);
        }
        std::fs::write(&path, whole.replace("\"b\":2", "\"b\":3")).unwrap();
        assert_eq!(records(&path), ["{\"a\":1}", "{\"c\":3}"]);
    }

    #[test]
    fn replacing_leaves_the_new_records_and_goes_on_with_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let file = SessionFile::open(&path).unwrap();
        file.append("1").unwrap();
        file.replace(&["2".to_owned()]).unwrap();
        file.append("3").unwrap();
        assert_eq!(file.load().unwrap(), ["2", "3"]);
    }

    #[test]
    fn one_process_at_a_time_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let file = SessionFile::open(&path).unwrap();
        let refused = SessionFile::open(&path).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Busy);
        drop(file);
        assert_eq!(records(&path), [""; 0]);
    }
}
