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

/// The population's curve, to stand beside those of users.
pub(crate) fn population_curve(propensities: &Propensities) -> (String, Vec<f64>, Style) {
    ("all users".to_string(), propensities.population.clone(), Style::Strong)
}

/// How many clicks of equal weight each query is worth, and how much hangs on the heaviest.
pub(crate) fn weights_table(name: &str, estimator: &str, weights: &Diagnostics) -> Table {
    let sizes = &weights.effective;
    let [quarter, median, three_quarters] = sizes.quartiles;
    let cells = [quarter, median, three_quarters, sizes.under_ten, weights.top_share].map(Cell::value);
    Table {
        name: name.into(),
        caption: "How many clicks of equal weight each query is worth, and how much hangs on the heaviest.".into(),
        label: "estimator".into(),
        columns: vec![
            Column::new("quarter", Format::Number),
            Column::new("median", Format::Number),
            Column::new("three quarters", Format::Number),
            Column::new("queries under 10", Format::Percent),
            Column::new("weight of the top 1 % of clicks", Format::Percent),
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
