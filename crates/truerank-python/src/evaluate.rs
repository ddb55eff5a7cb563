//! How good rankings are: by human grades, and by the clicks of a log.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringArray};
use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use truerank::data::{Dataset, DatasetBuilder};
use truerank::evaluate::{
    self as judging, ByClicks, ClickEvaluation, ClickJudge, ClickMeasure, Evaluation, Evaluator, Measure,
    MeasureOptions, leakage,
};
use truerank::ids::Ids;
use truerank::relevance::KnownLog;
use truerank::report::{Axis, Chart, Dot, Dots, Figure, Format, Style};

use crate::arrays::floats_from_python;
use crate::counts::PyCounts;
use crate::dataset::{PyDataset, grades, group, order_by_query};
use crate::error::{to_python, value_error};
use crate::experiment::texts;
use crate::html;
use crate::ids::{ids_from_python, ids_to_numpy};
use crate::json::json_to_python;
use crate::options::{options_of, with};
use crate::propensity::PyPropensities;
use crate::run::run_quiet;
use crate::table::{PyTable, table};

/// The values of measures for every query: a mapping from a measure to its mean.
///
/// >>> evaluation = truerank.evaluate([2, 0, 1, 0], [0.1, 0.9, 0.4, 0.3], query=["a", "a", "b", "b"], measures="MRR")
/// >>> evaluation["MRR"]
/// 0.75
/// >>> evaluation.per_query("MRR")
/// array([0.5, 1. ])
#[pyclass(name = "Evaluation", module = "truerank", frozen, mapping)]
pub struct PyEvaluation {
    pub inner: Arc<Evaluation>,
    queries: Arc<Ids>,
    /// The evaluation of what `against` named.
    #[pyo3(get)]
    against: Option<Py<PyEvaluation>>,
}

/// What a pickle keeps: measures, their values, queries, and what it is compared with.
type KeptEvaluation<'py> = (Vec<String>, Vec<Vec<f64>>, Bound<'py, PyAny>, Option<Py<PyEvaluation>>);

impl PyEvaluation {
    fn place(&self, measure: &str) -> PyResult<usize> {
        let parsed: Measure = measure.parse().map_err(to_python)?;
        let place = self.inner.measures.iter().position(|&other| other == parsed);
        place.ok_or_else(|| PyKeyError::new_err(format!("{measure} was not measured")))
    }

    /// The mean of each measure with its interval over queries.
    fn figure(&self) -> Figure {
        let dot = |(name, values): (String, &Vec<f64>)| {
            let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
            let count = known.len() as f64;
            let mean = known.iter().sum::<f64>() / count;
            let variance = known.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
            // The normal distribution's, as there are many queries.
            let half = 1.96 * (variance / count).sqrt();
            let band = half.is_finite().then_some((mean - half, mean + half));
            Dot { name, value: mean, band, style: Style::Plain }
        };
        let rows = self.measures().into_iter().zip(&self.inner.values).map(dot).collect();
        let axis = Axis::new("mean over queries, with 95 % interval", Format::Measure);
        let caption = "Means over queries with 95 % intervals".to_string();
        Figure { name: "measures".to_string(), caption, chart: Chart::Dots(Dots { axis, rows }) }
    }

    fn other(&self) -> Option<&Evaluation> {
        self.against.as_ref().map(|other| &*other.get().inner)
    }
}

#[pymethods]
impl PyEvaluation {
    /// What was measured.
    #[getter]
    fn measures(&self) -> Vec<String> {
        self.inner.measures.iter().map(Measure::to_string).collect()
    }

