//! Starts the threads that work is spread on: as many as are wanted, or as many as the system gives.
//!
//! Results do not depend on their number, so fewer threads are no reason to stop.

use std::num::NonZero;
use std::sync::mpsc::{Sender, channel};

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::{Error, Result};

/// One per core, or as many as `RAYON_NUM_THREADS` says.
pub fn usual() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok()).filter(|&count| count > 0);
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get))
}

/// Starts the threads of the whole process and returns how many there are. Where the system gives none, the calling thread,
/// which should be the main one, does all work alone.
pub fn start(wanted: usize) -> Result<usize> {
    let waiting = Waiting::start(wanted.max(1));
    match waiting.count() {
        0 => ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().map_err(not_started)?,
        count => {
            let pool = ThreadPoolBuilder::new().num_threads(count);
            pool.spawn_handler(|thread| waiting.give(thread)).build_global().map_err(not_started)?;
        }
    }
    Ok(waiting.count().max(1))
}

/// Threads apart from those of the process, at least one.
pub fn pool(wanted: usize) -> Result<ThreadPool> {
    let waiting = Waiting::start(wanted.max(1));
    let pool = ThreadPoolBuilder::new().num_threads(waiting.count().max(1));
    pool.spawn_handler(|thread| waiting.give(thread)).build().map_err(not_started)
}

fn not_started(cause: ThreadPoolBuildError) -> Error {
    Error::parameter(format!("no thread can be started ({cause}); raise the limit of processes (ulimit -u)"))
}

/// Threads that wait to be told what to do: a pool whose last thread cannot be started is none, and cannot be tried again.
struct Waiting(Vec<Sender<ThreadBuilder>>);

impl Waiting {
    /// As many as can be started.
    fn start(wanted: usize) -> Self {
        Waiting((0..wanted).map_while(start_one).collect())
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    fn give(&self, thread: ThreadBuilder) -> std::io::Result<()> {
        let waiting = self.0.get(thread.index()).ok_or(std::io::ErrorKind::WouldBlock)?;
        waiting.send(thread).map_err(|_| std::io::ErrorKind::WouldBlock.into())
    }
}

fn start_one(number: usize) -> Option<Sender<ThreadBuilder>> {
    let (sender, receiver) = channel::<ThreadBuilder>();
    let thread = std::thread::Builder::new().name(format!("truerank-{number}"));
    // Without a task it ends: so do those that are not given one.
    thread.spawn(move || receiver.recv().map(ThreadBuilder::run)).ok().map(|_| sender)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn a_pool_has_the_threads_that_were_asked_for_and_works() {
        for wanted in [0, 1, 3] {
            let pool = pool(wanted).unwrap();
            assert_eq!(pool.current_num_threads(), wanted.max(1));
            assert_eq!(pool.install(|| (0..1000u64).into_par_iter().sum::<u64>()), 999 * 500);
        }
    }
}
