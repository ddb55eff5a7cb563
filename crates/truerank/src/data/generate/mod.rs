//! Makes data sets that look like web search, so that every experiment can run anywhere.
//!
//! A query has a few hidden factors (its kind, how hard it is), a document has others (how well each of its fields
//! matches the query, how good and how popular the page is). Relevance is a function of these factors, partly linear
//! and partly not, plus what no feature can explain. Features are noisy views of the factors in blocks: match scores,
//! noisy copies of them, query-only, document-only, heavy-tailed counts, and sparse ones that are mostly zero.

mod factors;
mod preset;
mod views;

use std::ops::Range;

use rayon::prelude::*;

use super::{Dataset, DatasetBuilder, Splits};
use crate::Result;
use crate::ids::Ids;
use crate::progress::{Progress, Silent};
use crate::random::stream;
use factors::{QueryFactors, Sizes};
use views::Views;

pub use preset::{Generation, Generator, Preset};

/// One generated query: the features and the utility of each document, row after row.
struct Query {
    features: Vec<f32>,
    utilities: Vec<f32>,
}

impl Generator {
    /// Generates training, validation and test queries. The same seed gives the same data on any number of threads.
    pub fn generate(&self) -> Result<Splits> {
        self.generate_with(&Silent)
    }

    /// The same, telling how far it is.
    pub fn generate_with(&self, progress: &dyn Progress) -> Result<Splits> {
        let [train, validation, test] = self.queries;
        progress.begin("generating", self.queries.iter().sum::<usize>() as u64);
        let first = self.first_query;
        let views = Views::draw(self.features, self.feature_noise, &mut stream(self.seed, "views", 0));
        let cuts = self.grade_cuts();
        Ok(Splits {
            train: self.part(first..first + train, &views, &cuts, progress)?,
            validation: self.part(first + train..first + train + validation, &views, &cuts, progress)?,
            test: self.part(first + train + validation..first + train + validation + test, &views, &cuts, progress)?,
        })
    }

    fn part(&self, queries: Range<usize>, views: &Views, cuts: &[f32], progress: &dyn Progress) -> Result<Dataset> {
        let ids = Ids::Integers(queries.clone().map(|query| query as i64 + 1).collect());
        let draw = |query: usize| {
            progress.advance(1)?;
            Ok(self.query(query as u64, Some(views)))
        };
        let drawn = queries.into_par_iter().map(draw).collect::<Result<Vec<Query>>>()?;
        let rows: usize = drawn.iter().map(|query| query.utilities.len()).sum();
        let mut features = Vec::with_capacity(rows * self.features);
        let (mut grades, mut query_ends) = (Vec::with_capacity(rows), Vec::with_capacity(drawn.len()));
        for query in drawn {
            features.extend_from_slice(&query.features);
            grades.extend(query.utilities.iter().map(|utility| grade(*utility, cuts)));
            query_ends.push(grades.len());
        }
        let (feature_count, grades) = (self.features, Some(grades));
        DatasetBuilder { features, feature_count, grades, queries: ids, query_ends, docs: None }.build()
    }

    /// Draws query number `index`; without `views` its utilities only.
    fn query(&self, index: u64, views: Option<&Views>) -> Query {
        let mut random = stream(self.seed, "query", index);
        let sizes = Sizes { median: self.median_docs, spread: 0.6, most: self.most_docs };
        let query = QueryFactors::draw(&mut random);
        let documents = query.draw_documents(&sizes, &mut random);
        let utilities =
            documents.iter().map(|document| self.mix.utility(&query, document, &mut random)).collect::<Vec<f32>>();
        let mut features = Vec::new();
        if let Some(views) = views {
            features.reserve(documents.len() * self.features);
            documents.iter().for_each(|document| views.show(&query, document, &mut random, &mut features));
        }
        Query { features, utilities }
    }

    /// The utilities above which a document gets grade 1, 2, 3, 4, so that grades have their shares.
    ///
    /// Found on queries of their own, so that a part's grades do not depend on how many queries there are.
    fn grade_cuts(&self) -> Vec<f32> {
        let sample = 4000;
        let drawn: Vec<Query> = (0..sample).into_par_iter().map(|i| self.query(u64::MAX / 2 + i, None)).collect();
        let mut utilities: Vec<f32> = drawn.into_iter().flat_map(|query| query.utilities).collect();
        utilities.sort_unstable_by(f32::total_cmp);
        let mut below = 0.0;
        let shares = &self.grade_shares[..self.grade_shares.len() - 1];
        shares
            .iter()
            .map(|share| {
                below += share;
                utilities[((utilities.len() as f64 * below) as usize).min(utilities.len() - 1)]
            })
            .collect()
    }
}

fn grade(utility: f32, cuts: &[f32]) -> u8 {
    cuts.iter().filter(|&&cut| utility >= cut).count() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_data_on_any_number_of_threads() {
        let draw = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Generator::preset(Preset::Tiny).seed(seed).generate().unwrap())
        };
        assert_eq!(draw(1, 1), draw(3, 1));
        assert_ne!(draw(1, 1), draw(1, 2));
    }

    #[test]
    fn grades_and_list_lengths_are_as_asked() {
        let splits = Generator::preset(Preset::Small).seed(5).generate().unwrap();
        let grades = splits.train.grades().unwrap();
        for (grade, expected) in [0.26, 0.36, 0.28, 0.08, 0.02].into_iter().enumerate() {
            let share = grades.iter().filter(|&&g| usize::from(g) == grade).count() as f64 / grades.len() as f64;
            assert!((share - expected).abs() < 0.02, "grade {grade}: {share}");
        }
        let mean = splits.train.len() as f64 / splits.train.query_count() as f64;
        assert!((mean - 24.0).abs() < 2.0, "{mean} documents per query");
        assert!(splits.train.features().iter().all(|v| (0.0..=1.0).contains(v)));
    }
}
