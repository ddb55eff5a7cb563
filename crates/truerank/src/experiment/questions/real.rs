//! The log of real users, or one of its size that is simulated where nobody has one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Ask, Question};
use crate::counts::{CountOptions, Counts, LogSource};
use crate::data::{Generator, Preset, Splits};
use crate::experiment::checks::{GENERATED_MAX_GRADE, at_least, distinct, refuse};
use crate::experiment::claim::BASELINES;
use crate::experiment::page::{dot, interval_cell, method_row, mse_cell};
use crate::experiment::{
    Claim, Group, JudgedOn, LogKind, Method, NDCG5, Part, Results, Run, Settings, Source, World, WorldId, WorldOptions,
};
use crate::files::Fingerprint;
use crate::log::{Columns, ReadOptions};
use crate::progress::Progress;
use crate::propensity::mean_examined_position;
use crate::ranker::{ModelForm, Unmatched};
use crate::report::{Axis, Best, Block, Chart, Column, Dots, Figure, Format, HeatMap, Table};
use crate::simulate::Simulation;
use crate::{Error, Result};

/// The log of real users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RealLog {
    /// Files of a log, whose queries and documents are those of the data folder's training part. Default: none; a log is simulated.
    pub log: Vec<PathBuf>,
    /// Names of its columns, such as `user = "client_id"`.
    pub columns: BTreeMap<String, String>,
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

impl Default for RealLog {
    fn default() -> Self {
        RealLog {
            log: Vec::new(),
            columns: BTreeMap::new(),
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

/// On a log of real users?
pub struct Real;

impl Ask for Real {
    fn title(&self) -> &'static str {
        "Many users with few sessions"
    }

    fn words(&self) -> &'static str {
        "Does it work on a log as search engines have it?"
    }

    fn is_simulated(&self) -> bool {
        false
    }

    fn check(&self, settings: &Settings) -> Result<()> {
        let real = &settings.real;
        distinct("real.seeds", &real.seeds, 1)?;
        at_least("sessions", real.sessions, 1)?;
        at_least("real.users", real.users as u64, 1)?;
        at_least("real.queries", real.queries as u64, 1)?;
        at_least("real.features", real.features as u64, 1)?;
        at_least("real.labelled, to validate", real.labelled[0] as u64, 1)?;
        at_least("real.labelled, to test", real.labelled[1] as u64, 2)
    }

    fn runs(&self, settings: &Settings) -> Vec<Run> {
        let model = settings.main_model();
        // Rankers that learned from grades, and the lists as shown, are judged by grades.
        let graded = settings.made_with.as_ref().is_some_and(|made| made.graded);
        let known = settings.real.is_simulated() || graded;
        let possible = |method: &Method| (method.learns_from_clicks() || known) && model.learns_by(*method);
        let of_seed = |&seed: &u64| {
            let methods = Method::ALL.into_iter().filter(possible);
            methods.map(move |method| Run::new(WorldId::Logged, method, Source::EM, model).seed(seed))
        };
        settings.real.seeds.iter().flat_map(of_seed).collect()
    }

    fn claims(&self, results: &Results) -> Vec<Claim> {
        let model = results.settings.main_model();
        let of = |method| results.on(LogKind::Logged, method, Source::EM, model);
        let baselines: Vec<Method> = BASELINES.into_iter().filter(|method| model.learns_by(*method)).collect();
        let parts = of(Method::USER_AWARE).and_then(|aware| Part::ahead_of(&aware, &baselines, of));
        let text = "on this log of many users with few sessions user-aware is best";
        parts.map(|parts| Claim::new(Question::Real, text, parts)).into_iter().collect()
    }

    fn blocks(&self, results: &Results) -> Option<Vec<Block>> {
        let model = results.settings.models.first()?;
        let of = |method: Method| results.on(LogKind::Logged, method, Source::EM, model);
        let aware = of(Method::USER_AWARE)?;
        let groups: Vec<(Method, Group<'_>)> =
            Method::ALL.into_iter().filter_map(|method| Some((method, of(method)?))).collect();
        let mut blocks = vec![Block::Text(about(results, &aware)), Block::Table(table(model, &groups, &aware))];
        blocks.push(Block::Figure(dots(&groups)));
        blocks.extend(clusters(results).map(Block::Figure));
        Some(blocks)
    }
}

/// How much users of one kind differ in η.
const USER_NOISE: f64 = 0.2;

/// How steeply traffic falls from the first query to the last: with it, the paper's number of sessions reaches about the
/// paper's number of distinct queries.
const ZIPF: f64 = 0.6;

/// Kinds of users, as in the paper's figure.
const CLUSTERS: usize = 10;

/// Labelled queries that the ranker behind the log learned from: as many as 1 % of the `small` preset, so that there is
/// something left to learn.
const PRODUCTION_QUERIES: f64 = 30.0;

/// The median of documents per labelled query: their mean then is the paper's, 14,762 for 360 queries.
const LABELLED_DOCS: f64 = 34.0;

/// The most of them.
const MOST_LABELLED_DOCS: usize = 200;

impl Settings {
    fn asks_real_log(&self) -> bool {
        self.questions.contains(&Question::Real) && !self.real.is_simulated()
    }

    /// Opens the log, so that a wrong name is said before the first run and not after the last.
    pub(in crate::experiment) fn check_real_log(&self) -> Result<()> {
        if !self.asks_real_log() {
            return Ok(());
        }
        if self.data.folder.is_none() {
            return refuse("real.log names a log, so data.folder should name its documents, but it is missing");
        }
        self.log_source()?.columns().map(drop)
    }

    /// A fingerprint of the log, where it is asked about.
    pub(in crate::experiment) fn real_log_fingerprint(&self) -> Result<Option<String>> {
        self.asks_real_log().then(|| Fingerprint::of_files(&self.real.log)).transpose()
    }

    fn log_source(&self) -> Result<LogSource> {
        let mut columns = Columns::default();
        self.real.columns.iter().try_for_each(|(field, name)| columns.map(field, name))?;
        Ok(LogSource::files(&self.real.log, ReadOptions::new().columns(columns)))
    }

    /// The documents of the simulated log that stands for a real one: those of a training query are all shown.
    pub(in crate::experiment) fn generate_real_data(&self) -> Result<Splits> {
        let [validation, test] = self.real.labelled;
        let (queries, length) = (self.real.queries, self.simulation.length);
        let world = Generator::preset(Preset::Small).features(self.real.features).seed(self.data.seed);
        // Nearly every query has more documents than are shown, and only those are kept.
        let shown = world.clone().queries(queries, 0, 0).documents(4.0 * length as f64, length);
        let labelled =
            world.first_query(queries).queries(0, validation, test).documents(LABELLED_DOCS, MOST_LABELLED_DOCS);
        let train = shown.generate()?.train;
        let Splits { validation, test, .. } = labelled.generate()?;
        Ok(Splits { train, validation, test })
    }

    pub(in crate::experiment) fn simulate_real_log<'a>(
        &self,
        data: &'a Splits,
        progress: &dyn Progress,
    ) -> Result<World<'a>> {
        let per_cluster = self.real.users.div_ceil(CLUSTERS);
        let simulation = Simulation::new().sessions(self.real.sessions).click_noise(self.simulation.click_noise);
        let simulation = simulation.users_per_cluster(per_cluster).user_noise(USER_NOISE).zipf(ZIPF);
        let production_share = (PRODUCTION_QUERIES / self.real.queries.max(1) as f64).min(1.0);
        let (length, max_grade) = (self.simulation.length, GENERATED_MAX_GRADE);
        let options = WorldOptions { length, production_share, max_grade, patterns: true, transitions: false };
        World::simulate(data, &simulation, &options, self.data.seed, progress)
    }

