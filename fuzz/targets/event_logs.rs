//! Logs of events, Yandex's and OpenSearch's among them.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| truerank_fuzz::read("event_logs", input));
