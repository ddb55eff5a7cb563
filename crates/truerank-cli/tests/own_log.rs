//! A log of one's own: `doctor` and `fit`, with features beside it, inside it, or none; and dumps of OpenSearch.

mod common;

use common::{Sandbox, shape};

/// Users who differ in queries and depth, on the `tiny` data.
fn with_log() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 20000 -o clicks.csv");
    sandbox
}

const QUICK: &str = "--model linear --steps 15";

#[test]
fn doctor_tells_users_apart_and_recommends() {
    let sandbox = with_log();
    let found = sandbox.json("doctor clicks.csv --data data --json");
    assert_eq!((&found["fit"], &found["personalized_bias"]), (&true.into(), &"yes".into()));
    let diagnosis = &found["diagnosis"];
    assert_eq!(diagnosis["recommendation"]["estimator"], "user-aware-smoothed");
    assert!(diagnosis["dependence"]["p"].as_f64().unwrap() < 0.01);
    assert!(diagnosis["differences"]["level"]["p"].as_f64().unwrap() < 0.01);
    assert!(diagnosis["differences"]["depth"]["p"].as_f64().unwrap() < 0.01);
    advice_agrees_with_its_table(diagnosis);
    // Users differ, and each follows the position-based model.
    assert_ne!(diagnosis["click_models"]["models"][0]["log_likelihood"], serde_json::Value::Null);
    assert!(found["click_model"].is_null() || found["click_model"] == "pbm", "{}", found["click_model"]);
    assert_eq!(diagnosis["pages"]["pages"], 20_000);
    insta::assert_snapshot!("doctor", shape(&sandbox.run_wide("doctor clicks.csv --data data -o report")));
    let page = String::from_utf8(sandbox.read("report/report.html")).unwrap();
    assert!(page.contains("Is there personalized bias?"));
    sandbox.run("count clicks.csv -o counts");
    let counted = sandbox.json("doctor counts --data data --json");
    assert_eq!(counted["diagnosis"]["differences"], diagnosis["differences"]);
}

/// Nothing in the table is better than what is recommended by more than can be told.
fn advice_agrees_with_its_table(diagnosis: &serde_json::Value) {
    let table = diagnosis["estimators"].as_array().unwrap();
    let advised = &diagnosis["recommendation"];
    let is_advised = |row: &&serde_json::Value| {
        (&row["estimator"], &row["shrunk"]) == (&advised["estimator"], &advised["is_default"])
    };
    let row = table.iter().find(is_advised).unwrap();
    let number = |name: &str| row[name].as_f64().unwrap();
    assert!(number("behind") <= (2.0 * number("standard_error")).max(0.001), "{row}");
    let printed = format!("{:.4}", number("ndcg"));
    assert!(advised["why"].as_str().unwrap().contains(printed.trim_start_matches('0')), "{advised}");
}

#[test]
fn doctor_ends_with_1_where_that_is_open() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 150 -o clicks.csv");
    let output = sandbox.output("doctor clicks.csv --data data --quiet");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Whether the log is fit to learn from is open."), "{text}");
    assert!(text.contains("sessions, for an answer"), "{text}");
    let found: serde_json::Value =
        serde_json::from_slice(&sandbox.output("doctor clicks.csv --data data --json --quiet").stdout).unwrap();
    assert_eq!(found["fit"], serde_json::Value::Null);
}

#[test]
fn doctor_ends_with_1_where_a_log_is_not_fit() {
    let sandbox = with_log();
    let output = sandbox.output("doctor clicks.csv --quiet");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("The log is not fit to learn from as it is."), "{text}");
    assert!(text.contains("Problem: No two positions can be compared"), "{text}");
    assert!(text.contains("pass features of the"), "{text}");
    let line = sandbox.fail("fit clicks.csv -o out");
    assert!(line.contains("not fit to learn from: No two positions can be compared"), "{line}");
}

#[test]
fn fit_goes_all_the_way_and_keeps_everything() {
    let sandbox = with_log();
    let text = sandbox.run_wide(&format!("fit clicks.csv --data data {QUICK} -o out"));
    insta::assert_snapshot!("fit", shape(&text));
    for file in [
        "counts/cells.parquet",
        "held-out/cells.parquet",
        "propensities.json",
        "relevance.parquet",
        "ranker.safetensors",
        "fit.json",
        "report.html",
        "figures/examination.svg",
        "tables/judged-by-clicks.csv",
        "tables/feature-importance.csv",
        "figures/feature-importance.svg",
    ] {
        assert!(!sandbox.read(&format!("out/{file}")).is_empty(), "{file}");
    }
    // What was kept is what the steps one by one read.
    sandbox.run("relevance out/counts --propensities out/propensities.json --data data -o again.parquet");
    assert!(sandbox.read("again.parquet") == sandbox.read("out/relevance.parquet"));
    sandbox.run("evaluate data/test.txt --ranker out/ranker.safetensors");
    let same = with_log();
    same.run(&format!("fit clicks.csv --data data {QUICK} -o out --threads 1"));
    for (name, content) in same.files() {
        assert!(sandbox.files()[&name] == content, "{} differs with one thread", name.display());
    }
}

