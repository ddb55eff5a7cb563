//! The hidden factors of queries and documents, and the relevance that follows from them.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use crate::random::Random;

/// Fields of a document that can match a query: title, body, anchors, address.
pub(super) const FIELDS: usize = 4;

/// Factors of a query.
pub(super) const QUERY_FACTORS: usize = 3;

/// Small signals of a document that count a little each. Together they count as much as the fields, but it takes many
/// judged documents to learn them: a ranker trained on few lacks them.
const SIGNALS: usize = 16;

/// Factors of a document: the match of each field, then quality, popularity, freshness, then the small signals.
pub(super) const DOCUMENT_FACTORS: usize = FIELDS + 3 + SIGNALS;

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
    /// The small signals: linear in the factors.
    pub signals: f32,
    /// Fields and quality: mostly linear, but which field matters depends on the query, fields add up to less than
    /// their sum, and bad pages spoil matches.
    pub fields: f32,
    /// Products of factors, of which a linear ranker sees nothing.
    pub products: f32,
    /// How well the query is served at all; the same for all its documents.
    pub query: f32,
    /// What no feature explains.
    pub unexplained: f32,
}

impl Mix {
    pub fn utility(&self, query: &QueryFactors, document: &DocumentFactors, random: &mut Random) -> f32 {
        let [kind, news, served] = query.0;
        let [title, body, anchors, address, quality, popularity, freshness, ..] = document.0;
        // Half of the small signals speak for a document, half against it.
        let signs = [1.0, -1.0].iter().cycle();
        let signals: f32 = document.0[FIELDS + 3..].iter().zip(signs).map(|(signal, sign)| signal * sign).sum();
        let one_page = 1.0 / (1.0 + (-2.0 * kind).exp());
        let by_kind = one_page * (address + anchors) - (1.0 - one_page) * (body - 0.5 * popularity);
        let together = title.min(body) + quality.min(title);
        let spoiled = if quality < -1.0 { -1.0 } else { 0.0 };
        let fields = 0.6 * by_kind + 0.5 * together + spoiled + 0.4 * news.max(0.0) * freshness;
        let products = title * quality + body * freshness + anchors * popularity;
        // A few documents are far better than anything about them shows.
        let noise = normal(random) + if random.random::<f32>() < 0.02 { 2.0 } else { 0.0 };
        self.signals * signals
            + self.fields * fields
            + self.products * products
            + self.query * served
            + self.unexplained * noise
    }
}
