//! Logs of every click model: the truth beside them, and that the next steps take it.

mod common;

use common::{Sandbox, shape};
use serde_json::Value;

const MODELS: [&str; 9] = ["pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm", "trust", "additive"];

#[test]
fn the_truth_beside_a_log_is_a_click_model_for_the_next_steps() {
    let sandbox = Sandbox::with_tiny_data();
    let others = ["pbm,dbn,ubm", "trust,sdbn"];
    for models in MODELS[1..].iter().chain(&others) {
        let draw =
            format!("simulate data --sessions 4000 --etas 2,1,0.3 --swap 0.3 --shuffle 0.2 --click-model {models}");
        let found = sandbox.json(&format!("{draw} --users-per-cluster 2 --user-noise 0.2 --json -o clicks.parquet"));
        assert_eq!(found["click_model"], "clicks.click-model.json", "{models}");
        assert!(found.get("examination").is_none(), "{models}: {found}");
        let in_turn: Vec<&str> = models.split(',').cycle().take(3).collect();
        assert_eq!(found["kinds"], serde_json::json!(in_turn));
        assert!(!sandbox.path("clicks.propensities.json").exists(), "{models}");
        sandbox.run("count clicks.parquet --transitions -o counts");
        let predicted = sandbox.json("predict-clicks counts --click-model clicks.click-model.json --json");
        assert_eq!(
            (&predicted["unknown_impressions"], &predicted["unknown_users"]),
            (&0.into(), &0.into()),
            "{models}"
        );
        sandbox.run("relevance counts --click-model clicks.click-model.json -o relevance.parquet");
        let aware = "relevance counts --click-model clicks.click-model.json --estimator user-aware -o aware.parquet";
        sandbox.run(aware);
    }
}

#[test]
fn the_truth_predicts_a_later_log_better_than_what_was_fitted_to_an_earlier_one() {
    let sandbox = Sandbox::with_tiny_data();
    // Other seeds have other users and traffic, so the later log is the second half of one.
    let draw = "simulate data --sessions 20000 --etas 2,0.3 --swap 0.4 --click-model ubm,dbn -o clicks.csv";
    sandbox.run(draw);
    let text = String::from_utf8(sandbox.read("clicks.csv")).unwrap();
    let session = |line: &str| line.split(',').next().unwrap().parse::<u32>().map_or(0, |session| session);
    let half = |keep: &dyn Fn(u32) -> bool| {
        let rows = text.lines().enumerate().filter(|(number, line)| *number == 0 || keep(session(line)));
        rows.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    for (name, rows) in [("earlier", half(&|session| session <= 10_000)), ("later", half(&|session| session > 10_000))]
    {
        sandbox.write(&format!("{name}.csv"), &rows);
        sandbox.run(&format!("count {name}.csv --transitions -o {name}"));
    }
    let judge = |model: &str| -> f64 {
        let found = sandbox.json(&format!("predict-clicks later --click-model {model} --json"));
        found["log_likelihood"].as_f64().unwrap()
    };
    let truth = judge("clicks.click-model.json");
    for options in ["--model ubm --per-user", "--model dbn --per-user", "--model pbm", "--model ubm,dbn"] {
        sandbox.run(&format!("click-model earlier {options} -o fitted.json"));
        let fitted = judge("fitted.json");
        assert!(fitted < truth, "{options}: {fitted} is above {truth}");
    }
}

#[test]
fn outputs_name_the_models() {
    let sandbox = Sandbox::with_tiny_data();
    let draw = "simulate data --sessions 3000 --users 5 --click-model pbm,dbn -o clicks.parquet";
    insta::assert_snapshot!("simulate_models", shape(&sandbox.run(draw)));
}

#[test]
fn counts_of_any_model_are_drawn_without_sessions() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 1000000000 --swap 0.1 --click-model dbn,ccm --cells -o counts");
    let found = sandbox.json("predict-clicks counts --click-model counts.click-model.json --json");
    assert_eq!(found["sessions"], 1_000_000_000);
    sandbox.run("relevance counts --click-model counts.click-model.json -o relevance.parquet");
    sandbox.run("simulate data --sessions 1000000 --swap 0.1 --cells --transitions -o plain");
    sandbox.run("click-model plain --model pbm -o model.json");
    assert!(sandbox.path("plain.propensities.json").exists());
}