    /// The id of each query.
    #[getter]
    fn queries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, &self.queries)
    }

    /// The value of a measure for each query; NaN where a query was left out.
    fn per_query<'py>(&self, py: Python<'py>, measure: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, &self.inner.values[self.place(measure)?]))
    }

    /// Compares with another evaluation of the same queries: means, difference, and t and p of a paired t-test.
    fn compare(&self, other: &Self) -> PyResult<PyTable> {
        if self.queries != other.queries {
            return Err(value_error("the evaluations are of different queries, but only the same can be compared"));
        }
        let rows = self.inner.compare(&other.inner).map_err(to_python)?;
        let column = |value: &dyn Fn(&judging::Comparison) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(rows.iter().map(value)))
        };
        let test = |value: fn(judging::TTest) -> f64| {
            column(&move |row: &judging::Comparison| row.test.map_or(f64::NAN, value))
        };
        let names = StringArray::from_iter_values(rows.iter().map(|row| row.measure.to_string()));
        table(
            "Comparison",
            vec![
                ("measure", Arc::new(names)),
                ("mean", column(&|row| row.mean)),
                ("other", column(&|row| row.other)),
                ("difference", test(|test| test.difference)),
                ("t", test(|test| test.t)),
                ("p", test(|test| test.p)),
            ],
        )
    }

    /// A dict for each measure, as in `truerank evaluate --json`: its mean, with `against` also difference, t and p.
    #[pyo3(signature = (*, per_query=false))]
    fn to_dict<'py>(&self, py: Python<'py>, per_query: bool) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.inner.to_json(self.other(), per_query).map_err(to_python)?)
    }

    /// A pandas frame with a row per query and a column per measure.
    fn to_pandas<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._frames")?.call_method1("evaluation", (this, "pandas"))
    }

    /// The frame as one of Polars.
    fn to_polars<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._frames")?.call_method1("evaluation", (this, "polars"))
    }

    /// The frame as a table of PyArrow.
    fn to_arrow<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._frames")?.call_method1("evaluation", (this, "pyarrow"))
    }

    /// Plots the mean of each measure with its 95 % interval over queries; with `against` the differences.
    ///
    /// Drawn by matplotlib, which this call imports, onto `ax` or a new figure; returns the axes.
    #[pyo3(signature = (ax=None))]
    fn plot<'py>(this: Bound<'py, Self>, ax: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._plot")?.call_method1("evaluation", (this, ax))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, KeptEvaluation<'py>)> {
        let against = self.against.as_ref().map(|other| other.clone_ref(py));
        let parts = (self.measures(), self.inner.values.clone(), self.queries(py)?, against);
        Ok((py.get_type::<Self>().getattr("_restore")?, parts))
    }

    #[staticmethod]
    #[pyo3(signature = (measures, values, queries, against))]
    fn _restore(
        measures: Vec<String>,
        values: Vec<Vec<f64>>,
        queries: &Bound<'_, PyAny>,
        against: Option<Py<PyEvaluation>>,
    ) -> PyResult<Self> {
        let measures = measures.iter().map(|measure| measure.parse()).collect::<truerank::Result<_>>();
        let inner = Arc::new(Evaluation { measures: measures.map_err(to_python)?, values });
        Ok(PyEvaluation { inner, queries: Arc::new(ids_from_python(queries, "queries")?), against })
    }

    fn keys(&self) -> Vec<String> {
        self.measures()
    }

    fn values(&self) -> Vec<f64> {
        self.inner.measures.iter().map(|&measure| self.inner.mean(measure).unwrap_or(f64::NAN)).collect()
    }

    fn items(&self) -> Vec<(String, f64)> {
        self.measures().into_iter().zip(self.values()).collect()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.measures().into_pyobject(py)?.call_method0("__iter__")
    }

    fn __len__(&self) -> usize {
        self.inner.measures.len()
    }

    fn __contains__(&self, measure: &str) -> bool {
        self.place(measure).is_ok()
    }

    fn __getitem__(&self, measure: &str) -> PyResult<f64> {
        let place = self.place(measure)?;
        Ok(self.values()[place])
    }

    fn __repr__(&self) -> String {
        let means: Vec<String> =
            self.items().iter().map(|(name, mean)| format!("{name} {}", Format::Measure.print(*mean))).collect();
        format!("<Evaluation: {}; {} queries>", means.join(", "), html::thousands(self.queries.len() as u64))
    }

    fn _repr_html_(&self) -> PyResult<String> {
        let count = html::thousands(self.queries.len() as u64);
        let notes = [format!("Means over {count} queries.")];
        let print = |value: f64| Format::Measure.print(value);
        let Some(other) = self.other() else {
            let rows: Vec<_> = self.items().into_iter().map(|(name, mean)| vec![name, print(mean)]).collect();
            let table = html::table("Evaluation", &["measure", "mean"], &rows, &notes);
            return Ok(html::with_figure(table, &self.figure()));
        };
        let rows = self.inner.compare(other).map_err(to_python)?;
        let row = |row: &judging::Comparison| {
            let test = row.test.map(|test| [format!("{:+.4}", test.difference), Format::PValue.print(test.p)]);
            let means = [row.measure.to_string(), print(row.mean), print(row.other)];
            means.into_iter().chain(test.unwrap_or_default()).collect()
        };
        let head = ["measure", "mean", "against", "difference", "p"];
        Ok(html::table("Evaluation", &head, &rows.iter().map(row).collect::<Vec<_>>(), &notes))
    }
}

