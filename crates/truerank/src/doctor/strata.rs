//! Do users look at different depths? Cells enter, a test that needs neither θ nor relevance leaves.
//!
//! All impressions of one document of one query at one position have the same relevance; where θ is the same for all
//! users, each of them is clicked with the same probability, whoever saw it. So within such a *stratum* clicks fall on
//! users by chance, and shuffling them there is a valid test whatever relevance, query mix and position bias are.

use std::collections::HashMap;

use rand::RngExt;
use rand_distr::{Distribution, Hypergeometric};
use serde::Serialize;

use super::permutation::{PermutationTest, permutation_test};
use crate::Result;
use crate::counts::{Cell, CountsView, by_position};
use crate::progress::Progress;
use crate::random::{Random, stream};

/// Whether users examine positions differently.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Differences {
    /// Users' deviations in level, slope and bend over positions, against clicks shuffled within strata.
    #[serde(flatten)]
    pub test: PermutationTest,
    /// Clicks that can be compared between users.
    pub clicks: u64,
    /// Their share of all clicks.
    pub comparable: f64,
}

/// Cells looked at, at most: enough to see any difference that would matter, in seconds.
const CELLS: usize = 60_000;

/// Level, slope and bend over the logarithm of the position: how people differ in depth, in few numbers, so that users
/// with few sessions add up.
const SHAPES: usize = 3;

/// The cells of one document at one position that were seen by several users and clicked by some.
struct Stratum<'a> {
    cells: &'a [Cell],
    impressions: u64,
    clicks: u64,
}

impl<'a> Stratum<'a> {
    fn of(cells: &'a [Cell]) -> Self {
        let sum = |value: fn(&Cell) -> u64| cells.iter().map(value).sum();
        Stratum { cells, impressions: sum(|cell| cell.impressions), clicks: sum(|cell| cell.clicks) }
    }

    fn is_comparable(&self) -> bool {
        self.cells.len() > 1 && self.clicks > 0 && self.clicks < self.impressions
    }

    /// Expected clicks of a cell, and their variance, where clicks fall on impressions by chance.
    fn expected(&self, cell: &Cell) -> (f64, f64) {
        let (n, clicks, shown) = (self.impressions as f64, self.clicks as f64, cell.impressions as f64);
        let variance = shown * (n - shown) * clicks * (n - clicks) / (n * n * (n - 1.0));
        (shown * clicks / n, variance)
    }
}

/// The test, or nothing where no clicks can be compared between users.
pub(super) fn differences(
    counts: &dyn CountsView,
    permutations: usize,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Option<Differences>> {
    let (mut strata, mut clicks) = (0, 0);
    for_each_stratum(counts, |_, stratum| {
        strata += 1;
        clicks += stratum.clicks;
    })?;
    if clicks == 0 {
        return Ok(None);
    }
    let sampled = sample(counts, strata, seed)?;
    let sampled: Vec<Stratum<'_>> = sampled.iter().map(|cells| Stratum::of(cells)).collect();
    let design = Design::new(&sampled, counts.users().len());
    let observed = design.statistic(|_, cell| cell.clicks);
    let shuffled = |random: &mut Random| {
        let mut draw = Draw::default();
        design.statistic(|stratum, cell| draw.clicks(stratum, cell, random))
    };
    let test = permutation_test(observed, permutations, (seed, "doctor/differences"), shuffled, progress)?;
    Ok(Some(Differences { test, clicks, comparable: clicks as f64 / counts.totals().clicks as f64 }))
}

/// Hands every stratum whose clicks can be compared between users to `take`, with its number.
fn for_each_stratum(counts: &dyn CountsView, mut take: impl FnMut(usize, &Stratum<'_>)) -> Result<()> {
    let mut number = 0;
    counts.for_each_cells(|cells| {
        for stratum in by_position(cells).map(Stratum::of).filter(Stratum::is_comparable) {
            take(number, &stratum);
            number += 1;
        }
    })
}

/// The cells of all of so many strata, or of a random part of them.
fn sample(counts: &dyn CountsView, strata: usize, seed: u64) -> Result<Vec<Vec<Cell>>> {
    let order = shuffled(strata, seed);
    let places: HashMap<usize, usize> = order.iter().copied().zip(0..).collect();
    let mut sizes = vec![0; order.len()];
    for_each_stratum(counts, |number, stratum| {
        if let Some(&place) = places.get(&number) {
            sizes[place] = stratum.cells.len();
        }
    })?;
    let (mut kept, mut cells) = (0, 0);
    while kept < sizes.len() && cells < CELLS {
        cells += sizes[kept];
        kept += 1;
    }
    let mut sampled = vec![Vec::new(); kept];
    for_each_stratum(counts, |number, stratum| {
        if let Some(&place) = places.get(&number).filter(|place| **place < kept) {
            sampled[place] = stratum.cells.to_vec();
        }
    })?;
    Ok(sampled)
}

/// Numbers below `strata` in random order, as many as a sample can need: each stratum has two cells at least.
fn shuffled(strata: usize, seed: u64) -> Vec<usize> {
    let mut random = stream(seed, "doctor/sample", 1);
    // Numbers that are not in their own place.
    let mut moved: HashMap<usize, usize> = HashMap::new();
    let at = |moved: &HashMap<usize, usize>, place: usize| moved.get(&place).copied().unwrap_or(place);
    let draw = |place: usize| {
        let chosen = random.random_range(place..strata);
        let (drawn, stays) = (at(&moved, chosen), at(&moved, place));
        moved.insert(chosen, stays);
        drawn
    };
    (0..strata.min(CELLS.div_ceil(2))).map(draw).collect()
}

/// What the statistic needs beside clicks.
struct Design<'a> {
    strata: &'a [Stratum<'a>],
    /// [`SHAPES`] values for each position.
    shapes: Vec<[f64; SHAPES]>,
    /// Variances of the users' deviations in each shape.
    variances: Vec<[f64; SHAPES]>,
}

