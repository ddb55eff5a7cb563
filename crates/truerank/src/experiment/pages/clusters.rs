//! rq3: fewer and more kinds of users.

use super::parts::{THEIRS, comparisons, has_paper, interval_cell, marks, method_row, paper_cell};
use crate::experiment::{Claim, LogKind, Method, NDCG5, Results, Source, paper};
use crate::ranker::ModelForm;
use crate::report::{Best, Block, Cell, Column, Format, Row, Section, Table};

pub fn section(results: &Results, claims: &[&Claim]) -> Option<Section> {
    let model = results.settings.models.first()?;
    let mut blocks = vec![Block::Table(table(results, model)?)];
    blocks.extend(comparisons(claims));
    Some(Section {
        id: "rq3".into(),
        title: "RQ3: Fewer and more kinds of users".into(),
        question: "Does user-aware stay best when users differ less or more?".into(),
        answers: claims.iter().map(|claim| super::claims::answer(claim)).collect(),
        blocks,
    })
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
    let of = |method: Method, clusters: usize| {
        // Grades and the production ranker do not depend on users.
        let clusters = if method.learns_from_clicks() { clusters } else { results.settings.clusters };
        let log = LogKind::Simulated { clusters, sessions: results.settings.sessions() };
        results.on(log, method, Source::Known, model)
    };
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
