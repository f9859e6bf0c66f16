//! `seamfs demo`: a guided session on an embedded workspace.

use super::{Outcome, show};

pub(crate) async fn run() -> Outcome {
    show::error("demo: not yet");
    Outcome::Usage
}
