//! The log of real users, or what stands for it.

use super::parts::{comparisons, dot, interval_cell, method_row, mse_cell};
use crate::experiment::{Claim, Group, JudgedOn, LogKind, Method, NDCG5, Results, Source, WorldId};
use crate::propensity::mean_examined_position;
use crate::ranker::{ModelForm, Unmatched};
use crate::report::{Axis, Best, Block, Chart, Column, Dots, Figure, Format, HeatMap, Section, Table};

pub fn section(results: &Results, claims: &[&Claim]) -> Option<Section> {
    let model = results.settings.models.first()?;
    let of = |method: Method| results.on(LogKind::Logged, method, Source::EM, model);
    let aware = of(Method::USER_AWARE)?;
    let groups: Vec<(Method, Group<'_>)> =
        Method::ALL.into_iter().filter_map(|method| Some((method, of(method)?))).collect();
    let mut blocks = vec![Block::Text(about(results, &aware)), Block::Table(table(model, &groups, &aware))];
    blocks.push(Block::Figure(dots(&groups)));
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
            "+ and − : significantly better or worse than user-aware on this log (p < .05, tested over the seeds of \
                    training, from three on, and test queries together). ± is half the 95 % interval over seeds."
                .to_string()
        }
        None => {
            "+ and − : significantly better or worse than user-aware on this log (paired t-test over test queries, \
                 p < .05). Each ranker was trained once."
                .to_string()
        }
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
