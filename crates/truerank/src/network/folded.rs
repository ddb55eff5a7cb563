//! A network's parameters in the form that products want: each layer norm folded into the linear map behind it.
//!
//! With `x̂` the normalised input, gain `g`, shift `b`, weight `W` and bias `c`,
//! `W (g ∘ x̂ + b) + c = (W diag(g)) x̂ + (W b + c)`, so layer norm costs nothing past the normalisation itself.

use rayon::prelude::*;

use super::architecture::Layer;
use super::elementwise::lane_dot;
use super::{Network, Scaling};

/// How many inputs one task transposes: two cache lines.
const STRIP: usize = 32;

/// The folded parameters of one layer.
#[derive(Debug)]
pub(super) struct FoldedLayer {
    pub(super) layer: Layer,
    /// `(W diag(g))ᵀ`: `inputs` rows of `outputs`.
    pub(super) forward: Vec<f32>,
    /// `W diag(g)`: `outputs` rows of `inputs`.
    pub(super) backward: Vec<f32>,
    /// `W b + c`.
    pub(super) bias: Vec<f32>,
}

impl FoldedLayer {
    fn new(layer: Layer) -> Self {
        let size = layer.inputs * layer.outputs;
        FoldedLayer { layer, forward: vec![0.0; size], backward: vec![0.0; size], bias: vec![0.0; layer.outputs] }
    }

    fn update(&mut self, parameters: &[f32]) {
        let Layer { inputs, outputs, .. } = self.layer;
        let (gain, shift) = (&parameters[self.layer.gain()], &parameters[self.layer.shift()]);
        let (weight, bias) = (&parameters[self.layer.weight()], &parameters[self.layer.bias()]);
        let rows = self.backward.par_chunks_exact_mut(inputs).zip(weight.par_chunks_exact(inputs));
        rows.zip(self.bias.par_iter_mut().zip(bias)).with_min_len(32).for_each(|((folded, weight), (out, &bias))| {
            match gain {
                [] => folded.copy_from_slice(weight),
                _ => folded.iter_mut().zip(weight).zip(gain).for_each(|((folded, &w), &g)| *folded = w * g),
            }
            *out = bias + lane_dot(weight, shift, |w, b| w * b);
        });
        let backward = &self.backward;
        self.forward.par_chunks_mut(STRIP * outputs).enumerate().for_each(|(strip, rows)| {
            transpose_strip(backward, inputs, strip * STRIP, rows, outputs);
        });
    }
}

/// Fills `rows` with columns `first..` of `matrix`, which has rows of `width`.
fn transpose_strip(matrix: &[f32], width: usize, first: usize, rows: &mut [f32], outputs: usize) {
    let count = rows.len() / outputs;
    for (output, line) in matrix.chunks_exact(width).enumerate() {
        for (i, &value) in line[first..first + count].iter().enumerate() {
            rows[i * outputs + output] = value;
        }
    }
}

/// The folded parameters of a network, and its scaling.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) scaling: Option<Scaling>,
    pub(super) layers: Vec<FoldedLayer>,
}

impl Folded {
    /// Room for `network`'s parameters, which [`update`](Folded::update) fills.
    pub(super) fn new(network: &Network) -> Self {
        let layers = network.layers().iter().map(|&layer| FoldedLayer::new(layer)).collect();
        Folded { scaling: None, layers }
    }

    /// Takes over `network`'s parameters and scaling.
    pub(super) fn update(&mut self, network: &Network) {
        self.scaling.clone_from(&network.scaling);
        self.layers.iter_mut().for_each(|layer| layer.update(network.parameters()));
    }

    /// All layers but the last, and the last.
    pub(super) fn split(&self) -> (&[FoldedLayer], &FoldedLayer) {
        let (last, hidden) = self.layers.split_last().expect("a network has at least one layer");
        (hidden, last)
    }
}