impl<'a> Design<'a> {
    fn new(strata: &'a [Stratum<'a>], users: usize) -> Self {
        let shapes = shapes(&information(strata));
        let mut variances = vec![[0.0; SHAPES]; users];
        for stratum in strata {
            for cell in stratum.cells {
                let (_, variance) = stratum.expected(cell);
                let shape = &shapes[cell.position as usize - 1];
                let sums = &mut variances[cell.user as usize];
                (0..SHAPES).for_each(|s| sums[s] += shape[s] * shape[s] * variance);
            }
        }
        Design { strata, shapes, variances }
    }

    /// `Σ_users Σ_shapes (Σ_cells φ(k)·(c − E[c]))² / variance`.
    fn statistic(&self, mut clicks: impl FnMut(&Stratum<'_>, &Cell) -> u64) -> f64 {
        let mut deviations = vec![[0.0; SHAPES]; self.variances.len()];
        for stratum in self.strata {
            for cell in stratum.cells {
                let (expected, _) = stratum.expected(cell);
                let deviation = clicks(stratum, cell) as f64 - expected;
                let shape = &self.shapes[cell.position as usize - 1];
                let sums = &mut deviations[cell.user as usize];
                (0..SHAPES).for_each(|s| sums[s] += shape[s] * deviation);
            }
        }
        let squares = deviations.iter().flatten().zip(self.variances.iter().flatten());
        squares.filter(|(_, variance)| **variance > 1e-9).map(|(sum, variance)| sum * sum / variance).sum()
    }
}

