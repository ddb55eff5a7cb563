//! What an experiment is: a value that can be written down as TOML, with the paper's protocol as its default.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{EmRelevance, Method, Question, Run, Source, WorldId, WorldOptions, text};
use crate::data::{Dataset, Generator, Preset, ReadOptions, Splits, read_splits};
use crate::files::read_text;
use crate::network::Architecture;
use crate::ranker::Trainer;
use crate::simulate::{Simulation, paper_etas};
use crate::{Error, Result};

/// From more sessions than this on, counts are drawn without sessions: the same distribution, at a cost that no longer
/// grows.
const MOST_DRAWN_SESSIONS: u64 = 2_000_000;

/// The paper's steps of an MLP.
const STEPS: usize = 1000;

/// Steps on data with fewer than [`FEW_QUERIES`] training queries: nearly all of their rankers are best before.
const STEPS_ON_FEW: usize = 300;
const FEW_QUERIES: usize = 10_000;

/// An experiment: which questions, on which data, how often, how large.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Which questions are asked. Default: all.
    #[serde(with = "text::many")]
    pub questions: Vec<Question>,
    /// One world per seed: production ranker, users, clicks and initial weights. Default: 1, 2, 3.
    pub seeds: Vec<u64>,
    /// Sessions, where their number is not the question. Default: 1,000,000.
    pub sessions: u64,
    /// Kinds of users, where their number is not the question: 5, 10 or 20. Default: 10.
    pub clusters: usize,
    /// Forms of rankers: rq2 and rq4 use all, the others the first. Default: mlp, linear.
    #[serde(with = "text::many")]
    pub models: Vec<Architecture>,
    /// Where documents come from.
    pub data: DataSettings,
    /// How clicks are simulated.
    pub simulation: SimulationSettings,
    /// How rankers are trained.
    pub training: TrainingSettings,
    /// Learning curves.
    pub rq2: LearningCurves,
    /// Numbers of clusters.
    pub rq3: ClusterNumbers,
    /// Estimated examination.
    pub rq4: EstimatedExamination,
    /// A log of real users.
    pub real: RealLog,
    /// What the results were made with; written with them, not to be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_with: Option<MadeWith>,
}

/// What results were made with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MadeWith {
    /// The version of truerank.
    pub truerank: String,
    /// A fingerprint of the documents.
    pub data: String,
    /// Training, validation and test queries.
    pub queries: [usize; 3],
    /// Their documents.
    pub documents: [usize; 3],
    /// The features of a document.
    pub features: usize,
}

impl MadeWith {
    fn of(data: &Splits) -> Self {
        let parts = [&data.train, &data.validation, &data.test];
        MadeWith {
            truerank: env!("CARGO_PKG_VERSION").to_string(),
            data: data.fingerprint(),
            queries: parts.map(Dataset::query_count),
            documents: parts.map(Dataset::len),
            features: data.train.feature_count(),
        }
    }
}

/// Where documents come from: a preset of the generator, or a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataSettings {
    /// The preset, where no folder is named. Default: small.
    #[serde(with = "text::one")]
    pub preset: Preset,
    /// The seed of the generator. Default: 1.
    pub seed: u64,
    /// A folder with train, vali and test. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// The largest grade. Default: 4.
    pub max_grade: u8,
    /// Feature indices of text files start at 0. Default: false.
    pub zero_based: bool,
    /// How many features documents have. Default: the most found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<usize>,
}

/// How clicks are simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SimulationSettings {
    /// Documents shown per session. Default: 10.
    pub length: usize,
    /// The share of labelled queries that the production ranker learns from. Default: 0.01.
    pub production_share: f64,
    /// The probability that a document of grade 0 is found relevant. Default: 0.1.
    pub click_noise: f64,
}

/// How rankers are trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrainingSettings {
    /// Steps of an MLP at most. Default: the paper's 1,000, but 300 on fewer than 10,000 training queries, which are
    /// learned sooner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// Checks of an MLP, one every 10 steps, without a better validation value before training stops. Default: 10.
    pub patience: usize,
}

/// The learning curves of rq2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LearningCurves {
    /// Numbers of sessions. Default: one per training query, then 10,000 to 10,000,000.
    pub sessions: Vec<u64>,
    /// Who is compared. Default: all that learn from clicks, but prs.
    #[serde(with = "text::many")]
    pub methods: Vec<Method>,
}

