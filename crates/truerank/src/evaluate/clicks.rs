//! Judges a click model: how likely it makes the clicks of a log that it did not see.

use super::bootstrap::{Bounds, PairedDifference, Ratio, Resampling, resampled};
use crate::click_model::{ClickModel, CountedClicks, Exposed, ModelCell};
use crate::counts::{Cell, CountsView, by_document};
use crate::propensity::{Examination, Propensities};
use crate::relevance::PredictedRelevance;
use crate::{Error, Result};

/// Probabilities stay this far from 0 and 1, where one surprise would cost infinitely much.
const MARGIN: f64 = 1e-6;

/// How well clicks of a held-out log were predicted by `P(click) = θ(u,k)·γ(q,d)`, beside three baselines.
///
/// ```
/// use truerank::data::{Generator, Preset};
/// use truerank::evaluate::{ClickPrediction, Resampling};
/// use truerank::progress::Silent;
/// use truerank::ranker::Production;
/// use truerank::relevance::{Estimator, PredictedRelevance, estimate};
/// use truerank::simulate::Simulation;
///
/// let data = Generator::preset(Preset::Tiny).generate()?.train;
/// let lists = [Production::new().production_share(0.1).lists(&data, 1, &Silent)?];
/// let users = Simulation::new().sessions(50_000).world_seed(Some(1));
/// let (earlier, later) = (users.clone().seed(1).prepare(&data, &lists)?, users.seed(2).prepare(&data, &lists)?);
/// let (training, held_out, propensities) = (earlier.counts()?, later.counts()?, earlier.propensities());
///
/// let relevance = estimate(&training, &propensities, Estimator::UserAware)?;
/// let predicted = PredictedRelevance::from(&relevance);
/// let found = ClickPrediction::of(&held_out, &propensities, &predicted, Some(&training), &Resampling::new())?;
/// assert!(found.model.perplexity.value < found.by_position.perplexity.value);
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ClickPrediction {
    /// Impressions that were predicted.
    pub impressions: u64,
    /// Shown documents without a γ, which got the prior of the position where they were shown, or the mean of those that
    /// have one.
    pub unknown_docs: usize,
    /// Impressions of such documents.
    pub unknown_impressions: u64,
    /// Impressions whose probability was outside of [1e-6, 1 − 1e-6] and was moved there.
    pub clamped: u64,
    /// θ times γ.
    pub model: ClickLikelihood,
    /// The click rate of each position.
    pub by_position: ClickLikelihood,
    /// The click rate of each document, with one impression of the overall rate beside, which documents that the training log
    /// did not show get alone.
    pub by_document: ClickLikelihood,
    /// One click rate for all.
    pub overall: ClickLikelihood,
    /// The log-likelihood per impression of the model less that of the click rates by position.
    pub gain: PairedDifference,
    /// The model at each position that occurs.
    pub positions: Vec<PredictedPosition>,
}

/// How likely clicks are, with intervals over queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClickLikelihood {
    /// The mean of `ln P(what happened)` over impressions.
    pub log_likelihood: Bounds,
    /// `2^(−mean log2 P(what happened))`: 1 is perfect, 2 a coin.
    pub perplexity: Bounds,
}

/// How well the clicks at one position were predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedPosition {
    /// The position, from 1.
    pub position: u32,
    /// Its impressions.
    pub impressions: u64,
    /// Clicks per impression.
    pub click_rate: f64,
    /// The mean of the predicted probabilities.
    pub predicted_rate: f64,
    /// The model's perplexity.
    pub perplexity: Bounds,
    /// The perplexity of the position's click rate.
    pub baseline: f64,
}

impl ClickPrediction {
    /// Predicts the clicks of `held_out`, with γ by (query, document) from `relevance`, such as the weights of an earlier
    /// part of the log. The baselines' click rates are those of `training`, or without it of the held-out log itself, which
    /// makes them hard to beat. Intervals are percentiles over resamples of queries.
    pub fn of(
        held_out: &dyn CountsView,
        propensities: &Propensities,
        relevance: &PredictedRelevance,
        training: Option<&dyn CountsView>,
        resampling: &Resampling,
    ) -> Result<Self> {
        let examination = Examination::new(propensities, held_out)?;
        let click = |_: usize, cell: &Cell, gamma: f64| examination.of(cell.user, cell.position) * gamma;
        let cells = |take: &mut dyn FnMut(&[Cell])| held_out.for_each_cells(take);
        let docs = held_out.shown_docs()?;
        ClickPrediction::tallied(held_out, &docs, cells, relevance, training, resampling, click)
    }

