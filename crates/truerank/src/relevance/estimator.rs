//! The estimators: how much a click in each cell counts toward its document's relevance.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use rayon::prelude::*;

use super::moments::{PairSums, RelevanceMoments, all_sums, pair_ranges};
use super::smoothing::{least_error_beta_of, likelihood_beta};
use super::{Relevance, Weight};
use crate::counts::{Cell, Counts};
use crate::named::find_named;
use crate::propensity::{Examination, Propensities};
use crate::{Error, Result};

/// How clicks become relevance. Each estimator is `ŷ(q,d) = Σ_cells c·w` with its own weight `w` of a click.
///
/// With θ the examination probability, `n(q)` the sessions of a query, and `E(q,d) = Σ_cells n·θ(u,k)`:
///
/// | estimator | w | |
/// |---|---|---|
/// | `naive` | `1/n(q)` | takes clicks for relevance |
/// | `ips-pbm` | `1/(n(q)·θ̄(k))` | Joachims et al. 2017; biased where users differ in queries and in depth |
/// | `straightforward` | `1/(n(q)·θ(u,k))` | unbiased, large variance where some users rarely look |
/// | `user-aware` | `1/E(q,d)` | unbiased, less variance; Niu et al. |
/// | `user-aware-smoothed` | `1/D(q,d)` | user-aware with P(u\|q) shrunk toward P(u) |
///
/// where `D = (n(q)·E + β·Ē)/(n(q)+β)` and `Ē = Σ_cells n·θ̄(k)`: the exposure under
/// `P̃(u|q) = (n(q,u) + β·P(u))/(n(q)+β)`. β → 0 gives `user-aware`, β → ∞ gives `ips-pbm` (where a document keeps its
/// position).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimator {
    /// Clicks over sessions.
    Naive,
    /// Each click over the population's examination of its position.
    IpsPbm,
    /// Each click over its own user's examination of its position.
    Straightforward,
    /// Clicks over expected exposure to the users of the query.
    UserAware,
    /// The same, with the users of rare queries smoothed toward all users.
    UserAwareSmoothed(Smoothing),
}

/// How β of the smoothed estimator is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Smoothing {
    /// The β with the least estimated mean squared error of the weights.
    #[default]
    LeastError,
    /// The β under which the counts of users per query are likeliest (Dirichlet-multinomial).
    Likelihood,
    /// A given β.
    Fixed(f64),
}

impl Estimator {
    /// All of them, the smoothed one with its default rule.
    pub fn all() -> [Estimator; 5] {
        use Estimator::*;
        [Naive, IpsPbm, Straightforward, UserAware, UserAwareSmoothed(Smoothing::default())]
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Estimator::Naive => "naive",
            Estimator::IpsPbm => "ips-pbm",
            Estimator::Straightforward => "straightforward",
            Estimator::UserAware => "user-aware",
            Estimator::UserAwareSmoothed(_) => "user-aware-smoothed",
        })
    }
}

impl FromStr for Estimator {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&Estimator::all(), text, "an estimator")
    }
}

/// The relevance weight of every shown document.
///
/// The variance is that of the weight for the given sessions, `Σ_cells n·w²·θγ(1−θγ)`, with γ the relevance pulled a
/// little toward the mean, `(c + γ̄)/(E + 1)`, so that a document without clicks does not claim certainty.
pub fn estimate(counts: &Counts, propensities: &Propensities, estimator: Estimator) -> Result<Relevance> {
    let examination = Examination::new(propensities, counts)?;
    let pairs = all_sums(counts, &examination);
    let moments = RelevanceMoments::of(&pairs);
    let beta = choose_beta(counts, &pairs, moments, estimator)?;
    let weighing =
        Weighing { estimator, beta, examination: &examination, sessions: counts.sessions_per_query(), moments };
    let ranges = pair_ranges(&counts.cells);
    let weigh = |(range, sums): (&Range<usize>, &PairSums)| weighing.weigh(counts, &counts.cells[range.clone()], sums);
    let weights = ranges.par_iter().zip(&pairs).map(weigh).collect::<Result<Vec<Weight>>>();
    // Which thread fails first is chance; the error is about the first pair.
    let weights = weights.map_err(|any| ranges.iter().zip(&pairs).find_map(|pair| weigh(pair).err()).unwrap_or(any))?;
    Ok(Relevance {
        estimator: estimator.to_string(),
        beta,
        queries: counts.queries.clone(),
        docs: counts.docs.clone(),
        weights,
    })
}