/// The numbers of clusters of rq3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClusterNumbers {
    /// 5, 10 or 20. Default: all three.
    pub clusters: Vec<usize>,
}

/// The sources of θ of rq4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EstimatedExamination {
    /// What the paper's table uses: em or em-mlp. Default: em.
    #[serde(with = "text::one")]
    pub main: Source,
    /// What else user-aware is trained with. Default: every other source that knows users.
    #[serde(with = "text::many")]
    pub sources: Vec<Source>,
}

/// The log of real users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RealLog {
    /// Files of a log, whose queries and documents are those of the data folder's training part. Default: none; a log is simulated.
    pub log: Vec<PathBuf>,
    /// Names of its columns, such as `user = "client_id"`.
    pub columns: std::collections::BTreeMap<String, String>,
    /// The seeds of training; the log stays the same. Default: 1 to 5.
    pub seeds: Vec<u64>,
    /// Sessions of the simulated log. Default: 299,417, as in the paper's.
    pub sessions: u64,
    /// Its users. Default: 5,168.
    pub users: usize,
    /// The queries that they can choose from. Default: 236,000, of which the paper's 130,788 are then chosen, nearly.
    pub queries: usize,
    /// Its features. Default: 90.
    pub features: usize,
    /// Its validation and test queries with grades. Default: 51 and 309.
    pub labelled: [usize; 2],
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            questions: Question::ALL.to_vec(),
            seeds: vec![1, 2, 3],
            sessions: 1_000_000,
            clusters: 10,
            models: vec![Architecture::mlp(), Architecture::Linear],
            data: DataSettings::default(),
            simulation: SimulationSettings::default(),
            training: TrainingSettings::default(),
            rq2: LearningCurves::default(),
            rq3: ClusterNumbers::default(),
            rq4: EstimatedExamination::default(),
            real: RealLog::default(),
            made_with: None,
        }
    }
}

impl Default for DataSettings {
    fn default() -> Self {
        DataSettings { preset: Preset::Small, seed: 1, folder: None, max_grade: 4, zero_based: false, features: None }
    }
}

impl Default for SimulationSettings {
    fn default() -> Self {
        let WorldOptions { length, production_share, .. } = WorldOptions::default();
        SimulationSettings { length, production_share, click_noise: 0.1 }
    }
}

impl Default for TrainingSettings {
    fn default() -> Self {
        TrainingSettings { steps: None, patience: 10 }
    }
}

impl Default for LearningCurves {
    fn default() -> Self {
        let methods = Method::ALL.into_iter().filter(|method| method.learns_from_clicks() && *method != Method::Prs);
        LearningCurves { sessions: Vec::new(), methods: methods.collect() }
    }
}

impl Default for ClusterNumbers {
    fn default() -> Self {
        ClusterNumbers { clusters: vec![5, 10, 20] }
    }
}

impl Default for EstimatedExamination {
    fn default() -> Self {
        let em_mlp = Source::em(EmRelevance::Mlp, true);
        let sources =
            vec![em_mlp, Source::Swap, Source::Harvesting, Source::Cpbm, Source::UserPbm, Source::Dla];
        EstimatedExamination { main: Source::EM, sources }
    }
}

impl Default for RealLog {
    fn default() -> Self {
        RealLog {
            log: Vec::new(),
            columns: Default::default(),
            seeds: vec![1, 2, 3, 4, 5],
            sessions: 299_417,
            users: 5_168,
            queries: 236_000,
            features: 90,
            labelled: [51, 309],
        }
    }
}

impl RealLog {
    /// Whether a simulated log stands for the real one.
    pub fn is_simulated(&self) -> bool {
        self.log.is_empty()
    }
}

impl DataSettings {
    /// Generates or reads the documents.
    pub fn load(&self) -> Result<Splits> {
        match &self.folder {
            Some(folder) => read_splits(folder, &self.read_options()),
            None => Generator::preset(self.preset).seed(self.seed).generate(),
        }
    }

    fn read_options(&self) -> ReadOptions {
        let options = ReadOptions::new().max_grade(self.max_grade).zero_based(self.zero_based);
        match self.features {
            Some(count) => options.feature_count(count),
            None => options,
        }
    }

    /// What people call the data.
    pub fn name(&self) -> String {
        match &self.folder {
            Some(folder) => folder.display().to_string(),
            None => format!("generated, preset {}", self.preset),
        }
    }
}

