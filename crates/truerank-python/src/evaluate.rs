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
use truerank::report::Format;

use crate::arrays::floats_from_python;
use crate::counts::PyCounts;
use crate::dataset::{PyDataset, grades, group};
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

impl PyEvaluation {
    fn place(&self, measure: &str) -> PyResult<usize> {
        let parsed: Measure = measure.parse().map_err(to_python)?;
        let place = self.inner.measures.iter().position(|&other| other == parsed);
        place.ok_or_else(|| PyKeyError::new_err(format!("{measure} was not measured")))
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
        this.py().import("truerank._frames")?.getattr("evaluation")?.call1((this,))
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
            return Ok(html::table("Evaluation", &["measure", "mean"], &rows, &notes));
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
                Ok(Graded { data: found.get().inner.clone(), features: Some(data.getattr("features")?) })
            }
            (Err(_), None) => Err(value_error("query is missing, but every grade needs the id of its query")),
            (Err(_), Some(query)) => {
                Ok(Graded { data: Arc::new(without_features(grades(data, max_grade)?, query)?), features: None })
            }
        }
    }

    /// Scores, or what a ranker's `predict` makes of the features.
    fn scores(&self, scores: &Bound<'py, PyAny>) -> PyResult<Vec<f64>> {
        floats_from_python(&predicted(scores, self.features.as_ref())?, "scores")
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

fn without_features(grades: Vec<u8>, query: &Bound<'_, PyAny>) -> PyResult<Dataset> {
    let of_rows = ids_from_python(query, "query")?;
    if of_rows.len() != grades.len() {
        let (grades, queries) = (grades.len(), of_rows.len());
        return Err(value_error(format!("there are {grades} grades, but query has {queries} values")));
    }
    let (queries, query_ends) = group(&of_rows)?;
    let features = vec![0.0; grades.len()];
    let builder = DatasetBuilder { features, feature_count: 1, grades: Some(grades), queries, query_ends, docs: None };
    builder.build().map_err(to_python)
}

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
    inner: Arc<ByClicks>,
}

impl PyClickEvaluation {
    fn place(&self, measure: &str) -> PyResult<usize> {
        let parsed: ClickMeasure = measure.parse().map_err(to_python)?;
        let place = self.inner.pages.ranker.measures.iter().position(|&other| other == parsed);
        place.ok_or_else(|| PyKeyError::new_err(format!("{measure} was not measured")))
    }
}

#[pymethods]
impl PyClickEvaluation {
    /// What was measured.
    #[getter]
    fn measures(&self) -> Vec<String> {
        self.inner.pages.ranker.measures.iter().map(ClickMeasure::to_string).collect()
    }

    /// The lower and upper end of a measure's interval.
    fn interval(&self, measure: &str) -> PyResult<(f64, f64)> {
        let bounds = self.inner.pages.ranker.values[self.place(measure)?];
        Ok((bounds.low, bounds.high))
    }

    /// The value of a measure for each judged query; NaN where it has none.
    fn per_query<'py>(&self, py: Python<'py>, measure: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let measure = self.inner.pages.ranker.measures[self.place(measure)?];
        Ok(PyArray1::from_vec(py, self.inner.pages.ranker.per_query(measure).unwrap_or_default()))
    }

    /// The values of the pages as they were shown, by measure.
    #[getter]
    fn as_shown(&self) -> BTreeMap<String, f64> {
        by_measure(&self.inner.as_shown)
    }

    /// The values of one order of all documents of each query, by measure; what was never shown earns nothing. Compare
    /// rankers by them, and not with `as_shown`.
    #[getter]
    fn candidates(&self) -> BTreeMap<String, f64> {
        by_measure(&self.inner.candidates.ranker)
    }

    /// All of it, as `clicks` in `truerank evaluate --clicks --json`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.inner.to_json())
    }

    fn keys(&self) -> Vec<String> {
        self.measures()
    }

    fn values(&self) -> Vec<f64> {
        self.inner.pages.ranker.values.iter().map(|bounds| bounds.value).collect()
    }

    fn items(&self) -> Vec<(String, f64)> {
        self.measures().into_iter().zip(self.values()).collect()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.measures().into_pyobject(py)?.call_method0("__iter__")
    }

    fn __len__(&self) -> usize {
        self.inner.pages.ranker.measures.len()
    }

    fn __contains__(&self, measure: &str) -> bool {
        self.place(measure).is_ok()
    }

    fn __getitem__(&self, measure: &str) -> PyResult<f64> {
        Ok(self.inner.pages.ranker.values[self.place(measure)?].value)
    }

    fn __repr__(&self) -> String {
        let means: Vec<String> =
            self.items().iter().map(|(name, mean)| format!("{name} {}", Format::Measure.print(*mean))).collect();
        let queries = html::thousands(self.inner.log.queries as u64);
        format!("<ClickEvaluation: {}; {queries} queries>", means.join(", "))
    }

    fn _repr_html_(&self) -> String {
        let found = &self.inner;
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
        let count = |value: usize| html::thousands(value as u64);
        let notes = [
            "Result pages of the log, each reordered, and as they were shown.".to_string(),
            format!(
                "{} pages of {} queries with {} clicks.",
                html::thousands(found.log.pages),
                count(found.log.queries),
                html::thousands(found.log.clicks)
            ),
        ];
        html::table("ClickEvaluation", &head, &rows, &notes)
    }
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
        let leakage = train_counts.map(|train| leakage(&train.inner, &counts.inner));
        if let Some(found) = leakage.as_ref().filter(|_| !allow_shared_queries) {
            found.refuse()?;
        }
        let log = KnownLog::examined(&*counts.inner, Some(&data), &*theta);
        let found = judge.judge(&log, &scores, against.as_deref())?;
        Ok(ByClicks { leakage, ..found })
    })?;
    Ok(PyClickEvaluation { inner: Arc::new(found) })
}
