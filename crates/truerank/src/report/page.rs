//! A report to the values that the page's template prints. What is printed is decided here, where it stands there.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use super::figure::{self, NARROW, SMALL, WIDE};
use super::glossary::{explained, tip};
use super::spans::{Span, paragraphs, spans};
use super::{
    Answer, Badge, Best, Block, Cell, Column, Figure, KeyResult, Mark, Provenance, Report, Section, Source, Table, Tone,
};
use crate::{Error, Result};

const TEMPLATE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");
const SCRIPTS: [&str; 3] =
    [include_str!("assets/theme.js"), include_str!("assets/tables.js"), include_str!("assets/figures.js")];

#[derive(Serialize)]
struct PageView<'a> {
    title: &'a str,
    lead: Vec<Vec<Span>>,
    key: Option<KeyView<'a>>,
    facts: &'a [(String, String)],
    provenance: Option<ProvenanceView<'a>>,
    sections: Vec<SectionView<'a>>,
    page_style: String,
    figure_style: String,
    script: String,
}

#[derive(Serialize)]
struct KeyView<'a> {
    name: &'a str,
    printed: String,
    interval: Option<String>,
    picture: Option<String>,
    badge: Option<BadgeView>,
    about: Vec<Span>,
}

#[derive(Serialize)]
struct ProvenanceView<'a> {
    facts: Vec<(&'static str, String)>,
    command: Option<&'a str>,
}

#[derive(Serialize)]
struct SectionView<'a> {
    id: &'a str,
    title: &'a str,
    /// The class of its first verdict, which the navigation shows as a dot.
    tone: Option<&'static str>,
    question: Vec<Span>,
    answers: Vec<AnswerView>,
    blocks: Vec<BlockView<'a>>,
}

#[derive(Serialize)]
struct AnswerView {
    verdict: Option<BadgeView>,
    text: Vec<Span>,
}

#[derive(Serialize)]
struct BadgeView {
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
    tip: Option<&'static str>,
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
    tip: Option<&'static str>,
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
    verdict: Option<BadgeView>,
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
        key: report.key.as_ref().map(key),
        facts: &report.facts,
        provenance: report.provenance.as_ref().map(provenance),
        sections: report.sections.iter().map(section).collect(),
        page_style: format!("{}{STYLE}", figure::page_css()),
        figure_style: figure::style(),
        script: SCRIPTS.concat(),
    };
    let page = environment.render_named_str("page.html", TEMPLATE, Serde(values));
    // Only blocks folded hundreds of times into each other get here.
    page.map_err(|e| Error::parameter(format!("the page cannot be made: {e}")))
}

fn key(key: &KeyResult) -> KeyView<'_> {
    let colour = match key.badge.map(Badge::tone) {
        Some(Tone::Good) => "c-good",
        Some(Tone::Bad) => "c-bad",
        Some(Tone::Open) => "c-open",
        Some(Tone::Neutral) | None => "c-s0",
    };
    let label = format!("{} {}", key.printed(), key.printed_interval().unwrap_or_default());
    let ends = key.interval.filter(|(low, high)| low.is_finite() && high.is_finite() && key.value.is_finite());
    let picture = ends.map(|ends| figure::interval(key.value, ends, colour, &label));
    KeyView {
        name: &key.name,
        printed: key.printed(),
        interval: key.printed_interval(),
        picture,
        badge: key.badge.map(badge),
        about: spans(&key.about),
    }
}

fn provenance(provenance: &Provenance) -> ProvenanceView<'_> {
    ProvenanceView { facts: provenance.facts(), command: provenance.command.as_deref() }
}

fn section(section: &Section) -> SectionView<'_> {
    // Each word is explained where a section first says it.
    let mut words = Words::default();
    SectionView {
        id: &section.id,
        title: &section.title,
        tone: section.answers.iter().find_map(|answer| answer.verdict).map(|badge| badge.tone().class()),
        question: words.explain(&section.question),
        answers: section.answers.iter().map(|from| answer(from, &mut words)).collect(),
        blocks: section.blocks.iter().map(|from| block(from, &mut words)).collect(),
    }
}

/// The words that a section has explained already.
#[derive(Default)]
struct Words(Vec<&'static str>);

impl Words {
    fn explain(&mut self, text: &str) -> Vec<Span> {
        explained(spans(text), &mut self.0)
    }
}

fn answer(answer: &Answer, words: &mut Words) -> AnswerView {
    AnswerView { verdict: answer.verdict.map(badge), text: words.explain(&answer.text) }
}

fn badge(badge: Badge) -> BadgeView {
    BadgeView { class: badge.tone().class(), name: badge.name() }
}

fn block<'a>(from: &'a Block, words: &mut Words) -> BlockView<'a> {
    match from {
        Block::Text(text) => {
            let paragraphs = paragraphs(text).into_iter().map(|spans| explained(spans, &mut words.0)).collect();
            BlockView::Text { paragraphs }
        }
        Block::Table(from) => BlockView::Table { table: table(from, words) },
        Block::Figure(from) => BlockView::Figure { figure: figure(from, true, words) },
        Block::Gallery(figures) => {
            BlockView::Gallery { figures: figures.iter().map(|f| figure(f, false, words)).collect() }
        }
        Block::Fold(title, blocks) => {
            BlockView::Fold { title, blocks: blocks.iter().map(|from| block(from, words)).collect() }
        }
    }
}

/// A figure that may be wide is drawn twice, and the style sheet shows the drawing that has room.
fn figure<'a>(figure: &'a Figure, may_be_wide: bool, words: &mut Words) -> FigureView<'a> {
    FigureView {
        name: &figure.name,
        caption: words.explain(&figure.caption),
        wide: may_be_wide.then(|| figure.inline_svg(WIDE)),
        narrow: figure.inline_svg(if may_be_wide { NARROW } else { SMALL }),
    }
}

fn table<'a>(table: &'a Table, words: &mut Words) -> TableView<'a> {
    TableView {
        name: &table.name,
        caption: words.explain(&table.caption),
        label: &table.label,
        columns: (0..table.columns.len()).map(|j| column(table, j)).collect(),
        rows: (0..table.rows.len()).map(|i| row(table, i)).collect(),
        notes: table.notes.iter().map(|note| words.explain(note)).collect(),
    }
}

fn column(table: &Table, j: usize) -> ColumnView<'_> {
    let column = &table.columns[j];
    let cells = || table.rows.iter().filter_map(|row| row.cells.get(j));
    ColumnView {
        name: &column.name,
        tip: tip(&column.name),
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
    RowView {
        label: &row.label,
        tip: tip(&row.label),
        rule: row.rule && i > 0,
        cells: table.columns.iter().enumerate().map(cell).collect(),
    }
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
        verdict: cell.verdict.map(|verdict| badge(verdict.badge())),
    }
}
