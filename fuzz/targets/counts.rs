//! Each file of a folder of counts.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| truerank_fuzz::read("counts", input));
