//! Tables, paragraphs and JSON on standard output, as wide as the terminal and in its colours.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use anyhow::Result;
use truerank::report::{Format, Layout, Report, TextTable, Tone};
use truerank::text::printable_lines;

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On terminals, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also in pipes and files
    Always,
    /// Nowhere
    Never,
}

static CHOSEN: OnceLock<Colour> = OnceLock::new();

/// Text is not wider, however wide the terminal is: longer lines are hard to read.
const WIDEST: usize = 120;

/// Takes what was typed; before that, colours are as by default.
pub fn choose_colour(colour: Colour) {
    let _ = CHOSEN.set(colour);
}

/// Whether a stream gets colours.
pub fn has_colour(is_terminal: bool) -> bool {
    match CHOSEN.get().copied().unwrap_or_default() {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            is_terminal && !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// As <https://no-color.org> has it, an empty variable counts as none.
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// How standard output is laid out: as wide as `COLUMNS` says, or as the terminal is, up to 120. Pipes and files get 100
/// characters, so that what they hold does not depend on a terminal.
fn layout() -> &'static Layout {
    static LAYOUT: OnceLock<Layout> = OnceLock::new();
    LAYOUT.get_or_init(|| {
        let out = std::io::stdout();
        let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse::<usize>().ok());
        let terminal = console::Term::stdout().size_checked().filter(|_| out.is_terminal());
        let seen = terminal.map(|(_, columns)| usize::from(columns).min(WIDEST));
        let width = given.filter(|&columns| columns > 0).or(seen).unwrap_or(Layout::default().width);
        Layout::new(width, has_colour(out.is_terminal()))
    })
}

/// A table as wide as standard output.
pub struct Table(TextTable);

impl Table {
    /// A table with this header.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Table(TextTable::new(header))
    }

    /// A table without a header.
    pub fn plain() -> Self {
        Table(TextTable::default())
    }

    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.0.row(cells);
    }

    pub fn render(&self) -> String {
        // Colours would not survive `print`.
        self.0.render_in(&Layout { colour: false, ..*layout() })
    }
}

/// A paragraph as wide as standard output.
pub fn wrap(text: &str) -> String {
    layout().wrap(text)
}

/// Writes a report to standard output, then what should be known about it.
pub fn print_report(report: &Report, after: &str) -> Result<()> {
    print_exactly(&report.text_in(layout()))?;
    print(after)
}

/// Commands to go on with, each with what it is for.
pub fn next_steps(steps: &[(String, &str)]) -> String {
    let widest = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let fits = steps.iter().all(|(_, what)| 2 + widest + 2 + what.chars().count() <= layout().width);
    let step = |(command, what): &(String, &str)| match fits {
        true => format!("  {command:widest$}  {what}\n"),
        false => format!("  {command}\n      {what}\n"),
    };
    format!("Next:\n{}", steps.iter().map(step).collect::<String>())
}

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

/// The start of an error in its colour, on standard error.
pub fn painted_error(text: &str) -> String {
    let layout = Layout { colour: has_colour(std::io::stderr().is_terminal()), ..Layout::default() };
    match text.strip_prefix("error:") {
        Some(rest) => format!("{}{rest}", layout.paint("error:", Tone::Bad)),
        None => text.to_string(),
    }
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
