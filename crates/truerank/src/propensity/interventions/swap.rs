//! The swap experiment: documents shown at both position 1 and position k compare the two.

use super::{Own, Relative, WAY_OUT, fill_users, finish, named, positions_are};
use crate::counts::CountsView;
use crate::options::options;
use crate::propensity::Propensities;
use crate::propensity::bootstrap::check_resamples;
use crate::propensity::observations::{Entries, Observed, observe_population, observe_users};
use crate::{Error, Result};

options! {
    /// θ(k)/θ(1) from documents that were shown at both 1 and k (Joachims, Swaminathan and Schnabel 2017, §5).
    ///
    /// The strata are the documents (q,d) shown at both positions, or (q,d,u) per user. With n₁, n_k impressions and c₁, c_k
    /// clicks in a stratum, the Mantel–Haenszel ratio
    ///
    /// ```text
    /// θ(k)/θ(1) = Σ c_k·n₁/(n₁+n_k)  /  Σ c₁·n_k/(n₁+n_k)
    /// ```
    ///
    /// has in each stratum the expectation `γ θ(k) n₁n_k/(n₁+n_k)` above and `γ θ(1) n₁n_k/(n₁+n_k)` below: relevance and
    /// traffic cancel stratum by stratum. The plain ratio of click rates, `(Σc_k/Σn_k) / (Σc₁/Σn₁)`, compares different
    /// mixtures of documents as soon as some are shown at 1 more often than at k, as when good documents are at 1 except for
    /// the swapped sessions. And as a ratio of sums it stays consistent for many strata of a few impressions each, where a
    /// mean of the strata's own ratios does not exist.
    ///
    /// Assumes the examination hypothesis, and for the population that who saw a document does not depend on where it was
    /// shown (true for swaps by chance; not where different users had different rankers: there use users as strata).
    ///
    /// ```no_run
    /// # use truerank::{counts::Counts, propensity::SwapExperiment};
    /// # fn example(counts: &Counts) -> truerank::Result<()> {
    /// let propensities = SwapExperiment::new().per_user(true).estimate(counts)?;
    /// # Ok(()) }
    /// ```
    pub struct SwapExperiment {
        /// Examination of each user instead of one for all.
        per_user: bool = false;
        /// Resamples of queries for standard errors; 0 for none.
        resamples: usize = 100, value("N");
        /// Seed of resampling.
        seed: u64 = 1;
    }
}

impl SwapExperiment {
    pub(crate) fn check(&self) -> Result<()> {
        check_resamples(self.resamples, 0)
    }

    /// Estimates θ. A position that no document shares with position 1 is an error.
    pub fn estimate(&self, counts: &dyn CountsView) -> Result<Propensities> {
        self.check()?;
        let overall = Comparisons::new(counts, observe_population(counts)?)?;
        overall.check()?;
        let of_users = self.per_user.then(|| Comparisons::new(counts, observe_users(counts)?)).transpose()?;
        finish(counts, "swap", self.resamples, self.seed, |weights| {
            let population = overall.population(weights)?;
            let Some(of_users) = &of_users else { return Ok(Relative { population, ..Relative::default() }) };
            let (by_user, notes) = fill_users(&of_users.own(weights)?, &population);
            Ok(Relative { population, by_user, fit: None, notes })
        })
    }
}

/// What the strata of a query, or of all, add to the ratio of one slot.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    /// Σ c_k·n₁/(n₁+n_k).
    above: f64,
    /// Σ c₁·n_k/(n₁+n_k).
    below: f64,
    /// Σ n₁·n_k/(n₁+n_k).
    overlap: f64,
    /// Σ n_k.
    shown: f64,
}

impl Sums {
    /// A stratum's, from (impressions, clicks) at position 1 and at k.
    fn of_stratum((n_1, c_1): (f64, f64), (n_k, c_k): (f64, f64)) -> Self {
        let both = n_1 + n_k;
        Sums { above: c_k * n_1 / both, below: c_1 * n_k / both, overlap: n_1 * n_k / both, shown: n_k }
    }

    fn add(&mut self, other: &Sums, weight: f64) {
        self.above += weight * other.above;
        self.below += weight * other.below;
        self.overlap += weight * other.overlap;
        self.shown += weight * other.shown;
    }

