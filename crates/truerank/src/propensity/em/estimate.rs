//! From counts to propensities: checks, the fit, users, scale and uncertainty.

use super::expectation::Weighted;
use super::fit::{Basis, Fitted};
use super::squarem::Squarem;
use super::{EmUsers, RegressionEm, RelevanceForm};
use crate::counts::CountsView;
use crate::data::{Dataset, RowFinder, nothing_matches};
use crate::progress::{Progress, Silent};
use crate::propensity::bootstrap::{check_resamples, standard_errors};
use crate::propensity::observations::{Observed, observe};
use crate::propensity::users::{self, HeldOut, Prior, Shrunk};
use crate::propensity::{
    Details, Evidence, Fit, Groups, Identifiability, Links, Propensities, SCALE, UserClusters, UserGroups, average,
    largest, rescale,
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
    /// The priors that users were shrunk toward, a row of positions per cluster; empty where none were.
    pub priors: Vec<Prior>,
    /// How well each number of clusters predicted, where the number was chosen.
    pub held_out: Vec<HeldOut>,
}

/// Resamples start where the fit ended, so few steps and a wider tolerance do.
const RESAMPLE: Squarem = Squarem { iterations: 100, tolerance: 1e-8, accelerated: true };

impl RegressionEm {
    /// Estimates θ from `counts`; a regression of γ needs the features in `data`.
    pub fn estimate(
        &self,
        counts: &dyn CountsView,
        data: Option<&Dataset>,
        progress: &dyn Progress,
    ) -> Result<EmEstimate> {
        self.check()?;
        if counts.totals().clicks == 0 {
            return Err(Error::parameter("the log has no clicks, so nothing can be said about examination"));
        }
        let data = self.data(data)?;
        let group_of_user: Vec<u32> = match self.users {
            EmUsers::Together => vec![0; counts.users().len()],
            _ => (0..counts.users().len() as u32).collect(),
        };
        // First, as documents that are not in the data set compare nothing either.
        let mut fitting = Fitting::new(self, counts, data, &group_of_user, progress)?;
        let mut notes = self.identify(counts, data)?;
        notes.extend(fitting.unmatched.take());
        let found = match &self.users {
            EmUsers::Together | EmUsers::Each => fitting.each()?,
            EmUsers::Shrunk => fitting.shrunk()?,
            EmUsers::Grouped(groups) => fitting.grouped(groups)?,
        };
        if !found.fit.converged {
            notes.push(format!(
                "the fit did not converge in {} iterations: give it more, or a wider tolerance",
                self.iterations
            ));
        }
        fitting.finish(found, notes)
    }

    /// The data, where the form of γ uses it.
    fn data<'a>(&self, data: Option<&'a Dataset>) -> Result<Option<&'a Dataset>> {
        match (&self.relevance, data) {
            (RelevanceForm::Table, _) => Ok(None),
            (_, Some(data)) => Ok(Some(data)),
            (form, None) => Err(Error::parameter(format!(
                "relevance by {form} needs the features of the documents, but there is no data set; give one, or use a \
                 table of relevance, which needs documents that were shown at several positions"
            ))),
        }
    }

    /// Says what cannot be compared; an error if nothing can, or not everything and that was asked for.
    fn identify(&self, counts: &dyn CountsView, data: Option<&Dataset>) -> Result<Vec<String>> {
        let groups = match self.users {
            EmUsers::Together => Groups::Population,
            _ => Groups::Users,
        };
        let links = data.map_or(Links::Documents, |data| Links::Features { data, regression: true });
        let graph = Identifiability::of_counts(counts, groups, links)?;
        let mut notes = graph.explain(counts);
        if graph.nothing_connects_positions() || (self.strict && !graph.is_connected()) {
            return Err(Error::parameter(format!(
                "examination is not identifiable from this log: {}",
                notes.join("; ")
            )));
        }
        // Where users are shrunk, θ without clicks is what others say.
        if matches!(self.users, EmUsers::Together | EmUsers::Each) {
            notes.extend(graph.explain_silent());
        }
        Ok(notes)
    }
}

