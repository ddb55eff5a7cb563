//! From click transitions to a click model: what people choose enters, a fitted model leaves.

use super::browsing::{logistic, logit};
use super::documents::{Documents, Regression};
use super::em::{Em, Part, Totals};
use super::expectation::Sum;
use super::kind::Family;
use super::model::{ClickModel, DocumentParameters, OfUsers, UserKind};
use super::networks;
use super::observed::{Apart, Observed};
use super::prior::BetaPrior;
use super::{Browsing, ClickLog, ClickModelKind, CountedClicks, FreeDirections, linked_contexts};
use crate::counts::CountsView;
use crate::data::{Dataset, Join};
use crate::named::named;
use crate::options::{Options, listed, options};
use crate::progress::Progress;
use crate::propensity::em::{Design, Logistic, Squarem};
use crate::propensity::{Fit, Joined, RelevanceForm};
use crate::{Error, Result};

/// What is believed of parameters before clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelPrior {
    /// Beta distributions fitted to the log: over documents, by the place where they are usually shown, and over users. What
    /// documents are like is summed over; in the `trust` and `additive` models the most probable value stands.
    #[default]
    Fitted,
    /// One success in two trials for every parameter, as PyClick has it.
    Laplace,
    /// Nothing: the greatest likelihood. Documents with few clicks end at 0 or 1.
    None,
}

named!(ModelPrior, "a prior of click models": Fitted "fitted", Laplace "laplace", None "none");

options! {
    /// How a click model is fitted to the click transitions of a log.
    ///
    /// ```
    /// use truerank::click_model::{ClickLog, ClickModelKind, ClickModelOptions};
    /// use truerank::counts::{END, Listed, ShownList, Transition, Transitions};
    /// use truerank::ids::Ids;
    /// use truerank::progress::Silent;
    ///
    /// // One list of two documents: of 10 sessions 4 click the first, and 1 of them goes on to the second.
    /// let step = |from, to, sessions| Transition { list: 0, user: 0, from, to, sessions };
    /// let transitions = Transitions {
    ///     lists: vec![ShownList { query: 0, context: 0, shown: 0..2 }],
    ///     shown: vec![Listed { position: 1, doc: 0 }, Listed { position: 2, doc: 1 }],
    ///     rows: vec![step(0, 1, 4), step(0, END, 6), step(1, 2, 1), step(1, END, 3), step(2, END, 1)],
    /// };
    /// let (queries, docs, users, contexts) = (Ids::numbered(1), Ids::numbered(2), Ids::numbered(1), Ids::default());
    /// let log = ClickLog { transitions: &transitions, queries: &queries, docs: &docs, users: &users, contexts: &contexts };
    /// let model = ClickModelOptions::new().model(vec![ClickModelKind::Cm]).prior("none".parse()?).fit(&log, None, &Silent)?;
    /// assert!((model.documents[0].attraction - 4.0 / 10.0).abs() < 1e-9);
    /// # Ok::<(), truerank::Error>(())
    /// ```
    #[derive(PartialEq)]
    pub struct ClickModelOptions {
        /// The click model; of several, separated by commas, each user follows one.
        model: Vec<ClickModelKind> = vec![ClickModelKind::default()], value("MODEL");
        /// Parameters of each user instead of one set for all.
        per_user: bool = false;
        /// One set of parameters for all contexts, where counts have any, instead of one for each.
        ignore_context: bool = false;
        /// Kinds of users for each model, found by their clicks.
        clusters: usize = 1, at_least(1.0), value("N");
        /// What is believed of documents and users before their clicks.
        prior: ModelPrior = ModelPrior::Fitted;
        /// What gives relevance and satisfaction: table, linear in the features, mlp, or mlp:64,32 with the sizes of a network; networks
        /// score documents of queries that they did not see, and relevance and satisfaction are linear in features and score.
        relevance: Option<RelevanceForm> = None, usual("linear with features, else table"), value("FORM");
        /// Iterations at most.
        iterations: usize = 1000, at_least(1.0), value("N");
        /// Stop at this relative change of the log-likelihood.
        tolerance: f64 = 1e-8, between(0.0, 1.0), value("SHARE");
        /// Seed of the networks, where `relevance` is mlp.
        seed: u64 = 1;
    }
    beside {
        /// Whether SQUAREM shortens the iteration; without it, plain EM.
        accelerated: bool = true,
    }
}

