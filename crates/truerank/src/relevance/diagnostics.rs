//! How much weights depend on few clicks: the largest click weights, effective sample sizes, the weight of the top 1 %.

use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Estimation, Exposures, Weighing};
use crate::Result;
use crate::counts::{Cell, CountsView};
use crate::math::quantile;
use crate::propensity::Propensities;

/// What the weights of clicks look like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnostics {
    /// All clicks.
    pub clicks: u64,
    /// The sum of their weights.
    pub total_weight: f64,
    /// The cells whose clicks weigh most, heaviest first; equal ones in the order of cells.
    pub largest: Vec<ClickWeight>,
    /// The share of the total weight that is in the heaviest 1 % of clicks (at least one click).
    pub top_share: f64,
    /// Effective sample sizes of the queries.
    pub effective: EffectiveSizes,
}

/// What each click of one cell weighs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClickWeight {
    /// The query.
    pub query: String,
    /// The document.
    pub doc: String,
    /// The position, from 1.
    pub position: u32,
    /// The user.
    pub user: String,
    /// How many clicks weigh so.
    pub clicks: u64,
    /// What one of them weighs.
    pub weight: f64,
}

/// Kish's effective sample size of each query, `(Σw)²/Σw²` over its clicks: as good as so many clicks of equal weight.
/// A query without clicks has 0.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct EffectiveSizes {
    /// How many queries there are.
    pub queries: u64,
    /// Those without clicks.
    pub without_clicks: u64,
    /// The smallest size.
    pub least: f64,
    /// The lower quartile, the median and the upper quartile.
    pub quartiles: [f64; 3],
    /// The share of queries with a size under 10.
    pub under_ten: f64,
}

/// How many cells are named.
const NAMED: usize = 10;

impl Diagnostics {
    /// The click weights of `estimation` on this log.
    pub fn of(counts: &dyn CountsView, propensities: &Propensities, estimation: &Estimation) -> Result<Self> {
        estimation.weigh(&Exposures::new(counts, propensities)?)?.diagnostics()
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let largest = self.largest.iter().map(|click| {
            json!({
                "query": click.query, "doc": click.doc, "position": click.position, "user": click.user,
                "clicks": click.clicks, "weight": click.weight,
            })
        });
        let sizes = &self.effective;
        json!({
            "clicks": self.clicks, "total_weight": self.total_weight,
            "top_1_percent_share": self.top_share,
            "effective_clicks_per_query": {
                "queries": sizes.queries, "without_clicks": sizes.without_clicks, "least": sizes.least,
                "quartiles": sizes.quartiles, "share_under_10": sizes.under_ten,
            },
            "largest": largest.collect::<Vec<_>>(),
        })
    }
}

impl Weighing<'_> {
    /// What the weights of the clicks look like.
    pub fn diagnostics(&self) -> Result<Diagnostics> {
        let counts = self.exposures().counts;
        let clicks = counts.totals().clicks;
        let mut heaviest = Heaviest::new(clicks.div_ceil(100));
        let (mut sizes, mut total_weight) = (vec![0.0; counts.queries().len()], 0.0);
        self.for_each_click_weights(&|_| true, |weights| {
            total_weight += weights.iter().map(|(cell, weight)| cell.clicks as f64 * weight).sum::<f64>();
            add_effective_sizes(&weights, &mut sizes);
            heaviest.add(weights);
        })?;
        let heaviest = heaviest.sorted();
        let top = heaviest_weight(&heaviest, clicks.div_ceil(100));
        Ok(Diagnostics {
            clicks,
            total_weight,
            largest: heaviest.iter().take(NAMED).map(|(cell, weight)| self.name(cell, *weight)).collect(),
            top_share: if total_weight > 0.0 { top / total_weight } else { 0.0 },
            effective: EffectiveSizes::of(sizes),
        })
    }

    /// Every cell with clicks, in order, and what one of them weighs.
    pub fn click_weights(&self) -> Result<Vec<(Cell, f64)>> {
        self.click_weights_of(&|_| true)
    }

    /// The same of some queries, by their numbers.
    pub(crate) fn click_weights_of(&self, wanted: &(dyn Fn(u32) -> bool + Sync)) -> Result<Vec<(Cell, f64)>> {
        let mut all = Vec::new();
        self.for_each_click_weights(wanted, |weights| all.extend(weights))?;
        Ok(all)
    }

    /// The same, block after block.
    fn for_each_click_weights(
        &self,
        wanted: &(dyn Fn(u32) -> bool + Sync),
        take: impl FnMut(Vec<(Cell, f64)>),
    ) -> Result<()> {
        let of_block = |pairs: &mut dyn Iterator<Item = (usize, &[Cell])>| {
            let mut weights = Vec::new();
            for (pair, cells) in pairs.filter(|(_, cells)| wanted(cells[0].query)) {
                for cell in cells.iter().filter(|cell| cell.clicks > 0) {
                    weights.push((*cell, self.click_weight(pair, cell)?));
                }
            }
            Ok(weights)
        };
        self.exposures().map_blocks(of_block, take)
    }

    fn name(&self, cell: &Cell, weight: f64) -> ClickWeight {
        let counts = self.exposures().counts;
        ClickWeight {
            query: counts.queries().name(cell.query as usize).into_owned(),
            doc: counts.docs().name(cell.doc as usize).into_owned(),
            position: cell.position,
            user: counts.users().name(cell.user as usize).into_owned(),
            clicks: cell.clicks,
            weight,
        }
    }
}

