//! The escape suite once more, on a kernel that says it has no `openat2`.
//!
//! Containers deny the call, and what handles are opened with then is a walker of its own.

use std::sync::Once;

use super::*;
use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

const DENY: &str = "SEAMFS_TEST_DENY_OPENAT2";

/// The number of `openat2`, the same on every architecture.
const OPENAT2: i64 = 437;

static DENIED: Once = Once::new();

/// Denies the call to this process for good, where its parent asked for that.
pub(super) fn deny_if_asked() {
    if let Some(errno) = task(DENY) {
        DENIED.call_once(|| deny(errno.parse().unwrap()));
    }
}

fn deny(errno: u32) {
    let rules = [(OPENAT2, Vec::new())].into_iter().collect();
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let (otherwise, denied) = (SeccompAction::Allow, SeccompAction::Errno(errno));
    let filter = SeccompFilter::new(rules, otherwise, denied, arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter_all_threads(&program).unwrap();
    let (flags, how) = (rustix::fs::OFlags::PATH, rustix::fs::ResolveFlags::empty());
    let opened = rustix::fs::openat2(rustix::fs::CWD, "/", flags, rustix::fs::Mode::empty(), how);
    let errno = i32::try_from(errno).unwrap();
    assert_eq!(
        opened.unwrap_err().raw_os_error(),
        errno,
        "the call is denied"
    );
}

#[test]
fn the_escape_suite_holds_where_openat2_is_denied() {
    for errno in [Errno::NOSYS, Errno::PERM] {
        for suite in ["links", "basics", "mutations", "hostile", "foreign"] {
            let output = std::process::Command::new(std::env::current_exe().unwrap())
                .arg(format!("local::tests::{suite}::"))
                .env(DENY, errno.raw_os_error().to_string())
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{errno}: {text}\n{said}");
            let passed = text.lines().filter(|line| line.ends_with("... ok")).count();
            println!("openat2 denied ({errno}), {suite}: {passed} passed");
            assert!(passed > 0);
        }
    }
}
