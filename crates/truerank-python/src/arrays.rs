//! Numbers between NumPy and the library, without copies where NumPy's memory can be used as it is.

use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::{Buffer, ScalarBuffer};
use numpy::ndarray::ArrayView2;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use rayon::prelude::*;
use truerank::{Error, Result};

use crate::error::value_error;

/// A matrix, row after row.
pub struct Matrix {
    pub values: ScalarBuffer<f32>,
    pub columns: usize,
}

/// The owner of memory that a buffer stands on.
struct Kept {
    // It is never looked at, so no panic can leave it half changed.
    _array: AssertUnwindSafe<Py<PyArray2<f32>>>,
}

/// Reads a matrix: a float32 array with one row after another is not copied, all else is converted once.
pub fn features_from_python(values: &Bound<'_, PyAny>) -> PyResult<Matrix> {
    let py = values.py();
    let is_sparse = values.hasattr("toarray")? && values.hasattr("nnz")?;
    let dense = if is_sparse { values.call_method0("toarray")? } else { values.clone() };
    let array = py.import("numpy")?.call_method1("ascontiguousarray", (dense, "float32")).map_err(|error| {
        let text = PyTypeError::new_err("X is not a matrix of numbers");
        text.set_cause(py, Some(error));
        text
    })?;
    if array.getattr("ndim")?.extract::<usize>()? != 2 || values.getattr("ndim").is_ok_and(|n| n.eq(1).unwrap_or(false))
    {
        return Err(value_error("X should have two dimensions, a row per document and a column per feature"));
    }
    let array = array.cast_into::<PyArray2<f32>>().map_err(PyErr::from)?;
    let (rows, columns) = (array.shape()[0], array.shape()[1]);
    if rows > 0 && columns == 0 {
        return Err(value_error("X has no columns, but documents need at least one feature"));
    }
    Ok(Matrix { values: share(array), columns })
}

/// A buffer on the memory of a contiguous array, which it keeps alive.
#[allow(unsafe_code)]
fn share(array: Bound<'_, PyArray2<f32>>) -> ScalarBuffer<f32> {
    let length = array.len();
    let Some(start) = NonNull::new(array.data().cast::<u8>()).filter(|_| length > 0) else {
        return Vec::new().into();
    };
    let kept = Arc::new(Kept { _array: AssertUnwindSafe(array.unbind()) });
    // SAFETY: the array is contiguous, holds `length` aligned values, and lives as long as the buffer, which owns a
    // reference to it. Another thread of Python may write to it meanwhile, as with every array that is shared without a
    // copy: that changes numbers, which are read as plain floats, and never the bounds.
    let buffer = unsafe { Buffer::from_custom_allocation(start, 4 * length, kept) };
    ScalarBuffer::new(buffer, 0, length)
}

impl Matrix {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }

    /// These rows, in their order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let row = |&row: &usize| &self.values[row * self.columns..(row + 1) * self.columns];
        let values: Vec<f32> = rows.iter().flat_map(|at| row(at).iter().copied()).collect();
        Matrix { values: values.into(), columns: self.columns }
    }

    /// Features are finite or missing (NaN), as in files.
    pub fn check_not_infinite(&self) -> Result<()> {
        let bad = self.values.par_iter().position_first(|value| value.is_infinite());
        match bad {
            None => Ok(()),
            Some(at) => Err(Error::parameter(format!(
                "X: row {}: feature {} is {}, but features must be finite numbers of 32 bits, or NaN where one is missing",
                at / self.columns + 1,
                at % self.columns + 1,
                self.values[at]
            ))),
        }
    }
}

/// A view on features that `owner` keeps; it cannot be written to.
#[allow(unsafe_code)]
pub fn features_to_numpy<'py>(
    owner: Bound<'py, PyAny>,
    features: &[f32],
    columns: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let rows = features.len().checked_div(columns).unwrap_or(0);
    let view = ArrayView2::from_shape((rows, columns), features).map_err(|e| value_error(e.to_string()))?;
    // SAFETY: `owner` is frozen and holds the features, which never move, as long as the array that has it as its base.
    let array = unsafe { PyArray2::borrow_from_array(&view, owner) };
    let flags = array.getattr("flags")?;
    flags.setattr("writeable", false)?;
    Ok(array.into_any())
}

/// Reads one number per row from an array, a list, a pandas or Polars column. `what` names them in errors.
pub fn floats_from_python(values: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f64>> {
    let py = values.py();
    let array = py.import("numpy")?.call_method1("asarray", (values, "float64")).map_err(|error| {
        let text = PyTypeError::new_err(format!("{what} is not a column of numbers"));
        text.set_cause(py, Some(error));
        text
    })?;
    if array.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(value_error(format!("{what} should have one dimension, one number per row")));
    }
    Ok(array.cast::<PyArray1<f64>>()?.to_vec()?)
}
