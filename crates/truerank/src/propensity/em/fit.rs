//! θ and γ of given observations, by accelerated EM.

use super::crossfit::CrossFit;
use super::design::Design;
use super::expectation::Weighted;
use super::hierarchy::{Clicks, Hierarchy, Slots};
use super::logistic::{Logistic, sigmoid};
use super::prior::Mean;
use super::relevance::{Fixed, MARGIN, RelevanceModel, Tabular};
use super::squarem::{Found, Iteration, Squarem, extrapolate};
use super::{RelevanceForm, RelevancePrior};
use crate::Result;
use crate::data::Dataset;
use crate::network::Architecture;
use crate::progress::{Progress, Silent};
use crate::propensity::observations::Observed;
use crate::propensity::users::Kinds;

/// What γ is regressed on, fixed once for a fit and all its resamples.
pub(super) struct Basis<'a> {
    /// Features, or features and a network's scores. Without, each document stands for itself.
    columns: Option<Box<Design<'a>>>,
    prior: RelevancePrior,
}

/// θ of each slot and γ of each document.
#[derive(Clone)]
pub(super) struct Fitted {
    pub examination: Vec<f64>,
    pub relevance: Vec<f64>,
    /// The parameters of γ, to start from next time.
    pub parameters: Vec<f64>,
    /// The log-likelihood before each step that was kept.
    pub log_likelihood: Vec<f64>,
    pub converged: bool,
    /// Impressions that it is the likelihood of.
    pub impressions: f64,
    /// Impressions of each slot by the relevance of what was shown, where γ has a prior.
    pub exposed: Vec<f64>,
    /// How many of the parameters, the last ones, are the prior's: the logarithm of its shape, then those of its mean.
    pub of_documents: usize,
}

impl Fitted {
    /// The shape of the documents' prior.
    pub fn shape(&self) -> f64 {
        self.parameters[self.parameters.len() - self.of_documents].exp()
    }
}

/// θ given the networks' γ: roughly, as both change again.
const ROUGHLY: Squarem = Squarem { iterations: 30, tolerance: 1e-7, accelerated: true };

/// Start of γ where no clicks are known to tell better.
const FALLBACK_START: f64 = 0.1;

impl<'a> Basis<'a> {
    /// What `form` needs; networks are trained here.
    ///
    /// An MLP enters as one more column: the scores of networks that did not see a document's query. The regression
    /// on this column and the features keeps γ calibrated within each position, which the networks alone are not.
    pub fn new(
        (form, prior): (&RelevanceForm, RelevancePrior),
        features: Option<(&'a Dataset, &[u32])>,
        weighted: &Weighted<'_>,
        squarem: Squarem,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (RelevanceForm::Linear | RelevanceForm::Mlp(_), Some((data, rows))) = (form, features) else {
            return Ok(Basis::table(prior));
        };
        let design = Design::new(data, rows.to_vec());
        let RelevanceForm::Mlp(architecture) = form else {
            return Ok(Basis { columns: Some(Box::new(design)), prior });
        };
        progress.begin("first regression", squarem.iterations as u64);
        let first = climb(|gamma| Logistic::new(&design, gamma), weighted, None, squarem, progress)?;
        let scores = network_scores(architecture, &data.filled(), rows, weighted, first.examination, seed, progress)?;
        Ok(Basis { columns: Some(Box::new(design.with_column(&scores))), prior })
    }

    /// Without features.
    pub fn table(prior: RelevancePrior) -> Self {
        Basis { columns: None, prior }
    }

    /// The same for some of the documents.
    pub fn select(&self, docs: &[u32]) -> Basis<'_> {
        Basis { columns: self.columns.as_ref().map(|design| Box::new(design.select(docs))), prior: self.prior }
    }

    /// Fits θ and γ, from where `start` left them.
    pub fn fit(
        &self,
        weighted: &Weighted<'_>,
        start: Option<&Fitted>,
        squarem: Squarem,
        progress: &dyn Progress,
    ) -> Result<Fitted> {
        match (&self.columns, self.prior) {
            (_, RelevancePrior::Fitted) => self.fit_hierarchy(weighted, start, squarem, progress),
            (None, RelevancePrior::None) => {
                let docs = weighted.observations.docs().len();
                climb(|gamma| Tabular::new(docs, gamma), weighted, start, squarem, progress)
            }
            (Some(design), RelevancePrior::None) => {
                climb(|gamma| Logistic::new(design, gamma), weighted, start, squarem, progress)
            }
        }
    }

    fn fit_hierarchy(
        &self,
        weighted: &Weighted<'_>,
        start: Option<&Fitted>,
        squarem: Squarem,
        progress: &dyn Progress,
    ) -> Result<Fitted> {
        let clicks = Clicks::new(weighted.observations, weighted.weights.clone())?;
        let clicks = if self.columns.is_some() { clicks.counted_by_sessions()? } else { clicks };
        let fit = Hierarchy::new(&clicks, self.mean(&clicks), Slots::Free);
        let start = start.map_or_else(|| fit.start(), |start| start.parameters.clone());
        Ok(fit.run(start, squarem, progress)?.0)
    }

    /// Fits kinds of users, from θ of users as given and from what `known` says of documents.
    pub fn fit_kinds(
        &self,
        clicks: &Clicks<'_>,
        known: &Fitted,
        (kinds, theta): (Kinds, &[f64]),
        squarem: Squarem,
        progress: &dyn Progress,
    ) -> Result<(Fitted, Kinds)> {
        let mut fit = Hierarchy::new(clicks, self.mean(clicks), Slots::Kinds(kinds));
        let start = fit.start_from(known, theta);
        match fit.run(start, squarem, progress)? {
            (fitted, Slots::Kinds(kinds)) => Ok((fitted, kinds)),
            (_, Slots::Free) => unreachable!("what was given is given back"),
        }
    }

