//! Makes foreign text fit to print: ids, names of files and fields of tables may hold anything.
//!
//! Characters that move a cursor, change colours, reverse the reading order or cannot be seen become visible escapes such
//! as `\u{1b}`, so that what a terminal shows is what the data hold, and a line stays one line. Escaping twice is escaping
//! once.

use std::borrow::Cow;
use std::fmt::Write;

/// A line of an error or a note is no longer, in characters: it should be read.
pub const MOST_IN_LINE: usize = 500;

/// A cell of a table for terminals is no longer.
pub const MOST_IN_CELL: usize = 120;

/// A path in a message is no longer, so that the line and the finding after it are seen.
pub(crate) const MOST_IN_PATH: usize = 200;

/// Text that can be printed within a line.
///
/// ```
/// use truerank::text::printable;
/// assert_eq!(printable("Zoë \u{1b}[2J\n東"), "Zoë \\u{1b}[2J\\n東");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Text that can be printed as it is divided into lines.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n')
}

/// Text that can be printed, of at most `most` characters: of a longer one the start and the end, with `…` between them.
///
/// ```
/// use truerank::text::printable_within;
/// assert_eq!(printable_within("abcdefgh", 5), "ab…gh");
/// ```
pub fn printable_within(text: &str, most: usize) -> String {
    // Of a text of megabytes only what can be left over is looked at; each character makes at least one.
    match shortened(text, most) {
        Cow::Borrowed(text) => shortened(&printable(text), most).into_owned(),
        Cow::Owned(short) => shortened(&printable(&short), most).into_owned(),
    }
}

/// One line that can be printed, not too long to be read.
pub fn line(text: &str) -> String {
    printable_within(text, MOST_IN_LINE)
}

/// A line that is written by us in full, with foreign text in it, as `format_args!` has it.
pub(crate) fn line_of(arguments: std::fmt::Arguments<'_>) -> String {
    line(&arguments.to_string())
}

/// A path that can be printed, and is not too long.
pub fn path(path: &std::path::Path) -> String {
    printable_within(&path.to_string_lossy(), MOST_IN_PATH)
}

/// Text in which words in backticks are said as `rename` has it; those of which it knows nothing stay as they are.
///
/// ```
/// use truerank::text::rename_quoted;
/// let flag = |name: &str| (name == "on_bad_row").then(|| "--on-bad-row".to_string());
/// assert_eq!(rename_quoted("`on_bad_row` is `auto`", flag), "--on-bad-row is `auto`");
/// ```
pub fn rename_quoted(text: &str, rename: impl Fn(&str) -> Option<String>) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find('`') {
        let Some(length) = rest[start + 1..].find('`') else { break };
        let end = start + 1 + length;
        let name = rename(&rest[start + 1..end]);
        out += &rest[..start];
        out += &name.unwrap_or_else(|| rest[start..=end].to_string());
        rest = &rest[end + 1..];
    }
    out + rest
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_hidden = |c: char| is_unprintable(c) && !is_kept(c);
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_hidden(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => write!(out, "{}", c.escape_unicode()).expect("memory takes any text"),
        }
    }
    Cow::Owned(out)
}

/// Whether a character does something else than being seen: controls, separators of lines, marks and overrides of direction,
/// invisible operators, tags, and what is no character. Joiners stay, since scripts and emoji are written with them.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}'
            | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The start and the end of a text, `most` characters together with the dots between them.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || text.char_indices().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    let (start, end) = (most / 2, most.saturating_sub(most / 2 + 1));
    let start = text.char_indices().nth(start).map_or(text.len(), |(at, _)| at);
    let end = match end {
        0 => text.len(),
        end => text.char_indices().nth_back(end - 1).map_or(0, |(at, _)| at),
    };
    Cow::Owned(format!("{}…{}", &text[..start], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_seen() {
        let cases = [
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("a\u{9b}2Jb", "a\\u{9b}2Jb"),
            ("\u{202e}txt.exe\u{2066}\u{2069}", "\\u{202e}txt.exe\\u{2066}\\u{2069}"),
            ("\u{200e}\u{200f}\u{61c}\u{feff}", "\\u{200e}\\u{200f}\\u{61c}\\u{feff}"),
            ("a\u{2028}b\u{2029}c\0d\u{7f}", "a\\u{2028}b\\u{2029}c\\u{0}d\\u{7f}"),
            ("a\r\n\tb", "a\\r\\n\\tb"),
            ("\u{e0041}\u{ffff}", "\\u{e0041}\\u{ffff}"),
        ];
        for (text, expected) in cases {
            assert_eq!(printable(text), expected);
            assert_eq!(printable(&printable(text)), expected);
        }
        assert_eq!(printable_lines("a\nb\u{1b}\r\n"), "a\nb\\u{1b}\\r\n");
    }

    #[test]
    fn what_people_write_stays() {
        for text in ["", "Zoë \"東\" \\n", "می\u{200c}خواهم", "👩\u{200d}🔬", "שלום", "a b"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn long_texts_keep_their_ends() {
        assert_eq!(printable_within("abcdef", 6), "abcdef");
        assert_eq!(printable_within("äöüäöü", 5), "äö…öü");
        assert_eq!([1, 2, 3, 4].map(|most| printable_within("abcdefgh", most)), ["…", "a…", "a…h", "ab…h"]);
        for most in 1..20 {
            for text in ["\u{1b}".repeat(30), "ä".repeat(30), "x\u{202e}".repeat(1_000_000)] {
                assert_eq!(printable_within(&text, most).chars().count(), most, "{most}");
            }
        }
    }
}
