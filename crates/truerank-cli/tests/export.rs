//! Rankers and weights for other tools; whether those tools take them is tested beside the peers.

mod common;

use common::Sandbox;
use serde_json::Value;
use truerank::ranker::{Child, Forest, Leaf, Model, Ranker, Split, TrainingRecord, Tree};

/// Relevance weights of tiny data, and rankers of two forms.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 3000 -o clicks.parquet");
    sandbox.run("count clicks.parquet -o counts");
    sandbox.run("relevance counts --propensities clicks.propensities.json -o relevance.parquet");
    sandbox.run("train data --relevance relevance.parquet --model linear --steps 5 -o linear.st");
    sandbox.run("train data --relevance relevance.parquet --model linear-raw --steps 5 -o raw.st");
    sandbox
}

fn text(sandbox: &Sandbox, name: &str) -> String {
    String::from_utf8(sandbox.read(name)).unwrap()
}

#[test]
fn rankers_leave_as_onnx_and_as_weights() {
    let sandbox = prepared();
    insta::assert_snapshot!("onnx", sandbox.run("export linear.st --to onnx -o linear.onnx"));
    insta::assert_snapshot!("elasticsearch", sandbox.run("export raw.st --to elasticsearch -o clicks.json"));
    let model: Value = serde_json::from_slice(&sandbox.read("clicks.json")).unwrap();
    assert_eq!(model["model"]["name"], "clicks");
    let definition = model["model"]["model"]["definition"].as_object().unwrap();
    assert!(definition.keys().next().unwrap() == "f1" && definition.values().all(Value::is_number));
    let names: String = (0..definition.len()).map(|number| format!("feature {number}\n")).collect();
    sandbox.write("names.txt", names);
    sandbox.run("export raw.st --to opensearch --feature-names names.txt --name shop -o model.json");
    let named: Value = serde_json::from_slice(&sandbox.read("model.json")).unwrap();
    assert_eq!(named["model"]["name"], "shop");
    assert_eq!(named["model"]["model"]["definition"]["feature 0"], definition["f1"]);
}

/// A ranker of two trees on two features.
fn trees() -> Ranker {
    let (left, right) = (Child::Leaf(0), Child::Leaf(1));
    let split = Split { feature: 1, threshold: 0.5, missing_left: true, gain: 1.0, left, right };
    let tree = Tree { splits: vec![split], leaves: [0.25, -1.0].map(|value| Leaf { value, rows: 7 }).to_vec() };
    let forest = Forest::new(2, vec![tree, Tree::constant(0.5, 14)]).unwrap();
    Ranker { model: Model::Trees(forest), record: TrainingRecord::default() }
}

