//! Which click model suits a log? Whole pages enter, how well each model predicts pages that it did not see leaves.
//!
//! Each model is fitted to two thirds of the pages of a sample and predicts the others, given the clicks above each document. Where
//! there are several users it is fitted twice, with one set of parameters and with those of each user, and counts as it predicts
//! better: users who differ make clicks on a page depend on each other under any model, and users with a page or two cannot be told
//! apart. Differences are paired by query.

use std::collections::HashMap;

use serde::Serialize;

use crate::Result;
use crate::click_model::{ClickLog, ClickModelKind, ClickModelOptions, NO_CONTEXTS};
use crate::counts::{Pages, Shown, Transitions};
use crate::evaluate::{PairedDifference, Ratio, resampled};
use crate::ids::Ids;
use crate::progress::{Progress, Quiet};
use crate::random::{fraction, hash};
use crate::report::Verdict;

/// The models that are compared. `trust` and `additive` are not: what was clicked above does not matter to them either, and their
/// relevance has a scale of its own.
pub const COMPARED: [ClickModelKind; 7] = [
    ClickModelKind::Pbm,
    ClickModelKind::Ubm,
    ClickModelKind::Cm,
    ClickModelKind::Dcm,
    ClickModelKind::Sdbn,
    ClickModelKind::Dbn,
    ClickModelKind::Ccm,
];

/// Pages that are looked at, about: enough to tell models apart, in seconds.
const PAGES: usize = 30_000;

/// Pages of one query, at most: more of the same tell little of others.
const PAGES_OF_QUERY: usize = 2_000;

/// The share of the pages that is held out.
const HELD_OUT: f64 = 1.0 / 3.0;

/// What tells the choice of pages from other uses of the same hash.
const SAMPLED: u64 = 0x636c_6963;

/// Resamples of queries.
const RESAMPLES: usize = 1000;

/// Steps of a fit are over when the log-likelihood changes by less than this share of it: differences that matter are larger.
const TOLERANCE: f64 = 1e-6;
const ITERATIONS: usize = 200;

/// The share of the perplexity above 1 that a model has to cut for it to matter.
pub(super) const MATTERS: f64 = 0.005;

/// How well click models predict held-out pages of a log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClickModels {
    /// Pages that the models were fitted to.
    pub fitted: u64,
    /// Pages that they predicted.
    pub held_out: u64,
    /// Queries of the latter.
    pub queries: u64,
    /// Whether there are several users with two pages or more each on average, so that models were also fitted with parameters of each.
    pub several_users: bool,
    /// Pages that show two documents at one position, which no model here can follow; they are left out.
    pub left_out: u64,
    /// Each model, the position-based one first.
    pub models: Vec<ComparedModel>,
}

/// How well one model predicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedModel {
    /// Which.
    #[serde(serialize_with = "name_of")]
    pub model: ClickModelKind,
    /// Whether it predicts better with parameters of each user.
    pub per_user: bool,
    /// The mean over held-out sessions of the mean over positions of `ln P(c_k | c_<k)`.
    pub log_likelihood: f64,
    /// The mean over positions of `2^(−mean log2 P(c_k | c_<k))`.
    pub conditional_perplexity: f64,
    /// How much the log-likelihood is above that of the position-based model.
    pub above: f64,
    /// The 95 % interval of that, over queries.
    pub interval: (f64, f64),
    /// Two-sided p of no difference.
    pub p: f64,
    /// The p of no difference from the model that predicts best.
    pub p_of_best: f64,
    /// The share of the position-based model's perplexity above 1 that it cuts, and its 95 % interval.
    pub cut: f64,
    /// The interval of that.
    pub cut_interval: (f64, f64),
}

fn name_of<S: serde::Serializer>(model: &ClickModelKind, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(model)
}

/// Pages per user on average from which on models are fitted with parameters of each user: of fewer nothing can be told, and users are
/// about as many as pages.
const PAGES_PER_USER: f64 = 2.0;

