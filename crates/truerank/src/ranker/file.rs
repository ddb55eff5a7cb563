//! Rankers as safetensors files: saved whole or not at all, and checked in full when they are read.
//!
//! Tensors are named as PyTorch would name them: `layers.0.norm.weight`, `layers.0.norm.bias`, `layers.0.linear.weight`
//! (outputs × inputs) and `layers.0.linear.bias`; where features are scaled first, `scaling.mean` and `scaling.scale`, in
//! version 2. A ranker of plain weights has `weight` and `bias`. Trees, in version 3, are in `trees/file.rs`. In version 4 the metadata
//! says what becomes of a network's features (`input`): `layers.0.norm` is not there where the first layer has no layer norm, and curves
//! are `scaling.values` and `scaling.scaled` (features × points). The metadata has one key, `truerank`, whose value is JSON: the order of
//! several keys would change from run to run.

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::{Forest, Model, Ranker, TrainingRecord, trees};
use crate::files::{Limit, check_seal, read_bytes, seal, with_blank_seal, write_file};
use crate::network::{Architecture, Network, Scaling};
use crate::{Error, Result};

const TYPE: &str = "truerank/ranker";
/// Of files without scaling.
const VERSION: u64 = 1;
/// Of files with scaling, which readers of the first version do not know.
const VERSION_SCALED: u64 = 2;
/// Of trees, which readers of the first two versions do not know.
const VERSION_TREES: u64 = 3;
/// Of networks that say what becomes of their features.
const VERSION_INPUT: u64 = 4;
/// The key of the metadata, in safetensors and in ONNX.
pub(super) const METADATA_KEY: &str = "truerank";
const PLAIN: &str = "weights";
const TREES: &str = "trees";

#[derive(Serialize, Deserialize)]
struct Metadata {
    r#type: String,
    version: u64,
    model: String,
    features: usize,
    /// In version 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<InputForm>,
    record: TrainingRecord,
}

/// What becomes of features before the first linear map.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InputForm {
    scaling: ScalingForm,
    /// Whether those of each document are normalised then.
    normalised: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ScalingForm {
    None,
    Linear,
    Curve { points: usize },
}

impl InputForm {
    fn of(network: &Network) -> Self {
        let scaling = match network.scaling() {
            None => ScalingForm::None,
            Some(Scaling::Linear(_)) => ScalingForm::Linear,
            Some(Scaling::Curve(curve)) => ScalingForm::Curve { points: curve.points() },
        };
        InputForm { scaling, normalised: network.normalises_input() }
    }

    /// The version of files that are read as this form without saying so.
    fn version(self) -> u64 {
        match (self.scaling, self.normalised) {
            (ScalingForm::None, true) => VERSION,
            (ScalingForm::Linear, true) => VERSION_SCALED,
            _ => VERSION_INPUT,
        }
    }

    /// The form of a network in a file of this version.
    fn read(version: u64, said: Option<InputForm>) -> Result<Self, String> {
        let known = |scaling| Ok(InputForm { scaling, normalised: true });
        match (version, said) {
            (VERSION_INPUT, Some(form)) => Ok(form),
            (VERSION_INPUT, None) => Err("has incomplete metadata (missing field `input`)".to_string()),
            (_, Some(_)) => Err(format!("should say what becomes of features from version {VERSION_INPUT} on only")),
            (VERSION_SCALED, None) => known(ScalingForm::Linear),
            (_, None) => known(ScalingForm::None),
        }
    }
}

/// A tensor's name and shape, in the order of the parameters.
type Named = (String, Vec<usize>);

impl Ranker {
    /// Writes the ranker as safetensors. The same ranker gives the same bytes.
    pub fn save(&self, path: &Path) -> Result<()> {
        let bytes = self.encode().map_err(|finding| Error::input(path, finding))?;
        write_file(path, &bytes)
    }

    /// Reads a ranker that [`save`](Ranker::save) wrote.
    pub fn load(path: &Path) -> Result<Self> {
        Ranker::decode(&read_bytes(path, Limit::Ranker)?).map_err(|finding| Error::input(path, finding))
    }

