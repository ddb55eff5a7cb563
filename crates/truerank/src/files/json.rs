//! JSON in which people find their way.

use serde::Serialize;
use serde_json::Value;

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
