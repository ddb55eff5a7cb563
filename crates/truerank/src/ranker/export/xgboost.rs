//! Trees as the JSON of XGBoost's models, which `xgboost.Booster(model_file=…)` loads.
//!
//! XGBoost compares as we do and sums in single precision, so scores differ from ours by its rounding.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Export, trees};
use crate::files::write_file;
use crate::ranker::{Child, Forest, Leaf, Ranker, Split, Tree};
use crate::{Error, Result};

/// The version whose form this is: later ones read it too.
const VERSION: [u32; 3] = [2, 1, 0];
/// The parent of the root, and the children of leaves.
const NO_PARENT: i64 = i32::MAX as i64;
const NO_CHILD: i64 = -1;
/// XGBoost refuses names with these, which its dumps use.
const NOT_IN_NAMES: &str = "[]<";

/// The file, in the order of XGBoost's own.
#[derive(Serialize)]
struct Model<'a> {
    learner: Learner<'a>,
    version: [u32; 3],
}

#[derive(Serialize)]
struct Learner<'a> {
    attributes: Value,
    feature_names: &'a [String],
    feature_types: Vec<&'static str>,
    gradient_booster: Booster,
    learner_model_param: Value,
    objective: Value,
}

#[derive(Serialize)]
struct Booster {
    model: Trees,
    name: &'static str,
}

#[derive(Serialize)]
struct Trees {
    gbtree_model_param: Value,
    iteration_indptr: Vec<usize>,
    tree_info: Vec<u8>,
    trees: Vec<Nodes>,
}

/// The nodes of a tree, level by level. A leaf has its value where a split has its threshold.
#[derive(Serialize, Default)]
struct Nodes {
    base_weights: Vec<f32>,
    categories: [u8; 0],
    categories_nodes: [u8; 0],
    categories_segments: [u8; 0],
    categories_sizes: [u8; 0],
    default_left: Vec<u8>,
    id: usize,
    left_children: Vec<i64>,
    loss_changes: Vec<f32>,
    parents: Vec<i64>,
    right_children: Vec<i64>,
    split_conditions: Vec<f32>,
    split_indices: Vec<u32>,
    split_type: Vec<u8>,
    sum_hessian: Vec<f32>,
    tree_param: Value,
}

impl Ranker {
    /// The ranker as a model of XGBoost: JSON with thresholds, gains, leaves and counts, and names of features where they are given.
    ///
    /// A model with names takes only data with the same names.
    pub fn to_xgboost(&self, features: Option<&[String]>) -> Result<String> {
        let forest = trees::forest(self, "XGBoost")?;
        let names = features.unwrap_or_default();
        if features.is_some() {
            super::check_names(names, forest.feature_count())?;
        }
        if let Some(name) = names.iter().find(|name| name.contains(|c| NOT_IN_NAMES.contains(c))) {
            let finding = format!("for XGBoost should be without {NOT_IN_NAMES}, but one is '{name}'");
            return Err(Error::option("feature_names", finding));
        }
        serde_json::to_string(&model(forest, names))
            .map_err(|e| Error::parameter(format!("the model cannot be written as JSON ({e})")))
    }
}

pub(super) fn write(ranker: &Ranker, export: &Export, path: &Path) -> Result<String> {
    let text = ranker.to_xgboost(export.feature_names.as_deref())?;
    write_file(path, text.as_bytes())?;
    Ok(format!("model of XGBoost, {}", trees::counted(trees::forest(ranker, "XGBoost")?)))
}

fn model<'a>(forest: &Forest, feature_names: &'a [String]) -> Model<'a> {
    let trees = trees::at_least_one(forest);
    let count = trees.len();
    let trees = Trees {
        gbtree_model_param: json!({ "num_parallel_tree": "1", "num_trees": count.to_string() }),
        iteration_indptr: (0..=count).collect(),
        tree_info: vec![0; count],
        trees: trees.iter().enumerate().map(|(id, tree)| nodes(id, tree, forest.feature_count())).collect(),
    };
    let learner = Learner {
        attributes: json!({}),
        feature_names,
        feature_types: vec!["float"; feature_names.len()],
        gradient_booster: Booster { model: trees, name: "gbtree" },
        learner_model_param: json!({
            "base_score": "0E0",
            "boost_from_average": "1",
            "num_class": "0",
            "num_feature": forest.feature_count().to_string(),
            "num_target": "1",
        }),
        objective: json!({ "name": "reg:squarederror", "reg_loss_param": { "scale_pos_weight": "1" } }),
    };
    Model { learner, version: VERSION }
}

/// XGBoost walks to the place of the left child, or to the next, so siblings must stand side by side.
fn nodes(id: usize, tree: &Tree, features: usize) -> Nodes {
    let levels = tree.in_levels();
    let (rows, means) = (tree.rows_of_splits(), tree.means_of_splits());
    let mut nodes = Nodes {
        id,
        parents: vec![NO_PARENT; levels.len()],
        split_type: vec![0; levels.len()],
        tree_param: json!({
            "num_deleted": "0",
            "num_feature": features.to_string(),
            "num_nodes": levels.len().to_string(),
            "size_leaf_vector": "1",
        }),
        ..Nodes::default()
    };
    for (at, &(child, left)) in levels.iter().enumerate() {
        match child {
            Child::Split(number) => {
                let (split, number) = (&tree.splits[number as usize], number as usize);
                nodes.push_split(split, left as i64, rows[number], means[number]);
                nodes.parents[left..left + 2].fill(at as i64);
            }
            Child::Leaf(number) => nodes.push_leaf(&tree.leaves[number as usize]),
        }
    }
    nodes
}

