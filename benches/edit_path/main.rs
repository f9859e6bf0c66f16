//! The edit path beside its raw twins, alternated in one run and reported as ratios.
//!
//! `cargo bench` prints the table; `cargo bench -- --quick` runs few pairs and small sizes. A word
//! after that keeps the rows whose names hold it. `SEAMFS_BENCH_DIR` says where files are put
//! (a tmpfs shows the framework, a disk shows the disk); `SEAMFS_BENCH_PLOTS` names a folder for
//! plots of the table.

// The twins are what a program without the framework would do.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout
)]

mod footprint;
mod harness;
mod local;
mod object;
mod observed;
mod plot;
mod rows;
mod scaling;
mod scene;
mod stdio;
mod twin;

use std::path::Path;

use harness::{Budget, Harness};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // This program is also the bare echo server, and the child whose memory is measured.
    match arguments.first().map(String::as_str) {
        Some(stdio::ECHO) => return stdio::echo(),
        Some(footprint::CHILD) => return footprint::child(&arguments[1]),
        _ => {}
    }
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
    if let Some(folder) = std::env::var_os("SEAMFS_BENCH_PLOTS") {
        plots(&harness, Path::new(&folder));
    }
}

/// Writes the plots that the documentation shows.
fn plots(harness: &Harness, folder: &Path) {
    let editing = [
        "local none, edit by tool",
        "local none, edit by provider",
        "local data, edit by tool",
        "memory, edit by tool",
        "object in memory, warm edit by tool",
    ];
    let others = [
        "local none, miss by tool",
        "local none, replace_all of 1,000",
        "local none, insert",
        "local none, write",
        "local none, read first window",
        "local none, read late window",
    ];
    let rows = harness.ratios();
    for (name, title, families) in [
        ("edits", "Edits, beside their raw twins", &editing[..]),
        (
            "others",
            "Their neighbours, beside their raw twins",
            &others[..],
        ),
    ] {
        let svg = plot::svg(title, families, &rows);
        std::fs::write(folder.join(format!("{name}.svg")), svg).expect("a plot is written");
    }
}
