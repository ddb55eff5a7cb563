//! Counts: what a click log says, whatever its length.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use truerank::counts::{CountOptions, Counts, CountsView, END, LogSource, LogSummary, Transitions};
use truerank::files::RoomOptions;
use truerank::report::Figure;

use crate::error::{LogWarning, to_python};
use crate::html;
use crate::ids::ids_to_numpy;
use crate::json::json_to_python;
use crate::log::{log_source, take_reading};
use crate::options::Keywords;
use crate::run::{run, run_quiet};
use crate::table::{PyTable, converted, id_column, table};

/// How often each user saw and clicked each document of each query at each position: all that estimation needs of a log.
///
/// Made by `from_log`, `read` or a simulation.
///
/// >>> log = {"session": [1, 1, 2, 2], "user": ["u", "u", "v", "v"], "query": [7, 7, 7, 7],
/// ...        "doc": ["a", "b", "a", "b"], "position": [1, 2, 1, 2], "click": [0, 1, 0, 0]}
/// >>> counts = truerank.Counts.from_log(log)
/// >>> counts
/// <Counts: 2 sessions, 4 impressions, 1 click, 1 query, 2 documents, 2 users>
/// >>> counts.cells["clicks"]
/// array([0, 0, 1, 0])
#[pyclass(name = "Counts", module = "truerank", frozen)]
pub struct PyCounts {
    pub inner: Arc<Counts>,
    /// What is known of the log, where it was counted here.
    pub summary: Arc<LogSummary>,
}

impl From<Counts> for PyCounts {
    fn from(counts: Counts) -> Self {
        PyCounts { inner: Arc::new(counts), summary: Arc::default() }
    }
}

