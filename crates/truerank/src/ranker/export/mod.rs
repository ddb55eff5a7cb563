//! Rankers and labels in the forms of other tools: ONNX, the plugins of Elasticsearch and OpenSearch, LightGBM and XGBoost, Quepid.
//!
//! [`ExportFormat`] lists the forms, [`Export`] their options. A new form of rankers is a function in a file of its own and a line
//! in [`ExportFormat::ALL`].

mod elasticsearch;
mod judgments;
mod labels;
mod lightgbm;
mod onnx;
mod protobuf;
mod table;
mod trees;
mod xgboost;

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

pub use labels::{LabelForm, LabelSummary, Labels, TrainingLabels, Trees, is_label_file};

use super::Ranker;
use crate::options::{Options, listed, options};
use crate::relevance::Relevance;
use crate::{Error, Result};

/// A form that another program reads.
#[derive(Debug)]
pub struct ExportFormat {
    /// Its name. A form of rankers and a form of labels may share one: what is exported says which is meant.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One line about it.
    pub help: &'static str,
    /// What is written.
    pub writes: Writes,
    /// The options of [`Export`] that it takes.
    pub takes: &'static [&'static str],
}

/// What a form holds.
#[derive(Debug, Clone, Copy)]
pub enum Writes {
    /// A ranker; the function writes it and returns a few words about it.
    Ranker(fn(&Ranker, &Export, &Path) -> Result<String>),
    /// Labels with the features of their documents.
    Labels(Trees),
    /// Labels alone, or judgments for tools that measure rankings.
    Alone(fn(&Relevance, &Export, &Path) -> Result<LabelSummary>),
}

const LABELS: &[&str] = &["labels", "steps", "click_noise"];
const TABLES: &[&str] = &["labels", "steps", "click_noise", "features"];
/// Beside the options of [`Export`]: who takes names of features.
const FEATURE_NAMES: &str = "feature_names";

impl ExportFormat {
    /// All forms, in the order in which they are listed.
    pub const ALL: [ExportFormat; 10] = [
        ExportFormat {
            name: "onnx",
            aliases: &[],
            help: "input `features` (documents × features), output `scores`",
            writes: Writes::Ranker(onnx::write),
            takes: &[],
        },
        ExportFormat {
            name: "elasticsearch",
            aliases: &["opensearch"],
            help: "a model of the learning-to-rank plugin, also for OpenSearch: model/xgboost+json for trees, model/linear for plain weights (linear-raw, svm-rank)",
            writes: Writes::Ranker(elasticsearch::write),
            takes: &["name", FEATURE_NAMES],
        },
        ExportFormat {
            name: "lightgbm",
            aliases: &[],
            help: "of a ranker of trees: a text model that lightgbm.Booster loads",
            writes: Writes::Ranker(lightgbm::write),
            takes: &[FEATURE_NAMES],
        },
        ExportFormat {
            name: "xgboost",
            aliases: &[],
            help: "of a ranker of trees: a JSON model that xgboost.Booster loads",
            writes: Writes::Ranker(xgboost::write),
            takes: &[FEATURE_NAMES],
        },
        ExportFormat {
            name: "lightgbm",
            aliases: &["svmlight"],
            help: "of relevance: train.svm, vali.svm and test.svm, side files with the sizes of queries and the weights of labels, and params.json with the parameters that go with them",
            writes: Writes::Labels(Trees::LightGbm),
            takes: LABELS,
        },
        ExportFormat {
            name: "xgboost",
            aliases: &[],
            help: "of relevance: the same with queries and weights in the text",
            writes: Writes::Labels(Trees::XgBoost),
            takes: LABELS,
        },
        ExportFormat {
            name: "csv",
            aliases: &[],
            help: "of relevance: query, doc, label, weight, impressions and clicks of every shown document",
            writes: Writes::Alone(table::write_csv),
            takes: TABLES,
        },
        ExportFormat {
            name: "parquet",
            aliases: &[],
            help: "of relevance: the same table as Parquet, to join with features on a cluster",
            writes: Writes::Alone(table::write_parquet),
            takes: TABLES,
        },
        ExportFormat {
            name: "quepid",
            aliases: &[],
            help: "of relevance: ratings for Quepid as CSV: query, docid, and rating, a whole number up to the highest grade",
            writes: Writes::Alone(judgments::write_quepid),
            takes: &["click_noise"],
        },
        ExportFormat {
            name: "workbench",
            aliases: &["search-relevance-workbench"],
            help: "of relevance: judgments for OpenSearch's Search Relevance Workbench as the JSON of its import request",
            writes: Writes::Alone(judgments::write_workbench),
            takes: &["name"],
        },
    ];

