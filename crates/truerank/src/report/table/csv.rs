//! Tables to CSV: numbers in full precision, with intervals, marks and verdicts in columns of their own.

use super::{Cell, Column, Mark, Source, Table};

/// What a column of the file takes from a cell.
type Content = fn(&Cell) -> String;

/// One column of the file, out of one column of the table.
struct Field<'a> {
    header: String,
    content: Content,
    column: usize,
    source: &'a Column,
}

impl Table {
    /// The table as CSV with a header, for programs and spreadsheets.
    ///
    /// A spreadsheet would run a text such as `=cmd|…` as a formula: words that start like one get an apostrophe before
    /// them, by which spreadsheets know text. Numbers stay as they are.
    ///
    /// Half widths (`NAME half width`), marks (`NAME mark`: `better` or `worse`) and verdicts (`NAME verdict`) have
    /// columns of their own where a column has any; verdicts have the column's own name where it has nothing else.
    pub fn csv(&self) -> String {
        let fields: Vec<Field<'_>> = (0..self.columns.len()).flat_map(|column| self.fields(column)).collect();
        let mut out = line([self.label.clone()].into_iter().chain(fields.iter().map(Field::name)));
        for row in &self.rows {
            let empty = Cell::default();
            let values = fields.iter().map(|field| (field.content)(row.cells.get(field.column).unwrap_or(&empty)));
            out += &line([row.label.clone()].into_iter().chain(values));
        }
        out
    }

    fn fields(&self, column: usize) -> Vec<Field<'_>> {
        let source = &self.columns[column];
        let all: [(&str, Content); 4] =
            [("", content), (" half width", half_width), (" mark", mark), (" verdict", verdict)];
        let used = |content: Content| {
            self.rows.iter().filter_map(|row| row.cells.get(column)).any(|cell| !content(cell).is_empty())
        };
        if used(verdict) && all[..3].iter().all(|(_, content)| !used(*content)) {
            return vec![Field { header: String::new(), content: verdict, column, source }];
        }
        all.into_iter()
            .enumerate()
            .filter(|&(i, (_, content))| i == 0 || used(content))
            .map(|(_, (header, content))| Field { header: header.to_string(), content, column, source })
            .collect()
    }
}

impl Field<'_> {
    fn name(&self) -> String {
        let paper = if self.source.source == Source::Paper { " (paper)" } else { "" };
        format!("{}{paper}{}", self.source.name, self.header)
    }
}

/// The number; words only where there is none.
fn content(cell: &Cell) -> String {
    match (cell.value, &cell.text) {
        (Some(value), _) => value.to_string(),
        (None, Some(text)) => text.clone(),
        (None, None) => String::new(),
    }
}

fn half_width(cell: &Cell) -> String {
    cell.half_width.map(|width| width.to_string()).unwrap_or_default()
}

fn mark(cell: &Cell) -> String {
    match cell.mark {
        Some(Mark::Better) => "better".to_string(),
        Some(Mark::Worse) => "worse".to_string(),
        None => String::new(),
    }
}

fn verdict(cell: &Cell) -> String {
    cell.verdict.map(|verdict| verdict.name().to_lowercase()).unwrap_or_default()
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.map(|field| quoted(&guarded(field))).collect::<Vec<_>>().join(",") + "\n"
}

/// What starts a formula in one spreadsheet or another, in its usual and its full width.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A field that no spreadsheet takes for a formula.
fn guarded(field: String) -> String {
    if field.starts_with(FORMULA) && field.parse::<f64>().is_err() { format!("'{field}") } else { field }
}

fn quoted(field: &str) -> String {
    // Spaces at the ends are kept by few readers unless quoted.
    let plain = !field.contains([',', '"', '\n', '\r']) && field.trim() == field;
    if plain { field.to_string() } else { format!("\"{}\"", field.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use super::*;
    use crate::report::{Column, Format, Row, Verdict};

    #[test]
    fn numbers_are_whole_and_extras_have_columns() {
        let expected = "\
method,nDCG@5,nDCG@5 half width,nDCG@5 mark,p,nDCG@5 (paper),claim,claim verdict
ideal,0.7098,,,,0.71,,
user-aware,0.7056123456789,0.0012,better,0.0004,0.705,yes,yes
\"a, \"\"b\"\"\",0.6706,,worse,NaN,,,
";
        assert_eq!(table().csv(), expected);
    }

    #[test]
    fn a_column_of_verdicts_is_one_column() {
        let columns = vec![Column::new("verdict", Format::Text)];
        let rows = vec![Row::new("a", vec![Cell::default().verdict(Verdict::Open)]), Row::new("b", Vec::new())];
        let table = Table { label: "claim".into(), columns, rows, ..Table::default() };
        assert_eq!(table.csv(), "claim,verdict\na,open\nb,\n");
    }

    #[test]
    fn no_text_is_a_formula() {
        let rows = ["=cmd|' /C calc'!A0", "+a", "-b", "@c", "\td", "\re", "＝f", "a=b", "'=g", "-5", "+1e3"];
        let rows = rows.map(|label| Row::new(label, vec![Cell::value(-0.5)])).to_vec();
        let columns = vec![Column::new("=x", Format::Number)];
        let csv = Table { label: "user".into(), columns, rows, ..Table::default() }.csv();
        let expected = "\
user,'=x
'=cmd|' /C calc'!A0,-0.5
'+a,-0.5
'-b,-0.5
'@c,-0.5
'\td,-0.5
\"'\re\",-0.5
'＝f,-0.5
a=b,-0.5
'=g,-0.5
-5,-0.5
+1e3,-0.5
";
        assert_eq!(csv, expected);
    }

    #[test]
    fn an_empty_table_has_a_header() {
        assert_eq!(Table { label: "x".into(), ..Table::default() }.csv(), "x\n");
    }
}
