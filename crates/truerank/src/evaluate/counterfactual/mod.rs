//! Judges a ranker that was never shown, by the clicks on another ranker's pages.

mod lists;
mod measure;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use lists::{JudgedQuery, shown_lists};
pub use measure::ClickMeasure;

use super::bootstrap::{Bounds, PairedDifference, Ratio, resampled};
use crate::counts::Cell;
use crate::data::{Dataset, nothing_matches};
use crate::math::{Score, rank};
use crate::progress::Silent;
use crate::propensity::Joined;
use crate::relevance::{Clipped, Estimation, Estimator, KnownLog};
use crate::{Error, Result};

/// Logged clicks as gains of a data set's documents, ready to judge any ranking of them.
///
/// A document's gain is ŷ(q,d) of an estimator (Joachims et al. 2017 with `ips-pbm`; with `user-aware` also unbiased where
/// users differ in queries and depth). Two questions can be asked of a ranking:
///
/// - [`judge`](Counterfactual::judge): each result page that was shown is reordered, its documents and the places they take
///   staying the same. This can be compared with the page [as it was shown](Counterfactual::as_shown).
/// - [`judge_candidates`](Counterfactual::judge_candidates): all documents of the query in the data are put in one order. Documents that
///   were never shown earn nothing, wherever they are ranked, so a ranking that puts them first is judged too low, and
///   [`ClickEvaluation::never_shown`] says how many there are. Compare rankers with each other by it, and never with the pages as shown, which held
///   a part of the documents each.
///
/// Both are means over pages, so a query counts as often as it was asked.
///
/// ```
/// use truerank::data::{Generator, Preset};
/// use truerank::evaluate::{ClickMeasure, Counterfactual};
/// use truerank::progress::Silent;
/// use truerank::ranker::Production;
/// use truerank::relevance::{Estimator, KnownLog};
/// use truerank::simulate::Simulation;
///
/// let data = Generator::preset(Preset::Tiny).generate()?.train;
/// let lists = [Production::new().production_share(0.1).lists(&data, 1, &Silent)?];
/// let simulation = Simulation::new().sessions(20_000);
/// let simulator = simulation.prepare(&data, &lists)?;
/// let (counts, propensities) = (simulator.counts()?, simulator.propensities());
///
/// let log = KnownLog::examined(&counts, Some(&data), &propensities);
/// let judge = Counterfactual::new(&log, Estimator::UserAware, None)?;
/// let by_grades: Vec<f32> = data.grades().unwrap().iter().map(|&grade| f32::from(grade)).collect();
/// let dcg = ClickMeasure::Dcg(10);
/// let [ours, shown] = [judge.judge(&by_grades)?, judge.as_shown()].map(|found| found.value(dcg).unwrap().value);
/// assert!(ours > shown);
/// # Ok::<(), truerank::Error>(())
/// ```
pub struct Counterfactual {
    measures: Vec<ClickMeasure>,
    self_normalised: bool,
    resamples: usize,
    seed: u64,
    queries: Vec<JudgedQuery>,
    /// ŷ of each row; `None` where the document was never shown.
    gains: Vec<Option<f64>>,
    /// What a document earns that was never shown.
    unseen: f64,
    /// What the log says beside that.
    pub log: JudgedLog,
}

/// What part of a log judges.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JudgedLog {
    /// Queries with sessions that are in the data set.
    pub queries: usize,
    /// Queries of the log that are not.
    pub unknown_queries: usize,
    /// Shown documents of judged queries that the data set does not have.
    pub unknown_docs: usize,
    /// Clicks on the documents that judge.
    pub clicks: u64,
    /// Result pages that are reordered: those of judged queries, or the random part of them that the counts keep.
    pub pages: u64,
    /// What was clipped.
    pub clipped: Clipped,
}

/// The documents at the top that [`ClickEvaluation::never_shown`] is about.
const TOP: usize = 10;

impl Counterfactual {
    /// Takes the clicks of a log of queries that no judged ranker learned from, with an estimator's weights; `clip` (τ) is for those
    /// that divide by exposure.
    ///
    /// It is an error if no shown document is in the data set, if there are no clicks, or if nothing is known of which documents were
    /// shown together.
    pub fn new(log: &KnownLog<'_>, estimator: Estimator, clip: Option<f64>) -> Result<Self> {
        Counterfactual::of_queries(log, estimator, clip, &|_| true)
    }

