//! Ranking losses over one query: scores and weights enter, the loss and its gradient leave.

use crate::math::{discount, rank};

/// The listwise softmax loss `−Σ_d ŷ(d) log softmax(s)_d`; fills `gradient` with its gradient by the scores.
///
/// The gradient is `(Σ ŷ) softmax(s) − ŷ`. Only real documents enter: short lists are short slices.
///
/// ```
/// use truerank::ranker::listwise_softmax;
/// let mut gradient = [0.0; 2];
/// let loss = listwise_softmax(&[0.0, 0.0], &[1.0, 0.0], &mut gradient);
/// assert!((loss - 2_f64.ln()).abs() < 1e-12);
/// assert_eq!(gradient, [0.5 - 1.0, 0.5]);
/// ```
///
/// # Panics
///
/// When the lengths differ.
pub fn listwise_softmax(scores: &[f32], weights: &[f32], gradient: &mut [f32]) -> f64 {
    assert!(scores.len() == weights.len() && scores.len() == gradient.len(), "one weight and gradient per score");
    let highest = scores.iter().fold(f32::NEG_INFINITY, |highest, &score| highest.max(score));
    let height = |score: f32| f64::from(score) - f64::from(highest);
    let sum: f64 = scores.iter().map(|&score| height(score).exp()).sum();
    let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    let mut loss = 0.0;
    for ((&score, &weight), gradient) in scores.iter().zip(weights).zip(gradient) {
        loss += f64::from(weight) * (sum.ln() - height(score));
        *gradient = (total * height(score).exp() / sum - f64::from(weight)) as f32;
    }
    loss
}

/// The pairwise loss of PRS (Wang et al. 2021), `Σ_ij W_ij |1/log2(1+r_i) − 1/log2(1+r_j)| log(1 + e^−(s_i−s_j))`; fills
/// `gradient` with its gradient by the scores.
///
/// `pairs` is `W`, row-major and n × n: how much "i clicked, j not" counts. Ranks `r` follow the scores, highest first and
/// ties in input order, and are constants for the gradient.
///
/// # Panics
///
/// When the lengths do not fit.
pub fn pairwise_prs(scores: &[f32], pairs: &[f32], gradient: &mut [f32]) -> f64 {
    pairwise(scores, pairs, pairs, gradient)
}

/// The pairwise loss of PRS with ratios by score,
/// `Σ_ij W_ij |1/log2(1+r_i) − 1/log2(1+r_j)| log(1 + e^−(s_i−s_j))` with `W_ij = A_ij` where i ranks above j and `B_ij` where it
/// ranks below; fills `gradient` with its gradient by the scores.
///
/// `if_above` is `A` and `if_below` is `B`, row-major and n × n: how much "i clicked, j not" counts. Ranks `r` follow the
/// scores, highest first and ties in input order; ranks, and with them the choice of A or B, are constants for the gradient.
///
/// # Panics
///
/// When the lengths do not fit.
pub fn pairwise_prs_by_score(scores: &[f32], if_above: &[f32], if_below: &[f32], gradient: &mut [f32]) -> f64 {
    pairwise(scores, if_above, if_below, gradient)
}

fn pairwise(scores: &[f32], if_above: &[f32], if_below: &[f32], gradient: &mut [f32]) -> f64 {
    let count = scores.len();
    let fit = if_above.len() == count * count && if_below.len() == count * count && gradient.len() == count;
    assert!(fit, "n × n pairs and n gradients for n scores");
    let discounts = discounts(scores);
    let mut slopes = vec![0.0_f64; count];
    let mut loss = 0.0;
    let rows = if_above.chunks_exact(count.max(1)).zip(if_below.chunks_exact(count.max(1)));
    for (i, (above, below)) in rows.enumerate() {
        for j in 0..count {
            // Discounts fall from rank to rank, so the larger one is that of the higher rank.
            let pair = if discounts[i] > discounts[j] { above[j] } else { below[j] };
            if pair == 0.0 {
                continue;
            }
            let weight = f64::from(pair) * (discounts[i] - discounts[j]).abs();
            let (value, slope) = logistic(f64::from(scores[i]) - f64::from(scores[j]));
            loss += weight * value;
            slopes[i] += weight * slope;
            slopes[j] -= weight * slope;
        }
    }
    gradient.iter_mut().zip(&slopes).for_each(|(gradient, &slope)| *gradient = slope as f32);
    loss
}

/// `log(1 + e^−x)` and its derivative, without overflow.
fn logistic(x: f64) -> (f64, f64) {
    let small = (-x.abs()).exp();
    let slope = if x > 0.0 { -small / (1.0 + small) } else { -1.0 / (1.0 + small) };
    ((-x).max(0.0) + small.ln_1p(), slope)
}

