//! Compares two logs, or two estimates of examination: counts of yesterday and today enter, what changed and whether by more than chance leaves.
//!
//! # How a change is tested
//!
//! Sessions of one user, and of one query, are alike, so they are no independent observations: users (or queries) are. A rate is a
//! ratio R = Σ a / Σ b over them. With the rate R of both logs together, the difference is a sum over users,
//!
//! ```text
//! R_new − R_old = Σ_u ψ_u,   ψ_u = (a_u,new − R b_u,new) / B_new − (a_u,old − R b_u,old) / B_old
//! ```
//!
//! and where nothing changed, a user's two days could as well be exchanged, which turns the sign of ψ_u. So the p-value is how
//! often sums with random signs are as far from 0 as the difference. It asks for no normal distribution: with two users no p-value
//! is below 1/2. Both users and queries are tried, and the one with the larger standard error counts. Users past 4,096 are put
//! together at random; such groups are as independent as users are, and cost stays linear in the cells.
//!
//! Rates mix what people do with what they were shown. *The same document at the same position* compares within each (query,
//! document, position) that both logs have (Mantel and Haenszel 1959), so neither other documents nor other ranks change it.
//!
//! A change is *drift* if its p-value, corrected for the number of tests (Holm 1979; overall and by position are families of their own, and each is corrected for the other), is below `level`, and the change is at least
//! `least`: in long logs every change is significant.

mod accumulate;
mod page;
mod swaps;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::{Value, json};

use accumulate::Joined;
use swaps::Swaps;

use crate::counts::{CountsView, Totals};
use crate::options::options;
use crate::progress::Progress;
use crate::propensity::Propensities;
use crate::report::Verdict;
use crate::{Error, Result};

options! {
    /// How two logs are compared.
    #[derive(PartialEq)]
    pub struct Drift {
        /// Random exchanges of users' two days for each p-value.
        permutations: usize = 999, at_least(19.0), value("N");
        /// P-value, corrected for the number of tests, below which a change counts as found.
        level: f64 = 0.05, between(0.0, 1.0), value("P");
        /// Change that matters, relative to the old value: smaller ones are no drift, however significant.
        least: f64 = 0.02, at_least(0.0), value("SHARE");
        /// Seed for the exchanges.
        seed: u64 = 1;
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Clicks per shown document.
    ClickRate,
    /// Clicks per result page.
    ClicksPerPage,
    /// Mean position of clicks.
    ClickDepth,
    /// Documents per result page.
    PageLength,
    /// Clicks per shown document, of the same documents at the same positions.
    SamePlace,
    /// Which queries are asked: total variation distance of the shares of random groups of queries.
    QueryMix,
    /// Who asks: likewise of users.
    UserMix,
    /// Clicks per shown document at a position.
    AtPosition(u32),
    /// The same of the same documents.
    SamePlaceAt(u32),
    /// Examination of a position, relative to that of position 1 or on the files' own scale.
    Examination(u32),
}

impl Aspect {
    /// The aspect in words.
    pub fn title(self) -> String {
        match self {
            Aspect::ClickRate => "Click rate".into(),
            Aspect::ClicksPerPage => "Clicks per result page".into(),
            Aspect::ClickDepth => "Mean position of clicks".into(),
            Aspect::PageLength => "Documents per result page".into(),
            Aspect::SamePlace => "Click rate of the same documents at the same positions".into(),
            Aspect::QueryMix => "Which queries are asked".into(),
            Aspect::UserMix => "Who asks".into(),
            Aspect::AtPosition(position) => format!("Click rate at position {position}"),
            Aspect::SamePlaceAt(position) => format!("Click rate of the same documents at position {position}"),
            Aspect::Examination(position) => format!("Examination of position {position}"),
        }
    }

    /// Whether it is about one position.
    fn is_of_position(self) -> bool {
        matches!(self, Aspect::AtPosition(_) | Aspect::SamePlaceAt(_) | Aspect::Examination(_))
    }
}

/// One thing that may have changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// What is compared.
    pub aspect: Aspect,
    /// Its value in the old log; nothing of a distance.
    pub old: Option<f64>,
    /// In the new log.
    pub new: Option<f64>,
    /// New less old, or the distance.
    pub difference: f64,
    /// Its standard error, where it is known.
    pub standard_error: Option<f64>,
    /// What was taken as independent: users or queries.
    pub by: &'static str,
    /// The p-value, where there are two independent parts at least.
    pub p: Option<f64>,
    /// The p-value, corrected for the number of tests.
    pub corrected_p: Option<f64>,
    /// Whether this is drift.
    pub drifted: bool,
}

impl Change {
    /// The difference, relative to the old value; a distance as it is.
    pub fn relative(&self) -> f64 {
        match self.old {
            Some(old) if old > 0.0 => self.difference / old,
            _ => self.difference,
        }
    }
}

