//! Features in at most 255 bins: rows of raw features enter, one byte for each value leaves.

use rayon::prelude::*;

use crate::data::Dataset;
use crate::random::hash;

/// How many features stand side by side: a row of a block is eight bytes, read at once.
pub(super) const BLOCK: usize = 8;

/// The bin of values that are missing (NaN).
pub(super) const MISSING: u8 = 255;

/// Bins of values at most; one more is for those that are missing.
pub(in crate::ranker) const MOST_BINS: usize = 255;

/// Rows that boundaries are chosen by; more tell quantiles no better.
const SAMPLE: usize = 200_000;

/// The boundaries of one feature's bins: bin `b` has the values from `boundaries[b − 1]` to below `boundaries[b]`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FeatureBins {
    pub(super) boundaries: Vec<f32>,
    pub(super) has_missing: bool,
    largest: f32,
}

/// Rows of a data set in bins, in blocks of [`BLOCK`] features.
#[derive(Debug)]
pub(super) struct BinnedRows {
    pub(super) features: Vec<FeatureBins>,
    /// For each block, the bins of its features, row after row.
    blocks: Vec<Vec<[u8; BLOCK]>>,
}

impl BinnedRows {
    /// The rows of `data` numbered `rows`, each feature in at most `bins` bins of about as many rows each.
    pub(super) fn new(data: &Dataset, rows: &[u32], bins: usize) -> Self {
        let sample = sample(rows);
        let first = (0..data.feature_count()).step_by(BLOCK);
        let blocks: Vec<(Vec<FeatureBins>, Vec<[u8; BLOCK]>)> = first
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|first| {
                let mut features = choose_bins(data, &sample, first, bins);
                let block = bin_block(data, rows, first, &mut features);
                (features, block)
            })
            .collect();
        let (features, blocks): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
        BinnedRows { features: features.concat(), blocks }
    }

    /// The bins of a block of features, by rows.
    pub(super) fn block(&self, block: usize) -> &[[u8; BLOCK]] {
        &self.blocks[block]
    }

    pub(super) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The block of a feature, and its place there.
    pub(super) fn place(feature: usize) -> (usize, usize) {
        (feature / BLOCK, feature % BLOCK)
    }

    /// The features of a block, with the number of its first.
    pub(super) fn features_of(&self, block: usize) -> (usize, &[FeatureBins]) {
        let first = block * BLOCK;
        (first, &self.features[first..self.features.len().min(first + BLOCK)])
    }
}

impl FeatureBins {
    fn new(boundaries: Vec<f32>) -> Self {
        FeatureBins { boundaries, has_missing: false, largest: f32::NEG_INFINITY }
    }

    /// After how many bins the rows can be divided. After the last one, where that tells missing values from all others.
    pub(super) fn places(&self) -> usize {
        self.boundaries.len() + usize::from(self.has_missing && self.largest < f32::MAX)
    }

    /// The threshold below which the values of `bin` and of those before it are.
    pub(super) fn threshold(&self, bin: u8) -> f32 {
        self.boundaries.get(usize::from(bin)).copied().unwrap_or(f32::MAX)
    }

    /// The bin of a value.
    fn bin(&self, value: f32) -> u8 {
        match value.is_nan() {
            true => MISSING,
            false => self.boundaries.partition_point(|&boundary| boundary <= value) as u8,
        }
    }
}

/// The bins of the features of the block that begins with feature `first`, by the values of some rows.
fn choose_bins(data: &Dataset, sample: &[u32], first: usize, bins: usize) -> Vec<FeatureBins> {
    let width = BLOCK.min(data.feature_count() - first);
    // Column by column through rows that stand side by side would read each row once for every feature.
    let mut columns = vec![Vec::with_capacity(sample.len()); width];
    for &row in sample {
        let values = &data.row(row as usize)[first..first + width];
        columns
            .iter_mut()
            .zip(values)
            .filter(|(_, value)| !value.is_nan())
            .for_each(|(column, &value)| column.push(value));
    }
    columns.into_iter().map(|values| FeatureBins::new(boundaries(values, bins))).collect()
}