impl Nodes {
    fn push_split(&mut self, split: &Split, left: i64, rows: u64, mean: f64) {
        self.base_weights.push(mean as f32);
        self.default_left.push(split.missing_left.into());
        self.left_children.push(left);
        self.right_children.push(left + 1);
        self.loss_changes.push(split.gain);
        self.split_conditions.push(split.threshold);
        self.split_indices.push(split.feature);
        self.sum_hessian.push(rows as f32);
    }

    fn push_leaf(&mut self, leaf: &Leaf) {
        self.base_weights.push(leaf.value);
        self.default_left.push(0);
        self.left_children.push(NO_CHILD);
        self.right_children.push(NO_CHILD);
        self.loss_changes.push(0.0);
        self.split_conditions.push(leaf.value);
        self.split_indices.push(0);
        self.sum_hessian.push(leaf.rows as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::TrainingRecord;
    use crate::ranker::trees::random::{random_forest, random_rows};

    fn ranker(trees: Vec<Tree>) -> Ranker {
        let forest = Forest::new(2, trees).unwrap();
        Ranker { model: crate::ranker::Model::Trees(forest), record: TrainingRecord::default() }
    }

    fn tree() -> Tree {
        let (left, right) = (Child::Leaf(0), Child::Leaf(1));
        let split = Split { feature: 1, threshold: 0.1, missing_left: true, gain: 2.5, left, right };
        Tree { splits: vec![split], leaves: [(0.5, 3), (-1.0, 1)].map(|(value, rows)| Leaf { value, rows }).to_vec() }
    }

    fn parsed(ranker: &Ranker, names: Option<&[String]>) -> Value {
        serde_json::from_str(&ranker.to_xgboost(names).unwrap()).unwrap()
    }

    #[test]
    fn a_tree_is_arrays_of_its_nodes() {
        let text = ranker(vec![tree()]).to_xgboost(None).unwrap();
        for part in [
            r#""split_conditions":[0.1,0.5,-1.0]"#,
            r#""left_children":[1,-1,-1]"#,
            r#""right_children":[2,-1,-1]"#,
            r#""parents":[2147483647,0,0]"#,
            r#""default_left":[1,0,0]"#,
            r#""split_indices":[1,0,0]"#,
            r#""loss_changes":[2.5,0.0,0.0]"#,
            r#""sum_hessian":[4.0,3.0,1.0]"#,
            // (3 · .5 − 1) / 4
            r#""base_weights":[0.125,0.5,-1.0]"#,
        ] {
            assert!(text.contains(part), "{part}\n is not in\n{text}");
        }
    }

    #[test]
    fn names_are_in_it_only_where_they_are_given() {
        let names = ["age".to_string(), "title match".to_string()];
        let learner = |names| parsed(&ranker(vec![tree()]), names)["learner"].take();
        assert_eq!(learner(None)["feature_names"], json!([]));
        assert_eq!(learner(Some(&names))["feature_names"], json!(names));
        assert_eq!(learner(Some(&names))["feature_types"], json!(["float", "float"]));
        let refused = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            ranker(vec![tree()]).to_xgboost(Some(&names)).unwrap_err().to_string()
        };
        assert!(refused(&["age", "a<b"]).ends_with("but one is 'a<b'"));
        assert!(refused(&["age"]).contains("1 feature names for 2"));
    }

    #[test]
    fn a_forest_without_trees_has_one_that_adds_nothing() {
        let learner = parsed(&ranker(Vec::new()), None)["learner"].take();
        let model = &learner["gradient_booster"]["model"];
        assert_eq!(model["gbtree_model_param"]["num_trees"], "1");
        assert_eq!(model["trees"][0]["split_conditions"], json!([0.0]));
    }

    /// XGBoost's walk, by the file alone: to the left child, or to the place after it.
    fn walk(tree: &Value, row: &[f32]) -> f32 {
        let number = |name: &str, at: usize| tree[name][at].as_f64().unwrap() as f32;
        let mut at = 0;
        while number("left_children", at) >= 0.0 {
            let value = row[number("split_indices", at) as usize];
            let left = match value.is_nan() {
                true => number("default_left", at) == 1.0,
                false => value < number("split_conditions", at),
            };
            assert_eq!(number("right_children", at), number("left_children", at) + 1.0);
            at = number("left_children", at) as usize + usize::from(!left);
        }
        number("split_conditions", at)
    }

    #[test]
    fn documents_walk_to_the_same_leaves() {
        let (forest, rows) = (random_forest(3, 2, 20, 30), random_rows(3, 100, 2));
        let learner = parsed(&ranker(forest.trees().to_vec()), None)["learner"].take();
        let found = learner["gradient_booster"]["model"]["trees"].as_array().unwrap().clone();
        assert_eq!(found.len(), 20);
        for (found, tree) in found.iter().zip(forest.trees()) {
            assert!(rows.chunks(2).all(|row| walk(found, row) == tree.value(row)));
        }
    }
}
