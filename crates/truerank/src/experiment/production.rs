//! The ranker that showed people what they clicked.

use crate::Result;
use crate::data::Dataset;
use crate::progress::Progress;
use crate::ranker::{Ranker, Training, labelled_share};
use crate::simulate::{ShownLists, Simulation};

/// Trains an SVM-rank on a random share of the labelled queries.
pub fn production_ranker(train: &Dataset, share: f64, seed: u64, progress: &dyn Progress) -> Result<Ranker> {
    Training::new().fit_svm_rank(&labelled_share(train, share, seed)?, progress)
}

/// The `length` best documents of each query by a production ranker with the simulation's seed.
pub fn production_lists(
    train: &Dataset,
    simulation: &Simulation,
    share: f64,
    length: usize,
    progress: &dyn Progress,
) -> Result<ShownLists> {
    let ranker = production_ranker(train, share, simulation.seed, progress)?;
    ShownLists::top(train, &ranker.score(train)?, length)
}
