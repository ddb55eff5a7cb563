//! What is believed of a document's relevance before its clicks, and how strongly.

use std::fmt;
use std::str::FromStr;

use super::{Relevance, Weight};
use crate::counts::{Counts, by_document};
use crate::ids::Ids;
use crate::named::find_named;
use crate::options::option_value;
use crate::{Error, Result};

/// r̂(q,d): the relevance that clicks correct.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Prior {
    /// 0: a document is irrelevant until clicks say otherwise.
    #[default]
    None,
    /// The log's mean relevance, `Σ c/D / Σ E/D`: documents count by how much is known of them.
    Mean,
    /// The mean relevance of documents that are usually shown at the same position.
    Position,
    /// Predictions of a model that did not see the document's clicks, such as
    /// [`RelevancePredictor`](super::RelevancePredictor)'s.
    Model(PredictedRelevance),
}

/// Where a prior comes from, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PriorKind {
    /// `none`.
    #[default]
    None,
    /// `mean`.
    Mean,
    /// `position`.
    Position,
    /// `model`.
    Model,
}

impl Prior {
    /// Where it comes from.
    pub fn kind(&self) -> PriorKind {
        match self {
            Prior::None => PriorKind::None,
            Prior::Mean => PriorKind::Mean,
            Prior::Position => PriorKind::Position,
            Prior::Model(_) => PriorKind::Model,
        }
    }
}

impl PriorKind {
    /// The names, in the order of the values.
    pub const NAMES: [&str; 4] = ["none", "mean", "position", "model"];

    /// Refuses a prior that nothing would be pulled toward.
    pub fn check(self, clip: Option<f64>, shrink: Shrink) -> Result<()> {
        match self != PriorKind::None && clip.is_none() && shrink == Shrink::None {
            true => {
                let finding = format!("{self} changes nothing without `clip` or `shrink`; add `shrink` auto");
                Err(Error::option("prior", finding))
            }
            false => Ok(()),
        }
    }
}

impl fmt::Display for PriorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(PriorKind::NAMES[*self as usize])
    }
}

impl FromStr for PriorKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&[PriorKind::None, PriorKind::Mean, PriorKind::Position, PriorKind::Model], text, "a prior")
    }
}

/// How strongly weights are pulled toward the prior: b, as if the prior had been examined b times.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Shrink {
    /// Not at all: b = 0.
    #[default]
    None,
    /// By the b with the least estimated mean squared error of the weights.
    Auto,
    /// By a given b.
    Fixed(f64),
}

impl FromStr for Shrink {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match (text, text.parse::<f64>()) {
            ("none", _) => Ok(Shrink::None),
            ("auto", _) => Ok(Shrink::Auto),
            (_, Ok(b)) if b >= 0.0 && b.is_finite() => Ok(Shrink::Fixed(b)),
            _ => Err(Error::parameter(format!("it is '{text}', but should be none, auto or a number from 0"))),
        }
    }
}

impl fmt::Display for Shrink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shrink::None => f.pad("none"),
            Shrink::Auto => f.pad("auto"),
            Shrink::Fixed(b) => b.fmt(f),
        }
    }
}

option_value!(PriorKind: Kind::Choice(PriorKind::NAMES.to_vec()), Shrink: Kind::TextOrNumber);

/// P(r=1) of documents, as somebody predicts it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PredictedRelevance {
    pub(super) queries: Ids,
    pub(super) docs: Ids,
    /// Query, document and their value, sorted.
    pub(super) values: Vec<(u32, u32, f64)>,
    mean: f64,
    /// What documents without a value have at position 1, 2, …; the mean past its end.
    by_position: Vec<f64>,
}