/// The bins of all rows in a block; notes which features are missing somewhere.
fn bin_block(data: &Dataset, rows: &[u32], first: usize, features: &mut [FeatureBins]) -> Vec<[u8; BLOCK]> {
    let mut block = vec![[0; BLOCK]; rows.len()];
    for (bins, &row) in block.iter_mut().zip(rows) {
        let values = &data.row(row as usize)[first..first + features.len()];
        for ((bin, of_feature), &value) in bins.iter_mut().zip(features.iter_mut()).zip(values) {
            *bin = of_feature.bin(value);
            of_feature.has_missing |= *bin == MISSING;
            of_feature.largest = of_feature.largest.max(value);
        }
    }
    block
}

/// Some of the rows, the same in every run.
fn sample(rows: &[u32]) -> Vec<u32> {
    if rows.len() <= SAMPLE {
        return rows.to_vec();
    }
    let bound = (u64::MAX as f64 * (SAMPLE as f64 / rows.len() as f64)) as u64;
    let chosen = |place: &usize| hash(*place as u64, 0x6269_6e73) < bound;
    (0..rows.len()).filter(chosen).map(|place| rows[place]).collect()
}

/// The boundaries of at most `bins` bins with about as many values each; values that are alike share a bin.
fn boundaries(mut values: Vec<f32>, bins: usize) -> Vec<f32> {
    values.sort_unstable_by(f32::total_cmp);
    let runs: Vec<(f32, usize)> = values.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    let mut boundaries = Vec::new();
    let (mut in_bin, mut rest) = (0, values.len());
    for (place, pair) in runs.windows(2).enumerate() {
        in_bin += pair[0].1;
        let (bins_left, runs_left) = (bins - boundaries.len(), runs.len() - place);
        // What is left is shared among the bins that are left, so that one large run takes nothing from the others.
        let is_full = in_bin * bins_left >= rest;
        if bins_left > 1 && (is_full || runs_left <= bins_left) {
            boundaries.push(between(pair[0].0, pair[1].0));
            rest -= in_bin;
            in_bin = 0;
        }
    }
    boundaries
}

/// A number above `low` and at most `high`, in the middle where there is one.
fn between(low: f32, high: f32) -> f32 {
    let middle = ((f64::from(low) + f64::from(high)) / 2.0) as f32;
    if middle > low { middle } else { high }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_values_have_a_bin_each() {
        let found = boundaries(vec![3.0, 1.0, 1.0, 2.0, 3.0], 8);
        assert_eq!(found, [1.5, 2.5]);
        assert!(boundaries(Vec::new(), 8).is_empty());
        assert!(boundaries(vec![-0.0, 0.0], 8).is_empty(), "zeros are alike");
    }

    #[test]
    fn bins_have_about_as_many_values_each() {
        let found = boundaries((0..1000).map(|i| i as f32).collect(), 10);
        assert_eq!(found.len(), 9);
        let bins = FeatureBins::new(found);
        let mut counts = [0; 10];
        (0..1000).for_each(|i| counts[usize::from(bins.bin(i as f32))] += 1);
        assert_eq!(counts, [100; 10]);
    }

    #[test]
    fn a_value_that_most_rows_have_leaves_bins_to_the_others() {
        let values = (0..900).map(|_| 0.0).chain((1..=100).map(|i| i as f32));
        assert_eq!(boundaries(values.collect(), 11).len(), 10);
    }

    #[test]
    fn neighbours_are_told_apart() {
        let (low, high) = (1.0_f32, 1.0_f32.next_up());
        let middle = between(low, high);
        assert!(low < middle && middle <= high);
        assert_eq!(between(-f32::MAX, f32::MAX), 0.0);
    }

    proptest! {
        #[test]
        fn bins_rise_with_values_and_are_below_the_missing_one(
            values in prop::collection::vec(any::<f32>().prop_filter("finite", |v| v.is_finite()), 1..600),
            bins in 2_usize..=MOST_BINS,
        ) {
            let found = FeatureBins::new(boundaries(values.clone(), bins));
            prop_assert!(found.boundaries.len() < bins);
            prop_assert!(found.boundaries.is_sorted_by(|a, b| a < b));
            let mut sorted = values.clone();
            sorted.sort_unstable_by(f32::total_cmp);
            prop_assert!(sorted.iter().map(|&value| found.bin(value)).is_sorted());
            prop_assert!(sorted.iter().all(|&value| found.bin(value) < MISSING));
            // A split at a boundary divides raw values as it divides bins.
            for (bin, &boundary) in found.boundaries.iter().enumerate() {
                prop_assert!(values.iter().all(|&value| (value < boundary) == (usize::from(found.bin(value)) <= bin)));
            }
        }
    }
}
