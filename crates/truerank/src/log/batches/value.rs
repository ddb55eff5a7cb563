//! One row of a batch as values.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch, downcast_dictionary_array, downcast_integer_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, TimeUnit};
use serde_json::json;

use crate::log::record::{Record, Value};
use crate::log::time::Time;

/// A row of a batch.
pub(super) struct BatchRow<'a> {
    pub batch: &'a RecordBatch,
    pub row: usize,
    /// The row's number in the log, from 1.
    pub number: u64,
}

impl Record for BatchRow<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        value_at(self.batch.column(column), self.row)
    }

    fn place(&self) -> u64 {
        self.number
    }

    fn raw(&self) -> String {
        let names = self.batch.schema_ref().fields().iter().map(|field| field.name().clone());
        let values = self.batch.columns().iter().map(|column| to_json(&value_at(column, self.row)));
        serde_json::Value::Object(names.zip(values).collect()).to_string()
    }
}

/// The value in a row of a column.
fn value_at(column: &ArrayRef, row: usize) -> Value<'_> {
    if column.is_null(row) {
        return Value::Missing;
    }
    match column.data_type() {
        DataType::Dictionary(..) => value_at(column.as_any_dictionary().values(), key_at(column, row)),
        DataType::Utf8 => Value::Text(Cow::Borrowed(column.as_string::<i32>().value(row))),
        DataType::LargeUtf8 => Value::Text(Cow::Borrowed(column.as_string::<i64>().value(row))),
        DataType::Utf8View => Value::Text(Cow::Borrowed(column.as_string_view().value(row))),
        DataType::Null => Value::Missing,
        DataType::Boolean => Value::Bool(column.as_boolean().value(row)),
        DataType::UInt64 => {
            let value = column.as_primitive::<UInt64Type>().value(row);
            i64::try_from(value).map_or(Value::Unsigned(value), Value::Integer)
        }
        DataType::Timestamp(unit, _) => time_value(timestamp(column, unit, row)),
        DataType::Date32 => time_value(i64::from(column.as_primitive::<Date32Type>().value(row)) * 86_400_000),
        DataType::Date64 => time_value(column.as_primitive::<Date64Type>().value(row)),
        DataType::List(_) => list(&column.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(&column.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => list(&column.as_fixed_size_list().value(row)),
        DataType::ListView(_) => list(&column.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => list(&column.as_list_view::<i64>().value(row)),
        DataType::Float64 => Value::Float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => Value::Float(f64::from(column.as_primitive::<Float32Type>().value(row))),
        DataType::Float16 => Value::Float(f64::from(column.as_primitive::<Float16Type>().value(row))),
        _ => whole_number(column, row),
    }
}

/// Which value of a dictionary a row has.
fn key_at(column: &ArrayRef, row: usize) -> usize {
    downcast_dictionary_array!(column => column.keys().value(row).as_usize(), _ => 0)
}

fn whole_number(column: &ArrayRef, row: usize) -> Value<'_> {
    downcast_integer_array!(
        column => column.value(row).to_i64().map_or(Value::Other, Value::Integer),
        _ => Value::Other
    )
}

fn timestamp(column: &ArrayRef, unit: &TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => column.as_primitive::<TimestampSecondType>().value(row).saturating_mul(1000),
        TimeUnit::Millisecond => column.as_primitive::<TimestampMillisecondType>().value(row),
        TimeUnit::Microsecond => column.as_primitive::<TimestampMicrosecondType>().value(row).div_euclid(1000),
        TimeUnit::Nanosecond => column.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1_000_000),
    }
}

/// A time as its text: a bare number would have to tell its unit by its size.
fn time_value<'b>(milliseconds: i64) -> Value<'b> {
    Value::Text(Cow::Owned(Time::from_milliseconds(milliseconds).to_string()))
}

fn list<'b>(values: &ArrayRef) -> Value<'b> {
    Value::List((0..values.len()).map(|row| value_at(values, row).into_owned()).collect())
}

fn to_json(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::Missing | Value::Other => serde_json::Value::Null,
        Value::Text(text) => json!(text),
        Value::Integer(value) => json!(value),
        Value::Unsigned(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::Bool(value) => json!(value),
        Value::List(values) => values.iter().map(to_json).collect(),
    }
}