    pub(in crate::experiment) fn read_real_log<'a>(
        &self,
        data: &'a Splits,
        progress: &dyn Progress,
    ) -> Result<World<'a>> {
        let (counts, _) = self.log_source()?.count(&CountOptions::new().patterns(true), progress)?;
        check_log(&self.real.log[0], &counts)?;
        Ok(World::logged(data, Arc::unwrap_or_clone(counts), self.data.max_grade))
    }
}

fn check_log(path: &Path, counts: &Counts) -> Result<()> {
    match (counts.click_count(), counts.users.len()) {
        (0, _) => Err(Error::input(path, "has no clicks, so nothing can be learned from it")),
        (_, 0 | 1) => {
            Err(Error::input(path, "has one user, but the protocol compares users; map the column of user ids"))
        }
        _ => Ok(()),
    }
}

fn table(model: &ModelForm, groups: &[(Method, Group<'_>)], aware: &Group<'_>) -> Table {
    let knows_truth = aware.mse().is_some();
    let row = |(method, group): &(Method, Group<'_>)| {
        let reference = (*method != Method::USER_AWARE).then_some(aware);
        let mut cells = vec![interval_cell(group, NDCG5, reference)];
        cells.extend(knows_truth.then(|| mse_cell(group, reference)));
        method_row(method.to_string(), *method, cells)
    };
    let mut columns = vec![Column::new("nDCG@5", Format::Measure).best(Best::Largest)];
    columns.extend(knows_truth.then(|| Column::new("MSE", Format::Measure).best(Best::Smallest)));
    Table {
        name: "real".into(),
        caption: format!("nDCG@5 of {} rankers.", model.name()),
        label: "method".into(),
        columns,
        rows: groups.iter().map(row).collect(),
        notes: notes(groups, aware, knows_truth),
    }
}

fn notes(groups: &[(Method, Group<'_>)], aware: &Group<'_>, knows_truth: bool) -> Vec<String> {
    let mut notes = vec![match aware.interval(NDCG5) {
        Some(_) => {
            "+ and −: significantly better or worse than user-aware on this log (p < .05, tested over the seeds of \
                    training, from three on, and test queries together). ± is half the 95 % interval over seeds."
                .to_string()
        }
        None => "+ and −: significantly better or worse than user-aware on this log (paired t-test over test queries, \
                 p < .05). Each ranker was trained once."
            .to_string(),
    }];
    notes.extend(knows_truth.then(|| "MSE: mean squared error of estimated relevance over shown documents.".into()));
    let on_training = groups.iter().find(|(_, group)| group.judged_on() == JudgedOn::Training);
    notes.extend(on_training.map(|(method, group)| {
        format!(
            "{method}: the lists as they were shown, on the {} training queries of the log, since it does not have every test \
             query; the others are judged on test queries, so there is no mark.",
            Format::Count.print(group.per_query(NDCG5).len() as f64)
        )
    }));
    notes
}

/// nDCG@5 of what test queries judged; prs is far off, and would squeeze the others together.
fn dots(groups: &[(Method, Group<'_>)]) -> Figure {
    let shown = groups.iter().filter(|(method, group)| *method != Method::PRS && group.judged_on() == JudgedOn::Test);
    let with_interval = shown.clone().any(|(_, group)| group.interval(NDCG5).is_some());
    let intervals = if with_interval { " with 95 % intervals over the seeds of training" } else { "" };
    let rest = if groups.iter().any(|(method, _)| *method == Method::PRS) { "; prs is in the table" } else { "" };
    let rows = shown.map(|(method, group)| dot(*method, group)).collect();
    let chart = Chart::Dots(Dots { axis: Axis::new("nDCG@5", Format::Measure), rows });
    Figure { name: "real".into(), caption: format!("nDCG@5{intervals}{rest}."), chart }
}

fn about(results: &Results, aware: &Group<'_>) -> String {
    let count = |value: usize| Format::Count.print(value as f64);
    let sizes = results.world(WorldId::Logged).map_or(String::new(), |facts| {
        format!(
            "{} sessions of {} users, {} distinct queries, {} shown documents. ",
            count(facts.sessions as usize),
            count(facts.users),
            count(facts.queries),
            count(facts.documents)
        )
    });
    let what = match results.settings.real.is_simulated() {
        true => {
            "A simulated log stands for the paper's real one, which is not public: users of ten kinds, each with noise of \
                 his own, and Zipf traffic. "
        }
        false => "A log of real users. ",
    };
    let left_out = match aware.left_out() {
        Unmatched { queries: 0, docs: 0 } => String::new(),
        Unmatched { queries, docs } => format!(
            "{} queries, and {} documents of other queries, are not in the data and were left out. ",
            count(queries),
            count(docs)
        ),
    };
    format!(
        "{what}{sizes}{left_out}Examination is estimated by personalized Regression-EM, each user drawn toward those who look alike."
    )
}

/// Where the groups of users look.
fn clusters(results: &Results) -> Option<Figure> {
    let propensities = &results.examination(WorldId::Logged, Source::EM)?.propensities;
    let clusters = propensities.details.clusters.as_ref()?;
    let positions = propensities.positions();
    let count = clusters.len(positions);
    let share = |cluster: usize| {
        let members = clusters.of_user.iter().filter(|&&of| of as usize == cluster).count();
        members as f64 / clusters.of_user.len().max(1) as f64
    };
    let rows: Vec<&[f64]> = clusters.examination.chunks_exact(positions).collect();
    let label = |cluster: usize| format!("c{} ({})", cluster + 1, Format::Percent.print(share(cluster)));
    let map = HeatMap {
        row_title: "group of users (share)".into(),
        column_title: "position".into(),
        rows: (0..count).map(label).collect(),
        columns: (1..=positions).map(|k| format!("p{k}")).collect(),
        values: rows.iter().map(|row| row.iter().map(|theta| Some(*theta)).collect()).collect(),
        format: Format::Measure,
        range: Some((0.0, 1.0)),
    };
    let ends = rows.first().zip(rows.last()).map_or(String::new(), |(first, last)| {
        let [first, last] = [first, last].map(|row| mean_examined_position(row));
        format!(" Their mean examined position goes from {first:.1} to {last:.1}.")
    });
    let caption = format!("Groups of users by where they look: estimated examination by position.{ends}");
    Some(Figure { name: "real-users".into(), caption, chart: Chart::HeatMap(map) })
}