    /// The form of a name, and what `pick` takes of it; those that it takes nothing of are not known here.
    pub fn named<T>(name: &str, pick: impl Fn(Writes) -> Option<T>) -> Result<(&'static ExportFormat, T)> {
        const ALL: &[ExportFormat] = &ExportFormat::ALL;
        let fitting = || ALL.iter().filter_map(|format| pick(format.writes).map(|found| (format, found)));
        let unknown = || {
            let mut seen = HashSet::new();
            let names: Vec<&str> = fitting().map(|(format, _)| format.name).filter(|name| seen.insert(*name)).collect();
            Error::option("to", format!("is '{name}', but should be {}", listed(&names)))
        };
        fitting().find(|(format, _)| format.is_called(name)).ok_or_else(unknown)
    }

    /// The form of a name for what a file holds: where rankers and labels share the name, labels if the file is Parquet.
    pub fn for_file(name: &str, path: &Path) -> Result<(&'static ExportFormat, Writes)> {
        const ALL: &[ExportFormat] = &ExportFormat::ALL;
        let shared = ALL.iter().filter(|format| format.is_called(name)).count() > 1;
        let of_relevance = shared && is_parquet(path);
        ExportFormat::named(name, |writes| (!shared || writes.is_ranker() != of_relevance).then_some(writes))
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Its name for messages, with what it is of where two share it.
    fn told(&self) -> String {
        let shared = ExportFormat::ALL.iter().filter(|format| format.name == self.name).count() > 1;
        match (shared, self.writes.is_ranker()) {
            (false, _) => self.name.to_string(),
            (true, true) => format!("{} of a ranker", self.name),
            (true, false) => format!("{} of relevance", self.name),
        }
    }

    /// The forms that take an option.
    fn taking(option: &str) -> Vec<&'static ExportFormat> {
        const ALL: &[ExportFormat] = &ExportFormat::ALL;
        ALL.iter().filter(|format| format.takes.contains(&option)).collect()
    }
}

impl PartialEq for ExportFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.writes.is_ranker() == other.writes.is_ranker()
    }
}

impl Writes {
    fn is_ranker(self) -> bool {
        matches!(self, Writes::Ranker(_))
    }
}

/// Whether a file is Parquet, by its first bytes; one that cannot be read is not, and reading it will say why.
fn is_parquet(path: &Path) -> bool {
    let mut start = [0; 4];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"PAR1"
}

options! {
    /// How rankers and labels are written for other programs.
    pub struct Export {
        /// For labels, what one is: weights (relevance as our rankers learn from it, for regression; ranked best
        /// where we measured it), steps (whole grades and steps between them, for lambdarank; each has its gain) or gains
        /// (2^grade − 1, for XGBoost's rank:ndcg).
        labels: Option<String> = None, usual("weights"), value("FORM"), alias("form");
        /// For labels that are steps: steps per grade; 1 gives plain grades.
        steps: Option<usize> = None, usual("8 for LightGBM, 1 for XGBoost"), value("N");
        /// For steps and gains: how often a document of grade 0 is found relevant, where it is known.
        click_noise: f64 = 0.0, value("SHARE");
        /// For csv and parquet, which are made without features: how many of them the trainer has of a document, which says how
        /// far labels hold on to their prior.
        features: Option<usize> = None, at_least(1.0), usual("not known: all of it"), value("N");
        /// For elasticsearch and workbench: name of the model, or of the judgments.
        name: Option<String> = None, usual("that of the file to write"), value("NAME");
    }
    beside {
        /// The highest human grade.
        max_grade: u8 = 4,
        /// For elasticsearch, and for trees as models of lightgbm and xgboost: the name of each feature, in order; without names they
        /// are f1, f2, …, and xgboost's have none.
        feature_names: Option<Vec<String>> = None
    }
}

