//! Tables as data: rows of numbers with intervals and marks, under columns that know their format.

use super::{Format, Verdict};

/// A table: one label and some cells per row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The stem of its files: `a-z`, `0-9` and `-`.
    pub name: String,
    /// What it shows, in a sentence or two.
    pub caption: String,
    /// The header of the first column, which holds the labels of rows.
    pub label: String,
    /// The other columns.
    pub columns: Vec<Column>,
    /// The rows, each with one cell per column.
    pub rows: Vec<Row>,
    /// Remarks under the table.
    pub notes: Vec<String>,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Column {
    /// Its header.
    pub name: String,
    /// How its numbers are printed.
    pub format: Format,
    /// Which value is the best, where one is; it is printed bold.
    pub best: Option<Best>,
    /// Who measured it.
    pub source: Source,
}

/// Which value of a column is the best among rows that compete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Best {
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
}

/// Who measured the values of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Source {
    /// We did.
    #[default]
    Ours,
    /// A paper reports them: printed as another kind of number, and never marked as the best.
    Paper,
}

/// A row of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// What the row is about.
    pub label: String,
    /// One cell per column.
    pub cells: Vec<Cell>,
    /// Whether its values can be the best of their columns.
    pub competes: bool,
    /// Whether a rule is drawn above it.
    pub rule: bool,
}

/// A cell of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// The number, in full precision.
    pub value: Option<f64>,
    /// Words printed instead of the number.
    pub text: Option<String>,
    /// Half the width of the number's interval.
    pub half_width: Option<f64>,
    /// Whether the number differs from the reference by more than chance.
    pub mark: Option<Mark>,
    /// Whether a claim about the number holds.
    pub verdict: Option<Verdict>,
}

/// A significant difference from the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Significantly better.
    Better,
    /// Significantly worse.
    Worse,
}

impl Column {
    /// A column of ours in which no value is the best.
    pub fn new(name: impl Into<String>, format: Format) -> Self {
        Column { name: name.into(), format, ..Column::default() }
    }

    /// The column with its best value printed bold.
    pub fn best(self, best: Best) -> Self {
        Column { best: Some(best), ..self }
    }

    /// The column as a paper's.
    pub fn paper(self) -> Self {
        Column { source: Source::Paper, ..self }
    }
}

impl Row {
    /// A row that competes, without a rule.
    pub fn new(label: impl Into<String>, cells: Vec<Cell>) -> Self {
        Row { label: label.into(), cells, competes: true, rule: false }
    }
}

impl Cell {
    /// A number.
    pub fn value(value: f64) -> Self {
        Cell { value: Some(value), ..Cell::default() }
    }

    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Cell { text: Some(text.into()), ..Cell::default() }
    }

    /// Nothing.
    pub fn empty() -> Self {
        Cell::default()
    }

    /// The cell with an interval around its number.
    pub fn half_width(self, half_width: impl Into<Option<f64>>) -> Self {
        Cell { half_width: half_width.into(), ..self }
    }

    /// The cell with a mark.
    pub fn mark(self, mark: impl Into<Option<Mark>>) -> Self {
        Cell { mark: mark.into(), ..self }
    }

    /// The cell with a verdict.
    pub fn verdict(self, verdict: impl Into<Option<Verdict>>) -> Self {
        Cell { verdict: verdict.into(), ..self }
    }
}

impl Table {
    /// The table as CSV.
    pub fn csv(&self) -> String {
        String::new()
    }

    /// The table as LaTeX.
    pub fn latex(&self) -> String {
        String::new()
    }
}
