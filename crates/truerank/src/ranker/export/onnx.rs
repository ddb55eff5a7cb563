//! Rankers as ONNX: features of any number of documents enter the graph, their scores leave.
//!
//! Layer norm, `Gemm` and `Elu` for networks, before them `Sub` and `Mul`, or the pieces of curves, where features are scaled; `TreeEnsembleRegressor` for trees.
//! Plain weights are multiplied, and leaves are summed, in double precision, as our own scores are. The metadata is that of the
//! safetensors file.

use std::path::Path;

use super::protobuf::Message;
use super::{Export, trees};
use crate::files::write_file;
use crate::network::{CurveScaling, Layer, LinearScaling, NORM_EPSILON, Network, Scaling};
use crate::ranker::file::METADATA_KEY;
use crate::ranker::{Forest, Leaf, Model, Ranker, Split, Tree};
use crate::{Error, Result};

/// What feeds the graph: `documents × features`, single precision.
const INPUT: &str = "features";
/// What it computes: one score per document.
const OUTPUT: &str = "scores";
/// The first set of operators that has layer norm, and the version of the file form that goes with it.
const OPERATORS: u64 = 17;
const FORM: u64 = 8;
/// The set of operators that has trees, and its first version that has them in double precision.
const TREE_DOMAIN: &str = "ai.onnx.ml";
const TREE_OPERATORS: u64 = 3;
/// Readers of protocol buffers refuse a message of 2 GiB; the graph around the parameters takes far less than the rest.
const MOST_BYTES: usize = (1 << 31) - (1 << 22);
/// No node of a tree takes more.
const NODE_BYTES: usize = 64;

pub(super) fn write(ranker: &Ranker, _: &Export, path: &Path) -> Result<String> {
    ranker.write_onnx(path)?;
    Ok(format!("input {INPUT}, output {OUTPUT}"))
}

impl Ranker {
    /// Writes the ranker as ONNX: input `features` (documents × features, float), output `scores` (documents, float).
    ///
    /// The same ranker gives the same bytes.
    pub fn write_onnx(&self, path: &Path) -> Result<()> {
        let bytes = self.to_onnx()?;
        write_file(path, &bytes)
    }

    fn to_onnx(&self) -> Result<Vec<u8>> {
        let graph = match &self.model {
            Model::Network(network) => network_graph(network)?,
            Model::Weights { weights, bias } => weights_graph(weights, *bias),
            Model::Trees(forest) => trees_graph(forest)?,
        };
        let operators = |domain: &str, version| Message::default().text(1, domain).integer(2, version);
        let tree_operators = matches!(self.model, Model::Trees(_)).then(|| operators(TREE_DOMAIN, TREE_OPERATORS));
        let metadata = Message::default().text(1, METADATA_KEY).text(2, &self.metadata()?);
        let model = Message::default()
            .integer(1, FORM)
            .text(2, "truerank")
            .text(3, env!("CARGO_PKG_VERSION"))
            .message(7, graph.finish(self.feature_count()))
            .message(8, operators("", OPERATORS))
            .each(tree_operators, |model, operators| model.message(8, operators))
            .message(14, metadata);
        Ok(model.into_bytes())
    }
}

/// Nodes and constants so far.
#[derive(Default)]
struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
}

impl Graph {
    /// Adds `output = kind(inputs)`; returns the name of the output.
    fn node(&mut self, kind: &str, inputs: &[&str], output: &str, attributes: Vec<Message>) -> String {
        self.node_of("", kind, inputs, output, attributes)
    }

    /// Adds a node of another set of operators.
    fn node_of(&mut self, domain: &str, kind: &str, inputs: &[&str], output: &str, attributes: Vec<Message>) -> String {
        let domain = (!domain.is_empty()).then_some(domain);
        let node = Message::default()
            .each(inputs, |node, input| node.text(1, input))
            .text(2, output)
            .text(3, output)
            .text(4, kind)
            .each(attributes, |node, attribute| node.message(5, attribute))
            .each(domain, |node, domain| node.text(7, domain));
        self.nodes.push(node);
        output.to_string()
    }

