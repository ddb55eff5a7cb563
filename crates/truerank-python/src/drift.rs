//! Counts of several days: adding them, and what changed between two of them.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use truerank::counts::{Counts, CountsView, MergeOptions, Need, open_counts};
use truerank::drift::{Comparison, Drift};
use truerank::files::{Room, RoomOptions};
use truerank::memory::Memory;
use truerank::report::Verdict;

use crate::counts::PyCounts;
use crate::error::value_error;
use crate::json::json_to_python;
use crate::options::Keywords;
use crate::propensity::PyPropensities;
use crate::run::{run, run_quiet};
use crate::shown::{KeptPage, Page};

/// Adds counts of several logs into a folder: byte for byte that of counting all logs at once.
///
/// As `truerank merge`. `folders` are those that `Counts.write` or `truerank count` wrote. `without` are folders to take away.
/// With `half_life`, in days, old result pages are thinned at random; `age` or `date` say how old each folder is, else each is a
/// day older than the next. Returns the totals, and what should be known.
///
/// >>> import tempfile
/// >>> folder = tempfile.mkdtemp()
/// >>> for day in [1, 2]:
/// ...     log = {"session": [day, day], "user": ["u", "u"], "query": [7, 7], "doc": ["a", "b"], "position": [1, 2], "click": [0, 1]}
/// ...     truerank.Counts.from_log(log).write(f"{folder}/{day}")
/// >>> truerank.merge([f"{folder}/1", f"{folder}/2"], f"{folder}/both")["clicks"]
/// 2
#[pyfunction]
#[pyo3(signature = (folders, output, *, progress=None, **options))]
pub fn merge<'py>(
    py: Python<'py>,
    folders: Vec<PathBuf>,
    output: PathBuf,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut keywords = Keywords::new(options)?;
    let room = keywords.take::<RoomOptions>()?.room(Some(&output));
    let merging = keywords.take::<MergeOptions>()?.room(Some(room));
    keywords.finish()?;
    let (totals, summary) = run(py, progress, |progress| merging.merge(&folders, &output, progress))?;
    json_to_python(py, &summary.to_json(&totals))
}

/// What changed between two logs, or two estimates of examination.
#[pyclass(name = "Comparison", module = "truerank", frozen)]
pub struct PyComparison {
    known: Known,
    page: Page,
}

/// What programs ask for, and a pickle keeps.
#[derive(Clone, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct Known {
    name: String,
    drifted: Option<bool>,
    /// As JSON.
    changes: String,
    /// As JSON.
    all: String,
}

impl PyComparison {
    fn new(found: &Comparison, title: &str) -> PyResult<Self> {
        let known = Known {
            name: name(found),
            drifted: found.stability().decided().map(|stable| !stable),
            changes: serde_json::to_string(&found.changes).map_err(|error| value_error(error.to_string()))?,
            all: found.to_json().to_string(),
        };
        Ok(PyComparison { known, page: Page::from(found.report(title)) })
    }
}

fn name(found: &Comparison) -> String {
    let drifted = found.changes.iter().filter(|change| change.drifted).count();
    match found.stability() {
        Verdict::Holds => "<Comparison: nothing drifted>".to_string(),
        Verdict::DoesNotHold => format!("<Comparison: {drifted} of {} drifted>", found.changes.len()),
        Verdict::Open => "<Comparison: open>".to_string(),
    }
}

#[pymethods]
impl PyComparison {
    /// Whether anything drifted; None where that cannot be told.
    #[getter]
    fn drifted(&self) -> Option<bool> {
        self.known.drifted
    }

    /// What may have changed: dicts with aspect, old, new, difference, standard_error, p, corrected_p and drifted.
    #[getter]
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (&self.known.changes,))
    }

    /// All of it, as `truerank drift --json` prints it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (&self.known.all,))
    }

    /// Writes report.html, figures and tables into a folder.
    fn report(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        self.page.write(py, &folder)
    }

    /// The whole report as one page that needs no network.
    #[getter]
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        self.page.html(py)
    }

    fn __str__(&self) -> String {
        self.page.text()
    }

    fn __repr__(&self) -> &str {
        &self.known.name
    }

    fn _repr_html_(&self) -> String {
        self.page.notebook()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Known, KeptPage))> {
        let kept = (self.known.clone(), self.page.kept(py)?);
        Ok((py.get_type::<Self>().getattr("_restore")?, kept))
    }

    #[staticmethod]
    fn _restore(known: Known, page: KeptPage) -> Self {
        PyComparison { known, page: Page::Kept(page) }
    }
}

/// A log to compare: counts, or a folder of them.
enum Compared {
    Counts(Arc<Counts>),
    Folder(PathBuf),
}

impl Compared {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(counts) = value.cast::<PyCounts>() {
            return Ok(Compared::Counts(counts.get().inner.clone()));
        }
        let folder = value.extract().map_err(|_| {
            PyTypeError::new_err("what is compared should be two Counts or folders of counts, or two Propensities")
        })?;
        Ok(Compared::Folder(folder))
    }

    fn open(&self, room: &Room) -> truerank::Result<Arc<dyn CountsView>> {
        match self {
            Compared::Counts(counts) => Ok(counts.clone()),
            Compared::Folder(folder) => open_counts(folder, room, Need::Cells).map(Arc::from),
        }
    }
}

/// Compares two logs: what changed by more than chance, and by enough to matter.
///
/// As `truerank drift`. `old` and `new` are both `Counts` or folders of counts, or both `Propensities`. `least` is the relative change
/// that matters, `level` the corrected p-value below which a change is found.
///
/// >>> data = truerank.generate("tiny")
/// >>> old, new = [truerank.simulate(data, sessions=2000, seed=seed).counts() for seed in (1, 2)]
/// >>> truerank.drift(old, new).drifted
/// False
#[pyfunction]
#[pyo3(signature = (old, new, *, progress=None, **options))]
pub fn drift<'py>(
    old: &Bound<'py, PyAny>,
    new: &Bound<'py, PyAny>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyComparison> {
    let py = old.py();
    let mut keywords = Keywords::new(options)?;
    let room = keywords.take::<RoomOptions>()?.room(None);
    let comparer: Drift = keywords.take()?;
    keywords.finish()?;
    let title = "Two logs";
    if let (Ok(old), Ok(new)) = (old.cast::<PyPropensities>(), new.cast::<PyPropensities>()) {
        let (old, new) = (old.get().inner.clone(), new.get().inner.clone());
        let inner = run_quiet(py, || comparer.compare_propensities(&old, &new))?;
        return PyComparison::new(&inner, title);
    }
    let (old, new) = (Compared::of(old)?, Compared::of(new)?);
    // Both are open at the same time.
    let half = room.with_memory(Memory::new(room.memory().bytes() / 2));
    let inner = run(py, progress, |progress| {
        let (old, new) = (old.open(&half)?, new.open(&half)?);
        comparer.compare(old.as_ref(), new.as_ref(), progress)
    })?;
    PyComparison::new(&inner, title)
}
