//! Simulated logs: people who differ in what they search and how far down they look.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, Int32Array, Int64Array};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use truerank::counts::{CountOptions, count_log};
use truerank::data::Dataset;
use truerank::files::check_file;
use truerank::log::{Impression, Log};
use truerank::options::Options;
use truerank::ranker::{Production, Ranker};
use truerank::simulate::{ShownLists, Simulation, Simulator};

use crate::arrays::floats_from_python;
use crate::click_model::PyClickModel;
use crate::counts::PyCounts;
use crate::dataset::{FeatureNames, PyDataset};
use crate::error::to_python;
use crate::html;
use crate::options::{Keywords, with};
use crate::propensity::PyPropensities;
use crate::run::{run, run_quiet};
use crate::table::{PyTable, id_column, table};

/// A simulated log: what people were shown, what they clicked, and what only a simulation knows.
///
/// Nothing is drawn before it is asked for, and the same each time.
#[pyclass(name = "Simulation", module = "truerank", frozen)]
pub struct PySimulation {
    settings: Simulation,
    data: Arc<Dataset>,
    names: FeatureNames,
    lists: Vec<ShownLists>,
    /// Made once: users are drawn for it.
    propensities: Py<PyPropensities>,
}

/// Simulates a click log on graded data, by the paper's protocol.
///
/// Clusters of users have their own depth of looking, `θ(k) = k^-η`, and their own queries; all find the same documents
/// relevant. `users` is the number of clusters, with the paper's depths (5, 10 or 20), or `etas` says the depth of each. The
/// training part of `data` is ordered by a production ranker, which learned from `production_share` of the grades, or by
/// each of `loggers` in turn: rankers, their files, or arrays of scores.
///
/// `click_model` is how people go down a page, by default "pbm": one of the models of `truerank.click_model`, or several, which
/// the clusters get in turn, such as `["pbm", "dbn"]`. Their parameters follow from the depths; `simulation.click_model` is
/// the truth.
///
/// `swap` and `shuffle` are shares of sessions in which rank 1 changes places with another, or the whole list is shuffled.
/// `length` documents are shown. The other options are those of `truerank simulate`.
///
/// >>> data = truerank.generate("tiny")
/// >>> simulation = truerank.simulate(data, sessions=1000, seed=3)
/// >>> simulation.propensities
/// <Propensities: oracle, 10 positions, 10 users>
/// >>> simulation.log().columns
/// ['session', 'user', 'query', 'doc', 'position', 'click']
/// >>> truerank.Counts.from_log(simulation.log()).session_count
/// 1000
/// >>> truerank.simulate(data, sessions=1000, click_model="dbn").click_model.kinds[0]["model"]
/// 'dbn'
#[pyfunction]
#[pyo3(signature = (data, *, loggers=None, max_grade=None, progress=None, **options))]
pub fn simulate<'py>(
    data: &Bound<'py, PyAny>,
    loggers: Option<Vec<Bound<'py, PyAny>>>,
    max_grade: Option<u8>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<PySimulation> {
    let (py, names) = (data.py(), PyDataset::names_of(data)?);
    let data = PyDataset::training_part(data)?;
    let mut keywords = Keywords::new(options)?;
    let settings = with(keywords.take::<Simulation>()?, max_grade, Simulation::max_grade);
    let production = keywords.take::<Production>()?;
    keywords.finish()?;
    settings.check().map_err(to_python)?;
    let lists = match loggers {
        Some(loggers) => {
            loggers.iter().map(|logger| lists_of(logger, &data, production.length)).collect::<PyResult<_>>()?
        }
        None => vec![run(py, progress, |progress| production.lists(&data, settings.seed, progress))?],
    };
    let truth = run_quiet(py, || Ok(settings.clone().prepare(&data, &lists)?.propensities()))?;
    Ok(PySimulation { settings, data, names, lists, propensities: Py::new(py, PyPropensities::from(truth))? })
}

/// The lists of a logger: a ranker, its file, or scores.
fn lists_of(logger: &Bound<'_, PyAny>, data: &Arc<Dataset>, length: usize) -> PyResult<ShownLists> {
    let py = logger.py();
    if logger.is_instance_of::<PyString>() || logger.hasattr("__fspath__")? {
        let path: PathBuf = logger.extract()?;
        return run_quiet(py, || ShownLists::top(data, &Ranker::load(&path)?.score(data)?, length));
    }
    let scores = match logger.hasattr("predict")? {
        true => logger.call_method1("predict", (PyDataset::from(data.clone()),))?,
        false => logger.clone(),
    };
    let scores: Vec<f32> = floats_from_python(&scores, "loggers")?.into_iter().map(|score| score as f32).collect();
    run_quiet(py, || ShownLists::top(data, &scores, length))
}

/// What makes a simulation again: its data, the scores of its loggers, its options.
type Reduced<'py> = (PyDataset, Vec<Vec<f64>>, Bound<'py, PyDict>);

/// Scores by which documents are shown as they are in `lists`.
fn order_as_scores(lists: &ShownLists, rows: usize) -> Vec<f64> {
    let mut scores = vec![0.0; rows];
    for query in 0..lists.query_count() {
        let shown = lists.of(query);
        shown.iter().enumerate().for_each(|(rank, &row)| scores[row as usize] = (shown.len() - rank) as f64);
    }
    scores
}

/// Rows of a log, column by column.
#[derive(Default)]
struct Rows {
    session: Vec<i64>,
    user: Vec<u32>,
    query: Vec<u32>,
    doc: Vec<u32>,
    position: Vec<i32>,
    click: Vec<i8>,
}

