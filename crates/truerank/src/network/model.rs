//! A network: an architecture, a number of inputs, and one flat vector of parameters with named parts.

use rand::RngExt;
use rayon::prelude::*;

use super::architecture::{Architecture, Layer};
use super::folded::Folded;
use super::scaling::Scaling;
use super::workspace::{BLOCK, Block};
use crate::random;
use crate::{Error, Result};

/// A linear ranker or a multi-layer perceptron: features in, one score out.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    architecture: Architecture,
    layers: Vec<Layer>,
    parameters: Vec<f32>,
    pub(super) scaling: Option<Scaling>,
}

impl Network {
    /// The paper's network, which normalises the features of each document first, with random weights: weights and biases uniform in ±1/√inputs of their layer (PyTorch's default for
    /// linear layers), gains 1, shifts 0.
    pub fn new(architecture: Architecture, inputs: usize, seed: u64) -> Result<Self> {
        Network::drawn(architecture, inputs, true, seed)
    }

    /// The same without layer norm on the input: it would forget how high all features of a document are.
    pub fn keeping_level(architecture: Architecture, inputs: usize, seed: u64) -> Result<Self> {
        Network::drawn(architecture, inputs, false, seed)
    }

    fn drawn(architecture: Architecture, inputs: usize, normalises_input: bool, seed: u64) -> Result<Self> {
        let layers = architecture.layers(inputs, normalises_input)?;
        let mut parameters = vec![0.0; size_of(&layers)];
        for (index, layer) in layers.iter().enumerate() {
            let mut random = random::stream(seed, "network", index as u64);
            let bound = 1.0 / (layer.inputs as f32).sqrt();
            parameters[layer.gain()].fill(1.0);
            let drawn = layer.weight().start..layer.bias().end;
            parameters[drawn].fill_with(|| random.random_range(-bound..bound));
        }
        Ok(Network { architecture, layers, parameters, scaling: None })
    }

    /// A network with the given parameters, in the order of [`layers`](Network::layers); `normalises_input` as in the paper.
    pub fn from_parameters(
        architecture: Architecture,
        inputs: usize,
        normalises_input: bool,
        parameters: Vec<f32>,
    ) -> Result<Self> {
        let layers = architecture.layers(inputs, normalises_input)?;
        if parameters.len() != size_of(&layers) {
            return Err(Error::parameter(format!(
                "{architecture} on {inputs} features should have {} parameters, but has {}",
                size_of(&layers),
                parameters.len()
            )));
        }
        Ok(Network { architecture, layers, parameters, scaling: None })
    }

    /// The same network on features that are scaled first. Default: features as they are.
    pub fn scaled(mut self, scaling: Scaling) -> Result<Self> {
        if scaling.feature_count() != self.inputs() {
            return Err(Error::parameter(format!(
                "the scaling should be of the network's {} features, but is of {}",
                self.inputs(),
                scaling.feature_count()
            )));
        }
        self.scaling = Some(scaling);
        Ok(self)
    }

    /// The same network on features as they are, and how they were scaled.
    pub(crate) fn unscaled(mut self) -> (Self, Option<Scaling>) {
        let scaling = self.scaling.take();
        (self, scaling)
    }

    /// How features are scaled before the first layer, where they are. Training does not change it.
    pub fn scaling(&self) -> Option<&Scaling> {
        self.scaling.as_ref()
    }

    /// Whether the features of each document are normalised first, as in the paper.
    pub fn normalises_input(&self) -> bool {
        self.layers[0].normalises
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
    use crate::network::Workspace;

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
        let network = Network::from_parameters(Architecture::Linear, 2, true, parameters).unwrap();
        // Normalised, the row (1, 3) is (−1, 1) up to epsilon.
        let expected = (-2.0 + 0.5) * 3.0 + (1.0 - 0.5) * 4.0 + 0.25;
        assert!((network.score(&[1.0, 3.0])[0] - expected).abs() < 1e-4);
    }

    #[test]
    fn without_layer_norm_the_level_of_a_document_counts() {
        let parameters = vec![3.0, 4.0, 0.25];
        let network = Network::from_parameters(Architecture::Linear, 2, false, parameters).unwrap();
        assert_eq!(network.score(&[1.0, 3.0, 2.0, 4.0]), [3.0 + 12.0 + 0.25, 6.0 + 16.0 + 0.25]);
        let paper = Network::new(Architecture::Linear, 2, 1).unwrap().score(&[1.0, 3.0, 2.0, 4.0]);
        assert_eq!(paper[0], paper[1]);
    }

    #[test]
    fn a_scaled_network_scores_what_it_scores_on_scaled_features() {
        let (mean, scale) = (vec![20.0, 4000.0, 0.5], vec![0.25, 1e-3, 8.0]);
        let raw: Vec<f32> = (0..3 * 300).map(|i| mean[i % 3] + ((i * 7) % 11) as f32 / scale[i % 3]).collect();
        let by_hand: Vec<f32> = raw.iter().enumerate().map(|(i, x)| (x - mean[i % 3]) * scale[i % 3]).collect();
        let network = Network::new(Architecture::Mlp { hidden: vec![8] }, 3, 1).unwrap();
        let expected = network.score(&by_hand);
        assert_ne!(network.score(&raw), expected);
        let scaled = network.scaled(Scaling::linear(mean, scale).unwrap()).unwrap();
        assert_eq!(scaled.score(&raw), expected);
        let rows: Vec<u32> = (0..300).collect();
        assert_eq!(Workspace::new(&scaled).forward(&scaled, &raw, &rows), expected);
        let narrow = Scaling::linear(vec![0.0], vec![1.0]).unwrap();
        let error = scaled.scaled(narrow).unwrap_err();
        assert_eq!(error.to_string(), "the scaling should be of the network's 3 features, but is of 1");
    }

    #[test]
    fn parameters_must_fit() {
        let error = Network::from_parameters(Architecture::Linear, 2, true, vec![0.0; 6]).unwrap_err();
        assert_eq!(error.to_string(), "linear on 2 features should have 7 parameters, but has 6");
        assert!(Network::new(Architecture::Linear, 0, 1).is_err());
    }
}
