//! What a file keeps when its bytes are replaced: mode, owner, extended attributes, ACLs.

use std::ffi::CString;
use std::fs::File;

use rustix::buffer::spare_capacity;
use rustix::fs::{Gid, Uid, XattrFlags};
use rustix::io::Errno;
use seamfs_core::{Note, Result};

use super::at;
use super::error::host;
use super::held::Held;
use super::stage::Stage;

const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Attributes that speak of the old bytes and are wrong for any others.
const OF_THE_BYTES: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];

/// Gives a staged file what the old one has, as far as the host lets us.
///
/// The staged file is private until its last step, which sets the mode.
///
/// # Errors
/// Only when the mode cannot be set; the rest is stated as notes.
pub(super) fn keep(old: &Held, stage: &Stage) -> Result<Vec<Note>> {
    let mut notes = Vec::new();
    let staged = &stage.file;
    let owner = keep_owner(old, stage)?;
    if !(owner.user && owner.group) {
        notes.push(Note::fact(
            "the file's owner or group could not be kept; it belongs to this process's now",
        ));
    }
    notes.extend(keep_extended(&old.file, staged));
    let mode = owner.limit(old.stamp.mode);
    rustix::fs::fchmod(staged, at::permissions(mode))
        .map_err(|error| host(error, "keep the file's mode"))?;
    Ok(notes)
}

/// Which parts of the ownership were kept.
struct KeptOwner {
    user: bool,
    group: bool,
}

impl KeptOwner {
    /// Takes from a mode what would now empower somebody else: set-id bits of an owner that was
    /// not kept, and a group's access where the group is another one now.
    fn limit(&self, mode: u32) -> u32 {
        let mode = if self.user { mode } else { mode & !0o4000 };
        if self.group {
            return mode;
        }
        let others = mode & 0o007;
        mode & !0o2070 | (mode & others << 3)
    }
}

fn keep_owner(old: &Held, stage: &Stage) -> Result<KeptOwner> {
    let (user, group) = old.stamp.owner;
    let staged = &stage.file;
    let now = stage.look()?.owner;
    let uid = (now.0 != user).then(|| Uid::from_raw(user));
    let gid = (now.1 != group).then(|| Gid::from_raw(group));
    let kept = |user, group| KeptOwner { user, group };
    if uid.is_none() && gid.is_none() || rustix::fs::fchown(staged, uid, gid).is_ok() {
        return Ok(kept(true, true));
    }
    let group_kept = gid.is_none() || rustix::fs::fchown(staged, None, gid).is_ok();
    Ok(kept(uid.is_none(), group_kept))
}

fn keep_extended(old: &File, staged: &File) -> Vec<Note> {
    let names = list_extended(old);
    let has_access_list = names.iter().any(|name| name.as_bytes() == ACCESS_LIST);
    if !has_access_list {
        // A folder's default list was put on the staged file, and the old file has none.
        let _ = rustix::fs::fremovexattr(staged, ACCESS_LIST);
    }
    names
        .iter()
        .filter(|name| !OF_THE_BYTES.contains(&name.as_bytes()))
        .filter(|name| copy_extended(old, staged, name).is_err())
        // What only the host's administrator may set is not the caller's to miss.
        .filter(|name| name.as_bytes().starts_with(b"user.") || name.as_bytes() == ACCESS_LIST)
        .map(|name| {
            let name = name.to_string_lossy();
            Note::fact(format!("the extended attribute {name:?} could not be kept"))
        })
        .collect()
}

fn list_extended(file: &File) -> Vec<CString> {
    let mut list = Vec::with_capacity(256);
    loop {
        match rustix::fs::flistxattr(file, spare_capacity(&mut list)) {
            Ok(_) => break,
            Err(Errno::RANGE) if list.capacity() < MOST_EXTENDED => {
                list.reserve(list.capacity() * 4);
            }
            Err(_) => return Vec::new(),
        }
    }
    list.split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .filter_map(|name| CString::new(name).ok())
        .collect()
}

/// The most bytes that the kernel gives for a list or a value: 64 KiB.
const MOST_EXTENDED: usize = 1 << 16;

fn copy_extended(from: &File, to: &File, name: &CString) -> rustix::io::Result<()> {
    let mut value = Vec::with_capacity(256);
    loop {
        match rustix::fs::fgetxattr(from, name.as_c_str(), spare_capacity(&mut value)) {
            Ok(_) => break,
            Err(Errno::RANGE) if value.capacity() < MOST_EXTENDED => {
                value.reserve(value.capacity() * 4);
            }
            Err(error) => return Err(error),
        }
    }
    rustix::fs::fsetxattr(to, name.as_c_str(), &value, XattrFlags::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gains_access_when_an_owner_cannot_be_kept() {
        let check = |user, group, before, after| {
            assert_eq!(KeptOwner { user, group }.limit(before), after, "{before:o}");
        };
        check(true, true, 0o6750, 0o6750);
        check(false, true, 0o6750, 0o2750);
        check(true, false, 0o6750, 0o4700);
        check(true, false, 0o664, 0o644);
        check(true, false, 0o646, 0o646 & !0o020);
    }
}
