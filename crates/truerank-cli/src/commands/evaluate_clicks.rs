//! The part of `truerank evaluate` that logged clicks decide.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use truerank::counts::Counts;
use truerank::data::Dataset;
use truerank::evaluate::{Bounds, ByClicks, ClickJudge, Leakage, PairedDifference, leakage};
use truerank::propensity::Propensities;
use truerank::relevance::Estimator;
use truerank::report::Format;

use super::common::together;
use super::evaluate::p_value;
use crate::output::{Table, thousands, wrap};

/// The clicks that judge.
#[derive(clap::Args)]
pub struct ClickArguments {
    /// Counts of a log whose clicks judge the ranker (`truerank count`)
    #[arg(long, value_name = "COUNTS", requires = "propensities")]
    clicks: Option<PathBuf>,

    /// With --clicks: examination probabilities of users and positions
    #[arg(long, value_name = "FILE", requires = "clicks")]
    propensities: Option<PathBuf>,

    /// With --clicks: how clicks are weighed; naive, ips-pbm, straightforward, user-aware or user-aware-smoothed
    #[arg(long, default_value = "user-aware", requires = "clicks")]
    estimator: Estimator,

    /// With --clicks: raise exposures below this share of the document's impressions to it
    #[arg(long, value_name = "SHARE", requires = "clicks")]
    clip: Option<f64>,

    /// With --clicks: divide DCG by the sum of all click weights
    #[arg(long, requires = "clicks")]
    self_normalised: bool,

    /// With --clicks: rank only documents that were shown, as if the others were not there
    #[arg(long, requires = "clicks")]
    shown_only: bool,

    /// With --clicks: counts that the ranker learned from; a query in both is an error
    #[arg(long, value_name = "COUNTS", requires = "clicks")]
    train_counts: Option<PathBuf>,

    /// With --train-counts: only say how many queries are in both
    #[arg(long, requires = "train_counts")]
    allow_shared_queries: bool,
}

impl ClickArguments {
    /// Judges rankings of `data`, where clicks are given.
    pub fn judge(
        &self,
        data: &Dataset,
        data_path: &Path,
        scores: &[f32],
        other: Option<&[f32]>,
    ) -> Result<Option<ByClicks>> {
        let (Some(clicks), Some(propensities)) = (&self.clicks, &self.propensities) else { return Ok(None) };
        let counts = Counts::read(clicks)?;
        let leakage = check_leakage(self.train_counts.as_deref(), self.allow_shared_queries, &counts, clicks)?;
        let theta = Propensities::read(propensities)?;
        let mut judge = ClickJudge::new()
            .estimator(self.estimator)
            .self_normalised(self.self_normalised)
            .shown_only(self.shown_only);
        if let Some(clip) = self.clip {
            judge = judge.clip(clip);
        }
        let found = judge
            .judge(data, &counts, &theta, scores, other)
            .with_context(|| format!("{} with {}", together(data_path, clicks), propensities.display()))?;
        Ok(Some(ByClicks { leakage, ..found }))
    }
}

/// Refuses queries that are also in the training counts, or says how many there are.
pub fn check_leakage(
    train: Option<&Path>,
    allow_shared: bool,
    test: &Counts,
    test_path: &Path,
) -> Result<Option<Leakage>> {
    let Some(train_path) = train else { return Ok(None) };
    let found = leakage(&Counts::read(train_path)?, test);
    if !allow_shared {
        found.refuse().with_context(|| together(test_path, train_path))?;
    }
    Ok(Some(found))
}

/// `128 of 1,000 queries are also in the training counts`.
pub fn leakage_text(found: &Leakage) -> String {
    let (shared, all) = (thousands(found.queries.len() as u64), thousands(found.test_queries as u64));
    wrap(&format!("{shared} of {all} queries are also in the training counts"))
}

/// A table with the ranker, the one it is compared with, and the lists as they were shown.
pub fn to_text(found: &ByClicks, ranker: &str, against: Option<&str>) -> String {
    let mut header = vec!["by clicks".to_string(), ranker.to_string(), "95 %".to_string()];
    if let Some(against) = against {
        header.extend([against, "difference", "95 %", "p"].map(String::from));
    }
    header.push("as shown".to_string());
    let mut table = Table::new(header);
    let differences = found.against.as_ref().map(|other| found.ranker.minus(other));
    for (place, measure) in found.ranker.measures.iter().enumerate() {
        let value = found.ranker.values[place];
        let mut row = vec![measure.to_string(), number(value.value), interval(value)];
        if let (Some(other), Some(differences)) = (&found.against, &differences) {
            let PairedDifference { bounds, p } = differences[place];
            let signed = format!("{}{}", if bounds.value > 0.0 { "+" } else { "" }, number(bounds.value));
            row.extend([number(other.values[place].value), signed, interval(bounds), p_value(p)]);
        }
        row.push(number(found.logged.values[place].value));
        table.row(row);
    }
    table.render() + &about_log(found)
}

fn about_log(found: &ByClicks) -> String {
    let count = |value: usize| thousands(value as u64);
    let mut text = wrap(&format!(
        "{} queries with {} clicks; {} of the {} documents in the top 10 were never shown and earn nothing",
        count(found.log.queries),
        thousands(found.log.clicks),
        count(found.ranker.never_shown),
        count(found.ranker.top),
    ));
    if found.log.unknown_queries + found.log.unknown_docs > 0 {
        text += &wrap(&format!(
            "not in the data: {} queries of the log, {} shown documents of the others",
            count(found.log.unknown_queries),
            count(found.log.unknown_docs)
        ));
    }
    if let Some(clip) = found.clip {
        let clipped = found.log.clipped;
        text += &wrap(&format!(
            "clipped at {clip}: {} documents, with {} of the clicks",
            thousands(clipped.documents),
            Format::Percent.print(clipped.clicks)
        ));
    }
    text + &found.leakage.as_ref().map(leakage_text).unwrap_or_default()
}

fn number(value: f64) -> String {
    Format::Measure.print(value)
}

/// `.5123 to .5398`.
pub fn interval(bounds: Bounds) -> String {
    format!("{} to {}", number(bounds.low), number(bounds.high))
}
