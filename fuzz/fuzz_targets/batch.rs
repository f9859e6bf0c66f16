#![no_main]

use std::sync::OnceLock;

#[allow(dead_code)]
#[path = "../../src/cli/mod.rs"]
mod cli;

use cli::open::Opened;
use seamfs::Workspace;
use tokio::runtime::Runtime;

static PLACE: OnceLock<(Runtime, Opened)> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (runtime, opened) = PLACE.get_or_init(|| {
        let runtime = seamfs_fuzz::runtime();
        let workspace = runtime.block_on(
            Workspace::builder()
                .option("quota", "1000000")
                .open("memory:"),
        );
        let workspace = workspace.expect("memory opens");
        let cwd = String::new();
        (runtime, Opened { workspace, cwd })
    });
    for line in data
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
    {
        seamfs_fuzz::check_answer(&runtime.block_on(cli::batch::answer(opened, line)));
    }
});