    /// The bytes that [`save`](Ranker::save) writes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.encode().map_err(Error::parameter)
    }

    /// A ranker from the bytes of its file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ranker::decode(bytes).map_err(|finding| Error::parameter(format!("the ranker's bytes: {finding}")))
    }

    fn encode(&self) -> Result<Vec<u8>, String> {
        let metadata = with_blank_seal(&self.metadata().map_err(|e| e.to_string())?);
        let mut bytes = match &self.model {
            Model::Network(network) => {
                let (names, values) = network_values(network);
                serialize(&names, &values, metadata)
            }
            Model::Weights { weights, bias } => {
                let values: Vec<f32> = weights.iter().chain([bias]).copied().collect();
                serialize(&plain_tensors(weights.len()), &values, metadata)
            }
            Model::Trees(forest) => serialize_trees(forest, metadata),
        }?;
        seal(&mut bytes);
        Ok(bytes)
    }

    /// What kind of file this is, the form of the ranker and its record, as JSON.
    pub(super) fn metadata(&self) -> Result<String> {
        let model = match &self.model {
            Model::Network(network) => network.architecture().to_string(),
            Model::Weights { .. } => PLAIN.to_string(),
            Model::Trees(_) => TREES.to_string(),
        };
        let input = match &self.model {
            Model::Network(network) => Some(InputForm::of(network)),
            _ => None,
        };
        let version = match &self.model {
            Model::Trees(_) => VERSION_TREES,
            _ => input.map_or(VERSION, InputForm::version),
        };
        let metadata = Metadata {
            r#type: TYPE.to_string(),
            version,
            model,
            features: self.feature_count(),
            input: input.filter(|_| version == VERSION_INPUT),
            record: self.record.clone(),
        };
        serde_json::to_string(&metadata)
            .map_err(|e| Error::parameter(format!("the training record cannot be written as JSON ({e})")))
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let damaged = |e| format!("is not a whole safetensors file ({e}); train or copy it again");
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
        check_seal(bytes)?;
        let text = header.metadata().as_ref().and_then(|all| all.get(METADATA_KEY));
        let text =
            text.ok_or_else(|| format!("has no `{METADATA_KEY}` metadata, so it is not a ranker of truerank"))?;
        let metadata = read_metadata(text)?;
        let features = metadata.features;
        let model = match (metadata.model.as_str(), metadata.version) {
            (TREES, VERSION_TREES) => Model::Trees(trees::file::read(&tensors, features)?),
            (TREES, version) => {
                return Err(format!("trees should be of version {VERSION_TREES}, but are of version {version}"));
            }
            (model, VERSION_TREES) => {
                return Err(format!("version {VERSION_TREES} should be of trees, but the model is {model}"));
            }
            (PLAIN, VERSION) if metadata.input.is_none() => read_plain(&tensors, features)?,
            (PLAIN, _) => return Err(format!("plain weights should be of version {VERSION}: they are not scaled")),
            (architecture, version) => {
                let input = InputForm::read(version, metadata.input)?;
                Model::Network(read_network(&tensors, architecture, features, input)?)
            }
        };
        Ok(Ranker { model, record: metadata.record })
    }
}

fn serialize(names: &[Named], values: &[f32], metadata: String) -> Result<Vec<u8>, String> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut rest = &bytes[..];
    let mut views = Vec::with_capacity(names.len());
    for (name, shape) in names {
        let (data, after) = rest.split_at(4 * shape.iter().product::<usize>());
        rest = after;
        views.push((name.as_str(), TensorView::new(Dtype::F32, shape.clone(), data).map_err(|e| e.to_string())?));
    }
    with_metadata(views, metadata)
}

fn serialize_trees(forest: &Forest, metadata: String) -> Result<Vec<u8>, String> {
    let tensors = trees::file::tensors(forest);
    let views: Result<Vec<_>, String> = tensors.iter().map(trees::file::Tensor::view).collect();
    with_metadata(views?, metadata)
}

