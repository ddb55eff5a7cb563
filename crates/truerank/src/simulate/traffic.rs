//! Which queries each cluster issues.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::Simulation;
use crate::random::{Random, stream};

/// For each cluster, the probability of each query.
///
/// A cluster never issues a share of the queries and gives each other one a uniform random probability, normalised;
/// Zipf's law multiplies it where asked. Without personal queries all clusters share the first one's distribution.
pub(super) fn draw_traffic(settings: &Simulation, queries: usize) -> Vec<Vec<f64>> {
    let popularity = popularity(settings, queries);
    let clusters = settings.etas.len();
    let drawn = if settings.shared_queries { 1 } else { clusters };
    let mut traffic: Vec<Vec<f64>> =
        (0..drawn).map(|cluster| cluster_traffic(settings, cluster as u64, &popularity)).collect();
    let shared = traffic[0].clone();
    traffic.resize(clusters, shared);
    traffic
}

fn popularity(settings: &Simulation, queries: usize) -> Vec<f64> {
    let mut weights: Vec<f64> = (1..=queries).map(|rank| (rank as f64).powf(-settings.zipf)).collect();
    weights.shuffle(&mut stream(settings.world(), "popularity", 0));
    weights
}

fn cluster_traffic(settings: &Simulation, cluster: u64, popularity: &[f64]) -> Vec<f64> {
    let mut random = stream(settings.world(), "traffic", cluster);
    let mut order: Vec<usize> = (0..popularity.len()).collect();
    order.shuffle(&mut random);
    let silent = ((popularity.len() as f64 * settings.query_sparsity) as usize).min(popularity.len().saturating_sub(1));
    let mut weights = vec![0.0; popularity.len()];
    for &query in &order[silent..] {
        weights[query] = popularity[query] * (1.0 - random.random::<f64>());
    }
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
    weights
}

/// Draws from a discrete distribution in constant time (Walker 1977, in Vose's form).
#[derive(Debug, Clone)]
pub(super) struct AliasTable {
    keep: Vec<f64>,
    alias: Vec<u32>,
}

impl AliasTable {
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut keep: Vec<f64> = weights.iter().map(|w| w * weights.len() as f64 / total).collect();
        let mut alias: Vec<u32> = (0..weights.len() as u32).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..keep.len()).partition(|&i| keep[i] < 1.0);
        while let (Some(&below), Some(&above)) = (small.last(), large.last()) {
            small.pop();
            alias[below] = above as u32;
            keep[above] -= 1.0 - keep[below];
            if keep[above] < 1.0 {
                large.pop();
                small.push(above);
            }
        }
        // What is left is 1 but for rounding.
        small.into_iter().chain(large).for_each(|i| keep[i] = 1.0);
        AliasTable { keep, alias }
    }

    pub fn draw(&self, random: &mut Random) -> u32 {
        let slot = random.random_range(0..self.keep.len());
        if random.random::<f64>() < self.keep[slot] { slot as u32 } else { self.alias[slot] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_queries_are_silent_for_a_cluster() {
        let settings = Simulation::new().etas(vec![1.0; 10]).seed(3);
        for weights in draw_traffic(&settings, 1000) {
            assert_eq!(weights.iter().filter(|w| **w == 0.0).count(), 500);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        let shared = draw_traffic(&settings.shared_queries(true), 1000);
        assert!(shared.iter().all(|weights| *weights == shared[0]));
    }

    #[test]
    fn the_alias_table_draws_its_weights() {
        let weights = [0.1, 0.0, 0.5, 0.4];
        let table = AliasTable::new(&weights);
        let mut random = stream(1, "test", 0);
        let mut counts = [0.0; 4];
        let draws = 100_000;
        (0..draws).for_each(|_| counts[table.draw(&mut random) as usize] += 1.0);
        for (count, weight) in counts.iter().zip(weights) {
            let spread = (weight * (1.0 - weight) * f64::from(draws)).sqrt();
            assert!((count - weight * f64::from(draws)).abs() <= 4.0 * spread);
        }
    }
}
