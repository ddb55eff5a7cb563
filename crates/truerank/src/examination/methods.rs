//! The registry of methods, and how each is called.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::options::configured;
use super::{Estimated, ExaminationOptions, Sources};
use crate::counts::{CountsView, Need, held_counts, open_counts};
use crate::data::Dataset;
use crate::files::Room;
use crate::options::{Field, Options, listed, option_value};
use crate::propensity::{Cpbm, InterventionHarvesting, RegressionEm, SwapExperiment, UserPbm};
use crate::ranker::Dla;
use crate::{Error, Result};

/// A way to estimate examination: what front ends know of it.
pub struct Method {
    /// What it is called.
    pub name: &'static str,
    /// What it is called in the literature.
    pub title: &'static str,
    /// The type that has its options.
    pub type_name: &'static str,
    /// What it needs, in one line.
    pub needs: &'static str,
    /// What it gives: θ of positions, θ of users and positions, a ranker.
    pub gives: &'static str,
    /// Whether it reads features of documents.
    pub features: Features,
    /// Whether it reads features of users.
    pub reads_contexts: bool,
    /// Whether it gives θ of each user whatever is asked for.
    pub always_per_user: bool,
    /// Whether it learns a ranker as well.
    pub gives_ranker: bool,
    /// Whether it holds the cells of the counts in memory, so that counts that do not fit are refused.
    pub holds_counts: bool,
    fields: fn() -> Vec<Field>,
    check: fn(&ExaminationOptions, bool) -> Result<()>,
    estimate: fn(&ExaminationOptions, &Sources<'_>) -> Result<Estimated>,
}

/// Whether a method reads features of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Features {
    /// It does not.
    Unused,
    /// Where there are any.
    Used,
    /// It cannot do without.
    Needed,
}

/// All methods; the first is the default.
pub static METHODS: [Method; 6] = [
    Method {
        title: "Regression-EM",
        needs: "features, or documents seen at several positions",
        features: Features::Used,
        ..Method::of::<RegressionEm>("em", "RegressionEm")
    },
    Method {
        title: "the swap experiment",
        needs: "sessions in which rank 1 changed places at random",
        ..Method::of::<SwapExperiment>("swap", "SwapExperiment")
    },
    Method {
        title: "intervention harvesting",
        needs: "several rankers, swaps or shuffles",
        ..Method::of::<InterventionHarvesting>("harvesting", "InterventionHarvesting")
    },
    Method {
        title: "the contextual position-based model",
        needs: "the same; examination by user id, or by `user_features`",
        gives: "θ(u,k)",
        reads_contexts: true,
        always_per_user: true,
        ..Method::of::<Cpbm>("cpbm", "Cpbm")
    },
    Method {
        title: "the click likelihood",
        needs: "features; the click likelihood climbed directly, as a baseline",
        features: Features::Needed,
        ..Method::of::<UserPbm>("user-pbm", "UserPbm")
    },
    Method {
        title: "dual learning",
        needs: "features; trains a `ranker` as well",
        gives: "θ(k), θ(u,k) and a ranker",
        features: Features::Needed,
        gives_ranker: true,
        holds_counts: true,
        ..Method::of::<Dla>("dla", "Dla")
    },
];

/// Options that are a method.
trait EstimateExamination: Options {
    /// Refuses values that it cannot have, before anything is read.
    fn check(&self, has_data: bool) -> Result<()>;

    fn estimate(&self, from: &Sources<'_>) -> Result<Estimated>;
}

impl Method {
    /// What most methods are: θ of positions, or of users where that is asked for, from counts alone.
    const fn of<T: EstimateExamination>(name: &'static str, type_name: &'static str) -> Self {
        Method {
            name,
            title: "",
            type_name,
            needs: "",
            gives: "θ(k), θ(u,k)",
            features: Features::Unused,
            reads_contexts: false,
            always_per_user: false,
            gives_ranker: false,
            holds_counts: false,
            fields: T::fields,
            check: |options, has_data| configured::<T>(options)?.check(has_data),
            estimate: |options, from| configured::<T>(options)?.estimate(from),
        }
    }

