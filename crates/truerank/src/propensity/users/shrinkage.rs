//! Users' examination probabilities, pulled toward those of others as strongly as the log says.

use rayon::prelude::*;

use super::grid::{LikelihoodGrid, NODES, Nodes};
use crate::math::minimize;

/// The mean of a prior lies between these.
const MEAN: (f64, f64) = (1e-4, 1.0 - 1e-4);

/// The strength lies between "hardly any" and the strongest that the coarsest nodes resolve: their step in asin √θ is
/// .0245, the deviation of Beta(m·s, (1−m)·s) there is 1/(2√s), and the midpoint rule is good up to a step of 1.5
/// deviations. A user with 1,000 impressions still counts as much as the prior.
const STRENGTH: (f64, f64) = (0.5, 1000.0);

/// Rounds of searching for mean and strength in turn; the two hardly depend on each other, three mostly do.
const ROUNDS: usize = 6;

/// `Beta(mean · strength, (1 − mean) · strength)`: what is known of θ(u,k) before user u is seen. The strength counts
/// as that many examinations observed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Mean of θ.
    pub mean: f64,
    /// Examinations it is worth.
    pub strength: f64,
}

/// Shrunk examination probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct Shrunk {
    /// Posterior means, one row of positions per user.
    pub examination: Vec<f64>,
    /// Posterior standard deviations, in the same order.
    pub standard_errors: Vec<f64>,
    /// One row of positions per cluster; one row in all where users were not in clusters.
    pub priors: Vec<Prior>,
    /// What holds for a user nobody has seen: the means of the priors, weighed by how many users share each.
    pub unseen: Vec<f64>,
}

/// Empirical-Bayes shrinkage: `θ(u,k) ~ Beta(a, b)` with a and b of each position, or of each cluster and position,
/// where the log is likeliest: they maximise `Σ_u log ∫ L_uk(θ) Beta(θ; a, b) dθ` (Morris 1983).
///
/// The estimate is the posterior mean and its standard error the posterior deviation, which leaves out that a, b and
/// the relevances are estimates themselves. A user who was shown nothing at a position gets the prior's mean.
/// Users count alike in the fit of the prior, however many sessions they have.
pub(crate) fn shrink(grid: &LikelihoodGrid, cluster_of_user: Option<&[u32]>) -> Shrunk {
    let members = members(grid.users, cluster_of_user);
    let nodes = Nodes::new();
    let logs = Logs::new(&nodes);
    let tasks: Vec<(usize, usize)> =
        (0..members.len()).flat_map(|cluster| (0..grid.positions).map(move |index| (cluster, index))).collect();
    let fitted: Vec<(Prior, Vec<Moments>)> = tasks
        .par_iter()
        .map(|&(cluster, index)| {
            let slots: Vec<usize> = members[cluster].iter().map(|user| user * grid.positions + index).collect();
            Population { grid, logs: &logs, nodes: &nodes, slots }.fit()
        })
        .collect();
    assemble(grid, &members, &tasks, &fitted)
}

/// The users of each cluster.
fn members(users: usize, cluster_of_user: Option<&[u32]>) -> Vec<Vec<usize>> {
    let Some(clusters) = cluster_of_user else { return vec![(0..users).collect()] };
    let mut members = vec![Vec::new(); clusters.iter().max().map_or(0, |&most| most as usize + 1)];
    clusters.iter().enumerate().for_each(|(user, &cluster)| members[cluster as usize].push(user));
    members
}

fn assemble(
    grid: &LikelihoodGrid,
    members: &[Vec<usize>],
    tasks: &[(usize, usize)],
    fitted: &[(Prior, Vec<Moments>)],
) -> Shrunk {
    let slots = grid.users * grid.positions;
    let mut shrunk = Shrunk {
        examination: vec![0.0; slots],
        standard_errors: vec![0.0; slots],
        priors: fitted.iter().map(|(prior, _)| *prior).collect(),
        unseen: vec![0.0; grid.positions],
    };
    for (&(cluster, index), (prior, moments)) in tasks.iter().zip(fitted) {
        shrunk.unseen[index] += prior.mean * members[cluster].len() as f64 / grid.users as f64;
        for (user, moments) in members[cluster].iter().zip(moments) {
            shrunk.examination[user * grid.positions + index] = moments.mean;
            shrunk.standard_errors[user * grid.positions + index] = moments.deviation;
        }
    }
    shrunk
}

/// Slots that share a prior.
struct Population<'a> {
    grid: &'a LikelihoodGrid,
    nodes: &'a Nodes,
    logs: &'a Logs,
    slots: Vec<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    mean: f64,
    deviation: f64,
}

