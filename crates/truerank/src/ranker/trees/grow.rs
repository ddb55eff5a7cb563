//! Grows one tree: rows in bins and their derivatives enter, a tree and the rows of each leaf leave.
//!
//! The leaf whose best split lowers the loss most is divided next. Of two children, the rows of the smaller one are summed; the
//! sums of the other are what is left of their parent's. Sums are whole numbers, so that changes nothing.

use std::ops::Range;

use rayon::prelude::*;

use super::bins::{BinnedRows, MISSING};
use super::histogram::{self, BlockHistogram, Histogram, Pool};
use super::model::{Child, Leaf, Split, Tree};
use super::monotone::Direction;
use super::partition::partition;
use super::split::{Bounds, Divided, Found, Judge, Rules};
use super::sums::{Sums, Units};

/// Work below which threads would wait for each other longer than they work.
const SMALL: usize = 1 << 14;

/// What stays the same from tree to tree.
pub(super) struct Grower<'a> {
    pub(super) bins: &'a BinnedRows,
    pub(super) directions: &'a [Direction],
    pub(super) rules: Rules,
    pub(super) leaves: usize,
    /// What leaves are multiplied by.
    pub(super) learning_rate: f64,
    pool: Pool,
    /// Room for the rows and derivatives of a leaf.
    moved: Vec<u32>,
    gathered: Vec<Sums>,
}

/// A leaf while the tree grows.
struct Open {
    rows: Range<usize>,
    divided: Divided,
    histogram: Option<Histogram>,
    best: Option<Found>,
    /// The split above it, and whether it is on its left.
    above: Option<(usize, bool)>,
}

/// A tree and where the rows of its leaves are.
pub(super) struct Grown {
    pub(super) tree: Tree,
    /// For each leaf, its place among the rows.
    pub(super) rows: Vec<Range<usize>>,
}

/// The tree that is being grown.
struct Growth<'a> {
    judge: Judge,
    /// Derivatives of all rows.
    derivatives: &'a [Sums],
    /// Features that the tree may use.
    used: &'a [bool],
    /// Rows, those of a leaf side by side.
    rows: &'a mut [u32],
    splits: Vec<Split>,
    open: Vec<Open>,
}

impl<'a> Grower<'a> {
    pub(super) fn new(
        bins: &'a BinnedRows,
        directions: &'a [Direction],
        rules: Rules,
        leaves: usize,
        learning_rate: f64,
    ) -> Self {
        let pool = Pool::new(bins.block_count());
        Grower { bins, directions, rules, leaves, learning_rate, pool, moved: Vec::new(), gathered: Vec::new() }
    }

    /// Grows a tree on `rows`, which it sorts by leaf.
    pub(super) fn grow(&mut self, units: Units, derivatives: &[Sums], used: &[bool], rows: &mut [u32]) -> Grown {
        let judge = Judge { rules: self.rules, units };
        let mut growth = Growth { judge, derivatives, used, rows, splits: Vec::new(), open: Vec::new() };
        growth.open.push(self.root(&growth));
        while growth.open.len() < self.leaves {
            let Some((leaf, found)) = growth.next() else { break };
            self.divide(&mut growth, leaf, found);
        }
        for open in &mut growth.open {
            open.histogram.take().into_iter().for_each(|histogram| self.pool.give(histogram));
        }
        self.finish(growth)
    }

    fn root(&mut self, growth: &Growth<'_>) -> Open {
        let (rows, derivatives) = (&*growth.rows, growth.derivatives);
        let of_piece = |rows: &[u32]| rows.iter().fold(Sums::ZERO, |sums, &row| sums.plus(derivatives[row as usize]));
        let sums = rows.par_chunks(SMALL).map(of_piece).reduce(|| Sums::ZERO, Sums::plus);
        let divided = Divided { sums, bounds: Bounds::NONE };
        let mut open = Open { rows: 0..growth.rows.len(), divided, histogram: None, best: None, above: None };
        if self.can_divide(&open) {
            let mut histogram = self.pool.take_any();
            open.best = self.sum_and_search(growth, &open, &mut histogram);
            open.histogram = Some(histogram);
        }
        open
    }

