//! The one error of the seam: a stable code to branch on, and the facts around it.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::version::Version;

/// The result of everything that crosses the seam.
pub type Result<T, E = FsError> = std::result::Result<T, E>;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal, $retry:ident;)*) => {
        /// A stable error code; callers branch on it and never on a message.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the design.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the code as it is spelled in results, for example `FS_NOT_FOUND`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns what a caller may usefully do after this code, when nothing more is known.
            pub const fn retry(self) -> Retry {
                match self { $(Self::$variant => Retry::$retry,)* }
            }
        }
    };
}

codes! {
    /// The target does not exist.
    NotFound = "FS_NOT_FOUND", Never;
    /// The target exists although the guard asked for absence.
    AlreadyExists = "FS_ALREADY_EXISTS", Never;
    /// A path leads through something that is not a folder, or a folder was needed.
    NotDirectory = "FS_NOT_DIRECTORY", Never;
    /// A regular file was needed: the target is a folder, a link or a special file.
    NotRegularFile = "FS_NOT_REGULAR_FILE", Never;
    /// A folder still has children.
    NotEmpty = "FS_NOT_EMPTY", Never;
    /// The bytes are not UTF-8 text, or hold a NUL.
    NotText = "FS_NOT_TEXT", Never;
    /// More bytes than the named limit.
    TooLarge = "FS_TOO_LARGE", Never;
    /// The path is blank, malformed or not addressable.
    InvalidPath = "FS_INVALID_PATH", Never;
    /// An argument is missing, unknown, of the wrong type or out of its bounds.
    InvalidArgument = "FS_INVALID_ARGUMENT", Never;
    /// The host refused access.
    PermissionDenied = "FS_PERMISSION_DENIED", Never;
    /// The target or its storage is read-only.
    ReadOnly = "FS_READ_ONLY", Never;
    /// The workspace's own boundary or mode refused the call.
    SandboxDenied = "FS_SANDBOX_DENIED", Never;
    /// The bytes are not the ones that the guard names.
    StaleVersion = "FS_STALE_VERSION", AfterRead;
    /// The actor has not seen the file.
    NotObserved = "FS_NOT_OBSERVED", AfterRead;
    /// The text to replace occurs more than once.
    AmbiguousEdit = "FS_AMBIGUOUS_EDIT", Never;
    /// The text to replace does not occur.
    EditNotFound = "FS_EDIT_NOT_FOUND", AfterRead;
    /// The storage is full.
    NoSpace = "FS_NO_SPACE", Never;
    /// A quota is used up.
    QuotaExceeded = "FS_QUOTA_EXCEEDED", Never;
    /// Other writers kept the target busy until the deadline.
    Busy = "FS_BUSY", AsIs;
    /// The deadline passed.
    Timeout = "FS_TIMEOUT", AsIs;
    /// A request was sent and its outcome could not be learnt.
    OutcomeUnknown = "FS_OUTCOME_UNKNOWN", AfterRead;
    /// This file system does not offer the operation.
    Unsupported = "FS_UNSUPPORTED", Never;
    /// The storage failed in a way no other code names.
    IoError = "FS_IO_ERROR", AsIs;
    /// The caller withdrew the call before it changed anything.
    Aborted = "FS_ABORTED", AsIs;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a caller may usefully do after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// The same call will fail again.
    Never,
    /// The same call may succeed later.
    AsIs,
    /// The call may succeed once the target was read again.
    AfterRead,
}

/// The operation during which an error arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Operation {
    /// Opening a workspace.
    Open,
    /// Turning text into a target.
    Resolve,
    /// Looking at metadata.
    Stat,
    /// Reading bytes.
    Read,
    /// Listing a folder.
    List,
    /// Replacing or creating a whole file.
    Write,
    /// Creating a file that must not exist.
    Create,
    /// Splicing text.
    Edit,
    /// Removing a file, link or empty folder.
    Remove,
    /// Moving.
    Rename,
    /// Copying.
    Copy,
    /// Creating a folder.
    CreateDir,
}

impl Operation {
    /// Returns the operation's name as the trait spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Resolve => "resolve",
            Self::Stat => "stat",
            Self::Read => "read",
            Self::List => "list",
            Self::Write => "write",
            Self::Create => "create",
            Self::Edit => "edit",
            Self::Remove => "remove",
            Self::Rename => "rename",
            Self::Copy => "copy",
            Self::CreateDir => "create_dir",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The typed facts of an error; every field is absent unless it applies.
///
/// This is the `details` object of a tool's structured error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Details {
    /// How many times the text to replace occurs, overlaps counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The 1-based lines where it occurs, bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<u64>>,
    /// The version that the target has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_version: Option<Version>,
    /// The 1-based, inclusive line ranges that changed, counted in the present file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_lines: Option<Vec<(u64, u64)>>,
    /// A bounded unified diff from what the actor saw to what is there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The session that wrote the present bytes, when it was one of this workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// The 1-based, inclusive line ranges that the actor has not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen_lines: Option<Vec<(u64, u64)>>,
    /// A part of an unseen line that is too long to be shown whole; showing it makes it seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
    /// The limit that was exceeded, in the unit that the message names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How much is used, in the unit of `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// Where a copy was kept that could be neither published nor discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_at: Option<String>,
}