/// Computes measures of rankings by human grades.
///
/// `data` is a data set with grades, or the grade of each row beside `query`. `scores` has one number per row, higher
/// first, or is a ranker: anything whose `predict` takes features. Equal scores keep the order of rows. `measures` are
/// texts such as `nDCG@10`, `ERR@5`, `MRR`, `MAP`, `P@5` and `ARP`; by default nDCG and ERR at 1, 3, 5 and 10. `empty`
/// says what a query without relevant documents scores: `"zero"`, `"one"` (by nDCG; by other measures 0), or `"skip"`
/// to leave it out. `against` are other scores to compare with.
///
/// >>> data = truerank.generate("tiny").test
/// >>> evaluation = truerank.evaluate(data, data.features[:, 0], measures=["nDCG@5", "MAP"])
/// >>> list(evaluation)
/// ['nDCG@5', 'MAP']
#[pyfunction]
#[pyo3(signature = (data, scores, *, query=None, max_grade=None, against=None, **options))]
pub fn evaluate(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    scores: &Bound<'_, PyAny>,
    query: Option<&Bound<'_, PyAny>>,
    max_grade: Option<u8>,
    against: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyEvaluation> {
    let graded = Graded::from_python(data, query, max_grade)?;
    let evaluator = with(options_of::<MeasureOptions>(options)?.evaluator(), max_grade, Evaluator::max_grade);
    let queries = Arc::new(graded.data.queries().clone());
    let judge = |scores: &Bound<'_, PyAny>, against| {
        let scores = graded.scores(scores)?;
        let found = run_quiet(py, || evaluator.evaluate(&graded.data, &scores))?;
        Ok::<_, PyErr>(PyEvaluation { inner: Arc::new(found), queries: queries.clone(), against })
    };
    let against = against.map(|scores| Py::new(py, judge(scores, None)?)).transpose()?;
    judge(scores, against)
}

/// Documents with grades, and their features where there are any.
struct Graded<'py> {
    data: Arc<Dataset>,
    features: Option<Bound<'py, PyAny>>,
    /// The rows in the order of their queries, where they came in another.
    order: Option<Vec<usize>>,
}

impl<'py> Graded<'py> {
    fn from_python(
        data: &Bound<'py, PyAny>,
        query: Option<&Bound<'py, PyAny>>,
        max_grade: Option<u8>,
    ) -> PyResult<Self> {
        match (data.cast::<PyDataset>(), query) {
            (Ok(_), Some(_)) => Err(value_error("a data set knows its queries; leave out query")),
            (Ok(found), None) => {
                let features = Some(data.getattr("features")?);
                Ok(Graded { data: found.get().inner.clone(), features, order: None })
            }
            (Err(_), None) => Err(value_error("query is missing, but every grade needs the id of its query")),
            (Err(_), Some(query)) => {
                let (data, order) = without_features(grades(data, max_grade)?, query)?;
                Ok(Graded { data: Arc::new(data), features: None, order })
            }
        }
    }

    /// Scores, or what a ranker's `predict` makes of the features.
    fn scores(&self, scores: &Bound<'py, PyAny>) -> PyResult<Vec<f64>> {
        let scores = floats_from_python(&predicted(scores, self.features.as_ref())?, "scores")?;
        match &self.order {
            // Another number of scores is refused where they meet the grades.
            Some(order) if order.len() == scores.len() => Ok(order.iter().map(|&row| scores[row]).collect()),
            _ => Ok(scores),
        }
    }
}

/// What a ranker predicts; numbers as they are.
fn predicted<'py>(scores: &Bound<'py, PyAny>, features: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    match (scores.getattr_opt("predict")?, features) {
        (None, _) => Ok(scores.clone()),
        (Some(predict), Some(features)) => predict.call1((features,)),
        (Some(_), None) => {
            Err(value_error("a ranker needs features, but there are grades only; pass a data set or scores"))
        }
    }
}

