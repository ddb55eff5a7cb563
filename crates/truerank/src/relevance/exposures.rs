//! What each shown document's cells sum to under given examination probabilities: what all estimators share.

use super::examined::{Examined, ModelExposures};
use super::moments::RelevanceMoments;
use super::summed::{CellSums, SummedExposures};
use crate::click_model::ClickModel;
use crate::counts::{Cell, Counts, CountsView, by_document};
use crate::ids::Ids;
use crate::propensity::{Examination, Theta};
use crate::{Error, Result};

/// Counts with their exposure: made once, and then any number of estimators can weigh them.
pub struct Exposures<'a> {
    pub(super) source: Source<'a>,
    /// Sorted by query, document.
    pub(super) pairs: Vec<PairSums>,
    pub(super) moments: RelevanceMoments,
}

/// What pairs were summed from.
pub(super) enum Source<'a> {
    /// Cells that are at hand.
    Cells(Cells<'a>),
    /// Cells that are elsewhere, with what else estimators need of each pair's.
    Sums { queries: Ids, docs: Ids, of_pairs: Vec<CellSums> },
}

/// The cells of a log, and who looks where.
pub(super) struct Cells<'a> {
    pub counts: &'a dyn CountsView,
    pub examined: Examined<'a>,
    /// The number of each block's first pair.
    first_pairs: Vec<usize>,
}

impl<'a> Exposures<'a> {
    /// Sums the cells of `counts`. A position past the last one of `propensities` is an error.
    pub fn new(counts: &'a dyn CountsView, propensities: impl Into<Theta<'a>>) -> Result<Self> {
        let examination = Examination::new(propensities, counts)?;
        Exposures::with(counts, Examined::ByPosition(examination))
    }

    /// Sums the cells of `counts`, each with its exposure under a click model, given the clicks above and the user: counts need
    /// their click transitions.
    pub fn modelled(counts: &'a dyn CountsView, model: &ClickModel) -> Result<Self> {
        Exposures::with(counts, Examined::ByModel(ModelExposures::new(counts, model)?))
    }

    fn with(counts: &'a dyn CountsView, examined: Examined<'a>) -> Result<Self> {
        #[cfg(test)]
        SUMS.with(|sums| sums.set(sums.get() + 1));
        let (mut pairs, mut first_pairs) = (Vec::with_capacity(counts.totals().shown as usize), Vec::new());
        let sums = |cells: &[Cell]| by_document(cells).map(|of_pair| pair_sums(of_pair, &examined)).collect();
        counts.map_cells(
            |_, cells| Ok(sums(cells)),
            |of_block: Vec<PairSums>| {
                first_pairs.push(pairs.len());
                pairs.extend(of_block);
            },
        )?;
        let moments = RelevanceMoments::of(&pairs);
        Ok(Exposures { source: Source::Cells(Cells { counts, examined, first_pairs }), pairs, moments })
    }

    /// Pairs that were summed elsewhere, with the other sums over the cells of each.
    pub(crate) fn summed(sums: SummedExposures, of_pairs: Vec<CellSums>) -> Self {
        let SummedExposures { queries, docs, pairs, moments } = sums;
        Exposures { source: Source::Sums { queries, docs, of_pairs }, pairs, moments }
    }

    /// The documents as counts of one user, a cell for each.
    pub(crate) fn shown(&self) -> Counts {
        let (queries, docs) = self.ids();
        let cell = |pair: &PairSums| Cell {
            query: pair.query,
            doc: pair.doc,
            position: 1,
            user: 0,
            impressions: pair.impressions,
            clicks: pair.clicks,
        };
        let cells = self.pairs.iter().map(cell).collect();
        Counts { queries: queries.clone(), docs: docs.clone(), users: Ids::numbered(1), cells, ..Counts::default() }
    }

    /// Queries and documents, by whose numbers pairs go.
    pub(super) fn ids(&self) -> (&Ids, &Ids) {
        match &self.source {
            Source::Cells(cells) => (cells.counts.queries(), cells.counts.docs()),
            Source::Sums { queries, docs, .. } => (queries, docs),
        }
    }

