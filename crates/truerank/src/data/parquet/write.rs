//! Writes a data set as a Parquet table.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, UInt8Array};
use arrow_schema::{DataType, Field, FieldRef};

use super::{DATASET, DOC, FEATURES, GRADE, QUERY};
use crate::Result;
use crate::data::Dataset;
use crate::files::table::{TableWriter, ids_array, ids_field};

/// Up to here each feature is a column of its own, which data frames like best. Beyond, as with embeddings, they are
/// one list column: thousands of columns make files and data frames slow.
const MAX_COLUMNS: usize = 256;

const ROWS_AT_A_TIME: usize = 1 << 14;

/// Writes a data set as a Parquet table with a row per document: `query`, `doc`, `grade` (where there are grades), then
/// `f1`, `f2`, … for up to 256 features, or one fixed-size list column `features` for more.
pub fn write_parquet(data: &Dataset, path: &Path) -> Result<()> {
    let mut table = TableWriter::create(path, DATASET, fields(data), &[])?;
    let query_of_row: Vec<usize> =
        data.lists().enumerate().flat_map(|(query, rows)| std::iter::repeat_n(query, rows.len())).collect();
    for start in (0..data.len()).step_by(ROWS_AT_A_TIME) {
        let rows = start..data.len().min(start + ROWS_AT_A_TIME);
        table.write(columns(data, &query_of_row, rows))?;
    }
    table.finish()
}

fn fields(data: &Dataset) -> Vec<Field> {
    let mut fields = vec![ids_field(QUERY, data.queries()), ids_field(DOC, data.docs())];
    if data.grades().is_some() {
        fields.push(Field::new(GRADE, DataType::UInt8, false));
    }
    if data.feature_count() > MAX_COLUMNS {
        let list = DataType::FixedSizeList(list_item(), data.feature_count() as i32);
        fields.push(Field::new(FEATURES, list, false));
    } else {
        let singles = 1..=data.feature_count();
        fields.extend(singles.map(|number| Field::new(format!("f{number}"), DataType::Float32, false)));
    }
    fields
}

fn list_item() -> FieldRef {
    Arc::new(Field::new("element", DataType::Float32, false))
}

fn columns(data: &Dataset, query_of_row: &[usize], rows: Range<usize>) -> Vec<ArrayRef> {
    let queries = query_of_row[rows.clone()].iter().copied();
    let mut columns = vec![ids_array(data.queries(), queries), ids_array(data.docs(), rows.clone())];
    if let Some(grades) = data.grades() {
        columns.push(Arc::new(UInt8Array::from_iter_values(grades[rows.clone()].iter().copied())));
    }
    let width = data.feature_count();
    let values = &data.features()[rows.start * width..rows.end * width];
    if width > MAX_COLUMNS {
        let values = Arc::new(Float32Array::from_iter_values(values.iter().copied()));
        columns.push(Arc::new(FixedSizeListArray::new(list_item(), width as i32, values, None)));
    } else {
        columns.extend((0..width).map(|number| -> ArrayRef {
            Arc::new(Float32Array::from_iter_values(values[number..].iter().step_by(width).copied()))
        }));
    }
    columns
}