/// Grades by query, and the order of their rows where rows of a query did not follow each other.
fn without_features(grades: Vec<u8>, query: &Bound<'_, PyAny>) -> PyResult<(Dataset, Option<Vec<usize>>)> {
    let of_rows = ids_from_python(query, "query")?;
    if of_rows.len() != grades.len() {
        let (grades, queries) = (grades.len(), of_rows.len());
        return Err(value_error(format!("there are {grades} grades, but query has {queries} values")));
    }
    let order = order_by_query(&of_rows);
    let (of_rows, grades) = match &order {
        Some(order) => (of_rows.select(order.iter().copied()), order.iter().map(|&row| grades[row]).collect()),
        None => (of_rows, grades),
    };
    let (queries, query_ends) = group(&of_rows);
    let features = vec![0.0; grades.len()];
    let builder = DatasetBuilder { features, feature_count: 1, grades: Some(grades), queries, query_ends, docs: None };
    Ok((builder.build().map_err(to_python)?, order))
}

/// What a pickle keeps of a test: difference, t, degrees of freedom and p.
type KeptTTest = (f64, f64, usize, f64);

/// A paired two-sided t-test.
#[pyclass(name = "TTest", module = "truerank", frozen, get_all)]
pub struct PyTTest {
    /// Mean of the differences, first minus second.
    difference: f64,
    /// Student's t.
    t: f64,
    /// Degrees of freedom: pairs less one.
    degrees: usize,
    /// The probability of a difference at least this large by chance.
    p: f64,
}

#[pymethods]
impl PyTTest {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, KeptTTest)> {
        let restore = py.get_type::<Self>().getattr("_restore")?;
        Ok((restore, (self.difference, self.t, self.degrees, self.p)))
    }

    #[staticmethod]
    fn _restore(difference: f64, t: f64, degrees: usize, p: f64) -> Self {
        PyTTest { difference, t, degrees, p }
    }

    fn __repr__(&self) -> String {
        let PyTTest { difference, t, degrees, p } = self;
        format!("<TTest: difference {difference:.4}, t {t:.3} with {degrees} degrees of freedom, p {p:.3e}>")
    }
}

/// Tests whether `a` and `b`, paired by place, differ in mean; None with fewer than two pairs. Pairs with NaN are left out.
///
/// >>> truerank.paired_t_test([0.6, 0.8, 0.7], [0.5, 0.6, 0.4]).t
/// 3.46...
#[pyfunction]
pub fn paired_t_test(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Option<PyTTest>> {
    let (a, b) = (floats_from_python(a, "a")?, floats_from_python(b, "b")?);
    if a.len() != b.len() {
        return Err(value_error(format!("a has {} values and b {}, but they are paired", a.len(), b.len())));
    }
    let test = judging::paired_t_test(&a, &b);
    Ok(test.map(|test| PyTTest { difference: test.difference, t: test.t, degrees: test.degrees, p: test.p }))
}

/// Writes each query's ranked list: Parquet for `.parquet`, otherwise a TREC run (`query Q0 doc rank score tag`).
///
/// `scores` has one number per document, or is a ranker. The same file as `truerank score` writes.
#[pyfunction]
#[pyo3(signature = (data, scores, path, *, tag="truerank"))]
pub fn write_run(data: &Bound<'_, PyDataset>, scores: &Bound<'_, PyAny>, path: PathBuf, tag: &str) -> PyResult<()> {
    let (py, inner) = (data.py(), data.get().inner.clone());
    let scores = predicted(scores, Some(&data.getattr("features")?))?;
    // Scores of single precision are written in as many digits as they have.
    let kind = scores.getattr_opt("dtype")?.map(|dtype| dtype.str()).transpose()?;
    let is_single = kind.is_some_and(|kind| kind.to_string_lossy() == "float32");
    let scores = floats_from_python(&scores, "scores")?;
    run_quiet(py, || match is_single {
        true => {
            let single: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
            judging::write_run(&inner, &single, tag, &path)
        }
        false => judging::write_run(&inner, &scores, tag, &path),
    })
}

/// What the clicks of a log say about a ranking, with 95 % intervals over queries: a mapping from a measure to its value.
#[pyclass(name = "ClickEvaluation", module = "truerank", frozen, mapping)]
pub struct PyClickEvaluation {
    inner: JudgedByClicks,
}

/// What is known of a ranking, and kept by a pickle.
#[derive(Clone, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct JudgedByClicks {
    measures: Vec<String>,
    /// The lower end, the value and the upper end for each measure.
    values: Vec<(f64, f64, f64)>,
    per_query: Vec<Vec<f64>>,
    as_shown: BTreeMap<String, f64>,
    candidates: BTreeMap<String, f64>,
    queries: usize,
    /// As JSON.
    all: String,
    notebook: String,
}

