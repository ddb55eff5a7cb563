//! Small tables for notebooks. Ids and names are text, never markup.

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

/// A number as people read it: four digits that count.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => value.to_string(),
        size if size >= 1000.0 => thousands(value.round() as u64),
        size if size >= 1.0 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
