//! The paper's experiments: what they print and keep, how they stop and go on, and what they refuse.

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Sandbox, shape};

/// Every question in seconds.
const SMALL: &str = r#"
seeds = [1, 2, 3]
sessions = 3000
models = ["mlp:8", "linear"]
data.preset = "tiny"
training = { steps = 12, patience = 3 }
rq2.sessions = [200, 200000]
rq3.clusters = [5, 10]
rq4.sources = ["em-standard", "swap", "harvesting", "cpbm", "user-pbm", "dla"]
real = { seeds = [1, 2, 3], sessions = 2000, users = 120, queries = 300, features = 12, labelled = [20, 30] }
"#;

fn with_config() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    sandbox
}

#[test]
fn all_questions_are_answered_and_reported() {
    let sandbox = with_config();
    let text = sandbox.run_wide("experiment all --config small.toml -o results");
    insta::assert_snapshot!("experiment", shape(&text));
    for file in ["report.html", "experiment.toml", "tables/rq1.csv", "tables/claims.tex", "figures/real-users.svg"] {
        assert!(!sandbox.read(&format!("results/{file}")).is_empty(), "{file}");
    }
    let found = sandbox.json("report results --json");
    let claims = found["claims"].as_array().unwrap();
    for question in ["rq1", "rq2", "rq3", "rq4", "real"] {
        let of_question = claims.iter().filter(|claim| claim["question"] == question);
        assert!(of_question.clone().count() > 0, "{question} has no claim");
        for claim in of_question {
            let parts = claim["comparisons"].as_array().unwrap();
            let number = |part: &serde_json::Value, key: &str| part[key].as_f64().unwrap();
            let shown = parts
                .iter()
                .filter(|part| number(part, "p") < 0.05 && number(part, "difference") > number(part, "boundary"));
            assert_eq!(claim["shown"], shown.clone().count(), "{claim}");
            assert_eq!(claim["verdict"] == "yes", shown.count() == parts.len(), "{claim}");
            assert!(["yes", "no", "open"].iter().any(|verdict| claim["verdict"] == *verdict), "{claim}");
            assert_eq!(claim["verdict"] == "open", number(claim, "p") >= 0.05, "{claim}");
        }
    }
    assert_eq!(found["tables"]["rq1"].as_array().unwrap().len(), 9);
    // Each verdict stands on the page once, as a badge of the table of claims.
    let page = String::from_utf8(sandbox.read("results/report.html")).unwrap();
    assert_eq!(page.matches("<span class=\"badge").count(), claims.len());
    assert!(found["tables"]["claims"].is_null());
    let csv = String::from_utf8(sandbox.read("results/tables/claims.csv")).unwrap();
    assert_eq!(csv.lines().count(), claims.len() + 1);
}