impl From<&ByClicks> for JudgedByClicks {
    fn from(found: &ByClicks) -> Self {
        let ranker = &found.pages.ranker;
        JudgedByClicks {
            measures: ranker.measures.iter().map(ClickMeasure::to_string).collect(),
            values: ranker.values.iter().map(|bounds| (bounds.low, bounds.value, bounds.high)).collect(),
            per_query: ranker.measures.iter().map(|&measure| ranker.per_query(measure).unwrap_or_default()).collect(),
            as_shown: by_measure(&found.as_shown),
            candidates: by_measure(&found.candidates.ranker),
            queries: found.log.queries,
            all: found.to_json().to_string(),
            notebook: click_table(found),
        }
    }
}

impl PyClickEvaluation {
    fn place(&self, measure: &str) -> PyResult<usize> {
        let name = measure.parse::<ClickMeasure>().map_err(to_python)?.to_string();
        let place = self.inner.measures.iter().position(|other| *other == name);
        place.ok_or_else(|| PyKeyError::new_err(format!("{measure} was not measured")))
    }
}

#[pymethods]
impl PyClickEvaluation {
    /// What was measured.
    #[getter]
    fn measures(&self) -> Vec<String> {
        self.inner.measures.clone()
    }

    /// The lower and upper end of a measure's interval.
    fn interval(&self, measure: &str) -> PyResult<(f64, f64)> {
        let (low, _, high) = self.inner.values[self.place(measure)?];
        Ok((low, high))
    }

    /// The value of a measure for each judged query; NaN where it has none.
    fn per_query<'py>(&self, py: Python<'py>, measure: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, &self.inner.per_query[self.place(measure)?]))
    }

    /// The values of the pages as they were shown, by measure.
    #[getter]
    fn as_shown(&self) -> BTreeMap<String, f64> {
        self.inner.as_shown.clone()
    }

    /// The values of one order of all documents of each query, by measure; what was never shown earns nothing. Compare
    /// rankers by them, and not with `as_shown`.
    #[getter]
    fn candidates(&self) -> BTreeMap<String, f64> {
        self.inner.candidates.clone()
    }

    /// All of it, as `clicks` in `truerank evaluate --clicks --json`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (&self.inner.all,))
    }

    /// Plots each measure with its 95 % interval over queries, beside the pages as they were shown.
    ///
    /// Drawn by matplotlib, which this call imports, onto `ax` or a new figure; returns the axes.
    #[pyo3(signature = (ax=None))]
    fn plot<'py>(this: Bound<'py, Self>, ax: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._plot")?.call_method1("click_evaluation", (this, ax))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (JudgedByClicks,))> {
        Ok((py.get_type::<Self>().getattr("_restore")?, (self.inner.clone(),)))
    }

    #[staticmethod]
    fn _restore(kept: JudgedByClicks) -> Self {
        PyClickEvaluation { inner: kept }
    }

    fn keys(&self) -> Vec<String> {
        self.measures()
    }

    fn values(&self) -> Vec<f64> {
        self.inner.values.iter().map(|&(_, value, _)| value).collect()
    }

    fn items(&self) -> Vec<(String, f64)> {
        self.measures().into_iter().zip(self.values()).collect()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.measures().into_pyobject(py)?.call_method0("__iter__")
    }

    fn __len__(&self) -> usize {
        self.inner.measures.len()
    }

    fn __contains__(&self, measure: &str) -> bool {
        self.place(measure).is_ok()
    }

    fn __getitem__(&self, measure: &str) -> PyResult<f64> {
        Ok(self.inner.values[self.place(measure)?].1)
    }

    fn __repr__(&self) -> String {
        let means: Vec<String> =
            self.items().iter().map(|(name, mean)| format!("{name} {}", Format::Measure.print(*mean))).collect();
        let queries = html::thousands(self.inner.queries as u64);
        format!("<ClickEvaluation: {}; {queries} queries>", means.join(", "))
    }

    fn _repr_html_(&self) -> &str {
        &self.inner.notebook
    }
}

