//! JSON in which people find their way.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::table::FileType;
use super::{Limit, read_sealed_text};
use crate::{Error, Result};

/// Reads a JSON file that says its type and version, and that may have a seal, which must fit it.
pub fn read_json<T: DeserializeOwned>(path: &Path, limit: Limit, expected: &FileType) -> Result<T> {
    let text = read_sealed_text(path, limit)?;
    let value: Value =
        serde_json::from_str(&text).map_err(|e| Error::input(path, format!("is not complete JSON: {e}")))?;
    expected.check(path, value["type"].as_str(), value["version"].as_u64())?;
    serde_json::from_value(value).map_err(|e| Error::input(path, e.to_string()))
}

/// A document as JSON with a line per field, and per entry of fields that list objects or lists.
pub fn lines_of_json<T: Serialize>(document: &T) -> serde_json::Result<String> {
    let mut fields = Vec::new();
    if let Value::Object(object) = serde_json::to_value(document)? {
        for (name, value) in object {
            let value = match value {
                Value::Array(rows) if rows.iter().any(|row| row.is_array() || row.is_object()) => {
                    let rows = rows.iter().map(|row| format!("    {row}")).collect::<Vec<_>>();
                    format!("[\n{}\n  ]", rows.join(",\n"))
                }
                other => other.to_string(),
            };
            fields.push(format!("  {}: {value}", Value::String(name)));
        }
    }
    Ok(format!("{{\n{}\n}}\n", fields.join(",\n")))
}