fn with_metadata(tensors: Vec<(&str, TensorView<'_>)>, metadata: String) -> Result<Vec<u8>, String> {
    let metadata = HashMap::from([(METADATA_KEY.to_string(), metadata)]);
    safetensors::serialize(tensors, Some(metadata)).map_err(|e| e.to_string())
}

fn network_tensors(network: &Network) -> Vec<Named> {
    let tensors = |(index, &layer): (usize, &crate::network::Layer)| {
        let norm = ["weight", "bias"].map(|part| (format!("layers.{index}.norm.{part}"), vec![layer.inputs]));
        let linear = [
            (format!("layers.{index}.linear.weight"), vec![layer.outputs, layer.inputs]),
            (format!("layers.{index}.linear.bias"), vec![layer.outputs]),
        ];
        norm.into_iter().filter(move |_| layer.normalises).chain(linear)
    };
    network.layers().iter().enumerate().flat_map(tensors).collect()
}

/// The parameters of a network and its scaling, with their names.
fn network_values(network: &Network) -> (Vec<Named>, Vec<f32>) {
    let (mut names, mut values) = (network_tensors(network), network.parameters().to_vec());
    names.extend(scaling_tensors(InputForm::of(network).scaling, network.inputs()));
    match network.scaling() {
        None => {}
        Some(Scaling::Linear(linear)) => values.extend(linear.mean().iter().chain(linear.scale())),
        Some(Scaling::Curve(curve)) => values.extend(curve.values().iter().chain(curve.scaled())),
    }
    (names, values)
}

fn scaling_tensors(form: ScalingForm, features: usize) -> Vec<Named> {
    let tensors = |names: [&str; 2], shape: Vec<usize>| names.map(|name| (name.to_string(), shape.clone())).to_vec();
    match form {
        ScalingForm::None => Vec::new(),
        ScalingForm::Linear => tensors(["scaling.mean", "scaling.scale"], vec![features]),
        ScalingForm::Curve { points } => tensors(["scaling.values", "scaling.scaled"], vec![features, points]),
    }
}

fn plain_tensors(features: usize) -> Vec<Named> {
    vec![("weight".to_string(), vec![features]), ("bias".to_string(), vec![1])]
}

fn read_metadata(text: &str) -> Result<Metadata, String> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|e| format!("has `{METADATA_KEY}` metadata that is not JSON ({e})"))?;
    let found = value.get("type").and_then(|t| t.as_str()).unwrap_or("nothing");
    if found != TYPE {
        return Err(format!("should be of type {TYPE}, but is of type {found}"));
    }
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(VERSION..=VERSION_INPUT) => {}
        Some(version) if version > VERSION_INPUT => {
            return Err(format!(
                "is of version {version}, but this truerank reads up to {VERSION_INPUT}; use a newer truerank"
            ));
        }
        _ => return Err(format!("should have a version from {VERSION} to {VERSION_INPUT}, but has none of them")),
    }
    serde_json::from_value(value).map_err(|e| format!("has incomplete metadata ({e})"))
}

fn read_network(
    tensors: &SafeTensors<'_>,
    architecture: &str,
    features: usize,
    input: InputForm,
) -> Result<Network, String> {
    let architecture: Architecture = architecture.parse().map_err(|e: Error| e.to_string())?;
    let layers = architecture.layers(features, input.normalised).map_err(|e| e.to_string())?;
    // The file's size bounds what is allocated here: weights come before the first vector of their size.
    let needed = layers.last().map_or(0, |layer| layer.bias().end);
    let per_feature = match input.scaling {
        ScalingForm::None => 0,
        ScalingForm::Linear => 2,
        ScalingForm::Curve { points } => points.saturating_mul(2),
    };
    check_size(tensors, needed.saturating_add(features.saturating_mul(per_feature)))?;
    let with = |parameters| {
        let network = Network::from_parameters(architecture.clone(), features, input.normalised, parameters);
        network.map_err(|e| e.to_string())
    };
    let network = with(read_tensors(tensors, &network_tensors(&with(vec![0.0; needed])?))?)?;
    match read_scaling(tensors, input.scaling, features)? {
        Some(scaling) => network.scaled(scaling).map_err(|e| e.to_string()),
        None => Ok(network),
    }
}

