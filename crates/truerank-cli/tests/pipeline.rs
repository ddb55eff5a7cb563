//! The way from data to a ranker, step by step, as the help tells it.

mod common;

use common::{Sandbox, shape};
use serde_json::Value;

/// Whole numbers stay; decimals after training may differ in their last digits between processors.
fn hide_decimals(text: &str) -> String {
    let is_decimal = |word: &str| word.contains('.') && word.trim_start_matches(['+', '-']).parse::<f64>().is_ok();
    let hide = |word: &str| if is_decimal(word) { "#".repeat(word.chars().count()) } else { word.to_string() };
    text.split_inclusive([' ', '\n'])
        .map(|piece| {
            let word = piece.trim_end_matches([' ', '\n']);
            hide(word) + &piece[word.len()..]
        })
        .collect()
}

/// Also which step was the best, which follows from the decimals, and the alignment, which follows from both.
fn hide_training(text: &str) -> String {
    let hide = |line: &str| match words(line) {
        line if line.starts_with("best step") => "best step # of #\n".to_string(),
        line => hide_decimals(&line) + "\n",
    };
    text.lines().map(hide).collect()
}

/// The line without its alignment.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn has_keys(value: &Value, keys: &[&str]) {
    let found: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(found, keys);
}

const SIMULATE: &str = "simulate data --sessions 3000 -o clicks.parquet";
const COUNT: &str = "count clicks.parquet -o counts";
const RELEVANCE: &str = "relevance counts --propensities clicks.propensities.json -o relevance.parquet";
const TRAIN: &str = "train data --relevance relevance.parquet --model linear --steps 20 -o ranker.safetensors";

fn up_to_counts() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run(SIMULATE);
    sandbox.run(&format!("{COUNT} --patterns"));
    sandbox
}

#[test]
fn every_step_reads_what_the_one_before_wrote() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("generate", sandbox.run("generate --preset tiny -o data/"));
    insta::assert_snapshot!("simulate", sandbox.run("simulate data/ --sessions 3000 -o clicks.parquet"));
    insta::assert_snapshot!("count", sandbox.run("count clicks.parquet -o counts/"));
    insta::assert_snapshot!("relevance", sandbox.run(RELEVANCE));
    insta::assert_snapshot!("train", hide_training(&sandbox.run(TRAIN)));
    let evaluate = sandbox.run("evaluate data/test.txt --ranker ranker.safetensors");
    insta::assert_snapshot!("evaluate", hide_decimals(&evaluate));
    insta::assert_snapshot!("score", sandbox.run("score data/test.txt --ranker ranker.safetensors -o run.trec"));
    check_run(&String::from_utf8(sandbox.read("run.trec")).unwrap());
}

#[test]
fn a_ranker_explains_itself() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("train data --model linear-raw --steps 20 -o ranker.safetensors");
    let explain = "explain ranker.safetensors --data data/test.txt --top 2";
    let text = sandbox.run(&format!("{explain} -o page.html"));
    assert!(text.ends_with("wrote page.html\n") && text.contains("order changed"), "{text}");
    assert!(sandbox.read("page.html").starts_with(b"<!doctype html>"));
    let found = sandbox.json(&format!("{explain} --json"));
    let keys = ["type", "version", "model", "features", "queries", "documents", "importance", "dependence", "record"];
    has_keys(&found, &keys);
    let keys = ["feature", "order_change", "half_width", "ndcg_loss", "gain", "splits", "weight"];
    has_keys(&found["importance"][0], &keys);
    has_keys(&found["dependence"][0], &["feature", "values", "scores"]);
    let count = |name: &str| found[name].as_array().unwrap().len() as u64;
    assert_eq!((count("importance"), count("dependence")), (found["features"].as_u64().unwrap(), 2));
    let refused = sandbox.fail("explain ranker.safetensors --data data/test.txt --feature-count 9999");
    assert!(refused.contains("ranker.safetensors with data/test.txt: the ranker was trained on"), "{refused}");
    assert!(sandbox.fail(&format!("{explain} -o ranker.safetensors")).contains("name another output"));
}

/// Ranks count from 1 in each query, and scores fall.
fn check_run(run: &str) {
    let lines: Vec<Vec<&str>> = run.lines().map(|line| line.split(' ').collect()).collect();
    assert!(lines.iter().all(|line| line.len() == 6 && line[1] == "Q0" && line[5] == "truerank"));
    for list in lines.chunk_by(|a, b| a[0] == b[0]) {
        let scores: Vec<f32> = list.iter().map(|line| line[4].parse().unwrap()).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b));
        assert!(list.iter().zip(1..).all(|(line, rank)| line[3] == rank.to_string()));
    }
}