/// The measures as a table for notebooks.
fn click_table(found: &ByClicks) -> String {
    let print = |value: f64| Format::Measure.print(value);
    let interval = |low: f64, high: f64| format!("{} to {}", print(low), print(high));
    let differences = found.pages.differences();
    let row = |place: usize| {
        let bounds = found.pages.ranker.values[place];
        let mut row = vec![found.pages.ranker.measures[place].to_string(), print(bounds.value)];
        row.push(interval(bounds.low, bounds.high));
        row.push(print(found.as_shown.values[place].value));
        if let Some(differences) = &differences {
            let bounds = differences[place].bounds;
            row.extend([print(bounds.value), interval(bounds.low, bounds.high)]);
            row.push(Format::PValue.print(differences[place].p));
        }
        row
    };
    let rows: Vec<Vec<String>> = (0..found.pages.ranker.measures.len()).map(row).collect();
    let mut head = vec!["measure", "value", "95 %", "as shown"];
    head.extend(differences.iter().flat_map(|_| ["difference", "95 %", "p"]));
    let (pages, clicks) = (html::thousands(found.log.pages), html::thousands(found.log.clicks));
    let queries = html::thousands(found.log.queries as u64);
    let notes = [
        "Result pages of the log, each reordered, and as they were shown.".to_string(),
        format!("{pages} pages of {queries} queries with {clicks} clicks."),
    ];
    html::table("ClickEvaluation", &head, &rows, &notes)
}

fn by_measure(found: &ClickEvaluation) -> BTreeMap<String, f64> {
    found.measures.iter().zip(&found.values).map(|(measure, bounds)| (measure.to_string(), bounds.value)).collect()
}

/// Judges rankings by the clicks of a log that they did not learn from, as `truerank evaluate --clicks` does.
///
/// Each click counts as `estimator` weighs it; `clip` and `self_normalised` are those of the command line. Intervals
/// come from `resamples` of the queries, drawn with `seed`. The pages of the log are reordered, to be compared with the
/// pages as they were shown; `candidates` are all documents of each query in one order. `scores` and `against` have one
/// number per document of `data`, or are rankers. Queries that are also in `train_counts` are an error unless
/// `allow_shared_queries`.
#[pyfunction]
#[pyo3(signature = (
    data, scores, counts, propensities, *, against=None, measures=None, train_counts=None, allow_shared_queries=false,
    **options
))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn evaluate_clicks(
    data: &Bound<'_, PyDataset>,
    scores: &Bound<'_, PyAny>,
    counts: &PyCounts,
    propensities: &Bound<'_, PyAny>,
    against: Option<&Bound<'_, PyAny>>,
    measures: Option<&Bound<'_, PyAny>>,
    train_counts: Option<&PyCounts>,
    allow_shared_queries: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyClickEvaluation> {
    let (py, features) = (data.py(), data.getattr("features")?);
    let read = |scores| floats_from_python(&predicted(scores, Some(&features))?, "scores");
    let (scores, against) = (read(scores)?, against.map(read).transpose()?);
    let measures = measures.map(|measures| texts(measures, "measures")).transpose()?;
    let measures = measures.map(|texts| texts.iter().map(|text| text.parse()).collect::<truerank::Result<Vec<_>>>());
    let judge = with(options_of(options)?, measures.transpose().map_err(to_python)?, ClickJudge::measures);
    let (theta, data) = (PyPropensities::of(propensities)?, data.get().inner.clone());
    let found = run_quiet(py, || {
        let leakage = train_counts.map(|train| leakage(&*train.inner, &*counts.inner));
        if let Some(found) = leakage.as_ref().filter(|_| !allow_shared_queries) {
            found.refuse()?;
        }
        let log = KnownLog::examined(&*counts.inner, Some(&data), &*theta);
        let found = judge.judge(&log, &scores, against.as_deref())?;
        Ok(ByClicks { leakage, ..found })
    })?;
    Ok(PyClickEvaluation { inner: JudgedByClicks::from(&found) })
}
