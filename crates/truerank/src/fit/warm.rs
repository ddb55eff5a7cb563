//! An earlier fit to start from: its folder enters, what it chose leaves.

use std::path::Path;

use serde::Deserialize;

use super::FitOutcome;
use super::folder::{FIT, OUTCOME, PROPENSITIES};
use crate::files::{Limit, read_json};
use crate::propensity::{ClusterCount, EmUsers, Propensities, RegressionEm, UserGroups};
use crate::ranker::ModelForm;
use crate::{Error, Result};

/// What the fit of an earlier log chose, so that it is not chosen again: the kind of ranker and its number of steps, and the number of
/// kinds of users.
///
/// Parameters are not taken. EM finds its own in a few steps from any start. The ranker's would mislead: its number of steps is where
/// training *from the beginning* does best on queries that it did not see; as many steps more would overfit.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmStart {
    ranker: Option<TrainedForm>,
    /// Kinds of users; none where all were taken to be alike.
    kinds: Option<usize>,
}

/// A kind of ranker, and how long it is trained.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrainedForm {
    pub form: ModelForm,
    /// None where nothing could choose the number.
    pub steps: Option<usize>,
}

/// What is read of `fit.json`.
#[derive(Deserialize)]
struct Kept {
    training: Option<KeptTraining>,
}

#[derive(Deserialize)]
struct KeptTraining {
    model: String,
    tried: Vec<KeptForm>,
}

#[derive(Deserialize)]
struct KeptForm {
    model: String,
    steps: usize,
}

impl WarmStart {
    /// Reads the folder of a fit.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(OUTCOME);
        let kept: Kept = read_json(&path, Limit::Data, &FIT)?;
        let ranker = kept.training.map(KeptTraining::form).transpose();
        let ranker = ranker.map_err(|error| Error::input(&path, format!("the kind of ranker {error}")))?;
        Ok(WarmStart::new(ranker, &Propensities::read(&folder.join(PROPENSITIES))?))
    }

    /// From a fit of this process.
    pub fn of(outcome: &FitOutcome) -> Self {
        let ranker = outcome.training.as_ref().map(|training| {
            let chosen = training.tried.iter().find(|tried| tried.form == training.form);
            TrainedForm::new(training.form.clone(), chosen.map(|tried| tried.steps))
        });
        WarmStart::new(ranker, &outcome.propensities)
    }

    fn new(ranker: Option<TrainedForm>, propensities: &Propensities) -> Self {
        let is_alike =
            propensities.by_user.chunks(propensities.positions().max(1)).all(|row| row == propensities.population);
        let clusters = propensities.details.clusters.as_ref();
        let kinds = clusters.filter(|_| !is_alike).map(|clusters| clusters.len(propensities.positions()));
        WarmStart { ranker, kinds }
    }

    /// The ranker that was chosen, where there was one.
    pub(super) fn ranker(&self) -> Option<&TrainedForm> {
        self.ranker.as_ref()
    }

    /// How examination is estimated, in a log with so many users.
    pub(super) fn examination(&self, em: RegressionEm, users: usize) -> RegressionEm {
        let groups = |kinds: usize| UserGroups::new().clusters(ClusterCount::Given(kinds.min(users)));
        let of_users = match self.kinds {
            Some(kinds) if users > 1 => EmUsers::Grouped(groups(kinds)),
            _ => EmUsers::Together,
        };
        em.users(of_users)
    }
}

impl TrainedForm {
    fn new(form: ModelForm, steps: Option<usize>) -> Self {
        TrainedForm { form, steps: steps.filter(|&steps| steps > 0) }
    }
}

impl KeptTraining {
    fn form(self) -> Result<TrainedForm> {
        let chosen = self.tried.iter().find(|tried| tried.model == self.model);
        Ok(TrainedForm::new(self.model.parse()?, chosen.map(|tried| tried.steps)))
    }
}
