//! A number and its interval to a small drawing: a dot on a line, beside zero.

use super::element::{Element, coordinate};

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 56.0;
const EDGE: f64 = 30.0;
const LINE: f64 = 20.0;

/// An interval as an element of a page, whose words say where it ends. `label` is read to those who cannot see it.
pub fn interval(value: f64, (low, high): (f64, f64), tone: &str, label: &str) -> String {
    let (from, to) = (low.min(value).min(0.0), high.max(value).max(0.0));
    let span = if to > from { to - from } else { 1.0 };
    let at = |value: f64| EDGE + (value - from) / span * (WIDTH - 2.0 * EDGE);
    let drawn = Element::group(&format!("strong {tone}"))
        .child(Element::rect("fill", at(low), LINE - 3.0, (at(high) - at(low)).max(1.0), 6.0))
        .child(
            Element::new("circle").with("class", "fill").number("cx", at(value)).number("cy", LINE).number("r", 8.0),
        );
    Element::new("svg")
        .with("class", "chart interval")
        .with("viewBox", &format!("0 0 {} {}", coordinate(WIDTH), coordinate(HEIGHT)))
        .with("role", "img")
        .with("aria-label", label)
        .child(Element::line("grid c-grid", (EDGE / 2.0, LINE), (WIDTH - EDGE / 2.0, LINE)))
        .child(Element::line("axis c-axis", (at(0.0), 4.0), (at(0.0), LINE + 16.0)))
        .child(drawn)
        .child(Element::label("middle tick c-soft", at(0.0), HEIGHT - 4.0, "0"))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_in_the_picture() {
        let drawn = interval(0.03, (0.02, 0.05), "c-good", "a \"label\"");
        assert!(drawn.contains("aria-label=\"a &quot;label&quot;\""));
        // Zero is the left end of the scale, the upper end of the interval the right one.
        assert!(drawn.contains("M30 4L30 36") && drawn.contains(">0</text>"), "{drawn}");
        assert!(drawn.contains("x=\"142\" y=\"17\" width=\"168\""), "{drawn}");
        let points = interval(0.0, (0.0, 0.0), "c-open", "");
        assert!(!points.contains("NaN"), "{points}");
    }
}
