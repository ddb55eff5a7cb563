//! A matrix to a drawing: coloured cells with their numbers, names around them, and what the colours mean below.

use super::HeatMap;
use super::dots::fits;
use super::element::Element;
use super::labels::{shorten, widest, width};
use super::paint::STEPS;
use super::svg::Drawing;

/// Room for a title.
const TITLE: f64 = 22.0;
/// Room for the names of columns that stand upright.
const UPRIGHT: f64 = 84.0;
/// The room below the cells, for the key of colours.
const KEY: f64 = 40.0;

/// Where the cells are.
struct Grid {
    left: f64,
    /// The room for names of rows.
    names: f64,
    top: f64,
    cell: (f64, f64),
    upright: bool,
    range: (f64, f64),
}

impl HeatMap {
    pub(super) fn draw(&self, room: f64) -> Drawing {
        let grid = self.grid(room);
        let bottom = grid.top + grid.cell.1 * self.rows.len() as f64;
        let mut body = self.titles(&grid, bottom);
        body.extend(self.columns.iter().enumerate().map(|(j, name)| grid.column_name(j, name)));
        for (i, name) in self.rows.iter().enumerate() {
            body.push(grid.row_name(i, name));
            body.extend((0..self.columns.len()).map(|j| self.cell(&grid, i, j)));
        }
        body.extend(self.key(&grid, bottom + 14.0));
        Drawing { height: bottom + KEY, body, plot: None }
    }

    fn grid(&self, room: f64) -> Grid {
        let names = widest(self.rows.iter().map(String::as_str), room * 0.3);
        let left = names + 12.0 + if self.row_title.is_empty() { 0.0 } else { TITLE };
        let count = self.columns.len().max(1) as f64;
        let wide = ((room - left - 4.0) / count).clamp(4.0, 64.0);
        let upright = self.columns.iter().any(|name| width(name) + 6.0 > wide);
        let names_above = if upright { widest(self.columns.iter().map(String::as_str), UPRIGHT) } else { 14.0 };
        let title = if self.column_title.is_empty() { 0.0 } else { TITLE };
        Grid {
            left,
            names,
            top: title + names_above + 8.0,
            cell: (wide, wide.clamp(22.0, 38.0)),
            upright,
            range: self.ends(),
        }
    }

    /// The values of the palest and of the deepest colour.
    fn ends(&self) -> (f64, f64) {
        let usable = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite() && low <= high;
        let values = self.values.iter().flatten().flatten().copied().filter(|value| value.is_finite());
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        self.range.filter(usable).or(Some((low, high)).filter(usable)).unwrap_or((0.0, 1.0))
    }

    fn titles(&self, grid: &Grid, bottom: f64) -> Vec<Element> {
        let across = grid.cell.0 * self.columns.len() as f64;
        let middle = (grid.top + bottom) / 2.0;
        let column = shorten(&self.column_title, across.max(120.0));
        let row = shorten(&self.row_title, bottom - grid.top);
        let turned = Element::label("name middle c-soft", 0.0, 0.0, &row);
        vec![
            Element::label("name c-soft", grid.left, 14.0, &column),
            turned.with("transform", &format!("translate(13 {middle:.1}) rotate(-90)")),
        ]
    }

    fn cell(&self, grid: &Grid, i: usize, j: usize) -> Element {
        let (x, y) = grid.corner(i, j);
        let (wide, high) = grid.cell;
        let place = format!("{}, {}", self.rows[i], self.columns[j]);
        let value = self.values.get(i).and_then(|row| row.get(j)).copied().flatten();
        let Some(value) = value else {
            let empty = Element::rect("empty c-grid", x + 1.0, y + 1.0, wide - 3.0, high - 3.0);
            return Element::group("tip").child(empty).title(&format!("{place}: none"));
        };
        let step = grid.step(value);
        let rect = Element::rect("fill", x, y, wide - 1.0, high - 1.0);
        let group = Element::group("tip").child(Element::group(&format!("c-h{step}")).child(rect));
        // The colour says it already; the bubble has all digits.
        let printed = Some(self.format.print_short(value)).filter(|text| fits(text, wide));
        let label = |text: String| {
            Element::label(&format!("tick middle c-t{step}"), x + wide / 2.0 - 0.5, y + high / 2.0 + 3.5, &text)
        };
        group.children(printed.map(label)).title(&format!("{place}: {}", self.format.print(value)))
    }

    /// The colours from the palest to the deepest, with the values at both ends.
    fn key(&self, grid: &Grid, y: f64) -> Vec<Element> {
        let [low, high] = [grid.range.0, grid.range.1].map(|value| self.format.print_trimmed(value));
        let from = grid.left + width(&low) + 8.0;
        let swatch = |step: usize| {
            let rect = Element::rect("fill", from + 10.0 * step as f64, y, 10.0, 12.0);
            Element::group(&format!("c-h{step}")).child(rect)
        };
        let mut out: Vec<Element> = (0..STEPS).map(swatch).collect();
        out.push(Element::label("tick c-soft", grid.left, y + 10.0, &low));
        out.push(Element::label("tick c-soft", from + 10.0 * STEPS as f64 + 8.0, y + 10.0, &high));
        out
    }
}

impl Grid {
    fn corner(&self, i: usize, j: usize) -> (f64, f64) {
        (self.left + self.cell.0 * j as f64, self.top + self.cell.1 * i as f64)
    }

    /// The colour of a value; what is beyond the ends has the colour of the end.
    fn step(&self, value: f64) -> usize {
        let (low, high) = self.range;
        // Halves, since the difference of two large numbers may overflow.
        let t = if high > low { (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) } else { 0.5 };
        (t.clamp(0.0, 1.0) * (STEPS - 1) as f64).round() as usize
    }

    fn row_name(&self, i: usize, name: &str) -> Element {
        let (x, y) = self.corner(i, 0);
        let label = Element::label("tick end c-soft", x - 8.0, y + self.cell.1 / 2.0 + 3.5, &shorten(name, self.names));
        label.title(name)
    }

    fn column_name(&self, j: usize, name: &str) -> Element {
        let (x, _) = self.corner(0, j);
        let (middle, y) = (x + self.cell.0 / 2.0, self.top - 7.0);
        if !self.upright {
            return Element::label("tick middle c-soft", middle, y, name);
        }
        let turned = Element::label("tick c-soft", 0.0, 0.0, &shorten(name, UPRIGHT)).title(name);
        turned.with("transform", &format!("translate({:.1} {y:.1}) rotate(-90)", middle + 4.0))
    }
}