    /// Adds a constant; returns its name.
    fn constant(&mut self, name: &str, kind: Kind, shape: &[usize], bytes: Vec<u8>) -> String {
        self.constants.push(tensor(name, kind, shape, &bytes));
        name.to_string()
    }

    fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) -> String {
        self.constant(name, Kind::Float, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    fn doubles(&mut self, name: &str, shape: &[usize], values: impl Iterator<Item = f64>) -> String {
        self.constant(name, Kind::Double, shape, values.flat_map(f64::to_le_bytes).collect())
    }

    /// Features of one scale.
    fn scaling(&mut self, scaling: &Scaling, input: &str) -> String {
        match scaling {
            Scaling::Linear(scaling) => self.linear_scaling(scaling, input),
            Scaling::Curve(scaling) => self.curve_scaling(scaling, input),
        }
    }

    fn linear_scaling(&mut self, scaling: &LinearScaling, input: &str) -> String {
        let mean = self.floats("scaling.mean", &[scaling.mean().len()], scaling.mean());
        let scale = self.floats("scaling.scale", &[scaling.scale().len()], scaling.scale());
        let centred = self.node("Sub", &[input, &mean], "centred", Vec::new());
        self.node("Mul", &[&centred, &scale], "scaled", Vec::new())
    }

    /// A line through points is the value at the first plus, piece by piece, how far `x` got in the piece times its slope.
    fn curve_scaling(&mut self, scaling: &CurveScaling, input: &str) -> String {
        let Pieces { first, start, width, slope } = Pieces::of(scaling);
        let shape = [first.len(), scaling.points() - 1];
        let start = self.floats("scaling.start", &shape, &start);
        let width = self.floats("scaling.width", &shape, &width);
        let slope = self.floats("scaling.slope", &shape, &slope);
        let first = self.floats("scaling.first", &[first.len()], &first);
        let last_axis = self.constant("pieces", Kind::Integer, &[1], 2_i64.to_le_bytes().to_vec());
        let column = self.node("Unsqueeze", &[input, &last_axis], "by_piece", Vec::new());
        let past = self.node("Sub", &[&column, &start], "past_start", Vec::new());
        let above = self.node("Relu", &[&past], "above_start", Vec::new());
        let within = self.node("Min", &[&above, &width], "within_piece", Vec::new());
        let risen = self.node("Mul", &[&within, &slope], "risen", Vec::new());
        let sum = self.node("ReduceSum", &[&risen, &last_axis], "summed", vec![integer_attribute("keepdims", 0)]);
        self.node("Add", &[&sum, &first], "scaled", Vec::new())
    }

    /// Layer norm, where there is one, and the linear map of one layer.
    fn layer(&mut self, index: usize, layer: &Layer, parameters: &[f32], input: &str) -> String {
        let name = |part: &str| format!("layers.{index}.{part}");
        let input = match layer.normalises {
            true => self.layer_norm(&name, layer, parameters, input),
            false => input.to_string(),
        };
        let shape = [layer.outputs, layer.inputs];
        let weight = self.floats(&name("linear.weight"), &shape, &parameters[layer.weight()]);
        let bias = self.floats(&name("linear.bias"), &[layer.outputs], &parameters[layer.bias()]);
        let transposed = vec![integer_attribute("transB", 1)];
        self.node("Gemm", &[&input, &weight, &bias], &name("linear"), transposed)
    }

    fn layer_norm(&mut self, name: &dyn Fn(&str) -> String, layer: &Layer, parameters: &[f32], input: &str) -> String {
        let gain = self.floats(&name("norm.weight"), &[layer.inputs], &parameters[layer.gain()]);
        let shift = self.floats(&name("norm.bias"), &[layer.inputs], &parameters[layer.shift()]);
        let epsilon = vec![float_attribute("epsilon", NORM_EPSILON)];
        self.node("LayerNormalization", &[input, &gain, &shift], &name("norm"), epsilon)
    }

    /// Makes the only column of `input` the scores.
    fn scores(&mut self, input: &str) {
        let column = self.constant("column", Kind::Integer, &[1], 1_i64.to_le_bytes().to_vec());
        self.node("Squeeze", &[input, &column], OUTPUT, Vec::new());
    }

    fn finish(self, features: usize) -> Message {
        let documents = Message::default().text(2, "documents");
        let width = Message::default().integer(1, features as u64);
        Message::default()
            .each(self.nodes, |graph, node| graph.message(1, node))
            .text(2, "ranker")
            .each(self.constants, |graph, constant| graph.message(5, constant))
            .message(11, float_value(INPUT, [documents, width]))
            .message(12, float_value(OUTPUT, [Message::default().text(2, "documents")]))
    }
}

/// Curves as pieces between their points, feature by feature.
struct Pieces {
    /// The value at the first point of each feature.
    first: Vec<f32>,
    start: Vec<f32>,
    width: Vec<f32>,
    slope: Vec<f32>,
}

impl Pieces {
    fn of(scaling: &CurveScaling) -> Self {
        let (mut pieces, points) =
            (Pieces { first: vec![], start: vec![], width: vec![], slope: vec![] }, scaling.points());
        for (values, scaled) in scaling.values().chunks_exact(points).zip(scaling.scaled().chunks_exact(points)) {
            pieces.first.push(scaled[0]);
            for (values, scaled) in values.windows(2).zip(scaled.windows(2)) {
                let width = values[1] - values[0];
                // A piece without width is past the last value. Slopes stay finite: infinity times 0 is no number.
                let slope = if width > 0.0 { ((scaled[1] - scaled[0]) / width).clamp(f32::MIN, f32::MAX) } else { 0.0 };
                pieces.start.push(values[0]);
                pieces.width.push(width);
                pieces.slope.push(slope);
            }
        }
        pieces
    }
}

/// The kinds of constants, as ONNX numbers them.
#[derive(Clone, Copy)]
enum Kind {
    Float = 1,
    Integer = 7,
    Double = 11,
}

fn network_graph(network: &Network) -> Result<Graph> {
    let (layers, parameters) = (network.layers(), network.parameters());
    check_room(parameters.len(), 4, "parameters")?;
    let mut graph = Graph::default();
    let mut last = INPUT.to_string();
    if let Some(scaling) = network.scaling() {
        last = graph.scaling(scaling, &last);
    }
    for (index, layer) in layers.iter().enumerate() {
        if index > 0 {
            last = graph.node("Elu", &[&last], &format!("layers.{index}.input"), Vec::new());
        }
        last = graph.layer(index, layer, parameters, &last);
    }
    graph.scores(&last);
    Ok(graph)
}

fn weights_graph(weights: &[f32], bias: f32) -> Graph {
    let mut graph = Graph::default();
    let column = graph.doubles("weight", &[weights.len(), 1], weights.iter().map(|&w| f64::from(w)));
    let bias = graph.doubles("bias", &[1], std::iter::once(f64::from(bias)));
    let to = |kind: Kind| vec![integer_attribute("to", kind as u64)];
    let exact = graph.node("Cast", &[INPUT], "exact", to(Kind::Double));
    let summed = graph.node("Gemm", &[&exact, &column, &bias], "summed", Vec::new());
    let rounded = graph.node("Cast", &[&summed], "rounded", to(Kind::Float));
    graph.scores(&rounded);
    graph
}

/// Leaves are summed in the order of the trees, in double precision.
fn trees_graph(forest: &Forest) -> Result<Graph> {
    let nodes = forest.trees().iter().map(|tree| tree.splits.len() + tree.leaves.len()).sum();
    check_room(nodes, NODE_BYTES, "nodes of trees")?;
    let mut graph = Graph::default();
    let exact = graph.node("Cast", &[INPUT], "exact", vec![integer_attribute("to", Kind::Double as u64)]);
    let summed = graph.node_of(TREE_DOMAIN, "TreeEnsembleRegressor", &[&exact], "summed", tree_attributes(forest));
    graph.scores(&summed);
    Ok(graph)
}

/// The nodes of all trees side by side, and what leaves add.
fn tree_attributes(forest: &Forest) -> Vec<Message> {
    let trees = trees::at_least_one(forest);
    let nodes = || {
        let numbered = |(tree_number, tree)| Node::all(tree_number, tree);
        trees.iter().enumerate().flat_map(numbered)
    };
    let leaves = || nodes().filter_map(|node| node.leaf().map(|leaf| (node, leaf)));
    let of_nodes = |name, of: fn(&Node<'_>) -> usize| integers_attribute(name, nodes().map(|node| of(&node) as u64));
    let of_splits = |name, of: fn(&Tree, &Split) -> usize| {
        let value = |node: Node<'_>| node.split().map_or(0, |split| of(node.tree, split)) as u64;
        integers_attribute(name, nodes().map(value))
    };
    let of_leaves =
        |name, of: fn(&Node<'_>) -> usize| integers_attribute(name, leaves().map(|(node, _)| of(&node) as u64));
    let modes = nodes().map(|node| if node.split().is_some() { "BRANCH_LT" } else { "LEAF" });
    let thresholds = nodes().map(|node| node.split().map_or(0.0, |split| f64::from(split.threshold)));
    vec![
        integer_attribute("n_targets", 1),
        of_nodes("nodes_treeids", |node| node.tree_number),
        of_nodes("nodes_nodeids", |node| node.number),
        texts_attribute("nodes_modes", modes),
        of_splits("nodes_featureids", |_, split| split.feature as usize),
        doubles_attribute("nodes_values_as_tensor", thresholds),
        of_splits("nodes_truenodeids", |tree, split| tree.node(split.left)),
        of_splits("nodes_falsenodeids", |tree, split| tree.node(split.right)),
        of_splits("nodes_missing_value_tracks_true", |_, split| split.missing_left.into()),
        of_leaves("target_treeids", |node| node.tree_number),
        of_leaves("target_nodeids", |node| node.number),
        of_leaves("target_ids", |_| 0),
        doubles_attribute("target_weights_as_tensor", leaves().map(|(_, leaf)| f64::from(leaf.value))),
    ]
}

/// A node of a tree: first the splits, the root among them, then the leaves.
struct Node<'a> {
    tree_number: usize,
    tree: &'a Tree,
    number: usize,
}

impl<'a> Node<'a> {
    fn all(tree_number: usize, tree: &'a Tree) -> impl Iterator<Item = Node<'a>> {
        (0..tree.splits.len() + tree.leaves.len()).map(move |number| Node { tree_number, tree, number })
    }

    fn split(&self) -> Option<&'a Split> {
        self.tree.splits.get(self.number)
    }

    fn leaf(&self) -> Option<&'a Leaf> {
        self.number.checked_sub(self.tree.splits.len()).map(|number| &self.tree.leaves[number])
    }
}

/// Refuses what would make a file too large to be read.
fn check_room(count: usize, bytes: usize, what: &str) -> Result<()> {
    let most = MOST_BYTES / bytes;
    match count <= most {
        true => Ok(()),
        false => Err(Error::parameter(format!(
            "an ONNX file has room for {most} {what}, but the ranker has {count}; serve the safetensors file"
        ))),
    }
}

fn tensor(name: &str, kind: Kind, shape: &[usize], bytes: &[u8]) -> Message {
    Message::default()
        .each(shape, |tensor, &size| tensor.integer(1, size as u64))
        .integer(2, kind as u64)
        .text(8, name)
        .bytes(9, bytes)
}

fn float_attribute(name: &str, value: f32) -> Message {
    Message::default().text(1, name).float(2, value).integer(20, 1)
}

fn integer_attribute(name: &str, value: u64) -> Message {
    Message::default().text(1, name).integer(3, value).integer(20, 2)
}

fn integers_attribute(name: &str, values: impl IntoIterator<Item = u64>) -> Message {
    Message::default().text(1, name).integers(8, values).integer(20, 7)
}

fn texts_attribute<'a>(name: &str, values: impl IntoIterator<Item = &'a str>) -> Message {
    Message::default().text(1, name).each(values, |attribute, value| attribute.text(9, value)).integer(20, 8)
}

