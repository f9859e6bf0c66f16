//! The command line of seamfs.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
