//! The edge to the host: every errno becomes one of the seam's codes here, and nowhere else.
//!
//! Messages state the fact in words of the seam; the host's own error, which may name paths,
//! travels as the cause only.

use std::io;

use rustix::io::Errno;
use seamfs_core::{ErrorCode, FileKind, FsError, Retry, cas};

/// Maps a failed system call; `doing` completes "could not …".
pub(super) fn host(error: impl Into<io::Error>, doing: &str) -> FsError {
    let error = error.into();
    let (code, fact) = classify(&error);
    let message = format!("could not {doing}: {fact}");
    let mapped = FsError::new(code, message);
    let mapped = match code {
        ErrorCode::IoError if is_mount(&error) => mapped.retry_as(Retry::Never),
        _ => mapped,
    };
    mapped.caused_by(error)
}

fn is_mount(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::BUSY)
}

fn classify(error: &io::Error) -> (ErrorCode, &'static str) {
    let Some(errno) = Errno::from_io_error(error) else {
        return (ErrorCode::IoError, "the host's file system failed");
    };
    match errno {
        Errno::NOENT => (ErrorCode::NotFound, "nothing is there"),
        Errno::EXIST => (ErrorCode::AlreadyExists, "something is there already"),
        Errno::NOTDIR => (
            ErrorCode::NotDirectory,
            "a part of the path is not a folder",
        ),
        Errno::ISDIR => (ErrorCode::NotRegularFile, "it is a folder"),
        Errno::LOOP => (ErrorCode::NotRegularFile, "a link was put in its place"),
        Errno::NOTEMPTY => (ErrorCode::NotEmpty, "the folder is not empty"),
        Errno::ACCESS | Errno::PERM => (ErrorCode::PermissionDenied, "the host refused access"),
        Errno::ROFS => (ErrorCode::ReadOnly, "the storage is read-only"),
        Errno::NOSPC => (ErrorCode::NoSpace, "the storage is full"),
        Errno::DQUOT => (ErrorCode::NoSpace, "the host's disk quota is used up"),
        Errno::FBIG => (
            ErrorCode::NoSpace,
            "the host's limit on file sizes is reached",
        ),
        Errno::NAMETOOLONG => (ErrorCode::InvalidPath, "the name is too long for the host"),
        Errno::ILSEQ => (
            ErrorCode::InvalidPath,
            "the host does not store such a name",
        ),
        Errno::BUSY => (
            ErrorCode::IoError,
            "it is a mount point (a bind mount, as containers use for single files), which the \
             host does not let anyone replace",
        ),
        Errno::OPNOTSUPP | Errno::NOSYS => (
            ErrorCode::Unsupported,
            "the host's file system offers no safe way to do it",
        ),
        Errno::XDEV => (
            ErrorCode::Unsupported,
            "the two places lie on different mounts",
        ),
        Errno::TXTBSY => (ErrorCode::Busy, "the host is executing it"),
        Errno::MFILE | Errno::NFILE => (ErrorCode::IoError, "too many files are open"),
        Errno::MLINK => (ErrorCode::IoError, "it has too many links"),
        _ => (ErrorCode::IoError, "the host's file system failed"),
    }
}

/// Makes the error of a target that no file operation takes.
pub(super) fn not_regular(kind: FileKind) -> FsError {
    let message = match kind {
        FileKind::Directory => "this is a folder, not a file",
        FileKind::Symlink => return cas::dangling_link(),
        FileKind::File | FileKind::Other => "this is not a regular file",
    };
    FsError::new(ErrorCode::NotRegularFile, message)
}

/// Makes the error of a path that leads through a file.
pub(super) fn not_directory() -> FsError {
    cas::through_no_folder()
}

/// Makes the error of an entry that was to be a folder and is not.
pub(super) fn no_folder() -> FsError {
    FsError::new(ErrorCode::NotDirectory, "this is not a folder")
}

/// Makes the error of a file that its owner protected.
pub(super) fn read_only() -> FsError {
    FsError::new(
        ErrorCode::ReadOnly,
        "the file has no write permission for anyone",
    )
}

/// Makes the error of a link that leads out of the root.
pub(super) fn leads_outside() -> FsError {
    FsError::new(
        ErrorCode::SandboxDenied,
        "the link leads outside the workspace",
    )
}

/// Makes the error of a mount that the workspace was told not to enter.
pub(super) fn other_mount() -> FsError {
    FsError::new(
        ErrorCode::SandboxDenied,
        "it lies on another mount, and this workspace does not cross mounts",
    )
}

/// Makes the error of an operation that the root itself does not take.
pub(super) fn not_for_the_root() -> FsError {
    FsError::new(
        ErrorCode::InvalidArgument,
        "the workspace's root itself can be neither removed nor moved nor replaced",
    )
}
