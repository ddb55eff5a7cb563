//! How long work tells its caller how far it is, and hears from it that it should stop; the library itself never prints.

use crate::Result;

/// Receives the progress of long work.
pub trait Progress: Sync {
    /// A piece of work of `total` steps begins; it ends the one before it.
    fn begin(&self, what: &str, total: u64);

    /// `steps` more are done, or none, to ask whether to go on.
    ///
    /// An error, such as [`Error::Stopped`](crate::Error::Stopped), ends the work: it is returned from wherever the work was begun, with nothing
    /// half written.
    fn advance(&self, steps: u64) -> Result<()>;

    /// A word about the state of the work, such as the current loss.
    fn note(&self, _text: &str) {}

    /// A part of the work is done that deserves a line of its own.
    fn done(&self, _text: &str) {}
}

/// Says nothing of its own, but hears whether to go on: for parts of work that is told as a whole.
pub struct Quiet<'a>(pub &'a dyn Progress);

impl Progress for Quiet<'_> {
    fn begin(&self, _what: &str, _total: u64) {}
    fn advance(&self, _steps: u64) -> Result<()> {
        self.0.advance(0)
    }
}

/// Ignores all progress.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _what: &str, _total: u64) {}
    fn advance(&self, _steps: u64) -> Result<()> {
        Ok(())
    }
}
