//! How far two groupings of the same users agree.

use std::collections::BTreeMap;

/// The adjusted Rand index of two groupings: 1 where they are the same but for names, 0 on average by chance.
///
/// With `n_ij` items in group i of the first and j of the second, `a_i` and `b_j` their sums, and `C(x) = x(x−1)/2`:
///
/// ```text
/// (Σ C(n_ij) − E) / (½ (Σ C(a_i) + Σ C(b_j)) − E)        E = Σ C(a_i) Σ C(b_j) / C(n)
/// ```
///
/// Hubert and Arabie (1985). Where the denominator is 0 (both have one group, or both only groups of one) they agree,
/// and the index is 1.
///
/// # Panics
///
/// If the groupings differ in length.
///
/// ```
/// use truerank::propensity::adjusted_rand_index;
/// assert_eq!(adjusted_rand_index(&[0, 0, 1, 1], &[5, 5, 2, 2]), 1.0);
/// assert!((adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 0, 1]) + 0.5).abs() < 1e-12);
/// ```
pub fn adjusted_rand_index(first: &[u32], second: &[u32]) -> f64 {
    assert_eq!(first.len(), second.len(), "both groupings should be of the same users");
    let both = pairs(first.iter().zip(second));
    let (of_first, of_second) = (pairs(first.iter()), pairs(second.iter()));
    let all = choose_two(first.len() as u64);
    let expected = if all == 0.0 { 0.0 } else { of_first * of_second / all };
    let most = (of_first + of_second) / 2.0;
    if most == expected { 1.0 } else { (both - expected) / (most - expected) }
}

/// How many pairs of items are in the same group.
fn pairs<K: Ord>(groups: impl Iterator<Item = K>) -> f64 {
    let mut sizes = BTreeMap::<K, u64>::new();
    groups.for_each(|group| *sizes.entry(group).or_default() += 1);
    sizes.values().map(|&size| choose_two(size)).sum()
}

fn choose_two(count: u64) -> f64 {
    count as f64 * (count as f64 - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_by_hand() {
        // Pairs together: 2 in both, 6 in the first, 3 in the second, of 15.
        let expected = 6.0 * 3.0 / 15.0;
        let index = (2.0 - expected) / ((6.0 + 3.0) / 2.0 - expected);
        assert!((adjusted_rand_index(&[0, 0, 0, 1, 1, 1], &[0, 0, 1, 1, 2, 2]) - index).abs() < 1e-15);
        assert_eq!(adjusted_rand_index(&[0, 0, 0], &[1, 1, 1]), 1.0);
        assert_eq!(adjusted_rand_index(&[0, 1, 2], &[2, 1, 0]), 1.0);
        assert_eq!(adjusted_rand_index(&[0, 0, 0, 0], &[0, 0, 1, 1]), 0.0);
        assert_eq!(adjusted_rand_index(&[], &[]), 1.0);
        assert_eq!(adjusted_rand_index(&[3], &[4]), 1.0);
    }
}
