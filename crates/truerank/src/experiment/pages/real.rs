//! The log of real users, or what stands for it.

use super::parts::{MARKS, comparisons, dot, interval_cell, method_row, mse_cell};
use crate::experiment::{Claim, Group, LogKind, Method, NDCG5, Results, Source, WorldId};
use crate::propensity::mean_examined_position;
use crate::ranker::Unmatched;
use crate::report::{Axis, Best, Block, Chart, Column, Dots, Figure, Format, HeatMap, Section, Table};

pub fn section(results: &Results, claims: &[&Claim]) -> Option<Section> {
    let model = results.settings.models.first()?;
    let of = |method: Method| results.on(LogKind::Logged, method, Source::EM, model);
    let aware = of(Method::USER_AWARE)?;
    let knows_truth = aware.mse().is_some();
    let row = |method: Method| {
        let reference = (method != Method::USER_AWARE).then_some(&aware);
        let group = of(method)?;
        let mut cells = vec![interval_cell(&group, NDCG5, reference)];
        cells.extend(knows_truth.then(|| mse_cell(&group, reference)));
        Some(method_row(method.to_string(), method, cells))
    };
    let mut columns = vec![Column::new("nDCG@5", Format::Measure).best(Best::Largest)];
    columns.extend(knows_truth.then(|| Column::new("MSE", Format::Measure).best(Best::Smallest)));
    let mut notes =
        vec![MARKS.to_string(), "± is half the 95 % interval over runs, which differ in the seed of training.".into()];
    notes.extend(knows_truth.then(|| "MSE: mean squared error of estimated relevance over shown documents.".into()));
    let table = Table {
        name: "real".into(),
        caption: format!("nDCG@5 of {} rankers.", model.name()),
        label: "method".into(),
        columns,
        rows: Method::ALL.into_iter().filter_map(row).collect(),
        notes,
    };
    // prs is far off, and would squeeze the others together.
    let shown = Method::ALL.into_iter().filter(|method| *method != Method::PRS);
    let dots = shown.filter_map(|method| Some(dot(method, &of(method)?))).collect();
    let dots = Dots { axis: Axis::new("nDCG@5", Format::Measure), rows: dots };
    let caption = "nDCG@5 with 95 % intervals over runs; prs is in the table.".to_string();
    let mut blocks = vec![Block::Text(about(results, &aware)), Block::Table(table)];
    blocks.push(Block::Figure(Figure { name: "real".into(), caption, chart: Chart::Dots(dots) }));
    blocks.extend(clusters(results).map(Block::Figure));
    blocks.extend(comparisons(claims));
    Some(Section {
        id: "real".into(),
        title: "Many users with few sessions".into(),
        question: "Does it work on a log as search engines have it?".into(),
        answers: claims.iter().map(|claim| super::claims::answer(claim)).collect(),
        blocks,
    })
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