#[test]
fn progress_goes_to_standard_error_as_lines() {
    let sandbox = Sandbox::with_tiny_data();
    let output = sandbox.output(SIMULATE);
    insta::assert_snapshot!("progress", String::from_utf8(output.stderr).unwrap());
}

#[test]
fn a_program_can_read_every_summary() {
    let sandbox = Sandbox::with_tiny_data();
    let simulated = sandbox.json(&format!("{SIMULATE} --json"));
    let keys = ["sessions", "impressions", "clicks", "click_rate", "examination", "output", "propensities"];
    has_keys(&simulated, &keys);
    let counted = sandbox.json(&format!("{COUNT} --json --patterns --transitions"));
    let mut keys = vec!["impressions", "clicks", "sessions", "queries", "documents", "users", "cells", "patterns"];
    keys.extend(["lists", "transitions"]);
    keys.extend(["rows_left_out", "rows_left_out_by_kind", "remarks"]);
    has_keys(&counted, &keys);
    assert_eq!(["sessions", "impressions", "clicks"].map(|key| simulated[key] == counted[key]), [true; 3]);
    let weights = sandbox.json(&format!("{RELEVANCE} --json"));
    let keys = ["estimator", "beta", "documents", "mean_weight", "largest_weight", "mean_standard_error", "correction"];
    has_keys(&weights[0], &keys);
    let trained = sandbox.json(&format!("{TRAIN} --json"));
    has_keys(
        &trained,
        &["model", "features", "scaling", "record", "unmatched_queries", "unmatched_documents", "output"],
    );
    let evaluate = "evaluate data/test.txt --ranker ranker.safetensors --json --per-query --measure MAP";
    let evaluated = sandbox.json(evaluate);
    let keys =
        ["type", "version", "ranker", "against", "queries", "documents", "empty_queries", "measures", "query_ids"];
    has_keys(&evaluated, &keys);
    has_keys(&evaluated["measures"][0], &["measure", "mean", "per_query"]);
    let values = evaluated["measures"][0]["per_query"].as_array().unwrap();
    let text = String::from_utf8(sandbox.read("data/test.txt")).unwrap();
    let mut ids: Vec<&str> =
        text.lines().filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix("qid:"))).collect();
    ids.dedup();
    assert_eq!((evaluated["query_ids"] == serde_json::json!(ids), ids.len()), (true, values.len()));
    let mean = values.iter().map(|value| value.as_f64().unwrap()).sum::<f64>() / values.len() as f64;
    assert!((mean - evaluated["measures"][0]["mean"].as_f64().unwrap()).abs() < 1e-12);
}

const METHODS: [&str; 9] = [
    "production",
    "ideal",
    "naive",
    "ips-pbm",
    "prs",
    "prs-by-score",
    "straightforward",
    "user-aware",
    "user-aware-smoothed",
];

#[test]
fn the_demo_compares_all_methods() {
    let demo = "demo --preset tiny --model linear --sessions 2000 --examination true";
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("demo", shape(&sandbox.run_wide(demo)));
    assert!(sandbox.read("report.html").starts_with(b"<!doctype html>"));
    let report = sandbox.json(&format!("{demo} --json -o page.html"));
    assert_eq!(sandbox.read("page.html"), sandbox.read("report.html"));
    has_keys(&report, &REPORT_KEYS);
    assert_eq!(column(&report["tables"]["rq1"], "method"), METHODS);
}

const REPORT_KEYS: [&str; 6] = ["type", "version", "facts", "missing_runs", "claims", "tables"];

fn column<'a>(table: &'a serde_json::Value, name: &str) -> Vec<&'a str> {
    table.as_array().unwrap().iter().map(|row| row[name].as_str().unwrap()).collect()
}

#[test]
fn the_demo_estimates_examination() {
    let demo = "demo --preset tiny --model linear --sessions 20000";
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("demo_estimate", shape(&sandbox.run_wide(demo)));
    let report = sandbox.json(&format!("{demo} --examination linear --json"));
    has_keys(&report, &REPORT_KEYS);
    let methods = column(&report["tables"]["rq4"], "method");
    assert!(methods.contains(&"cpbm") && methods.len() == METHODS.len());
    for source in report["tables"]["rq4-sources"].as_array().unwrap() {
        assert!(source["error, population"].as_f64().is_none_or(|error| error < 0.5), "{source}");
    }
}

