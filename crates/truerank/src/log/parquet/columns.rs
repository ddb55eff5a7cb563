//! Appends whole columns of a batch to rows: the fast way, for batches in which nothing is wrong.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

use crate::files::table::{floats, integers};
use crate::log::build::ANONYMOUS;
use crate::log::layout::Layout;
use crate::log::rows::{IdColumn, Rows};
use crate::log::values::*;

/// Appends a batch and returns whether that was possible; otherwise the rows are as they were.
///
/// Ids come last, and only once all is known to be good: an id of a bad row must not enter the dictionary.
pub(super) fn push_batch(batch: &RecordBatch, layout: &Layout, rows: &mut Rows) -> bool {
    let before = rows.len();
    let outcome = push(batch, layout, rows);
    if outcome.is_none() {
        rows.sessions.truncate(before);
        rows.positions.truncate(before);
        rows.clicks.truncate(before);
    }
    outcome.is_some()
}

fn push(batch: &RecordBatch, layout: &Layout, rows: &mut Rows) -> Option<()> {
    let ids = [Some(layout.query), Some(layout.doc), layout.user, Some(layout.session[0])];
    let columns = ids.into_iter().flatten().chain([layout.position?, layout.click]);
    if columns.into_iter().any(|column| batch.column(column).null_count() > 0) {
        return None;
    }
    push_values(
        batch.column(layout.position?),
        &mut rows.positions,
        position_of_integer,
        position_of_float,
        position_of_text,
    )?;
    push_values(batch.column(layout.click), &mut rows.clicks, click_of_integer, click_of_float, click_of_text)?;
    if ids.into_iter().flatten().any(|column| has_empty(batch.column(column))) {
        return None;
    }
    push_sessions(batch.column(layout.session[0]), &mut rows.sessions)?;
    push_ids(batch.column(layout.query), &mut rows.queries)?;
    push_ids(batch.column(layout.doc), &mut rows.docs)?;
    match layout.user {
        Some(column) => push_ids(batch.column(column), &mut rows.users),
        None => {
            let code = rows.users.code_of_text(ANONYMOUS);
            rows.users.codes.extend(std::iter::repeat_n(code, batch.num_rows()));
            Some(())
        }
    }
}

/// Whether a text of the column is empty.
fn has_empty(column: &ArrayRef) -> bool {
    let DataType::Dictionary(..) = column.data_type() else { return false };
    let column = column.as_dictionary::<Int32Type>();
    let texts = column.values().as_string::<i32>();
    let Some(empty) = (0..texts.len()).find(|&i| texts.value(i).is_empty()) else { return false };
    column.keys().values().iter().any(|&key| key as usize == empty)
}

fn push_sessions(column: &ArrayRef, sessions: &mut Vec<u64>) -> Option<()> {
    match column.data_type() {
        DataType::Int64 => sessions.extend(column.as_primitive::<Int64Type>().values().iter().map(|&v| v as u64)),
        DataType::UInt64 => sessions.extend_from_slice(column.as_primitive::<UInt64Type>().values()),
        DataType::Dictionary(..) => push_texts(column, sessions, |text| Some(session_of_text(text)))?,
        kind if kind.is_integer() => sessions.extend(integers(column)?.into_iter().map(|v| v as u64)),
        _ => return None,
    }
    Some(())
}

fn push_ids(column: &ArrayRef, ids: &mut IdColumn) -> Option<()> {
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().values().iter().for_each(|&v| ids.push_integer(v)),
        // What does not fit an integer id is its text.
        DataType::UInt64 => column.as_primitive::<UInt64Type>().values().iter().for_each(|&v| ids.push_unsigned(v)),
        DataType::Dictionary(..) => {
            let mut codes = std::mem::take(&mut ids.codes);
            let outcome = push_texts(column, &mut codes, |text| Some(ids.code_of_text(text)));
            ids.codes = codes;
            outcome?;
        }
        _ => integers(column)?.into_iter().for_each(|v| ids.push_integer(v)),
    }
    Some(())
}

/// Appends a column of text, each distinct value of which is looked at once.
fn push_texts<T: Copy>(column: &ArrayRef, values: &mut Vec<T>, mut value: impl FnMut(&str) -> Option<T>) -> Option<()> {
    let column = column.as_dictionary::<Int32Type>();
    let texts = column.values().as_string::<i32>();
    let mut known: Vec<Option<T>> = vec![None; texts.len()];
    for &key in column.keys().values() {
        let known = &mut known[key as usize];
        if known.is_none() {
            *known = Some(value(texts.value(key as usize))?);
        }
        values.extend(*known);
    }
    Some(())
}

/// Appends a column of positions or clicks.
fn push_values<T: Copy>(
    column: &ArrayRef,
    values: &mut Vec<T>,
    of_integer: fn(i64) -> Result<T, String>,
    of_float: fn(f64) -> Result<T, String>,
    of_text: fn(&str) -> Result<T, String>,
) -> Option<()> {
    match column.data_type() {
        DataType::Dictionary(..) => push_texts(column, values, |text| of_text(text).ok()),
        DataType::Float32 | DataType::Float64 => push_each(&floats(column)?, values, of_float),
        DataType::Int32 => push_each(column.as_primitive::<Int32Type>().values(), values, |v| of_integer(i64::from(v))),
        DataType::Int8 => push_each(column.as_primitive::<Int8Type>().values(), values, |v| of_integer(i64::from(v))),
        _ => push_each(&integers(column)?, values, of_integer),
    }
}

fn push_each<V: Copy, T>(from: &[V], values: &mut Vec<T>, convert: impl Fn(V) -> Result<T, String>) -> Option<()> {
    values.reserve(from.len());
    for &value in from {
        values.push(convert(value).ok()?);
    }
    Some(())
}
