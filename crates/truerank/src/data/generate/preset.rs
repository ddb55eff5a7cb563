//! Named sizes and mixes of generated data.

use std::fmt;
use std::str::FromStr;

use super::factors::Mix;
use crate::named::find_named;
use crate::options::{option_value, options};
use crate::{Error, Result};

/// A named data set of the generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Seconds, for tests.
    Tiny,
    /// The demo's.
    Small,
    /// The sizes of Yahoo! LETOR set 1: 29,910 queries, about 700,000 documents, 700 features.
    Yahoo,
    /// The sizes of Baidu-ULTR's annotated part: 10,402 queries, about 750,000 documents, 782 features.
    Baidu,
    /// Like `small`, but relevance is mostly not linear in the features.
    Hard,
}

option_value!(Preset: Kind::Choice(Preset::ALL.map(Preset::name).to_vec()));

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 5] = [Preset::Tiny, Preset::Small, Preset::Yahoo, Preset::Baidu, Preset::Hard];

    fn name(self) -> &'static str {
        match self {
            Preset::Tiny => "tiny",
            Preset::Small => "small",
            Preset::Yahoo => "yahoo",
            Preset::Baidu => "baidu",
            Preset::Hard => "hard",
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&Preset::ALL, text, "a preset")
    }
}

options! {
    /// Which data set is generated.
    pub struct Generation {
        /// Size and kind of the data.
        preset: Preset = Preset::Small;
        /// The same seed gives the same data.
        seed: u64 = 1;
        /// Numbers of training, validation and test queries.
        queries: Vec<usize> = Vec::new(), usual("the preset's"), value("N,N,N");
        /// How many features documents have. Queries, documents and grades do not depend on it.
        features: Option<usize> = None, usual("the preset's"), at_least(1.0), value("N");
    }
}

impl Generation {
    /// The generator of the data set.
    pub fn generator(&self) -> Result<Generator> {
        let mut generator = Generator::preset(self.preset).seed(self.seed);
        generator.features = self.features.unwrap_or(generator.features);
        match self.queries.as_slice() {
            [] => Ok(generator),
            &[train, validation, test] => Ok(generator.queries(train, validation, test)),
            other => {
                let found = format!("has {} numbers, but should have three: to train, validate and test", other.len());
                Err(Error::option("queries", found))
            }
        }
    }
}

/// The settings of a generated data set.
///
/// ```
/// use truerank::data::{Generator, Preset};
///
/// let data = Generator::preset(Preset::Tiny).queries(20, 5, 10).seed(7).generate()?;
/// assert_eq!((data.train.query_count(), data.test.query_count()), (20, 10));
/// assert_eq!(data.train.row(0).len(), data.train.feature_count());
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Generator {
    pub(super) queries: [usize; 3],
    pub(super) first_query: usize,
    pub(super) features: usize,
    pub(super) median_docs: f64,
    pub(super) most_docs: usize,
    pub(super) grade_shares: [f64; 5],
    pub(super) feature_noise: f32,
    pub(super) mix: Mix,
    pub(super) seed: u64,
}

/// Shares of the grades 0 to 4 in Yahoo! LETOR set 1.
const YAHOO_GRADES: [f64; 5] = [0.26, 0.36, 0.28, 0.08, 0.02];

/// Shares of the grades 0 to 4 that give about the clicks per position which the paper reports for Baidu-ULTR.
const BAIDU_GRADES: [f64; 5] = [0.40, 0.25, 0.23, 0.10, 0.02];

impl Generator {
    /// The settings of a preset.
    pub fn preset(preset: Preset) -> Self {
        let small = Generator {
            queries: [3000, 500, 2000],
            first_query: 0,
            features: 64,
            median_docs: 20.0,
            most_docs: 139,
            grade_shares: YAHOO_GRADES,
            feature_noise: 0.8,
            mix: Mix { signals: 0.8, fields: 1.9, products: 0.0, query: 0.8, unexplained: 3.2 },
            seed: 1,
        };
        match preset {
            Preset::Tiny => Generator { queries: [200, 50, 100], features: 20, ..small },
            Preset::Small => small,
            Preset::Yahoo => Generator {
                queries: [19_944, 2_983, 6_983],
                features: 700,
                feature_noise: 6.0,
                mix: Mix { unexplained: 2.3, ..small.mix },
                ..small
            },
            Preset::Baidu => Generator {
                queries: [7_281, 1_040, 2_081],
                features: 782,
                median_docs: 61.0,
                most_docs: 400,
                grade_shares: BAIDU_GRADES,
                ..small
            },
            Preset::Hard => Generator {
                mix: Mix { signals: 0.4, fields: 0.5, products: 1.5, query: 0.8, unexplained: 1.5 },
                ..small
            },
        }
    }

    /// The seed. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Numbers of training, validation and test queries.
    pub fn queries(mut self, train: usize, validation: usize, test: usize) -> Self {
        self.queries = [train, validation, test];
        self
    }

    /// How many queries of the same world come before the first. Default: 0.
    ///
    /// Two generators that differ in nothing but this and the numbers of queries and documents show parts of one world.
    pub fn first_query(mut self, number: usize) -> Self {
        self.first_query = number;
        self
    }

    /// The median of documents per query, and the most. Default: the preset's.
    pub fn documents(mut self, median: f64, most: usize) -> Self {
        (self.median_docs, self.most_docs) = (median, most);
        self
    }

    /// How many features documents have. Queries, documents and grades do not depend on it.
    pub fn features(mut self, count: usize) -> Self {
        self.features = count;
        self
    }
}
