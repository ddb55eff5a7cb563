//! Ways to estimate examination, by name: counts enter, with features where the method uses them; θ leaves, and a ranker where
//! the method learns one.
//!
//! [`METHODS`] is the registry. Front ends list what it has and call [`ExaminationOptions::estimate`]; none knows a method by
//! its name. A new method is a struct of options with `estimate`, and one entry in [`METHODS`].
//!
//! ```
//! use truerank::data::{Generator, Preset};
//! use truerank::examination::{ExaminationOptions, Sources};
//! use truerank::options::Options;
//! use truerank::simulate::{ShownLists, Simulation};
//!
//! let data = Generator::preset(Preset::Tiny).generate()?.train;
//! let first_feature: Vec<f32> = (0..data.len()).map(|row| data.row(row)[0]).collect();
//! let lists = [ShownLists::top(&data, &first_feature, 10)?];
//! let counts = Simulation::new().sessions(50_000).swap(0.5).prepare(&data, &lists)?.counts()?;
//!
//! let mut options = ExaminationOptions::default();
//! options.set("method", &["swap".into()])?;
//! options.set("resamples", &["0".into()])?;
//! let found = options.estimate(&Sources::new(&counts))?;
//! assert_eq!(found.propensities.population[0], 1.0);
//! # Ok::<(), truerank::Error>(())
//! ```

mod methods;
mod options;

pub use methods::{Features, METHODS, Method};
pub use options::ExaminationOptions;

use crate::counts::CountsView;
use crate::data::Dataset;
use crate::progress::{Progress, Silent};
use crate::propensity::{Contexts, EmEstimate, HeldOut, Propensities};
use crate::ranker::Ranker;

/// What a method may read.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The log.
    pub counts: &'a dyn CountsView,
    /// Features of documents.
    pub data: Option<&'a Dataset>,
    /// What describes users, for the method that asks for it; without it, who they are.
    pub contexts: Option<&'a Contexts>,
    /// Who hears how far it is.
    pub progress: &'a dyn Progress,
}

impl<'a> Sources<'a> {
    /// The log alone.
    pub fn new(counts: &'a dyn CountsView) -> Self {
        Sources { counts, data: None, contexts: None, progress: &Silent }
    }
}

/// What a method found.
#[derive(Debug, Clone, Default)]
pub struct Estimated {
    /// θ, with what stands behind it.
    pub propensities: Propensities,
    /// How well each number of clusters of users predicted, where the number was chosen.
    pub held_out: Vec<HeldOut>,
    /// The ranker, of methods that learn one.
    pub ranker: Option<Ranker>,
}

impl From<EmEstimate> for Estimated {
    fn from(found: EmEstimate) -> Self {
        Estimated { held_out: found.held_out, ..found.propensities.into() }
    }
}

impl From<Propensities> for Estimated {
    fn from(propensities: Propensities) -> Self {
        Estimated { propensities, ..Estimated::default() }
    }
}
