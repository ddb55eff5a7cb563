//! Which estimator orders documents best on a log like this one? Counts and examination enter, expected nDCG leaves.
//!
//! Logs are drawn that could have been this one: relevance as the clicks leave it possible, then clicks for the sessions as they are.
//! In them relevance is known, so the order that each estimator's weights give can be judged.

use rand_distr::{Beta, Binomial, Distribution};
use rayon::prelude::*;
use serde::Serialize;

use crate::Result;
use crate::counts::{Cell, Counts, CountsView, by_document};
use crate::math::discount;
use crate::progress::Progress;
use crate::propensity::{Details, Examination, Propensities};
use crate::random::{Random, hash, stream};
use crate::relevance::{Estimation, Estimator, Exposures, Relevance};

/// How well the weights of an estimator are expected to order the shown documents of a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExpectedQuality {
    /// The estimator; nothing is the order in which documents were shown.
    #[serde(serialize_with = "name_of")]
    pub estimator: Option<Estimator>,
    /// Whether its weights are shrunk toward a prior, as by default.
    pub shrunk: bool,
    /// The mean of nDCG@10 over queries, with relevance as gain; equal weights are in random order.
    pub ndcg: f64,
    /// How far that is behind the best estimator.
    pub behind: f64,
    /// The standard error of that distance.
    pub standard_error: f64,
}

/// What the order in which documents were shown is called.
const AS_SHOWN: &str = "as shown";

/// Logs that are drawn.
const DRAWS: u64 = 16;

/// Cells of the queries that are looked at, about: enough to tell estimators apart, in seconds.
const CELLS: usize = 50_000;

/// Documents that count.
const DEPTH: usize = 10;

/// A distance from the best that nobody would notice.
const NOTICED: f64 = 0.001;

impl ExpectedQuality {
    /// The estimator, and whether it is the default.
    pub fn label(&self) -> String {
        if self.shrunk { format!("{}, shrunk (default)", self.name()) } else { self.name() }
    }

    fn name(&self) -> String {
        self.estimator.map_or(AS_SHOWN.to_string(), |estimator| estimator.to_string())
    }

    /// Whether it is as good as the best, as far as can be told.
    pub fn is_level_with_best(&self) -> bool {
        self.behind <= (2.0 * self.standard_error).max(NOTICED)
    }
}

fn name_of<S: serde::Serializer>(estimator: &Option<Estimator>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    match estimator {
        Some(estimator) => serializer.collect_str(estimator),
        None => serializer.serialize_str(AS_SHOWN),
    }
}

