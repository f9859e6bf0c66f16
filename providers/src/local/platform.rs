//! Calls that only Linux has, and what stands in for them elsewhere.

use std::fs::File;

use cap_std::fs::Dir;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};

use super::at::Name;

/// Which mount something lies on: the kernel's number for it, or the device where the kernel has
/// none to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mount {
    #[cfg(target_os = "linux")]
    Number(u64),
    Device(u64),
}

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{create_nameless, hold, mount_of, name_file, some_names};
#[cfg(target_os = "linux")]
pub(super) use linux::{create_nameless, hold, mount_of, name_file, some_names};

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::mem::MaybeUninit;

    use rustix::fs::{AtFlags, RawDir, StatxFlags};

    /// Tells which mount something lies on.
    pub(in crate::local) fn mount_of(entry: impl AsFd) -> rustix::io::Result<Mount> {
        let wanted = StatxFlags::MNT_ID | StatxFlags::TYPE;
        let stat = rustix::fs::statx(entry, c"", AtFlags::EMPTY_PATH, wanted)?;
        if stat.stx_mask & StatxFlags::MNT_ID.bits() != 0 {
            return Ok(Mount::Number(stat.stx_mnt_id));
        }
        let device = rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor);
        Ok(Mount::Device(device))
    }

    /// Holds an entry of any kind without opening it, so that its inode stays its own.
    pub(in crate::local) fn hold(folder: &Dir, name: &Name) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name.as_c_str(), flags, Mode::empty())
    }

    /// Creates a file that has no name yet; not every file system has such files.
    pub(in crate::local) fn create_nameless(folder: &Dir, mode: u32) -> rustix::io::Result<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        rustix::fs::openat(folder, c".", flags, Mode::from_raw_mode(mode)).map(File::from)
    }

    /// Gives a nameless file a name that nothing has.
    pub(in crate::local) fn name_file(
        file: &File,
        folder: &Dir,
        name: &Name,
    ) -> rustix::io::Result<()> {
        rustix::fs::linkat(file, c"", folder, name.as_c_str(), AtFlags::EMPTY_PATH)
    }

    /// Reads a folder's first names from a handle that was just opened.
    pub(in crate::local) fn some_names(folder: &OwnedFd, most: usize, mut each: impl FnMut(&[u8])) {
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut entries = RawDir::new(folder, &mut buffer);
        for _ in 0..most {
            let Some(Ok(entry)) = entries.next() else {
                return;
            };
            each(entry.file_name().to_bytes());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::*;
    use rustix::io::Errno;

    pub(in crate::local) fn mount_of(entry: impl AsFd) -> rustix::io::Result<Mount> {
        let device = rustix::fs::fstat(entry)?.st_dev;
        Ok(Mount::Device(device as u64))
    }

    pub(in crate::local) fn hold(folder: &Dir, name: &Name) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name.as_c_str(), flags, Mode::empty())
    }

    pub(in crate::local) fn create_nameless(_: &Dir, _: u32) -> rustix::io::Result<File> {
        Err(Errno::OPNOTSUPP)
    }

    pub(in crate::local) fn name_file(_: &File, _: &Dir, _: &Name) -> rustix::io::Result<()> {
        Err(Errno::OPNOTSUPP)
    }

    pub(in crate::local) fn some_names(folder: &OwnedFd, most: usize, mut each: impl FnMut(&[u8])) {
        let Ok(entries) = rustix::fs::Dir::read_from(folder) else {
            return;
        };
        for entry in entries.take(most).filter_map(Result::ok) {
            each(entry.file_name().to_bytes());
        }
    }
}
