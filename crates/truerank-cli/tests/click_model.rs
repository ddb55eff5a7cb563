//! From click transitions to click models: every model, what it prints, and that the next steps take what it wrote.

mod common;

use common::{Sandbox, shape};
use serde_json::Value;

/// A log in which documents move, of users who look to different depths.
fn with_counts() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    for (name, seed) in [("earlier", 1), ("later", 2)] {
        let draw = format!("simulate data --sessions 4000 --etas 2,1,0.3 --swap 0.3 --shuffle 0.3 --seed {seed}");
        sandbox.run(&format!("{draw} -o {name}.parquet"));
        sandbox.run(&format!("count {name}.parquet --transitions -o {name}"));
    }
    sandbox
}

#[test]
fn every_model_gives_what_the_next_steps_take() {
    let sandbox = with_counts();
    let models =
        ["pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm", "trust", "additive"].map(|model| format!("--model {model}"));
    let others = [
        "--model pbm --per-user",
        "--model ubm --clusters 2",
        "--model pbm,dbn",
        "--model dbn --data data",
        "--model dcm --prior laplace --iterations 20",
    ];
    for options in models.iter().map(String::as_str).chain(others) {
        let found = sandbox.json(&format!("click-model earlier {options} --json -o model.json"));
        assert!(found["log_likelihood"].as_f64().unwrap() < 0.0, "{options}: {found}");
        assert!(!found["kinds"].as_array().unwrap().is_empty(), "{options}");
        let relevance = "relevance earlier --click-model model.json -o relevance.parquet";
        if options == "--model cm" {
            // Documents that were clicked only after another click were never examined, says the model.
            assert!(sandbox.fail(relevance).contains("this click model does not fit this log"));
            continue;
        }
        sandbox.run(relevance);
        sandbox.run(
            "relevance earlier --click-model model.json --estimator user-aware --diagnostics -o relevance.parquet",
        );
        let held_out = sandbox.json("predict-clicks later --click-model model.json --json");
        assert_eq!(held_out["sessions"], 4000, "{options}");
        let perplexity = |name: &str| held_out[name].as_f64().unwrap();
        assert!((1.0..2.0).contains(&perplexity("perplexity")), "{options}: {held_out}");
    }
    sandbox.run("train data --relevance relevance.parquet --model linear --steps 10 -o ranker.safetensors");
}

#[test]
fn the_position_based_model_is_found_by_both_ways() {
    let sandbox = with_counts();
    sandbox.run("click-model earlier --model pbm --prior none -o model.json");
    sandbox.run("propensity earlier --prior none --resamples 0 -o propensities.json");
    let read = |name: &str| -> Value { serde_json::from_slice(&sandbox.read(name)).unwrap() };
    let (model, propensities) = (read("model.json"), read("propensities.json"));
    let by_model = model["kinds"][0]["parameters"].as_array().unwrap();
    for (a, b) in by_model.iter().zip(propensities["population"].as_array().unwrap()) {
        let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
        assert!((a - b).abs() < 2e-3, "{a} is not {b}");
    }
}

#[test]
fn examination_and_relevance_are_measured_as_models_are() {
    let sandbox = with_counts();
    sandbox.run("propensity earlier --per-user --resamples 0 -o propensities.json");
    sandbox.run("relevance earlier --propensities propensities.json -o relevance.parquet");
    let predict = "predict-clicks later --propensities propensities.json --relevance relevance.parquet --resamples 9";
    let found = sandbox.json(&format!("{predict} --json"));
    let measure = |name: &str| found["measures"][name].as_f64().unwrap();
    assert_eq!(found["measures"]["sessions"], 4000);
    // Clicks above do not matter, and lists are nearly all of one length.
    assert!((measure("perplexity") - measure("conditional_perplexity")).abs() < 1e-9, "{found}");
    let plain = found["model"]["log_likelihood"]["value"].as_f64().unwrap();
    assert!((measure("log_likelihood") - plain).abs() < 0.02, "{found}");
    assert!(sandbox.run(predict).contains("As PyClick and CLAX define them"));
    sandbox.run("count later.parquet -o plain");
    let without = sandbox.json(&format!("{} --json", predict.replace("later", "plain")));
    assert!(without["measures"].is_null());
}

#[test]
fn outputs_are_tables() {
    let sandbox = with_counts();
    insta::assert_snapshot!("click_model", shape(&sandbox.run("click-model earlier --model ubm -o model.json")));
    insta::assert_snapshot!(
        "click_model_predict",
        shape(&sandbox.run("predict-clicks later --click-model model.json"))
    );
    insta::assert_snapshot!(
        "click_model_mixed",
        shape(&sandbox.run("click-model earlier --model pbm,dbn -o model.json"))
    );
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let sandbox = with_counts();
    for threads in [1, 3] {
        sandbox.run(&format!("click-model earlier --model ubm --per-user --threads {threads} -o model-{threads}.json"));
    }
    assert_eq!(sandbox.read("model-1.json"), sandbox.read("model-3.json"));
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let sandbox = with_counts();
    sandbox.run("count earlier.parquet -o plain");
    sandbox.run("click-model earlier --model dbn -o model.json");
    let cases = [
        ("click-model plain -o m.json", "have no click transitions"),
        ("click-model earlier --model xyz -o m.json", "xyz"),
        ("click-model earlier --model cm --per-user -o m.json", "in cm all browse alike; take pbm, ubm"),
        ("click-model earlier --model trust,pbm -o m.json", "has trust among several kinds of users"),
        ("click-model earlier --model pbm,pbm -o m.json", "twice"),
        ("click-model earlier --per-user --clusters 2 -o m.json", "choose one"),
        ("click-model earlier --relevance linear -o m.json", "name them with --data"),
        (
            "click-model earlier --relevance mlp -o m.json",
            "is mlp:64,32, but there are no features: name them with --data",
        ),
        ("click-model earlier --relevance mlp:0 --data data -o m.json", "hidden size"),
        ("click-model earlier --clusters 0 -o m.json", "--clusters is 0, but should be at least 1"),
        ("relevance plain --click-model model.json -o r.parquet", "count the log with --transitions"),
        ("predict-clicks later --click-model earlier.parquet", "earlier.parquet: "),
        ("predict-clicks later --click-model model.json --resamples 7", "--resamples is for"),
    ];
    for (arguments, part) in cases {
        let line = sandbox.fail(arguments);
        assert!(line.contains(part), "{arguments}: {line}");
    }
}