    /// Its options.
    pub fn fields(&self) -> Vec<Field> {
        (self.fields)()
    }

    /// Whether it has an option of this name.
    pub fn takes(&self, option: &str) -> bool {
        self.fields().iter().any(|field| field.name == option)
    }

    /// Opens a folder of counts as the method reads them: in memory, or on disk where they do not fit. A method that holds them
    /// refuses those.
    pub fn open_counts(&self, folder: &Path, room: &Room) -> Result<Box<dyn CountsView>> {
        match self.holds_counts {
            true => Ok(Box::new(held_counts(folder, room, Need::Estimation)?)),
            false => open_counts(folder, room, Need::Estimation),
        }
    }

    /// Refuses what the method cannot have, before anything is read.
    pub(super) fn check(&self, options: &ExaminationOptions, has_data: bool) -> Result<()> {
        if self.features == Features::Needed && !has_data {
            let finding = format!("{} learns from features, but there are none: name them with `data`", self.name);
            return Err(Error::parameter(finding));
        }
        (self.check)(options, has_data)
    }

    pub(super) fn estimate(&self, options: &ExaminationOptions, from: &Sources<'_>) -> Result<Estimated> {
        if from.counts.totals().clicks == 0 {
            return Err(Error::parameter("the log has no clicks, so nothing can be said about examination"));
        }
        (self.estimate)(options, from)
    }
}

impl<'a> Sources<'a> {
    fn features(&self) -> Result<&'a Dataset> {
        let missing = || Error::parameter("the method learns from features, but there are none: name them with `data`");
        self.data.ok_or_else(missing)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Default for &'static Method {
    fn default() -> Self {
        &METHODS[0]
    }
}

impl FromStr for &'static Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        METHODS.iter().find(|method| method.name == text).ok_or_else(|| {
            let names: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
            Error::parameter(format!("'{text}' is no method; there is {}", listed(&names)))
        })
    }
}

option_value!(&'static Method: Kind::Choice(METHODS.iter().map(|method| method.name).collect()));

impl EstimateExamination for RegressionEm {
    fn check(&self, has_data: bool) -> Result<()> {
        self.check()?;
        self.check_data(has_data)
    }

    fn estimate(&self, from: &Sources<'_>) -> Result<Estimated> {
        self.estimate(from.counts, from.data, from.progress).map(Estimated::from)
    }
}

impl EstimateExamination for SwapExperiment {
    fn check(&self, _: bool) -> Result<()> {
        self.check()
    }

    fn estimate(&self, from: &Sources<'_>) -> Result<Estimated> {
        self.estimate(from.counts).map(Estimated::from)
    }
}

impl EstimateExamination for InterventionHarvesting {
    fn check(&self, _: bool) -> Result<()> {
        self.check()
    }

    fn estimate(&self, from: &Sources<'_>) -> Result<Estimated> {
        self.estimate(from.counts).map(Estimated::from)
    }
}

impl EstimateExamination for Cpbm {
    fn check(&self, _: bool) -> Result<()> {
        self.check()
    }

    fn estimate(&self, from: &Sources<'_>) -> Result<Estimated> {
        let cpbm = self.clone().contexts(from.contexts.cloned().unwrap_or_default());
        cpbm.estimate(from.counts, from.progress).map(Estimated::from)
    }
}

impl EstimateExamination for UserPbm {
    fn check(&self, _: bool) -> Result<()> {
        self.check()
    }

    fn estimate(&self, from: &Sources<'_>) -> Result<Estimated> {
        self.estimate(from.counts, from.features()?, from.progress).map(Estimated::from)
    }
}

impl EstimateExamination for Dla {
    fn check(&self, _: bool) -> Result<()> {
        self.check()
    }

    fn estimate(&self, from: &Sources<'_>) -> Result<Estimated> {
        let (ranker, propensities) = self.fit(from.features()?, from.counts, None, from.progress)?;
        Ok(Estimated { ranker: Some(ranker), ..propensities.into() })
    }
}
