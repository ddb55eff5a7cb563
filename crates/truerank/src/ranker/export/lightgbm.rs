//! Trees as the text of LightGBM's models, which `lightgbm.Booster(model_file=…)` loads.
//!
//! LightGBM sums in double precision and in the order of the trees, as we do, so scores are the same to the last bit.

use std::fmt::{Display, Write};
use std::path::Path;

use super::{Export, trees};
use crate::files::write_file;
use crate::ranker::{Child, Forest, Ranker, Tree};
use crate::{Error, Result};

/// Bits of the type of a decision: missing values go left, and NaN is what is missing.
const DEFAULT_LEFT: u8 = 2;
const MISSING_IS_NAN: u8 = 8;
/// What would break LightGBM's text or its JSON; it refuses the same when it trains.
const NOT_IN_NAMES: &str = "\",:[]{}";

impl Ranker {
    /// The ranker as a model of LightGBM: text with thresholds, gains, leaves, counts and the names of features.
    ///
    /// `features` are the names of the features in the order of the data; LightGBM takes none with spaces or any of `",:[]{}`.
    pub fn to_lightgbm(&self, features: &[String]) -> Result<String> {
        let forest = trees::forest(self, "LightGBM")?;
        super::check_names(features, forest.feature_count())?;
        let is_bad = |name: &&String| name.contains(|c: char| c.is_whitespace() || NOT_IN_NAMES.contains(c));
        if let Some(name) = features.iter().find(is_bad) {
            return Err(Error::option(
                "feature_names",
                format!("for LightGBM should be without spaces and without any of {NOT_IN_NAMES}, but one is '{name}'"),
            ));
        }
        Ok(model(forest, features))
    }
}

pub(super) fn write(ranker: &Ranker, export: &Export, path: &Path) -> Result<String> {
    let text = ranker.to_lightgbm(&export.names_of(ranker))?;
    write_file(path, text.as_bytes())?;
    Ok(format!("model of LightGBM, {}", trees::counted(trees::forest(ranker, "LightGBM")?)))
}

fn model(forest: &Forest, features: &[String]) -> String {
    let trees = trees::at_least_one(forest);
    let texts: Vec<String> = trees.iter().enumerate().map(|(number, tree)| tree_text(number, tree)).collect();
    let sizes = texts.iter().map(String::len);
    // The ranges of features are not known.
    let infos = std::iter::repeat_n("none", features.len());
    let header = [
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0".to_string(),
        format!("max_feature_idx={}\nobjective=regression", features.len() - 1),
        line("feature_names", features.iter()),
        line("feature_infos", infos),
        line("tree_sizes", sizes),
    ];
    let importances = importances(forest, features);
    let header = header.join("\n");
    let texts = texts.concat();
    format!(
        "{header}\n\n{texts}end of trees\n\nfeature_importances:\n{importances}\nparameters:\nend of parameters\n\npandas_categorical:null\n"
    )
}

fn tree_text(number: usize, tree: &Tree) -> String {
    let (splits, leaves) = (&tree.splits, &tree.leaves);
    let rows = || leaves.iter().map(|leaf| leaf.rows);
    let (rows_of_splits, means) = (tree.rows_of_splits(), tree.means_of_splits());
    let decision = |missing_left: bool| MISSING_IS_NAN | if missing_left { DEFAULT_LEFT } else { 0 };
    let lines = [
        format!("Tree={number}\nnum_leaves={}\nnum_cat=0", leaves.len()),
        line("split_feature", splits.iter().map(|split| split.feature)),
        line("split_gain", splits.iter().map(|split| split.gain)),
        line("threshold", splits.iter().map(|split| number_text(largest_left(split.threshold)))),
        line("decision_type", splits.iter().map(|split| decision(split.missing_left))),
        line("left_child", splits.iter().map(|split| child(split.left))),
        line("right_child", splits.iter().map(|split| child(split.right))),
        line("leaf_value", leaves.iter().map(|leaf| number_text(f64::from(leaf.value)))),
        line("leaf_weight", rows()),
        line("leaf_count", rows().map(|rows| count(rows.into()))),
        line("internal_value", means.into_iter().map(number_text)),
        line("internal_weight", rows_of_splits.iter()),
        line("internal_count", rows_of_splits.iter().map(|&rows| count(rows))),
        "is_linear=0\nshrinkage=1\n\n\n".to_string(),
    ];
    lines.join("\n")
}

fn line(name: &str, values: impl Iterator<Item = impl Display>) -> String {
    let mut text = format!("{name}=");
    for (number, value) in values.enumerate() {
        // Writing to memory cannot fail.
        let _ = write!(text, "{}{value}", if number == 0 { "" } else { " " });
    }
    text
}

/// A number that reads back as it was; large and small ones with an exponent.
fn number_text(value: f64) -> String {
    format!("{value:?}")
}

/// LightGBM counts in 32 bits with a sign.
fn count(rows: u64) -> i32 {
    i32::try_from(rows).unwrap_or(i32::MAX)
}

fn child(child: Child) -> i64 {
    match child {
        Child::Split(number) => number.into(),
        Child::Leaf(number) => -1 - i64::from(number),
    }
}

/// The largest value in double precision that goes left: ours do so where in single precision they are below `threshold`, LightGBM's
/// where they are at most this.
fn largest_left(threshold: f32) -> f64 {
    let below = match threshold.next_down() {
        f32::NEG_INFINITY => -(128_f64.exp2()),
        below => f64::from(below),
    };
    let middle = (below + f64::from(threshold)) / 2.0;
    // Halfway, rounding is to the even one.
    if (middle as f32) < threshold { middle } else { middle.next_down() }
}

