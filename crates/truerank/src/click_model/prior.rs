//! Beta priors, fitted: what many documents or users say about one.

use rayon::prelude::*;

use super::evidence::{Counts, Item};
use super::expectation::Sum;
use super::place::Place;
use crate::math::minimize;

/// Items summed by one task: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 256;

/// Items that a prior is fitted to; of more than these, a fixed share.
const MOST: usize = 1 << 14;

/// Strengths are looked for between e^-1.5, next to nothing, and e^9, as good as all alike.
const LOG_STRENGTH: (f64, f64) = (-1.5, 9.0);

/// After a first look everywhere, strengths are looked for this far from the last, by its logarithm.
const NEAR: f64 = 0.7;

/// Strengths are found to this share: fits stop where they move by twice as much.
const NEAR_ENOUGH: f64 = 0.01;

/// Known items of the overall mean that each class has beside its own, so that few do not stand for a class.
const BESIDE: f64 = 2.0;

/// Known items that hold the curve of what was shown once to the other, where few were.
const TOGETHER: f64 = 20.0;

/// How far the strength's logarithm may differ from the first knot to the last, and how far it usually does.
const TILTS: (f64, f64) = (-4.0, 4.0);
const USUAL_TILT: f64 = 1.0;

/// Means stay this far from 0 and 1.
const MEANS: (f64, f64) = (1e-4, 1.0 - 1e-4);

/// Beta distributions of parameters by their place: mean·strength successes in strength trials.
///
/// Classes of parameters are places on knots, each with a mean of its own. Documents lie between knots, and between what was
/// shown once and what was shown always. Their strength depends on the place too: if all had one, θ of a position would have to
/// explain how much documents differ there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BetaPrior {
    /// Knot by knot, by curve.
    pub means: Vec<f64>,
    curves: usize,
    /// Half way between the first knot and the last.
    pub strength: f64,
    /// The difference of its logarithm between both.
    tilt: f64,
}

impl BetaPrior {
    /// One mean for each class.
    pub fn new(classes: usize, mean: f64, strength: f64) -> Self {
        BetaPrior { means: vec![mean; classes], curves: 1, strength, tilt: 0.0 }
    }

    /// The same with these means.
    pub fn of_classes(means: Vec<f64>, strength: f64) -> Self {
        BetaPrior { means, curves: 1, strength, tilt: 0.0 }
    }

    /// Means by place, for documents on pages with so many positions.
    pub fn by_place(positions: usize, mean: f64, strength: f64) -> Self {
        BetaPrior { curves: 2, ..BetaPrior::new(2 * Place::knots(positions), mean, strength) }
    }

    pub fn with_means(self, means: Vec<f64>) -> Self {
        BetaPrior { means, ..self }
    }

    fn knots(&self) -> usize {
        self.means.len() / self.curves
    }

    /// The means that a place lies between, with weights. Where there is one mean, it has all places.
    fn weights(&self, place: Place) -> [(usize, f64); 4] {
        let last = self.knots() - 1;
        let left = (place.at as usize).min(last);
        let (right, share) = ((left + 1).min(last), if left < last { place.at - left as f64 } else { 0.0 });
        let seldom = if self.curves > 1 { place.seldom } else { 0.0 };
        let index = |knot: usize, curve: usize| knot * self.curves + curve.min(self.curves - 1);
        [
            (index(left, 0), (1.0 - share) * (1.0 - seldom)),
            (index(left, 1), (1.0 - share) * seldom),
            (index(right, 0), share * (1.0 - seldom)),
            (index(right, 1), share * seldom),
        ]
    }

    pub fn mean(&self, place: Place) -> f64 {
        self.weights(place).into_iter().map(|(index, weight)| weight * self.means[index]).sum()
    }

    pub fn strength_at(&self, place: Place) -> f64 {
        if self.tilt == 0.0 {
            return self.strength;
        }
        let along = place.at / (self.knots() - 1).max(1) as f64;
        self.strength * (self.tilt * (along - 0.5)).exp()
    }

    /// Successes and trials that stand for what is believed.
    pub fn of(&self, place: Place) -> (f64, f64) {
        let strength = self.strength_at(place);
        (self.mean(place) * strength, strength)
    }

    /// The logarithm of its density at a value, up to a constant.
    pub fn log_density(&self, place: Place, value: f64) -> f64 {
        let (won, of) = self.of(place);
        if of > 0.0 { won * value.ln() + (of - won) * (1.0 - value).ln() } else { 0.0 }
    }

    fn counts(&self, place: Place) -> Counts {
        let (won, of) = self.of(place);
        Counts { won, lost: of - won }
    }

