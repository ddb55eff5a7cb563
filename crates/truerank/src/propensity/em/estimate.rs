//! From counts to propensities: checks, the fit, users, scale and uncertainty.

use super::expectation::Weighted;
use super::fit::{Basis, Fitted};
use super::second_opinion::SecondOpinion;
use super::squarem::Squarem;
use super::{EmUsers, RegressionEm, RelevanceForm, RelevancePrior};
use crate::counts::CountsView;
use crate::data::Dataset;
use crate::progress::{Progress, Silent};
use crate::propensity::bootstrap::{check_resamples, standard_errors};
use crate::propensity::log_users::LogUsers;
use crate::propensity::observations::{Observed, observe};
use crate::propensity::users::HeldOut;
use crate::propensity::{
    CellsElsewhere, Details, Evidence, Fit, Joined, Propensities, SCALE, UserClusters, average, largest, rescale,
};
use crate::{Error, Result};

/// What Regression-EM found.
#[derive(Debug, Clone, PartialEq)]
pub struct EmEstimate {
    /// θ, with what stands behind it.
    pub propensities: Propensities,
    /// γ of each document, sorted by (query, document); numbers are those of the counts, and the scale is such that
    /// `θγ` is the probability of a click.
    pub relevance: Vec<(u32, u32, f64)>,
    /// How well each number of clusters predicted, where the number was chosen.
    pub held_out: Vec<HeldOut>,
}

/// Resamples start where the fit ended, so few steps and a wider tolerance do.
const RESAMPLE: Squarem = Squarem { iterations: 100, tolerance: 1e-7, accelerated: true };

impl RegressionEm {
    /// Estimates θ from `counts`; a regression of γ needs the features in `data`.
    pub fn estimate(
        &self,
        counts: &dyn CountsView,
        data: Option<&Dataset>,
        progress: &dyn Progress,
    ) -> Result<EmEstimate> {
        self.estimate_of(&Joined::new(counts, data), progress)
    }

    /// The same of a log that may have been joined with its features before.
    pub fn estimate_of(&self, log: &Joined<'_>, progress: &dyn Progress) -> Result<EmEstimate> {
        self.estimate_by(log, LogUsers::Here(log.counts), progress)
    }

    /// The same of users whose cells are elsewhere; `log` is what all of them did together. Where θ of each is free
    /// ([`EmUsers::Each`]), all cells have to be here.
    pub(crate) fn estimate_elsewhere(
        &self,
        log: &Joined<'_>,
        cells: &dyn CellsElsewhere,
        progress: &dyn Progress,
    ) -> Result<EmEstimate> {
        self.estimate_by(log, LogUsers::Elsewhere(cells), progress)
    }

    fn estimate_by(&self, log: &Joined<'_>, log_users: LogUsers<'_>, progress: &dyn Progress) -> Result<EmEstimate> {
        let counts = log.counts;
        self.check()?;
        let (users, relevance) = (self.users_among(log_users.ids().len())?, self.relevance_with(log.data));
        if counts.totals().clicks == 0 {
            return Err(Error::parameter("the log has no clicks, so nothing can be said about examination"));
        }
        let data = data_for(&relevance, log.data)?;
        let group_of_user: Vec<u32> = match users {
            EmUsers::Each => (0..counts.users().len() as u32).collect(),
            _ => vec![0; counts.users().len()],
        };
        // First, as documents that are not in the data set compare nothing either.
        let mut fitting = Fitting::new(self, (users, log_users, relevance), log, data, &group_of_user, progress)?;
        let mut notes = fitting.identify(log)?;
        notes.extend(fitting.unmatched.take());
        let found = match &fitting.whose {
            EmUsers::Together | EmUsers::Each => fitting.each()?,
            EmUsers::Shrunk => fitting.kinds(None)?,
            EmUsers::Grouped(groups) => fitting.kinds(Some(groups))?,
        };
        if !found.fit.converged {
            notes.push(format!(
                "the fit did not converge in {} iterations: give it more, or a wider tolerance",
                self.iterations
            ));
        }
        fitting.finish(found, notes)
    }
}

impl RegressionEm {
    /// Refuses features that would have no effect, and no features where relevance is learned from them.
    pub(crate) fn check_data(&self, has_data: bool) -> Result<()> {
        match &self.relevance {
            Some(RelevanceForm::Table) if has_data => Err(Error::option(
                "relevance",
                "is table, which makes no use of features: leave out `data`, or use linear",
            )),
            Some(form @ (RelevanceForm::Linear | RelevanceForm::Mlp(_))) if !has_data => Err(no_features(form)),
            _ => Ok(()),
        }
    }
}

fn no_features(form: &RelevanceForm) -> Error {
    Error::option(
        "relevance",
        format!(
            "is {form}, which learns from features: name them with `data`, or use a table of relevance, which needs \
             documents that were shown at several positions"
        ),
    )
}

/// The data, where the form of γ uses it.
fn data_for<'a>(relevance: &RelevanceForm, data: Option<&'a Dataset>) -> Result<Option<&'a Dataset>> {
    match (relevance, data) {
        (RelevanceForm::Table, _) => Ok(None),
        (_, Some(data)) => Ok(Some(data)),
        (form, None) => Err(no_features(form)),
    }
}

