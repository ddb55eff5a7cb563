//! Logs as Python has them: paths, tables of pandas, Polars and PyArrow, and dicts of arrays.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyMapping, PySlice, PyString, PyTuple};
use truerank::counts::LogSource;
use truerank::log::{OnBadRow, ReadOptions, Table, columns_read};

use crate::columns::column_from_python;
use crate::counts::PyCounts;
use crate::error::{to_python, value_error};
use crate::options::{Given, Keywords};
use crate::table::{Batches, batches_from_python};

/// What messages call a log that is in memory.
const NAME: &str = "log";

/// Takes the options of reading a log. What Python has richer forms for is put into the words of the library first: this is the one
/// place that knows them.
pub fn take_reading(keywords: &mut Keywords<'_>) -> PyResult<ReadOptions> {
    keywords.replace("columns", columns)?;
    keywords.replace("header", header)?;
    keywords.replace("events", events)?;
    keywords.replace("on_bad_row", on_bad_row)?;
    keywords.replace("since", |value| Ok(vec![("since", time(value)?)]))?;
    keywords.replace("until", |value| Ok(vec![("until", time(value)?)]))?;
    keywords.take()
}

/// Fields and names of columns are text; None stands for a column that is not there.
fn columns<'py>(value: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
    let is_text = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyString>();
    let is_right = value
        .cast::<PyDict>()
        .is_ok_and(|dict| dict.iter().all(|(field, name)| is_text(&field) && (name.is_none() || is_text(&name))));
    match is_right {
        true => Ok(vec![("columns", value.clone())]),
        false => Err(PyTypeError::new_err("columns should map fields to names of columns, all of them text")),
    }
}

/// True for a header in the first line, False for columns that are called 1, 2, 3, …, or their names.
fn header<'py>(value: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
    let wrong = || PyTypeError::new_err("header should be True, False or a list of the columns' names");
    match value.cast::<PyBool>() {
        Ok(flag) if flag.is_true() => Ok(Vec::new()),
        Ok(_) => Ok(vec![("no_header", PyBool::new(value.py(), true).to_owned().into_any())]),
        Err(_) if value.is_instance_of::<PyString>() => Err(wrong()),
        Err(_) => {
            let names: Vec<String> = value.extract().map_err(|_| wrong())?;
            Ok(vec![("header", PyList::new(value.py(), names)?.into_any())])
        }
    }
}

/// The column of events, or a dict of it (`column`) and of the names that show documents (`query`) or are clicks (`click`).
fn events<'py>(value: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
    let wrong = || {
        let form = "{\"column\": \"type\", \"query\": [\"search\"], \"click\": [\"open\"]}";
        PyTypeError::new_err(format!("events should be the name of a column, or a dict like {form}"))
    };
    if value.is_instance_of::<PyString>() {
        return Ok(vec![("event_column", value.clone())]);
    }
    let said = value.cast::<PyDict>().map_err(|_| wrong())?;
    let given = said.iter().map(|(key, value)| match key.extract::<String>().as_deref() {
        Ok("column") if value.is_instance_of::<PyString>() => Ok(("event_column", value)),
        Ok("query") if are_names(&value) => Ok(("query_event", value)),
        Ok("click") if are_names(&value) => Ok(("click_event", value)),
        _ => Err(wrong()),
    });
    let given = given.collect::<PyResult<Given<'py>>>()?;
    if given.iter().any(|(name, _)| *name == "event_column") { Ok(given) } else { Err(wrong()) }
}

/// One name, or several.
fn are_names(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>() || value.extract::<Vec<String>>().is_ok()
}

/// `error`, `skip`, or the file that bad rows go to.
fn on_bad_row<'py>(value: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
    let path: PathBuf = value.extract()?;
    let is_known = path.to_str().is_some_and(|text| text.parse::<OnBadRow>().is_ok());
    Ok(vec![(if is_known { "on_bad_row" } else { "quarantine" }, value.clone())])
}

/// A time: text, or what `datetime`, pandas and NumPy have for it. Without a zone it is UTC, as everywhere.
fn time<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match value.hasattr("isoformat")? {
        true => value.call_method0("isoformat"),
        false => Ok(value.str()?.into_any()),
    }
}

/// The log that was given: counts, a folder of them, files, or a table. Counts take no options of reading.
pub fn log_source(log: &Bound<'_, PyAny>, reading: ReadOptions) -> PyResult<LogSource> {
    if let Ok(counts) = log.cast::<PyCounts>() {
        let PyCounts { inner, summary } = counts.get();
        return LogSource::Counts(inner.clone(), summary.clone()).reading(&reading).map_err(to_python);
    }
    if let Some(paths) = paths(log)? {
        return LogSource::open(paths, reading).map_err(to_python);
    }
    let Batches { schema, batches } = batches(log, &reading)?;
    let table = Table::new(NAME, schema, batches).map_err(to_python)?;
    Ok(LogSource::table(table, reading))
}