impl Settings {
    /// Reads an experiment from a TOML file; what it does not say is as by default.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        toml::from_str(&text).map_err(|error| toml_error(path, &text, &error))
    }

    /// Fills in what depends on the data, and checks the rest.
    pub fn for_data(mut self, data: &Splits) -> Result<Self> {
        if self.rq2.sessions.is_empty() {
            let one_each = data.train.query_count() as u64;
            let sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000];
            self.rq2.sessions = [one_each].into_iter().chain(sizes.into_iter().filter(|&n| n > one_each)).collect();
        }
        let few = data.train.query_count() < FEW_QUERIES;
        self.training.steps.get_or_insert(if few { STEPS_ON_FEW } else { STEPS });
        self.made_with = Some(MadeWith::of(data));
        self.check()?;
        Ok(self)
    }

    /// The text that [`read`](Settings::read) reads.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|e| Error::parameter(format!("the experiment cannot be written down: {e}")))
    }

    /// Checks what can be checked without data.
    pub fn check(&self) -> Result<()> {
        let refuse = |finding: String| Err(Error::parameter(finding));
        for (name, empty) in [
            ("questions", self.questions.is_empty()),
            ("seeds", self.seeds.is_empty()),
            ("models", self.models.is_empty()),
            ("real.seeds", self.real.seeds.is_empty()),
        ] {
            if empty {
                return refuse(format!("{name} should name at least one, but is empty"));
            }
        }
        for &clusters in self.rq3.clusters.iter().chain([&self.clusters]) {
            if paper_etas(clusters).is_none() {
                return refuse(format!(
                    "the number of clusters should be 5, 10 or 20 as in the paper, but is {clusters}"
                ));
            }
        }
        if let Some(zero) = self.rq2.sessions.iter().chain([&self.sessions, &self.real.sessions]).find(|&&n| n == 0) {
            return refuse(format!("the number of sessions should be at least 1, but is {zero}"));
        }
        if !matches!(self.rq4.main, Source::Em { per_user: true, .. }) {
            return refuse(format!("rq4.main should be em or em-mlp, but is {}", self.rq4.main));
        }
        if !self.real.is_simulated() && self.data.folder.is_none() {
            return refuse("real.log names a log, so data.folder should name its documents, but it is missing".into());
        }
        Ok(())
    }

    /// Every run that the questions need, each once, world after world.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = self.questions.iter().flat_map(|question| question.runs(self)).collect();
        let mut seen = std::collections::HashSet::new();
        runs.retain(|run| seen.insert(run.name()));
        let mut worlds: Vec<WorldId> = Vec::new();
        runs.iter().for_each(|run| {
            if !worlds.contains(&run.world) {
                worlds.push(run.world)
            }
        });
        runs.sort_by_key(|run| worlds.iter().position(|world| *world == run.world));
        runs
    }

    /// Whether so many sessions are drawn one by one.
    pub fn draws_sessions(sessions: u64) -> bool {
        sessions <= MOST_DRAWN_SESSIONS
    }

    pub(super) fn world_options(&self, sessions: u64) -> WorldOptions {
        WorldOptions {
            length: self.simulation.length,
            production_share: self.simulation.production_share,
            max_grade: self.data.max_grade,
            patterns: Settings::draws_sessions(sessions),
        }
    }

    pub(super) fn simulation(&self, clusters: usize, sessions: u64) -> Simulation {
        let etas = paper_etas(clusters).unwrap_or_default();
        Simulation::new().sessions(sessions).etas(etas).click_noise(self.simulation.click_noise)
    }

    /// A linear ranker's loss is convex and soon at its minimum: it is never stopped early, since few validation queries
    /// would stop it by chance.
    pub(super) fn trainer(&self, run: &Run) -> Trainer {
        let trainer = Trainer::new().architecture(run.model.clone()).seed(run.seed);
        match run.model {
            Architecture::Linear => trainer,
            Architecture::Mlp { .. } => {
                trainer.steps(self.training.steps.unwrap_or(STEPS)).patience(self.training.patience)
            }
        }
    }
}

/// The error at its line.
fn toml_error(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let finding = error.message().to_string();
    match error.span() {
        Some(span) => {
            let line = text[..span.start.min(text.len())].matches('\n').count() as u64 + 1;
            crate::Place::line(path, line).error(finding)
        }
        None => Error::input(path, finding),
    }
}
