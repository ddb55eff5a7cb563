//! rq3: fewer and more kinds of users.

use serde::{Deserialize, Serialize};

use super::{Ask, Question};
use crate::Result;
use crate::experiment::checks::{distinct, known_clusters};
use crate::experiment::claim::BASELINES;
use crate::experiment::page::{THEIRS, has_paper, interval_cell, marks, method_row, paper_cell};
use crate::experiment::{Claim, Group, LogKind, Method, NDCG5, Part, Results, Run, Settings, Source, paper};
use crate::ranker::ModelForm;
use crate::report::{Best, Block, Cell, Column, Format, Row, Table};

/// The numbers of clusters of rq3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClusterNumbers {
    /// 5, 10 or 20. Default: all three.
    pub clusters: Vec<usize>,
}

impl Default for ClusterNumbers {
    fn default() -> Self {
        ClusterNumbers { clusters: vec![5, 10, 20] }
    }
}

/// With fewer and with more kinds of users?
pub struct Rq3;

impl Ask for Rq3 {
    fn title(&self) -> &'static str {
        "RQ3: Fewer and more kinds of users"
    }

    fn words(&self) -> &'static str {
        "Does user-aware stay best when users differ less or more?"
    }

    fn check(&self, settings: &Settings) -> Result<()> {
        distinct("rq3.clusters", &settings.rq3.clusters, 1)?;
        settings.rq3.clusters.iter().try_for_each(|&clusters| known_clusters(clusters))
    }

    fn runs(&self, settings: &Settings) -> Vec<Run> {
        let model = settings.main_model();
        let run = |world, method| Run::new(world, method, Source::Known, model);
        let shared = |world| [Method::Production, Method::Ideal].map(|method| run(world, method));
        let mut runs: Vec<Run> = settings.main_worlds().flat_map(shared).collect();
        let learning = settings.learning(model);
        for &clusters in &settings.rq3.clusters {
            for world in settings.worlds(clusters, settings.sessions()) {
                runs.extend(learning.iter().map(|&method| run(world, method)));
            }
        }
        runs
    }

    fn claims(&self, results: &Results) -> Vec<Claim> {
        let model = results.settings.main_model();
        let baselines = results.settings.possible(model, BASELINES);
        let claim = |&clusters: &usize| {
            let of = |method| with_clusters(results, clusters, method, model);
            let parts = Part::ahead_of(&of(Method::USER_AWARE)?, &baselines, of)?;
            let text = format!("with {clusters} clusters of users user-aware is best");
            Some(Claim::new(Question::Rq3, text, parts))
        };
        results.settings.rq3.clusters.iter().filter_map(claim).collect()
    }

    fn blocks(&self, results: &Results) -> Option<Vec<Block>> {
        Some(vec![Block::Table(table(results, results.settings.models.first()?)?)])
    }
}

/// The outcomes of a method with so many clusters. Grades and the production ranker do not depend on users.
fn with_clusters<'a>(results: &'a Results, clusters: usize, method: Method, model: &ModelForm) -> Option<Group<'a>> {
    let clusters = if method.learns_from_clicks() { clusters } else { results.settings.clusters };
    let log = LogKind::Simulated { clusters, sessions: results.settings.sessions() };
    results.on(log, method, Source::Known, model)
}

fn table(results: &Results, model: &ModelForm) -> Option<Table> {
    let numbers = &results.settings.rq3.clusters;
    let rows: Vec<Row> = Method::ALL.into_iter().filter_map(|method| row(results, model, method)).collect();
    let name = |number: &usize| format!("{number} clusters");
    let mut columns: Vec<Column> =
        numbers.iter().map(|number| Column::new(name(number), Format::Measure).best(Best::Largest)).collect();
    let mut notes = vec![marks(results.settings.seeds.len())];
    if has_paper(model) {
        columns.extend(numbers.iter().map(|number| Column::new(name(number), Format::Measure).paper()));
        notes.push(THEIRS.to_string());
    }
    let caption = format!("nDCG@5 of {} rankers by the number of clusters of users.", model.name());
    (!rows.is_empty()).then(|| Table { name: "rq3".into(), caption, label: "method".into(), columns, rows, notes })
}

fn row(results: &Results, model: &ModelForm, method: Method) -> Option<Row> {
    let of = |method, clusters| with_clusters(results, clusters, method, model);
    let cell = |&clusters: &usize| {
        let aware = of(Method::USER_AWARE, clusters)?;
        let reference = (method != Method::USER_AWARE).then_some(&aware);
        Some(interval_cell(&of(method, clusters)?, NDCG5, reference))
    };
    let numbers = &results.settings.rq3.clusters;
    let mut cells: Vec<Cell> = numbers.iter().map(cell).collect::<Option<_>>()?;
    if has_paper(model) {
        cells.extend(numbers.iter().map(|&clusters| paper_cell(paper::by_clusters(method, clusters))));
    }
    Some(method_row(method.to_string(), method, cells))
}
