//! Judges a ranker that was never shown, by the clicks on another ranker's lists.

use std::fmt;
use std::str::FromStr;

use super::bootstrap::{Bounds, PairedDifference, Ratio, resampled};
use crate::counts::{Cell, Counts};
use crate::data::{Dataset, RowFinder, nothing_matches};
use crate::math::{Score, discount, rank};
use crate::propensity::Propensities;
use crate::relevance::{Clipped, Estimation, Estimator, Exposures};
use crate::{Error, Result};

/// A measure whose gains are relevance weights ŷ from clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClickMeasure {
    /// `Σ ŷ/log2(rank+1)` over the first k. Unbiased where ŷ is.
    Dcg(usize),
    /// DCG over that of the best order by ŷ itself. Noise in ŷ raises the ideal: the fewer clicks, the lower it is for
    /// any ranker, so compare rankers on one log and not logs. Queries without clicks are left out.
    Ndcg(usize),
    /// Average relevant position, `Σ ŷ·rank / Σ ŷ` over all queries together; better when smaller.
    Arp,
}

impl ClickMeasure {
    /// DCG and nDCG at 5 and 10, and ARP.
    pub fn usual() -> Vec<ClickMeasure> {
        use ClickMeasure::*;
        vec![Dcg(5), Dcg(10), Ndcg(5), Ndcg(10), Arp]
    }

    /// Whether a larger value is better.
    pub fn larger_is_better(self) -> bool {
        self != ClickMeasure::Arp
    }
}

impl fmt::Display for ClickMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClickMeasure::Dcg(cut) => write!(f, "DCG@{cut}"),
            ClickMeasure::Ndcg(cut) => write!(f, "nDCG@{cut}"),
            ClickMeasure::Arp => f.pad("ARP"),
        }
    }
}

impl FromStr for ClickMeasure {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let lower = text.to_lowercase();
        let cut = lower.split_once('@').and_then(|(_, cut)| cut.parse().ok()).filter(|cut| *cut > 0);
        match (lower.split('@').next(), cut) {
            (Some("dcg"), Some(cut)) => Ok(ClickMeasure::Dcg(cut)),
            (Some("ndcg"), Some(cut)) => Ok(ClickMeasure::Ndcg(cut)),
            (Some("arp"), None) if lower == "arp" => Ok(ClickMeasure::Arp),
            _ => Err(Error::parameter(format!("'{text}' is not a measure of clicks; known are DCG@k, nDCG@k and ARP"))),
        }
    }
}

/// Logged clicks as gains of a data set's documents, ready to judge any ranking of them.
///
/// A document's gain is ŷ(q,d) of an estimator (Joachims et al. 2017 with `ips-pbm`; with `user-aware` also unbiased where
/// users differ in queries and depth). Documents that were never shown earn nothing, wherever they are ranked: a
/// ranking that puts them first is judged too low, and [`Judgement::never_shown`] says how many there are.
pub struct Counterfactual {
    measures: Vec<ClickMeasure>,
    self_normalised: bool,
    shown_only: bool,
    resamples: usize,
    seed: u64,
    /// Where the rows of each judged query are.
    lists: Vec<std::ops::Range<usize>>,
    /// ŷ of each row; `None` where the document was never shown.
    gains: Vec<Option<f64>>,
    /// For each judged query, the logged clicks: position, and the weight of all clicks there.
    logged: Vec<Vec<(u32, f64)>>,
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
    /// What was clipped.
    pub clipped: Clipped,
}

/// The documents at the top that [`Judgement::never_shown`] is about.
const TOP: usize = 10;

