//! Data sets in every form.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| truerank_fuzz::read("data_sets", input));
