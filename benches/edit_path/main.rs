//! The edit path beside its raw twins, alternated in one run and reported as ratios.
//!
//! `cargo bench` prints the table; `cargo bench -- --quick` runs few pairs and small sizes. A word
//! after that keeps the rows whose names hold it. `SEAMFS_BENCH_DIR` says where files are put
//! (a tmpfs shows the framework, a disk shows the disk).

// The twins are what a program without the framework would do.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout
)]

mod harness;
mod observed;
mod rows;
mod twin;

use harness::{Budget, Harness};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` runs this too, and asks for nothing but that it works.
    let quick = arguments.iter().any(|a| a == "--quick" || a == "--test");
    let filter = arguments.iter().find(|a| !a.starts_with("--")).cloned();
    let budget = if quick {
        Budget::quick()
    } else {
        Budget::full()
    };
    let folder = match std::env::var_os("SEAMFS_BENCH_DIR") {
        Some(parent) => tempfile::tempdir_in(parent),
        None => tempfile::tempdir(),
    }
    .expect("a scratch folder can be made");
    let mut harness = Harness::new(budget, filter);
    rows::run(&mut harness, folder.path());
    harness.report();
}