fn doubles_attribute(name: &str, values: impl Iterator<Item = f64>) -> Message {
    let bytes: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
    Message::default().text(1, name).message(5, tensor(name, Kind::Double, &[bytes.len() / 8], &bytes)).integer(20, 4)
}

/// An input or output of single-precision numbers.
fn float_value<const N: usize>(name: &str, dimensions: [Message; N]) -> Message {
    let shape = Message::default().each(dimensions, |shape, dimension| shape.message(1, dimension));
    let tensor = Message::default().integer(1, Kind::Float as u64).message(2, shape);
    Message::default().text(1, name).message(2, Message::default().message(1, tensor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Architecture;
    use crate::ranker::TrainingRecord;
    use crate::ranker::trees::random::random_forest;

    #[test]
    fn what_is_too_large_to_be_read_is_refused() {
        assert!(check_room(1 << 28, 4, "parameters").is_ok());
        let message = check_room(1 << 29, 4, "parameters").unwrap_err().to_string();
        assert!(message.contains("room for 535822336 parameters, but the ranker has 536870912"), "{message}");
    }

    #[test]
    fn trees_hold_their_thresholds_and_leaves_in_double_precision() {
        let forest = random_forest(1, 3, 4, 9);
        let ranker = Ranker { model: Model::Trees(forest.clone()), record: TrainingRecord::default() };
        let bytes = ranker.to_onnx().unwrap();
        let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        let leaves = forest.trees().iter().flat_map(|tree| &tree.leaves);
        assert!(holds(&leaves.flat_map(|leaf| f64::from(leaf.value).to_le_bytes()).collect::<Vec<u8>>()));
        assert!(["ai.onnx.ml", "TreeEnsembleRegressor", "BRANCH_LT"].iter().all(|part| holds(part.as_bytes())));
        let nodes: usize = forest.trees().iter().map(|tree| tree.splits.len() + tree.leaves.len()).sum();
        assert!(bytes.len() < NODE_BYTES * nodes + 2000, "{} bytes of {nodes} nodes", bytes.len());
    }

    /// Whether a runtime takes the file is tested beside the peers; here, that it holds what it should.
    #[test]
    fn every_tensor_and_the_record_are_inside() {
        let network = Network::new(Architecture::Mlp { hidden: vec![4] }, 3, 1).unwrap();
        let record = TrainingRecord { loss: "listwise softmax".into(), ..TrainingRecord::default() };
        let weights: Vec<u8> =
            network.parameters()[network.layers()[1].weight()].iter().flat_map(|w| w.to_le_bytes()).collect();
        let to_onnx = |network, record| Ranker { model: Model::Network(network), record }.to_onnx().unwrap();
        let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        let bytes = to_onnx(network.clone(), record.clone());
        assert!(holds(&bytes, &weights));
        assert!(
            ["layers.1.linear.weight", "Elu", "listwise softmax"].iter().all(|part| holds(&bytes, part.as_bytes()))
        );
        assert!(!holds(&bytes, b"scaling.mean"));
        let scaling = Scaling::linear(vec![1.0; 3], vec![2.0; 3]).unwrap();
        let bytes = to_onnx(network.clone().scaled(scaling).unwrap(), record.clone());
        assert!(["scaling.mean", "scaling.scale", "Sub", "Mul"].iter().all(|part| holds(&bytes, part.as_bytes())));
    }
}
