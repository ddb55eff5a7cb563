//! How strongly to pull the users of a query toward all users, chosen from the log.

use std::collections::BTreeMap;

use rayon::prelude::*;
use statrs::function::gamma::ln_gamma;

use super::exposures::{Exposures, PairSums};
use super::moments::RelevanceMoments;
use crate::Result;
use crate::counts::CountsView;
use crate::math::minimize;
use crate::propensity::Propensities;

/// Strengths are looked for between e^-7 (as good as none) and e^14 (for β as good as `ips-pbm` for any query).
const LOG_STRENGTH: (f64, f64) = (-7.0, 14.0);

/// Items summed by one task: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 4096;

/// The β with the least estimated mean squared error of the smoothed weights, summed over shown documents.
///
/// For given sessions a smoothed weight is the user-aware one times `ρ = E/D`. With γ the true relevance its squared
/// bias is `γ²(ρ−1)²` and its variance `ρ²·(γE − γ²Σnθ²)/E²`. γ and γ² are replaced by their means over the log.
pub fn least_error_beta(counts: &dyn CountsView, propensities: &Propensities) -> Result<f64> {
    let exposures = Exposures::new(counts, propensities)?;
    Ok(least_error_beta_of(&exposures.pairs, exposures.moments))
}

pub(super) fn least_error_beta_of(pairs: &[PairSums], moments: RelevanceMoments) -> f64 {
    lowest(|beta| {
        chunked_sum(pairs, |pair| {
            if pair.exposure == 0.0 {
                return 0.0;
            }
            let shrink = pair.exposure / pair.smoothed_exposure(beta);
            let bias = shrink - 1.0;
            let variance = (moments.mean * pair.exposure - moments.mean_square * pair.squared_exposure)
                / (pair.exposure * pair.exposure);
            moments.mean_square * bias * bias + shrink * shrink * variance
        })
    })
}

/// The β under which the counts `n(q,·)` are likeliest, as draws from a Dirichlet-multinomial with mean `P(·)`.
pub fn likelihood_beta(counts: &dyn CountsView) -> Result<f64> {
    let total = counts.totals().sessions as f64;
    let shares: Vec<f64> = counts.sessions_per_user().iter().map(|&n| n as f64 / total).collect();
    let of_queries = how_often(counts.sessions_per_query().into_iter().filter(|&n| n > 0));
    let mut of_users = BTreeMap::new();
    counts.for_each_sessions(|sessions| {
        sessions.iter().for_each(|count| *of_users.entry((count.user, count.sessions)).or_insert(0u64) += 1);
    })?;
    let of_users: Vec<_> = of_users.into_iter().collect();
    Ok(lowest(|beta| {
        let queries = chunked_sum(&of_queries, |&(n, times)| times as f64 * log_rising(beta, n as f64));
        let users = chunked_sum(&of_users, |&((user, n), times)| {
            times as f64 * log_rising(beta * shares[user as usize], n as f64)
        });
        queries - users
    }))
}

/// How often each value stands in `values`, sorted.
fn how_often(values: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut times = BTreeMap::new();
    values.for_each(|value| *times.entry(value).or_insert(0) += 1);
    times.into_iter().collect()
}

/// `ln Γ(a+n) − ln Γ(a)`.
fn log_rising(a: f64, n: f64) -> f64 {
    ln_gamma(a + n) - ln_gamma(a)
}

/// The strength with the least error.
pub(super) fn lowest(error: impl Fn(f64) -> f64) -> f64 {
    minimize(LOG_STRENGTH.0, LOG_STRENGTH.1, 21, 1e-3, |log| error(log.exp())).exp()
}

/// A sum whose bits do not depend on the number of threads.
pub(super) fn chunked_sum<T: Sync>(items: &[T], term: impl Fn(&T) -> f64 + Sync) -> f64 {
    let sums: Vec<f64> = items.par_chunks(CHUNK).map(|chunk| chunk.iter().map(&term).sum()).collect();
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{Counts, SessionCount};
    use crate::ids::Ids;
    use crate::random::stream;
    use rand::RngExt;
    use rand_distr::{Distribution, Gamma};

    /// Users per query drawn from a Dirichlet with strength β around (.5, .3, .2), `sessions` sessions per query.
    fn draw_counts(beta: f64, sessions: u64) -> Counts {
        let mean = [0.5, 0.3, 0.2];
        let mut random = stream(7, "test", 0);
        let mut rows = Vec::new();
        let queries = 3000;
        for query in 0..queries {
            let parts = mean.map(|m| Gamma::new(beta * m, 1.0).unwrap().sample(&mut random));
            let total: f64 = parts.iter().sum();
            let mut counts = [0; 3];
            for _ in 0..sessions {
                let draw = random.random::<f64>() * total;
                counts[if draw < parts[0] {
                    0
                } else if draw < parts[0] + parts[1] {
                    1
                } else {
                    2
                }] += 1;
            }
            for (user, &sessions) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
                rows.push(SessionCount { query, user: user as u32, sessions });
            }
        }
        Counts {
            queries: Ids::numbered(queries as usize),
            users: Ids::numbered(3),
            sessions: rows,
            ..Counts::default()
        }
    }

    #[test]
    fn likelihood_recovers_the_strength_that_made_the_counts() {
        for beta in [0.5, 4.0, 20.0] {
            let found = likelihood_beta(&draw_counts(beta, 30)).unwrap();
            assert!((found / beta).ln().abs() < 0.15, "{found} is far from {beta}");
        }
    }
}
