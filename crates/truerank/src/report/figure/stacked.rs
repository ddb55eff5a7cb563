//! Shares to a drawing: bars of equal length, one per row, cut into coloured parts.

use super::Stacked;
use super::dots::fits;
use super::element::Element;
use super::legend::{self, Key};
use super::paint::SERIES;
use super::row_names::RowNames;
use super::svg::Drawing;
use crate::report::Format;

const ROW: f64 = 30.0;
const BAR: f64 = 20.0;

impl Stacked {
    pub(super) fn draw(&self, width: f64) -> Drawing {
        let keys = self.keys();
        let top = legend::height(&keys, width - 12.0) + 8.0;
        let names = RowNames::new(self.rows.iter().map(|(name, _)| name.clone()), width);
        let (left, row) = (names.width + 14.0, names.row_height(ROW));
        let mut body = legend::draw(&keys, 6.0, 0.0, width - 12.0);
        for (i, (name, amounts)) in self.rows.iter().enumerate() {
            let y = top + row * (i as f64 + 0.5);
            body.extend(names.draw(i, y));
            body.extend(self.bar(name, amounts, left, width - 8.0, y));
        }
        Drawing { height: top + row * self.rows.len() as f64 + 6.0, body, plot: None }
    }

    fn keys(&self) -> Vec<Key> {
        let key = |(part, name): (usize, &String)| Key {
            name: name.clone(),
            class: self.colour(part),
            ink: true,
            series: part,
            swatch: Box::new(|x, y| vec![Element::rect("part", x - 8.0, y - 7.0, 16.0, 14.0)]),
        };
        self.parts.iter().enumerate().map(key).collect()
    }

    /// Of three parts the middle one is neutral.
    fn is_neutral(&self, part: usize) -> bool {
        self.parts.len() == 3 && part == 1
    }

    fn colour(&self, part: usize) -> String {
        match (self.parts.len(), part) {
            _ if self.is_neutral(part) => "c-neutral".to_string(),
            (3, 2) => format!("c-{}", SERIES[1].0),
            _ => format!("c-{}", SERIES[part % SERIES.len()].0),
        }
    }

    fn bar(&self, name: &str, amounts: &[f64], left: f64, right: f64, y: f64) -> Vec<Element> {
        let amounts: Vec<f64> = amounts.iter().take(self.parts.len()).map(|&amount| usable(amount)).collect();
        let total: f64 = amounts.iter().sum();
        if total <= 0.0 {
            return vec![Element::label("tick c-soft", left, y + 4.0, "no data")];
        }
        let mut x = left;
        let mut out = Vec::new();
        for (part, amount) in amounts.iter().enumerate().filter(|(_, amount)| **amount > 0.0) {
            let length = amount / total * (right - left);
            let title =
                format!("{name}, {}: {} ({})", self.parts[part], Format::Number.print(*amount), share(amount / total));
            out.push(self.part(part, x, length, y, &share(amount / total)).title(&title));
            x += length;
        }
        out
    }

    fn part(&self, part: usize, x: f64, length: f64, y: f64, share: &str) -> Element {
        // A pixel of ground between parts tells them apart without their colours.
        let rect = Element::rect("part", x, y - BAR / 2.0, (length - 1.0).max(0.5), BAR);
        let group = Element::group(&format!("tip {}", self.colour(part))).child(rect);
        let text = if self.is_neutral(part) { "c-ink" } else { "c-surface" };
        match fits(share, length) {
            true => group.child(Element::label(&format!("share middle {text}"), x + length / 2.0, y + 4.0, share)),
            false => group,
        }
    }
}

fn share(share: f64) -> String {
    Format::Percent.print_tick(share, 0.01)
}

/// Amounts that cannot be part of a whole count for nothing; the bound keeps their sum finite.
fn usable(amount: f64) -> f64 {
    if amount > 0.0 && amount < 1e150 { amount } else { 0.0 }
}