/// How much of a log the other one does not have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Overlap {
    /// Users, queries, or documents of a query.
    pub what: &'static str,
    /// How many are in both.
    pub shared: u64,
    /// How many are in the old log alone.
    pub gone: u64,
    /// In the new log alone.
    pub new: u64,
    /// Share of the old log's sessions, or impressions, that is theirs.
    pub gone_share: f64,
    /// Share of the new log's.
    pub new_share: f64,
}

/// Two logs, or two estimates of examination, side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What may have changed.
    pub changes: Vec<Change>,
    /// What only one of them has.
    pub overlaps: Vec<Overlap>,
    /// Totals of both, where they are logs.
    pub totals: Option<[Totals; 2]>,
    /// Options.
    pub options: Drift,
}

impl Drift {
    /// Compares two logs.
    pub fn compare(&self, old: &dyn CountsView, new: &dyn CountsView, progress: &dyn Progress) -> Result<Comparison> {
        let joined = Joined::read(old, new, progress)?;
        let swaps = Swaps { count: self.permutations, seed: self.seed };
        let changes = joined.changes(&swaps);
        Ok(self.finish(changes, joined.overlaps, Some([old.totals(), new.totals()])))
    }

    /// Compares two estimates of examination; p-values are those of the normal distribution, where files have standard errors.
    pub fn compare_propensities(&self, old: &Propensities, new: &Propensities) -> Result<Comparison> {
        if old.scale != new.scale {
            return Err(Error::parameter(format!(
                "one estimate of examination has the scale '{}', the other '{}', but only numbers of one scale can be compared; \
                 estimate both in the same way",
                old.scale, new.scale
            )));
        }
        let error = |of: &Propensities, at: usize| of.details.population.standard_errors.get(at).copied();
        let changes = old.population.iter().zip(&new.population).enumerate().map(|(at, (&before, &after))| {
            let errors = error(old, at).zip(error(new, at)).map(|(a, b)| a.hypot(b));
            let p = errors.filter(|&error| error > 0.0).map(|error| swaps::two_sided((after - before) / error));
            Change {
                p,
                standard_error: errors,
                by: "sessions",
                ..change(Aspect::Examination(at as u32 + 1), before, after)
            }
        });
        Ok(self.finish(changes.collect(), Vec::new(), None))
    }

    fn finish(&self, mut changes: Vec<Change>, overlaps: Vec<Overlap>, totals: Option<[Totals; 2]>) -> Comparison {
        correct(&mut changes);
        for change in &mut changes {
            let is_found = change.corrected_p.is_some_and(|p| p < self.level);
            change.drifted = is_found && change.relative().abs() >= self.least;
        }
        Comparison { changes, overlaps, totals, options: self.clone() }
    }
}

/// Two values, not tested yet.
fn change(aspect: Aspect, old: f64, new: f64) -> Change {
    Change {
        aspect,
        old: Some(old),
        new: Some(new),
        difference: new - old,
        standard_error: None,
        by: "",
        p: None,
        corrected_p: None,
        drifted: false,
    }
}

/// Corrects within what is compared overall and within what is compared by position, and for there being both: few users allow no
/// p-value that many positions would leave small.
fn correct(changes: &mut [Change]) {
    let (by_position, overall): (Vec<&mut Change>, Vec<&mut Change>) =
        changes.iter_mut().filter(|change| change.p.is_some()).partition(|change| change.aspect.is_of_position());
    let families = [by_position, overall].into_iter().filter(|family| !family.is_empty()).collect::<Vec<_>>();
    let count = families.len() as f64;
    families.into_iter().for_each(|family| holm(family, count));
}

/// Holm's correction: the least p-value is multiplied by the number of tests, the next by one less, and none is below one before it.
fn holm(mut changes: Vec<&mut Change>, families: f64) {
    changes.sort_by(|a, b| a.p.unwrap_or(1.0).total_cmp(&b.p.unwrap_or(1.0)));
    let (tests, mut least) = (changes.len(), 0.0f64);
    for (rank, change) in changes.into_iter().enumerate() {
        let corrected = change.p.map(|p| (families * p * (tests - rank) as f64).min(1.0).max(least));
        least = corrected.unwrap_or(least);
        change.corrected_p = corrected;
    }
}

impl Comparison {
    /// Whether nothing drifted: open where nothing could be tested.
    pub fn stability(&self) -> Verdict {
        match () {
            () if self.changes.iter().any(|change| change.drifted) => Verdict::DoesNotHold,
            () if self.changes.iter().all(|change| change.p.is_none()) => Verdict::Open,
            () => Verdict::Holds,
        }
    }

    /// All of it, for programs.
    pub fn to_json(&self) -> Value {
        let named = |totals: &Totals| -> Value {
            Value::Object(totals.named().into_iter().map(|(name, count)| (name.to_string(), json!(count))).collect())
        };
        json!({
            "drifted": self.stability().decided().map(|stable| !stable),
            "level": self.options.level,
            "least": self.options.least,
            "permutations": self.options.permutations,
            "changes": self.changes,
            "overlaps": self.overlaps,
            "totals": self.totals.as_ref().map(|[old, new]| json!({"old": named(old), "new": named(new)})),
        })
    }
}
