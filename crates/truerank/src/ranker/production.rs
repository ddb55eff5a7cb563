//! The ranker that showed people what they clicked, and its lists.

use super::{Ranker, Training, labelled_share};
use crate::Result;
use crate::data::Dataset;
use crate::options::options;
use crate::progress::Progress;
use crate::simulate::ShownLists;

options! {
    /// How the lists of a log are made.
    #[derive(PartialEq)]
    pub struct Production {
        /// Documents shown per session.
        length: usize = 10, at_least(1.0), value("N");
        /// Share of labelled queries that the production ranker learns from.
        production_share: f64 = 0.01, value("SHARE");
    }
}

impl Production {
    /// The best documents of each query by a production ranker.
    pub fn lists(&self, train: &Dataset, seed: u64, progress: &dyn Progress) -> Result<ShownLists> {
        let ranker = production_ranker(train, self.production_share, seed, progress)?;
        ShownLists::top(train, &ranker.score(train)?, self.length)
    }
}

/// Trains an SVM-rank on a random share of the labelled queries.
pub fn production_ranker(train: &Dataset, share: f64, seed: u64, progress: &dyn Progress) -> Result<Ranker> {
    Training::new().fit_svm_rank(&labelled_share(train, share, seed)?, progress)
}