/// How many splits are by each feature, those with most first.
fn importances(forest: &Forest, features: &[String]) -> String {
    let mut splits: Vec<(&String, usize)> =
        features.iter().zip(forest.importance()).map(|(name, found)| (name, found.splits)).collect();
    splits.sort_by_key(|&(_, splits)| std::cmp::Reverse(splits));
    splits.iter().filter(|(_, splits)| *splits > 0).map(|(name, splits)| format!("{name}={splits}\n")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ranker::trees::random::random_forest;
    use crate::ranker::{Leaf, Model, Split, TrainingRecord};

    fn ranker() -> Ranker {
        let split = |threshold, missing_left, left, right| Split {
            feature: 1,
            threshold,
            missing_left,
            gain: 1.5,
            left,
            right,
        };
        let splits = vec![
            split(0.5, true, Child::Split(1), Child::Leaf(2)),
            split(-1e-9, false, Child::Leaf(0), Child::Leaf(1)),
        ];
        let leaves = [(0.1, 2), (-2.0, 2), (3.0, 4)].map(|(value, rows)| Leaf { value, rows }).to_vec();
        let forest = Forest::new(2, vec![Tree { splits, leaves }, Tree::constant(0.25, 8)]).unwrap();
        Ranker { model: Model::Trees(forest), record: TrainingRecord::default() }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn trees_are_lines_of_numbers() {
        let text = ranker().to_lightgbm(&names(&["age", "bm25"])).unwrap();
        let (first, second) = text.split_once("Tree=1").unwrap();
        // 0.1 in single precision, in double precision; the mean of two such and two of -2.
        let tenth = f64::from(0.1_f32);
        for line in [
            "max_feature_idx=1",
            "feature_names=age bm25",
            "split_feature=1 1",
            "decision_type=10 8",
            "left_child=1 -1",
            "right_child=-3 -2",
            &format!("leaf_value={tenth} -2.0 3.0"),
            "leaf_count=2 2 4",
            &format!("internal_value={} {}", (2.0 * tenth - 4.0 + 12.0) / 8.0, (2.0 * tenth - 4.0) / 4.0),
            "internal_count=8 4",
        ] {
            assert!(first.contains(&format!("\n{line}\n")), "{line}\n is not in\n{first}");
        }
        assert!(second.contains("num_leaves=1\nnum_cat=0\nsplit_feature=\n") && second.contains("\nleaf_value=0.25\n"));
        assert!(second.contains("\nfeature_importances:\nbm25=2\n\nparameters:"), "{second}");
    }

    #[test]
    fn sizes_are_those_of_the_trees() {
        let text = ranker().to_lightgbm(&names(&["age", "bm25"])).unwrap();
        let sizes = text.lines().find_map(|line| line.strip_prefix("tree_sizes=")).unwrap();
        let mut at = text.find("Tree=0").unwrap();
        for (number, size) in sizes.split(' ').enumerate() {
            assert!(text[at..].starts_with(&format!("Tree={number}\n")));
            at += size.parse::<usize>().unwrap();
        }
        assert!(text[at..].starts_with("end of trees\n"));
    }

    #[test]
    fn a_forest_without_trees_has_one_that_adds_nothing() {
        let ranker = Ranker { model: Model::Trees(random_forest(1, 2, 0, 1)), record: TrainingRecord::default() };
        let text = ranker.to_lightgbm(&names(&["a", "b"])).unwrap();
        assert!(text.contains("Tree=0\nnum_leaves=1\n") && text.contains("\nleaf_value=0.0\n"), "{text}");
    }

    #[test]
    fn names_that_would_break_the_text_are_refused() {
        for name in ["title match", "a,b", "tab\t", "{", "a:b"] {
            let message = ranker().to_lightgbm(&names(&["age", name])).unwrap_err().to_string();
            let expected = format!("any of {NOT_IN_NAMES}, but one is '{}'", crate::text::printable(name));
            assert!(message.contains(&expected), "{message}");
        }
        let message = ranker().to_lightgbm(&names(&["age"])).unwrap_err().to_string();
        assert_eq!(message, "there are 1 feature names for 2 features");
        let model = Model::Weights { weights: vec![1.0], bias: 0.0 };
        let weights = Ranker { model, record: TrainingRecord::default() };
        let message = weights.to_lightgbm(&names(&["age"])).unwrap_err().to_string();
        assert!(message.starts_with("models of LightGBM are trees, but"), "{message}");
    }

    proptest! {
        /// For every feature in double precision, whatever it is rounded to: at most the one is below the other.
        #[test]
        fn thresholds_part_values_as_ours_do(threshold: f32, value: f64, steps in -3i64..=3) {
            prop_assume!(threshold.is_finite());
            let largest = largest_left(threshold);
            let near = |from: f64| (0..steps.abs()).fold(from, |x, _| if steps < 0 { x.next_down() } else { x.next_up() });
            for value in [value, f64::from(threshold), near(largest), near(threshold.into()), near(threshold.next_down().into())] {
                prop_assert_eq!(value <= largest, (value as f32) < threshold, "{} and {}", value, threshold);
            }
        }
    }

    #[test]
    fn thresholds_at_the_ends_of_numbers_part_values_too() {
        for threshold in [f32::MIN, f32::MAX, 0.0, -0.0, f32::MIN_POSITIVE, f32::from_bits(1), -f32::from_bits(1)] {
            let largest = largest_left(threshold);
            for value in
                [f64::NEG_INFINITY, f64::MIN, threshold.into(), largest, largest.next_up(), -0.0, 0.0, f64::MAX]
            {
                assert_eq!(value <= largest, (value as f32) < threshold, "{value} and {threshold}");
            }
        }
    }
}