fn read_scaling(tensors: &SafeTensors<'_>, form: ScalingForm, features: usize) -> Result<Option<Scaling>, String> {
    let mut first = read_tensors(tensors, &scaling_tensors(form, features))?;
    let second = first.split_off(first.len() / 2);
    let scaling = match form {
        ScalingForm::None => return Ok(None),
        ScalingForm::Linear => Scaling::linear(first, second),
        ScalingForm::Curve { points } => Scaling::curve(points, first, second),
    };
    scaling.map(Some).map_err(|e| e.to_string())
}

fn read_plain(tensors: &SafeTensors<'_>, features: usize) -> Result<Model, String> {
    if features == 0 {
        return Err("should have at least 1 feature, but has 0".to_string());
    }
    check_size(tensors, features.saturating_add(1))?;
    let mut weights = read_tensors(tensors, &plain_tensors(features))?;
    let bias = weights.pop().expect("the bias was just read");
    Ok(Model::Weights { weights, bias })
}

fn check_size(tensors: &SafeTensors<'_>, needed: usize) -> Result<(), String> {
    let found: usize = tensors.iter().map(|(_, tensor)| tensor.data().len() / 4).sum();
    match found == needed {
        true => Ok(()),
        false => Err(format!("should have {needed} parameters by its metadata, but has {found}")),
    }
}