    /// The mean of each document's prior after a fit to `observations`.
    pub fn means(&self, observations: &dyn Observed, fitted: &Fitted) -> Result<Vec<f64>> {
        let mut mean = self.mean(&Clicks::new(observations, None)?);
        mean.set_parameters(&fitted.parameters[fitted.parameters.len() - fitted.of_documents + 1..]);
        Ok((0..observations.docs().len()).map(|doc| mean.of(doc)).collect())
    }

    /// The mean of each document's prior before a fit.
    pub fn mean<'d>(&'d self, clicks: &Clicks<'_>) -> Mean<'d> {
        match &self.columns {
            None => clicks.mean_by_place(),
            Some(design) => Mean::by_features(design, clicks.first_guess.1),
        }
    }
}

/// Fits θ and the model of γ that `model` makes for a first γ, from where `start` left both.
fn climb<M: RelevanceModel>(
    model: impl FnOnce(f64) -> M,
    weighted: &Weighted<'_>,
    start: Option<&Fitted>,
    squarem: Squarem,
    progress: &dyn Progress,
) -> Result<Fitted> {
    let (positions, groups) = (weighted.observations.positions(), weighted.observations.groups());
    let (examination, gamma) = first_guess(positions, groups, &weighted.shown_in_slot, &weighted.clicks_in_slot);
    let mut model = model(gamma);
    let x = match start {
        Some(start) => [start.examination.as_slice(), &start.parameters].concat(),
        None => [examination.as_slice(), model.parameters()].concat(),
    };
    let found = squarem.run(x, &mut Em { weighted, model: &mut model }, progress)?;
    Ok(fitted(found, weighted, &mut model))
}

fn fitted(found: Found<Vec<f64>>, weighted: &Weighted<'_>, model: &mut dyn RelevanceModel) -> Fitted {
    let (examination, parameters) = found.x.split_at(weighted.observations.slot_count());
    model.set_parameters(parameters);
    Fitted {
        examination: examination.to_vec(),
        relevance: model.values().to_vec(),
        parameters: parameters.to_vec(),
        log_likelihood: found.log_likelihood,
        converged: found.converged,
        impressions: weighted.impressions(),
        exposed: Vec::new(),
        of_documents: 0,
    }
}

/// The networks' best scores of queries they did not see.
fn network_scores(
    architecture: &Architecture,
    data: &Dataset,
    rows: &[u32],
    weighted: &Weighted<'_>,
    mut examination: Vec<f64>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let mut networks = CrossFit::new(architecture, data, rows, weighted.observations.docs(), seed)?;
    networks.train(progress, |networks| {
        networks.epoch(|docs, relevance| weighted.slopes(docs, relevance, &examination))?;
        let scores = networks.scores();
        let mut fixed = Fixed { values: scores.iter().map(|score| sigmoid(*score)).collect() };
        let found = ROUGHLY.run(examination.clone(), &mut Em { weighted, model: &mut fixed }, &Silent)?;
        examination = found.x;
        let value = found.log_likelihood.last().copied().unwrap_or(f64::NEG_INFINITY);
        Ok((value / weighted.impressions(), scores))
    })
}

/// θ as if all positions showed equally relevant documents, and γ that goes with it.
pub(crate) fn first_guess(positions: usize, groups: usize, shown: &[f64], clicks: &[f64]) -> (Vec<f64>, f64) {
    let mut sums = vec![(0.0, 0.0); positions];
    for (slot, (shown, clicks)) in shown.iter().zip(clicks).enumerate() {
        let sum = &mut sums[slot % positions];
        *sum = (sum.0 + shown, sum.1 + clicks);
    }
    let rates: Vec<f64> = sums.iter().map(|(shown, clicks)| clicks / shown.max(1.0)).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    if most == 0.0 {
        return (vec![0.5; positions * groups], FALLBACK_START);
    }
    let curve: Vec<f64> = rates.iter().map(|rate| (0.9 * rate / most).max(0.01)).collect();
    (curve.repeat(groups), (most / 0.9).min(0.9))
}

/// EM as a fixed-point iteration on θ of all slots, followed by the parameters of γ.
struct Em<'a> {
    weighted: &'a Weighted<'a>,
    model: &'a mut dyn RelevanceModel,
}

impl Em<'_> {
    fn slots(&self) -> usize {
        self.weighted.shown_in_slot.len()
    }
}

impl Iteration for Em<'_> {
    type Point = Vec<f64>;

    fn step(&mut self, x: &mut Vec<f64>) -> Result<f64> {
        let (examination, parameters) = x.split_at_mut(self.slots());
        if self.model.parameters() != parameters {
            self.model.set_parameters(parameters);
        }
        let expectation = self.weighted.expect(examination, self.model.values())?;
        self.model.update(&expectation.relevant, &self.weighted.shown);
        let sums = expectation.examined.iter().zip(&self.weighted.shown_in_slot);
        for (theta, (examined, shown)) in examination.iter_mut().zip(sums) {
            // A slot that a resample left out keeps its θ.
            if *shown > 0.0 {
                *theta = examined / shown;
            }
        }
        parameters.copy_from_slice(self.model.parameters());
        Ok(expectation.log_likelihood)
    }

    fn jump(&mut self, points: [&Vec<f64>; 3], farthest: f64) -> Result<(Vec<f64>, f64)> {
        let (mut x, length) = extrapolate(points.map(Vec::as_slice), farthest);
        let (examination, parameters) = x.split_at_mut(self.slots());
        examination.iter_mut().for_each(|theta| *theta = theta.clamp(MARGIN, 1.0 - MARGIN));
        self.model.restrict(parameters);
        Ok((x, length))
    }
}