    /// The prior of what is 1 less the parameter.
    pub fn of_complement(&self) -> BetaPrior {
        BetaPrior { means: self.means.iter().map(|mean| 1.0 - mean).collect(), ..self.clone() }
    }

    /// The prior that makes what is evident likeliest; this one where there are too few items to tell.
    pub fn fitted(&self, items: &[Item]) -> BetaPrior {
        let mut prior = self.clone();
        if items.len() < 3 {
            return prior;
        }
        let items = share_of(items);
        prior.strengthen(&items, LOG_STRENGTH, 12);
        for _ in 0..10 {
            let before = prior.clone();
            prior.means = prior.means_of_items(&items);
            let log = before.strength.ln();
            let near = ((log - NEAR).max(LOG_STRENGTH.0), (log + NEAR).min(LOG_STRENGTH.1));
            prior.strengthen(&items, near, 2);
            if (prior.strength / before.strength).ln().abs() < NEAR_ENOUGH {
                break;
            }
        }
        prior
    }

    /// This prior with the strength under which these items are likeliest, given the means. One outcome tells of the mean alone.
    pub fn with_fitted_strength(&self, items: &[Item]) -> BetaPrior {
        let items: Vec<Item> = items.iter().copied().filter(|item| item.outcomes() > 1.5).collect();
        let mut prior = self.clone();
        if items.len() >= 3 {
            prior.strengthen(&share_of(&items), LOG_STRENGTH, 12);
        }
        prior
    }

    /// Strength and tilt, in turns.
    fn strengthen(&mut self, items: &[Item], (low, high): (f64, f64), grid: usize) {
        self.strength = minimize(low, high, grid, NEAR_ENOUGH, |log| self.with(log, self.tilt).lack(items)).exp();
        for _ in 0..if self.curves > 1 { 2 } else { 0 } {
            let before = self.strength.ln();
            self.tilt = minimize(TILTS.0, TILTS.1, 4, 10.0 * NEAR_ENOUGH, |tilt| self.with(before, tilt).lack(items));
            let near = ((before - NEAR).max(LOG_STRENGTH.0), (before + NEAR).min(LOG_STRENGTH.1));
            self.strength = minimize(near.0, near.1, 2, NEAR_ENOUGH, |log| self.with(log, self.tilt).lack(items)).exp();
            if (self.strength.ln() - before).abs() < 2.0 * NEAR_ENOUGH {
                break;
            }
        }
    }

    fn with(&self, log_strength: f64, tilt: f64) -> BetaPrior {
        BetaPrior { strength: log_strength.exp(), tilt, ..self.clone() }
    }

    /// How unlikely items are, and so much tilt.
    fn lack(&self, items: &[Item]) -> f64 {
        0.5 * (self.tilt / USUAL_TILT).powi(2) - sum_of(items, |item| item.log_marginal(self.counts(item.place)))
    }

    /// Moves means to where those of the items' posteriors are on average: as far as items do not just follow their prior.
    fn means_of_items(&self, items: &[Item]) -> Vec<f64> {
        self.means_of(items.len(), |number| {
            let item = &items[number];
            let (trials, old) = (item.trials(), self.mean(item.place));
            let of = trials / (trials + self.strength_at(item.place));
            // What it would have won without a prior, roughly.
            (item.place, item.mean(self.counts(item.place)) - old + of * old, of)
        })
    }

    /// The means that posterior means `(S + ms)/(N + s)` have on average: in a class, `Σ S/(N+s) / Σ N/(N+s)`.
    pub fn moved_means(&self, items: usize, counts: impl Fn(usize) -> (Place, f64, f64) + Sync) -> Vec<f64> {
        self.means_of(items, |number| {
            let (place, won, of) = counts(number);
            let all = of + self.strength_at(place);
            (place, won / all, of / all)
        })
    }

    /// Least squares of what items won, each with its weight.
    fn means_of(&self, items: usize, known: impl Fn(usize) -> (Place, f64, f64) + Sync) -> Vec<f64> {
        let of_chunk = |chunk: usize| {
            let mut squares = Squares::new(self.means.len());
            for number in chunk * SQUARES..((chunk + 1) * SQUARES).min(items) {
                let (place, won, of) = known(number);
                squares.add(self.weights(place), won, of);
            }
            squares
        };
        let chunks: Vec<Squares> = (0..items.div_ceil(SQUARES)).into_par_iter().map(of_chunk).collect();
        let mut squares = Squares::new(self.means.len());
        chunks.iter().for_each(|chunk| squares.add_all(chunk));
        squares.hold(self.curves);
        squares.solve(&self.means)
    }