/// The quality of each estimator as it is, of the default last but one, and of the order as shown; nothing where no two
/// queries have several documents.
pub(super) fn expected_quality(
    counts: &dyn CountsView,
    propensities: &Propensities,
    default: &Estimation,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<ExpectedQuality>> {
    let (sample, users) = sample(counts, seed)?;
    let propensities = &of_users(propensities, counts, &users);
    let mut estimations: Vec<(Estimation, bool)> =
        Estimator::all().into_iter().map(|estimator| (Estimation::new(estimator), false)).collect();
    estimations.push((default.clone(), true));
    let belief = default.estimate(&sample, propensities)?;
    progress.begin("comparing estimators", DRAWS);
    let of_draw = |draw: u64| {
        let values = Draw::new(&sample, propensities, &belief, stream(seed, "doctor/quality", draw))?;
        let values = values.qualities(propensities, estimations.iter().map(|(estimation, _)| estimation));
        progress.advance(1)?;
        values
    };
    let draws = (0..DRAWS).into_par_iter().map(of_draw).collect::<Result<Vec<_>>>()?;
    let orders = estimations.iter().map(|(estimation, shrunk)| (Some(estimation.estimator()), *shrunk));
    Ok(summarize(orders.chain([(None, false)]).collect(), &draws))
}

/// Whole queries in random order, until there are enough cells. Users are numbered anew; the old number of each comes with them.
fn sample(counts: &dyn CountsView, seed: u64) -> Result<(Counts, Vec<u32>)> {
    let mut cells_of = vec![0; counts.queries().len()];
    counts.for_each_cells(|cells| cells.iter().for_each(|cell| cells_of[cell.query as usize] += 1))?;
    let mut order: Vec<usize> = (0..cells_of.len()).filter(|&query| cells_of[query] > 0).collect();
    order.sort_by_key(|&query| (hash(seed, query as u64), query));
    let (mut is_sampled, mut total) = (vec![false; cells_of.len()], 0);
    for query in order {
        is_sampled[query] = total == 0 || (total < CELLS && cells_of[query] <= CELLS);
        total += if is_sampled[query] { cells_of[query] } else { 0 };
    }
    let mut sample = Counts { queries: counts.queries().clone(), docs: counts.docs().clone(), ..Counts::default() };
    counts.for_each_block(|cells, sessions| {
        sample.cells.extend(cells.iter().filter(|cell| is_sampled[cell.query as usize]));
        sample.sessions.extend(sessions.iter().filter(|count| is_sampled[count.query as usize]));
    })?;
    let users = number_users(&mut sample);
    sample.users = counts.users().select(users.iter().map(|&user| user as usize));
    Ok((sample, users))
}

/// Numbers the users of a sample anew, in order; returns the old numbers. What is done with every user is then done with few.
fn number_users(sample: &mut Counts) -> Vec<u32> {
    let mut users: Vec<u32> = sample.cells.iter().map(|cell| cell.user).collect();
    users.extend(sample.sessions.iter().map(|count| count.user));
    users.sort_unstable();
    users.dedup();
    let number = |user: u32| users.partition_point(|&other| other < user) as u32;
    sample.cells.iter_mut().for_each(|cell| cell.user = number(cell.user));
    sample.sessions.iter_mut().for_each(|count| count.user = number(count.user));
    users
}

/// The probabilities of these users of `counts`, and of people nobody knows.
fn of_users(all: &Propensities, counts: &dyn CountsView, users: &[u32]) -> Propensities {
    let names = counts.users().select(users.iter().map(|&user| user as usize));
    let known: Vec<usize> = names.numbers_in(&all.users).into_iter().flatten().map(|user| user as usize).collect();
    Propensities {
        method: all.method.clone(),
        scale: all.scale.clone(),
        population: all.population.clone(),
        users: all.users.select(known.iter().copied()),
        by_user: known.iter().flat_map(|&user| all.of_user(user)).copied().collect(),
        details: Details::default(),
    }
}

/// A log that could have been this one.
struct Draw {
    counts: Counts,
    /// The relevance of each shown document.
    relevance: Vec<f64>,
}

impl Draw {
    /// Relevance is drawn from a Beta distribution around its estimate ŷ, worth as many examinations as ŷ rests on; each
    /// cell's clicks are binomial.
    fn new(sample: &Counts, propensities: &Propensities, belief: &Relevance, mut random: Random) -> Result<Self> {
        let examination = Examination::new(propensities, sample)?;
        let mut draw = Draw { counts: sample.clone(), relevance: Vec::with_capacity(belief.weights.len()) };
        for (cells, weight) in
            draw.counts.cells.chunk_by_mut(|a, b| (a.query, a.doc) == (b.query, b.doc)).zip(&belief.weights)
        {
            let relevance = possible(weight.weight, weight.divisor, &mut random);
            for cell in cells {
                let click = (relevance * examination.of(cell.user, cell.position)).min(1.0);
                cell.clicks = Binomial::new(cell.impressions, click).map_or(0, |clicks| clicks.sample(&mut random));
            }
            draw.relevance.push(relevance);
        }
        Ok(draw)
    }

    /// nDCG of each query by each estimation, and of the order as shown.
    fn qualities<'e>(
        &self,
        propensities: &Propensities,
        estimations: impl Iterator<Item = &'e Estimation>,
    ) -> Result<Vec<Vec<f64>>> {
        let exposures = Exposures::new(&self.counts, propensities)?;
        let weights = |estimation: &Estimation| {
            let relevance = estimation.weigh(&exposures)?.relevance()?;
            Ok(relevance.weights.iter().map(|weight| weight.weight).collect())
        };
        let mut scores = estimations.map(weights).collect::<Result<Vec<Vec<f64>>>>()?;
        scores.push(by_document(&self.counts.cells).map(|cells| -mean_position(cells)).collect());
        Ok(scores.iter().map(|scores| self.ndcg_by_query(scores)).collect())
    }

    fn ndcg_by_query(&self, scores: &[f64]) -> Vec<f64> {
        let queries: Vec<u32> = by_document(&self.counts.cells).map(|cells| cells[0].query).collect();
        let mut start = 0;
        let of_query = |of_query: &[u32]| {
            let range = start..start + of_query.len();
            start = range.end;
            (range.len() > 1).then(|| ndcg(&scores[range.clone()], &self.relevance[range]))
        };
        queries.chunk_by(|a, b| a == b).filter_map(of_query).collect()
    }
}