/// Priors are fitted anew at most so often.
const ROUNDS: usize = 8;

/// Where the strength of documents' priors starts.
const FIRST_STRENGTH: f64 = 4.0;

/// Priors that move less than this stay.
const SETTLED: f64 = 0.02;

/// Steps between priors, but for the last round.
const ROUGHLY: usize = 60;

impl ClickModelOptions {
    /// Refuses values that it cannot have, and options that would have no effect.
    pub fn check(&self, has_data: bool) -> Result<()> {
        self.check_ranges()?;
        if self.model.is_empty() {
            return Err(Error::option("model", "is empty, but should name a click model"));
        }
        let mut known = self.model.clone();
        known.sort_unstable();
        known.dedup();
        if known.len() < self.model.len() {
            return Err(Error::option(
                "model",
                "names a click model twice; for several kinds of its users there is `clusters`",
            ));
        }
        let parts = self.model.len() * self.clusters;
        if self.per_user && parts > 1 {
            return Err(Error::option(
                "per_user",
                "gives each user parameters of their own, but `clusters` or several of `model` share them; choose one",
            ));
        }
        let alone = |kind: &&ClickModelKind| matches!(kind.family(), Family::Trust | Family::Additive);
        if let Some(kind) = self.model.iter().find(alone).filter(|_| parts > 1) {
            return Err(Error::option(
                "model",
                format!(
                    "has {kind} among several kinds of users, but its relevance has a scale of its own; fit it alone"
                ),
            ));
        }
        self.check_users()?;
        self.check_relevance(has_data)
    }

    fn check_relevance(&self, has_data: bool) -> Result<()> {
        match &self.relevance {
            Some(RelevanceForm::Table) if has_data => {
                let finding = "is table, which makes no use of features: leave out `data`, or use linear";
                Err(Error::option("relevance", finding))
            }
            Some(form @ (RelevanceForm::Linear | RelevanceForm::Mlp(_))) if !has_data => {
                Err(Error::option("relevance", format!("is {form}, but there are no features: name them with `data`")))
            }
            _ => Ok(()),
        }
    }

    /// Users differ only in models that have parameters of users.
    fn check_users(&self) -> Result<()> {
        let same = |kind: &&ClickModelKind| kind.parameter_count(1) == 0;
        let (asked, option) = if self.per_user { (true, "per_user") } else { (self.clusters > 1, "clusters") };
        match self.model.iter().find(same).filter(|_| asked) {
            None => Ok(()),
            Some(kind) => {
                let others = ClickModelKind::ALL.iter().filter(|kind| kind.parameter_count(1) > 0);
                let others: Vec<String> = others.map(ToString::to_string).collect();
                let finding = format!("tells users apart, but in {kind} all browse alike; take {}", listed(&others));
                Err(Error::option(option, finding))
            }
        }
    }

    /// Fits the model to counts with click transitions, and notes what their documents cannot compare. The transitions are held
    /// in memory.
    pub fn fit_counts(
        &self,
        counts: &dyn CountsView,
        data: Option<&Dataset>,
        progress: &dyn Progress,
    ) -> Result<ClickModel> {
        self.check(data.is_some())?;
        self.fit_clicks(&CountedClicks::of(counts)?, counts, data, progress)
    }

    /// The same with the clicks of these counts at hand, for those who need them again.
    pub fn fit_clicks(
        &self,
        clicks: &CountedClicks<'_>,
        counts: &dyn CountsView,
        data: Option<&Dataset>,
        progress: &dyn Progress,
    ) -> Result<ClickModel> {
        let mut model = self.fit(&clicks.log(), data, progress)?;
        // By context there is a note on what documents compare there.
        if self.model.iter().any(|kind| kind.family() != Family::Cascade) && model.contexts.is_empty() {
            let log = Joined::new(counts, data);
            model.notes.extend(log.comparable_positions(data.is_some())?.explain(counts.users()));
        }
        // With features, documents are not free to take what users' parameters leave.
        if let ([kind], None) = (&self.model[..], data)
            && kind.family() == Family::Cascade
            && model.contexts.is_empty()
        {
            model.notes.extend(FreeDirections::new(*kind, &clicks.log()).explain(*kind));
        }
        Ok(model)
    }