/// One estimation at work.
struct Fitting<'a> {
    em: &'a RegressionEm,
    counts: &'a dyn CountsView,
    data: Option<&'a Dataset>,
    observations: Box<dyn Observed>,
    /// Which shown documents are in the data set, if not all.
    keep: Option<Vec<bool>>,
    rows: Vec<u32>,
    unmatched: Option<String>,
    progress: &'a dyn Progress,
    /// n(u) of each user, or of all users taken together.
    sessions: Vec<f64>,
}

/// θ on the scale of the fit, before the convention is applied.
struct Estimated {
    fit: Fitted,
    /// A row per user; one row where users were taken together.
    by_user: Vec<f64>,
    by_user_errors: Vec<f64>,
    population: Vec<f64>,
    /// Standard errors on the convention's scale.
    population_errors: Vec<f64>,
    clusters: Option<UserClusters>,
    priors: Vec<Prior>,
    held_out: Vec<HeldOut>,
}

impl<'a> Fitting<'a> {
    fn new(
        em: &'a RegressionEm,
        counts: &'a dyn CountsView,
        data: Option<&'a Dataset>,
        group_of_user: &[u32],
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        let matched = data.map(|data| Matched::new(counts, data)).transpose()?.unwrap_or_default();
        Ok(Fitting {
            em,
            counts,
            data,
            observations: observe(counts, group_of_user, matched.keep.as_deref())?,
            unmatched: matched.note(),
            keep: matched.keep,
            rows: matched.rows,
            progress,
            sessions: match em.users {
                EmUsers::Together => vec![counts.totals().sessions as f64],
                _ => counts.sessions_per_user().into_iter().map(|sessions| sessions as f64).collect(),
            },
        })
    }

    /// Groups of the observations as they are: every user, or all together.
    fn each(&self) -> Result<Estimated> {
        let observations = self.observations.as_ref();
        let (basis, fit) = self.fit(observations)?;
        let groups: Vec<u32> = (0..observations.groups() as u32).collect();
        self.of_fit(observations, &basis, fit, &groups)
    }

    fn shrunk(&self) -> Result<Estimated> {
        let estimated = self.each()?;
        let shrunk = users::shrink_users(self.observations.as_ref(), &estimated.fit.relevance, None)?;
        Ok(self.with_shrunk(estimated, shrunk))
    }

    /// Groups by the γ of every user alone, then γ anew with the groups' θ, in which far fewer numbers are noise, and
    /// groups anew by that.
    fn grouped(&self, groups: &UserGroups) -> Result<Estimated> {
        let groups = groups.clone().seed(self.em.seed);
        let observations = self.observations.as_ref();
        let (_, alone) = self.fit(observations)?;
        self.progress.begin("grouping users", 1);
        let first = groups.fit(observations, &alone.relevance, self.progress)?;
        let merged = observe(self.counts, &first.clusters.of_user, self.keep.as_deref())?;
        let (basis, fit) = self.fit(merged.as_ref())?;
        self.progress.begin("grouping users", 1);
        let last = groups.clusters(users::ClusterCount::Given(first.clusters.len(merged.positions()))).fit(
            observations,
            &fit.relevance,
            self.progress,
        )?;
        let estimated = self.of_fit(merged.as_ref(), &basis, fit, &first.clusters.of_user)?;
        let grouped = self.with_shrunk(estimated, last.shrunk);
        Ok(Estimated { clusters: Some(last.clusters), held_out: first.held_out, ..grouped })
    }

    fn with_shrunk(&self, estimated: Estimated, shrunk: Shrunk) -> Estimated {
        Estimated {
            population: self.average(&shrunk.examination),
            by_user: shrunk.examination,
            by_user_errors: shrunk.standard_errors,
            priors: shrunk.priors,
            ..estimated
        }
    }

    fn fit(&self, observations: &dyn Observed) -> Result<(Basis<'a>, Fitted)> {
        let weighted = Weighted::new(observations)?;
        let features = self.data.map(|data| (data, self.rows.as_slice()));
        let em = self.em;
        let basis = Basis::new(&em.relevance, features, &weighted, em.squarem(), em.seed, self.progress)?;
        self.progress.begin("estimating examination", em.iterations as u64);
        let fit = basis.fit(&weighted, None, em.squarem(), self.progress)?;
        Ok((basis, fit))
    }

