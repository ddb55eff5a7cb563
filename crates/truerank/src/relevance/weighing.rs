//! How much a click in each cell counts toward its document's relevance.

use super::correction::{Divisor, Documents};
use super::examined::{Examined, Exposure};
use super::exposures::{Cells, Exposures, Source};
use super::summed::CellSums;
use super::{Clipped, Correction, Estimator, Relevance, Weight};
use crate::counts::Cell;
use crate::{Error, Result};

/// An estimator with everything that it takes from the log, ready to weigh clicks.
pub struct Weighing<'e> {
    pub(super) documents: Documents<'e>,
    pub(super) estimator: Estimator,
    pub(super) beta: Option<f64>,
    pub(super) divisor: Divisor,
    pub(super) correction: Correction,
}

impl<'e> Weighing<'e> {
    pub(super) fn exposures(&self) -> &'e Exposures<'e> {
        self.documents.exposures
    }

    /// The relevance weight of every shown document.
    pub fn relevance(&self) -> Result<Relevance> {
        let (queries, docs) = self.exposures().ids();
        Ok(Relevance {
            estimator: self.estimator.to_string(),
            beta: self.beta,
            correction: Correction { clipped: self.clipped(), ..self.correction },
            queries: queries.clone(),
            docs: docs.clone(),
            by_position: self.documents.by_position.clone(),
            weights: self.weights()?,
        })
    }

    fn weights(&self) -> Result<Vec<Weight>> {
        let log = match &self.exposures().source {
            Source::Cells(cells) => cells,
            Source::Sums { of_pairs, .. } => {
                return of_pairs.iter().enumerate().map(|(pair, sums)| self.weigh_sums(pair, sums)).collect();
            }
        };
        let mut weights = Vec::with_capacity(self.exposures().pairs.len());
        let weigh = |pairs: &mut dyn Iterator<Item = (usize, &[Cell])>| {
            pairs.map(|(pair, cells)| self.weigh(log, pair, cells)).collect::<Result<Vec<Weight>>>()
        };
        log.map_blocks(weigh, |of_block| weights.extend(of_block))?;
        Ok(weights)
    }

    fn weigh(&self, log: &Cells<'_>, pair: usize, cells: &[Cell]) -> Result<Weight> {
        let relevance = self.exposures().assumed_relevance(pair);
        let (mut weight, mut variance) = (self.kept_prior(pair), 0.0);
        for cell in cells {
            let exposure = log.examined.of(cell);
            if exposure.slope == 0.0 && cell.clicks == 0 {
                continue;
            }
            let (click_weight, shown) = (self.click_weight(log, pair, cell)?, cell.impressions as f64);
            weight += (cell.clicks as f64 - shown * self.mistaken(&exposure)) * click_weight;
            variance += shown * click_weight * click_weight * exposure.variance(relevance);
        }
        Ok(self.weight(pair, weight, variance))
    }

    /// The same from sums over the cells. Where a click counts by its own θ, sums are over θ already.
    fn weigh_sums(&self, pair: usize, sums: &CellSums) -> Result<Weight> {
        let of_pair = &self.exposures().pairs[pair];
        let prior = self.kept_prior(pair);
        if of_pair.exposure == 0.0 && of_pair.clicks == 0 {
            return Ok(self.weight(pair, prior, 0.0));
        }
        let (clicks, spread, are_possible) = match self.estimator {
            Estimator::Straightforward => (sums.relative_clicks, sums.relative_spread, !sums.has_unexamined_clicks),
            _ => (of_pair.clicks as f64, sums.spread, true),
        };
        match self.weight_at(pair, 1.0).filter(|_| are_possible) {
            Some(click_weight) => {
                Ok(self.weight(pair, prior + clicks * click_weight, spread * click_weight * click_weight))
            }
            None => Err(impossible_clicks(self.exposures(), pair)),
        }
    }

    fn weight(&self, pair: usize, weight: f64, variance: f64) -> Weight {
        let sums = &self.exposures().pairs[pair];
        Weight {
            query: sums.query,
            doc: sums.doc,
            weight,
            impressions: sums.impressions,
            clicks: sums.clicks,
            exposure: sums.exposure,
            divisor: self.divisor_of(pair),
            variance,
        }
    }

