//! Results are the same bytes however little memory there is, and what does not fit is said clearly.

mod common;

use common::Sandbox;

/// Counts that take more than 1 MiB in every use of them.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    let users = "--users 5 --users-per-cluster 12 --user-noise 0.1";
    sandbox.run(&format!("simulate data --sessions 5000 {users} --shuffle 0.3 -o clicks.parquet"));
    sandbox.run("count clicks.parquet -o counts");
    let cells = sandbox.json("count clicks.parquet -o counts --json")["cells"].as_u64().unwrap();
    assert!(cells * 40 > 1 << 20, "{cells}");
    sandbox
}

/// What a step prints and the files it writes, with plenty of memory and with little, on one thread and on two.
fn check(sandbox: &Sandbox, step: &str, written: &[&str]) {
    let run = |rest: &str| {
        let printed = sandbox.output(&format!("{step} {rest} --quiet"));
        assert!(printed.status.code() != Some(2), "{step}: {}", String::from_utf8_lossy(&printed.stderr));
        let files: Vec<Vec<u8>> = written.iter().map(|name| sandbox.read(name)).collect();
        (printed.stdout, files)
    };
    let plenty = run("--memory 4GiB --threads 2");
    for rest in ["--memory 1MiB --threads 1", "--memory 1MiB --threads 2 --temporary ."] {
        assert!(run(rest) == plenty, "{step} {rest}");
    }
    assert!(!sandbox.files().keys().any(|name| name.to_string_lossy().starts_with(".tmp")));
}

const WEIGHTS: [&str; 5] = [
    "w/naive.parquet",
    "w/ips-pbm.parquet",
    "w/straightforward.parquet",
    "w/user-aware.parquet",
    "w/user-aware-smoothed.parquet",
];

#[test]
fn little_memory_leaves_no_trace_in_weights() {
    let sandbox = sandbox();
    let relevance = "relevance counts --propensities clicks.propensities.json";
    check(&sandbox, &format!("{relevance} --estimator all --diagnostics -o w"), &WEIGHTS);
    check(&sandbox, &format!("{relevance} --beta likelihood --prior mean --shrink auto -o r.parquet"), &["r.parquet"]);
    check(&sandbox, &format!("{relevance} --prior model --data data --clip 0.1 -o r.parquet"), &["r.parquet"]);
}

#[test]
fn little_memory_leaves_no_trace_in_propensities() {
    let sandbox = sandbox();
    let truth = "--against clicks.propensities.json";
    let methods = [
        "--data data --resamples 2",
        "--per-user --resamples 2 --iterations 20 --clusters 3",
        "--method swap --per-user --resamples 2",
        "--method harvesting --per-user --resamples 2",
        "--method cpbm --iterations 5 --resamples 2",
        "--method user-pbm --data data --per-user --iterations 2",
    ];
    for options in methods {
        check(&sandbox, &format!("propensity counts {options} {truth} -o p.json"), &["p.json"]);
    }
}

#[test]
fn little_memory_leaves_no_trace_in_a_diagnosis() {
    let sandbox = sandbox();
    // Of the log itself: it is counted within the same bound.
    check(&sandbox, "doctor clicks.parquet --permutations 19 --json -o report", &["report/report.html"]);
}

#[test]
fn little_memory_leaves_no_trace_in_a_fit_and_its_judges() {
    let sandbox = sandbox();
    let parts = ["cells.parquet", "sessions.parquet", "pages.parquet", "meta.json"];
    let parts = ["counts", "held-out"].map(|folder| parts.map(|name| format!("out/{folder}/{name}")));
    let mut files: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
    files.extend(["out/propensities.json", "out/relevance.parquet", "out/fit.json", "out/report.html"]);
    check(&sandbox, "fit clicks.parquet --split page --json -o out", &files);
    // Of counts, and with features; its own counts are read by the commands that judge.
    files.push("out/ranker.safetensors");
    check(&sandbox, "fit counts --data data --model linear --steps 20 --json -o out", &files);
    let theta = "--propensities out/propensities.json";
    let judge = "evaluate data/train.txt --ranker out/ranker.safetensors --clicks counts";
    check(&sandbox, &format!("{judge} {theta} --train-counts out/counts --allow-shared-queries --json"), &[]);
    let predict = "predict-clicks counts --relevance out/relevance.parquet --train-counts out/held-out --json";
    check(&sandbox, &format!("{predict} {theta}"), &[]);
    let message = sandbox.fail("evaluate data/test.txt --ranker out/ranker.safetensors --memory 1MiB");
    assert_eq!(message, "error: --memory is for --clicks, but there are none");
}

#[test]
fn what_does_not_fit_is_said_clearly() {
    let sandbox = sandbox();
    let refused = |arguments: &str, expected: &str| assert_eq!(sandbox.fail(arguments), format!("error: {expected}"));
    let relevance = "relevance counts --propensities clicks.propensities.json -o r.parquet";
    let size = "--memory: 'much' is not a size such as 512MiB, 1.5GiB or 2GB";
    refused(&format!("{relevance} --memory much"), size);
    refused(&format!("{relevance} --memory 10kB"), "--memory: '10kB' is too little; at least 1MiB is needed");
    refused(
        &format!("{relevance} --memory 1MiB --temporary missing"),
        "missing: no such folder for temporary files; create it first",
    );
    let message = sandbox.fail("propensity counts --method dla --data data --memory 1MiB -o p.json");
    let end = "but --memory is 1MiB; raise it, or use a method that reads counts in parts";
    assert!(message.starts_with("error: counts: takes about ") && message.ends_with(end), "{message}");
}
