//! Names of rows to labels at the left of a drawing, in several lines where they are long.

use super::element::Element;
use super::labels::{folded, widest};

/// The share of the drawing's width that names may take.
const SHARE: f64 = 0.4;
/// Lines of a name at most; what is longer ends in an ellipsis.
const LINES: usize = 3;
/// The height of a line.
const LINE: f64 = 14.0;

/// The names of all rows, in lines.
pub struct RowNames {
    names: Vec<Vec<String>>,
    /// The room that the widest line takes.
    pub width: f64,
}

impl RowNames {
    /// Names in a drawing of a given width.
    pub fn new(names: impl Iterator<Item = String>, width: f64) -> Self {
        let names: Vec<Vec<String>> = names.map(|name| folded(&name, width * SHARE, LINES)).collect();
        let width = widest(names.iter().flatten().map(String::as_str), width * SHARE);
        RowNames { names, width }
    }

    /// The height of each row, at least `least`.
    pub fn row_height(&self, least: f64) -> f64 {
        let lines = self.names.iter().map(Vec::len).max().unwrap_or(0);
        least.max(lines as f64 * LINE + 6.0)
    }

    /// The lines of a row's name, with their middle at `y`.
    pub fn draw(&self, row: usize, y: f64) -> impl Iterator<Item = Element> {
        let lines = &self.names[row];
        let first = y + 4.0 - LINE * (lines.len() as f64 - 1.0) / 2.0;
        lines
            .iter()
            .enumerate()
            .map(move |(i, line)| Element::label("row-name c-ink", 2.0, first + LINE * i as f64, line))
    }
}
