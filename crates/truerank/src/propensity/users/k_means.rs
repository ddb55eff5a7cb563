//! Groups rows of numbers by k-means.

use rand::RngExt;
use rayon::prelude::*;

use crate::random::{Random, stream};

/// Lloyd's iterations at most; tens are usual.
const ITERATIONS: usize = 300;

/// Rows in groups, each around its centre.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KMeans {
    /// The group of each row.
    pub of_row: Vec<u32>,
    /// One row per group.
    pub centres: Vec<f64>,
    /// `Σ w · |x − centre|²` after each iteration; never rises.
    pub inertia: Vec<f64>,
}

/// Rows of `width` numbers, each with a weight.
pub(crate) struct Rows<'a> {
    values: &'a [f64],
    weights: Option<&'a [f64]>,
    width: usize,
}

impl<'a> Rows<'a> {
    /// Rows that count alike, or as much as `weights` says, all above 0.
    pub fn new(values: &'a [f64], width: usize, weights: Option<&'a [f64]>) -> Self {
        Rows { values, weights, width }
    }

    fn len(&self) -> usize {
        self.values.len() / self.width
    }

    fn row(&self, row: usize) -> &'a [f64] {
        &self.values[row * self.width..][..self.width]
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// The grouping into `groups` with the least inertia among `restarts`.
    ///
    /// Starts are k-means++ (Arthur and Vassilvitskii 2007), steps Lloyd's. A row as near to two centres goes to the
    /// first. A group that loses all its rows takes the row farthest from its centre, if any is away from it at all;
    /// so with fewer distinct rows than groups some groups stay empty. Of equal inertias the first start wins.
    pub fn k_means(&self, groups: usize, restarts: usize, seed: u64) -> KMeans {
        let fits: Vec<KMeans> = (0..restarts.max(1) as u64)
            .into_par_iter()
            .map(|restart| self.lloyd(self.spread_centres(groups, &mut stream(seed, "k-means", restart))))
            .collect();
        let last = |fit: &KMeans| fit.inertia.last().copied().unwrap_or(0.0);
        fits.into_iter().min_by(|a, b| last(a).total_cmp(&last(b))).expect("at least one start")
    }

    /// Rows chosen one after another, each with probability in proportion to its weighted squared distance from the
    /// nearest one chosen before.
    fn spread_centres(&self, groups: usize, random: &mut Random) -> Vec<f64> {
        let mut chances: Vec<f64> = (0..self.len()).map(|row| self.weight(row)).collect();
        let mut nearest = vec![f64::INFINITY; self.len()];
        let mut centres = Vec::with_capacity(groups * self.width);
        for _ in 0..groups {
            let centre = self.row(draw(&chances, random));
            centres.extend_from_slice(centre);
            for row in 0..self.len() {
                nearest[row] = nearest[row].min(squared_distance(self.row(row), centre));
                chances[row] = self.weight(row) * nearest[row];
            }
        }
        centres
    }

    fn lloyd(&self, mut centres: Vec<f64>) -> KMeans {
        let mut nearest = self.nearest(&centres);
        let mut inertia = Vec::new();
        for _ in 0..ITERATIONS {
            self.fill_empty_groups(&mut nearest, centres.len() / self.width);
            self.move_centres(&nearest, &mut centres);
            let next = self.nearest(&centres);
            inertia.push(self.inertia(&next));
            let same = next.iter().zip(&nearest).all(|(a, b)| a.0 == b.0);
            nearest = next;
            if same {
                break;
            }
        }
        KMeans { of_row: nearest.into_iter().map(|(group, _)| group).collect(), centres, inertia }
    }

