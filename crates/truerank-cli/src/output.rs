//! Tables and JSON on standard output.

use std::io::Write;

use anyhow::Result;
use truerank::report::Format;
pub use truerank::report::{TextTable as Table, wrap};
use truerank::text::printable_lines;

/// Writes text for people to standard output; what it holds of data steers no terminal.
pub fn print(text: &str) -> Result<()> {
    print_exactly(&printable_lines(text))
}

/// Writes text for programs to standard output, every character as it is.
pub fn print_exactly(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes JSON to standard output.
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    print_exactly(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// A whole number with thousands separated: `1,234,567`.
pub fn thousands(value: u64) -> String {
    Format::Count.print(value as f64)
}

/// A measure as the field writes it: `.7056`.
pub fn measure(value: f64) -> String {
    Format::Measure.print(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_the_field_writes_them() {
        assert_eq!([thousands(0), thousands(999), thousands(1_234_567)], ["0", "999", "1,234,567"]);
        assert_eq!([measure(0.70561), measure(1.0)], [".7056", "1.0000"]);
    }
}