impl Population<'_> {
    /// The prior under which the clicks are likeliest, and the posterior of each slot under it.
    fn fit(&self) -> (Prior, Vec<Moments>) {
        let levels = self.levels();
        let mut prior = self.start(&levels);
        for _ in 0..ROUNDS {
            let before = prior;
            let bounds = (STRENGTH.0.ln(), STRENGTH.1.ln());
            prior.strength = self.search(&levels, bounds, |x| Prior { strength: x.exp(), ..prior }).exp();
            let bounds = (logit(MEAN.0), logit(MEAN.1));
            prior.mean = logistic(self.search(&levels, bounds, |x| Prior { mean: logistic(x), ..prior }));
            if (logit(prior.mean) - logit(before.mean)).abs() + (prior.strength / before.strength).ln().abs() < 1e-2 {
                break;
            }
        }
        let masses = self.logs.masses(prior, &levels);
        (prior, self.slots.iter().map(|&slot| self.posterior(slot, prior, &masses)).collect())
    }

    /// The levels on which any of the slots has its nodes.
    fn levels(&self) -> Vec<bool> {
        let mut levels = vec![false; self.nodes.levels()];
        self.shown().for_each(|slot| levels[self.grid.window(slot).level] = true);
        levels
    }

    fn shown(&self) -> impl Iterator<Item = usize> {
        self.slots.iter().copied().filter(|&slot| self.grid.window(slot).shown)
    }

    /// The mean of the posterior means under a weak prior.
    fn start(&self, levels: &[bool]) -> Prior {
        let weak = Prior { mean: 0.5, strength: 1.0 };
        let masses = self.logs.masses(weak, levels);
        let (mut sum, mut count) = (0.0, 0.0);
        for slot in self.shown() {
            sum += self.posterior(slot, weak, &masses).mean;
            count += 1.0;
        }
        if count == 0.0 { weak } else { Prior { mean: (sum / count).clamp(MEAN.0, MEAN.1), strength: 10.0 } }
    }

    fn search(&self, levels: &[bool], bounds: (f64, f64), prior: impl Fn(f64) -> Prior) -> f64 {
        minimize(bounds.0, bounds.1, 12, 5e-3, |x| -self.log_likelihood(levels, prior(x)))
    }

    /// `Σ_u log ∫ L_uk(θ) Beta(θ; a, b) dθ`, each up to a constant.
    fn log_likelihood(&self, levels: &[bool], prior: Prior) -> f64 {
        let masses = self.logs.masses(prior, levels);
        self.shown().map(|slot| self.weighed(slot, &masses).map(|(_, weight)| weight).sum::<f64>().ln()).sum()
    }

    /// The nodes of a slot, each with prior times likelihood.
    fn weighed<'a>(&'a self, slot: usize, masses: &'a [Vec<f64>]) -> impl Iterator<Item = (f64, f64)> + 'a {
        let window = self.grid.window(slot);
        let masses = &masses[window.level][window.start..][..NODES];
        let weights = masses.iter().zip(self.grid.likelihood(slot)).map(|(mass, &l)| mass * f64::from(l));
        self.nodes.of_window(window).iter().copied().zip(weights)
    }

    fn posterior(&self, slot: usize, prior: Prior, masses: &[Vec<f64>]) -> Moments {
        if !self.grid.window(slot).shown {
            return Moments { mean: prior.mean, deviation: deviation(prior) };
        }
        let (mut total, mut first) = (0.0, 0.0);
        self.weighed(slot, masses).for_each(|(theta, weight)| {
            total += weight;
            first += weight * theta;
        });
        let mean = first / total;
        let square: f64 = self.weighed(slot, masses).map(|(theta, weight)| weight * (theta - mean).powi(2)).sum();
        Moments { mean, deviation: (square / total).sqrt() }
    }
}

/// `√(m(1−m)/(s+1))`, the deviation of a Beta.
fn deviation(prior: Prior) -> f64 {
    (prior.mean * (1.0 - prior.mean) / (prior.strength + 1.0)).sqrt()
}

/// `ln θ` and `ln(1−θ)` of every node.
struct Logs {
    by_level: Vec<Vec<(f64, f64)>>,
}

impl Logs {
    fn new(nodes: &Nodes) -> Self {
        let of_level = |level| nodes.of_level(level).iter().map(|theta| (theta.ln(), (-theta).ln_1p())).collect();
        Logs { by_level: (0..nodes.levels()).map(of_level).collect() }
    }