impl Counterfactual {
    /// Takes the clicks of `counts`, those of queries that no judged ranker learned from, with an estimator's weights;
    /// `clip` (τ) is for those that divide by exposure.
    ///
    /// It is an error if no shown document is in the data set, or if there are no clicks.
    pub fn new(
        data: &Dataset,
        counts: &Counts,
        propensities: &Propensities,
        estimator: Estimator,
        clip: Option<f64>,
    ) -> Result<Self> {
        let exposures = Exposures::new(counts, propensities)?;
        let weighing = Estimation::new(estimator).clip(clip).weigh(&exposures)?;
        let clicks = weighing.click_weights()?;
        let mut counterfactual = Counterfactual {
            measures: ClickMeasure::usual(),
            self_normalised: false,
            shown_only: false,
            resamples: 1000,
            seed: 1,
            lists: Vec::new(),
            gains: vec![None; data.len()],
            logged: Vec::new(),
            log: JudgedLog { clipped: weighing.clipped(), ..JudgedLog::default() },
        };
        counterfactual.join(data, counts, &clicks);
        match counterfactual.log {
            JudgedLog { queries: 0, .. } => Err(nothing_matches(data, &counts.queries, "document of the log", "log's")),
            JudgedLog { clicks: 0, .. } => {
                Err(Error::parameter("no document of the data set was clicked in this log, so it judges nothing"))
            }
            _ => Ok(counterfactual),
        }
    }

    /// Gives the weights of clicks to the rows that they are about.
    fn join(&mut self, data: &Dataset, counts: &Counts, clicks: &[(Cell, f64)]) {
        let finder = RowFinder::new(data, &counts.queries, &counts.docs);
        let mut clicks = clicks.iter().peekable();
        for cells in counts.cells.chunk_by(|a, b| a.query == b.query) {
            let query = cells[0].query;
            let shown: Vec<u32> = cells.chunk_by(|a, b| a.doc == b.doc).map(|of_doc| of_doc[0].doc).collect();
            let mut of_query = Vec::new();
            while let Some(click) = clicks.next_if(|(cell, _)| cell.query == query) {
                of_query.push(*click);
            }
            let Some((number, rows)) = finder.find(query, shown.iter().copied()) else {
                self.log.unknown_queries += 1;
                continue;
            };
            let known = rows.iter().filter(|row| row.is_some()).count();
            self.log.unknown_docs += shown.len() - known;
            if known > 0 {
                self.lists.push(data.rows_of(number));
                self.log.queries += 1;
                self.join_query(&shown, &rows, &of_query);
            }
        }
    }

    fn join_query(&mut self, shown: &[u32], rows: &[Option<u32>], clicks: &[(Cell, f64)]) {
        rows.iter().flatten().for_each(|&row| self.gains[row as usize] = Some(0.0));
        let mut logged = Vec::new();
        for (cell, weight) in clicks {
            let place = shown.binary_search(&cell.doc).ok().and_then(|place| rows[place]);
            let Some(row) = place else { continue };
            let gain = cell.clicks as f64 * weight;
            let sum = self.gains[row as usize].unwrap_or(0.0);
            self.gains[row as usize] = Some(sum + gain);
            logged.push((cell.position, gain));
            self.log.clicks += cell.clicks;
        }
        self.logged.push(logged);
    }

    /// What is measured. Default: DCG and nDCG at 5 and 10, and ARP.
    pub fn measures(mut self, measures: Vec<ClickMeasure>) -> Self {
        self.measures = measures;
        self
    }

    /// Whether DCG is divided by `Σ ŷ` over all queries: less variance for a bias that falls with the size of the log, and
    /// the scale of θ cancels. Default: false.
    pub fn self_normalised(mut self, self_normalised: bool) -> Self {
        self.self_normalised = self_normalised;
        self
    }

