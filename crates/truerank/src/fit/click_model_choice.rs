//! Which click model a fit corrects clicks by: none but the position-based, one that is asked for, or the one that suits the log.

use std::fmt;

use crate::click_model::ClickModelKind;
use crate::options::{Kind, OptionValue};

/// The click model of [`Fit`](super::Fit). Its text is `auto`, `none` or that of a [`ClickModelKind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClickModelChoice {
    /// The one that predicts clicks significantly better, where its relevance predicts clicks on moved documents as well as that by
    /// position does; else none.
    #[default]
    Auto,
    /// Examination by position, of each user.
    None,
    /// This one.
    Only(ClickModelKind),
}

impl ClickModelChoice {
    /// Whether click transitions may be needed.
    pub fn needs_transitions(self) -> bool {
        self != ClickModelChoice::None
    }
}

impl fmt::Display for ClickModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClickModelChoice::Auto => f.pad("auto"),
            ClickModelChoice::None => f.pad("none"),
            ClickModelChoice::Only(model) => model.fmt(f),
        }
    }
}

impl OptionValue for ClickModelChoice {
    type Given = ClickModelChoice;

    fn given(choice: ClickModelChoice) -> Self {
        choice
    }

    fn kind() -> Kind {
        let mut names = vec!["auto", "none"];
        if let Kind::Choice(models) = ClickModelKind::kind() {
            names.extend(models);
        }
        Kind::Choice(names)
    }

    fn from_texts(texts: &[String]) -> Result<Self, String> {
        match texts {
            [text] if text == "auto" => Ok(ClickModelChoice::Auto),
            [text] if text == "none" => Ok(ClickModelChoice::None),
            _ => {
                let model = ClickModelKind::from_texts(texts).map_err(|finding| format!("{finding}, auto or none"))?;
                Ok(ClickModelChoice::Only(model))
            }
        }
    }

    fn to_texts(&self) -> Vec<String> {
        vec![self.to_string()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_print_and_parse_back() {
        for text in ["auto", "none", "ubm", "trust"] {
            let texts = [text.to_string()];
            assert_eq!(ClickModelChoice::from_texts(&texts).unwrap().to_texts(), texts);
        }
        let message = ClickModelChoice::from_texts(&["best".to_string()]).unwrap_err();
        assert!(message.contains("'best'") && message.ends_with("auto or none"), "{message}");
    }
}