/// A part of a line too long to be shown whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The 1-based line.
    pub line: u64,
    /// Where the part begins, in bytes from the start of the line.
    pub start: u64,
    /// Its text.
    pub text: String,
    /// The version of the bytes that it is from.
    pub version: Version,
}

/// The bytes of a target and their version, as one refusal saw them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The whole bytes.
    pub bytes: Bytes,
    /// The version of exactly these bytes.
    pub version: Version,
}

/// A failed operation: what failed, where, and what may be done about it.
///
/// The message states facts and names no host path above the display root; the cause, which may,
/// is reached through [`Error::source`] only and is never part of [`fmt::Display`].
#[derive(Clone)]
pub struct FsError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: ErrorCode,
    retry: Retry,
    operation: Option<Operation>,
    path: Option<Arc<str>>,
    message: Cow<'static, str>,
    details: Details,
    current: Option<Snapshot>,
    source: Option<Arc<dyn Error + Send + Sync + 'static>>,
}

impl FsError {
    /// Creates an error from its code and one sentence of fact.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            code,
            retry: code.retry(),
            operation: None,
            path: None,
            message: message.into(),
            details: Details::default(),
            current: None,
            source: None,
        }))
    }

    /// Creates the error of an operation that a file system does not offer.
    pub fn unsupported(operation: Operation, provider: &str) -> Self {
        Self::new(
            ErrorCode::Unsupported,
            format!("{provider} does not support {operation}"),
        )
        .during(operation)
    }

    /// Names the operation, unless one was named closer to the failure.
    #[must_use]
    pub fn during(mut self, operation: Operation) -> Self {
        self.0.operation.get_or_insert(operation);
        self
    }

    /// Names the display path, unless one was named closer to the failure.
    #[must_use]
    pub fn at(mut self, path: impl AsRef<str>) -> Self {
        self.0.path.get_or_insert_with(|| Arc::from(path.as_ref()));
        self
    }

    /// Replaces what a caller may do about it.
    #[must_use]
    pub fn retry_as(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    /// Attaches the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Fills in typed facts.
    #[must_use]
    pub fn with_details(mut self, fill: impl FnOnce(&mut Details)) -> Self {
        fill(&mut self.0.details);
        self
    }

    /// Attaches the bytes that refused a guard, so that nobody has to read them again.
    #[must_use]
    pub fn with_current(mut self, current: Snapshot) -> Self {
        self.0.details.current_version = Some(current.version.clone());
        self.0.current = Some(current);
        self
    }

    /// Names the version that refused a guard, where its bytes are not at hand.
    #[must_use]
    pub fn with_current_version(mut self, version: Version) -> Self {
        self.0.details.current_version = Some(version);
        self
    }

    /// Replaces code and message and keeps path, details and cause.
    #[must_use]
    pub fn recast(mut self, code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.code = code;
        self.0.retry = code.retry();
        self.0.message = message.into();
        self
    }

    /// Returns the code.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// Returns what a caller may usefully do.
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// Returns the operation that failed.
    pub fn operation(&self) -> Option<Operation> {
        self.0.operation
    }

    /// Returns the display path of the target.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// Returns the sentence of fact, without path or code.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the typed facts.
    pub fn details(&self) -> &Details {
        &self.0.details
    }

    /// Returns the bytes that refused a guard, where the file system had them in hand.
    pub fn current(&self) -> Option<&Snapshot> {
        self.0.current.as_ref()
    }
}

impl fmt::Display for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.path {
            Some(path) => write!(f, "{}: {}: {}", self.0.code, path, self.0.message),
            None => write!(f, "{}: {}", self.0.code, self.0.message),
        }
    }
}

impl fmt::Debug for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FsError")
            .field("code", &self.0.code)
            .field("operation", &self.0.operation)
            .field("path", &self.0.path)
            .field("message", &self.0.message)
            .field("details", &self.0.details)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl Error for FsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_spelled_once_and_serialises_as_spelled() {
        let mut seen = std::collections::HashSet::new();
        for &code in ErrorCode::ALL {
            assert!(code.as_str().starts_with("FS_"));
            assert!(seen.insert(code.as_str()));
            let json = serde_json::to_string(&code).unwrap();
            assert_eq!(json, format!("\"{}\"", code.as_str()));
        }
        assert_eq!(ErrorCode::ALL.len(), 24);
    }

    #[test]
    fn the_text_of_an_error_never_shows_its_cause() {
        let cause = std::io::Error::other("/srv/tenant-42/ws/in.txt");
        let error = FsError::new(ErrorCode::IoError, "the disk failed")
            .at("/in.txt")
            .caused_by(cause);
        assert_eq!(error.to_string(), "FS_IO_ERROR: /in.txt: the disk failed");
        assert!(Error::source(&error).is_some());
    }

    #[test]
    fn the_path_named_closest_to_the_failure_wins() {
        let error = FsError::new(ErrorCode::NotFound, "gone").at("/a").at("/b");
        assert_eq!(error.path(), Some("/a"));
    }
}
