//! Tables between Python and the library, through Arrow: logs that come in, cells and weights that go out.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyFloat, PyString};
use rayon::prelude::*;

use truerank::ids::Ids;

use crate::error::value_error;
use crate::html;
use crate::ids::object_array;
use crate::run::run_quiet;

/// The name that Arrow gives to capsules with a stream.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// What a pickle keeps of a table: its name, and its rows as an Arrow stream.
type KeptTable<'py> = (String, Bound<'py, PyBytes>);

/// A table of columns. Polars, PyArrow, DuckDB and others take it as it is (`polars.DataFrame(table)`).
///
/// >>> table = truerank.Counts.from_log({"session": [1, 1, 2], "user": ["u", "u", "v"], "query": [7, 7, 7],
/// ...     "doc": ["a", "b", "a"], "position": [1, 2, 1], "click": [0, 1, 0]}).cells
/// >>> table.columns
/// ['query', 'doc', 'position', 'user', 'impressions', 'clicks']
/// >>> table["clicks"]
/// array([0, 0, 1])
#[pyclass(name = "Table", module = "truerank", frozen)]
pub struct PyTable {
    pub name: String,
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

#[pymethods]
impl PyTable {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// A column as NumPy array.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyAny>> {
        let at = self.schema.index_of(column).map_err(|_| PyKeyError::new_err(column.to_string()))?;
        let parts = self.batches.iter().map(|batch| to_numpy(py, batch.column(at))).collect::<PyResult<Vec<_>>>()?;
        match <[_; 1]>::try_from(parts) {
            Ok([part]) => Ok(part),
            Err(parts) if parts.is_empty() => {
                to_numpy(py, &arrow_array::new_empty_array(self.schema.field(at).data_type()))
            }
            Err(parts) => py.import("numpy")?.call_method1("concatenate", (parts,)),
        }
    }

    /// How many rows and columns there are.
    #[getter]
    pub fn shape(&self) -> (usize, usize) {
        (self.__len__(), self.schema.fields().len())
    }

    /// The first rows.
    #[pyo3(signature = (n=5))]
    pub fn head(&self, n: usize) -> PyTable {
        let mut left = n;
        let parts = self.batches.iter().map(|batch| {
            let part = batch.slice(0, batch.num_rows().min(left));
            left -= part.num_rows();
            part
        });
        PyTable { name: self.name.clone(), schema: self.schema.clone(), batches: parts.collect() }
    }

    /// The table as a frame of Polars, without a copy.
    fn to_polars<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("polars")?.call_method1("DataFrame", (this,))
    }

    /// The table as one of PyArrow, without a copy.
    fn to_arrow<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("pyarrow")?.call_method1("table", (this,))
    }

    /// The table as pandas frame.
    pub fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let columns = PyDict::new(py);
        for name in self.columns() {
            columns.set_item(&name, self.__getitem__(py, &name)?)?;
        }
        py.import("pandas")?.getattr("DataFrame")?.call1((columns,))
    }

    /// Arrow's way to hand the table to other libraries.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer answer with its own schema.
        let _ = requested_schema;
        let batches: Vec<Result<RecordBatch, ArrowError>> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.name == other.name && self.schema == other.schema && self.batches == other.batches
    }

    fn __reduce__<'py>(this: Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, KeptTable<'py>)> {
        let (py, table) = (this.py(), this.get());
        let mut bytes = Vec::new();
        let written = StreamWriter::try_new(&mut bytes, &table.schema).and_then(|mut writer| {
            table.batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.finish()
        });
        written.map_err(arrow_error)?;
        Ok((py.get_type::<Self>().getattr("_restore")?, (table.name.clone(), PyBytes::new(py, &bytes))))
    }

    #[staticmethod]
    fn _restore(name: String, stream: &[u8]) -> PyResult<Self> {
        let reader = StreamReader::try_new(stream, None).map_err(arrow_error)?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<_>, _>>().map_err(arrow_error)?;
        Ok(PyTable { name, schema, batches })
    }

    fn __repr__(&self) -> String {
        format!("<{}: {} rows of {}>", self.name, html::thousands(self.__len__() as u64), self.columns().join(", "))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let names = self.columns();
        let shown: Vec<RecordBatch> =
            self.batches.iter().take(1).map(|batch| batch.slice(0, batch.num_rows().min(10))).collect();
        let mut rows = vec![Vec::new(); shown.iter().map(RecordBatch::num_rows).sum()];
        for column in shown.iter().flat_map(|batch| batch.columns()) {
            let values = to_numpy(py, column)?.call_method0("tolist")?;
            for (row, value) in rows.iter_mut().zip(values.try_iter()?) {
                row.push(spelled(&value?)?);
            }
        }
        let head: Vec<&str> = names.iter().map(String::as_str).collect();
        let more = self.__len__().saturating_sub(rows.len());
        let notes = (more > 0).then(|| format!("and {} more rows", html::thousands(more as u64)));
        Ok(html::table(&self.name, &head, &rows, &notes.into_iter().collect::<Vec<_>>()))
    }
}

