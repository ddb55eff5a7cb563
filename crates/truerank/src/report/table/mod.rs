//! Tables as data: rows of numbers with intervals and marks, under columns that know their format.

mod csv;
mod latex;

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

impl Column {
    pub(super) fn is_text(&self) -> bool {
        self.format == Format::Text
    }
}

impl Cell {
    /// The words, or the number in `format`; empty where there is neither.
    pub(super) fn printed(&self, format: Format) -> String {
        match (&self.text, self.value) {
            (Some(text), _) => text.clone(),
            (None, Some(value)) => format.print(value),
            (None, None) => String::new(),
        }
    }
}

impl Table {
    /// Whether the value of this row prints like the best of this column.
    pub(super) fn is_best(&self, row: usize, column: usize) -> bool {
        let format = self.columns[column].format;
        let printed = |row: usize| self.competing(row, column).map(|value| format.print(value));
        self.best_row(column).is_some_and(|best| printed(row).is_some() && printed(row) == printed(best))
    }

    fn best_row(&self, column: usize) -> Option<usize> {
        let sign = match self.columns[column].best? {
            Best::Largest => -1.0,
            Best::Smallest => 1.0,
        };
        (0..self.rows.len())
            .filter_map(|row| Some((row, sign * self.competing(row, column)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(row, _)| row)
    }

    /// A value of ours that can be the best.
    fn competing(&self, row: usize, column: usize) -> Option<f64> {
        let row = self.rows.get(row).filter(|row| row.competes && self.columns[column].source == Source::Ours)?;
        row.cells.get(column)?.value.filter(|value| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ideal that does not compete, a winner with all that a cell can have, and a loser with an awkward name.
    pub fn table() -> Table {
        let measure = Column::new("nDCG@5", Format::Measure).best(Best::Largest);
        let columns = vec![
            measure.clone(),
            Column::new("p", Format::PValue),
            measure.paper(),
            Column::new("claim", Format::Text),
        ];
        let winner = Cell::value(0.7056123456789).half_width(0.0012).mark(Mark::Better);
        let yes = Cell::text("yes").verdict(Verdict::Holds);
        let loser = vec![Cell::value(0.6706).mark(Mark::Worse), Cell::value(f64::NAN)];
        let ideal = vec![Cell::value(0.7098), Cell::empty(), Cell::value(0.71), Cell::empty()];
        let rows = vec![
            Row { competes: false, ..Row::new("ideal", ideal) },
            Row { rule: true, ..Row::new("user-aware", vec![winner, Cell::value(0.0004), Cell::value(0.705), yes]) },
            Row::new("a, \"b\"", loser),
        ];
        Table {
            name: "main".into(),
            caption: "50 % of clicks".into(),
            label: "method".into(),
            columns,
            rows,
            notes: vec!["seeds & intervals".into()],
        }
    }

    #[test]
    fn the_best_competes_and_is_ours() {
        let table = table();
        let best: Vec<(usize, usize)> = (0..3)
            .flat_map(|row| (0..4).map(move |column| (row, column)))
            .filter(|&(r, c)| table.is_best(r, c))
            .collect();
        assert_eq!(best, [(1, 0)]);
    }

    #[test]
    fn values_that_print_alike_are_best_together() {
        let rows = [0.50001, 0.50002, 0.6, f64::NAN].map(|value| Row::new("", vec![Cell::value(value)])).to_vec();
        let columns = vec![Column::new("", Format::Measure).best(Best::Smallest)];
        let table = Table { columns, rows, ..Table::default() };
        assert_eq!([0, 1, 2, 3].map(|row| table.is_best(row, 0)), [true, true, false, false]);
    }
}
