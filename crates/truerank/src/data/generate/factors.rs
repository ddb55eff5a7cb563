//! The hidden factors of queries and documents, and the relevance that follows from them.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use crate::random::Random;

/// Fields of a document that can match a query: title, body, anchors, address.
pub(super) const FIELDS: usize = 4;

/// Factors of a query.
pub(super) const QUERY_FACTORS: usize = 3;

/// Factors of a document: the match of each field, then quality, popularity, freshness.
pub(super) const DOCUMENT_FACTORS: usize = FIELDS + 3;

/// How many documents queries have: log-normal around a median, cut at the ends.
pub(super) struct Sizes {
    pub median: f64,
    pub spread: f64,
    pub most: usize,
}

/// What a query is like: standard normal factors. The first says whether it looks for one page (positive) or for
/// reading on a topic (negative), the second how much fresh pages matter, the third how well it is served at all.
pub(super) struct QueryFactors(pub [f32; QUERY_FACTORS]);

/// What a document is like for its query: standard normal factors.
pub(super) struct DocumentFactors(pub [f32; DOCUMENT_FACTORS]);

pub(super) fn normal(random: &mut Random) -> f32 {
    StandardNormal.sample(random)
}

impl QueryFactors {
    pub fn draw(random: &mut Random) -> Self {
        QueryFactors(std::array::from_fn(|_| normal(random)))
    }

    pub fn draw_documents(&self, sizes: &Sizes, random: &mut Random) -> Vec<DocumentFactors> {
        let spread: f64 = StandardNormal.sample(random);
        let count = (sizes.median * (sizes.spread * spread).exp()).round() as usize;
        (0..count.clamp(1, sizes.most)).map(|_| DocumentFactors::draw(random)).collect()
    }
}

impl DocumentFactors {
    /// Fields match together: each is half the common topic, half its own.
    fn draw(random: &mut Random) -> Self {
        let topic = normal(random);
        let half = 0.5f32.sqrt();
        let mut factors: [f32; DOCUMENT_FACTORS] = std::array::from_fn(|_| normal(random));
        factors[..FIELDS].iter_mut().for_each(|field| *field = half * topic + half * *field);
        DocumentFactors(factors)
    }
}

/// How much each part counts in the utility of a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mix {
    /// What a linear function of the factors explains.
    pub linear: f32,
    /// What only a curved one does: which field matters depends on the query, spam spoils matches, fields add up less
    /// than their sum.
    pub curved: f32,
    /// How well the query is served at all; the same for all its documents.
    pub query: f32,
    /// What no feature explains.
    pub unexplained: f32,
}

impl Mix {
    pub fn utility(&self, query: &QueryFactors, document: &DocumentFactors, random: &mut Random) -> f32 {
        let [kind, news, served] = query.0;
        let [title, body, anchors, address, quality, popularity, freshness] = document.0;
        let linear = 0.6 * title + 0.5 * body + 0.3 * anchors + 0.2 * address + 0.4 * quality + 0.3 * popularity;
        let gate = 1.0 / (1.0 + (-2.0 * kind).exp());
        let by_kind = gate * (address + anchors) - (1.0 - gate) * (body - 0.5 * popularity);
        let conjunction = title.min(body) + quality.min(title);
        let spoiled = if quality < -1.0 { -1.0 } else { 0.0 };
        let curved = 0.6 * by_kind + 0.5 * conjunction + spoiled + 0.4 * news.max(0.0) * freshness;
        let noise = normal(random) + if random.random::<f32>() < 0.02 { 2.0 } else { 0.0 };
        self.linear * linear + self.curved * curved + self.query * served + self.unexplained * noise
    }
}
