//! The kinds of rankers: what each is called, what it takes and what it can learn from.

use std::fmt;
use std::str::FromStr;

use super::Training;
use crate::network::Architecture;
use crate::options::{Options, listed, option_value};
use crate::{Error, Result};

/// A kind of ranker by its text: the name of a [`RankerKind`], for `mlp` with the sizes of its layers, as in `mlp:64,32`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelForm {
    /// A linear ranker on layer-normalised features, or an MLP.
    Network(Architecture),
    /// A weight for each feature, from relevance weights or grades.
    LinearRaw,
    /// A weight for each feature, by the ranking SVM from grades.
    SvmRank,
    /// Boosted trees.
    Trees,
}

option_value!(ModelForm: Kind::Text);

/// What is known of a kind of ranker. Help, errors, Python and tables of the documentation all read [`RankerKind::ALL`].
#[derive(Debug)]
pub struct RankerKind {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub help: &'static str,
    /// Whether it learns from relevance weights, or from human grades alone.
    pub learns_from_weights: bool,
    /// Whether it learns from click pairs.
    pub learns_from_pairs: bool,
    /// Whether documents may lack features (NaN); other kinds refuse them.
    pub takes_missing: bool,
}

/// Who takes an option of [`Training`] that not all kinds take: networks, networks and trees, all that a gradient minimises, all that are trained in
/// steps, all that stop by a tolerance, SVM-rank, trees.
pub(super) const NETWORKS: &[&str] = &["linear", "mlp"];
pub(super) const RATED: &[&str] = &["linear", "mlp", "trees"];
pub(super) const MINIMISED: &[&str] = &["linear", "mlp", "linear-raw"];
pub(super) const STEPPED: &[&str] = &["linear", "mlp", "linear-raw", "trees"];
pub(super) const SOLVED: &[&str] = &["linear", "mlp", "linear-raw", "svm-rank"];
pub(super) const SVM_RANK: &[&str] = &["svm-rank"];
pub(super) const TREES: &[&str] = &["trees"];

impl RankerKind {
    /// All kinds, in the order in which they are listed.
    pub const ALL: [RankerKind; 5] = [
        RankerKind {
            name: "linear",
            help: "weights of a document's features, which are normalised over the document, as in the paper",
            learns_from_weights: true,
            learns_from_pairs: true,
            takes_missing: false,
        },
        RankerKind {
            name: "mlp",
            help: "a network of the paper's layers, or of those that are named: mlp:SIZE,SIZE,…",
            learns_from_weights: true,
            learns_from_pairs: true,
            takes_missing: false,
        },
        RankerKind {
            name: "linear-raw",
            help: "a weight for each raw feature, for servers that know weights only",
            learns_from_weights: true,
            learns_from_pairs: false,
            takes_missing: false,
        },
        RankerKind {
            name: "svm-rank",
            help: "a weight for each raw feature, by the ranking SVM from human grades",
            learns_from_weights: false,
            learns_from_pairs: false,
            takes_missing: false,
        },
        RankerKind {
            name: "trees",
            help: "boosted regression trees, by LambdaMART or another loss",
            learns_from_weights: true,
            learns_from_pairs: false,
            takes_missing: true,
        },
    ];

    /// The names of all kinds, as people read them.
    pub fn names() -> String {
        let names: Vec<&str> = RankerKind::ALL.iter().map(|kind| kind.name).collect();
        listed(&names).replace("mlp", "mlp, mlp:SIZE,SIZE,…")
    }

    /// The names of the kinds that take an option; none where all do.
    pub(super) fn taking(option: &str) -> Vec<&'static str> {
        Training::fields().iter().find(|field| field.name == option).map_or(Vec::new(), |field| field.only_for.to_vec())
    }

    /// Whether it takes an option of [`Training`].
    pub fn takes(&self, option: &str) -> bool {
        let takers = RankerKind::taking(option);
        takers.is_empty() || takers.contains(&self.name)
    }
}

impl ModelForm {
    /// The linear ranker on layer-normalised features.
    pub const LINEAR: ModelForm = ModelForm::Network(Architecture::Linear);

    /// The paper's MLP.
    pub fn mlp() -> Self {
        ModelForm::Network(Architecture::mlp())
    }

    /// What is known of its kind.
    pub fn kind(&self) -> &'static RankerKind {
        let name = match self {
            ModelForm::Network(Architecture::Linear) => "linear",
            ModelForm::Network(_) => "mlp",
            ModelForm::LinearRaw => "linear-raw",
            ModelForm::SvmRank => "svm-rank",
            ModelForm::Trees => "trees",
        };
        const ALL: &[RankerKind] = &RankerKind::ALL;
        ALL.iter().find(|kind| kind.name == name).expect("every form is of a kind")
    }
}

impl fmt::Display for ModelForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelForm::Network(architecture) => f.pad(&architecture.to_string()),
            _ => f.pad(self.kind().name),
        }
    }
}

impl FromStr for ModelForm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split(':').next() {
            Some("linear" | "mlp") => text.parse().map(ModelForm::Network),
            _ if text == "linear-raw" => Ok(ModelForm::LinearRaw),
            _ if text == "svm-rank" => Ok(ModelForm::SvmRank),
            _ if text == "trees" => Ok(ModelForm::Trees),
            _ => Err(Error::parameter(format!("the model is '{text}', but should be {}", RankerKind::names()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_print_and_parse_back() {
        for text in ["linear", "mlp:8,4", "linear-raw", "svm-rank", "trees"] {
            assert_eq!(text.parse::<ModelForm>().unwrap().to_string(), text);
        }
        assert_eq!("mlp".parse::<ModelForm>().unwrap().to_string(), "mlp:512,256,128");
        let message = "forest".parse::<ModelForm>().unwrap_err().to_string();
        assert!(
            message.ends_with("but should be linear, mlp, mlp:SIZE,SIZE,…, linear-raw, svm-rank or trees"),
            "{message}"
        );
    }

    #[test]
    fn options_are_for_kinds_that_there_are() {
        for kind in &RankerKind::ALL {
            assert_eq!(kind.name.parse::<ModelForm>().unwrap().kind().name, kind.name);
        }
        let takers: Vec<&str> = Training::fields().iter().flat_map(|field| field.only_for).copied().collect();
        assert!(takers.iter().all(|name| RankerKind::ALL.iter().any(|kind| kind.name == *name)), "{takers:?}");
    }
}
