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

mod check;
mod escape;
mod figure;
mod folder;
mod format;
mod page;
mod plain;
mod spans;
mod table;
#[cfg(test)]
mod tests;
mod text;

use std::path::Path;

pub use figure::{Axis, Chart, Dot, Dots, Figure, HeatMap, Lines, Point, Series, Stacked, Style};
pub(crate) use folder::{foreign_file, is_report_file};
pub use format::Format;
pub use plain::{TextTable, wrap};
pub use table::{Best, Cell, Column, Mark, Row, Source, Table};

use crate::Result;

/// A page: what was asked, what came out, and the numbers behind it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The page's heading.
    pub title: String,
    /// A few sentences under the heading.
    pub lead: String,
    /// Names and values under the lead: what was run, on what, with which seeds.
    pub facts: Vec<(String, String)>,
    /// The parts of the page, in order.
    pub sections: Vec<Section>,
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
    /// What came out, one sentence each. They also stand at the top of the page.
    pub answers: Vec<Answer>,
    /// Texts, tables and figures, in order.
    pub blocks: Vec<Block>,
}

/// One sentence that answers a section's question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Whether the claim holds, where the sentence is about a claim.
    pub verdict: Option<Verdict>,
    /// The sentence.
    pub text: String,
}

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The measurements support it.
    Holds,
    /// The measurements contradict it.
    DoesNotHold,
    /// Not decided: too little was measured, or nothing.
    Open,
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

impl Verdict {
    /// Holds or does not.
    pub fn of(holds: bool) -> Self {
        if holds { Verdict::Holds } else { Verdict::DoesNotHold }
    }

    /// Whether it holds, where that is decided.
    pub fn decided(self) -> Option<bool> {
        match self {
            Verdict::Holds => Some(true),
            Verdict::DoesNotHold => Some(false),
            Verdict::Open => None,
        }
    }

    /// The verdict in words: `Holds`, `Does not hold` or `Open`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "Holds",
            Verdict::DoesNotHold => "Does not hold",
            Verdict::Open => "Open",
        }
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
