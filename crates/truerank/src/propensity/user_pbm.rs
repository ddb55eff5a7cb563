//! The click likelihood climbed directly: a network for γ and free θ, trained together.

use rand::seq::SliceRandom;

use super::em::{BATCH, Learner, Matched, Weighted, sigmoid};
use super::observations::observe;
use super::{Details, Evidence, Fit, Joined, Propensities, SCALE, average, largest, rescale};
use crate::counts::CountsView;
use crate::data::Dataset;
use crate::network::{Architecture, Network, Optimizer, OptimizerState};
use crate::options::{Options, options};
use crate::progress::Progress;
use crate::random::stream;
use crate::{Error, Result};

/// θ are few and each is in many cells: they may move faster than the network's weights.
const EXAMINATION_RATE: f32 = 10.0;

options! {
    /// The position-based click model with γ a network and θ free: maximises the likelihood of clicks under
    /// `P(c=1) = σ(f(x))·σ(b(u,k))` by gradient steps on f and b.
    ///
    /// A baseline. The same likelihood is climbed by [`RegressionEm`](super::RegressionEm), which does not let γ see a
    /// document's own clicks: here a network large enough to know every document by heart would leave θ undetermined, so
    /// the number of epochs matters. There are no standard errors.
    ///
    /// ```
    /// use truerank::data::{Generator, Preset};
    /// use truerank::progress::Silent;
    /// use truerank::propensity::UserPbm;
    /// use truerank::simulate::{ShownLists, Simulation};
    ///
    /// let data = Generator::preset(Preset::Tiny).generate()?.train;
    /// let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 10)?];
    /// let counts = Simulation::new().sessions(20_000).prepare(&data, &lists)?.counts()?;
    ///
    /// let propensities = UserPbm::new().iterations(5).estimate(&counts, &data, &Silent)?;
    /// assert!(propensities.population[9] < propensities.population[0]);
    /// # Ok::<(), truerank::Error>(())
    /// ```
    #[derive(PartialEq)]
    pub struct UserPbm {
        /// Examination of each user instead of one for all.
        per_user: bool = false;
        /// Times that each document is seen, at most.
        iterations: usize = 30, at_least(1.0), value("N");
        /// Stop at this relative change of the log-likelihood.
        tolerance: f64 = 1e-5, between(0.0, 1.0), value("SHARE");
        /// Seed of initial weights and of the order of documents.
        seed: u64 = 1;
    }
    beside {
        /// The network of γ.
        architecture: Architecture = Architecture::Mlp { hidden: vec![64, 32] },
        /// Adam's step size.
        learning_rate: f32 = 0.002,
    }
}

impl UserPbm {
    pub(crate) fn check(&self) -> Result<()> {
        self.check_ranges()?;
        match self.learning_rate > 0.0 && self.learning_rate.is_finite() {
            true => Ok(()),
            false => {
                let rule = "learning rate should be positive and finite";
                Err(Error::parameter(format!("{rule}, but is {}", self.learning_rate)))
            }
        }
    }

    /// Estimates θ from `counts` and the features in `data`.
    pub fn estimate(&self, counts: &dyn CountsView, data: &Dataset, progress: &dyn Progress) -> Result<Propensities> {
        self.check()?;
        if counts.totals().clicks == 0 {
            return Err(Error::parameter("the log has no clicks, so nothing can be said about examination"));
        }
        let users = counts.users().len();
        let groups = if self.per_user { (0..users as u32).collect() } else { vec![0; users] };
        let matched = Matched::new(&Joined::new(counts, Some(data)))?;
        let observations = observe(counts, &groups, matched.keep.as_deref())?;
        let weighted = Weighted::new(observations.as_ref())?;
        let filled = data.filled();
        let mut model = Model::new(self, &filled, &matched.rows, observations.slot_count())?;
        progress.begin("training the click model", self.iterations as u64);
        let mut fit = Fit::default();
        for epoch in 0..self.iterations {
            model.epoch(&weighted, self.learning_rate, epoch as u64)?;
            let expectation = weighted.expect(&model.examination(), &model.relevance())?;
            let value = expectation.log_likelihood / weighted.impressions();
            let change = fit.log_likelihood.last().map_or(f64::INFINITY, |last| (value - last).abs());
            fit.log_likelihood.push(value);
            progress.advance(1)?;
            progress.note(&format!("log-likelihood {value:.6}"));
            if change <= self.tolerance * value.abs() {
                fit.converged = true;
                break;
            }
        }
        let unfinished = (!fit.converged).then(|| {
            format!("the likelihood still rose after {} epochs: give it more, or a wider tolerance", self.iterations)
        });
        let notes = matched.note().into_iter().chain(data.fill_note()).chain(unfinished).collect();
        self.finish(counts, model.examination(), fit, notes)
    }