impl ClickModels {
    /// Compares models on whole pages; nothing where they are too few to hold some out.
    pub fn of(pages: &Pages, seed: u64, progress: &dyn Progress) -> Result<Option<Self>> {
        let sample = Sample::of(pages, seed);
        if sample.fitted.rows.is_empty() || sample.held_out.rows.is_empty() {
            return Ok(None);
        }
        let several_users =
            sample.users.len() > 1 && sample.sessions.0 as f64 >= PAGES_PER_USER * sample.users.len() as f64;
        progress.begin("comparing click models", COMPARED.len() as u64);
        let mut found = Vec::with_capacity(COMPARED.len());
        for model in COMPARED {
            found.push(sample.predict_best(model, several_users, progress)?);
            progress.advance(1)?;
        }
        let queries = found[0].ratio.denominators.iter().filter(|sessions| **sessions > 0.0).count() as u64;
        Ok(Some(ClickModels {
            fitted: sample.sessions.0,
            held_out: sample.sessions.1,
            queries,
            several_users,
            left_out: sample.left_out,
            models: compare(&found, seed),
        }))
    }

    /// The position-based model.
    fn position_based(&self) -> &ComparedModel {
        &self.models[0]
    }

    /// The model that predicts best.
    pub fn best(&self) -> &ComparedModel {
        let better = |best: &'_ ComparedModel, other: &'_ ComparedModel| other.log_likelihood > best.log_likelihood;
        self.models.iter().fold(self.position_based(), |best, other| if better(best, other) { other } else { best })
    }

    /// Whether a model in which clicks above matter predicts better than the position-based one, by so much that it matters.
    pub fn verdict(&self, level: f64) -> Verdict {
        let best = self.best();
        if best.p < level && best.cut >= MATTERS {
            return Verdict::Holds;
        }
        // Without an interval nothing is excluded.
        match self.models.iter().all(|model| model.cut_interval.1 < MATTERS) {
            true => Verdict::DoesNotHold,
            false => Verdict::Open,
        }
    }

    /// The model to use, where that is decided.
    pub fn suited(&self, level: f64) -> Option<ClickModelKind> {
        match self.verdict(level) {
            Verdict::Holds => Some(self.best().model),
            Verdict::DoesNotHold => Some(ClickModelKind::Pbm),
            Verdict::Open => None,
        }
    }
}

/// Some pages in two parts, with numbers of their own.
struct Sample {
    fitted: Transitions,
    held_out: Transitions,
    sessions: (u64, u64),
    queries: Ids,
    docs: Ids,
    users: Ids,
    left_out: u64,
}

/// What a model makes of held-out pages.
struct Predicted {
    model: ClickModelKind,
    per_user: bool,
    /// Log-likelihood over sessions, query by query.
    ratio: Ratio,
    conditional_perplexity: f64,
}

impl Sample {
    /// Whole queries in random order, until there are enough pages.
    fn of(pages: &Pages, seed: u64) -> Self {
        let (mut numbers, mut left_out) = (Numbers::default(), 0);
        let mut parts = [Pages::default(), Pages::default()];
        for of_query in sampled(pages, seed) {
            for number in of_query {
                let page = &pages.pages[number];
                let shown = pages.of(page);
                if shown.windows(2).any(|two| two[0].position == two[1].position) {
                    left_out += 1;
                    continue;
                }
                let (query, user) = (numbers.queries.of(page.query), numbers.users.of(page.user));
                let is_held_out = fraction(seed, number as u64, SAMPLED) < HELD_OUT;
                let shown = shown.iter().map(|shown| Shown { doc: numbers.docs.of(shown.doc), ..*shown });
                parts[usize::from(is_held_out)].push(query, user, shown);
            }
        }
        let [fitted, held_out] = parts;
        // A position that no page had which a model was fitted to is unknown to it.
        let last = fitted.shown.iter().map(|shown| shown.position).max().unwrap_or(0);
        let held_out = held_out.cut_below(last);
        Sample {
            sessions: (fitted.pages.len() as u64, held_out.pages.len() as u64),
            fitted: Transitions::of_pages(&fitted.sorted()),
            held_out: Transitions::of_pages(&held_out.sorted()),
            queries: numbers.queries.ids(),
            docs: numbers.docs.ids(),
            users: numbers.users.ids(),
            left_out,
        }
    }

    fn log<'s>(&'s self, transitions: &'s Transitions) -> ClickLog<'s> {
        // Whole pages do not know what they were shown in.
        let contexts = &NO_CONTEXTS;
        ClickLog { transitions, queries: &self.queries, docs: &self.docs, users: &self.users, contexts }
    }

    /// With or without users apart, whichever is better.
    fn predict_best(&self, model: ClickModelKind, several_users: bool, progress: &dyn Progress) -> Result<Predicted> {
        let alike = self.predict(model, false, progress)?;
        // In some models all users browse alike.
        if !several_users || model.parameter_count(1) == 0 {
            return Ok(alike);
        }
        let apart = self.predict(model, true, progress)?;
        Ok(if apart.ratio.value() > alike.ratio.value() { apart } else { alike })
    }

