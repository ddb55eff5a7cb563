//! A report to the values that the page's template prints. What is printed is decided here, where it stands there.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use super::figure::{self, NARROW, SMALL, WIDE};
use super::spans::{Span, paragraphs, spans};
use super::{Answer, Best, Block, Cell, Column, Figure, Mark, Report, Section, Source, Table, Verdict};
use crate::{Error, Result};

const TEMPLATE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");
const SCRIPTS: [&str; 3] =
    [include_str!("assets/theme.js"), include_str!("assets/tables.js"), include_str!("assets/figures.js")];

#[derive(Serialize)]
struct PageView<'a> {
    title: &'a str,
    lead: Vec<Vec<Span>>,
    facts: &'a [(String, String)],
    sections: Vec<SectionView<'a>>,
    page_style: String,
    figure_style: String,
    script: String,
}

#[derive(Serialize)]
struct SectionView<'a> {
    id: &'a str,
    title: &'a str,
    question: Vec<Span>,
    answers: Vec<AnswerView>,
    blocks: Vec<BlockView<'a>>,
}

#[derive(Serialize)]
struct AnswerView {
    verdict: Option<VerdictView>,
    text: Vec<Span>,
}

#[derive(Serialize)]
struct VerdictView {
    class: &'static str,
    name: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum BlockView<'a> {
    Text { paragraphs: Vec<Vec<Span>> },
    Table { table: TableView<'a> },
    Figure { figure: FigureView<'a> },
    Gallery { figures: Vec<FigureView<'a>> },
    Fold { title: &'a str, blocks: Vec<BlockView<'a>> },
}

#[derive(Serialize)]
struct FigureView<'a> {
    name: &'a str,
    caption: Vec<Span>,
    wide: Option<String>,
    narrow: String,
}

#[derive(Serialize)]
struct TableView<'a> {
    name: &'a str,
    caption: Vec<Span>,
    label: &'a str,
    columns: Vec<ColumnView<'a>>,
    rows: Vec<RowView<'a>>,
    notes: Vec<Vec<Span>>,
}

#[derive(Serialize)]
struct ColumnView<'a> {
    name: &'a str,
    paper: bool,
    words: bool,
    /// The order that the first click on the header brings.
    first: &'static str,
    /// Whether cells keep room for a mark, so that their numbers stay below each other.
    marks: bool,
    /// The same for half widths.
    half_widths: bool,
}

#[derive(Serialize)]
struct RowView<'a> {
    label: &'a str,
    rule: bool,
    cells: Vec<CellView>,
}

#[derive(Serialize)]
struct CellView {
    class: String,
    printed: String,
    /// The number in full precision, which rows are sorted by.
    value: Option<String>,
    half_width: Option<String>,
    mark: Option<(&'static str, &'static str)>,
    verdict: Option<VerdictView>,
}

/// The page of a report.
pub fn render(report: &Report) -> Result<String> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.expect("the syntax is the usual one"));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let values = PageView {
        title: &report.title,
        lead: paragraphs(&report.lead),
        facts: &report.facts,
        sections: report.sections.iter().map(section).collect(),
        page_style: format!("{}{STYLE}", figure::page_css()),
        figure_style: figure::style(),
        script: SCRIPTS.concat(),
    };
    let page = environment.render_named_str("page.html", TEMPLATE, Serde(values));
    // Only blocks folded hundreds of times into each other get here.
    page.map_err(|e| Error::parameter(format!("the page cannot be made: {e}")))
}

fn section(section: &Section) -> SectionView<'_> {
    SectionView {
        id: &section.id,
        title: &section.title,
        question: spans(&section.question),
        answers: section.answers.iter().map(answer).collect(),
        blocks: section.blocks.iter().map(block).collect(),
    }
}

fn answer(answer: &Answer) -> AnswerView {
    AnswerView { verdict: answer.verdict.map(verdict), text: spans(&answer.text) }
}

fn verdict(verdict: Verdict) -> VerdictView {
    let class = match verdict {
        Verdict::Holds => "good",
        Verdict::DoesNotHold => "bad",
        Verdict::Open => "open",
    };
    VerdictView { class, name: verdict.name() }
}

fn block(from: &Block) -> BlockView<'_> {
    match from {
        Block::Text(text) => BlockView::Text { paragraphs: paragraphs(text) },
        Block::Table(from) => BlockView::Table { table: table(from) },
        Block::Figure(from) => BlockView::Figure { figure: figure(from, true) },
        Block::Gallery(figures) => BlockView::Gallery { figures: figures.iter().map(|f| figure(f, false)).collect() },
        Block::Fold(title, blocks) => BlockView::Fold { title, blocks: blocks.iter().map(block).collect() },
    }
}

/// A figure that may be wide is drawn twice, and the style sheet shows the drawing that has room.
fn figure(figure: &Figure, may_be_wide: bool) -> FigureView<'_> {
    FigureView {
        name: &figure.name,
        caption: spans(&figure.caption),
        wide: may_be_wide.then(|| figure.inline_svg(WIDE)),
        narrow: figure.inline_svg(if may_be_wide { NARROW } else { SMALL }),
    }
}

fn table(table: &Table) -> TableView<'_> {
    TableView {
        name: &table.name,
        caption: spans(&table.caption),
        label: &table.label,
        columns: (0..table.columns.len()).map(|j| column(table, j)).collect(),
        rows: (0..table.rows.len()).map(|i| row(table, i)).collect(),
        notes: table.notes.iter().map(|note| spans(note)).collect(),
    }
}

fn column(table: &Table, j: usize) -> ColumnView<'_> {
    let column = &table.columns[j];
    let cells = || table.rows.iter().filter_map(|row| row.cells.get(j));
    ColumnView {
        name: &column.name,
        paper: column.source == Source::Paper,
        words: column.is_text(),
        first: if column.best == Some(Best::Largest) { "descending" } else { "ascending" },
        marks: cells().any(|cell| cell.mark.is_some()),
        half_widths: cells().any(|cell| cell.half_width.is_some()),
    }
}

fn row(table: &Table, i: usize) -> RowView<'_> {
    let row = &table.rows[i];
    let empty = Cell::default();
    let cell = |(j, column)| cell(column, row.cells.get(j).unwrap_or(&empty), table.is_best(i, j));
    RowView { label: &row.label, rule: row.rule && i > 0, cells: table.columns.iter().enumerate().map(cell).collect() }
}

fn cell(column: &Column, cell: &Cell, best: bool) -> CellView {
    let classes = [(column.is_text(), "words"), (column.source == Source::Paper, "paper"), (best, "best")];
    CellView {
        class: classes.iter().filter(|(is, _)| *is).map(|(_, class)| *class).collect::<Vec<_>>().join(" "),
        printed: cell.printed(column.format),
        value: cell.value.filter(|value| value.is_finite()).map(|value| value.to_string()),
        half_width: cell.half_width.map(|width| column.format.print_half_width(width)),
        mark: cell.mark.map(|mark| match mark {
            Mark::Better => ("+", "significantly better"),
            Mark::Worse => ("−", "significantly worse"),
        }),
        verdict: cell.verdict.map(verdict),
    }
}
