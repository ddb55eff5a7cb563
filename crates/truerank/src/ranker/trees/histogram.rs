//! Sums of derivatives by feature and bin: rows of a leaf enter, a histogram leaves.

use super::bins::BLOCK;
use super::sums::Sums;

/// The sums of a block of features, by bin. A bin is a byte, so no index is out of bounds.
pub(super) type BlockHistogram = [[Sums; 256]; BLOCK];

/// The histograms of all blocks of a leaf.
pub(super) type Histogram = Vec<BlockHistogram>;

/// Bytes that histograms of waiting leaves may take. Past that, a leaf's rows are summed again when it is split.
const MOST_BYTES: usize = 1 << 30;

/// Histograms that are used again, so that memory is asked for once.
pub(super) struct Pool {
    blocks: usize,
    free: Vec<Histogram>,
    /// How many more may be made.
    left: usize,
}

impl Pool {
    pub(super) fn new(blocks: usize) -> Self {
        let each = blocks.max(1) * size_of::<BlockHistogram>();
        Pool { blocks, free: Vec::new(), left: MOST_BYTES / each }
    }

    /// A histogram with anything in it; none where too many are in use.
    pub(super) fn take(&mut self) -> Option<Histogram> {
        if let Some(histogram) = self.free.pop() {
            return Some(histogram);
        }
        self.left = self.left.checked_sub(1)?;
        Some(self.make())
    }

    /// A histogram with anything in it, also where too many are in use.
    pub(super) fn take_any(&mut self) -> Histogram {
        self.take().unwrap_or_else(|| self.make())
    }

    fn make(&self) -> Histogram {
        vec![[[Sums::ZERO; 256]; BLOCK]; self.blocks]
    }

    pub(super) fn give(&mut self, histogram: Histogram) {
        self.free.push(histogram);
    }
}

/// Sums the derivatives of some rows by their bins.
pub(super) fn fill(histogram: &mut BlockHistogram, bins: &[[u8; BLOCK]], rows: &[u32], derivatives: &[Sums]) {
    histogram.iter_mut().for_each(|of_feature| of_feature.fill(Sums::ZERO));
    for (&row, &sums) in rows.iter().zip(derivatives) {
        let bins = bins[row as usize];
        for (of_feature, bin) in histogram.iter_mut().zip(bins) {
            of_feature[usize::from(bin)].add(sums);
        }
    }
}

/// Takes the sums of one child from those of its parent, which leaves the other child.
pub(super) fn subtract(histogram: &mut BlockHistogram, child: &BlockHistogram) {
    for (of_feature, of_child) in histogram.iter_mut().zip(child) {
        of_feature.iter_mut().zip(of_child).for_each(|(sums, &of_child)| *sums = sums.less(of_child));
    }
}