    /// How far two priors are apart: the largest change of a mean, and of the strength's logarithm anywhere.
    pub fn distance(&self, other: &BetaPrior) -> f64 {
        let means = self.means.iter().zip(&other.means).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let strength = (self.strength / other.strength).ln().abs() + 0.5 * (self.tilt - other.tilt).abs();
        means.max(strength)
    }
}

/// Items whose squares one task sums: fixed, so that sums do not depend on the number of threads.
const SQUARES: usize = 1 << 13;

/// Equations of least squares. Means that one item lies between are at most three apart, so few products are not 0.
struct Squares {
    /// Row i has the products of means i and i + offset.
    band: Vec<[f64; 4]>,
    won: Vec<f64>,
    /// Of all items, whatever their place.
    all: (f64, f64),
}

impl Squares {
    fn new(means: usize) -> Self {
        Squares { band: vec![[0.0; 4]; means], won: vec![0.0; means], all: (0.0, 0.0) }
    }

    fn add(&mut self, weights: [(usize, f64); 4], won: f64, of: f64) {
        self.all = (self.all.0 + won, self.all.1 + of);
        for (number, &(i, a)) in weights.iter().enumerate().filter(|(_, (_, weight))| *weight > 0.0) {
            self.won[i] += a * won;
            for &(j, b) in &weights[number..] {
                self.band[i.min(j)][i.abs_diff(j)] += of * a * b;
            }
        }
    }

    fn add_all(&mut self, other: &Squares) {
        self.all = (self.all.0 + other.all.0, self.all.1 + other.all.1);
        self.won.iter_mut().zip(&other.won).for_each(|(sum, part)| *sum += part);
        let rows = self.band.iter_mut().zip(&other.band);
        rows.for_each(|(row, part)| row.iter_mut().zip(part).for_each(|(sum, part)| *sum += part));
    }

    /// Holds means to that of all items, and those of what was shown once to the others.
    fn hold(&mut self, curves: usize) {
        let mean = self.all.0 / f64::max(self.all.1, f64::MIN_POSITIVE);
        for knot in (0..self.won.len()).step_by(curves) {
            self.band[knot][0] += BESIDE;
            self.won[knot] += BESIDE * mean;
            if curves > 1 {
                self.band[knot][0] += TOGETHER;
                self.band[knot][1] -= TOGETHER;
                self.band[knot + 1][0] += TOGETHER;
            }
        }
    }

    /// The solution within the bounds of means, by Gauss and Seidel's steps from these.
    fn solve(&self, start: &[f64]) -> Vec<f64> {
        let mut means = start.to_vec();
        for _ in 0..1000 {
            let mut farthest: f64 = 0.0;
            for index in 0..means.len() {
                let value = (self.left_for(index, &means) / self.band[index][0]).clamp(MEANS.0, MEANS.1);
                farthest = farthest.max((value - means[index]).abs());
                means[index] = value;
            }
            if farthest < 1e-12 {
                break;
            }
        }
        means
    }

    /// What others leave to a mean.
    fn left_for(&self, index: usize, means: &[f64]) -> f64 {
        let below = (1..4.min(means.len() - index)).map(|offset| self.band[index][offset] * means[index + offset]);
        let above = (1..4.min(index + 1)).map(|offset| self.band[index - offset][offset] * means[index - offset]);
        self.won[index] - below.sum::<f64>() - above.sum::<f64>()
    }
}

/// The sum over items, in their order.
fn sum_of(items: &[Item], value: impl Fn(&Item) -> f64 + Sync) -> f64 {
    let sums: Vec<f64> = items.par_chunks(CHUNK).map(|items| items.iter().map(&value).sum()).collect();
    sums.iter().sum()
}

/// Not more items than suffice, scattered over all.
fn share_of(items: &[Item]) -> Vec<Item> {
    let share = u64::MAX / items.len() as u64 * MOST.min(items.len()) as u64;
    // Multiples of the golden ratio fill the circle evenly (Knuth).
    let scattered = |number: usize| (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) <= share;
    (0..items.len()).filter(|&number| items.len() <= MOST || scattered(number)).map(|number| items[number]).collect()
}