    /// The same with the exposure that a click model gives each document, given the clicks above it: `held_out` needs its click
    /// transitions. γ of documents above, where exposure depends on them, is the model's own.
    pub fn of_model(
        held_out: &dyn CountsView,
        model: &ClickModel,
        relevance: &PredictedRelevance,
        training: Option<&dyn CountsView>,
        resampling: &Resampling,
    ) -> Result<Self> {
        let clicks = CountedClicks::of(held_out)?;
        let mut cells = model.on(&clicks.log())?.cells();
        // Stable: within a document in the order of lists.
        cells.sort_by_key(|cell| (cell.query, cell.doc));
        let (exposed, cells): (Vec<Exposed>, Vec<Cell>) = cells.iter().map(|cell| (cell.exposed, seen(cell))).unzip();
        let click = |number: usize, _: &Cell, gamma: f64| exposed[number].click(gamma);
        let docs: Vec<(u32, u32)> = by_document(&cells).map(|of_doc| (of_doc[0].query, of_doc[0].doc)).collect();
        let all = |take: &mut dyn FnMut(&[Cell])| {
            take(&cells);
            Ok(())
        };
        ClickPrediction::tallied(held_out, &docs, all, relevance, training, resampling, click)
    }

    /// Predicts the clicks of cells of the held-out log, sorted by query and document, with `click(number of the cell, cell, γ)`. They
    /// come by `cells`, those of a document at once; `docs` are their documents.
    fn tallied(
        held_out: &dyn CountsView,
        docs: &[(u32, u32)],
        cells: impl FnOnce(&mut dyn FnMut(&[Cell])) -> Result<()>,
        relevance: &PredictedRelevance,
        training: Option<&dyn CountsView>,
        resampling: &Resampling,
        click: impl Fn(usize, &Cell, f64) -> f64,
    ) -> Result<Self> {
        if docs.is_empty() {
            return Err(Error::parameter("the held-out log is empty, so there is nothing to predict"));
        }
        let known = training.unwrap_or(held_out);
        let rates = Rates::of(known)?;
        let values = |of: &PredictedRelevance| of.of_docs(held_out.queries(), held_out.docs(), docs.iter().copied());
        let (gammas, of_documents) = (values(relevance), values(&document_rates(known, rates.overall)?));
        let mut values = gammas.into_iter().zip(of_documents);
        let (mut tally, mut number) = (Tally::new(held_out), 0);
        cells(&mut |cells| {
            for (cells, (gamma, rate)) in by_document(cells).zip(&mut values) {
                tally.begin(cells, gamma.is_none());
                for cell in cells {
                    let gamma = gamma.unwrap_or_else(|| relevance.at_position(cell.position));
                    let (probability, rate) = (click(number, cell, gamma), rate.unwrap_or(rates.overall));
                    tally.add(cell, [probability, rates.at(cell.position), rate, rates.overall]);
                    number += 1;
                }
            }
        })?;
        Ok(tally.finish(resampling))
    }
}

/// What was seen of a document after one click above it.
fn seen(cell: &ModelCell) -> Cell {
    let &ModelCell { query, doc, position, user, shown, clicks, .. } = cell;
    Cell { query, doc, position, user, impressions: shown, clicks }
}

/// Clicks per impression, by position and over all.
struct Rates {
    by_position: Vec<f64>,
    overall: f64,
}

impl Rates {
    fn of(counts: &dyn CountsView) -> Result<Self> {
        let totals = counts.totals();
        let mut sums = vec![(0.0, 0.0); totals.max_position as usize];
        counts.for_each_cells(|cells| {
            for cell in cells {
                let sum = &mut sums[cell.position as usize - 1];
                *sum = (sum.0 + cell.clicks as f64, sum.1 + cell.impressions as f64);
            }
        })?;
        let overall = totals.clicks as f64 / totals.impressions.max(1) as f64;
        let rate = |(clicks, shown): (f64, f64)| if shown > 0.0 { clicks / shown } else { overall };
        Ok(Rates { by_position: sums.into_iter().map(rate).collect(), overall })
    }

    /// The rate at a position; the overall one where the log does not reach.
    fn at(&self, position: u32) -> f64 {
        self.by_position.get(position as usize - 1).copied().unwrap_or(self.overall)
    }
}

