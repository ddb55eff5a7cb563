//! A log with all that is known about it, carried from one stage to the next.

use std::sync::{Arc, OnceLock};

use super::{Exposures, PredictedRelevance, RelevancePredictor};
use crate::Result;
use crate::click_model::ClickModel;
use crate::counts::CountsView;
use crate::data::Dataset;
use crate::progress::Progress;
use crate::propensity::{Joined, Propensities, RegressionEm, Theta, made_once};

/// Counts, features, their join, what can be compared, θ, exposures and predicted relevance, each made when it is first asked for.
///
/// ```
/// use truerank::data::{Generator, Preset};
/// use truerank::progress::Silent;
/// use truerank::propensity::RegressionEm;
/// use truerank::relevance::{EstimationChoice, KnownLog, RelevancePredictor};
/// use truerank::simulate::{ShownLists, Simulation};
///
/// let data = Generator::preset(Preset::Tiny).generate()?.train;
/// let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 10)?];
/// let counts = Simulation::new().sessions(2000).prepare(&data, &lists)?.counts()?;
/// let log = KnownLog::estimated(&counts, Some(&data), RegressionEm::new().resamples(0));
/// let estimation = EstimationChoice::default().estimation(&log, &RelevancePredictor::new(), &Silent)?;
/// // Examination was estimated for the prior, and is known now.
/// let relevance = estimation.weigh(log.exposures(&Silent)?)?.relevance()?;
/// assert_eq!(relevance.weights.len(), counts.shown_count());
/// # Ok::<(), truerank::Error>(())
/// ```
pub struct KnownLog<'a> {
    /// Counts and features.
    pub log: Joined<'a>,
    em: Option<RegressionEm>,
    theta: OnceLock<Theta<'a>>,
    exposures: OnceLock<Exposures<'a>>,
    predicted: OnceLock<(RelevancePredictor, PredictedRelevance)>,
}

impl<'a> KnownLog<'a> {
    /// A log whose examination is known already.
    pub fn examined(counts: &'a dyn CountsView, data: Option<&'a Dataset>, propensities: impl Into<Theta<'a>>) -> Self {
        KnownLog { theta: OnceLock::from(propensities.into()), ..KnownLog::new(counts, data, None) }
    }

    /// A log whose exposures are those of a click model, given the clicks above; its counts need their click transitions.
    pub fn modelled(counts: &'a dyn CountsView, data: Option<&'a Dataset>, model: &ClickModel) -> Result<Self> {
        let exposures = OnceLock::from(Exposures::modelled(counts, model)?);
        Ok(KnownLog { exposures, ..KnownLog::new(counts, data, None) })
    }

    /// A log whose exposures were summed elsewhere; `shown` has the same documents.
    pub(crate) fn summed(shown: &'a dyn CountsView, data: Option<&'a Dataset>, exposures: Exposures<'a>) -> Self {
        KnownLog { exposures: OnceLock::from(exposures), ..KnownLog::new(shown, data, None) }
    }

    /// A log whose examination is estimated when someone asks for it.
    pub fn estimated(counts: &'a dyn CountsView, data: Option<&'a Dataset>, em: RegressionEm) -> Self {
        KnownLog::new(counts, data, Some(em))
    }

    fn new(counts: &'a dyn CountsView, data: Option<&'a Dataset>, em: Option<RegressionEm>) -> Self {
        let (theta, exposures, predicted) = Default::default();
        KnownLog { log: Joined::new(counts, data), em, theta, exposures, predicted }
    }

    /// The log.
    pub fn counts(&self) -> &'a dyn CountsView {
        self.log.counts
    }

    /// The features of its documents, where there are any.
    pub fn data(&self) -> Option<&'a Dataset> {
        self.log.data
    }

    /// Who looks where.
    pub fn theta(&self, progress: &dyn Progress) -> Result<&Theta<'a>> {
        made_once(&self.theta, || {
            let em = self.em.clone().unwrap_or_default();
            Ok(Theta::Shared(Arc::new(em.estimate_of(&self.log, progress)?.propensities)))
        })
    }

    /// Which probabilities there are, where they were asked for.
    pub fn into_propensities(self) -> Option<Propensities> {
        drop(self.exposures);
        self.theta.into_inner().map(Theta::into_owned)
    }

    /// How often each shown document was examined, in expectation.
    pub fn exposures(&self, progress: &dyn Progress) -> Result<&Exposures<'a>> {
        made_once(&self.exposures, || Exposures::new(self.log.counts, self.theta(progress)?.clone()))
    }

    /// What `predictor` makes of the features; kept for the first one that asks.
    pub fn predicted(&self, predictor: &RelevancePredictor, progress: &dyn Progress) -> Result<PredictedRelevance> {
        match self.predicted.get() {
            Some((by, predicted)) if by == predictor => Ok(predicted.clone()),
            Some(_) => predictor.predict(self, progress),
            None => {
                let made = (predictor.clone(), predictor.predict(self, progress)?);
                Ok(self.predicted.get_or_init(|| made).1.clone())
            }
        }
    }
}
