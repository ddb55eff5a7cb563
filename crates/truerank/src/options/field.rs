//! What front ends know of an option.

use super::value::{Kind, OptionValue};
use crate::{Error, Result};

/// An option as it was declared.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name, in the form of a Rust field: `learning_rate`.
    pub name: &'static str,
    /// What it is for, without a full stop at the end. Other options stand in backticks.
    pub help: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether there may be several values.
    pub is_list: bool,
    /// The texts of its default; none where it has no value by default.
    pub default: Vec<String>,
    /// The default in words, where the value does not say it.
    pub usual: Option<&'static str>,
    /// What stands for a value in help, such as `N` or `SHARE`.
    pub value: Option<&'static str>,
    /// What numbers are allowed.
    pub range: Option<Range>,
    /// The group of options that it is listed with in long help.
    pub heading: Option<&'static str>,
    /// Other names that it goes by.
    pub aliases: Vec<&'static str>,
    /// Whether values may hold commas, so that each of a list is given on its own.
    pub has_commas: bool,
    /// The names of those that take it, where not all do.
    pub only_for: &'static [&'static str],
}

/// What numbers are allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// This or more.
    AtLeast(f64),
    /// More than this.
    Above(f64),
    /// More than this, or infinity.
    AboveOrInfinite(f64),
    /// Between these, both left out.
    Between(f64, f64),
    /// From the first to the second, with both.
    Within(f64, f64),
    /// Above 0 and at most 1.
    Share,
}

impl Range {
    fn contains(self, number: f64) -> bool {
        match self {
            Range::AtLeast(least) => number >= least && number.is_finite(),
            Range::Above(bound) => number > bound && number.is_finite(),
            Range::AboveOrInfinite(bound) => number > bound,
            Range::Between(low, high) => number > low && number < high,
            Range::Within(low, high) => (low..=high).contains(&number),
            Range::Share => number > 0.0 && number <= 1.0,
        }
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Range::AtLeast(least) => write!(f, "at least {least}"),
            Range::Above(bound) | Range::AboveOrInfinite(bound) => write!(f, "above {bound}"),
            Range::Between(low, high) => write!(f, "between {low} and {high}"),
            Range::Within(low, high) => write!(f, "from {low} to {high}"),
            Range::Share => write!(f, "above 0 and at most 1"),
        }
    }
}

impl Field {
    /// An option of type `T`; `docs` is its doc comment, whose first paragraph is the help.
    pub(crate) fn new<T: OptionValue>(name: &'static str, docs: &str, default: &T) -> Self {
        let paragraph = docs.trim().split("\n\n").next().unwrap_or_default();
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        Field {
            name,
            help: words.join(" ").trim_end_matches('.').to_string(),
            kind: T::kind(),
            is_list: T::is_list(),
            default: default.to_texts(),
            usual: None,
            value: None,
            range: None,
            heading: None,
            aliases: Vec::new(),
            has_commas: false,
            only_for: &[],
        }
    }

    /// Who takes it, where not all do.
    pub(crate) fn only_for(mut self, names: &'static [&'static str]) -> Self {
        self.only_for = names;
        self
    }

    /// The default in words.
    pub(crate) fn usual(mut self, words: &'static str) -> Self {
        self.usual = Some(words);
        self
    }

    /// What stands for a value in help.
    pub(crate) fn value(mut self, name: &'static str) -> Self {
        self.value = Some(name);
        self
    }

    /// The group in long help.
    #[allow(dead_code)] // Not every set of options has groups.
    pub(crate) fn heading(mut self, heading: &'static str) -> Self {
        self.heading = Some(heading);
        self
    }

    /// One more name.
    pub(crate) fn alias(mut self, name: &'static str) -> Self {
        self.aliases.push(name);
        self
    }

    /// Values may hold commas.
    pub(crate) fn has_commas(mut self) -> Self {
        self.has_commas = true;
        self
    }

    /// Numbers are this or more.
    pub(crate) fn at_least(mut self, least: f64) -> Self {
        self.range = Some(Range::AtLeast(least));
        self
    }

    /// Numbers are more than this.
    pub(crate) fn above(mut self, bound: f64) -> Self {
        self.range = Some(Range::Above(bound));
        self
    }

    /// Numbers are more than this, or infinity.
    pub(crate) fn above_or_infinite(mut self, bound: f64) -> Self {
        self.range = Some(Range::AboveOrInfinite(bound));
        self
    }

    /// Numbers lie between these.
    #[allow(dead_code)] // Ranges that nobody needs today.
    pub(crate) fn between(mut self, low: f64, high: f64) -> Self {
        self.range = Some(Range::Between(low, high));
        self
    }

    /// Numbers are parts of a whole.
    pub(crate) fn share(mut self) -> Self {
        self.range = Some(Range::Share);
        self
    }

    /// Numbers are these or between them.
    pub(crate) fn within(mut self, low: f64, high: f64) -> Self {
        self.range = Some(Range::Within(low, high));
        self
    }

    /// The default as people read it; none where there is nothing to say, as for flags.
    pub fn default_text(&self) -> Option<String> {
        match (self.usual, self.default.as_slice()) {
            (Some(words), _) => Some(words.to_string()),
            (None, []) => None,
            (None, [text]) if self.kind == Kind::Flag && text == "false" => None,
            (None, texts) => Some(texts.join(",")),
        }
    }

    /// Refuses values outside the range. What is no number, such as `auto`, has none.
    pub(crate) fn check(&self, texts: &[String]) -> Result<()> {
        let Some(range) = self.range else { return Ok(()) };
        let numbers = texts.iter().filter_map(|text| text.parse::<f64>().ok().map(|number| (text, number)));
        match numbers.into_iter().find(|(_, number)| !range.contains(*number)) {
            Some((text, _)) => Err(Error::option(self.name, format!("is {text}, but should be {range}"))),
            None => Ok(()),
        }
    }

    /// Whether the option goes by this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}
