//! Rankers as the JSON that the learning-to-rank plugins of Elasticsearch and OpenSearch take.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Export, check_names, trees};
use crate::files::write_file;
use crate::ranker::{Child, Forest, Model, Ranker, Tree};
use crate::{Error, Result};

/// Readers of JSON refuse what is nested deeper than 1,000 levels; a level of a tree takes two.
const MOST_DEPTH: usize = 480;

impl Ranker {
    /// The body of a request that creates the model `name` from a feature set: `model/linear`, a weight per feature, for plain
    /// weights, and `model/xgboost+json` for trees.
    ///
    /// `features` are the names of the features in the order of the data. `model/linear` knows no bias, so scores differ from
    /// ours by a constant and rank alike. Trees are summed in single precision there. Of networks, only linear ones on standardised
    /// features can be written: layers, ranks and layer norm over a document's own features are no fixed weights.
    pub fn to_elasticsearch(&self, name: &str, features: &[String]) -> Result<Value> {
        let definition = match &self.model {
            Model::Trees(forest) => json!(xgboost(forest, features)?),
            _ => match self.coefficients().filter(|_| self.weighs_raw_features()) {
                Some((weights, _)) => linear(&weights, features)?,
                None => {
                    return Err(Error::parameter(
                        "model/linear weighs raw features, but this ranker computes with them first; train the model \
                         trees, linear-raw or svm-rank, or export it to ONNX",
                    ));
                }
            },
        };
        Ok(json!({ "model": { "name": name, "model": { "type": kind(self), "definition": definition } } }))
    }
}

fn kind(ranker: &Ranker) -> &'static str {
    match ranker.model {
        Model::Trees(_) => "model/xgboost+json",
        _ => "model/linear",
    }
}

fn linear(weights: &[f32], features: &[String]) -> Result<Value> {
    check_names(features, weights.len())?;
    let weights = weights.iter().map(|&weight| shortest(weight));
    Ok(features.iter().cloned().zip(weights).collect::<Map<String, Value>>().into())
}

/// The trees as the text that XGBoost's `dump_model` gives, without its numbers for people: the plugins refuse fields that they do
/// not know. A text in JSON, because the documentation has it so.
fn xgboost(forest: &Forest, features: &[String]) -> Result<String> {
    check_names(features, forest.feature_count())?;
    let names: Vec<String> = features.iter().map(|name| json!(name).to_string()).collect();
    let mut text = String::from("[");
    for (number, tree) in trees::at_least_one(forest).iter().enumerate() {
        let depth = tree.depth();
        if depth > MOST_DEPTH {
            return Err(Error::parameter(format!(
                "model/xgboost+json has room for {MOST_DEPTH} splits above a leaf, but tree {} has {depth}; export it to ONNX",
                number + 1
            )));
        }
        text.push_str(if number == 0 { "" } else { "," });
        push_node(&mut text, tree, tree.root(), 0, &names);
    }
    text.push(']');
    Ok(text)
}