#[test]
fn fit_takes_a_click_model_and_keeps_it() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 6000 --shuffle 0.3 -o clicks.csv");
    let found = sandbox.json("fit clicks.csv --click-model ubm -o out --json");
    assert_eq!((&found["click_model"]["asked"], &found["click_model"]["used"]), (&"ubm".into(), &"ubm".into()));
    assert!(found["diagnosis"]["click_models"].is_null(), "nothing is compared where one is asked for");
    sandbox.run("relevance out/counts --click-model out/click-model.json -o again.parquet");
    assert!(sandbox.read("again.parquet") == sandbox.read("out/relevance.parquet"));
    // Without a click model nothing of it is left.
    let plain = sandbox.json("fit clicks.csv --click-model none -o out --json");
    assert_eq!(plain["click_model"]["used"], "none");
    let is_there = |name: &str| sandbox.path(&format!("out/{name}")).exists();
    assert!(!is_there("click-model.json") && !is_there("counts/transitions.parquet"));
    let line = sandbox.fail("fit clicks.csv --propensities out/propensities.json --click-model ubm -o other");
    assert!(line.contains("--click-model is ubm, but --propensities are given"), "{line}");
}

#[test]
fn position_based_logs_are_fitted_by_position() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 6000 --shuffle 0.3 -o clicks.csv");
    let auto = sandbox.json("fit clicks.csv --click-model auto -o auto --json");
    sandbox.run("fit clicks.csv -o none");
    assert_eq!((&auto["click_model"]["asked"], &auto["click_model"]["used"]), (&"auto".into(), &"none".into()));
    assert_eq!(auto["diagnosis"]["click_models"]["models"].as_array().unwrap().len(), 7);
    for file in ["counts/cells.parquet", "counts/meta.json", "propensities.json", "relevance.parquet"] {
        assert!(sandbox.read(&format!("auto/{file}")) == sandbox.read(&format!("none/{file}")), "{file}");
    }
    assert!(!sandbox.path("auto/counts/transitions.parquet").exists());
    // Two documents at one position are no obstacle: the position-based way takes them.
    let shared = "session,user,query,doc,position,click\n";
    let rows = (0..400).flat_map(|s| {
        (0..4).map(move |d| {
            let position = if d == 3 { 3 } else { 1 + (d + s) % 3 };
            format!("{s},u{},q{},d{d},{position},{}\n", s % 5, s % 7, usize::from((s + d) % 3 == 0))
        })
    });
    sandbox.write("grid.csv", &(shared.to_string() + &rows.collect::<String>()));
    let found = sandbox.json("fit grid.csv --click-model auto -o grid --json");
    assert_eq!(found["click_model"]["used"], "none");
}

#[test]
fn fit_without_features_has_no_ranker_but_all_else() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 20000 --shuffle 0.3 -o clicks.csv");
    let found = sandbox.json("fit clicks.csv -o out --json");
    assert!(found["training"].is_null() && found["judged_by_clicks"].is_null());
    // Pages are held out, so that nearly all queries are known.
    let [shared, held_out] = [&found["shared_queries"], &found["held_out"]["queries"]].map(|n| n.as_u64().unwrap());
    assert!(found["split"] == "pages" && 10 * shared > 9 * held_out, "{shared} of {held_out}");
    assert!(found["predicted_clicks"]["model"]["perplexity"]["value"].as_f64().unwrap() > 1.0);
    assert!(!sandbox.path("out/ranker.safetensors").exists());
    sandbox.run("export out/relevance.parquet --to csv -o labels.csv");
    let labels = String::from_utf8(sandbox.read("labels.csv")).unwrap();
    assert!(labels.starts_with("query,doc,label,weight,impressions,clicks\n"), "{labels}");
    let documents = found["relevance"]["documents"].as_u64().unwrap() as usize;
    assert_eq!(labels.lines().count(), 1 + documents);
}

