//! Tables as plain text, for terminals: as wide as there is room, with long cells in several lines and columns below each other
//! where they do not fit side by side.

use super::Tone;
use super::layout::{Layout, length, lines, words};
use crate::text::{MOST_IN_CELL, printable_within};

/// A table of text: the first column to the left, the others to the right.
#[derive(Debug, Clone, Default)]
pub struct TextTable {
    rows: Vec<Vec<TextCell>>,
    rules: Vec<usize>,
}

/// A text, and its tone where it has one.
#[derive(Debug, Clone, Default)]
struct TextCell {
    text: String,
    tone: Option<Tone>,
}

/// Between two columns.
const GAP: usize = 2;

/// Cells up to this length, such as numbers with their intervals, stay on one line.
const SHORT: usize = 24;

/// Longer ones get at least so much room.
const LEAST: usize = 18;

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
        self.toned_row(cells.into_iter().map(|cell| (cell, None)));
    }

    /// Appends a row of texts with their tones.
    pub fn toned_row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = (S, Option<Tone>)>) {
        let cell = |(text, tone): (S, _)| TextCell { text: printable_within(&text.into(), MOST_IN_CELL), tone };
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    /// Draws a line below the rows so far.
    pub fn rule(&mut self) {
        self.rules.push(self.rows.len());
    }

    /// The table as text of at most 100 characters, indented by two spaces.
    pub fn render(&self) -> String {
        self.render_in(&Layout::default())
    }

    /// The table as wide as the layout has it.
    ///
    /// Where columns do not fit side by side, long cells and headers go on in further lines. Where that is not enough, the columns
    /// that are left over follow below, with the first column again.
    pub fn render_in(&self, layout: &Layout) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let bounds: Vec<Bounds> = (0..columns).map(|column| self.bounds(column)).collect();
        let room = layout.width.saturating_sub(2);
        let blocks = blocks(&bounds, room).into_iter().map(|block| self.render_block(&block, &bounds, layout));
        blocks.collect::<Vec<_>>().join("\n")
    }

    fn bounds(&self, column: usize) -> Bounds {
        let cells = || self.rows.iter().enumerate().filter_map(move |(row, cells)| Some((row, cells.get(column)?)));
        let least = |(row, cell): (usize, &TextCell)| match length(&cell.text) {
            wide if row > 0 && wide <= SHORT => wide,
            _ if row > 0 => longest_word(&cell.text).max(LEAST),
            _ => longest_word(&cell.text),
        };
        Bounds {
            least: cells().map(least).max().unwrap_or(0),
            most: cells().map(|(_, cell)| length(&cell.text)).max().unwrap_or(0),
        }
    }

    fn render_block(&self, columns: &[usize], bounds: &[Bounds], layout: &Layout) -> String {
        let widths = widths(columns, bounds, layout.width.saturating_sub(2));
        let total = total(&widths);
        let is_left = |at: usize| at == 0 || self.is_broken(columns[at], widths[at]);
        let left: Vec<bool> = (0..columns.len()).map(is_left).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            if self.rules.contains(&index) {
                text += &format!("  {}\n", "─".repeat(total));
            }
            let empty = TextCell::default();
            let cells: Vec<&TextCell> = columns.iter().map(|&column| row.get(column).unwrap_or(&empty)).collect();
            text += &render_row(&cells, &widths, &left, index == 0, layout);
        }
        text
    }

    /// Whether a cell below the header goes on in a second line.
    fn is_broken(&self, column: usize, width: usize) -> bool {
        self.rows.iter().skip(1).filter_map(|row| row.get(column)).any(|cell| length(&cell.text) > width)
    }
}

/// How wide a column should be, and must be.
struct Bounds {
    least: usize,
    most: usize,
}

fn longest_word(text: &str) -> usize {
    words(text).iter().map(|word| length(word)).max().unwrap_or(0)
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// The columns of each block, the first column in all of them.
fn blocks(bounds: &[Bounds], room: usize) -> Vec<Vec<usize>> {
    if bounds.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![vec![0]];
    let mut used = bounds[0].least;
    for (column, bound) in bounds.iter().enumerate().skip(1) {
        let block = blocks.last_mut().expect("there is a first block");
        if block.len() > 1 && used + GAP + bound.least > room {
            blocks.push(vec![0, column]);
            used = bounds[0].least + GAP + bound.least;
        } else {
            block.push(column);
            used += GAP + bound.least;
        }
    }
    blocks
}

/// As wide as the cells are, or narrower where there is no room: the column with the most to give goes first.
fn widths(columns: &[usize], bounds: &[Bounds], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|&column| bounds[column].most).collect();
    while total(&widths) > room {
        let spare = |at: usize| widths[at].saturating_sub(bounds[columns[at]].least);
        let Some(at) = (0..widths.len()).filter(|&at| spare(at) > 0).max_by_key(|&at| (spare(at), widths.len() - at))
        else {
            break;
        };
        widths[at] -= 1;
    }
    widths
}