/// The click rate of each document of each query, with one impression of the overall rate beside.
fn document_rates(counts: &dyn CountsView, overall: f64) -> Result<PredictedRelevance> {
    let rate = |cells: &[Cell]| {
        let sum = |value: fn(&Cell) -> u64| cells.iter().map(value).sum::<u64>() as f64;
        (cells[0].query, cells[0].doc, (sum(|cell| cell.clicks) + overall) / (sum(|cell| cell.impressions) + 1.0))
    };
    let mut values = Vec::new();
    counts.for_each_cells(|cells| values.extend(by_document(cells).map(rate)))?;
    PredictedRelevance::new(counts.queries().clone(), counts.docs().clone(), values)
}

/// Sums by query: log-likelihood over impressions.
struct Tally {
    found: ClickPrediction,
    /// Of the model and the baselines, in the order of [`ClickPrediction`].
    ratios: [Ratio; 4],
    at: Vec<AtPosition>,
}

/// Sums of one position.
#[derive(Clone)]
struct AtPosition {
    ratio: Ratio,
    impressions: u64,
    clicks: u64,
    predicted: f64,
    baseline: f64,
}

const NOTHING: Bounds = Bounds { value: f64::NAN, low: f64::NAN, high: f64::NAN };

impl Tally {
    fn new(counts: &dyn CountsView) -> Self {
        let queries = counts.queries().len();
        let zeros = || Ratio { numerators: vec![0.0; queries], denominators: vec![0.0; queries] };
        let at = || AtPosition { ratio: zeros(), impressions: 0, clicks: 0, predicted: 0.0, baseline: 0.0 };
        let unknown = ClickLikelihood { log_likelihood: NOTHING, perplexity: NOTHING };
        Tally {
            found: ClickPrediction {
                impressions: 0,
                unknown_docs: 0,
                unknown_impressions: 0,
                clamped: 0,
                model: unknown,
                by_position: unknown,
                by_document: unknown,
                overall: unknown,
                gain: PairedDifference { bounds: NOTHING, p: 1.0 },
                positions: Vec::new(),
            },
            ratios: [zeros(), zeros(), zeros(), zeros()],
            at: (0..counts.totals().max_position).map(|_| at()).collect(),
        }
    }

    fn begin(&mut self, cells: &[Cell], unknown: bool) {
        let impressions: u64 = cells.iter().map(|cell| cell.impressions).sum();
        self.found.impressions += impressions;
        if unknown {
            self.found.unknown_docs += 1;
            self.found.unknown_impressions += impressions;
        }
    }

    /// `probabilities` are those of the model and of the baselines.
    fn add(&mut self, cell: &Cell, probabilities: [f64; 4]) {
        let probability = probabilities[0];
        if !(MARGIN..=1.0 - MARGIN).contains(&probability) {
            self.found.clamped += cell.impressions;
        }
        let (query, shown) = (cell.query as usize, cell.impressions as f64);
        let likelihoods = probabilities.map(|p| log_likelihood(cell, p));
        for (ratio, likelihood) in self.ratios.iter_mut().zip(likelihoods) {
            ratio.numerators[query] += likelihood;
            ratio.denominators[query] += shown;
        }
        let at = &mut self.at[cell.position as usize - 1];
        at.ratio.numerators[query] += likelihoods[0];
        at.ratio.denominators[query] += shown;
        at.impressions += cell.impressions;
        at.clicks += cell.clicks;
        at.predicted += shown * clamp(probability);
        at.baseline += likelihoods[1];
    }

    fn finish(self, resampling: &Resampling) -> ClickPrediction {
        let Tally { found, ratios, at } = self;
        let at: Vec<(u32, AtPosition)> = (1..).zip(at).filter(|(_, at)| at.impressions > 0).collect();
        let all: Vec<&Ratio> = ratios.iter().chain(at.iter().map(|(_, at)| &at.ratio)).collect();
        let drawn = resampled(&all, resampling.resamples, resampling.seed);
        let likelihood = |index: usize| {
            let log_likelihood = Bounds::of(ratios[index].value(), &drawn[index]);
            ClickLikelihood { log_likelihood, perplexity: perplexity(log_likelihood) }
        };
        let position = |((position, at), drawn): (&(u32, AtPosition), &Vec<f64>)| PredictedPosition {
            position: *position,
            impressions: at.impressions,
            click_rate: at.clicks as f64 / at.impressions as f64,
            predicted_rate: at.predicted / at.impressions as f64,
            perplexity: perplexity(Bounds::of(at.ratio.value(), drawn)),
            baseline: (-at.baseline / at.impressions as f64).exp(),
        };
        ClickPrediction {
            model: likelihood(0),
            by_position: likelihood(1),
            by_document: likelihood(2),
            overall: likelihood(3),
            gain: PairedDifference::of((&ratios[0], &drawn[0]), (&ratios[1], &drawn[1])),
            positions: at.iter().zip(&drawn[ratios.len()..]).map(position).collect(),
            ..found
        }
    }
}

