//! Columns that a log needs and does not have: all of them in one message, each with the names that are closest.

use std::path::Path;

use super::closest::closest;
use super::columns::Field;
use super::guess::usual_names;
use super::layout::ReadColumn;
use super::options::{Header, ReadOptions};
use super::values::shown;
use crate::{Error, Result};

/// So many columns are listed at most.
const FEW: usize = 5;

/// So many for each of several that are missing.
const FOR_EACH: usize = 3;

/// A column that is not there.
#[derive(Debug, Clone)]
pub(crate) struct Missing {
    field: Option<Field>,
    name: String,
    /// Whether someone gave the name.
    is_said: bool,
    /// Whether a log of whole pages can do without.
    is_for_rows_alone: bool,
}

impl Missing {
    /// A field's column, under the name that was said for it.
    pub fn of_field(field: Field, said: Option<&str>, is_event_log: bool) -> Self {
        let said = said.filter(|name| !name.is_empty());
        let can_be_missing = field == Field::Position || field == Field::Session && !is_event_log;
        Missing {
            field: Some(field),
            name: said.unwrap_or(field.name()).to_string(),
            is_said: said.is_some(),
            is_for_rows_alone: can_be_missing && said.is_none(),
        }
    }

    /// Another column that was asked for.
    pub fn of_name(name: &str) -> Self {
        Missing { field: None, name: name.to_string(), is_said: true, is_for_rows_alone: false }
    }

    pub fn field(&self) -> Option<Field> {
        self.field
    }

    pub fn is_for_rows_alone(&self) -> bool {
        self.is_for_rows_alone
    }

    /// The names that are closest to it, if any are close.
    fn closest(&self, found: &[String], count: usize) -> Option<String> {
        let wanted = match self.field {
            Some(field) if !self.is_said => usual_names(field).collect(),
            _ => vec![self.name.as_str()],
        };
        let names = closest(&wanted, found, count);
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Why a log needs it.
    fn rule(&self) -> &'static str {
        match self.field {
            Some(Field::Session) => ", but impressions must say which were shown together",
            Some(Field::Click) => ", but a log needs one, with 0 where a shown document was not clicked",
            Some(_) => ", but a log needs one",
            None => "",
        }
    }

    /// What else can be said where there is no such column.
    fn way_out(&self) -> Option<&'static str> {
        match self.field? {
            _ if self.is_said => None,
            Field::Session => Some(
                "session=NAME+NAME joins columns that together mean one result page, and session= says that each row is one",
            ),
            Field::Query => Some("query= says that there are no queries"),
            Field::Click => Some(
                "`click_when` 'NAME>0' says what else is a click. A log of clicks alone will not do: log every result that \
                 was shown",
            ),
            _ => None,
        }
    }
}

/// The error for all that is missing.
///
/// Columns that are something else already, as `reads` say, are not close to anything.
pub(super) fn error_of(
    path: &Path,
    missing: &[Missing],
    found: &[String],
    reads: &[ReadColumn],
    options: &ReadOptions,
) -> Error {
    let is_free = |name: &&String| !reads.iter().any(|read| read.column.split('+').any(|part| part == **name));
    let free: Vec<String> = found.iter().filter(is_free).cloned().collect();
    let mut finding = match missing {
        [one] => one_missing(one, found, &free, options),
        several => several_missing(several, found, &free, options),
    };
    let fields: Vec<String> = missing
        .iter()
        .filter_map(|missing| missing.field)
        .map(|field| format!("`columns` {}=NAME", field.name()))
        .collect();
    if !fields.is_empty() {
        finding += &format!("; name yours with {}", fields.join(" "));
    }
    // Without names nothing else is known yet.
    let ways_out = missing.iter().filter_map(Missing::way_out).filter(|_| !looks_like_values(found, options));
    for way_out in ways_out {
        finding += "; ";
        finding += way_out;
    }
    Error::input(path, finding)
}

fn one_missing(missing: &Missing, found: &[String], free: &[String], options: &ReadOptions) -> String {
    let there = match missing.closest(free, FEW).filter(|_| found.len() > FEW && options.header_kind() == Header::First)
    {
        Some(names) => format!("closest of its {} are {names}", found.len()),
        None => listed(found, options),
    };
    format!("has no column '{}'{}; {there}", shown(&missing.name), missing.rule())
}

fn several_missing(missing: &[Missing], found: &[String], free: &[String], options: &ReadOptions) -> String {
    let is_wide = found.len() > FEW && options.header_kind() == Header::First;
    let named = missing.iter().map(|missing| {
        let closest = missing.closest(free, FOR_EACH).filter(|_| is_wide);
        let closest = closest.map_or(String::new(), |names| format!(" (closest: {names})"));
        format!("'{}'{closest}", shown(&missing.name))
    });
    format!("lacks {} columns: {}; {}", missing.len(), named.collect::<Vec<_>>().join(", "), listed(found, options))
}

/// The first columns, and a hint where they look like values.
fn listed(found: &[String], options: &ReadOptions) -> String {
    if options.header_kind() == Header::Numbered {
        return format!("without a header its columns are called 1 to {}", found.len());
    }
    let names = found.iter().take(FEW).map(|name| shown(name)).collect::<Vec<_>>().join(", ");
    let more = found.len().saturating_sub(FEW);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let hint = match looks_like_values(found, options) {
        true => "; if that is no header, pass `no_header` or `header` NAME,NAME",
        false => "",
    };
    format!("it has {names}{more}{hint}")
}

/// Whether what stands in the first line are hardly names.
fn looks_like_values(found: &[String], options: &ReadOptions) -> bool {
    options.header_kind() == Header::First && found.iter().any(|name| name.parse::<f64>().is_ok())
}

/// Nothing but a name for each column may be asked of a file that has names of its own.
pub(super) fn refuse_header(path: &Path, options: &ReadOptions, form: &str) -> Result<()> {
    match options.header_kind() {
        Header::First => Ok(()),
        _ => Err(Error::input(
            path,
            format!("is {form}, whose columns have names; `no_header` and `header` are for CSV and TSV"),
        )),
    }
}
