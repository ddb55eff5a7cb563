//! Plain text to paragraphs of words and code.

use serde::Serialize;

use super::layout::joined;

/// A piece of a paragraph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Whether it stood between backticks.
    pub code: bool,
    /// The text, without backticks.
    pub text: String,
    /// What explains the word.
    pub tip: Option<&'static str>,
}

/// Paragraphs, which blank lines part, in pieces.
pub fn paragraphs(text: &str) -> Vec<Vec<Span>> {
    let mut blocks = vec![String::new()];
    for line in text.lines() {
        match line.trim() {
            "" => blocks.push(String::new()),
            line => {
                let block = blocks.last_mut().expect("there is always a paragraph");
                if !block.is_empty() {
                    block.push(' ');
                }
                block.push_str(line);
            }
        }
    }
    blocks.iter().filter(|block| !block.is_empty()).map(|block| spans(block)).collect()
}

/// One paragraph in pieces. A backtick without a partner is a backtick.
pub fn spans(text: &str) -> Vec<Span> {
    let mut pieces: Vec<&str> = text.split('`').collect();
    let odd = pieces.len().is_multiple_of(2).then(|| pieces.pop()).flatten();
    let mut out: Vec<Span> = pieces
        .iter()
        .enumerate()
        .map(|(i, piece)| Span {
            code: i % 2 == 1,
            text: if i % 2 == 1 { piece.to_string() } else { joined(piece) },
            tip: None,
        })
        .collect();
    if let (Some(rest), Some(last)) = (odd, out.last_mut()) {
        last.text += &format!("`{rest}");
    }
    out.retain(|span| !span.text.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(code: bool, text: &str) -> Span {
        Span { code, text: text.into(), tip: None }
    }

    #[test]
    fn blank_lines_part_paragraphs() {
        let expected = vec![vec![span(false, "a b")], vec![span(false, "c")]];
        assert_eq!(paragraphs("\n a\nb\n\n \nc\n"), expected);
        assert!(paragraphs(" \n").is_empty());
    }

    #[test]
    fn backticks_enclose_code_and_need_a_partner() {
        assert_eq!(spans("run `a<b` now"), [span(false, "run "), span(true, "a<b"), span(false, " now")]);
        assert_eq!(spans("a `b"), [span(false, "a `b")]);
        assert_eq!(spans("`a` `b"), [span(true, "a"), span(false, " `b")]);
        assert!(spans("").is_empty());
    }
}
