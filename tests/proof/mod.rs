//! Proof under fire: the claims and the tools on storage that fails, and on storage that is busy.

mod claims;
mod dropped;
mod dropped_calls;
mod in_place;
mod places;
mod soak;
mod table;