    /// Whether a leaf has the rows for two.
    fn can_divide(&self, open: &Open) -> bool {
        open.rows.len() as u64 >= 2 * self.rules.min_rows
    }

    /// Sums the rows of a leaf and finds its best split.
    fn sum_and_search(&mut self, growth: &Growth<'_>, open: &Open, histogram: &mut Histogram) -> Option<Found> {
        if !self.can_divide(open) {
            return None;
        }
        let rows = &growth.rows[open.rows.clone()];
        gather(&mut self.gathered, growth.derivatives, rows);
        let (bins, gathered) = (self.bins, &self.gathered);
        let found = each_block(histogram, rows.len(), |block, of_block| {
            histogram::fill(of_block, bins.block(block), rows, gathered);
            self.search(growth, block, of_block, &open.divided)
        });
        first_best(found)
    }

    /// The best split by a feature of a block.
    fn search(&self, growth: &Growth<'_>, block: usize, histogram: &BlockHistogram, leaf: &Divided) -> Option<Found> {
        let (first, features) = self.bins.features_of(block);
        let of_features = features.iter().zip(histogram).enumerate().filter(|(place, _)| growth.used[first + place]);
        first_best(of_features.map(|(place, (bins, histogram))| {
            let feature = first + place;
            growth.judge.best(feature, bins, self.directions[feature], histogram, leaf)
        }))
    }

    fn divide(&mut self, growth: &mut Growth<'_>, leaf: usize, found: Found) {
        let (mut left, mut right) = self.children(growth, leaf, &found);
        let parent = growth.open[leaf].histogram.take();
        // The last leaves are not divided any more.
        let is_last = growth.open.len() + 1 == self.leaves;
        if is_last || !(self.can_divide(&left) || self.can_divide(&right)) {
            parent.into_iter().for_each(|histogram| self.pool.give(histogram));
        } else {
            let (small, large) = match left.rows.len() <= right.rows.len() {
                true => (&mut left, &mut right),
                false => (&mut right, &mut left),
            };
            self.search_children(growth, small, large, parent);
        }
        growth.open[leaf] = left;
        growth.open.push(right);
    }

    /// The two leaves of a split, which is added to the tree.
    fn children(&mut self, growth: &mut Growth<'_>, leaf: usize, found: &Found) -> (Open, Open) {
        let open = &growth.open[leaf];
        let (range, divided) = (open.rows.clone(), open.divided);
        growth.link(open.above, Child::Split(growth.splits.len() as u32));
        let goes_left = self.goes_left(found);
        let left_count = partition(&mut growth.rows[range.clone()], &mut self.moved, goes_left);
        let middle = range.start + left_count;
        let right = divided.sums.less(found.left);
        let value = |sums| growth.judge.value(sums, divided.bounds);
        let direction = self.directions[found.feature];
        let (left_bounds, right_bounds) = divided.bounds.of_children(direction, value(found.left), value(right));
        let number = growth.splits.len();
        growth.splits.push(Split {
            feature: found.feature as u32,
            threshold: self.bins.features[found.feature].threshold(found.bin),
            missing_left: found.missing_left,
            gain: found.gain as f32,
            left: Child::Leaf(0),
            right: Child::Leaf(0),
        });
        let child = |rows, sums, bounds, is_left| Open {
            rows,
            divided: Divided { sums, bounds },
            histogram: None,
            best: None,
            above: Some((number, is_left)),
        };
        (
            child(range.start..middle, found.left, left_bounds, true),
            child(middle..range.end, right, right_bounds, false),
        )
    }

