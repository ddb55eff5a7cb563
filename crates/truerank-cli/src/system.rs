//! What the system may do to a running program: ask it to stop, or refuse it a larger file.

/// Prepares for signals. What is refused becomes an error; who is asked to stop tidies up first.
pub fn prepare() {
    #[cfg(unix)]
    unix::prepare();
}

#[cfg(unix)]
mod unix {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use crate::progress::say_error;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

    pub fn prepare() {
        // Without a handler the signal ends the program; with any, the write fails with an error that says why.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
        tidy_up_when_stopped();
    }

    /// Ctrl-C and other requests to stop leave no temporary files, and results as they were.
    fn tidy_up_when_stopped() {
        // Signals are caught only once there is a thread to hear of them; where none can be had, they end the program.
        let _ = std::thread::Builder::new().name("signals".to_string()).spawn(|| {
            let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
            if let Some(signal) = signals.forever().next() {
                truerank::files::remove_unfinished(|| {
                    say_error("interrupted");
                    // As shells expect of a program that a signal ended.
                    std::process::exit(128 + signal)
                });
            }
        });
    }
}