    /// The prior's probability of each node, for the levels asked for: `θ^(a−½) (1−θ)^(b−½)` by equal steps of
    /// asin √θ, made to sum to 1. Below the least positive number what is negligible stays above 0, so that no user
    /// is impossible.
    fn masses(&self, prior: Prior, levels: &[bool]) -> Vec<Vec<f64>> {
        let (a, b) = (prior.mean * prior.strength, (1.0 - prior.mean) * prior.strength);
        let of_level = |(logs, used): (&Vec<(f64, f64)>, &bool)| {
            if !used {
                return Vec::new();
            }
            let exponents: Vec<f64> =
                logs.iter().map(|(log, log_rest)| (a - 0.5) * log + (b - 0.5) * log_rest).collect();
            let most = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let masses: Vec<f64> = exponents.iter().map(|x| (x - most).exp().max(f64::MIN_POSITIVE)).collect();
            let total: f64 = masses.iter().sum();
            masses.into_iter().map(|mass| mass / total).collect()
        };
        self.by_level.iter().zip(levels).map(of_level).collect()
    }
}

fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::super::evidence::UserEvidence;
    use super::super::evidence::tests::observe;
    use super::*;
    use crate::random::stream;
    use rand_distr::{Beta, Binomial, Distribution};

    /// Users with θ from a Beta, each shown `impressions` documents of relevance 1: beta-binomial clicks.
    fn beta_binomial(mean: f64, strength: f64, users: u32, impressions: u64) -> LikelihoodGrid {
        let mut random = stream(5, "test", 0);
        let theta = Beta::new(mean * strength, (1.0 - mean) * strength).unwrap();
        let rows: Vec<_> = (0..users)
            .map(|user| {
                let clicks = Binomial::new(impressions, theta.sample(&mut random)).unwrap().sample(&mut random);
                (0, 1, user, impressions, clicks)
            })
            .collect();
        LikelihoodGrid::new(&UserEvidence::new(&observe(users as usize, &rows), &[1.0]).unwrap()).unwrap()
    }

    #[test]
    fn the_prior_that_made_the_users_is_recovered() {
        for (mean, strength) in [(0.3, 8.0), (0.05, 40.0), (0.9, 3.0)] {
            let shrunk = shrink(&beta_binomial(mean, strength, 3000, 50), None);
            let prior = shrunk.priors[0];
            assert!((logit(prior.mean) - logit(mean)).abs() < 0.1, "{prior:?}");
            assert!((prior.strength / strength).ln().abs() < 0.25, "{prior:?}");
        }
    }

    #[test]
    fn with_certain_relevance_the_posterior_is_the_conjugate_one() {
        let rows = [(0, 1, 0, 20, 4), (0, 1, 1, 20, 15), (0, 1, 2, 5, 1), (0, 1, 3, 400, 100), (0, 2, 4, 1, 1)];
        let grid = LikelihoodGrid::new(&UserEvidence::new(&observe(5, &rows), &[1.0]).unwrap()).unwrap();
        let shrunk = shrink(&grid, None);
        let prior = shrunk.priors[0];
        for (user, (n, c)) in
            [(20.0, 4.0), (20.0, 15.0), (5.0, 1.0), (400.0, 100.0), (0.0, 0.0)].into_iter().enumerate()
        {
            let expected =
                Prior { mean: (prior.mean * prior.strength + c) / (prior.strength + n), strength: prior.strength + n };
            let found = (shrunk.examination[user * 2], shrunk.standard_errors[user * 2]);
            assert!((found.0 - expected.mean).abs() < 2e-4, "{user}: {found:?} {expected:?}");
            assert!((found.1 - deviation(expected)).abs() < 2e-4, "{user}: {found:?} {}", deviation(expected));
        }
    }

    #[test]
    fn each_cluster_has_its_own_prior_and_strangers_get_the_average() {
        let rows: Vec<_> = (0..40).map(|user| (0, 1, user, 100, if user % 2 == 0 { 20 } else { 80 })).collect();
        let grid = LikelihoodGrid::new(&UserEvidence::new(&observe(40, &rows), &[1.0]).unwrap()).unwrap();
        let clusters: Vec<u32> = (0..40).map(|user| user % 2).collect();
        let shrunk = shrink(&grid, Some(&clusters));
        assert!((shrunk.priors[0].mean - 0.2).abs() < 0.01 && (shrunk.priors[1].mean - 0.8).abs() < 0.01);
        assert!((shrunk.unseen[0] - 0.5).abs() < 0.01);
        let alone = shrink(&grid, None);
        assert!(alone.priors[0].strength < 10.0 && shrunk.priors[0].strength > 500.0);
        assert!(shrunk.standard_errors[0] < alone.standard_errors[0]);
    }
}
