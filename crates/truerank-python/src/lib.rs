//! truerank for Python: the library's stages with NumPy, pandas, Polars and PyArrow as their neighbours.
//!
//! One file per stage, as in the library. All work runs outside of Python's lock (`run`); defaults live in the library
//! alone: functions take its options as keywords (`options`). What is Python's own, scikit-learn's interface above all,
//! is written in Python, in `python/truerank`.

mod arrays;
mod click_model;
mod columns;
mod command;
mod counts;
mod dataset;
mod doctor;
mod drift;
mod engine;
mod error;
mod evaluate;
mod experiment;
mod fit;
mod html;
mod ids;
mod interleaving;
mod json;
mod log;
mod methods;
mod options;
mod pickle;
mod propensity;
mod ranker;
mod relevance;
mod run;
mod shown;
mod simulate;
mod table;

use pyo3::prelude::*;

#[pymodule]
mod _truerank {
    #[pymodule_export]
    use crate::click_model::{_fit_click_model, PyClickModel};
    #[pymodule_export]
    use crate::command::_command;
    #[pymodule_export]
    use crate::counts::{PyCounts, count};
    #[pymodule_export]
    use crate::dataset::{
        _order_by_query, PyDataset, PySplits, generate, read_dataset_file, read_splits_folder, read_svmlight,
        split_by_query,
    };
    #[pymodule_export]
    use crate::doctor::{PyDiagnosis, doctor};
    #[pymodule_export]
    use crate::drift::{PyComparison, drift, merge};
    #[pymodule_export]
    use crate::evaluate::{
        PyClickEvaluation, PyEvaluation, PyTTest, evaluate, evaluate_clicks, paired_t_test, write_run,
    };
    #[pymodule_export]
    use crate::experiment::{PyResults, run_experiment};
    #[pymodule_export]
    use crate::fit::{PyFitOutcome, fit};
    #[pymodule_export]
    use crate::interleaving::interleaving;
    #[pymodule_export]
    use crate::methods::_estimate_examination;
    #[pymodule_export]
    use crate::options::_options;
    #[pymodule_export]
    use crate::propensity::PyPropensities;
    #[pymodule_export]
    use crate::ranker::{PyTrainedRanker, train_ranker};
    #[pymodule_export]
    use crate::relevance::{PyLabels, PyPairWeights, PyRelevance, pair_weights, relevance};
    #[pymodule_export]
    use crate::run::{set_threads, threads};
    #[pymodule_export]
    use crate::simulate::{PySimulation, simulate};
    #[pymodule_export]
    use crate::table::PyTable;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        module.add("DataWarning", py.get_type::<crate::error::DataWarning>())?;
        module.add("LogWarning", py.get_type::<crate::error::LogWarning>())?;
        module.add("PropensityWarning", py.get_type::<crate::error::PropensityWarning>())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
