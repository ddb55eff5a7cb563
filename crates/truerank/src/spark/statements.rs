//! Statements of SQL files, their placeholders filled in, and numbers of their results.

use super::cluster::Row;
use crate::{Error, Result};

/// The statement after `-- @name` of a file, with values for its placeholders.
pub(super) fn statement(file: &str, name: &str, values: &[(&str, String)]) -> String {
    let rest = file.split_once(&format!("-- @{name}\n")).map_or("", |(_, rest)| rest);
    let mut query = rest.split_once(";\n").map_or(rest, |(query, _)| query).to_string();
    for (placeholder, value) in values {
        query = query.replace(&format!("{{{placeholder}}}"), value);
    }
    query
}

/// A number as a literal of type DOUBLE, to the last bit.
pub(super) fn double(value: f64) -> String {
    format!("{value:e}D")
}

pub(super) fn number(row: &Row, at: usize) -> Result<f64> {
    let value = row.get(at).and_then(|value| value.as_f64().or_else(|| value.as_i64().map(|v| v as f64)));
    value.ok_or_else(|| Error::parameter("Spark gave no number where a sum was asked for"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_keep_every_bit() {
        for value in [0.1 + 0.2, 1e-9, f64::MIN_POSITIVE, 4.0] {
            let literal = double(value);
            assert_eq!(literal.strip_suffix('D').unwrap().parse::<f64>().unwrap(), value);
        }
    }
}
