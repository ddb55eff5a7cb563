//! Which kind of ranker a fit makes: one that is asked for, or the best of a few.

use std::fmt;

use crate::options::{Kind, OptionValue};
use crate::ranker::ModelForm;

/// The kind of ranker that [`Fit`](super::Fit) makes. Its text is `auto` or that of a [`ModelForm`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ModelChoice {
    /// The one that does best on held-out training queries.
    #[default]
    Auto,
    /// This one.
    Only(ModelForm),
}

impl ModelChoice {
    /// The form that is asked for.
    pub fn asked(&self) -> Option<&ModelForm> {
        match self {
            ModelChoice::Auto => None,
            ModelChoice::Only(form) => Some(form),
        }
    }
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelChoice::Auto => f.pad("auto"),
            ModelChoice::Only(form) => form.fmt(f),
        }
    }
}

impl OptionValue for ModelChoice {
    type Given = ModelForm;

    fn given(form: ModelForm) -> Self {
        ModelChoice::Only(form)
    }

    fn kind() -> Kind {
        Kind::Text
    }

    fn from_texts(texts: &[String]) -> Result<Self, String> {
        match texts {
            [text] if text == "auto" => Ok(ModelChoice::Auto),
            _ => ModelForm::from_texts(texts).map(ModelChoice::Only).map_err(|finding| format!("{finding}, or auto")),
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
        for text in ["auto", "trees", "mlp:8,4"] {
            let texts = [text.to_string()];
            assert_eq!(ModelChoice::from_texts(&texts).unwrap().to_texts(), texts);
        }
        let message = ModelChoice::from_texts(&["best".to_string()]).unwrap_err();
        assert!(message.contains("'best'") && message.ends_with("trees, or auto"), "{message}");
    }
}
