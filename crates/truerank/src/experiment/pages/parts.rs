//! Pieces that several sections are made of.

use crate::evaluate::{Interval, Measure};
use crate::experiment::group::SIGNIFICANCE;
use crate::experiment::{Claim, Group, Method, NDCG5, Results, Source, WorldId};
use crate::figures::population_curve;
use crate::network::Architecture;
use crate::propensity::Propensities;
use crate::report::{Block, Cell, Column, Dot, Format, Mark, Row, Style, Table, Verdict};

/// What stands under tables with marks.
pub const MARKS: &str = "+ and − : significantly better or worse than user-aware (paired t-test over test queries, \
                         values averaged over seeds, p < .05).";

/// What stands under tables with the paper's numbers.
pub const THEIRS: &str = "Columns headed \u{201c}paper\u{201d} are the paper's own numbers, measured on other data \
                          (Yahoo! LETOR) with other rankers; they show the order to expect, not the values.";

/// A measure of a group, marked against the reference.
pub fn measure_cell(group: &Group<'_>, measure: Measure, reference: Option<&Group<'_>>) -> Cell {
    let test = reference.and_then(|reference| group.test(reference, measure));
    let mark = test
        .filter(|test| test.p < SIGNIFICANCE)
        .map(|test| if (test.difference > 0.0) == measure.larger_is_better() { Mark::Better } else { Mark::Worse });
    Cell::value(group.mean(measure)).mark(mark)
}

/// The same with its interval over seeds.
pub fn interval_cell(group: &Group<'_>, measure: Measure, reference: Option<&Group<'_>>) -> Cell {
    let half_width = group.interval(measure).map(|interval| interval.half_width);
    measure_cell(group, measure, reference).half_width(half_width)
}

/// The squared error of estimated relevance, marked against the reference.
pub fn mse_cell(group: &Group<'_>, reference: Option<&Group<'_>>) -> Cell {
    let Some(mse) = group.mse() else { return Cell::empty() };
    let test = reference.and_then(|reference| group.test_mse(reference)).filter(|test| test.p < SIGNIFICANCE);
    Cell::value(mse).mark(test.map(|test| if test.difference < 0.0 { Mark::Better } else { Mark::Worse }))
}

/// Whether the paper has numbers for such rankers in rq1 and rq3.
pub fn has_paper(model: &Architecture) -> bool {
    *model == Architecture::mlp()
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

/// `user-aware beats ips-pbm by .0087 nDCG@5 (.7075 against .6988, p < .001)`.
pub fn comparison(aware: &Group<'_>, other: &Group<'_>, name: Method) -> Option<String> {
    let test = aware.test(other, NDCG5)?;
    let verb = match (test.difference > 0.0, test.p < SIGNIFICANCE) {
        (true, true) => "beats",
        (true, false) => "is ahead of",
        (false, true) => "loses to",
        (false, false) => "is behind",
    };
    Some(format!(
        "user-aware {verb} {name} by {} nDCG@5 ({} against {}, {})",
        Format::Measure.print(test.difference.abs()),
        Format::Measure.print(aware.mean(NDCG5)),
        Format::Measure.print(other.mean(NDCG5)),
        p_text(test.p)
    ))
}

/// `p < .001` or `p = .023`.
pub fn p_text(p: f64) -> String {
    match Format::PValue.print(p) {
        text if text.starts_with('<') => format!("p {} {}", &text[..1], &text[1..]),
        text => format!("p = {text}"),
    }
}

/// What a claim's comparisons were, folded away.
pub fn comparisons(claims: &[&Claim]) -> Option<Block> {
    let question = claims.first()?.question;
    let row = |claim: &Claim, part: &crate::experiment::Part| {
        let verdict = Verdict::of(part.holds);
        let cells = vec![
            Cell::text(part.what.clone()),
            Cell::value(part.difference),
            Cell::value(part.p),
            Cell::default().verdict(verdict),
        ];
        Row { competes: false, ..Row::new(claim.text.clone(), cells) }
    };
    let rows: Vec<Row> = claims.iter().flat_map(|claim| claim.parts.iter().map(move |part| row(claim, part))).collect();
    let columns = vec![
        Column::new("compared", Format::Text),
        Column::new("difference", Format::Measure),
        Column::new("p", Format::PValue),
        Column::new("verdict", Format::Text),
    ];
    let table = Table {
        name: format!("{question}-comparisons"),
        caption: "Every comparison behind the claims.".into(),
        label: "claim".into(),
        columns,
        rows,
        notes: Vec::new(),
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

/// The worlds of the main table, one per seed.
pub fn main_worlds(results: &Results) -> impl Iterator<Item = WorldId> {
    let (clusters, sessions) = (results.settings.clusters, results.settings.sessions());
    results.settings.seeds.iter().map(move |&seed| WorldId::Simulated { clusters, sessions, seed })
}

/// The groups of the main log with known θ.
pub fn main_group<'a>(results: &'a Results, method: Method, model: &Architecture) -> Option<Group<'a>> {
    results.on(results.main_log(), method, Source::Known, model)
}