    /// Whether only documents that were shown are ranked, as if the others were not there. What the lists as they were
    /// shown earn can be compared with that fairly. Default: false, all documents of the data set are ranked.
    pub fn shown_only(mut self, shown_only: bool) -> Self {
        self.shown_only = shown_only;
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

    /// Judges the ranking by `scores`, one for each row of the data set; equal scores keep the order of the data.
    pub fn judge<S: Score>(&self, scores: &[S]) -> Result<Judgement> {
        if scores.len() != self.gains.len() {
            return Err(Error::parameter(format!(
                "there are {} scores for {} documents",
                scores.len(),
                self.gains.len()
            )));
        }
        if let Some(row) = scores.iter().position(|&score| score.into().is_nan()) {
            return Err(Error::parameter(format!("the score of row {} is not a number", row + 1)));
        }
        let mut ratios = vec![Ratio::default(); self.measures.len()];
        let (mut never_shown, mut top) = (0, 0);
        for rows in &self.lists {
            let order = rank(&scores[rows.clone()]);
            let ranked = order.into_iter().map(|index| self.gains[rows.start + index]);
            let ranked: Vec<Option<f64>> = ranked.filter(|gain| gain.is_some() || !self.shown_only).collect();
            top += ranked.len().min(TOP);
            never_shown += ranked.iter().take(TOP).filter(|gain| gain.is_none()).count();
            let gains: Vec<(u32, f64)> = (1..).zip(ranked.iter().map(|gain| gain.unwrap_or(0.0))).collect();
            self.add_query(&mut ratios, &gains, &gains);
        }
        Ok(self.judgement(ratios, never_shown, top))
    }

    /// Judges the lists as they were shown: each click where it happened. What was shown at several positions counts at
    /// each by its clicks there. Rankings of all documents are at a disadvantage to it: see
    /// [`shown_only`](Counterfactual::shown_only).
    pub fn judge_logged(&self) -> Judgement {
        let mut ratios = vec![Ratio::default(); self.measures.len()];
        for (rows, logged) in self.lists.iter().zip(&self.logged) {
            let gains: Vec<(u32, f64)> = (1..).zip(self.gains[rows.clone()].iter().flatten().copied()).collect();
            self.add_query(&mut ratios, logged, &gains);
        }
        self.judgement(ratios, 0, 0)
    }

    /// Adds a query whose gains stand at ranks; `gains` are those of its documents in any order.
    fn add_query(&self, ratios: &mut [Ratio], ranked: &[(u32, f64)], gains: &[(u32, f64)]) {
        let total: f64 = ranked.iter().map(|(_, gain)| gain).sum();
        for (ratio, measure) in ratios.iter_mut().zip(&self.measures) {
            match *measure {
                ClickMeasure::Dcg(cut) => ratio.push(dcg(ranked, cut), if self.self_normalised { total } else { 1.0 }),
                ClickMeasure::Ndcg(cut) => {
                    let ideal = ideal_dcg(gains, cut);
                    let (value, counts) = if ideal > 0.0 { (dcg(ranked, cut) / ideal, 1.0) } else { (0.0, 0.0) };
                    ratio.push(value, counts);
                }
                ClickMeasure::Arp => {
                    ratio.push(ranked.iter().map(|(rank, gain)| f64::from(*rank) * gain).sum(), total);
                }
            }
        }
    }

    fn judgement(&self, ratios: Vec<Ratio>, never_shown: usize, top: usize) -> Judgement {
        let references: Vec<&Ratio> = ratios.iter().collect();
        let drawn = resampled(&references, self.resamples, self.seed);
        let values = ratios.iter().zip(&drawn).map(|(ratio, drawn)| Bounds::of(ratio.value(), drawn)).collect();
        Judgement { measures: self.measures.clone(), values, never_shown, top, ratios, drawn }
    }
}

fn dcg(ranked: &[(u32, f64)], cut: usize) -> f64 {
    ranked.iter().filter(|(rank, _)| *rank as usize <= cut).map(|(rank, gain)| gain * discount(*rank as usize)).sum()
}

fn ideal_dcg(gains: &[(u32, f64)], cut: usize) -> f64 {
    let mut sorted: Vec<f64> = gains.iter().map(|(_, gain)| *gain).collect();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    sorted.iter().take(cut).zip(1..).map(|(gain, rank)| gain * discount(rank)).sum()
}

/// What logged clicks say about a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// What was measured.
    pub measures: Vec<ClickMeasure>,
    /// The value of each measure, with its interval over queries.
    pub values: Vec<Bounds>,
    /// How many documents among the first ten of each query were never shown, so that they could not earn.
    pub never_shown: usize,
    /// How many documents are among the first ten of each query.
    pub top: usize,
    ratios: Vec<Ratio>,
    drawn: Vec<Vec<f64>>,
}

