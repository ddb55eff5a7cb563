//! Queries with their documents, feature vectors and grades, in memory.

use std::borrow::Cow;
use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use super::missing::{first_missing, known_means};
use crate::ids::Ids;
use crate::{Error, Result};

/// Documents of queries as one dense row-major matrix of features, with grades where people gave them.
///
/// The documents of a query are consecutive rows. A document's id is unique within its query. A feature that a document lacks is
/// NaN. The matrix may be memory that someone else keeps, see [`DatasetBuilder::build_on`]; copies of a data set share it.
#[derive(Debug, Clone)]
pub struct Dataset {
    features: ScalarBuffer<f32>,
    feature_count: usize,
    grades: Option<Vec<u8>>,
    queries: Ids,
    query_ends: Vec<usize>,
    docs: Ids,
}

impl Dataset {
    /// How many documents (rows) there are.
    pub fn len(&self) -> usize {
        self.docs.len()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many features each document has.
    pub fn feature_count(&self) -> usize {
        self.feature_count
    }

    /// The whole feature matrix, row after row.
    pub fn features(&self) -> &[f32] {
        &self.features
    }

    /// The features of the document in row `row`.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.features[row * self.feature_count..][..self.feature_count]
    }

    /// The human grades of all rows, where the data set has them.
    pub fn grades(&self) -> Option<&[u8]> {
        self.grades.as_deref()
    }

    /// The human grades of all rows; an error that says what needs them where there are none.
    pub fn require_grades(&self, purpose: &str) -> Result<&[u8]> {
        self.grades().ok_or_else(|| Error::parameter(format!("{purpose} needs grades, but the data set has none")))
    }

    /// The ids of the queries, in the order of their rows.
    pub fn queries(&self) -> &Ids {
        &self.queries
    }

    /// How many queries there are.
    pub fn query_count(&self) -> usize {
        self.query_ends.len()
    }

    /// The rows of query number `query`.
    pub fn rows_of(&self, query: usize) -> Range<usize> {
        let start = if query == 0 { 0 } else { self.query_ends[query - 1] };
        start..self.query_ends[query]
    }

    /// The rows of each query in turn.
    pub fn lists(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        (0..self.query_count()).map(|query| self.rows_of(query))
    }

    /// The ids of the documents, one per row.
    pub fn docs(&self) -> &Ids {
        &self.docs
    }

    /// The row and the feature, both counted from 0, of the first value that is missing (NaN).
    pub fn first_missing(&self) -> Option<(usize, usize)> {
        first_missing(&self.features, self.feature_count)
    }

    /// Refuses missing values for something that needs every feature, such as `a linear ranker`.
    pub fn require_every_feature(&self, what: &str) -> Result<()> {
        let Some((row, feature)) = self.first_missing() else { return Ok(()) };
        let query = self.query_ends.partition_point(|&end| end <= row);
        Err(Error::parameter(format!(
            "document {} of query {} has no feature {} (NaN), but {what} needs every feature; fill in what is missing, or use \
             trees, which take it as it is",
            self.docs.name(row),
            self.queries.name(query),
            feature + 1
        )))
    }

    /// What to tell people where [`filled`](Self::filled) fills in something.
    pub fn fill_note(&self) -> Option<String> {
        let lacks = |row: &usize| self.row(*row).iter().any(|value| value.is_nan());
        self.first_missing()?;
        let (lacking, all) = ((0..self.len()).filter(lacks).count(), self.len());
        Some(format!("{lacking} of {all} documents lack features: the mean of the others stands in for them"))
    }

