//! Curves to a drawing: axes, bands, lines and markers, with the names beside the ends of curves where there is room.

use super::element::{Element, coordinate};
use super::labels::{shorten, spread, widest, width};
use super::legend::{self, Key};
use super::look::{Look, full_name, looks};
use super::scale::{Scale, Tick, drawable};
use super::svg::{Drawing, WIDE};
use super::{Axis, Lines, Point, Series, Style};

/// Room for the name of the vertical axis, above the plot.
const TOP: f64 = 30.0;
/// Room for the labels and the name of the horizontal axis.
const BOTTOM: f64 = 46.0;
/// The distance of names beside the ends of curves.
const NAME_GAP: f64 = 19.0;
/// Markers on more points than this would hide the line.
const MARKED: usize = 40;

/// Where the curves are, and the scales that lead there.
struct Plot<'a> {
    lines: &'a Lines,
    x: Scale<'a>,
    y: Scale<'a>,
    left: f64,
    right: f64,
    bottom: f64,
}

impl Lines {
    pub(super) fn draw(&self, room: f64) -> Drawing {
        let keys = self.keys();
        let plot_height = if room >= WIDE { 330.0 } else { 210.0 };
        let beside = room >= WIDE && NAME_GAP * keys.len() as f64 <= plot_height && self.series.len() > 1;
        let names = keys.iter().map(Key::wanted).fold(0.0, f64::max).min(300.0) + 22.0;
        let right = room - if beside { names } else { 14.0 };
        let plot = Plot::new(self, right, TOP + plot_height);
        let mut body = plot.axes();
        body.extend(plot.curves());
        let below = TOP + plot_height + BOTTOM;
        let height = match (beside, self.series.len() > 1) {
            (true, _) => {
                body.extend(plot.names_beside(&keys, room));
                below
            }
            (false, true) => {
                body.extend(legend::draw(&keys, 6.0, below, room - 12.0));
                below + legend::height(&keys, room - 12.0)
            }
            (false, false) => below,
        };
        Drawing { height, body, plot: Some([plot.left, TOP, plot.right, plot.bottom]) }
    }

    fn keys(&self) -> Vec<Key> {
        let key = |(i, (series, look)): (usize, (&Series, Look))| Key {
            name: full_name(&series.name, series.style),
            class: look.class(),
            ink: false,
            series: i,
            swatch: Box::new(move |x, y| swatch(look, x, y)),
        };
        self.series.iter().zip(looks(&self.series)).enumerate().map(key).collect()
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points).filter(|point| self.draws(point))
    }

    fn draws(&self, point: &Point) -> bool {
        drawable(&self.x, point.x) && drawable(&self.y, point.y)
    }
}

fn swatch(look: Look, x: f64, y: f64) -> Vec<Element> {
    let line = Element::line("curve", (x - 12.0, y), (x + 12.0, y));
    if look.style == Style::Reference { vec![line] } else { vec![line, look.marker(x, y)] }
}

impl<'a> Plot<'a> {
    fn new(lines: &'a Lines, right: f64, bottom: f64) -> Self {
        let values: Vec<f64> =
            lines.points().flat_map(|point| [point.y].into_iter().chain(ends(&lines.y, point))).collect();
        let y = Scale::near_zero(&lines.y, values.into_iter(), bottom, TOP);
        let labels = y.ticks(tick_count(bottom - TOP));
        let left = widest(labels.iter().map(|tick| tick.label.as_str()), 120.0) + 14.0;
        let x = Scale::new(&lines.x, lines.points().map(|point| point.x), left, right);
        Plot { lines, x, y, left, right, bottom }
    }

    fn axes(&self) -> Vec<Element> {
        let mut out = Vec::new();
        for tick in self.y.ticks(tick_count(self.bottom - TOP)) {
            out.push(Element::line("grid c-grid", (self.left, tick.at), (self.right, tick.at)));
            out.push(Element::label("tick end c-soft", self.left - 8.0, tick.at + 4.0, &tick.label));
        }
        out.extend(horizontal_axis(&self.x, &self.lines.x, self.left, self.right, self.bottom));
        out.push(Element::label("name c-soft", 2.0, 14.0, &shorten(&self.lines.y.name, self.right)));
        if self.lines.points().next().is_none() {
            let middle = ((self.left + self.right) / 2.0, (TOP + self.bottom) / 2.0);
            out.push(Element::label("name middle c-soft", middle.0, middle.1, "no data"));
        }
        out
    }

    /// The curves, the ones to look at above the others.
    fn curves(&self) -> Vec<Element> {
        let looks = looks(&self.lines.series);
        let mut order: Vec<usize> = (0..looks.len()).collect();
        order.sort_by_key(|&i| looks[i].layer());
        let bands = order.iter().map(|&i| self.band(i, looks[i]));
        let curves = order.iter().map(|&i| self.curve(i, looks[i]));
        bands.chain(curves).collect()
    }

    fn band(&self, i: usize, look: Look) -> Element {
        let group = Element::group(&format!("bands {}", look.class())).with("data-series", &i.to_string());
        let runs = self.runs(i, |point| point.band.is_some() && ends(&self.lines.y, point).count() == 2);
        group.children(runs.iter().map(|run| match run.as_slice() {
            [alone] => Element::path("whisker", &self.path(&both_ends(alone))),
            run => Element::path("band", &(self.path(&outline(run)) + "Z")),
        }))
    }