#[test]
fn trees_leave_as_models() {
    let sandbox = Sandbox::new();
    trees().save(&sandbox.path("trees.st")).unwrap();
    sandbox.write("names.txt", "age\nbm25\n");
    let told = [
        "--to onnx -o trees.onnx",
        "--to lightgbm -o model.txt",
        "--to xgboost -o model.json",
        "--to elasticsearch -o clicks.json",
    ]
    .map(|arguments| sandbox.run(&format!("export trees.st {arguments}")));
    insta::assert_snapshot!("trees", told.concat());
    assert!(text(&sandbox, "model.txt").contains("\nfeature_names=f1 f2\n"));
    assert!(text(&sandbox, "model.json").contains(r#""feature_names":[]"#));
    sandbox.run("export trees.st --to lightgbm --feature-names names.txt -o model.txt");
    sandbox.run("export trees.st --to xgboost --feature-names names.txt -o model.json");
    assert!(text(&sandbox, "model.txt").contains("\nfeature_names=age bm25\n"));
    assert!(text(&sandbox, "model.json").contains(r#""feature_names":["age","bm25"]"#));
    let model: Value = serde_json::from_slice(&sandbox.read("clicks.json")).unwrap();
    assert_eq!(model["model"]["model"]["type"], "model/xgboost+json");
    sandbox.write("names.txt", "age\ntitle match\n");
    let line = sandbox.fail("export trees.st --to lightgbm --feature-names names.txt -o model.txt");
    assert!(line.contains("trees.st with names.txt: --feature-names for LightGBM should be without spaces"), "{line}");
}

#[test]
fn weights_leave_as_labels() {
    let sandbox = prepared();
    insta::assert_snapshot!("lightgbm", sandbox.run("export relevance.parquet --to lightgbm --data data -o labels"));
    let documents = text(&sandbox, "labels/train.svm").lines().count();
    assert_eq!(text(&sandbox, "labels/train.svm.weight").lines().count(), documents);
    let sizes = text(&sandbox, "labels/train.svm.query");
    assert_eq!(sizes.lines().map(|size| size.parse::<usize>().unwrap()).sum::<usize>(), documents);
    // The human grades of the test part, as they are.
    let first = |name: &str| -> String { text(&sandbox, name).lines().map(|line| &line[..1]).collect() };
    assert_eq!(first("labels/test.svm"), first("data/test.txt"));
    let steps = "export relevance.parquet --to lightgbm --data data --labels steps -o labels";
    insta::assert_snapshot!("lightgbm_steps", sandbox.run(steps));
    let parameters: Value = serde_json::from_slice(&sandbox.read("labels/params.json")).unwrap();
    assert_eq!(parameters["label_gain"].as_array().unwrap().len(), 4 * 8 + 1);
    sandbox.run("export relevance.parquet --to xgboost --data data/train.txt --labels gains -o gains");
    let mut files = sandbox.files().into_keys().filter(|path| path.starts_with("gains")).collect::<Vec<_>>();
    files.sort();
    assert_eq!(files, ["gains", "gains/params.json", "gains/train.svm"].map(std::path::PathBuf::from));
}

#[test]
fn threads_leave_no_trace() {
    let sandbox = prepared();
    let [one, more] = [1, 3].map(|threads| {
        sandbox.run(&format!("export linear.st --to onnx -o linear.onnx --threads {threads}"));
        sandbox.run(&format!("export relevance.parquet --to lightgbm --data data -o labels --threads {threads}"));
        ["linear.onnx", "labels/train.svm", "labels/test.svm", "labels/train.svm.weight"].map(|name| sandbox.read(name))
    });
    assert!(one == more);
}

#[test]
fn what_cannot_leave_is_refused_with_a_way_out() {
    let sandbox = prepared();
    sandbox.write("names.txt", "a\nb\n");
    sandbox.write("mine/thesis.tex", "years");
    for (arguments, expected) in [
        ("linear.st --to elasticsearch -o m.json", "linear.st: model/linear weighs raw features, but"),
        ("raw.st --to elasticsearch --feature-names names.txt -o m.json", "raw.st with names.txt: there are 2 feature"),
        ("relevance.parquet --to onnx -o m.onnx", "relevance.parquet: is not a whole safetensors file"),
        (
            "linear.st --to lightgbm --data data -o labels",
            "--data is for labels, which --to lightgbm and xgboost make of",
        ),
        (
            "linear.st --to lightgbm -o model.txt",
            "linear.st: models of LightGBM are trees, but this ranker has none; train",
        ),
        (
            "linear.st --to xgboost -o model.json",
            "linear.st: models of XGBoost are trees, but this ranker has none; train",
        ),
        ("linear.st --to svmlight --data data -o labels", "linear.st: is not a complete Parquet file"),
        (
            "linear.st --to lightgbm --steps 4 -o m.txt",
            "--steps is for lightgbm of relevance, xgboost of relevance, csv or parquet, but",
        ),
        (
            "relevance.parquet --to lightgbm --feature-names names.txt -o m",
            "--feature-names is for elasticsearch, lightgbm of a",
        ),
        ("none.st --to lightgbm -o m.txt", "none.st: "),
        ("relevance.parquet --to lightgbm -o labels", "there is no --data; pass the folder"),
        ("relevance.parquet --to lightgbm --data data -o mine", "holds thesis.tex"),
        ("relevance.parquet --to lightgbm --data data/test.txt -o labels", "no document with a weight is in the data"),
        ("relevance.parquet --to lightgbm --data data --labels gains -o labels", "LightGBM ranks by whole numbers"),
        ("relevance.parquet --to xgboost --data data --labels steps --steps 8 -o labels", "no gains for steps"),
        ("relevance.parquet --to csv --labels gains --steps 4 -o labels.csv", "--steps are for labels that are steps"),
        ("linear.st --to onnx --data data -o m.onnx", "--data is for labels, which --to lightgbm and xgboost make of"),
        ("linear.st --to onnx --name x -o m.onnx", "--name is for elasticsearch or workbench, but --to is onnx"),
        (
            "linear.st --to torch -o m.pt",
            "possible values: onnx, elasticsearch, lightgbm, xgboost, csv, parquet, quepid, workbench",
        ),
    ] {
        let line = sandbox.fail(&format!("export {arguments}"));
        assert!(line.contains(expected), "{arguments}\n says {line}\n  not {expected}");
    }
    let line = sandbox.fail("train data --model linear-raw --optimizer adam -o r.st");
    assert!(line.contains("linear-raw is trained by lbfgs"), "{line}");
}
