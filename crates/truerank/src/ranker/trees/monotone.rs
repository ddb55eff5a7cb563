//! Features that may only raise or only lower scores.

use std::fmt;
use std::str::FromStr;

use crate::options::option_value;
use crate::{Error, Result};

/// What a feature may do to scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Direction {
    /// Anything.
    #[default]
    Free,
    /// A larger value never lowers a score.
    Up,
    /// A larger value never raises a score.
    Down,
}

impl Direction {
    /// Whether smaller feature values may have the value `low` and larger ones `high`.
    pub(super) fn allows(self, low: f64, high: f64) -> bool {
        match self {
            Direction::Free => true,
            Direction::Up => low <= high,
            Direction::Down => low >= high,
        }
    }
}

/// Features, counted from 1, that may only raise (`up`) or only lower (`down`) scores: `3:up,7:down`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Monotone(Vec<(usize, bool)>);

option_value!(Monotone: Kind::Text);

impl Monotone {
    /// The direction of each of `count` features.
    pub(super) fn directions(&self, count: usize) -> Result<Vec<Direction>> {
        let mut directions = vec![Direction::Free; count];
        for &(feature, up) in &self.0 {
            let finding = || format!("names feature {feature}, but there are {count}");
            let place = directions.get_mut(feature - 1).ok_or_else(|| Error::option("monotone", finding()))?;
            *place = if up { Direction::Up } else { Direction::Down };
        }
        Ok(directions)
    }
}

impl fmt::Display for Monotone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |up: bool| if up { "up" } else { "down" };
        let parts: Vec<String> = self.0.iter().map(|&(feature, up)| format!("{feature}:{}", word(up))).collect();
        f.write_str(&parts.join(","))
    }
}

impl FromStr for Monotone {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let part = |part: &str| {
            let (feature, direction) = part.split_once(':')?;
            let feature = feature.trim().parse().ok().filter(|&feature: &usize| feature > 0)?;
            match direction.trim() {
                "up" => Some((feature, true)),
                "down" => Some((feature, false)),
                _ => None,
            }
        };
        let parts: Option<Vec<(usize, bool)>> = text.split(',').map(part).collect();
        let mut parts = parts.ok_or_else(|| {
            Error::parameter(format!("'{text}' should name features, counted from 1, with up or down: 3:up,7:down"))
        })?;
        parts.sort_unstable();
        match parts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(Error::parameter(format!("'{text}' names feature {} twice", pair[0].0))),
            None => Ok(Monotone(parts)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_print_and_parse_back() {
        let monotone: Monotone = "7:down, 3:up".parse().unwrap();
        assert_eq!(monotone.to_string(), "3:up,7:down");
        assert_eq!("1:down".parse::<Monotone>().unwrap().directions(2).unwrap(), [Direction::Down, Direction::Free]);
        let message = monotone.directions(6).unwrap_err().to_string();
        assert_eq!(message, "`monotone` names feature 7, but there are 6");
    }

    #[test]
    fn what_is_no_direction_is_refused() {
        for text in ["", "3", "0:up", "x:up", "3:sideways", "3:up,", "-1:up"] {
            assert!(text.parse::<Monotone>().unwrap_err().to_string().contains("counted from 1"), "{text}");
        }
        let message = "3:up,3:down".parse::<Monotone>().unwrap_err().to_string();
        assert_eq!(message, "'3:up,3:down' names feature 3 twice");
    }
}