fn spelled(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.cast::<PyFloat>() {
        Ok(number) => Ok(html::number(number.value())),
        Err(_) => Ok(value.str()?.to_string()),
    }
}

/// A column as NumPy has it; text as objects, of which rows with the same dictionary entry share one.
fn to_numpy<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    Ok(match column.data_type() {
        DataType::Int64 => PyArray1::from_slice(py, column.as_primitive::<Int64Type>().values()).into_any(),
        DataType::UInt64 => PyArray1::from_slice(py, column.as_primitive::<UInt64Type>().values()).into_any(),
        DataType::UInt32 => PyArray1::from_slice(py, column.as_primitive::<UInt32Type>().values()).into_any(),
        DataType::Int32 => PyArray1::from_slice(py, column.as_primitive::<Int32Type>().values()).into_any(),
        DataType::Int8 => PyArray1::from_slice(py, column.as_primitive::<Int8Type>().values()).into_any(),
        DataType::Float64 => PyArray1::from_slice(py, column.as_primitive::<Float64Type>().values()).into_any(),
        DataType::Boolean => column.as_boolean().values().iter().collect::<Vec<bool>>().into_pyarray(py).into_any(),
        DataType::Dictionary(..) => {
            let column = column.as_dictionary::<Int32Type>();
            let texts = column.values().as_string::<i32>();
            let objects: Vec<Py<PyAny>> = texts.iter().map(|text| object(py, text)).collect();
            let rows = column.keys().values().iter().map(|&key| objects[key as usize].clone_ref(py));
            object_array(py, rows)
        }
        DataType::Utf8 => object_array(py, column.as_string::<i32>().iter().map(|text| object(py, text))),
        other => return Err(PyTypeError::new_err(format!("columns of type {other} have no form in NumPy"))),
    })
}

fn object(py: Python<'_>, text: Option<&str>) -> Py<PyAny> {
    text.map_or_else(|| py.None(), |text| PyString::new(py, text).into_any().unbind())
}

/// Record batches of one schema.
pub struct Batches {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

/// Reads a table that speaks Arrow's C interface (Polars, PyArrow, pandas with PyArrow, DuckDB, …): nothing is copied.
#[allow(unsafe_code)]
pub fn batches_from_python(table: &Bound<'_, PyAny>) -> PyResult<Batches> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule =
        capsule.cast::<PyCapsule>().map_err(|_| PyTypeError::new_err("__arrow_c_stream__ gives no capsule"))?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream of Arrow's C interface, which is moved out of it: what is left there is
    // marked as released, so that it is released once.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(arrow_error)?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<_>, _>>().map_err(arrow_error)?;
    run_quiet(table.py(), || check_texts(&batches))?;
    Ok(Batches { schema, batches })
}

/// What is said to be text must be: the interface does not check it, and all that follows relies on it.
fn check_texts(batches: &[RecordBatch]) -> truerank::Result<()> {
    let columns: Vec<(&String, &ArrayRef)> = batches
        .iter()
        .flat_map(|batch| batch.schema_ref().fields().iter().map(|field| field.name()).zip(batch.columns()))
        .filter(|(_, column)| !column.data_type().is_primitive())
        .collect();
    columns.into_par_iter().try_for_each(|(name, column)| {
        let valid = column.to_data().validate_full();
        valid.map_err(|e| truerank::Error::parameter(format!("the table cannot be read: column '{name}': {e}")))
    })
}

fn arrow_error(error: ArrowError) -> PyErr {
    value_error(format!("the table cannot be read: {error}"))
}

/// A table in another form, by the method that makes it: `to_polars`, `to_arrow`.
pub fn converted<'py>(py: Python<'py>, table: PyTable, method: &str) -> PyResult<Bound<'py, PyAny>> {
    Bound::new(py, table)?.call_method0(method)
}

/// A table that goes out.
pub fn table(name: &str, columns: Vec<(&str, ArrayRef)>) -> PyResult<PyTable> {
    let batch = RecordBatch::try_from_iter(columns).map_err(arrow_error)?;
    Ok(PyTable { name: name.to_string(), schema: batch.schema(), batches: vec![batch] })
}

/// A column of ids by number: integers, or text that stands once in a dictionary.
pub fn id_column(ids: &Ids, numbers: impl Iterator<Item = u32>) -> ArrayRef {
    match ids {
        Ids::Integers(values) => {
            Arc::new(arrow_array::Int64Array::from_iter_values(numbers.map(|number| values[number as usize])))
        }
        Ids::Texts(texts) => {
            let keys = arrow_array::Int32Array::from_iter_values(numbers.map(|number| number as i32));
            let values = Arc::new(arrow_array::StringArray::from_iter_values(texts.iter()));
            Arc::new(arrow_array::DictionaryArray::new(keys, values))
        }
    }
}
