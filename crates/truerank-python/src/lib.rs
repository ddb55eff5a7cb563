//! truerank for Python: the library's stages with NumPy, pandas, Polars and PyArrow as their neighbours.
//!
//! One file per stage, as in the library. All work runs outside of Python's lock ([`run`]); defaults live in the library
//! alone, so an argument that is not given is not set. What is Python's own, scikit-learn's manners above all, is written in
//! Python, in `python/truerank`.

mod arrays;
mod dataset;
mod error;
mod html;
mod ids;
mod run;
mod table;

use pyo3::prelude::*;

#[pymodule]
mod _truerank {
    #[pymodule_export]
    use crate::dataset::{
        PyDataset, PySplits, generate, read_dataset_file, read_splits_folder, read_svmlight, split_by_query,
    };
    #[pymodule_export]
    use crate::run::{set_threads, threads};
    #[pymodule_export]
    use crate::table::PyTable;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