impl Judgement {
    /// The value of each judged query; `NaN` where it has none.
    pub fn per_query(&self, measure: ClickMeasure) -> Option<Vec<f64>> {
        let place = self.measures.iter().position(|&m| m == measure)?;
        Some(self.ratios[place].per_query())
    }

    /// The value of `measure` with its interval.
    pub fn value(&self, measure: ClickMeasure) -> Option<Bounds> {
        self.measures.iter().position(|&m| m == measure).map(|place| self.values[place])
    }

    /// How this ranking differs from another that the same [`Counterfactual`] judged, measure by measure. Noise that both
    /// share cancels, so small differences can be told.
    pub fn minus(&self, other: &Judgement) -> Vec<PairedDifference> {
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

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rayon::prelude::*;

    use super::*;
    use crate::data::DatasetBuilder;
    use crate::ids::Ids;
    use crate::random::stream;
    use crate::simulate::{ShownLists, Simulation};

    const DOCS: usize = 6;
    const SHOWN: usize = 5;
    const WORLDS: u64 = 200;

    /// Queries with documents of random grades; a ranker knows them with noise.
    struct World {
        data: Dataset,
        scores: Vec<f32>,
        counts: Counts,
        propensities: Propensities,
        /// The values that γ in place of ŷ would give.
        truth: Vec<f64>,
    }

    fn world(seed: u64, queries: usize, sessions: u64) -> World {
        let mut random = stream(seed, "world", 0);
        let grades: Vec<u8> = (0..queries * DOCS).map(|_| random.random_range(0..=4)).collect();
        let scores: Vec<f32> = grades.iter().map(|&grade| f32::from(grade) + 3.0 * random.random::<f32>()).collect();
        let data = DatasetBuilder {
            features: vec![0.0; grades.len()],
            feature_count: 1,
            grades: Some(grades),
            queries: Ids::numbered(queries),
            query_ends: (1..=queries).map(|query| query * DOCS).collect(),
            docs: None,
        }
        .build()
        .unwrap();
        let lists = [ShownLists::top(&data, &vec![0.0; data.len()], SHOWN).unwrap()];
        let simulation = Simulation::new().etas(vec![2.0, 1.0, 0.0]).sessions(sessions).seed(seed);
        let simulator = simulation.prepare(&data, &lists).unwrap();
        let (counts, propensities) = (simulator.counts().unwrap(), simulator.propensities());
        let truth = truth(&data, &scores, simulator.relevance(), &counts);
        World { counts, propensities, truth, data, scores }
    }

    /// Mean DCG@5 and ARP of the ranking by `scores` over queries with sessions, with γ of shown documents as gains.
    fn truth(data: &Dataset, scores: &[f32], gamma: &[f64], counts: &Counts) -> Vec<f64> {
        let (mut dcg, mut positions, mut total) = (0.0, 0.0, 0.0);
        for query in counts.queries.numbers_in(data.queries()) {
            let rows = data.rows_of(query.unwrap() as usize);
            for (above, index) in rank(&scores[rows.clone()]).into_iter().enumerate() {
                let gain = if index < SHOWN { gamma[rows.start + index] } else { 0.0 };
                dcg += if above < 5 { gain * discount(above + 1) } else { 0.0 };
                positions += gain * (above + 1) as f64;
                total += gain;
            }
        }
        vec![dcg / counts.queries.len() as f64, positions / total]
    }

    const MEASURES: [ClickMeasure; 2] = [ClickMeasure::Dcg(5), ClickMeasure::Arp];

    fn judge(world: &World, estimator: Estimator) -> Judgement {
        Counterfactual::new(&world.data, &world.counts, &world.propensities, estimator, None)
            .unwrap()
            .measures(MEASURES.to_vec())
            .resamples(200)
            .judge(&world.scores)
            .unwrap()
    }

    /// The mean difference from the truth over worlds in standard errors, for each measure.
    fn bias(estimator: Estimator) -> Vec<f64> {
        let errors: Vec<Vec<f64>> = (0..WORLDS)
            .into_par_iter()
            .map(|seed| {
                let world = world(seed, 40, 4000);
                let found = judge(&world, estimator);
                found.values.iter().zip(&world.truth).map(|(bounds, truth)| bounds.value - truth).collect()
            })
            .collect();
        (0..MEASURES.len())
            .map(|m| {
                let values: Vec<f64> = errors.iter().map(|of_world| of_world[m]).collect();
                let interval = crate::evaluate::mean_interval(&values).unwrap();
                interval.mean / (interval.half_width / 1.96)
            })
            .collect()
    }

    #[test]
    fn user_aware_judgements_are_unbiased_and_ips_pbm_ones_are_not() {
        let aware = bias(Estimator::UserAware);
        assert!(aware.iter().all(|z| z.abs() < 3.0), "{aware:?}");
        let straight = bias(Estimator::Straightforward);
        assert!(straight.iter().all(|z| z.abs() < 3.0), "{straight:?}");
        let oblivious = bias(Estimator::IpsPbm);
        assert!(oblivious.iter().any(|z| z.abs() > 5.0), "{oblivious:?}");
    }

    #[test]
    fn intervals_cover_the_value_over_all_queries() {
        let worlds: Vec<(Vec<Bounds>, Vec<f64>)> = (0..WORLDS)
            .into_par_iter()
            .map(|seed| {
                let world = world(seed, 60, 1500);
                (judge(&world, Estimator::UserAware).values, world.truth)
            })
            .collect();
        for m in 0..MEASURES.len() {
            let truth = worlds.iter().map(|(_, truth)| truth[m]).sum::<f64>() / worlds.len() as f64;
            let covered = worlds.iter().filter(|(found, _)| found[m].low <= truth && truth <= found[m].high).count();
            // 95 % of 200 are 190, with a deviation of 3; percentile intervals of 60 queries are a little short.
            assert!((178..=198).contains(&covered), "{}: {covered} of {WORLDS}", MEASURES[m]);
        }
    }

    #[test]
    fn paired_differences_tell_what_single_intervals_do_not() {
        let world = world(1, 300, 20_000);
        let judge =
            Counterfactual::new(&world.data, &world.counts, &world.propensities, Estimator::UserAware, None).unwrap();
        let better: Vec<f32> =
            world.scores.iter().zip(world.data.grades().unwrap()).map(|(s, g)| s + f32::from(*g)).collect();
        let (a, b) = (judge.judge(&better).unwrap(), judge.judge(&world.scores).unwrap());
        for (measure, difference) in a.measures.iter().zip(a.minus(&b)) {
            let (low, high) = (difference.bounds.low, difference.bounds.high);
            assert!(if measure.larger_is_better() { low > 0.0 } else { high < 0.0 }, "{measure}: {difference:?}");
            assert!(difference.p < 0.01);
            let own = a.value(*measure).unwrap();
            assert!(high - low < own.high - own.low, "{measure}: {difference:?} {own:?}");
        }
        assert!(a.minus(&a).iter().all(|difference| difference.bounds.value == 0.0 && difference.p == 1.0));
    }

    #[test]
    fn a_ranking_like_the_shown_one_is_judged_like_the_log() {
        let world = world(5, 50, 3000);
        let judge =
            Counterfactual::new(&world.data, &world.counts, &world.propensities, Estimator::UserAware, None).unwrap();
        let (same, logged) = (judge.judge(&vec![0.0; world.data.len()]).unwrap(), judge.judge_logged());
        for (a, b) in same.values.iter().zip(&logged.values) {
            assert!((a.value - b.value).abs() < 1e-9, "{a:?} {b:?}");
        }
        // The last of six documents is never shown, and stands among the first ten.
        let condensed = judge.shown_only(true);
        let reversed: Vec<f32> = (0..world.data.len()).map(|row| (row % DOCS) as f32).collect();
        let best_last = condensed.judge(&reversed).unwrap();
        assert_eq!((best_last.never_shown, best_last.top), (0, world.counts.queries.len() * SHOWN));
        let mirrored = SHOWN as f64 + 1.0 - logged.value(ClickMeasure::Arp).unwrap().value;
        assert!((best_last.value(ClickMeasure::Arp).unwrap().value - mirrored).abs() < 1e-9);
        let queries = world.counts.queries.len();
        assert_eq!((same.never_shown, same.top, condensed.log.queries), (queries, queries * DOCS, queries));
    }

    #[test]
    fn noise_lowers_normalised_gains() {
        // By the true order nDCG is 1; clicks put another order first by chance.
        let ndcg = |sessions| {
            let world = world(2, 100, sessions);
            let gamma: Vec<f32> = world.data.grades().unwrap().iter().map(|&grade| f32::from(grade)).collect();
            let judge =
                Counterfactual::new(&world.data, &world.counts, &world.propensities, Estimator::UserAware, None)
                    .unwrap();
            let shown: Vec<f32> =
                gamma.iter().enumerate().map(|(row, g)| if row % DOCS < SHOWN { *g } else { -1.0 }).collect();
            judge.judge(&shown).unwrap().value(ClickMeasure::Ndcg(5)).unwrap().value
        };
        let (few, many) = (ndcg(1000), ndcg(10_000_000));
        assert!(few < 0.95 && many > 0.999, "{few} {many}");
    }

    #[test]
    fn self_normalised_gains_do_not_depend_on_the_scale_of_examination() {
        let world = world(3, 40, 2000);
        let value = |propensities: &Propensities| {
            let judge =
                Counterfactual::new(&world.data, &world.counts, propensities, Estimator::UserAware, None).unwrap();
            judge.self_normalised(true).judge(&world.scores).unwrap().value(ClickMeasure::Dcg(5)).unwrap().value
        };
        let mut halved = world.propensities.clone();
        halved.by_user.iter_mut().chain(&mut halved.population).for_each(|theta| *theta /= 2.0);
        assert!((value(&world.propensities) - value(&halved)).abs() < 1e-9);
    }

    #[test]
    fn logs_that_judge_nothing_are_refused() {
        let mut world = world(1, 10, 100);
        let refused = |world: &World| {
            let found =
                Counterfactual::new(&world.data, &world.counts, &world.propensities, Estimator::UserAware, None);
            found.err().unwrap().to_string()
        };
        world.counts.cells.iter_mut().for_each(|cell| cell.clicks = 0);
        assert!(refused(&world).contains("so it judges nothing"));
        world.counts.queries = Ids::Integers((101..=110).collect());
        assert!(refused(&world).contains("are they from the same data?"), "{}", refused(&world));
    }

    #[test]
    fn among_shown_documents_the_logged_order_is_the_logged_judgement() {
        let world = world(5, 40, 2000);
        let judge = Counterfactual::new(&world.data, &world.counts, &world.propensities, Estimator::UserAware, None);
        let judge = judge.unwrap().resamples(0);
        // Documents were shown in the order of the data; the last of each query never was, and is ranked first here.
        let score = |place: usize| if place == SHOWN { 1.0 } else { -(place as f32) };
        let as_shown: Vec<f32> = (0..world.data.len()).map(|row| score(row % DOCS)).collect();
        let values = |judgement: Judgement| judgement.values.iter().map(|value| value.value).collect::<Vec<f64>>();
        let all = judge.judge(&as_shown).unwrap();
        assert_eq!(all.never_shown, judge.log.queries);
        let judge = judge.shown_only(true);
        let shown = judge.judge(&as_shown).unwrap();
        assert_eq!(shown.never_shown, 0);
        for (ranked, logged) in values(shown).into_iter().zip(values(judge.judge_logged())) {
            assert!((ranked - logged).abs() < 1e-9, "{ranked} is not {logged}");
        }
        assert!(values(all)[0] < values(judge.judge_logged())[0]);
    }

    #[test]
    fn measures_print_as_they_parse() {
        for measure in ClickMeasure::usual() {
            assert_eq!(measure.to_string().parse::<ClickMeasure>().unwrap(), measure);
        }
        assert!("DCG".parse::<ClickMeasure>().is_err() && "ARP@3".parse::<ClickMeasure>().is_err());
    }
}
