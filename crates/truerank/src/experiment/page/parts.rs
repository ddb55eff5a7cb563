//! Pieces that several sections are made of.

use crate::evaluate::{FEWEST_RUNS, Interval, Measure};
use crate::experiment::group::SIGNIFICANCE;
use crate::experiment::{Claim, Compared, Group, Method, NDCG5, Part, Results, Source};
use crate::figures::population_curve;
use crate::propensity::Propensities;
use crate::ranker::ModelForm;
use crate::report::{Block, Cell, Column, Dot, Format, Mark, Row, Style, Table, Verdict};

use super::claims::{difference_cell, signed};

/// What stands under tables with marks, of runs with so many seeds.
pub fn marks(seeds: usize) -> String {
    marks_against("user-aware", seeds)
}

/// The same of marks against something else.
pub fn marks_against(what: &str, seeds: usize) -> String {
    match seeds < FEWEST_RUNS {
        true => format!(
            "+ and −: these rankers are significantly better or worse than {what} on queries like these (paired t-test over \
             test queries, p < .05); fewer than {FEWEST_RUNS} seeds cannot tell what other logs and initial weights would give."
        ),
        false => format!(
            "+ and −: significantly better or worse than {what} (p < .05, tested over seeds and test queries together; \
             squared errors over logs)."
        ),
    }
}

/// What stands under tables with the paper's numbers.
pub const THEIRS: &str = "Columns headed \u{201c}paper\u{201d} are the paper's own numbers, measured on other data \
                          (Yahoo! LETOR) with other rankers; they show the order to expect, not the values.";

/// A measure of a group, marked against the reference.
pub fn measure_cell(group: &Group<'_>, measure: Measure, reference: Option<&Group<'_>>) -> Cell {
    let test = reference.and_then(|reference| group.test(reference, measure));
    Cell::value(group.mean(measure)).mark(test.and_then(|found| mark(found, measure.larger_is_better())))
}

/// The same with its interval over seeds.
pub fn interval_cell(group: &Group<'_>, measure: Measure, reference: Option<&Group<'_>>) -> Cell {
    let half_width = group.interval(measure).map(|interval| interval.half_width);
    measure_cell(group, measure, reference).half_width(half_width)
}

/// The squared error of estimated relevance, marked against the reference.
pub fn mse_cell(group: &Group<'_>, reference: Option<&Group<'_>>) -> Cell {
    let Some(mse) = group.mse() else { return Cell::empty() };
    let test = reference.and_then(|reference| group.test_mse(reference));
    Cell::value(mse).mark(test.and_then(|found| mark(found, false)))
}

/// The mark of a difference that is more than chance.
fn mark(Compared { test, .. }: Compared, larger_is_better: bool) -> Option<Mark> {
    let better = (test.difference > 0.0) == larger_is_better;
    (test.p() < SIGNIFICANCE).then_some(if better { Mark::Better } else { Mark::Worse })
}

/// Whether the paper has numbers for such rankers in rq1 and rq3.
pub fn has_paper(model: &ModelForm) -> bool {
    *model == ModelForm::mlp()
}

/// A number of the paper, or nothing.
pub fn paper_cell(value: Option<f64>) -> Cell {
    value.map_or_else(Cell::empty, Cell::value)
}

/// A row that competes for the best value if its method learns from clicks.
pub fn method_row(label: impl Into<String>, method: Method, cells: Vec<Cell>) -> Row {
    let first_that_learns = method == Method::NAIVE;
    Row { competes: method.learns_from_clicks(), rule: first_that_learns, ..Row::new(label, cells) }
}

/// What is emphasised in figures.
pub fn style(method: Method) -> Style {
    match method {
        Method::USER_AWARE | Method::SMOOTHED => Style::Strong,
        Method::Ideal | Method::Production => Style::Reference,
        _ => Style::Plain,
    }
}

/// The band of a mean over seeds.
pub fn band(interval: Option<Interval>) -> Option<(f64, f64)> {
    interval.map(|interval| (interval.mean - interval.half_width, interval.mean + interval.half_width))
}

/// nDCG@5 of a method with its interval.
pub fn dot(method: Method, group: &Group<'_>) -> Dot {
    Dot { name: method.to_string(), value: group.mean(NDCG5), band: band(group.interval(NDCG5)), style: style(method) }
}

/// `user-aware beats ips-pbm on 6 of 8 measures, not on all; nDCG@5 .7075 against .6988 (+.0087 ±.0031).`
pub fn comparison(claim: &Claim, aware: &Group<'_>, other: &Group<'_>, name: Method) -> Option<String> {
    let test = aware.test(other, NDCG5)?.test;
    Some(format!(
        "{}; nDCG@5 {} against {} ({}).",
        extent(claim, name),
        Format::Measure.print(aware.mean(NDCG5)),
        Format::Measure.print(other.mean(NDCG5)),
        signed(test.difference, test.half_width())
    ))
}

/// On how many measures user-aware is above a method.
fn extent(claim: &Claim, name: Method) -> String {
    let (count, shown) = (claim.parts.len(), claim.shown());
    let ahead = claim.parts.iter().filter(|part| part.is_ahead()).count();
    let below = claim.parts.iter().filter(|part| part.verdict() == Verdict::DoesNotHold).count();
    match (claim.is_tested(), shown, below) {
        (false, ..) => format!("in these runs user-aware is ahead of {name} on {ahead} of {count} measures"),
        (true, shown, _) if shown == count => format!("user-aware beats {name} on all {count} measures"),
        (true, 0, 0) => format!("No measure tells user-aware and {name} apart"),
        (true, 0, below) => format!("user-aware loses to {name} on {below} of {count} measures"),
        (true, shown, _) => format!("user-aware beats {name} on {shown} of {count} measures, not on all"),
    }
}

/// What a claim's comparisons were, folded away.
pub fn comparisons(claims: &[&Claim]) -> Option<Block> {
    let question = claims.first()?.question;
    let row = |claim: &Claim, part: &Part| {
        let cells = vec![
            Cell::text(part.what.clone()),
            difference_cell(part),
            Cell::value(part.boundary),
            part.p.map_or_else(Cell::empty, Cell::value),
        ];
        Row { competes: false, ..Row::new(claim.text.clone(), cells) }
    };
    let rows: Vec<Row> = claims.iter().flat_map(|claim| claim.parts.iter().map(move |part| row(claim, part))).collect();
    let columns = vec![
        Column::new("compared", Format::Text),
        Column::new("difference", Format::Measure),
        Column::new("has to be above", Format::Measure),
        Column::new("p", Format::PValue),
    ];
    let table = Table {
        name: format!("{question}-comparisons"),
        caption: "Every comparison behind the claims.".into(),
        label: "claim".into(),
        columns,
        rows,
        notes: vec!["p is that of the difference from what it has to be above, two-sided.".into()],
    };
    (!table.rows.is_empty())
        .then(|| Block::Fold("Every comparison behind these claims".into(), vec![Block::Table(table)]))
}

/// A curve for each user, and the population's.
pub fn user_curves(propensities: &Propensities) -> Vec<(String, Vec<f64>, Style)> {
    let users = (0..propensities.users.len()).map(|user| {
        let name = format!("users {}", propensities.users.name(user));
        (name, propensities.of_user(user).to_vec(), Style::Plain)
    });
    users.chain([population_curve(propensities)]).collect()
}

/// The groups of the main log with known θ.
pub fn main_group<'a>(results: &'a Results, method: Method, model: &ModelForm) -> Option<Group<'a>> {
    results.on(results.main_log(), method, Source::Known, model)
}