    fn curve(&self, i: usize, look: Look) -> Element {
        let series = &self.lines.series[i];
        let runs = self.runs(i, |_| true);
        let lines = runs.iter().filter(|run| run.len() > 1).map(|run| Element::path("curve", &self.path(run)));
        let marks = runs.iter().flatten().map(|point| self.mark(point, look, series.points.len()));
        let group = Element::group(&format!("series {}", look.class())).with("data-series", &i.to_string());
        group.with("data-name", &full_name(&series.name, series.style)).children(lines).children(marks)
    }

    /// A marker with what a pointer near it shows; small ones are seen only then.
    fn mark(&self, point: &Point, look: Look, count: usize) -> Element {
        let (x, y) = (self.x.at(point.x), self.y.at(point.y));
        let quiet = if count > MARKED || look.style == Style::Reference { "quiet" } else { "point" };
        let format = self.lines.y.format;
        let interval = point.band.map(|(low, high)| format!(" ({} to {})", format.print(low), format.print(high)));
        Element::group(quiet)
            .number("data-px", x)
            .number("data-py", y)
            .with("data-x", &self.lines.x.format.print(point.x))
            .with("data-y", &format!("{}{}", format.print(point.y), interval.unwrap_or_default()))
            .child(look.marker(x, y))
    }

    /// Consecutive points that can be drawn and that `keep` keeps.
    fn runs(&self, i: usize, keep: impl Fn(&Point) -> bool) -> Vec<Vec<Point>> {
        let points = &self.lines.series[i].points;
        let runs = points.split(|point| !self.lines.draws(point) || !keep(point));
        runs.filter(|run| !run.is_empty()).map(<[Point]>::to_vec).collect()
    }

    fn path(&self, points: &[Point]) -> String {
        let place = |point: &Point| format!("{} {}", coordinate(self.x.at(point.x)), coordinate(self.y.at(point.y)));
        format!("M{}", points.iter().map(place).collect::<Vec<_>>().join("L"))
    }

    /// Names at the right, each as near as possible to the end of its curve and joined to it.
    fn names_beside(&self, keys: &[Key], room: f64) -> Vec<Element> {
        let ends: Vec<Option<(f64, f64)>> = (0..keys.len()).map(|i| self.end(i)).collect();
        let targets: Vec<f64> = ends.iter().map(|end| end.map_or(self.bottom, |(_, y)| y)).collect();
        let places = spread(&targets, NAME_GAP, TOP + 4.0, self.bottom - 4.0);
        let x = self.right + 18.0;
        let mut out = Vec::new();
        for ((key, end), y) in keys.iter().zip(ends).zip(places) {
            if let Some(end) = end {
                let leader = Element::line("leader", (end.0 + 7.0, end.1), (x - 4.0, y));
                out.push(Element::group(&key.class).with("data-series", &key.series.to_string()).child(leader));
            }
            out.push(key.draw(x, y, room - x));
        }
        out
    }

    fn end(&self, i: usize) -> Option<(f64, f64)> {
        let drawn = self.lines.series[i].points.iter().filter(|point| self.lines.draws(point));
        drawn.map(|point| (self.x.at(point.x), self.y.at(point.y))).max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// A horizontal axis with as many labels as have room.
pub fn horizontal_axis(scale: &Scale<'_>, axis: &Axis, left: f64, right: f64, bottom: f64) -> Vec<Element> {
    let mut out = vec![Element::line("axis c-axis", (left, bottom), (right, bottom))];
    for Tick { at, label } in fitting_ticks(scale, right - left) {
        out.push(Element::line("axis c-axis", (at, bottom), (at, bottom + 5.0)));
        out.push(Element::label("tick middle c-soft", at, bottom + 19.0, &label));
    }
    let middle = (left + right) / 2.0;
    out.push(Element::label("name middle c-soft", middle, bottom + 38.0, &shorten(&axis.name, right - left)));
    out
}

/// As many ticks as have room for their labels side by side.
fn fitting_ticks(scale: &Scale<'_>, room: f64) -> Vec<Tick> {
    let most = (room / 36.0).max(1.0) as usize;
    let fit = |ticks: &Vec<Tick>| {
        ticks
            .windows(2)
            .all(|pair| pair[1].at - pair[0].at > (width(&pair[0].label) + width(&pair[1].label)) / 2.0 + 10.0)
    };
    (1..=most).rev().map(|count| scale.ticks(count)).find(fit).unwrap_or_default()
}

/// How many ticks a vertical axis has room for.
fn tick_count(room: f64) -> usize {
    (room / 42.0).max(2.0) as usize
}

/// The ends of a point's interval that have a place on the axis.
fn ends(axis: &Axis, point: &Point) -> impl Iterator<Item = f64> {
    let axis = axis.clone();
    point.band.into_iter().flat_map(|(low, high)| [low, high]).filter(move |&end| drawable(&axis, end))
}

fn both_ends(point: &Point) -> [Point; 2] {
    let (low, high) = point.band.unwrap_or((point.y, point.y));
    [Point::new(point.x, low), Point::new(point.x, high)]
}

/// Along the upper ends and back along the lower ones.
fn outline(run: &[Point]) -> Vec<Point> {
    let upper = run.iter().map(|point| both_ends(point)[1]);
    let lower = run.iter().rev().map(|point| both_ends(point)[0]);
    upper.chain(lower).collect()
}
