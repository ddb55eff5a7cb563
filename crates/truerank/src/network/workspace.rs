//! One training step's room: rows and score gradients enter, scores and parameter gradients leave.
//!
//! The step has two parallel phases. First each block of rows runs through the whole network, forward or back, while it is
//! in cache. Then each tile of a weight matrix gathers its gradient from all blocks, in block order.

use std::ops::Range;

use rayon::prelude::*;

use super::Network;
use super::architecture::Layer;
use super::elementwise::{activate, activate_back, lane_dot, normalise, normalise_into};
use super::folded::{Folded, FoldedLayer};
use super::matrix::{View, multiply};

/// How many rows go through the network together: few enough to stay in cache and to balance over many threads, enough
/// for the matrix product to be worth its packing.
pub(super) const BLOCK: usize = 128;

/// How many outputs of a layer one task gathers gradients for.
const TILE: usize = 64;

/// A block of rows on its way through the network.
#[derive(Debug)]
pub(super) struct Block {
    rows: usize,
    /// The input of each layer, normalised where it normalises.
    inputs: Vec<Vec<f32>>,
    /// For each layer, the mean and 1 over the deviation that normalised each row of its input; none for the first.
    statistics: Vec<Vec<(f32, f32)>>,
    /// For each layer, the gradient of its output before activation.
    gradients: Vec<Vec<f32>>,
}

impl Block {
    fn for_training(layers: &[Layer]) -> Self {
        let gradients = layers.iter().map(|layer| vec![0.0; BLOCK * layer.outputs]).collect();
        Block { gradients, ..Block::for_scoring(layers) }
    }

    /// A block without room for gradients.
    pub(super) fn for_scoring(layers: &[Layer]) -> Self {
        Block {
            rows: 0,
            inputs: layers.iter().map(|layer| vec![0.0; BLOCK * layer.inputs]).collect(),
            statistics: vec![vec![(0.0, 0.0); BLOCK]; layers.len()],
            gradients: Vec::new(),
        }
    }

    /// Scores as many rows as `scores` has places.
    pub(super) fn forward<'a>(&mut self, folded: &Folded, row: impl Fn(usize) -> &'a [f32], scores: &mut [f32]) {
        self.rows = scores.len();
        let (hidden, last) = folded.split();
        let width = folded.layers[0].layer.inputs;
        for (index, out) in self.inputs[0].chunks_exact_mut(width).take(self.rows).enumerate() {
            match (&folded.scaling, folded.layers[0].layer.normalises) {
                (None, true) => normalise_into(row(index), out),
                (None, false) => out.copy_from_slice(row(index)),
                (Some(scaling), normalises) => {
                    scaling.apply(row(index), out);
                    if normalises {
                        normalise(out);
                    }
                }
            }
        }
        for (index, layer) in hidden.iter().enumerate() {
            self.forward_hidden(index, layer);
        }
        let input = self.inputs[hidden.len()].chunks_exact(last.layer.inputs);
        for (score, row) in scores.iter_mut().zip(input) {
            *score = lane_dot(row, &last.forward, |x, w| x * w) + last.bias[0];
        }
    }

    fn forward_hidden(&mut self, index: usize, folded: &FoldedLayer) {
        let Layer { inputs, outputs, .. } = folded.layer;
        let (before, after) = self.inputs.split_at_mut(index + 1);
        let out = &mut after[0][..self.rows * outputs];
        multiply(out, View::new(&before[index], self.rows, inputs), View::new(&folded.forward, inputs, outputs), false);
        for (row, statistics) in out.chunks_exact_mut(outputs).zip(&mut self.statistics[index + 1]) {
            *statistics = activate(row, &folded.bias);
        }
    }

    /// Carries the gradients of the scores back to every layer's output.
    fn backward(&mut self, folded: &Folded, score_gradients: &[f32]) {
        assert_eq!(score_gradients.len(), self.rows, "each row has one score gradient");
        let last = folded.layers.len() - 1;
        self.gradients[last][..self.rows].copy_from_slice(score_gradients);
        for index in (1..=last).rev() {
            self.backward_through(index, &folded.layers[index]);
        }
    }

    /// From the gradient of layer `index`'s output to that of the layer before it.
    fn backward_through(&mut self, index: usize, folded: &FoldedLayer) {
        let Layer { inputs, outputs, .. } = folded.layer;
        let (before, after) = self.gradients.split_at_mut(index);
        let out = &mut before[index - 1][..self.rows * inputs];
        multiply(out, View::new(&after[0], self.rows, outputs), View::new(&folded.backward, outputs, inputs), false);
        let normalised = self.inputs[index].chunks_exact(inputs).zip(&self.statistics[index]);
        for (gradient, (normalised, &statistics)) in out.chunks_exact_mut(inputs).zip(normalised) {
            activate_back(gradient, normalised, statistics);
        }
    }
}

