//! rq2: learning curves over sessions.

use super::parts::{band, comparisons, main_group, marks, measure_cell, method_row, style};
use crate::experiment::{Claim, Method, NDCG5, Results};
use crate::ranker::ModelForm;
use crate::report::{Axis, Best, Block, Cell, Chart, Column, Figure, Format, Lines, Point, Section, Series, Table};

pub fn section(results: &Results, claims: &[&Claim]) -> Option<Section> {
    let mut blocks = Vec::new();
    for model in &results.settings.models {
        if let Some(figure) = figure(results, model) {
            blocks.push(Block::Figure(figure));
        }
        blocks.extend(table(results, model).map(Block::Table));
    }
    if blocks.is_empty() {
        return None;
    }
    if !results.settings.rq2.methods.contains(&Method::PRS_BY_SCORE) {
        let text = "prs and prs-by-score are not among these methods; `rq2.methods` in the settings can add them.";
        blocks.push(Block::Text(text.into()));
    }
    blocks.extend(comparisons(claims));
    Some(Section {
        id: "rq2".into(),
        title: "RQ2: Fewer and more sessions".into(),
        question: "How fast does each correction learn, and does it reach what grades would teach?".into(),
        answers: claims.iter().map(|claim| super::claims::answer(claim)).collect(),
        blocks,
    })
}

/// A file name's part.
fn slug(model: &ModelForm) -> String {
    model.name().to_lowercase().replace([':', ','], "-")
}

fn figure(results: &Results, model: &ModelForm) -> Option<Figure> {
    let sizes = &results.settings.rq2.sessions;
    let curve = |&method: &Method| {
        let point = |&sessions: &u64| {
            let group = results.at_size(sessions, method, model)?;
            Some(Point { x: sessions as f64, y: group.mean(NDCG5), band: band(group.interval(NDCG5)) })
        };
        let points: Vec<Point> = sizes.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Series { name: method.to_string(), points, style: style(method) })
    };
    let mut series: Vec<Series> = results.settings.rq2.methods.iter().filter_map(curve).collect();
    if series.is_empty() {
        return None;
    }
    if let Some(ideal) = main_group(results, Method::Ideal, model) {
        let level = |&sessions: &u64| Point::new(sessions as f64, ideal.mean(NDCG5));
        series.push(Series {
            name: "ideal".into(),
            points: sizes.iter().map(level).collect(),
            style: style(Method::Ideal),
        });
    }
    let lines =
        Lines { x: Axis::new("sessions", Format::Count).log(), y: Axis::new("nDCG@5", Format::Measure), series };
    let caption = format!(
        "{} rankers: nDCG@5 over the number of sessions. Bands are 95 % intervals over seeds; ideal learns from grades.",
        model.name()
    );
    Some(Figure { name: format!("rq2-{}", slug(model)), caption, chart: Chart::Lines(lines) })
}

fn table(results: &Results, model: &ModelForm) -> Option<Table> {
    let sizes = &results.settings.rq2.sessions;
    let row = |method: Method| {
        let cell = |&sessions: &u64| {
            let group = match method {
                Method::Ideal => main_group(results, Method::Ideal, model),
                _ => results.at_size(sessions, method, model),
            };
            let aware = results.at_size(sessions, Method::USER_AWARE, model);
            let reference = aware.as_ref().filter(|_| method != Method::USER_AWARE);
            group.map_or_else(Cell::empty, |group| measure_cell(&group, NDCG5, reference))
        };
        let cells: Vec<Cell> = sizes.iter().map(cell).collect();
        cells.iter().any(|cell| cell.value.is_some()).then(|| method_row(method.to_string(), method, cells))
    };
    let methods = [Method::Ideal].into_iter().chain(results.settings.rq2.methods.iter().copied());
    let rows: Vec<_> = methods.filter_map(row).collect();
    let column =
        |&sessions: &u64| Column::new(Format::Count.print(sessions as f64), Format::Measure).best(Best::Largest);
    (rows.len() > 1).then(|| Table {
        name: format!("rq2-{}", slug(model)),
        caption: format!("nDCG@5 of {} rankers by the number of sessions.", model.name()),
        label: "method".into(),
        columns: sizes.iter().map(column).collect(),
        rows,
        notes: vec![marks(results.settings.seeds.len()), "Intervals over seeds are the bands of the figure.".into()],
    })
}