impl Rows {
    fn add(&mut self, impressions: &[Impression]) {
        for impression in impressions {
            self.session.push(impression.session as i64);
            self.user.push(impression.user);
            self.query.push(impression.query);
            self.doc.push(impression.doc);
            self.position.push(impression.position as i32);
            self.click.push(impression.click as i8);
        }
    }

    fn columns(self, ids: &Log) -> Vec<(&'static str, ArrayRef)> {
        vec![
            ("session", Arc::new(Int64Array::from(self.session))),
            ("user", id_column(&ids.users, self.user.into_iter())),
            ("query", id_column(&ids.queries, self.query.into_iter())),
            ("doc", id_column(&ids.docs, self.doc.into_iter())),
            ("position", Arc::new(Int32Array::from(self.position))),
            ("click", Arc::new(Int8Array::from(self.click))),
        ]
    }
}

impl PySimulation {
    fn simulator(&self) -> truerank::Result<Simulator<'_>> {
        self.settings.clone().prepare(&self.data, &self.lists)
    }
}

#[pymethods]
impl PySimulation {
    /// The log as a table: session, user, query, doc, position, click.
    #[pyo3(signature = (*, progress=None))]
    fn log(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<PyTable> {
        let columns = run(py, progress, |progress| {
            let simulator = self.simulator()?;
            let (ids, mut rows) = (simulator.empty_log(), Rows::default());
            simulator.for_each_piece(progress, |impressions| {
                rows.add(impressions);
                Ok(())
            })?;
            Ok(rows.columns(&ids))
        })?;
        table("Log", columns)
    }

    /// Counts of such a log, drawn without sessions: a billion sessions cost what a million do.
    ///
    /// They have the distribution of the log's counts, but are not those of `log()`. With `patterns=True`, which have no such
    /// short way, and only then, they are those of `log()`. `transitions=True` adds click transitions, which are always there
    /// where clicks do not come from "pbm".
    #[pyo3(signature = (*, patterns=false, transitions=false))]
    fn counts(&self, py: Python<'_>, patterns: bool, transitions: bool) -> PyResult<PyCounts> {
        let counts = run_quiet(py, || {
            let simulator = self.simulator()?;
            let transitions = transitions || !self.settings.is_position_based();
            match (patterns, transitions) {
                (true, _) => {
                    let options = CountOptions::new().patterns(true).transitions(transitions);
                    Ok(count_log(&simulator.log(), &options)?.0)
                }
                (false, true) => simulator.counts_with_transitions(),
                (false, false) => simulator.counts(),
            }
        });
        counts.map(PyCounts::from)
    }

    /// Writes the log (.parquet, .csv or .tsv, text also .gz or .zst), and the truth beside it: the propensities of
    /// `clicks.parquet` go to `clicks.propensities.json`, or where clicks do not come from "pbm" the click model to
    /// `clicks.click-model.json`. The bytes are those of `truerank simulate`.
    #[pyo3(signature = (path, *, progress=None))]
    fn write(&self, py: Python<'_>, path: PathBuf, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        run(py, progress, |progress| {
            let simulator = self.simulator()?;
            check_file(&self.settings.truth_path(&path))?;
            simulator.write_log(&path, progress, |_| {})?;
            simulator.write_truth(&path).map(|_| ())
        })
    }

    /// The true examination probabilities of every user; an error where clicks do not come from "pbm".
    #[getter]
    fn propensities(&self, py: Python<'_>) -> PyResult<Py<PyPropensities>> {
        match self.settings.is_position_based() {
            true => Ok(self.propensities.clone_ref(py)),
            false => Err(to_python(truerank::Error::option(
                "click_model",
                "is not pbm, so examination depends on the clicks above and has no propensities; `.click_model` is the truth",
            ))),
        }
    }

    /// The true click model: how every user browses, and relevance and satisfaction of every document that can be shown.
    #[getter]
    fn click_model(&self, py: Python<'_>) -> PyResult<PyClickModel> {
        let model = run_quiet(py, || Ok(self.simulator()?.click_model()))?;
        Ok(PyClickModel { inner: Arc::new(model) })
    }

    /// γ of each row of the training part: the probability that the document is found relevant once it is examined.
    #[getter]
    fn relevance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let relevance = run_quiet(py, || Ok(self.simulator()?.relevance().to_vec()))?;
        Ok(PyArray1::from_vec(py, relevance))
    }

    /// The training part: the documents that are shown.
    #[getter]
    fn data(&self) -> PyDataset {
        PyDataset { inner: self.data.clone(), names: self.names.clone() }
    }

    /// The same simulation: the data, scores that order documents as they were shown, and the options.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Reduced<'py>)> {
        let options = PyDict::new(py);
        for field in Simulation::fields() {
            let texts = self.settings.get(field.name);
            match (texts.as_slice(), field.is_list) {
                ([], _) => {}
                ([text], false) => options.set_item(field.name, text)?,
                (texts, _) => options.set_item(field.name, texts)?,
            }
        }
        options.set_item("max_grade", self.settings.max_grade)?;
        options.set_item("length", self.lists.iter().map(ShownLists::longest).max())?;
        let scores = self.lists.iter().map(|lists| order_as_scores(lists, self.data.len())).collect();
        let restore = py.import("truerank._pickle")?.getattr("simulation")?;
        Ok((restore, (self.data(), scores, options)))
    }

    fn __repr__(&self) -> String {
        let users = self.propensities.get().inner.users.len() as u64;
        let sessions = html::count(self.settings.sessions, "session", "sessions");
        format!("<Simulation: {sessions}, {}>", html::count(users, "user", "users"))
    }
}
