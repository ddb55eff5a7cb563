//! Every command that writes is ended at every step of writing, as by a kill: what it leaves is the old result or the new one,
//! and the next run removes the rest.
//!
//! `TRUERANK_FORCE=all` ends commands at all steps, and not at some of them, and kills them at random times as well.

#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::Sandbox;

/// Steps of each command that are tried, spread over all of them, where not all are asked for.
const SOME: u64 = 6;

type Files = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// A command, and the results that appear one after the other: each is a file or a folder.
struct Case {
    command: &'static str,
    /// The same with another outcome, which is there before.
    earlier: &'static str,
    results: &'static [&'static str],
    /// What must be refused where the results are of two runs.
    reader: Option<&'static str>,
}

const fn case(command: &'static str, earlier: &'static str, results: &'static [&'static str]) -> Case {
    Case { command, earlier, results, reader: None }
}

const CASES: [Case; 17] = [
    case("generate --preset tiny --seed 2 -o out", "generate --preset tiny --seed 3 -o out", &["out"]),
    Case {
        reader: Some("relevance counts --propensities out.propensities.json -o unwanted"),
        ..case(
            "simulate data --sessions 2000 --seed 2 -o out.parquet",
            "simulate data --sessions 2000 --seed 3 --users 20 -o out.parquet",
            &["out.parquet", "out.propensities.json"],
        )
    },
    case("count clicks.csv --on-bad-row quarantine -o out", "count other.csv --on-bad-row quarantine -o out", &["out"]),
    case("count clicks.csv --patterns --transitions -o out", "count other.csv -o out", &["out"]),
    case(
        "propensity counts --data data --resamples 0 -o out.json",
        "propensity counts --data data --resamples 0 --per-user -o out.json",
        &["out.json"],
    ),
    Case {
        reader: Some("relevance counts --propensities out.json -o unwanted"),
        ..case(
            "propensity counts --data data --method dla --iterations 3 --ranker out.st -o out.json",
            "propensity counts --data data --method dla --iterations 2 --ranker out.st -o out.json",
            &["out.st", "out.json"],
        )
    },
    case(
        "relevance counts --propensities truth.json --estimator naive -o out.parquet",
        "relevance counts --propensities truth.json --estimator ips-pbm -o out.parquet",
        &["out.parquet"],
    ),
    case(
        "relevance counts --propensities truth.json --estimator all -o out",
        "relevance counts-other --propensities truth.json --estimator all -o out",
        &["out"],
    ),
    case("train data --model linear --steps 3 -o out.st", "train data --model linear --steps 2 -o out.st", &["out.st"]),
    case(
        "score data/test.txt --ranker ranker.st -o out.trec",
        "score data/vali.txt --ranker ranker.st -o out.trec",
        &["out.trec"],
    ),
    case("convert data/test.txt -o out.parquet", "convert data/vali.txt -o out.parquet", &["out.parquet"]),
    case("export ranker.st --to onnx -o out.onnx", "export other.st --to onnx -o out.onnx", &["out.onnx"]),
    case(
        "fit clicks.csv --data data --model linear --steps 3 -o out",
        "fit other.csv --data data --model linear --steps 3 -o out",
        &["out"],
    ),
    case(
        "doctor few.csv --permutations 19 -o out",
        "doctor few-other.csv --data data --permutations 19 -o out",
        &["out"],
    ),
    case("merge counts counts-day -o out", "merge counts -o out", &["out"]),
    // Counted in once: where the new folder was there already, the next run refuses its repeated pages.
    case("count day.csv --append out", "count clicks.csv -o out", &["out"]),
    case("drift counts counts-day -o out", "drift counts counts-other -o out", &["out"]),
];

