//! What is believed of users who go on or stop: the likelihood of each user at several values enters, a Beta prior and the mean of
//! each user's parameter leave.
//!
//! Where users stop is not seen, only that no click followed. Expected counts of going on are imputed from the parameter that
//! they are to tell of, so they say too little about how much users differ. λ of `dbn` and τ of `ccm` are few, so each is summed
//! over a grid instead: `∫ P(clicks of u | λ)·Beta(λ; m, s) dλ`, with documents and the user's other parameters as they are.

use super::ClickModelKind;
use super::browsing::logistic;
use super::em::Em;
use crate::math::minimize;

/// Values on the grid: narrow enough for the strengths below.
const GRID: usize = 24;

/// Strengths are looked for between e^-1 and e^5: users with 150 sessions' worth of prior are as good as alike.
const LOG_STRENGTH: (f64, f64) = (-1.0, 5.0);

/// Means are looked for between these logits.
const LOGITS: (f64, f64) = (-5.0, 5.0);

/// Turns of mean and strength.
const TURNS: usize = 4;

/// Values that are dense at the ends, as λ = sin² φ with φ evenly spaced.
fn grid() -> [f64; GRID] {
    std::array::from_fn(|number| {
        let angle = std::f64::consts::FRAC_PI_2 * (number as f64 + 0.5) / GRID as f64;
        angle.sin().powi(2)
    })
}

/// The probability of each value under a Beta distribution. `dλ = 2√(λ(1−λ)) dφ`.
fn chances(mean: f64, strength: f64) -> [f64; GRID] {
    let (won, lost) = (mean * strength - 0.5, (1.0 - mean) * strength - 0.5);
    let logs = grid().map(|value| won * value.ln() + lost * (1.0 - value).ln());
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = logs.map(|log| (log - most).exp());
    let total: f64 = weights.iter().sum();
    weights.map(|weight| weight / total)
}

/// How likely each user's clicks are at each value, as a share of the likeliest.
struct Likelihoods(Vec<[f64; GRID]>);

impl Likelihoods {
    fn lack(&self, mean: f64, strength: f64) -> f64 {
        let chances = chances(mean, strength);
        let of_user = |user: &[f64; GRID]| -> f64 { user.iter().zip(&chances).map(|(a, b)| a * b).sum() };
        -self.0.iter().map(|user| of_user(user).max(f64::MIN_POSITIVE).ln()).sum::<f64>()
    }

    /// The mean and strength under which all clicks are likeliest.
    fn prior(&self) -> (f64, f64) {
        let (mut mean, mut strength) = (0.5, 2.0);
        for _ in 0..TURNS {
            mean = logistic(minimize(LOGITS.0, LOGITS.1, 10, 1e-3, |x| self.lack(logistic(x), strength)));
            let log = minimize(LOG_STRENGTH.0, LOG_STRENGTH.1, 8, 1e-2, |log| self.lack(mean, log.exp()));
            strength = log.exp();
        }
        (mean, strength)
    }

    /// The mean of each user's parameter given their clicks.
    fn means(&self, mean: f64, strength: f64) -> Vec<f64> {
        let (values, chances) = (grid(), chances(mean, strength));
        let of_user = |user: &[f64; GRID]| {
            let (mut whole, mut sum) = (0.0, 0.0);
            for ((likelihood, chance), value) in user.iter().zip(&chances).zip(&values) {
                whole += likelihood * chance;
                sum += likelihood * chance * value;
            }
            if whole > 0.0 { sum / whole } else { mean }
        };
        self.0.iter().map(of_user).collect()
    }
}

impl Em<'_> {
    /// Whether users have parameters whose expected counts hide how much they differ.
    pub(super) fn has_hidden_stops(&self) -> bool {
        let part = &self.parts[0];
        part.per_user && matches!(part.kind, ClickModelKind::Dbn | ClickModelKind::Ccm)
    }

    /// Fits what is believed of each parameter, and says how far it moved.
    pub(super) fn fit_hidden_stops(&mut self) -> f64 {
        let mut moved: f64 = 0.0;
        for parameter in 0..self.parts[0].width() {
            let (mean, strength) = self.likelihoods(parameter).prior();
            let believed = &mut self.parts[0].believed[parameter];
            let before = (believed.0 / believed.1.max(f64::MIN_POSITIVE), believed.1.max(f64::MIN_POSITIVE));
            moved = moved.max((mean - before.0).abs()).max((strength / before.1).ln().abs());
            *believed = (mean * strength, strength);
        }
        moved
    }

    /// Gives each user the mean of their parameters in place of the most probable ones.
    pub(super) fn sum_over_stops(&mut self) {
        let width = self.parts[0].width();
        for parameter in 0..width {
            let (won, of) = self.parts[0].believed[parameter];
            let means = self.likelihoods(parameter).means(won / of, of);
            let rows = self.parts[0].values.chunks_exact_mut(width);
            rows.zip(means).for_each(|(row, mean)| row[parameter] = mean);
        }
    }

    fn likelihoods(&mut self, parameter: usize) -> Likelihoods {
        let width = self.parts[0].width();
        let own = self.parts[0].values.clone();
        let mut logs = vec![[0.0; GRID]; self.observed.users];
        for (number, value) in grid().into_iter().enumerate() {
            self.parts[0].values.iter_mut().skip(parameter).step_by(width).for_each(|of_user| *of_user = value);
            logs.iter_mut().zip(self.of_users(0)).for_each(|(logs, log)| logs[number] = log);
        }
        self.parts[0].values = own;
        let scaled = |logs: [f64; GRID]| {
            let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            logs.map(|log| (log - most).exp())
        };
        Likelihoods(logs.into_iter().map(scaled).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use rand::RngExt;
    use rand_distr::{Beta, Distribution};

    /// Users who succeed so often in some trials.
    fn counted(counts: &[(i32, i32)]) -> Likelihoods {
        let of_user = |&(won, lost): &(i32, i32)| grid().map(|value| value.powi(won) * (1.0 - value).powi(lost));
        Likelihoods(counts.iter().map(of_user).collect())
    }

    #[test]
    fn means_of_a_user_with_counts_are_those_of_a_beta_distribution() {
        for (mean, strength) in [(0.8, 10.0), (0.3, 3.0), (0.6, 40.0)] {
            let counts = [(0, 0), (3, 1), (0, 4), (10, 2)];
            for (found, (won, lost)) in counted(&counts).means(mean, strength).into_iter().zip(counts) {
                let expected = (mean * strength + f64::from(won)) / (strength + f64::from(won + lost));
                assert!((found - expected).abs() < 2e-3, "{mean} {strength} {won} {lost}: {found} {expected}");
            }
        }
    }

    #[test]
    fn the_prior_that_made_users_is_found() {
        for (mean, strength) in [(0.8, 10.0), (0.4, 4.0)] {
            let mut random = stream(1, "stops", 0);
            let beta = Beta::new(mean * strength, (1.0 - mean) * strength).unwrap();
            let mut user = |_| {
                let value: f64 = beta.sample(&mut random);
                let won = (0..6).filter(|_| random.random_bool(value)).count() as i32;
                (won, 6 - won)
            };
            let counts: Vec<(i32, i32)> = (0..20_000).map(&mut user).collect();
            let (found, s) = counted(&counts).prior();
            // Standard errors: of the mean √(m(1−m)·(1/6 + 5/6·1/(s+1))/20,000) ≈ .002; of ln s by the spread of pair
            // agreements ≈ .04.
            assert!((found - mean).abs() < 0.01 && (s / strength).ln().abs() < 0.15, "{found} {s}");
        }
    }
}
