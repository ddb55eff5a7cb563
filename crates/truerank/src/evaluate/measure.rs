//! Measures of one ranked list as values with a text form, such as `nDCG@5`.

use std::fmt;
use std::str::FromStr;

use crate::math::discount;
use crate::{Error, Result};

/// A measure of a ranked list of grades. All but [`Measure::Arp`] are better when larger.
///
/// ```
/// use truerank::evaluate::Measure;
/// let measure: Measure = "nDCG@5".parse()?;
/// assert_eq!(measure, Measure::Ndcg(Some(5)));
/// assert_eq!(measure.to_string(), "nDCG@5");
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002), gain `2^y − 1`, discount `1/log2(rank+1)`.
    Ndcg(Option<usize>),
    /// Expected reciprocal rank (Chapelle et al. 2009), stopping probability `(2^y − 1) / 2^y_max`.
    Err(Option<usize>),
    /// Average relevance position, `Σ y·rank / Σ y`; better when smaller.
    Arp,
    /// Reciprocal rank of the first document with a grade of at least 1.
    Mrr(Option<usize>),
    /// Average precision, a grade of at least 1 being relevant.
    Map(Option<usize>),
    /// Share of documents with a grade of at least 1 among the first k.
    Precision(usize),
}

impl Default for Measure {
    /// nDCG@5: what rankers are chosen by where nothing else is said.
    fn default() -> Self {
        Measure::Ndcg(Some(5))
    }
}

impl Measure {
    /// The paper's eight: nDCG and ERR at 1, 3, 5 and 10.
    pub fn paper() -> Vec<Measure> {
        let cuts = [1, 3, 5, 10];
        cuts.map(|k| Measure::Ndcg(Some(k))).into_iter().chain(cuts.map(|k| Measure::Err(Some(k)))).collect()
    }

    /// The value for a list of grades in ranked order; `None` where the list has no relevant document.
    ///
    /// ```
    /// use truerank::evaluate::Measure;
    /// let dcg = |gains: [f64; 3]| gains[0] / 1.0 + gains[1] / 3f64.log2() + gains[2] / 2.0;
    /// let value = Measure::Ndcg(Some(3)).of(&[0, 2, 1], 4);
    /// assert_eq!(value, Some(dcg([0.0, 3.0, 1.0]) / dcg([3.0, 1.0, 0.0])));
    /// ```
    pub fn of(&self, grades: &[u8], max_grade: u8) -> Option<f64> {
        if grades.iter().all(|&grade| grade == 0) {
            return None;
        }
        Some(match *self {
            Measure::Ndcg(cut) => ndcg(grades, cut),
            Measure::Err(cut) => expected_reciprocal_rank(head(grades, cut), max_grade),
            Measure::Arp => average_relevance_position(grades),
            Measure::Mrr(cut) => reciprocal_rank(head(grades, cut)),
            Measure::Map(cut) => average_precision(grades, cut),
            Measure::Precision(cut) => head(grades, Some(cut)).iter().filter(|&&g| g > 0).count() as f64 / cut as f64,
        })
    }

    /// Whether a larger value is better.
    pub fn larger_is_better(&self) -> bool {
        !matches!(self, Measure::Arp)
    }
}

fn head(grades: &[u8], cut: Option<usize>) -> &[u8] {
    &grades[..cut.unwrap_or(usize::MAX).min(grades.len())]
}

fn gain(grade: u8) -> f64 {
    f64::from(grade).exp2() - 1.0
}

fn dcg(grades: &[u8]) -> f64 {
    grades.iter().enumerate().map(|(i, &grade)| gain(grade) * discount(i + 1)).sum()
}

fn ndcg(grades: &[u8], cut: Option<usize>) -> f64 {
    let mut best = grades.to_vec();
    best.sort_unstable_by(|a, b| b.cmp(a));
    dcg(head(grades, cut)) / dcg(head(&best, cut))
}

fn expected_reciprocal_rank(grades: &[u8], max_grade: u8) -> f64 {
    let mut reached = 1.0;
    let mut value = 0.0;
    for (i, &grade) in grades.iter().enumerate() {
        let stop = gain(grade) / f64::from(max_grade).exp2();
        value += reached * stop / (i + 1) as f64;
        reached *= 1.0 - stop;
    }
    value
}

