//! Dots with intervals to a drawing: a name, a dot and its value in each row, over a common axis.

use super::element::Element;
use super::labels::{widest, width};
use super::lines::horizontal_axis;
use super::look::{Look, full_name};
use super::row_names::RowNames;
use super::scale::{Scale, drawable};
use super::svg::{Drawing, WIDE};
use super::{Dot, Dots, Style};

const ROW: f64 = 28.0;
const TOP: f64 = 6.0;

/// The columns of the drawing, and the height of its rows.
struct Columns {
    names: RowNames,
    left: f64,
    right: f64,
    row: f64,
    bottom: f64,
}

impl Dots {
    pub(super) fn draw(&self, width: f64) -> Drawing {
        let names = RowNames::new(self.rows.iter().map(|row| full_name(&row.name, row.style)), width);
        let values: Vec<String> = self.rows.iter().map(|row| self.value_text(row, width >= WIDE)).collect();
        let right = width - widest(values.iter().map(String::as_str), width * 0.3) - 16.0;
        let row = names.row_height(ROW);
        let bottom = TOP + row * self.rows.len().max(1) as f64;
        let columns = Columns { left: names.width + 14.0, names, right, row, bottom };
        let scale = Scale::new(&self.axis, self.all_values(), columns.left + 6.0, right);
        let mut body = horizontal_axis(&scale, &self.axis, columns.left, right, bottom);
        // Whether an interval holds zero is what readers look for first.
        body.extend(scale.zero().map(|zero| Element::line("axis c-axis", (zero, TOP), (zero, bottom))));
        for (i, value) in values.iter().enumerate() {
            body.push(self.row(i, value, &scale, &columns));
        }
        Drawing { height: bottom + 46.0, body, plot: None }
    }

    fn all_values(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().flat_map(|row| [row.value].into_iter().chain(row.band.into_iter().flat_map(|(a, b)| [a, b])))
    }

    fn value_text(&self, row: &Dot, with_interval: bool) -> String {
        let print = |value| self.axis.format.print(value);
        match row.band.filter(|_| with_interval) {
            Some((low, high)) => format!("{} ({} to {})", print(row.value), print(low), print(high)),
            None => print(row.value),
        }
    }

    fn row(&self, i: usize, value: &str, scale: &Scale<'_>, columns: &Columns) -> Element {
        let row = &self.rows[i];
        let y = TOP + columns.row * (i as f64 + 0.5);
        let look = Look { slot: usize::from(row.style == Style::Plain) * 7, style: row.style };
        let mut group = Element::group("row tip")
            .title(&format!("{}: {}", full_name(&row.name, row.style), self.value_text(row, true)))
            .child(Element::rect("target", 0.0, y - columns.row / 2.0, columns.right, columns.row))
            .child(Element::line("grid c-grid", (columns.left, y), (columns.right, y)))
            .children(columns.names.draw(i, y));
        if drawable(&self.axis, row.value) {
            group = group.child(self.dot(row, look, scale, columns, y));
        }
        group.child(Element::label("tick c-soft", columns.right + 12.0, y + 4.0, value))
    }

    fn dot(&self, row: &Dot, look: Look, scale: &Scale<'_>, columns: &Columns, y: f64) -> Element {
        let x = scale.at(row.value);
        let mut group = Element::group(&look.class());
        if row.style == Style::Reference {
            // What the others are measured against is drawn through all of them.
            group = group.child(Element::line("curve", (x, TOP), (x, columns.bottom)));
        }
        if let Some((low, high)) =
            row.band.filter(|&(low, high)| drawable(&self.axis, low) && drawable(&self.axis, high))
        {
            group = group.child(Element::line("whisker", (scale.at(low), y), (scale.at(high), y)));
        }
        group.child(Look { slot: 0, ..look }.marker(x, y))
    }
}

/// Whether a text fits into a given room with some space around it.
pub fn fits(text: &str, room: f64) -> bool {
    width(text) + 4.0 <= room
}