/// Two logs and what comes after them.
fn inputs() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    for (name, few, seed) in [("clicks", "few", 5), ("other", "few-other", 6)] {
        sandbox.run(&format!("simulate data --sessions 500 --shuffle 0.5 --seed {seed} -o {name}.csv"));
        sandbox.write(&format!("{few}.csv"), few_queries(&sandbox.read(&format!("{name}.csv"))));
    }
    std::fs::rename(sandbox.path("clicks.propensities.json"), sandbox.path("truth.json")).unwrap();
    std::fs::remove_file(sandbox.path("other.propensities.json")).unwrap();
    sandbox.run("count clicks.csv -o counts");
    sandbox.run("count other.csv -o counts-other");
    // Sessions of another day have ids of their own: past all of the first day's.
    let day = String::from_utf8(sandbox.read("other.csv")).unwrap();
    let (header, rows) = day.split_once('\n').unwrap();
    let rows: String = rows.lines().map(|row| format!("9000{row}\n")).collect();
    sandbox.write("day.csv", format!("{header}\n{rows}"));
    sandbox.run("count day.csv -o counts-day");
    sandbox.run("train data --model linear --steps 2 -o ranker.st");
    sandbox.run("train data --model linear --steps 1 -o other.st");
    sandbox
}

/// The header and the rows of the first queries: `doctor` takes its time for every document.
fn few_queries(log: &[u8]) -> String {
    let log = String::from_utf8(log.to_vec()).unwrap();
    let is_first = |row: &&str| row.split(',').nth(2).unwrap().parse::<u32>().is_ok_and(|query| query < 12);
    let (header, rows) = log.split_once('\n').unwrap();
    format!("{header}\n{}\n", rows.lines().filter(is_first).collect::<Vec<_>>().join("\n"))
}

fn run(sandbox: &Sandbox, command: &str, end_at: Option<u64>) -> Option<i32> {
    let mut command = sandbox.command(&format!("{command} --quiet --threads 1"));
    if let Some(step) = end_at {
        command.env("TRUERANK_END_AT_STEP", step.to_string());
    }
    command.output().unwrap().status.code()
}

/// The files of one result.
fn of(files: &Files, result: &str) -> Files {
    files
        .iter()
        .filter(|(path, _)| path.starts_with(result))
        .map(|(path, bytes)| (path.clone(), bytes.clone()))
        .collect()
}

/// Puts all files back to what they were.
fn restore(sandbox: &Sandbox, files: &Files) {
    for (path, _) in sandbox.files().iter().rev() {
        let path = sandbox.path(&path.to_string_lossy());
        let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    }
    for (path, bytes) in files {
        let target = sandbox.path(&path.to_string_lossy());
        match bytes {
            Some(bytes) => std::fs::write(target, bytes).unwrap(),
            None => std::fs::create_dir_all(target).unwrap(),
        }
    }
}

fn is_leftover(path: &Path) -> bool {
    path.iter().any(|name| name.to_string_lossy().starts_with(".truerank-"))
}

/// When a run ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Step(u64),
    After(Duration),
}

impl End {
    /// Whether the run was still at work.
    fn ends(self, sandbox: &Sandbox, command: &str) -> bool {
        match self {
            End::Step(step) => run(sandbox, command, Some(step)).is_none(),
            End::After(time) => {
                let mut child = sandbox.command(&format!("{command} --quiet")).stdout(Stdio::null()).spawn().unwrap();
                std::thread::sleep(time);
                child.kill().unwrap();
                child.wait().unwrap().code().is_none()
            }
        }
    }
}

/// Ends the command; whether it was still at work.
fn check(sandbox: &Sandbox, case: &Case, step: End, before: &Files, after: &Files) -> bool {
    restore(sandbox, before);
    if !step.ends(sandbox, case.command) {
        return false;
    }
    let left = sandbox.files();
    let is = |result: &str, whole: &Files| of(&left, result) == of(whole, result);
    for result in case.results {
        assert!(
            is(result, before) || is(result, after),
            "{}: {result} is neither old nor new at {step:?}",
            case.command
        );
    }
    let all = |whole: &Files| case.results.iter().all(|result| is(result, whole));
    if !(all(before) || all(after)) {
        let reader = case.reader.unwrap_or_else(|| panic!("{}: mixed at {step:?}", case.command));
        assert_eq!(run(sandbox, reader, None), Some(2), "{}: mixed results were read at {step:?}", case.command);
    }
    run(sandbox, case.command, None);
    let found = sandbox.files();
    let names: Vec<_> = found.keys().filter(|path| is_leftover(path)).collect();
    assert!(names.is_empty(), "{}: left at {step:?}: {names:?}", case.command);
    assert!(case.results.iter().all(|result| of(&found, result) == of(after, result)), "{}: {step:?}", case.command);
    true
}