/// Some outputs of a layer, with what their gradients add to those of the layer norm.
#[derive(Debug)]
struct Tile {
    index: usize,
    layer: Layer,
    outputs: Range<usize>,
    gain: Vec<f32>,
    shift: Vec<f32>,
}

impl Tile {
    fn all(layers: &[Layer]) -> Vec<Tile> {
        let cut = |(index, &layer): (usize, &Layer)| {
            (0..layer.outputs).step_by(TILE).map(move |start| Tile {
                index,
                layer,
                outputs: start..(start + TILE).min(layer.outputs),
                gain: vec![0.0; layer.gain().len()],
                shift: vec![0.0; layer.shift().len()],
            })
        };
        layers.iter().enumerate().flat_map(cut).collect()
    }

    /// The gradient of these outputs' weights and biases, and their part in the layer norm's.
    ///
    /// With `P = dYᵀ X̂` and `s` the column sums of `dY`: `dW = P diag(g) + s bᵀ`, `dc = s`, `dg = Σ_o P_o ∘ W_o` and
    /// `db = Σ_o s_o W_o`.
    fn gather(&mut self, blocks: &[Block], parameters: &[f32], weight: &mut [f32], bias: &mut [f32]) {
        self.products(blocks, weight);
        self.column_sums(blocks, bias);
        self.gain.fill(0.0);
        self.shift.fill(0.0);
        if !self.layer.normalises {
            // The products are the weights' gradient already.
            return;
        }
        let inputs = self.layer.inputs;
        let (gain, shift) = (&parameters[self.layer.gain()], &parameters[self.layer.shift()]);
        let current = &parameters[self.layer.weight()][self.outputs.start * inputs..self.outputs.end * inputs];
        for ((product, current), &sum) in weight.chunks_exact_mut(inputs).zip(current.chunks_exact(inputs)).zip(&*bias)
        {
            let sums = self.gain.iter_mut().zip(&mut self.shift).zip(gain.iter().zip(shift));
            for ((product, &w), ((gain_sum, shift_sum), (&g, &b))) in product.iter_mut().zip(current).zip(sums) {
                *gain_sum += *product * w;
                *shift_sum += sum * w;
                *product = *product * g + sum * b;
            }
        }
    }

    fn products(&self, blocks: &[Block], weight: &mut [f32]) {
        for (number, block) in blocks.iter().enumerate() {
            let gradients = View::new(&block.gradients[self.index], block.rows, self.layer.outputs);
            let inputs = View::new(&block.inputs[self.index], block.rows, self.layer.inputs);
            multiply(weight, gradients.transposed().row_range(self.outputs.clone()), inputs, number > 0);
        }
    }

    fn column_sums(&self, blocks: &[Block], sums: &mut [f32]) {
        sums.fill(0.0);
        for block in blocks {
            for row in block.gradients[self.index].chunks_exact(self.layer.outputs).take(block.rows) {
                for (sum, &gradient) in sums.iter_mut().zip(&row[self.outputs.clone()]) {
                    *sum += gradient;
                }
            }
        }
    }
}

/// Everything a training step needs past the network itself, allocated once and reused from step to step.
#[derive(Debug)]
pub struct Workspace {
    folded: Folded,
    blocks: Vec<Block>,
    used: usize,
    tiles: Vec<Tile>,
    scores: Vec<f32>,
}

impl Workspace {
    /// Room for steps of networks of `network`'s shape; grows to the largest batch it meets.
    pub fn new(network: &Network) -> Self {
        Workspace {
            folded: Folded::new(network),
            blocks: Vec::new(),
            used: 0,
            tiles: Tile::all(network.layers()),
            scores: Vec::new(),
        }
    }

