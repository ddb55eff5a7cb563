//! Clusters of users: how far down each looks and how many sessions each has.

use rand_distr::{Distribution, Normal};

use super::Simulation;
use super::browsing::browsing;
use crate::click_model::{Browsing, ClickModelKind};
use crate::random::stream;

/// The paper's η for 5, 10 or 20 clusters, busiest first.
pub fn paper_etas(clusters: usize) -> Option<Vec<f64>> {
    match clusters {
        5 => Some(vec![2.5, 2.0, 1.0, 0.8, 0.0]),
        10 => Some(vec![2.5, 2.0, 1.8, 1.5, 1.2, 1.0, 0.8, 0.5, 0.2, 0.0]),
        20 => Some(vec![
            2.5, 2.4, 2.2, 2.0, 1.9, 1.8, 1.6, 1.5, 1.4, 1.2, 1.1, 1.0, 0.9, 0.8, 0.6, 0.5, 0.4, 0.2, 0.1, 0.0,
        ]),
        _ => None,
    }
}

/// η of each user, cluster after cluster.
pub(super) fn draw_depths(settings: &Simulation) -> Vec<f64> {
    let mut random = stream(settings.world(), "users", 0);
    let noise = Normal::new(0.0, settings.user_noise).expect("checked: finite and not negative");
    let of_cluster = |&eta: &f64| std::iter::repeat_n(eta, settings.users_per_cluster);
    let etas = settings.etas.iter().flat_map(of_cluster);
    etas.map(|eta| (eta + noise.sample(&mut random)).max(0.0)).collect()
}

/// How each user browses, given η.
pub(super) fn users_of_depths(settings: &Simulation, depths: &[f64], positions: usize) -> Vec<Browsing> {
    let model = |user: usize| settings.model_of_cluster(user / settings.users_per_cluster);
    depths.iter().enumerate().map(|(user, &eta)| browsing(model(user), eta, positions)).collect()
}

impl Simulation {
    /// The click model of a cluster: the models are dealt in turn.
    pub(super) fn model_of_cluster(&self, cluster: usize) -> ClickModelKind {
        self.click_model[cluster % self.click_model.len()]
    }
}

/// Sessions of each cluster: each has `ratio` times those of the next, whole numbers that sum to `sessions`.
///
/// Fractions are settled by largest remainder.
pub(super) fn cluster_sessions(sessions: u64, clusters: usize, ratio: f64) -> Vec<u64> {
    let shares: Vec<f64> = (0..clusters).map(|i| ratio.powi(-(i as i32))).collect();
    let total: f64 = shares.iter().sum();
    let exact: Vec<f64> = shares.iter().map(|share| sessions as f64 * share / total).collect();
    let mut counts: Vec<u64> = exact.iter().map(|x| x.floor() as u64).collect();
    let mut by_remainder: Vec<usize> = (0..clusters).collect();
    by_remainder.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let missing = sessions - counts.iter().sum::<u64>();
    by_remainder.into_iter().cycle().take(missing as usize).for_each(|i| counts[i] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_sessions_fall_by_the_ratio_and_sum_up() {
        let counts = cluster_sessions(1_000_000, 10, 1.25);
        assert_eq!(counts.iter().sum::<u64>(), 1_000_000);
        for pair in counts.windows(2) {
            assert!((pair[0] as f64 / pair[1] as f64 - 1.25).abs() < 1e-4);
        }
        assert_eq!(cluster_sessions(3, 10, 1.25).iter().sum::<u64>(), 3);
    }
}
