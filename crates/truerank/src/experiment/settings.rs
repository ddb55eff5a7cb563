//! What an experiment is: a value that can be written down as TOML, with the paper's protocol as its default.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{BrowsingGrid, ClusterNumbers, EstimatedExamination, LearningCurves, Question, RealLog, text};
use crate::data::{Generator, Preset, ReadOptions, Splits, read_splits};
use crate::files::{Limit, read_text};
use crate::ranker::{FeatureScaling, ModelForm, Production};
use crate::simulate::Simulation;
use crate::{Error, Result};

/// An experiment: which questions, on which data, how often, how large.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Which questions are asked. Default: all but `robustness`.
    #[serde(with = "text::many")]
    pub questions: Vec<Question>,
    /// One world per seed: production ranker, users, clicks and initial weights. Default: 1, 2, 3.
    pub seeds: Vec<u64>,
    /// Sessions, where their number is not the question. Default: as many per training query as in the paper, which has
    /// 1,000,000 for the 19,944 of Yahoo! LETOR; in two digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// Kinds of users, where their number is not the question: 5, 10 or 20. Default: 10.
    pub clusters: usize,
    /// Forms of rankers, all that learn from clicks: rq2 and rq4 use all, the others the first. Default: mlp, linear.
    #[serde(with = "text::many")]
    pub models: Vec<ModelForm>,
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
    /// Click models that people do not follow.
    pub robustness: BrowsingGrid,
    /// What the results were made with; written with them, not to be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_with: Option<MadeWith>,
}

/// What results were made with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MadeWith {
    /// Always `truerank/experiment`.
    #[serde(rename = "type")]
    pub file_type: String,
    /// The version of this file's form.
    pub version: u32,
    /// The version of truerank.
    pub truerank: String,
    /// A fingerprint of the documents.
    pub data: String,
    /// A fingerprint of the log of real users, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Training, validation and test queries.
    pub queries: [usize; 3],
    /// Their documents.
    pub documents: [usize; 3],
    /// The features of a document.
    pub features: usize,
    /// Whether the training documents have grades.
    #[serde(default)]
    pub graded: bool,
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
    /// Steps of an MLP at most. Default: the paper's 1,000, but 300 on logs of fewer than 10,000 training queries, which are
    /// learned sooner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// Checks of an MLP, one every 10 steps, without a better validation value before training stops. Default: 10.
    pub patience: usize,
    /// What networks see of the features. Default: a layer norm over each document, as in the paper.
    #[serde(alias = "standardise", with = "text::scaling")]
    pub scaling: FeatureScaling,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            questions: Question::USUAL.to_vec(),
            seeds: vec![1, 2, 3],
            sessions: None,
            clusters: 10,
            models: vec![ModelForm::mlp(), ModelForm::LINEAR],
            data: DataSettings::default(),
            simulation: SimulationSettings::default(),
            training: TrainingSettings::default(),
            rq2: LearningCurves::default(),
            rq3: ClusterNumbers::default(),
            rq4: EstimatedExamination::default(),
            real: RealLog::default(),
            robustness: BrowsingGrid::default(),
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
        let Production { length, production_share } = Production::default();
        SimulationSettings { length, production_share, click_noise: Simulation::default().click_noise }
    }
}