    /// A fit as it is, with each user's θ that of the user's group, and standard errors by resampling queries.
    fn of_fit(
        &self,
        observations: &dyn Observed,
        basis: &Basis<'_>,
        fit: Fitted,
        group_of_user: &[u32],
    ) -> Result<Estimated> {
        let positions = observations.positions();
        let of_users = |examination: &[f64]| -> Vec<f64> {
            let row = |group: &u32| &examination[*group as usize * positions..][..positions];
            group_of_user.iter().flat_map(row).copied().collect()
        };
        let by_user = of_users(&fit.examination);
        let population = self.average(&by_user);
        let reference = largest(&population);
        // Errors of shrunk users are posterior deviations.
        let with_users = self.em.users == EmUsers::Each;
        check_resamples(self.em.resamples, positions + if with_users { by_user.len() } else { 0 })?;
        self.progress.begin("resampling queries", self.em.resamples as u64);
        let mut errors = standard_errors(self.counts.queries().len(), self.em.resamples, self.em.seed, |weights| {
            let weighted = Weighted::by_query(observations, weights)?;
            let by_user = of_users(&basis.fit(&weighted, Some(&fit), RESAMPLE, &Silent)?.examination);
            let mut values = self.average(&by_user);
            values.extend(by_user.iter().filter(|_| with_users));
            rescale(&mut values, reference);
            self.progress.advance(1)?;
            Ok(values)
        })?;
        Ok(Estimated {
            population,
            by_user,
            by_user_errors: errors.split_off(positions.min(errors.len())),
            population_errors: errors,
            clusters: None,
            priors: Vec::new(),
            held_out: Vec::new(),
            fit,
        })
    }

    fn average(&self, by_user: &[f64]) -> Vec<f64> {
        average(by_user, self.observations.positions(), &self.sessions)
    }

    fn finish(self, mut found: Estimated, notes: Vec<String>) -> Result<EmEstimate> {
        let reference = largest(&found.population);
        let scale = found.population[reference];
        rescale(&mut found.population, reference);
        let divide = |values: &mut [f64]| values.iter_mut().for_each(|value| *value /= scale);
        divide(&mut found.by_user);
        found.clusters.iter_mut().for_each(|clusters| divide(&mut clusters.examination));
        if matches!(self.em.users, EmUsers::Shrunk | EmUsers::Grouped(_)) {
            divide(&mut found.by_user_errors);
        }
        let personalized = self.em.users != EmUsers::Together;
        let users = if personalized { self.counts.users().clone() } else { Default::default() };
        let docs = self.observations.docs().iter().zip(&found.fit.relevance);
        let details = Details {
            population: Evidence { standard_errors: found.population_errors, ..Evidence::of_positions(self.counts)? },
            by_user: match personalized {
                true => Evidence { standard_errors: found.by_user_errors, ..Evidence::of_users(self.counts)? },
                false => Evidence::default(),
            },
            fit: Some(Fit {
                log_likelihood: found.fit.log_likelihood.iter().map(|value| value / found.fit.impressions).collect(),
                converged: found.fit.converged,
            }),
            clusters: found.clusters,
            notes,
        };
        Ok(EmEstimate {
            relevance: docs.map(|(&(query, doc), gamma)| (query, doc, gamma * scale)).collect(),
            propensities: Propensities {
                method: self.em.method(),
                scale: SCALE.to_string(),
                population: found.population,
                users,
                by_user: if personalized { found.by_user } else { Vec::new() },
                details,
            },
            priors: found.priors,
            held_out: found.held_out,
        })
    }
}

impl RegressionEm {
    fn method(&self) -> String {
        let users = match self.users {
            EmUsers::Together => "em",
            EmUsers::Each => "personalized em",
            EmUsers::Shrunk => "personalized em, shrunk toward the population",
            EmUsers::Grouped(_) => "personalized em, shrunk toward clusters",
        };
        format!("{users}, relevance by {}", self.relevance)
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
    pub fn new(counts: &dyn CountsView, data: &Dataset) -> Result<Self> {
        let docs = counts.shown_docs()?;
        let found = RowFinder::new(data, counts.queries(), counts.docs()).find_pairs(&docs);
        let rows: Vec<u32> = found.iter().copied().flatten().collect();
        if rows.is_empty() {
            return Err(nothing_matches(data, counts.queries(), "document of the log", "log's"));
        }
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
