//! rq1 and rq3: the main table, and the one over numbers of clusters.

use super::parts::{
    MARKS, NDCG5, THEIRS, comparison, comparisons, examination_figure, group, interval_cell, main_group, measure_cell,
    method_row, model_name, paper_cell, user_curves,
};
use crate::data::Preset;
use crate::evaluate::Measure;
use crate::experiment::group::SIGNIFICANCE;
use crate::experiment::paper::{self, PaperData};
use crate::experiment::{Group, LogKind, Method, Question, Results, Source, WorldId};
use crate::network::Architecture;
use crate::report::{
    Axis, Best, Block, Cell, Chart, Column, Figure, Format, HeatMap, Lines, Mark, Point, Section, Series, Stacked,
    Style, Table,
};

/// rq1.
pub fn main_table(results: &Results) -> Option<Section> {
    let model = results.settings.models.first()?;
    let aware = main_group(results, Method::USER_AWARE, model)?;
    let mut section = Section {
        id: "rq1".into(),
        title: "RQ1: The main table".into(),
        question: "Does weighting clicks by the users of each query learn better rankers than the other corrections?"
            .into(),
        ..Section::default()
    };
    for method in Method::ALL.into_iter().filter(|method| *method != Method::USER_AWARE && *method != Method::SMOOTHED)
    {
        if let Some(other) = main_group(results, method, model).filter(|_| method != Method::Ideal) {
            section.answers.push(comparison(&aware, &other, &method.to_string()));
        }
    }
    section.blocks.push(Block::Table(measures_table(results, model, &aware)));
    section.blocks.extend(wins(results, model, &aware).map(Block::Figure));
    section.blocks.push(Block::Text(
        "Estimated relevance against true grades: each row is a true grade, each column the grade nearest to the estimate, \
         in shares of the row. A perfect estimator has ones on the diagonal."
            .into(),
    ));
    section.blocks.push(Block::Gallery(confusions(results, model)));
    section.blocks.extend(click_rates(results).map(Block::Figure));
    section.blocks.extend(examination(results).map(Block::Figure));
    section.blocks.extend(comparisons(results, Question::Rq1));
    Some(section)
}

/// Which of the paper's data sets ours is like.
fn paper_data(results: &Results) -> PaperData {
    match (&results.settings.data.folder, results.settings.data.preset) {
        (None, Preset::Baidu) => PaperData::Baidu,
        _ => PaperData::Yahoo,
    }
}

fn measures_table(results: &Results, model: &Architecture, aware: &Group<'_>) -> Table {
    let data = paper_data(results);
    let mut columns: Vec<Column> = Measure::paper()
        .into_iter()
        .map(|measure| Column::new(measure.to_string(), Format::Measure).best(Best::Largest))
        .collect();
    columns.push(Column::new("MSE", Format::Measure).best(Best::Smallest));
    columns.push(Column::new("nDCG@5", Format::Measure).paper());
    columns.push(Column::new("MSE", Format::Measure).paper());
    let row = |method: Method| {
        let group = main_group(results, method, model)?;
        let reference = (method != Method::USER_AWARE).then_some(aware);
        let cell = |measure: Measure| match measure == NDCG5 {
            true => interval_cell(&group, measure, reference),
            false => measure_cell(&group, measure, reference),
        };
        let mut cells: Vec<Cell> = Measure::paper().into_iter().map(cell).collect();
        cells.push(mse_cell(&group, reference));
        cells.push(paper_cell(paper::main_table(data, method, NDCG5)));
        cells.push(paper_cell(paper::main_mse(data, method)));
        Some(method_row(method.to_string(), method, cells))
    };
    let sessions = Format::Count.print(results.settings.sessions as f64);
    let whose = match data {
        PaperData::Yahoo => "Yahoo! LETOR",
        PaperData::Baidu => "Baidu-ULTR",
    };
    Table {
        name: "rq1".into(),
        caption: format!("{} rankers, {sessions} sessions of {} kinds of users.", model_name(model), results.settings.clusters),
        label: "method".into(),
        columns,
        rows: Method::ALL.into_iter().filter_map(row).collect(),
        notes: vec![
            MARKS.into(),
            "± is half the 95 % interval over seeds. MSE: mean squared error of estimated relevance over shown documents."
                .into(),
            format!("The columns headed \u{201c}paper\u{201d} are the paper's own numbers on {whose}: other data, so compare their order."),
        ],
    }
}

fn mse_cell(group: &Group<'_>, reference: Option<&Group<'_>>) -> Cell {
    let Some(mse) = group.mse() else { return Cell::empty() };
    let test = reference.and_then(|reference| group.test_mse(reference)).filter(|test| test.p < SIGNIFICANCE);
    Cell::value(mse).mark(test.map(|test| if test.difference < 0.0 { Mark::Better } else { Mark::Worse }))
}

/// For how many test queries user-aware is better, equal, worse.
fn wins(results: &Results, model: &Architecture, aware: &Group<'_>) -> Option<Figure> {
    let values = aware.per_query(NDCG5);
    let row = |method: Method| {
        let other = main_group(results, method, model)?.per_query(NDCG5);
        let count = |wanted: std::cmp::Ordering| {
            let pairs = values.iter().zip(&other);
            pairs.filter(|(a, b)| a.partial_cmp(b) == Some(wanted)).count() as f64
        };
        let [more, equal, less] =
            [std::cmp::Ordering::Greater, std::cmp::Ordering::Equal, std::cmp::Ordering::Less].map(count);
        Some((format!("against {method}"), vec![more, equal, less]))
    };
    let others = Method::ALL.into_iter().filter(|method| *method != Method::USER_AWARE);
    let rows: Vec<_> = others.filter_map(row).collect();
    let parts = ["user-aware better", "equal", "worse"].map(String::from).to_vec();
    (!rows.is_empty()).then(|| Figure {
        name: "rq1-wins".into(),
        caption: "Test queries that user-aware ranks better, equally well, or worse, by nDCG@5 averaged over seeds."
            .into(),
        chart: Chart::Stacked(Stacked { parts, rows }),
    })
}

