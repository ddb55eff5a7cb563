//! Which types of columns can hold which fields.

use std::path::Path;

use arrow_schema::{DataType, Schema};

use crate::log::columns::Field;
use crate::log::layout::Layout;
use crate::{Error, Result};

/// The type of a column's values, which may stand in a dictionary.
pub(super) fn value_type(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

pub(super) fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_list(kind: &DataType) -> bool {
    use DataType::*;
    matches!(kind, List(_) | LargeList(_) | FixedSizeList(..) | ListView(_) | LargeListView(_))
}

/// Every column that is read must have a type that its field can have. Text can be anything, so its values say.
pub(super) fn check_types(path: &Path, schema: &Schema, layout: &Layout) -> Result<()> {
    layout.columns().into_iter().try_for_each(|at| {
        let column = schema.field(at);
        check_type(at, column.name(), value_type(column.data_type()), layout)
            .map_err(|finding| Error::input(path, finding))
    })
}

fn check_type(at: usize, name: &str, kind: &DataType, layout: &Layout) -> Result<(), String> {
    if is_text(kind) {
        return Ok(());
    }
    let is_number = kind.is_integer() || kind.is_floating();
    let is_time = matches!(kind, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64);
    let (is_flag, is_list) = (*kind == DataType::Boolean, is_list(kind));
    let is_click = match (&layout.click_when, &layout.events) {
        (Some(when), _) if when.compares() => is_number || is_flag || is_list,
        (Some(_), _) => true,
        (None, Some(_)) => kind.is_integer() || is_list,
        (None, None) => is_number || is_flag || is_list,
    };
    let rules: [(Field, bool, bool, &str); 8] = [
        (Field::Session, layout.session.contains(&at), kind.is_integer() || is_time, "text or whole numbers"),
        (Field::User, layout.user == Some(at), kind.is_integer(), "text or whole numbers"),
        (Field::Query, layout.query.contains(&at), kind.is_integer(), "text or whole numbers"),
        (Field::Doc, layout.doc == at, kind.is_integer() || is_list, "text or whole numbers, or lists of them"),
        (Field::Position, layout.position == Some(at), is_number || is_list, "numbers"),
        (Field::Click, layout.click == at, is_click, "numbers"),
        (Field::Time, layout.time == Some(at), is_number || is_time, "times or numbers"),
        (Field::Context, layout.context.contains(&at), kind.is_integer(), "text or whole numbers"),
    ];
    let broken = rules.iter().find(|(_, is_read, is_good, _)| *is_read && !is_good);
    match broken {
        Some((field, _, _, wanted)) => {
            Err(format!("column '{name}' has type {kind}, but {} needs {wanted}", field.name()))
        }
        None if layout.numbers.contains(&at) && !(is_number || is_flag || is_list) => {
            Err(format!("column '{name}' has type {kind}, but numbers are needed"))
        }
        None => Ok(()),
    }
}

pub(super) fn kind_of(data_type: &DataType) -> crate::log::shape::ColumnKind {
    use crate::log::shape::ColumnKind;
    match data_type {
        DataType::UInt64 => ColumnKind::Unsigned,
        kind if kind.is_integer() => ColumnKind::Integer,
        DataType::Float32 | DataType::Float64 => ColumnKind::Float,
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => ColumnKind::Time,
        DataType::Boolean => ColumnKind::Any,
        _ => ColumnKind::Text,
    }
}
