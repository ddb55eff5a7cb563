//! Tables to LaTeX with booktabs.

use super::{Cell, Column, Mark, Row, Source, Table};
use crate::report::escape::latex;
use crate::report::spans::spans;

impl Table {
    /// The table as a LaTeX `table` with rules of booktabs: the best values bold, marks as superscripts.
    pub fn latex(&self) -> String {
        let mut lines = vec![
            "% Needs \\usepackage{booktabs}.".to_string(),
            "\\begin{table}".to_string(),
            "\\centering".to_string(),
            format!("\\caption{{{}}}", words(&self.caption)),
            format!("\\label{{tab:{}}}", latex(&self.name)),
            format!("\\begin{{tabular}}{{l{}}}", self.columns.iter().map(alignment).collect::<String>()),
            "\\toprule".to_string(),
            format!("{} \\\\", self.header()),
            "\\midrule".to_string(),
        ];
        for (i, row) in self.rows.iter().enumerate() {
            if row.rule && i > 0 {
                lines.push("\\midrule".to_string());
            }
            lines.push(format!("{} \\\\", self.row(i, row)));
        }
        lines.extend(["\\bottomrule", "\\end{tabular}"].map(String::from));
        lines.extend(self.notes.iter().map(|note| format!("\\par\\smallskip{{\\footnotesize {}}}", words(note))));
        lines.push("\\end{table}".to_string());
        lines.join("\n") + "\n"
    }

    fn header(&self) -> String {
        let columns = self.columns.iter().map(|column| match column.source {
            Source::Ours => latex(&column.name),
            Source::Paper => format!("\\textit{{{} (paper)}}", latex(&column.name)),
        });
        // A label that starts with [ would be taken for an argument of the line break or rule before it.
        [format!("{{{}}}", latex(&self.label))].into_iter().chain(columns).collect::<Vec<_>>().join(" & ")
    }

    fn row(&self, i: usize, row: &Row) -> String {
        let empty = Cell::default();
        let cells = self.columns.iter().enumerate().map(|(j, column)| {
            let cell = row.cells.get(j).unwrap_or(&empty);
            cell_text(column, cell, self.is_best(i, j))
        });
        [format!("{{{}}}", latex(&row.label))].into_iter().chain(cells).collect::<Vec<_>>().join(" & ")
    }
}

/// Text in which backticks enclose code.
fn words(text: &str) -> String {
    // Each piece is escaped alone, which would drop the spaces at its ends.
    let escaped = |text: &str| {
        let [start, end] = [text.starts_with(char::is_whitespace), text.ends_with(char::is_whitespace)];
        format!("{}{}{}", if start { " " } else { "" }, latex(text), if end { " " } else { "" })
    };
    let piece = |code: bool, text: &str| if code { format!("\\texttt{{{}}}", latex(text)) } else { escaped(text) };
    spans(text).iter().map(|span| piece(span.code, &span.text)).collect()
}

fn alignment(column: &Column) -> char {
    if column.is_text() { 'l' } else { 'r' }
}

fn cell_text(column: &Column, cell: &Cell, best: bool) -> String {
    let printed = latex(&cell.printed(column.format));
    let mut out = match column.source {
        _ if best => format!("\\textbf{{{printed}}}"),
        Source::Paper if !printed.is_empty() => format!("\\textit{{{printed}}}"),
        _ => printed,
    };
    match cell.mark {
        Some(Mark::Better) => out += "$^{+}$",
        Some(Mark::Worse) => out += "$^{-}$",
        None => {}
    }
    if let Some(width) = cell.half_width {
        out += &format!(" {{\\scriptsize$\\pm$ {}}}", latex(&column.format.print_half_width(width)));
    }
    if let Some(verdict) = cell.verdict {
        let gap = if out.is_empty() { "" } else { " " };
        out += &format!("{gap}({})", verdict.name().to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use super::*;

    #[test]
    fn the_best_is_bold_and_marks_are_superscripts() {
        let expected = r#"% Needs \usepackage{booktabs}.
\begin{table}
\centering
\caption{50 \% of clicks}
\label{tab:main}
\begin{tabular}{lrrrl}
\toprule
{method} & nDCG@5 & p & \textit{nDCG@5 (paper)} & claim \\
\midrule
{ideal} & .7098 &  & \textit{.7100} &  \\
\midrule
{user-aware} & \textbf{.7056}$^{+}$ {\scriptsize$\pm$ .0012} & \textless{}.001 & \textit{.7050} & yes (yes) \\
{a, "b"} & .6706$^{-}$ & NaN &  &  \\
\bottomrule
\end{tabular}
\par\smallskip{\footnotesize seeds \& intervals}
\end{table}
"#;
        assert_eq!(table().latex(), expected);
    }

    #[test]
    fn code_is_set_as_code() {
        assert_eq!(words("run `a_b` twice"), r"run \texttt{a\_b} twice");
    }

    #[test]
    fn an_empty_table_is_still_a_table() {
        let text = Table::default().latex();
        assert!(text.contains("\\begin{tabular}{l}\n\\toprule\n{} \\\\\n\\midrule\n\\bottomrule"), "{text}");
    }
}