    /// The scores of the rows numbered `rows` of the row-major matrix `features`, in that order.
    ///
    /// # Panics
    ///
    /// When a row is not in `features`, or `network` has another shape than the workspace.
    pub fn forward(&mut self, network: &Network, features: &[f32], rows: &[u32]) -> &[f32] {
        self.reserve(network, rows.len());
        self.folded.update(network);
        let (folded, inputs) = (&self.folded, network.inputs());
        let work = self.blocks.par_iter_mut().zip(self.scores.par_chunks_mut(BLOCK)).zip(rows.par_chunks(BLOCK));
        work.for_each(|((block, scores), rows)| {
            block.forward(folded, |row| &features[rows[row] as usize * inputs..][..inputs], scores);
        });
        &self.scores
    }

    fn reserve(&mut self, network: &Network, rows: usize) {
        assert!(
            self.folded.layers.iter().map(|layer| &layer.layer).eq(network.layers()),
            "a workspace serves networks of one shape"
        );
        self.used = rows.div_ceil(BLOCK);
        while self.blocks.len() < self.used {
            self.blocks.push(Block::for_training(network.layers()));
        }
        self.scores.resize(rows, 0.0);
    }

    /// The gradient of all parameters, from that of each score of the last [`forward`](Workspace::forward).
    ///
    /// # Panics
    ///
    /// When the lengths do not fit the last forward pass and the network.
    pub fn backward(&mut self, network: &Network, score_gradients: &[f32], gradient: &mut [f32]) {
        assert_eq!(score_gradients.len(), self.scores.len(), "each scored row has one score gradient");
        assert_eq!(gradient.len(), network.parameters().len(), "each parameter has one gradient");
        let (blocks, folded) = (&mut self.blocks[..self.used], &self.folded);
        let work = blocks.par_iter_mut().zip(score_gradients.par_chunks(BLOCK));
        work.for_each(|(block, score_gradients)| block.backward(folded, score_gradients));
        if blocks.is_empty() {
            return gradient.fill(0.0);
        }
        self.gather(network, gradient);
    }

