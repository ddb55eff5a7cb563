//! The part of `truerank evaluate` that logged clicks decide.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use truerank::Error;
use truerank::counts::{CountsView, Need, open_counts};
use truerank::data::Dataset;
use truerank::evaluate::{
    Bounds, ByClicks, ClickEvaluation, ClickJudge, JudgedRankers, Leakage, PairedDifference, leakage,
};
use truerank::memory::Memory;
use truerank::options::Options;
use truerank::propensity::Propensities;
use truerank::relevance::KnownLog;
use truerank::report::Format;

use super::common::together;
use super::memory::MemoryArguments;
use crate::options::Typed;
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

    #[command(flatten)]
    judge: Typed<ClickJudge>,

    /// With --clicks: counts that the ranker learned from; a query in both is an error
    #[arg(long, value_name = "COUNTS", requires = "clicks")]
    train_counts: Option<PathBuf>,

    /// With --train-counts: only say how many queries are in both
    #[arg(long, requires = "train_counts")]
    allow_shared_queries: bool,

    #[command(flatten)]
    memory: MemoryArguments,
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
        let (counts, train) = open_both(clicks, self.train_counts.as_deref(), &self.memory)?;
        let leakage = train.map(|train| leakage(train.as_ref(), counts.as_ref()));
        if let (Some(found), Some(train), false) = (&leakage, &self.train_counts, self.allow_shared_queries) {
            found.refuse().with_context(|| together(clicks, train))?;
        }
        let theta = Propensities::read(propensities)?;
        let found = self
            .judge
            .0
            .judge(&KnownLog::examined(counts.as_ref(), Some(data), &theta), scores, other)
            .with_context(|| format!("{} with {}", together(data_path, clicks), propensities.display()))?;
        Ok(Some(ByClicks { leakage, ..found }))
    }

    /// Refuses options without clicks to judge by.
    pub fn check(&self) -> truerank::Result<()> {
        match self.judge.0.first_given().or(self.memory.first_given()) {
            Some(name) if self.clicks.is_none() => Err(Error::option(name, "is for `clicks`, but there are none")),
            _ => Ok(()),
        }
    }
}

/// Opens counts, and those of the training part where there are any: each within half of the memory then.
pub fn open_both(test: &Path, train: Option<&Path>, memory: &MemoryArguments) -> Result<(View, Option<View>)> {
    let room = memory.room(None);
    let parts = if train.is_some() { 2 } else { 1 };
    let room = room.with_memory(Memory::new(room.memory().bytes() / parts));
    let open = |path: &Path| open_counts(path, &room, Need::Cells);
    Ok((open(test)?, train.map(open).transpose()?))
}

type View = Box<dyn CountsView>;

/// `128 of 1,000 queries are also in the training counts`.
pub fn leakage_text(found: &Leakage) -> String {
    let (shared, all) = (thousands(found.queries.len() as u64), thousands(found.test_queries as u64));
    wrap(&format!("{shared} of {all} queries are also in the training counts"))
}

/// A table of the pages, reordered and as they were shown, and one of all candidates.
pub fn to_text(found: &ByClicks, ranker: &str, against: Option<&str>) -> String {
    let pages = wrap("Result pages of the log, each reordered, beside the pages as they were shown:")
        + &table(&found.pages, Some(&found.as_shown), ranker, against);
    let candidates = wrap(
        "All documents of each query in one order (what was never shown earns nothing, so this compares rankers with each other, not with the pages):",
    ) + &table(&found.candidates, None, ranker, against);
    format!("{pages}\n{candidates}\n{}", about_log(found))
}

fn table(found: &JudgedRankers, as_shown: Option<&ClickEvaluation>, ranker: &str, against: Option<&str>) -> String {
    let mut header = vec!["by clicks".to_string(), ranker.to_string(), "95 %".to_string()];
    if let Some(against) = against {
        header.extend([against, "difference", "95 %", "p"].map(String::from));
    }
    let beyond = as_shown.filter(|_| against.is_none()).map(|shown| found.ranker.minus(shown));
    header.extend(as_shown.map(|_| "as shown".to_string()));
    header.extend(beyond.iter().flat_map(|_| ["difference", "95 %", "p"].map(String::from)));
    let mut table = Table::new(header);
    let differences = found.differences();
    for (place, measure) in found.ranker.measures.iter().enumerate() {
        let value = found.ranker.values[place];
        let mut row = vec![measure.to_string(), number(value.value), interval(value)];
        if let (Some(other), Some(differences)) = (&found.against, &differences) {
            let PairedDifference { bounds, p } = differences[place];
            row.extend([
                number(other.values[place].value),
                signed(bounds.value),
                interval(bounds),
                Format::PValue.print(p),
            ]);
        }
        row.extend(as_shown.map(|shown| number(shown.values[place].value)));
        if let Some(beyond) = &beyond {
            let PairedDifference { bounds, p } = beyond[place];
            row.extend([signed(bounds.value), interval(bounds), Format::PValue.print(p)]);
        }
        table.row(row);
    }
    table.render()
}

fn about_log(found: &ByClicks) -> String {
    let count = |value: usize| thousands(value as u64);
    let mut text = wrap(&format!(
        "{} pages of {} queries with {} clicks; of the {} documents in the candidates' top 10, {} were never shown",
        thousands(found.log.pages),
        count(found.log.queries),
        thousands(found.log.clicks),
        count(found.candidates.ranker.top),
        count(found.candidates.ranker.never_shown),
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

/// `+.0168`, `−.0587`.
pub(super) fn signed(value: f64) -> String {
    format!("{}{}", if value > 0.0 { "+" } else { "" }, number(value))
}

/// `.5123 to .5398`.
pub fn interval(bounds: Bounds) -> String {
    format!("{} to {}", number(bounds.low), number(bounds.high))
}
