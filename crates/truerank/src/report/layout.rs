//! How wide text for people may be, and whether it may be coloured: paragraphs enter, lines leave.
//!
//! The width is an argument, never asked of a terminal here, so that the same report is the same text.

use super::{Badge, Tone};
use crate::text::printable;

/// The width of text and whether it has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Characters of a line.
    pub width: usize,
    /// Whether to colour verdicts, with escape sequences of terminals.
    pub colour: bool,
}

/// A line is not narrower, whatever the terminal says.
const NARROWEST: usize = 40;

impl Default for Layout {
    /// 100 characters without colours: what files and pipes get.
    fn default() -> Self {
        Layout { width: 100, colour: false }
    }
}

impl Layout {
    /// A layout of so many characters, but no fewer than 40.
    pub fn new(width: usize, colour: bool) -> Self {
        Layout { width: width.max(NARROWEST), colour }
    }

    /// A paragraph in lines, indented by two spaces, later lines by four. Words are never split.
    pub fn wrap(&self, text: &str) -> String {
        let lines = lines(text, self.width.saturating_sub(4));
        format!("  {}\n", lines.join("\n    "))
    }

    /// A paragraph after its word in colour: `Yes: …`.
    pub fn wrap_after(&self, badge: Option<Badge>, text: &str) -> String {
        let Some(badge) = badge else { return self.wrap(text) };
        let (name, tone) = (badge.name(), badge.tone());
        let wrapped = self.wrap(&format!("{name}: {text}"));
        match wrapped.strip_prefix("  ").and_then(|rest| rest.strip_prefix(name)) {
            Some(rest) => format!("  {}{rest}", self.paint(name, tone)),
            None => wrapped,
        }
    }

    /// A heading.
    pub fn heading(&self, text: &str) -> String {
        if self.colour { format!("\u{1b}[1m{}\u{1b}[0m", printable(text)) } else { printable(text).into_owned() }
    }

    /// Text in the colour of its tone; it must hold nothing that steers terminals.
    pub fn paint(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            _ if !self.colour => return text.to_string(),
            Tone::Good => "1;32",
            Tone::Bad => "1;31",
            Tone::Open => "1;33",
            Tone::Neutral => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Words in lines of at most `width` characters; a longer word has a line to itself.
pub(super) fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(text) {
        // Inside a line a space is a space, also where no line may end.
        let word = printable(&word).replace('\u{a0}', " ");
        let line = lines.last_mut().expect("there is a first line");
        if !line.is_empty() && length(line) + 1 + length(&word) > width {
            lines.push(word.to_string());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(&word);
        }
    }
    lines
}

/// Words as lines may end after them.
pub(super) fn words(text: &str) -> Vec<String> {
    let text = joined(text);
    let parts = text.split(|c: char| c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{202f}'));
    parts.filter(|word| !word.is_empty()).map(str::to_string).collect()
}

/// The text with spaces that do not break where a line must not end: a number stays with its unit, and `p = .031` in one piece.
pub(super) fn joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, word) in text.split(' ').enumerate() {
        let last = out.rsplit([' ', '\u{a0}']).next().unwrap_or_default();
        let is_unit = word.starts_with('%') && last.ends_with(|c: char| c.is_ascii_digit());
        if i > 0 {
            out.push(if is_unit || is_sign(word) || is_sign(last) { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

fn is_sign(word: &str) -> bool {
    ["=", "<", "±"].contains(&word)
}

/// The number of characters.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;

    #[test]
    fn long_paragraphs_become_lines() {
        let text = Layout::default().wrap(&"word ".repeat(30));
        assert_eq!(text, format!("  {}\n    {}\n", ["word"; 19].join(" "), ["word"; 11].join(" ")));
        assert_eq!(Layout::default().wrap("one"), "  one\n");
        for width in [40, 60, 80, 120] {
            let text = Layout::new(width, false).wrap(&"a word and 12\u{202f}% more ".repeat(20));
            assert!(text.lines().all(|line| length(line) <= width), "{text}");
            assert!(!text.lines().any(|line| line.ends_with("12") || line.trim_start().starts_with('%')));
        }
    }

    #[test]
    fn lines_end_neither_before_units_nor_around_signs() {
        assert_eq!(joined("95 % of p = .031, so"), "95\u{a0}% of p\u{a0}=\u{a0}.031, so");
        assert_eq!([joined(" a  b "), joined("")], [" a  b ", ""]);
        assert_eq!(lines("above (95 %) p < .001", 8), ["above", "(95 %)", "p < .001"]);
    }

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        let badge = Some(Verdict::Holds.badge_of_problem());
        assert_eq!(Layout::new(80, false).wrap_after(badge, "there is bias."), "  Yes: there is bias.\n");
        let coloured = Layout::new(80, true).wrap_after(badge, "there is bias.");
        assert_eq!(coloured, "  \u{1b}[1;31mYes\u{1b}[0m: there is bias.\n");
        // Data bring no colours of their own.
        assert_eq!(Layout::new(80, true).wrap("\u{1b}[31m"), "  \\u{1b}[31m\n");
    }
}
