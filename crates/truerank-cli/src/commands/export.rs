//! `truerank export`: rankers and relevance weights in the forms of other tools.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use truerank::data::{Dataset, Splits};
use truerank::files::{Limit, check_file, check_folder, read_text};
use truerank::ranker::{LabelForm, LabelSummary, Labels, Ranker, Trees, is_label_file};
use truerank::relevance::Relevance;

use super::common::{ReadArguments, read_file, read_folder, together};
use crate::output::{Table, print, thousands};
use crate::progress::Shown;

/// Write a ranker for another server, or relevance weights as labels for another trainer
#[derive(clap::Args)]
#[command(after_help = "\
A ranker:
  --to onnx             input `features` (documents × features), output `scores`
  --to elasticsearch    model/linear of the learning-to-rank plugin, also for OpenSearch; for rankers
                        of plain weights (linear-raw, svm-rank)

Relevance weights, with the features of --data:
  --to lightgbm         train.svm, vali.svm and test.svm, side files with the sizes of queries and
                        the weights of labels, and params.json with the parameters that go with them
  --to xgboost          the same with queries and weights in the text

Relevance weights alone, for whoever has the features elsewhere:
  --to csv              query, doc, label, weight, impressions and clicks of every shown document

What labels of training documents are (--labels):
  weights    relevance as it is, for regression; ranked best where we measured it
  steps      whole grades and steps between them, for lambdarank; each has its gain
  gains      2^grade − 1, for XGBoost's rank:ndcg
Each counts by how often its document was examined. The vali and test parts get their human grades
on the same scale, where there are grades.

Examples:
  truerank export ranker.safetensors --to onnx -o ranker.onnx
  truerank export linear.safetensors --to elasticsearch --feature-names names.txt -o model.json
  truerank export relevance.parquet --to lightgbm --data data/ -o labels/
  truerank export relevance.parquet --to csv -o labels.csv")]
pub struct Export {
    /// A ranker, or relevance weights
    input: PathBuf,

    /// Whose form to write
    #[arg(long)]
    to: Form,

    /// For labels: folder with train, vali and test, or a file of training documents
    #[arg(long, value_name = "DATA")]
    data: Option<PathBuf>,

    /// For labels: what a label is [default: weights]
    #[arg(long, value_name = "FORM", value_parser = LabelForm::NAMES)]
    labels: Option<String>,

    /// For --labels steps: steps per grade; 1 gives plain grades [default: 8]
    #[arg(long, value_name = "N")]
    steps: Option<usize>,

    /// For steps and gains: how often a document of grade 0 is found relevant, where it is known
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    click_noise: f64,

    /// For elasticsearch: file with the name of each feature on a line [default: f1, f2, …]
    #[arg(long, value_name = "FILE")]
    feature_names: Option<PathBuf>,

    /// For elasticsearch: name of the model [default: that of the file to write]
    #[arg(long)]
    name: Option<String>,

    #[command(flatten)]
    reading: ReadArguments,

    /// File to write, for labels of trees a folder
    #[arg(long, short)]
    output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Form {
    Onnx,
    #[value(alias = "opensearch")]
    Elasticsearch,
    #[value(alias = "svmlight")]
    Lightgbm,
    Xgboost,
    Csv,
}

impl Export {
    pub fn run(self, progress: &Shown) -> Result<()> {
        self.check()?;
        match self.to {
            Form::Onnx => self.to_onnx(),
            Form::Elasticsearch => self.to_elasticsearch(),
            Form::Lightgbm => self.to_labels(Trees::LightGbm, progress),
            Form::Xgboost => self.to_labels(Trees::XgBoost, progress),
            Form::Csv => self.to_table(),
        }
    }

    /// Refuses options that would be ignored.
    fn check(&self) -> Result<()> {
        let has_features = matches!(self.to, Form::Lightgbm | Form::Xgboost);
        if self.data.is_some() && !has_features {
            bail!("--data is for --to lightgbm and xgboost; leave it out");
        }
        if (self.labels.is_some() || self.steps.is_some()) && !has_features && self.to != Form::Csv {
            bail!("--labels and --steps are for --to lightgbm, xgboost and csv; leave them out");
        }
        if self.to != Form::Elasticsearch && (self.feature_names.is_some() || self.name.is_some()) {
            bail!("--feature-names and --name are for --to elasticsearch; leave them out");
        }
        if self.steps.is_some() && self.labels.as_deref() != Some("steps") {
            bail!("--steps is for --labels steps; add that, or leave it out");
        }
        Ok(())
    }