/// What is evident of each item, by place.
pub(super) fn evidence<'a>(sums: impl IntoIterator<Item = (Place, &'a Sum)>) -> Vec<Item> {
    sums.into_iter().filter_map(|(place, sum)| Item::new(place, sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use rand::RngExt;
    use rand_distr::{Beta, Distribution};

    #[test]
    fn mean_and_strength_that_made_the_counts_are_found() {
        for (means, strength) in [([0.3, 0.7], 5.0), ([0.05, 0.1], 40.0), ([0.5, 0.2], 1.0)] {
            let mut random = stream(3, "test", 0);
            for chance in [1.0, 0.6] {
                let item = |number: usize| {
                    let mean = means[number % 2];
                    let value = Beta::new(mean * strength, (1.0 - mean) * strength).unwrap().sample(&mut random);
                    let won = (0..30).filter(|_| random.random_bool(chance * value)).count() as f64;
                    Item::new(Place::knot(number % 2), &Sum::default().seeing(won, 30.0 - won, chance)).unwrap()
                };
                let items: Vec<Item> = (0..8000).map(item).collect();
                let found = BetaPrior::new(2, 0.5, 1.0).fitted(&items);
                assert!((found.strength / strength).ln().abs() < 0.15, "{chance}: {found:?}");
                let near = |(found, mean): (&f64, f64)| (found - mean).abs() < 0.015;
                assert!(found.means.iter().zip(means).all(near), "{chance}: {found:?}");
            }
        }
    }

    /// Documents at places between knots, whose means and strengths depend on the place.
    fn placed(number: usize, random: &mut crate::random::Random) -> Item {
        let place = Place { at: random.random_range(0.0..4.0), seldom: [1.0, 0.5, 0.1, 0.02][number % 4] };
        let mean = 0.5 - 0.1 * place.at + 0.05 * place.at * place.seldom;
        let strength = 8.0 * (1.2 * (place.at / 4.0 - 0.5)).exp();
        let value = Beta::new(mean * strength, (1.0 - mean) * strength).unwrap().sample(random);
        let won = (0..20).filter(|_| random.random_bool(0.8 * value)).count() as f64;
        Item::new(place, &Sum::default().seeing(won, 20.0 - won, 0.8)).unwrap()
    }

    #[test]
    fn means_and_strengths_between_places_are_found() {
        let mut random = stream(4, "test", 0);
        let items: Vec<Item> = (0..30_000).map(|number| placed(number, &mut random)).collect();
        let found = BetaPrior::by_place(5, 0.3, 4.0).fitted(&items);
        for (at, seldom) in [(0.0, 1.0), (0.5, 0.1), (1.5, 0.5), (3.0, 1.0), (3.5, 0.05)] {
            let place = Place { at, seldom };
            let mean = 0.5 - 0.1 * at + 0.05 * at * seldom;
            let strength = 8.0 * (1.2 * (at / 4.0 - 0.5)).exp();
            assert!((found.mean(place) - mean).abs() < 0.02, "{place:?}: {} is not {mean}", found.mean(place));
            let off = (found.strength_at(place) / strength).ln();
            assert!(off.abs() < 0.2, "{place:?}: {} is not {strength}", found.strength_at(place));
        }
    }

    #[test]
    fn on_knots_means_are_ratios_of_sums() {
        let prior = BetaPrior::new(3, 0.5, 4.0);
        let counts = [(0, 3.0, 5.0), (1, 1.0, 9.0), (0, 0.0, 2.0), (2, 4.0, 4.0), (1, 2.0, 2.0)];
        let found = prior.moved_means(counts.len(), |number| {
            let (class, won, of) = counts[number];
            (Place::knot(class), won, of)
        });
        let sum = |class: Option<usize>| {
            let of_class = counts.iter().filter(|count| class.is_none_or(|class| class == count.0));
            of_class.fold((0.0, 0.0), |sum, (_, won, of)| (sum.0 + won / (of + 4.0), sum.1 + of / (of + 4.0)))
        };
        let (all_won, all) = sum(None);
        for (class, found) in found.into_iter().enumerate() {
            let (won, of) = sum(Some(class));
            assert!((found - (won + BESIDE * all_won / all) / (of + BESIDE)).abs() < 1e-12, "{class}: {found}");
        }
    }

    #[test]
    fn a_share_of_many_items_is_of_all_classes_alike() {
        let items: Vec<Item> =
            (0..10 * MOST).map(|number| Item::new(Place::knot(number % 10), &Sum::plain(1.0, 2.0)).unwrap()).collect();
        let share = share_of(&items);
        assert!((share.len() as f64 / MOST as f64 - 1.0).abs() < 0.01, "{}", share.len());
        for class in 0..10 {
            let of_class = share.iter().filter(|item| item.place == Place::knot(class)).count();
            assert!((of_class as f64 * 10.0 / MOST as f64 - 1.0).abs() < 0.05, "{class}: {of_class}");
        }
    }
}