/// `2^(−log2 P) = e^(−ln P)`; the ends change places.
fn perplexity(log_likelihood: Bounds) -> Bounds {
    Bounds {
        value: (-log_likelihood.value).exp(),
        low: (-log_likelihood.high).exp(),
        high: (-log_likelihood.low).exp(),
    }
}

fn clamp(probability: f64) -> f64 {
    probability.clamp(MARGIN, 1.0 - MARGIN)
}

fn log_likelihood(cell: &Cell, probability: f64) -> f64 {
    let p = clamp(probability);
    cell.clicks as f64 * p.ln() + (cell.impressions - cell.clicks) as f64 * (1.0 - p).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{Counts, SessionCount};
    use crate::data::{Generator, Preset};
    use crate::ids::Ids;
    use crate::relevance::{Estimation, Estimator, Prior, Relevance, Shrink};
    use crate::simulate::{ShownLists, Simulation};

    #[test]
    fn two_documents_by_hand() {
        let cell = |doc, impressions, clicks| Cell { query: 0, doc, position: doc + 1, user: 0, impressions, clicks };
        let counts = Counts {
            queries: Ids::numbered(1),
            docs: Ids::numbered(2),
            users: Ids::numbered(1),
            contexts: Default::default(),
            cells: vec![cell(0, 4, 3), cell(1, 4, 1)],
            sessions: vec![SessionCount { query: 0, user: 0, sessions: 4 }],
            patterns: None,
            transitions: None,
            pages: None,
            origin: Default::default(),
        };
        let theta = Propensities { population: vec![1.0, 0.5], ..Propensities::default() };
        let known = PredictedRelevance::new(Ids::numbered(1), Ids::numbered(1), vec![(0, 0, 0.5)]).unwrap();
        let found = ClickPrediction::of(&counts, &theta, &known, None, &Resampling::new().resamples(10)).unwrap();
        assert_eq!((found.impressions, found.unknown_docs, found.unknown_impressions, found.clamped), (8, 1, 4, 0));
        // Document 1: θγ = .5. Document 2 has no γ and gets the mean, .5, so θγ = .25.
        let model = 4.0 * 0.5f64.ln() + 0.25f64.ln() + 3.0 * 0.75f64.ln();
        assert!((found.model.log_likelihood.value - model / 8.0).abs() < 1e-12);
        let by_position = 2.0 * (3.0 * 0.75f64.ln() + 0.25f64.ln());
        assert!((found.by_position.log_likelihood.value - by_position / 8.0).abs() < 1e-12);
        assert!((found.overall.perplexity.value - 2.0).abs() < 1e-12);
        // With one impression of the overall rate beside: 3.5 of 5 and 1.5 of 5.
        let by_document = 3.0 * 0.7f64.ln() + 0.3f64.ln() + 0.3f64.ln() + 3.0 * 0.7f64.ln();
        assert!((found.by_document.log_likelihood.value - by_document / 8.0).abs() < 1e-12);
        assert!((found.positions[0].perplexity.value - 2.0).abs() < 1e-12);
        assert_eq!((found.positions[1].click_rate, found.positions[1].predicted_rate), (0.25, 0.25));
    }

    #[test]
    fn documents_without_relevance_have_that_of_their_position() {
        let cell = |position, clicks| Cell { query: 0, doc: 0, position, user: 0, impressions: 2, clicks };
        let counts = Counts {
            queries: Ids::numbered(1),
            docs: Ids::numbered(1),
            users: Ids::numbered(1),
            contexts: Default::default(),
            cells: vec![cell(1, 1), cell(2, 0), cell(3, 0)],
            sessions: vec![SessionCount { query: 0, user: 0, sessions: 6 }],
            patterns: None,
            transitions: None,
            pages: None,
            origin: Default::default(),
        };
        let theta = Propensities { population: vec![1.0, 0.5, 0.5], ..Propensities::default() };
        let relevance = Relevance { by_position: vec![0.5, 0.4], ..Relevance::default() };
        let found =
            ClickPrediction::of(&counts, &theta, &(&relevance).into(), None, &Resampling::new().resamples(10)).unwrap();
        // Position 3 is past the last one with a prior and gets the mean, 0, as near as it may come.
        let expected = 2.0 * 0.5f64.ln() + 2.0 * (1.0 - 0.5 * 0.4f64).ln() + 2.0 * (1.0 - 1e-6f64).ln();
        assert!((found.model.log_likelihood.value - expected / 6.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_position_based_click_model_predicts_as_examination_does() {
        let data = Generator::preset(Preset::Tiny).generate().unwrap().train;
        let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 5).unwrap()];
        let simulator = Simulation::new().sessions(3000).prepare(&data, &lists).unwrap();
        let options = crate::counts::CountOptions::new().transitions(true);
        let (counts, theta) =
            (crate::counts::count_log(&simulator.log(), &options).unwrap().0, simulator.propensities());
        let relevance = Estimation::new(Estimator::UserAware).estimate(&counts, &theta).unwrap();
        let predicted = PredictedRelevance::from(&relevance);
        let resampling = Resampling::new().resamples(20);
        let plain = ClickPrediction::of(&counts, &theta, &predicted, None, &resampling).unwrap();
        let model = predicted.position_based(&theta);
        let found = ClickPrediction::of_model(&counts, &model, &predicted, None, &resampling).unwrap();
        assert_eq!((plain.impressions, plain.unknown_docs), (found.impressions, found.unknown_docs));
        let values = |found: &ClickPrediction| {
            let all = [found.model, found.by_position, found.by_document, found.overall];
            all.map(|likelihood| likelihood.log_likelihood.value)
        };
        let close = values(&plain).into_iter().zip(values(&found)).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close, "{:?} {:?}", values(&plain), values(&found));
    }

    #[test]
    fn certain_predictions_are_moved_and_counted() {
        let cell = Cell { query: 0, doc: 0, position: 1, user: 0, impressions: 3, clicks: 1 };
        let counts = Counts {
            queries: Ids::numbered(1),
            docs: Ids::numbered(1),
            users: Ids::numbered(1),
            contexts: Default::default(),
            cells: vec![cell],
            sessions: vec![SessionCount { query: 0, user: 0, sessions: 3 }],
            patterns: None,
            transitions: None,
            pages: None,
            origin: Default::default(),
        };
        let theta = Propensities { population: vec![1.0], ..Propensities::default() };
        let never = PredictedRelevance::new(Ids::numbered(1), Ids::numbered(1), vec![(0, 0, 0.0)]).unwrap();
        let found = ClickPrediction::of(&counts, &theta, &never, None, &Resampling::new().resamples(10)).unwrap();
        assert_eq!(found.clamped, 3);
        let expected = (1e-6f64.ln() + 2.0 * (1.0 - 1e-6f64).ln()) / 3.0;
        assert!((found.model.log_likelihood.value - expected).abs() < 1e-12);
    }

    #[test]
    fn better_relevance_predicts_later_clicks_better() {
        let data = Generator::preset(Preset::Tiny).generate().unwrap().train;
        let scores: Vec<f32> = (0..data.len()).map(|row| data.row(row)[0]).collect();
        let lists = [ShownLists::top(&data, &scores, 10).unwrap()];
        let world = Simulation::new().sessions(20_000).world_seed(Some(1));
        let [first, second] = [1, 2].map(|seed| world.clone().seed(seed).prepare(&data, &lists).unwrap());
        let (train, test, theta) = (first.counts().unwrap(), second.counts().unwrap(), first.propensities());
        let of = |estimation: Estimation| estimation.estimate(&train, &theta).unwrap();
        let value = |predicted: &PredictedRelevance| {
            ClickPrediction::of(&test, &theta, predicted, Some(&train), &Resampling::new().resamples(100)).unwrap()
        };
        let aware = || Estimation::new(Estimator::UserAware);
        let plain = of(aware());
        let rows = plain.rows_in(&data);
        let truth =
            plain.weights.iter().zip(rows).map(|(w, row)| (w.query, w.doc, first.relevance()[row.unwrap() as usize]));
        let truth = PredictedRelevance::new(plain.queries.clone(), plain.docs.clone(), truth.collect()).unwrap();
        let (truth, plain) = (value(&truth), value(&(&plain).into()));
        let shrunk = value(&(&of(aware().prior(Prior::Mean).shrink(Shrink::Auto))).into());
        let order = [&truth, &shrunk, &plain].map(|found| found.model.log_likelihood.value);
        assert!(order[0] > order[1] && order[1] > order[2], "{order:?}");
        assert!(shrunk.gain.bounds.low > 0.0 && shrunk.gain.p < 0.05, "{:?}", shrunk.gain);
        assert!(shrunk.by_position.log_likelihood.value > shrunk.overall.log_likelihood.value);
        // The least clicked position has some 700 clicks, a deviation of 4 %.
        for at in &truth.positions {
            assert!((at.predicted_rate / at.click_rate - 1.0).abs() < 0.15, "{at:?}");
        }
    }
}