#[test]
fn fit_tries_all_forms_and_says_which_was_best() {
    let sandbox = with_log();
    let found = sandbox.json("fit clicks.csv --data data/train.txt --steps 20 -o out --json");
    let tried = found["training"]["tried"].as_array().unwrap();
    let models: Vec<&str> = tried.iter().map(|tried| tried["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["linear", "linear-raw", "mlp:32", "trees"]);
    let chosen = tried.iter().find(|tried| tried["model"] == found["training"]["model"]).unwrap();
    assert_eq!(chosen["steps"], found["training"]["record"]["steps"]);
    // No other is better by more than two standard errors.
    let others = || tried.iter().map(|tried| &tried["above_chosen"]).filter(|above| !above.is_null());
    let number = |above: &serde_json::Value, name: &str| above[name].as_f64().unwrap();
    assert_eq!(others().count(), 3);
    assert!(others().all(|above| number(above, "mean") <= 2.0 * number(above, "standard_error")), "{tried:?}");
    let features = found["training"]["features"].as_u64().unwrap();
    assert_eq!(found["training"]["importance"].as_array().unwrap().len() as u64, features);
    let page = String::from_utf8(sandbox.read("out/report.html")).unwrap();
    assert!(page.contains("What the ranker has learned") && page.contains("Partial dependence of scores on feature"));
}

/// A log with its own names, a time, a feature that orders documents as they are relevant, and a grade.
fn with_columns() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut text = "who\tserp\tsearch\tresult\trank\tclicked\tscore\tsaved\twhen\n".to_string();
    for session in 0..600 {
        let query = session % 40;
        for place in 0..5 {
            let doc = (session / 40 + place) % 5;
            let relevant = doc * 7 % 5;
            let clicked = (session * 31 + place * 17) % 10 < (2 * relevant) / (1 + place);
            let day = 1 + session / 30;
            text += &format!(
                "u{}\t{session}\tquery {query}\td{doc}\t{}\t{}\t{relevant}.5\t{}\t2024-03-{day:02}\n",
                session % 7,
                place + 1,
                u8::from(clicked),
                u8::from(relevant > 2)
            );
        }
    }
    sandbox.write("log.tsv", text);
    sandbox
}

const NAMES: &str = "--column user=who --column query=search --column doc=result --column time=when";

#[test]
fn columns_of_the_log_are_features_and_grades() {
    let sandbox = with_columns();
    let fit = format!("fit log.tsv {NAMES} --feature score --grade saved --max-grade 1 -o out --json");
    let found = sandbox.json(&fit);
    assert_eq!(found["training"]["model"], "linear");
    let grades = &found["judged_by_grades"];
    assert!(grades["candidates"]["means"]["nDCG@5"].as_f64().unwrap() > 0.99, "{grades}");
    // Pages rotate five documents; the ranker puts the relevant ones first on each of them.
    let [ranker, shown] = ["ranker", "as_shown"].map(|what| grades["pages"][what]["nDCG@5"]["value"].as_f64().unwrap());
    assert!(ranker > 0.99 && shown < 0.9 && found["verdict"] == "better", "{grades}");
    sandbox.read("out/documents.parquet");
    sandbox.run("score out/documents.parquet --ranker out/ranker.safetensors -o run.parquet");
}

#[test]
fn the_last_days_can_be_held_out() {
    let sandbox = with_columns();
    let found = sandbox.json(&format!("fit log.tsv {NAMES} --feature score --split time --held-out 0.3 -o out --json"));
    assert_eq!(found["split"], "time");
    assert_eq!(found["train"]["sessions"].as_u64().unwrap() + found["held_out"]["sessions"].as_u64().unwrap(), 600);
    assert_eq!((&found["held_out"]["sessions"], &found["shared_queries"]), (&180.into(), &40.into()));
}

#[test]
fn what_cannot_be_asked_of_fit_is_refused() {
    let sandbox = with_columns();
    let refused = |arguments: &str, reason: &str| {
        let line = sandbox.fail(&format!("fit log.tsv {NAMES} {arguments} -o out"));
        assert!(line.contains(reason), "{arguments}: {line}");
    };
    refused("--feature score --held-out 1", "--held-out is 1, but should be between 0 and 1");
    refused("--feature score --model tree", "tree");
    refused("--feature nothing", "nothing");
    refused("--feature score --beta much", "--beta: it is 'much', but should be auto, likelihood or a number from 0");
    refused("--feature score --estimator naive --shrink auto", "are for user-aware or user-aware-smoothed");
    let line = sandbox.fail("fit - --format tsv --feature score -o out");
    assert!(line.contains("standard input can be read once only"), "{line}");
}

#[test]
fn queries_and_events_of_opensearch_are_a_log() {
    let sandbox = Sandbox::new();
    let (mut queries, mut events) = (String::new(), String::new());
    for page in 0..40 {
        queries += &format!(
            "{{\"query_id\":\"q{page}\",\"user_query\":\"red shoes {}\",\"client_id\":\"c{}\",\
             \"query_response_hit_ids\":[\"a\",\"b\",\"c\"]}}\n",
            page % 4,
            page % 5
        );
        events += &format!(
            "{{\"action_name\":\"click\",\"query_id\":\"q{page}\",\"client_id\":\"c{}\",\
             \"event_attributes\":{{\"object\":{{\"object_id\":\"{}\"}},\"position\":{{\"ordinal\":1}}}}}}\n",
            page % 5,
            ["a", "b", "x"][page % 3]
        );
    }
    sandbox.write("queries.ndjson", queries);
    sandbox.write("events.ndjson", events);
    let found = sandbox.json("count --ubi-queries queries.ndjson --ubi-events events.ndjson -o counts --json");
    assert_eq!((&found["impressions"], &found["clicks"], &found["sessions"]), (&120.into(), &27.into(), &40.into()));
    assert!(found["remarks"][0].as_str().unwrap().contains("13 clicks are on documents"), "{}", found["remarks"]);
    let both = sandbox.output("count log.csv --ubi-queries queries.ndjson --ubi-events events.ndjson -o other");
    assert_eq!(both.status.code(), Some(2));
    assert!(String::from_utf8(both.stderr).unwrap().contains("cannot be used with"));
}
