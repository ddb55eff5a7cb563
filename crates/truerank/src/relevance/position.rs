//! Mean relevance by position: documents with their exposure enter, a prior for each position leaves.

use super::exposures::PairSums;

/// Known documents of mean relevance that each position has beside its own. Few documents tell little of a position: their
/// relevance differs about twice as much as that of positions does, so the mean of five is worth as much as the mean of all.
const BESIDE: f64 = 5.0;

/// The mean relevance of documents by the position where they are usually shown, from 1 to the last.
///
/// A document counts by what is known of it, `X/(X + 1)`, so that one with a thousand impressions does not stand for its
/// position. `bases` are X of each document.
pub(super) fn relevance_by_position(pairs: &[PairSums], bases: &[f64]) -> Vec<f64> {
    let last = pairs.iter().map(PairSums::usual_position).max().unwrap_or(0);
    let mut sums = vec![Known::default(); last];
    let mut all = Known::default();
    for (pair, &base) in pairs.iter().zip(bases) {
        let known = Known { clicks: pair.earned() / (base + 1.0), exposure: base / (base + 1.0) };
        sums[pair.usual_position() - 1].add(known);
        all.add(known);
    }
    let mean = all.relevance(0.0, 0.0);
    sums.iter().map(|known| known.relevance(mean, BESIDE)).collect()
}

/// Sums over documents, each with a weight.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    clicks: f64,
    exposure: f64,
}

impl Known {
    fn add(&mut self, other: Known) {
        self.clicks += other.clicks;
        self.exposure += other.exposure;
    }

    /// Clicks over exposure, with so many documents of relevance `mean` beside.
    fn relevance(&self, mean: f64, beside: f64) -> f64 {
        let exposure = self.exposure + beside;
        if exposure > 0.0 { ((self.clicks + beside * mean) / exposure).clamp(0.0, 1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_documents_are_pulled_toward_all() {
        let pair = |position: f64, clicks: u64| PairSums {
            query: 0,
            doc: 0,
            impressions: 4,
            clicks,
            exposure: 4.0,
            squared_exposure: 4.0,
            average_exposure: 4.0,
            positions: 4.0 * position,
            mistaken: 0.0,
            average_mistaken: 0.0,
        };
        // Half of the documents are usually at 1, and 2.4 is nearest to 2; nothing is at 3.
        let pairs = [pair(1.0, 4), pair(1.0, 2), pair(2.4, 1), pair(4.0, 0)];
        let found = relevance_by_position(&pairs, &[4.0; 4]);
        let share = 4.0 / 5.0;
        let mean = (4.0 + 2.0 + 1.0) / 5.0 / (4.0 * share);
        let pulled = |clicks: f64, documents: f64| (clicks / 5.0 + 5.0 * mean) / (documents * share + 5.0);
        for (found, expected) in found.iter().zip([pulled(6.0, 2.0), pulled(1.0, 1.0), mean, pulled(0.0, 1.0)]) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
        assert!(relevance_by_position(&[], &[]).is_empty());
    }
}