/// A relevance that clicks leave possible; an estimate above 1, or of 0, is moved to where there is some doubt.
fn possible(estimate: f64, examinations: f64, random: &mut Random) -> f64 {
    let mean = estimate.clamp(0.01, 0.99);
    let worth = examinations.max(1.0);
    Beta::new(mean * worth, (1.0 - mean) * worth).map_or(mean, |beta| beta.sample(random))
}

fn mean_position(cells: &[Cell]) -> f64 {
    let sum = |value: fn(&Cell) -> f64| cells.iter().map(value).sum::<f64>();
    sum(|cell| cell.impressions as f64 * f64::from(cell.position)) / sum(|cell| cell.impressions as f64)
}

/// nDCG of the order by `scores` with these gains, equal scores being in random order: each counts by their mean discount.
fn ndcg(scores: &[f64], gains: &[f64]) -> f64 {
    let dcg = |scores: &[f64]| {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let (mut rank, mut sum) = (0, 0.0);
        for equal in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
            let ranks = rank + 1..=rank + equal.len();
            rank += equal.len();
            let discounts: f64 = ranks.filter(|&rank| rank <= DEPTH).map(discount).sum();
            let gain: f64 = equal.iter().map(|&doc| gains[doc]).sum();
            sum += discounts * gain / equal.len() as f64;
        }
        sum
    };
    dcg(scores) / dcg(gains)
}

/// `draws` has, for each draw and each of `orders`, a value for each query.
fn summarize(orders: Vec<(Option<Estimator>, bool)>, draws: &[Vec<Vec<f64>>]) -> Vec<ExpectedQuality> {
    let queries = draws[0][0].len();
    if queries < 2 {
        return Vec::new();
    }
    let mean_of_draws =
        |order: usize, query: usize| draws.iter().map(|draw| draw[order][query]).sum::<f64>() / draws.len() as f64;
    let by_query: Vec<Vec<f64>> =
        (0..orders.len()).map(|order| (0..queries).map(|query| mean_of_draws(order, query)).collect()).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / queries as f64;
    let means: Vec<f64> = by_query.iter().map(|values| mean(values)).collect();
    let estimators = 0..orders.len() - 1;
    let best = estimators.fold(0, |best, order| if means[order] > means[best] { order } else { best });
    let quality = |(order, (estimator, shrunk)): (usize, (Option<Estimator>, bool))| {
        let behind = means[best] - means[order];
        let squares = by_query[best].iter().zip(&by_query[order]).map(|(best, value)| (best - value - behind).powi(2));
        let standard_error = (squares.sum::<f64>() / (queries as f64 * (queries as f64 - 1.0))).sqrt();
        ExpectedQuality { estimator, shrunk, ndcg: means[order], behind, standard_error }
    };
    orders.into_iter().enumerate().map(quality).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_are_in_random_order() {
        let gains = [0.2, 0.9, 0.4];
        let dcg =
            |order: [usize; 3]| -> f64 { order.iter().zip(1..).map(|(&doc, rank)| gains[doc] * discount(rank)).sum() };
        let best = dcg([1, 2, 0]);
        assert_eq!(ndcg(&[0.0, 2.0, 1.0], &gains), 1.0);
        let tied = (dcg([1, 0, 2]) + dcg([1, 2, 0])) / 2.0;
        assert!((ndcg(&[1.0, 2.0, 1.0], &gains) - tied / best).abs() < 1e-12);
    }

    #[test]
    fn possible_relevance_has_the_estimate_as_its_mean() {
        let mut random = stream(1, "test", 0);
        let draws: Vec<f64> = (0..20_000).map(|_| possible(0.3, 9.0, &mut random)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!((mean - 0.3).abs() < 0.005, "{mean}");
        assert!((variance - 0.3 * 0.7 / 10.0).abs() < 0.001, "{variance}");
    }
}