    fn gather(&mut self, network: &Network, gradient: &mut [f32]) {
        let blocks = &self.blocks[..self.used];
        let mut norms = Vec::with_capacity(network.layers().len());
        let mut places = Vec::with_capacity(self.tiles.len());
        let mut rest = gradient;
        for layer in network.layers() {
            let norm = rest.split_off_mut(..2 * layer.gain().len()).expect("a gradient as long as the parameters");
            let weight = rest.split_off_mut(..layer.inputs * layer.outputs).expect("as above");
            let bias = rest.split_off_mut(..layer.outputs).expect("as above");
            norm.fill(0.0);
            norms.push(norm.split_at_mut(layer.gain().len()));
            places.extend(weight.chunks_mut(TILE * layer.inputs).zip(bias.chunks_mut(TILE)));
        }
        let work = self.tiles.par_iter_mut().zip(places).with_max_len(1);
        work.for_each(|(tile, (weight, bias))| tile.gather(blocks, network.parameters(), weight, bias));
        for tile in &self.tiles {
            let (gain, shift) = &mut norms[tile.index];
            gain.iter_mut().zip(&tile.gain).for_each(|(sum, part)| *sum += part);
            shift.iter_mut().zip(&tile.shift).for_each(|(sum, part)| *sum += part);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::network::Architecture;

    /// The same network written the obvious way in f64.
    fn reference(network: &Network, parameters: &[f64], row: &[f32]) -> f64 {
        let mut x: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
        let count = network.layers().len();
        for (index, layer) in network.layers().iter().enumerate() {
            let n = x.len() as f64;
            let mean = x.iter().sum::<f64>() / n;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            let (gain, shift) = (&parameters[layer.gain()], &parameters[layer.shift()]);
            let norm = |i: usize| (x[i] - mean) / (variance + 1e-5).sqrt() * gain[i] + shift[i];
            let normed: Vec<f64> = (0..x.len()).map(|i| if layer.normalises { norm(i) } else { x[i] }).collect();
            let weight = parameters[layer.weight()].chunks_exact(layer.inputs);
            x = weight
                .zip(&parameters[layer.bias()])
                .map(|(w, c)| w.iter().zip(&normed).map(|(w, x)| w * x).sum::<f64>() + c)
                .map(|y| if index + 1 == count || y > 0.0 { y } else { y.exp_m1() })
                .collect();
        }
        x[0]
    }

    /// A network with every parameter away from its initial value, and rows for it.
    fn example(architecture: Architecture, inputs: usize, rows: usize) -> (Network, Vec<f32>) {
        example_of(Network::new(architecture, inputs, 1).unwrap(), rows)
    }

    fn example_of(mut network: Network, rows: usize) -> (Network, Vec<f32>) {
        let (mut random, inputs) = (crate::random::stream(7, "test", 0), network.inputs());
        network.parameters_mut().iter_mut().for_each(|p| *p += random.random_range(-0.3..0.3));
        let features = (0..rows * inputs).map(|_| random.random_range(-2.0..3.0)).collect();
        (network, features)
    }

    fn check_against_reference(architecture: Architecture, inputs: usize, rows: usize) {
        check_network(Network::new(architecture.clone(), inputs, 1).unwrap(), rows);
        check_network(Network::keeping_level(architecture, inputs, 1).unwrap(), rows);
    }

    fn check_network(network: Network, rows: usize) {
        let inputs = network.inputs();
        let (network, features) = example_of(network, rows);
        let numbers: Vec<u32> = (0..rows as u32).rev().collect();
        let d: Vec<f32> = (0..rows).map(|i| ((i * 37 + 11) % 19) as f32 / 9.0 - 1.0).collect();
        let mut workspace = Workspace::new(&network);
        let scores = workspace.forward(&network, &features, &numbers).to_vec();
        let mut gradient = vec![f32::NAN; network.parameters().len()];
        workspace.backward(&network, &d, &mut gradient);

        let mut parameters: Vec<f64> = network.parameters().iter().map(|&p| f64::from(p)).collect();
        let row = |i: u32| &features[i as usize * inputs..][..inputs];
        for (&number, &score) in numbers.iter().zip(&scores) {
            assert!((f64::from(score) - reference(&network, &parameters, row(number))).abs() < 1e-5);
        }
        let objective = |parameters: &[f64]| -> f64 {
            numbers.iter().zip(&d).map(|(&i, &d)| f64::from(d) * reference(&network, parameters, row(i))).sum()
        };
        for i in 0..parameters.len() {
            let (value, step) = (parameters[i], 1e-5);
            parameters[i] = value + step;
            let above = objective(&parameters);
            parameters[i] = value - step;
            let expected = (above - objective(&parameters)) / (2.0 * step);
            parameters[i] = value;
            let found = f64::from(gradient[i]);
            assert!((found - expected).abs() < 2e-4 * (1.0 + expected.abs()), "parameter {i}: {found}, not {expected}");
        }
    }

    #[test]
    fn linear_gradients_are_those_of_finite_differences() {
        check_against_reference(Architecture::Linear, 19, 150);
    }

    #[test]
    fn mlp_gradients_are_those_of_finite_differences() {
        check_against_reference(Architecture::Mlp { hidden: vec![9, 17, 5] }, 11, 140);
        check_against_reference(Architecture::Mlp { hidden: vec![TILE + 3] }, 4, 9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn scoring_equals_the_forward_pass(rows in 0usize..300, inputs in 1usize..40) {
            let (network, features) = example(Architecture::Mlp { hidden: vec![16, 8] }, inputs, rows);
            let numbers: Vec<u32> = (0..rows as u32).collect();
            let scores = Workspace::new(&network).forward(&network, &features, &numbers).to_vec();
            prop_assert_eq!(scores, network.score(&features));
        }
    }

    #[test]
    fn a_workspace_forgets_larger_batches() {
        let (network, features) = example(Architecture::Mlp { hidden: vec![8] }, 5, 400);
        let numbers: Vec<u32> = (0..400).collect();
        let mut used = Workspace::new(&network);
        used.forward(&network, &features, &numbers);
        let run = |workspace: &mut Workspace| {
            workspace.forward(&network, &features, &numbers[..130]);
            let mut gradient = vec![0.0; network.parameters().len()];
            workspace.backward(&network, &[1.0; 130], &mut gradient);
            gradient
        };
        assert_eq!(run(&mut used), run(&mut Workspace::new(&network)));
        used.forward(&network, &features, &[]);
        let mut gradient = vec![1.0; network.parameters().len()];
        used.backward(&network, &[], &mut gradient);
        assert!(gradient.iter().all(|&g| g == 0.0));
    }

    #[test]
    fn gradients_do_not_depend_on_threads() {
        let (network, features) = example(Architecture::Mlp { hidden: vec![70, 130] }, 33, 700);
        let numbers: Vec<u32> = (0..700).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut workspace = Workspace::new(&network);
                let d: Vec<f32> = workspace.forward(&network, &features, &numbers).iter().map(|s| s * 0.1).collect();
                let mut gradient = vec![0.0; network.parameters().len()];
                workspace.backward(&network, &d, &mut gradient);
                gradient
            })
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(3));
    }
}
