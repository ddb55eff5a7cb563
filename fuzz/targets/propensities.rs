//! Examination probabilities, and features of users.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| truerank_fuzz::read("propensities", input));