fn read_tensors(tensors: &SafeTensors<'_>, names: &[Named]) -> Result<Vec<f32>, String> {
    let mut values = Vec::new();
    for (name, shape) in names {
        let tensor = tensors.tensor(name).map_err(|_| format!("should have a tensor `{name}`, but has none"))?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
            return Err(format!(
                "tensor `{name}` should be F32 {shape:?}, but is {:?} {:?}",
                tensor.dtype(),
                tensor.shape()
            ));
        }
        let read = tensor.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        values.extend(read);
        if let Some(bad) = values.iter().find(|value| !value.is_finite()) {
            return Err(format!("tensor `{name}` should be finite, but has {bad} in it"));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::trees::file::Tensor;
    use super::super::trees::random::{random_forest, random_rows};
    use super::super::{Child, Leaf, Split, Tree};
    use super::*;

    fn record() -> TrainingRecord {
        TrainingRecord {
            loss: "listwise softmax".into(),
            steps: 20,
            best_step: 10,
            validation: Some(0.7),
            notes: vec![("z".into(), "1".into()), ("a".into(), "\"".into())],
            ..TrainingRecord::default()
        }
    }

    fn rankers() -> Vec<Ranker> {
        let network = |architecture| Model::Network(Network::new(architecture, 3, 1).unwrap());
        let models = [
            network(Architecture::Linear),
            network(Architecture::Mlp { hidden: vec![4, 2] }),
            Model::Weights { weights: vec![1.0, -2.5, 0.0], bias: 0.5 },
        ];
        let others = [
            scaled_model(),
            level_model(),
            curve_model(),
            Model::Trees(random_forest(1, 3, 4, 6)),
            Model::Trees(random_forest(2, 3, 0, 1)),
        ];
        models.into_iter().chain(others).map(|model| Ranker { model, record: record() }).collect()
    }

    fn scaled_model() -> Model {
        let network = Network::new(Architecture::Mlp { hidden: vec![2] }, 3, 1).unwrap();
        let scaling = Scaling::linear(vec![20.0, 4000.0, 0.5], vec![0.25, 1e-3, 0.0]).unwrap();
        Model::Network(network.scaled(scaling).unwrap())
    }

    fn level_model() -> Model {
        let network = Network::keeping_level(Architecture::Mlp { hidden: vec![2] }, 3, 1).unwrap();
        let scaling = Scaling::linear(vec![20.0, 4000.0, 0.5], vec![0.25, 1e-3, 0.0]).unwrap();
        Model::Network(network.scaled(scaling).unwrap())
    }

    fn curve_model() -> Model {
        let network = Network::keeping_level(Architecture::Linear, 3, 1).unwrap();
        let values = vec![0.0, 1.0, 1.0, -4.0, 0.0, 1e4, 7.0, 7.0, 7.0];
        let scaling = Scaling::curve(3, values, vec![-1.0, 1.0, 1.0, -1.0, 0.5, 2.0, 0.0, 0.0, 0.0]).unwrap();
        Model::Network(network.scaled(scaling).unwrap())
    }

    /// The message for a file of the scaled ranker after `change`.
    fn scaled_refusal(change: impl Fn(&mut Vec<Named>, &mut Vec<f32>, &mut String)) -> String {
        refusal_of(scaled_model(), change)
    }

    fn refusal_of(model: Model, change: impl Fn(&mut Vec<Named>, &mut Vec<f32>, &mut String)) -> String {
        let ranker = Ranker { model, record: record() };
        let Model::Network(network) = &ranker.model else { unreachable!("just made") };
        let ((mut names, mut values), mut metadata) = (network_values(network), ranker.metadata().unwrap());
        change(&mut names, &mut values, &mut metadata);
        Ranker::decode(&serialize(&names, &values, metadata).unwrap()).unwrap_err()
    }

    #[test]
    fn a_scaling_that_does_not_fit_is_an_error() {
        let to_version = |metadata: &mut String, version: &str| *metadata = metadata.replace(":2,\"model", version);
        let as_first = scaled_refusal(|_, _, metadata| to_version(metadata, ":1,\"model"));
        assert!(as_first.starts_with("should have ") && as_first.contains("parameters by its metadata"), "{as_first}");
        let later = scaled_refusal(|_, _, metadata| to_version(metadata, ":5,\"model"));
        assert_eq!(later, "is of version 5, but this truerank reads up to 4; use a newer truerank");
        let silent = scaled_refusal(|_, _, metadata| to_version(metadata, ":4,\"model"));
        assert_eq!(silent, "has incomplete metadata (missing field `input`)");
        let trees = scaled_refusal(|_, _, metadata| to_version(metadata, ":3,\"model"));
        assert_eq!(trees, "version 3 should be of trees, but the model is mlp:2");
        let renamed = scaled_refusal(|names, _, _| names.last_mut().unwrap().0 = "scaling.spread".into());
        assert_eq!(renamed, "should have a tensor `scaling.scale`, but has none");
        let missing = scaled_refusal(|names, values, _| values.truncate(values.len() - names.pop().unwrap().1[0]));
        assert!(missing.contains("parameters by its metadata"), "{missing}");
        let reshaped = scaled_refusal(|names, _, _| names.last_mut().unwrap().1 = vec![1, 3]);
        assert_eq!(reshaped, "tensor `scaling.scale` should be F32 [3], but is F32 [1, 3]");
        let negative = scaled_refusal(|_, values, _| *values.last_mut().unwrap() = -1.0);
        assert!(negative.ends_with("but feature 3 has the mean 0.5 and the scale -1"), "{negative}");
        let infinite = scaled_refusal(|_, values, _| *values.last_mut().unwrap() = f32::INFINITY);
        assert_eq!(infinite, "tensor `scaling.scale` should be finite, but has inf in it");
    }

    #[test]
    fn an_input_that_does_not_fit_is_an_error() {
        let said = |metadata: &str| {
            let (from, to) = (metadata.find("\"input\"").unwrap(), metadata.find(",\"record").unwrap());
            (metadata[..from].to_string(), metadata[from..to].to_string(), metadata[to..].to_string())
        };
        let with = |model: Model, input: &str| {
            refusal_of(model, |_, _, metadata| {
                let (before, _, after) = said(metadata);
                *metadata = format!("{before}\"input\":{input}{after}");
            })
        };
        let (_, form, _) = said(&Ranker { model: curve_model(), record: record() }.metadata().unwrap());
        assert_eq!(form, r#""input":{"scaling":{"curve":{"points":3}},"normalised":false}"#);
        for (input, expected) in [
            (
                r#"{"scaling":{"curve":{"points":2}},"normalised":false}"#,
                "should have 16 parameters by its metadata, but has 22",
            ),
            (
                r#"{"scaling":{"curve":{"points":18446744073709551615}},"normalised":false}"#,
                "parameters by its metadata, but has 22",
            ),
            (r#"{"scaling":"linear","normalised":false}"#, "should have 10 parameters by its metadata, but has 22"),
            (r#"{"scaling":"none","normalised":true}"#, "should have 10 parameters by its metadata, but has 22"),
            (r#"{"scaling":"log","normalised":true}"#, "has incomplete metadata (unknown variant `log`"),
            (r#"{"scaling":"none","normalised":true,"more":1}"#, "has incomplete metadata (unknown field `more`"),
            ("null", "has incomplete metadata (missing field `input`)"),
        ] {
            let found = with(curve_model(), input);
            assert!(found.contains(expected), "{input}: {found}");
        }
        let unordered = refusal_of(curve_model(), |_, values, _| values[4] = 2.0);
        assert!(unordered.ends_with("finite points in order, but those of feature 1 are not"), "{unordered}");
        let early =
            refusal_of(curve_model(), |_, _, metadata| *metadata = metadata.replace(":4,\"model", ":2,\"model"));
        assert_eq!(early, "should say what becomes of features from version 4 on only");
    }

    #[test]
    fn only_files_that_older_readers_cannot_read_have_later_versions() {
        let version = |ranker: &Ranker| read_metadata(&ranker.metadata().unwrap()).unwrap().version;
        assert_eq!(rankers().iter().map(version).collect::<Vec<_>>(), [1, 1, 1, 2, 4, 4, 3, 3]);
    }

    /// The message for a file of a tree of three leaves, `x0 < 5 ? 1 : (x1 < 7 ? 2 : 3)`, after `change`.
    fn refusal_of_trees(change: impl Fn(&mut Vec<Tensor>, &mut String)) -> String {
        let split = |feature, threshold, right| Split {
            feature,
            threshold,
            missing_left: true,
            gain: 1.0,
            left: Child::Leaf(feature),
            right,
        };
        let splits = vec![split(0, 5.0, Child::Split(1)), split(1, 7.0, Child::Leaf(2))];
        let leaves = [1.0, 2.0, 3.0].map(|value| Leaf { value, rows: 9 }).to_vec();
        let forest = Forest::new(2, vec![Tree { splits, leaves }]).unwrap();
        let mut tensors: Vec<Tensor> = trees::file::tensors(&forest).into();
        let ranker = Ranker { model: Model::Trees(forest), record: record() };
        let mut metadata = ranker.metadata().unwrap();
        change(&mut tensors, &mut metadata);
        let views = tensors.iter().map(|tensor| tensor.view().unwrap()).collect();
        let bytes = with_metadata(views, metadata).unwrap();
        Ranker::decode(&bytes).map(|read| assert_eq!(read, ranker)).map_or_else(|message| message, |()| "read".into())
    }

    fn named<'a>(tensors: &'a mut [Tensor], name: &str) -> &'a mut Tensor {
        tensors.iter_mut().find(|tensor| tensor.name == name).unwrap()
    }

    #[test]
    fn trees_that_do_not_fit_are_an_error() {
        assert_eq!(refusal_of_trees(|_, _| ()), "read");
        // Changes of one tensor: its name, where, and the new bytes.
        for (name, at, bytes, expected) in [
            ("trees.ends", 0, 1_u32.to_le_bytes(), "tensor `splits.feature` should be U32 [1], but is U32 [2]"),
            (
                "trees.ends",
                0,
                u32::MAX.to_le_bytes(),
                "tensor `splits.feature` should be U32 [4294967295], but is U32 [2]",
            ),
            ("splits.feature", 4, 2_u32.to_le_bytes(), "tree 1 splits by feature 3, but there are 2"),
            ("splits.feature", 4, u32::MAX.to_le_bytes(), "tree 1 splits by feature 4294967296, but there are 2"),
            (
                "splits.threshold",
                0,
                f32::NAN.to_le_bytes(),
                "tree 1 should have finite thresholds and gains, but split 0 has not",
            ),
            (
                "splits.gain",
                4,
                f32::INFINITY.to_le_bytes(),
                "tree 1 should have finite thresholds and gains, but split 1 has not",
            ),
            ("splits.right", 0, 0_i32.to_le_bytes(), "tree 1 should be a tree, but below split 0 it is none"),
            ("splits.right", 4, (-2_i32).to_le_bytes(), "tree 1 should be a tree, but below split 1 it is none"),
            ("splits.left", 4, i32::MIN.to_le_bytes(), "tree 1 should be a tree, but below split 1 it is none"),
            ("splits.left", 4, i32::MAX.to_le_bytes(), "tree 1 should be a tree, but below split 1 it is none"),
            ("leaves.value", 8, f32::NAN.to_le_bytes(), "tree 1 should have finite leaves, but one is NaN"),
        ] {
            let change = |tensors: &mut Vec<Tensor>, _: &mut String| {
                named(tensors, name).bytes[at..at + 4].copy_from_slice(&bytes);
            };
            assert_eq!(refusal_of_trees(change), expected, "{name}");
        }
    }

    #[test]
    fn trees_need_their_tensors_and_metadata() {
        let two = refusal_of_trees(|tensors, _| named(tensors, "splits.missing_left").bytes[1] = 2);
        assert_eq!(two, "tensor `splits.missing_left` should be of 0 and 1, but has 2 in it");
        let fewer = refusal_of_trees(|tensors, _| drop(tensors.pop()));
        assert_eq!(fewer, "should have 9 tensors, as trees have, but has 8");
        let renamed = refusal_of_trees(|tensors, _| tensors[8].name = "leaves.count");
        assert_eq!(renamed, "should have a tensor `leaves.rows`, but has none");
        let kind = refusal_of_trees(|tensors, _| named(tensors, "splits.left").kind = Dtype::U32);
        assert_eq!(kind, "tensor `splits.left` should be I32 [2], but is U32 [2]");
        let back = refusal_of_trees(|tensors, _| {
            let ends = named(tensors, "trees.ends");
            (ends.length, ends.bytes) = (2, [3_u32, 2].map(u32::to_le_bytes).concat());
        });
        assert_eq!(back, "tensor `trees.ends` should not decrease, but does");
        let first = refusal_of_trees(|_, metadata| *metadata = metadata.replace(":3,\"model", ":1,\"model"));
        assert_eq!(first, "trees should be of version 3, but are of version 1");
        let none = refusal_of_trees(|_, metadata| *metadata = metadata.replace("\"features\":2", "\"features\":0"));
        assert_eq!(none, "trees should be on 1 to 2147483647 features, but are on 0");
    }

    #[test]
    fn rankers_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ranker.safetensors");
        for ranker in rankers() {
            ranker.save(&path).unwrap();
            assert_eq!(Ranker::load(&path).unwrap(), ranker);
            let bytes = std::fs::read(&path).unwrap();
            ranker.save(&path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }

    /// The message for a file of two weights and a bias with this metadata.
    fn refusal(metadata: &str, values: &[f32]) -> String {
        let bytes = serialize(&plain_tensors(values.len() - 1), values, metadata.to_string()).unwrap();
        Ranker::decode(&bytes).unwrap_err()
    }

    #[test]
    fn each_fault_has_its_message() {
        let good = r#"{"type":"truerank/ranker","version":1,"model":"weights","features":2,"record":RECORD}"#
            .replace("RECORD", &serde_json::to_string(&record()).unwrap());
        let cases = [
            (good.replace("ranker\"", "counts\""), "should be of type truerank/ranker, but is of type truerank/counts"),
            (good.replace(":1,\"model", ":5,\"model"), "is of version 5"),
            (good.replace(":1,\"model", ":4,\"model"), "plain weights should be of version 1"),
            (good.replace(":1,\"model", ":2,\"model"), "plain weights should be of version 1"),
            (good.replace(":1,\"model", ":\"x\",\"model"), "should have a version from 1 to 4"),
            (good.replace("\"weights\"", "\"tree\""), "an architecture is `linear`"),
            (good.replace(":2,\"record", ":3,\"record"), "should have 4 parameters by its metadata, but has 3"),
            (good.replace(":2,\"record", ":18446744073709551615,\"record"), "parameters by its metadata, but has 3"),
            (good.replace("weights", "mlp:1000000,1000000"), "too many parameters"),
            (good.replace("\"features\"", "\"width\""), "has incomplete metadata"),
            ("{".to_string(), "is not JSON"),
        ];
        for (metadata, expected) in cases {
            let found = refusal(&metadata, &[1.0, 2.0, 3.0]);
            assert!(found.contains(expected), "{found}");
        }
        assert_eq!(refusal(&good, &[1.0, f32::NAN, 3.0]), "tensor `weight` should be finite, but has NaN in it");
        let bytes = rankers()[0].to_bytes().unwrap();
        assert!(Ranker::decode(&bytes[..bytes.len() - 1]).unwrap_err().contains("whole safetensors file"));
        assert!(Ranker::decode(b"").unwrap_err().contains("whole safetensors file"));
    }

    #[test]
    fn shapes_must_fit() {
        let metadata = r#"{"type":"truerank/ranker","version":1,"model":"linear","features":1,"record":RECORD}"#
            .replace("RECORD", &serde_json::to_string(&record()).unwrap());
        let Model::Network(network) = Network::new(Architecture::Linear, 1, 0).map(Model::Network).unwrap() else {
            unreachable!("just made")
        };
        let mut names = network_tensors(&network);
        names[2].1 = vec![1];
        let bytes = serialize(&names, network.parameters(), metadata).unwrap();
        assert_eq!(
            Ranker::decode(&bytes).unwrap_err(),
            "tensor `layers.0.linear.weight` should be F32 [1, 1], but is F32 [1]"
        );
    }

    proptest! {
        #[test]
        fn damaged_bytes_never_panic(
            which in 0usize..8, changes in prop::collection::vec((0usize..4000, any::<u8>()), 1..8), keep in 0usize..4000,
        ) {
            let mut bytes = rankers()[which].to_bytes().unwrap();
            for (place, value) in changes {
                let place = place % bytes.len();
                bytes[place] = value;
            }
            bytes.truncate(keep.max(bytes.len().saturating_sub(keep)));
            let _ = Ranker::decode(&bytes);
        }

        /// Without a seal, which would notice any damage first.
        #[test]
        fn damaged_trees_never_panic(
            seed: u64, features in 1usize..4, trees in 0usize..5, leaves in 1usize..8,
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        ) {
            let forest = random_forest(seed, features, trees, leaves);
            let ranker = Ranker { model: Model::Trees(forest.clone()), record: record() };
            let mut bytes = serialize_trees(&forest, ranker.metadata().unwrap()).unwrap();
            // The header is damaged above; here it is the numbers.
            let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
            let numbers = &mut bytes[header..];
            for &(place, value) in &changes {
                let place = place % numbers.len().max(1);
                numbers.get_mut(place).into_iter().for_each(|byte| *byte = value);
            }
            match Ranker::decode(&bytes) {
                Ok(read) if changes.is_empty() => prop_assert_eq!(read, ranker),
                Ok(read) => drop(read.score_rows(&random_rows(seed, 9, features), features).unwrap()),
                Err(message) => prop_assert!(!changes.is_empty(), "{}", message),
            }
        }
    }
}
