//! A figure to SVG: a document of its own, or a part of a page.

use super::element::{Element, coordinate};
use super::{Chart, Figure, paint};

/// The width of a figure that has the page to itself, in pixels.
pub const WIDE: f64 = 900.0;

/// The width of a figure on a phone.
pub const NARROW: f64 = 360.0;

/// The width of a figure beside others.
pub const SMALL: f64 = 290.0;

/// What a chart draws on a given width.
pub struct Drawing {
    /// How high it became.
    pub height: f64,
    /// The elements, from the back to the front.
    pub body: Vec<Element>,
    /// Where curves are drawn (left, top, right, bottom), for what follows a pointer.
    pub plot: Option<[f64; 4]>,
}

impl Figure {
    /// The figure as an SVG document with its own style, for light and dark surroundings.
    pub fn svg(&self) -> String {
        let Drawing { height, body, .. } = self.chart.draw(WIDE);
        let root = self
            .root(WIDE, height)
            .with("xmlns", "http://www.w3.org/2000/svg")
            .number("width", WIDE)
            .number("height", height)
            .child(Element::new("title").text(&self.caption))
            .child(Element::new("style").text(&style()))
            .child(Element::rect("fill c-surface", 0.0, 0.0, WIDE, height))
            .children(body);
        format!("{root}\n")
    }

    /// The figure as an element of a page that has [`style`].
    pub(in crate::report) fn inline_svg(&self, width: f64) -> String {
        let Drawing { height, body, plot } = self.chart.draw(width);
        let mut root = self.root(width, height);
        if let Some(plot) = plot {
            root = root.with("data-plot", &plot.map(coordinate).join(" "));
        }
        root.children(body).to_string()
    }

    fn root(&self, width: f64, height: f64) -> Element {
        let label = if self.caption.is_empty() { &self.name } else { &self.caption };
        Element::new("svg")
            .with("class", &format!("chart {}", self.chart.class()))
            .with("viewBox", &format!("0 0 {} {}", coordinate(width), coordinate(height)))
            .with("role", "img")
            .with("aria-label", label)
    }
}

impl Chart {
    fn draw(&self, width: f64) -> Drawing {
        match self {
            Chart::Lines(lines) => lines.draw(width),
            Chart::HeatMap(map) => map.draw(width),
            Chart::Dots(dots) => dots.draw(width),
            Chart::Stacked(stacked) => stacked.draw(width),
        }
    }

    fn class(&self) -> &'static str {
        match self {
            Chart::Lines(_) => "lines",
            Chart::HeatMap(_) => "heat-map",
            Chart::Dots(_) => "dots",
            Chart::Stacked(_) => "stacked",
        }
    }
}

/// The style sheet of figures.
pub fn style() -> String {
    // A `>` would be escaped, as in any text, and a page that holds the style would not read it back.
    let style = format!("{}{}", include_str!("../assets/figure.css"), paint::figure_css());
    assert!(!style.contains(['<', '>', '&', '"', '\'']));
    style
}
