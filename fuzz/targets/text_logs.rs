//! Logs in CSV and TSV, compressed or not, and result pages in them.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| truerank_fuzz::read("text_logs", input));