impl Export {
    /// Refuses options that a form would ignore.
    pub fn check(&self, format: &'static ExportFormat) -> Result<()> {
        self.check_ranges()?;
        if self.feature_names.is_some() && !format.takes.contains(&FEATURE_NAMES) {
            let takers: Vec<String> = ExportFormat::taking(FEATURE_NAMES).into_iter().map(ExportFormat::told).collect();
            let finding = format!("is for {}, but `to` is {}", listed(&takers), format.told());
            return Err(Error::option(FEATURE_NAMES, finding));
        }
        self.refuse_others(("to", format), ExportFormat::told, ExportFormat::taking)
    }

    /// The names of the features of a ranker: those given, or f1, f2, ….
    fn names_of(&self, ranker: &Ranker) -> Vec<String> {
        let numbered = || (1..=ranker.feature_count()).map(|number| format!("f{number}")).collect();
        self.feature_names.clone().unwrap_or_else(numbered)
    }

    /// The labels that are asked for.
    pub fn labels_for(&self, trees: Trees) -> Result<Labels> {
        let usual = if self.steps.is_some() { "steps" } else { "weights" };
        let form = LabelForm::named(self.labels.as_deref().unwrap_or(usual), self.steps, trees)?;
        let labels = Labels::new(trees).form(form).max_grade(self.max_grade).click_noise(self.click_noise);
        Ok(labels.features(self.features))
    }

    /// The labels that are asked for, as a table: gains are XGBoost's, and steps of grades have gains, which LightGBM alone is
    /// told.
    fn labels_of_table(&self) -> Result<Labels> {
        let trees = if self.labels.as_deref() == Some("gains") { Trees::XgBoost } else { Trees::LightGbm };
        let labels = self.labels_for(trees)?;
        labels.check()?;
        Ok(labels)
    }
}

fn check_names(names: &[String], count: usize) -> Result<()> {
    if names.len() != count {
        return Err(Error::parameter(format!("there are {} feature names for {count} features", names.len())));
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| name.trim().is_empty() || !seen.insert(*name)) {
        Some(name) => Err(Error::parameter(format!(
            "feature names should be distinct and not empty, but '{name}' is empty or stands twice"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_which_form_of_a_name_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            folder.path().join(name)
        };
        let (parquet, other) = (place("relevance", b"PAR1..."), place("ranker", b"{"));
        for name in ["lightgbm", "xgboost"] {
            let is_ranker = |path: &Path| ExportFormat::for_file(name, path).unwrap().1.is_ranker();
            assert!(!is_ranker(&parquet) && is_ranker(&other) && is_ranker(Path::new("nowhere")));
        }
        // One form is meant whatever the file holds, and reading it says what is wrong.
        assert!(ExportFormat::for_file("onnx", &parquet).unwrap().1.is_ranker());
        assert!(!ExportFormat::for_file("csv", &other).unwrap().1.is_ranker());
        assert!(!ExportFormat::for_file("svmlight", &other).unwrap().1.is_ranker());
        let message = ExportFormat::for_file("torch", &other).unwrap_err().to_string();
        assert_eq!(
            message,
            "`to` is 'torch', but should be onnx, elasticsearch, lightgbm, xgboost, csv, parquet, quepid or workbench"
        );
    }

    #[test]
    fn options_of_the_other_form_of_a_name_are_refused() {
        let ranker = ExportFormat::named("lightgbm", |writes| writes.is_ranker().then_some(())).unwrap().0;
        let labels = ExportFormat::named("lightgbm", |writes| (!writes.is_ranker()).then_some(())).unwrap().0;
        let steps = Export::new().steps(4);
        assert!(steps.check(labels).is_ok());
        let message = steps.check(ranker).unwrap_err().to_string();
        let takers = "lightgbm of relevance, xgboost of relevance, csv or parquet";
        assert_eq!(message, format!("`steps` is for {takers}, but `to` is lightgbm of a ranker"));
        let named = Export { feature_names: Some(vec!["a".into()]), ..Export::new() };
        assert!(named.check(ranker).is_ok());
        let message = named.check(labels).unwrap_err().to_string();
        let takers = "elasticsearch, lightgbm of a ranker or xgboost of a ranker";
        assert_eq!(message, format!("`feature_names` is for {takers}, but `to` is lightgbm of relevance"));
    }
}
