//! `truerank export`: rankers and relevance weights in the forms of other tools.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser};
use truerank::data::{Dataset, Splits};
use truerank::files::{Limit, check_file, check_folder, read_text};
use truerank::ranker::{self, ExportFormat, LabelSummary, Labels, Ranker, Writes, is_label_file};
use truerank::relevance::Relevance;

use super::common::{ReadArguments, read_file, read_folder, together};
use crate::options::Typed;
use crate::output::{Table, print, thousands};
use crate::progress::Shown;

/// Write a ranker for another program, or relevance weights as labels for another trainer
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct Export {
    /// A ranker, or relevance weights
    input: PathBuf,

    /// Whose form to write
    #[arg(long, value_parser = formats())]
    to: String,

    /// For labels: folder with train, vali and test, or a file of training documents
    #[arg(long, value_name = "DATA")]
    data: Option<PathBuf>,

    #[command(flatten)]
    options: Typed<ranker::Export>,

    /// For elasticsearch, and for rankers as models of lightgbm and xgboost: file with the name of each feature on a line
    /// [default: f1, f2, …; none in xgboost's models]
    #[arg(long, value_name = "FILE")]
    feature_names: Option<PathBuf>,

    #[command(flatten)]
    reading: ReadArguments,

    /// File to write, for labels of trees a folder
    #[arg(long, short)]
    output: PathBuf,
}

/// The forms with what they are, as the library lists them.
fn after_help() -> String {
    let mut help = "Forms that --to writes:\n".to_string();
    for format in &ExportFormat::ALL {
        help += &format!("  {:<15} {}\n", format.name, format.help);
    }
    help + EXAMPLES
}

const EXAMPLES: &str = "
Labels count by how often their documents were examined. The vali and test parts get their human grades
on the same scale, where there are grades.

Examples:
  truerank export ranker.safetensors --to onnx -o ranker.onnx
  truerank export trees.safetensors --to lightgbm -o model.txt
  truerank export trees.safetensors --to elasticsearch --feature-names names.txt -o model.json
  truerank export relevance.parquet --to lightgbm --data data/ -o labels/
  truerank export relevance.parquet --to csv -o labels.csv
  truerank export relevance.parquet --to parquet --features 136 -o labels.parquet
  truerank export relevance.parquet --to quepid --max-grade 3 -o ratings.csv";

fn formats() -> PossibleValuesParser {
    const ALL: &[ExportFormat] = &ExportFormat::ALL;
    let mut names: Vec<&str> = Vec::new();
    for format in ALL {
        if !names.contains(&format.name) {
            names.push(format.name);
        }
    }
    let aliases = |name| ALL.iter().filter(move |format| format.name == name).flat_map(|format| format.aliases);
    PossibleValuesParser::new(names.into_iter().map(|name| PossibleValue::new(name).aliases(aliases(name).copied())))
}

impl Export {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let (format, writes) = ExportFormat::for_file(&self.to, &self.input)?;
        let mut options = self.options.0.clone().max_grade(self.reading.max_grade);
        options.feature_names = self.feature_names.as_deref().map(read_names).transpose()?;
        options.check(format)?;
        if self.data.is_some() && !matches!(writes, Writes::Labels(_)) {
            bail!("--data is for labels, which --to lightgbm and xgboost make of relevance; leave it out");
        }
        match writes {
            Writes::Ranker(write) => self.write_ranker(write, &options),
            Writes::Labels(trees) => self.write_labels(&options.labels_for(trees)?, progress),
            Writes::Alone(write) => self.write_alone(|relevance, path| write(relevance, &options, path)),
        }
    }

    fn write_ranker(
        &self,
        write: fn(&Ranker, &ranker::Export, &Path) -> truerank::Result<String>,
        options: &ranker::Export,
    ) -> Result<()> {
        check_file(&self.output)?;
        let ranker = Ranker::load(&self.input)?;
        let place = || match &self.feature_names {
            Some(path) => together(&self.input, path),
            None => self.input.display().to_string(),
        };
        let what = write(&ranker, options, &self.output).with_context(place)?;
        let features = thousands(ranker.feature_count() as u64);
        print(&format!("ranker on {features} features: {what}\nwrote {}\n", self.output.display()))
    }

    fn write_labels(&self, labels: &Labels, progress: &Shown) -> Result<()> {
        let Some(data_path) = &self.data else {
            bail!(
                "labels for trees go with features, but there is no --data; pass the folder or file of the documents, or \
                 write labels alone with --to csv or parquet"
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
        let summary = labels
            .write(&train, &relevance, &judged, &self.output)
            .with_context(|| together(&self.input, data_path))?;
        progress.finish();
        self.report_labels(&summary, &judged)
    }

    /// Labels or judgments without features.
    fn write_alone(&self, write: impl FnOnce(&Relevance, &Path) -> truerank::Result<LabelSummary>) -> Result<()> {
        check_file(&self.output)?;
        let relevance = Relevance::read(&self.input)?;
        let summary = write(&relevance, &self.output)?;
        self.report_labels(&summary, &[])
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
