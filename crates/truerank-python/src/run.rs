//! Runs work of the library without holding Python's lock: other Python threads go on, Ctrl-C stops it, progress is shown.

use std::any::Any;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPool;
use truerank::progress::Progress;
use truerank::threads as starting;
use truerank::{Error, Result};

use crate::error::to_python;

/// How often signals are looked for and progress is shown.
const TICK: Duration = Duration::from_millis(50);

/// As much as a main thread has: work on one may be deep.
const STACK: usize = 8 << 20;

/// Runs `work` on truerank's threads and returns what it makes.
///
/// `progress` is false, true for a bar, or a function of `(what, done, total)`.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let (pool, watch) = (pool()?, Watch::default());
    let mut display = Display::new(py, progress)?;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("truerank".to_string()).stack_size(STACK);
        let worker = thread.spawn_scoped(scope, || {
            let _ends = Ends(&watch);
            pool.install(|| work(&watch))
        })?;
        let mut interrupt = None;
        while !py.detach(|| watch.wait()) {
            let going_on = py.check_signals().and_then(|()| display.show(py, &watch));
            if let Err(error) = going_on {
                watch.stop();
                interrupt.get_or_insert(error);
            }
        }
        let outcome = py.detach(|| worker.join()).map_err(|panic| internal_error(&*panic))?;
        let closed = display.close(py);
        match interrupt {
            Some(error) => Err(error),
            None => closed.and(outcome.map_err(to_python)),
        }
    })
}

/// The same for work that reports no progress.
pub fn run_quiet<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    run(py, None, |_| work())
}

/// A mistake of ours is an exception like any other: it must not end the interpreter.
fn internal_error(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = truerank::text::line(text.unwrap_or("no reason is known"));
    PyRuntimeError::new_err(format!("truerank made a mistake, please report it: {text}"))
}

/// The threads that all work shares, how many were asked for, and the process they belong to.
struct Threads {
    process: u32,
    count: usize,
    pool: Option<Arc<ThreadPool>>,
}

static THREADS: Mutex<Threads> = Mutex::new(Threads { process: 0, count: 0, pool: None });

/// The threads of this process. A fork has none of its parent's threads, and would wait for them forever.
fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut threads = lock(&THREADS);
    let process = std::process::id();
    if threads.process != process {
        std::mem::forget(threads.pool.take());
        threads.process = process;
    }
    if let Some(pool) = &threads.pool {
        return Ok(pool.clone());
    }
    let wanted = if threads.count == 0 { starting::usual() } else { threads.count };
    let pool = Arc::new(starting::pool(wanted).map_err(|e| PyRuntimeError::new_err(e.to_string()))?);
    threads.pool = Some(pool.clone());
    Ok(pool)
}

/// Sets how many threads work is spread on; 0 for one per core. Results do not depend on it.
///
/// >>> truerank.set_threads(1)
/// >>> truerank.threads()
/// 1
/// >>> truerank.set_threads(0)
#[pyfunction]
pub fn set_threads(count: usize) {
    let mut threads = lock(&THREADS);
    (threads.count, threads.pool) = (count, None);
}

/// How many threads work is spread on.
#[pyfunction]
pub fn threads() -> PyResult<usize> {
    Ok(pool()?.current_num_threads())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the working threads tell, and whether they should stop.
#[derive(Default)]
struct Watch {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default, Clone)]
struct State {
    /// How many pieces of work were begun; the last of them is told here.
    begun: u64,
    what: String,
    total: u64,
    done: u64,
    is_stopped: bool,
    is_ended: bool,
}

impl Watch {
    /// Waits a little; whether the work has ended.
    fn wait(&self) -> bool {
        let state = lock(&self.state);
        let waited = self.ended.wait_timeout_while(state, TICK, |state| !state.is_ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_ended
    }

    fn stop(&self) {
        lock(&self.state).is_stopped = true;
    }
}

impl Progress for Watch {
    fn begin(&self, what: &str, total: u64) {
        let mut state = lock(&self.state);
        let (begun, is_stopped) = (state.begun + 1, state.is_stopped);
        *state = State { begun, what: what.to_string(), total, is_stopped, ..State::default() };
    }

    fn advance(&self, steps: u64) -> Result<()> {
        let mut state = lock(&self.state);
        state.done += steps;
        if state.is_stopped { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// Says that the work has ended, however it ends.
struct Ends<'a>(&'a Watch);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).is_ended = true;
        self.0.ended.notify_all();
    }
}

/// Shows progress through a function of Python.
struct Display<'py> {
    show: Option<Bound<'py, PyAny>>,
    told: (u64, u64),
}

impl<'py> Display<'py> {
    fn new(py: Python<'py>, progress: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let bar = || py.import("truerank._progress")?.getattr("Bar")?.call0();
        let show = match progress {
            None => None,
            Some(function) if function.is_callable() => Some(function.clone()),
            Some(wanted) => wanted.is_truthy()?.then(bar).transpose()?,
        };
        Ok(Display { show, told: (0, 0) })
    }

    /// Tells what is new, if anything is.
    fn show(&mut self, py: Python<'_>, watch: &Watch) -> PyResult<()> {
        let Some(show) = &self.show else { return Ok(()) };
        let state = py.detach(|| lock(&watch.state).clone());
        if state.begun > 0 && self.told != (state.begun, state.done) {
            self.told = (state.begun, state.done);
            show.call1((state.what, state.done.min(state.total), state.total))?;
        }
        Ok(())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match &self.show {
            Some(bar) if bar.hasattr(pyo3::intern!(py, "close"))? => bar.call_method0("close").map(drop),
            _ => Ok(()),
        }
    }
}
