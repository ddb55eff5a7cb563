//! Rows of a result as plain values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

use crate::files::table::{floats, integers};

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// None, or of a kind that is not asked for.
    None,
    Integer(i64),
    Float(f64),
    Text(String),
}

impl Value {
    pub fn as_i64(&self) -> Option<i64> {
        if let Value::Integer(value) = self { Some(*value) } else { None }
    }

    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Float(value) => Some(*value),
            Value::Integer(value) => Some(*value as f64),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }
}

/// A row of a result.
#[derive(Debug, Clone)]
pub(super) struct Row {
    names: Arc<[String]>,
    values: Vec<Value>,
}

impl Row {
    pub fn get(&self, at: usize) -> Option<&Value> {
        self.values.get(at)
    }

    pub fn get_by_name(&self, name: &str) -> Option<&Value> {
        self.get(self.names.iter().position(|known| known == name)?)
    }
}

/// The rows of batches that Spark sent.
pub(super) fn rows_of(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let names: Arc<[String]> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mut columns: Vec<_> = batch.columns().iter().map(|column| values_of(column).into_iter()).collect();
        rows.extend((0..batch.num_rows()).map(|_| {
            let values = columns.iter_mut().map(|column| column.next().unwrap_or(Value::None)).collect();
            Row { names: names.clone(), values }
        }));
    }
    rows
}

fn values_of(column: &ArrayRef) -> Vec<Value> {
    let values: Vec<Value> = match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().map(text).collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().map(text).collect(),
        kind if kind.is_floating() => floats(column).unwrap_or_default().into_iter().map(Value::Float).collect(),
        _ => integers(column).unwrap_or_default().into_iter().map(Value::Integer).collect(),
    };
    let known = |(row, value)| if column.is_null(row) { Value::None } else { value };
    values.into_iter().enumerate().map(known).collect()
}

fn text(text: Option<&str>) -> Value {
    text.map_or(Value::None, |text| Value::Text(text.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BooleanArray, Float64Array, Int32Array, NullArray, StringArray};

    #[test]
    fn rows_have_the_values_of_their_columns() {
        let columns: [(&str, ArrayRef); 5] = [
            ("slot", Arc::new(Int32Array::from(vec![Some(3), None]))),
            ("sum", Arc::new(Float64Array::from(vec![0.5, -1.0]))),
            ("id", Arc::new(StringArray::from(vec![Some("é"), None]))),
            ("flag", Arc::new(BooleanArray::from(vec![true, false]))),
            ("nothing", Arc::new(NullArray::new(2))),
        ];
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
        let rows = rows_of(&[batch]);
        let of_row = |row: usize| (0..5).map(|at| rows[row].get(at).unwrap().clone()).collect::<Vec<_>>();
        let (integer, none) = (Value::Integer, || Value::None);
        assert_eq!(of_row(0), [integer(3), Value::Float(0.5), Value::Text("é".into()), integer(1), none()]);
        assert_eq!(of_row(1), [none(), Value::Float(-1.0), none(), integer(0), none()]);
        assert_eq!(rows[0].get_by_name("sum").and_then(Value::as_f64), Some(0.5));
        assert_eq!(rows[0].get_by_name("slot").and_then(Value::as_f64), Some(3.0));
        assert!(rows[0].get_by_name("other").is_none() && rows[0].get(5).is_none());
    }
}
