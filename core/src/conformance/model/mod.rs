//! The model: random histories of several actors, compared step by step with an ordered map.
//!
//! A history shrinks when it fails, and is shown as a script that `seamfs batch` replays, as far as
//! its steps are tools.

mod reference;
mod run;
mod script;
mod splice;
mod step;

pub use run::{Histogram, check, check_cases};
pub use step::{Content, Guard, Name, Step};
