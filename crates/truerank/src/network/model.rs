//! A network: an architecture, a number of inputs, and one flat vector of parameters with named parts.

use rand::RngExt;
use rayon::prelude::*;

use super::architecture::{Architecture, Layer};
use super::folded::Folded;
use super::workspace::{BLOCK, Block};
use crate::random;
use crate::{Error, Result};

/// A linear ranker or a multi-layer perceptron: features in, one score out.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    architecture: Architecture,
    layers: Vec<Layer>,
    parameters: Vec<f32>,
}

impl Network {
    /// A network with random weights: weights and biases uniform in ±1/√inputs of their layer (PyTorch's default for
    /// linear layers), gains 1, shifts 0.
    pub fn new(architecture: Architecture, inputs: usize, seed: u64) -> Result<Self> {
        let layers = architecture.layers(inputs)?;
        let mut parameters = vec![0.0; size_of(&layers)];
        for (index, layer) in layers.iter().enumerate() {
            let mut random = random::stream(seed, "network", index as u64);
            let bound = 1.0 / (layer.inputs as f32).sqrt();
            parameters[layer.gain()].fill(1.0);
            let drawn = layer.weight().start..layer.bias().end;
            parameters[drawn].fill_with(|| random.random_range(-bound..bound));
        }
        Ok(Network { architecture, layers, parameters })
    }

    /// A network with the given parameters, in the order of [`layers`](Network::layers).
    pub fn from_parameters(architecture: Architecture, inputs: usize, parameters: Vec<f32>) -> Result<Self> {
        let layers = architecture.layers(inputs)?;
        if parameters.len() != size_of(&layers) {
            return Err(Error::parameter(format!(
                "{architecture} on {inputs} features should have {} parameters, but has {}",
                size_of(&layers),
                parameters.len()
            )));
        }
        Ok(Network { architecture, layers, parameters })
    }

    /// The form of the network.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// How many features enter.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// The layers in order, with the places of their parameters.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// All parameters.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// All parameters, to be changed.
    pub fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// The scores of all rows of a row-major matrix, on all threads; memory past the scores does not grow with the rows.
    ///
    /// # Panics
    ///
    /// When `features` is not a whole number of rows.
    pub fn score(&self, features: &[f32]) -> Vec<f32> {
        let inputs = self.inputs();
        assert_eq!(features.len() % inputs, 0, "features are whole rows of {inputs}");
        let mut folded = Folded::new(self);
        folded.update(self);
        let mut scores = vec![0.0; features.len() / inputs];
        let tasks = scores.par_chunks_mut(BLOCK).zip(features.par_chunks(BLOCK * inputs));
        tasks.for_each_init(
            || Block::for_scoring(&self.layers),
            |block, (scores, features)| block.forward(&folded, |row| &features[row * inputs..][..inputs], scores),
        );
        scores
    }
}

fn size_of(layers: &[Layer]) -> usize {
    layers.last().map_or(0, |layer| layer.bias().end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_weights_fill_their_range() {
        let network = Network::new(Architecture::Mlp { hidden: vec![64, 16] }, 25, 3).unwrap();
        for layer in network.layers() {
            let bound = 1.0 / (layer.inputs as f32).sqrt();
            let weights = &network.parameters()[layer.weight()];
            let largest = weights.iter().fold(0.0_f32, |most, w| most.max(w.abs()));
            assert!(largest <= bound && largest > 0.8 * bound);
            assert!(network.parameters()[layer.gain()].iter().all(|&g| g == 1.0));
            assert!(network.parameters()[layer.shift()].iter().all(|&b| b == 0.0));
        }
        assert_eq!(network, Network::new(network.architecture().clone(), 25, 3).unwrap());
        assert_ne!(network, Network::new(network.architecture().clone(), 25, 4).unwrap());
    }

    #[test]
    fn a_linear_network_is_a_dot_product_with_the_normalised_row() {
        let parameters = vec![2.0, 1.0, 0.5, -0.5, 3.0, 4.0, 0.25];
        let network = Network::from_parameters(Architecture::Linear, 2, parameters).unwrap();
        // Normalised, the row (1, 3) is (−1, 1) up to epsilon.
        let expected = (-2.0 + 0.5) * 3.0 + (1.0 - 0.5) * 4.0 + 0.25;
        assert!((network.score(&[1.0, 3.0])[0] - expected).abs() < 1e-4);
    }

    #[test]
    fn parameters_must_fit() {
        let error = Network::from_parameters(Architecture::Linear, 2, vec![0.0; 6]).unwrap_err();
        assert_eq!(error.to_string(), "linear on 2 features should have 7 parameters, but has 6");
        assert!(Network::new(Architecture::Linear, 0, 1).is_err());
    }
}
