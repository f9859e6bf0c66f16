//! System calls on a folder's handle and one name, never on a path.
//!
//! Nothing here can leave the folder: a [`Name`] has no slash and is neither `.` nor `..`, and no
//! call follows a link in it.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Access, AtFlags, Mode, OFlags, RawMode, RenameFlags};
use rustix::io::Errno;

use super::stamp::{Moment, Stamp, accessed};

/// One component.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(CString);

impl Name {
    /// Checks that bytes are one component.
    pub(super) fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        let one = !matches!(bytes.as_slice(), b"" | b"." | b"..") && !bytes.contains(&b'/');
        one.then(|| CString::new(bytes).ok().map(Self)).flatten()
    }

    /// Takes a component of a parsed path.
    pub(super) fn of(component: &str) -> Self {
        Self::new(component).expect("a parsed path has only plain components")
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    fn as_path(&self) -> &Path {
        use std::os::unix::ffi::OsStrExt as _;
        Path::new(std::ffi::OsStr::from_bytes(self.as_bytes()))
    }

    pub(super) fn as_c_str(&self) -> &CStr {
        &self.0
    }
}

/// Returns permission bits as the host's calls take them.
#[allow(clippy::unnecessary_cast, reason = "the type differs between targets")]
pub(super) fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as RawMode)
}

/// Opens a child folder without following a link.
pub(super) fn open_folder(folder: &Dir, name: &Name) -> io::Result<Dir> {
    folder.open_dir_nofollow(name.as_path())
}

/// Opens a folder's own handle again, readable: a `Dir` is only a place on Linux.
pub(super) fn reopen_readable(folder: &Dir) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(
        folder,
        c".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// Opens a file for reading; never follows a link, never waits for a FIFO's writer, never takes a
/// terminal.
pub(super) fn open_file(folder: &Dir, name: &Name) -> rustix::io::Result<File> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name.as_c_str(), flags, Mode::empty()).map(File::from)
}

/// Looks at an entry; none when nothing is there.
pub(super) fn look(folder: &Dir, name: &Name) -> rustix::io::Result<Option<Stamp>> {
    match rustix::fs::statat(folder, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Stamp::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Asks whether this process may write an entry; a kernel that cannot say so lets it.
pub(super) fn check_writable(folder: &Dir, name: &Name) -> rustix::io::Result<()> {
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    match rustix::fs::accessat(folder, name.as_c_str(), Access::WRITE_OK, flags) {
        Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => Err(error),
        _ => Ok(()),
    }
}

/// Looks at what a handle holds.
pub(super) fn look_at_handle(handle: impl AsFd) -> rustix::io::Result<Stamp> {
    rustix::fs::fstat(handle).map(|stat| Stamp::of(&stat))
}

/// Looks at what a handle holds, and when it was read last.
pub(super) fn look_at_reading(handle: impl AsFd) -> rustix::io::Result<(Stamp, Moment)> {
    rustix::fs::fstat(handle).map(|stat| (Stamp::of(&stat), accessed(&stat)))
}

/// Reads where a link leads, as text; nothing is followed.
pub(super) fn read_link(folder: &Dir, name: &Name) -> io::Result<PathBuf> {
    folder.read_link_contents(name.as_path())
}

/// Creates a folder; the kernel applies the umask.
pub(super) fn make_folder(folder: &Dir, name: &Name) -> rustix::io::Result<()> {
    rustix::fs::mkdirat(folder, name.as_c_str(), permissions(0o777))
}

/// Creates a file under a name that nothing has.
pub(super) fn create_file(folder: &Dir, name: &Name, mode: u32) -> rustix::io::Result<File> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name.as_c_str(), flags, permissions(mode)).map(File::from)
}

/// Gives a file another name within its folder, one that nothing has.
pub(super) fn link(folder: &Dir, from: &Name, to: &Name) -> rustix::io::Result<()> {
    link_between((folder, from), (folder, to))
}

/// Gives a file another name, one that nothing has.
pub(super) fn link_between(from: (&Dir, &Name), to: (&Dir, &Name)) -> rustix::io::Result<()> {
    let flags = AtFlags::empty();
    rustix::fs::linkat(from.0, from.1.as_c_str(), to.0, to.1.as_c_str(), flags)
}

/// Removes a name that is no folder's.
pub(super) fn unlink(folder: &Dir, name: &Name) -> rustix::io::Result<()> {
    rustix::fs::unlinkat(folder, name.as_c_str(), AtFlags::empty())
}

/// Removes an empty folder.
pub(super) fn remove_folder(folder: &Dir, name: &Name) -> rustix::io::Result<()> {
    rustix::fs::unlinkat(folder, name.as_c_str(), AtFlags::REMOVEDIR)
}

/// Moves an entry in one step, replacing what is there.
pub(super) fn rename(from: (&Dir, &Name), to: (&Dir, &Name)) -> rustix::io::Result<()> {
    rustix::fs::renameat(from.0, from.1.as_c_str(), to.0, to.1.as_c_str())
}

/// Moves an entry in one step, to a name that nothing has; not every file system offers it.
pub(super) fn rename_to_vacant(from: (&Dir, &Name), to: (&Dir, &Name)) -> rustix::io::Result<()> {
    let flags = RenameFlags::NOREPLACE;
    rustix::fs::renameat_with(from.0, from.1.as_c_str(), to.0, to.1.as_c_str(), flags)
}

/// Exchanges two names of one folder in one step; not every file system offers it.
pub(super) fn exchange(folder: &Dir, one: &Name, other: &Name) -> rustix::io::Result<()> {
    let flags = RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(folder, one.as_c_str(), folder, other.as_c_str(), flags)
}

/// Returns whether an error says that the kernel or file system does not offer a call, as the
/// calls above report it in their various ways.
pub(super) fn is_not_offered(error: Errno) -> bool {
    matches!(
        error,
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOTTY
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_component() {
        for bytes in ["", ".", "..", "a/b", "/", "a/", "a\0b"] {
            assert!(Name::new(bytes).is_none(), "{bytes:?}");
        }
        assert!(Name::new("...").is_some());
        assert!(Name::new(b"\xff\n\\".to_vec()).is_some());
    }

    #[test]
    fn no_handle_is_left_to_a_process_that_the_host_starts() {
        let root = tempfile::tempdir().unwrap();
        let folder = Dir::open_ambient_dir(root.path(), cap_std::ambient_authority()).unwrap();
        let name = Name::of("f");
        let created = create_file(&folder, &name, 0o600).unwrap();
        let opened = open_file(&folder, &name).unwrap();
        let again = reopen_readable(&folder).unwrap();
        for handle in [created.as_fd(), opened.as_fd(), again.as_fd()] {
            let flags = rustix::io::fcntl_getfd(handle).unwrap();
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        }
    }
}