    /// The nearest centre of each row and the squared distance from it.
    fn nearest(&self, centres: &[f64]) -> Vec<(u32, f64)> {
        let of_row = |row: usize| {
            let distances = centres.chunks_exact(self.width).map(|centre| squared_distance(self.row(row), centre));
            let nearest = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).expect("at least one centre");
            (nearest.0 as u32, nearest.1)
        };
        (0..self.len()).into_par_iter().map(of_row).collect()
    }

    fn inertia(&self, nearest: &[(u32, f64)]) -> f64 {
        nearest.iter().enumerate().map(|(row, (_, distance))| self.weight(row) * distance).sum()
    }

    fn fill_empty_groups(&self, nearest: &mut [(u32, f64)], groups: usize) {
        let mut sizes = vec![0usize; groups];
        nearest.iter().for_each(|(group, _)| sizes[*group as usize] += 1);
        for empty in 0..groups {
            if sizes[empty] > 0 {
                continue;
            }
            let farthest = (0..nearest.len()).rev().max_by(|&a, &b| nearest[a].1.total_cmp(&nearest[b].1));
            if let Some(row) = farthest.filter(|&row| nearest[row].1 > 0.0 && sizes[nearest[row].0 as usize] > 1) {
                sizes[nearest[row].0 as usize] -= 1;
                sizes[empty] = 1;
                nearest[row] = (empty as u32, 0.0);
            }
        }
    }

    /// Moves each centre to the mean of its rows; that of an empty group stays.
    fn move_centres(&self, nearest: &[(u32, f64)], centres: &mut [f64]) {
        let mut sums = vec![0.0; centres.len()];
        let mut totals = vec![0.0; centres.len() / self.width];
        for (row, &(group, _)) in nearest.iter().enumerate() {
            let weight = self.weight(row);
            totals[group as usize] += weight;
            let sum = &mut sums[group as usize * self.width..][..self.width];
            sum.iter_mut().zip(self.row(row)).for_each(|(sum, value)| *sum += weight * value);
        }
        for (group, total) in totals.into_iter().enumerate().filter(|(_, total)| *total > 0.0) {
            let range = group * self.width..(group + 1) * self.width;
            centres[range.clone()].iter_mut().zip(&sums[range]).for_each(|(centre, sum)| *centre = sum / total);
        }
    }
}

/// An index with probability in proportion to its chance; any, where all chances are 0.
fn draw(chances: &[f64], random: &mut Random) -> usize {
    let total: f64 = chances.iter().sum();
    if total <= 0.0 {
        return random.random_range(0..chances.len());
    }
    let mut left = random.random::<f64>() * total;
    for (index, &chance) in chances.iter().enumerate() {
        left -= chance;
        if left < 0.0 {
            return index;
        }
    }
    chances.iter().rposition(|&chance| chance > 0.0).expect("some chance is positive")
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn separate_heaps_are_found() {
        let values = [0.0, 0.1, 5.0, 5.1, 0.2, 9.0];
        let fit = Rows::new(&values, 1, None).k_means(3, 5, 1);
        let group = |row: usize| fit.of_row[row];
        assert_eq!((group(0), group(2)), (group(1), group(3)));
        assert!(group(0) == group(4) && group(0) != group(2) && group(5) != group(2));
        // Heaps of 3 around .1, of 2 around 5.05 and of 1.
        assert!((fit.inertia.last().unwrap() - (2.0 * 0.01 + 2.0 * 0.0025)).abs() < 1e-12);
    }

    #[test]
    fn a_weight_counts_as_that_many_rows() {
        let weighed = Rows::new(&[0.0, 1.0, 4.0], 1, Some(&[3.0, 1.0, 2.0])).k_means(2, 3, 1);
        let repeated = Rows::new(&[0.0, 0.0, 0.0, 1.0, 4.0, 4.0], 1, None).k_means(2, 3, 1);
        assert!((weighed.inertia.last().unwrap() - repeated.inertia.last().unwrap()).abs() < 1e-12);
        assert!(weighed.centres.contains(&0.25));
    }

    #[test]
    fn equal_rows_leave_groups_empty() {
        let fit = Rows::new(&[0.5; 8], 2, None).k_means(3, 2, 1);
        assert_eq!(fit.of_row, [0; 4]);
        assert_eq!(fit.inertia, [0.0]);
    }

    proptest! {
        #[test]
        fn inertia_never_rises_and_every_distinct_row_can_have_a_group(
            values in prop::collection::vec(0u8..6, 4..60), groups in 1usize..6, seed in 0u64..100
        ) {
            let values: Vec<f64> = values.chunks_exact(2).flatten().map(|&v| f64::from(v)).collect();
            let mut distinct: Vec<&[f64]> = values.chunks_exact(2).collect();
            distinct.sort_by(|a, b| a.partial_cmp(b).unwrap());
            distinct.dedup();
            let fit = Rows::new(&values, 2, None).k_means(groups, 2, seed);
            prop_assert!(fit.inertia.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{:?}", fit.inertia);
            let mut used = fit.of_row.clone();
            used.sort();
            used.dedup();
            prop_assert_eq!(used.len(), groups.min(distinct.len()));
        }
    }
}