    /// γ of a pair as variances take it: a little toward the mean, so that a document without clicks claims no certainty.
    pub(super) fn assumed_relevance(&self, pair: usize) -> f64 {
        let sums = &self.pairs[pair];
        ((sums.earned() + self.moments.mean) / (sums.exposure + 1.0)).clamp(0.0, 1.0)
    }

    /// The cells, for what looks at each of them.
    pub(super) fn cells(&self) -> Result<&Cells<'a>> {
        match &self.source {
            Source::Cells(cells) => Ok(cells),
            Source::Sums { .. } => Err(Error::parameter(
                "this looks at single cells, but there are only their sums, as a cluster made them; estimate without it",
            )),
        }
    }
}

impl Cells<'_> {
    /// Hands to `take`, in order of the blocks, what `work` makes of the numbers and cells of a block's pairs.
    pub(super) fn map_blocks<T: Send>(
        &self,
        work: impl Fn(&mut dyn Iterator<Item = (usize, &[Cell])>) -> Result<T> + Sync,
        take: impl FnMut(T),
    ) -> Result<()> {
        self.counts.map_cells(|block, cells| work(&mut (self.first_pairs[block]..).zip(by_document(cells))), take)
    }
}

#[cfg(test)]
thread_local! {
    /// How often this thread summed exposures.
    pub(crate) static SUMS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Sums over the cells of one document of one query.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct PairSums {
    pub query: u32,
    pub doc: u32,
    pub impressions: u64,
    pub clicks: u64,
    /// E = Σ n·θ(u,k).
    pub exposure: f64,
    /// Σ n·θ(u,k)².
    pub squared_exposure: f64,
    /// Σ n·θ̄(k): the exposure if average users had looked.
    pub average_exposure: f64,
    /// Σ n·k.
    pub positions: f64,
    /// Clicks that are expected whatever the relevance, under models that have such.
    pub mistaken: f64,
    /// The same if average users had looked.
    pub average_mistaken: f64,
}

impl PairSums {
    /// n(q,d).
    pub fn shown(&self) -> f64 {
        self.impressions as f64
    }

    /// Clicks that relevance has earned.
    pub fn earned(&self) -> f64 {
        self.clicks as f64 - self.mistaken
    }

    /// The mean position where it was shown, rounded.
    pub fn usual_position(&self) -> usize {
        (self.positions / self.shown()).round() as usize
    }

    /// D = (n(q,d)·E + β·Ē) / (n(q,d)+β): the exposure to users between those who saw the document and all.
    ///
    /// What is known of who sees a document comes from its own impressions: one that was shown once, in a query of a
    /// thousand sessions, was shown to one user.
    pub fn smoothed_exposure(&self, beta: f64) -> f64 {
        (self.shown() * self.exposure + beta * self.average_exposure) / (self.shown() + beta)
    }
}

/// The sums of one pair's cells.
fn pair_sums(cells: &[Cell], examined: &Examined<'_>) -> PairSums {
    let mut sums = PairSums {
        query: cells[0].query,
        doc: cells[0].doc,
        impressions: 0,
        clicks: 0,
        exposure: 0.0,
        squared_exposure: 0.0,
        average_exposure: 0.0,
        positions: 0.0,
        mistaken: 0.0,
        average_mistaken: 0.0,
    };
    for cell in cells {
        let shown = cell.impressions as f64;
        let exposure = examined.of(cell);
        sums.impressions += cell.impressions;
        sums.clicks += cell.clicks;
        sums.exposure += shown * exposure.slope;
        sums.squared_exposure += shown * exposure.square;
        sums.average_exposure += shown * exposure.average.0;
        sums.positions += shown * f64::from(cell.position);
        sums.mistaken += shown * exposure.shift;
        sums.average_mistaken += shown * exposure.average.1;
    }
    sums
}
