//! From counts to examination probabilities: every method, what it prints, and that the next step takes what it wrote.

mod common;

use common::Sandbox;
use serde_json::Value;

/// Logs in which documents keep their places and in which they move, with three users.
fn with_counts() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 3000 --etas 2,1,0.3 -o fixed.parquet");
    sandbox.run("count fixed.parquet -o fixed");
    sandbox.run("simulate data --sessions 4000 --etas 2,1,0.3 --swap 0.3 --shuffle 0.3 -o moving.parquet");
    sandbox.run("count moving.parquet -o moving");
    sandbox
}

/// Each method, with what it writes its name as and whether it gives users.
const METHODS: [(&str, &str, bool); 17] = [
    ("fixed --data data --resamples 5", "em, relevance by linear", false),
    (
        "fixed --data data --per-user --resamples 5",
        "personalized em, shrunk toward clusters, relevance by linear",
        true,
    ),
    (
        "fixed --data data --per-user --shrink none --prior none --resamples 5",
        "personalized em, relevance by linear, without a prior",
        true,
    ),
    ("moving --prior none --resamples 5", "em, relevance by table, without a prior", false),
    ("fixed --data data --per-user --shrink none --resamples 0", "personalized em, relevance by linear", true),
    (
        "fixed --data data/train.txt --per-user --shrink population --resamples 0",
        "personalized em, shrunk toward the population, relevance by linear",
        true,
    ),
    (
        "fixed --data data --per-user --shrink clusters --clusters 2 --resamples 0",
        "personalized em, shrunk toward clusters, relevance by linear",
        true,
    ),
    (
        "fixed --data data --per-user --grouping k-means --resamples 0",
        "personalized em, shrunk toward clusters, relevance by linear",
        true,
    ),
    ("fixed --data data --relevance mlp:8 --resamples 2", "em, relevance by mlp:8", false),
    ("moving --resamples 0", "em, relevance by table", false),
    ("moving --method swap", "swap", false),
    ("moving --method swap --per-user", "swap", true),
    ("moving --method harvesting --per-user --resamples 5", "harvesting", true),
    ("moving --method cpbm --iterations 50", "cpbm", true),
    ("moving --method cpbm --user-features users.tsv --iterations 50", "cpbm", true),
    ("fixed --data data --method user-pbm --per-user --iterations 3", "user-pbm", true),
    ("fixed --data data --method dla --ranker dla.st --per-user --iterations 30", "dla", true),
];

#[test]
fn every_method_gives_what_the_next_step_takes() {
    let sandbox = with_counts();
    sandbox.write("users.tsv", "user\tdepth\tage\n1\t0\t31\n2\t0.5\t52\n3\t1\t28\n");
    for (arguments, method, per_user) in METHODS {
        let text = sandbox.run(&format!("propensity {arguments} -o estimated.json"));
        assert!(text.contains(method) && text.ends_with("wrote estimated.json\n"), "{arguments}: {text}");
        let file: Value = serde_json::from_slice(&sandbox.read("estimated.json")).unwrap();
        assert_eq!((&file["type"], &file["version"]), (&"truerank/propensities".into(), &1.into()));
        assert_eq!(file["method"], method, "{arguments}");
        assert_eq!(file["users"].as_array().unwrap().len(), if per_user { 3 } else { 0 }, "{arguments}");
        let population: Vec<f64> = serde_json::from_value(file["population"].clone()).unwrap();
        assert_eq!(population.iter().copied().fold(0.0, f64::max), 1.0, "{arguments}");
        let counts = arguments.split(' ').next().unwrap();
        sandbox.run(&format!("relevance {counts} --propensities estimated.json --estimator all -o weights"));
    }
    sandbox.run("evaluate data/test.txt --ranker dla.st");
}

/// Decimals, shares and iterations are hidden, and the alignment with them: last digits may differ between processors.
fn shape(text: &str) -> String {
    let of_line = |line: &str| match line.trim_start() {
        line if line.starts_with("converged after") => "converged after # iterations; #".to_string(),
        line if line.starts_with('─') => "─".to_string(),
        line => line.split_whitespace().map(hide).collect::<Vec<_>>().join(" "),
    };
    text.lines().map(|line| of_line(line) + "\n").collect()
}

fn hide(word: &str) -> &str {
    if word.contains('.') && word.trim_start_matches('(').parse::<f64>().is_ok() { "#" } else { word }
}

#[test]
fn the_report() {
    let sandbox = with_counts();
    let against = |arguments: &str, truth: &str| {
        shape(&sandbox.run(&format!("propensity {arguments} --against {truth}.propensities.json -o p.json")))
    };
    insta::assert_snapshot!("propensity", against("fixed --data data", "fixed"));
    insta::assert_snapshot!("propensity_users", against("fixed --data data --per-user", "fixed"));
    insta::assert_snapshot!(
        "propensity_clusters",
        against("fixed --data data --per-user --shrink clusters --clusters auto", "fixed")
    );
    insta::assert_snapshot!("propensity_swap", against("moving --method swap --per-user", "moving"));
    let dla = "fixed --data data --method dla --iterations 20 --ranker dla.st";
    insta::assert_snapshot!("propensity_dla", against(dla, "fixed"));
}