    /// Fits the model. Features are those of the log's documents, where there are any.
    pub fn fit(&self, log: &ClickLog<'_>, data: Option<&Dataset>, progress: &dyn Progress) -> Result<ClickModel> {
        self.check(data.is_some())?;
        log.check()?;
        let apart = self.apart(log)?;
        let observed = Observed::new(log.transitions, apart, &self.model);
        let features = self.features(log, &observed, data)?;
        let features = self.with_networks(&observed, apart, features, data, progress)?;
        let mut em = self.start(&observed, apart, features.as_ref());
        let fit = self.climb(&mut em, progress)?;
        Ok(self.finish(em, fit, apart, log))
    }

    /// What has parameters of its own: users or kinds of them where that is asked for, else contexts where the log has any.
    fn apart(&self, log: &ClickLog<'_>) -> Result<Apart> {
        let by_context = !log.contexts.is_empty() && !self.ignore_context;
        let option = match () {
            () if self.per_user => Some("per_user"),
            () if self.clusters > 1 => Some("clusters"),
            () if self.model.len() > 1 => Some("model"),
            () => None,
        };
        match option {
            _ if self.ignore_context && log.contexts.is_empty() => {
                Err(Error::option("ignore_context", "is for counts with contexts, but these have none; leave it out"))
            }
            Some(option) if by_context => Err(Error::option(
                option,
                "tells users apart, but these counts have contexts, each with parameters that all users share; leave it out, or \
                 take `ignore_context`",
            )),
            Some(_) => Ok(Apart::Users(log.users.len())),
            None if by_context && self.model[0].parameter_count(1) > 0 => Ok(Apart::Contexts(log.contexts.len())),
            None => Ok(Apart::Together),
        }
    }