impl Default for TrainingSettings {
    fn default() -> Self {
        TrainingSettings { steps: None, patience: 10, scaling: FeatureScaling::Paper }
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

/// The paper's sessions, and the training queries that they are for.
const PAPER_SESSIONS: u64 = 1_000_000;
const PAPER_QUERIES: f64 = 19_944.0;

impl Settings {
    /// Sessions, where their number is not the question.
    pub fn sessions(&self) -> u64 {
        self.sessions.unwrap_or(PAPER_SESSIONS)
    }

    /// As many sessions per training query as in the paper, in two digits.
    pub(super) fn sessions_for(queries: usize) -> u64 {
        let exact = PAPER_SESSIONS as f64 * queries as f64 / PAPER_QUERIES;
        let unit = 10f64.powf((exact.max(10.0)).log10().floor() - 1.0);
        ((exact / unit).round() * unit) as u64
    }

    /// Reads an experiment from a TOML file; what it does not say is as by default.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path, Limit::Description)?;
        toml::from_str(&text).map_err(|error| toml_error(path, &text, &error))
    }

    /// The text that [`read`](Settings::read) reads.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|e| Error::parameter(format!("the experiment cannot be written down: {e}")))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Method, Run, Source, WorldId};

    fn tiny() -> Splits {
        Generator::preset(Preset::Tiny).generate().unwrap()
    }

    #[test]
    fn what_is_written_reads_back() {
        let settings = Settings::default().for_data(&tiny()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("experiment.toml");
        std::fs::write(&path, settings.to_toml().unwrap()).unwrap();
        assert_eq!(Settings::read(&path).unwrap(), settings);
        std::fs::write(&path, "").unwrap();
        assert_eq!(Settings::read(&path).unwrap(), Settings::default());
        // As older versions wrote it.
        std::fs::write(&path, "[training]\nstandardise = false\n").unwrap();
        assert_eq!(Settings::read(&path).unwrap(), Settings::default());
        std::fs::write(&path, "[training]\nstandardise = true\n").unwrap();
        assert!(Settings::read(&path).unwrap_err().to_string().contains("`standardise` is now `scaling`"));
    }

    #[test]
    fn sizes_start_with_one_session_per_query() {
        let settings = Settings::default().for_data(&tiny()).unwrap();
        assert_eq!(settings.rq2.sessions, [200, 10_000, 30_000, 100_000, 1_000_000, 10_000_000]);
        assert_eq!(settings.sessions, Some(10_000));
        assert_eq!([19_944, 3_000, 1].map(Settings::sessions_for), [1_000_000, 150_000, 50]);
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let refused = |change: &dyn Fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.for_data(&tiny()).unwrap_err().to_string()
        };
        assert!(refused(&|s| s.seeds = vec![1, 2, 1]).contains("seeds should name each once, but 1 is there twice"));
        assert!(refused(&|s| s.models = vec!["mlp".parse().unwrap(), ModelForm::mlp()]).contains("models"));
        assert!(refused(&|s| s.data.max_grade = 1).contains("generated grades go to 4"));
        assert!(refused(&|s| s.simulation.length = 0).contains("length should be at least 1, but is 0"));
        assert!(refused(&|s| s.simulation.click_noise = 1.0).contains("click-noise"));
        assert!(refused(&|s| s.real.queries = 0).contains("real.queries"));
        assert!(refused(&|s| s.rq4.main = Source::Known).contains("rq4.main"));
        let sdbn = crate::click_model::ClickModelKind::Sdbn;
        assert!(refused(&|s| s.robustness.assumed = vec![sdbn]).contains("in sdbn all browse alike"));
        assert!(refused(&|s| s.robustness.production_shares = vec![0.0]).contains("from 0.000001 to 1, but one is 0"));
        assert!(refused(&|s| s.robustness.swap = 2.0).contains("robustness.swap should be from 0 to 1, but is 2"));
    }

    #[test]
    fn order_does_not_matter_where_it_should_not() {
        let mut settings = Settings { questions: vec![Question::Rq3, Question::Rq1], ..Settings::default() };
        settings.rq2.sessions = vec![1_000_000, 10_000];
        let settings = settings.for_data(&tiny()).unwrap();
        assert_eq!(settings.questions, [Question::Rq1, Question::Rq3]);
        assert_eq!(settings.rq2.sessions, [10_000, 1_000_000]);
    }

    #[test]
    fn questions_share_their_runs() {
        let settings = Settings::default().for_data(&tiny()).unwrap();
        let runs = settings.runs();
        let of = |question: Question| question.runs(&settings);
        let asked: usize = Question::ALL.into_iter().map(|question| of(question).len()).sum();
        assert!(runs.len() < asked, "{} of {asked}", runs.len());
        let names: std::collections::BTreeSet<String> = runs.iter().map(Run::name).collect();
        assert_eq!(names.len(), runs.len());
        // The main table has its own column in rq3, and its own point on the curves.
        assert!(of(Question::Rq1).iter().all(|run| of(Question::Rq3).contains(run)));
        // Worlds come one after the other.
        let mut worlds: Vec<WorldId> = runs.iter().map(|run| run.world).collect();
        worlds.dedup();
        let distinct: std::collections::BTreeSet<&WorldId> = worlds.iter().collect();
        assert_eq!(distinct.len(), worlds.len());
    }

    #[test]
    fn very_long_logs_have_no_pairs_of_clicks() {
        let long = Settings { sessions: Some(3_000_000), ..Settings::default() }.for_data(&tiny()).unwrap();
        assert!(long.runs().iter().all(|run| !matches!(run.method, Method::Pairs(_)) || run.world == WorldId::Logged));
        let mut settings = Settings::default();
        settings.rq2.sessions = vec![1_000, 3_000_000];
        settings.rq2.methods = vec![Method::PRS_BY_SCORE];
        let sizes: Vec<WorldId> = Question::Rq2
            .runs(&settings)
            .into_iter()
            .filter(|run| run.method == Method::PRS_BY_SCORE)
            .map(|run| run.world)
            .collect();
        assert!(sizes.iter().all(|world| matches!(world, WorldId::Simulated { sessions: 1_000, .. })));
        assert_eq!(sizes.len(), 2 * settings.seeds.len());
    }
}