/// One estimation at work.
pub(super) struct Fitting<'a> {
    pub em: &'a RegressionEm,
    whose: EmUsers,
    relevance: RelevanceForm,
    /// What all users did together is asked of these.
    pub counts: &'a dyn CountsView,
    /// And what each of them did of these.
    pub users: LogUsers<'a>,
    data: Option<&'a Dataset>,
    /// Every user by themselves where θ of each is free, else all together.
    pub observations: Box<dyn Observed>,
    /// Which shown documents are in the data set, if not all.
    pub keep: Option<Vec<bool>>,
    /// The row of each document that is kept, where there are features.
    pub rows: Vec<u32>,
    unmatched: Option<String>,
    pub progress: &'a dyn Progress,
    /// n(u) of each user, or of all users taken together.
    pub sessions: Vec<f64>,
}

/// θ on the scale of the fit, before the convention is applied.
pub(super) struct Estimated {
    pub fit: Fitted,
    /// A row per user; one row where users were taken together.
    pub by_user: Vec<f64>,
    /// Standard errors on the convention's scale, or where users are drawn toward kinds on that of the fit.
    pub by_user_errors: Vec<f64>,
    pub population: Vec<f64>,
    /// Standard errors on the convention's scale.
    pub population_errors: Vec<f64>,
    pub clusters: Option<UserClusters>,
    pub held_out: Vec<HeldOut>,
}