impl PredictedRelevance {
    /// Values between 0 and 1 by the numbers of query and document in `queries` and `docs`, in any order.
    pub fn new(queries: Ids, docs: Ids, mut values: Vec<(u32, u32, f64)>) -> Result<Self> {
        values.sort_by_key(|&(query, doc, _)| (query, doc));
        let name = |query: u32, doc: u32| {
            format!("document {} of query {}", docs.name(doc as usize), queries.name(query as usize))
        };
        if let Some(&(query, doc, value)) = values.iter().find(|(.., value)| !(0.0..=1.0).contains(value)) {
            let subject = name(query, doc);
            return Err(Error::parameter(format!(
                "the predicted relevance of {subject} should be between 0 and 1, but is {value}"
            )));
        }
        match values.windows(2).find(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1)) {
            Some(two) => {
                let subject = name(two[0].0, two[0].1);
                Err(Error::parameter(format!("{subject} has two predictions, but needs one")))
            }
            None => Ok(PredictedRelevance { mean: mean(&values), queries, docs, values, by_position: Vec::new() }),
        }
    }

    /// How many documents have a prediction.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The mean of the predictions; of relevance weights, clicks over exposure.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// What is believed of a document without a prediction that is shown at `position`: the prior of that position where
    /// there is one, else the mean.
    pub fn at_position(&self, position: u32) -> f64 {
        self.by_position.get(position as usize - 1).copied().unwrap_or(self.mean)
    }

    /// For each shown document of `counts`, sorted by query and document, its prediction.
    pub fn of_counts(&self, counts: &Counts) -> Vec<Option<f64>> {
        let pairs = by_document(&counts.cells).map(|of_doc| (of_doc[0].query, of_doc[0].doc));
        self.of_docs(&counts.queries, &counts.docs, pairs)
    }

    /// The prediction of each (query, document), by their numbers in `queries` and `docs`.
    pub(crate) fn of_docs(
        &self,
        queries: &Ids,
        docs: &Ids,
        pairs: impl Iterator<Item = (u32, u32)>,
    ) -> Vec<Option<f64>> {
        let (queries, docs) = (queries.numbers_in(&self.queries), docs.numbers_in(&self.docs));
        pairs.map(|(query, doc)| self.find(queries[query as usize]?, docs[doc as usize]?)).collect()
    }

    fn find(&self, query: u32, doc: u32) -> Option<f64> {
        let place = self.values.binary_search_by_key(&(query, doc), |&(query, doc, _)| (query, doc)).ok()?;
        Some(self.values[place].2)
    }
}

impl From<&Relevance> for PredictedRelevance {
    /// Weights as probabilities: those above 1 become 1.
    fn from(relevance: &Relevance) -> Self {
        let sum = |value: fn(&Weight) -> f64| relevance.weights.iter().map(value).sum::<f64>();
        let exposure = sum(|weight| weight.exposure);
        PredictedRelevance {
            mean: if exposure > 0.0 { (sum(|weight| weight.clicks as f64) / exposure).min(1.0) } else { 0.0 },
            queries: relevance.queries.clone(),
            docs: relevance.docs.clone(),
            values: relevance.weights.iter().map(|w| (w.query, w.doc, w.weight.min(1.0))).collect(),
            by_position: relevance.by_position.clone(),
        }
    }
}

fn mean(values: &[(u32, u32, f64)]) -> f64 {
    values.iter().map(|(.., value)| value).sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Cell;

    #[test]
    fn predictions_meet_the_counts_by_the_text_of_ids() {
        let predicted = PredictedRelevance::new(
            Ids::Integers(vec![5, 3]),
            Ids::Integers(vec![1, 2]),
            vec![(1, 0, 0.25), (0, 1, 0.5)],
        )
        .unwrap();
        let cell = |query, doc, user| Cell { query, doc, position: 1, user, impressions: 1, clicks: 0 };
        let counts = Counts {
            queries: Ids::Integers(vec![3, 5, 9]),
            docs: Ids::Integers(vec![1, 2]),
            users: Ids::numbered(2),
            cells: vec![cell(0, 0, 0), cell(0, 0, 1), cell(1, 0, 0), cell(1, 1, 0), cell(2, 0, 0)],
            ..Counts::default()
        };
        assert_eq!(predicted.of_counts(&counts), [Some(0.25), None, Some(0.5), None]);
    }

    #[test]
    fn predictions_are_probabilities_and_stand_once() {
        let new = |values| PredictedRelevance::new(Ids::numbered(1), Ids::numbered(2), values);
        let message = new(vec![(0, 1, 1.5)]).unwrap_err().to_string();
        assert_eq!(message, "the predicted relevance of document 2 of query 1 should be between 0 and 1, but is 1.5");
        let message = new(vec![(0, 1, 0.5), (0, 1, 0.5)]).unwrap_err().to_string();
        assert_eq!(message, "document 2 of query 1 has two predictions, but needs one");
        assert!(new(vec![(0, 0, f64::NAN)]).is_err());
    }

    #[test]
    fn shrinkage_is_parsed() {
        assert_eq!("auto".parse::<Shrink>().unwrap(), Shrink::Auto);
        assert_eq!("2.5".parse::<Shrink>().unwrap(), Shrink::Fixed(2.5));
        for text in ["-1", "inf", "NaN", "much"] {
            let message = text.parse::<Shrink>().unwrap_err().to_string();
            assert!(message.contains("should be none, auto or a number from 0"), "{message}");
        }
    }
}
