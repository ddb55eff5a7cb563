//! Documents that lack features: trees take them at every stage, other rankers refuse them with one line.

mod common;

use common::Sandbox;

/// Tiny data in which one value of seven is missing, as text and as Parquet.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    std::fs::create_dir(sandbox.path("table")).unwrap();
    for part in ["train", "vali", "test"] {
        let text = String::from_utf8(sandbox.read(&format!("data/{part}.txt"))).unwrap();
        sandbox.write(&format!("text/{part}.txt"), text.lines().enumerate().map(lacking).collect::<String>());
        sandbox.run(&format!("convert text/{part}.txt -o table/{part}.parquet"));
    }
    sandbox
}

/// A line with every seventh value missing.
fn lacking((number, line): (usize, &str)) -> String {
    let spelled = |(place, field): (usize, &str)| match field.split_once(':') {
        Some((index, _)) if index != "qid" && (number + place) % 7 == 0 => format!("{index}:nan"),
        _ => field.to_string(),
    };
    line.split(' ').enumerate().map(spelled).collect::<Vec<_>>().join(" ") + "\n"
}

#[test]
fn trees_take_what_is_missing_at_every_stage() {
    let sandbox = prepared();
    // What is missing in text is missing in a table, and back.
    sandbox.run("convert table/test.parquet -o back.txt");
    sandbox.run("convert back.txt -o back.parquet");
    assert_eq!(sandbox.read("back.parquet"), sandbox.read("table/test.parquet"));
    assert!(String::from_utf8(sandbox.read("back.txt")).unwrap().contains(":NaN"));
    sandbox.run("train text --model trees --steps 30 -o text.st");
    sandbox.run("train table --model trees --steps 30 -o table.st");
    assert_eq!(sandbox.read("text.st"), sandbox.read("table.st"));
    sandbox.run("evaluate table/test.parquet --ranker table.st");
    sandbox.run("score table/test.parquet --ranker table.st -o table.trec");
    sandbox.run("score text/test.txt --ranker table.st -o text.trec");
    assert_eq!(sandbox.read("text.trec"), sandbox.read("table.trec"));
    sandbox.run("explain table.st --data table/test.parquet -o explained.html");
    for to in ["onnx", "lightgbm", "xgboost"] {
        sandbox.run(&format!("export table.st --to {to} -o exported.{to}"));
    }
}

#[test]
fn a_log_is_fitted_to_documents_that_lack_features() {
    let sandbox = prepared();
    sandbox.run("simulate data --sessions 4000 -o clicks.parquet");
    sandbox.run("count clicks.parquet -o counts");
    let found = sandbox.json("propensity counts --data text -o propensities.json --json");
    let told = found["notes"].to_string();
    assert!(told.contains("documents lack features: the mean of the others stands in for them"), "{told}");
    sandbox.run("relevance counts --propensities propensities.json --data text -o relevance.parquet");
    sandbox.run("train text --relevance relevance.parquet --model trees --steps 20 -o trees.st");
    sandbox.run("fit clicks.parquet --data text --steps 20 -o out");
    let told = String::from_utf8(sandbox.read("out/fit.json")).unwrap();
    assert!(told.contains("trees") && !told.contains("linear-raw"), "{told}");
    sandbox.run("export relevance.parquet --to lightgbm --data text -o labels");
}

#[test]
fn other_rankers_say_what_is_missing_and_the_way_out() {
    let sandbox = prepared();
    for model in ["linear", "mlp:4", "linear-raw", "svm-rank"] {
        let line = sandbox.fail(&format!("train text --model {model} -o ranker.st"));
        let expected = "has no feature ";
        assert!(
            line.contains(expected) && line.contains("needs every feature; fill in what is missing, or use trees"),
            "{line}"
        );
        sandbox.run(&format!("train data --model {model} -o {}.st", &model[..3]));
    }
    for ranker in ["lin", "mlp", "svm"] {
        let line = sandbox.fail(&format!("score text/test.txt --ranker {ranker}.st -o run.trec"));
        assert!(line.contains("(NaN), but a ranker of the form") && line.contains("needs every feature"), "{line}");
        sandbox.fail(&format!("evaluate text/test.txt --ranker {ranker}.st"));
    }
    let line = sandbox.fail("simulate text --sessions 100 -o clicks.csv");
    assert!(line.contains("needs every feature"), "{line}");
}
