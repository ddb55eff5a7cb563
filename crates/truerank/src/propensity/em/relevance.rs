//! The M-step for γ: expected relevance of each document in, a probability for each document out.

/// What gives each document its γ.
pub(crate) trait RelevanceModel {
    /// γ of each document.
    fn values(&self) -> &[f64];

    /// The parameters, for acceleration.
    fn parameters(&self) -> &[f64];

    /// Takes other parameters.
    fn set_parameters(&mut self, parameters: &[f64]);

    /// Moves parameters back to where γ is a probability.
    fn restrict(&self, parameters: &mut [f64]);

    /// Raises `Σ R·ln γ + (N − R)·ln(1 − γ)`, with R the expected relevant and N all impressions of each document.
    fn update(&mut self, relevant: &[f64], shown: &[f64]);
}

/// γ stays this far from 0 and 1, where a click or its absence would be impossible.
pub(crate) const MARGIN: f64 = 1e-9;

/// Each document has a γ of its own: `γ = R/N`.
pub(super) struct Tabular {
    values: Vec<f64>,
}

impl Tabular {
    pub fn new(docs: usize, start: f64) -> Self {
        Tabular { values: vec![start; docs] }
    }
}

impl RelevanceModel for Tabular {
    fn values(&self) -> &[f64] {
        &self.values
    }

    fn parameters(&self) -> &[f64] {
        &self.values
    }

    fn set_parameters(&mut self, parameters: &[f64]) {
        self.values.copy_from_slice(parameters);
    }

    fn restrict(&self, parameters: &mut [f64]) {
        parameters.iter_mut().for_each(|gamma| *gamma = gamma.clamp(MARGIN, 1.0 - MARGIN));
    }

    fn update(&mut self, relevant: &[f64], shown: &[f64]) {
        for ((gamma, relevant), shown) in self.values.iter_mut().zip(relevant).zip(shown) {
            // A document that a resample left out keeps its γ.
            if *shown > 0.0 {
                *gamma = relevant / shown;
            }
        }
    }
}

/// γ that is not to change.
pub(super) struct Fixed {
    pub values: Vec<f64>,
}

impl RelevanceModel for Fixed {
    fn values(&self) -> &[f64] {
        &self.values
    }

    fn parameters(&self) -> &[f64] {
        &[]
    }

    fn set_parameters(&mut self, _: &[f64]) {}

    fn restrict(&self, _: &mut [f64]) {}

    fn update(&mut self, _: &[f64], _: &[f64]) {}
}