    fn to_onnx(&self) -> Result<()> {
        check_file(&self.output)?;
        let ranker = Ranker::load(&self.input)?;
        ranker.write_onnx(&self.output)?;
        self.report_ranker(&ranker, "input features, output scores")
    }

    fn to_elasticsearch(&self) -> Result<()> {
        check_file(&self.output)?;
        let ranker = Ranker::load(&self.input)?;
        let names = self.feature_names.as_deref().map(read_names).transpose()?;
        let place = || match &self.feature_names {
            Some(path) => together(&self.input, path),
            None => self.input.display().to_string(),
        };
        let name =
            ranker.write_linear_model(&self.output, self.name.as_deref(), names.as_deref()).with_context(place)?;
        self.report_ranker(&ranker, &format!("model/linear '{name}'"))
    }

    fn report_ranker(&self, ranker: &Ranker, what: &str) -> Result<()> {
        let features = thousands(ranker.feature_count() as u64);
        print(&format!("ranker on {features} features: {what}\nwrote {}\n", self.output.display()))
    }

    fn to_labels(&self, trees: Trees, progress: &Shown) -> Result<()> {
        let Some(data_path) = &self.data else {
            bail!(
                "labels for trees go with features, but there is no --data; pass the folder or file of the documents, or \
                 write labels alone with --to csv"
            );
        };
        check_folder(&self.output, is_label_file)?;
        let relevance = Relevance::read(&self.input)?;
        let (train, others) = match data_path.is_dir() {
            true => {
                let Splits { train, validation, test } = read_folder(data_path, &self.reading, progress)?;
                (train, vec![("vali", validation), ("test", test)])
            }
            false => (read_file(data_path, &self.reading, progress)?, Vec::new()),
        };
        let judged: Vec<(&str, &Dataset)> =
            others.iter().filter(|(_, data)| data.grades().is_some()).map(|(name, data)| (*name, data)).collect();
        let summary = self
            .label_writer(trees)?
            .write(&train, &relevance, &judged, &self.output)
            .with_context(|| together(&self.input, data_path))?;
        progress.finish();
        self.report_labels(&summary, &judged)
    }

    fn to_table(&self) -> Result<()> {
        check_file(&self.output)?;
        let relevance = Relevance::read(&self.input)?;
        // Steps of grades have gains, which LightGBM alone is told.
        let trees = if self.labels.as_deref() == Some("gains") { Trees::XgBoost } else { Trees::LightGbm };
        let summary = self.label_writer(trees)?.write_table(&relevance, &self.output)?;
        self.report_labels(&summary, &[])
    }

    fn label_writer(&self, trees: Trees) -> Result<Labels> {
        let labels = Labels::new(trees).max_grade(self.reading.max_grade).click_noise(self.click_noise);
        match &self.labels {
            None => Ok(labels),
            Some(name) => Ok(labels.form(LabelForm::named(name, self.steps, trees)?)),
        }
    }

    fn report_labels(&self, summary: &LabelSummary, judged: &[(&str, &Dataset)]) -> Result<()> {
        let mut table = Table::new(["part", "queries", "documents", "labels"]);
        let count = |count: usize| thousands(count as u64);
        table.row(["train".into(), count(summary.queries), count(summary.documents), "clicks".to_string()]);
        for (name, data) in judged {
            table.row([name.to_string(), count(data.query_count()), count(data.len()), "grades".to_string()]);
        }
        let mut text = table.render();
        for (number, what) in [
            (summary.cut, "labels cut to the highest: their relevance is estimated above 1"),
            (summary.unmatched.queries, "queries not in the data, left out"),
            (summary.unmatched.docs, "documents not in the data, left out"),
        ] {
            if number > 0 {
                text += &format!("{} {what}\n", count(number));
            }
        }
        print(&format!("{text}wrote {}\n", self.output.display()))
    }
}

/// One name per line; blank lines at the end are nobody's.
fn read_names(path: &Path) -> Result<Vec<String>> {
    Ok(read_text(path, Limit::Description)?.trim_end().lines().map(|line| line.trim().to_string()).collect())
}
