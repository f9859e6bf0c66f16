//! The seam of seamfs: the file system trait, its data, errors, gate and pure text logic. No IO.
pub mod text;
