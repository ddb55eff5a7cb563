//! The steps of writing, at each of which a test can end the process as a kill would.

/// The environment variable with the number of the step at which the process ends, in builds for development.
#[cfg(development)]
const END_AT: &str = "TRUERANK_END_AT_STEP";

/// A moment between two changes of the disk.
#[cfg(development)]
pub(super) fn step() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static STEPS: AtomicU64 = AtomicU64::new(0);
    let number = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
    if std::env::var(END_AT).is_ok_and(|end| end.parse() == Ok(number)) {
        // Nothing is dropped, flushed or removed. The code tells the test that the step was reached.
        std::process::abort();
    }
}

#[cfg(not(development))]
pub(super) fn step() {}
