//! Small tables for notebooks. Ids and names are text, never markup.

use truerank::report::{Answer, Axis, Block, Chart, Figure, Format, Lines, Point, Report, Section, Series, Style};

/// A table of two columns: what, and its value.
pub fn facts(title: &str, rows: &[(&str, String)]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|(name, value)| vec![name.to_string(), value.clone()]).collect();
    table(title, &[], &rows, &[])
}

/// A table with a title, a head and notes below it.
pub fn table(title: &str, head: &[&str], rows: &[Vec<String>], notes: &[String]) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.enumerate().map(|(i, text)| cell(tag, i, text)).collect()
    };
    let head = match head.is_empty() {
        true => String::new(),
        false => format!("<thead><tr>{}</tr></thead>", cells("th", &mut head.iter().copied())),
    };
    let body: String =
        rows.iter().map(|row| format!("<tr>{}</tr>", cells("td", &mut row.iter().map(String::as_str)))).collect();
    let notes: String = notes.iter().map(|note| format!("<div><small>{}</small></div>", escape(note))).collect();
    let title = escape(title);
    format!("<div><strong>{title}</strong><table>{head}<tbody>{body}</tbody></table>{notes}</div>")
}

/// A curve over 1, 2, ….
pub fn curve(what: &str, over: &str, values: Vec<f64>) -> Figure {
    let points = values.into_iter().enumerate().map(|(index, value)| Point::new((index + 1) as f64, value));
    lines(what, Axis::new(over, Format::Count), points.collect())
}

/// A curve.
pub fn lines(what: &str, x: Axis, points: Vec<Point>) -> Figure {
    let series = vec![Series { name: what.to_string(), points, style: Style::Strong }];
    let chart = Chart::Lines(Lines { x, y: Axis::new(what, Format::Measure), series });
    Figure { name: "figure".to_string(), caption: what.to_string(), chart }
}

/// A cell with a small figure below it.
pub fn with_figure(cell: String, figure: &Figure) -> String {
    format!("<div>{cell}{}</div>", image(figure))
}

/// A figure as an image: a style of its own does not reach the page around it.
fn image(figure: &Figure) -> String {
    let svg = figure.svg();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~ ,:;()/=".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let data: String = svg.bytes().map(encode).collect();
    let alt = escape(&figure.caption);
    format!("<img alt=\"{alt}\" style=\"width:480px;max-width:100%\" src=\"data:image/svg+xml,{data}\">")
}

/// The first column is text, the others are numbers.
fn cell(tag: &str, column: usize, text: &str) -> String {
    let side = if column == 0 { "left" } else { "right" };
    format!("<{tag} style=\"text-align:{side}\">{}</{tag}>", escape(text))
}

/// Text that cannot be taken for markup.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// `1,234,567`.
pub fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}

/// `1 click`, `1,234 clicks`.
pub fn count(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(value), if value == 1 { one } else { many })
}

/// A number as people read it: a few digits that count.
pub fn number(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    match value.abs() {
        size if !size.is_finite() => value.to_string(),
        size if size >= 1000.0 => format!("{sign}{}", thousands(size.round() as u64)),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 1e-4 || size == 0.0 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

/// What a report says and its tables; what is folded away stays away.
pub fn report(report: &Report) -> String {
    let lead: String = report.lead.split("\n\n").map(|text| format!("<p>{}</p>", escape(text))).collect();
    let sections: String = report.sections.iter().map(section).collect();
    let figure = report.sections.iter().flat_map(|section| &section.blocks).find_map(shown_figure).unwrap_or_default();
    format!("<div><strong>{}</strong>{lead}{figure}{sections}</div>", escape(&report.title))
}

fn section(section: &Section) -> String {
    let answer = |answer: &Answer| {
        let verdict = answer.verdict.map(|verdict| format!("<strong>{}:</strong> ", verdict.name()));
        format!("<li>{}{}</li>", verdict.unwrap_or_default(), escape(&answer.text))
    };
    let answers: String = section.answers.iter().map(answer).collect();
    let tables: String = section.blocks.iter().filter_map(shown_table).collect();
    format!("<details open><summary>{}</summary><ul>{answers}</ul>{tables}</details>", escape(&section.title))
}

fn shown_figure(block: &Block) -> Option<String> {
    if let Block::Figure(figure) = block { Some(image(figure)) } else { None }
}

fn shown_table(block: &Block) -> Option<String> {
    let Block::Table(found) = block else { return None };
    let (head, rows) = found.printed();
    Some(table(&found.caption, &head.iter().map(String::as_str).collect::<Vec<_>>(), &rows, &found.notes))
}
