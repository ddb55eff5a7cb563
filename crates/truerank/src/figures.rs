//! Figures and tables that several pages show.

use crate::propensity::Propensities;
use crate::relevance::Diagnostics;
use crate::report::{Axis, Cell, Chart, Column, Figure, Format, Lines, Point, Row, Series, Style, Table};

/// Examination by position: a curve per name.
pub(crate) fn examination_figure(name: &str, caption: String, curves: Vec<(String, Vec<f64>, Style)>) -> Figure {
    let series = curves.into_iter().map(|(name, values, style)| {
        let points = values.iter().enumerate().map(|(k, theta)| Point::new((k + 1) as f64, *theta)).collect();
        Series { name, points, style }
    });
    let lines = Lines {
        x: Axis::new("position", Format::Count),
        y: Axis::new("examination", Format::Measure),
        series: series.collect(),
    };
    Figure { name: name.into(), caption, chart: Chart::Lines(lines) }
}

/// The population's curve, shown with those of users.
pub(crate) fn population_curve(propensities: &Propensities) -> (String, Vec<f64>, Style) {
    ("all users".to_string(), propensities.population.clone(), Style::Strong)
}

/// What people who look so are called, from their examination of the positions from the top: by where it falls below half and
/// below a quarter of its largest value.
pub(crate) fn readers(examination: &[f64]) -> &'static str {
    let largest = examination.iter().copied().fold(0.0, f64::max);
    // Past the last position that has so much, nothing has.
    let reach = |share: f64| examination.iter().rposition(|&theta| theta >= share * largest).map_or(0, |last| last + 1);
    let positions = examination.len();
    match (reach(0.5), reach(0.25)) {
        _ if positions < 2 || largest <= 0.0 => "readers",
        (_, 1) => "first result only",
        (1, _) | (2, 2..=3) => "top results",
        (half, _) if 2 * half >= positions => "deep readers",
        _ => "middle of the page",
    }
}

/// Curves of one name share a colour, so that those after the first get a number.
pub(crate) fn number_equal_names<'a>(names: impl Iterator<Item = &'a mut String>) {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        let same = seen.iter().filter(|earlier| *earlier == name).count();
        seen.push(name.clone());
        if same > 0 {
            *name = format!("{name} ({})", same + 1);
        }
    }
}

/// How many clicks of equal weight each query is worth, and how much hangs on the heaviest.
pub(crate) fn weights_table(name: &str, estimator: &str, weights: &Diagnostics) -> Table {
    let sizes = &weights.effective;
    let [lower, median, upper] = sizes.quartiles;
    let cells = [lower, median, upper, sizes.under_ten, weights.top_share].map(Cell::value);
    Table {
        name: name.into(),
        caption: "How many clicks of equal weight each query is worth, and how much depends on the heaviest.".into(),
        label: "estimator".into(),
        columns: vec![
            Column::new("25th percentile", Format::Number),
            Column::new("median", Format::Number),
            Column::new("75th percentile", Format::Number),
            Column::new("queries below 10", Format::Percent),
            Column::new("weight of the heaviest 1\u{202f}% of clicks", Format::Percent),
        ],
        rows: vec![Row::new(estimator, cells.to_vec())],
        notes: vec!["Effective sample sizes of queries, (Σw)²/Σw² over their clicks.".into()],
    }
}

/// How a value went over the steps of training.
pub(crate) fn learning_figure(name: &str, caption: &str, axis: &str, points: Vec<Point>) -> Figure {
    Figure {
        name: name.into(),
        caption: caption.into(),
        chart: Chart::Lines(Lines {
            x: Axis::new("step", Format::Count),
            y: Axis::new(axis, Format::Number),
            series: vec![Series { name: axis.into(), points, style: Style::Strong }],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_numbered() {
        let mut names = ["a", "b", "a", "a"].map(String::from);
        number_equal_names(names.iter_mut());
        assert_eq!(names, ["a", "b", "a (2)", "a (3)"]);
    }

    #[test]
    fn readers_are_named_by_how_far_they_look() {
        let power = |eta: f64| (1..=10).map(|k| f64::from(k).powf(-eta)).collect::<Vec<f64>>();
        let names = [3.0, 1.5, 0.7, 0.2, 0.0].map(|eta| readers(&power(eta)));
        assert_eq!(names, ["first result only", "top results", "middle of the page", "deep readers", "deep readers"]);
        assert_eq!([readers(&[]), readers(&[1.0]), readers(&[0.0, 0.0])], ["readers"; 3]);
    }
}
