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

/// Where what a folder holds is kept, as far as it says what to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// In this machine's memory.
    Memory,
    /// On a disk of this machine.
    Disk,
    /// On another machine, in another process, or where the kernel does not say.
    Elsewhere,
}

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{create_nameless, hold, mount_of, name_file, some_names, storage_of};
#[cfg(target_os = "linux")]
pub(super) use linux::{create_nameless, hold, mount_of, name_file, some_names, storage_of};

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

    /// Tells where a folder's entries are kept, by the magic numbers of Linux'
    /// `include/uapi/linux/magic.h`, and those that ZFS and bcachefs have for themselves.
    pub(in crate::local) fn storage_of(folder: impl AsFd) -> Storage {
        match rustix::fs::fstatfs(folder).map(|stat| stat.f_type as u64 & 0xffff_ffff) {
            Ok(TMPFS | RAMFS) => Storage::Memory,
            Ok(EXT | XFS | BTRFS | F2FS | OVERLAY | ZFS | BCACHEFS) => Storage::Disk,
            _ => Storage::Elsewhere,
        }
    }

    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    const EXT: u64 = 0xef53;
    const XFS: u64 = 0x5846_5342;
    const BTRFS: u64 = 0x9123_683e;
    const F2FS: u64 = 0xf2f5_2010;
    const OVERLAY: u64 = 0x794c_7630;
    const ZFS: u64 = 0x2fc1_2fc1;
    const BCACHEFS: u64 = 0xca45_1a4e;

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

    pub(in crate::local) fn storage_of(_: impl AsFd) -> Storage {
        Storage::Elsewhere
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