    fn own(&self) -> Own {
        match (self.below > 0.0, self.above > 0.0) {
            (true, true) => Own::Ratio(self.above / self.below),
            // `overlap / shown` is what a click at k adds above, on average.
            (true, false) => Own::HalfAClick(0.5 * self.overlap / self.shown / self.below),
            (false, _) => Own::Nothing,
        }
    }
}

/// What the strata of a query add to the ratio of a slot: query, slot, sums.
type Term = (u32, u32, Sums);

/// All comparisons with position 1, summed per query and slot: what resampling queries needs and no more.
struct Comparisons {
    positions: usize,
    slots: usize,
    terms: Terms,
}

/// Terms sorted by query, then slot.
enum Terms {
    Held(Vec<Term>),
    /// Made anew whenever they are needed, of counts that do not fit into memory.
    Stored(Box<dyn Observed>),
}

impl Comparisons {
    fn new(counts: &dyn CountsView, observations: Box<dyn Observed>) -> Result<Self> {
        let (positions, slots) = (observations.positions(), observations.slot_count());
        let terms = match counts.room() {
            Some(_) => Terms::Stored(observations),
            None => {
                let mut terms = Vec::new();
                for_each_term(observations.as_ref(), |term| terms.push(*term))?;
                Terms::Held(terms)
            }
        };
        Ok(Comparisons { positions, slots, terms })
    }

    fn sums(&self, weight_of: impl Fn(u32) -> f64) -> Result<Vec<Sums>> {
        let mut sums = vec![Sums::default(); self.slots];
        let add = |(query, slot, of_query): &Term| sums[*slot as usize].add(of_query, weight_of(*query));
        match &self.terms {
            Terms::Held(terms) => terms.iter().for_each(add),
            Terms::Stored(observations) => for_each_term(observations.as_ref(), add)?,
        }
        Ok(sums)
    }

    /// What each group's strata say about each position.
    fn own(&self, weights: &[f64]) -> Result<Vec<Own>> {
        let sums = self.sums(|query| weights[query as usize])?;
        let of_slot =
            |slot: usize| if slot.is_multiple_of(self.positions) { Own::Ratio(1.0) } else { sums[slot].own() };
        Ok((0..self.slots).map(of_slot).collect())
    }

    /// θ(k)/θ(1) of the only group. In a resample that drew no click at 1 or k it is 0: rare, and finite.
    fn population(&self, weights: &[f64]) -> Result<Vec<f64>> {
        let value = |own| if let Own::Ratio(ratio) = own { ratio } else { 0.0 };
        Ok(self.own(weights)?.into_iter().map(value).collect())
    }

    fn check(&self) -> Result<()> {
        let sums = self.sums(|_| 1.0)?;
        if sums.iter().all(|sums| sums.overlap == 0.0) {
            return Err(Error::parameter(format!(
                "no document was shown at both position 1 and another, so positions cannot be compared; {WAY_OUT}"
            )));
        }
        let where_not = |holds: fn(&Sums) -> bool| -> Vec<usize> {
            (1..self.positions).filter(|&index| !holds(&sums[index])).map(|index| index + 1).collect()
        };
        let apart = where_not(|sums| sums.overlap > 0.0);
        if !apart.is_empty() {
            return Err(Error::parameter(format!(
                "{} not linked to position 1: no document was shown at both; {WAY_OUT}",
                positions_are(&apart)
            )));
        }
        match &where_not(|sums| sums.above > 0.0 && sums.below > 0.0)[..] {
            [] => Ok(()),
            unclicked => Err(Error::parameter(format!(
                "documents shown at both position 1 and {} should have clicks at both, but have none at one of them; \
                 a longer log may have some",
                named(unclicked)
            ))),
        }
    }
}

/// Hands the terms to `take`, in order.
fn for_each_term(observations: &dyn Observed, mut take: impl FnMut(&Term)) -> Result<()> {
    let positions = observations.positions() as u32;
    let mut of_query: Vec<Term> = Vec::new();
    observations.for_each_doc(|(query, _), entries| {
        if of_query.first().is_some_and(|term| term.0 != query) {
            merged(&mut of_query).iter().for_each(&mut take);
            of_query.clear();
        }
        strata_of(entries, positions, |slot, sums| of_query.push((query, slot, sums)));
    })?;
    merged(&mut of_query).iter().for_each(take);
    Ok(())
}

