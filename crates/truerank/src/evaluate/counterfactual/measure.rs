//! What clicks measure of a ranking: gains at positions enter, values leave.

use std::fmt;
use std::str::FromStr;

use crate::math::discount;
use crate::{Error, Result};

/// A measure whose gains are relevance weights ŷ from clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClickMeasure {
    /// `Σ ŷ/log2(rank+1)` over the first k. Unbiased where ŷ is.
    Dcg(usize),
    /// DCG over that of the best order by ŷ itself, from 0 to 1. Noise in ŷ raises the ideal: the fewer clicks, the lower it is
    /// for any ranker, so compare rankers on one log and not logs. Lists without clicks are left out.
    Ndcg(usize),
    /// Average relevant position, `Σ ŷ·rank / Σ ŷ` over all lists together; better when smaller.
    Arp,
}

impl ClickMeasure {
    /// DCG and nDCG at 5 and 10, and ARP.
    pub fn usual() -> Vec<ClickMeasure> {
        use ClickMeasure::*;
        vec![Dcg(5), Dcg(10), Ndcg(5), Ndcg(10), Arp]
    }

    /// Whether a larger value is better.
    pub fn larger_is_better(self) -> bool {
        self != ClickMeasure::Arp
    }
}

impl fmt::Display for ClickMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClickMeasure::Dcg(cut) => write!(f, "DCG@{cut}"),
            ClickMeasure::Ndcg(cut) => write!(f, "nDCG@{cut}"),
            ClickMeasure::Arp => f.pad("ARP"),
        }
    }
}

impl FromStr for ClickMeasure {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let lower = text.to_lowercase();
        let cut = lower.split_once('@').and_then(|(_, cut)| cut.parse().ok()).filter(|cut| *cut > 0);
        match (lower.split('@').next(), cut) {
            (Some("dcg"), Some(cut)) => Ok(ClickMeasure::Dcg(cut)),
            (Some("ndcg"), Some(cut)) => Ok(ClickMeasure::Ndcg(cut)),
            (Some("arp"), None) if lower == "arp" => Ok(ClickMeasure::Arp),
            _ => Err(Error::parameter(format!("'{text}' is not a measure of clicks; known are DCG@k, nDCG@k and ARP"))),
        }
    }
}

impl ClickMeasure {
    /// What a list adds above and below the line of the measure, the gains standing at their positions.
    pub(super) fn of_list(self, list: &[(u32, f64)], self_normalised: bool) -> (f64, f64) {
        let total = || list.iter().map(|(_, gain)| gain).sum::<f64>();
        match self {
            ClickMeasure::Dcg(cut) => (dcg(list, cut), if self_normalised { total() } else { 1.0 }),
            ClickMeasure::Ndcg(cut) => match ideal_dcg(list, cut) {
                ideal if ideal > 0.0 => (dcg(list, cut) / ideal, 1.0),
                _ => (0.0, 0.0),
            },
            ClickMeasure::Arp => (list.iter().map(|(position, gain)| f64::from(*position) * gain).sum(), total()),
        }
    }
}

fn dcg(list: &[(u32, f64)], cut: usize) -> f64 {
    let counts = |position: u32| position as usize <= cut;
    list.iter().filter(|at| counts(at.0)).map(|(position, gain)| gain * discount(*position as usize)).sum()
}

/// The DCG of the best order of the list's gains at its own positions.
fn ideal_dcg(list: &[(u32, f64)], cut: usize) -> f64 {
    let mut positions: Vec<u32> = list.iter().map(|(position, _)| *position).collect();
    let mut gains: Vec<f64> = list.iter().map(|(_, gain)| *gain).collect();
    positions.sort_unstable();
    gains.sort_unstable_by(|a, b| b.total_cmp(a));
    dcg(&positions.into_iter().zip(gains).collect::<Vec<_>>(), cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_print_as_they_parse() {
        for measure in ClickMeasure::usual() {
            assert_eq!(measure.to_string().parse::<ClickMeasure>().unwrap(), measure);
        }
        assert!("DCG".parse::<ClickMeasure>().is_err() && "ARP@3".parse::<ClickMeasure>().is_err());
    }

    #[test]
    fn lists_are_measured_at_their_positions() {
        let list = [(3, 1.0), (1, 0.5), (11, 2.0)];
        let (half, best) = (1.0 / 2.0, 2.0 + 1.0 / 2.0);
        assert_eq!(ClickMeasure::Dcg(10).of_list(&list, false), (half + 0.5, 1.0));
        assert_eq!(ClickMeasure::Dcg(10).of_list(&list, true), (half + 0.5, 3.5));
        assert_eq!(ClickMeasure::Ndcg(10).of_list(&list, false), ((half + 0.5) / best, 1.0));
        assert_eq!(ClickMeasure::Ndcg(1).of_list(&[(2, 1.0)], false), (0.0, 0.0));
        assert_eq!(ClickMeasure::Arp.of_list(&list, false), (3.0 + 0.5 + 22.0, 3.5));
    }
}
