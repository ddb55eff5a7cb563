//! rq1: the main table, and what stands behind it.

use super::{Ask, Question};
use crate::data::Preset;
use crate::evaluate::Measure;
use crate::experiment::group::average;
use crate::experiment::page::{
    answer, comparison, dot, has_paper, main_group, marks, measure_cell, method_row, mse_cell, paper_cell, user_curves,
};
use crate::experiment::paper::{self, PaperData};
use crate::experiment::{Claim, Group, Method, NDCG5, Part, Results, Run, Settings, Source};
use crate::figures::examination_figure;
use crate::ranker::ModelForm;
use crate::report::{
    Answer, Axis, Best, Block, Cell, Chart, Column, Dot, Dots, Figure, Format, HeatMap, Lines, Point, Series, Stacked,
    Style, Table,
};

/// Is user-aware better than the others?
pub struct Rq1;

impl Ask for Rq1 {
    fn title(&self) -> &'static str {
        "RQ1: The main table"
    }

    fn words(&self) -> &'static str {
        "Does weighting clicks by the users of each query learn better rankers than the other corrections?"
    }

    fn runs(&self, settings: &Settings) -> Vec<Run> {
        let model = settings.main_model();
        let methods = settings.possible(model, Method::ALL);
        let of_world = |world| methods.iter().map(move |&method| Run::new(world, method, Source::Known, model));
        settings.main_worlds().flat_map(of_world).collect()
    }

    fn claims(&self, results: &Results) -> Vec<Claim> {
        let of = |method| main_group(results, method, results.settings.main_model());
        let Some(aware) = of(Method::USER_AWARE) else { return Vec::new() };
        let baselines =
            [Method::Production, Method::NAIVE, Method::IPS_PBM, Method::PRS_BY_SCORE, Method::STRAIGHTFORWARD];
        let above = |method: Method| {
            let other = of(method)?;
            let part = |measure: Measure| Some(Part::ahead(measure.to_string(), aware.test(&other, measure)?));
            let parts = Measure::paper().into_iter().map(part).collect::<Option<_>>()?;
            let text = format!("user-aware is above {method} on all eight measures");
            Some(Claim { against: Some(method), ..Claim::new(Question::Rq1, text, parts) })
        };
        let mut claims: Vec<Claim> = baselines.into_iter().filter_map(above).collect();
        let closer = |method: Method| Some(Part::ahead(format!("against {method}"), of(method)?.test_mse(&aware)?));
        let estimating = [Method::NAIVE, Method::IPS_PBM, Method::STRAIGHTFORWARD];
        if let Some(parts) = estimating.into_iter().map(closer).collect::<Option<Vec<_>>>() {
            let text = "user-aware estimates relevance with the least squared error";
            claims.push(Claim { unit: "squared error", ..Claim::new(Question::Rq1, text, parts) });
        }
        claims
    }

    /// On how many measures each claim is shown, and what nDCG@5 says.
    fn answers(&self, results: &Results, claims: &[&Claim]) -> Vec<Answer> {
        let of = |method| main_group(results, method, results.settings.main_model());
        let of_claim = |claim: &&Claim| {
            let Some(baseline) = claim.against else { return Some(answer(claim)) };
            let text = comparison(claim, &of(Method::USER_AWARE)?, &of(baseline)?, baseline)?;
            Some(Answer { verdict: None, text })
        };
        claims.iter().filter_map(of_claim).collect()
    }

    fn blocks(&self, results: &Results) -> Option<Vec<Block>> {
        let model = results.settings.models.first()?;
        let aware = main_group(results, Method::USER_AWARE, model)?;
        let mut blocks =
            vec![Block::Figure(intervals(results, model)), Block::Table(measures_table(results, model, &aware))];
        blocks.extend(wins(results, model, &aware).map(Block::Figure));
        blocks.push(Block::Text(
            "Estimated relevance against true grades: each row is a true grade, each column the grade nearest to the \
             estimate, in shares of the row. A perfect estimator has ones on the diagonal."
                .into(),
        ));
        blocks.push(Block::Gallery(confusions(results, model)));
        blocks.extend(click_rates(results).map(Block::Figure));
        blocks.extend(examination(results).map(Block::Figure));
        if has_paper(model) {
            let table = Block::Table(paper_table(paper_data(results)));
            blocks.push(Block::Fold("The paper's own table".into(), vec![table]));
        }
        Some(blocks)
    }
}

/// nDCG@5 of every method, with its interval over seeds where there are several.
fn intervals(results: &Results, model: &ModelForm) -> Figure {
    // prs is far off, and would squeeze the others together.
    let methods = Method::ALL.into_iter().filter(|method| *method != Method::PRS);
    let dots: Vec<Dot> = methods.filter_map(|method| Some(dot(method, &main_group(results, method, model)?))).collect();
    let intervals = if results.settings.seeds.len() > 1 { " with 95 % intervals over seeds" } else { "" };
    let caption =
        format!("nDCG@5 of every method, with the simulation's true examination{intervals}; prs is in the table.");
    let chart = Chart::Dots(Dots { axis: Axis::new("nDCG@5", Format::Measure), rows: dots });
    Figure { name: "rq1".into(), caption, chart }
}