fn confusions(results: &Results, model: &Architecture) -> Vec<Figure> {
    let figure = |method: Method| {
        let matrix = main_group(results, method, model)?.confusion()?;
        let grades: Vec<String> = (0..matrix.len()).map(|grade| grade.to_string()).collect();
        let share = |row: &Vec<f64>| {
            let total: f64 = row.iter().sum();
            row.iter().map(|&count| (total > 0.0).then_some(count / total)).collect()
        };
        let map = HeatMap {
            row_title: "true grade".into(),
            column_title: "estimated grade".into(),
            rows: grades.clone(),
            columns: grades,
            values: matrix.iter().map(share).collect(),
            format: Format::Number,
            range: Some((0.0, 1.0)),
        };
        Some(Figure {
            name: format!("rq1-confusion-{method}"),
            caption: method.to_string(),
            chart: Chart::HeatMap(map),
        })
    };
    Method::ALL.into_iter().filter_map(figure).collect()
}

/// Clicks per position, the mean over seeds; on Baidu-like data beside the paper's.
fn click_rates(results: &Results) -> Option<Figure> {
    let worlds = main_worlds(results);
    let rates: Vec<&[f64]> =
        worlds.iter().filter_map(|w| results.world(*w)).map(|w| w.click_rates.as_slice()).collect();
    let ours = crate::experiment::group::average(rates.iter());
    if ours.is_empty() {
        return None;
    }
    let series = |name: &str, values: &[f64], style: Style| Series {
        name: name.into(),
        points: values.iter().enumerate().map(|(k, rate)| Point::new((k + 1) as f64, *rate)).collect(),
        style,
    };
    let mut all = vec![series("simulated log", &ours, Style::Strong)];
    if paper_data(results) == PaperData::Baidu {
        all.push(series("paper, on Baidu-ULTR", &paper::BAIDU_CLICK_RATES, Style::Paper));
    }
    let lines = Lines {
        x: Axis::new("position", Format::Count),
        y: Axis::new("clicks per impression", Format::Measure),
        series: all,
    };
    let caption = "Clicks per impression by position in the simulated log, mean over seeds.".to_string();
    Some(Figure { name: "rq1-clicks".into(), caption, chart: Chart::Lines(lines) })
}

fn main_worlds(results: &Results) -> Vec<WorldId> {
    let settings = &results.settings;
    let (clusters, sessions) = (settings.clusters, settings.sessions);
    settings.seeds.iter().map(|&seed| WorldId::Simulated { clusters, sessions, seed }).collect()
}

/// How far down each kind of user looks.
fn examination(results: &Results) -> Option<Figure> {
    let world = main_worlds(results).into_iter().next()?;
    let found = results.examination(world, Source::Known)?;
    let caption =
        "How far down each kind of user looks: the probability that a position is examined, as simulated.".to_string();
    Some(examination_figure("rq1-examination", caption, user_curves(&found.propensities)))
}

/// rq3.
pub fn by_clusters(results: &Results) -> Option<Section> {
    let model = results.settings.models.first()?;
    let numbers = &results.settings.rq3.clusters;
    let of = |method: Method, clusters: usize| {
        // Grades and the production ranker do not depend on users.
        let clusters = if method.learns_from_clicks() { clusters } else { results.settings.clusters };
        let log = LogKind::Simulated { clusters, sessions: results.settings.sessions };
        group(results, log, method, Source::Known, model)
    };
    let mut columns = Vec::new();
    for number in numbers {
        columns.push(Column::new(format!("{number} clusters"), Format::Measure).best(Best::Largest));
    }
    columns.extend(numbers.iter().map(|number| Column::new(format!("{number} clusters"), Format::Measure).paper()));
    let row = |method: Method| {
        let cell = |&clusters: &usize| {
            let aware = of(Method::USER_AWARE, clusters)?;
            let reference = (method != Method::USER_AWARE).then_some(&aware);
            Some(interval_cell(&of(method, clusters)?, NDCG5, reference))
        };
        let mut cells: Vec<Cell> = numbers.iter().map(cell).collect::<Option<_>>()?;
        cells.extend(numbers.iter().map(|&clusters| paper_cell(paper::by_clusters(method, clusters))));
        Some(method_row(method.to_string(), method, cells))
    };
    let rows: Vec<_> = Method::ALL.into_iter().filter_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let claims = results.claims().into_iter().filter(|claim| claim.question == Question::Rq3);
    let mut section = Section {
        id: "rq3".into(),
        title: "RQ3: Fewer and more kinds of users".into(),
        question: "Does user-aware stay best when users differ less or more?".into(),
        answers: claims.map(|claim| super::claims::answer(&claim)).collect(),
        blocks: vec![Block::Table(Table {
            name: "rq3".into(),
            caption: format!("nDCG@5 of {} rankers by the number of clusters of users.", model_name(model)),
            label: "method".into(),
            columns,
            rows,
            notes: vec![MARKS.into(), THEIRS.into()],
        })],
    };
    section.blocks.extend(comparisons(results, Question::Rq3));
    Some(section)
}