#[pymethods]
impl PyCounts {
    /// Counts a log: one row per shown document, clicked or not, or one row per result page with lists.
    ///
    /// `log` is a path, a list of paths, folders or patterns (`"logs/*.csv.gz"`); a table of pandas, Polars or PyArrow,
    /// or anything else that speaks Arrow's C interface; or a dict of arrays. Its columns are session, user, query,
    /// doc, position (from 1) and click (0 or 1).
    ///
    /// Options are those of `truerank count`. `columns` says other names of columns: `{"user": "client_id"}`; several
    /// together are a session with `"user+task"`, or a query. None as the user's means that there are none, as the
    /// query's that all pages share one, as the session's that each row is a page. `click_when` makes clicks of another
    /// column: `"dwell_time>0"`, `"action=click|purchase"` or `"dwell_time present"`. `header` is False where CSV and
    /// TSV files have none, or their columns' names. `events` names the column of a log of events, whose rows show
    /// documents or click them, or is a dict of it and of their names:
    /// `{"column": "type", "query": ["search"], "click": ["open"]}`. `on_bad_row` is `"error"`, `"skip"` or a file that
    /// bad rows go to. `since` and `until` choose result pages by their time. `list_separator` and `clicks` (`"flags"`,
    /// `"docs"`, `"positions"`) are for lists. `patterns=True` also counts which clicks occur together, which the PRS loss
    /// needs. `transitions=True` also counts how users go from click to click, which click models need; with it `context` names a column of what
    /// a page was shown in, such as its device, for click models with parameters of each. What does not fit into `memory` (`"2GiB"`; half of what is free by default) while counting goes to the folder
    /// `temporary`.
    #[staticmethod]
    #[pyo3(signature = (log, *, progress=None, **options))]
    fn from_log<'py>(
        log: &Bound<'py, PyAny>,
        progress: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let py = log.py();
        let mut keywords = Keywords::new(options)?;
        let reading = take_reading(&mut keywords)?;
        let room = keywords.take::<RoomOptions>()?.room(None);
        let what = keywords.take::<CountOptions>()?.room(Some(room));
        keywords.finish()?;
        let log = log_source(log, what.reading(&reading).map_err(to_python)?)?;
        let (inner, summary) = run(py, progress, |progress| log.count(&what, progress))?;
        warn(py, &log, &summary)?;
        Ok(PyCounts { inner, summary: Arc::new(summary) })
    }

    /// Reads a folder that `write` or `truerank count` wrote.
    #[staticmethod]
    fn read(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        run_quiet(py, || Counts::read(&folder)).map(PyCounts::from)
    }

    /// Writes a folder, as `truerank count` does; it appears when it is complete.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        run_quiet(py, || self.inner.write(&folder).map(drop))
    }

    /// The cells, sorted: query, doc, position, user, impressions, clicks. The table is made anew each time.
    #[getter]
    fn cells(&self, py: Python<'_>) -> PyResult<PyTable> {
        let columns = run_quiet(py, || Ok(cell_columns(&self.inner)))?;
        table("Cells", columns)
    }

    /// How many sessions of each query were by each user: query, user, sessions.
    #[getter]
    fn sessions(&self, py: Python<'_>) -> PyResult<PyTable> {
        let columns = run_quiet(py, || Ok(session_columns(&self.inner)))?;
        table("Sessions", columns)
    }

    /// How users went from click to click on each list of results: query, list, user, from_position, to_position, sessions.
    ///
    /// Position 0 is outside of the list: before the first click, after the last. `list` is the number of the list within its
    /// query, from 1; `lists` says what it showed. None where transitions were not counted.
    ///
    /// >>> log = {"session": [1, 1, 2, 2], "user": ["u", "u", "v", "v"], "query": [7, 7, 7, 7],
    /// ...        "doc": ["a", "b", "a", "b"], "position": [1, 2, 1, 2], "click": [0, 1, 0, 0]}
    /// >>> truerank.Counts.from_log(log, transitions=True).transitions["to_position"]
    /// array([2, 0, 0], dtype=int32)
    #[getter]
    fn transitions(&self, py: Python<'_>) -> PyResult<Option<PyTable>> {
        let columns = run_quiet(py, || Ok(self.inner.transitions.as_ref().map(|all| row_columns(&self.inner, all))))?;
        columns.map(|columns| table("Transitions", columns)).transpose()
    }

    /// The documents of the lists that transitions are counted on: query, list, doc, position, and context where that was counted; a
    /// row for each document. None where transitions were not counted.
    #[getter]
    fn lists(&self, py: Python<'_>) -> PyResult<Option<PyTable>> {
        let columns = run_quiet(py, || Ok(self.inner.transitions.as_ref().map(|all| list_columns(&self.inner, all))))?;
        columns.map(|columns| table("Lists", columns)).transpose()
    }

    /// The totals, the rows left out and what should be known, as `truerank count --json` prints them.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.summary.to_json(&self.inner.totals()))
    }

    /// What should be known of the log: guessed columns, rows left out.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.summary.remarks()
    }

    /// The ids of the queries, sorted.
    #[getter]
    fn queries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, &self.inner.queries)
    }

    /// The ids of the documents, sorted. A document may belong to several queries.
    #[getter]
    fn docs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, &self.inner.docs)
    }

    /// The ids of the users, sorted.
    #[getter]
    fn users<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, &self.inner.users)
    }

    /// What lists were shown in, sorted; empty where contexts were not counted.
    ///
    /// >>> log = {"session": [1, 1, 2, 2], "query": [7, 7, 7, 7], "doc": ["a", "b", "a", "b"], "position": [1, 2, 1, 2],
    /// ...        "click": [0, 1, 0, 0], "device": ["phone", "phone", "desktop", "desktop"]}
    /// >>> counts = truerank.Counts.from_log(log, transitions=True, context="device")
    /// >>> counts.contexts.tolist()
    /// ['desktop', 'phone']
    #[getter]
    fn contexts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, &self.inner.contexts)
    }

    /// How many sessions there are.
    #[getter]
    fn session_count(&self) -> u64 {
        self.inner.session_count()
    }

    /// How many documents were shown, over all sessions.
    #[getter]
    fn impression_count(&self) -> u64 {
        self.inner.impression_count()
    }

    /// How many clicks there are.
    #[getter]
    fn click_count(&self) -> u64 {
        self.inner.click_count()
    }

    /// The largest position at which anything was shown.
    #[getter]
    fn max_position(&self) -> u32 {
        self.inner.max_position()
    }

    /// Whether clicks that occur together were counted.
    #[getter]
    fn has_patterns(&self) -> bool {
        self.inner.patterns.is_some()
    }

    /// Divides the queries into those to learn from and those held out, about `share` of them.
    ///
    /// Which side a query is on follows from its text and the seed alone, so it is the same in any log.
    #[pyo3(signature = (share, *, seed=1))]
    fn split_queries(&self, py: Python<'_>, share: f64, seed: u64) -> PyResult<(Self, Self)> {
        let (learned, held_out) = run_quiet(py, || self.inner.split_queries(share, seed))?;
        Ok((learned.into(), held_out.into()))
    }

    /// The cells as pandas frame.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.cells(py)?.to_pandas(py)
    }

    /// The cells as a frame of Polars.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        converted(py, self.cells(py)?, "to_polars")
    }

    /// The cells as a table of PyArrow.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        converted(py, self.cells(py)?, "to_arrow")
    }

    /// How many rows and columns the cells have.
    #[getter]
    fn shape(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.cells(py).map(|table| table.shape())
    }

    /// The first rows of the cells.
    #[pyo3(signature = (n=5))]
    fn head(&self, py: Python<'_>, n: usize) -> PyResult<PyTable> {
        self.cells(py).map(|table| table.head(n))
    }

    /// Plots clicks per impression, and impressions, by position.
    ///
    /// Drawn by matplotlib, which this call imports, onto `ax` or a new figure; returns the axes.
    #[pyo3(signature = (ax=None))]
    fn plot<'py>(this: Bound<'py, Self>, ax: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._plot")?.call_method1("counts", (this, ax))
    }

    /// How many cells there are.
    fn __len__(&self) -> usize {
        self.inner.cells.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        let totals = self.inner.totals();
        let parts = [
            html::count(totals.sessions, "session", "sessions"),
            html::count(totals.impressions, "impression", "impressions"),
            html::count(totals.clicks, "click", "clicks"),
            html::count(totals.queries, "query", "queries"),
            html::count(totals.shown, "document", "documents"),
            html::count(totals.users, "user", "users"),
        ];
        format!("<Counts: {}>", parts.join(", "))
    }

    fn _repr_html_(&self) -> String {
        let rows =
            self.inner.totals().named().into_iter().map(|(name, count)| vec![name.into(), html::thousands(count)]);
        let table = html::table("Counts", &[], &rows.collect::<Vec<_>>(), &self.remarks());
        html::with_figure(table, &click_rates(&self.inner))
    }

    fn __reduce__<'py>(this: Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        crate::pickle::reduce(this.into_any())
    }
}

