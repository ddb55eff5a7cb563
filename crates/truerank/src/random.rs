//! Reproducible randomness: one named generator, one stream per purpose and piece of work.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The generator used everywhere. ChaCha's output is specified, so seeds keep their meaning on every machine and in
/// every version.
pub type Random = ChaCha8Rng;

/// The stream of random numbers for piece `index` of the work called `purpose`.
///
/// Pieces have independent streams, so they can be worked on in any order and on any number of threads.
///
/// ```
/// use rand::Rng;
/// let mut a = truerank::random::stream(1, "clicks", 0);
/// let mut b = truerank::random::stream(1, "clicks", 1);
/// assert_ne!(a.next_u64(), b.next_u64());
/// assert_eq!(truerank::random::stream(1, "clicks", 1).next_u64(), truerank::random::stream(1, "clicks", 1).next_u64());
/// ```
pub fn stream(seed: u64, purpose: &str, index: u64) -> Random {
    let mut generator = ChaCha8Rng::seed_from_u64(seed ^ fnv1a(purpose));
    generator.set_stream(index);
    generator
}

/// How often each of `count` things is drawn when as many are drawn with replacement: resample number `index`.
pub(crate) fn resample(count: usize, seed: u64, index: u64) -> Vec<f64> {
    let mut random = stream(seed, "bootstrap", index);
    let mut weights = vec![0.0; count];
    (0..count).for_each(|_| weights[random.random_range(0..count)] += 1.0);
    weights
}

/// A number that looks random for a number and another (SplitMix64: Steele et al. 2014).
pub(crate) fn hash(number: u64, other: u64) -> u64 {
    mix(mix(number) ^ other)
}

/// A number that looks random for a text.
pub(crate) fn hash_text(text: &str) -> u64 {
    mix(fnv1a(text))
}

/// A number in [0, 1) that looks random, for a seed and two numbers.
pub(crate) fn fraction(seed: u64, number: u64, other: u64) -> f64 {
    (mix(hash(seed, number) ^ other) >> 11) as f64 / (1u64 << 53) as f64
}

fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// FNV-1a, 64 bits: a fixed, documented hash, so that a purpose's stream never changes.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_hash_as_published() {
        // Test vectors of FNV-1a: the empty string is the offset basis, "a" is af63dc4c8601ec8c.
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
    }
}