    /// The same data with the mean of the documents that have a feature for those that lack it; 0 where all do.
    pub fn filled(&self) -> Cow<'_, Self> {
        if self.first_missing().is_none() {
            return Cow::Borrowed(self);
        }
        let means = known_means(&self.features, self.feature_count);
        let mut features = self.features.to_vec();
        for row in features.chunks_exact_mut(self.feature_count) {
            row.iter_mut().zip(&means).filter(|(value, _)| value.is_nan()).for_each(|(value, mean)| *value = *mean);
        }
        Cow::Owned(Dataset { features: features.into(), ..self.clone() })
    }

    /// The same data with `count` features, the new ones all zero.
    ///
    /// Sparse files leave out trailing zeros, so the parts of one data set may differ in width.
    pub fn widen(self, count: usize) -> Self {
        if count <= self.feature_count {
            return self;
        }
        let mut features = vec![0.0; self.len() * count];
        for (wide, narrow) in
            features.chunks_exact_mut(count).zip(self.features.chunks_exact(self.feature_count.max(1)))
        {
            wide[..narrow.len()].copy_from_slice(narrow);
        }
        Dataset { features: features.into(), feature_count: count, ..self }
    }

    /// The queries numbered `queries`, in that order.
    pub fn select(&self, queries: &[usize]) -> Self {
        let rows: Vec<usize> = queries.iter().flat_map(|&query| self.rows_of(query)).collect();
        let mut end = 0;
        let mut features = Vec::with_capacity(rows.len() * self.feature_count);
        rows.iter().for_each(|&row| features.extend_from_slice(self.row(row)));
        Dataset {
            features: features.into(),
            feature_count: self.feature_count,
            grades: self.grades.as_ref().map(|grades| rows.iter().map(|&row| grades[row]).collect()),
            queries: self.queries.select(queries.iter().copied()),
            query_ends: queries
                .iter()
                .map(|&query| {
                    end += self.rows_of(query).len();
                    end
                })
                .collect(),
            docs: self.docs.select(rows.iter().copied()),
        }
    }
}

/// Features that are missing in both are the same.
impl PartialEq for Dataset {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan());
        self.feature_count == other.feature_count
            && self.features.len() == other.features.len()
            && self.features.iter().zip(other.features.iter()).all(same)
            && self.grades == other.grades
            && self.queries == other.queries
            && self.query_ends == other.query_ends
            && self.docs == other.docs
    }
}

/// The parts of a [`Dataset`], checked when it is built.
#[derive(Debug, Clone, Default)]
pub struct DatasetBuilder {
    /// Features, row after row; NaN where one is missing.
    pub features: Vec<f32>,
    /// How many features each row has.
    pub feature_count: usize,
    /// Grades of all rows, if any.
    pub grades: Option<Vec<u8>>,
    /// The id of each query, in the order of its rows.
    pub queries: Ids,
    /// Where each query's rows end.
    pub query_ends: Vec<usize>,
    /// The id of each row's document; `None` numbers them from 1 within each query.
    pub docs: Option<Ids>,
}

impl DatasetBuilder {
    /// Checks that the parts fit together.
    pub fn build(mut self) -> Result<Dataset> {
        let features = std::mem::take(&mut self.features);
        self.build_on(features.into())
    }

    /// The same on a matrix that is shared, such as one of NumPy or of an Arrow table, in place of `features`: it is not
    /// copied.
    pub fn build_on(self, features: ScalarBuffer<f32>) -> Result<Dataset> {
        let rows = self.query_ends.last().copied().unwrap_or(0);
        let docs = self.docs.unwrap_or_else(|| number_within_queries(&self.query_ends));
        let fits = features.len() == rows * self.feature_count
            && docs.len() == rows
            && self.queries.len() == self.query_ends.len()
            && self.query_ends.is_sorted()
            && self.grades.as_ref().is_none_or(|grades| grades.len() == rows);
        if !fits {
            return Err(Error::parameter(format!(
                "features ({} values), docs ({}), grades and queries ({}) do not agree on {rows} rows of {} features",
                features.len(),
                docs.len(),
                self.queries.len(),
                self.feature_count
            )));
        }
        Ok(Dataset {
            features,
            feature_count: self.feature_count,
            grades: self.grades,
            queries: self.queries,
            query_ends: self.query_ends,
            docs,
        })
    }
}

fn number_within_queries(query_ends: &[usize]) -> Ids {
    let starts = std::iter::once(&0).chain(query_ends);
    Ids::Integers(starts.zip(query_ends).flat_map(|(&start, &end)| 1..=(end - start) as i64).collect())
}

/// A data set in its three parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Splits {
    /// What rankers learn from.
    pub train: Dataset,
    /// What chooses among them.
    pub validation: Dataset,
    /// What they are judged by.
    pub test: Dataset,
}
