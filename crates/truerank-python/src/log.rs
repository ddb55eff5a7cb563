//! Logs as Python has them: paths, tables of pandas, Polars and PyArrow, and dicts of arrays.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyMapping, PySlice, PyString, PyTuple};
use truerank::counts::LogSource;
use truerank::log::{
    ClickList, ClickWhen, Columns, EventOptions, Header, LogFormat, OnBadRow, ReadOptions, Table, Time, columns_read,
};

use crate::columns::column_from_python;
use crate::counts::PyCounts;
use crate::error::{to_python, value_error};
use crate::options::{parsed, with};
use crate::table::{Batches, batches_from_python};

/// What messages call a log that is in memory.
const NAME: &str = "log";

/// How to read a log, as far as it was said.
#[derive(Default)]
pub struct LogOptions<'a, 'py> {
    pub columns: Option<Bound<'py, PyDict>>,
    pub format: Option<&'a Bound<'py, PyAny>>,
    pub on_bad_row: Option<PathBuf>,
    pub since: Option<&'a Bound<'py, PyAny>>,
    pub until: Option<&'a Bound<'py, PyAny>>,
    pub list_separator: Option<char>,
    pub clicks: Option<&'a Bound<'py, PyAny>>,
    pub click_when: Option<&'a Bound<'py, PyAny>>,
    pub header: Option<&'a Bound<'py, PyAny>>,
    pub events: Option<&'a Bound<'py, PyAny>>,
}

impl LogOptions<'_, '_> {
    /// An error where anything is given for what is not read.
    pub fn refuse(&self, why: &str) -> PyResult<()> {
        let LogOptions {
            columns,
            format,
            on_bad_row,
            since,
            until,
            list_separator,
            clicks,
            click_when,
            header,
            events,
        } = self;
        let given = [
            ("columns", columns.is_some()),
            ("format", format.is_some()),
            ("on_bad_row", on_bad_row.is_some()),
            ("since", since.is_some()),
            ("until", until.is_some()),
            ("list_separator", list_separator.is_some()),
            ("clicks", clicks.is_some()),
            ("click_when", click_when.is_some()),
            ("header", header.is_some()),
            ("events", events.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(value_error(format!("{name} is for reading a log, but {why}; leave it out"))),
            None => Ok(()),
        }
    }

    /// The options of the library.
    pub fn read_options(&self) -> PyResult<ReadOptions> {
        let mut columns = Columns::default();
        for (field, name) in self.columns.iter().flat_map(|columns| columns.iter()) {
            let name = if name.is_none() { Ok(String::new()) } else { name.extract() };
            let (Ok(field), Ok(name)) = (field.extract::<String>(), name) else {
                return Err(PyTypeError::new_err("columns should map fields to names of columns, all of them text"));
            };
            columns.map(&field, &name).map_err(to_python)?;
        }
        let options = ReadOptions::new().columns(columns);
        let options = with(options, parsed::<LogFormat>(self.format)?, ReadOptions::format);
        let options = with(options, self.on_bad_row.clone().map(bad_row_policy), ReadOptions::on_bad_row);
        let options = with(options, self.since.map(time).transpose()?, ReadOptions::from);
        let options = with(options, self.until.map(time).transpose()?, ReadOptions::until);
        let options = with(options, self.list_separator, ReadOptions::list_separator);
        let options = with(options, parsed::<ClickList>(self.clicks)?, ReadOptions::clicks);
        let options = with(options, parsed::<ClickWhen>(self.click_when)?, ReadOptions::click_when);
        let options = with(options, self.header.map(header).transpose()?, ReadOptions::header);
        Ok(with(options, self.events.map(events).transpose()?, ReadOptions::event_log))
    }
}

/// True for a header in the first line, False for columns that are called 1, 2, 3, …, or their names.
fn header(value: &Bound<'_, PyAny>) -> PyResult<Header> {
    match value.cast::<PyBool>() {
        Ok(flag) if flag.is_true() => Ok(Header::First),
        Ok(_) => Ok(Header::Numbered),
        Err(_) if value.is_instance_of::<PyString>() => Err(header_type()),
        Err(_) => value.extract().map(Header::Names).map_err(|_| header_type()),
    }
}

fn header_type() -> PyErr {
    PyTypeError::new_err("header should be True, False or a list of the columns' names")
}

/// The column of events, or a dict of it (`column`) and of the names that show documents (`query`) or are clicks (`click`).
fn events(value: &Bound<'_, PyAny>) -> PyResult<EventOptions> {
    let wrong = || {
        let form = "{\"column\": \"type\", \"query\": [\"search\"], \"click\": [\"open\"]}";
        PyTypeError::new_err(format!("events should be the name of a column, or a dict like {form}"))
    };
    if let Ok(column) = value.extract::<String>() {
        return Ok(EventOptions::new(column));
    }
    let said = value.cast::<PyDict>().map_err(|_| wrong())?;
    let (mut column, mut query, mut click) = (None, None, None);
    for (key, value) in said.iter() {
        match key.extract::<String>().map_err(|_| wrong())?.as_str() {
            "column" => column = Some(value.extract::<String>().map_err(|_| wrong())?),
            "query" => query = Some(names(&value).ok_or_else(wrong)?),
            "click" => click = Some(names(&value).ok_or_else(wrong)?),
            _ => return Err(wrong()),
        }
    }
    let options = with(EventOptions::new(column.ok_or_else(wrong)?), query, EventOptions::queries);
    Ok(with(options, click, EventOptions::clicks))
}

/// One name, or several.
fn names(value: &Bound<'_, PyAny>) -> Option<Vec<String>> {
    value.extract::<String>().map(|name| vec![name]).or_else(|_| value.extract()).ok()
}

/// `error`, `skip`, or the file that bad rows go to.
fn bad_row_policy(text: PathBuf) -> OnBadRow {
    match text.to_str() {
        Some("error") => OnBadRow::Error,
        Some("skip") => OnBadRow::Skip,
        _ => OnBadRow::Quarantine(text),
    }
}

/// A time: text, or what `datetime`, pandas and NumPy have for it. Without a zone it is UTC, as everywhere.
fn time(value: &Bound<'_, PyAny>) -> PyResult<Time> {
    let text = match value.hasattr("isoformat")? {
        true => value.call_method0("isoformat")?,
        false => value.str()?.into_any(),
    };
    text.extract::<String>()?.parse().map_err(to_python)
}

/// The log that was given: counts, a folder of them, files, or a table. Counts take no options of reading.
pub fn log_source(log: &Bound<'_, PyAny>, options: &LogOptions<'_, '_>) -> PyResult<LogSource> {
    if let Ok(counts) = log.cast::<PyCounts>() {
        options.refuse("counts were read already")?;
        let PyCounts { inner, summary } = counts.get();
        return Ok(LogSource::Counts(inner.clone(), summary.clone()));
    }
    let reading = options.read_options()?;
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