fn choose_beta(
    counts: &Counts,
    pairs: &[PairSums],
    moments: RelevanceMoments,
    estimator: Estimator,
) -> Result<Option<f64>> {
    let Estimator::UserAwareSmoothed(smoothing) = estimator else { return Ok(None) };
    Ok(Some(match smoothing {
        Smoothing::LeastError => least_error_beta_of(&counts.sessions_per_query(), pairs, moments),
        Smoothing::Likelihood => likelihood_beta(counts),
        Smoothing::Fixed(beta) if beta >= 0.0 && beta.is_finite() => beta,
        Smoothing::Fixed(beta) => {
            return Err(Error::parameter(format!("beta should be finite and not negative, but is {beta}")));
        }
    }))
}

struct Weighing<'a> {
    estimator: Estimator,
    beta: Option<f64>,
    examination: &'a Examination<'a>,
    sessions: Vec<u64>,
    moments: RelevanceMoments,
}

impl Weighing<'_> {
    fn weigh(&self, counts: &Counts, cells: &[Cell], sums: &PairSums) -> Result<Weight> {
        let relevance = ((sums.clicks as f64 + self.moments.mean) / (sums.exposure + 1.0)).min(1.0);
        let (mut weight, mut variance) = (0.0, 0.0);
        for cell in cells {
            let theta = self.examination.of(cell.user, cell.position);
            if theta == 0.0 && cell.clicks == 0 {
                continue;
            }
            let click_weight = self.click_weight(cell, sums, theta);
            if !click_weight.is_finite() {
                return Err(impossible_click(counts, cell));
            }
            weight += cell.clicks as f64 * click_weight;
            // Relative propensities may be above 1, a click is not.
            let click = (theta * relevance).min(1.0);
            variance += cell.impressions as f64 * click_weight * click_weight * click * (1.0 - click);
        }
        Ok(Weight {
            query: sums.query,
            doc: sums.doc,
            weight,
            impressions: sums.impressions,
            clicks: sums.clicks,
            exposure: sums.exposure,
            variance,
        })
    }

    /// How much one click in `cell` counts.
    fn click_weight(&self, cell: &Cell, sums: &PairSums, theta: f64) -> f64 {
        let sessions = self.sessions[cell.query as usize] as f64;
        1.0 / match self.estimator {
            Estimator::Naive => sessions,
            Estimator::IpsPbm => sessions * self.examination.average_at(cell.position),
            Estimator::Straightforward => sessions * theta,
            Estimator::UserAware => sums.exposure,
            Estimator::UserAwareSmoothed(_) => sums.smoothed_exposure(sessions, self.beta.unwrap_or(0.0)),
        }
    }
}

impl PairSums {
    /// D = (n(q)·E + β·Ē) / (n(q)+β).
    pub(super) fn smoothed_exposure(&self, sessions: f64, beta: f64) -> f64 {
        (sessions * self.exposure + beta * self.average_exposure) / (sessions + beta)
    }
}

