//! Features: noisy views of the factors, in blocks like those of web search data.

use rand::RngExt;

use super::factors::{DOCUMENT_FACTORS, DocumentFactors, FIELDS, QUERY_FACTORS, QueryFactors, normal};
use crate::random::Random;

/// How each feature looks at a query and a document.
pub(super) struct Views(Vec<View>);

enum View {
    /// A match score: a weighted sum of factors with noise, squashed to 0..1.
    Score { weights: [f32; DOCUMENT_FACTORS], noise: f32, scale: f32 },
    /// A noisy copy of an earlier feature.
    Copy { of: usize, noise: f32 },
    /// The same for all documents of a query.
    QueryOnly { weights: [f32; QUERY_FACTORS] },
    /// A heavy-tailed count, such as of links or visits, relative to a large one.
    Count { factor: usize, tail: f32, noise: f32 },
    /// Zero unless a match is strong.
    Sparse { factor: usize, threshold: f32, noise: f32 },
}

impl Views {
    /// Draws `count` views: 40 % match scores, 20 % noisy copies, 10 % query-only, 15 % counts, 15 % sparse.
    pub fn draw(count: usize, noise: f32, random: &mut Random) -> Self {
        Views((0..count).map(|index| draw_view(index, count, noise, random)).collect())
    }

    /// Appends the features of one document. Four decimals: as many as such files have.
    pub fn show(&self, query: &QueryFactors, document: &DocumentFactors, random: &mut Random, features: &mut Vec<f32>) {
        let start = features.len();
        for view in &self.0 {
            let value = view.value(query, document, &features[start..], random);
            features.push((value.clamp(0.0, 1.0) * 1e4).round() / 1e4);
        }
    }
}

fn draw_view(index: usize, count: usize, noise: f32, random: &mut Random) -> View {
    let noise = noise * (0.5 + random.random::<f32>());
    match index as f32 / count as f32 {
        // The first features see one factor each, so that every factor is seen by some feature.
        _ if index < DOCUMENT_FACTORS => {
            let mut weights = [0.0; DOCUMENT_FACTORS];
            weights[index] = 1.0;
            View::Score { weights, noise, scale: 1.0 }
        }
        share if share < 0.4 => {
            View::Score { weights: draw_weights(random), noise, scale: 0.5 + random.random::<f32>() }
        }
        share if share < 0.6 => {
            View::Copy { of: random.random_range(0..index.min(count * 2 / 5)), noise: 0.15 * noise }
        }
        share if share < 0.7 => View::QueryOnly { weights: std::array::from_fn(|_| normal(random)) },
        share if share < 0.85 => {
            View::Count { factor: random.random_range(0..DOCUMENT_FACTORS), tail: 0.8 + random.random::<f32>(), noise }
        }
        _ => View::Sparse { factor: random.random_range(0..FIELDS), threshold: 0.5 + random.random::<f32>(), noise },
    }
}

/// A few factors, the rest not at all.
fn draw_weights(random: &mut Random) -> [f32; DOCUMENT_FACTORS] {
    let mut weights = [0.0; DOCUMENT_FACTORS];
    for _ in 0..3 {
        weights[random.random_range(0..DOCUMENT_FACTORS)] = normal(random);
    }
    weights
}

impl View {
    fn value(&self, query: &QueryFactors, document: &DocumentFactors, earlier: &[f32], random: &mut Random) -> f32 {
        match self {
            View::Score { weights, noise, scale } => {
                let sum: f32 = weights.iter().zip(&document.0).map(|(weight, factor)| weight * factor).sum();
                squash(scale * (sum + noise * normal(random)))
            }
            View::Copy { of, noise } => earlier[*of] + noise * normal(random),
            View::QueryOnly { weights } => {
                squash(weights.iter().zip(&query.0).map(|(weight, factor)| weight * factor).sum())
            }
            View::Count { factor, tail, noise } => {
                (tail * (document.0[*factor] + noise * normal(random))).exp() / (4.0 * tail).exp()
            }
            View::Sparse { factor, threshold, noise } => {
                0.5 * (document.0[*factor] + noise * normal(random) - threshold).max(0.0)
            }
        }
    }
}

fn squash(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}