    /// The share of a cell's impressions whose clicks are expected whatever the relevance, as the estimator sees it.
    fn mistaken(&self, exposure: &Exposure) -> f64 {
        match self.estimator {
            Estimator::Naive => 0.0,
            Estimator::IpsPbm => exposure.average.1,
            _ => exposure.shift,
        }
    }

    /// What the clicks on a document are divided by; those of `straightforward` each by their own θ, too.
    fn divisor_of(&self, pair: usize) -> f64 {
        let sums = &self.exposures().pairs[pair];
        match self.estimator {
            Estimator::Naive | Estimator::Straightforward => sums.shown(),
            Estimator::IpsPbm => sums.average_exposure,
            Estimator::UserAware | Estimator::UserAwareSmoothed(_) => self.documents.divisor(pair, self.divisor),
        }
    }

    /// r̂·(1 − X/D): what is left of the prior.
    fn kept_prior(&self, pair: usize) -> f64 {
        let divisor = self.documents.divisor(pair, self.divisor);
        match self.estimator.divides_by_exposure() && divisor > 0.0 {
            true => self.documents.prior(pair, self.correction.mean) * (1.0 - self.documents.bases[pair] / divisor),
            false => 0.0,
        }
    }

    /// How much one click in `cell`, a cell of pair number `pair`, counts. A click where nobody looks is an error.
    pub(super) fn click_weight(&self, log: &Cells<'_>, pair: usize, cell: &Cell) -> Result<f64> {
        self.weight_at(pair, log.examined.of(cell).slope).ok_or_else(|| impossible_click(log, cell))
    }

    /// How much one click counts where its user looks with probability `theta`; nothing where there can be none.
    fn weight_at(&self, pair: usize, theta: f64) -> Option<f64> {
        let sums = &self.exposures().pairs[pair];
        let (probability, divisor) = match self.estimator {
            Estimator::Naive => (1.0, sums.shown()),
            Estimator::IpsPbm => (sums.average_exposure, sums.average_exposure),
            Estimator::Straightforward => (theta, sums.shown() * theta),
            Estimator::UserAware | Estimator::UserAwareSmoothed(_) => {
                (self.documents.bases[pair], self.divisor_of(pair))
            }
        };
        ((1.0 / divisor).is_finite() && probability > 0.0).then_some(1.0 / divisor)
    }

    /// What the clip concerns, of all clicks and exposure.
    pub fn clipped(&self) -> Clipped {
        let (mut clipped, mut clicks, mut exposure) = (Clipped::default(), 0.0, 0.0);
        for (sums, &base) in self.exposures().pairs.iter().zip(&self.documents.bases) {
            clicks += sums.clicks as f64;
            exposure += sums.exposure;
            if base < self.divisor.clip * sums.shown() {
                clipped.documents += 1;
                clipped.clicks += sums.clicks as f64;
                clipped.exposure += sums.exposure;
            }
        }
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Clipped { clicks: share(clipped.clicks, clicks), exposure: share(clipped.exposure, exposure), ..clipped }
    }
}

fn impossible_click(log: &Cells<'_>, cell: &Cell) -> Error {
    let counts = log.counts;
    let what = match log.examined {
        Examined::ByPosition(_) => "these propensities do",
        Examined::ByModel(_) => "this click model does",
    };
    Error::parameter(format!(
        "user {} clicked document {} of query {} at position {}, but its examination there is 0; \
         {what} not fit this log",
        counts.users().name(cell.user as usize),
        counts.docs().name(cell.doc as usize),
        counts.queries().name(cell.query as usize),
        cell.position
    ))
}

/// The same where cells are not at hand.
fn impossible_clicks(exposures: &Exposures<'_>, pair: usize) -> Error {
    let ((queries, docs), pair) = (exposures.ids(), &exposures.pairs[pair]);
    Error::parameter(format!(
        "document {} of query {} was clicked where its examination is 0; these propensities do not fit this log",
        docs.name(pair.doc as usize),
        queries.name(pair.query as usize)
    ))
}