    fn finish(
        &self,
        counts: &dyn CountsView,
        mut examination: Vec<f64>,
        fit: Fit,
        notes: Vec<String>,
    ) -> Result<Propensities> {
        let positions = counts.totals().max_position as usize;
        let sessions: Vec<f64> = counts.sessions_per_user().into_iter().map(|sessions| sessions as f64).collect();
        let mut population = match self.per_user {
            true => average(&examination, positions, &sessions),
            false => examination.clone(),
        };
        let reference = largest(&population);
        let scale = population[reference];
        rescale(&mut population, reference);
        examination.iter_mut().for_each(|theta| *theta /= scale);
        let by_user = if self.per_user { Evidence::of_users(counts)? } else { Evidence::default() };
        Ok(Propensities {
            method: if self.per_user { "user-pbm" } else { "pbm" }.to_string(),
            scale: SCALE.to_string(),
            population,
            users: if self.per_user { counts.users().clone() } else { Default::default() },
            by_user: if self.per_user { examination } else { Vec::new() },
            details: Details {
                population: Evidence::of_positions(counts)?,
                by_user,
                fit: Some(fit),
                notes,
                ..Details::default()
            },
        })
    }
}

/// The network, the logits of θ, and what their optimisers remember.
struct Model<'a> {
    data: &'a Dataset,
    rows: &'a [u32],
    learner: Learner,
    logits: Vec<f32>,
    logit_optimizer: OptimizerState,
    seed: u64,
}

impl<'a> Model<'a> {
    fn new(settings: &UserPbm, data: &'a Dataset, rows: &'a [u32], slots: usize) -> Result<Self> {
        Ok(Model {
            data,
            rows,
            learner: Learner::new(Network::new(settings.architecture.clone(), data.feature_count(), settings.seed)?),
            logits: vec![0.0; slots],
            logit_optimizer: Optimizer::Adam.start(slots),
            seed: settings.seed,
        })
    }

    fn examination(&self) -> Vec<f64> {
        self.logits.iter().map(|logit| sigmoid(f64::from(*logit))).collect()
    }

    fn relevance(&mut self) -> Vec<f64> {
        self.learner.scores(self.data, self.rows).into_iter().map(sigmoid).collect()
    }

    fn epoch(&mut self, weighted: &Weighted<'_>, rate: f32, epoch: u64) -> Result<()> {
        let mut docs: Vec<u32> = (0..self.rows.len() as u32).collect();
        docs.shuffle(&mut stream(self.seed, "user-pbm", epoch));
        docs.chunks(BATCH).try_for_each(|batch| self.step(weighted, batch, rate))
    }

    fn step(&mut self, weighted: &Weighted<'_>, docs: &[u32], rate: f32) -> Result<()> {
        let examination = self.examination();
        let batch: Vec<u32> = docs.iter().map(|doc| self.rows[*doc as usize]).collect();
        let relevance = self.learner.relevance(self.data, &batch);
        let shown = weighted.shown_of(docs);
        let mut of_slots = vec![0.0; self.logits.len()];
        for (&doc, &gamma) in docs.iter().zip(&relevance) {
            weighted.add_slot_gradients(doc as usize, gamma, &examination, &mut of_slots)?;
        }
        self.learner.climb(weighted.slopes(docs, &relevance, &examination)?.into_iter(), rate);
        let down: Vec<f32> = of_slots.iter().map(|up| -(up / shown) as f32).collect();
        self.logit_optimizer.step(&mut self.logits, &down, EXAMINATION_RATE * rate, 0.0);
        Ok(())
    }
}