/// Which of the paper's data sets ours is like.
fn paper_data(results: &Results) -> PaperData {
    match (&results.settings.data.folder, results.settings.data.preset) {
        (None, Preset::Baidu) => PaperData::Baidu,
        _ => PaperData::Yahoo,
    }
}

fn measures_table(results: &Results, model: &ModelForm, aware: &Group<'_>) -> Table {
    let data = paper_data(results);
    let mut columns: Vec<Column> = Measure::paper()
        .into_iter()
        .map(|measure| Column::new(measure.to_string(), Format::Measure).best(Best::Largest))
        .collect();
    columns.push(Column::new("MSE", Format::Measure).best(Best::Smallest));
    let mut notes = vec![
        marks(results.settings.seeds.len()),
        "MSE: mean squared error of estimated relevance over shown documents.".to_string(),
    ];
    if let Some(beta) = main_group(results, Method::SMOOTHED, model).and_then(|smoothed| smoothed.beta()) {
        notes.push(format!(
            "β of user-aware-smoothed, estimated from each log: {} on average.",
            Format::Number.print(beta)
        ));
    }
    if has_paper(model) {
        columns.push(Column::new("nDCG@5", Format::Measure).paper());
        columns.push(Column::new("MSE", Format::Measure).paper());
        notes.push(format!(
            "The columns headed \u{201c}paper\u{201d} are the paper's own numbers on {}: other data, so compare their order.",
            data.name()
        ));
    }
    let row = |method: Method| {
        let group = main_group(results, method, model)?;
        let reference = (method != Method::USER_AWARE).then_some(aware);
        let cell = |measure: Measure| measure_cell(&group, measure, reference);
        let mut cells: Vec<Cell> = Measure::paper().into_iter().map(cell).collect();
        cells.push(mse_cell(&group, reference));
        if has_paper(model) {
            cells.push(paper_cell(paper::main_table(data, method, NDCG5)));
            cells.push(paper_cell(paper::main_mse(data, method)));
        }
        Some(method_row(method.to_string(), method, cells))
    };
    let sessions = Format::Count.print(results.settings.sessions() as f64);
    Table {
        name: "rq1".into(),
        caption: format!(
            "{} rankers, {sessions} sessions of {} kinds of users; corrections know the simulation's true examination.",
            model.name(),
            results.settings.clusters
        ),
        label: "method".into(),
        columns,
        rows: Method::ALL.into_iter().filter_map(row).collect(),
        notes,
    }
}

/// The paper's own main table, whole.
fn paper_table(data: PaperData) -> Table {
    let measures =
        Measure::paper().into_iter().map(|measure| Column::new(measure.to_string(), Format::Measure).paper());
    let row = |method: Method| {
        let mut cells: Vec<Cell> =
            Measure::paper().into_iter().map(|measure| paper_cell(paper::main_table(data, method, measure))).collect();
        cells.push(paper_cell(paper::main_mse(data, method)));
        method_row(paper::name(method), method, cells)
    };
    Table {
        name: "rq1-paper".into(),
        caption: format!("What the paper reports on {}: MLP rankers, 1,000,000 sessions.", data.name()),
        label: "method".into(),
        columns: measures.chain([Column::new("MSE", Format::Measure).paper()]).collect(),
        rows: Method::ALL
            .into_iter()
            .filter(|&method| paper::main_table(data, method, NDCG5).is_some())
            .map(row)
            .collect(),
        notes: vec!["Theirs, on other data than ours.".into()],
    }
}

/// For how many test queries user-aware is better, equal, worse.
fn wins(results: &Results, model: &ModelForm, aware: &Group<'_>) -> Option<Figure> {
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

fn confusions(results: &Results, model: &ModelForm) -> Vec<Figure> {
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
            format: Format::Measure,
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
    let facts = results.settings.main_worlds().filter_map(|world| results.world(world));
    let ours = average(facts.map(|facts| facts.click_rates.as_slice()));
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
        y: Axis::new("clicks per impression", Format::Percent),
        series: all,
    };
    let caption = "Clicks per impression by position in the simulated log, mean over seeds.".to_string();
    Some(Figure { name: "rq1-clicks".into(), caption, chart: Chart::Lines(lines) })
}

/// How far down each kind of user looks.
fn examination(results: &Results) -> Option<Figure> {
    let world = results.settings.main_worlds().next()?;
    let found = results.examination(world, Source::Known)?;
    let caption =
        "How far down each kind of user looks: the probability that a position is examined, as simulated.".to_string();
    Some(examination_figure("rq1-examination", caption, user_curves(&found.propensities)))
}
