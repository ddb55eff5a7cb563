//! What makes a click, as an expression: `1`, `0`, or a text that is neither where a value cannot be compared.

use super::dialect::Dialect;
use crate::log::{ClickWhen, Condition, NO_VALUE};

/// The click of a row whose value is `column`, by the rules of reading without SQL.
pub(crate) fn click_value(dialect: Dialect, when: &ClickWhen, column: &str) -> String {
    let text = format!("TRIM(CAST({column} AS {}))", dialect.word("text"));
    let none: Vec<String> = NO_VALUE.iter().map(|value| dialect.literal(value)).collect();
    let is_missing = format!("{text} IS NULL OR LOWER({text}) IN ({})", none.join(", "));
    let number = number(dialect, &text);
    let rest = match when.condition() {
        Condition::Present => "ELSE '1'".to_string(),
        Condition::Compares(comparison, than) => format!(
            "WHEN {number} IS NULL THEN 'no number: ' || {text} WHEN {number} {} {} THEN '1' ELSE '0'",
            comparison.sign(),
            float(dialect, &than.to_string())
        ),
        Condition::OneOf(names) => format!("WHEN {} THEN '1' ELSE '0'", is_one_of(dialect, names, &text, &number)),
        Condition::NoneOf(names) => format!("WHEN {} THEN '0' ELSE '1'", is_one_of(dialect, names, &text, &number)),
    };
    format!("CASE WHEN {is_missing} THEN '0' {rest} END")
}

/// The number that a text is. Only what all engines read alike is let through; true is 1.
fn number(dialect: Dialect, text: &str) -> String {
    format!(
        "CASE WHEN LOWER({text}) = 'true' THEN {} WHEN LOWER({text}) = 'false' THEN {} \
         WHEN NOT {}({text}, '[^0-9eE.+-]') THEN {}({text} AS {}) END",
        float(dialect, "1"),
        float(dialect, "0"),
        dialect.word("matches"),
        dialect.word("try_cast"),
        dialect.word("float")
    )
}

fn float(dialect: Dialect, number: &str) -> String {
    format!("CAST('{number}' AS {})", dialect.word("float"))
}

/// Texts are equal as they are, numbers by value.
fn is_one_of(dialect: Dialect, names: &[String], text: &str, number: &str) -> String {
    let literals: Vec<String> = names.iter().map(|name| dialect.literal(name)).collect();
    let numbers = names.iter().filter_map(|name| name.parse::<f64>().ok().filter(|number| number.is_finite()));
    let equal = numbers.map(|name| format!(" OR COALESCE({number} = {}, FALSE)", float(dialect, &name.to_string())));
    format!("({text} IN ({}){})", literals.join(", "), equal.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(when: &str) -> String {
        click_value(Dialect::DuckDb, &when.parse().unwrap(), "\"dwell\"")
    }

    #[test]
    fn conditions_become_cases() {
        let present = value("dwell present");
        assert!(present.starts_with("CASE WHEN TRIM(CAST(\"dwell\" AS VARCHAR)) IS NULL OR"), "{present}");
        assert!(present.ends_with("IN ('', 'nan', 'null', '\\n') THEN '0' ELSE '1' END"), "{present}");
        assert!(value("dwell>=0.5").ends_with(">= CAST('0.5' AS DOUBLE) THEN '1' ELSE '0' END"));
        assert!(value("dwell!=a|b").ends_with("IN ('a', 'b')) THEN '0' ELSE '1' END"));
        assert!(value("dwell=1").contains("IN ('1') OR COALESCE(CASE"));
    }

    #[test]
    fn values_are_data_even_if_they_look_like_sql() {
        let nasty = value("dwell='; DROP TABLE log; --");
        assert!(nasty.contains("IN ('''; DROP TABLE log; --')"), "{nasty}");
    }
}