#[test]
fn all_estimators_go_into_one_folder() {
    let sandbox = up_to_counts();
    let all = "relevance counts --propensities clicks.propensities.json --estimator all -o weights";
    insta::assert_snapshot!("relevance_all", sandbox.run(all));
    let mut names: Vec<_> = std::fs::read_dir(sandbox.path("weights"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut expected: Vec<_> =
        truerank::relevance::EstimatorKind::names().iter().map(|name| format!("{name}.parquet")).collect();
    expected.sort();
    assert_eq!(names, expected);
    sandbox.run("relevance counts --propensities clicks.propensities.json --estimator naive -o naive.parquet");
    assert!(sandbox.read("naive.parquet") == sandbox.read("weights/naive.parquet"));
    sandbox.run(all);
}

#[test]
fn rankers_learn_from_pairs_and_from_grades_and_meet() {
    let sandbox = up_to_counts();
    let pairs = "train data --pairs counts --propensities clicks.propensities.json --model linear --steps 10 -o prs.st";
    insta::assert_snapshot!("train_pairs", hide_training(&sandbox.run(pairs)));
    let by_score = sandbox.run(&pairs.replace("prs.st", "by-score.st --pair-weights prs-by-score"));
    insta::assert_snapshot!("train_pairs_by_score", hide_training(&by_score));
    insta::assert_snapshot!("train_svm", hide_training(&sandbox.run("train data --model svm-rank -o svm.st")));
    sandbox.run("train data --model mlp:8 --steps 5 --optimizer adam -o grades.st");
    let against = sandbox.run("evaluate data/test.txt --ranker svm.st --against prs.st");
    insta::assert_snapshot!("evaluate_against", shape_of_comparison(&against));
    let same = sandbox.json("evaluate data/test.txt --ranker svm.st --against svm.st --json");
    has_keys(&same["measures"][0], &["measure", "mean", "against_mean", "difference", "t", "p"]);
    assert_eq!(same["measures"][0]["difference"], 0.0);
    let same = sandbox.run("evaluate data/test.txt --ranker svm.st --against svm.st");
    insta::assert_snapshot!("evaluate_against_itself", hide_decimals(&same));
}

/// Without alignment and rules, which follow from how sure the comparison is.
fn shape_of_comparison(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains('─'));
    lines.map(|line| one_mark(&hide_decimals(&words(&line.replace("< ", "")))) + "\n").collect()
}

/// However long the decimals were.
fn one_mark(line: &str) -> String {
    let mark = |word: &str| if word.starts_with('#') { "#".to_string() } else { word.to_string() };
    line.split(' ').map(mark).collect::<Vec<_>>().join(" ")
}

#[test]
fn counts_can_be_drawn_without_a_log() {
    let sandbox = Sandbox::with_tiny_data();
    insta::assert_snapshot!("simulate_cells", sandbox.run("simulate data --sessions 1000000000 --cells -o counts"));
    sandbox.run("relevance counts --propensities counts.propensities.json -o relevance.parquet");
}

#[test]
fn other_column_names_and_several_files_are_counted_together() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "session,who,query,doc,rank,click\n1,u,q,d,1,1\n");
    sandbox.write("b.tsv", "session\twho\tquery\tdoc\trank\tclick\n2\tu\tq\td\t2\t0\n");
    let counted = sandbox.json("count a.csv b.tsv --column user=who --column position=rank --json -o counts");
    assert_eq!((&counted["sessions"], &counted["cells"], &counted["clicks"]), (&2.into(), &2.into(), &1.into()));
}

#[test]
fn text_survives_the_way_through_parquet() {
    let sandbox = Sandbox::with_tiny_data();
    insta::assert_snapshot!("convert", sandbox.run("convert data/test.txt -o test.parquet"));
    sandbox.run("convert test.parquet -o back.txt");
    assert!(sandbox.read("back.txt") == sandbox.read("data/test.txt"));
    sandbox.run("convert data/test.txt -o test.txt.gz");
    sandbox.run("convert test.txt.gz -o again.txt.zst");
    sandbox.run("convert again.txt.zst -o again.txt");
    assert!(sandbox.read("again.txt") == sandbox.read("data/test.txt"));
}

#[test]
fn shells_get_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(Sandbox::new().run(&format!("completions {shell}")).contains("truerank"));
    }
}