/// The terms of a query, one for each slot.
fn merged(terms: &mut Vec<Term>) -> &[Term] {
    // Stable, so that sums run in the order of documents.
    terms.sort_by_key(|&(_, slot, _)| slot);
    terms.dedup_by(|next, kept| {
        let same = next.1 == kept.1;
        if same {
            kept.2.add(&next.2, 1.0);
        }
        same
    });
    terms
}

/// Calls `take` with the slot and the sums of each stratum of a document: its groups that saw it at 1 and elsewhere.
fn strata_of(entries: Entries<'_>, positions: u32, mut take: impl FnMut(u32, Sums)) {
    let mut first: Option<(u32, (f64, f64))> = None;
    for (slot, clicks, misses) in entries.iter() {
        let (slot, seen) = (slot as u32, (clicks + misses, clicks));
        match first {
            _ if slot.is_multiple_of(positions) => first = Some((slot, seen)),
            // Slots ascend, so a group's first position comes before its others.
            Some((start, at_1)) if slot / positions == start / positions => take(slot, Sums::of_stratum(at_1, seen)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::worlds;
    use super::*;
    use crate::counts::{Cell, Counts, SessionCount};
    use crate::ids::Ids;
    use crate::simulate::Simulation;

    fn cell(query: u32, doc: u32, position: u32, user: u32, impressions: u64, clicks: u64) -> Cell {
        Cell { query, doc, position, user, impressions, clicks }
    }

    /// Two queries and two users; user 1 saw nothing at both positions.
    fn by_hand() -> Counts {
        Counts {
            queries: Ids::numbered(2),
            docs: Ids::numbered(3),
            users: Ids::numbered(2),
            contexts: Default::default(),
            cells: vec![
                cell(0, 0, 1, 0, 10, 6),
                cell(0, 0, 2, 0, 5, 1),
                cell(0, 0, 2, 1, 5, 1),
                cell(0, 1, 2, 1, 9, 9),
                cell(1, 2, 1, 0, 4, 2),
                cell(1, 2, 2, 0, 12, 3),
            ],
            sessions: vec![
                SessionCount { query: 0, user: 0, sessions: 15 },
                SessionCount { query: 0, user: 1, sessions: 14 },
                SessionCount { query: 1, user: 0, sessions: 16 },
            ],
            patterns: None,
            transitions: None,
            pages: None,
            origin: Default::default(),
        }
    }

    #[test]
    fn the_ratio_is_that_of_mantel_and_haenszel() {
        let found = SwapExperiment::new().resamples(0).estimate(&by_hand()).unwrap();
        let above = 2.0 * 10.0 / 20.0 + 3.0 * 4.0 / 16.0;
        let below = 6.0 * 10.0 / 20.0 + 2.0 * 12.0 / 16.0;
        assert_eq!(found.population, [1.0, above / below]);
        assert_eq!((found.method.as_str(), found.users.len()), ("swap", 0));
        assert_eq!(found.details.population.impressions, [14, 31]);
    }

    #[test]
    fn users_are_compared_with_themselves_or_borrow() {
        let found = SwapExperiment::new().per_user(true).resamples(0).estimate(&by_hand()).unwrap();
        let population = SwapExperiment::new().resamples(0).estimate(&by_hand()).unwrap().population[1];
        let own = (10.0 / 15.0 + 3.0 * 4.0 / 16.0) / (6.0 * 5.0 / 15.0 + 2.0 * 12.0 / 16.0);
        assert_eq!(found.by_user, [1.0, own, 1.0, population]);
        assert!((found.population[1] - (31.0 * own + 14.0 * population) / 45.0).abs() < 1e-15);
        assert_eq!(found.details.notes.len(), 1);
        // User 1 has no impression at position 1 at all, so neither position has evidence; position 1 fixes the scale.
        assert!(found.details.notes[0].starts_with("1 of 4 values"), "{:?}", found.details.notes);
        found.check().unwrap();
    }

    #[test]
    fn the_plain_ratio_of_click_rates_is_wrong_where_documents_are_shown_unequally() {
        // θ(2)/θ(1) = 1/2; the relevant document stands at 1 mostly.
        let counts = Counts {
            cells: vec![
                cell(0, 0, 1, 0, 900, 900),
                cell(0, 0, 2, 0, 100, 50),
                cell(0, 1, 1, 0, 100, 20),
                cell(0, 1, 2, 0, 900, 90),
            ],
            ..by_hand()
        };
        let found = SwapExperiment::new().resamples(0).estimate(&counts).unwrap();
        assert!((found.population[1] - 0.5).abs() < 1e-12);
        let plain = (140.0 / 1000.0) / (920.0 / 1000.0);
        assert!(plain < 0.16);
    }

    #[test]
    fn swapped_sessions_give_the_truth_overall_and_per_user() {
        let data = worlds::data(200, 10);
        let lists = worlds::loggers(&data, 1, 10);
        let (counts, truth) = worlds::cells(Simulation::new().sessions(4_000_000).swap(0.5), &data, &lists);
        let overall = SwapExperiment::new().resamples(0).estimate(&counts).unwrap();
        let of_users = SwapExperiment::new().per_user(true).resamples(0).estimate(&counts).unwrap();
        let errors = [
            worlds::population_error(&overall, &truth),
            worlds::population_error(&of_users, &truth),
            worlds::user_error(&of_users, &truth, &counts),
        ];
        assert!(errors[0] < 0.03 && errors[1] < 0.01 && errors[2] < 0.03, "{errors:?}");
    }

    #[test]
    fn intervals_cover_the_truth() {
        let data = worlds::data(120, 6);
        let lists = worlds::loggers(&data, 1, 6);
        let (mut covered, mut all) = (0, 0);
        for seed in 0..30 {
            let settings = Simulation::new().etas(vec![1.0]).sessions(40_000).swap(0.5).seed(seed);
            let (counts, truth) = worlds::cells(settings, &data, &lists);
            let found = SwapExperiment::new().resamples(60).seed(seed).estimate(&counts).unwrap();
            let errors = &found.details.population.standard_errors;
            assert_eq!(errors[0], 0.0);
            for (index, error) in errors.iter().enumerate().skip(1) {
                all += 1;
                covered += usize::from((found.population[index] - truth.population[index]).abs() < 1.96 * error);
            }
        }
        // 95 % of 150, less four standard deviations of a binomial (2.7 each).
        assert!(covered >= 131, "{covered} of {all}");
    }

    #[test]
    fn a_user_who_never_clicks_below_gets_less_than_the_population() {
        let mut counts = by_hand();
        counts.cells[1].clicks = 0;
        counts.cells[5] = cell(1, 2, 2, 0, 1200, 0);
        let found = SwapExperiment::new().per_user(true).resamples(0).estimate(&counts).unwrap();
        let (overlap, below) = (50.0 / 15.0 + 4800.0 / 1204.0, 6.0 * 5.0 / 15.0 + 2.0 * 1200.0 / 1204.0);
        assert!((found.of_user(0)[1] - 0.5 * overlap / 1205.0 / below).abs() < 1e-15);
        assert!(found.details.notes[1].contains("count half a click"));
    }

    #[test]
    fn what_cannot_be_compared_is_named() {
        let message = |counts: &Counts| SwapExperiment::new().estimate(counts).unwrap_err().to_string();
        let mut counts = by_hand();
        counts.cells.truncate(1);
        assert!(message(&counts).starts_with("no document was shown at both position 1 and another"));
        counts = by_hand();
        counts.cells.extend([cell(1, 2, 4, 0, 3, 1), cell(1, 2, 4, 1, 3, 1)]);
        assert!(message(&counts).starts_with("position 3 is not linked to position 1"), "{}", message(&counts));
        assert!(message(&counts).contains("swapped or shuffled"));
        counts = by_hand();
        counts.cells.iter_mut().for_each(|cell| cell.clicks = 0);
        assert!(message(&counts).contains("should have clicks at both"), "{}", message(&counts));
        assert!(message(&Counts::default()).starts_with("no document"));
    }

    #[test]
    fn threads_do_not_matter() {
        let data = worlds::data(60, 6);
        let lists = worlds::loggers(&data, 1, 6);
        let (counts, _) = worlds::cells(Simulation::new().sessions(50_000).swap(0.5), &data, &lists);
        let run = || SwapExperiment::new().per_user(true).resamples(20).estimate(&counts).unwrap();
        assert_eq!(worlds::on_threads(1, run), worlds::on_threads(2, run));
    }
}
