//! How far a user looks enters, the parameters of the user's click model leave.
//!
//! One number says how a user browses in every model: η, by which position k is examined with probability `k^−η` in the
//! position-based model. The others get what is nearest to it, so that kinds of users are as different under each of them.

use crate::click_model::{Browsing, ClickModelKind};

/// A user of depth `eta` in a click model, on pages of so many positions.
///
/// | model | parameters |
/// |---|---|
/// | pbm | `θ(k) = k^−η` |
/// | ubm | `θ(k′,k) = (k−k′)^−η`: a click starts the way down anew |
/// | dcm | `λ(k) = (k/(k+1))^η`: after a click as many go on from k to k+1 as in pbm |
/// | dbn | λ with `Σ λ^(k−1) = Σ k^−η`: who clicks nothing examines as many documents as in pbm |
/// | ccm | `τ₁ = τ₂ = λ` of dbn, `τ₃ = λ/2`: every second satisfied user who would go on stops |
/// | trust | `θ(k) = k^−η`, `ε⁺(k) = 1`, `ε⁻(k) = (1 − 2^−η)/2k`: who looks less trusts the top more |
/// | additive | `b(k) = −η·ln k`: pbm, where clicks are rare |
/// | cm, sdbn | none |
pub(super) fn browsing(kind: ClickModelKind, eta: f64, positions: usize) -> Browsing {
    let examination = || (1..=positions).map(|k| (k as f64).powf(-eta));
    let values = match kind {
        ClickModelKind::Pbm => examination().collect(),
        ClickModelKind::Ubm => {
            (1..=positions).flat_map(|k| (0..k).map(move |last_click| ((k - last_click) as f64).powf(-eta))).collect()
        }
        ClickModelKind::Dcm => (1..=positions).map(|k| (k as f64 / (k + 1) as f64).powf(eta)).collect(),
        ClickModelKind::Dbn => vec![continuation(eta, positions)],
        ClickModelKind::Ccm => {
            let going_on = continuation(eta, positions);
            vec![going_on, going_on, going_on / 2.0]
        }
        ClickModelKind::Trust => {
            let trust = (1.0 - (-eta).exp2()) / 2.0;
            let right = std::iter::repeat_n(1.0, positions);
            examination().chain(right).chain((1..=positions).map(|k| trust / k as f64)).collect()
        }
        // 0 − 0 is 0; −0 would be written with its sign.
        ClickModelKind::Additive => (1..=positions).map(|k| 0.0 - eta * (k as f64).ln()).collect(),
        ClickModelKind::Cm | ClickModelKind::Sdbn => Vec::new(),
    };
    Browsing { kind, positions, values }
}

/// The λ with `Σ λ^(k−1) = Σ k^−η` over positions, found by halving.
fn continuation(eta: f64, positions: usize) -> f64 {
    let depth: f64 = (1..=positions).map(|k| (k as f64).powf(-eta)).sum();
    let examined = |lambda: f64| (0..positions).fold(0.0, |sum, _| 1.0 + lambda * sum);
    let (mut low, mut high) = (0.0, 1.0);
    if examined(high) <= depth {
        return high;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if examined(middle) < depth { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_its_parameters_and_depth_means_the_same() {
        for kind in ClickModelKind::ALL {
            for eta in [0.0, 0.5, 2.5] {
                let found = browsing(kind, eta, 7);
                assert_eq!(found.values.len(), kind.parameter_count(7), "{kind}");
                let probabilities = kind != ClickModelKind::Additive;
                assert!(!probabilities || found.values.iter().all(|value| (0.0..=1.0).contains(value)), "{found:?}");
            }
        }
        assert_eq!(browsing(ClickModelKind::Pbm, 1.5, 7), Browsing::power_law(1.5, 7));
        let lambda = browsing(ClickModelKind::Dbn, 1.0, 3).values[0];
        assert!((1.0 + lambda + lambda * lambda - (1.0 + 1.0 / 2.0 + 1.0 / 3.0)).abs() < 1e-12);
        assert_eq!(browsing(ClickModelKind::Dbn, 0.0, 9).values, [1.0]);
        assert_eq!(browsing(ClickModelKind::Ccm, 0.0, 9).values, [1.0, 1.0, 0.5]);
        let dcm = browsing(ClickModelKind::Dcm, 2.0, 2).values;
        assert!((dcm[0] - 1.0 / 4.0).abs() < 1e-12 && (dcm[1] - 4.0 / 9.0).abs() < 1e-12);
        // Before the first click ubm is pbm; after one at 2, position 4 is as position 2.
        let ubm = browsing(ClickModelKind::Ubm, 1.0, 4).values;
        assert_eq!([ubm[0], ubm[1], ubm[3], ubm[6]], [1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0]);
        assert_eq!(ubm[6 + 2], 1.0 / 2.0);
        let trust = browsing(ClickModelKind::Trust, 1.0, 2).values;
        assert_eq!(trust, [1.0, 0.5, 1.0, 1.0, 0.25, 0.125]);
    }
}
