//! Suites once more, on a kernel that denies what faster ways are made of.
//!
//! Containers deny `openat2`, and what handles are opened with then is a walker of its own. Older
//! kernels let no file be named by its handle, and what is staged then has a name from the start.

use std::sync::Once;

use super::*;
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

const DENY: &str = "SEAMFS_TEST_DENY_OPENAT2";
const DENY_NAMING: &str = "SEAMFS_TEST_DENY_NAMING";
const ROOT: &str = "SEAMFS_TEST_DENIED_ROOT";

/// The number of `openat2`, the same on every architecture.
const OPENAT2: i64 = 437;

/// The number of `linkat`.
const LINKAT: i64 = if cfg!(target_arch = "x86_64") {
    265
} else {
    37
};

static DENIED: Once = Once::new();

/// Denies the call to this process for good, where its parent asked for that.
pub(super) fn deny_if_asked() {
    if let Some(errno) = task(DENY) {
        DENIED.call_once(|| deny_opening(errno.parse().unwrap()));
    }
    if let Some(errno) = task(DENY_NAMING) {
        DENIED.call_once(|| deny_naming(errno.parse().unwrap()));
    }
}

/// Denies a call to this process for good, or those of it that meet a rule.
fn deny(call: i64, rules: Vec<SeccompRule>, errno: u32) {
    let rules = [(call, rules)].into_iter().collect();
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let (otherwise, denied) = (SeccompAction::Allow, SeccompAction::Errno(errno));
    let filter = SeccompFilter::new(rules, otherwise, denied, arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter_all_threads(&program).unwrap();
}

fn deny_opening(errno: u32) {
    deny(OPENAT2, Vec::new(), errno);
    let (flags, how) = (rustix::fs::OFlags::PATH, rustix::fs::ResolveFlags::empty());
    let opened = rustix::fs::openat2(rustix::fs::CWD, "/", flags, rustix::fs::Mode::empty(), how);
    let errno = i32::try_from(errno).unwrap();
    assert_eq!(
        opened.unwrap_err().raw_os_error(),
        errno,
        "the call is denied"
    );
}

fn deny_naming(errno: u32) {
    let by_handle = u64::from(rustix::fs::AtFlags::EMPTY_PATH.bits());
    let (length, masked) = (SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(by_handle));
    let condition = SeccompCondition::new(4, length, masked, by_handle).unwrap();
    deny(
        LINKAT,
        vec![SeccompRule::new(vec![condition]).unwrap()],
        errno,
    );
    let root = fs::File::open("/").unwrap();
    let flags = rustix::fs::AtFlags::EMPTY_PATH;
    // Without the filter: that there is such a name.
    let named = rustix::fs::linkat(root, "", rustix::fs::CWD, "/", flags);
    let errno = i32::try_from(errno).unwrap();
    assert_eq!(named.unwrap_err().raw_os_error(), errno);
}

/// Runs a suite in a process that is denied something; returns how many tests passed.
fn passed(suite: &str, (deny, errno): (&str, Errno)) -> usize {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .arg(format!("local::tests::{suite}::"))
        .env(deny, errno.raw_os_error().to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errno}: {text}\n{said}");
    text.lines().filter(|line| line.ends_with("... ok")).count()
}

#[test]
fn writes_land_where_no_file_can_be_named_by_its_handle() {
    for errno in [Errno::NOENT, Errno::PERM] {
        let passed = passed("mutations", (DENY_NAMING, errno));
        println!("naming denied ({errno}): {passed} passed");
        assert!(passed > 0);
    }
}

#[test]
fn full() {
    let Some(root) = task(ROOT) else { return };
    deny_naming(Errno::NOSPC.raw_os_error().unsigned_abs());
    let local = Local::open(root).unwrap();
    let target = block_on(local.target("f")).unwrap();
    let edited = block_on(local.replace(&target, "zero", "one", Expected::Any));
    assert_eq!(edited.unwrap_err().code(), ErrorCode::NoSpace);
}

#[test]
fn what_keeps_a_staged_file_from_its_name_is_told_and_not_tried_again() {
    let scratch = Scratch::new();
    scratch.put("f", "zero");
    let root = scratch.root.to_str().unwrap();
    let output = child("denied::full", &[(ROOT, root)]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(scratch.host("f"), "zero");
    assert_eq!(scratch.host_names("."), ["f"]);
}

#[test]
fn the_escape_suite_holds_where_openat2_is_denied() {
    for errno in [Errno::NOSYS, Errno::PERM] {
        for suite in ["links", "basics", "mutations", "hostile", "foreign"] {
            let passed = passed(suite, (DENY, errno));
            println!("openat2 denied ({errno}), {suite}: {passed} passed");
            assert!(passed > 0);
        }
    }
}
