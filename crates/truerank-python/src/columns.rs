//! Columns of a log from arrays and lists of Python: whole numbers, floats, booleans, text, times, and lists of these.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, LargeStringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, LargeListArray, NullArray, TimestampMicrosecondArray,
    UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::Field;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Reads a column: an array, a list, or anything that NumPy makes an array of. `name` names it in errors.
pub fn column_from_python(values: &Bound<'_, PyAny>, name: &str) -> PyResult<ArrayRef> {
    if let Ok(list) = values.cast::<PyList>()
        && list.iter().any(|value| is_list(&value))
    {
        return objects(list, name);
    }
    let array = values.py().import("numpy")?.call_method1("asarray", (values,))?;
    let kind = array.getattr("dtype")?.getattr("kind")?.extract::<char>()?;
    match (array.getattr("ndim")?.extract::<usize>()?, kind) {
        (1, 'b') => Ok(Arc::new(BooleanArray::from(numbers::<bool>(&array, "bool")?))),
        (1, 'i') => Ok(Arc::new(Int64Array::from(numbers::<i64>(&array, "int64")?))),
        (1, 'u') => Ok(Arc::new(UInt64Array::from(numbers::<u64>(&array, "uint64")?))),
        (1, 'f') => Ok(Arc::new(Float64Array::from_iter(
            numbers::<f64>(&array, "float64")?.into_iter().map(|value| (!value.is_nan()).then_some(value)),
        ))),
        (1, 'M') => times(&array),
        (1, 'U' | 'O' | 'T') | (2, _) => objects(array.call_method0("tolist")?.cast()?, name),
        (0, _) => Err(PyTypeError::new_err(format!("{name} is one value, but should have one per row"))),
        _ => {
            let dtype = array.getattr("dtype")?;
            Err(PyTypeError::new_err(format!("{name} has type {dtype}, but should be text, numbers or lists of them")))
        }
    }
}

fn numbers<T: Element + Copy>(array: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Vec<T>> {
    let array = array.call_method1("astype", (dtype,))?;
    Ok(array.cast::<PyArray1<T>>()?.to_vec()?)
}

fn times(array: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let microseconds = array.call_method1("astype", ("datetime64[us]",))?.call_method1("view", ("int64",))?;
    // The smallest number stands for "not a time".
    let values = numbers::<i64>(&microseconds, "int64")?.into_iter().map(|value| (value != i64::MIN).then_some(value));
    Ok(Arc::new(TimestampMicrosecondArray::from_iter(values)))
}

/// What a value of a column of objects is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Integer,
    Float,
    Text,
    List,
}

fn is_list(value: &Bound<'_, PyAny>) -> bool {
    let is_array = || value.getattr("ndim").and_then(|n| n.extract::<usize>()).is_ok_and(|dimensions| dimensions > 0);
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() || is_array()
}

/// None for what is missing: None, and what is not equal to itself (NaN, NaT), or has no truth (pandas' NA). What no column
/// holds is an error.
fn kind(value: &Bound<'_, PyAny>) -> PyResult<Option<Kind>> {
    if value.is_instance_of::<PyString>() {
        return Ok(Some(Kind::Text));
    }
    if value.is_none() {
        return Ok(None);
    }
    let kind = if value.is_instance_of::<PyBool>() {
        Kind::Boolean
    } else if value.is_instance_of::<PyInt>() {
        Kind::Integer
    } else if value.is_instance_of::<PyFloat>() {
        Kind::Float
    } else if value.hasattr("isoformat")? {
        Kind::Text
    } else if is_list(value) {
        return Ok(Some(Kind::List));
    } else if value.hasattr("item")? {
        // A number of NumPy.
        return self::kind(&value.call_method0("item")?);
    } else {
        return match value.eq(value) {
            Err(_) => Ok(None),
            Ok(_) => Err(PyTypeError::new_err("neither text, a number nor a list of them")),
        };
    };
    Ok(value.eq(value)?.then_some(kind))
}

