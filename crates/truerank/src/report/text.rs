//! A report without a page: as text for people, its tables as JSON for programs.

use serde_json::{Value, json};

use super::plain::TextTable;
use super::{Block, Cell, Column, Format, Layout, Mark, Report, Row, Section, Source, Table, Tone, Verdict};

impl Report {
    /// What the page says at its top, then the answers and tables of each section; what is folded away stays away.
    pub fn text(&self) -> String {
        self.text_in(&Layout::default())
    }

    /// The same, as wide as the layout has it, and with its colours.
    pub fn text_in(&self, layout: &Layout) -> String {
        let lead: String = self.lead.split("\n\n").map(|text| layout.wrap(text)).collect();
        let key = self.key.as_ref().map(|key| format!("{}\n", layout.wrap_after(key.badge, &key.sentence())));
        let facts: String = self.facts.iter().map(|(name, value)| layout.wrap(&format!("{name}: {value}"))).collect();
        let sections = self
            .sections
            .iter()
            .filter(|section| has_text(section))
            .map(|section| section_text(section, layout))
            .collect::<Vec<_>>();
        format!("\n{lead}\n{}{facts}\n{}", key.unwrap_or_default(), sections.join("\n"))
    }

    /// The tables of all sections by name, folded ones too, for programs.
    pub fn tables_json(&self) -> Value {
        Value::Object(self.tables().into_iter().map(|table| (table.name.clone(), table_json(table))).collect())
    }
}

/// Figures are not for terminals: a section that has nothing else is left out.
fn has_text(section: &Section) -> bool {
    !section.answers.is_empty() || section.blocks.iter().any(|block| matches!(block, Block::Table(_)))
}

fn section_text(section: &Section, layout: &Layout) -> String {
    let mut text = format!("{}\n", layout.heading(&section.title));
    section.answers.iter().for_each(|answer| text += &layout.wrap_after(answer.verdict, &answer.text));
    for block in &section.blocks {
        if let Block::Table(table) = block {
            text += &format!("\n{}\n{}", layout.wrap(&table.caption), table_text(table, layout));
            table.notes.iter().for_each(|note| text += &layout.wrap(note));
        }
    }
    text
}

fn verdict_text(verdict: Verdict) -> String {
    verdict.name().to_lowercase()
}

fn table_text(table: &Table, layout: &Layout) -> String {
    let (header, rows) = table.printed();
    let mut text = TextTable::new(header);
    for (index, (row, cells)) in table.rows.iter().zip(rows).enumerate() {
        if row.rule && index > 0 {
            text.rule();
        }
        let tones = std::iter::once(None).chain(row.cells.iter().map(tone).chain(std::iter::repeat(None)));
        text.toned_row(cells.into_iter().zip(tones));
    }
    text.render_in(layout)
}

/// The colour of a cell: of its verdict, or of a significant difference.
fn tone(cell: &Cell) -> Option<Tone> {
    let of_mark = cell.mark.map(|mark| if mark == Mark::Better { Tone::Good } else { Tone::Bad });
    cell.verdict.map(|verdict| verdict.badge().tone()).or(of_mark)
}

impl Table {
    /// The header and the rows as they are printed, the label of each row first.
    pub fn printed(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let header = [self.label.clone()].into_iter().chain(self.columns.iter().map(column_name)).collect();
        let row = |row: &Row| {
            let cells = row.cells.iter().zip(&self.columns).map(|(cell, column)| cell_text(cell, column));
            [row.label.clone()].into_iter().chain(cells).collect()
        };
        (header, self.rows.iter().map(row).collect())
    }
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
        (Some(Mark::Worse), _) => "−",
        // A space, so that digits align.
        (None, Some(_)) if column.format == Format::Measure && column.source == Source::Ours => " ",
        (None, _) => "",
    };
    let half_width = cell.half_width.map_or(String::new(), |width| format!(" ±{}", column.format.print(width)));
    number.map_or("–".to_string(), |number| format!("{number}{half_width}{mark}"))
}

fn table_json(table: &Table) -> Value {
    let row = |row: &Row| {
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
