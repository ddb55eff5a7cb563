//! Keywords of Python as options of the library: names, types, ranges and defaults are those that the library declares.

use std::str::FromStr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};
use truerank::Error;
use truerank::options::{Field, Kind, Options, listed};
use truerank::stages::stages;

use crate::error::to_python;

/// Keywords and their values.
pub type Given<'py> = Vec<(&'static str, Bound<'py, PyAny>)>;

/// Keywords of a call, taken by structs of options until none is left.
pub struct Keywords<'py> {
    given: Vec<(String, Bound<'py, PyAny>)>,
    known: Vec<&'static str>,
}

impl<'py> Keywords<'py> {
    pub fn new(keywords: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let given = keywords.into_iter().flat_map(|keywords| keywords.iter());
        let given = given.map(|(name, value)| Ok((name.extract()?, value))).collect::<PyResult<_>>()?;
        Ok(Keywords { given, known: Vec::new() })
    }

    /// The options that `T` has, with its defaults for those that were not given, or are None.
    pub fn take<T: Options>(&mut self) -> PyResult<T> {
        let mut options = T::default();
        for field in T::fields() {
            self.known.push(field.name);
            let Some(place) = self.given.iter().position(|(name, _)| field.is_called(name)) else { continue };
            let (_, value) = self.given.swap_remove(place);
            if !value.is_none() {
                options.set(field.name, &texts(&value)?).map_err(to_python)?;
            }
        }
        options.check_ranges().map_err(to_python)?;
        Ok(options)
    }

    /// Whether a keyword was given.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, value)| given == name && !value.is_none())
    }

    /// Puts what `by` makes of a keyword in its place, if it was given.
    pub fn replace(&mut self, name: &str, by: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Given<'py>>) -> PyResult<()> {
        let Some(place) = self.given.iter().position(|(given, value)| given == name && !value.is_none()) else {
            return Ok(());
        };
        let (_, value) = self.given.swap_remove(place);
        self.given.extend(by(&value)?.into_iter().map(|(name, value)| (name.to_string(), value)));
        Ok(())
    }

    /// Refuses what nobody took.
    pub fn finish(self) -> PyResult<()> {
        match self.given.first() {
            None => Ok(()),
            Some((name, _)) => {
                let known = listed(&self.known);
                Err(PyTypeError::new_err(format!("there is no option '{name}'; there is {known}")))
            }
        }
    }
}

/// All options of one kind from keywords.
pub fn options_of<T: Options>(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<T> {
    let mut keywords = Keywords::new(keywords)?;
    let options = keywords.take()?;
    keywords.finish()?;
    Ok(options)
}

/// A value as texts: of a list or tuple one for each element, of a dict `key=value`.
fn texts(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Some(numpy) = value.getattr_opt("tolist")? {
        return texts(&numpy.call0()?);
    }
    if let Ok(list) = value.cast::<PyList>() {
        return list.iter().map(|value| text(&value)).collect();
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return tuple.iter().map(|value| text(&value)).collect();
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let pair = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let value = if value.is_none() { String::new() } else { text(&value)? };
            Ok(format!("{}={value}", text(&key)?))
        };
        return dict.iter().map(pair).collect();
    }
    Ok(vec![text(value)?])
}

fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().to_string());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return text.extract();
    }
    match value.getattr_opt("__fspath__")? {
        Some(path) => path.call0()?.extract(),
        None => value.str()?.extract(),
    }
}

/// Name, default and help of an option.
type Described = (String, Option<Py<PyAny>>, String);

/// The options of a stage, as Python knows them: name, default and help of each. For signatures and documentation.
#[pyfunction]
pub fn _options(stage: &str) -> PyResult<Vec<Described>> {
    let found = stages().into_iter().find(|found| found.name == stage);
    let fields = found.ok_or_else(|| PyTypeError::new_err(format!("there is no stage '{stage}'")))?.fields;
    Python::attach(|py| fields.iter().map(|field| described(py, field)).collect())
}

fn described(py: Python<'_>, field: &Field) -> PyResult<Described> {
    let help = match field.usual {
        Some(usual) => format!("{} (by default: {usual})", field.help),
        None => field.help.clone(),
    };
    Ok((field.name.to_string(), default_value(py, field)?, help))
}

/// The default as a value of Python; None stands for defaults that depend on something.
fn default_value(py: Python<'_>, field: &Field) -> PyResult<Option<Py<PyAny>>> {
    let [text] = field.default.as_slice() else { return Ok(None) };
    let value = match field.kind {
        Kind::Flag => PyBool::new(py, text == "true").to_owned().into_any(),
        Kind::Whole => {
            text.parse::<u64>().map_err(|_| PyTypeError::new_err(text.clone()))?.into_pyobject(py)?.into_any()
        }
        Kind::Number => {
            text.parse::<f64>().map_err(|_| PyTypeError::new_err(text.clone()))?.into_pyobject(py)?.into_any()
        }
        _ => field.usual.unwrap_or(text).into_pyobject(py)?.into_any(),
    };
    Ok(Some(value.unbind()))
}

/// A setting, where it was given.
pub fn with<T, V>(builder: T, value: Option<V>, set: impl FnOnce(T, V) -> T) -> T {
    match value {
        Some(value) => set(builder, value),
        None => builder,
    }
}

/// A value with a text form, given as text or, such as `beta=0.5`, as a number.
pub fn parsed<T: FromStr<Err = Error>>(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<T>> {
    value.map(|value| value.str()?.to_cow()?.parse().map_err(to_python)).transpose()
}
