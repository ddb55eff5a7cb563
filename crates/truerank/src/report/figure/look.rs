//! Series to how they look: colour, marker, and what their style says.

use super::element::{Element, coordinate};
use super::paint::SERIES;
use super::{Series, Style};

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Counts up with every new name; colours and markers go by it.
    pub slot: usize,
    /// What it is to the reader.
    pub style: Style,
}

/// The look of each series: those of the same name share a slot, and the ones to look at take the first slots.
pub fn looks(series: &[Series]) -> Vec<Look> {
    let strong = series.iter().filter(|s| s.style == Style::Strong);
    let other = series.iter().filter(|s| matches!(s.style, Style::Plain | Style::Paper));
    let reference = series.iter().filter(|s| s.style == Style::Reference);
    let mut names: Vec<&str> = Vec::new();
    for name in strong.chain(other).map(|s| s.name.as_str()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let references: Vec<&str> = reference.map(|s| s.name.as_str()).collect();
    let slot = |s: &Series| {
        let names = if s.style == Style::Reference { &references } else { &names };
        names.iter().position(|name| *name == s.name).unwrap_or(0)
    };
    series.iter().map(|s| Look { slot: slot(s), style: s.style }).collect()
}

impl Look {
    /// The classes of its group.
    pub fn class(self) -> String {
        let style = match self.style {
            Style::Strong => "strong",
            Style::Plain => "plain",
            Style::Reference => "reference",
            Style::Paper => "paper",
        };
        // After all colours are given out they start again, with dashes.
        let again = if self.slot >= SERIES.len() && self.style == Style::Plain { " again" } else { "" };
        format!("{} {style}{again}", self.colour())
    }

    fn colour(self) -> String {
        match self.style {
            Style::Reference => "c-soft".to_string(),
            _ => format!("c-{}", SERIES[self.slot % SERIES.len()].0),
        }
    }

    /// What is drawn later lies above: the ones to look at come last.
    pub fn layer(self) -> usize {
        match self.style {
            Style::Reference => 0,
            Style::Paper => 1,
            Style::Plain => 2,
            Style::Strong => 3,
        }
    }

    /// The outline of its marker around a point.
    pub fn marker(self, x: f64, y: f64) -> Element {
        let r = if self.style == Style::Strong { 4.5 } else { 3.8 };
        let class = if self.style == Style::Paper { "mark hollow" } else { "mark fill" };
        Element::path(class, &outline(self.slot % SERIES.len(), x, y, r))
    }
}

/// A closed shape around a point, another for each slot.
fn outline(shape: usize, x: f64, y: f64, r: f64) -> String {
    let corners: &[(f64, f64)] = match shape {
        1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2 => &[(0.0, -1.2), (1.15, 0.85), (-1.15, 0.85)],
        3 => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
        4 => &[(0.0, 1.2), (1.15, -0.85), (-1.15, -0.85)],
        5 => &[(-1.2, 0.0), (0.85, -1.15), (0.85, 1.15)],
        6 => &[(1.2, 0.0), (-0.85, -1.15), (-0.85, 1.15)],
        7 => &[(-0.6, -1.1), (0.6, -1.1), (1.2, 0.0), (0.6, 1.1), (-0.6, 1.1), (-1.2, 0.0)],
        _ => return circle(x, y, r),
    };
    let points = corners.iter().map(|(dx, dy)| format!("{} {}", coordinate(x + dx * r), coordinate(y + dy * r)));
    format!("M{}Z", points.collect::<Vec<_>>().join("L"))
}

fn circle(x: f64, y: f64, r: f64) -> String {
    let (left, right, y, r) = (coordinate(x - r), coordinate(x + r), coordinate(y), coordinate(r));
    format!("M{left} {y}A{r} {r} 0 1 1 {right} {y}A{r} {r} 0 1 1 {left} {y}Z")
}

/// The name of a series; one that a paper reports says so.
pub fn full_name(name: &str, style: Style) -> String {
    if style == Style::Paper && !name.to_lowercase().contains("paper") {
        format!("{name} (paper)")
    } else {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, style: Style) -> Series {
        Series { name: name.into(), style, points: Vec::new() }
    }

    #[test]
    fn the_same_name_has_the_same_colour_and_the_strong_one_the_first() {
        let all = [
            series("naive", Style::Plain),
            series("ideal", Style::Reference),
            series("ours", Style::Strong),
            series("naive", Style::Paper),
            series("theirs", Style::Paper),
        ];
        assert_eq!(looks(&all).iter().map(|look| look.slot).collect::<Vec<_>>(), [1, 0, 0, 1, 2]);
    }

    #[test]
    fn a_paper_is_named() {
        assert_eq!(full_name("naive", Style::Paper), "naive (paper)");
        assert_eq!(full_name("Paper, fig. 4", Style::Paper), "Paper, fig. 4");
        assert_eq!(full_name("naive", Style::Plain), "naive");
    }
}