    /// The features of documents that have any, where relevance is to come from them.
    fn features<'d>(
        &self,
        log: &ClickLog<'_>,
        observed: &Observed,
        data: Option<&'d Dataset>,
    ) -> Result<Option<Features<'d>>> {
        let Some(data) = data.filter(|_| self.relevance != Some(RelevanceForm::Table)) else { return Ok(None) };
        let rows = Join::new(data, log.queries, log.docs, &observed.docs).rows;
        let known: Vec<(u32, u32)> = (0..).zip(&rows).filter_map(|(doc, row)| Some((doc, (*row)?))).collect();
        if known.is_empty() {
            return Err(crate::data::nothing_matches(data, log.queries, "document of the log", "log's"));
        }
        let (docs, rows): (Vec<u32>, Vec<u32>) = known.into_iter().unzip();
        Ok(Some(Features { design: Design::new(data, rows.clone()), docs, rows }))
    }

    /// The same with the scores of networks as one more column, where they are asked for. They start from a fit that is linear.
    fn with_networks<'d>(
        &self,
        observed: &Observed,
        apart: Apart,
        features: Option<Features<'d>>,
        data: Option<&'d Dataset>,
        progress: &dyn Progress,
    ) -> Result<Option<Features<'d>>> {
        let (Some(RelevanceForm::Mlp(architecture)), Some(features), Some(data)) = (&self.relevance, &features, data)
        else {
            return Ok(features);
        };
        let mut em = self.start(observed, apart, Some(features));
        self.climb(&mut em, progress)?;
        let scores = networks::scores(&mut em, features, data, (architecture, self.seed), progress)?;
        let Features { docs, rows, .. } = features;
        let design = Design::new(data, rows.clone()).with_column(&scores);
        Ok(Some(Features { design, docs: docs.clone(), rows: rows.clone() }))
    }

    fn start<'a>(&self, observed: &'a Observed, apart: Apart, features: Option<&'a Features<'a>>) -> Em<'a> {
        let (believed, first) = match self.prior {
            // Many clicks tell of what all users share; what hardly any session shows should not end at 0 or 1. Not where models
            // are mixed: there it led a fit to give all users to one model (`recovery`), for a reason that is not known.
            ModelPrior::Fitted => {
                let believed = if self.model.len() == 1 { (1.0, 2.0) } else { (0.0, 0.0) };
                (believed, BetaPrior::new(observed.positions, 0.3, FIRST_STRENGTH))
            }
            ModelPrior::Laplace => ((1.0, 2.0), BetaPrior::new(observed.positions, 0.5, 2.0)),
            ModelPrior::None => ((0.0, 0.0), BetaPrior::new(observed.positions, 0.5, 0.0)),
        };
        let regression =
            || features.map(|of| Regression { model: Logistic::new(&of.design, 0.5), docs: of.docs.clone() });
        let documents = || {
            let documents = Documents::new(&observed.place_of_doc, first.clone(), regression(), 0.5);
            if self.is_summed() { documents.summed() } else { documents }
        };
        let rows = (self.per_user || matches!(apart, Apart::Contexts(_))).then_some(observed.users);
        let believed = if rows.is_some() && self.prior == ModelPrior::Fitted { (0.5, 1.0) } else { believed };
        let part = |kind: &ClickModelKind| {
            let part = Part::new(*kind, observed.positions, rows, believed);
            if self.is_summed() { part.summed() } else { part }
        };
        let parts: Vec<Part> =
            self.model.iter().flat_map(|kind| std::iter::repeat_n(part(kind), self.clusters)).collect();
        Em {
            observed,
            shares: vec![1.0 / parts.len() as f64; parts.len()],
            attraction: documents(),
            satisfaction: self
                .model
                .iter()
                .any(|kind| kind.has_satisfaction())
                .then(|| documents().with_evidence_of_complement()),
            parts,
        }
    }

    /// Whether γ and σ are summed over. In the additive model clicks are not linear in γ; in that of trust γ has no scale, so
    /// that nothing says how much documents differ. There the most probable value stands.
    fn is_summed(&self) -> bool {
        let alone = matches!(self.model[0].family(), Family::Trust | Family::Additive);
        self.prior == ModelPrior::Fitted && !alone
    }

    /// EM to its end; where priors are fitted, with their turns between.
    pub(super) fn climb(&self, em: &mut Em<'_>, progress: &dyn Progress) -> Result<Fit> {
        progress.begin("fitting a click model", self.iterations as u64);
        if self.clusters > 1 {
            self.run(em, ROUGHLY.min(self.iterations), progress)?;
            self.spread(em);
        }
        if self.prior == ModelPrior::Fitted {
            for _ in 0..ROUNDS {
                self.run(em, ROUGHLY.min(self.iterations), progress)?;
                if em.fit_priors() < SETTLED {
                    break;
                }
            }
        }
        self.run(em, self.iterations, progress)
    }

    fn run(&self, em: &mut Em<'_>, iterations: usize, progress: &dyn Progress) -> Result<Fit> {
        if self.accelerated {
            let squarem = Squarem { iterations, tolerance: self.tolerance, accelerated: true };
            let found = squarem.run(em.point(), em, progress)?;
            em.set_point(&found.x);
            return Ok(Fit { log_likelihood: found.log_likelihood, converged: found.converged });
        }
        let mut log_likelihood: Vec<f64> = Vec::new();
        let mut converged = false;
        while log_likelihood.len() < iterations && !converged {
            let value = em.advance();
            let gain = log_likelihood.last().map(|last| value - last);
            converged = gain.is_some_and(|gain| gain.abs() <= self.tolerance * value.abs());
            log_likelihood.push(value);
            progress.advance(1)?;
        }
        Ok(Fit { log_likelihood, converged })
    }

    /// Moves the clusters of each model apart, from those who look least to those who look most.
    fn spread(&self, em: &mut Em<'_>) {
        for of_kind in em.parts.chunks_exact_mut(self.clusters) {
            for (cluster, part) in of_kind.iter_mut().enumerate() {
                let step = 2.0 * (cluster as f64 / (self.clusters - 1) as f64) - 1.0;
                for value in &mut part.values {
                    *value = logistic(logit(value.clamp(0.02, 0.98)) + step);
                }
            }
        }
    }

    fn finish(&self, em: Em<'_>, fit: Fit, apart: Apart, log: &ClickLog<'_>) -> ClickModel {
        let totals = em.expect();
        let of_users = match (self.per_user, em.parts.len()) {
            (true, _) => OfUsers::Parameters(em.parts[0].values.clone()),
            (false, 1) => OfUsers::Alike,
            (false, _) => OfUsers::Shares(totals.of_users.clone()),
        };
        let (contexts, of_contexts) = match apart {
            Apart::Contexts(_) => (log.contexts.clone(), em.parts[0].values.clone()),
            _ => Default::default(),
        };
        let mut model = ClickModel {
            kinds: kinds(&em, &totals, log.users.len()),
            users: if of_users == OfUsers::Alike { Default::default() } else { log.users.clone() },
            of_users,
            contexts,
            of_contexts,
            queries: log.queries.clone(),
            docs: log.docs.clone(),
            documents: documents(&em),
            unseen_attraction: em.attraction.prior.means.clone(),
            unseen_satisfaction: em.satisfaction.as_ref().map_or_else(Vec::new, |them| them.prior.means.clone()),
            notes: self.notes(apart, log, fit.converged),
            fit: Fit {
                log_likelihood: fit.log_likelihood.iter().map(|value| value / em.observed.impressions).collect(),
                ..fit
            },
        };
        model.fix_scale();
        model
    }

    /// What no amount of clicks tells, and whether more iterations would.
    fn notes(&self, apart: Apart, log: &ClickLog<'_>, converged: bool) -> Vec<String> {
        let open = match self.model.len() > 1 {
            false => format!("{} leaves open: {}", self.model[0], self.model[0].about().open),
            true => {
                "models share one relevance, and position 1 counts as always examined, so that it means the same to all"
                    .to_string()
            }
        };
        let stopped = (!converged).then(|| {
            let finding = "the fit did not converge in";
            format!("{finding} {} iterations: give it more, or a wider tolerance", self.iterations)
        });
        let alike = !log.contexts.is_empty() && apart == Apart::Together && !self.ignore_context;
        let alike = alike.then(|| format!("in {} people browse alike in all contexts", self.model[0]));
        let linked = matches!(apart, Apart::Contexts(_)).then(|| linked_contexts(self.model[0], log)).flatten();
        std::iter::once(open).chain(alike).chain(linked).chain(stopped).collect()
    }
}

