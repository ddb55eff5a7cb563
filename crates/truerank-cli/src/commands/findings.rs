//! A report on standard output: as text for people, as JSON for programs.

use serde_json::{Value, json};
use truerank::experiment::{Claim, Results};
use truerank::report::{Answer, Block, Cell, Column, Format, Mark, Report, Section, Source, Verdict};

use crate::output::{Table, wrap};

/// What the page says at its top, then the answers and tables of each section; what is folded away stays away.
pub fn to_text(report: &Report) -> String {
    let lead: String = report.lead.split("\n\n").map(wrap).collect();
    let facts: String = report.facts.iter().map(|(name, value)| wrap(&format!("{name}: {value}"))).collect();
    let sections = report.sections.iter().map(section_text).collect::<Vec<_>>();
    format!("\n{lead}\n{facts}\n{}", sections.join("\n"))
}

fn section_text(section: &Section) -> String {
    let mut text = format!("{}\n", section.title);
    section.answers.iter().for_each(|answer| text += &wrap(&answer_text(answer)));
    for block in &section.blocks {
        if let Block::Table(table) = block {
            text += &format!("\n  {}\n\n{}", table.caption, table_text(table));
            table.notes.iter().for_each(|note| text += &wrap(note));
        }
    }
    text
}

fn answer_text(answer: &Answer) -> String {
    match answer.verdict {
        Some(verdict) => format!("{}: {}", verdict_text(verdict), answer.text),
        None => answer.text.clone(),
    }
}

fn verdict_text(verdict: Verdict) -> String {
    verdict.name().to_lowercase()
}

fn table_text(table: &truerank::report::Table) -> String {
    let header = table.columns.iter().map(column_name);
    let mut text = Table::new([table.label.clone()].into_iter().chain(header));
    for (index, row) in table.rows.iter().enumerate() {
        if row.rule && index > 0 {
            text.rule();
        }
        let cells = row.cells.iter().zip(&table.columns).map(|(cell, column)| cell_text(cell, column));
        text.row([row.label.clone()].into_iter().chain(cells));
    }
    text.render()
}

fn column_name(column: &Column) -> String {
    match column.source {
        Source::Ours => column.name.clone(),
        Source::Paper => format!("paper's {}", column.name),
    }
}

fn cell_text(cell: &Cell, column: &Column) -> String {
    if let Some(verdict) = cell.verdict {
        return verdict_text(verdict);
    }
    let number = cell.text.clone().or_else(|| cell.value.map(|value| column.format.print(value)));
    let mark = match (cell.mark, cell.value) {
        (Some(Mark::Better), _) => "+",
        (Some(Mark::Worse), _) => "-",
        // A space, so that digits align.
        (None, Some(_)) if column.format == Format::Measure && column.source == Source::Ours => " ",
        (None, _) => "",
    };
    let half_width = cell.half_width.map_or(String::new(), |width| format!(" ±{}", column.format.print(width)));
    number.map_or("–".to_string(), |number| format!("{number}{half_width}{mark}"))
}

/// Claims and tables.
pub fn to_json(report: &Report, results: &Results) -> Value {
    let tables = report.sections.iter().flat_map(|section| tables(&section.blocks));
    json!({
        "type": "truerank/report", "version": 1,
        "facts": report.facts.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<serde_json::Map<_, _>>(),
        "missing_runs": results.missing().len(),
        "claims": results.claims().iter().map(claim_json).collect::<Vec<_>>(),
        "tables": tables.map(|table| (table.name.clone(), table_json(table))).collect::<serde_json::Map<_, _>>(),
    })
}

fn tables(blocks: &[Block]) -> Vec<&truerank::report::Table> {
    let mut found = Vec::new();
    for block in blocks {
        match block {
            Block::Table(table) => found.push(table),
            Block::Fold(_, blocks) => found.extend(tables(blocks)),
            Block::Text(_) | Block::Figure(_) | Block::Gallery(_) => {}
        }
    }
    found
}

fn claim_json(claim: &Claim) -> Value {
    let parts = claim
        .parts
        .iter()
        .map(|part| json!({ "compared": part.what, "difference": part.difference, "p": part.p, "holds": part.holds }));
    json!({
        "question": claim.question.to_string(), "claim": claim.text, "of_the_paper": claim.of_the_paper,
        "holds": claim.holds(), "p": claim.p(), "unit": claim.unit, "comparisons": parts.collect::<Vec<_>>(),
    })
}

fn table_json(table: &truerank::report::Table) -> Value {
    let row = |row: &truerank::report::Row| {
        let cells = table.columns.iter().zip(&row.cells).map(|(column, cell)| (column_name(column), cell_json(cell)));
        let mut object = serde_json::Map::from_iter([(table.label.clone(), json!(row.label))]);
        object.extend(cells);
        Value::Object(object)
    };
    Value::Array(table.rows.iter().map(row).collect())
}

/// A bare number where there is nothing else to say.
fn cell_json(cell: &Cell) -> Value {
    let mark = cell.mark.map(|mark| if mark == Mark::Better { "+" } else { "-" });
    match (cell.verdict, &cell.text, cell.half_width, mark) {
        (Some(verdict), ..) => json!(verdict_text(verdict)),
        (None, Some(text), ..) => json!(text),
        (None, None, None, None) => json!(cell.value),
        (None, None, half_width, mark) => json!({ "value": cell.value, "half_width_95": half_width, "mark": mark }),
    }
}