fn impossible_click(counts: &Counts, cell: &Cell) -> Error {
    Error::parameter(format!(
        "user {} clicked document {} of query {} at position {}, but its examination there is 0; \
         these propensities do not fit this log",
        counts.users.name(cell.user as usize),
        counts.docs.name(cell.doc as usize),
        counts.queries.name(cell.query as usize),
        cell.position
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::SessionCount;
    use crate::ids::Ids;

    /// One query with one document at position 2. User 1: three sessions, one click, θ = .5. User 2: one session, one
    /// click, θ = .25. A second query gives user 2 eight more sessions.
    fn example() -> (Counts, Propensities) {
        let cell = |query, user, impressions, clicks| Cell { query, doc: 0, position: 2, user, impressions, clicks };
        let counts = Counts {
            queries: Ids::numbered(2),
            docs: Ids::numbered(1),
            users: Ids::numbered(2),
            cells: vec![cell(0, 0, 3, 1), cell(0, 1, 1, 1), cell(1, 1, 8, 2)],
            sessions: vec![
                SessionCount { query: 0, user: 0, sessions: 3 },
                SessionCount { query: 0, user: 1, sessions: 1 },
                SessionCount { query: 1, user: 1, sessions: 8 },
            ],
            patterns: None,
        };
        let propensities = Propensities {
            method: "oracle".into(),
            scale: "true".into(),
            population: vec![1.0, 0.4],
            users: Ids::numbered(2),
            by_user: vec![1.0, 0.5, 1.0, 0.25],
            ..Propensities::default()
        };
        (counts, propensities)
    }

    fn first_weight(estimator: Estimator) -> f64 {
        let (counts, propensities) = example();
        estimate(&counts, &propensities, estimator).unwrap().weights[0].weight
    }

    #[test]
    fn hand_computed_weights() {
        let average = 0.5 * 3.0 / 12.0 + 0.25 * 9.0 / 12.0;
        let close = |estimator, expected: f64| {
            let found = first_weight(estimator);
            assert!((found - expected).abs() < 1e-12, "{estimator}: {found} is not {expected}");
        };
        close(Estimator::Naive, 2.0 / 4.0);
        close(Estimator::IpsPbm, 2.0 / 4.0 / average);
        close(Estimator::Straightforward, (1.0 / 0.5 + 1.0 / 0.25) / 4.0);
        close(Estimator::UserAware, 2.0 / (3.0 * 0.5 + 1.0 * 0.25));
        // The paper's form: (c/n(q)) / Σ_u θ(u,k) P(u|q).
        close(Estimator::UserAware, (2.0 / 4.0) / (0.5 * 3.0 / 4.0 + 0.25 * 1.0 / 4.0));
        let beta = 6.0;
        let share = |sessions: f64, overall: f64| (sessions + beta * overall) / (4.0 + beta);
        let smoothed = 0.5 * share(3.0, 3.0 / 12.0) + 0.25 * share(1.0, 9.0 / 12.0);
        close(Estimator::UserAwareSmoothed(Smoothing::Fixed(beta)), (2.0 / 4.0) / smoothed);
    }

    #[test]
    fn smoothing_runs_from_user_aware_to_ips_pbm() {
        let smoothed = |beta| first_weight(Estimator::UserAwareSmoothed(Smoothing::Fixed(beta)));
        assert!((smoothed(0.0) - first_weight(Estimator::UserAware)).abs() < 1e-12);
        assert!((smoothed(1e12) - first_weight(Estimator::IpsPbm)).abs() < 1e-9);
    }

    #[test]
    fn the_variance_is_the_papers() {
        let (counts, propensities) = example();
        let weights = estimate(&counts, &propensities, Estimator::UserAware).unwrap().weights;
        let exposure: f64 = 3.0 * 0.5 + 0.25;
        let mean: f64 = (2.0 + 2.0) / (exposure + 8.0 * 0.25);
        let gamma: f64 = ((2.0 + mean) / (exposure + 1.0)).min(1.0);
        let term = |n: f64, theta: f64| n * theta * gamma * (1.0 - theta * gamma);
        let expected = (term(3.0, 0.5) + term(1.0, 0.25)) / (exposure * exposure);
        assert!((weights[0].variance - expected).abs() < 1e-12);
        assert_eq!((weights[0].impressions, weights[0].clicks, weights[0].exposure), (4, 2, exposure));
    }

    #[test]
    fn clicks_where_nobody_looks_are_refused() {
        let (counts, mut propensities) = example();
        propensities.by_user[1] = 0.0;
        let message = estimate(&counts, &propensities, Estimator::Straightforward).unwrap_err().to_string();
        assert!(message.contains("user 1 clicked document 1 of query 1 at position 2"), "{message}");
        let aware = estimate(&counts, &propensities, Estimator::UserAware).unwrap();
        assert_eq!(aware.weights[0].weight, 2.0 / 0.25);
    }

    #[test]
    fn positions_past_the_last_known_one_are_refused() {
        let (mut counts, propensities) = example();
        counts.cells[2].position = 3;
        let message = estimate(&counts, &propensities, Estimator::Naive).unwrap_err().to_string();
        assert!(message.contains("position 3, but the propensities end at position 2"), "{message}");
    }

    #[test]
    fn estimators_print_as_they_parse() {
        for estimator in Estimator::all() {
            assert_eq!(estimator.to_string().parse::<Estimator>().unwrap(), estimator);
        }
        assert!("ips".parse::<Estimator>().unwrap_err().to_string().contains("known are naive, ips-pbm"));
    }
}