const KEYS: [&str; 13] = [
    "method",
    "scale",
    "population",
    "standard_errors",
    "harvesting",
    "users",
    "clusters",
    "iterations",
    "converged",
    "log_likelihood",
    "held_out",
    "notes",
    "against",
];

#[test]
fn a_program_can_read_the_summary() {
    let sandbox = with_counts();
    for (arguments, truth) in [
        ("fixed --data data --per-user --shrink clusters", "fixed"),
        ("moving --method swap", "moving"),
        ("moving --method harvesting --per-user", "moving"),
    ] {
        let summary = sandbox
            .json(&format!("propensity {arguments} --against {truth}.propensities.json --json -o estimated.json"));
        assert_eq!(summary.as_object().unwrap().keys().collect::<Vec<_>>(), KEYS);
        let file: Value = serde_json::from_slice(&sandbox.read("estimated.json")).unwrap();
        assert_eq!(summary["population"], file["population"]);
        assert_eq!(summary["standard_errors"], file["population_evidence"]["standard_errors"]);
        let against: Vec<_> = summary["against"].as_object().unwrap().keys().collect();
        assert_eq!(against, ["population_error", "user_error", "rare_user_error"]);
        let truth: Value = serde_json::from_slice(&sandbox.read(&format!("{truth}.propensities.json"))).unwrap();
        let error = mean_relative_error(&summary["population"], &truth["population"]);
        assert!((summary["against"]["population_error"].as_f64().unwrap() - error).abs() < 1e-12);
    }
    let grouped = sandbox.json("propensity fixed --data data --per-user --shrink clusters --json -o estimated.json");
    let tried: Vec<u64> =
        grouped["held_out"].as_array().unwrap().iter().map(|score| score["clusters"].as_u64().unwrap()).collect();
    // All alike, one cluster, and more while that gains anything; there are three users.
    assert!(tried.starts_with(&[0, 1, 2]) && tried.len() <= 4, "{tried:?}");
    assert_eq!(grouped["against"], Value::Null);
    assert_eq!(grouped["clusters"][0].as_array().unwrap().len(), 10);
}

/// Mean over positions past the first of |found/truth − 1|.
fn mean_relative_error(found: &Value, truth: &Value) -> f64 {
    let pairs = found.as_array().unwrap().iter().zip(truth.as_array().unwrap()).skip(1);
    let errors: Vec<f64> =
        pairs.map(|(found, truth)| (found.as_f64().unwrap() / truth.as_f64().unwrap() - 1.0).abs()).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

#[test]
fn what_it_finds_is_near_the_truth_where_the_log_is_long() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 3000000 --etas 2,1,0.3 --swap 0.5 --cells -o counts");
    for arguments in ["--per-user --resamples 0", "--method swap --per-user", "--method harvesting --per-user"] {
        let against = format!("propensity counts {arguments} --against counts.propensities.json --json -o p.json");
        let errors = &sandbox.json(&against)["against"];
        for error in ["population_error", "user_error"] {
            let error = errors[error].as_f64().unwrap();
            assert!(error < 0.05, "{arguments}: {errors}");
        }
    }
}

#[test]
fn what_cannot_be_compared_is_said_on_standard_error_and_in_the_file() {
    let sandbox = Sandbox::new();
    sandbox.write("clicks.csv", two_worlds());
    sandbox.run("count clicks.csv -o counts");
    let output = sandbox.output("propensity counts --resamples 0 -o p.json");
    assert!(output.status.success());
    let stderr = String::from_utf8(output.stderr).unwrap();
    let note = "the clicks fall into 2 pieces that nothing compares, each with a scale of its own";
    assert!(stderr.contains(&format!("warning: {note}")), "{stderr}");
    let file: Value = serde_json::from_slice(&sandbox.read("p.json")).unwrap();
    assert!(file["notes"][0].as_str().unwrap().starts_with(note));
    let line = sandbox.fail("propensity counts --resamples 0 --strict -o p.json");
    assert!(line.starts_with("error: counts: examination is not identifiable from this log: "), "{line}");
    assert!(line.contains(note), "{line}");
}

/// Documents `a`, `b` change places between positions 1 and 2, and `c`, `d` between 3 and 4.
fn two_worlds() -> String {
    let mut log = "session,user,query,doc,position,click\n".to_string();
    for session in 0..40 {
        let order = if session % 2 == 0 { ["a", "b", "c", "d"] } else { ["b", "a", "d", "c"] };
        for (index, doc) in order.iter().enumerate() {
            let click = u8::from((session / 2 + index) % (index + 2) == 0);
            log += &format!("{session},u,q,{doc},{},{click}\n", index + 1);
        }
    }
    log
}