    /// Whether a row goes left, by its bins.
    fn goes_left(&self, found: &Found) -> impl Fn(u32) -> bool + Sync + use<'a> {
        let (block, place) = BinnedRows::place(found.feature);
        let (bins, bin, missing_left) = (self.bins.block(block), found.bin, found.missing_left);
        move |row| {
            let of_row = bins[row as usize][place];
            if of_row == MISSING { missing_left } else { of_row <= bin }
        }
    }

    /// Finds the best splits of two children, by the sums of the smaller one and what that leaves of their parent's.
    fn search_children(&mut self, growth: &Growth<'_>, small: &mut Open, large: &mut Open, parent: Option<Histogram>) {
        let (mut of_large, mut of_small) = match (parent, self.pool.take()) {
            (Some(parent), Some(other)) => (parent, other),
            (parent, other) => {
                // Too many histograms are in use: the children's are made one after the other in the same room, and not kept.
                let mut room = parent.or(other).unwrap_or_else(|| self.pool.take_any());
                small.best = self.sum_and_search(growth, small, &mut room);
                large.best = self.sum_and_search(growth, large, &mut room);
                self.pool.give(room);
                return;
            }
        };
        let rows = &growth.rows[small.rows.clone()];
        gather(&mut self.gathered, growth.derivatives, rows);
        let (bins, gathered) = (self.bins, &self.gathered);
        let (small_divided, large_divided) = (small.divided, large.divided);
        let (small_can, large_can) = (self.can_divide(small), self.can_divide(large));
        let mut both: Vec<(&mut BlockHistogram, &mut BlockHistogram)> =
            of_small.iter_mut().zip(of_large.iter_mut()).collect();
        let found = each_block(&mut both, rows.len(), |block, (of_small, of_large)| {
            histogram::fill(of_small, bins.block(block), rows, gathered);
            histogram::subtract(of_large, of_small);
            let best =
                |can: bool, histogram, divided| can.then(|| self.search(growth, block, histogram, divided)).flatten();
            (best(small_can, of_small, &small_divided), best(large_can, of_large, &large_divided))
        });
        (small.best, large.best) =
            (first_best(found.iter().map(|best| best.0)), first_best(found.iter().map(|best| best.1)));
        (small.histogram, large.histogram) = (Some(of_small), Some(of_large));
    }

    /// The tree with the values of its leaves.
    fn finish(&self, mut growth: Growth<'_>) -> Grown {
        let (mut leaves, mut rows) = (Vec::with_capacity(growth.open.len()), Vec::with_capacity(growth.open.len()));
        for open in std::mem::take(&mut growth.open) {
            growth.link(open.above, Child::Leaf(leaves.len() as u32));
            let value = self.learning_rate * growth.judge.value(open.divided.sums, open.divided.bounds);
            leaves.push(Leaf { value: value as f32, rows: open.rows.len() as u32 });
            rows.push(open.rows);
        }
        Grown { tree: Tree { splits: growth.splits, leaves }, rows }
    }
}

impl Growth<'_> {
    /// The leaf whose split lowers the loss most, the first of equals.
    fn next(&self) -> Option<(usize, Found)> {
        let best = self.open.iter().enumerate().filter_map(|(leaf, open)| Some((leaf, open.best?)));
        best.reduce(|best, other| if other.1.gain > best.1.gain { other } else { best })
    }

    /// Puts a child below the split above it.
    fn link(&mut self, above: Option<(usize, bool)>, child: Child) {
        if let Some((split, is_left)) = above {
            let split = &mut self.splits[split];
            *(if is_left { &mut split.left } else { &mut split.right }) = child;
        }
    }
}

/// The best of several, the first of equals.
fn first_best(found: impl IntoIterator<Item = Option<Found>>) -> Option<Found> {
    found.into_iter().flatten().reduce(|best, other| if other.gain > best.gain { other } else { best })
}

/// Does something with each block, on all threads where there is enough to do.
fn each_block<B: Send, T: Send>(blocks: &mut [B], rows: usize, work: impl Fn(usize, &mut B) -> T + Sync) -> Vec<T> {
    if rows * blocks.len() < SMALL {
        return blocks.iter_mut().enumerate().map(|(number, block)| work(number, block)).collect();
    }
    blocks.par_iter_mut().enumerate().map(|(number, block)| work(number, block)).collect()
}

/// The derivatives of some rows, side by side.
fn gather(gathered: &mut Vec<Sums>, derivatives: &[Sums], rows: &[u32]) {
    gathered.clear();
    gathered.extend(rows.iter().map(|&row| derivatives[row as usize]));
}
