//! Priors and corrections of relevance, and evaluation by clicks alone.

mod common;

use common::Sandbox;

const WEIGH: &str = "relevance counts --propensities clicks.propensities.json --estimator user-aware";
const JUDGE: &str = "evaluate held-out/train.txt --ranker a.st --clicks later --propensities later.propensities.json";

/// A log to learn from in `counts`, and one of other queries and the same users in `later`.
fn with_logs() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    for (from, to) in [("test", "train"), ("vali", "vali"), ("train", "test")] {
        sandbox.write(&format!("held-out/{to}.txt"), sandbox.read(&format!("data/{from}.txt")));
    }
    sandbox.run("simulate data --sessions 3000 -o clicks.parquet");
    sandbox.run("count clicks.parquet -o counts");
    sandbox.run("simulate held-out --sessions 20000 --cells -o later");
    sandbox
}

/// The same with two rankers.
fn with_rankers() -> Sandbox {
    let sandbox = with_logs();
    sandbox.run(&format!("{WEIGH} -o relevance.parquet"));
    sandbox.run("train data --relevance relevance.parquet --model linear --steps 20 -o a.st");
    sandbox.run("train data --model svm-rank -o b.st");
    sandbox
}

/// Numbers that follow from training may differ in their last digits between processors.
fn hide_decimals(text: &str) -> String {
    let is_decimal = |word: &str| {
        let digits = word.trim_start_matches(['+', '-', '−', '<']).trim_end_matches([',', ';', ')']);
        digits.contains('.') && digits.trim_start_matches('(').parse::<f64>().is_ok()
    };
    let words =
        |line: &str| line.split_whitespace().map(|w| if is_decimal(w) { "#" } else { w }).collect::<Vec<_>>().join(" ");
    text.lines().filter(|line| !line.contains('─')).map(|line| words(line) + "\n").collect()
}

#[test]
fn corrected_weights_say_what_was_done_to_them() {
    let sandbox = with_logs();
    let shrunk = sandbox.run(&format!("{WEIGH} --prior mean --shrink auto --clip 0.2 --diagnostics -o r.parquet"));
    insta::assert_snapshot!("relevance_corrected", shrunk);
    let model = format!("{WEIGH} --prior model --data data --shrink 3 --json --diagnostics -o model.parquet");
    let report = &sandbox.json(&model)[0];
    assert_eq!((&report["correction"]["prior"], &report["correction"]["shrink"]), (&"model".into(), &3.0.into()));
    assert_eq!(report["correction"]["unpredicted_documents"], 0);
    assert!(report["diagnostics"]["top_1_percent_share"].as_f64().unwrap() > 0.01);
    assert_eq!(report["diagnostics"]["largest"].as_array().unwrap().len(), 10);
    sandbox.run("train data --relevance model.parquet --model linear --steps 5 -o ranker.st");
}

#[test]
fn corrections_that_change_nothing_or_do_not_fit_are_refused() {
    let sandbox = with_logs();
    let refused = |arguments: &str, reason: &str| {
        let line =
            sandbox.fail(&format!("relevance counts --propensities clicks.propensities.json -o OUT {arguments}"));
        assert!(line.contains(reason), "{arguments}: {line}");
    };
    refused(
        "--estimator user-aware --prior mean",
        "--prior mean changes nothing without --clip or --shrink; add --shrink auto",
    );
    refused(
        "--prior model --shrink auto",
        "--prior model needs the features of the documents, but there are none; add --data",
    );
    refused("--prior mean --shrink auto --data data", "--data is for --prior model");
    refused(
        "--estimator ips-pbm --clip 0.1",
        "--prior, --clip and --shrink are for user-aware or user-aware-smoothed, but --estimator is ips-pbm",
    );
    refused("--estimator all --shrink 2", "are for user-aware or user-aware-smoothed, but --estimator is naive");
    refused("--clip 2", "--clip is 2, but should be above 0 and at most 1");
    refused("--shrink=-1", "should be none, auto or a number from 0");
    refused("--prior guess", "invalid value 'guess' for '--prior <PRIOR>'");
    refused("--prior model --shrink 1 --data held-out", "are they from the same data?");
}

#[test]
fn clicks_judge_beside_grades_and_without_them() {
    let sandbox = with_rankers();
    let both = sandbox.run(&format!("{JUDGE} --against b.st --measure nDCG@5 --clip 0.05"));
    insta::assert_snapshot!("evaluate_clicks", hide_decimals(&both));
    let text = String::from_utf8(sandbox.read("held-out/train.txt")).unwrap();
    let bare: String = text.lines().map(|line| format!("0{}\n", &line[1..])).collect();
    sandbox.write("bare.txt", bare);
    let alone = sandbox.run(&JUDGE.replace("held-out/train.txt", "bare.txt"));
    insta::assert_snapshot!("evaluate_clicks_alone", hide_decimals(&alone));
    let found = sandbox.json(&format!("{JUDGE} --against a.st --self-normalised --json --train-counts counts"));
    assert_eq!(found["clicks"]["shared_queries"], 0);
    for measure in found["clicks"]["measures"].as_array().unwrap() {
        assert_eq!((&measure["difference"]["value"], &measure["p"]), (&0.0.into(), &1.0.into()), "{measure}");
        assert!(measure["low"].as_f64() < measure["value"].as_f64(), "{measure}");
    }
}

#[test]
fn a_ranker_is_not_judged_by_what_it_learned_from() {
    let sandbox = with_rankers();
    let judge = "evaluate data/train.txt --ranker a.st --clicks counts --propensities clicks.propensities.json";
    let line = sandbox.fail(&format!("{judge} --train-counts counts"));
    assert!(line.starts_with("error: counts with counts: ") && line.contains("'1', '2', "), "{line}");
    let allowed = sandbox.run(&format!("{judge} --train-counts counts --allow-shared-queries"));
    assert!(allowed.contains("queries are also in the training counts"), "{allowed}");
    let line = sandbox.fail(&format!("{judge} --estimator naive --clip 0.1"));
    assert!(line.contains("--clip is for user-aware or user-aware-smoothed"), "{line}");
}

#[test]
fn later_clicks_are_predicted() {
    let sandbox = with_logs();
    sandbox.run("simulate data --sessions 50000 --cells --seed 2 -o second");
    sandbox.run("simulate data --sessions 50000 --cells --seed 1 -o first");
    let weigh = "relevance first --propensities first.propensities.json --prior mean --shrink auto -o r.parquet";
    sandbox.run(weigh);
    let predict = "predict-clicks second --propensities second.propensities.json --relevance r.parquet";
    insta::assert_snapshot!("predict_clicks", sandbox.run(&format!("{predict} --train-counts first --resamples 100")));
    let found = sandbox.json(&format!("{predict} --json --resamples 100"));
    assert!(found["gain"]["low"].as_f64().unwrap() > 0.0, "{found}");
    assert_eq!(found["positions"].as_array().unwrap().len(), 10);
}
