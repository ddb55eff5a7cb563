//! Tables and paragraphs as plain text, for terminals.

use crate::text::{MOST_IN_CELL, printable, printable_within};

/// A table of text: the first column to the left, the others to the right.
#[derive(Debug, Clone, Default)]
pub struct TextTable {
    rows: Vec<Vec<String>>,
    rules: Vec<usize>,
}

impl TextTable {
    /// A table with this header.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        let mut table = TextTable::default();
        table.row(header);
        table.rule();
        table
    }

    /// Appends a row; its texts may hold anything.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| printable_within(&cell.into(), MOST_IN_CELL)).collect());
    }

    /// Draws a line below the rows so far.
    pub fn rule(&mut self) {
        self.rules.push(self.rows.len());
    }

    /// The table as text, indented by two spaces.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| length(cell)).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let total = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            if self.rules.contains(&index) {
                text += &format!("  {}\n", "─".repeat(total));
            }
            text += &format!("  {}\n", render_row(row, &widths).trim_end());
        }
        text
    }
}

fn render_row(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
        let padding = " ".repeat(width - length(cell));
        if column == 0 { format!("{cell}{padding}") } else { format!("{padding}{cell}") }
    });
    cells.collect::<Vec<_>>().join("  ")
}

fn length(cell: &str) -> usize {
    cell.chars().count()
}

/// A paragraph in lines of at most 100 characters, indented by two spaces, later lines by four.
pub fn wrap(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace().map(printable) {
        let line = lines.last_mut().expect("there is a first line");
        if !line.is_empty() && length(line) + 1 + length(&word) > WIDTH - 4 {
            lines.push(word.to_string());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(&word);
        }
    }
    format!("  {}\n", lines.join("\n    "))
}

/// Text for people to read is no wider.
const WIDTH: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_align_and_rule() {
        let mut table = TextTable::new(["name", "n"]);
        table.row(["a", "10"]);
        table.row(["long", "7"]);
        assert_eq!(table.render(), "  name   n\n  ────────\n  a     10\n  long   7\n");
    }

    #[test]
    fn long_paragraphs_become_lines() {
        let text = wrap(&"word ".repeat(30));
        assert_eq!(text, format!("  {}\n    {}\n", ["word"; 19].join(" "), ["word"; 11].join(" ")));
        assert_eq!(wrap("one"), "  one\n");
    }

    #[test]
    fn foreign_texts_steer_no_terminal() {
        let mut table = TextTable::new(["user"]);
        table.row(["a\n\u{1b}[2J"]);
        table.row(["x".repeat(9999)]);
        let text = table.render() + &wrap("a\u{2028}\u{202e}b");
        assert!(text.starts_with("  user\n") && text.contains("  a\\n\\u{1b}[2J\n"));
        assert!(text.ends_with("  a \\u{202e}b\n"));
        assert!(text.lines().all(|line| line.chars().count() <= MOST_IN_CELL + 2));
    }
}
