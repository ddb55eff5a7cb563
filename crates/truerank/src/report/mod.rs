//! Turns questions, answers, tables and figures into one page that needs no network, and into files for a paper.
//!
//! A [`Report`] is plain data: whoever measured something fills it in, and this module decides how it looks. It knows
//! nothing of rankers or clicks. Every string is text and is escaped wherever it goes.
//!
//! ```
//! use truerank::report::{Block, Cell, Column, Format, Report, Row, Section, Table};
//!
//! let table = Table {
//!     name: "sizes".into(),
//!     label: "log".into(),
//!     columns: vec![Column::new("sessions", Format::Count)],
//!     rows: vec![Row::new("small", vec![Cell::value(12_000.0)])],
//!     ..Table::default()
//! };
//! let section = Section { id: "logs".into(), title: "Logs".into(), blocks: vec![Block::Table(table)], ..Section::default() };
//! let report = Report { title: "Two logs".into(), sections: vec![section], ..Report::default() };
//! assert!(report.html()?.contains("12,000"));
//! # Ok::<(), truerank::Error>(())
//! ```
//!
//! # How pages are made
//!
//! One HTML file, an SVG per figure, a CSV and a LaTeX file per table; also plain text for terminals, and JSON. The same
//! report is the same bytes. Which files it wrote stands in `report-files.json`, so that the next report removes what is
//! stale and never a file of someone else.
//!
//! The page asks the network for nothing and says so in its policy, under which only its own script and style count. Strings
//! are escaped in `escape` for SVG and LaTeX, by the template engine for HTML, and are never part of a script, which reads
//! values from attributes. The script adds what paper cannot do (sorting, values under a pointer or the arrow keys, hiding a
//! series); without it the page is whole. Charts are written by hand as SVG, since four kinds are all that is needed, with
//! classes for colours, so that one drawing is right on light and on dark ground. A figure is drawn once for a wide page and
//! once for a phone. Deliberately not here: markup inside texts beyond `code`, other charts, themes.

mod badge;
mod check;
mod escape;
mod figure;
mod folder;
mod format;
mod glossary;
mod key;
mod layout;
mod page;
mod plain;
mod provenance;
mod spans;
mod table;
#[cfg(test)]
mod tests;
mod text;

use std::path::Path;

pub use badge::{Badge, Tone, Verdict};
pub use figure::{Axis, Chart, Dot, Dots, Figure, HeatMap, Lines, Point, Series, Stacked, Style};
pub(crate) use folder::{foreign_file, is_report_file};
pub use format::Format;
pub use key::KeyResult;
pub use layout::Layout;
pub use plain::TextTable;
pub use provenance::Provenance;
pub use table::{Best, Cell, Column, Mark, Row, Source, Table};

use crate::Result;

/// A page: what was asked, what came out, and the numbers behind it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The page's heading.
    pub title: String,
    /// A few sentences under the heading.
    pub lead: String,
    /// The number that matters most, printed large.
    pub key: Option<KeyResult>,
    /// Names and values under the lead: what was run, on what, with which seeds.
    pub facts: Vec<(String, String)>,
    /// The parts of the page, in order.
    pub sections: Vec<Section>,
    /// What the page was made of, and how to make it again.
    pub provenance: Option<Provenance>,
}

/// A part of a report: one question with its answers, and what they rest on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// The section's name in links; no two sections share one.
    pub id: String,
    /// The section's heading.
    pub title: String,
    /// What was asked; may be empty.
    pub question: String,
    /// What came out, one sentence each.
    pub answers: Vec<Answer>,
    /// Texts, tables and figures, in order.
    pub blocks: Vec<Block>,
}

/// One sentence that answers a section's question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Its word in colour: `Yes`, `No` or `Open` where it answers a question, how serious it is where it is a finding.
    pub verdict: Option<Badge>,
    /// The sentence.
    pub text: String,
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Plain text: a blank line starts a new paragraph, and backticks enclose code.
    Text(String),
    /// A table.
    Table(Table),
    /// A figure as wide as the text.
    Figure(Figure),
    /// Small figures side by side.
    Gallery(Vec<Figure>),
    /// Blocks under a heading, folded away at first.
    Fold(String, Vec<Block>),
}

impl Answer {
    /// A sentence without a verdict.
    pub fn text(text: impl Into<String>) -> Self {
        Answer { verdict: None, text: text.into() }
    }

    /// A sentence with its word in colour.
    pub fn new(badge: Badge, text: impl Into<String>) -> Self {
        Answer { verdict: Some(badge), text: text.into() }
    }
}

impl Report {
    /// The page, as one HTML document that loads nothing.
    ///
    /// Names of tables and of figures must be unique and consist of `a-z`, `0-9` and `-`.
    pub fn html(&self) -> Result<String> {
        self.check()?;
        page::render(self)
    }

    /// Writes `report.html`, `figures/NAME.svg`, `tables/NAME.csv` and `tables/NAME.tex` into `folder`, which is made
    /// where it is missing. A folder that holds nothing but an earlier report is replaced whole; beside other things, tables and
    /// figures that this report no longer has are removed. Which files are a report's stands in `report-files.json`.
    pub fn write(&self, folder: &Path) -> Result<()> {
        folder::write(self, folder)
    }
}
