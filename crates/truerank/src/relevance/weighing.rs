//! How much a click in each cell counts toward its document's relevance.

use super::correction::{Divisor, Documents};
use super::examined::{Examined, Exposure};
use super::exposures::Exposures;
use super::{Clipped, Correction, Estimator, Relevance, Weight};
use crate::counts::{Cell, CountsView};
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
        let mut weights = Vec::with_capacity(self.exposures().pairs.len());
        let weigh = |pairs: &mut dyn Iterator<Item = (usize, &[Cell])>| {
            pairs.map(|(pair, cells)| self.weigh(pair, cells)).collect::<Result<Vec<Weight>>>()
        };
        self.exposures().map_blocks(weigh, |of_block| weights.extend(of_block))?;
        let counts = self.exposures().counts;
        Ok(Relevance {
            estimator: self.estimator.to_string(),
            beta: self.beta,
            correction: Correction { clipped: self.clipped(), ..self.correction },
            queries: counts.queries().clone(),
            docs: counts.docs().clone(),
            by_position: self.documents.by_position.clone(),
            weights,
        })
    }

    fn weigh(&self, pair: usize, cells: &[Cell]) -> Result<Weight> {
        let exposures = self.exposures();
        let sums = &exposures.pairs[pair];
        let relevance = ((sums.earned() + exposures.moments.mean) / (sums.exposure + 1.0)).clamp(0.0, 1.0);
        let (mut weight, mut variance) = (self.kept_prior(pair), 0.0);
        for cell in cells {
            let exposure = exposures.examined.of(cell);
            if exposure.slope == 0.0 && cell.clicks == 0 {
                continue;
            }
            let (click_weight, shown) = (self.click_weight(pair, cell)?, cell.impressions as f64);
            weight += (cell.clicks as f64 - shown * self.mistaken(&exposure)) * click_weight;
            variance += shown * click_weight * click_weight * exposure.variance(relevance);
        }
        Ok(Weight {
            query: sums.query,
            doc: sums.doc,
            weight,
            impressions: sums.impressions,
            clicks: sums.clicks,
            exposure: sums.exposure,
            divisor: self.divisor_of(pair),
            variance,
        })
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
    pub(super) fn click_weight(&self, pair: usize, cell: &Cell) -> Result<f64> {
        let exposures = self.exposures();
        let sums = &exposures.pairs[pair];
        let theta = exposures.examined.of(cell).slope;
        let (probability, divisor) = match self.estimator {
            Estimator::Naive => (1.0, sums.shown()),
            Estimator::IpsPbm => (sums.average_exposure, sums.average_exposure),
            Estimator::Straightforward => (theta, sums.shown() * theta),
            Estimator::UserAware | Estimator::UserAwareSmoothed(_) => {
                (self.documents.bases[pair], self.divisor_of(pair))
            }
        };
        match (1.0 / divisor).is_finite() && probability > 0.0 {
            true => Ok(1.0 / divisor),
            false => Err(impossible_click(exposures, cell)),
        }
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

fn impossible_click(exposures: &Exposures<'_>, cell: &Cell) -> Error {
    let counts: &dyn CountsView = exposures.counts;
    let what = match exposures.examined {
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
