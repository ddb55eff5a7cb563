//! `truerank evaluate`: how good a ranker is, and whether it is better than another, by grades and by clicks.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;
use truerank::data::Dataset;
use truerank::evaluate::{ByClicks, EmptyQueries, Evaluation, Measure, MeasureOptions, TTest, paired_t_test};
use truerank::report::Format;

use super::common::{LoadedRanker, ReadArguments, read_file};
use super::evaluate_clicks::{ClickArguments, signed, to_text};
use crate::options::Typed;
use crate::output::{Table, measure, print, print_json, thousands};
use crate::progress::Shown;

/// Evaluate a ranker on graded queries or on logged clicks, alone or against another
#[derive(clap::Args)]
#[command(after_help = "\
Ties in score keep the order of the file. With --against, p is that of a paired
two-sided t-test over queries.

With --clicks, the counts of a log of queries that the ranker did not learn from judge
it too: each click counts as its estimator weighs it. The pages of the log are reordered
and compared with the pages as they were shown; beside that, all documents of a query
are put in one order, in which what was never shown earns nothing. Intervals (95 %) and
p come from resampling queries. Documents then need no grades.

Examples:
  truerank evaluate data/test.txt --ranker ranker.safetensors
  truerank evaluate data/test.txt --ranker a.safetensors --against b.safetensors
  truerank evaluate data/test.txt --ranker a.safetensors --measures nDCG@10,MAP
  truerank evaluate data/test.txt --ranker a.safetensors --json --per-query
  truerank evaluate docs.parquet --ranker a.safetensors --against b.safetensors --clicks held-out/ --propensities p.json")]
pub struct Evaluate {
    /// Documents, graded unless --clicks are given: LETOR/SVMlight text or Parquet
    data: PathBuf,

    #[command(flatten)]
    reading: ReadArguments,

    /// The ranker
    #[arg(long, value_name = "FILE")]
    ranker: PathBuf,

    /// Another ranker to compare with
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,

    #[command(flatten)]
    measures: Typed<MeasureOptions>,

    #[command(flatten)]
    clicks: ClickArguments,

    /// With --json: the values of every query, and in the same order query_ids
    #[arg(long, requires = "json")]
    per_query: bool,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

impl Evaluate {
    pub fn run(self, progress: &Shown) -> Result<()> {
        self.clicks.check()?;
        let ranker = LoadedRanker::load(&self.ranker)?;
        let other = self.against.as_deref().map(LoadedRanker::load).transpose()?;
        let data = read_file(&self.data, &self.reading, progress)?;
        let scores = ranker.score(&data, &self.data)?;
        let other = other.map(|other| other.score(&data, &self.data)).transpose()?;
        let by_clicks = self.clicks.judge(&data, &self.data, &scores, other.as_deref())?;
        let by_grades = match by_clicks.is_some() && !is_graded(&data) {
            true => None,
            false => Some(self.by_grades(&data, &scores, other.as_deref())?),
        };
        progress.finish();
        if self.json {
            return print_json(&self.to_json(&data, by_grades.as_ref(), by_clicks.as_ref())?);
        }
        let mut text = by_grades.map(|by_grades| self.to_text(&data, &by_grades)).unwrap_or_default();
        if let Some(by_clicks) = by_clicks {
            text += if text.is_empty() { "" } else { "\n" };
            text += &to_text(&by_clicks, &name(&self.ranker), self.against.as_deref().map(name).as_deref());
        }
        print(&text)
    }

    fn by_grades(&self, data: &Dataset, scores: &[f32], other: Option<&[f32]>) -> Result<ByGrades> {
        let evaluator = self.measures.0.evaluator().max_grade(self.reading.max_grade);
        Ok(ByGrades {
            evaluation: evaluator.evaluate(data, scores)?,
            against: other.map(|scores| evaluator.evaluate(data, scores)).transpose()?,
        })
    }

    fn to_text(&self, data: &Dataset, by_grades: &ByGrades) -> String {
        let (evaluation, against) = (&by_grades.evaluation, by_grades.against.as_ref());
        let mut table = match (&self.against, against) {
            (Some(other), Some(_)) => Table::new([
                "measure".to_string(),
                name(&self.ranker),
                name(other),
                "difference".to_string(),
                "p".to_string(),
            ]),
            _ => Table::new(["measure".to_string(), name(&self.ranker)]),
        };
        for (m, &what) in evaluation.measures.iter().enumerate() {
            let mut row = vec![what.to_string(), measure(mean(evaluation, what))];
            if let Some(other) = against {
                row.push(measure(mean(other, what)));
                row.extend(difference(paired_t_test(&evaluation.values[m], &other.values[m])));
            }
            table.row(row);
        }
        format!(
            "{}{} queries, {} documents; {}\n",
            table.render(),
            thousands(data.query_count() as u64),
            thousands(data.len() as u64),
            self.about_empty(empty_queries(data))
        )
    }

    fn about_empty(&self, count: usize) -> String {
        let rule = match self.measures.0.empty {
            EmptyQueries::Zero => "scored 0",
            EmptyQueries::One => "scored 1 by nDCG and 0 by other measures",
            EmptyQueries::Skip => "left out",
        };
        match count {
            0 => "all queries have a relevant document".to_string(),
            1 => format!("1 query without a relevant document, {rule}"),
            count => format!("{} queries without a relevant document, {rule}", thousands(count as u64)),
        }
    }

    fn to_json(
        &self,
        data: &Dataset,
        by_grades: Option<&ByGrades>,
        by_clicks: Option<&ByClicks>,
    ) -> Result<serde_json::Value> {
        let measures = by_grades.map(|found| found.evaluation.to_json(found.against.as_ref(), self.per_query));
        let measures = measures.transpose()?.unwrap_or_default();
        let mut value = json!({
            "type": "truerank/evaluation", "version": 1,
            "ranker": self.ranker, "against": self.against, "queries": data.query_count(), "documents": data.len(),
            "empty_queries": empty_queries(data), "measures": measures,
        });
        if self.per_query {
            value["query_ids"] = (0..data.query_count()).map(|query| data.queries().name(query).into_owned()).collect();
        }
        if let Some(by_clicks) = by_clicks {
            value["clicks"] = by_clicks.to_json();
        }
        Ok(value)
    }
}

/// What grades say.
struct ByGrades {
    evaluation: Evaluation,
    against: Option<Evaluation>,
}

/// Text without labels has a grade of 0 everywhere.
fn is_graded(data: &Dataset) -> bool {
    data.grades().is_some_and(|grades| grades.iter().any(|&grade| grade > 0))
}

fn mean(evaluation: &Evaluation, measure: Measure) -> f64 {
    evaluation.mean(measure).unwrap_or(f64::NAN)
}

fn difference(test: Option<TTest>) -> [String; 2] {
    match test {
        Some(test) => [signed(test.difference), Format::PValue.print(test.p)],
        None => ["".to_string(), "".to_string()],
    }
}

fn empty_queries(data: &Dataset) -> usize {
    let Some(grades) = data.grades() else { return 0 };
    data.lists().filter(|rows| grades[rows.clone()].iter().all(|&grade| grade == 0)).count()
}

fn name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