/// The lines of a row. Headers end at the bottom, other cells begin at the top.
fn render_row(cells: &[&TextCell], widths: &[usize], left: &[bool], is_header: bool, layout: &Layout) -> String {
    let broken: Vec<Vec<String>> = cells.iter().zip(widths).map(|(cell, &width)| broken(&cell.text, width)).collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let line = |number: usize| {
        let piece = |at: usize| {
            let above = if is_header { height - broken[at].len() } else { 0 };
            let text = number.checked_sub(above).and_then(|line| broken[at].get(line)).map_or("", String::as_str);
            let padding = " ".repeat(widths[at].saturating_sub(length(text)));
            let painted = cells[at].tone.map_or(text.to_string(), |tone| layout.paint(text, tone));
            if left[at] { format!("{painted}{padding}") } else { format!("{padding}{painted}") }
        };
        let pieces: Vec<String> = (0..cells.len()).map(piece).collect();
        format!("  {}\n", pieces.join(&" ".repeat(GAP)).trim_end())
    };
    (0..height).map(line).collect()
}

/// What fits stays as it is, spaces at its ends too, which align digits.
fn broken(text: &str, width: usize) -> Vec<String> {
    if length(text) <= width { vec![text.to_string()] } else { lines(text, width) }
}

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
    fn long_cells_go_on_below() {
        let mut table = TextTable::new(["claim", "weakest comparison", "p"]);
        table.row(["user-aware is above straightforward on all eight measures", "against straightforward", ".012"]);
        let text = table.render_in(&Layout::new(60, false));
        assert!(text.lines().all(|line| length(line) <= 60), "{text}");
        assert_eq!(words(&text.replace('─', "")).len(), 4 + 8 + 2 + 1, "{text}");
    }

    /// Every word of the table is there once, and the first column in each block.
    #[test]
    fn columns_that_do_not_fit_follow_below() {
        let mut table = TextTable::new(["method".to_string()].into_iter().chain((0..9).map(|i| format!("nDCG@{i}"))));
        for method in ["user-aware-smoothed", "naive"] {
            table.row([method.to_string()].into_iter().chain((0..9).map(|i| format!(".70{i}1+"))));
        }
        for width in [40, 60, 80, 100, 120] {
            let text = table.render_in(&Layout::new(width, false));
            assert!(text.lines().all(|line| length(line) <= width), "{width}:\n{text}");
            let blocks = text.split("\n\n").count();
            assert_eq!(words(&text).iter().filter(|word| word.starts_with("nDCG@")).count(), 9, "{text}");
            assert_eq!(words(&text).iter().filter(|word| *word == "user-aware-smoothed").count(), blocks, "{text}");
            assert_eq!(blocks == 1, width >= 100, "{width}:\n{text}");
        }
    }

    #[test]
    fn tones_leave_the_alignment() {
        let mut table = TextTable::new(["claim", "holds?"]);
        table.toned_row([("a", None), ("Yes", Some(Tone::Good))]);
        table.toned_row([("b", None), ("No", Some(Tone::Bad))]);
        let plain = table.render_in(&Layout::new(80, false));
        let coloured = table.render_in(&Layout::new(80, true));
        assert_eq!(plain, "  claim  holds?\n  ─────────────\n  a         Yes\n  b          No\n");
        let stripped =
            ["\u{1b}[1;32m", "\u{1b}[1;31m", "\u{1b}[0m"].iter().fold(coloured, |t, code| t.replace(code, ""));
        assert_eq!(stripped, plain);
    }

    #[test]
    fn foreign_texts_steer_no_terminal() {
        let mut table = TextTable::new(["user"]);
        table.row(["a\n\u{1b}[2J"]);
        table.row(["x".repeat(9999)]);
        let text = table.render() + &Layout::default().wrap("a\u{2028}\u{202e}b");
        assert!(text.starts_with("  user\n") && text.contains("  a\\n\\u{1b}[2J\n"));
        assert!(text.ends_with("  a \\u{202e}b\n"));
        assert!(text.lines().all(|line| line.chars().count() <= MOST_IN_CELL + 2));
    }
}