/// Writes a node and all below it. `names` are those of features, with quotes. Writing to memory cannot fail.
fn push_node(text: &mut String, tree: &Tree, child: Child, depth: usize, names: &[String]) {
    let id = tree.node(child);
    let number = match child {
        Child::Leaf(leaf) => {
            let _ = write!(text, r#"{{"nodeid":{id},"leaf":{:?}}}"#, tree.leaves[leaf as usize].value);
            return;
        }
        Child::Split(number) => number,
    };
    let split = &tree.splits[number as usize];
    let (name, threshold) = (&names[split.feature as usize], split.threshold);
    let (yes, no) = (tree.node(split.left), tree.node(split.right));
    let missing = if split.missing_left { yes } else { no };
    let _ = write!(text, r#"{{"nodeid":{id},"depth":{depth},"split":{name},"split_condition":{threshold:?},"#);
    let _ = write!(text, r#""yes":{yes},"no":{no},"missing":{missing},"children":["#);
    push_node(text, tree, split.left, depth + 1, names);
    text.push(',');
    push_node(text, tree, split.right, depth + 1, names);
    text.push_str("]}");
}

/// Writes [`Ranker::to_elasticsearch`]. Without a name it is that of the file.
pub(super) fn write(ranker: &Ranker, export: &Export, path: &Path) -> Result<String> {
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = export.name.clone().unwrap_or_else(stem);
    let model = ranker.to_elasticsearch(&name, &export.names_of(ranker))?;
    write_file(path, format!("{model:#}\n").as_bytes())?;
    Ok(format!("{} '{name}'", kind(ranker)))
}

/// The number with the fewest digits that reads back as `value` in single precision.
fn shortest(value: f32) -> Value {
    value.to_string().parse::<f64>().unwrap_or(f64::from(value)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Architecture, Network, Scaling};
    use crate::ranker::trees::random::{random_forest, random_rows};
    use crate::ranker::{Leaf, Split, TrainingRecord};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn weights_stand_by_their_features() {
        let model = Model::Weights { weights: vec![0.1, -2.0], bias: 3.0 };
        let ranker = Ranker { model, record: TrainingRecord::default() };
        let body = ranker.to_elasticsearch("clicks", &names(&["title", "age"])).unwrap();
        let expected =
            r#"{"model":{"name":"clicks","model":{"type":"model/linear","definition":{"title":0.1,"age":-2.0}}}}"#;
        assert_eq!(body.to_string(), expected);
        let refused = |list: &[&str]| ranker.to_elasticsearch("clicks", &names(list)).unwrap_err().to_string();
        assert_eq!(refused(&["title"]), "there are 1 feature names for 2 features");
        assert!(refused(&["title", "title"]).contains("'title' is empty or stands twice"));
        assert!(refused(&["title", " "]).contains("' ' is empty"));
    }

    #[test]
    fn a_normalising_ranker_is_refused_with_a_way_out() {
        let model = Model::Network(Network::new(Architecture::Linear, 2, 1).unwrap());
        let ranker = Ranker { model, record: TrainingRecord::default() };
        let message = ranker.to_elasticsearch("clicks", &names(&["a", "b"])).unwrap_err().to_string();
        assert!(message.contains("train the model trees, linear-raw or svm-rank"), "{message}");
    }

    #[test]
    fn a_linear_network_on_standardised_features_is_weights_of_raw_ones() {
        let network = Network::from_parameters(Architecture::Linear, 2, false, vec![3.0, -4.0, 0.25]).unwrap();
        let scaled = network.scaled(Scaling::linear(vec![10.0, 2.0], vec![0.5, 0.25]).unwrap()).unwrap();
        let ranker = Ranker { model: Model::Network(scaled), record: TrainingRecord::default() };
        let body = ranker.to_elasticsearch("clicks", &names(&["a", "b"])).unwrap();
        assert_eq!(body["model"]["model"]["definition"], json!({ "a": 3.0 * 0.5, "b": -4.0 * 0.25 }));
        let (weights, bias) = ranker.coefficients().unwrap();
        let by_hand = |row: [f32; 2]| row[0] * weights[0] + row[1] * weights[1] + bias;
        assert_eq!(ranker.score_rows(&[4.0, 6.0], 2).unwrap(), [by_hand([4.0, 6.0])]);
    }

    fn definition(forest: Forest, list: &[&str]) -> Result<Value> {
        let ranker = Ranker { model: Model::Trees(forest), record: TrainingRecord::default() };
        let body = ranker.to_elasticsearch("clicks", &names(list))?;
        assert_eq!(body["model"]["model"]["type"], "model/xgboost+json");
        Ok(serde_json::from_str(body["model"]["model"]["definition"].as_str().unwrap()).unwrap())
    }

    #[test]
    fn trees_are_nested_nodes() {
        let (left, right) = (Child::Leaf(0), Child::Leaf(1));
        let split = Split { feature: 1, threshold: 0.1, missing_left: false, gain: 2.5, left, right };
        let leaves = [0.5, -1e-9].map(|value| Leaf { value, rows: 1 }).to_vec();
        let forest = Forest::new(2, vec![Tree { splits: vec![split], leaves }, Tree::constant(2.0, 1)]).unwrap();
        let expected = r#"[{"nodeid":0,"depth":0,"split":"a \"b\"","split_condition":0.1,"yes":1,"no":2,"missing":2,"children":[{"nodeid":1,"leaf":0.5},{"nodeid":2,"leaf":-1e-9}]},{"nodeid":0,"leaf":2.0}]"#;
        assert_eq!(definition(forest, &["age", "a \"b\""]).unwrap().to_string(), expected);
        let empty = definition(random_forest(1, 2, 0, 1), &["a", "b"]).unwrap();
        assert_eq!(empty, json!([{ "nodeid": 0, "leaf": 0.0 }]));
    }

    /// What the plugins do: below the threshold to the first child, else to the second, the missing where it says.
    fn evaluate(node: &Value, row: &[f32]) -> f32 {
        if let Some(leaf) = node["leaf"].as_f64() {
            return leaf as f32;
        }
        let value = row[node["split"].as_str().unwrap()[1..].parse::<usize>().unwrap() - 1];
        let next = match value.is_nan() {
            true => &node["missing"],
            false if value < node["split_condition"].as_f64().unwrap() as f32 => &node["yes"],
            false => &node["no"],
        };
        let children = node["children"].as_array().unwrap();
        evaluate(children.iter().find(|child| child["nodeid"] == *next).unwrap(), row)
    }

    #[test]
    fn the_plugins_score_as_we_do() {
        for seed in 0..20 {
            let forest = random_forest(seed, 3, 6, 20);
            let found = definition(forest.clone(), &["f1", "f2", "f3"]).unwrap();
            let rows = random_rows(seed, 50, 3);
            for (row, score) in rows.chunks(3).zip(forest.score(&rows)) {
                let theirs: f32 = found.as_array().unwrap().iter().map(|tree| evaluate(tree, row)).sum();
                // Six leaves below 1, summed in single precision.
                assert!((theirs - score).abs() <= 36.0 * f32::EPSILON, "{theirs} for {score}");
            }
        }
    }

    #[test]
    fn trees_too_deep_for_json_are_refused() {
        let chain = |depth: u32| {
            let split = |number: u32| Split {
                feature: 0,
                threshold: number as f32,
                missing_left: true,
                gain: 0.0,
                left: Child::Leaf(number),
                right: if number + 1 == depth { Child::Leaf(depth) } else { Child::Split(number + 1) },
            };
            let leaves = vec![Leaf { value: 0.5, rows: 1 }; depth as usize + 1];
            Forest::new(1, vec![Tree { splits: (0..depth).map(split).collect(), leaves }]).unwrap()
        };
        let ranker = |depth| Ranker { model: Model::Trees(chain(depth)), record: TrainingRecord::default() };
        assert!(ranker(480).to_elasticsearch("clicks", &names(&["a"])).is_ok());
        let message = ranker(60_000).to_elasticsearch("clicks", &names(&["a"])).unwrap_err().to_string();
        assert!(message.contains("480 splits above a leaf, but tree 1 has 60000"), "{message}");
    }
}