    fn predict(&self, model: ClickModelKind, per_user: bool, progress: &dyn Progress) -> Result<Predicted> {
        let options = ClickModelOptions::new().model(vec![model]).per_user(per_user);
        let options = options.iterations(ITERATIONS).tolerance(TOLERANCE);
        let fitted = options.fit(&self.log(&self.fitted), None, &Quiet(progress))?;
        let held_out = self.log(&self.held_out);
        let (numerators, denominators) = fitted.log_likelihoods(&held_out)?.into_iter().unzip();
        let conditional_perplexity = fitted.measure(&held_out)?.conditional_perplexity;
        Ok(Predicted { model, per_user, ratio: Ratio { numerators, denominators }, conditional_perplexity })
    }
}

/// The numbers of the pages of random queries, query by query in their order: all, or a random part where there are many.
fn sampled(pages: &Pages, seed: u64) -> Vec<Vec<usize>> {
    let mut first = 0;
    let mut queries: Vec<(u64, usize, usize)> = Vec::new();
    for of_query in pages.by_query() {
        queries.push((hash(seed, u64::from(of_query[0].query)), first, of_query.len()));
        first += of_query.len();
    }
    queries.sort_unstable();
    let mut total = 0;
    let is_wanted = |&(_, _, len): &(u64, usize, usize)| {
        let is_wanted = total < PAGES;
        total += len.min(PAGES_OF_QUERY);
        is_wanted
    };
    let mut wanted: Vec<(u64, usize, usize)> = queries.into_iter().take_while(is_wanted).collect();
    wanted.sort_unstable_by_key(|&(_, first, _)| first);
    let some = |(_, first, len): (u64, usize, usize)| {
        let mut some: Vec<usize> = (first..first + len).collect();
        if len > PAGES_OF_QUERY {
            some.sort_unstable_by_key(|&page| (hash(seed ^ SAMPLED, page as u64), page));
            some.truncate(PAGES_OF_QUERY);
            some.sort_unstable();
        }
        some
    };
    wanted.into_iter().map(some).collect()
}

/// New numbers of what occurs, in the order in which it does.
#[derive(Default)]
struct Numbering(HashMap<u32, u32>);

impl Numbering {
    fn of(&mut self, number: u32) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(number).or_insert(next)
    }

    fn ids(&self) -> Ids {
        Ids::numbered(self.0.len())
    }
}

#[derive(Default)]
struct Numbers {
    queries: Numbering,
    docs: Numbering,
    users: Numbering,
}

