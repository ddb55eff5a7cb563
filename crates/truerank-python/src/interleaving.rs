//! Which of two interleaved rankers people prefer.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use truerank::interleaving::Interleaving;

use crate::json::json_to_python;
use crate::log::{log_source, take_reading};
use crate::options::Keywords;
use crate::run::run_quiet;

/// Judges two rankers by the result pages of team-draft interleaving: a dict, as `truerank interleaving --json` prints it.
///
/// `log` is what `Counts.from_log` takes, with its options; the column `team` names the ranker that placed a document. `preference` is
/// the share of pages that the first ranker wins, ties as half, less one half, with its 95 % interval over queries and p; `winner` is
/// None where that is open. All rows are held in memory.
///
/// >>> log = {"session": [1, 1, 2, 2, 3, 3], "query": ["q", "q", "q", "q", "r", "r"], "doc": ["a", "b", "b", "a", "c", "d"],
/// ...        "position": [1, 2, 1, 2, 1, 2], "team": ["new", "old", "old", "new", "new", "old"], "click": [1, 0, 0, 1, 0, 1]}
/// >>> found = truerank.interleaving(log)
/// >>> found["wins"], found["winner"]
/// ({'new': 2, 'old': 1}, None)
#[pyfunction]
#[pyo3(signature = (log, **options))]
pub fn interleaving<'py>(log: &Bound<'py, PyAny>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
    let mut keywords = Keywords::new(options)?;
    let judge: Interleaving = keywords.take()?;
    let reading = take_reading(&mut keywords)?;
    keywords.finish()?;
    let reading = judge.reading(reading).map_err(crate::error::to_python)?;
    let (py, log) = (log.py(), log_source(log, reading)?);
    let found = run_quiet(py, || judge.judge(&log.read()?))?;
    json_to_python(py, &found.to_json())
}
