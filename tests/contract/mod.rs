//! The contract, claim by claim: each function's name starts with the id of its claim.

mod big_files;
mod command_line;
mod editing;
mod editor;
mod installed;
mod observation;
mod paging;
mod parity;
mod paths;
mod read_write_edit;
mod storage;

use crate::support::Fault;

#[test]
fn every_double_is_noticed_by_some_claim() {
    let noticed = [
        editing::FAULTS,
        editor::FAULTS,
        observation::FAULTS,
        paging::FAULTS,
        paths::FAULTS,
        read_write_edit::FAULTS,
        storage::FAULTS,
        &[Fault::TruncatesWhenFull],
        &crate::field::FAULTS.concat(),
    ]
    .concat();
    let idle: Vec<_> = Fault::ALL
        .iter()
        .filter(|fault| !noticed.contains(fault))
        .collect();
    assert!(idle.is_empty(), "no claim names {idle:?}");
}
