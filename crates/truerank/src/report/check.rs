//! What a report must keep to before it is written: names that can be files, and tables whose rows fit their columns.

use std::collections::HashSet;

use super::{Block, Chart, Figure, Report, Table};
use crate::{Error, Result};

impl Report {
    /// All tables, those in folds too, in the order of the page.
    pub fn tables(&self) -> Vec<&Table> {
        self.flat_blocks()
            .into_iter()
            .filter_map(|block| if let Block::Table(table) = block { Some(table) } else { None })
            .collect()
    }

    /// All figures, those in folds and galleries too, in the order of the page.
    pub(super) fn figures(&self) -> Vec<&Figure> {
        self.flat_blocks().into_iter().flat_map(figures_of).collect()
    }

    fn flat_blocks(&self) -> Vec<&Block> {
        let mut out = Vec::new();
        for section in &self.sections {
            collect(&section.blocks, &mut out);
        }
        out
    }

    /// Fails where a name cannot be a file's, where two are the same, or where numbers do not fit their names.
    pub(super) fn check(&self) -> Result<()> {
        check_names("table", self.tables().iter().map(|table| table.name.as_str()))?;
        check_names("figure", self.figures().iter().map(|figure| figure.name.as_str()))?;
        check_unique("section", self.sections.iter().map(|section| section.id.as_str()))?;
        self.tables().into_iter().try_for_each(check_table)?;
        self.figures().into_iter().try_for_each(check_figure)
    }
}

fn figures_of(block: &Block) -> &[Figure] {
    match block {
        Block::Figure(figure) => std::slice::from_ref(figure),
        Block::Gallery(figures) => figures,
        _ => &[],
    }
}

fn collect<'a>(blocks: &'a [Block], out: &mut Vec<&'a Block>) {
    for block in blocks {
        out.push(block);
        if let Block::Fold(_, inner) = block {
            collect(inner, out);
        }
    }
}

fn check_names<'a>(kind: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
    match names.clone().find(|name| !is_stem(name)) {
        Some(name) => {
            Err(Error::parameter(format!("a {kind} is called {name:?}, but names consist of a-z, 0-9 and -")))
        }
        None => check_unique(kind, names),
    }
}

/// Whether a name can be a file's on any system, without its ending.
pub(super) fn is_stem(name: &str) -> bool {
    !name.is_empty() && name.len() <= 100 && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

fn check_unique<'a>(kind: &str, mut names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = HashSet::new();
    match names.find(|name| !seen.insert(*name)) {
        Some(name) => {
            Err(Error::parameter(format!("two {kind}s are called {name:?}, but each needs a name of its own")))
        }
        None => Ok(()),
    }
}

fn check_table(table: &Table) -> Result<()> {
    let columns = table.columns.len();
    match table.rows.iter().find(|row| row.cells.len() > columns) {
        Some(row) => Err(Error::parameter(format!(
            "table {}: row {:?} has {} cells, but there are {columns} columns",
            table.name,
            row.label,
            row.cells.len()
        ))),
        None => Ok(()),
    }
}

fn check_figure(figure: &Figure) -> Result<()> {
    let too_many = match &figure.chart {
        Chart::HeatMap(map) => {
            map.values.len() > map.rows.len() || map.values.iter().any(|row| row.len() > map.columns.len())
        }
        Chart::Stacked(stacked) => stacked.rows.iter().any(|(_, amounts)| amounts.len() > stacked.parts.len()),
        Chart::Lines(_) | Chart::Dots(_) => false,
    };
    match too_many {
        true => Err(Error::parameter(format!("figure {}: there are more values than names for them", figure.name))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Cell, Column, Dots, Format, Row, Section, Stacked};

    fn report(blocks: Vec<Block>) -> Report {
        Report { sections: vec![Section { blocks, ..Section::default() }], ..Report::default() }
    }

    fn table(name: &str) -> Block {
        Block::Table(Table { name: name.into(), ..Table::default() })
    }

    fn figure(name: &str, chart: Chart) -> Figure {
        Figure { name: name.into(), caption: String::new(), chart }
    }

    fn message(blocks: Vec<Block>) -> String {
        report(blocks).check().unwrap_err().to_string()
    }

    #[test]
    fn names_can_be_files() {
        for name in ["", "A", "a b", "../a", "ä", "a.b", "a\0", &"a".repeat(101)] {
            assert!(message(vec![table(name)]).ends_with("but names consist of a-z, 0-9 and -"), "{name:?}");
        }
        report(vec![table("main-table-2"), table("b")]).check().unwrap();
    }

    #[test]
    fn names_are_unique_across_folds_and_galleries() {
        let folded = Block::Fold(String::new(), vec![table("a")]);
        assert_eq!(message(vec![table("a"), folded]), "two tables are called \"a\", but each needs a name of its own");
        let dots = || figure("a", Chart::Dots(Dots::default()));
        assert!(message(vec![Block::Figure(dots()), Block::Gallery(vec![dots()])]).starts_with("two figures"));
        report(vec![table("a"), Block::Figure(dots())]).check().unwrap();
        let sections = vec![Section::default(), Section::default()];
        assert!(Report { sections, ..Report::default() }.check().is_err());
    }

    #[test]
    fn values_need_names() {
        let columns = vec![Column::new("a", Format::Count)];
        let rows = vec![Row::new("r", vec![Cell::empty(), Cell::empty()])];
        let wide = Block::Table(Table { name: "t".into(), columns, rows, ..Table::default() });
        assert_eq!(message(vec![wide]), "table t: row \"r\" has 2 cells, but there are 1 columns");
        let stacked = Stacked { parts: vec![], rows: vec![("a".into(), vec![1.0])] };
        assert!(message(vec![Block::Figure(figure("f", Chart::Stacked(stacked)))]).starts_with("figure f: "));
    }
}
