//! The number that a page is about: a value and its interval enter, words and a small picture leave.

use super::{Badge, Format};

/// The number that matters most, with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyResult {
    /// What it measures, such as `DCG@5 by held-out clicks`.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// How it is printed.
    pub format: Format,
    /// Whether it is a change, which is printed with its sign.
    pub is_change: bool,
    /// The verdict on it.
    pub badge: Option<Badge>,
    /// What it says, and what it rests on, in a sentence or two.
    pub about: String,
}

impl KeyResult {
    /// The value as people read it: `+3.2 %`.
    pub fn printed(&self) -> String {
        self.print(self.value)
    }

    /// The interval as people read it: `95 % interval +1.9 % to +4.5 %`.
    pub fn printed_interval(&self) -> Option<String> {
        let (low, high) = self.interval?;
        Some(format!("95\u{202f}% interval {} to {}", self.print(low), self.print(high)))
    }

    fn print(&self, value: f64) -> String {
        let text = self.format.print(value);
        if self.is_change && value > 0.0 { format!("+{text}") } else { text }
    }

    /// One paragraph: `+3.2 % DCG@5 by held-out clicks (95 % interval +1.9 % to +4.5 %). …`
    pub(super) fn sentence(&self) -> String {
        let interval = self.printed_interval().map_or(String::new(), |interval| format!(" ({interval})"));
        format!("{} {}{interval}. {}", self.printed(), self.name, self.about)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign() {
        let key = KeyResult {
            name: "DCG@5".into(),
            value: 0.0321,
            interval: Some((-0.019, 0.045)),
            format: Format::Percent,
            is_change: true,
            badge: None,
            about: "So it is.".into(),
        };
        let percent = |text: &str| text.replace('_', "\u{202f}");
        assert_eq!(key.sentence(), percent("+3.2_% DCG@5 (95_% interval −1.9_% to +4.5_%). So it is."));
        assert_eq!(KeyResult { is_change: false, interval: None, ..key }.printed(), percent("3.2_%"));
    }
}
