//! What a ranker has learned: a ranker and documents enter; how much each feature matters, and how scores depend on those that
//! matter most, leave.
//!
//! [`Explain`] asks any kind of ranker the same two questions, by scoring documents with changed features:
//!
//! 1. *Importance*: how many pairs of documents change their order when the values of a feature are exchanged at random between the
//!    documents of a query ([`FeatureImportance`]). Trees also tell the gain of their splits, linear rankers their weights.
//! 2. *Partial dependence* (Friedman 2001): the mean score of documents when a feature has the same value for all of them
//!    ([`PartialDependence`]).
//!
//! Values are exchanged within a query and not between queries, because only there documents compete. A feature that all documents of a query
//! share gets no importance this way: by itself it orders nothing. It may still decide what other features count for, as the gain of
//! trees tells.
//!
//! The work is bounded whatever the data: some queries are drawn, with at most 50 of their documents each.

mod dependence;
mod importance;
mod page;
mod sample;
#[cfg(test)]
mod tests;

pub use dependence::PartialDependence;
pub use importance::FeatureImportance;

use crate::data::Dataset;
use crate::options::options;
use crate::progress::Progress;
use crate::ranker::Ranker;
use crate::{Error, Result};
use sample::sample;

options! {
    /// How a ranker is explained.
    ///
    /// ```
    /// use truerank::data::{Generator, Preset};
    /// use truerank::insight::Explain;
    /// use truerank::progress::Silent;
    /// use truerank::ranker::{LearnFrom, ModelForm, Training};
    ///
    /// let data = Generator::preset(Preset::Tiny).generate()?;
    /// let training = Training::new().model(ModelForm::LinearRaw);
    /// let (ranker, _) = training.fit(&data.train, LearnFrom::Grades, None, &Silent)?;
    /// let explanation = Explain::new().explain(&ranker, &data.test, &Silent)?;
    /// println!("{}", explanation.report(&ranker).text());
    /// # Ok::<(), truerank::Error>(())
    /// ```
    pub struct Explain {
        /// Features whose partial dependence is computed, the most important ones first.
        top: usize = 6, value("N");
        /// Seed of the documents that are drawn and of how values are exchanged.
        seed: u64 = 1;
    }
}

/// What a ranker has learned.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Queries whose documents were scored.
    pub queries: usize,
    /// Documents that were scored.
    pub documents: usize,
    /// How much each feature matters, in the order of features.
    pub importance: Vec<FeatureImportance>,
    /// How scores depend on the features that matter most, these first.
    pub dependence: Vec<PartialDependence>,
}

impl Explain {
    /// Importance of all features, and partial dependence of the most important ones.
    pub fn explain(&self, ranker: &Ranker, data: &Dataset, progress: &dyn Progress) -> Result<Explanation> {
        let sample = sample(data, self.seed)?;
        let importance = importance::importance(ranker, &sample, self.seed, progress)?;
        let top = ranked(&importance).into_iter().take(self.top).filter(|found| found.order_change > 0.0);
        let dependence = top.map(|found| dependence::dependence(ranker, &sample, found.feature - 1));
        let dependence = dependence.collect::<Result<_>>()?;
        Ok(Explanation { queries: sample.query_count(), documents: sample.len(), importance, dependence })
    }

    /// How much each feature matters, in the order of features.
    pub fn importance(
        &self,
        ranker: &Ranker,
        data: &Dataset,
        progress: &dyn Progress,
    ) -> Result<Vec<FeatureImportance>> {
        importance::importance(ranker, &sample(data, self.seed)?, self.seed, progress)
    }

    /// How scores depend on a feature, counted from 1.
    pub fn partial_dependence(&self, ranker: &Ranker, data: &Dataset, feature: usize) -> Result<PartialDependence> {
        let count = ranker.feature_count();
        if !(1..=count).contains(&feature) {
            return Err(Error::option("feature", format!("is {feature}, but should be between 1 and {count}")));
        }
        dependence::dependence(ranker, &sample(data, self.seed)?, feature - 1)
    }
}

/// The features that matter most first; those that matter alike in their order.
fn ranked(importance: &[FeatureImportance]) -> Vec<&FeatureImportance> {
    let mut ranked: Vec<&FeatureImportance> = importance.iter().collect();
    ranked.sort_by(|a, b| b.order_change.total_cmp(&a.order_change));
    ranked
}