/// What γ and σ are regressed on.
pub(super) struct Features<'a> {
    design: Design<'a>,
    /// Numbers of the documents that have features.
    pub docs: Vec<u32>,
    /// Their rows in the data.
    pub rows: Vec<u32>,
}

/// Kinds of users, with how many are most likely of each.
fn kinds(em: &Em<'_>, totals: &Totals, users: usize) -> Vec<UserKind> {
    let parts = em.parts.len();
    let likeliest = |row: &[f64]| (0..parts).max_by(|&a, &b| row[a].total_cmp(&row[b]).then(b.cmp(&a)));
    let most: Vec<Option<usize>> = totals.of_users.chunks_exact(parts).map(likeliest).collect();
    let of_kind = |number: usize| match parts {
        1 => users,
        _ => most.iter().filter(|kind| **kind == Some(number)).count(),
    };
    let parts = em.parts.iter().zip(&em.shares).zip(&totals.browsing).enumerate();
    parts
        .map(|(number, ((part, &share), sums))| UserKind {
            browsing: Browsing { kind: part.kind, positions: em.observed.positions, values: population(part, sums) },
            share,
            users: of_kind(number),
        })
        .collect()
}

fn documents(em: &Em<'_>) -> Vec<DocumentParameters> {
    let docs = em.observed.docs.iter().enumerate();
    docs.map(|(number, &(query, doc))| DocumentParameters {
        query,
        doc,
        attraction: em.attraction.values[number],
        satisfaction: em.satisfaction.as_ref().map(|documents| documents.values[number]),
    })
    .collect()
}

/// The parameters of a user nobody knows: those of the kind, or what is believed of users, or else their mean by trials.
fn population(part: &Part, sums: &[Sum]) -> Vec<f64> {
    if !part.per_user {
        return part.values.clone();
    }
    let width = part.width();
    let of_parameter = |place: usize| match part.believed[place] {
        (won, of) if of > 0.0 => won / of,
        _ => {
            let rows = || sums.iter().skip(place).step_by(width);
            let (won, of): (f64, f64) = (rows().map(|sum| sum.won).sum(), rows().map(|sum| sum.of).sum());
            if of > 0.0 { won / of } else { part.values[place] }
        }
    };
    (0..width).map(of_parameter).collect()
}