/// How much each position can tell: the variance of its clicks.
fn information(strata: &[Stratum<'_>]) -> Vec<f64> {
    let last = strata.iter().map(|stratum| stratum.cells[0].position).max().unwrap_or(0);
    let mut sums = vec![0.0; last as usize];
    for stratum in strata {
        let variance: f64 = stratum.cells.iter().map(|cell| stratum.expected(cell).1).sum();
        sums[stratum.cells[0].position as usize - 1] += variance;
    }
    sums
}

/// Polynomials in `ln k` of degree 0, 1, 2, made orthogonal over positions weighted by what they can tell.
fn shapes(weights: &[f64]) -> Vec<[f64; SHAPES]> {
    let mut shapes: Vec<[f64; SHAPES]> =
        (1..=weights.len()).map(|k| std::array::from_fn(|degree| (k as f64).ln().powi(degree as i32))).collect();
    for s in 0..SHAPES {
        for earlier in 0..s {
            let dot = |a: usize, b: usize| -> f64 { shapes.iter().zip(weights).map(|(f, w)| w * f[a] * f[b]).sum() };
            let (overlap, length) = (dot(s, earlier), dot(earlier, earlier));
            if length > 0.0 {
                shapes.iter_mut().for_each(|f| f[s] -= overlap / length * f[earlier]);
            }
        }
        // What is left of a shape that the positions cannot tell from the earlier ones is rounding.
        let length: f64 = shapes.iter().zip(weights).map(|(f, w)| w * f[s] * f[s]).sum();
        let total: f64 = weights.iter().sum();
        if length <= 1e-9 * total {
            shapes.iter_mut().for_each(|f| f[s] = 0.0);
        }
    }
    shapes
}

/// Clicks of a stratum dealt to its cells anew, one cell after another.
#[derive(Default)]
struct Draw {
    impressions: u64,
    clicks: u64,
}

impl Draw {
    fn clicks(&mut self, stratum: &Stratum<'_>, cell: &Cell, random: &mut Random) -> u64 {
        if self.impressions == 0 {
            *self = Draw { impressions: stratum.impressions, clicks: stratum.clicks };
        }
        let drawn = hypergeometric(self.impressions, self.clicks, cell.impressions, random);
        self.impressions -= cell.impressions;
        self.clicks -= drawn;
        drawn
    }
}

/// How many of `clicks` among `total` impressions fall on `shown` of them.
fn hypergeometric(total: u64, clicks: u64, shown: u64, random: &mut Random) -> u64 {
    if clicks == 0 || shown == total {
        return clicks;
    }
    // One by one is faster than setting up the distribution where there is little to draw.
    const FEW: u64 = 12;
    if clicks.min(shown) <= FEW {
        return one_by_one(total, clicks.max(shown), clicks.min(shown), random);
    }
    Hypergeometric::new(total, clicks, shown).map_or(0, |distribution| distribution.sample(random))
}

/// Draws `draws` of `total` without replacement and counts those among the first `marked`.
fn one_by_one(total: u64, marked: u64, draws: u64, random: &mut Random) -> u64 {
    let mut hits = 0;
    for drawn in 0..draws {
        hits += u64::from(random.random_range(0..total - drawn) < marked - hits);
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Counts;
    use crate::progress::Silent;

    #[test]
    fn a_sample_is_that_of_a_shuffled_list() {
        // Strata of 2, 3, 4, … cells: which ones are drawn can be told by their sizes.
        let cell = |doc, user| Cell { query: 0, doc, position: 1, user, impressions: 2, clicks: 1 };
        let cells: Vec<Cell> = (0..400).flat_map(|doc| (0..doc + 2).map(move |user| cell(doc, user))).collect();
        let counts = Counts { cells, ..Counts::default() };
        let mut random = stream(7, "doctor/sample", 1);
        let (mut sizes, mut kept, mut sum): (Vec<usize>, _, _) = ((2..402).collect(), 0, 0);
        while kept < sizes.len() && sum < CELLS {
            let chosen = random.random_range(kept..sizes.len());
            sizes.swap(kept, chosen);
            sum += sizes[kept];
            kept += 1;
        }
        let found: Vec<usize> = sample(&counts, 400, 7).unwrap().iter().map(Vec::len).collect();
        assert!(kept < 400);
        assert_eq!(found, sizes[..kept]);
    }

    #[test]
    fn dealing_clicks_anew_has_the_hypergeometric_mean_and_variance() {
        for (total, clicks, shown) in [(20, 6, 5), (400, 90, 120), (50, 49, 3), (10, 5, 5)] {
            let mut random = stream(1, "test", total);
            let draws: Vec<f64> =
                (0..20_000).map(|_| hypergeometric(total, clicks, shown, &mut random) as f64).collect();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
            let [n, c, s] = [total, clicks, shown].map(|x| x as f64);
            let expected = s * (n - s) * c * (n - c) / (n * n * (n - 1.0));
            assert!((mean - s * c / n).abs() < 5.0 * (expected / 20_000.0).sqrt(), "{mean}");
            assert!((variance / expected - 1.0).abs() < 0.06, "{variance} is not {expected}");
        }
    }

    #[test]
    fn shapes_are_orthogonal_over_what_positions_tell() {
        let weights = [5.0, 3.0, 2.0, 1.0, 0.0, 0.5];
        let shapes = shapes(&weights);
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let dot: f64 = shapes.iter().zip(weights).map(|(f, w)| w * f[a] * f[b]).sum();
            assert!(dot.abs() < 1e-9, "{a}, {b}: {dot}");
        }
        // With two positions there is no bend.
        assert!(super::shapes(&[1.0, 1.0]).iter().all(|f| f[2] == 0.0));
    }

    #[test]
    fn documents_that_one_user_saw_tell_nothing() {
        let cell = |doc, user| Cell { query: 0, doc, position: 1, user, impressions: 9, clicks: 3 };
        let counts = Counts { cells: vec![cell(0, 0), cell(1, 1)], ..Counts::default() };
        assert_eq!(differences(&counts, 99, 1, &Silent).unwrap(), None);
    }
}
