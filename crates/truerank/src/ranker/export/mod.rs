//! Rankers and labels in the forms of other tools: ONNX, the plugins of Elasticsearch and OpenSearch, LightGBM and XGBoost.
//!
//! [`ExportFormat`] lists the forms, [`Export`] their options. A new form of rankers is a function in a file of its own and a line
//! in [`ExportFormat::ALL`].

mod labels;
mod linear_model;
mod onnx;
mod protobuf;

use std::path::Path;

pub use labels::{LabelForm, LabelSummary, Labels, TrainingLabels, Trees, is_label_file};

use super::Ranker;
use crate::options::{Options, listed, options};
use crate::{Error, Result};

/// A form that another program reads.
#[derive(Debug)]
pub struct ExportFormat {
    /// Its name.
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
    /// Labels alone.
    Table,
}

const LABELS: &[&str] = &["labels", "steps", "click_noise"];

impl ExportFormat {
    /// All forms, in the order in which they are listed.
    pub const ALL: [ExportFormat; 5] = [
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
            help: "model/linear of the learning-to-rank plugin, also for OpenSearch; for rankers of plain weights (linear-raw, svm-rank)",
            writes: Writes::Ranker(linear_model::write),
            takes: &["name"],
        },
        ExportFormat {
            name: "lightgbm",
            aliases: &["svmlight"],
            help: "train.svm, vali.svm and test.svm, side files with the sizes of queries and the weights of labels, and params.json with the parameters that go with them",
            writes: Writes::Labels(Trees::LightGbm),
            takes: LABELS,
        },
        ExportFormat {
            name: "xgboost",
            aliases: &[],
            help: "the same with queries and weights in the text",
            writes: Writes::Labels(Trees::XgBoost),
            takes: LABELS,
        },
        ExportFormat {
            name: "csv",
            aliases: &[],
            help: "query, doc, label, weight, impressions and clicks of every shown document",
            writes: Writes::Table,
            takes: LABELS,
        },
    ];

    /// The form of a name, and what `pick` takes of it; those that it takes nothing of are not known here.
    pub fn named<T>(name: &str, pick: impl Fn(Writes) -> Option<T>) -> Result<(&'static ExportFormat, T)> {
        const ALL: &[ExportFormat] = &ExportFormat::ALL;
        let fitting = || ALL.iter().filter_map(|format| pick(format.writes).map(|found| (format, found)));
        let unknown = || {
            let names: Vec<&str> = fitting().map(|(format, _)| format.name).collect();
            Error::option("to", format!("is '{name}', but should be {}", listed(&names)))
        };
        fitting().find(|(format, _)| format.name == name || format.aliases.contains(&name)).ok_or_else(unknown)
    }
}

options! {
    /// How rankers and labels are written for other programs.
    pub struct Export {
        /// For labels, what one is: weights (relevance as it is, for regression; ranked best where we measured it), steps
        /// (whole grades and steps between them, for lambdarank; each has its gain) or gains (2^grade − 1, for XGBoost's
        /// rank:ndcg).
        labels: Option<String> = None, usual("weights"), value("FORM"), alias("form");
        /// For labels that are steps: steps per grade; 1 gives plain grades.
        steps: Option<usize> = None, usual("8 for LightGBM, 1 for XGBoost"), value("N");
        /// For steps and gains: how often a document of grade 0 is found relevant, where it is known.
        click_noise: f64 = 0.0, value("SHARE");
        /// For elasticsearch: name of the model.
        name: Option<String> = None, usual("that of the file to write"), value("NAME");
    }
    beside {
        /// The highest human grade.
        max_grade: u8 = 4,
        /// For elasticsearch: the name of each feature, in order; without names they are f1, f2, ….
        feature_names: Option<Vec<String>> = None
    }
}

impl Export {
    /// Refuses options that a form would ignore.
    pub fn check(&self, format: &ExportFormat) -> Result<()> {
        if self.feature_names.is_some() && !format.takes.contains(&"name") {
            let finding = format!("is for elasticsearch, but `to` is {}", format.name);
            return Err(Error::option("feature_names", finding));
        }
        self.refuse_others(("to", format.name), str::to_string, |option| {
            ExportFormat::ALL.iter().filter(|format| format.takes.contains(&option)).map(|format| format.name).collect()
        })
    }

    /// The labels that are asked for.
    pub fn labels_for(&self, trees: Trees) -> Result<Labels> {
        let usual = if self.steps.is_some() { "steps" } else { "weights" };
        let form = LabelForm::named(self.labels.as_deref().unwrap_or(usual), self.steps, trees)?;
        Ok(Labels::new(trees).form(form).max_grade(self.max_grade).click_noise(self.click_noise))
    }

    /// The labels that are asked for, as a table: gains are XGBoost's, and steps of grades have gains, which LightGBM alone is
    /// told.
    pub fn labels_of_table(&self) -> Result<Labels> {
        let trees = if self.labels.as_deref() == Some("gains") { Trees::XgBoost } else { Trees::LightGbm };
        self.labels_for(trees)
    }
}