impl<'a> Fitting<'a> {
    fn new(
        em: &'a RegressionEm,
        (whose, users, relevance): (EmUsers, LogUsers<'a>, RelevanceForm),
        log: &Joined<'a>,
        data: Option<&'a Dataset>,
        group_of_user: &[u32],
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        let counts = log.counts;
        let matched = data.map(|_| Matched::new(log)).transpose()?.unwrap_or_default();
        Ok(Fitting {
            em,
            counts,
            data,
            observations: observe(counts, group_of_user, matched.keep.as_deref())?,
            unmatched: matched.note(),
            keep: matched.keep,
            rows: matched.rows,
            progress,
            sessions: match whose {
                EmUsers::Together => vec![counts.totals().sessions as f64],
                _ => users.sessions(),
            },
            users,
            whose,
            relevance,
        })
    }

    /// Says what cannot be compared; an error if nothing can, or not everything and that was asked for.
    fn identify(&self, log: &Joined<'_>) -> Result<Vec<String>> {
        let by_features = self.data.is_some();
        let graph = match self.whose {
            EmUsers::Together => log.comparable_positions(by_features)?.clone(),
            _ => self.users.comparable(log, by_features)?,
        };
        let mut notes = graph.explain(self.users.ids());
        if graph.nothing_connects_positions() || (self.em.strict && !graph.is_connected()) {
            return Err(Error::parameter(format!(
                "examination is not identifiable from this log: {}",
                notes.join("; ")
            )));
        }
        notes.extend(self.data.and_then(Dataset::fill_note));
        // Where users are shrunk, θ without clicks is what others say.
        if matches!(self.whose, EmUsers::Together | EmUsers::Each) {
            notes.extend(graph.explain_silent());
        }
        Ok(notes)
    }

    /// Groups of the observations as they are: every user, or all together.
    fn each(&self) -> Result<Estimated> {
        let observations = self.observations.as_ref();
        let (basis, fit) = self.fit(observations)?;
        let personal = self.whose == EmUsers::Each;
        let (population_errors, by_user_errors) =
            self.resample(observations, &basis, &fit, &self.sessions, personal)?;
        Ok(Estimated {
            population: self.average(&fit.examination),
            by_user: fit.examination.clone(),
            by_user_errors,
            population_errors,
            clusters: None,
            held_out: Vec::new(),
            fit,
        })
    }

    pub(super) fn basis(&self, weighted: &Weighted<'_>) -> Result<Basis<'a>> {
        self.basis_of(weighted, &self.rows)
    }

    /// What γ is regressed on where documents are those of `rows` of the data.
    fn basis_of(&self, weighted: &Weighted<'_>, rows: &[u32]) -> Result<Basis<'a>> {
        let features = self.data.map(|data| (data, rows));
        let em = self.em;
        Basis::new((&self.relevance, em.prior), features, weighted, em.squarem(), em.seed, self.progress)
    }

    pub(super) fn fit(&self, observations: &dyn Observed) -> Result<(Basis<'a>, Fitted)> {
        self.fit_rows(observations, &self.rows)
    }

    /// The same where documents are those of `rows` of the data.
    pub(super) fn fit_rows(&self, observations: &dyn Observed, rows: &[u32]) -> Result<(Basis<'a>, Fitted)> {
        let weighted = Weighted::new(observations)?;
        let basis = self.basis_of(&weighted, rows)?;
        self.progress.begin("estimating examination", self.em.iterations as u64);
        let fit = basis.fit(&weighted, None, self.em.squarem(), self.progress)?;
        Ok((basis, fit))
    }

    /// Standard errors of θ̄ and, where asked for, of the θ of each group, on the convention's scale, by resampling
    /// queries. `sessions` has one number for each group.
    pub(super) fn resample(
        &self,
        observations: &dyn Observed,
        basis: &Basis<'_>,
        fit: &Fitted,
        sessions: &[f64],
        of_groups: bool,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let positions = observations.positions();
        let values_of = |examination: &[f64]| {
            let mut values = average(examination, positions, sessions);
            values.extend(examination.iter().filter(|_| of_groups));
            values
        };
        let point = values_of(&fit.examination);
        let reference = largest(&point[..positions]);
        check_resamples(self.em.resamples, point.len())?;
        self.progress.begin("resampling queries", self.em.resamples as u64);
        let mut errors = standard_errors(self.counts.queries().len(), self.em.resamples, self.em.seed, |weights| {
            let weighted = Weighted::by_query(observations, weights)?;
            let mut values = values_of(&basis.fit(&weighted, Some(fit), RESAMPLE, &Silent)?.examination);
            rescale(&mut values, reference);
            self.progress.advance(1)?;
            Ok(values)
        })?;
        // A value at its border does not move, however uncertain it is.
        let at_border = |theta: &f64| self.em.prior == RelevancePrior::None && !(1e-6..=1.0 - 1e-3).contains(theta);
        errors.iter_mut().zip(&point).filter(|(_, theta)| at_border(theta)).for_each(|(error, _)| *error = 0.0);
        let of_groups = errors.split_off(positions.min(errors.len()));
        Ok((errors, of_groups))
    }

    pub(super) fn average(&self, by_user: &[f64]) -> Vec<f64> {
        average(by_user, self.observations.positions(), &self.sessions)
    }

    fn finish(self, mut found: Estimated, mut notes: Vec<String>) -> Result<EmEstimate> {
        let reference = largest(&found.population);
        let scale = found.population[reference];
        rescale(&mut found.population, reference);
        let divide = |values: &mut [f64]| values.iter_mut().for_each(|value| *value /= scale);
        divide(&mut found.by_user);
        found.clusters.iter_mut().for_each(|clusters| divide(&mut clusters.examination));
        if matches!(self.whose, EmUsers::Shrunk | EmUsers::Grouped(_)) {
            divide(&mut found.by_user_errors);
        }
        let opinion = SecondOpinion::of(self.counts, self.em.resamples, self.em.seed)?;
        notes.extend(opinion.as_ref().and_then(|it| it.contradiction(&found.population, &found.population_errors)));
        let personalized = self.whose != EmUsers::Together;
        let users = if personalized { self.users.ids().clone() } else { Default::default() };
        let docs = self.observations.docs().iter().zip(&found.fit.relevance);
        let details = Details {
            population: Evidence { standard_errors: found.population_errors, ..Evidence::of_positions(self.counts)? },
            by_user: match (personalized, self.em.evidence_of_users) {
                (true, true) => Evidence { standard_errors: found.by_user_errors, ..self.users.evidence()? },
                _ => Evidence::default(),
            },
            fit: Some(Fit {
                log_likelihood: found.fit.log_likelihood.iter().map(|value| value / found.fit.impressions).collect(),
                converged: found.fit.converged,
            }),
            clusters: found.clusters,
            harvested: opinion.map(|opinion| opinion.population),
            notes,
        };
        Ok(EmEstimate {
            relevance: docs.map(|(&(query, doc), gamma)| (query, doc, gamma * scale)).collect(),
            propensities: Propensities {
                method: self.method(),
                scale: SCALE.to_string(),
                population: found.population,
                users,
                by_user: if personalized { found.by_user } else { Vec::new() },
                details,
            },
            held_out: found.held_out,
        })
    }
}

impl Fitting<'_> {
    /// What stands in the file.
    fn method(&self) -> String {
        let users = match self.whose {
            EmUsers::Together => "em",
            EmUsers::Each => "personalized em",
            EmUsers::Shrunk => "personalized em, shrunk toward the population",
            EmUsers::Grouped(_) => "personalized em, shrunk toward clusters",
        };
        let prior = match self.em.prior {
            RelevancePrior::Fitted => "",
            RelevancePrior::None => ", without a prior",
        };
        format!("{users}, relevance by {}{prior}", self.relevance)
    }
}

/// Which shown documents are in a data set.
#[derive(Default)]
pub(in crate::propensity) struct Matched {
    /// For each shown document whether it is; none if all are.
    pub keep: Option<Vec<bool>>,
    /// The rows of those that are.
    pub rows: Vec<u32>,
}

impl Matched {
    /// It is an error if none is.
    pub fn new(log: &Joined<'_>) -> Result<Self> {
        let found = log.require_rows()?;
        let rows: Vec<u32> = found.iter().copied().flatten().collect();
        let keep = (rows.len() < found.len()).then(|| found.iter().map(Option::is_some).collect());
        Ok(Matched { keep, rows })
    }

    /// What to say about those that are not.
    pub fn note(&self) -> Option<String> {
        let keep = self.keep.as_ref()?;
        let missing = keep.len() - self.rows.len();
        Some(format!("{missing} of {} shown documents have no features and were left out", keep.len()))
    }
}