#[test]
fn a_killed_experiment_goes_on_and_ends_with_the_same_bytes() {
    let whole = with_config();
    whole.run("experiment all --config small.toml -o results --threads 1");
    let killed = with_config();
    for wanted in [3, 20, 60] {
        let experiment = "experiment all --config small.toml -o results --quiet";
        let mut child = killed.command(experiment).stdout(std::process::Stdio::null()).spawn().unwrap();
        while finished_runs(&killed.path("results/runs")) < wanted && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    killed.run("report results");
    killed.run("experiment all --config small.toml -o results");
    assert_eq!(whole.files().keys().collect::<Vec<_>>(), killed.files().keys().collect::<Vec<_>>());
    for (name, content) in whole.files() {
        assert!(killed.files()[&name] == content, "{} differs", name.display());
    }
}

/// Counts without reading: files come and go while an experiment runs.
fn finished_runs(runs: &Path) -> usize {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_world = |world: PathBuf| entries(&world).filter(|run| run.extension().is_some_and(|e| e == "zst")).count();
    entries(runs).map(of_world).sum()
}

#[test]
fn questions_add_up_and_nothing_runs_twice() {
    let sandbox = with_config();
    sandbox.run("experiment rq1 --config small.toml -o results");
    let before = sandbox.files();
    sandbox.run("experiment rq3 --config small.toml -o results");
    let settings = String::from_utf8(sandbox.read("results/experiment.toml")).unwrap();
    assert!(settings.contains(r#"questions = ["rq1", "rq3"]"#), "{settings}");
    let report = String::from_utf8(sandbox.read("results/report.html")).unwrap();
    assert!(report.contains("RQ1") && report.contains("RQ3"));
    let after = sandbox.files();
    for (name, content) in before.iter().filter(|(name, _)| name.starts_with("results/runs")) {
        assert!(after[name] == *content, "{}", name.display());
    }
    // What is kept with the results is an experiment by itself.
    sandbox.run("experiment --config results/experiment.toml -o again");
    assert!(sandbox.read("again/report.html") == sandbox.read("results/report.html"));
}

#[test]
fn an_unfinished_experiment_has_a_report() {
    let sandbox = with_config();
    sandbox.run("experiment rq1 rq3 --config small.toml -o results");
    std::fs::remove_dir_all(sandbox.path("results/runs/5-clusters-3000-sessions-seed-2")).unwrap();
    sandbox.run("report results -o page");
    let page = String::from_utf8(sandbox.read("page/report.html")).unwrap();
    assert!(page.contains("7 runs are missing"));
    let found = sandbox.json("report results --json");
    assert!(found["tables"]["rq3"].is_null() && found["missing_runs"] == 7);
    // Facts and estimates that are gone come back without a run being made again.
    sandbox.run("experiment rq1 rq3 --config small.toml -o results");
    let whole = sandbox.files();
    std::fs::remove_file(sandbox.path("results/runs/10-clusters-3000-sessions-seed-1/log.json")).unwrap();
    std::fs::remove_file(sandbox.path("results/runs/10-clusters-3000-sessions-seed-1/examination-known.json")).unwrap();
    std::fs::remove_file(sandbox.path("results/runs/10-clusters-3000-sessions-seed-1/examination-known-error.json"))
        .unwrap();
    sandbox.run("experiment rq1 rq3 --config small.toml -o results");
    assert!(sandbox.files() == whole);
}

#[test]
fn own_data_and_logs_are_experiments_too() {
    let sandbox = with_config();
    sandbox.run("generate --preset tiny -o data");
    sandbox.run("simulate data --sessions 3000 --users-per-cluster 20 -o log.csv");
    let text = String::from_utf8(sandbox.read("log.csv")).unwrap();
    sandbox.write("log.csv", text.replacen("user", "client", 1));
    let found = sandbox.json(
        "experiment rq1 real --config small.toml --data data --log log.csv --column user=client -o results --json",
    );
    let rows = |table: &str| found["tables"][table].as_array().unwrap().len();
    // Grades of the training part teach ideal and judge the lists as shown.
    assert_eq!((rows("rq1"), rows("real")), (9, 9));
    let production = &found["tables"]["real"][0];
    assert!(production["method"] == "production" && production["nDCG@5"].as_f64().is_some(), "{production}");
    let page = String::from_utf8(sandbox.read("results/report.html")).unwrap();
    assert!(page.contains("the lists as they were shown, on the"), "the log has no test query");
    assert!(sandbox.path("results/figures/real-users.svg").is_file());
}

#[test]
fn what_no_seed_changes_is_trained_once() {
    let sandbox = with_config();
    let text = sandbox.run("experiment real --config small.toml --model linear-raw -o results");
    assert!(text.contains("Each ranker was trained once.") && !text.contains("interval over"), "{text}");
    let page = String::from_utf8(sandbox.read("results/report.html")).unwrap();
    assert!(page.contains("nDCG@5.</figcaption>"), "a caption without intervals");
    // Production, ideal and five estimators: pairs of clicks are for networks.
    assert_eq!(finished_runs(&sandbox.path("results/runs")), 7);
    let found = sandbox.json("report results --json");
    let claims = found["claims"].as_array().unwrap();
    assert!(claims.iter().all(|claim| claim["p"].is_number()), "one log, no chance of training: {claims:?}");
}

#[test]
fn one_run_says_nothing_about_others() {
    let sandbox = with_config();
    let text = sandbox.run("experiment rq1 --config small.toml --seeds 1 --model linear -o results");
    assert!(text.contains("fewer than 3 seeds were run"), "{text}");
    let found = sandbox.json("report results --json");
    for claim in found["claims"].as_array().unwrap() {
        assert!(claim["verdict"] == "open" && claim["p"].is_null(), "{claim}");
    }
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_is_written() {
    let sandbox = with_config();
    sandbox.write("unknown.toml", "seeds = [1]\n\n[data]\npresett = \"tiny\"\n");
    sandbox.write("empty.toml", "seeds = []\n");
    sandbox.write("clusters.toml", "clusters = 7\n");
    sandbox.write("full/notes.txt", "mine");
    sandbox.write("twice.toml", "seeds = [1, 1]\n");
    sandbox.write("log.csv", "session,user,query,doc,position,click\n1,a,1,1,1,1\n");
    for (arguments, words) in [
        ("experiment rq9 -o r", &["'rq9'", "known are rq1, rq2, rq3, rq4, real, robustness and all"][..]),
        ("experiment rq1 --config unknown.toml -o r", &["unknown.toml:4", "presett"]),
        ("experiment rq1 --config empty.toml -o r", &["seeds", "at least one"]),
        ("experiment rq1 --config clusters.toml -o r", &["5, 10 or 20", "7"]),
        ("experiment rq1 --config twice.toml -o r", &["seeds", "each once, but 1 is there twice"]),
        ("experiment rq1 --preset tiny --max-grade 1 -o r", &["generated grades go to 4"]),
        ("experiment rq1 --preset tiny --model mlp --model mlp:512,256,128 -o r", &["models", "twice"]),
        ("experiment rq1 --preset tiny --model svm-rank -o r", &["svm-rank learns from grades only", "linear-raw"]),
        ("experiment real --data data --log clicks.csv -o r", &["clicks.csv", "no such file"]),
        ("experiment real --data data --log log.csv --column user=client -o r", &["log.csv", "client"]),
        ("experiment rq1 --config missing.toml -o r", &["missing.toml", "no such file"]),
        ("experiment rq1 --preset tiny -o full", &["full", "is not empty", "experiment.toml"]),
        ("experiment rq1 --data nowhere -o r", &["nowhere", "no such file or folder"]),
        ("experiment real --preset tiny --log log.csv -o r", &["real.log", "data.folder"]),
        ("experiment rq1 --preset tiny --sessions 0 -o r", &["--sessions is 0, but should be at least 1"]),
        ("experiment rq1 --preset tiny -o no/such/folder", &["no/such", "no such file or folder"]),
        ("report full", &["full", "experiment.toml"]),
        ("report nowhere", &["nowhere", "experiment.toml"]),
    ] {
        let line = sandbox.fail(arguments);
        words.iter().for_each(|word| assert!(line.contains(word), "{arguments}: {line}"));
    }
}

#[test]
fn results_of_another_experiment_are_not_mixed_in() {
    let sandbox = with_config();
    sandbox.run("experiment rq3 --config small.toml -o results");
    let line = sandbox.fail("experiment rq3 --config small.toml --seeds 4 -o results");
    assert!(line.contains("seeds = [1, 2, 3], but now it is [1, 2, 3, 4]"), "{line}");
    let line = sandbox.fail("experiment rq3 --config small.toml --preset small -o results");
    assert!(line.contains("results: holds results with data.preset = \"tiny\""), "{line}");
    let run = "results/runs/5-clusters-3000-sessions-seed-1/mlp-8-naive.json.zst";
    let good = sandbox.read(run);
    sandbox.write(run, &good[..good.len() / 2]);
    let line = sandbox.fail("report results");
    assert!(line.contains("mlp-8-naive.json.zst") && line.contains("damaged"), "{line}");
    sandbox.write(run, r#"{"type":"truerank/run","version":1,"run":5}"#);
    assert!(sandbox.fail("report results").contains("remove it to run it again"));
    std::fs::remove_file(sandbox.path(run)).unwrap();
    sandbox.run("experiment rq3 --config small.toml -o results");
    assert_eq!(sandbox.read(run), good);
}

/// A grid of 2 × 2 in seconds.
const GRID: &str = r#"
seeds = [1, 2, 3]
models = ["linear"]
data.preset = "tiny"
robustness = { clicked = ["dbn", "mixed"], assumed = ["pbm", "dbn"], production-shares = [0.05], sessions = [1000, 4000] }
"#;

#[test]
fn models_that_clicked_are_crossed_with_models_that_are_assumed() {
    let sandbox = Sandbox::new();
    sandbox.write("grid.toml", GRID);
    let text = sandbox.run_wide("experiment robustness --config grid.toml -o results --threads 1");
    insta::assert_snapshot!("experiment_robustness", shape(&text));
    let found = sandbox.json("report results --json");
    let rows = found["tables"]["robustness"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2, "{rows:?}");
    // dbn is right in one row of the models that clicked; mixed has no right model.
    let claims = found["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 5);
    for claim in claims {
        assert_eq!((&claim["question"], &claim["of_the_paper"]), (&"robustness".into(), &false.into()));
        assert_eq!(claim["comparisons"].as_array().unwrap().len(), 2, "one for each size");
        assert!(claim["claim"].as_str().unwrap().starts_with("where clicks come from dbn"), "{claim}");
    }
    assert!(!sandbox.read("results/figures/robustness-ndcg-1.svg").is_empty());
    // A part that is gone is made again, with the same bytes, on any number of threads.
    let whole = sandbox.files();
    std::fs::remove_dir_all(sandbox.path("results/runs/mixed-10-clusters-1000-sessions-0.05-labelled-seed-2")).unwrap();
    std::fs::remove_dir_all(sandbox.path("results/runs/dbn-10-clusters-4000-sessions-0.05-labelled-seed-1")).unwrap();
    sandbox.run("experiment robustness --config grid.toml -o results --threads 3");
    assert!(sandbox.files() == whole);
}

#[test]
fn grids_that_cannot_be_run_are_refused() {
    let sandbox = Sandbox::new();
    let refused = |line: &str| {
        sandbox.write("grid.toml", format!("data.preset = \"tiny\"\n[robustness]\n{line}\n"));
        sandbox.fail("experiment robustness --config grid.toml -o results")
    };
    assert!(refused("assumed = [\"cm\"]").contains("robustness.assumed should tell users apart, but in cm all browse"));
    assert!(refused("clicked = [\"xyz\"]").contains("'xyz' is not a click model, or mixed; known are pbm, ubm"));
    assert!(refused("production-shares = [2.0]").contains("should be from 0.000001 to 1, but one is 2"));
    assert!(refused("sessions = [0]").contains("robustness.sessions should be at least 1, but is 0"));
    assert!(!sandbox.path("results").exists());
}