/// Clicks per impression by position.
fn click_rates(counts: &Counts) -> Figure {
    let mut sums = vec![(0_u64, 0_u64); counts.max_position() as usize];
    for cell in &counts.cells {
        let (impressions, clicks) = &mut sums[cell.position as usize - 1];
        *impressions += cell.impressions;
        *clicks += cell.clicks;
    }
    let rates = sums.iter().map(|&(impressions, clicks)| clicks as f64 / impressions as f64);
    html::curve("clicks per impression", "position", rates.collect())
}

/// Warns that rows were left out, where they were read now.
pub fn warn(py: Python<'_>, log: &LogSource, summary: &LogSummary) -> PyResult<()> {
    let Some(left_out) = summary.left_out().filter(|_| !log.is_counted()) else { return Ok(()) };
    let first = summary.bad_rows.first.first().map_or(String::new(), |first| format!("; the first: {first}"));
    let text = CString::new(truerank::text::line(&format!("{left_out}{first}"))).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<LogWarning>(), &text, 1)
}

fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.map(|value| value as i64)))
}

fn cell_columns(counts: &Counts) -> Vec<(&'static str, ArrayRef)> {
    let cells = || counts.cells.iter();
    vec![
        ("query", id_column(&counts.queries, cells().map(|cell| cell.query))),
        ("doc", id_column(&counts.docs, cells().map(|cell| cell.doc))),
        ("position", Arc::new(Int32Array::from_iter_values(cells().map(|cell| cell.position as i32)))),
        ("user", id_column(&counts.users, cells().map(|cell| cell.user))),
        ("impressions", numbers(cells().map(|cell| cell.impressions))),
        ("clicks", numbers(cells().map(|cell| cell.clicks))),
    ]
}

/// The number of each list within its query, from 1.
fn numbers_within_queries(transitions: &Transitions) -> Vec<i32> {
    let queries = transitions.lists.chunk_by(|a, b| a.query == b.query);
    queries.flat_map(|lists| 1..=lists.len() as i32).collect()
}

fn small(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values.map(|value| value as i32)))
}

fn row_columns(counts: &Counts, all: &Transitions) -> Vec<(&'static str, ArrayRef)> {
    let (rows, within) = (|| all.rows.iter(), numbers_within_queries(all));
    let list = Int32Array::from_iter_values(rows().map(|row| within[row.list as usize]));
    vec![
        ("query", id_column(&counts.queries, rows().map(|row| all.lists[row.list as usize].query))),
        ("list", Arc::new(list)),
        ("user", id_column(&counts.users, rows().map(|row| row.user))),
        ("from_position", small(rows().map(|row| row.from))),
        ("to_position", small(rows().map(|row| if row.to == END { 0 } else { row.to }))),
        ("sessions", numbers(rows().map(|row| row.sessions))),
    ]
}

fn list_columns(counts: &Counts, all: &Transitions) -> Vec<(&'static str, ArrayRef)> {
    let within = numbers_within_queries(all);
    let shown = || {
        all.lists.iter().zip(&within).flat_map(|(list, &number)| all.of(list).iter().map(move |s| (list, number, s)))
    };
    let mut columns = vec![
        ("query", id_column(&counts.queries, shown().map(|(list, ..)| list.query))),
        ("list", Arc::new(Int32Array::from_iter_values(shown().map(|(_, number, _)| number)))),
        ("doc", id_column(&counts.docs, shown().map(|(.., shown)| shown.doc))),
        ("position", small(shown().map(|(.., shown)| shown.position))),
    ];
    if !counts.contexts.is_empty() {
        columns.push(("context", id_column(&counts.contexts, shown().map(|(list, ..)| list.context))));
    }
    columns
}

fn session_columns(counts: &Counts) -> Vec<(&'static str, ArrayRef)> {
    let sessions = || counts.sessions.iter();
    vec![
        ("query", id_column(&counts.queries, sessions().map(|count| count.query))),
        ("user", id_column(&counts.users, sessions().map(|count| count.user))),
        ("sessions", numbers(sessions().map(|count| count.sessions))),
    ]
}