fn average_relevance_position(grades: &[u8]) -> f64 {
    let weighted: f64 = grades.iter().enumerate().map(|(i, &grade)| (i + 1) as f64 * f64::from(grade)).sum();
    weighted / grades.iter().map(|&grade| f64::from(grade)).sum::<f64>()
}

fn reciprocal_rank(grades: &[u8]) -> f64 {
    grades.iter().position(|&grade| grade > 0).map_or(0.0, |i| 1.0 / (i + 1) as f64)
}

fn average_precision(grades: &[u8], cut: Option<usize>) -> f64 {
    let mut found = 0.0;
    let mut sum = 0.0;
    for (i, _) in head(grades, cut).iter().enumerate().filter(|(_, grade)| **grade > 0) {
        found += 1.0;
        sum += found / (i + 1) as f64;
    }
    sum / grades.iter().filter(|&&grade| grade > 0).count() as f64
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, cut) = match *self {
            Measure::Ndcg(cut) => ("nDCG", cut),
            Measure::Err(cut) => ("ERR", cut),
            Measure::Arp => ("ARP", None),
            Measure::Mrr(cut) => ("MRR", cut),
            Measure::Map(cut) => ("MAP", cut),
            Measure::Precision(cut) => ("P", Some(cut)),
        };
        match cut {
            Some(cut) => write!(f, "{name}@{cut}"),
            None => write!(f, "{name}"),
        }
    }
}

impl FromStr for Measure {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            Error::parameter(format!(
                "'{text}' is not a measure; known are nDCG, ERR, MRR, MAP (each alone or with @k), P@k and ARP"
            ))
        };
        let (name, cut) = match text.split_once('@') {
            Some((name, cut)) => (name, Some(cut.parse().ok().filter(|&k| k > 0).ok_or_else(unknown)?)),
            None => (text, None),
        };
        match (name.to_lowercase().as_str(), cut) {
            ("ndcg", cut) => Ok(Measure::Ndcg(cut)),
            ("err", cut) => Ok(Measure::Err(cut)),
            ("mrr" | "rr", cut) => Ok(Measure::Mrr(cut)),
            ("map" | "ap", cut) => Ok(Measure::Map(cut)),
            ("p", Some(cut)) => Ok(Measure::Precision(cut)),
            ("arp", None) => Ok(Measure::Arp),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(measure: &str, grades: &[u8]) -> f64 {
        measure.parse::<Measure>().unwrap().of(grades, 4).unwrap()
    }

    #[test]
    fn measures_print_as_they_parse() {
        for text in ["nDCG@5", "nDCG", "ERR@10", "ARP", "MRR", "MRR@10", "MAP", "MAP@3", "P@5"] {
            assert_eq!(text.parse::<Measure>().unwrap().to_string(), text);
        }
        for text in ["", "nDCG@", "nDCG@0", "nDCG@-1", "P", "ARP@3", "foo@5"] {
            assert!(text.parse::<Measure>().unwrap_err().to_string().contains("is not a measure"), "{text}");
        }
    }

    #[test]
    fn err_stops_at_satisfying_documents() {
        let (r1, r2) = (15.0 / 16.0, 3.0 / 16.0);
        assert_eq!(value("ERR", &[4, 2]), r1 + (1.0 - r1) * r2 / 2.0);
        assert_eq!(value("ERR@1", &[4, 2]), r1);
    }

    #[test]
    fn binary_measures_count_grades_from_one() {
        let grades = [0, 2, 0, 1];
        assert_eq!(value("MRR", &grades), 1.0 / 2.0);
        assert_eq!(value("MRR@1", &grades), 0.0);
        assert_eq!(value("MAP", &grades), (1.0 / 2.0 + 2.0 / 4.0) / 2.0);
        assert_eq!(value("MAP@2", &grades), (1.0 / 2.0) / 2.0);
        assert_eq!(value("P@5", &grades), 2.0 / 5.0);
        assert_eq!(value("ARP", &grades), (2.0 * 2.0 + 4.0 * 1.0) / 3.0);
    }

    #[test]
    fn a_list_without_relevant_documents_has_no_value() {
        assert_eq!(Measure::Ndcg(Some(5)).of(&[0, 0], 4), None);
    }
}
