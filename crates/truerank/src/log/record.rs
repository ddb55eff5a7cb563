//! A record of a file, of whatever form, as values by column.

use std::borrow::Cow;

use super::values::shown;

/// A value as its file holds it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    /// Null, or absent.
    Missing,
    Text(Cow<'a, str>),
    Integer(i64),
    /// An integer past those of `i64`.
    Unsigned(u64),
    Float(f64),
    Bool(bool),
    List(Vec<Value<'a>>),
    /// Anything else, such as a JSON object.
    Other,
}

impl Value<'_> {
    /// The value with a text of its own.
    pub fn into_owned<'b>(self) -> Value<'b> {
        match self {
            Value::Missing => Value::Missing,
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::Integer(value) => Value::Integer(value),
            Value::Unsigned(value) => Value::Unsigned(value),
            Value::Float(value) => Value::Float(value),
            Value::Bool(value) => Value::Bool(value),
            Value::List(values) => Value::List(values.into_iter().map(Value::into_owned).collect()),
            Value::Other => Value::Other,
        }
    }

    /// The value for a message.
    pub fn shown(&self) -> String {
        match self {
            Value::Missing => "missing".to_string(),
            Value::Text(text) => shown(text),
            Value::Integer(value) => value.to_string(),
            Value::Unsigned(value) => value.to_string(),
            Value::Float(value) => value.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::List(_) => "a list".to_string(),
            Value::Other => "an object".to_string(),
        }
    }

    /// The value as the text of an id, where it can be one.
    pub fn id_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            Value::Integer(value) => Some(Cow::Owned(value.to_string())),
            Value::Unsigned(value) => Some(Cow::Owned(value.to_string())),
            _ => None,
        }
    }
}

/// One record.
pub(crate) trait Record {
    /// The value in a column of the file.
    fn value(&self, column: usize) -> Value<'_>;

    /// The line or row of the file that it starts at.
    fn place(&self) -> u64;

    /// The record as it stands in the file, or as JSON where that is not text.
    fn raw(&self) -> String;
}