/// One path, or several; None for what is no path.
fn paths(log: &Bound<'_, PyAny>) -> PyResult<Option<Vec<PathBuf>>> {
    if log.is_instance_of::<PyString>() || log.hasattr("__fspath__")? {
        return Ok(Some(vec![log.extract()?]));
    }
    if !(log.is_instance_of::<PyList>() || log.is_instance_of::<PyTuple>()) {
        return Ok(None);
    }
    let paths: Vec<PathBuf> = log.extract().map_err(|_| PyTypeError::new_err("a list of logs should hold paths"))?;
    match paths.is_empty() {
        true => Err(value_error("log is an empty list, but should name at least one file")),
        false => Ok(Some(paths)),
    }
}

fn batches(log: &Bound<'_, PyAny>, options: &ReadOptions) -> PyResult<Batches> {
    if is_pandas(log)? {
        return of_pandas(log, options);
    }
    if log.hasattr("__arrow_c_stream__")? {
        return batches_from_python(log);
    }
    if let Ok(mapping) = log.cast::<PyMapping>() {
        let items = mapping.items()?;
        let columns = items.iter().map(|item| item.extract()).collect::<PyResult<Vec<_>>>()?;
        return of_columns(columns, options);
    }
    let kind = log.get_type().name()?;
    let forms = "a path, a table of pandas, Polars or PyArrow, or a dict of arrays";
    Err(PyTypeError::new_err(format!("log is a {kind}, but should be {forms}{}", way_out(log)?)))
}

/// Polars' lazy frames have nothing to read yet.
fn way_out(log: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    Ok(if log.hasattr("collect")? { "; collect() it first" } else { "" })
}

fn is_pandas(log: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module = log.get_type().getattr("__module__")?.extract::<String>().unwrap_or_default();
    Ok(module.split('.').next() == Some("pandas") && log.hasattr("columns")?)
}

/// A frame of pandas, of which only the columns that are read are converted: by PyArrow where it is installed.
fn of_pandas(frame: &Bound<'_, PyAny>, options: &ReadOptions) -> PyResult<Batches> {
    let labels = frame.getattr("columns")?.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let names = labels.iter().map(|label| Ok(label.str()?.to_string())).collect::<PyResult<Vec<String>>>()?;
    let read = columns_read(NAME, &names, options).map_err(to_python)?;
    let labels: Vec<_> = read.iter().map(|&number| labels[number].clone()).collect();
    if let Ok(batches) = by_pyarrow(frame, labels) {
        return Ok(batches);
    }
    let column = |&number: &usize| {
        let values = frame.getattr("iloc")?.get_item((PySlice::full(frame.py()), number))?;
        Ok((names[number].clone(), values.call_method0("to_numpy")?))
    };
    of_arrays(read.iter().map(column).collect::<PyResult<Vec<_>>>()?)
}

fn by_pyarrow(frame: &Bound<'_, PyAny>, columns: Vec<Bound<'_, PyAny>>) -> PyResult<Batches> {
    let table = frame.py().import("pyarrow")?.getattr("Table")?;
    let keywords = PyDict::new(frame.py());
    keywords.set_item("preserve_index", false)?;
    keywords.set_item("columns", columns)?;
    batches_from_python(&table.call_method("from_pandas", (frame,), Some(&keywords))?)
}

/// Those of the columns that are read.
fn of_columns(columns: Vec<(String, Bound<'_, PyAny>)>, options: &ReadOptions) -> PyResult<Batches> {
    let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let read = columns_read(NAME, &names, options).map_err(to_python)?;
    of_arrays(read.into_iter().map(|number| columns[number].clone()).collect())
}

fn of_arrays(columns: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Batches> {
    let columns = columns.into_iter().map(|(name, values)| {
        let column = column_from_python(&values, &name)?;
        Ok((name, column))
    });
    let columns = columns.collect::<PyResult<Vec<_>>>()?;
    if let [(first, values), rest @ ..] = columns.as_slice()
        && let Some((name, other)) = rest.iter().find(|(_, other)| other.len() != values.len())
    {
        let (length, expected) = (other.len(), values.len());
        return Err(value_error(format!("{NAME}: {name} has {length} values, but {first} has {expected}")));
    }
    let batch = RecordBatch::try_from_iter(columns).map_err(|e| value_error(format!("{NAME}: {e}")))?;
    Ok(Batches { schema: batch.schema(), batches: vec![batch] })
}