#[test]
fn bytes_do_not_depend_on_threads_and_pbm_is_what_it_was() {
    let sandbox = Sandbox::with_tiny_data();
    for threads in [1, 3] {
        std::fs::create_dir(sandbox.path(&format!("t{threads}"))).unwrap();
        let draw = "simulate data --sessions 20000 --swap 0.2 --click-model pbm,dbn,ubm";
        sandbox.run(&format!("{draw} --threads {threads} -o t{threads}/clicks.parquet"));
        sandbox.run(&format!("{draw} --threads {threads} --cells -o t{threads}/counts"));
    }
    for file in ["clicks.parquet", "clicks.click-model.json", "counts/transitions.parquet", "counts.click-model.json"] {
        assert!(sandbox.read(&format!("t1/{file}")) == sandbox.read(&format!("t3/{file}")), "{file}");
    }
    for (folder, option) in [("usual", ""), ("named", "--click-model pbm")] {
        std::fs::create_dir(sandbox.path(folder)).unwrap();
        sandbox.run(&format!("simulate data --sessions 3000 {option} -o {folder}/clicks.parquet"));
    }
    for file in ["clicks.parquet", "clicks.propensities.json"] {
        assert!(sandbox.read(&format!("usual/{file}")) == sandbox.read(&format!("named/{file}")), "{file}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let sandbox = Sandbox::with_tiny_data();
    let cases = [
        ("--click-model xyz", "xyz"),
        ("--etas 1 --click-model pbm,dbn", "--click-model names 2 models, but there are 1 clusters of users"),
        ("--click-model dbn --shuffle 0.5 --cells", "--shuffle cannot be drawn as cells"),
        ("--transitions", "--transitions is for --cells, but a log is written"),
    ];
    for (arguments, part) in cases {
        let line = sandbox.fail(&format!("simulate data --sessions 100 {arguments} -o out.parquet"));
        assert!(line.contains(part), "{arguments}: {line}");
        assert!(!sandbox.path("out.parquet").exists(), "{arguments}");
    }
    // The truth of another run than the log beside it.
    sandbox.run("simulate data --sessions 2000 --click-model dbn -o clicks.parquet");
    sandbox.run("count clicks.parquet --transitions -o counts");
    let truth = sandbox.read("clicks.click-model.json");
    sandbox.run("simulate data --sessions 2000 --click-model dbn --seed 9 -o clicks.parquet");
    std::fs::write(sandbox.path("clicks.click-model.json"), &truth).unwrap();
    let line = sandbox.fail("relevance counts --click-model clicks.click-model.json -o r.parquet");
    assert!(
        line.contains("clicks.click-model.json: belongs to clicks.parquet, but was written with another"),
        "{line}"
    );
}

/// Does harm to a file.
type Change<'c> = &'c dyn Fn(&mut Value);

#[test]
fn damaged_truths_are_refused() {
    let sandbox = Sandbox::with_tiny_data();
    let draw = "simulate data --sessions 500 --etas 1,0 --users-per-cluster 2 --user-noise 0.3 --click-model dbn";
    sandbox.run(&format!("{draw} -o clicks.parquet"));
    sandbox.run("count clicks.parquet --transitions -o counts");
    let whole: Value = serde_json::from_slice(&sandbox.read("clicks.click-model.json")).unwrap();
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut value = whole.clone();
        value.as_object_mut().unwrap().remove("truerank.seal");
        change(&mut value);
        sandbox.write("damaged.json", value.to_string());
        sandbox.fail("predict-clicks counts --click-model damaged.json")
    };
    let cases: [(Change<'_>, &str); 4] = [
        (&|value| value["users"][0]["kind"] = 0.into(), "the kind of user number 1 is 0, but starts at 1"),
        (&|value| value["users"][0]["kind"] = 3.into(), "should be between 1 and 2, but is 3"),
        (&|value| value["users"][0]["parameters"] = serde_json::json!([0.5, 0.5]), "dbn should have 1 parameters"),
        (&|value| value["users"][0]["kinds"] = serde_json::json!([1.0, 0.0]), "parameters, kinds or a kind"),
    ];
    for (change, part) in cases {
        let line = refused(change);
        assert!(line.contains("damaged.json") && line.contains(part), "{line}");
    }
}
