//! What the forms of text have in common: blocks of bytes to rows and bad rows.

use std::path::Path;

use crate::error::Place;
use crate::log::bad_rows::BadRow;
use crate::log::blocks::{Block, Cut};
use crate::log::layout::Layout;
use crate::log::rows::Rows;

/// What a block holds.
pub(in crate::log) struct Parsed {
    pub rows: Rows,
    pub bad: Vec<BadRow>,
}

/// A form of text whose blocks can be parsed independently.
pub(in crate::log) trait TextForm: Send + Sync {
    /// Where the fields stand.
    fn layout(&self) -> &Layout;

    /// The columns that the layout's numbers stand for.
    fn columns(&self) -> Vec<(String, crate::log::shape::ColumnKind)>;

    /// Whether a file is one array of records.
    fn is_array(&self) -> bool {
        false
    }

    /// Where blocks may be cut.
    fn cut(&self) -> Cut;

    /// The rows of a block; its bad rows in order, only the first if the log is refused for it.
    fn parse(&self, block: &Block) -> Parsed;
}

/// Appends what is wrong after the records of a block.
pub(super) fn bad_rows_of(path: &Path, block: &Block, bad: &mut Vec<BadRow>) {
    if let Some((line, fault)) = &block.fault {
        let place = line.map_or_else(|| Place::file(path), |line| Place::line(path, line));
        bad.push(BadRow { place, fault: fault.clone(), raw: String::new() });
    }
}