    /// The same of some queries of the log, by their numbers.
    pub(crate) fn of_queries(
        log: &KnownLog<'_>,
        estimator: Estimator,
        clip: Option<f64>,
        judges: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Self> {
        let weighing = Estimation::new(estimator).clip(clip).weigh(log.exposures(&Silent)?)?;
        let clicks = weighing.click_weights_of(judges)?;
        let mut counterfactual = Counterfactual::empty(log.log.require_data()?);
        counterfactual.log.clipped = weighing.clipped();
        counterfactual.join(&log.log, judges, &clicks)?;
        match counterfactual.log.clicks {
            0 => Err(Error::parameter("no document of the data set was clicked in this log, so it judges nothing")),
            _ => Ok(counterfactual),
        }
    }

    /// The same questions by human grades, with gains of `2^grade − 1`: the pages of the log say what was shown.
    pub fn of_grades(log: &Joined<'_>) -> Result<Self> {
        let data = log.require_data()?;
        let grades = data.require_grades("judging by grades")?;
        let mut counterfactual = Counterfactual::empty(data);
        counterfactual.join(log, &|_| true, &[])?;
        counterfactual.gains = grades.iter().map(|&grade| Some(f64::from(grade).exp2() - 1.0)).collect();
        Ok(counterfactual)
    }

    fn empty(data: &Dataset) -> Self {
        Counterfactual {
            measures: ClickMeasure::usual(),
            self_normalised: false,
            resamples: 1000,
            seed: 1,
            queries: Vec::new(),
            gains: vec![None; data.len()],
            unseen: 0.0,
            log: JudgedLog::default(),
        }
    }

    /// Gives the weights of clicks to the rows that they are about.
    fn join(&mut self, log: &Joined<'_>, judges: &dyn Fn(u32) -> bool, clicks: &[(Cell, f64)]) -> Result<()> {
        let (data, docs, join) = (log.require_data()?, log.docs()?, log.join()?);
        let lists = shown_lists(log.counts, judges)?;
        let sessions = log.counts.sessions_per_query();
        let (mut clicks, mut start) = (clicks.iter().peekable(), 0);
        for shown in docs.chunk_by(|a, b| a.0 == b.0) {
            let (query, rows) = (shown[0].0, &join.rows[start..start + shown.len()]);
            start += shown.len();
            if !judges(query) {
                continue;
            }
            let mut of_query = Vec::new();
            while let Some(click) = clicks.next_if(|(cell, _)| cell.query == query) {
                of_query.push(*click);
            }
            let Some(number) = join.queries[query as usize] else {
                self.log.unknown_queries += 1;
                continue;
            };
            let known = rows.iter().filter(|row| row.is_some()).count();
            self.log.unknown_docs += shown.len() - known;
            if known > 0 {
                let row_of = |doc: u32| shown.binary_search(&(query, doc)).ok().and_then(|place| rows[place]);
                rows.iter().flatten().for_each(|&row| self.gains[row as usize] = Some(0.0));
                self.add_clicks(&of_query, row_of);
                let sessions = sessions[query as usize] as f64;
                let judged = JudgedQuery::new(data.rows_of(number as usize), sessions, &lists[query as usize], row_of);
                self.log.pages += judged.pages();
                self.log.queries += 1;
                self.queries.push(judged);
            }
        }
        match self.log.queries {
            0 => Err(nothing_matches(data, log.counts.queries(), "document of the log", "log's")),
            _ => Ok(()),
        }
    }

    /// The same for the data set that has these queries alone, all that judge among them, in this order.
    pub(crate) fn within(mut self, data: &Dataset, queries: &[usize]) -> Self {
        let (mut gains, mut moved) = (Vec::new(), HashMap::new());
        for rows in queries.iter().map(|&query| data.rows_of(query)) {
            moved.insert(rows.start, gains.len());
            gains.extend_from_slice(&self.gains[rows]);
        }
        self.queries.iter_mut().for_each(|query| query.move_to(moved[&query.rows.start]));
        Counterfactual { gains, ..self }
    }

    fn add_clicks(&mut self, clicks: &[(Cell, f64)], row_of: impl Fn(u32) -> Option<u32>) {
        for (cell, weight) in clicks {
            let Some(row) = row_of(cell.doc) else { continue };
            let gain = &mut self.gains[row as usize];
            *gain = Some(gain.unwrap_or(0.0) + cell.clicks as f64 * weight);
            self.log.clicks += cell.clicks;
        }
    }

    /// What is measured. Default: DCG and nDCG at 5 and 10, and ARP.
    pub fn measures(mut self, measures: Vec<ClickMeasure>) -> Self {
        self.measures = measures;
        self
    }

    /// Whether DCG is divided by `Σ ŷ` over all lists: less variance for a bias that falls with the size of the log, and
    /// the scale of θ cancels. Default: false.
    pub fn self_normalised(mut self, self_normalised: bool) -> Self {
        self.self_normalised = self_normalised;
        self
    }

    /// Lets documents that were never shown earn what the last document of a page earns on average, instead of nothing: the ranker that
    /// showed the pages put them below it. A guess, and no estimate; it is for choosing among rankers that differ in what they make of
    /// such documents, of which nothing is then favoured.
    pub(crate) fn unseen_as_last(mut self) -> Self {
        let lists = self.queries.iter().flat_map(|query| &query.lists);
        let last = |list: &lists::JudgedList| list.rows.last().map_or(0.0, |&row| self.gain(row));
        let sum = |value: &dyn Fn(&lists::JudgedList) -> f64| lists.clone().map(value).sum::<f64>();
        self.unseen = sum(&|list| list.pages * last(list)) / sum(&|list| list.pages).max(1.0);
        self
    }

    /// Resamples of queries for intervals. Default: 1000.
    pub fn resamples(mut self, resamples: usize) -> Self {
        self.resamples = resamples;
        self
    }

    /// The seed of the resamples. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Judges the pages of the log, each reordered by `scores`, one for each row of the data set. The documents of a page take its
    /// places from the top; equal scores keep the order as shown. Documents that the data set does not have keep their places.
    pub fn judge<S: Score>(&self, scores: &[S]) -> Result<ClickEvaluation> {
        self.check(scores)?;
        Ok(self.over_pages(|rows| {
            let of_page: Vec<S> = rows.iter().map(|&row| scores[row as usize]).collect();
            rank(&of_page)
        }))
    }

    /// Judges the pages as they were shown.
    pub fn as_shown(&self) -> ClickEvaluation {
        self.over_pages(|rows| (0..rows.len()).collect())
    }

    /// Judges one order of all documents of each query, those that were never shown included; equal scores keep the order of the data.
    pub fn judge_candidates<S: Score>(&self, scores: &[S]) -> Result<ClickEvaluation> {
        self.check(scores)?;
        let mut ratios = vec![Ratio::default(); self.measures.len()];
        let (mut never_shown, mut top) = (0, 0);
        for query in &self.queries {
            let rows = query.rows.clone();
            let order = rank(&scores[rows.clone()]);
            let ranked: Vec<Option<f64>> = order.into_iter().map(|index| self.gains[rows.start + index]).collect();
            top += ranked.len().min(TOP);
            never_shown += ranked.iter().take(TOP).filter(|gain| gain.is_none()).count();
            let list: Vec<(u32, f64)> = (1..).zip(ranked.iter().map(|gain| gain.unwrap_or(self.unseen))).collect();
            self.add_query(&mut ratios, std::iter::once((list, query.sessions)));
        }
        Ok(self.judgement(ratios, never_shown, top))
    }

    /// Judges the pages with their documents in the order that `order` gives.
    fn over_pages(&self, order: impl Fn(&[u32]) -> Vec<usize>) -> ClickEvaluation {
        let mut ratios = vec![Ratio::default(); self.measures.len()];
        for query in &self.queries {
            let lists = query.lists.iter().map(|list| {
                let ranked = order(&list.rows).into_iter().map(|index| self.gain(list.rows[index]));
                (list.positions.iter().copied().zip(ranked).collect(), list.pages)
            });
            self.add_query(&mut ratios, lists);
        }
        self.judgement(ratios, 0, 0)
    }

    /// How many pages of a judged query there are.
    pub(crate) fn pages_of(&self, place: usize) -> u64 {
        self.queries[place].pages()
    }

    /// The first row of a judged query's documents.
    pub(crate) fn first_row(&self, place: usize) -> usize {
        self.queries[place].rows.start
    }

    /// The rows of the list that most pages of a judged query showed, as shown; the first of equals.
    pub(crate) fn most_shown(&self, place: usize) -> &[u32] {
        let lists = self.queries[place].lists.iter();
        let most = lists.reduce(|most, list| if list.pages > most.pages { list } else { most });
        most.map_or(&[], |list| &list.rows)
    }

    fn gain(&self, row: u32) -> f64 {
        self.gains[row as usize].unwrap_or(0.0)
    }

    fn check<S: Score>(&self, scores: &[S]) -> Result<()> {
        if scores.len() != self.gains.len() {
            let finding = format!("there are {} scores for {} documents", scores.len(), self.gains.len());
            return Err(Error::parameter(finding));
        }
        match scores.iter().position(|&score| score.into().is_nan()) {
            Some(row) => Err(Error::parameter(format!("the score of row {} is not a number", row + 1))),
            None => Ok(()),
        }
    }

    /// Adds a query by its lists, gains at positions, each with how many pages it stands for.
    fn add_query(&self, ratios: &mut [Ratio], lists: impl Iterator<Item = (Vec<(u32, f64)>, f64)>) {
        let mut sums = vec![(0.0, 0.0); ratios.len()];
        for (list, pages) in lists {
            for (sum, measure) in sums.iter_mut().zip(&self.measures) {
                let (above, below) = measure.of_list(&list, self.self_normalised);
                *sum = (sum.0 + pages * above, sum.1 + pages * below);
            }
        }
        ratios.iter_mut().zip(sums).for_each(|(ratio, (above, below))| ratio.push(above, below));
    }

    fn judgement(&self, ratios: Vec<Ratio>, never_shown: usize, top: usize) -> ClickEvaluation {
        let references: Vec<&Ratio> = ratios.iter().collect();
        let drawn = resampled(&references, self.resamples, self.seed);
        let values = ratios.iter().zip(&drawn).map(|(ratio, drawn)| Bounds::of(ratio.value(), drawn)).collect();
        ClickEvaluation { measures: self.measures.clone(), values, never_shown, top, ratios, drawn }
    }
}

/// What logged clicks say about a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct ClickEvaluation {
    /// What was measured.
    pub measures: Vec<ClickMeasure>,
    /// The value of each measure, with its interval over queries.
    pub values: Vec<Bounds>,
    /// How many documents among the first ten of each query were never shown, so that they could not earn. None on pages.
    pub never_shown: usize,
    /// How many documents are among the first ten of each query; 0 where pages were judged.
    pub top: usize,
    ratios: Vec<Ratio>,
    drawn: Vec<Vec<f64>>,
}

impl ClickEvaluation {
    /// The value of each judged query; `NaN` where it has none.
    pub fn per_query(&self, measure: ClickMeasure) -> Option<Vec<f64>> {
        let place = self.measures.iter().position(|&m| m == measure)?;
        Some(self.ratios[place].per_query())
    }

    /// The value of `measure` with its interval.
    pub fn value(&self, measure: ClickMeasure) -> Option<Bounds> {
        self.measures.iter().position(|&m| m == measure).map(|place| self.values[place])
    }

    /// How this ranking differs from another that the same [`Counterfactual`] judged in the same way, measure by measure. Noise that both
    /// share cancels, so small differences can be told.
    pub fn minus(&self, other: &ClickEvaluation) -> Vec<PairedDifference> {
        (0..self.measures.len())
            .map(|place| {
                PairedDifference::of(
                    (&self.ratios[place], &self.drawn[place]),
                    (&other.ratios[place], &other.drawn[place]),
                )
            })
            .collect()
    }
}