/// The cells whose clicks weigh most, as many as hold a number of clicks and can be named.
struct Heaviest {
    clicks: u64,
    cells: Vec<(Cell, f64)>,
    /// How many cells are kept before the light ones are dropped.
    room: usize,
}

impl Heaviest {
    fn new(clicks: u64) -> Self {
        Heaviest { clicks, cells: Vec::new(), room: 1 << 16 }
    }

    fn add(&mut self, cells: Vec<(Cell, f64)>) {
        self.cells.extend(cells);
        if self.cells.len() > self.room {
            self.sort();
            self.room = self.room.max(2 * self.cells.len());
        }
    }

    fn sort(&mut self) {
        self.cells.par_sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut clicks = 0;
        let enough = self.cells.iter().position(|(cell, _)| {
            clicks += cell.clicks;
            clicks >= self.clicks
        });
        self.cells.truncate(enough.map_or(usize::MAX, |last| NAMED.max(last + 1)));
    }

    fn sorted(mut self) -> Vec<(Cell, f64)> {
        self.sort();
        self.cells
    }
}

/// The weight of the first `count` clicks.
fn heaviest_weight(sorted: &[(Cell, f64)], count: u64) -> f64 {
    let (mut left, mut sum) = (count, 0.0);
    for (cell, weight) in sorted {
        let taken = cell.clicks.min(left);
        sum += taken as f64 * weight;
        left -= taken;
        if left == 0 {
            break;
        }
    }
    sum
}

/// `(Σw)²/Σw²` of each query; `weights` are those of whole queries, sorted.
fn add_effective_sizes(weights: &[(Cell, f64)], sizes: &mut [f64]) {
    for of_query in weights.chunk_by(|a, b| a.0.query == b.0.query) {
        let sum = |power: i32| of_query.iter().map(|(cell, w)| cell.clicks as f64 * w.powi(power)).sum::<f64>();
        sizes[of_query[0].0.query as usize] = sum(1) * sum(1) / sum(2);
    }
}

impl EffectiveSizes {
    fn of(mut sizes: Vec<f64>) -> Self {
        if sizes.is_empty() {
            return EffectiveSizes::default();
        }
        sizes.sort_unstable_by(f64::total_cmp);
        let under = |bound: f64| sizes.partition_point(|&size| size < bound);
        EffectiveSizes {
            queries: sizes.len() as u64,
            without_clicks: under(f64::MIN_POSITIVE) as u64,
            least: sizes[0],
            quartiles: [0.25, 0.5, 0.75].map(|share| quantile(&sizes, share)),
            under_ten: under(10.0) as f64 / sizes.len() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{Counts, SessionCount};
    use crate::ids::Ids;
    use crate::relevance::Estimator;

    /// Query 1: a document at position 1 (θ = 1) with 3 clicks of 4, one at position 2 (θ = .25) with 1 click of 4.
    /// Query 2: one impression, no click.
    fn example() -> (Counts, Propensities) {
        let cell =
            |query, doc, impressions, clicks| Cell { query, doc, position: doc + 1, user: 0, impressions, clicks };
        let counts = Counts {
            queries: Ids::numbered(2),
            docs: Ids::numbered(2),
            users: Ids::numbered(1),
            contexts: Default::default(),
            cells: vec![cell(0, 0, 4, 3), cell(0, 1, 4, 1), cell(1, 0, 1, 0)],
            sessions: vec![
                SessionCount { query: 0, user: 0, sessions: 4 },
                SessionCount { query: 1, user: 0, sessions: 1 },
            ],
            patterns: None,
            transitions: None,
            pages: None,
            origin: Default::default(),
        };
        (counts, Propensities { population: vec![1.0, 0.25], ..Propensities::default() })
    }

    #[test]
    fn sizes_and_shares_of_a_log_by_hand() {
        let (counts, propensities) = example();
        let found = Diagnostics::of(&counts, &propensities, &Estimation::new(Estimator::UserAware)).unwrap();
        let (light, heavy): (f64, f64) = (1.0 / 4.0, 1.0 / (4.0 * 0.25));
        let total = 3.0 * light + heavy;
        assert_eq!((found.clicks, found.total_weight, found.top_share), (4, total, heavy / total));
        assert_eq!((found.largest.len(), found.largest[0].position, found.largest[0].weight), (2, 2, heavy));
        assert_eq!((found.largest[1].clicks, found.largest[1].weight), (3, light));
        let size = total * total / (3.0 * light * light + heavy * heavy);
        let expected = EffectiveSizes {
            queries: 2,
            without_clicks: 1,
            least: 0.0,
            quartiles: [0.25 * size, 0.5 * size, 0.75 * size],
            under_ten: 1.0,
        };
        assert_eq!(found.effective, expected);
    }

    #[test]
    fn equal_weights_are_worth_their_number() {
        let (mut counts, _) = example();
        counts.cells[1].position = 1;
        let flat = Propensities { population: vec![0.5], ..Propensities::default() };
        let found = Diagnostics::of(&counts, &flat, &Estimation::new(Estimator::Naive)).unwrap();
        assert_eq!(found.effective.quartiles[2], 0.75 * 4.0);
        assert_eq!(found.top_share, 1.0 / 4.0);
    }
}