/// The table: every model beside the position-based one, which is the first, and beside the best.
fn compare(found: &[Predicted], seed: u64) -> Vec<ComparedModel> {
    let ratios: Vec<&Ratio> = found.iter().map(|found| &found.ratio).collect();
    let drawn = resampled(&ratios, RESAMPLES, seed);
    let values: Vec<f64> = ratios.iter().map(|ratio| ratio.value()).collect();
    let best = (1..values.len()).fold(0, |best, model| if values[model] > values[best] { model } else { best });
    let minus = |a: usize, b: usize| PairedDifference::of((ratios[a], &drawn[a]), (ratios[b], &drawn[b]));
    let compared = |(number, found): (usize, &Predicted)| {
        let PairedDifference { bounds, p } = minus(number, 0);
        let cut = |above: f64| 1.0 - ((-values[0] - above).exp() - 1.0) / ((-values[0]).exp() - 1.0);
        ComparedModel {
            model: found.model,
            per_user: found.per_user,
            log_likelihood: values[number],
            conditional_perplexity: found.conditional_perplexity,
            above: bounds.value,
            interval: (bounds.low, bounds.high),
            p,
            p_of_best: minus(best, number).p,
            cut: cut(bounds.value),
            cut_interval: (cut(bounds.low), cut(bounds.high)),
        }
    };
    found.iter().enumerate().map(compared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::click_model::Browsing;
    use crate::click_model::testing::World;
    use crate::progress::Silent;

    const POSITIONS: usize = 6;

    /// How a user browses; patience is around 0.
    fn browsing(model: ClickModelKind, patience: f64) -> Browsing {
        let mut browsing = Browsing::constant(model, POSITIONS, 0.6 + patience);
        let slots = || (1..=POSITIONS).flat_map(|k| (0..k).map(move |from| (from, k)));
        match model {
            ClickModelKind::Pbm => browsing = Browsing::power_law(0.8 - patience, POSITIONS),
            ClickModelKind::Ubm => {
                browsing.values = slots().map(|(from, k)| ((k - from) as f64).powf(-0.8)).collect();
            }
            ClickModelKind::Dbn => browsing.values = vec![0.8],
            ClickModelKind::Ccm => browsing.values = vec![0.85, 0.8, 0.3],
            _ => {}
        }
        browsing
    }

    fn pages(users: Vec<Browsing>, sessions: usize, seed: u64) -> Pages {
        let mut pages = Pages::default();
        let world = World::new(60, POSITIONS, users, seed);
        World { lists: 4, ..world }.pages(sessions, seed).into_iter().for_each(|(query, user, shown)| {
            pages.push(query, user, shown);
        });
        pages.sorted()
    }

    fn compare(pages: &Pages, seed: u64) -> ClickModels {
        ClickModels::of(pages, seed, &Silent).unwrap().unwrap()
    }

    #[test]
    fn the_model_that_made_the_clicks_is_found() {
        use ClickModelKind::{Ccm, Cm, Dbn, Dcm, Sdbn, Ubm};
        // Beside the model itself those that contain it.
        for (model, containing) in [
            (Ubm, vec![]),
            (Dcm, vec![]),
            (Sdbn, vec![Dbn]),
            (Dbn, vec![]),
            (Ccm, vec![]),
            (Cm, vec![Ubm, Dcm, Sdbn, Dbn, Ccm]),
        ] {
            let found = compare(&pages(vec![browsing(model, 0.0)], 6000, 1), 1);
            assert_eq!(found.verdict(0.01), Verdict::Holds, "{model}: {found:?}");
            let best = found.best().model;
            let own = found.models.iter().find(|one| one.model == model).unwrap();
            let is_right = best == model || containing.contains(&best) || own.p_of_best >= 0.01;
            assert!(is_right, "{model}: {found:?}");
        }
    }

    #[test]
    fn on_position_based_logs_no_other_model_is_surely_better() {
        for seed in 0..4 {
            let patience = |user: usize| 0.3 * (user % 5) as f64 / 2.0 - 0.3;
            for users in [1, 20] {
                let users =
                    (0..users).map(|user| browsing(ClickModelKind::Pbm, if users > 1 { patience(user) } else { 0.0 }));
                let found = compare(&pages(users.collect(), 4000, seed), seed);
                assert_ne!(found.verdict(0.01), Verdict::Holds, "{found:?}");
                assert!(found.suited(0.01).is_none_or(|model| model == ClickModelKind::Pbm));
            }
        }
    }

    #[test]
    fn pages_with_shared_positions_are_left_out_and_without_others_nothing_is_compared() {
        let mut odd = Pages::default();
        let shown = |position, doc| Shown { position, doc, click: doc == 1 };
        (0..20).for_each(|user| odd.push(0, user, [shown(1, 0), shown(1, 1)]));
        assert!(ClickModels::of(&odd, 1, &Silent).unwrap().is_none());
        let mut both = pages(vec![browsing(ClickModelKind::Pbm, 0.0)], 500, 1);
        let plain = compare(&both, 1);
        (0..20).for_each(|_| both.push(60, 0, [shown(1, 0), shown(1, 1)]));
        let found = compare(&both, 1);
        assert_eq!((found.left_out, found.models == plain.models), (20, true));
    }

    #[test]
    fn of_many_pages_whole_queries_are_taken_and_few_of_each() {
        let mut many = Pages::default();
        let shown = |page: u32| Shown { position: 1, doc: 0, click: page.is_multiple_of(2) };
        for query in 0..40 {
            (0..3000).for_each(|page| many.push(query, 0, [shown(page)]));
        }
        let some = sampled(&many, 1);
        assert_eq!(some.len(), PAGES / PAGES_OF_QUERY);
        assert!(some.iter().all(|pages| pages.len() == PAGES_OF_QUERY && pages.is_sorted()));
    }

    #[test]
    fn the_same_on_any_number_of_threads() {
        let pages = pages((0..5).map(|_| browsing(ClickModelKind::Dbn, 0.0)).collect(), 1000, 2);
        let draw = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| compare(&pages, 1))
        };
        assert_eq!(draw(1), draw(3));
    }
}