#[test]
fn a_run_that_is_killed_leaves_the_old_result_or_the_new_one() {
    let all = std::env::var("TRUERANK_FORCE").is_ok_and(|force| force == "all");
    let sandbox = inputs();
    let inputs = sandbox.files();
    let mut kills: u64 = 0;
    for case in &CASES {
        println!("{}: {kills} runs ended so far", case.command);
        restore(&sandbox, &inputs);
        run(&sandbox, case.earlier, None);
        let before = sandbox.files();
        run(&sandbox, case.command, None);
        let after = sandbox.files();
        assert!(case.results.iter().all(|result| !of(&before, result).is_empty()), "{}", case.earlier);
        assert!(case.results.iter().all(|result| of(&before, result) != of(&after, result)), "{}", case.command);
        let steps = step_count(&sandbox, case, &before);
        let stride = if all { 1 } else { steps.div_ceil(SOME).max(1) };
        // The last steps are those at which results appear.
        for step in (1..=steps).rev().step_by(stride as usize) {
            assert!(check(&sandbox, case, End::Step(step), &before, &after), "{}: no step {step}", case.command);
            kills += 1;
        }
        if all {
            kills += kill_at_times(&sandbox, case, &before, &after);
        }
    }
    println!("{kills} runs ended at work: nothing mixed, nothing left");
}

#[test]
fn two_runs_into_one_folder_do_not_mix() {
    let sandbox = inputs();
    let fit = |log: &str| format!("fit {log}.csv --data data --model linear --steps 3 -o out");
    let wholes = ["clicks", "other"].map(|log| {
        run(&sandbox, &fit(log), None);
        of(&sandbox.files(), "out")
    });
    assert!(wholes[0] != wholes[1]);
    for round in 0..3 {
        if round == 0 {
            std::fs::remove_dir_all(sandbox.path("out")).unwrap();
        }
        let start = |log: &str| sandbox.command(&(fit(log) + " --quiet")).stdout(Stdio::null()).spawn().unwrap();
        let ends = [start("clicks"), start("other")].map(|mut child| child.wait().unwrap().code());
        assert_eq!(ends, [Some(0); 2]);
        assert!(wholes.contains(&of(&sandbox.files(), "out")), "round {round}");
        assert!(!sandbox.files().keys().any(|path| is_leftover(path)));
    }
}

/// Kills at times that are spread over a run; how many met one at work.
fn kill_at_times(sandbox: &Sandbox, case: &Case, before: &Files, after: &Files) -> u64 {
    const TIMES: u32 = 60;
    restore(sandbox, before);
    let begin = Instant::now();
    run(sandbox, case.command, None);
    let whole = begin.elapsed();
    (1..=TIMES).filter(|&time| check(sandbox, case, End::After(whole * time / TIMES), before, after)).count() as u64
}

/// How many steps a command has: the first that does not end it.
fn step_count(sandbox: &Sandbox, case: &Case, before: &Files) -> u64 {
    let (mut reached, mut missed) = (0, 1);
    let ends = |step| {
        restore(sandbox, before);
        run(sandbox, case.command, Some(step)).is_none()
    };
    while ends(missed) {
        (reached, missed) = (missed, 2 * missed);
    }
    while missed - reached > 1 {
        let middle = (reached + missed) / 2;
        if ends(middle) { reached = middle } else { missed = middle }
    }
    reached
}
