//! The cost of an edit, in system calls, as `docs/local.md` lists it.

use super::*;
use std::collections::BTreeMap;

const ROOT: &str = "SEAMFS_TEST_COST_ROOT";
const DURABILITY: &str = "SEAMFS_TEST_COST_DURABILITY";

/// Marks a place in the trace: a call that nothing else here makes.
fn mark() {
    let _ = rustix::process::getpriority_process(None);
}

#[test]
fn editor() {
    let Some(root) = task(ROOT) else { return };
    let durability = task(DURABILITY).unwrap().parse().unwrap();
    let options = LocalOptions::default().durability(durability);
    let local = Local::open_with(root, options).unwrap();
    let target = block_on(local.target("f")).unwrap();
    let edit = |old: &str, new: &str| block_on(local.replace(&target, old, new, Expected::Any));
    let other = block_on(local.target("warm")).unwrap();
    block_on(local.replace(&other, "zero", "one", Expected::Any)).unwrap();
    mark();
    block_on(local.target("f")).unwrap();
    mark();
    edit("zero", "two").unwrap();
    mark();
}

/// Returns the names of the calls between one mark and the next.
fn between<'a>(trace: &'a str, nth: usize) -> Vec<&'a str> {
    let calls = trace.lines().filter_map(|line| {
        let call = line.split_once(' ')?.1.trim_start();
        call.split_once('(').map(|(name, _)| name)
    });
    let mut sections: Vec<Vec<&'a str>> = vec![Vec::new()];
    for call in calls {
        match call {
            // The standard library checks handles with it, in unoptimised builds only.
            "fcntl" => {}
            "getpriority" => sections.push(Vec::new()),
            _ => sections.last_mut().unwrap().push(call),
        }
    }
    sections.swap_remove(nth)
}

/// Waits until a file's last change is no longer too recent to be told from another.
fn await_rest(path: &Path) {
    let file = fs::File::open(path).unwrap();
    let stamp = super::super::at::look_at_handle(file).unwrap();
    while stamp.is_racy(std::time::SystemTime::now()) {
        std::thread::yield_now();
    }
}

#[test]
fn a_small_edit_takes_few_system_calls() {
    for (durability, most, syncs) in [("none", 23, 0), ("data", 24, 1), ("full", 26, 2)] {
        let scratch = Scratch::new();
        scratch.put("warm", "zero");
        scratch.put("f", &format!("zero\n{}", "x".repeat(1_019)));
        await_rest(&scratch.path("f"));
        let trace = scratch.outside.join("trace");
        let root = scratch.root.to_str().unwrap();
        let command = child("cost::editor", &[(ROOT, root), (DURABILITY, durability)]);
        let mut traced = std::process::Command::new("strace");
        traced.args(["-f", "-o", trace.to_str().unwrap()]);
        traced.arg(command.get_program()).args(command.get_args());
        traced.envs([(ROOT, root), (DURABILITY, durability)]);
        match traced.output() {
            Ok(output) => assert!(output.status.success(), "{output:?}"),
            Err(error) => {
                println!("SKIP a_small_edit_takes_few_system_calls: strace: {error}");
                return;
            }
        }
        let trace = fs::read_to_string(trace).unwrap();
        let resolving = between(&trace, 1);
        let calls = between(&trace, 2);
        let mut counts = BTreeMap::<_, u32>::new();
        for call in &calls {
            *counts.entry(call).or_default() += 1;
        }
        println!(
            "durability {durability}: {} calls, {counts:?}; resolving: {resolving:?}",
            calls.len()
        );
        assert!(calls.len() <= most, "{calls:?}");
        // Of the bytes, and with `full` of the folder's names: what durability is.
        assert_eq!(counts.get(&"fsync").copied().unwrap_or_default(), syncs);
        assert!(resolving.len() <= 1, "{resolving:?}");
        assert!(!calls.contains(&"futex"), "no other thread is asked");
    }
}
