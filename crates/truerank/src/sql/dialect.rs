//! How engines write the same thing: quotes, types, and a few functions.

use crate::named::named;

/// An engine's SQL.
///
/// ```
/// use truerank::sql::Dialect;
/// assert_eq!(Dialect::Spark.identifier("a`b"), "`a``b`");
/// assert_eq!(Dialect::DuckDb.literal("it's"), "'it''s'");
/// assert_eq!(Dialect::BigQuery.literal("it's"), r"'it\'s'");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Apache Spark.
    Spark,
    /// DuckDB.
    DuckDb,
    /// Google BigQuery.
    BigQuery,
}

impl Dialect {
    /// A name of a column or table, whatever is in it.
    pub fn identifier(self, name: &str) -> String {
        match self {
            Dialect::Spark => format!("`{}`", name.replace('`', "``")),
            Dialect::DuckDb => format!("\"{}\"", name.replace('"', "\"\"")),
            Dialect::BigQuery => format!("`{}`", escaped(name, '`')),
        }
    }

    /// A text as a value, whatever is in it.
    pub fn literal(self, text: &str) -> String {
        match self {
            // The rest of Spark's escapes start with a backslash too.
            Dialect::Spark => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            Dialect::DuckDb => format!("'{}'", text.replace('\'', "''")),
            Dialect::BigQuery => format!("'{}'", escaped(text, '\'')),
        }
    }

    /// The word that stands for a placeholder of the template; empty for an unknown one.
    pub(super) fn word(self, placeholder: &str) -> &'static str {
        self.words().iter().find(|(name, _)| *name == placeholder).map_or("", |(_, word)| word)
    }

    /// The words that differ, by the placeholders of the template.
    pub(super) fn words(self) -> [(&'static str, &'static str); 8] {
        match self {
            Dialect::Spark => [
                ("create", "CREATE OR REPLACE TEMPORARY VIEW"),
                ("text", "STRING"),
                ("integer", "BIGINT"),
                ("float", "DOUBLE"),
                ("matches", "REGEXP_LIKE"),
                ("try_cast", "TRY_CAST"),
                ("page", "SORT_ARRAY(COLLECT_LIST(STRUCT(position, doc, click)))"),
                ("list", "SORT_ARRAY(COLLECT_LIST(STRUCT(position, doc)))"),
            ],
            Dialect::DuckDb => [
                ("create", "CREATE OR REPLACE TEMPORARY VIEW"),
                ("text", "VARCHAR"),
                ("integer", "BIGINT"),
                ("float", "DOUBLE"),
                ("matches", "REGEXP_MATCHES"),
                ("try_cast", "TRY_CAST"),
                ("page", "LIST_SORT(LIST(STRUCT_PACK(position := position, doc := doc, click := click)))"),
                ("list", "LIST_SORT(LIST(STRUCT_PACK(position := position, doc := doc)))"),
            ],
            Dialect::BigQuery => [
                ("create", "CREATE OR REPLACE TEMP TABLE"),
                ("text", "STRING"),
                ("integer", "INT64"),
                ("float", "FLOAT64"),
                ("matches", "REGEXP_CONTAINS"),
                ("try_cast", "SAFE_CAST"),
                // BigQuery does not group by arrays, so pages are told apart by their text.
                ("page", "TO_JSON_STRING(ARRAY_AGG(STRUCT(position, doc, click) ORDER BY position, doc))"),
                ("list", "TO_JSON_STRING(ARRAY_AGG(STRUCT(position, doc) ORDER BY position, doc))"),
            ],
        }
    }
}

/// What BigQuery would read as an escape or an end, escaped.
fn escaped(text: &str, quote: char) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped += "\\\\",
            '\n' => escaped += "\\n",
            '\r' => escaped += "\\r",
            c if c == quote => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

named!(Dialect, "a dialect of SQL": Spark "spark", DuckDb "duckdb", BigQuery "bigquery");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_stay_within_their_quotes() {
        let nasty = "`; DROP TABLE log; -- '\"\\\n💥";
        assert_eq!(Dialect::Spark.identifier(nasty), "```; DROP TABLE log; -- '\"\\\n💥`");
        assert_eq!(Dialect::DuckDb.identifier(nasty), "\"`; DROP TABLE log; -- '\"\"\\\n💥\"");
        assert_eq!(Dialect::BigQuery.identifier(nasty), "`\\`; DROP TABLE log; -- '\"\\\\\\n💥`");
        assert_eq!(Dialect::Spark.literal(nasty), "'`; DROP TABLE log; -- \\'\"\\\\\n💥'");
        assert_eq!(Dialect::DuckDb.literal(nasty), "'`; DROP TABLE log; -- ''\"\\\n💥'");
        assert_eq!(Dialect::BigQuery.literal(nasty), "'`; DROP TABLE log; -- \\'\"\\\\\\n💥'");
    }

    #[test]
    fn dialects_have_names() {
        assert!(Dialect::ALL.iter().all(|dialect| dialect.to_string().parse::<Dialect>().unwrap() == *dialect));
        assert!("oracle".parse::<Dialect>().unwrap_err().to_string().contains("known are spark, duckdb, bigquery"));
    }
}
