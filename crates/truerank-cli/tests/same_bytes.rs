//! The same seed gives the same bytes, on any number of threads and for any order of a log's rows.

mod common;

use common::Sandbox;

/// Every step with small sizes; sessions enough for several pieces of work per thread.
const STEPS: [&str; 12] = [
    "generate --preset tiny -o data",
    "generate --preset tiny --format parquet -o parquet",
    "simulate data --sessions 20000 --swap 0.2 -o clicks.parquet",
    "simulate data --sessions 20000 --swap 0.2 -o clicks.csv",
    "simulate data --sessions 20000 --cells -o cells",
    "count clicks.csv --patterns -o counts",
    "relevance counts --propensities clicks.propensities.json --estimator all -o weights",
    "train data --relevance weights/user-aware.parquet --model linear --steps 15 -o linear.safetensors",
    "train data --relevance weights/user-aware.parquet --model mlp:16,8 --steps 12 -o mlp.safetensors",
    "train data --relevance weights/user-aware.parquet --model mlp:16,8 --steps 12 --scaling standard -o scaled.safetensors",
    "score data/test.txt --ranker mlp.safetensors -o run.trec",
    "explain mlp.safetensors --data data/test.txt -o page.html",
];

/// Every way to estimate propensities; standard errors too, as resamples are drawn in parallel.
const ESTIMATES: [&str; 13] = [
    "--data data --resamples 3",
    "--data data --per-user --shrink none --resamples 3",
    "--data data --per-user --shrink population --resamples 3",
    "--data data --per-user --shrink clusters --resamples 3",
    "--data data --per-user --grouping k-means --clusters 3 --resamples 0",
    "--data data --relevance mlp:16,8 --resamples 2",
    "--per-user --relevance table --resamples 3",
    "--method swap --per-user",
    "--method harvesting --per-user",
    "--method cpbm --iterations 40 --resamples 2",
    "--data data --method user-pbm --per-user --iterations 3",
    "--data data --method dla --per-user --iterations 20 --ranker dla.st",
    "--data data --method dla --model mlp:8 --iterations 20 --ranker mlp.st",
];

fn run_with(threads: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    for step in STEPS {
        sandbox.run(&format!("{step} --threads {threads}"));
    }
    estimate_all(&sandbox, threads);
    sandbox
}

/// Writes `0.json`, `1.json`, …
fn estimate_all(sandbox: &Sandbox, threads: usize) {
    for (number, options) in ESTIMATES.iter().enumerate() {
        sandbox.run(&format!("propensity counts {options} --threads {threads} -o {number}.json"));
    }
}

#[test]
fn threads_leave_no_trace() {
    let one = run_with(1).files();
    for threads in [2, 3] {
        let more = run_with(threads).files();
        assert!(one.keys().eq(more.keys()));
        for (name, content) in &one {
            assert!(*content == more[name], "{} differs between 1 and {threads} threads", name.display());
        }
    }
}

#[test]
fn the_order_of_rows_leaves_no_trace_in_propensities() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 3000 --users 5 --swap 0.3 -o clicks.csv");
    let log = String::from_utf8(sandbox.read("clicks.csv")).unwrap();
    let (header, rows) = log.split_once('\n').unwrap();
    sandbox.write("shuffled.csv", format!("{header}\n{}\n", shuffled(rows.lines().collect()).join("\n")));
    let [in_order, in_disorder] = ["clicks.csv", "shuffled.csv"].map(|log| {
        sandbox.run(&format!("count {log} -o counts"));
        estimate_all(&sandbox, 2);
        let names = (0..ESTIMATES.len()).map(|number| format!("{number}.json"));
        names.chain(["dla.st".to_string(), "mlp.st".to_string()]).map(|name| sandbox.read(&name)).collect::<Vec<_>>()
    });
    for (number, (one, other)) in in_order.iter().zip(&in_disorder).enumerate() {
        assert!(one == other, "file {number} of propensity differs between orders of rows");
    }
}

#[test]
fn another_seed_is_another_log() {
    let sandbox = Sandbox::with_tiny_data();
    for seed in [1, 2] {
        sandbox.run(&format!("simulate data --sessions 500 --seed {seed} -o {seed}.csv"));
    }
    assert!(sandbox.read("1.csv") != sandbox.read("2.csv"));
}

#[test]
fn the_order_of_rows_and_files_leaves_no_trace_in_counts() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 3000 -o clicks.csv");
    let log = String::from_utf8(sandbox.read("clicks.csv")).unwrap();
    let (header, rows) = log.split_once('\n').unwrap();
    let rows = shuffled(rows.lines().collect());
    let (some, others) = rows.split_at(rows.len() / 3);
    sandbox.write("shuffled.csv", format!("{header}\n{}\n", rows.join("\n")));
    sandbox.write("some.csv", format!("{header}\n{}\n", some.join("\n")));
    sandbox.write("others.csv", format!("{header}\n{}\n", others.join("\n")));
    let counts_of = |logs: &str| {
        sandbox.run(&format!("count {logs} --patterns --transitions -o counts"));
        let tables = ["cells", "sessions", "patterns", "lists", "transitions", "pages"];
        let names = tables.map(|name| format!("{name}.parquet")).into_iter().chain(["meta.json".to_string()]);
        names.map(|name| sandbox.read(&format!("counts/{name}"))).collect::<Vec<_>>()
    };
    let expected = counts_of("clicks.csv");
    for logs in ["shuffled.csv", "others.csv some.csv"] {
        assert!(counts_of(logs) == expected, "{logs}");
    }
}

/// The rows in an order without pattern: steps by a number that has no divisor in common with how many there are.
fn shuffled(rows: Vec<&str>) -> Vec<&str> {
    let step = [7919, 7907, 7901].into_iter().find(|step| !rows.len().is_multiple_of(*step)).unwrap();
    (0..rows.len()).map(|i| rows[i * step % rows.len()]).collect()
}