/// The kind that holds both, if one does.
fn join(a: Kind, b: Kind) -> Option<Kind> {
    use Kind::{Boolean, Float, Integer, Text};
    match (a, b) {
        _ if a == b => Some(a),
        (Integer, Text) | (Text, Integer) => Some(Text),
        (Integer, Float) | (Float, Integer) => Some(Float),
        (Integer, Boolean) | (Boolean, Integer) => Some(Integer),
        _ => None,
    }
}

/// Objects one by one; a text among whole numbers turns all of them into text.
fn objects(values: &Bound<'_, PyList>, name: &str) -> PyResult<ArrayRef> {
    let mut common = None;
    for (row, value) in values.iter().enumerate() {
        let refuse = |rule: &str| {
            let kind = value.get_type().name().map_or(String::new(), |name| name.to_string());
            PyTypeError::new_err(format!("log: row {}: {name} has type {kind}, {rule}", row + 1))
        };
        let found = kind(&value).map_err(|_| refuse("but should be text, a number or a list of them"))?;
        common = match (common, found) {
            (Some(kind), Some(found)) => {
                Some(join(kind, found).ok_or_else(|| refuse("but the rows before have another"))?)
            }
            (kind, found) => kind.or(found),
        };
    }
    let Some(common) = common else { return Ok(Arc::new(NullArray::new(values.len()))) };
    match common {
        Kind::List => lists(values, name),
        Kind::Text => texts(values),
        Kind::Boolean => {
            plain(values, BooleanBuilder::new(), BooleanBuilder::append_option, |mut b| Arc::new(b.finish()))
        }
        Kind::Integer => {
            match plain(values, Int64Builder::new(), Int64Builder::append_option, |mut b| Arc::new(b.finish())) {
                Ok(column) => Ok(column),
                // Larger than 64 bits: an id like any other text.
                Err(_) => texts(values),
            }
        }
        Kind::Float => {
            plain(values, Float64Builder::new(), Float64Builder::append_option, |mut b| Arc::new(b.finish()))
        }
    }
}

/// A column of values that Rust knows, through one of Arrow's builders.
fn plain<'py, T, B>(
    values: &Bound<'py, PyList>,
    mut builder: B,
    append: impl Fn(&mut B, Option<T>),
    finish: impl FnOnce(B) -> ArrayRef,
) -> PyResult<ArrayRef>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    for value in values.iter() {
        append(&mut builder, kind(&value)?.map(|_| value.extract::<T>()).transpose()?);
    }
    Ok(finish(builder))
}

fn texts(values: &Bound<'_, PyList>) -> PyResult<ArrayRef> {
    let mut builder = LargeStringBuilder::new();
    for value in values.iter() {
        match value.cast::<PyString>() {
            Ok(text) => builder.append_value(text.to_cow()?),
            Err(_) if kind(&value)?.is_none() => builder.append_null(),
            Err(_) if value.hasattr("isoformat")? => {
                builder.append_value(value.call_method0("isoformat")?.extract::<String>()?);
            }
            Err(_) => builder.append_value(value.str()?.to_cow()?),
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// Lists: their values one after another, and where each ends.
fn lists(values: &Bound<'_, PyList>, name: &str) -> PyResult<ArrayRef> {
    let (all, mut lengths, mut present) = (PyList::empty(values.py()), Vec::new(), Vec::new());
    for value in values.iter() {
        let before = all.len();
        if kind(&value)?.is_some() {
            let value = if value.hasattr("tolist")? { value.call_method0("tolist")? } else { value };
            value.try_iter()?.try_for_each(|part| all.append(part?))?;
            present.push(true);
        } else {
            present.push(false);
        }
        lengths.push(all.len() - before);
    }
    let parts = objects(&all, name)?;
    let field = Arc::new(Field::new_list_field(parts.data_type().clone(), true));
    let nulls = Some(NullBuffer::from(present));
    let lists = LargeListArray::try_new(field, OffsetBuffer::from_lengths(lengths), parts, nulls);
    Ok(Arc::new(lists.map_err(|e| PyTypeError::new_err(format!("{name}: {e}")))?))
}
