//! Logs in JSON lines and arrays, and result pages in them.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| truerank_fuzz::read("json_logs", input));