/// For each score, `1/log2(1 + rank)`; ranks count from 1 at the highest score, ties in input order.
fn discounts(scores: &[f32]) -> Vec<f64> {
    let mut discounts = vec![0.0; scores.len()];
    rank(scores).into_iter().enumerate().for_each(|(index, item)| discounts[item] = discount(index + 1));
    discounts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn differences(scores: &[f32], loss: impl Fn(&[f32]) -> f64) -> Vec<f64> {
        let step = 1.0 / 1024.0;
        (0..scores.len())
            .map(|i| {
                let (mut above, mut below) = (scores.to_vec(), scores.to_vec());
                above[i] += step;
                below[i] -= step;
                (loss(&above) - loss(&below)) / f64::from(above[i] - below[i])
            })
            .collect()
    }

    fn close(gradient: &[f32], expected: &[f64]) -> bool {
        gradient.iter().zip(expected).all(|(&g, &e)| (f64::from(g) - e).abs() < 1e-4 * (1.0 + e.abs()))
    }

    proptest! {
        #[test]
        fn listwise_gradients_are_those_of_finite_differences(
            list in prop::collection::vec((-5.0f32..5.0, 0.0f32..2.0), 0..12),
        ) {
            let (scores, weights): (Vec<f32>, Vec<f32>) = list.into_iter().unzip();
            let mut gradient = vec![0.0; scores.len()];
            listwise_softmax(&scores, &weights, &mut gradient);
            let loss = |scores: &[f32]| listwise_softmax(scores, &weights, &mut vec![0.0; scores.len()]);
            prop_assert!(close(&gradient, &differences(&scores, loss)));
        }

        #[test]
        fn pairwise_gradients_are_those_of_finite_differences(
            // Scores at least .01 apart, so that the small steps change no rank.
            places in prop::collection::btree_set(-300i32..300, 0..8),
            weights in prop::collection::vec(0.0f32..1.0, 64),
        ) {
            let mut scores: Vec<f32> = places.into_iter().map(|place| place as f32 / 100.0).collect();
            let half = scores.len() / 2;
            scores.rotate_left(half);
            let pairs = &weights[..scores.len() * scores.len()];
            let mut gradient = vec![0.0; scores.len()];
            pairwise_prs(&scores, pairs, &mut gradient);
            let loss = |scores: &[f32]| pairwise_prs(scores, pairs, &mut vec![0.0; scores.len()]);
            prop_assert!(close(&gradient, &differences(&scores, loss)));
            let if_below: Vec<f32> = pairs.iter().map(|pair| 1.0 - pair).collect();
            pairwise_prs_by_score(&scores, pairs, &if_below, &mut gradient);
            let loss = |scores: &[f32]| pairwise_prs_by_score(scores, pairs, &if_below, &mut vec![0.0; scores.len()]);
            prop_assert!(close(&gradient, &differences(&scores, loss)));
        }
    }

    #[test]
    fn a_pair_counts_by_its_discounts() {
        let mut gradient = [0.0; 2];
        // Item 1 was clicked, item 0 not; item 0 ranks first.
        let loss = pairwise_prs(&[2.0, 1.0], &[0.0, 0.0, 0.5, 0.0], &mut gradient);
        let swap = 1.0 - 1.0 / 3.0_f64.log2();
        assert!((loss - 0.5 * swap * (1.0 + 1.0_f64.exp()).ln()).abs() < 1e-12);
        assert!(gradient[0] > 0.0 && gradient[1] == -gradient[0]);
    }

    #[test]
    fn scores_choose_the_weight_of_a_pair() {
        let mut gradient = [0.0; 2];
        let (if_above, if_below) = ([0.0, 0.5, 0.25, 0.0], [0.0, 2.0, 4.0, 0.0]);
        let swap = 1.0 - 1.0 / 3.0_f64.log2();
        let [right, wrong] = [-1.0_f64, 1.0].map(|x| (1.0 + x.exp()).ln());
        for (scores, expected) in [
            // Item 0 ranks first: "0 clicked" is in order, "1 clicked" is not.
            ([2.0, 1.0], swap * (0.5 * right + 4.0 * wrong)),
            ([1.0, 2.0], swap * (2.0 * wrong + 0.25 * right)),
            // A tie is ranked in input order.
            ([1.0, 1.0], swap * (0.5 + 4.0) * 2.0_f64.ln()),
        ] {
            let loss = pairwise_prs_by_score(&scores, &if_above, &if_below, &mut gradient);
            assert!((loss - expected).abs() < 1e-12, "{scores:?}: {loss} and {expected}");
        }
    }

    #[test]
    fn ties_rank_in_input_order() {
        assert_eq!(discounts(&[0.0, 1.0, -0.0]), [1.0 / 3.0_f64.log2(), 1.0, 0.5]);
    }

    #[test]
    fn large_scores_do_not_overflow_and_nan_shows() {
        let mut gradient = [0.0; 2];
        assert_eq!(listwise_softmax(&[1e30, -1e30], &[1.0, 0.0], &mut gradient), 0.0);
        assert!(listwise_softmax(&[f32::NAN, 0.0], &[1.0, 0.0], &mut gradient).is_nan());
        assert!(pairwise_prs(&[1e30, -1e30], &[0.0, 0.0, 1.0, 0.0], &mut gradient).is_finite());
        assert!(pairwise_prs(&[f32::NAN, 0.0], &[0.0, 1.0, 0.0, 0.0], &mut gradient).is_nan());
    }
}
