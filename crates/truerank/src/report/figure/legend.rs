//! Names with their swatches, side by side in as many rows as they need.

use super::element::Element;
use super::labels::{shorten, width};

const SWATCH: f64 = 24.0;
const ROW: f64 = 22.0;
const GAP: f64 = 18.0;
/// Some names are bold, and bold letters are wider.
const BOLD: f64 = 1.12;

/// A name of a legend.
pub struct Key {
    /// The name, as long as it is.
    pub name: String,
    /// The classes of its group.
    pub class: String,
    /// Whether the name is printed like other text, and not in the colour of the swatch.
    pub ink: bool,
    /// The number of its series.
    pub series: usize,
    /// Draws the swatch around the middle of its place.
    pub swatch: Box<dyn Fn(f64, f64) -> Vec<Element>>,
}

impl Key {
    /// The swatch and the name, with the swatch starting at `x` and its middle at `y`.
    pub fn draw(&self, x: f64, y: f64, room: f64) -> Element {
        let shown = shorten(&self.name, (room - SWATCH - 6.0) / BOLD);
        let label =
            Element::label(if self.ink { "key-name c-ink" } else { "key-name" }, x + SWATCH + 6.0, y + 4.0, &shown);
        // Fingers and pointers hit a box more easily than letters.
        let target = Element::rect("target", x - 4.0, y - ROW / 2.0, SWATCH + 14.0 + width(&shown) * BOLD, ROW);
        let key = Element::group(&format!("key {}", self.class)).with("data-series", &self.series.to_string());
        let key = key.with("data-name", &self.name).child(target);
        let key = key.children((self.swatch)(x + SWATCH / 2.0, y)).child(label);
        if shown == self.name { key } else { key.title(&self.name) }
    }

    /// The room that the swatch and the whole name take.
    pub fn wanted(&self) -> f64 {
        SWATCH + 6.0 + width(&self.name) * BOLD
    }
}

/// The height of a legend on a given width.
pub fn height(keys: &[Key], room: f64) -> f64 {
    places(keys, room).last().map_or(0.0, |(_, y)| y + ROW)
}

/// A legend with its upper left corner at a point.
pub fn draw(keys: &[Key], x: f64, y: f64, room: f64) -> Vec<Element> {
    let place = |(key, (dx, dy)): (&Key, (f64, f64))| key.draw(x + dx, y + dy + ROW / 2.0, room - dx);
    keys.iter().zip(places(keys, room)).map(place).collect()
}

/// Upper left corners, filled row by row.
fn places(keys: &[Key], room: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (0.0, 0.0);
    let place = |key: &Key| {
        if x > 0.0 && x + key.wanted() > room {
            (x, y) = (0.0, y + ROW);
        }
        let place = (x, y);
        x += key.wanted() + GAP;
        place
    };
    keys.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fill_rows_and_a_long_one_has_its_own() {
        let key = |name: &str| Key {
            name: name.into(),
            class: String::new(),
            ink: false,
            series: 0,
            swatch: Box::new(|_, _| Vec::new()),
        };
        let long = "x".repeat(200);
        let keys = [key("a"), key("b"), key(&long), key("c")];
        let rows: Vec<f64> = places(&keys, 300.0).iter().map(|(_, y)| y / ROW).collect();
        assert_eq!(rows, [0.0, 0.0, 1.0, 2.0]);
        assert_eq!(height(&keys, 300.0), 3.0 * ROW);
        assert_eq!(height(&[], 300.0), 0.0);
        let drawn: String = draw(&keys, 0.0, 0.0, 300.0).iter().map(Element::to_string).collect();
        assert!(drawn.contains("…</text>") && drawn.contains(&format!("<title>{long}</title>")));
    }
}
