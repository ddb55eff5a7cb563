//! Rows that are written in groups of the size that counts have.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int8Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int32Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field, Schema};

use crate::counts::GROUP;
use crate::files::GroupWriter;
use crate::files::table::{FileType, integers, properties};
use crate::{Error, Result};

/// An id; integers come in the order of their values, text in that of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    Integer(i64),
    Text(String),
}

/// A column of ids.
pub(super) enum IdsOf {
    Integers(Vec<i64>),
    Texts(StringArray),
}

impl IdsOf {
    pub fn of(column: ArrayRef) -> Option<Self> {
        match integers(&column) {
            Some(values) => Some(IdsOf::Integers(values)),
            None => column.as_string_opt::<i32>().cloned().map(IdsOf::Texts),
        }
    }

    pub fn at(&self, row: usize) -> Id {
        match self {
            IdsOf::Integers(values) => Id::Integer(values[row]),
            IdsOf::Texts(texts) => Id::Text(texts.value(row).to_string()),
        }
    }
}

/// A value of a row that is written.
pub(super) enum Value<'a> {
    Id(&'a Id),
    Small(i32),
    Number(i64),
    Ids(Vec<&'a Id>),
    Numbers(Vec<i64>),
}

/// A column of the row group that is being filled.
enum Buffer {
    Texts(StringBuilder),
    Numbers(Vec<i64>),
    Small(Vec<i32>),
    TextLists(ListBuilder<StringBuilder>),
    NumberLists(ListBuilder<Int64Builder>),
    SmallLists(ListBuilder<Int32Builder>),
    FlagLists(ListBuilder<Int8Builder>),
}

impl Buffer {
    fn of(field: &Field) -> Self {
        match field.data_type() {
            DataType::Utf8 => Buffer::Texts(StringBuilder::new()),
            DataType::Int32 => Buffer::Small(Vec::new()),
            DataType::List(item) => match item.data_type() {
                DataType::Utf8 => Buffer::TextLists(ListBuilder::new(StringBuilder::new()).with_field(item.clone())),
                DataType::Int32 => Buffer::SmallLists(ListBuilder::new(Int32Builder::new()).with_field(item.clone())),
                DataType::Int8 => Buffer::FlagLists(ListBuilder::new(Int8Builder::new()).with_field(item.clone())),
                _ => Buffer::NumberLists(ListBuilder::new(Int64Builder::new()).with_field(item.clone())),
            },
            _ => Buffer::Numbers(Vec::new()),
        }
    }

    /// Whether the value is one of the column's type.
    fn push(&mut self, value: Value<'_>) -> bool {
        match (self, value) {
            (Buffer::Texts(texts), Value::Id(Id::Text(text))) => texts.append_value(text),
            (Buffer::Numbers(values), Value::Id(Id::Integer(value))) => values.push(*value),
            (Buffer::Numbers(values), Value::Number(value)) => values.push(value),
            (Buffer::Small(values), Value::Small(value)) => values.push(value),
            (Buffer::TextLists(lists), Value::Ids(ids)) => {
                for id in ids {
                    let Id::Text(text) = id else { return false };
                    lists.values().append_value(text);
                }
                lists.append(true);
            }
            (Buffer::NumberLists(lists), Value::Ids(ids)) => {
                for id in ids {
                    let Id::Integer(value) = id else { return false };
                    lists.values().append_value(*value);
                }
                lists.append(true);
            }
            (Buffer::SmallLists(lists), Value::Numbers(values)) => {
                values.iter().for_each(|value| lists.values().append_value(*value as i32));
                lists.append(true);
            }
            (Buffer::FlagLists(lists), Value::Numbers(values)) => {
                values.iter().for_each(|value| lists.values().append_value(*value as i8));
                lists.append(true);
            }
            _ => return false,
        }
        true
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Buffer::Texts(texts) => Arc::new(texts.finish()),
            Buffer::Numbers(values) => Arc::new(Int64Array::from(std::mem::take(values))),
            Buffer::Small(values) => Arc::new(Int32Array::from(std::mem::take(values))),
            Buffer::TextLists(lists) => Arc::new(lists.finish()),
            Buffer::NumberLists(lists) => Arc::new(lists.finish()),
            Buffer::SmallLists(lists) => Arc::new(lists.finish()),
            Buffer::FlagLists(lists) => Arc::new(lists.finish()),
        }
    }
}

/// Writes rows in groups of the size that counts have.
pub(super) struct Writer {
    path: PathBuf,
    file: GroupWriter,
    buffers: Vec<Buffer>,
    rows: usize,
}

impl Writer {
    pub fn create(path: &Path, file_type: FileType, fields: Vec<Field>) -> Result<Self> {
        let buffers = fields.iter().map(Buffer::of).collect();
        let schema = Schema::new(fields);
        let properties = properties(&schema, file_type, &[]);
        Ok(Writer { path: path.to_path_buf(), file: GroupWriter::create(path, schema, properties)?, buffers, rows: 0 })
    }

    pub fn row<const N: usize>(&mut self, values: [Value<'_>; N]) -> Result<()> {
        let mut good = true;
        self.buffers.iter_mut().zip(values).for_each(|(buffer, value)| good &= buffer.push(value));
        if !good {
            return Err(Error::input(&self.path, "got an id of another type from Spark than its column has"));
        }
        self.rows += 1;
        if self.rows == GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let columns: Vec<ArrayRef> = self.buffers.iter_mut().map(Buffer::take).collect();
        self.rows = 0;
        self.file.write(1, |_| columns.clone())
    }

    pub fn finish(mut self) -> Result<()> {
        if self.rows > 0 {
            self.flush()?;
        }
        self.file.finish()
    }
}
