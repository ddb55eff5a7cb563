//! Figures as data: curves, heat maps, dots with intervals and stacked bars, drawn as SVG.

mod dots;
mod element;
mod heat_map;
mod interval;
mod labels;
mod legend;
mod lines;
mod look;
mod paint;
mod row_names;
mod scale;
mod stacked;
mod svg;
#[cfg(test)]
mod tests;

use super::Format;
pub(super) use interval::interval;
pub(super) use paint::page_css;
pub(super) use svg::{NARROW, SMALL, WIDE, style};

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The stem of its file: `a-z`, `0-9` and `-`.
    pub name: String,
    /// What it shows, in a sentence or two.
    pub caption: String,
    /// What is drawn.
    pub chart: Chart,
}

/// A kind of figure, with its data.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// Curves over a common axis.
    Lines(Lines),
    /// A matrix of coloured numbers.
    HeatMap(HeatMap),
    /// A dot with an interval per name.
    Dots(Dots),
    /// A bar of shares per name.
    Stacked(Stacked),
}

/// Curves over a common axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lines {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves. Those of the same name share a colour.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub name: String,
    /// Whether it is logarithmic; values that are not positive are then left out.
    pub log: bool,
    /// How its values are printed.
    pub format: Format,
}

/// A curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, in the order in which they are joined; a gap where a value is not finite.
    pub points: Vec<Point>,
    /// How much it stands out.
    pub style: Style,
}

/// What a curve or a dot is to the reader.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// The one to look at.
    Strong,
    /// One of several.
    #[default]
    Plain,
    /// What others are measured against, such as the ideal: dashed.
    Reference,
    /// What a paper reports: dotted, with hollow points.
    Paper,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Point {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
    /// The ends of its interval.
    pub band: Option<(f64, f64)>,
}

/// A matrix of coloured numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatMap {
    /// What rows are.
    pub row_title: String,
    /// What columns are.
    pub column_title: String,
    /// The names of rows.
    pub rows: Vec<String>,
    /// The names of columns.
    pub columns: Vec<String>,
    /// A value for each column of each row.
    pub values: Vec<Vec<Option<f64>>>,
    /// How values are printed.
    pub format: Format,
    /// The values with the palest and the deepest colour; those of the data where this is `None`.
    pub range: Option<(f64, f64)>,
}

/// A dot with an interval per name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dots {
    /// The horizontal axis.
    pub axis: Axis,
    /// The rows, from the top.
    pub rows: Vec<Dot>,
}

/// A row of [`Dots`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dot {
    /// Its name.
    pub name: String,
    /// Where the dot is.
    pub value: f64,
    /// The ends of its interval.
    pub band: Option<(f64, f64)>,
    /// How much it stands out.
    pub style: Style,
}

/// A bar of shares per name; each bar is as long as the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stacked {
    /// The names of parts, from the left. Of three parts the middle one is neutral, as in wins, ties and losses.
    pub parts: Vec<String>,
    /// Names, each with one amount per part.
    pub rows: Vec<(String, Vec<f64>)>,
}

impl Axis {
    /// A linear axis.
    pub fn new(name: impl Into<String>, format: Format) -> Self {
        Axis { name: name.into(), log: false, format }
    }

    /// The axis as a logarithmic one.
    pub fn log(self) -> Self {
        Axis { log: true, ..self }
    }
}

impl Point {
    /// A point without an interval.
    pub fn new(x: f64, y: f64) -> Self {
        Point { x, y, band: None }
    }

    /// The point with an interval.
    pub fn band(self, low: f64, high: f64) -> Self {
        Point { band: Some((low, high)), ..self }
    }
}
