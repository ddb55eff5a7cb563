//! Appends whole columns of a batch to rows: the fast way, for batches in which nothing is wrong.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, downcast_integer_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

use super::texts::TextColumn;
use super::types::is_text;
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
    let column = |at: usize| Column::of(batch.column(at));
    let [session, query, doc] = [column(layout.session[0])?, column(layout.query[0])?, column(layout.doc)?];
    let user = match layout.user {
        Some(at) => Some(column(at)?),
        None => None,
    };
    let [position, click] = [column(layout.position?)?, column(layout.click)?];
    position.push_values(&mut rows.positions, position_of_integer, position_of_float, position_of_text)?;
    click.push_values(&mut rows.clicks, click_of_integer, click_of_float, click_of_text)?;
    if [Some(&session), Some(&query), Some(&doc), user.as_ref()].into_iter().flatten().any(Column::has_empty) {
        return None;
    }
    session.push_sessions(&mut rows.sessions)?;
    query.push_ids(&mut rows.queries)?;
    doc.push_ids(&mut rows.docs)?;
    match user {
        Some(user) => user.push_ids(&mut rows.users),
        None => {
            let code = rows.users.code_of_text(ANONYMOUS);
            rows.users.codes.extend(std::iter::repeat_n(code, batch.num_rows()));
            Some(())
        }
    }
}

/// A column without missing values.
enum Column<'a> {
    Text(TextColumn<'a>),
    Other(ArrayRef),
}

impl<'a> Column<'a> {
    fn of(column: &'a ArrayRef) -> Option<Self> {
        if column.logical_null_count() > 0 {
            return None;
        }
        match column.data_type() {
            DataType::Dictionary(_, values) if !is_text(values) => unpack(column).map(Column::Other),
            _ => Some(TextColumn::of(column).map_or_else(|| Column::Other(column.clone()), Column::Text)),
        }
    }

    /// Whether a text of the column is empty.
    fn has_empty(&self) -> bool {
        matches!(self, Column::Text(texts) if texts.has_empty())
    }

    fn push_sessions(&self, sessions: &mut Vec<u64>) -> Option<()> {
        let column = match self {
            Column::Text(texts) => return texts.push(sessions, |text| Some(session_of_text(text))),
            Column::Other(column) => column,
        };
        match column.data_type() {
            DataType::Int64 => sessions.extend(column.as_primitive::<Int64Type>().values().iter().map(|&v| v as u64)),
            DataType::UInt64 => sessions.extend_from_slice(column.as_primitive::<UInt64Type>().values()),
            kind if kind.is_integer() => sessions.extend(integers(column)?.into_iter().map(|v| v as u64)),
            _ => return None,
        }
        Some(())
    }

    fn push_ids(&self, ids: &mut IdColumn) -> Option<()> {
        let column = match self {
            Column::Text(texts) => return push_text_ids(texts, ids),
            Column::Other(column) => column,
        };
        match column.data_type() {
            DataType::Int64 => column.as_primitive::<Int64Type>().values().iter().for_each(|&v| ids.push_integer(v)),
            // What does not fit an integer id is its text.
            DataType::UInt64 => column.as_primitive::<UInt64Type>().values().iter().for_each(|&v| ids.push_unsigned(v)),
            _ => integers(column)?.into_iter().for_each(|v| ids.push_integer(v)),
        }
        Some(())
    }

    /// Appends positions or clicks.
    fn push_values<T: Copy>(
        &self,
        values: &mut Vec<T>,
        of_integer: fn(i64) -> Result<T, String>,
        of_float: fn(f64) -> Result<T, String>,
        of_text: fn(&str) -> Result<T, String>,
    ) -> Option<()> {
        let column = match self {
            Column::Text(texts) => return texts.push(values, |text| of_text(text).ok()),
            Column::Other(column) => column,
        };
        match column.data_type() {
            DataType::Int32 => {
                push_each(column.as_primitive::<Int32Type>().values(), values, |v| of_integer(i64::from(v)))
            }
            DataType::Int8 => {
                push_each(column.as_primitive::<Int8Type>().values(), values, |v| of_integer(i64::from(v)))
            }
            kind if kind.is_floating() => push_each(&floats(column)?, values, of_float),
            _ => push_each(&integers(column)?, values, of_integer),
        }
    }
}

/// A dictionary of whole numbers as the numbers of its rows; none if it holds something else.
fn unpack(column: &ArrayRef) -> Option<ArrayRef> {
    let dictionary = column.as_any_dictionary();
    let values = dictionary.values();
    if values.is_empty() {
        return None;
    }
    let keys = dictionary.normalized_keys().into_iter();
    let numbers: Option<Vec<i64>> = downcast_integer_array!(
        values => keys.map(|key| values.value(key).to_i64()).collect(),
        _ => None
    );
    Some(Arc::new(Int64Array::from(numbers?)))
}

fn push_text_ids(texts: &TextColumn<'_>, ids: &mut IdColumn) -> Option<()> {
    let mut codes = std::mem::take(&mut ids.codes);
    let outcome = texts.push(&mut codes, |text| Some(ids.code_of_text(text)));
    ids.codes = codes;
    outcome
}

fn push_each<V: Copy, T>(from: &[V], values: &mut Vec<T>, convert: impl Fn(V) -> Result<T, String>) -> Option<()> {
    values.reserve(from.len());
    for &value in from {
        values.push(convert(value).ok()?);
    }
    Some(())
}
