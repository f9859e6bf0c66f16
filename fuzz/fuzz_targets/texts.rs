#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seamfs_fuzz::texts(data));
